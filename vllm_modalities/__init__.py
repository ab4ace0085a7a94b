"""The Python client for everything a vLLM server does but chat.

with Client("http://localhost:8000") as client:
    vectors = client.embed(["first text", "second text"])
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._flow import Response
    from ._inputs import AudioURL, ImageURL
    from ._live import AsyncTextStream, TextStream
    from ._results import Usage
    from .audio.transcript import Segment, Transcript
    from .client import AsyncClient, Client
    from .documents.blocks import Block, Document, Page
    from .endpoints._page_request import OCRRequest
    from .endpoints.classify import Classification, ClassifyRequest
    from .endpoints.cohere_embed import CohereEmbeddings, CohereEmbedRequest
    from .endpoints.embeddings import EmbeddingRequest
    from .endpoints.pooling import PoolingRequest, TokenClassifyRequest, TokenEmbedRequest
    from .endpoints.realtime_transcription import RealtimeRequest
    from .endpoints.rerank import RankedDocument, RerankRequest, RerankResult
    from .endpoints.score import ScoreRequest, Scores
    from .endpoints.tokenize import Detokenized, DetokenizeRequest, Tokenized, TokenizeRequest
    from .endpoints.transcribe import TranscriptionRequest
    from .endpoints.translate import TranslationRequest
    from .errors import (
        APIConnectionError,
        APIStatusError,
        APITimeoutError,
        AuthenticationError,
        BadRequestError,
        Finding,
        InternalServerError,
        InvalidRequestError,
        MediaError,
        ModelUsageWarning,
        NotFoundError,
        PartialFailureError,
        RateLimitError,
        ResponseError,
        ServerDefectWarning,
        ServerOverloadedError,
        UnknownModelError,
        UnsupportedTaskError,
        VLLMModalitiesError,
        VLLMModalitiesWarning,
    )
    from .profiles import Profile
    from .server import ModelInfo, ServerInfo, ServerVersion
    from .vectors.embeddings import Embeddings
    from .vectors.maxsim import maxsim
    from .vectors.quantized import QuantizedEmbeddings
    from .vectors.sparse import SparseEmbeddings
    from .vectors.tokens import TokenEmbeddings

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "APITimeoutError",
    "AsyncClient",
    "AsyncTextStream",
    "AudioURL",
    "AuthenticationError",
    "BadRequestError",
    "Block",
    "Classification",
    "ClassifyRequest",
    "Client",
    "CohereEmbedRequest",
    "CohereEmbeddings",
    "DetokenizeRequest",
    "Detokenized",
    "Document",
    "EmbeddingRequest",
    "Embeddings",
    "Finding",
    "ImageURL",
    "InternalServerError",
    "InvalidRequestError",
    "MediaError",
    "ModelInfo",
    "ModelUsageWarning",
    "NotFoundError",
    "OCRRequest",
    "Page",
    "PartialFailureError",
    "PoolingRequest",
    "Profile",
    "QuantizedEmbeddings",
    "RankedDocument",
    "RateLimitError",
    "RealtimeRequest",
    "RerankRequest",
    "RerankResult",
    "Response",
    "ResponseError",
    "ScoreRequest",
    "Scores",
    "Segment",
    "ServerDefectWarning",
    "ServerInfo",
    "ServerOverloadedError",
    "ServerVersion",
    "SparseEmbeddings",
    "TextStream",
    "TokenClassifyRequest",
    "TokenEmbedRequest",
    "TokenEmbeddings",
    "TokenizeRequest",
    "Tokenized",
    "Transcript",
    "TranscriptionRequest",
    "TranslationRequest",
    "UnknownModelError",
    "UnsupportedTaskError",
    "Usage",
    "VLLMModalitiesError",
    "VLLMModalitiesWarning",
    "maxsim",
]

# Where each name lives: a name's module is loaded when the name is first used, so that importing
# the package costs nothing.
_HOMES = {
    "_flow": ("Response",),
    "_inputs": ("AudioURL", "ImageURL"),
    "_live": ("AsyncTextStream", "TextStream"),
    "_results": ("Usage",),
    "audio.transcript": ("Segment", "Transcript"),
    "client": ("AsyncClient", "Client"),
    "documents.blocks": ("Block", "Document", "Page"),
    "endpoints.cohere_embed": ("CohereEmbedRequest", "CohereEmbeddings"),
    "endpoints.embeddings": ("EmbeddingRequest",),
    "endpoints._page_request": ("OCRRequest",),
    "endpoints.pooling": ("PoolingRequest", "TokenClassifyRequest", "TokenEmbedRequest"),
    "endpoints.realtime_transcription": ("RealtimeRequest",),
    "endpoints.rerank": ("RankedDocument", "RerankRequest", "RerankResult"),
    "endpoints.score": ("ScoreRequest", "Scores"),
    "endpoints.tokenize": (
        "Detokenized",
        "DetokenizeRequest",
        "Tokenized",
        "TokenizeRequest",
    ),
    "endpoints.transcribe": ("TranscriptionRequest",),
    "endpoints.translate": ("TranslationRequest",),
    "errors": (
        "APIConnectionError",
        "APIStatusError",
        "APITimeoutError",
        "AuthenticationError",
        "BadRequestError",
        "Finding",
        "InternalServerError",
        "InvalidRequestError",
        "MediaError",
        "ModelUsageWarning",
        "NotFoundError",
        "PartialFailureError",
        "RateLimitError",
        "ResponseError",
        "ServerDefectWarning",
        "ServerOverloadedError",
        "UnknownModelError",
        "UnsupportedTaskError",
        "VLLMModalitiesError",
        "VLLMModalitiesWarning",
    ),
    "profiles": ("Profile",),
    "server": ("ModelInfo", "ServerInfo", "ServerVersion"),
    "vectors.embeddings": ("Embeddings",),
    "vectors.quantized": ("QuantizedEmbeddings",),
    "vectors.tokens": ("TokenEmbeddings",),
    "vectors.maxsim": ("maxsim",),
    "endpoints.classify": ("Classification", "ClassifyRequest"),
    "vectors.sparse": ("SparseEmbeddings",),
}


def __getattr__(name: str) -> Any:
    for home, names in _HOMES.items():
        if name in names:
            value = getattr(importlib.import_module(f".{home}", __name__), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
