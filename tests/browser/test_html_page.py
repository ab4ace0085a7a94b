"""The page of a document in a real Chromium: links both ways, offline, and nothing in it runs.

`nox -s browser` runs these; `-- --shots FOLDER` keeps what was seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PIL import Image, ImageDraw, ImageFont
from playwright.sync_api import Browser, Page

from vllm_modalities.documents import blocks
from vllm_modalities.documents.grammars import GRAMMARS
from vllm_modalities.documents.preparing import Frame

HOSTILE = (
    "<script>window.ran=1</script><img src=x onerror=window.ran=1> ![a](http://192.0.2.1/a.png) "
    "[b](javascript:window.ran=1) <svg onload=window.ran=1> </div></section> \"'><b>"
)
TABLE = "<table><tr><th colspan=2>Trees</th></tr><tr><td>Oak</td><td>400</td></tr></table>"
BLOCKS = (
    ("title", "[[80, 40, 910, 92]]", "# Growth of *oaks*"),
    ("text", "[[80, 120, 480, 300], [520, 120, 910, 300]]", "By $x^2$ a year.\n\n- old\n- young"),
    ("table", "[[80, 340, 480, 520]]", TABLE),
    ("image", "[[520, 340, 910, 700]]", ""),
    ("text", "[[80, 560, 480, 900]]", HOSTILE),
    ("<img src=x onerror=window.ran=1>", "[[80, 910, 480, 990]]", "Words outside."),
)
SAID = "\n\n".join(
    f"<|ref|>{label}<|/ref|><|det|>{box}<|/det|>\n{words}" for label, box, words in BLOCKS
)


def document() -> blocks.Document:
    width, height = 700, 990
    image = Image.new("RGB", (width, height), "white")
    draw, font = ImageDraw.Draw(image), ImageFont.load_default(18)
    draw.text((60, 50), "Growth of oaks", fill="black", font=ImageFont.load_default(30))
    for column in (60, 370):
        for line in range(8):
            draw.text((column, 125 + 20 * line), "It grows slowly, and long.", "black", font)
    draw.rectangle((60, 340, 330, 510), outline="black", width=2)
    draw.ellipse((380, 360, 620, 680), fill="#2a7a3a")
    parsed = GRAMMARS["grounding"](SAID, Frame.whole(width, height, 999))
    first = blocks.Page(
        number=1,
        width=width,
        height=height,
        markdown=parsed.markdown,
        text=parsed.text,
        blocks=parsed.blocks,
        warnings=("a <b>doubt</b>",),
        picture=image,
    )
    plain = blocks.Page(2, width, height, f"# Two\n\n{HOSTILE}", "Two", picture=image)
    return blocks.Document((first, plain), "DeepSeek-OCR")


@pytest.fixture
def seen(request: pytest.FixtureRequest, browser: Browser, tmp_path: Path) -> Iterator[Page]:
    """The page, opened from a file, light or dark; whatever it asks of a network fails the test."""
    asked: list[str] = []
    scheme = getattr(request, "param", "light")
    context = browser.new_context(
        color_scheme=scheme, offline=True, viewport={"width": 1300, "height": 900}
    )
    page = context.new_page()
    page.on("request", lambda one: asked.append(one.url))
    page.on("pageerror", lambda error: asked.append(str(error)))
    file = tmp_path / "document.html"
    file.write_text(document().to_html(), "utf-8")
    page.goto(file.as_uri())
    yield page
    context.close()
    assert [url for url in asked if not url.startswith(("data:", file.as_uri()))] == []


def test_what_the_mouse_is_on_shows_on_both_sides(seen: Page) -> None:
    rectangles = seen.locator("svg rect")
    assert rectangles.count() == 7
    seen.mouse.move(0, 0)
    rectangles.nth(0).hover()
    assert seen.locator(".on").count() == 2
    assert "Growth" in seen.locator(".block.on").inner_text()
    seen.locator(".block").nth(1).hover()
    assert seen.locator("svg rect.on").count() == 2
    assert seen.locator(".block.on").count() == 1


def test_a_click_brings_the_other_side_into_view(seen: Page) -> None:
    seen.set_viewport_size({"width": 1300, "height": 300})
    last = seen.locator(".block").nth(5)
    assert not seen.evaluate(
        "e => e.getBoundingClientRect().top < innerHeight", last.element_handle()
    )
    seen.locator("svg rect").nth(6).dispatch_event("click")
    assert seen.evaluate("e => e.getBoundingClientRect().top < innerHeight", last.element_handle())


def test_a_link_leads_to_the_words_and_back_without_a_mouse(seen: Page) -> None:
    seen.locator("svg a").first.focus()
    seen.keyboard.press("Enter")
    seen.locator(".block > a").first.focus()
    assert seen.evaluate("document.activeElement.getAttribute('href')") == "#page-1-0-0"


def test_the_markdown_is_rendered_and_the_figure_cut_out(seen: Page) -> None:
    assert seen.locator(".block h1").inner_text() == "Growth of oaks"
    assert seen.locator(".block li").all_inner_texts() == ["old", "young"]
    assert seen.locator(".block th").get_attribute("colspan") == "2"
    assert seen.locator(".block .math").inner_text() == "x^2"
    width, height = seen.locator(".block img").evaluate("e => [e.naturalWidth, e.naturalHeight]")
    assert abs(width - 273) <= 2
    assert abs(height - 357) <= 2
    assert seen.locator(".page").nth(1).locator(".words h1").inner_text() == "Two"


def test_nothing_that_a_model_wrote_runs_loads_or_breaks_out(seen: Page) -> None:
    assert seen.evaluate("window.ran") is None
    assert seen.locator("img").count() == 1
    assert seen.locator("script").count() == 1
    assert seen.locator(".page").count() == 2
    assert "Words outside." in seen.locator("details[open] pre").inner_text()
    assert "<script>window.ran=1</script>" in seen.locator(".block").nth(4).inner_text()
    ran = seen.evaluate(
        "() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1';"
        " document.body.append(s); return window.ran }"
    )
    assert ran is None


@pytest.mark.parametrize("seen", ["light", "dark"], indirect=True)
def test_words_stand_out_from_the_paper(
    seen: Page, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    colours = "e => [getComputedStyle(e).color, getComputedStyle(e.closest('.vm')).backgroundColor]"
    ink, paper = seen.locator(".block > div").first.evaluate(colours)

    def light(colour: str) -> float:
        return sum(float(one) for one in colour.strip("rgba()").split(",")[:3]) / 3

    assert abs(light(ink) - light(paper)) > 150
    seen.locator("svg rect").nth(3).hover()
    folder = Path(request.config.getoption("--shots") or tmp_path)
    folder.mkdir(exist_ok=True)
    scheme = request.node.callspec.params["seen"]
    seen.screenshot(path=folder / f"document-{scheme}.png", full_page=True)
