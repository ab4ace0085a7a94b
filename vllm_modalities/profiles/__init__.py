"""Facts about models: what a model needs and can do, whichever release serves it."""

from __future__ import annotations

from ._profile import UNKNOWN, OCRProfile, Profile, SpeechProfile, profile_of
from .ocr import OCR_PROFILES
from .speech import SPEECH_PROFILES

PROFILES: tuple[Profile, ...] = OCR_PROFILES + SPEECH_PROFILES
"""The built-in profiles; the first that matches a model counts."""

__all__ = ["PROFILES", "UNKNOWN", "OCRProfile", "Profile", "SpeechProfile", "profile_of"]
