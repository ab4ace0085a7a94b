"""The Python client for everything a vLLM server does but chat.

with Client("http://localhost:8000") as client:
    vectors = client.embed(["first text", "second text"])
"""

from ._flow import Response
from ._results import Usage
from .client import AsyncClient, Client
from .endpoints.embed import EmbeddingRequest
from .endpoints.rerank import RankedDocument, RerankRequest, RerankResult
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
    "Client",
    "EmbeddingRequest",
    "Embeddings",
    "Finding",
    "InternalServerError",
    "InvalidRequestError",
    "MediaError",
    "ModelInfo",
    "ModelUsageWarning",
    "NotFoundError",
    "PartialFailureError",
    "Profile",
    "RankedDocument",
    "RateLimitError",
    "RerankRequest",
    "RerankResult",
    "Response",
    "ResponseError",
    "ServerDefectWarning",
    "ServerInfo",
    "ServerOverloadedError",
    "ServerVersion",
    "UnknownModelError",
    "UnsupportedTaskError",
    "Usage",
    "VLLMModalitiesError",
    "VLLMModalitiesWarning",
]
