"""What results have in common: token counts, and warnings in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import pydantic

from ._flow import Response
from .errors import Finding


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that the server counted.

    Attributes:
        prompt_tokens: Tokens read.
        total_tokens: Tokens read and written.
    """

    prompt_tokens: int = 0
    total_tokens: int = 0

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens, self.total_tokens + other.total_tokens
        )


class AnswerModel(pydantic.BaseModel):
    """Base of the answers' bodies: what is not read is not an error."""

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", defer_build=True)


class UsageBody(AnswerModel):
    prompt_tokens: int = 0
    total_tokens: int = 0

    def result(self) -> Usage:
        return Usage(self.prompt_tokens, self.total_tokens)


def words(findings: Iterable[Finding]) -> tuple[str, ...]:
    """Warnings in words, each once, in order."""
    return tuple(dict.fromkeys(map(str, findings)))


def raw(responses: Iterable[Response], keep: bool) -> tuple[bytes, ...] | None:
    """The servers' own answers, if they are to be kept."""
    return tuple(response.content for response in responses) if keep else None
