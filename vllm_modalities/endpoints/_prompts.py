"""What goes before a text, by input type: the model's own prompt, on the client."""

from __future__ import annotations

from collections.abc import Iterable

from .._inputs import invalid
from ..errors import Finding, ModelUsageWarning
from ..profiles import Profile

# The names that models and Cohere use for the same two things.
SYNONYMS = (
    ("query", "search_query", "retrieval.query", "Retrieval-query"),
    ("document", "search_document", "passage", "retrieval.passage", "Retrieval-document"),
)


def same_name(wanted: str, names: Iterable[str]) -> str | None:
    """`wanted` as it stands among `names`, or another name there for the same thing."""
    names = list(names)
    group = next((group for group in SYNONYMS if wanted in group), ())
    return next((name for name in (wanted, *group) if name in names), None)


def prompt_for(profile: Profile, input_type: str) -> str | None:
    """What the model wants before a text of that type; None if its prompts are not known.

    Raises:
        InvalidRequestError: The model has prompts, and none of that name.
    """
    prompts = profile.embed.prompts if profile.embed else {}
    if not prompts:
        return None
    name = same_name(input_type, prompts)
    if name is None:
        known = ", ".join(map(repr, prompts))
        message = f"input_type={input_type!r}: {profile.name} has {known}"
        raise invalid("input_type", message, code="input-type")
    return prompts[name]


def missing_prompt(profile: Profile, texts: Iterable[str], *, many: bool) -> list[Finding]:
    """A warning, if the model was trained with prompts and no text begins like one.

    Where documents need none, `many` texts without one are taken for documents.
    """
    embed = profile.embed
    if embed is None or not embed.needs_prompt:
        return []
    if many and not embed.prompts.get("document", "?"):
        return []
    prompts = [prompt for prompt in embed.prompts.values() if prompt]
    beginnings = tuple(prompt.split(" ")[0] for prompt in prompts)  # a task may be the caller's own
    if any(text.startswith(beginnings) for text in texts):
        return []
    return [
        Finding(
            code="missing-prompt",
            severity="warning",
            field="input_type",
            message=f"{profile.name} was trained with words before its texts, such as"
            f' {prompts[0]!r}; pass input_type="query" or "document", or vectors are worse',
            source=embed.sources.get("prompts", ""),
            warns=ModelUsageWarning,
        )
    ]


def missing_sides(profile: Profile, queries: Iterable[str]) -> list[Finding]:
    """A warning, if an embedder compares texts without what it was trained with on either side.

    Source: vLLM 0.33.0 vllm/entrypoints/pooling/scoring, which takes both as they are.
    """
    embed, late = profile.embed, profile.rerank is not None
    if embed is None or not (embed.marks or missing_prompt(profile, queries, many=False)):
        return []
    key, what = ("marks", "markers") if embed.marks else ("prompts", "words before its texts")
    instead = "embed_tokens() and maxsim()" if late else "embed() and .similarity()"
    return [
        Finding(
            code=f"ranking-without-{key}",
            severity="warning",
            field="query",
            message=f"{profile.name} was trained with {what}, which vLLM's own scores do without,"
            f' so they are worse; {instead} take them by input_type="query" and "document"',
            source=embed.sources.get(key, ""),
            warns=ModelUsageWarning,
        )
    ]
