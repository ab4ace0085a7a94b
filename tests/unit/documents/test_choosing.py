import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import InvalidRequestError
from vllm_modalities.documents.choosing import among, ranges


@pytest.mark.parametrize(
    ("pages", "count", "numbers", "missing"),
    [
        (None, 3, (1, 2, 3), ""),
        ("2", 3, (2,), ""),
        (2, 3, (2,), ""),
        ("1-3,7", 9, (1, 2, 3, 7), ""),
        (" 1 - 2 , 4 ", 9, (1, 2, 4), ""),
        ("3-", 5, (3, 4, 5), ""),
        ("7,1,1-2", 9, (1, 2, 7), ""),
        ([3, 1], 9, (1, 3), ""),
        (range(2, 5), 9, (2, 3, 4), ""),
        ("2-9", 3, (2, 3), "4-9"),
        ("2-4,8", 3, (2, 3), "4, 8"),
        ("5-", 3, (), "5"),
        ("5-7", 3, (), "5-7"),
        ("1-999999999", 2, (1, 2), "3-999999999"),
    ],
)
def test_pages_are_given_in_the_document_s_order_and_missing_ones_named(
    pages, count, numbers, missing
) -> None:
    assert among(ranges(pages), count) == (numbers, missing)


@pytest.mark.parametrize(
    "pages", ["", ",", "0", "a", "3-1", "-3", "1--2", "1.5", "1,,2", [], [0], 0, -1, "9" * 12, "١"]
)
def test_what_is_no_choice_of_pages_is_refused_with_how_it_reads(pages) -> None:
    with pytest.raises(InvalidRequestError, match='"1-3,7"') as caught:
        ranges(pages)
    assert caught.value.findings[0].field == "pages"


@given(numbers=st.sets(st.integers(1, 60), min_size=1), count=st.integers(1, 50))
def test_every_page_that_there_is_and_was_asked_for_is_given(numbers, count) -> None:
    found, missing = among(ranges(",".join(map(str, numbers))), count)
    assert found == tuple(sorted(number for number in numbers if number <= count))
    assert bool(missing) == (max(numbers) > count)
