"""Calls with a span around each, which their requests know by the call's context."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

from .._context import Context
from .._flow import Cut, Flow, Live, Stream
from ._call import Call, Telemetry, server_of

T = TypeVar("T")


def watching(telemetry: Telemetry, servers: Sequence[str]) -> Callable[..., Any]:
    """What builds the flow, stream or live text of a call, as `build` does, with its span."""
    where = server_of(servers[0]) if len(servers) == 1 else {}

    def watch(build: Any, context: Context, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        model = kwargs.get("model") or context.options.model
        call = Call(telemetry, build.__name__, model, where)
        built = build(replace(context, call=call), *args, **kwargs)
        match built:
            case Stream():
                return _stream(built, call)
            case Live():
                return _live(built, call)
        return _whole(built, call)

    return watch


def _whole(flow: Flow[T], call: Call) -> Flow[T]:
    with call:
        result = yield from flow
        call.gave(result)
        call.said(result)
        return result


def _live(live: Live[T], call: Call) -> Live[T]:
    call.is_live()

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
    call.may_be_left = True

    def begin(first: Any) -> Flow[Cut[T]]:
        with ExitStack() as stack:
            stack.enter_context(call)
            cut = yield from stream.begin(first)
            return _Cut(cut, call, stack.pop_all())

    return replace(stream, begin=begin)


class _Cut(Cut[T]):
    """A stream's flows, and the call's span that ends with them."""

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
        result = yield from flow
        self._call.gave(result)
        return result
