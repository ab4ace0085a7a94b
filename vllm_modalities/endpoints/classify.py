"""Texts into the classes of a classifier: `POST /classify`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, FiniteFloat

from .._context import Context, Target
from .._flow import Flow, Response
from .._inputs import at_least, one_of, without
from .._many import Failure, OnError, batches, each, settle
from .._results import AnswerModel, Usage, UsageBody, raw, words
from ..errors import Finding
from ._content import Chat, Item, inputs_of, sizes_of
from ._notebook import classified
from ._pooling import ChatFields
from ._sent import sent

if TYPE_CHECKING:
    from ._content import Input

BATCH_COUNT, BATCH_TOKENS = 128, 65_536  # inputs of one request at most, and tokens, roughly


class ClassifyRequest(ChatFields):
    """Body of `POST /classify`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/classify/protocol.py,
    `ClassificationCompletionRequest`.
    """

    TASK: ClassVar[str] = "classify"
    PATHS: ClassVar[tuple[str, ...]] = ("/classify",)


class _Row(AnswerModel):
    index: int
    label: str | None = None
    probs: tuple[FiniteFloat, ...] = Field(min_length=1)


class _Rows(AnswerModel):
    data: list[_Row]
    usage: UsageBody = UsageBody()


@dataclass(frozen=True, slots=True, eq=False)
class Classification:
    """The class of each input, in the inputs' order.

    Attributes:
        labels: The likeliest class of each; None where it failed or has no name. Length n.
        probs: Probability of each class, in the order of the model's config; logits with
            `use_activation=False`; a row of NaN where an input failed. Shape (n, classes), float32.
        model: The served model's name.
        usage: Tokens read.
        warnings: What was doubtful.
        failures: (position, error) of the inputs that failed; only with `on_error="return"`.
        raw: The server's own answers, with `keep_raw=True`.
    """

    labels: tuple[str | None, ...]
    probs: NDArray[np.float32]
    model: str | None = None
    usage: Usage | None = None
    warnings: tuple[str, ...] = ()
    failures: tuple[Failure, ...] = ()
    raw: tuple[bytes, ...] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    def __repr__(self) -> str:
        failed = f", {len(self.failures)} failed" if self.failures else ""
        return f"Classification({len(self)} x {self.probs.shape[1]}, model={self.model!r}{failed})"

    def _repr_html_(self) -> str:
        return classified(self)


def classify(
    context: Context,
    /,
    inputs: Input | Iterable[Input],
    *,
    model: str | None = None,
    use_activation: bool | None = None,
    batch_size: int | None = None,
    on_error: OnError = "collect",
    extra_body: Mapping[str, Any] | None = None,
) -> Flow[Classification]:
    """Tell the class of each input, any number of them.

    Args:
        inputs: One input, or n of them, as for `embed`; none at all makes no request.
        model: The served model's name; None is the one that is served.
        use_activation: False gives logits; None is the server's default, probabilities.
        batch_size: Inputs in one request at most; default 128. A conversation is one.
        on_error: As for `embed`.
        extra_body: Further fields of the request.

    Returns:
        n labels and n rows of probabilities.

    Raises:
        InvalidRequestError: An input is nothing that can be classified. Nothing is sent.
        PartialFailureError: Some inputs failed; `.results` has the others.
        ResponseError: The answer has not one row an input.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/classify/protocol.py.
    """
    items = inputs_of("inputs", inputs)
    one_of("on_error", on_error, get_args(OnError))
    at_least("batch_size", 1 if batch_size is None else batch_size, 1)
    without(extra_body, ("input", "messages"))
    if not items:
        return Classification((), np.empty((0, 0), np.float32))
    target = yield from context.find(ClassifyRequest, model)
    template = ClassifyRequest(
        model=target.model, use_activation=use_activation, extra_body=extra_body
    )
    classes = _Classes(target, template, items)
    count = 1 if isinstance(items[0], Chat) else batch_size or BATCH_COUNT
    work = list(batches(sizes_of(items), count=count, size=BATCH_TOKENS))
    failures = yield from each(work, classes.run, classes.harmless, on_error=on_error)
    return settle(classes.result(failures), failures, on_error=on_error)


class _Classes:
    """Collects what the batches of one call bring."""

    def __init__(self, target: Target, template: ClassifyRequest, items: Sequence[Item]) -> None:
        self._target, self._template, self._items = target, template, items
        self._rows: dict[int, _Row] = {}
        self._usages: list[Usage] = []
        self._findings: list[Finding] = []
        self._responses: list[Response] = []

    def run(self, batch: Sequence[int]) -> Flow[list[Failure]]:
        """Classify the inputs at these positions."""
        fields, doubts = yield from sent(
            self._target.context, [self._items[place] for place in batch]
        )
        response = yield from self._target.post(self._template.model_copy(update=fields))
        found, usage = read_classes(response, len(batch))
        self._rows.update(zip(batch, found, strict=True))
        self._usages.append(usage)
        self._findings.extend([*doubts, *response.findings])
        if self._target.context.options.keep_raw:
            self._responses.append(response)
        return []

    def harmless(self) -> Flow[None]:
        """Classify one short text, to see whether it is the options that are refused."""
        yield from self._target.post(self._template.model_copy(update={"input": ("a",)}))

    def result(self, failures: Sequence[Failure]) -> Classification:
        """All rows, with NaN for each input that failed."""
        rows, count = self._rows, len(self._items)
        classes = max((len(row.probs) for row in rows.values()), default=0)
        probs = np.full((count, classes), np.nan, np.float32)
        for place, row in rows.items():
            probs[place, : len(row.probs)] = row.probs
        return Classification(
            labels=tuple(rows[place].label if place in rows else None for place in range(count)),
            probs=probs,
            model=self._target.model,
            usage=sum(self._usages, Usage()),
            warnings=words(self._findings),
            failures=tuple(failures),
            raw=raw(self._responses, self._target.context.options.keep_raw),
        )


def read_classes(response: Response, count: int) -> tuple[list[_Row], Usage]:
    """One row an input, in order, and the tokens."""
    body = response.parse(_Rows)
    found = sorted(body.data, key=lambda row: row.index)
    if [row.index for row in found] != list(range(count)):
        raise response.fault(f"expected one row for each of {count} inputs")
    if len({len(row.probs) for row in found}) > 1:
        raise response.fault("the rows have different numbers of classes")
    return found, body.usage.result()
