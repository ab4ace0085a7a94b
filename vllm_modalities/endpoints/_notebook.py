"""Rankings, scores and classes as a notebook shows them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from .._html import CELLS, framed, heat_map, number, parts, table

SHOWN = 300  # characters of a document

if TYPE_CHECKING:
    from .classify import Classification
    from .rerank import RerankResult
    from .score import Scores


def ranked(result: RerankResult) -> str:
    """A row a document, best first, with a bar for its score."""
    bars = parts([one.score for one in result])
    rows = (
        (str(rank), number(one.score), bar, str(one.index), _words(one.document))
        for rank, (one, bar) in enumerate(zip(result, bars, strict=True), 1)
    )
    headings = ("rank", "score", "", "place", "document")
    return framed(repr(result), table(headings, rows, len(result)), warnings=result.warnings)


def scored(result: Scores) -> str:
    """A bar a pair, or the matrix of each query with each document."""
    if result.scores.ndim == 2:
        rows, columns = result.scores.shape
        shown = heat_map(result.scores[:CELLS, :CELLS].tolist(), rows, columns)
    else:
        scores = result.scores.tolist()
        bars = enumerate(zip(scores, parts(scores), strict=True))
        cells = ((str(place), number(score), bar) for place, (score, bar) in bars)
        shown = table(("place", "score", ""), cells, len(scores))
    return framed(repr(result), shown, warnings=result.warnings)


def classified(result: Classification) -> str:
    """The likeliest class of each input, and how likely it is."""
    best = [max(row, default=float("nan")) for row in result.probs.tolist()]
    bars = enumerate(zip(result.labels, best, parts(best), strict=True))
    rows = ((str(place), label or "", number(p), bar) for place, (label, p, bar) in bars)
    shown = table(("place", "label", "likely", ""), rows, len(result))
    return framed(repr(result), shown, warnings=result.warnings)


def _words(document: Any) -> str:
    """The beginning of a document of the caller's own, in words."""
    if isinstance(document, Mapping) and isinstance(document.get("text"), str):
        document = document["text"]
    text = f"{len(document):,} bytes" if isinstance(document, bytes) else str(document)
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}…"
