"""`Profile`: what is known of one model family, and how a served model finds its own."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal


@dataclass(frozen=True, slots=True, kw_only=True)
class OCRProfile:
    """How an OCR model is asked, and how its answer reads.

    Attributes:
        prompts: What to say, by task (`"markdown"`, `"text"` …).
        vllm_xargs: Arguments of the logits processor that stops loops.
        skip_special_tokens: False keeps the tokens that carry the boxes.
        grammar: How the answer reads: `"grounding"` is DeepSeek-OCR's, `"plain"` has no boxes.
        source: Where all that is read.
    """

    prompts: Mapping[str, str]
    vllm_xargs: Mapping[str, int | list[int]] = field(default_factory=dict)
    skip_special_tokens: bool | None = None
    grammar: Literal["grounding", "plain"] = "plain"
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechProfile:
    """What a speech model takes.

    Attributes:
        clip: Seconds of audio it hears at once.
        languages: ISO 639-1 codes it knows; empty if it does not say.
        translates_into: Codes of the languages it translates into; None if it does not say.
        prompt_tokens: The most tokens of `prompt` it can use; None if it ignores prompts.
        source: Where all that is read.
    """

    clip: float
    languages: frozenset[str] = frozenset()
    translates_into: tuple[str, ...] | None = None
    prompt_tokens: int | None = None
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Facts about one model family; a fact without a source stays unset.

    Attributes:
        name: The family's name.
        pattern: Regular expression searched, without regard to case, in a model's served name
            and in its `root`.
        embedding_size: Width of its vectors; None if unknown. Believed only to warn, since
            operators override configs.
        ocr, speech: What it needs for those jobs; None if it does not do them.
    """

    name: str
    pattern: str
    embedding_size: int | None = None
    ocr: OCRProfile | None = None
    speech: SpeechProfile | None = None

    def matches(self, *names: str | None) -> bool:
        """Whether one of a model's names is of this family."""
        return any(name and re.search(self.pattern, name, re.IGNORECASE) for name in names)


UNKNOWN = Profile(name="unknown", pattern=r"(?!)")
"""The profile of a model that none matches: it knows nothing and refuses nothing."""


def profile_of(profiles: Iterable[Profile], *names: str | None) -> Profile:
    """The first of `profiles` that matches one of a model's names, else `UNKNOWN`."""
    return next((profile for profile in profiles if profile.matches(*names)), UNKNOWN)
