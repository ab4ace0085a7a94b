"""What a document lacks: pages that are not whole, and pages that are not there."""

from __future__ import annotations

import pytest

from vllm_modalities import MediaError
from vllm_modalities.documents.blocks import Block, Document, Page
from vllm_modalities.documents.choosing import ranges
from vllm_modalities.documents.lacking import lacking


def page(number: int = 1, words: str = "words", finish: str | None = "stop", **further) -> Page:
    return Page(number, 10, 10, words, words, finish_reason=finish, **further)


@pytest.mark.parametrize(
    "whole",
    [
        page(),
        page(warnings=("a box leaves the page",)),
        page(words=""),  # blank
        page(words="", blocks=(Block("image", "", ((0, 0, 9, 9),), 0),), warnings=("a doubt",)),
    ],
    ids=["words", "doubtful", "blank", "a figure"],
)
def test_a_page_that_the_model_ended_lacks_nothing(whole: Page) -> None:
    assert lacking(Document((whole,)), None) == []


@pytest.mark.parametrize("finish", ["length", "repetition", "abort", "error", None])
def test_a_page_that_the_model_did_not_end_is_not_whole(finish: str | None) -> None:
    document = Document((page(), page(2, finish=finish)))
    assert lacking(document, None) == [f"page 2 is not whole ({finish!r})"]


def test_a_page_that_stayed_empty_is_not_whole() -> None:
    document = Document((page(words="", warnings=("the answer was empty, at 0.2 too",)),))
    assert lacking(document, None) == ["page 1 is not whole ('stop')"]


def test_a_page_that_failed_is_among_the_failures_alone() -> None:
    failed = page(words="", finish="error", warnings=("it could not be read",))
    assert lacking(Document((failed,), failures=((0, MediaError("no")),)), None) == []


@pytest.mark.parametrize(
    ("asked", "missing"),
    [("1-2", []), ("2-", []), ("1,2", []), ("1-7", [7]), ("7-", [7]), ("2,4,9-12", [4, 12])],
)
def test_a_page_that_was_asked_for_and_is_not_there_is_named(
    asked: str, missing: list[int]
) -> None:
    document = Document((page(1), page(2)))
    assert lacking(document, ranges(asked)) == [f"there is no page {one}" for one in missing]
