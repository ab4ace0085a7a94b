"""Embedding models with one vector a text: width, pooling, sizes and prompts of each."""

from __future__ import annotations

from .embedders_arctic import ARCTIC
from .embedders_bge import BGE_EMBEDDERS
from .embedders_decoders import DECODERS
from .embedders_e5 import E5_EMBEDDERS
from .embedders_encoders import ENCODERS
from .embedders_images import IMAGE_EMBEDDERS
from .embedders_jina import JINA_EMBEDDERS
from .embedders_qwen import QWEN_EMBEDDERS

EMBEDDERS = (
    *QWEN_EMBEDDERS,
    *BGE_EMBEDDERS,
    *JINA_EMBEDDERS,
    *E5_EMBEDDERS,
    *ARCTIC,
    *ENCODERS,
    *DECODERS,
    *IMAGE_EMBEDDERS,
)
