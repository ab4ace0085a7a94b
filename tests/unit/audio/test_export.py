"""Transcripts as files, and in a notebook."""

import builtins
import json
import sys
from html.parser import HTMLParser
from pathlib import Path

import pysubs2
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import Segment, Transcript

HEARD = Transcript(
    "One. Two.",
    (Segment(0, 1.5, "One.", speaker="S01"), Segment(3725, 3726, "Two. Grüß dich")),
    language="en",
    warnings=("doubtful <b>",),
)


@pytest.mark.parametrize(
    ("name", "text"),
    [("a.txt", "One. Two.\n"), ("a.srt", HEARD.to_srt()), ("A.VTT", HEARD.to_vtt())],
)
def test_a_file_is_in_the_format_that_its_name_ends_in(tmp_path: Path, name, text) -> None:
    HEARD.save(tmp_path / name)
    assert (tmp_path / name).read_bytes() == text.encode()


def test_json_has_all_that_the_transcript_has(tmp_path: Path) -> None:
    HEARD.save(str(tmp_path / "a.json"))
    assert json.loads((tmp_path / "a.json").read_text("utf-8")) == HEARD.to_dict()


@pytest.mark.parametrize("ending", ["ass", "ssa", "ttml"])
def test_pysubs2_reads_back_what_it_wrote(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"a.{ending}"
    HEARD.save(path)
    assert [event.plaintext for event in pysubs2.load(str(path))] == ["One.", "Two. Grüß dich"]


@pytest.mark.parametrize("name", ["a.xyz", "a.sub", "a"])
def test_an_ending_that_nobody_knows_is_an_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="no subtitles are called"):
        HEARD.save(tmp_path / name)
    assert list(tmp_path.iterdir()) == []


def test_without_pysubs2_the_extra_is_named(tmp_path: Path, monkeypatch) -> None:
    real = builtins.__import__

    def missing(name: str, *rest: object) -> object:
        if name == "pysubs2":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.delitem(sys.modules, "pysubs2")
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(ImportError, match=r"vllm-modalities\[subtitles\]"):
        HEARD.save(tmp_path / "a.ass")


class Cells(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.words: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.tags.add(tag)

    def handle_data(self, data: str) -> None:
        self.words.append(data)


OURS = {"div", "style", "p", "ul", "li", "table", "thead", "tbody", "tr", "th", "td"}


def test_a_notebook_shows_times_speakers_words_and_warnings() -> None:
    cells = Cells()
    cells.feed(HEARD._repr_html_())
    for word in ("0:00:01.5", "1:02:05.0", "S01", "One.", "doubtful <b>"):
        assert word in cells.words


def test_words_that_are_not_timed_are_shown_as_they_are() -> None:
    page = Transcript("Fish & chips.")._repr_html_()
    assert "<p>Fish &amp; chips.</p>" in page
    assert "<table" not in page


def test_of_a_long_transcript_a_notebook_shows_the_beginning() -> None:
    long = Transcript("", tuple(Segment(i, i + 1, f"word{i}") for i in range(300)))
    shown = long._repr_html_()
    assert "word199" in shown
    assert "word200" not in shown
    assert "and 100 more" in shown


@given(text=st.text("<>&\"'/abst ", max_size=40))
def test_what_was_said_is_never_markup(text: str) -> None:
    heard = Transcript(text, (Segment(0, 1, text, speaker=text),), text, warnings=(text,))
    cells = Cells()
    cells.feed(heard._repr_html_())
    assert cells.tags <= OURS
