"""A flow, a stream or a live text with the span of its call around it, and its requests under that.

A call's span is handed down from flow to flow, so it needs no thread or task to carry it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Sized
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeVar

from .._flow import Alone, Cut, Done, Flow, Live, Request, Step, Stream, Together, step
from ._call import Call, Telemetry
from ._sending import watched

T = TypeVar("T")
Watch = Callable[[Any, Any, str | None], Any]


def watching(telemetry: Telemetry, servers: Sequence[str]) -> Watch:
    """What makes of each call of a client the same call with its spans.

    It is given the client's method as a function, what that built, and the model if one is named.
    """

    def watch(build: Any, built: Any, model: str | None) -> Any:
        call = partial(Call, telemetry, build.__name__, model, servers)
        match built:
            case Stream():
                return _stream(built, call(may_be_left=True))
            case Live():
                return _live(built, call(live=True, may_be_left=True))
        return _whole(built, call())

    return watch


def _whole(flow: Flow[T], call: Call) -> Flow[T]:
    with call:
        result = yield from _under(flow, call)
        call.gave(result)
        call.said(result)
        return result


def _live(live: Live[T], call: Call) -> Live[T]:
    def begin(source: Any, tell: Callable[[str], bool]) -> Flow[T]:
        def told(text: str) -> bool:
            if text:
                call.told()
            wanted = tell(text)
            call.left = not wanted
            return wanted

        return _whole(live.begin(source, told), call)

    return replace(live, begin=begin)


def _stream(stream: Stream[T], call: Call) -> Stream[T]:
    def begin(first: Any) -> Flow[Cut[T]]:
        with ExitStack() as stack:
            stack.enter_context(call)
            cut = yield from _under(stream.begin(first), call)
            return _Cut(cut, call, stack.pop_all())

    return replace(stream, begin=begin)


class _Cut(Cut[T]):
    """A stream's flows under the call's span, which ends with them."""

    def __init__(self, cut: Cut[T], call: Call, stack: ExitStack) -> None:
        self._cut, self._call, self._stack = cut, call, stack

    def __enter__(self) -> Self:
        self._stack.enter_context(self._cut)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._stack.__exit__(kind, error, traceback)

    def add(self, item: Any) -> Flow[T] | None:
        flow = self._cut.add(item)
        return flow and self._counted(flow)

    def rest(self) -> Flow[T] | None:
        flow = self._cut.rest()
        return flow and self._counted(flow)

    def end(self) -> None:
        self._cut.end()

    def _counted(self, flow: Flow[T]) -> Flow[T]:
        result = yield from _under(flow, self._call)
        self._call.gave(result)
        return result


def _under(flow: Flow[T], call: Call) -> Flow[T]:
    """The same flow, the requests of which belong to `call`, and those of its own flows."""
    outcome: object = None
    try:
        while not isinstance(state := step(flow, outcome), Done):
            try:
                outcome = yield _owned(state, call)
            except Exception as error:
                outcome = error
        return state.value
    finally:
        flow.close()


def _owned(wanted: Step[Any], call: Call) -> Step[Any]:
    match wanted:
        case Request():
            return watched(wanted, call)
        case Alone():
            return replace(wanted, flow=_under(wanted.flow, call))
        case Together():
            flows = (_under(flow, call) for flow in wanted.flows)
            return replace(wanted, flows=list(flows) if isinstance(wanted.flows, Sized) else flows)
    return wanted
