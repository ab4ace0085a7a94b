"""The token vectors of one call: arrays of unequal lengths, which batches bring side by side."""

from __future__ import annotations

import binascii
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from pydantic import AliasChoices, Field

from .._context import Target
from .._flow import Flow, Response, Together, Work
from .._many import Failure, OnError, batches, each
from .._results import AnswerModel, Usage, UsageBody, words
from ..errors import BadRequestError, Finding, UnsupportedTaskError, VLLMModalitiesError
from ..vectors.tokens import TokenEmbeddings
from ._content import Chat, Item, sizes_of
from ._marking import Kept, all_of
from ._rows import is_raw
from ._sent import sent
from ._token_embeddings import TokenEmbeddingRequest
from .pooling import PoolingRequest

# Inputs of one request at most: the `metadata` header takes some 130 bytes for each, and proxies
# commonly give up on 4,096 bytes of headers.
BATCH_COUNT, BATCH_TOKENS = 24, 16_384
# vLLM 0.21.0 vllm/entrypoints/pooling/base/serving.py names the flag; seen on 0.32.0.
OTHER_TASK = "--pooler-config.task"
OURS = ("input", "messages", "task", "encoding_format", "embed_dtype", "endianness")
"""Fields that the methods set themselves."""

Array = NDArray[np.float32]
Template: TypeAlias = PoolingRequest | TokenEmbeddingRequest


class _Row(AnswerModel):
    index: int
    data: str | list[list[float | None]] | list[float | None] = Field(
        validation_alias=AliasChoices("data", "embedding")  # the second on /v1/embeddings
    )


class _Rows(AnswerModel):
    data: list[_Row]
    usage: UsageBody = UsageBody()


class _Place(AnswerModel):
    index: int
    start: int
    end: int
    shape: tuple[int, ...]


class _Metadata(AnswerModel):
    data: list[_Place]
    usage: UsageBody = UsageBody()


class TokenRows:
    """Collects what the batches bring.

    Attributes:
        arrays: Of each input, shape (tokens, width); None where none came.
        usages, findings, raws, transports: What the answers brought beside that.
    """

    def __init__(self, target: Target, template: Template, items: Sequence[Item]) -> None:
        self._target, self._template, self._items = target, template, items
        self.arrays: list[Array | None] = [None] * len(items)
        self.usages: list[Usage] = []
        self.findings: dict[Finding, None] = {}
        self.raws: list[bytes] = []
        self.transports: dict[str, None] = {}

    def fill(self, batch_size: int | None, on_error: OnError) -> Flow[list[Failure]]:
        """Ask for all, side by side; gives (place, error) of what failed."""
        # /pooling takes one conversation a request.
        chats = any(isinstance(item, Chat) for item in self._items)
        count = 1 if chats else batch_size or BATCH_COUNT
        work = list(batches(sizes_of(self._items), count=count, size=BATCH_TOKENS))
        return (yield from each(work, self.run, self.harmless, on_error=on_error))

    def run(self, batch: Sequence[int]) -> Flow[list[Failure]]:
        """Ask for the inputs at these positions; one whose numbers cannot be right fails."""
        fields, doubts = yield from sent(
            self._target.context, [self._items[place] for place in batch]
        )
        # A refusal is an answer here, and Together hands errors over as outcomes.
        (response,) = yield from Together([self._target.post(self._body(fields))])
        if isinstance(response, VLLMModalitiesError):
            raise self._explained(response)
        arrays, usage = yield from Work(lambda: self._read(response, len(batch)))
        self.usages.append(usage)
        self.findings.update(dict.fromkeys([*doubts, *response.findings]))
        self.transports["bytes" if is_raw(response) else "json"] = None
        if self._target.context.options.keep_raw:
            self.raws.append(response.content)
        failures: list[Failure] = []
        for place, array in zip(batch, arrays, strict=True):
            if wrong := self._wrong(array):
                failures.append((place, response.fault(f"the vectors of item {place} are {wrong}")))
            else:
                self.arrays[place] = array
        return failures

    def _wrong(self, array: Array) -> str | None:
        if not np.isfinite(array).all():
            return "not finite"
        if self._template.task == "token_embed" and array.size and not array.any():
            return "all zeros"
        return None

    def packed(
        self, failures: Sequence[Failure], findings: Sequence[Finding] = (), kept: Kept = all_of
    ) -> TokenEmbeddings:
        """All arrays, of those vectors that are `kept`; an item that failed has none."""
        filled = {
            n: array for n, array in enumerate(self.arrays) if array is not None and len(array)
        }
        width = max((array.shape[1] for array in filled.values()), default=0)
        nothing = np.empty((0, width), np.float32)
        packed = TokenEmbeddings.from_arrays(
            [kept(n, filled[n]) if n in filled else nothing for n in range(len(self.arrays))]
        )
        return replace(
            packed,
            model=self._target.model,
            usage=sum(self.usages, Usage()),
            transport="+".join(self.transports) or None,
            warnings=words([*findings, *self.findings]),
            failures=tuple(failures),
            raw=tuple(self.raws) if self._target.context.options.keep_raw else None,
        )

    def harmless(self) -> Flow[None]:
        """Ask for one short text, to see whether it is the options that are refused."""
        yield from self._target.post(self._body({"input": ("a",)}))

    def _explained(self, error: VLLMModalitiesError) -> VLLMModalitiesError:
        """The error, or what it means where the server was started for another task."""
        if not isinstance(error, BadRequestError) or OTHER_TASK not in error.message:
            return error
        return UnsupportedTaskError(
            f"{error.server} was started for another task: {error.message}. Serve the model with"
            f" {OTHER_TASK} {self._template.task}"
        )

    def _body(self, fields: dict[str, Any]) -> Template:
        wire = {"encoding_format": "float"}
        if isinstance(self._template, PoolingRequest):
            wire = {"encoding_format": self._format(), "endianness": "little"}
        return self._template.model_copy(update=fields | wire)

    def _format(self) -> Literal["bytes", "base64", "float"]:
        """`bytes` says each item's shape; base64 does not, so the width must be known."""
        match self._target.context.options.transport:
            case "auto" | "bytes":
                return "bytes"
            case "base64" if self._target.facts.embedding_size is not None:
                return "base64"
            case _:
                return "float"

    def _read(self, response: Response, count: int) -> tuple[list[Array], Usage]:
        arrays, usage = read_tokens(response, count, self._target.facts.embedding_size)
        flat = any(array.ndim == 1 and len(array) for array in arrays)
        if flat and self._template.task == "token_embed":
            raise response.fault("the answer has a vector a text, not one a token")
        arrays = [array if array.ndim == 2 else array.reshape(-1, 1) for array in arrays]
        widths = {array.shape[1] for array in arrays if len(array)}
        if len(widths) > 1:
            raise response.fault(f"token vectors are {sorted(widths)} numbers wide, not equally")
        if widths and self._template.task == "token_embed":
            self._target.learned(embedding_size=widths.pop())
        return arrays, usage


def read_tokens(response: Response, count: int, width: int | None) -> tuple[list[Array], Usage]:
    """Each item's vectors, or numbers, a token, in whichever format they came, in order."""
    try:
        if is_raw(response):
            return _of_bytes(response, count)
        body = response.parse(_Rows)
        rows = sorted(body.data, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(count)):
            raise ValueError(f"expected items 0 to {count - 1}, got {len(rows)} of them")
        return [_array(row.data, width) for row in rows], body.usage.result()
    except ValueError as error:
        raise response.fault(str(error)) from None


def _of_bytes(response: Response, count: int) -> tuple[list[Array], Usage]:
    """Vectors back to back, whose places the header `metadata` tells.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/utils.py, `encode_pooling_bytes`.
    """
    told = _Metadata.model_validate_json(response.headers.get("metadata", ""))
    places = sorted(told.data, key=lambda place: place.index)
    body = np.frombuffer(response.body, dtype="<f4")
    if [place.index for place in places] != list(range(count)):
        raise ValueError(f"the metadata tells of {len(places)} items, not {count}")
    arrays, end = [], 0
    for place in places:
        shape = place.shape if len(place.shape) == 2 else (*place.shape, 1)
        if place.start != end or place.end - end != 4 * int(np.prod(shape)) or min(shape) < 0:
            raise ValueError(f"the metadata of item {place.index} does not fit the body")
        arrays.append(body[end // 4 : place.end // 4].reshape(shape))
        end = place.end
    if end != len(response.body):
        raise ValueError(f"the metadata tells of {end} bytes, the body has {len(response.body)}")
    return arrays, told.usage.result()


def _array(data: str | list[Any], width: int | None) -> Array:
    if isinstance(data, str):
        flat = np.frombuffer(binascii.a2b_base64(data, strict_mode=True), dtype="<f4")
        if not width or flat.size % width:
            raise ValueError(f"{flat.size} numbers are no whole token vectors of {width}")
        return flat.reshape(-1, width)
    return np.array(data, dtype=np.float32)
