"""Whether a reranker that needs a template was served with it: one question with a known answer."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .._flow import Alone, Flow
from ..errors import BadRequestError, Finding, ModelUsageWarning

if TYPE_CHECKING:
    from .._context import Target

QUERY = "What is the capital of France?"
DOCUMENTS = ("London is the capital of England.", "Paris is the capital of France.")
RIGHT, WRONG = "ranks by relevance", "ranks at random"


def missing_template(target: Target) -> Flow[list[Finding]]:
    """A warning, if the model needs a template and ranks as if it had none; asked once a server.

    Without it such a model still answers with status 200, and its scores look random
    (vLLM issues #20478, #21681).
    """
    profile = target.profile
    template = profile.rerank.template if profile.rerank else None
    if template is None or target.context.options.validation == "off":
        return []
    key = f"canary of {target.model}"
    if key not in target.replicas[0].remembered:
        yield from Alone(_ask(target, key), target.context.ends)
    if target.replicas[0].remembered.get(key) != WRONG:
        return []
    return [
        Finding(
            code="template-missing",
            severity="warning",
            field="model",
            message=f"{target.model!r} ranks London above Paris for the capital of France, so it"
            f" seems to be served without its template. Serve {profile.name} with"
            f" --chat-template {template}",
            source=profile.rerank.sources.get("template", "") if profile.rerank else "",
            warns=ModelUsageWarning,
        )
    ]


def _ask(target: Target, key: str) -> Flow[None]:
    from .rerank import RerankRequest, read_ranking

    if key in target.replicas[0].remembered:  # another call has asked meanwhile
        return
    request = RerankRequest(model=target.model, query=QUERY, documents=DOCUMENTS)
    try:
        response = yield from target.post(request)
    except BadRequestError:  # then the caller's own request says what is wrong
        return
    (best, _), _ = read_ranking(response, request)
    for replica in target.replicas:
        replica.remembered[key] = RIGHT if best.index == 1 else WRONG
