"""Which `dimensions` a model takes: asked of the server once, never with the value in question."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from ._flow import Alone, Flow, Together
from .errors import BadRequestError, Finding, VLLMModalitiesError
from .server import ModelInfo, ServerVersion

if TYPE_CHECKING:
    from ._context import Target
    from .endpoints.embeddings import EmbeddingRequest

# vllm/pooling_params.py, 0.16.0 to 0.25.1 and from 0.26.0.
_WIDTH = re.compile(r"dimensions in range \[1, (\d{1,6})\]")
_LIST = re.compile(r"only supports (?:Matryoshka dimensions )?\[(\d{1,6}(?:, ?\d{1,6})*)\]")
_ANY = re.compile(r"must be greater than 0")
_NONE = re.compile(r"does not support matryoshka", re.IGNORECASE)

SOURCE = "the server's own answer; vLLM vllm/pooling_params.py, `_set_default_parameters`"


def size_findings(
    dimensions: int, model: ModelInfo | None, version: ServerVersion | None
) -> Iterator[Finding]:
    """What is wrong with `dimensions`, as far as the model is known."""
    if dimensions < 1:
        yield _error("below-1", f"dimensions={dimensions} is below 1; leave it out for full width")
        return
    if model is None:
        return
    match model.matryoshka:
        case False:
            yield _error(
                "not-matryoshka",
                f"dimensions={dimensions}: the model {model.id!r} is not configured to shorten"
                " vectors (Matryoshka). Leave dimensions out and cut with"
                " Embeddings.truncate(), or, if the model was trained for it, serve it with"
                " --hf-overrides '{\"is_matryoshka\": true}'",
            )
        case tuple(sizes) if dimensions not in sizes:
            yield _error(
                "not-in-list",
                f"dimensions={dimensions}: the model {model.id!r} takes only"
                f" {', '.join(map(str, sizes))}",
            )
        case _ if model.embedding_size and dimensions > model.embedding_size:
            old = version is not None and version < "0.24.0"
            clips = f"; vLLM {version} would silently return full width" if old else ""
            yield _error(
                "above-width",
                f"dimensions={dimensions} is more than the {model.embedding_size} that"
                f" {model.id!r} has{clips}. Ask for at most {model.embedding_size}",
            )


def _error(code: str, message: str) -> Finding:
    return Finding(
        code=f"dimensions-{code}",
        severity="error",
        field="dimensions",
        message=message,
        source=SOURCE,
    )


def ask_sizes(target: Target, dimensions: int) -> Flow[None]:
    """Learn what the model takes, if that is not known yet: a few tiny requests, once."""
    if dimensions >= 1 and not _known(target.facts):
        yield from Alone(_ask(target, dimensions), target.context.ends)


def ask_width(target: Target) -> Flow[None]:
    """Learn how wide the model's vectors are, if that is not known yet: one short text, once."""
    if target.facts.embedding_size is None:
        yield from Alone(_measure(target), target.context.ends)


def _known(facts: ModelInfo) -> bool:
    if facts.matryoshka is True:
        return facts.embedding_size is not None
    return facts.matryoshka is not None


def _ask(target: Target, dimensions: int) -> Flow[None]:
    if _known(target.facts):  # another call has asked meanwhile
        return
    # 0 is refused by every release, without running the model: before 0.26.0 the words tell the
    # list of sizes, or that there is none; from then on the width.
    said = (yield from _refusal(target, 0)) or ""
    width = _WIDTH.search(said)
    target.learned(embedding_size=int(width[1]) if width else None, matryoshka=_taken(said))
    if _known(target.facts):
        return
    yield from _measure(target)
    if target.facts.matryoshka is None:
        yield from _ask_list(target, dimensions)


def _ask_list(target: Target, dimensions: int) -> Flow[None]:
    """A size that no list has and no model is too narrow for: taken, or refused with the list."""
    width = target.facts.embedding_size or 0
    probe = next((size for size in (width - 1, width - 2) if size not in (0, dimensions)), 1)
    said = yield from _refusal(target, probe)
    target.learned(matryoshka=True if said is None else _taken(said))


def _taken(said: str) -> bool | tuple[int, ...] | None:
    """The sizes that a refusal says are taken; None if it does not say."""
    if sizes := _LIST.search(said):
        return tuple(int(size) for size in sizes[1].split(","))
    if _NONE.search(said):
        return False
    return True if _ANY.search(said) else None


def _refusal(target: Target, dimensions: int) -> Flow[str | None]:
    """What the server says to `dimensions`; None if it takes them."""
    # A refusal is an answer here, and Together hands errors over as outcomes.
    (outcome,) = yield from Together([_unchecked(target).post(_probe(target, dimensions))])
    if isinstance(outcome, BadRequestError):
        return outcome.message
    if isinstance(outcome, VLLMModalitiesError):
        raise outcome
    return None


def _measure(target: Target) -> Flow[None]:
    """The width of one short text's vector."""
    from .endpoints.embeddings import read_vectors

    if target.facts.embedding_size is None:  # or another call has asked meanwhile
        response = yield from _unchecked(target).post(_probe(target, None))
        target.learned(embedding_size=read_vectors(response, 1, None).vectors.shape[1])


def _probe(target: Target, dimensions: int | None) -> EmbeddingRequest:
    from .endpoints.embeddings import EmbeddingRequest

    return EmbeddingRequest(
        model=target.model,
        input="a",
        dimensions=dimensions,
        encoding_format="base64",
        endianness="little",
    )


def _unchecked(target: Target) -> Target:
    context = target.context
    return replace(
        target, context=replace(context, options=replace(context.options, validation="off"))
    )
