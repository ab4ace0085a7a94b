"""Options that a release does not have, and what stands in their place."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..errors import Finding
from ..server import ServerVersion
from ._options import NAMES, RELEASES, listed, names
from ._rule import Served
from ._words import Option, Words

POOLING_TASKS = ("embed", "embedding", "score", "classify", "reward", "encode")


@dataclass(frozen=True, slots=True)
class Gone:
    """One option that was.

    Attributes:
        cure: What to do instead.
        fix: Does it; None drops the option.
        source: Where that is read.
    """

    cure: str
    fix: Callable[[Words], Words] | None = None
    source: str = ""


def _runner_for_task(words: Words) -> Words:
    """`--task` became `--runner`, and `--convert` where a model is made into something."""
    task = words.get("--task")
    words = words.without("--task")
    return words.having("--runner", "pooling") if task in POOLING_TASKS else words


def _renamed(old: str, new: str) -> Callable[[Words], Words]:
    def fix(words: Words) -> Words:
        return replace(
            words,
            options=tuple(
                replace(one, name=one.name.replace(old, new, 1)) if one.base == old else one
                for one in words.options
            ),
        )

    return fix


BY_ITSELF = "Drop it; "
GONE: dict[str, Gone] = {
    "--task": Gone(
        "Say --runner pooling for embed, score and classify, with --convert embed or --convert"
        " classify where a language model is made into one; nothing for generate and transcription",
        _runner_for_task,
        "vLLM 0.32.0 vllm/utils/argparse_utils.py, `FlexibleArgumentParser.error`",
    ),
    "--enable-scoring-api": Gone(
        f"{BY_ITSELF}/score and /rerank are there whenever the model can",
        source="vLLM 0.32.0 vllm/tasks.py, `SCORE_TYPE_MAP`",
    ),
    "--override-pooler-config": Gone(
        "Say --pooler-config",
        _renamed("--override-pooler-config", "--pooler-config"),
        "vLLM 0.16.0 vllm/engine/arg_utils.py",
    ),
    "--disable-log-requests": Gone(
        f"{BY_ITSELF}requests are logged only with --enable-log-requests"
    ),
    "--use-v2-block-manager": Gone(f"{BY_ITSELF}there is one block manager"),
    "--enable-reasoning": Gone(f"{BY_ITSELF}--reasoning-parser alone turns it on"),
    "--guided-decoding-backend": Gone(
        "Say --structured-outputs-config.backend",
        _renamed("--guided-decoding-backend", "--structured-outputs-config.backend"),
        "vLLM 0.16.0 vllm/engine/arg_utils.py",
    ),
}


def unknown(served: Served) -> list[tuple[Finding, Callable[[Words], Words]]]:
    """The options of a command that its release does not have, and what puts each right."""
    release = listed(served.version)
    found = names(release)
    return [
        _judged(option, served)
        for option in served.words.options
        # argparse takes the beginning of a name too, and vLLM -O with its value joined to it.
        if option.base[:2] != "-O" and not any(name.startswith(option.base) for name in found)
    ]


def _judged(option: Option, served: Served) -> tuple[Finding, Callable[[Words], Words]]:
    release, name = listed(served.version), option.base
    gone = GONE.get(name) or _guessed(name, release)
    first, until, _ = NAMES.get(name, (None, None, None))
    finding = Finding(
        code="option-unknown",
        # Of a release that is newer than all that were read, nothing is sure.
        severity="error" if served.version <= RELEASES[-1] else "warning",
        field=name,
        message=f"{name}: `vllm serve` of {served.version} {_history(first, until, release)}."
        f" {gone.cure}.",
        since=until,
        until=first,
        source=gone.source or f"the parser of vLLM {release}",
    )
    return finding, gone.fix or (lambda words: words.without(name))


def _history(first: str | None, until: str | None, release: str) -> str:
    """What became of an option, in words."""
    if first is None:
        return "has no such option"
    if until is not None and ServerVersion(release) >= until:
        return f"no longer has it; it is gone by {until}"
    return f"does not have it yet; it came by {first}"


def _guessed(name: str, release: str) -> Gone:
    """What may be meant by a name that no release has."""
    near = difflib.get_close_matches(name, sorted(names(release)), n=1, cutoff=0.85)
    if not near:
        return Gone("Drop it")
    return Gone(f"Perhaps {near[0]} is meant", _renamed(name, near[0]))
