"""What is done to queries and documents before they are compared: cut, and put into a template."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

from .._context import Target
from .._flow import Flow
from ..errors import Finding
from ..gates import examine
from ..profiles import ScoreForm
from ._canary import form_for
from ._cutting import can_cut, cut, may_be_cut
from ._prompts import missing_sides
from ._ranking import RankingFields
from ._ratings import Sides

# Releases whose own cut is dropped, or changes the scores of other documents.
UNTRUSTED = frozenset(f"ranking-max-tokens-{name}" for name in ("per-doc", "per-query", "scores"))

R = TypeVar("R", bound=RankingFields)


def prepared(target: Target, template: R, sides: Sides) -> Flow[tuple[R, Sides, list[Finding]]]:
    """The request's other fields, both sides as they go out, and what is doubtful.

    Args:
        target: The servers.
        template: A request with the caller's fields.
        sides: What the caller compares.
    """
    both = (*sides.queries, *sides.documents)
    is_text = all(isinstance(item, str) for item in both)
    form, findings = yield from form_for(target, may_write=is_text)
    queries = (query for query in sides.queries if isinstance(query, str))
    findings += missing_sides(target.profile, queries)
    target.context.report(findings)
    found: list[Finding] = [*findings]
    if target.context.options.validation != "off":
        for field in ("max_tokens_per_query", "max_tokens_per_doc"):
            here = form is not None or _drops(target, template, field)
            template, sides, cuts = yield from _cut(target, template, sides, field, here=here)
            found += cuts
    if form is not None:
        sides = _written(form, sides, template.instruction)
        template = template.model_copy(update={"instruction": None})
    return template, sides, found


def _cut(
    target: Target, template: R, sides: Sides, field: str, *, here: bool
) -> Flow[tuple[R, Sides, list[Finding]]]:
    """Cut one side `here`, or say what the server's own cut may take off."""
    tokens = getattr(template, field)
    if not tokens or tokens < 0:  # no cut, or what a gate refuses
        return template, sides, []
    items = sides.queries if field == "max_tokens_per_query" else sides.documents
    if not here or not (yield from can_cut(target.context, target.model)):
        return template, sides, may_be_cut(items, tokens, field=field)
    items, cuts = yield from cut(target.context, target.model, items, tokens, field=field)
    if field == "max_tokens_per_query":
        sides = replace(sides, queries=items)
    else:
        sides = replace(sides, documents=items)
    return template.model_copy(update={field: None}), sides, cuts


def _drops(target: Target, template: RankingFields, field: str) -> bool:
    """Whether one of the servers cannot be trusted with that cut."""
    return any(
        finding.field == field and finding.code in UNTRUSTED
        for replica in target.replicas
        if replica.info
        for finding in examine(replica.info, template)
    )


def _written(form: ScoreForm, sides: Sides, instruction: str | None) -> Sides:
    return replace(
        sides,
        queries=[form.query_of(str(query), instruction) for query in sides.queries],
        documents=[form.document_of(str(document)) for document in sides.documents],
    )
