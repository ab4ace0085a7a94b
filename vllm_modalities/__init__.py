"""The Python client for everything a vLLM server does but chat.

with Client("http://localhost:8000") as client:
    vectors = client.embed(["first text", "second text"])
"""

from ._flow import Response
from ._results import Usage
from .audio.transcript import Segment, Transcript
from .client import AsyncClient, Client
from .documents.blocks import Block, Document, Page
from .endpoints.cohere_embed import CohereEmbedRequest
from .endpoints.embed import EmbeddingRequest
from .endpoints.ocr import OCRRequest
from .endpoints.pooling import PoolingRequest
from .endpoints.rerank import RankedDocument, RerankRequest, RerankResult
from .endpoints.score import ScoreRequest
from .endpoints.tokenize import DetokenizeRequest, TokenizeRequest
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

__all__ = [
    "APIConnectionError",
    "APIStatusError",
    "APITimeoutError",
    "AsyncClient",
    "AuthenticationError",
    "BadRequestError",
    "Block",
    "Client",
    "CohereEmbedRequest",
    "DetokenizeRequest",
    "Document",
    "EmbeddingRequest",
    "Embeddings",
    "Finding",
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
    "RankedDocument",
    "RateLimitError",
    "RerankRequest",
    "RerankResult",
    "Response",
    "ResponseError",
    "ScoreRequest",
    "Segment",
    "ServerDefectWarning",
    "ServerInfo",
    "ServerOverloadedError",
    "ServerVersion",
    "TokenizeRequest",
    "Transcript",
    "TranscriptionRequest",
    "TranslationRequest",
    "UnknownModelError",
    "UnsupportedTaskError",
    "Usage",
    "VLLMModalitiesError",
    "VLLMModalitiesWarning",
]
