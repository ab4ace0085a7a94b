"""A flow as a function of a client: what it returns with `Client` is awaited with `AsyncClient`."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar, cast, overload

from .._context import Context
from .._endpoint import Endpoint
from .._flow import Flow
from ..client import AsyncClient, Client

P = ParamSpec("P")
T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class ForBoth(Protocol[P, T_co]):
    """What `for_both` makes."""

    @overload
    def __call__(self, client: Client, /, *args: P.args, **kwargs: P.kwargs) -> T_co: ...
    @overload
    def __call__(
        self, client: AsyncClient, /, *args: P.args, **kwargs: P.kwargs
    ) -> Coroutine[Any, Any, T_co]: ...


def for_both(flow: Callable[Concatenate[Context, P], Flow[T]]) -> ForBoth[P, T]:
    """The flow as a function whose first argument is the client that runs it."""
    endpoint = Endpoint(flow)

    @functools.wraps(flow)
    def call(client: Any, /, *args: Any, **kwargs: Any) -> Any:
        bound: Callable[..., Any] = endpoint.__get__(client, type(client))
        return bound(*args, **kwargs)

    del call.__dict__["__wrapped__"]  # or inspect would show the flow
    client = inspect.Parameter(
        "client", inspect.Parameter.POSITIONAL_ONLY, annotation="Client | AsyncClient"
    )
    _, *others = inspect.signature(flow).parameters.values()
    signature = inspect.Signature([client, *others], return_annotation="BulkReport")
    call.__signature__ = signature  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in (client, *others)}
    call.__annotations__["return"] = "BulkReport"
    return cast("ForBoth[P, T]", call)
