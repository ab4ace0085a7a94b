"""One request on its way: which server takes it, when it is sent again, and to which path."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import count
from typing import TYPE_CHECKING

from ._flow import Flow, Hear, Request, Response, Sleep, Talk
from ._printable import printable
from ._retry import is_transient, policy
from .errors import (
    APIStatusError,
    AuthenticationError,
    BadRequestError,
    Finding,
    InternalServerError,
    NotFoundError,
    UnsupportedTaskError,
    VLLMModalitiesError,
)
from .gates import admit, differing
from .server import ServerInfo

if TYPE_CHECKING:
    from ._context import Context
    from ._fleet import Replica
    from ._wire import RequestModel

# Asks one server, within so many seconds.
Ask = Callable[["Replica", float], Flow[Response]]

# vLLM 0.33.0 vllm/entrypoints/pooling/token_embed/protocol.py, `encoding_format`; other models have
# more formats.
ONE_FORMAT = "Input should be 'float'\""

# It is told who answered what and what is tried again; never a key, nor what was sent or answered.
log = logging.getLogger(__name__.partition(".")[0])


def exchange(context: Context, replicas: Sequence[Replica], ask: Ask, asked: str) -> Flow[Response]:
    """Ask one of `replicas`, then the others, then after a pause all again, as the policy says.

    Args:
        asked: What is asked, for the log.
    """
    clock, options = context.fleet.clock, context.options
    ends = min(clock() + options.timeout, float("inf") if context.ends is None else context.ends)
    pauses: list[float] = []
    attempts = iter(
        policy(
            options.max_retries,
            pause=pauses.append,
            outlasts=lambda seconds: clock() + seconds >= ends,
        )
    )
    while True:
        attempt = next(attempts)
        if pauses:
            log.info("%s: tried again in %.2f s", asked, pauses[0])
            yield from Sleep(pauses.pop())
        with attempt:
            return (yield from _round(context, replicas, ask, asked, ends))


def _round(
    context: Context, replicas: Sequence[Replica], ask: Ask, asked: str, ends: float
) -> Flow[Response]:
    """Each server once, until one answers; a failing one is set aside."""
    clock = context.fleet.clock
    last: VLLMModalitiesError | None = None
    for replica in _by_load(replicas, clock()):
        if last is not None and clock() >= ends:
            break
        try:
            with replica.busy():
                response = yield from ask(replica, ends - clock())
        except VLLMModalitiesError as error:
            _log_failure(asked, replica, error)
            if is_transient(error):
                # A call that ran out of time while it stood in line says nothing of the server.
                if context.ends is None or clock() < context.ends:
                    replica.failed(error, clock())
            elif not isinstance(error, UnsupportedTaskError):
                raise
            last = error
        else:
            _log_answer(asked, response)
            replica.worked()
            return response
    assert last is not None, "no server to ask"
    raise last


def _log_answer(asked: str, response: Response) -> None:
    if log.isEnabledFor(logging.DEBUG):
        request_id = response.hidden(response.headers.get("x-request-id", "none"))
        said = "%s: HTTP %d from %s, request id %s"
        log.debug(said, asked, response.status, response.server, printable(request_id))


def _log_failure(asked: str, replica: Replica, error: VLLMModalitiesError) -> None:
    """Its kind alone: the words may be of what was sent."""
    level = logging.INFO if is_transient(error) else logging.DEBUG
    if log.isEnabledFor(level):
        status = f" (HTTP {error.status_code})" if isinstance(error, APIStatusError) else ""
        request_id = printable(getattr(error, "request_id", None) or "none")
        said = "%s: %s%s from %s, request id %s"
        log.log(level, said, asked, type(error).__name__, status, replica.url, request_id)


def _by_load(replicas: Sequence[Replica], now: float) -> list[Replica]:
    """Least outstanding first, then those with all they bear; those set aside come last."""

    def rank(replica: Replica) -> tuple[float, bool, int]:
        aside = max(replica.aside_until - now, 0.0)
        return aside, replica.outstanding >= replica.window.limit, replica.outstanding

    return sorted(replicas, key=rank)


def get(context: Context, replica: Replica, path: str, timeout: float) -> Flow[Response]:
    """Read one path of one server, within `timeout` seconds."""
    tries = count()

    def ask(replica: Replica, seconds: float) -> Flow[Response]:
        request = Request(
            "GET",
            path,
            server=replica.url,
            headers={**replica.headers, **context.options.headers},
            timeout=min(seconds, timeout),
            ends=context.ends,
            window=replica.window,
            resend=next(tries),
            call=context.call,
        )
        return (yield from request)

    return exchange(context, (replica,), ask, f"GET {path}")


def post(
    context: Context,
    replicas: Sequence[Replica],
    body: RequestModel,
    listen: Callable[[], Hear] | None = None,
    talk: Talk | None = None,
) -> Flow[Response]:
    """Send `body`, as each server's release takes it, to the first of `replicas` that answers.

    Args:
        listen: Called before each try, for what hears its answer as that comes.
        talk: What is said over a websocket, instead of the body.
    """
    mixed: tuple[Finding, ...] = ()
    if len(replicas) > 1 and context.options.validation != "off":
        mixed = tuple(differing(body, [replica.info for replica in replicas if replica.info]))
    tries, method = count(), "GET" if talk else "POST"

    def ask(replica: Replica, seconds: float) -> Flow[Response]:
        info = replica.info or ServerInfo(url=replica.url)
        fields, findings = admit(info, body, context.options.validation)
        findings += mixed
        context.report(findings)
        form = body.as_form(fields)
        send_to = partial(
            Request,
            method,
            json=None if form or talk else fields,
            form=form,
            server=replica.url,
            headers={**replica.headers, **context.options.headers},
            timeout=seconds,
            ends=context.ends,
            window=replica.window,
            hear=listen() if listen else None,
            call=context.call,
            talk=talk,
        )
        response = yield from _spelled(replica, body, send_to, tries)
        return replace(response, findings=findings, release=info.version)

    return exchange(context, replicas, ask, f"{method} {body.PATHS[0]}")


def _spelled(
    replica: Replica, body: RequestModel, send_to: Callable[..., Request], tries: Iterator[int]
) -> Flow[Response]:
    """Send to whichever of the body's paths the server has; a missing one is remembered."""
    cure = "; a model with a vector a token has embed_tokens()" * (body.TASK == "embed")
    for path in _paths(replica, body):
        try:
            return (yield from send_to(path, resend=next(tries)))
        except (NotFoundError, AuthenticationError) as error:
            if not _is_missing_route(error, body):
                raise
            replica.lacks(path)
        except (BadRequestError, InternalServerError) as error:
            if not _is_missing_task(error):
                raise
            said = f"{replica.url} says: {error.message}{cure}"
            replica.lacks(body.TASK)
            replica.remembered[body.TASK] = said  # for every later call
            raise UnsupportedTaskError(said) from error
    raise UnsupportedTaskError(
        f"{replica.url} has no route {' or '.join(body.PATHS)}: its model does not do this"
        f"{cure}; `client.servers()` shows what each server does"
    )


def _paths(replica: Replica, body: RequestModel) -> Iterator[str]:
    """The paths to try: those that the server lists, or all where it lists none."""
    listed = replica.info.routes if replica.info else frozenset[str]()
    for path in body.PATHS:
        if (not listed or path in listed or body.WEBSOCKET) and path not in replica.unlisted:
            yield path


def _is_missing_task(error: APIStatusError) -> bool:
    """Whether the model is another one than the route is for.

    Other 501s are about one request, such as "Only base64 data URLs are supported for now.". From
    vLLM 0.33.0 on a model with a vector a token takes /v1/embeddings, in no format but one.
    """
    if error.status_code == 501:
        return "does not support" in error.message
    return ONE_FORMAT in error.message


def _is_missing_route(error: APIStatusError, body: RequestModel) -> bool:
    """The router's own 404 and 405 say `{"detail": ...}`; an unknown model's 404 does not.

    A websocket that is not there is a 403 (Starlette 1.0 routing.py, `Router.not_found`, which
    closes it, and uvicorn 0.54); of a wrong key, a 401.
    """
    if body.WEBSOCKET:
        return error.status_code in (403, 404)
    return b'"detail"' in error.body and b'"error"' not in error.body
