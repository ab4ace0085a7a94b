"""`Endpoint` makes one flow a blocking method of Client and a coroutine method of AsyncClient."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
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
    from ._flow import Flow
    from .client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")


class Endpoint(Generic[P, T]):
    """A descriptor: signature, defaults and docs come from the flow, the driver from the client."""

    def __init__(self, flow: Callable[Concatenate[Context, P], Flow[T]]) -> None:
        def blocking(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return self._call(flow, *args, **kwargs)

        async def awaitable(self: Any, /, *args: P.args, **kwargs: P.kwargs) -> Any:
            return await self._call(flow, *args, **kwargs)

        self._flow = flow
        self._blocking = self._dressed(blocking)
        self._awaitable = self._dressed(awaitable)

    def _dressed(self, method: Callable[..., Any]) -> Callable[..., Any]:
        functools.update_wrapper(method, self._flow)
        del method.__dict__["__wrapped__"]  # or inspect would show the flow's own signature
        signature = inspect.signature(self._flow)
        _, *parameters = signature.parameters.values()
        # A string, like the other annotations: `Flow[Embeddings]` reads `Embeddings`.
        result = str(signature.return_annotation).removeprefix("Flow[").removesuffix("]")
        self_parameter = inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY)
        method.__signature__ = signature.replace(  # type: ignore[attr-defined]
            parameters=[self_parameter, *parameters], return_annotation=result
        )
        method.__annotations__ = {p.name: p.annotation for p in parameters} | {"return": result}
        return method

    def __set_name__(self, owner: type, name: str) -> None:
        for method in (self._blocking, self._awaitable):
            method.__name__, method.__qualname__ = name, f"{owner.__name__}.{name}"

    @overload
    def __get__(self, client: Client, owner: type[Any]) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, client: AsyncClient, owner: type[Any]
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, client: None, owner: type[Any]) -> Callable[..., Any]: ...
    def __get__(self, client: Client | AsyncClient | None, owner: type[Any]) -> Callable[..., Any]:
        method = self._awaitable if owner.is_async else self._blocking
        return method if client is None else MethodType(method, client)
