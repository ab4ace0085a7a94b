"""What the pages of a call have in common: the model, how it is asked, and the journal."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from typing import TYPE_CHECKING, Any

from .._context import Context, Target
from .._flow import Flow, Work
from .._inputs import ImageURL
from .._journal import Journal, key_of
from ..gates import repairs
from ..profiles import GENERIC_OCR, ImageRule
from ._fetching import fetched
from ._page import OnePage, Read
from ._page_request import OCRRequest
from ._reading import Manner, messages, prompted
from ._sheet import Sheet

if TYPE_CHECKING:
    from ..documents.blocks import Page
    from ..documents.choosing import Ranges
    from ..documents.reading import ImageSource
    from ..documents.sources import Source

DPI = 144  # of PDFs, where the profile has none
LOOPS = {"min_pattern_size": 3, "max_pattern_size": 64, "min_count": 50}
"""Tokens that the server takes for a loop: 150 dots in a row are one, those of a contents page are
not."""
SHORT = 100  # characters; different pages may well say as little
REMEMBERED = 10_000  # pages that others are held against, so that memory does not grow with them


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the caller asked for, of every page."""

    task: str
    prompt: str | None
    phrase: str | None
    pages: Ranges | None
    dpi: float | None
    password: str | None
    max_tokens: int | None
    repair: bool
    extra_body: Mapping[str, Any]

    def opened(self, context: Context, given: ImageSource | ImageURL) -> Flow[Source]:
        """The document; raises as `source_of` and `fetched` do."""
        from ..documents.sources import source_of

        if isinstance(given, ImageURL):
            given = yield from fetched(context, given)
        call = partial(source_of, given, pages=self.pages, password=self.password)
        return (yield from Work(call))


class Reading:
    """What all pages of a call have in common."""

    def __init__(self, target: Target, asked: Asked, journal: Journal | None) -> None:
        """Raises InvalidRequestError as `prompted` does."""
        self.target, self.asked, self.journal = target, asked, journal
        self.profile = target.profile.ocr or GENERIC_OCR
        self.dpi = asked.dpi or self.profile.dpi or DPI
        self._fields = self._common_fields()
        # Words of the caller's own are said once, of the whole page.
        self.steps = self.profile.steps.get(asked.task) if asked.prompt is None else None
        task = self.steps.layout if self.steps else asked.task
        self.manner = self.manner_of(task, asked.prompt, asked.phrase)
        self._seen: dict[bytes, tuple[str, bytes]] = {}
        self._lock = threading.Lock()

    def manner_of(self, task: str, prompt: str | None = None, phrase: str | None = None) -> Manner:
        """How the model is asked for a task; raises as `prompted` does."""
        profile = self.profile
        return Manner(
            words=prompted(self.target, profile, task, prompt, phrase),
            fields={**self._fields, **profile.samplings.get(task, {})},
            rule=profile.pictures.get(task) or profile.image or ImageRule(),
            grammar=profile.grammars.get(task, profile.grammar),
            instead=profile.instead.get(task) if prompt is None else None,
        )

    def page(self, source: Source, number: int, place: int | None = None) -> Flow[Read]:
        """Read one page, or find it in the journal.

        Args:
            place: The document's, if it is one of many.
        """
        from ..documents.blocks import Page

        picture = partial(source.picture, number, self.dpi)
        key, known = "", None
        if self.journal is not None:
            key = yield from Work(lambda: self._key(source, number))
            known = yield from Work(partial(self.journal.get, key))
        if known:
            return Read(Page.from_dict(known, picture=picture, source=place or 0))
        name = f"page {number}" if place is None else f"page {number} of source {place}"
        read = yield from OnePage(self, source, number, name).read()
        page = replace(read.page, picture=picture, source=place or 0)
        if self.journal is not None and page.finish_reason != "error":  # of a block
            yield from Work(partial(self.journal.put, key, page.to_dict()))
        return replace(read, page=page)

    def failed(self, source: Source | None, number: int, error: Exception, place: int = 0) -> Page:
        """What stands for a page that could not be read."""
        from ..documents.blocks import Page

        return Page(
            number=number,
            width=0,
            height=0,
            markdown="",
            text="",
            finish_reason="error",
            warnings=(f"the page could not be read: {error}",),
            picture=partial(source.picture, number, self.dpi) if source else None,
            source=place,
        )

    def twin(self, text: str, url: str, name: str) -> str | None:
        """The name of another page that reads the same and looks otherwise, if there is one."""
        if len(text) < SHORT:
            return None
        words, picture = (sha256(one.encode("utf-8", "replace")).digest() for one in (text, url))
        with self._lock:
            other, its_picture = self._seen.setdefault(words, (name, picture))
            if len(self._seen) > REMEMBERED:
                del self._seen[next(iter(self._seen))]
        return other if its_picture != picture else None

    def request(self, manner: Manner, sheet: Sheet, temperature: float | None) -> OCRRequest:
        """The caller's fields, then the profile's where the caller named none; None leaves one out.

        Args:
            temperature: Other than the profile's; then nothing else narrows the choice of tokens.
        """
        extra, fields = self.asked.extra_body, dict(manner.fields)
        if temperature is not None:
            fields |= {"temperature": temperature, "top_p": None, "top_k": None}
        return OCRRequest(
            model=self.target.model,
            messages=messages(self.profile, sheet.url, manner.words),
            pixels=sheet.pixels,
            extra_body={name: value for name, value in extra.items() if value is not None},
            **{name: value for name, value in fields.items() if name not in extra},
        )

    def _common_fields(self) -> dict[str, Any]:
        versions = {replica.info.version for replica in self.target.replicas if replica.info}
        stops = not any(repairs("ocr-repetition-detection", version) for version in versions)
        return {
            "temperature": 0.0,
            **self.profile.sampling,
            "max_completion_tokens": self.asked.max_tokens,
            "skip_special_tokens": self.profile.skip_special_tokens,
            "vllm_xargs": dict(self.profile.vllm_xargs) or None,
            "repetition_detection": LOOPS if stops else None,
            "stream": True,
        }

    def _key(self, source: Source, number: int) -> str:
        further = map(self.manner_of, self.steps.all_tasks) if self.steps else ()
        asked = {
            "page": number,
            "dpi": self.dpi,
            "task": self.asked.task,
            "prompts": [(manner.words, manner.fields) for manner in (self.manner, *further)],
            "repair": self.asked.repair,
            "extra_body": dict(self.asked.extra_body),
        }
        return key_of(source.digest().encode(), self.target.model, asked)
