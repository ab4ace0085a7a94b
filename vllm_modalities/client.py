"""`Client` and `AsyncClient`: what they are made with, and the list of what they can do."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Callable, Generator, Iterable, Mapping
from dataclasses import replace
from types import TracebackType
from typing import Any, ClassVar, Concatenate, ParamSpec, Self, TypeVar

from ._caller import caller
from ._context import Context, Options, Transport
from ._drivers import AsyncDriver, Driver
from ._endpoint import Endpoint, LiveEndpoint, StreamEndpoint
from ._fleet import BaseURL, Fleet, replicas_of, version_of
from ._flow import Flow, Live, Stream
from ._inputs import at_least, invalid
from ._live import AsyncTextStream, TextStream
from ._moving import FromOpenAI
from ._secrets import APIKey, Unshown, check_key
from ._stream import async_results, results
from ._transport import AsyncTransport, SyncTransport
from .endpoints.classify import classify
from .endpoints.embed import embed
from .endpoints.embed_iter import embed_iter
from .endpoints.embed_sparse import embed_sparse
from .endpoints.embed_tokens import embed_tokens
from .endpoints.ocr import ocr
from .endpoints.ocr_iter import ocr_iter
from .endpoints.realtime_transcription import realtime_transcription
from .endpoints.rerank import rerank
from .endpoints.score import score
from .endpoints.send import send
from .endpoints.servers import servers
from .endpoints.stream_transcription import stream_transcription
from .endpoints.token_classify import token_classify
from .endpoints.tokenize import detokenize, tokenize
from .endpoints.transcribe import transcribe
from .endpoints.translate import translate
from .gates import Validation
from .profiles import PROFILES, Profile

P = ParamSpec("P")
T = TypeVar("T")
Built = TypeVar("Built")

DEFAULT_URL = "http://localhost:8000"


class _Endpoints(FromOpenAI):
    """What a client can do: both clients inherit this list."""

    is_async: ClassVar[bool] = False

    embed = Endpoint(embed)
    embed_iter = StreamEndpoint(embed_iter)
    embed_tokens = Endpoint(embed_tokens)
    embed_sparse = Endpoint(embed_sparse)
    rerank = Endpoint(rerank)
    score = Endpoint(score)
    classify = Endpoint(classify)
    token_classify = Endpoint(token_classify)
    transcribe = Endpoint(transcribe)
    translate = Endpoint(translate)
    stream_transcription = LiveEndpoint(stream_transcription)
    realtime_transcription = LiveEndpoint(realtime_transcription)
    ocr = Endpoint(ocr)
    ocr_iter = StreamEndpoint(ocr_iter)
    tokenize = Endpoint(tokenize)
    detokenize = Endpoint(detokenize)
    send = Endpoint(send)
    servers = Endpoint(servers)

    _driver: Any
    _driver_for: Callable[[Any, APIKey, int], Any]
    _watch: Callable[..., Any] | None = None  # `telemetry.instrument` sets it

    def __init__(
        self,
        base_url: BaseURL | None = None,
        *,
        api_key: APIKey = None,
        model: str | None = None,
        server_version: str | None = None,
        validation: Validation = "error",
        timeout: float = 600.0,
        deadline: float | None = None,
        max_retries: int = 2,
        max_concurrency: int = 32,
        transport: Transport = "auto",
        profiles: Iterable[Profile] = (),
        headers: Mapping[str, str] | None = None,
        http_client: object | None = None,
        keep_raw: bool = False,
    ) -> None:
        if base_url is None:
            base_url = os.environ.get("VLLM_BASE_URL") or DEFAULT_URL
        profiles = tuple(profiles)
        self._made_with = Unshown({k: v for k, v in locals().items() if k != "self"})
        self._fleet = Fleet(
            replicas=replicas_of(base_url),
            profiles=(*profiles, *PROFILES),
            version=version_of(server_version),
        )
        self._options = Options(
            model=model,
            validation=validation,
            timeout=timeout,
            deadline=deadline,
            max_retries=max_retries,
            transport=transport,
            headers=dict(headers or {}),
            keep_raw=keep_raw,
        )
        if api_key is None:
            api_key = os.environ.get("VLLM_API_KEY")
        elif any("Authorization" in replica.headers for replica in self._fleet.replicas):
            raise invalid(
                "api_key", "api_key and the credentials in base_url want the same header; drop one"
            )
        check_key(api_key)
        at_least("max_concurrency", max_concurrency, 1)
        self._max_concurrency = max_concurrency
        self._driver = self._driver_for(http_client, api_key, max_concurrency)

    def __repr__(self) -> str:
        urls = ", ".join(repr(replica.url) for replica in self._fleet.replicas)
        return f"{type(self).__name__}({urls})"

    def __reduce__(self) -> tuple[Any, ...]:
        """Elsewhere it has connections of its own; a key that it was given goes along."""
        if self._made_with["http_client"] is not None:
            raise TypeError("a client with an http_client cannot be pickled: make one there")
        return _remade, (type(self), self._made_with, self._options)

    def with_options(
        self,
        *,
        timeout: float | None = None,
        deadline: float | None = None,
        max_retries: int | None = None,
        headers: Mapping[str, str] | None = None,
        model: str | None = None,
        validation: Validation | None = None,
        transport: Transport | None = None,
    ) -> Self:
        """A client with other settings that shares everything else; None leaves one as it is.

        `headers` are added to those there are. Closing either client closes both.
        """
        given = {
            "timeout": timeout,
            "deadline": deadline,
            "max_retries": max_retries,
            "headers": None if headers is None else {**self._options.headers, **headers},
            "model": model,
            "validation": validation,
            "transport": transport,
        }
        changed = {name: value for name, value in given.items() if value is not None}
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__)
        other._options = replace(self._options, **changed)  # type: ignore[arg-type]
        return other

    def _begin(
        self, build: Callable[Concatenate[Context, P], Built], *args: P.args, **kwargs: P.kwargs
    ) -> Built:
        seconds = self._options.deadline
        ends = None if seconds is None else self._fleet.clock() + seconds
        context = Context(self._fleet, self._options, ends, caller())
        if self._watch is None:
            return build(context, *args, **kwargs)
        watched: Built = self._watch(build, context, args, kwargs)
        return watched


def _remade(kind: type[Built], settings: Mapping[str, Any], options: Options) -> Built:
    client = kind(**settings)
    client.__dict__["_options"] = options
    return client


class Client(_Endpoints):
    """A client of one or more vLLM servers, for everything but chat. Threads may share it, and
    so may processes: those that are forked, and those that get it as a pickle.

    Args:
        base_url: One URL, a list of URLs, or a mapping from task (`"embed"`, `"rerank"`,
            `"transcribe"`, `"ocr"` …) to URLs. Default `$VLLM_BASE_URL` (a comma-separated list
            may stand there), else `http://localhost:8000`. With or without `/v1`.
        api_key: The servers' `--api-key`, or a function that gives it, which `AsyncClient` awaits
            where that is to be awaited; default `$VLLM_API_KEY`.
        model: The model for every call that names none; None means the one that is served.
        server_version: The servers' vLLM release, such as `"0.32.0"`, instead of asking them.
        validation: `"error"` raises before sending, `"warn"` warns and sends, `"off"` sends.
        timeout: Seconds for one request with its retries; connecting takes 5 s at most.
        deadline: Seconds for a whole call, however many requests it makes; None is unbounded.
        max_retries: Tries after the first, for failures that may pass.
        max_concurrency: Requests in flight at most, over all calls and servers.
        transport: Wire format of vectors.
        profiles: Facts about models of your own; they go before the built-in ones.
        headers: Sent with every request.
        http_client: A configured `httpx.Client` (`httpx.AsyncClient` for `AsyncClient`), or
            httpx2's, to send with; it stays yours to close. None takes connections of our own, or
            httpx where the environment names a proxy.
        keep_raw: Keep the servers' own answers on `.raw` of every result.

    Raises:
        InvalidRequestError: `base_url` is not an address, or `server_version` not a version.
    """

    _driver: Driver

    def _driver_for(self, http_client: Any, api_key: APIKey, max_concurrency: int) -> Driver:
        if hasattr(http_client, "aclose"):
            raise invalid(
                "http_client", "http_client of Client must be an httpx.Client, not an AsyncClient"
            )
        transport = SyncTransport(http_client, api_key=api_key, connections=max_concurrency)
        return Driver(transport, max_concurrency)

    def _call(
        self, build: Callable[Concatenate[Context, P], Flow[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return self._driver.run(self._begin(build, *args, **kwargs))

    def _stream(
        self, build: Callable[Concatenate[Context, P], Stream[T]], *args: P.args, **kwargs: P.kwargs
    ) -> Generator[T, None, None]:
        stream = self._begin(build, *args, **kwargs)
        return results(self._driver.run, stream, most=self._max_concurrency)

    def _live(
        self, build: Callable[Concatenate[Context, P], Live[T]], *args: P.args, **kwargs: P.kwargs
    ) -> TextStream[T]:
        return TextStream(self._driver.run, self._begin(build, *args, **kwargs))

    def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        self._driver.transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class AsyncClient(_Endpoints):
    """The asynchronous twin of `Client`: same arguments, same methods, awaited."""

    is_async: ClassVar[bool] = True
    _driver: AsyncDriver

    def _driver_for(self, http_client: Any, api_key: APIKey, max_concurrency: int) -> AsyncDriver:
        if http_client is not None and not hasattr(http_client, "aclose"):
            raise invalid("http_client", "http_client of AsyncClient must be an httpx.AsyncClient")
        transport = AsyncTransport(http_client, api_key=api_key, connections=max_concurrency)
        return AsyncDriver(transport, max_concurrency)

    async def _call(
        self, build: Callable[Concatenate[Context, P], Flow[T]], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        return await self._driver.run(self._begin(build, *args, **kwargs))

    def _stream(
        self, build: Callable[Concatenate[Context, P], Stream[T]], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncGenerator[T, None]:
        stream = self._begin(build, *args, **kwargs)
        return async_results(self._driver.run, stream, most=self._max_concurrency)

    def _live(
        self, build: Callable[Concatenate[Context, P], Live[T]], *args: P.args, **kwargs: P.kwargs
    ) -> AsyncTextStream[T]:
        return AsyncTextStream(self._driver.run, self._begin(build, *args, **kwargs))

    async def close(self) -> None:
        """Close the connections; the client cannot be used afterwards."""
        await self._driver.transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        await self.close()
