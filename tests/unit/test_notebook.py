"""Results as a notebook shows them: what is in the tables, the bars and the heat maps."""

from __future__ import annotations

import math
import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from vllm_modalities import Classification, Embeddings, RankedDocument, RerankResult, Scores
from vllm_modalities._html import CELLS, ROWS

NUMBERS = st.floats(width=32, allow_infinity=False) | st.just(math.nan)


class Shown(HTMLParser):
    """The rows of a table, and how long its bars are."""

    def __init__(self, result: Any) -> None:
        super().__init__()
        self.rows: list[list[str]] = []
        self.page = result._repr_html_()
        self.bars = [float(part) for part in re.findall(r'<i style="width:([\d.]+)%">', self.page)]
        self.feed(self.page)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_data(self, data: str) -> None:
        if self.rows:
            self.rows[-1][-1] += data


def ranking(*scores: float, documents: Any = "a document") -> RerankResult:
    found = (RankedDocument(place, score, documents) for place, score in enumerate(scores))
    return RerankResult(tuple(found), "m")


def test_a_ranking_has_a_row_a_document_with_its_rank_score_and_words() -> None:
    shown = Shown(ranking(0.75, 0.25, documents={"text": "of the caller", "id": 7}))
    assert shown.rows == [
        ["rank", "score", "", "place", "document"],
        ["1", "0.750", "", "0", "of the caller"],
        ["2", "0.250", "", "1", "of the caller"],
    ]
    assert shown.bars == [75.0, 25.0]


def test_a_bar_is_as_long_as_its_score_among_all_scores() -> None:
    assert Shown(ranking(9.0, 3.0, -3.0)).bars == [100.0, 50.0, 0.0]
    assert Shown(ranking(0.5, 0.0)).bars == [50.0, 0.0]
    assert Shown(ranking(-1.0, -3.0)).bars == [66.7, 0.0]


def test_a_document_that_is_long_or_no_text_is_told_in_brief() -> None:
    long, raw = Shown(ranking(1.0, documents="x" * 999)), Shown(ranking(1.0, documents=b"x" * 5000))
    assert long.rows[-1][-1] == "x" * 300 + "…"
    assert raw.rows[-1][-1] == "5,000 bytes"


def test_of_many_rows_the_first_are_shown_and_the_rest_counted() -> None:
    for result in (
        ranking(*[0.5] * 1_234),
        Scores(np.ones(1_234, np.float32)),
        Classification(("a",) * 1_234, np.ones((1_234, 1), np.float32)),
    ):
        rows = Shown(result).rows
        assert len(rows) == 1 + ROWS + 1
        assert rows[-1] == ["… and 1,184 more"]


def test_few_vectors_have_a_map_of_how_close_each_is_to_each() -> None:
    shown = Shown(Embeddings(np.array([[1, 0], [0, 1], [-1, 0]], np.float32), "m"))
    assert "cosine of each with each" in shown.page
    assert shown.rows == [
        ["", "0", "1", "2"],
        ["0", "1.00", "0.00", "-1.00"],
        ["1", "0.00", "1.00", "0.00"],
        ["2", "-1.00", "0.00", "1.00"],
    ]


def test_of_many_vectors_the_map_has_the_first() -> None:
    shown = Shown(Embeddings(np.eye(1_000, dtype=np.float32)))
    assert len(shown.rows) == 1 + CELLS
    assert f"the first {CELLS} x {CELLS} of 1,000 x 1,000" in shown.page


def test_a_single_vector_and_none_have_no_map() -> None:
    for count in (0, 1):
        shown = Shown(Embeddings(np.ones((count, 3), np.float32)))
        assert shown.rows == []
        assert f"Embeddings({count} x 3" in shown.page


def test_a_matrix_of_scores_is_a_map_and_pairs_are_bars() -> None:
    assert Shown(Scores(np.array([[0.5, 0.25]], np.float32))).rows[1] == ["0", "0.50", "0.25"]
    pairs = Shown(Scores(np.array([0.5, np.nan], np.float32)))
    assert pairs.rows[1:] == [["0", "0.500", ""], ["1", "–", ""]]
    assert pairs.bars == [50.0, 0.0]


def test_what_rounds_to_zero_has_no_sign() -> None:
    page = Shown(Scores(np.array([[-0.001, -0.006]], np.float32)))
    assert page.rows[1][1:] == ["0.00", "-0.01"]


def test_a_class_stands_with_how_likely_it_is() -> None:
    probs = np.array([[0.25, 0.75], [np.nan, np.nan]], np.float32)
    shown = Shown(Classification(("yes", None), probs, "m", warnings=("a doubt",)))
    assert shown.rows[1:] == [["0", "yes", "0.750", ""], ["1", "", "–", ""]]
    assert "a doubt" in shown.page


@given(
    vectors=arrays(np.float32, st.tuples(st.integers(0, 20), st.integers(0, 3)), elements=NUMBERS)
)
def test_whatever_numbers_there_are_they_can_be_looked_at(vectors: np.ndarray) -> None:
    with np.errstate(all="ignore"):
        results = (
            Embeddings(vectors),
            Scores(vectors),
            Scores(vectors.ravel()),
            Classification((None,) * len(vectors), vectors),
            ranking(*vectors.ravel().tolist()),
        )
        for result in results:
            assert all(0 <= bar <= 100 for bar in Shown(result).bars)


def test_colours_are_those_of_the_page_around_it() -> None:
    """Neither ink nor paper is set, so it is legible on a light page and on a dark one."""
    style = re.search("<style>(.*)</style>", Shown(ranking(1.0)).page)[1]
    rules = re.findall(r"[{;](color|background):([^;}]+)", style)
    assert {(name, value) for name, value in rules if value != "#4285d6"} == {
        ("color", "inherit"),
        ("background", "none"),
    }
