"""One picture: asked for, judged, and asked for again where that may help."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from .._context import Target
from .._flow import Flow, Response, Together, Work
from .._xargs import processor_findings
from ..errors import VLLMModalitiesError
from ._reading import Manner
from ._sheet import PREPARING, Sheet, sheet_of
from ._writing import Watch

if TYPE_CHECKING:
    from ..documents.grammars import Parsed
    from ..documents.halves import Seam
    from ..documents.reading import PageImage
    from ._pages import Reading

LADDER = (0.2, 0.6)
"""Temperatures of further tries: a loop is the likeliest text, and a little chance leaves it."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said of a picture, and what is wrong with that."""

    parsed: Parsed
    finish: str | None
    loop: tuple[str, int] | None = None

    @property
    def fault(self) -> str:
        """In a word, why another try may give more; nothing if it would not."""
        if self.loop or self.finish == "repetition":
            return "ended in a loop"
        return "" if self.parsed.markdown or self.parsed.blocks else "was empty"

    def doubts(self, what: str) -> list[str]:
        """What is doubtful about it, for people; `what` it is of."""
        doubts = list(self.parsed.warnings)
        if self.finish != "stop":
            doubts.append(
                f"the {what} is cut: the model did not end it by itself ({self.finish!r})"
            )
        if self.loop:
            doubts.append(f"the text ends in a loop: {self.loop[0][:40]!r}, {self.loop[1]} times")
        return doubts


class Tries:
    """Asks for one picture, and again where the answer is a loop, empty, cut, or of a turned page.

    Attributes:
        notes: What was tried, for people.
        responses: Every answer of a server.
    """

    def __init__(
        self,
        reading: Reading,
        manner: Manner,
        picture: Callable[[], PageImage],
        *,
        what: str = "page",
        may: frozenset[str] = frozenset({"turn", "part"}),
    ) -> None:
        """Nothing is asked yet.

        Args:
            picture: Reads it from its file.
            what: What it is, for people.
            may: What may be done with it: `"turn"` it upright, `"part"` it in two.
        """
        self._reading, self._manner, self._picture = reading, manner, picture
        self._what, self._may = what, may
        self._target: Target = reading.target
        self.notes: list[str] = []
        self.responses: list[Response] = []

    def sheet(self) -> Sheet:
        """The picture as it is sent."""
        with PREPARING:
            return sheet_of(self._picture(), self._manner.rule)

    def answer(self, sheet: Sheet) -> Flow[Reply]:
        """What the model says, as good as it gets; what stays bad says so.

        All tries together take no longer than a request may take, or the first one alone.
        """
        context = self._target.context
        ends = context.fleet.clock() + context.options.timeout
        reply = yield from self.ask(sheet)
        ends = ends if context.ends is None else min(ends, context.ends)
        self._target = replace(self._target, context=replace(context, ends=ends))
        if reply.fault:
            self._suspect(reply)
        if not self._reading.asked.repair:
            return reply
        if reply.parsed.rotation and "turn" in self._may:
            return (yield from self._upright(reply))
        if reply.fault:
            return (yield from self._again(sheet, reply))
        if reply.finish == "length" and "part" in self._may:
            return (yield from self._in_halves(reply))
        return reply

    def ask(self, sheet: Sheet, temperature: float | None = None) -> Flow[Reply]:
        """What the model says, asked once."""
        request = self._reading.request(self._manner, sheet, temperature)
        watches: list[Watch] = []

        def listen() -> Watch:
            watches.append(Watch())
            return watches[-1]

        response = yield from self._target.post(request, listen=listen)
        self.responses.append(response)
        text, finish = watches[-1].heard(response)
        return (yield from Work(lambda: self._judged(sheet, text, finish)))

    def _judged(self, sheet: Sheet, text: str, finish: str | None) -> Reply:
        from ..documents.grammars import GRAMMARS
        from ..documents.repetition import repeated_tail

        parsed = GRAMMARS[self._manner.grammar](text, sheet.frame, sheet.number)
        return Reply(parsed, finish, repeated_tail(text))

    def _upright(self, reply: Reply) -> Flow[Reply]:
        """Ask for a page that lies on its side, as the model says, after it was turned."""
        from ..documents.turning import turned, turned_back

        degrees = reply.parsed.rotation

        def upright() -> PageImage:
            page = self._picture()
            return replace(page, image=turned(page.image, degrees))

        tries = self._other(upright, may=self._may - {"turn"})
        sheet = yield from Work(tries.sheet)
        (outcome,) = yield from Together([tries.answer(sheet)])
        if isinstance(outcome, VLLMModalitiesError):
            self.notes.append(f"asking for the page after turning it failed: {outcome}")
            self._hear(tries)
            return reply
        self.notes.append(f"the page was turned by {degrees} degrees, as the model said")
        self._hear(tries)
        size = {"width": sheet.frame.width, "height": sheet.frame.height}
        return replace(outcome, parsed=turned_back(outcome.parsed, degrees, **size))

    def _again(self, sheet: Sheet, reply: Reply) -> Flow[Reply]:
        """Ask for what is empty or loops at higher temperatures, and then for another task."""
        if "temperature" in self._reading.asked.extra_body:
            return reply
        if reply.fault == "was empty" and (yield from Work(self._is_blank)):
            return reply
        usual = self._manner.fields["temperature"]
        ladder = [one for one in self._reading.profile.ladder or LADDER if one > usual]
        for temperature in ladder:
            (outcome,) = yield from Together([self.ask(sheet, temperature)])
            if isinstance(outcome, VLLMModalitiesError):
                self.notes.append(f"asking for the {self._what} again failed: {outcome}")
                return reply
            if not outcome.fault:
                self.notes.append(
                    f"the {self._what} was read at temperature {temperature}: at {usual:g} the"
                    f" answer {reply.fault}"
                )
                return outcome
        self.notes.append(
            f"the answer {reply.fault}, at temperatures {', '.join(map(str, ladder))} too"
        )
        return (yield from self._otherwise(reply))

    def _otherwise(self, reply: Reply) -> Flow[Reply]:
        """Ask once for another task, if the family has one that may do better."""
        task = self._manner.instead
        if task is None:
            return reply
        tries = self._other(self._picture, self._reading.manner_of(task))
        sheet = yield from Work(tries.sheet)
        (outcome,) = yield from Together([tries.ask(sheet)])
        self._hear(tries)
        if isinstance(outcome, VLLMModalitiesError) or outcome.fault:
            return reply
        self.notes.append(f"the {self._what} was read with task={task!r} in the end")
        return outcome

    def _in_halves(self, reply: Reply) -> Flow[Reply]:
        """Ask for the halves of what is too long for the model; it stays cut if that fails.

        A caller who bounds the tokens of a page has it cut as asked for.
        """
        from ..documents.halves import joined

        asked = self._reading.asked
        bounds = ("max_completion_tokens", "max_tokens")
        if asked.max_tokens or any(asked.extra_body.get(name) for name in bounds):
            return reply
        seam, sheets = yield from Work(self._parted)
        halves = [
            self._other(partial(self._span, *span), may=frozenset(), what="half")
            for span in seam.spans
        ]
        asks = [half.answer(sheet) for half, sheet in zip(halves, sheets, strict=True)]
        outcomes = yield from Together(asks)
        self._hear(*halves)
        failed = [outcome for outcome in outcomes if isinstance(outcome, VLLMModalitiesError)]
        if failed:
            self.notes.append(f"asking for the {self._what} in two halves failed: {failed[0]}")
            return reply
        top, bottom = (outcome for outcome in outcomes if isinstance(outcome, Reply))
        self.notes.append(f"the whole {self._what} was too long: it was read in {seam}")
        bad = next((half for half in (top, bottom) if half.finish != "stop"), top)
        parsed = joined(top.parsed, bottom.parsed, seam=seam, page=sheets[0].number)
        return Reply(parsed, bad.finish, top.loop or bottom.loop)

    def _other(
        self,
        picture: Callable[[], PageImage],
        manner: Manner | None = None,
        *,
        may: frozenset[str] = frozenset(),
        what: str | None = None,
    ) -> Tries:
        """Tries of another picture, or of another task, in the time that is left."""
        what = what or self._what
        other = Tries(self._reading, manner or self._manner, picture, what=what, may=may)
        other._target = self._target
        return other

    def _hear(self, *others: Tries) -> None:
        """Take over what others have noted and were answered."""
        for other in others:
            self.notes += other.notes
            self.responses += other.responses

    def _parted(self) -> tuple[Seam, list[Sheet]]:
        from ..documents.halves import cut

        with PREPARING:
            page = self._picture()
            seam = cut(page.image)
            return seam, [sheet_of(_span(page, *span), self._manner.rule) for span in seam.spans]

    def _span(self, top: int, bottom: int) -> PageImage:
        return _span(self._picture(), top, bottom)

    def _is_blank(self) -> bool:
        from ..documents.reading import is_blank

        with PREPARING:
            return is_blank(self._picture().image)

    def _suspect(self, reply: Reply) -> None:
        """Warn, once a call, of a loop that the n-gram processor would not have let be."""
        asked = {**self._manner.fields, **self._reading.asked.extra_body}
        unit = reply.loop[0] if reply.loop else ""
        self._target.context.report(processor_findings(asked["vllm_xargs"], unit))


def _span(page: PageImage, top: int, bottom: int) -> PageImage:
    """Some rows of a page."""
    return replace(page, image=page.image.crop((0, top, page.width, bottom)))
