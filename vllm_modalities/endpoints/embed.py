"""Dense embeddings: `POST /v1/embeddings`, or `/v2/embed` where only the server knows the words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._context import Context
from .._flow import Flow
from .._many import OnError, batches, each, settle
from .._progress import Progress, told
from ..vectors.embeddings import Embeddings
from ..vectors.precision import DType
from ._content import inputs_of, sizes_of
from ._embedding import BATCH_TOKENS, Asked, Truncate, check_room, prepared
from ._overlong import named
from ._rows import Rows

if TYPE_CHECKING:
    from ._content import Input


def embed(
    context: Context,
    /,
    inputs: Input | Iterable[Input],
    *,
    model: str | None = None,
    dimensions: int | None = None,
    input_type: str | None = None,
    normalize: bool | None = None,
    truncate: Truncate = "error",
    dtype: DType | None = None,
    batch_size: int | None = None,
    on_error: OnError = "collect",
    out: NDArray[Any] | None = None,
    progress: Progress = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Embeddings]:
    """Embed texts as dense vectors, any number of them; token ids, messages and images too.

    They go out in batches, side by side, over all servers that have the model.

    Args:
        inputs: One input, or n of them in anything that can be iterated: texts; token ids (a list
            of them is one input); chat messages (a list of them is one input, and goes through the
            model's chat template); images (a Path, the bytes of a file, a Pillow image, an
            ImageURL); texts and images together as `{"content": [...]}`. All of one kind: texts
            and token ids reach the model as they are, the others through its template. `""` is a
            text; no input at all makes no request.
        model: The served model's name; None is the one that is served.
        dimensions: Width of the vectors, for models that can shorten them (Matryoshka); None is
            the model's own.
        input_type: `"query"`, `"document"` (also Cohere's `"search_query"`,
            `"search_document"`), or another of the model's own: the words that the model was
            trained with are put before each text. Here, where its profile knows them; by the
            server (`/v2/embed`) where it has none, and for images; never twice.
        normalize: Whether vectors have unit length; None is what the model is configured for.
        truncate: What happens to an input longer than the model's context: `"error"` fails it,
            `"end"` drops its end, `"start"` its start.
        dtype: Precision on the wire: `"float32"` (the default), `"float16"`, `"bfloat16"`,
            `"fp8_e4m3"` or `"fp8_e5m2"`, of 4, 2, 2, 1 and 1 bytes a number.
        batch_size: Inputs in one request at most; default 128, fewer where they are long.
        on_error: `"collect"` finishes the rest, then raises PartialFailureError; `"raise"` stops
            at the first request that fails, in the server's words; `"return"` gives NaN rows and
            `.failures`. The error of a single input, and one that all share, is always raised.
        out: Where the vectors go, such as a `numpy.memmap`: shape (n, width), float32 or float16.
        progress: True draws a bar (with rich, in the extra `cli`); a function is called with how
            many inputs are done, and n.
        extra_body: Further fields of the request, such as `chat_template_kwargs`. Messages are
            sent with `add_special_tokens=True`, as texts are, unless this says otherwise.

    Returns:
        n vectors in the order of the inputs, float32; float16 with `dtype="float16"`; those of
        `out`, if given. One input gives shape (1, dimensions).

    Raises:
        InvalidRequestError: An input is nothing that can be embedded; `dimensions` is more than
            the model's width, below 1, not in its list, or the model cannot shorten; it has no
            such `input_type`; `out` has not the shape. Nothing is sent.
        BadRequestError: The server refuses the only input, or knows no such `input_type`.
        MediaError: The only input is an image that cannot be read. Nothing is sent.
        PartialFailureError: Some inputs failed; `.results` has the others.
        ResponseError: The server's vectors are miscounted, unequal in width or not finite.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/embed/protocol.py.
    """
    asked = Asked(
        model=model,
        dimensions=dimensions,
        input_type=input_type,
        normalize=normalize,
        truncate=truncate,
        dtype=dtype,
        batch_size=batch_size,
        on_error=on_error,
        extra_body=extra_body,
    )
    items = inputs_of("inputs", inputs)
    check_room(out, len(items))
    if not items:
        nothing: NDArray[Any] = np.empty((0, max(dimensions or 0, 0)), asked.precision.array)
        return Embeddings(nothing if out is None else out)
    job = yield from prepared(context, asked, items, total=len(items), out=out)
    items = tuple(map(job.prompted, items)) if job.prompt else items
    work = list(batches(sizes_of(items), count=job.count, size=BATCH_TOKENS))
    with told(progress, len(items), of="inputs") as done:
        rows = Rows(job, items, out=out, done=done)
        failures = yield from each(work, rows.run, rows.harmless, on_error=on_error)
        failures = yield from named(job.target, items, failures)
    return settle(rows.result(failures), failures, on_error=on_error)
