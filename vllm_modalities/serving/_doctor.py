"""`doctor`: every server of a client, examined with evidence, under a load that is announced."""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, overload

from .._context import Context
from .._flow import Flow, Together
from .._routing import ask_all
from .._wire import TASKS
from ..endpoints._ranking import score_type
from ..errors import Finding, VLLMModalitiesError
from ..gates import GATES, Action, Gate
from ..server import ModelInfo, ServerInfo
from ._media_checks import MEDIA_CHECKS
from ._ranking_checks import RANKING_CHECKS
from ._report import Check, Examined, Report
from ._subject import Examination, Subject, brief
from ._vector_checks import VECTOR_CHECKS

if TYPE_CHECKING:
    from .._fleet import Replica
    from ..client import AsyncClient, Client

Announce = Callable[[str], object]

EXAMINATIONS: tuple[Examination, ...] = (*VECTOR_CHECKS, *RANKING_CHECKS, *MEDIA_CHECKS)
SHOWN = (Action.REFUSE, Action.DEFECT, Action.REPAIR, Action.NOTE)


@overload
def doctor(client: Client, *, announce: Announce | None = None) -> Report: ...
@overload
def doctor(
    client: AsyncClient, *, announce: Announce | None = None
) -> Coroutine[Any, Any, Report]: ...
def doctor(client: Client | AsyncClient, *, announce: Announce | None = None) -> Any:
    """Examine every server of `client`: who it is, what its release gets wrong, and what it does.

    It tries, as far as the server does them: width, unit length, pooling by the makers' own
    cosines, sameness alone and among others, Matryoshka, prompts and long inputs of embedders; a
    pair with a known answer, the template and sameness of rerankers; a spoken sentence; a drawn
    page; and latency and throughput of a few requests. The client's own checks and repairs are off
    meanwhile, and nothing is tried twice.

    Args:
        client: A `Client`, or an `AsyncClient`, with which the call is awaited.
        announce: Told the load of each server before it is sent, in words.

    Returns:
        What was found, server by server; `.ok` is False if anything is wrong.

    Raises:
        AuthenticationError: A server wants another API key.

    Source: vLLM 0.32.0, as seen on real servers; the models' profiles; the table of gates.
    """
    return client._call(_examined, announce)  # noqa: SLF001 - a method's twin, outside the class


def _examined(context: Context, announce: Announce | None) -> Flow[Report]:
    yield from ask_all(context)
    found: tuple[Examined, ...] = ()
    for replica in context.fleet.replicas:  # one after another: none slows the other's pace
        found += ((yield from _one(context, replica, announce)),)
    return Report(found)


def _one(context: Context, replica: Replica, announce: Announce | None) -> Flow[Examined]:
    """One server; one that does not answer has one fault."""
    info = replica.info or ServerInfo(url=replica.url, healthy=False)
    model = info.model(None)
    if not info.healthy or model is None:
        told = brief(replica.error) if replica.error else "it lists no model"
        cure = "start it, and see that its address is right"
        check = Check("answers", "fault", told, cure)
        return Examined(info, None, "unknown", (), (check,), 0, 0)
    chosen = [one for one in EXAMINATIONS if _suits(one, info)]
    subject = Subject.of(context, replica, model.id, sum(one.requests for one in chosen))
    if announce is not None:
        announce(_load(info, model, subject, chosen))
    checks: list[Check] = []
    for one in chosen:
        (outcome,) = yield from Together([one.run(subject)])
        if isinstance(outcome, VLLMModalitiesError):
            failed = Check(one.name, "fault", brief(outcome), "see the server's log")
            checks.append(failed)
        else:
            checks += outcome
    return Examined(
        subject.target.info,
        model.id,
        model.profile.name,
        tuple(_gates(info, model)),
        tuple(checks),
        subject.budget.announced,
        subject.budget.sent,
    )


def _suits(one: Examination, info: ServerInfo) -> bool:
    """An embedder ranks too, and is judged by its vectors."""
    kind = score_type(info)
    if one.task == "rerank":
        return "rerank" in info.tasks and kind != "bi-encoder"
    if one.task == "embed_tokens":
        return one.task in info.tasks and kind == "late-interaction"
    if one.task == "classify":  # a reranker has one class
        return one.task in info.tasks and "rerank" not in info.tasks
    return one.task in info.tasks


def _load(info: ServerInfo, model: ModelInfo, subject: Subject, chosen: list[Examination]) -> str:
    names = ", ".join(one.name for one in chosen) or "nothing that is known to be tried"
    return (
        f"{info.url}: {model.id}, at most {subject.budget.announced} requests, 4 at once ({names})"
    )


def _gates(info: ServerInfo, model: ModelInfo) -> list[Finding]:
    """The rows that this release, and not every one, has for what this model does."""
    kinds = [kind for task in sorted(info.tasks) for kind in TASKS.get(task, ())]
    return [
        gate.says(f"{gate.field}: {_problem(gate)} ({gate.window}). {gate.cure}")
        for gate in GATES
        if gate.action in SHOWN
        and (gate.since or gate.until)
        and gate.affects(info.version)
        and gate.models.holds(model.profile)
        and any(gate.judges(kind) for kind in kinds)
    ]


def _problem(gate: Gate) -> str:
    return gate.problem.replace("{value}", "so many")
