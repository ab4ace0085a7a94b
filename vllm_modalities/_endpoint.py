"""`Endpoint` makes one flow a method of both clients; a `StreamEndpoint` yields results, a
`LiveEndpoint` text.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator
from types import MethodType
from typing import (
    TYPE_CHECKING,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    TypeVar,
    overload,
)

if TYPE_CHECKING:
    from ._context import Context
    from ._flow import Flow, Live, Stream
    from ._live import AsyncTextStream, TextStream
    from .client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")


class _Method(Generic[P, T]):
    """A descriptor: signature, defaults and docs come from what is built, the rest from the client.

    Args:
        build: What makes the flow or stream of a call.
        blocking, awaitable: The methods of the two clients.
        results: What they return, around the result's own name.
    """

    def __init__(
        self,
        build: Callable[..., Any],
        blocking: Callable[..., Any],
        awaitable: Callable[..., Any],
        results: tuple[str, str],
    ) -> None:
        self._build = build
        self._blocking = self._dressed(blocking, results[0])
        self._awaitable = self._dressed(awaitable, results[1])

    def _dressed(self, method: Callable[..., Any], result: str) -> Callable[..., Any]:
        functools.update_wrapper(method, self._build)
        del method.__dict__["__wrapped__"]  # or inspect would show what is built
        signature = inspect.signature(self._build)
        _, *parameters = signature.parameters.values()
        # A string, like the other annotations: `Flow[Embeddings]` reads `Embeddings`.
        result = result.format(str(signature.return_annotation).partition("[")[2].removesuffix("]"))
        self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        method.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[self_parameter, *parameters], return_annotation=result
        )
        method.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": result}
        return method

    def __set_name__(self, owner: type, name: str) -> None:
        for method in (self._blocking, self._awaitable):
            method.__name__, method.__qualname__ = name, f"{owner.__name__}.{name}"

    def _bound(self, client: Any, owner: type[Any]) -> Callable[..., Any]:
        method = self._awaitable if owner.is_async else self._blocking
        return method if client is None else MethodType(method, client)


class Endpoint(_Method[P, T]):
    """A flow as a blocking method of `Client` and a coroutine method of `AsyncClient`."""

    def __init__(self, flow: Callable[Concatenate[Context, P], Flow[T]]) -> None:
        def blocking(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._call(flow, *args, **kwargs)

        async def awaitable(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return await self._call(flow, *args, **kwargs)

        super().__init__(flow, blocking, awaitable, ("{}", "{}"))

    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: AsyncClient, owner: type[Any]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Callable[..., Any]:
        return self._bound(client, owner)


class StreamEndpoint(_Method[P, T]):
    """A stream as a method that yields its results, from `AsyncClient` asynchronously."""

    def __init__(self, stream: Callable[Concatenate[Context, P], Stream[T]]) -> None:
        def blocking(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._stream(stream, *args, **kwargs)

        def asynchronous(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._stream(stream, *args, **kwargs)

        super().__init__(stream, blocking, asynchronous, ("Iterator[{}]", "AsyncIterator[{}]"))

    @overload
    def __get__(
        self, client: Client, owner: type[Any]
    ) -> Callable[P, Generator[T, None, None]]: ...
    @overload
    def __get__(
        self, client: AsyncClient, owner: type[Any]
    ) -> Callable[P, AsyncGenerator[T, None]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Callable[..., Any]:
        return self._bound(client, owner)


class LiveEndpoint(_Method[P, T]):
    """A result whose text is told while it comes, as a method that gives an iterator of it."""

    def __init__(self, live: Callable[Concatenate[Context, P], Live[T]]) -> None:
        def blocking(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._live(live, *args, **kwargs)

        def asynchronous(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._live(live, *args, **kwargs)

        super().__init__(live, blocking, asynchronous, ("TextStream[{}]", "AsyncTextStream[{}]"))

    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, TextStream[T]]: ...
    @overload
    def __get__(self, client: AsyncClient, owner: type[Any]) -> Callable[P, AsyncTextStream[T]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Callable[..., Any]:
        return self._bound(client, owner)
