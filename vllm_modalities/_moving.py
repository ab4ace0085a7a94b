"""A client of ours with the settings of an `openai` client that a program already has."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, Self, TypedDict, Unpack

from ._context import Transport
from ._fleet import BaseURL
from ._inputs import invalid
from ._secrets import APIKey
from .gates import Validation
from .profiles import Profile

ITS_OWN = frozenset({"accept", "content-type", "user-agent"})
ABOUT_IT = ("x-stainless-", "openai-")
"""How the names of headers begin that are about openai's client, or OpenAI's service."""


class OpenAIClient(Protocol):
    """What is read of an `openai.OpenAI` or `openai.AsyncOpenAI`, or of what has the same."""

    @property
    def base_url(self) -> object: ...
    @property
    def api_key(self) -> str: ...
    @property
    def default_headers(self) -> Mapping[str, Any]: ...
    @property
    def timeout(self) -> Any: ...
    @property
    def max_retries(self) -> int: ...


class ClientOptions(TypedDict, total=False):
    """The arguments of `Client`."""

    base_url: BaseURL | None
    api_key: APIKey
    model: str | None
    server_version: str | None
    validation: Validation
    timeout: float
    deadline: float | None
    max_retries: int
    max_concurrency: int
    transport: Transport
    profiles: Iterable[Profile]
    headers: Mapping[str, str] | None
    http_client: object | None
    keep_raw: bool


class FromOpenAI:
    """What both clients inherit."""

    @classmethod
    def from_openai(cls, openai_client: OpenAIClient, **options: Unpack[ClientOptions]) -> Self:
        """A client of the servers that an `openai` client talks to, with its settings.

        Its base URL, key (or the function that gives the key), own headers, `timeout` (of an
        `httpx.Timeout`, `read`) and `max_retries` are taken over as they are now. Its `http_client`
        is not: pass one of ours where it had settings of its own, such as certificates.

        Args:
            openai_client: An `openai.OpenAI` or `openai.AsyncOpenAI`, or what has their
                attributes.
            options: Arguments of `Client`; they go before what is taken over, but `headers`, which
                are added to it. `base_url` names the other servers, since an openai client has one.

        Raises:
            InvalidRequestError: It is no such client, or puts a query behind each URL.
        """
        taken = settings(openai_client)
        headers = {**taken.get("headers", {}), **(options.get("headers") or {})}
        return cls(**{**taken, **options, "headers": headers})


def settings(openai_client: OpenAIClient) -> dict[str, Any]:
    """An openai client's settings, as arguments of ours."""
    try:
        key = getattr(openai_client, "_api_key_provider", None) or openai_client.api_key
        timeout = getattr(openai_client.timeout, "read", openai_client.timeout)
        found = {
            "base_url": str(openai_client.base_url),
            "api_key": key or None,
            "headers": _own(openai_client.default_headers),
            "max_retries": openai_client.max_retries,
        }
    except AttributeError as error:
        raise invalid(
            "openai_client",
            "from_openai takes an openai.OpenAI or openai.AsyncOpenAI, or what has their"
            f" attributes; a {type(openai_client).__name__} has no {error.name!r}",
        ) from None
    if getattr(openai_client, "default_query", None):
        raise invalid(
            "openai_client",
            "the openai client puts a query (default_query) behind each URL, which no request here"
            " carries",
        )
    return found if timeout is None else found | {"timeout": timeout}


def _own(headers: Mapping[str, Any]) -> dict[str, str]:
    """The headers that its user gave it; what it leaves out on purpose is no text."""
    return {
        name: value
        for name, value in headers.items()
        if isinstance(value, str)
        and name.lower() not in ITS_OWN
        and not name.lower().startswith(ABOUT_IT)
    }
