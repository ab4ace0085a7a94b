"""What each vLLM release takes, drops or gets wrong: one table, and `admit`, which reads it.

`admit` is the only way from a request model to a wire body, so no endpoint can forget its gates.
"""

from __future__ import annotations

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ._wire import RequestModel
from .errors import Finding, InvalidRequestError
from .server import ServerInfo, ServerVersion

Validation = Literal["error", "warn", "off"]


class Action(enum.Enum):
    """What happens to a request that a gate concerns."""

    REFUSE = "refused before it is sent"
    WARN = "sent, with a warning"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """On releases in [since, until), `action` applies to requests that use `field`.

    Attributes:
        code: Stable name.
        requests: Names of the request models it concerns.
        field: The field, in the server's spelling.
        values: The values it concerns; None is any that is sent.
        below, above: If set, the values below, or above, this number instead.
        since, until: vLLM releases; None is open.
        action: What is done.
        problem: What the server does with it.
        cure: What to do instead.
        source: Where that is read or seen.
    """

    code: str
    requests: tuple[str, ...]
    field: str
    values: tuple[Any, ...] | None = None
    below: float | None = None
    above: float | None = None
    since: str | None = None
    until: str | None = None
    action: Action
    problem: str
    cure: str
    source: str

    @property
    def window(self) -> str:
        """The releases, in words."""
        match self.since, self.until:
            case None, None:
                return "in every release"
            case None, until:
                return f"before {until}"
            case since, None:
                return f"from {since}"
            case since, until:
                return f"from {since} to before {until}"

    def affects(self, version: ServerVersion | None) -> bool:
        """Whether the release lies in the window; of an unknown one only an open window is sure."""
        if version is None:
            return self.since is None and self.until is None
        started = self.since is None or version >= self.since
        return started and (self.until is None or version < self.until)

    def concerns(self, request: RequestModel) -> bool:
        """Whether the request uses the field in the way that the gate is about."""
        if type(request).__name__ not in self.requests:
            return False
        value = getattr(request, self.field)
        if value is None:
            return False
        if self.below is not None:
            return bool(value < self.below)
        if self.above is not None:
            return bool(value > self.above)
        return self.values is None or value in self.values

    def finding(self, request: RequestModel, version: ServerVersion | None) -> Finding:
        value = getattr(request, self.field)
        where = f"; this server runs {version}" if version else ""
        return Finding(
            code=self.code,
            severity="error" if self.action is Action.REFUSE else "warning",
            field=self.field,
            message=f"{self.field}={value!r}: {self.problem} ({self.window}{where}). {self.cure}",
            since=self.since,
            until=self.until,
            source=self.source,
        )


SPEECH = ("TranscriptionRequest", "TranslationRequest")

GATES: tuple[Gate, ...] = (
    Gate(
        code="rerank-negative-top-n",
        requests=("RerankRequest",),
        field="top_n",
        below=0,
        action=Action.REFUSE,
        problem="vLLM before 0.24.0 silently returns every document, 0.24.0 and later answer 400",
        cure="Leave top_n out, or pass 0, for every document.",
        source="vLLM 0.24.0 vllm/entrypoints/pooling/scoring/protocol.py, PR #46119",
    ),
    Gate(
        code="rerank-max-tokens-per-doc",
        requests=("RerankRequest",),
        field="max_tokens_per_doc",
        until="0.20.0",
        action=Action.REFUSE,
        problem="the server does not know the field and drops it without a word",
        cure="Shorten the documents before the call, or upgrade the server.",
        source="vLLM 0.20.0 vllm/entrypoints/pooling/scoring/protocol.py, PR #38827",
    ),
    Gate(
        code="rerank-negative-max-tokens-per-doc",
        requests=("RerankRequest",),
        field="max_tokens_per_doc",
        below=0,
        action=Action.REFUSE,
        problem="the server answers 400",
        cure="Pass a number of tokens above 0, or leave it out for no limit.",
        source="vLLM 0.20.0 vllm/entrypoints/pooling/scoring/io_processor.py",
    ),
    Gate(
        code="embeddings-truncation-side",
        requests=("EmbeddingRequest", "RerankRequest"),
        field="truncation_side",
        until="0.18.0",
        action=Action.REFUSE,
        problem="the server does not know the field, drops it and cuts the tokenizer's own side",
        cure='Shorten the texts before the call (truncate="error" says which), or upgrade.',
        source="vLLM 0.18.0 vllm/entrypoints/pooling/base/protocol.py, `truncation_side`",
    ),
    Gate(
        code="audio-size",
        requests=SPEECH,
        field="size",
        above=25 * 1024**2,
        action=Action.REFUSE,
        problem="the server takes at most 25 MiB of audio a file and answers 400",
        cure="Cut the recording into pieces; if the server runs with a higher"
        ' VLLM_MAX_AUDIO_CLIP_FILESIZE_MB, pass validation="warn".',
        source="vLLM 0.16.0 vllm/envs.py, VLLM_MAX_AUDIO_CLIP_FILESIZE_MB",
    ),
    Gate(
        code="audio-duration",
        requests=SPEECH,
        field="duration",
        above=600.0,
        since="0.24.0",
        action=Action.REFUSE,
        problem="the server takes at most 600 s of audio a file and answers 400",
        cure="Cut the recording into pieces; if the server runs with a higher"
        ' VLLM_MAX_AUDIO_DECODE_DURATION_S, pass validation="warn".',
        source="vLLM 0.24.0 vllm/envs.py, VLLM_MAX_AUDIO_DECODE_DURATION_S; seen on 0.32.0",
    ),
    Gate(
        code="transcription-xargs",
        requests=("TranscriptionRequest",),
        field="vllm_xargs",
        until="0.20.0",
        action=Action.REFUSE,
        problem="the server cannot read it from a form and answers 400",
        cure="Leave vllm_xargs out, or upgrade the server.",
        source="vLLM 0.20.0 vllm/entrypoints/openai/speech_to_text/protocol.py",
    ),
    Gate(
        code="translation-xargs",
        requests=("TranslationRequest",),
        field="vllm_xargs",
        until="0.27.0",
        action=Action.REFUSE,
        problem="the server does not know the field and drops it without a word",
        cure="Leave vllm_xargs out, or upgrade the server.",
        source="vLLM 0.27.0 vllm/entrypoints/speech_to_text/translation/protocol.py, PR #45839",
    ),
)


def examine(
    server: ServerInfo, request: RequestModel, gates: Sequence[Gate] = GATES
) -> list[Finding]:
    """What is wrong or doubtful about `request` on `server`, by the table and by the model."""
    found = [
        gate.finding(request, server.version)
        for gate in gates
        if gate.concerns(request) and gate.affects(server.version)
    ]
    return found + list(request.limits(server))


def admit(
    server: ServerInfo, request: RequestModel, validation: Validation = "error"
) -> tuple[dict[str, Any], tuple[Finding, ...]]:
    """The wire fields of `request` for `server`, and the warnings to hand on.

    Raises:
        InvalidRequestError: With `validation="error"`, if anything found is an error.
    """
    fields = request.fields_sent()
    unchecked = dict(request.extra_body or {})
    if validation == "off":
        return fields | unchecked, ()
    findings = examine(server, request)
    errors = [finding for finding in findings if finding.severity == "error"]
    if errors and validation == "error":
        raise InvalidRequestError(errors)
    findings += [
        Finding(
            code="extra-body",
            severity="warning",
            field=name,
            message=f"{name!r} is passed on unchecked; a server that does not know it drops it",
        )
        for name in unchecked
    ]
    return fields | unchecked, tuple(findings)
