"""One piece of a recording: asked, doubted, asked again, and noted in the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from .._context import Target
from .._flow import Flow, Response, Together, Work
from .._journal import Journal, key_of
from .._results import words
from ..audio.doubts import density, doubt, ghost
from ..audio.joining import joined, snapped, with_tail
from ..audio.pieces import RATE, halves
from ..audio.reading import Waveform, encode, read_audio
from ..audio.sending import Piece
from ..audio.transcript import Segment
from ..errors import BadRequestError, InternalServerError, VLLMModalitiesError
from ._chat_speech import chats
from ._hearing import SpeechBody, heard_in, request_of
from ._speech import SpeechRequest

LADDER = (0.2, 0.4, 0.6)  # temperatures; openai/whisper goes on to 1, where words are invented
TAIL = 0.4  # s; speech that goes on so long after the last timestamp is missing words
UNTIMED = "this model times no segments: they are the pieces that were sent"
HALVED = 4.0  # s; a shorter piece is not cut in two


@dataclass(frozen=True, slots=True)
class Heard:
    """What came of a piece.

    Attributes:
        segments: Times in seconds from the beginning of the piece.
        language: As the server says; None if it does not.
        doubts: What was repaired, left out or stays doubtful.
        notes: What was doubtful about the requests.
        raw: The server's answers.
    """

    segments: tuple[Segment, ...] = ()
    language: str | None = None
    doubts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    raw: tuple[bytes, ...] = ()

    @property
    def text(self) -> str:
        return joined(segment.text for segment in self.segments)

    def noted(self) -> dict[str, Any]:
        """What the journal keeps."""
        segments = [asdict(segment) for segment in self.segments]
        return {"segments": segments, "language": self.language, "doubts": self.doubts}

    @classmethod
    def of(cls, noted: Mapping[str, Any]) -> Heard:
        """What `noted` gave."""
        segments = tuple(Segment(**segment) for segment in noted["segments"])
        return cls(segments, noted["language"], tuple(noted["doubts"]))


class Ear:
    """Hears pieces, all with the same fields.

    Args:
        target: Who is asked.
        kind: The request.
        fields: Of the request, as `None` where they are not sent.
        form: The response format for what is not timed.
        timed: Whether to ask for timed segments.
        journal: Where finished pieces are noted.
    """

    def __init__(
        self,
        target: Target,
        kind: type[SpeechRequest],
        fields: Mapping[str, Any],
        *,
        form: str = "json",
        timed: bool,
        journal: Journal | None,
    ) -> None:
        self._target, self._kind, self._fields = target, kind, dict(fields)
        self._form, self._timed, self._journal = form, timed, journal
        extra = fields.get("extra_body") or {}
        given = (fields.get("temperature"), extra.get("temperature"))
        self._ladder = LADDER if given == (None, None) else ()

    def hear(self, piece: Piece) -> Flow[Heard]:
        """What is said in a piece."""
        return self._once(piece, "words", self._checked)

    def language(self, piece: Piece) -> Flow[str | None]:
        """The language of a piece, as the server tells it; None if it does not."""
        return (yield from self._once(piece, "language", self._verbose)).language

    def _once(self, piece: Piece, wanted: str, ask: Callable[[Piece], Flow[Heard]]) -> Flow[Heard]:
        """What the journal has of a piece, or else what `ask` gives, which is noted there."""
        journal = self._journal
        if journal is None:
            return (yield from ask(piece))
        form = "verbose_json" if self._timed else self._form
        asked = {"wanted": wanted, "path": self._kind.PATHS[0], "form": form}
        key = key_of(piece.content, self._target.model, asked | self._fields)
        found = yield from Work(lambda: journal.get(key))
        if found is not None:
            return Heard.of(found)
        heard = yield from ask(piece)
        yield from Work(lambda: journal.put(key, heard.noted()))
        return heard

    def _checked(self, piece: Piece) -> Flow[Heard]:
        heard = yield from self._asked(piece)
        if ghost(heard.text, voiced=piece.voiced):
            said = (
                f"{heard.text!r} is left out: models write it where hardly anything is to be heard"
            )
            return replace(heard, segments=(), doubts=(*heard.doubts, said))
        wrong = _doubt(heard, piece)
        if wrong is None:
            return heard
        heard, how = yield from self._repaired(piece, heard)
        return replace(heard, doubts=(*heard.doubts, f"{wrong}; {how}"))

    def _repaired(self, piece: Piece, heard: Heard) -> Flow[tuple[Heard, str]]:
        """A better answer, and where it is from; the best of the doubtful ones if there is none."""
        tries = [heard]
        for temperature in self._ladder:
            (other,) = yield from Together([self._asked(piece, temperature)])
            if isinstance(other, Heard):
                if _doubt(other, piece) is None:
                    return other, f"asked again at temperature {temperature}"
                tries.append(other)
        if piece.seconds >= HALVED:
            (other,) = yield from Together([self._halved(piece)])
            if isinstance(other, Heard):
                if _doubt(other, piece) is None:
                    return other, "cut in two and asked again"
                tries.append(other)
        best = min(tries, key=lambda one: (not one.text, density(one.text)))
        return best, "it stays so, however it is asked"

    def _halved(self, piece: Piece) -> Flow[Heard]:
        """What is said in both halves of a piece."""

        def cut() -> list[Piece]:
            parts = halves(read_audio(piece.content).samples)
            lengths = [len(part) / RATE for part in parts]
            contents = [encode(Waveform(part, RATE)) for part in parts]
            return [
                replace(piece, content=content, seconds=seconds, voices=())
                for content, seconds in zip(contents, lengths, strict=True)
            ]

        pieces = yield from Work(cut)
        outcomes = yield from Together([self._asked(half) for half in pieces])
        found = [heard for heard in outcomes if isinstance(heard, Heard)]
        if len(found) < len(outcomes):
            raise next(one for one in outcomes if isinstance(one, VLLMModalitiesError))
        first, second = found
        later = tuple(shifted(segment, pieces[0].seconds) for segment in second.segments)
        return Heard(
            (*first.segments, *later),
            first.language,
            first.doubts + second.doubts,
            first.notes + second.notes,
            first.raw + second.raw,
        )

    def _asked(self, piece: Piece, temperature: float | None = None) -> Flow[Heard]:
        if not self._timed:
            return (yield from self._plain(piece, temperature))
        (outcome,) = yield from Together([self._verbose(piece, temperature)])
        if isinstance(outcome, BadRequestError) and "verbose_json" in outcome.message:
            self._timed = False
            heard = yield from self._plain(piece, temperature)
            return replace(heard, notes=(*heard.notes, UNTIMED))
        if isinstance(outcome, InternalServerError) and outcome.status_code == 500:
            # A piece without a word is an IndexError in vLLM up to 0.33.0, `_get_verbose_segments`.
            return (yield from self._plain(piece, temperature))
        if isinstance(outcome, VLLMModalitiesError):
            raise outcome
        return (yield from self._completed(piece, temperature, outcome))

    def _completed(self, piece: Piece, temperature: float | None, heard: Heard) -> Flow[Heard]:
        """What `verbose_json` gave, and the words that it lost."""
        until = piece.voices[-1][1] if piece.voices else 0.0
        if heard.segments and until - heard.segments[-1].end < TAIL:
            return heard
        plain = yield from self._plain(piece, temperature)
        whole = with_tail(heard.segments, plain.text, until)
        both = replace(heard, notes=heard.notes + plain.notes, raw=heard.raw + plain.raw)
        if whole is None:
            return both
        said = f"verbose_json lost the words {whole[-1].text[:60]!r}; their times are estimated"
        return replace(both, segments=whole, doubts=(said,))

    def _verbose(self, piece: Piece, temperature: float | None = None) -> Flow[Heard]:
        response = yield from self._posted(piece, temperature, "verbose_json")
        return _timed(response, piece)

    def _plain(self, piece: Piece, temperature: float | None) -> Flow[Heard]:
        response = yield from self._posted(piece, temperature, self._form)
        heard, language = heard_in(self._target, response, piece.seconds)
        whole = (Segment(0.0, piece.seconds, heard.text),) if heard.text else ()
        segments = _inside(heard.segments, piece) or whole
        return Heard(
            segments, language, heard.doubts, words(response.findings), (response.content,)
        )

    def _posted(self, piece: Piece, temperature: float | None, form: str) -> Flow[Response]:
        fields = {**self._fields, "response_format": form}
        if temperature is not None:
            fields["temperature"] = temperature
        if not chats(self._target):
            fields["compared"] = True
        return self._target.post(
            request_of(self._target, self._kind, piece.content, piece.seconds, fields)
        )


def shifted(segment: Segment, seconds: float) -> Segment:
    """`segment` so much later."""
    return replace(segment, start=segment.start + seconds, end=segment.end + seconds)


def _doubt(heard: Heard, piece: Piece) -> str | None:
    return doubt(heard.text, seconds=piece.seconds, voiced=piece.voiced)


def _timed(response: Response, piece: Piece) -> Heard:
    """The segments of a `verbose_json` answer, inside the piece."""
    body = response.parse(SpeechBody)
    segments = snapped(_inside(body.heard().segments, piece), piece.voices)
    notes = words(response.findings)
    return Heard(tuple(segments), body.language, (), notes, (response.content,))


def _inside(segments: Iterable[Segment], piece: Piece) -> tuple[Segment, ...]:
    """Those with words, with times inside the piece."""
    found = []
    for one in segments:
        start = min(max(one.start, 0.0), piece.seconds)
        end = min(max(one.end, start), piece.seconds)
        found += [replace(one, start=start, end=end)] if one.text else []
    return tuple(found)
