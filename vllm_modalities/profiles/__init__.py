"""Facts about models: what a model needs and can do, whichever release serves it."""

from __future__ import annotations

from ._ocr_profile import ImageRule, OCRProfile, Steps
from ._profile import (
    UNKNOWN,
    EmbedProfile,
    Mark,
    Profile,
    RerankProfile,
    ScoreForm,
    SpeechProfile,
    profile_of,
)
from .embedders import EMBEDDERS
from .late_interaction import LATE_INTERACTION
from .ocr import OCR_PROFILES
from .ocr_markdown import GENERIC_OCR
from .rerankers import RERANKERS
from .speech import SPEECH_PROFILES

PROFILES: tuple[Profile, ...] = (
    *OCR_PROFILES,
    *SPEECH_PROFILES,
    *RERANKERS,
    *LATE_INTERACTION,
    *EMBEDDERS,
)
"""The built-in profiles; the first that matches a model counts."""

__all__ = [
    "GENERIC_OCR",
    "PROFILES",
    "UNKNOWN",
    "EmbedProfile",
    "ImageRule",
    "Mark",
    "OCRProfile",
    "Profile",
    "RerankProfile",
    "ScoreForm",
    "SpeechProfile",
    "Steps",
    "profile_of",
]
