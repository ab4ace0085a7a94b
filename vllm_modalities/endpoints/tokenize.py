"""Texts to token ids and back: `POST /tokenize` and `POST /detokenize`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Self, TypeVar, get_args

from pydantic import Field, model_validator

from .._context import Context, Target
from .._flow import Flow, Response
from .._inputs import invalid, one_of, without
from .._many import Failure, OnError, each, settle
from .._results import AnswerModel, raw, words
from .._wire import RequestModel
from ..errors import Finding
from ._content import Chat, Item, inputs_of
from ._sent import sent

if TYPE_CHECKING:
    from ._content import Input


class TokenizeRequest(RequestModel):
    """Body of `POST /tokenize`.

    Source: vLLM 0.32.0 vllm/entrypoints/serve/tokenize/protocol.py.
    """

    TASK: ClassVar[str] = "tokenize"
    PATHS: ClassVar[tuple[str, ...]] = ("/tokenize",)

    prompt: str | None = None
    messages: tuple[Mapping[str, Any], ...] | None = None
    add_special_tokens: bool | None = None
    return_token_strs: bool | None = None


class DetokenizeRequest(RequestModel):
    """Body of `POST /detokenize`.

    Source: vLLM 0.32.0 vllm/entrypoints/serve/tokenize/protocol.py.
    """

    TASK: ClassVar[str] = "detokenize"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("tokenize",)
    PATHS: ClassVar[tuple[str, ...]] = ("/detokenize",)

    tokens: tuple[int, ...]


class TokensBody(AnswerModel):
    tokens: tuple[Annotated[int, Field(ge=0)], ...]
    token_strs: tuple[str | None, ...] | None = None
    max_model_len: int | None = None

    @model_validator(mode="after")
    def _all_have_strings(self) -> Self:
        if self.token_strs is not None and len(self.token_strs) != len(self.tokens):
            raise ValueError("there is not one string a token")
        return self


class TextBody(AnswerModel):
    prompt: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Tokenized:
    """The token ids of each input, in the inputs' order: a sequence of tuples of numbers.

    Attributes:
        ids: The token ids of each; None where it failed. Length n.
        strings: The tokens as the model's vocabulary writes them, with `return_token_strs=True`;
            one that has none is None.
        max_model_len: How many tokens the model takes; None if the server does not say.
        model: The served model's name.
        warnings: What was doubtful.
        failures: (position, error) of the inputs that failed; only with `on_error="return"`.
        raw: The server's own answers, with `keep_raw=True`.
    """

    ids: tuple[tuple[int, ...] | None, ...]
    strings: tuple[tuple[str | None, ...] | None, ...] | None = None
    max_model_len: int | None = None
    model: str | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    raw: tuple[bytes, ...] | None = None

    @property
    def counts(self) -> tuple[int, ...]:
        """How many tokens each input has; 0 where it failed."""
        return tuple(len(ids or ()) for ids in self.ids)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, place: int) -> tuple[int, ...] | None:
        return self.ids[place]

    def __iter__(self) -> Iterator[tuple[int, ...] | None]:
        return iter(self.ids)

    def __repr__(self) -> str:
        return f"Tokenized({len(self)} inputs, {sum(self.counts)} tokens, model={self.model!r})"


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class Detokenized:
    """The text of each list of token ids, in their order: a sequence of texts.

    Attributes:
        texts: The text of each; None where it failed. Length n.
        model: The served model's name.
        warnings: What was doubtful.
        failures: (position, error) of the lists that failed; only with `on_error="return"`.
        raw: The server's own answers, with `keep_raw=True`.
    """

    texts: tuple[str | None, ...]
    model: str | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    raw: tuple[bytes, ...] | None = None

    def __len__(self) -> int:
        return len(self.texts)

    def __getitem__(self, place: int) -> str | None:
        return self.texts[place]

    def __iter__(self) -> Iterator[str | None]:
        return iter(self.texts)

    def __repr__(self) -> str:
        return f"Detokenized({len(self)} texts, model={self.model!r})"


def tokenize(
    context: Context,
    /,
    inputs: Input | Iterable[Input],
    *,
    model: str | None = None,
    add_special_tokens: bool | None = None,
    return_token_strs: bool | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Tokenized]:
    """The token ids of each input, any number of them; each is one request.

    Args:
        inputs: One text or conversation, or n of them; images as for `embed`, of which a model that
            sees counts every token. None at all makes no request.
        model: The served model's name; None is the one that is served.
        add_special_tokens: Whether the tokenizer adds its own, such as `[CLS]`; None is the
            server's default: it does to a text, and not to a conversation, whose template does.
        return_token_strs: Give each token's string too.
        on_error: As for `embed`.
        extra_body: Further fields of the request.

    Returns:
        n tuples of token ids.

    Raises:
        InvalidRequestError: An input is no text or conversation. Nothing is sent.
        PartialFailureError: Some inputs failed; `.results` has the others.
        ResponseError: An answer has no token ids.

    Source: vLLM 0.32.0 vllm/entrypoints/serve/tokenize/protocol.py.
    """
    items = inputs_of("inputs", inputs)
    one_of("on_error", on_error, get_args(OnError))
    without(extra_body, ("prompt", "messages"))
    if any(isinstance(item, tuple) for item in items):
        raise invalid("inputs", "inputs are token ids already; detokenize() makes texts of them")
    if not items:
        return Tokenized(ids=())
    target = yield from context.find(TokenizeRequest, model)
    template = TokenizeRequest(
        model=target.model,
        add_special_tokens=add_special_tokens,
        return_token_strs=return_token_strs,
        extra_body=extra_body,
    )
    found, failures, common = yield from _answers(target, template, items, TokensBody, on_error)
    strings = tuple(one.token_strs if one else None for one in found)
    lengths = [one.max_model_len for one in found if one and one.max_model_len]
    result = Tokenized(
        ids=tuple(one.tokens if one else None for one in found),
        strings=strings if return_token_strs else None,
        max_model_len=min(lengths, default=None),
        **common,
    )
    return settle(result, failures, on_error=on_error)


def detokenize(
    context: Context,
    /,
    tokens: Sequence[int] | Iterable[Sequence[int]],
    *,
    model: str | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Detokenized]:
    """The text of each list of token ids, any number of them; each is one request.

    Args:
        tokens: One list of token ids, or n of them; arrays and what `tokenize` gave too.
        model: The served model's name; None is the one that is served.
        on_error: As for `embed`.
        extra_body: Further fields of the request.

    Returns:
        n texts. Special tokens are written out.

    Raises:
        InvalidRequestError: It is no list of token ids. Nothing is sent.
        PartialFailureError: Some lists failed; `.results` has the others.
        ResponseError: An answer has no text.

    Source: vLLM 0.32.0 vllm/entrypoints/serve/tokenize/protocol.py.
    """
    items = inputs_of("tokens", tokens)
    ids = [item for item in items if isinstance(item, tuple)]
    one_of("on_error", on_error, get_args(OnError))
    without(extra_body, ("tokens",))
    if len(ids) < len(items):
        raise invalid(
            "tokens", "tokens must be a list of token ids, or many; tokenize() gives them"
        )
    if not ids:
        return Detokenized(texts=())
    target = yield from context.find(DetokenizeRequest, model)
    template = DetokenizeRequest(model=target.model, tokens=ids[0], extra_body=extra_body)
    found, failures, common = yield from _answers(target, template, ids, TextBody, on_error)
    result = Detokenized(texts=tuple(one.prompt if one else None for one in found), **common)
    return settle(result, failures, on_error=on_error)


Body = TypeVar("Body", bound=AnswerModel)


def _answers(
    target: Target,
    template: RequestModel,
    items: Sequence[Item],
    body: type[Body],
    on_error: OnError,
) -> Flow[tuple[list[Body | None], list[Failure], dict[str, Any]]]:
    """Ask once for each input: what was answered, what failed, and what every result has."""
    found: list[Body | None] = [None] * len(items)
    findings, responses = list[Finding](), list[Response]()

    def run(batch: Sequence[int]) -> Flow[list[Failure]]:
        (place,) = batch
        fields, doubts = yield from _fields(target.context, items[place])
        response = yield from target.post(template.model_copy(update=fields))
        found[place] = response.parse(body)
        findings.extend([*doubts, *response.findings])
        if target.context.options.keep_raw:
            responses.append(response)
        return []

    # A batch of one is never halved, so nothing harmless is asked beside it.
    work = [(place,) for place in range(len(items))]
    failures = yield from each(work, run, partial(run, (0,)), on_error=on_error)
    common = {
        "model": target.model,
        "warnings": words(findings),
        "failures": tuple(failures),
        "raw": raw(responses, target.context.options.keep_raw),
    }
    return found, failures, common


def _fields(context: Context, item: Item) -> Flow[tuple[dict[str, Any], list[Finding]]]:
    """The fields that carry an input."""
    if isinstance(item, Chat):
        return (yield from sent(context, [item]))
    return {"prompt" if isinstance(item, str) else "tokens": item}, []
