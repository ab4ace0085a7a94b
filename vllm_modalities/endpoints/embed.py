"""Dense embeddings: `POST /v1/embeddings`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from .._context import Context, Target, Transport
from .._flow import Flow, Response
from .._inputs import at_least, invalid, one_of, texts_of, without
from .._many import OnError, batches, each, settle
from .._results import Usage
from .._sizes import ask_sizes, size_findings
from ..errors import Finding
from ..server import ServerInfo
from ..vectors import decode
from ..vectors.embeddings import Embeddings
from ..vectors.listing import EmbeddingList, EmbeddingRow, sliced
from ._pooling import ChatFields
from ._prompts import missing_prompt, prompt_for
from ._rows import Matrix, Route, Rows, is_raw
from .cohere_embed import CohereEmbedRequest, CohereRoute, server_name

BATCH_COUNT, BATCH_CHARACTERS = 128, 262_144  # texts, and characters, of one request at most

_SIDES: dict[str, Literal["left", "right"] | None] = {
    "error": None,
    "end": "right",
    "start": "left",
}
_COHERE_TRUNCATE: dict[str, Literal["END", "START", "NONE"]] = {
    "error": "NONE",
    "end": "END",
    "start": "START",
}


class EmbeddingRequest(ChatFields):
    """Body of `POST /v1/embeddings`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/embed/protocol.py, `EmbeddingCompletionRequest`.
    """

    TASK: ClassVar[str] = "embed"
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/embeddings",)

    encoding_format: Literal["float", "base64", "bytes", "bytes_only"] | None = None
    embed_dtype: Literal["float32", "float16", "bfloat16", "fp8_e4m3", "fp8_e5m2"] | None = None
    endianness: Literal["native", "big", "little"] | None = None
    dimensions: int | None = None
    media_io_kwargs: Mapping[str, Any] | None = None

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """`dimensions` against the model's width and the sizes it takes."""
        yield from super().limits(server)
        if self.dimensions is not None:
            yield from size_findings(self.dimensions, server.model(self.model), server.version)


class EmbeddingsRoute:
    """`/v1/embeddings`, in the leanest wire format that is safe."""

    def __init__(self, template: EmbeddingRequest, transport: Transport, *, many: bool) -> None:
        self._template = template
        self._float = transport == "float"
        self._raw_bytes = transport == "bytes" or (transport == "auto" and many)

    def body(self, texts: tuple[str, ...], width: int | None) -> EmbeddingRequest:
        # A raw body says neither count nor width, so it must be known what to expect.
        raw_bytes = self._raw_bytes and width is not None
        wire: dict[str, str] = (
            {"encoding_format": "float"}
            if self._float
            else {
                "encoding_format": "bytes_only" if raw_bytes else "base64",
                "endianness": "little",
            }
        )
        return self._template.model_copy(update={"input": texts, **wire})

    def read(
        self, response: Response, count: int, width: int | None
    ) -> tuple[Matrix, Usage | None]:
        return read_vectors(response, count, width)


def read_vectors(response: Response, count: int, width: int | None) -> tuple[Matrix, Usage | None]:
    """The vectors of an answer, in whichever format it came, in order."""
    try:
        if is_raw(response):
            return decode.from_body(response.body, count, width or 0), None
        listed = sliced(response.body, count)
        if listed is not None and len(listed[0]) % (4 * count) == 0 < len(listed[0]):
            raw, body = listed
            return decode.from_body(raw, count, len(raw) // (4 * count)), body.usage.result()
        body = response.parse(EmbeddingList)
        rows = sorted(body.data, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(count)):
            raise ValueError(f"expected vectors 0 to {count - 1}, got {_brief(rows)}")
        texts = [row.embedding for row in rows if isinstance(row.embedding, str)]
        lists = [row.embedding for row in rows if not isinstance(row.embedding, str)]
        if texts and lists:
            raise ValueError("some vectors are base64 and some are numbers")
        vectors = decode.from_base64(texts) if texts else decode.from_numbers(lists)
        if vectors.shape[1] == 0:
            raise ValueError("the vectors are empty")
    except ValueError as error:
        raise response.fault(str(error)) from None
    return vectors, body.usage.result()


def _brief(rows: Sequence[EmbeddingRow]) -> str:
    shown = ", ".join(str(row.index) for row in rows[:8])
    return f"{len(rows)} of them: {shown}{', …' if len(rows) > 8 else ''}"


def embed(
    context: Context,
    /,
    inputs: str | Iterable[str],
    *,
    model: str | None = None,
    dimensions: int | None = None,
    input_type: str | None = None,
    normalize: bool | None = None,
    truncate: Literal["error", "end", "start"] = "error",
    batch_size: int | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Embeddings]:
    """Embed texts as dense vectors, any number of them.

    Texts go out in batches, side by side, over all servers that have the model.

    Args:
        inputs: One text, or n of them. `""` is a text; no text at all makes no request.
        model: The served model's name; None is the one that is served.
        dimensions: Width of the vectors, for models that can shorten them (Matryoshka); None is
            the model's own.
        input_type: `"query"`, `"document"` (also Cohere's `"search_query"`,
            `"search_document"`), or another of the model's own: the words that the model was
            trained with are put before each text. Here, where its profile knows them; by the
            server (`/v2/embed`) where it has none; never twice.
        normalize: Whether vectors have unit length; None is what the model is configured for.
        truncate: What happens to a text longer than the model's context: `"error"` fails it,
            `"end"` drops its end, `"start"` its start.
        batch_size: Texts in one request at most; default 128, fewer where they are long.
        on_error: `"collect"` finishes the rest, then raises PartialFailureError; `"raise"` stops
            at the first failure; `"return"` gives NaN rows and `.failures`.
        extra_body: Further fields of the request.

    Returns:
        n vectors, float32, in the order of the texts. One text gives shape (1, dimensions).

    Raises:
        InvalidRequestError: `dimensions` is more than the model's width, below 1, not in its
            list, or the model cannot shorten; or it has no such `input_type`. Nothing is sent.
        PartialFailureError: Some texts failed; `.results` has the others.
        ResponseError: The server's vectors are miscounted, unequal in width or not finite.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/embed/protocol.py.
    """
    texts = texts_of("inputs", [inputs] if isinstance(inputs, str) else inputs)
    one_of("truncate", truncate, _SIDES)
    one_of("on_error", on_error, get_args(OnError))
    at_least("batch_size", 1 if batch_size is None else batch_size, 1)
    without(extra_body, ("messages", "encoding_format", "embed_dtype", "endianness"))
    if dimensions is None and extra_body:
        extra_body = dict(extra_body)
        dimensions = extra_body.pop("dimensions", None)
    if not texts:
        return Embeddings(np.empty((0, max(dimensions or 0, 0)), np.float32))
    target = yield from context.find(EmbeddingRequest, model)
    checked = context.options.validation != "off"
    findings = missing_prompt(target.profile, texts) if checked and input_type is None else []
    context.report(findings)
    prompt = "" if input_type is None else prompt_for(target.profile, input_type)
    texts = tuple(prompt + text for text in texts) if prompt else texts
    if isinstance(dimensions, int) and checked:
        yield from ask_sizes(target, dimensions)
    sizes = [len(text) for text in texts]
    work = list(batches(sizes, count=batch_size or BATCH_COUNT, size=BATCH_CHARACTERS))
    route: Route
    if prompt is None:  # only the server can know the words for this input type
        route = yield from _cohere(target, input_type, dimensions, normalize, truncate, extra_body)
    else:
        template = EmbeddingRequest(
            model=target.model,
            input=(),
            dimensions=dimensions,
            use_activation=normalize,
            truncate_prompt_tokens=None if truncate == "error" else -1,
            truncation_side=_SIDES[truncate],
            extra_body=extra_body,
        )
        route = EmbeddingsRoute(template, context.options.transport, many=len(work) > 1)
    rows = Rows(texts, route, target, dimensions=dimensions, normalize=normalize)
    failures = yield from each(work, rows.run, rows.harmless, on_error=on_error)
    return settle(rows.result(failures, findings), failures, on_error=on_error)


def _cohere(
    target: Target,
    input_type: str | None,
    dimensions: int | None,
    normalize: bool | None,
    truncate: Literal["error", "end", "start"],
    extra_body: Mapping[str, Any] | None,
) -> Flow[CohereRoute]:
    """The route on which the server knows the model's prompts; it has no `normalize`."""
    if normalize is not None:
        raise invalid(
            "normalize",
            f"normalize={normalize} cannot be asked for with input_type where the model's prompts"
            " are not known here: /v2/embed has no such field. Leave one out, or pass the prompts"
            " in a profile: Client(profiles=[Profile(...)])",
        )
    template = CohereEmbedRequest(
        model=target.model,
        input_type=input_type,
        output_dimension=dimensions,
        embedding_types=("base64",),
        truncate=_COHERE_TRUNCATE[truncate],
        extra_body=extra_body,
    )
    name = yield from server_name(target, template)
    return CohereRoute(template.model_copy(update={"input_type": name}))
