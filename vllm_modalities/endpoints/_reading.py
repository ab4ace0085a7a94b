"""What is said to a model that reads a page: the words of a task, and the messages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .._context import Target
from .._inputs import invalid
from ..profiles import ImageRule, OCRProfile

PHRASE = "{phrase}"


@dataclass(frozen=True, slots=True)
class Manner:
    """How a model is asked to do one task.

    Attributes:
        words: What is said to it.
        fields: Further fields of the request.
        rule: How a picture is fitted for it.
        grammar: How its answer reads.
        instead: A task that may do better where this one fails, if there is one.
    """

    words: str
    fields: Mapping[str, Any]
    rule: ImageRule
    grammar: str
    instead: str | None


def prompted(
    target: Target, profile: OCRProfile, task: str, prompt: str | None, phrase: str | None
) -> str:
    """The caller's own words, else the task's with the phrase in its place.

    Raises:
        InvalidRequestError: The profile has no such task, a phrase is missing or not wanted, or
            the words hold what stands for the picture, which a server would look for there.
    """
    words = prompt
    if words is None:
        known = (
            ", ".join(map(repr, {**profile.steps, **profile.prompts}))
            or "no task, so give `prompt`"
        )
        if task not in profile.prompts:
            message = f"task={task!r}: the profile of {target.model!r} ({target.profile.name}) has"
            raise invalid("task", f"{message} {known}", code="ocr-task")
        words = profile.prompts[task]
    if prompt is None and phrase is None and PHRASE in words:
        raise invalid("phrase", f"task={task!r} needs a `phrase` to look for", code="ocr-phrase")
    if phrase is not None and PHRASE not in words:
        message = f"task={task!r} takes no `phrase`; it stands for {PHRASE} in the words"
        raise invalid("phrase", message, code="ocr-phrase")
    words = words.replace(PHRASE, phrase) if phrase is not None else words
    if profile.placeholder and profile.placeholder in words:
        message = f"the words hold {profile.placeholder!r}, which stands for the picture: drop it"
        raise invalid("prompt", message, code="ocr-placeholder")
    return words


def messages(profile: OCRProfile, url: str, words: str) -> tuple[dict[str, Any], ...]:
    """The page, then the words if there are any; first what the system says."""
    content: list[dict[str, Any]] = [{"type": "image_url", "image_url": {"url": url}}]
    if text := (profile.prefix or "") + words:
        content.append({"type": "text", "text": text})
    user = {"role": "user", "content": content}
    if profile.system is None:
        return (user,)
    return {"role": "system", "content": profile.system}, user
