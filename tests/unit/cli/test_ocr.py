"""`vllm-modalities ocr`: files, folders and patterns in, Markdown, figures and HTML out."""

import json
import re

import pytest
from _script import FakeVLLM, edited, status
from PIL import Image
from typer.testing import CliRunner

from vllm_modalities import cli

SAYS = (
    "<|ref|>title<|/ref|><|det|>[[0, 0, 999, 99]]<|/det|>\n# Oaks\n\n"
    "<|ref|>image<|/ref|><|det|>[[0, 100, 999, 999]]<|/det|>\n\n"
    "<|ref|>table<|/ref|><|det|>[[0, 100, 99, 999]]<|/det|>\n"
    "<table><tr><td>Oak</td><td>400</td></tr></table>"
)


@pytest.fixture
def server(reached) -> FakeVLLM:
    return reached("ocr", FakeVLLM("chat", model="DeepSeek-OCR", says=SAYS))


@pytest.fixture
def scans(tmp_path):
    """A folder with two pages, and a file that is none."""
    folder = tmp_path / "scans"
    folder.mkdir()
    for name, colour in (("b.png", "white"), ("a.JPG", "grey")):
        Image.new("RGB", (60, 90), colour).save(folder / name)
    (folder / "notes.txt").write_text("no page", "utf-8")
    return folder


def run(*arguments: object):
    environment = {"COLUMNS": "300", "TERM": "dumb", "FORCE_COLOR": None}
    return CliRunner().invoke(cli.app, ["ocr", *map(str, arguments)], env=environment)


def test_the_markdown_of_a_page_is_printed(server, scans) -> None:
    done = run(scans / "b.png")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("# Oaks\n\n![](figures/page-1-1.png)")


@pytest.mark.parametrize("form", [[], ["--json"]], ids=["markdown", "json"])
def test_nothing_on_a_page_is_obeyed_by_the_terminal(server, scans, form) -> None:
    server.says = "# Oaks \x1b]0;mine\x07 and \x9b2J elms"
    done = run(scans / "b.png", *form)
    assert "Oaks" in done.stdout
    assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", done.stdout + done.stderr)


def test_tables_are_printed_as_they_are_asked_for(server, scans) -> None:
    assert "| Oak | 400 |" in run(scans / "b.png", "--tables", "gfm").stdout


def test_a_folder_is_its_pages_by_name(server, scans) -> None:
    found = json.loads(run(scans, "--json").stdout)
    assert [one["file"] for one in found] == [str(scans / "a.JPG"), str(scans / "b.png")]
    assert found[0]["pages"][0]["blocks"][0]["type"] == "title"
    assert len(server.posts) == 2


def test_a_pattern_is_the_files_that_fit_and_none_is_read_twice(server, scans) -> None:
    found = json.loads(run(scans / "*.png", scans / "b.png", "--json").stdout)
    assert [one["file"] for one in found] == [str(scans / "b.png")]


def test_a_file_with_the_name_of_a_pattern_is_itself(server, tmp_path) -> None:
    path = tmp_path / "a[1].png"
    Image.new("RGB", (6, 9)).save(path)
    assert json.loads(run(path, "--json").stdout)[0]["file"] == str(path)


def test_each_document_gets_a_folder(server, scans, tmp_path) -> None:
    again = tmp_path / "B.png"
    Image.new("RGB", (60, 90)).save(again)
    out = tmp_path / "read"
    done = run(scans, again, "--out", out, "--html")
    assert done.exit_code == 0, done.output
    folders = [out / "a", out / "b", out / "B-2"]
    assert done.stdout.split("\n")[:3] == [str(folder / "document.md") for folder in folders]
    for folder in folders:
        assert {path.name for path in folder.iterdir()} == {
            "document.md",
            "document.html",
            "figures",
            "layout.json",
        }
        assert (folder / "document.html").read_text("utf-8").startswith("<!doctype html>")
        assert json.loads((folder / "layout.json").read_text("utf-8"))["model"] == "DeepSeek-OCR"


def test_with_json_a_folder_is_written_in_silence(server, scans, tmp_path) -> None:
    done = run(scans / "b.png", "--out", tmp_path / "read", "--json")
    assert json.loads(done.stdout)[0]["file"] == str(scans / "b.png")
    assert (tmp_path / "read" / "b" / "document.md").exists()
    assert not (tmp_path / "read" / "b" / "document.html").exists()


def test_options_reach_the_server(server, scans, tmp_path) -> None:
    journal = tmp_path / "journal"
    done = run(scans / "b.png", "--task", "locate", "--phrase", "Total", "--journal", journal)
    assert done.exit_code == 0, done.output
    content = server.posts[0].body["messages"][0]["content"]
    assert content[1]["text"] == "Locate <|ref|>Total<|/ref|> in the image."
    assert journal.exists()


def test_one_file_that_fails_is_named_and_the_others_are_read(server, scans) -> None:
    done = run(scans / "notes.txt", scans / "b.png")
    assert done.exit_code == 1
    assert f"{scans / 'notes.txt'}: MediaError:" in done.stderr
    assert "# Oaks" in done.stdout


def test_a_page_that_fails_is_named(server, scans) -> None:
    server.always("/v1/chat/completions", status(400, "no"))
    done = run(scans / "b.png")
    assert done.exit_code == 1
    assert "b.png" in done.stderr


def test_what_is_doubtful_is_told(server, scans) -> None:
    server.always(
        "/v1/chat/completions",
        edited(lambda answer: answer["choices"][0]["message"].update(content=SAYS + "<|ref|>tab")),
    )
    assert "cut inside a label" in run(scans / "b.png").stderr


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--task", "poetry"), "the profile of"),
        (("--html",), "--html needs --out"),
        (("--pages", "x"), "pages"),
    ],
)
def test_wrong_use_ends_with_2(server, scans, arguments, words) -> None:
    done = run(scans / "b.png", *arguments)
    assert done.exit_code == 2
    assert words in done.stderr
    assert server.posts == []


def test_no_file_at_all_is_wrong_use(server, tmp_path) -> None:
    done = run(tmp_path)
    assert done.exit_code == 2
    assert "there is no PDF or image in it" in done.stderr


def test_the_pages_of_a_document_that_fail_are_named(server, tmp_path) -> None:
    pages = [Image.new("RGB", (60, 90), colour) for colour in ("white", "black")]
    pages[0].save(tmp_path / "two.tif", save_all=True, append_images=pages[1:])
    server.once("/v1/chat/completions", status(400, "no such page"))
    done = run(tmp_path / "two.tif")
    assert done.exit_code == 1
    assert re.search(
        "two.tif: page [12]: the page could not be read: HTTP 400: no such page", done.stderr
    )
    assert "# Oaks" in done.stdout
