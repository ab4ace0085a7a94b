"""Who does what: asking servers who they are, and choosing those that a request may go to."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from ._exchange import get
from ._fleet import Replica
from ._flow import Alone, Flow, Response, Together
from ._inputs import invalid
from ._retry import is_transient
from ._wire import TASKS, RequestModel
from .errors import (
    APIStatusError,
    AuthenticationError,
    Finding,
    InvalidRequestError,
    NotFoundError,
    ResponseError,
    UnknownModelError,
    UnsupportedTaskError,
    VLLMModalitiesError,
    VLLMModalitiesWarning,
)
from .server import ServerInfo, read_models, read_routes, read_version, tell

if TYPE_CHECKING:
    from ._context import Context

T = TypeVar("T")

CLASSIFY = "/classify"  # tells a cross-encoder from an embedder
ASKED_FOR = 30.0  # seconds at most that a server may take to say who it is


def find(
    context: Context, wanted: type[RequestModel], model: str | None
) -> Flow[tuple[str | None, list[Replica]]]:
    """The served name to send, and the servers that take it, for requests of type `wanted`."""
    yield from known(context)
    fleet = context.fleet
    if model is not None and not _serving(fleet.replicas, model):
        # A LoRA adapter may have been loaded since the servers were asked.
        yield from Alone(_refresh(context, [r for r in fleet.replicas if r.info]), context.ends)
    able = [r for r in fleet.replicas if _does(r, wanted)]
    if not able:
        raise _unsupported(context, wanted)
    if model is not None:
        able = _serving(able, model)
        if not able:
            raise _not_serving(context, wanted, model)
    if model is None and len({_base_model(r.info) for r in able if r.info}) > 1:
        able = yield from _having_route(context, able, wanted)
        if not able:
            raise _unsupported(context, wanted)
    best = min(wanted.preference(r.info) for r in able if r.info)
    able = [r for r in able if r.info and wanted.preference(r.info) == best]
    names = {_base_model(r.info) for r in able if r.info} if model is None else {model}
    if len(names) > 1:
        raise _ambiguous(wanted, names)
    return names.pop(), able


def _having_route(
    context: Context, replicas: Sequence[Replica], wanted: type[RequestModel]
) -> Flow[list[Replica]]:
    """Those that have the route, asking each that hides its routes: one cheap GET, once."""
    unsure = [r for r in replicas if r.tasks is None and r.info and not r.info.routes]
    yield from Together([_ask_route(context, replica, wanted) for replica in unsure])
    return [replica for replica in replicas if _does(replica, wanted)]


def _ask_route(context: Context, replica: Replica, wanted: type[RequestModel]) -> Flow[None]:
    """Note the paths of `wanted` that a server has not, up to the first that it has."""
    if wanted.WEBSOCKET:
        return
    for path in wanted.PATHS:
        if path not in replica.unlisted:
            if (yield from _has(context, replica, path)):
                return
            replica.lacks(path)
    replica.lacks(wanted.TASK)


def _ask_routes(context: Context, replica: Replica) -> Flow[None]:
    """Find out every route of a server that hides them (`--disable-fastapi-docs`)."""
    assert replica.info is not None
    kinds = [kind for kinds in TASKS.values() for kind in kinds]
    paths = sorted({CLASSIFY, *(path for kind in kinds for path in kind.PATHS)})
    there = yield from Together([_has(context, replica, path) for path in paths])
    routes = frozenset(path for path, has in zip(paths, there, strict=True) if has is True)
    info = replace(replica.info, routes=routes)
    replica.info = replace(info, tasks=_tasks(replica, info))


def _has(context: Context, replica: Replica, path: str) -> Flow[bool]:
    """A GET of a POST route is a 405 where the route exists, a 404 where it does not."""
    # An error is an answer here, and Together hands errors over as outcomes.
    (outcome,) = yield from Together([get(context, replica, path, ASKED_FOR)])
    return not (isinstance(outcome, NotFoundError) and outcome.status_code == 404)


def known(context: Context) -> Flow[None]:
    """Ask the servers that are not known, or whose answer is old; raise if none is known then."""
    fleet = context.fleet
    if any(r.due <= fleet.clock() or not r.info for r in fleet.replicas):
        yield from Alone(_refresh_due(context), context.ends)
    # In this order, since one that another call finds again meanwhile has no error any more.
    errors = [replica.error for replica in fleet.replicas if replica.error]
    if errors and not any(replica.info for replica in fleet.replicas):
        raise errors[0]


def ask_all(context: Context) -> Flow[tuple[ServerInfo, ...]]:
    """Ask every server, whether or not it is due; a wrong API key is raised."""
    replicas = context.fleet.replicas
    yield from Alone(_refresh(context, replicas), context.ends)
    for replica in replicas:
        if isinstance(replica.error, AuthenticationError):
            raise replica.error
    silent = [
        r for r in replicas if r.tasks is None and r.info and r.info.healthy and not r.info.routes
    ]
    yield from Together([_ask_routes(context, replica) for replica in silent])
    return tuple(_infos(context))


def _refresh_due(context: Context) -> Flow[None]:
    now, replicas = context.fleet.clock(), context.fleet.replicas
    due = [replica for replica in replicas if replica.due <= now]
    if not any(replica.info for replica in replicas):
        due = list(replicas)  # nobody else can be asked, so do not wait for their time
    yield from _refresh(context, due)


def _refresh(context: Context, replicas: Sequence[Replica]) -> Flow[None]:
    yield from Together([_ask_who(context, replica) for replica in replicas])


def _ask_who(context: Context, replica: Replica) -> Flow[None]:
    """Note who a server is, or why it could not be asked."""
    if len(context.fleet.replicas) > 1:  # another server may answer meanwhile
        context = replace(context, options=replace(context.options, max_retries=0))
    try:
        info = yield from discover(context, replica)
    except VLLMModalitiesError as error:
        replica.failed(error, context.fleet.clock())
        if replica.info is not None:
            replica.info = replace(replica.info, healthy=False)
    else:
        if info.version is None and replica.info is None:
            context.report([_unknown_release(info.url)])
        replica.known(info, context.fleet.clock())


def discover(context: Context, replica: Replica) -> Flow[ServerInfo]:
    """Ask one server for its release, models and routes: three requests at most."""
    version = context.fleet.version
    if version is None:
        version = yield from _told(context, replica, "/version", read_version)
    both: list[Flow[object]] = [
        _told(context, replica, "/v1/models", lambda r: read_models(r, context.fleet.profiles)),
        _told(context, replica, "/openapi.json", read_routes),
    ]
    models, routes = yield from Together(both)
    if isinstance(models, VLLMModalitiesError):
        raise models
    info = ServerInfo(
        url=replica.url,
        version=version,
        models=models if isinstance(models, tuple) else (),
        routes=routes if isinstance(routes, frozenset) else frozenset(),
    )
    return replace(info, tasks=_tasks(replica, info))


def _told(
    context: Context, replica: Replica, path: str, read: Callable[[Response], T]
) -> Flow[T | None]:
    """What a server says at `path`; None if it has no such path or says something else."""
    try:
        response = yield from get(context, replica, path, ASKED_FOR)
        return read(response)
    except ResponseError:
        return None
    except APIStatusError as error:
        if isinstance(error, AuthenticationError) or is_transient(error):
            raise
        return None


def _tasks(replica: Replica, info: ServerInfo) -> frozenset[str]:
    if not info.routes:
        return replica.tasks or frozenset()
    return frozenset(
        task for task, kinds in TASKS.items() if any(_fits(replica, info, k) for k in kinds)
    )


def _does(replica: Replica, wanted: type[RequestModel]) -> bool:
    """Whether a known server does the task, as far as can be told."""
    return replica.info is not None and _fits(replica, replica.info, wanted)


def _fits(replica: Replica, info: ServerInfo, wanted: type[RequestModel]) -> bool:
    """The user's mapping counts; without one, the routes and the models' profiles."""
    if wanted.TASK in replica.unlisted:
        return False
    if replica.tasks is not None:
        return not replica.tasks.isdisjoint(wanted.tasks())
    return wanted.suits(info)


def _serving(replicas: Sequence[Replica], model: str) -> list[Replica]:
    """Those that list `model`, or list no models at all."""
    return [
        r for r in replicas if r.info and (not r.info.models or r.info.model(model) is not None)
    ]


def _base_model(info: ServerInfo) -> str | None:
    return next((model.id for model in info.models if model.parent is None), None)


def _infos(context: Context) -> list[ServerInfo]:
    return [
        replica.info or ServerInfo(url=replica.url, healthy=False)
        for replica in context.fleet.replicas
    ]


def _unknown_release(url: str) -> Finding:
    return Finding(
        code=f"unknown-release {url}",
        severity="warning",
        field="",
        message=f"{url} does not tell its vLLM release, so what depends on it is not checked;"
        " if you know it, pass server_version",
        warns=VLLMModalitiesWarning,
    )


def _unsupported(context: Context, wanted: type[RequestModel]) -> UnsupportedTaskError:
    infos, task = _infos(context), wanted.TASK
    said = [r.remembered[task] for r in context.fleet.replicas if task in r.remembered]
    per_token = task == "embed" and any("embed_tokens" in info.tasks for info in infos)
    cure = " A model with a vector a token has embed_tokens()." if per_token else wanted.CURE
    hint = f" If one does all the same, say so: Client({{{task!r}: 'http://…'}})"
    return UnsupportedTaskError(
        f"no configured server does {task!r}: {'; '.join([tell(infos), *said])}.{cure}"
        f"{'' if said else hint}"
    )


def _not_serving(context: Context, wanted: type[RequestModel], model: str) -> UnknownModelError:
    finding = Finding(
        code="unknown-model",
        severity="error",
        field="model",
        message=f"no configured server does {wanted.TASK!r} with a model {model!r}:"
        f" {tell(_infos(context))}. Use one of these names, or leave `model` out",
        source="GET /v1/models",
    )
    return UnknownModelError([finding], server=context.fleet.replicas[0].url)


def _ambiguous(wanted: type[RequestModel], names: Iterable[str | None]) -> InvalidRequestError:
    return invalid(
        "model",
        f"several models do {wanted.TASK!r}: {', '.join(sorted(map(str, names)))};"
        " say which with `model`",
        code="model-ambiguous",
        source="GET /v1/models",
    )
