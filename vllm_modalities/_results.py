"""What results have in common: token counts, and warnings in words."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pydantic
from pydantic_core import CoreSchema

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
    """Base of the answers' bodies: what is not read is not an error.

    A list is read up to its first fault: a million faults in 3 MB would take a gigabyte.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="ignore", defer_build=True)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: type[pydantic.BaseModel], handler: pydantic.GetCoreSchemaHandler
    ) -> CoreSchema:
        schema = handler(source)
        _fail_fast(schema)
        return schema


def _fail_fast(schema: Any) -> None:
    """Let every list in `schema` end at its first fault."""
    if isinstance(schema, dict):
        if schema.get("type") in ("list", "tuple"):
            schema["fail_fast"] = True
        schema = list(schema.values())
    for part in schema if isinstance(schema, list) else ():
        _fail_fast(part)


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
