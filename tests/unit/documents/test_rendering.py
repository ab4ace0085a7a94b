"""Markdown as HTML: the little that models write, and nothing else becomes a tag."""

from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities.documents.rendering import inline, rendered

RENDERED = {
    "words": ("One.\nTwo.", "<p>One.<br>Two.</p>"),
    "paragraphs": ("One.\n\nTwo.", "<p>One.</p><p>Two.</p>"),
    "headings": ("# A\n## B", "<h1>A</h1><h2>B</h2>"),
    "seven marks are words": ("####### A", "<p>####### A</p>"),
    "a heading ends a paragraph": ("One.\n# A", "<p>One.</p><h1>A</h1>"),
    "a list": ("- a\n* b\n+ c", "<ul><li>a</li><li>b</li><li>c</li></ul>"),
    "a numbered list": ("3. a\n4) b", '<ol start="3"><li>a</li><li>b</li></ol>'),
    "a rule": ("a\n\n---\n\nb", "<p>a</p><hr><p>b</p>"),
    "code": ("```python\na < b\n```\nc", "<pre><code>a &lt; b</code></pre><p>c</p>"),
    "code that never ends": ("```\na", "<pre><code>a</code></pre>"),
    "emphasis": ("**a** and *b*", "<p><strong>a</strong> and <em>b</em></p>"),
    "stars alone": ("2 * 3 * 4 ** 5", "<p>2 * 3 * 4 ** 5</p>"),
    "code in a line": ("`a<b`", "<p><code>a&lt;b</code></p>"),
    "math": ("$x$ $$y$$", "<p><code class='math'>x</code> <code class='math'>y</code></p>"),
    "money": ("$5 and $6", "<p>$5 and $6</p>"),
    "breaks": ("a<br>b<br/>c", "<p>a<br>b<br>c</p>"),
    "tags that stay": ("H<sub>2</sub>O <b>a</b>", "<p>H<sub>2</sub>O <b>a</b></p>"),
    "a tag that is never closed": ("<b>a", "<p>&lt;b&gt;a</p>"),
    "an end alone": ("a</b>", "<p>a&lt;/b&gt;</p>"),
    "tags across": ("<b>a<i>b</b>c</i>", "<p><b>a&lt;i&gt;b</b>c&lt;/i&gt;</p>"),
    "a link is words": ("[a](http://b)", "<p>[a](http://b)</p>"),
    "a figure": ("One.\n\n![](ours)\n\nTwo.", "<p>One.</p><figure-of-ours><p>Two.</p>"),
    "a figure within words": ("a ![](ours) b", "<p>a</p><figure-of-ours><p>b</p>"),
    "a figure that is not ours": ("![a tree](theirs)", "<p>a tree</p>"),
    "a table": (
        "a\n\n<table><tr><th colspan=2>A</th></tr><tr><td rowspan=2>1 &lt; 2</table>\n\nb",
        '<p>a</p><table><tr><th colspan="2">A</th></tr>'
        '<tr><td rowspan="2">1 &lt; 2</td></tr></table><p>b</p>',
    ),
    "pipes": ("| A |\n|---|\n| 1 |", "<table><tr><th>A</th></tr><tr><td>1</td></tr></table>"),
    "nothing": ("", ""),
}


def figure(target: str) -> str:
    return "<figure-of-ours>" if target == "ours" else ""


@pytest.mark.parametrize(("markdown", "html"), RENDERED.values(), ids=RENDERED)
def test_markdown_is_rendered(markdown: str, html: str) -> None:
    assert rendered(markdown, figure) == html


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: list[tuple[str, list[tuple[str, str | None]]]] = []

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.seen.append((tag, attributes))


PIECES = st.sampled_from(
    "<script> <img/onerror=x> <b> </b> <sub> ** * ` $ $$ # - 1. | |-| <table> <td> <td onload=x> "
    "</table> ![a](b) &lt;script&gt; \" ' <br> ``` \n a".split(" ")
)
OURS = set(
    "h1 h2 h3 h4 h5 h6 p br ul ol li hr pre code strong em b i sub sup u table tr td th".split()
)


@given(st.lists(PIECES, max_size=30).map("".join) | st.text(max_size=60))
def test_no_tag_or_attribute_is_a_model_s(markdown: str) -> None:
    tags = Tags()
    tags.feed(rendered(markdown, figure))
    for tag, attributes in tags.seen:
        assert tag in OURS
        for name, value in attributes:
            assert name in {"class", "start", "rowspan", "colspan"}
            assert re.fullmatch(r"math|\d+", value or "")


def test_emphasis_costs_no_square() -> None:
    for mark in ("**a", "*a ", "`", "$a", "$$", "<b>", "<b>a</b>"):
        assert len(inline(mark * 20_000)) >= 20_000
