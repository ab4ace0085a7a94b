"""`Encoder`: a client in the shape of a `SentenceTransformer`, for code that calls `encode`.

SemHash.from_records(records, model=Encoder(client)).self_deduplicate()
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal, TypedDict, Unpack

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..client import Client
from ..endpoints._embedding import Truncate
from ..vectors import compare
from ..vectors.embeddings import Embeddings

__all__ = ["Encoder"]

Precision = Literal["float32", "int8", "uint8", "binary", "ubinary"]


class EncodeOptions(TypedDict, total=False):
    """The arguments of `encode`."""

    prompt_name: str | None
    prompt: str | None
    batch_size: int | None
    show_progress_bar: bool | None
    output_value: str | None
    precision: Precision
    convert_to_numpy: bool
    convert_to_tensor: bool
    device: object
    normalize_embeddings: bool
    truncate_dim: int | None
    pool: object
    chunk_size: int | None
    sentences: Any


class Encoder:
    """Encodes with the model of a server; arguments are those of sentence-transformers 6.

    Args:
        client: Whom to ask; None is `Client()`, with the address of $VLLM_BASE_URL.
        model: The served model's name; None is the one that is served.
        query_type, document_type: `input_type` of `encode_query` and `encode_document`, as for
            `Client.embed`; None puts no prompt before them.
        truncate_dim: How many numbers of each vector are kept, unless a call says so.
        truncate: What happens to a text longer than the model's context, as for `Client.embed`:
            `"error"` fails it, `"end"` drops its end, which sentence-transformers does.
    """

    similarity_fn_name = "cosine"

    def __init__(
        self,
        client: Client | None = None,
        *,
        model: str | None = None,
        query_type: str | None = None,
        document_type: str | None = None,
        truncate_dim: int | None = None,
        truncate: Truncate = "error",
    ) -> None:
        self.client = client or Client()
        self.model, self.truncate = model, truncate
        self.query_type, self.document_type = query_type, document_type
        self.truncate_dim = truncate_dim

    def encode(
        self,
        inputs: Any = None,
        prompt_name: str | None = None,
        prompt: str | None = None,
        batch_size: int | None = None,
        show_progress_bar: bool | None = None,
        output_value: str | None = "sentence_embedding",
        precision: Precision = "float32",
        convert_to_numpy: bool = True,
        convert_to_tensor: bool = False,
        device: object = None,
        normalize_embeddings: bool = False,
        truncate_dim: int | None = None,
        pool: object = None,
        chunk_size: int | None = None,
        *,
        sentences: Any = None,
    ) -> Any:
        """The vectors of texts, or of whatever `Client.embed` takes.

        Args:
            inputs: One, or several in anything that can be iterated.
            prompt_name: `input_type`, as for `Client.embed`: the words of that name go before each
                text.
            prompt: Words of your own, which go before each text instead.
            batch_size: Inputs in one request at most; None is the client's.
            show_progress_bar: Whether to draw one (extra `cli`).
            output_value: `"sentence_embedding"` alone.
            precision: `"float32"`, or what `Embeddings.quantize` makes of the vectors.
            convert_to_numpy, convert_to_tensor: An array; a tensor (torch); neither is a list of
                tensors.
            device, pool, chunk_size: Of no effect: the server computes, and the client sends side
                by side.
            normalize_embeddings: Whether vectors are made of unit length; False leaves them as the
                server gives them, which is as the model is configured.
            truncate_dim: How many numbers of each vector are kept.
            sentences: What older releases of sentence-transformers call `inputs`.

        Returns:
            Shape (n, dimensions); (dimensions,) of one input.

        Raises:
            ValueError: Another `output_value`, or `precision`.
            VLLMModalitiesError: As for `Client.embed`.
        """
        if output_value != "sentence_embedding":
            raise ValueError(
                f"output_value={output_value!r}: an Encoder gives one vector an input;"
                " Client.embed_tokens gives one a token"
            )
        given = inputs if sentences is None else sentences
        one = isinstance(given, str | Mapping) or not isinstance(given, Iterable)
        items = [given] if one else list(given)
        if prompt is not None:
            items, prompt_name = [prompt + text for text in items], None
        found = self.client.embed(
            items,
            model=self.model,
            input_type=prompt_name,
            truncate=self.truncate,
            batch_size=batch_size,
            progress=bool(show_progress_bar),
        )
        vectors = found.vectors[:, : truncate_dim or self.truncate_dim]
        if normalize_embeddings:
            vectors = compare.unit(vectors)
        if precision != "float32":
            vectors = Embeddings(vectors).quantize(precision).vectors
        chosen = vectors[0] if one else vectors
        return (
            chosen
            if convert_to_numpy and not convert_to_tensor
            else _tensors(chosen, joined=one or convert_to_tensor)
        )

    def encode_query(self, inputs: Any = None, **options: Unpack[EncodeOptions]) -> Any:
        """As `encode`, with `query_type` for `prompt_name`, unless that or `prompt` is given."""
        return self.encode(inputs, **_named(self.query_type, options))

    def encode_document(self, inputs: Any = None, **options: Unpack[EncodeOptions]) -> Any:
        """As `encode`, with `document_type` for `prompt_name`, unless that or `prompt` is given."""
        return self.encode(inputs, **_named(self.document_type, options))

    def get_embedding_dimension(self) -> int:
        """How many numbers a vector has; embeds a short text to find out."""
        return len(self.encode("a"))

    get_sentence_embedding_dimension = get_embedding_dimension

    def similarity(self, embeddings1: ArrayLike, embeddings2: ArrayLike) -> NDArray[np.float32]:
        """The cosine of each vector with each other, an array. Shape (n, m)."""
        return compare.similarity(embeddings1, embeddings2, "cosine")

    def similarity_pairwise(
        self, embeddings1: ArrayLike, embeddings2: ArrayLike
    ) -> NDArray[np.float32]:
        """The cosine of each vector with the other of its place, an array. Shape (n,)."""
        left, right = (compare.unit(compare.matrix_of(one)) for one in (embeddings1, embeddings2))
        cosines: NDArray[np.float32] = np.einsum("ij,ij->i", left, right)
        return cosines


def _named(input_type: str | None, options: EncodeOptions) -> EncodeOptions:
    return {**options, "prompt_name": options.get("prompt_name") or input_type}


def _tensors(vectors: NDArray[Any], *, joined: bool) -> Any:
    import torch

    tensor = torch.from_numpy(vectors)
    return tensor if joined else list(tensor)
