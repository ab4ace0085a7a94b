"""What `embed` and `embed_iter` do before their first batch: find the servers and the route."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from .._context import Context, Target
from .._flow import Flow
from .._inputs import at_least, invalid, one_of, whole, without
from .._many import OnError
from .._sizes import ask_sizes, ask_width
from ..errors import Finding, InvalidRequestError
from ..gates import repairs
from ..vectors.precision import FLOAT32, PRECISIONS, DType, Precision
from ._content import Chat, Item
from ._prompts import missing_prompt, prompt_for
from ._rows import Job, Route
from .cohere_embed import CohereEmbedRequest, CohereRoute, server_name
from .embeddings import EmbeddingRequest, EmbeddingsRoute

BATCH_COUNT, BATCH_TOKENS = 128, 65_536  # inputs of one request at most, and tokens, roughly

Truncate: TypeAlias = Literal["error", "end", "start"]
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the caller asked for, beside the inputs; see `embed` for each."""

    model: str | None
    dimensions: int | None
    input_type: str | None
    normalize: bool | None
    truncate: Truncate
    dtype: DType | None
    batch_size: int | None
    on_error: OnError
    extra_body: Mapping[str, Any] | None

    def __post_init__(self) -> None:
        one_of("truncate", self.truncate, _SIDES)
        one_of("on_error", self.on_error, get_args(OnError))
        one_of("dtype", self.dtype or "float32", PRECISIONS)
        at_least("batch_size", 1 if self.batch_size is None else self.batch_size, 1)
        ours = ("input", "messages", "encoding_format", "embed_dtype", "endianness")
        without(self.extra_body, ours)
        if self.width is not None:
            whole("dimensions", self.width)

    @property
    def precision(self) -> Precision:
        """How numbers are written on the wire."""
        return PRECISIONS[self.dtype or "float32"]

    @property
    def width(self) -> Any:
        """`dimensions`, wherever they stand."""
        return self.dimensions or (self.extra_body or {}).get("dimensions", self.dimensions)

    @property
    def further(self) -> Mapping[str, Any]:
        """`extra_body` without the `dimensions` that stand there alone."""
        extra = dict(self.extra_body or {})
        if self.dimensions is None:
            extra.pop("dimensions", None)
        return extra


def prepared(
    context: Context,
    asked: Asked,
    items: Sequence[Item],
    *,
    total: int | None = None,
    out: NDArray[Any] | None = None,
) -> Flow[Job]:
    """Find the servers, the route and the words before texts; see that the model takes the call.

    Args:
        context: The call's.
        asked: What the caller asked for.
        items: The inputs, as far as they are known; at least one.
        total: How many there are; None if that is not known.
        out: Where the vectors are to go.
    """
    target = yield from context.find(EmbeddingRequest, asked.model)
    checked, findings = context.options.validation != "off", list[Finding]()
    if asked.input_type is None and checked and isinstance(items[0], str):
        findings = missing_prompt(target.profile, map(str, items), many=total != 1)
        context.report(findings)
    prompt = "" if asked.input_type is None else _prompt(target, asked.input_type, items[0])
    if asked.width is not None and checked:
        yield from ask_sizes(target, asked.width)
    elif out is not None or asked.precision is not FLOAT32:
        yield from ask_width(target)  # what is wider or narrower would be read wrong
    count = asked.batch_size or BATCH_COUNT
    route: Route
    if prompt is None:  # only the server can know the words for this input type
        route = yield from _cohere(target, asked)
    else:
        count = 1 if isinstance(items[0], Chat) and _takes_one_chat(target) else count
        route = _direct(target, asked, many=total is None or total > count)
    job = Job(
        target=target,
        route=route,
        count=count,
        prompt=prompt or "",
        dimensions=asked.width,
        normalize=asked.normalize,
        findings=findings,
    )
    if out is not None and out.shape[1] != (job.width or out.shape[1]):
        raise _wrong_room(out, f"({len(out)}, {job.width})")
    return job


def _prompt(target: Target, input_type: str, item: Item) -> str | None:
    """The words before each text; None where the server is to put them."""
    if isinstance(item, str):
        return prompt_for(target.profile, input_type)
    if isinstance(item, Chat) and item.bare:
        return None
    raise invalid(
        "input_type",
        f"input_type={input_type!r} puts words before texts and images; token ids and messages hold"
        " all that the model is given. Leave it out, and write the words into them",
    )


def _takes_one_chat(target: Target) -> bool:
    """Whether some of the servers take one conversation a request."""
    versions = {replica.info.version for replica in target.replicas if replica.info}
    return any(repairs("embeddings-message-batch", version) for version in versions)


def _direct(target: Target, asked: Asked, *, many: bool) -> EmbeddingsRoute:
    transport = target.context.options.transport
    if transport == "float" and asked.precision is not FLOAT32:
        raise invalid(
            "dtype",
            f'dtype={asked.dtype!r} has no effect with transport="float", which writes decimal'
            " numbers; leave one out",
        )
    template = EmbeddingRequest(
        model=target.model,
        dimensions=asked.width,
        use_activation=asked.normalize,
        truncate_prompt_tokens=None if asked.truncate == "error" else -1,
        truncation_side=_SIDES[asked.truncate],
        extra_body=asked.further,
    )
    return EmbeddingsRoute(template, transport, many=many, precision=asked.precision)


def _cohere(target: Target, asked: Asked) -> Flow[CohereRoute]:
    """The route on which the server knows the model's prompts; it has fewer fields."""
    for name, value in (("normalize", asked.normalize), ("dtype", asked.dtype)):
        if value is not None:
            raise invalid(
                name,
                f"{name}={value!r} cannot be asked for with input_type where the model's prompts"
                " are not known here: /v2/embed has no such field. Leave one out, or pass the"
                " prompts in a profile: Client(profiles=[Profile(...)])",
            )
    template = CohereEmbedRequest(
        model=target.model,
        input_type=asked.input_type,
        output_dimension=asked.width,
        embedding_types=("base64",),
        truncate=_COHERE_TRUNCATE[asked.truncate],
        extra_body=asked.further,
    )
    name = yield from server_name(target, template)
    return CohereRoute(template.model_copy(update={"input_type": name}))


def check_room(out: NDArray[Any] | None, count: int) -> None:
    """Raise InvalidRequestError if that many vectors cannot go there."""
    if out is None:
        return
    fits = isinstance(out, np.ndarray) and out.ndim == 2 and len(out) == count
    if not fits or out.dtype not in (np.float32, np.float16) or not out.flags.writeable:
        raise _wrong_room(out, f"({count}, width)")


def _wrong_room(out: object, shape: str) -> InvalidRequestError:
    got = type(out).__name__
    if isinstance(out, np.ndarray):
        got = f"{out.dtype} of shape {out.shape}{'' if out.flags.writeable else ', read-only'}"
    return invalid("out", f"out must be float32 or float16 of shape {shape}, got {got}")
