"""Checks of models that hear or read: a sentence and a page whose words are known."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .._flow import Work
from .._results import AnswerModel
from ..endpoints._completions import completed
from ..endpoints._page_request import OCRRequest
from ..endpoints._reading import messages
from ..endpoints.transcribe import TranscriptionRequest
from ..errors import BadRequestError, VLLMModalitiesError
from ..profiles import GENERIC_OCR
from ._report import Check
from ._subject import Checks, Examination, Subject, brief

if TYPE_CHECKING:
    from PIL.Image import Image

INSTALLED = Path(__file__).parents[1] / "cli" / "assets"
ASSETS = INSTALLED if INSTALLED.is_dir() else Path(__file__).parents[2] / "examples" / "assets"
CLIP = "speech-en-us.flac"
HEARD = 0.6  # of the words, at least
PAGE = ("Invoice 4471", "Total 93.50 EUR", "Thank you")
READ = 0.5  # of the words, at least
LONGEST = 200  # tokens that a page may become


class _Text(AnswerModel):
    text: str


def spoken(subject: Subject) -> Checks:
    """Whether a sentence is heard, and heard the same again; and how long that takes."""
    told = yield from Work(lambda: (ASSETS / CLIP).with_name("speech.json").read_text("utf-8"))
    content = yield from Work((ASSETS / CLIP).read_bytes)
    clip = json.loads(told)[CLIP]
    body = TranscriptionRequest(file=content, language=clip["language"])
    began = subject.now()
    heard = (yield from subject.post(body)).parse(_Text).text
    seconds = subject.now() - began
    again = (yield from subject.post(body)).parse(_Text).text
    share = _share(clip["text"], heard)
    right = share >= HEARD
    cure = "" if right else "check the weights, and that the model hears English"
    return [
        Check("spoken canary", "ok" if right else "fault", f"{share:.0%} heard: {heard!r}", cure),
        Check(
            "same again",
            "ok" if heard == again else "doubt",
            "the same words" if heard == again else f"then {again!r}",
        ),
        Check("pace", "ok", f"{seconds:.1f} s for one sentence, alone"),
    ]


def page(subject: Subject) -> Checks:
    """Whether a drawn page is read."""
    from ..documents.reading import to_data_url

    url = yield from Work(lambda: to_data_url(_drawn()))
    began = subject.now()
    outcome = yield from subject.outcome(_request(subject, url, LONGEST))
    seconds = subject.now() - began
    if isinstance(outcome, VLLMModalitiesError):
        return [Check("page canary", "fault", brief(outcome), "see the server's log")]
    text, reason = completed(outcome)
    share = _share(" ".join(PAGE), text)
    right = share >= READ
    cure = "" if right else "check the weights and flags: `vllm-modalities recipe`"
    return [
        Check("page canary", "ok" if right else "fault", f"{share:.0%} read: {text[:80]!r}", cure),
        Check(
            "end of the page",
            "ok" if reason == "stop" else "doubt",
            f"ended by {reason!r}",
            "" if reason == "stop" else "it may loop; see the n-gram processor",
        ),
        Check("pace", "ok", f"{seconds:.1f} s for one page, alone"),
    ]


def processor(subject: Subject) -> Checks:
    """Whether the processor that ends loops is loaded: only it refuses a wrong argument."""
    facts = subject.profile.ocr
    if facts is None or "ngram_size" not in facts.vllm_xargs:
        return [Check("n-gram processor", "left out", "this model is not known to need it")]
    body = _request(subject, None, 1).model_copy(update={"vllm_xargs": {"ngram_size": -1}})
    outcome = yield from subject.outcome(body)
    if isinstance(outcome, BadRequestError) and "ngram_size" in str(outcome):
        return [Check("n-gram processor", "ok", "loaded: it refuses ngram_size=-1")]
    cure = "serve it with --logits-processors: `vllm-modalities recipe`"
    return [Check("n-gram processor", "fault", "ngram_size=-1 is taken, so it is not there", cure)]


def _request(subject: Subject, url: str | None, tokens: int) -> OCRRequest:
    """A page, or words alone, as the model's profile asks."""
    facts = subject.profile.ocr or GENERIC_OCR
    words = next(iter(facts.prompts.values()), "")
    alone = ({"role": "user", "content": words},)
    asked: dict[str, Any] = {
        "temperature": 0.0,
        **facts.sampling,
        "skip_special_tokens": facts.skip_special_tokens,
        "vllm_xargs": dict(facts.vllm_xargs) or None,
    }
    sent = messages(facts, url, words) if url else alone
    return OCRRequest(messages=sent, max_completion_tokens=tokens, **asked)


def _drawn() -> Image:
    """A white page with a few large words."""
    from PIL import Image, ImageDraw, ImageFont

    image = Image.new("RGB", (640, 400), "white")
    font = ImageFont.load_default(size=48)
    for number, line in enumerate(PAGE):
        ImageDraw.Draw(image).text((40, 50 + 100 * number), line, fill="black", font=font)
    return image


def _share(spoken: str, found: str) -> float:
    """How much of the words is there, whatever the order and the case."""
    wanted, there = _words(spoken), _words(found)
    return len(wanted & there) / len(wanted)


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


MEDIA_CHECKS = (
    Examination("transcribe", "spoken", 2, spoken),
    Examination("ocr", "page", 1, page),
    Examination("ocr", "processor", 1, processor),
)
