from __future__ import annotations

import pytest

from vllm_modalities.documents.repetition import repeated_tail

PROSE = (
    "The mill stands where the brook meets the river. It ground rye for three villages until 1911, "
    "and its wheel still turns on the first Sunday of May, when the children bring their bread. "
) * 2


def test_a_row_without_end_is_found() -> None:
    assert repeated_tail(PROSE + "\n| 0 | 0 |" * 300) == ("\n| 0 | 0 |", 300)


def test_a_unit_that_max_tokens_cut_is_found() -> None:
    assert repeated_tail(PROSE + "<td></td>" * 80 + "<td></") == ("<td></td>", 80)


def test_dots_are_found_as_the_shortest_unit() -> None:
    assert repeated_tail("Chapter 1 " + "." * 700) == (".", 700)


def test_a_long_sentence_ten_times_is_found() -> None:
    unit = PROSE[:150]
    assert repeated_tail(unit * 10) == (unit, 10)


@pytest.mark.parametrize(
    "text",
    [
        "",
        PROSE,
        "Contents " + "." * 120 + " 7",
        "Name: " + "_" * 200,
        PROSE + "| 0 | 0 |\n" * 20,
        PROSE[:150] * 9,
        " ".join(map(str, range(3_000))),
        "| 0 | 0 |\n" * 300 + "And so it ended.",
    ],
)
def test_what_a_page_may_hold_is_no_loop(text: str) -> None:
    assert repeated_tail(text) is None
