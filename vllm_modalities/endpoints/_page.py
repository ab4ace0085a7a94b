"""One page: read from its document, asked for, judged, and asked for again where that may help."""

from __future__ import annotations

import math
import os
import re
import threading
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from .._context import Target
from .._flow import Flow, Response, Together, Work
from .._results import words
from .._xargs import ngram_findings
from ..errors import Finding, ModelUsageWarning, VLLMModalitiesError
from ._writing import Watch

if TYPE_CHECKING:
    from PIL.Image import Image

    from ..documents.blocks import Page
    from ..documents.grammars import Parsed
    from ..documents.preparing import Frame
    from ..documents.reading import PageImage
    from ..documents.sources import Source
    from ._pages import Reading

LADDER = (0.2, 0.6)
"""Temperatures of further tries: a loop is the likeliest text, and a little chance leaves it."""

# Pages that stand in memory as pixels; more would not be ready any sooner.
PREPARING = threading.BoundedSemaphore(os.cpu_count() or 1)
WINDOW = 100  # the processor's own, if a request names none
CELLS = re.compile(r"</?t[dr]>|\s")  # what the n-gram processor lets a table repeat


@dataclass(frozen=True, slots=True)
class Read:
    """A page, what was doubtful about its requests, and the server's own answers."""

    page: Page
    said: tuple[str, ...] = ()
    raw: tuple[bytes, ...] = ()


@dataclass(frozen=True, slots=True)
class _Sheet:
    """A page, or a half of one, as it is sent.

    Attributes:
        url: What is sent.
        pixels: How many those are.
        frame: The way back to the page, or to the half.
        warnings: What is doubtful about the file it came from.
    """

    url: str
    pixels: int
    frame: Frame
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class _Reply:
    """What a model said of a page, and what is wrong with that."""

    parsed: Parsed
    finish: str | None
    loop: tuple[str, int] | None = None

    @property
    def fault(self) -> str:
        """In a word, why another try may give more; nothing if it would not."""
        if self.loop or self.finish == "repetition":
            return "ended in a loop"
        return "" if self.parsed.markdown or self.parsed.blocks else "was empty"

    def doubts(self) -> list[str]:
        doubts = list(self.parsed.warnings)
        if self.finish != "stop":
            doubts.append(f"the page is cut: the model did not end it by itself ({self.finish!r})")
        if self.loop:
            doubts.append(f"the text ends in a loop: {self.loop[0][:40]!r}, {self.loop[1]} times")
        return doubts


class OnePage:
    """Reads one page of a document."""

    def __init__(self, reading: Reading, source: Source, number: int, name: str) -> None:
        self._reading, self._source, self._number, self._name = reading, source, number, name
        self._target: Target = reading.target
        self._notes: list[str] = []
        self._responses: list[Response] = []

    def read(self) -> Flow[Read]:
        """The page, as well as it can be read; what stays bad says so.

        All tries together take no longer than a request may take, or the first one alone.
        """
        context = self._target.context
        ends = context.fleet.clock() + context.options.timeout
        sheet = yield from Work(self._sheet)
        reply = yield from self._ask(sheet)
        ends = ends if context.ends is None else min(ends, context.ends)
        self._target = replace(self._target, context=replace(context, ends=ends))
        if reply.parsed.rotation and self._reading.asked.repair:
            reply = yield from self._upright(reply)
        if reply.fault:
            reply = yield from self._again(sheet, reply)
        elif reply.finish == "length":
            reply = yield from self._in_halves(reply)
        return (yield from Work(lambda: self._read(sheet, reply)))

    def _ask(self, sheet: _Sheet, temperature: float | None = None) -> Flow[_Reply]:
        request = self._reading.request(sheet.url, sheet.pixels, temperature)
        watches: list[Watch] = []

        def listen() -> Watch:
            watches.append(Watch())
            return watches[-1]

        response = yield from self._target.post(request, listen=listen)
        self._responses.append(response)
        text, finish = watches[-1].heard(response)
        return (yield from Work(lambda: self._judged(sheet, text, finish)))

    def _judged(self, sheet: _Sheet, text: str, finish: str | None) -> _Reply:
        from ..documents.grammars import GRAMMARS
        from ..documents.repetition import repeated_tail

        parsed = GRAMMARS[self._reading.grammar](text, sheet.frame, self._number)
        return _Reply(parsed, finish, repeated_tail(text))

    def _upright(self, reply: _Reply) -> Flow[_Reply]:
        """Ask for a page that lies on its side, as the model says, after it was turned."""
        from ..documents.turning import turned_back

        degrees = reply.parsed.rotation
        sheet = yield from Work(lambda: self._turned(degrees))
        (outcome,) = yield from Together([self._ask(sheet)])
        if isinstance(outcome, VLLMModalitiesError):
            self._notes.append(f"asking for the page after turning it failed: {outcome}")
            return reply
        self._notes.append(f"the page was turned by {degrees} degrees, as the model said")
        size = {"width": sheet.frame.width, "height": sheet.frame.height}
        return replace(outcome, parsed=turned_back(outcome.parsed, degrees, **size))

    def _again(self, sheet: _Sheet, reply: _Reply) -> Flow[_Reply]:
        """Ask for a page that is empty, or ends in a loop, at higher temperatures."""
        self._suspect(reply)
        asked = self._reading.asked
        if not asked.repair or "temperature" in asked.extra_body:
            return reply
        if reply.fault == "was empty" and (yield from Work(self._is_blank)):
            return reply
        usual = self._reading.fields["temperature"]
        ladder = [temperature for temperature in LADDER if temperature > usual]
        for temperature in ladder:
            (outcome,) = yield from Together([self._ask(sheet, temperature)])
            if isinstance(outcome, VLLMModalitiesError):
                self._notes.append(f"asking for the page again failed: {outcome}")
                return reply
            if not outcome.fault:
                self._notes.append(
                    f"the page was read at temperature {temperature}: at {usual:g} the answer"
                    f" {reply.fault}"
                )
                return outcome
        self._notes.append(
            f"the answer {reply.fault}, at temperatures {', '.join(map(str, ladder))} too"
        )
        return reply

    def _suspect(self, reply: _Reply) -> None:
        """Warn, once a call, of a loop that the n-gram processor would not have let be.

        It looks for `ngram_size` tokens in a row among the last `window_size`, so it does not see
        what comes round after more; a token is a byte at least.
        """
        reading = self._reading
        xargs = {**reading.fields, **reading.asked.extra_body}["vllm_xargs"] or {}
        if any(ngram_findings(xargs)):  # which a processor would have refused
            return
        size, window = xargs.get("ngram_size", math.inf), xargs.get("window_size", WINDOW)
        unit = reply.loop[0] if reply.loop else ""
        if CELLS.sub("", unit) and len(unit.encode()) <= window - size:
            message = (
                "a page ends in a loop, which the n-gram processor does not let happen: the server"
                " was probably started without it. Add --logits-processors"
                " vllm.model_executor.models.deepseek_ocr:NGramPerReqLogitsProcessor"
            )
            finding = Finding(
                code="ocr-no-ngram-processor",
                severity="warning",
                field="vllm_xargs",
                message=message,
                source="vLLM 0.32.0 vllm/model_executor/models/deepseek_ocr.py",
                warns=ModelUsageWarning,
            )
            self._target.context.report([finding])

    def _in_halves(self, reply: _Reply) -> Flow[_Reply]:
        """Ask for the halves of a page that is too long for the model; it stays cut if that fails.

        A caller who bounds the tokens of a page has it cut as asked for.
        """
        from ..documents.halves import joined

        extra, asked = self._reading.asked.extra_body, self._reading.asked
        bounds = ("max_completion_tokens", "max_tokens")
        if not asked.repair or asked.max_tokens or any(extra.get(name) for name in bounds):
            return reply
        row, is_free, halves = yield from Work(self._halves)
        outcomes = yield from Together([self._ask(half) for half in halves])
        failed = [outcome for outcome in outcomes if isinstance(outcome, VLLMModalitiesError)]
        if failed:
            self._notes.append(f"asking for the page in two halves failed: {failed[0]}")
            return reply
        replies = [outcome for outcome in outcomes if isinstance(outcome, _Reply)]
        crossed = "" if is_free else ", through what stands there"
        self._notes.append(
            f"the whole page was too long: it was read in two halves, parted at row {row}{crossed}"
        )
        top, bottom = replies
        bad = next((half for half in replies if half.finish != "stop"), top)
        parsed = joined(top.parsed, bottom.parsed, row=row, page=self._number)
        return _Reply(parsed, bad.finish, top.loop or bottom.loop)

    def _read(self, sheet: _Sheet, reply: _Reply) -> Read:
        from ..documents.blocks import Page

        notes = [*sheet.warnings, *self._notes, *reply.doubts()]
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
        keep = self._target.context.options.keep_raw
        return Read(page, said, tuple(one.content for one in self._responses) if keep else ())

    def _image(self) -> PageImage:
        return self._source.read(self._number, dpi=self._reading.dpi)

    def _sheet(self) -> _Sheet:
        with PREPARING:
            page = self._image()
            return self._fitted(page.image, page.warnings)

    def _turned(self, degrees: int) -> _Sheet:
        from ..documents.turning import turned

        with PREPARING:
            return self._fitted(turned(self._image().image, degrees))

    def _halves(self) -> tuple[int, bool, list[_Sheet]]:
        from ..documents.halves import cut_row

        with PREPARING:
            image = self._image().image
            row, is_free = cut_row(image)
            spans = ((0, row), (row, image.height))
            halves = [image.crop((0, top, image.width, bottom)) for top, bottom in spans]
            return row, is_free, [self._fitted(half) for half in halves]

    def _fitted(self, image: Image, warnings: tuple[str, ...] = ()) -> _Sheet:
        from ..documents.preparing import prepare
        from ..documents.reading import to_data_url

        fitted = prepare(image, self._reading.rule)
        pixels = fitted.image.width * fitted.image.height
        return _Sheet(to_data_url(fitted.image), pixels, fitted.frame, warnings)

    def _is_blank(self) -> bool:
        from ..documents.reading import is_blank

        with PREPARING:
            return is_blank(self._image().image)


def _findings(responses: Iterable[Response]) -> Iterable[Finding]:
    return (finding for response in responses for finding in response.findings)
