"""`vllm-modalities rerank` and `score`: documents out of files, for eyes and for machines."""

import json
from pathlib import Path

import pytest
from _script import FakeVLLM, score_of
from PIL import Image
from typer.testing import CliRunner

from vllm_modalities import cli

TEXTS = ["alpha", "beta", "gamma"]


@pytest.fixture
def server(reached) -> FakeVLLM:
    fake = FakeVLLM(
        "cross-encoder",
        refuses=lambda text: "too long" if text == "bad" else None,
        score=lambda query, document: score_of(query, str(document)),
    )
    return reached("rerank", fake)


@pytest.fixture
def notes(tmp_path):
    file = tmp_path / "notes.txt"
    file.write_text("alpha\n\n  \nbeta\ngamma\n", "utf-8")
    return str(file)


def run(*arguments: str, said: str | None = None, terminal: bool = False):
    seen = {"TERM": "xterm", "FORCE_COLOR": "1"} if terminal else {"TERM": "dumb"}
    environment = {"COLUMNS": "200", "FORCE_COLOR": None, **seen}
    return CliRunner().invoke(cli.app, list(arguments), input=said, env=environment)


def test_lines_come_best_first_with_their_places(server, notes) -> None:
    done = run("rerank", "q", notes, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    expected = sorted(TEXTS, key=lambda text: -score_of("q", text))
    assert [one["document"] for one in found["documents"]] == expected
    lines = {"alpha": 1, "beta": 4, "gamma": 5}
    assert all(one["where"] == f"{notes}:{lines[one['document']]}" for one in found["documents"])
    assert (found["model"], found["score_type"]) == ("m", "cross-encoder")


def test_scores_stay_in_the_order_of_the_lines(server, notes) -> None:
    found = json.loads(run("score", "q", notes, "--json").stdout)
    assert [one["document"] for one in found["documents"]] == TEXTS


def test_options_reach_the_server(server, notes) -> None:
    options = ("--top-n", "1", "--instruction", "i", "--max-tokens-per-doc", "9", "--model", "m")
    done = run("rerank", "q", notes, *options)
    assert done.exit_code == 0
    sent = server.posts[0].body
    assert (sent["top_n"], sent["instruction"], sent["max_tokens_per_doc"]) == (1, "i", 9)
    assert done.stdout.count("notes.txt") == 1


def test_objects_images_and_standard_input_are_documents_too(server, tmp_path) -> None:
    objects, picture = tmp_path / "some.jsonl", tmp_path / "a.png"
    objects.write_text('{"body": "alpha"}\n{"body": 5}\n', "utf-8")
    Image.new("RGB", (2, 2)).save(picture)
    arguments = (str(objects), str(picture), "-", "--key", "body", "--json")
    done = run("rerank", "q", *arguments, said="from a pipe\n")
    documents = {one["document"] for one in json.loads(done.stdout)["documents"]}
    assert documents == {"alpha", "5", str(picture), "from a pipe"}
    assert any(isinstance(one, dict) for one in server.posts[0].body["documents"])


@pytest.mark.parametrize("name", ["some.jsonl", "SOME.JSONL", "some.txt"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
@pytest.mark.parametrize("end", ["\n", "\r\n", ""])
def test_a_line_ends_at_line_feeds_alone(server, tmp_path, name, encoding, end) -> None:
    texts = [f"a{mark}b" for mark in "\u2028\u2029\x85\x0b\x0c\x1c"]
    lines = texts if name.endswith("txt") else [json.dumps({"text": text}) for text in texts]
    if name == "some.jsonl":
        lines = [json.dumps({"text": text}, ensure_ascii=False) for text in texts[:3]]
    content = (end or "\n").join(lines) + end
    (tmp_path / name).write_bytes(content.encode(encoding))
    done = run("score", "q", str(tmp_path / name), "--json")
    documents = [one["document"] for one in json.loads(done.stdout)["documents"]]
    assert server.posts[0].body["documents"] == texts[: len(lines)]
    assert len(documents) == len(lines)


def test_what_stands_in_files_is_no_markup_and_is_shown_in_brief(
    server, tmp_path, monkeypatch
) -> None:
    monkeypatch.chdir(tmp_path)  # a long path would leave the text little room
    Path("odd").write_text("[red]word[/red]\n" + "x" * 300 + "\n", "utf-8")
    shown = run("score", "q", "odd", terminal=True).stdout
    assert "[red]word[/red]" in shown
    assert "x" * 100 + "…" in shown
    assert "x" * 101 not in shown


@pytest.mark.parametrize("command", ["rerank", "score"])
def test_a_document_that_fails_is_named_and_the_others_are_shown(server, tmp_path, command) -> None:
    file = tmp_path / "odd.txt"
    file.write_text("alpha\nbad\ngamma\n", "utf-8")
    done = run(command, "q", str(file), "--json")
    assert done.exit_code == 1
    assert f"{file}:2: BadRequestError: HTTP 400: too long" in done.stderr.replace("\n", "")
    assert len(json.loads(done.stdout)["documents"]) == 2


def test_warnings_are_shown(server, notes) -> None:
    done = run("rerank", "q", notes, "--max-tokens-per-doc", "3")
    assert "may be" in done.stderr


@pytest.mark.parametrize(
    ("content", "arguments", "words"),
    [
        ("\n", (), "hold no document"),
        (b"\xff\xfe", (), "cannot be read"),
        ("text", ("--top-n", "-1"), "top_n"),
    ],
)
def test_wrong_use_ends_with_2(server, tmp_path, content, arguments, words) -> None:
    file = tmp_path / "odd.txt"
    file.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = run("rerank", "q", str(file), *arguments)
    assert done.exit_code == 2
    assert words in done.stderr.replace("\n", " ")
    assert server.posts == []


def test_lines_that_are_no_objects_end_with_2(server, tmp_path) -> None:
    file = tmp_path / "odd.jsonl"
    for line in ('{"title": "a"}', "no json", "5"):
        file.write_text(line, "utf-8")
        done = run("rerank", "q", str(file))
        assert (done.exit_code, server.posts) == (2, [])


def test_a_server_that_refuses_ends_with_1(server, notes) -> None:
    server.always("/v1/rerank", lambda answer: type(answer)(401, b'{"error": "Unauthorized"}'))
    done = run("rerank", "q", notes, "--base-url", "http://server")
    assert done.exit_code == 1
    assert "AuthenticationError" in done.stderr


@pytest.mark.parametrize("command", ["rerank", "score"])
def test_help_has_an_example(command) -> None:
    assert f'vllm-modalities {command} "Why' in run(command, "--help").stdout
