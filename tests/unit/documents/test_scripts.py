import pytest

from vllm_modalities.documents.scripts import script_of, strangers

LATIN = "A page of plain English words, long enough to be sure of its letters. "
RUSSIAN = "Съешь же ещё этих мягких французских булок, да выпей чаю, как на картинке. "
JAPANESE = (
    "これは日本語のページです。漢字とひらがなとカタカナが混ざっています。長い文章なのです。何度も読む。"
    * 2
)


@pytest.mark.parametrize(
    ("text", "script"),
    [
        (LATIN, "LATIN"),
        (RUSSIAN, "CYRILLIC"),
        (JAPANESE, "CJK"),
        ("短い", None),
        ("12 + 34 = 46 " * 50, None),
        (LATIN[:60] + RUSSIAN[:60], None),
        (LATIN * 10 + RUSSIAN, "LATIN"),
        ("ｆｕｌｌ　ｗｉｄｔｈ" * 9, "LATIN"),
    ],
)
def test_the_script_is_that_of_most_letters(text: str, script: str | None) -> None:
    assert script_of(text) == script


@pytest.mark.parametrize(
    ("texts", "places"),
    [
        ([LATIN] * 5 + [RUSSIAN], [5]),
        ([LATIN, JAPANESE, LATIN, LATIN, LATIN, ""], [1]),
        ([LATIN] * 3 + [RUSSIAN] * 3, []),
        ([LATIN, RUSSIAN], []),
        ([LATIN] * 9 + ["", "12 34"], []),
        ([], []),
    ],
)
def test_a_page_stands_out_where_nearly_all_others_agree(texts: list[str], places) -> None:
    assert list(strangers(texts)) == places


def test_the_scripts_are_named() -> None:
    (said,) = strangers([LATIN] * 5 + [JAPANESE]).values()
    assert said.startswith(
        "the words are Chinese or Japanese, where those of other pages are Latin"
    )
