"""Files read into texts with facts about them, which each framework keeps in a class of its own."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import aclosing, closing
from dataclasses import dataclass
from typing import Any, Literal, Protocol, TypeAlias, TypedDict, get_args

from .._inputs import one_of
from ..audio.transcript import Transcript
from ..client import AsyncClient, Client
from ..documents.blocks import Page
from ..documents.choosing import Pages

Per: TypeAlias = Literal["recording", "segment"]
OnError: TypeAlias = Literal["raise", "return"]


class OCROptions(TypedDict, total=False):
    """Arguments of `Client.ocr_iter`, of which `on_error` is `"raise"` unless it is given."""

    model: str | None
    task: str
    prompt: str | None
    phrase: str | None
    pages: Pages
    dpi: float | None
    max_tokens: int | None
    repair: bool
    on_error: OnError
    extra_body: Mapping[str, Any] | None


class SpeechOptions(TypedDict, total=False):
    """Arguments of `Client.transcribe`, of which `on_error` is `"raise"` unless it is given."""

    model: str | None
    language: str | None
    prompt: str | None
    hotwords: str | Sequence[str] | None
    temperature: float | None
    timestamps: Literal["segment"] | None
    diarize: bool
    on_error: OnError
    extra_body: Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, eq=False)
class File:
    """A file that is to be read.

    Attributes:
        content: Its path, or the bytes that are in it.
        facts: What is known of it already.
    """

    content: Any
    facts: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Part:
    """A text of a file.

    Attributes:
        file: Where it stands.
        text: Markdown, or the words that are said.
        facts: The file's, and its own: numbers and texts, since many stores take nothing else.
            `"warnings"` has one a line.
    """

    file: File
    text: str
    facts: dict[str, Any]


class Reading(Protocol):
    """A way to read files, by either client: their texts in order, as they are there."""

    def parts(self, client: Client, files: Sequence[File]) -> Iterator[Part]: ...

    def parts_async(
        self, client: AsyncClient, files: Sequence[File]
    ) -> AsyncGenerator[Part, None]: ...


@dataclass(frozen=True, slots=True)
class PageReading:
    """A text a page; the pages of all files go out side by side."""

    options: Mapping[str, Any]

    def __post_init__(self) -> None:
        _check(self.options, {*OCROptions.__annotations__, "password"})

    def parts(self, client: Client, files: Sequence[File]) -> Iterator[Part]:
        contents = [file.content for file in files]
        with closing(client.ocr_iter(contents, **_strict(self.options))) as found:
            for page in found:
                yield _page(files[page.source], page)

    async def parts_async(
        self, client: AsyncClient, files: Sequence[File]
    ) -> AsyncGenerator[Part, None]:
        contents = [file.content for file in files]
        async with aclosing(client.ocr_iter(contents, **_strict(self.options))) as found:
            async for page in found:
                yield _page(files[page.source], page)


@dataclass(frozen=True, slots=True)
class SpeechReading:
    """A text a recording, or one a segment; one recording after another."""

    options: Mapping[str, Any]
    per: Per

    def __post_init__(self) -> None:
        one_of("per", self.per, get_args(Per))
        _check(self.options, SpeechOptions.__annotations__)

    def parts(self, client: Client, files: Sequence[File]) -> Iterator[Part]:
        for file in files:
            found = client.transcribe(file.content, **_strict(self.options))
            yield from _spoken(file, found, self.per)

    async def parts_async(
        self, client: AsyncClient, files: Sequence[File]
    ) -> AsyncGenerator[Part, None]:
        for file in files:
            found = await client.transcribe(file.content, **_strict(self.options))
            for part in _spoken(file, found, self.per):
                yield part


def _check(options: Iterable[str], known: Container[str]) -> None:
    """Raise TypeError for an option by a wrong name, before a pipeline is under way."""
    for name in options:
        if name not in known:
            raise TypeError(f"unexpected keyword argument {name!r}")


def _strict(options: Mapping[str, Any]) -> dict[str, Any]:
    """Stopping at the first failure: who takes a list would get nothing of what was paid for."""
    return {"on_error": "raise", **options}


def _page(file: File, page: Page) -> Part:
    facts = {"page": page.number, "warnings": "\n".join(page.warnings)}
    return Part(file, page.markdown, {**file.facts, **facts})


def _spoken(file: File, found: Transcript, per: Per) -> Iterator[Part]:
    doubts = [*found.warnings, *(f"piece {place}: {error}" for place, error in found.failures)]
    whole = {**file.facts, **_known(warnings="\n".join(doubts), language=found.language)}
    if per == "recording" or not found.segments:  # where nobody speaks, the warnings say so
        yield Part(file, found.text, {**whole, **_known(duration=found.duration)})
        return
    for one in found.segments:
        facts = _known(start=one.start, end=one.end, speaker=one.speaker)
        yield Part(file, one.text, {**whole, **facts})


def _known(**facts: Any) -> dict[str, Any]:
    return {name: fact for name, fact in facts.items() if fact is not None}
