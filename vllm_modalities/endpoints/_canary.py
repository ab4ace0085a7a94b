"""Whether a reranker that needs a template was served with it: one question with a known answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._flow import Alone, Flow, Together
from ..errors import BadRequestError, Finding, ModelUsageWarning, VLLMModalitiesError
from ..profiles import RerankProfile, ScoreForm

if TYPE_CHECKING:
    from .._context import Target

QUERY = "What is the capital of France?"
DOCUMENTS = ("London is the capital of England.", "Paris is the capital of France.")
RIGHT, WRITTEN, WRONG = "ranks by relevance", "does if it is written here", "ranks at random"


def form_for(target: Target, *, may_write: bool) -> Flow[tuple[ScoreForm | None, list[Finding]]]:
    """The template to write here, if the server has none and that helps; and what is doubtful.

    A model without its template still answers with status 200, and its scores look random (vLLM
    issues #20478, #21681). Where its profile has the words, they are written into query and
    document, which such a server reads back to back (vLLM 0.33.0
    vllm/model_executor/models/adapters.py, `use_sep_token`). Each server is asked once.

    Args:
        target: The servers.
        may_write: Whether query and documents are texts alone.
    """
    rerank = target.profile.rerank
    if rerank is None or rerank.template is None or target.context.options.validation == "off":
        return None, []
    key = f"canary of {target.model}"
    if key not in target.replicas[0].remembered:
        yield from Alone(_ask_all(target, key, rerank.form), target.context.ends)
    found = target.replicas[0].remembered.get(key)
    if found not in (WRITTEN, WRONG):
        return None, []
    written = found == WRITTEN and may_write
    return rerank.form if written else None, [_finding(target, rerank, written=written)]


def _finding(target: Target, rerank: RerankProfile, *, written: bool) -> Finding:
    here = " It is written here instead, into query and documents." if written else ""
    return Finding(
        code="template-written" if written else "template-missing",
        severity="warning",
        field="model",
        message=f"{target.model!r} ranks London above Paris for the capital of France, so it"
        f" seems to be served without its template.{here} Serve {target.profile.name} with"
        f" --chat-template {rerank.template}",
        source=rerank.sources.get("template", ""),
        warns=None if written else ModelUsageWarning,
    )


def _ask_all(target: Target, key: str, form: ScoreForm | None) -> Flow[None]:
    if key in target.replicas[0].remembered:  # another call has asked meanwhile
        return
    ranks = yield from _ask(target, None)
    if ranks is None:  # then the caller's own request says what is wrong
        return
    found = RIGHT if ranks else WRONG
    if not ranks and form and (yield from _ask(target, form)):
        found = WRITTEN
    for replica in target.replicas:
        replica.remembered[key] = found


def _ask(target: Target, form: ScoreForm | None) -> Flow[bool | None]:
    """Whether Paris comes first; None where the server refuses the question."""
    from .rerank import RerankRequest, read_ranking

    query, documents = QUERY, DOCUMENTS
    if form is not None:
        query = form.query_of(query, None)
        documents = (form.document_of(documents[0]), form.document_of(documents[1]))
    request = RerankRequest(model=target.model, query=query, documents=documents)
    # A refusal is an answer here, and Together hands errors over as outcomes.
    (outcome,) = yield from Together([target.post(request)])
    if isinstance(outcome, BadRequestError):
        return None
    if isinstance(outcome, VLLMModalitiesError):
        raise outcome
    ratings, _ = read_ranking(outcome, request)
    return max(ratings, key=lambda rating: rating[1])[0] == 1
