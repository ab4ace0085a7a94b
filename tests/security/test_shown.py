"""What servers and models say is shown as words: no markup, no path, no terminal command."""

import ast
import json
import re
import sys
import traceback
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
from _script import FakeVLLM, body, mock_transport
from fuzz.targets import OURS
from hypothesis import example, given
from hypothesis import strategies as st
from PIL import Image
from typer.testing import CliRunner

import vllm_modalities
from vllm_modalities import (
    APIStatusError,
    Block,
    Classification,
    Client,
    Document,
    Embeddings,
    MediaError,
    Page,
    RankedDocument,
    RerankResult,
    Scores,
    Segment,
    Transcript,
    UnsupportedTaskError,
    VLLMModalitiesError,
)
from vllm_modalities._printable import printable
from vllm_modalities.cli import app, demo
from vllm_modalities.documents.grammars import grounding
from vllm_modalities.documents.preparing import Frame

CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
TERMINAL = "\x1b]0;owned\x07 \x9b31m \x08\r [bold]loud[/bold] [link=file:///etc/passwd]x[/link]"
HOSTILE = st.sampled_from(
    [
        "</pre><script>alert(1)</script>",
        "'\"><img src=x onerror=alert(1)>",
        "<!--",
        "]]>",
        "&lt;b&gt;",
        "<|ref|><b>x</b><|/ref|><|det|>[[0, 0, 999, 999]]<|/det|>",
        "javascript:alert(1)",
        TERMINAL,
    ]
) | st.text(max_size=20)
TEXTS = st.lists(HOSTILE, max_size=4).map("".join)


# A picture of the page, or a place on it.
SOURCE = re.compile(r"data:image/jpeg;base64,|#page-\d+-\d+(-\d+)?$")


class Tags(HTMLParser):
    """The tags of a page, with their attributes."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.sources: list[str] = []
        self.text = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.sources += [value or "" for name, value in attrs if name in ("src", "href")]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data: str) -> None:
        self.text += data


def document_of(text: str, *, kept: bool = True) -> Document:
    """A document every part of which a hostile model has chosen."""
    parsed = grounding.parse(text, Frame.whole(9, 9, 999))
    image = Image.new("RGB", (9, 9)) if kept else None
    block = Block(text, text, ((0.0, 0.0, 5.0, 5.0),), len(parsed.blocks))
    page = Page(
        *(1, 9, 9, parsed.markdown + text, text, (*parsed.blocks, block), text, (text,)),
        picture=image,
    )
    return Document((page,), text, (text,))


@given(text=TEXTS)
@example("</pre><script>alert(1)</script>")
def test_html_of_a_document_has_our_tags_alone(text: str) -> None:
    document = document_of(text)
    for page, scripts in ((document.to_html(), 1), (document._repr_html_(), 0)):
        found = Tags(page)
        assert set(found.tags) <= OURS
        assert found.tags.count("script") == scripts
        assert all(map(SOURCE.match, found.sources))
    assert "".join(text.split()) in "".join(found.text.split())


@given(text=TEXTS)
@example("</td><script>alert(1)</script>")
def test_html_of_a_transcript_has_our_tags_alone(text: str) -> None:
    def shown(said: str) -> Tags:
        segments = (Segment(0, 1, said, speaker=said),)
        return Tags(Transcript(said, segments, said, 1.0, said, (said,))._repr_html_())

    found = shown(text)
    assert found.tags == shown("").tags
    assert "".join(text.split()) in "".join(found.text.split())


@given(text=TEXTS)
@example("</td></style><script>alert(1)</script>")
def test_html_of_other_results_has_our_tags_alone(text: str) -> None:
    def shown(said: str) -> Tags:
        told: dict[str, Any] = {"model": said, "warnings": (said,)}
        ranked = tuple(RankedDocument(0, 0.5, one) for one in (said, {"text": said}, [said]))
        results = (
            RerankResult(ranked, **told),
            Classification((said,), np.ones((1, 1), np.float32), **told),
            Scores(np.ones((1, 1), np.float32), **told),
            Scores(np.ones(1, np.float32), **told),
            Embeddings(np.eye(2, dtype=np.float32), **told),
        )
        return Tags("".join(result._repr_html_() for result in results))

    found = shown(text)
    assert found.tags == shown("").tags
    assert "".join(text.split()) in "".join(found.text.split())


def test_every_form_of_html_is_tried_here() -> None:
    """A class that gets one gets a test beside that of Document."""
    forms = {"_repr_html_", "to_html", "_repr_markdown_", "_repr_svg_", "_repr_mimebundle_"}
    found = {
        f"{kind.name}.{method.name}"
        for path in Path(vllm_modalities.__file__).parent.rglob("*.py")
        for kind in ast.walk(ast.parse(path.read_text()))
        if isinstance(kind, ast.ClassDef)
        for method in kind.body
        if isinstance(method, ast.FunctionDef) and method.name in forms
    }
    assert found == {
        "Classification._repr_html_",
        "Document._repr_html_",
        "Document.to_html",
        "Embeddings._repr_html_",
        "RerankResult._repr_html_",
        "Scores._repr_html_",
        "Transcript._repr_html_",
    }


PATHS = st.sampled_from(
    [
        "![](../../../outside.png)",
        "![](/etc/passwd)",
        "<|ref|>image<|/ref|><|det|>[[0, 0, 999, 999]]<|/det|>",
        "<|ref|>../../image<|/ref|><|det|>[[0, 0, 999, 999]]<|/det|>",
        "![](figures/page-1-1.png)",
        "\0",
    ]
)


@given(text=st.lists(PATHS, max_size=5).map("\n".join), kept=st.booleans())
def test_a_document_is_saved_under_names_that_no_model_chooses(
    tmp_path_factory, text: str, kept: bool
) -> None:
    top = tmp_path_factory.mktemp("saved")
    document_of(text, kept=kept).save(top / "here")
    written = {str(path.relative_to(top)) for path in top.rglob("*") if path.is_file()}
    figure = re.compile(r"here/(document\.md|layout\.json|figures/page-1-\d+\.png)")
    assert all(figure.fullmatch(name) for name in written)
    assert "here/document.md" in written


@given(text=st.text(st.characters()))  # halves of surrogate pairs, too
def test_what_is_printable_moves_no_terminal_and_keeps_all_else(text: str) -> None:
    shown = printable(text)
    assert not CONTROLS.search(shown)
    shown.encode()
    spelled = r"\\u(00[01789][0-9a-f]|d[89a-f][0-9a-f]{2})"
    assert re.sub(spelled, lambda found: chr(int(found[1], 16)), shown) == text
    assert json.loads(json.dumps(text)) == json.loads(printable(json.dumps(text)))


ANSWERS = {
    "error": body({"error": {"message": TERMINAL}}, 400),
    "text": body(TERMINAL.encode(), 502),
    "error in 200": body({"error": {"message": TERMINAL}}),
    "key": body({TERMINAL: 1}),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=ANSWERS)
def test_no_error_commands_a_terminal(talk, answer) -> None:
    server = FakeVLLM()
    server.always("/v1/embeddings", answer)
    client = talk(server, max_retries=0)
    with pytest.raises(VLLMModalitiesError) as caught:
        client.embed("a")
    assert not CONTROLS.search(str(caught.value))
    assert not CONTROLS.search(getattr(caught.value, "message", ""))


@pytest.mark.parametrize("kind", [VLLMModalitiesError, MediaError, UnsupportedTaskError])
def test_no_error_of_any_origin_commands_a_terminal(kind) -> None:
    assert not CONTROLS.search("".join(traceback.format_exception(kind(TERMINAL))))
    with_id = APIStatusError(500, "no", server="s", request_id=TERMINAL)
    assert not CONTROLS.search(str(with_id))


def test_the_name_of_a_model_commands_no_terminal_either(talk) -> None:
    client = talk(FakeVLLM(model=TERMINAL))
    with pytest.raises(VLLMModalitiesError) as caught:
        client.embed("a", model="another")
    assert not CONTROLS.search(str(caught.value))
    assert "owned" in str(caught.value)
    for shown in (client.servers(), client.embed("a")):
        assert not CONTROLS.search(repr(shown))


def test_no_repr_of_a_result_commands_a_terminal() -> None:
    heard = Transcript(TERMINAL, (Segment(0, 1, TERMINAL),), TERMINAL, model=TERMINAL)
    document = document_of(TERMINAL)
    for shown in (heard, heard.segments, document, document.pages[0], document.pages[0].blocks):
        assert not CONTROLS.search(repr(shown))


@pytest.mark.parametrize("options", [[], ["--json"]])
def test_the_command_line_prints_what_is_said_as_words(monkeypatch, options: list[str]) -> None:
    network = {
        "http://embed": FakeVLLM(model=TERMINAL),
        "http://ranks": FakeVLLM("cross-encoder", model="r" + TERMINAL),
        "http://hears": FakeVLLM("speech", model="s" + TERMINAL, says=TERMINAL),
        "http://reads": FakeVLLM("chat", model="DeepSeek-OCR", says=TERMINAL),
    }

    def client(urls):
        return Client(urls, http_client=httpx.Client(transport=mock_transport(network)))

    monkeypatch.setattr(sys.modules[demo.__module__], "Client", client)
    monkeypatch.setenv("COLUMNS", "400")
    done = CliRunner().invoke(app, ["demo", "--base-url", ",".join(network), *options])
    assert done.exit_code == 0, done.output
    assert not CONTROLS.search(done.output)
    assert "[bold]loud[/bold]" in done.output
    assert "\\u001b]0;owned\\u0007" in done.output


def test_an_error_on_the_command_line_is_words_too(monkeypatch) -> None:
    server = FakeVLLM()
    server.always("*", body({"error": {"message": TERMINAL}}, 401))

    def client(urls):
        return Client(urls, http_client=httpx.Client(transport=mock_transport(server)))

    monkeypatch.setattr(sys.modules[demo.__module__], "Client", client)
    done = CliRunner().invoke(app, ["demo", "--base-url", "http://server"])
    assert done.exit_code == 1
    assert not CONTROLS.search(done.output)
    assert "[bold]loud[/bold]" in "".join(done.output.split("\n"))
