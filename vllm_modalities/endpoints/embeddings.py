"""The body of `POST /v1/embeddings`, and how its answers read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal

from .._context import Transport
from .._flow import Response
from .._sizes import size_findings
from ..errors import Finding, UnsupportedTaskError
from ..server import ServerInfo
from ..vectors import decode
from ..vectors.listing import EmbeddingList, EmbeddingRow, sliced
from ..vectors.precision import FLOAT32, DType, Precision
from ._content import Chat, Item
from ._pooling import ChatFields
from ._ranking import can_score, score_type
from ._rows import Read, is_raw

# vLLM 0.33.0 vllm/entrypoints/pooling/token_embed/protocol.py, `TokenEmbeddingResponseData`.
_MATRIX = re.compile(rb'"embedding"\s*:\s*\[\s*\[')


class EmbeddingRequest(ChatFields):
    """Body of `POST /v1/embeddings`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/embed/protocol.py, `EmbeddingCompletionRequest`.
    """

    TASK: ClassVar[str] = "embed"
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/embeddings",)

    encoding_format: Literal["float", "base64", "bytes", "bytes_only"] | None = None
    embed_dtype: DType | None = None
    endianness: Literal["native", "big", "little"] | None = None
    dimensions: int | None = None
    media_io_kwargs: Mapping[str, Any] | None = None

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        """From vLLM 0.33.0 on the route may give a vector a token, which is `embed_tokens`'.

        A server that was started to weigh tokens has the route all the same, and answers 501.
        """
        embeds = can_score(server) and score_type(server) != "late-interaction"
        return embeds and super().suits(server)

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """`dimensions` against the model's width and the sizes it takes."""
        yield from super().limits(server)
        if self.dimensions is not None:
            yield from size_findings(self.dimensions, server.model(self.model), server.version)


class EmbeddingsRoute:
    """`/v1/embeddings`, in the leanest wire format that is safe."""

    def __init__(
        self,
        template: EmbeddingRequest,
        transport: Transport,
        *,
        many: bool,
        precision: Precision = FLOAT32,
    ) -> None:
        self.precision = precision
        self._template = template
        self._float = transport == "float"
        self._raw_bytes = transport == "bytes" or (transport == "auto" and many)

    def body(self, items: Sequence[Item], width: int | None) -> EmbeddingRequest:
        fields: dict[str, Any] = {"encoding_format": "float"}
        if not self._float:
            # A raw body says neither count nor width, so it must be known what to expect.
            raw_bytes = self._raw_bytes and width is not None
            fields["encoding_format"] = "bytes_only" if raw_bytes else "base64"
            fields["endianness"] = "little"
            if self.precision is not FLOAT32:
                fields["embed_dtype"] = self.precision.name
        if isinstance(items[0], Chat):
            chats = tuple(item.messages for item in items if isinstance(item, Chat))
            fields["messages"] = chats[0] if len(items) == 1 else chats
            # As for texts, so that the vector differs from a text's by the template alone.
            if self._template.add_special_tokens is None:
                fields["add_special_tokens"] = True
        else:
            fields["input"] = tuple(items)
        return self._template.model_copy(update=fields)

    def read(self, response: Response, count: int, width: int | None) -> Read:
        return read_vectors(response, count, width, self.precision)


def read_vectors(
    response: Response, count: int, width: int | None, precision: Precision = FLOAT32
) -> Read:
    """The vectors of an answer, in whichever format it came, in order."""
    try:
        if is_raw(response):
            vectors = decode.from_body(response.body, count, width or 0, precision)
            return Read(vectors, None, "bytes")
        listed, size = sliced(response.body, count), precision.size
        if listed is not None and len(listed[0]) % (size * count) == 0 < len(listed[0]):
            raw, body = listed
            vectors = decode.from_body(raw, count, len(raw) // (size * count), precision)
            return Read(vectors, body.usage.result(), "base64")
        if len(_MATRIX.findall(response.body)) == count:
            raise UnsupportedTaskError(
                f"{response.server} gives a vector a token, not one a text: ask embed_tokens() for"
                " them, or serve the model with --pooler-config.task embed"
            )
        body = response.parse(EmbeddingList)
        rows = sorted(body.data, key=lambda row: row.index)
        if [row.index for row in rows] != list(range(count)):
            raise ValueError(f"expected vectors 0 to {count - 1}, got {_brief(rows)}")
        texts = [row.embedding for row in rows if isinstance(row.embedding, str)]
        lists = [row.embedding for row in rows if not isinstance(row.embedding, str)]
        if texts and lists:
            raise ValueError("some vectors are base64 and some are numbers")
        vectors = decode.from_base64(texts, precision) if texts else decode.from_numbers(lists)
        if vectors.shape[1] == 0:
            raise ValueError("the vectors are empty")
    except ValueError as error:
        raise response.fault(str(error)) from None
    return Read(vectors, body.usage.result(), "base64" if texts else "float")


def _brief(rows: Sequence[EmbeddingRow]) -> str:
    shown = ", ".join(str(row.index) for row in rows[:8])
    return f"{len(rows)} of them: {shown}{', …' if len(rows) > 8 else ''}"
