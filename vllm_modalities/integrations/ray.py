"""Ray Data's batches over a client: classes for `Dataset.map_batches`; needs the extra `ray`.

embedded = dataset.map_batches(
    EmbedBatch,
    fn_constructor_kwargs={"base_url": ["http://gpu1:8000", "http://gpu2:8000"]},
    compute=ray.data.ActorPoolStrategy(size=2),
    num_cpus=0.1,
    batch_format="pyarrow",
)

All take a batch in any of Ray's formats and give it back in the same, with further columns. Their
arguments, besides their own:

    base_url … headers: As for `Client`. One client is made in each worker's process, from its
        environment where nothing is given; `max_concurrency` is of each, and 16.
    on_error: `"return"` leaves null where a row fails (NaN in arrays of numpy's); `"raise"` fails
        the job. What no row is to blame for does so anyway: no server, a wrong key, a wrong option,
        or a batch whose rows all fail by the server's fault.
    prefix: Of the names of all new columns. `warnings` and `error` are always among them: texts,
        null where nothing is to be said.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..endpoints._content import item_of
from ..endpoints._embedding import Truncate
from ..endpoints._recording import Timestamps
from ..errors import InvalidRequestError, VLLMModalitiesError
from ..vectors.embeddings import Embeddings
from ..vectors.precision import DType
from . import missing

try:
    import pyarrow as pa

    from ._batches import EachRow, OfRows, Result
    from ._blocks import values, vectors
except ModuleNotFoundError as error:
    raise missing("ray", error) from None

if TYPE_CHECKING:
    from ..documents.choosing import Pages
    from ._blocks import Batch

__all__ = ["EmbedBatch", "OCRBatch", "RerankBatch", "TranscribeBatch"]


@dataclass(frozen=True, kw_only=True)
class EmbedBatch(OfRows):
    """Adds `vector`: a fixed-size list of float32 a row; in numpy, an array of shape (n, width).

    Args:
        column: Of the inputs: texts, token ids, or the bytes of images.
        dimensions, input_type, normalize, truncate, dtype, extra_body: As for `Client.embed`.
    """

    column: str = "text"
    dimensions: int | None = None
    input_type: str | None = None
    normalize: bool | None = None
    truncate: Truncate = "error"
    dtype: DType | None = None
    extra_body: Mapping[str, Any] | None = None

    def __call__(self, batch: Batch) -> Batch:
        inputs = values(batch, self.column)
        errors = [self._refused(one) for one in inputs]
        asked = [place for place, error in enumerate(errors) if error is None]
        found = self._embedded([inputs[place] for place in asked])
        for place, error in found.failures:
            errors[asked[place]] = self.noted(error)
        self.settled(errors)
        rows = np.full((len(inputs), found.dimensions), np.nan, found.vectors.dtype)
        rows[asked] = found.vectors
        column = vectors(rows, np.array([error is not None for error in errors], bool))
        return self.told(batch, {"vector": column}, [found.warnings] * len(inputs), errors)

    def _refused(self, value: Any) -> VLLMModalitiesError | None:
        """Why a value cannot be embedded, such as null; one would have a whole call refused."""
        try:
            item_of("inputs", None, value)
        except InvalidRequestError as error:
            return self.noted(error)
        return None

    def _embedded(self, inputs: Sequence[Any]) -> Embeddings:
        try:
            found = self._asked(inputs)
        except VLLMModalitiesError as error:  # that of all of them
            failures = tuple((place, error) for place in range(len(inputs)))
            found = Embeddings(np.empty((len(inputs), 0), np.float32), failures=failures)
        if found.dimensions:
            return found
        like = self._asked([""])  # all batches of a job need vectors of one width
        nothing = np.full((len(inputs), like.dimensions), np.nan, like.vectors.dtype)
        return replace(found, vectors=nothing)

    def _asked(self, inputs: Sequence[Any]) -> Embeddings:
        return self.client.embed(
            inputs,
            dimensions=self.dimensions,
            input_type=self.input_type,
            normalize=self.normalize,
            truncate=self.truncate,
            dtype=self.dtype,
            on_error=self.on_error,
            extra_body=self.extra_body,
        )


@dataclass(frozen=True, kw_only=True)
class TranscribeBatch(EachRow):
    """Adds `text`, `language`, `duration` (s) and `srt`, the subtitles.

    Args:
        column: Of the recordings: the bytes of files, or paths that the workers can open.
        language, prompt, timestamps, diarize, extra_body: As for `Client.transcribe`.
    """

    TYPES: ClassVar[Mapping[str, pa.DataType]] = {
        "text": pa.string(),
        "language": pa.string(),
        "duration": pa.float64(),
        "srt": pa.string(),
    }

    column: str = "bytes"
    language: str | None = None
    prompt: str | None = None
    timestamps: Timestamps = None
    diarize: bool = False
    extra_body: Mapping[str, Any] | None = None

    def _subjects(self) -> Sequence[str]:
        return (self.column,)

    def _asked(self, *subjects: Any) -> tuple[Result, dict[str, Any]]:
        said = self.client.transcribe(
            subjects[0],
            language=self.language,
            prompt=self.prompt,
            timestamps=self.timestamps,
            diarize=self.diarize,
            on_error=self.on_error,
            extra_body=self.extra_body,
        )
        told = {"text": said.text, "language": said.language, "duration": said.duration}
        return said, {**told, "srt": said.to_srt()}


@dataclass(frozen=True, kw_only=True)
class OCRBatch(EachRow):
    """Adds `markdown`, and `layout`: `Document.to_dict()` as JSON, the blocks of each page.

    Args:
        column: Of the documents: the bytes of images and PDFs, arrays of pixels, or paths that the
            workers can open.
        task, prompt, pages, dpi, max_tokens, extra_body: As for `Client.ocr`.
    """

    TYPES: ClassVar[Mapping[str, pa.DataType]] = {"markdown": pa.string(), "layout": pa.string()}

    column: str = "bytes"
    task: str = "markdown"
    prompt: str | None = None
    pages: Pages = None
    dpi: float | None = None
    max_tokens: int | None = None
    extra_body: Mapping[str, Any] | None = None

    def _subjects(self) -> Sequence[str]:
        return (self.column,)

    def _asked(self, *subjects: Any) -> tuple[Result, dict[str, Any]]:
        read = self.client.ocr(
            subjects[0],
            task=self.task,
            prompt=self.prompt,
            pages=self.pages,
            dpi=self.dpi,
            max_tokens=self.max_tokens,
            on_error=self.on_error,
            extra_body=self.extra_body,
        )
        layout = json.dumps(read.to_dict(), ensure_ascii=False)
        return read, {"markdown": read.markdown, "layout": layout}


@dataclass(frozen=True, kw_only=True)
class RerankBatch(EachRow):
    """Adds `indices`, a row's documents best first as positions in its list, and their `scores`.

    Args:
        query_column, documents_column: A text, and a list of texts.
        top_n, instruction, max_tokens_per_doc, extra_body: As for `Client.rerank`.
    """

    TYPES: ClassVar[Mapping[str, pa.DataType]] = {
        "indices": pa.list_(pa.int64()),
        "scores": pa.list_(pa.float32()),
    }

    query_column: str = "query"
    documents_column: str = "documents"
    top_n: int | None = None
    instruction: str | None = None
    max_tokens_per_doc: int | None = None
    extra_body: Mapping[str, Any] | None = None

    def _subjects(self) -> Sequence[str]:
        return (self.query_column, self.documents_column)

    def _asked(self, *subjects: Any) -> tuple[Result, dict[str, Any]]:
        ranking = self.client.rerank(
            *subjects,
            top_n=self.top_n,
            instruction=self.instruction,
            max_tokens_per_doc=self.max_tokens_per_doc,
            on_error=self.on_error,
            extra_body=self.extra_body,
        )
        indices = [found.index for found in ranking]
        return ranking, {"indices": indices, "scores": [found.score for found in ranking]}
