"""What is doubtful about the text of one piece: loops, phrases out of nowhere, too little or much.

Source of the limits: openai/whisper transcribe.py (`compression_ratio_threshold`); what speech
models write on silence is in openai/whisper discussion 679 and ggml-org/whisper.cpp issue 1724.
"""

from __future__ import annotations

import re
import zlib

DENSEST = 2.4  # characters a byte that zlib leaves; prose of 30 s has 1.2 to 1.8
WINDOW = 800  # characters, of about a minute: any longer text repeats itself
FASTEST = 30  # characters a second; the fastest speakers of English say 25
LOOP_WORDS, LOOP_TIMES = 8, 5  # so many words at most, again and again in a row
SPOKEN = 1.0  # s; in fewer a cough may have been taken for speech
QUIET = 0.5  # s; nobody says a whole sentence in fewer

# Written by models that hear nothing, out of the subtitles that they were trained with.
GHOSTS = frozenset(
    {
        *("you", "thank you", "thanks", "bye", "thank you for watching", "thanks for watching"),
        *("please subscribe", "subtitles by the amara org community", "so", "oh", "okay"),
        *("untertitel der amara org community", "untertitelung des zdf 2020", "vielen dank"),
        *("sous titres réalisés par la communauté d amara org", "merci d avoir regardé"),
        *("subtítulos realizados por la comunidad de amara org", "gracias por ver el video"),
        *(
            "ご視聴ありがとうございました",
            "字幕by索兰娅",
            "請不吝點贊訂閱轉發打賞支持明鏡與點點欄目",
        ),
    }
)


def density(text: str) -> float:
    """How many bytes of `text` one byte of its zlib form stands for, where it is densest."""
    contents = [
        text[at : at + WINDOW].encode("utf-8", "replace") for at in range(0, len(text), WINDOW)
    ]
    return max((len(one) / len(zlib.compress(one)) for one in contents), default=0.0)


def doubt(text: str, *, seconds: float, voiced: float) -> str | None:
    """What is wrong with the text of a piece, in words; None if nothing is.

    Args:
        text: What a model wrote.
        seconds: How long the piece lasts.
        voiced: Seconds of it that are loud enough to be speech.
    """
    if not text:
        return "no words, though somebody may speak" if voiced >= SPOKEN else None
    if loop := repeated(text):
        return f"{loop!r} again and again"
    if density(text) > DENSEST:
        return "the same words again and again"
    if len(text) > FASTEST * max(seconds, 1):
        return f"{len(text)} characters in {seconds:.1f} s"
    return None


def ghost(text: str, *, voiced: float) -> bool:
    """Whether `text` is what models write where nothing is said, and hardly anything was."""
    plain = " ".join(re.findall(r"\w+", text.lower()))
    return voiced < QUIET and plain in GHOSTS


def repeated(text: str) -> str | None:
    """The words, 8 at most, that stand in `text` 5 times in a row; one or two of them, 10 times."""
    words = text.split()
    for size in range(1, LOOP_WORDS + 1):
        run = 0
        for place in range(size, len(words)):
            run = run + 1 if words[place].lower() == words[place - size].lower() else 0
            times = 2 * LOOP_TIMES if size < 3 else LOOP_TIMES
            if run >= size * (times - 1):
                return " ".join(words[place - size + 1 : place + 1])
    return None
