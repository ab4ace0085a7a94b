"""Results on a light and on a dark notebook in a real Chromium: every number and word is legible.

`nox -s browser -- --shots FOLDER` keeps what was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Browser, Page

from vllm_modalities import (
    Classification,
    Embeddings,
    RankedDocument,
    RerankResult,
    Scores,
    Segment,
    Transcript,
)

LEGIBLE = 4.5  # the contrast that WCAG 2 asks of text
THEMES = {"light": ("#ffffff", "#212121"), "dark": ("#111111", "#e0e0e0")}
# How JupyterLab styles what it shows, as far as tables go.
JUPYTER = """
.cell table{border-collapse:collapse;color:inherit;font-size:12px;table-layout:fixed}
.cell td,.cell th,.cell tr{text-align:right;vertical-align:middle;padding:.5em;white-space:normal}
.cell tbody tr:nth-child(odd){background:#8882}
"""
# The contrast of each cell's ink with what is behind it, painted over the page.
CONTRASTS = """paper => {
const canvas = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
const seen = colours => { for (const one of colours) {
  canvas.fillStyle = one; canvas.fillRect(0, 0, 1, 1); }
  return [...canvas.getImageData(0, 0, 1, 1).data].slice(0, 3).map(x => x / 255); };
const light = rgb => rgb.map(x => x <= 0.04045 ? x / 12.92 : ((x + 0.055) / 1.055) ** 2.4)
  .reduce((sum, x, i) => sum + x * [0.2126, 0.7152, 0.0722][i], 0);
return [...document.querySelectorAll(".vm-r td, .vm-r p, .vm-r li")].map(cell => {
  const style = getComputedStyle(cell), row = getComputedStyle(cell.parentElement);
  const behind = [paper, row.backgroundColor, style.backgroundColor];
  const a = light(seen(behind)), b = light(seen([...behind, style.color]));
  return (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05); }); }"""


def results() -> list[object]:
    vectors = np.random.default_rng(0).standard_normal((9, 4)).astype(np.float32)
    words = "Yeast eats sugar, and the gluten of the dough holds the gas in bubbles."
    scores = enumerate((0.98, 0.41, 0.02))
    ranked = tuple(RankedDocument(place, score, words) for place, score in scores)
    segments = (Segment(0, 4, "Welcome.", speaker="S01"), Segment(4, 9, words, speaker="S02"))
    return [
        Embeddings(vectors, "all-MiniLM-L6-v2", warnings=("input 3 was cut",)),
        RerankResult(ranked, "bge-reranker-v2-m3"),
        Scores(vectors @ vectors.T),
        Classification(("yes", None), np.array([[0.9, 0.1], [np.nan, np.nan]], np.float32)),
        Transcript("", segments, "en", 9.0),
    ]


@pytest.fixture(params=THEMES)
def seen(request: pytest.FixtureRequest, browser: Browser) -> Iterator[tuple[Page, str]]:
    """A notebook with a cell a result, and the colour of its paper."""
    paper, ink = THEMES[request.param]
    page = browser.new_page(viewport={"width": 900, "height": 700})
    cells = "".join(f'<div class="cell">{one._repr_html_()}</div>' for one in results())
    style = f"body{{background:{paper};color:{ink}}}{JUPYTER}"
    page.set_content(f"<!doctype html><style>{style}</style>{cells}")
    yield page, paper
    if folder := request.config.getoption("--shots"):
        Path(folder).mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(Path(folder) / f"notebook-{request.param}.png"), full_page=True)
    page.close()


def test_every_number_and_word_is_legible(seen: tuple[Page, str]) -> None:
    page, paper = seen
    contrasts = page.evaluate(CONTRASTS, paper)
    assert len(contrasts) > 150
    assert min(contrasts) >= LEGIBLE


def test_no_heading_is_broken_and_bars_are_as_long_as_they_say(seen: tuple[Page, str]) -> None:
    page, _ = seen
    heights = page.eval_on_selector_all(".vm-r thead th", "all => all.map(e => e.clientHeight)")
    assert max(heights) <= 30
    widths = page.eval_on_selector_all(".vm-r .bar i", "all => all.map(e => e.clientWidth)")
    assert widths[0] > widths[1] > widths[2] >= 0


def test_a_heat_map_has_no_colour_but_that_of_its_numbers(seen: tuple[Page, str]) -> None:
    """A notebook's own stripes would be taken for numbers."""
    page, _ = seen
    colours = "all => all.map(e => getComputedStyle(e).backgroundColor)"
    assert set(page.eval_on_selector_all(".vm-r .heat tr", colours)) == {"rgba(0, 0, 0, 0)"}
