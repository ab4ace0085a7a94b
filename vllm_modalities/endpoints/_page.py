"""One page: read from its document and asked for, whole, or its layout and then block by block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from .._flow import Flow, Response, Together, Work
from .._many import is_shared
from .._results import words
from ..errors import Finding, VLLMModalitiesError
from ._sheet import PREPARING, Sheet, sheet_of
from ._tries import Reply, Tries

if TYPE_CHECKING:
    from ..documents.blocks import Block, Page
    from ..documents.grammars import Parsed
    from ..documents.reading import PageImage
    from ..documents.sources import Source
    from ..profiles import Steps
    from ._pages import Reading


@dataclass(frozen=True, slots=True)
class Read:
    """A page, what was doubtful about its requests, and the server's own answers."""

    page: Page
    said: tuple[str, ...] = ()
    raw: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class _Part:
    """One block of a page, as it is asked for."""

    block: Block
    tries: Tries
    sheet: Sheet

    @property
    def name(self) -> str:
        return f"block {self.block.order} ({self.block.type})"


class OnePage:
    """Reads one page of a document."""

    def __init__(self, reading: Reading, source: Source, number: int, name: str) -> None:
        self._reading, self._source, self._number, self._name = reading, source, number, name
        self._notes: list[str] = []
        self._responses: list[Response] = []

    def read(self) -> Flow[Read]:
        """The page, as well as it can be read; what stays bad says so."""
        whole = Tries(self._reading, self._reading.manner, self._image)
        sheet = yield from Work(whole.sheet)
        self._notes += sheet.warnings
        reply = yield from whole.answer(sheet)
        self._responses += whole.responses
        self._notes += whole.notes
        if self._reading.steps:
            reply = yield from self._in_steps(self._reading.steps, reply)
        else:
            self._notes += reply.doubts("page")
        return (yield from Work(lambda: self._read(sheet, reply)))

    def _in_steps(self, steps: Steps, reply: Reply) -> Flow[Reply]:
        """Ask for each block of a layout, side by side; what fails keeps its place, without words.

        Raises:
            VLLMModalitiesError: None could be read, or what fails them is shared by all requests.
        """
        from ..documents.regions import composed, distinct

        layout = yield from Work(partial(distinct, reply.parsed))
        self._notes += replace(reply, parsed=layout).doubts("layout")
        parts = yield from Work(partial(self._parts, steps, layout))
        # A list, so that no more threads help out than there are blocks.
        asks = [part.tries.answer(part.sheet) for part in parts]
        outcomes = yield from Together(asks, is_shared)
        failed = [one for one in outcomes if isinstance(one, VLLMModalitiesError)]
        for error in failed:
            if is_shared(error) or len(failed) == len(parts):
                raise error
        said, finishes = self._gathered(parts, outcomes)
        compose = partial(composed, layout, said, page=self._number)
        parsed = yield from Work(compose)
        self._notes += parsed.warnings
        finish = next((one for one in (reply.finish, *finishes) if one != "stop"), "stop")
        return Reply(parsed, "error" if failed else finish)

    def _gathered(
        self, parts: Sequence[_Part], outcomes: Sequence[Reply | VLLMModalitiesError]
    ) -> tuple[dict[int, str], list[str | None]]:
        """The words of each block, and why the model stopped."""
        said: dict[int, str] = {}
        finishes = []
        for part, outcome in zip(parts, outcomes, strict=True):
            self._responses += part.tries.responses
            if isinstance(outcome, Reply):
                said[part.block.order] = outcome.parsed.markdown
                finishes.append(outcome.finish)
                notes = [*part.tries.notes, *outcome.doubts("block")]
            else:
                notes = [*part.tries.notes, f"it could not be read: {outcome}"]
            self._notes += [f"{part.name}: {note}" for note in notes]
        return said, finishes

    def _parts(self, steps: Steps, layout: Parsed) -> list[_Part]:
        """The blocks that are read; the page is read from its file once for all of them."""
        from ..documents.regions import cut_out

        def piece(page: PageImage, block: Block) -> PageImage:
            image = cut_out(page.image, block, layout.turns.get(block.order, 0))
            return replace(page, image=image, warnings=())

        def part(block: Block, task: str) -> _Part:
            manner = self._reading.manner_of(task)
            tries = Tries(
                self._reading,
                manner,
                lambda: piece(self._image(), block),
                what="block",
                may=frozenset({"part"}),
            )
            return _Part(block, tries, sheet_of(piece(whole, block), manner.rule))

        wanted = [
            (block, task)
            for block in layout.blocks
            if block.boxes and (task := steps.task_of(block.type))
        ]
        with PREPARING:
            whole = self._image()
            return [part(block, task) for block, task in wanted]

    def _read(self, sheet: Sheet, reply: Reply) -> Read:
        from ..documents.blocks import Page

        notes = list(self._notes)
        if other := self._reading.twin(reply.parsed.text, sheet.url, self._name):
            notes.append(f"the words are those of {other}, whose picture is another")
        page = Page(
            number=self._number,
            width=sheet.frame.width,
            height=sheet.frame.height,
            markdown=reply.parsed.markdown,
            text=reply.parsed.text,
            blocks=reply.parsed.blocks,
            finish_reason=reply.finish,
            warnings=tuple(notes),
        )
        said = words(_findings(self._responses))
        keep = self._reading.target.context.options.keep_raw
        return Read(page, said, tuple(one.content for one in self._responses) if keep else ())

    def _image(self) -> PageImage:
        return self._source.read(self._number, dpi=self._reading.dpi)


def _findings(responses: Iterable[Response]) -> Iterable[Finding]:
    return (finding for response in responses for finding in response.findings)
