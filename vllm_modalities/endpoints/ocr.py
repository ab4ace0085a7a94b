"""Pages to Markdown with boxes: `POST /v1/chat/completions` of a model that reads documents."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import Field

from .._context import Context, Target
from .._flow import Flow, Response, Work
from .._results import AnswerModel, words
from .._wire import RequestModel
from .._xargs import XArgs, ngram_findings
from ..errors import Finding
from ..profiles import GENERIC_OCR, ImageRule
from ..server import ServerInfo
from ._reading import messages, prompted

if TYPE_CHECKING:
    from ..documents.blocks import Document
    from ..documents.preparing import Prepared
    from ..documents.reading import ImageSource, PageImage


class OCRRequest(RequestModel):
    """Body of `POST /v1/chat/completions`, as far as reading pages needs it.

    Source: vLLM 0.32.0 vllm/entrypoints/openai/chat_completion/protocol.py,
    `ChatCompletionRequest`.
    """

    TASK: ClassVar[str] = "ocr"
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/chat/completions",)

    messages: tuple[Mapping[str, Any], ...] = Field(min_length=1, repr=False)
    temperature: float | None = Field(default=None, ge=0)
    top_p: float | None = None
    top_k: int | None = None
    repetition_penalty: float | None = None
    max_completion_tokens: int | None = Field(default=None, ge=1)
    skip_special_tokens: bool | None = None
    vllm_xargs: XArgs | None = None
    seed: int | None = None
    repetition_detection: Mapping[str, int] | None = None
    mm_processor_kwargs: Mapping[str, Any] | None = None
    media_io_kwargs: Mapping[str, Any] | None = None
    pixels: int | None = Field(default=None, exclude=True)
    """Pixels of all images together, if known; not sent, but held against the server's limit."""

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        """A chat route does not mean OCR: the model's profile must say so."""
        reads = any(model.profile.ocr for model in server.models if model.parent is None)
        return reads and super().suits(server)

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """The arguments of the n-gram processor, which a server takes wrong without a word."""
        return ngram_findings(self.vllm_xargs)


class _Message(AnswerModel):
    content: str | None = None


class _Choice(AnswerModel):
    message: _Message
    finish_reason: str | None = None


class _Completion(AnswerModel):
    choices: list[_Choice] = Field(min_length=1)


def ocr(
    context: Context,
    /,
    source: ImageSource,
    *,
    model: str | None = None,
    task: str = "markdown",
    prompt: str | None = None,
    phrase: str | None = None,
    max_tokens: int | None = None,
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Document]:
    """Read a page: its text as Markdown, and its blocks with their places.

    Args:
        source: A path (a `str` or `Path` is one), the bytes of a file, or a PIL image. A photo's
            EXIF orientation is honoured; what is transparent becomes white.
        model: The served model's name; None is the one that is served.
        task: What to do with the page: `"markdown"` (with boxes, where the model gives any), or
            another task of the model's profile: `"text"`, `"layout"`, `"table"`, `"formula"`,
            `"figure"`, `"locate"` …
        prompt: Words of your own instead of the profile's; the answer is parsed all the same.
        phrase: What `task="locate"` looks for.
        max_tokens: The most tokens a page may take; None is what the model's context leaves.
        extra_body: Further fields of the request; they go before the profile's.

    Returns:
        A document of one page. Boxes are in pixels of the image as it is seen, (x0, y0, x1, y1).
        A page that the model did not end by itself says so in `.warnings`, and its
        `.finish_reason` is not `"stop"`.

    Raises:
        MediaError: There is no such file, or it holds no image that can be read. Nothing is sent.
        UnsupportedTaskError: No server has a model that is known to read pages.
        InvalidRequestError: The profile has no such task, `phrase` is missing or not wanted, or
            the words hold what stands for the picture. Nothing is sent.

    Source: vLLM 0.32.0 vllm/entrypoints/openai/chat_completion/protocol.py; the model's profile.
    """
    from ..documents.preparing import prepare
    from ..documents.reading import read_image, to_data_url

    page = yield from Work(lambda: read_image(source))
    target = yield from context.find(OCRRequest, model)
    profile = target.profile.ocr or GENERIC_OCR
    words_sent = prompted(target, profile, task, prompt, phrase)
    prepared = yield from Work(lambda: prepare(page.image, profile.image or ImageRule()))
    url = yield from Work(lambda: to_data_url(prepared.image))
    request = _request(target, prepared, url, words_sent, max_tokens, dict(extra_body or {}))
    response = yield from target.post(request)
    choice = response.parse(_Completion).choices[0]
    return (yield from Work(lambda: _document(target, page, prepared, task, choice, response)))


def _request(
    target: Target,
    prepared: Prepared,
    url: str,
    prompt: str,
    max_tokens: int | None,
    extra: dict[str, Any],
) -> OCRRequest:
    """The caller's fields, then the profile's where the caller gave none."""
    profile = target.profile.ocr or GENERIC_OCR
    fields: dict[str, Any] = {
        "temperature": 0.0,
        **profile.sampling,
        "max_completion_tokens": max_tokens,
        "skip_special_tokens": profile.skip_special_tokens,
        "vllm_xargs": dict(profile.vllm_xargs) or None,
    }
    return OCRRequest(
        model=target.model,
        messages=messages(profile, url, prompt),
        pixels=prepared.image.width * prepared.image.height,
        extra_body=extra,
        **{name: value for name, value in fields.items() if extra.get(name) is None},
    )


def _document(
    target: Target,
    page: PageImage,
    prepared: Prepared,
    task: str,
    choice: _Choice,
    response: Response,
) -> Document:
    from ..documents.blocks import Document, Page
    from ..documents.grammars import GRAMMARS
    from ..documents.repetition import repeated_tail

    text = choice.message.content or ""
    profile = target.profile.ocr or GENERIC_OCR
    parse = GRAMMARS[profile.grammars.get(task, profile.grammar)]
    parsed = parse(text, prepared.frame, page.number)
    doubts = [*page.warnings, *parsed.warnings]
    if choice.finish_reason != "stop":
        doubts.append(
            f"the page is cut: the model did not end it by itself ({choice.finish_reason!r})"
        )
    if loop := repeated_tail(text):
        doubts.append(
            f"the text ends in a loop: {loop[0][:40]!r}, {loop[1]} times; vllm_xargs against loops"
            " do nothing on a server that was started without --logits-processors"
        )
    return Document(
        pages=(
            Page(
                number=page.number,
                width=page.width,
                height=page.height,
                markdown=parsed.markdown,
                text=parsed.text,
                blocks=parsed.blocks,
                finish_reason=choice.finish_reason,
                warnings=tuple(doubts),
                image=page.image,
            ),
        ),
        model=target.model or "",
        warnings=(*doubts, *words(response.findings)),
        raw=(response.content,) if target.context.options.keep_raw else None,
    )
