"""`vllm-modalities demo`: every job on sample inputs, for eyes and for machines."""

import importlib
import json
import re
import sys
from collections.abc import Callable
from contextlib import contextmanager
from types import SimpleNamespace

import httpx
import numpy as np
import pytest
from _script import FakeVLLM, body, broken, edited, mock_transport, status
from PIL import Image
from typer.testing import CliRunner

from vllm_modalities import Client, cli
from vllm_modalities._rig import SERVERS, RigError

demo = importlib.import_module("vllm_modalities.cli.demo")  # the package has the function's name

URLS = {name: f"http://{name}" for name in demo.SERVERS}
SENTENCES = 5
RECORDINGS = json.loads((demo.ASSETS / "speech.json").read_text("utf-8"))
QUESTION = json.loads((demo.ASSETS / "questions.json").read_text("utf-8"))["rerank"]
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def all_servers() -> dict[str, FakeVLLM]:
    """One server a name of the rig, each with the task and the model that the rig's has."""
    tasks = {"embed": "embed", "rerank": "cross-encoder", "whisper-base": "speech"}
    return {
        URLS[name]: FakeVLLM(tasks.get(name, "chat"), model=SERVERS[name].served_name)
        for name in URLS
    }


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> dict[str, FakeVLLM]:
    """Servers that the command's client reaches without a socket."""
    servers = all_servers()

    def client(urls: str | list[str]) -> Client:
        return Client(
            urls,
            max_retries=0,
            http_client=httpx.Client(transport=mock_transport(servers)),
        )

    monkeypatch.setattr(demo, "Client", client)
    return servers


@pytest.fixture
def run(network: dict[str, FakeVLLM]) -> Callable[..., SimpleNamespace]:
    """Runs the command on all servers of the network, or as the arguments say."""

    def invoke(*arguments: str, **environment: str) -> SimpleNamespace:
        urls = ("--base-url", ",".join(network)) if "--base-url" not in arguments else ()
        return invoked("demo", *urls, *arguments, **environment)

    return invoke


def invoked(*arguments: str, **environment: str) -> SimpleNamespace:
    settings = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "xterm", **environment}
    result = CliRunner().invoke(cli.app, arguments, env=settings)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return SimpleNamespace(code=result.exit_code, out=result.stdout, err=result.stderr)


def test_every_job_is_done_once_and_shown(run, network) -> None:
    ran = run()
    assert (ran.code, ran.err) == (0, "")
    for name in demo.JOBS:
        assert f"client.{name}" in ran.out
    for name, server in zip(URLS, network.values(), strict=True):
        assert f"http://{name}" in ran.out
        assert server.posts
    with Image.open(demo.ASSETS / "invoice.png") as image:
        width, height = image.size
    page = f"invoice.png, {width} x {height} pixels"
    for words in (page, "ranked by cross-encoder", QUESTION["query"], "A word."):
        assert words in ran.out
    for name, clip in RECORDINGS.items():
        assert name in ran.out
        assert clip["text"] in ran.out
    assert demo.RANDOM not in ran.out
    assert "left out" not in ran.out


def test_speech_is_sent_in_the_language_it_is_spoken_in(run, network) -> None:
    run("--json")
    sent = [post.fields["language"] for post in network[URLS["whisper-base"]].posts]
    assert sent == [[clip["language"]] for clip in RECORDINGS.values()]


def test_json_is_all_that_is_printed_and_has_every_job(run) -> None:
    ran = run("--json")
    assert (ran.code, ran.err) == (0, "")
    found = json.loads(ran.out)
    assert list(found) == list(demo.JOBS)
    assert np.shape(found["embed"]["similarity"]) == (SENTENCES, SENTENCES)
    assert np.diag(found["embed"]["similarity"]) == pytest.approx(np.ones(SENTENCES), abs=1e-5)
    assert found["rerank"]["model"] == "cross-encoder"
    assert found["rerank"]["score_type"] == "cross-encoder"
    indices = [one["index"] for one in found["rerank"]["ranked"]]
    assert sorted(indices) == list(range(len(QUESTION["documents"])))
    assert found["rerank by the embedder"]["model"] == "minilm"
    assert found["transcribe"] == dict.fromkeys(RECORDINGS, "A word.")
    assert found["ocr"]["pages"][0]["markdown"] == "A word."


@pytest.mark.parametrize("as_json", [True, False])
def test_a_job_that_no_server_does_is_left_out_and_said(run, network, as_json) -> None:
    url = URLS["embed"]
    ran = run("--base-url", url, *(["--json"] if as_json else []))
    assert (ran.code, ran.err) == (0, "")
    if as_json:
        found = json.loads(ran.out)
        assert [name for name in found if "left_out" in found[name]] == ["transcribe", "ocr"]
        assert "no configured server does 'ocr'" in found["ocr"]["left_out"]
    else:
        assert ran.out.count("left out: no configured server does") == 2
    assert all(server.sent == [] for other, server in network.items() if other != url)


@pytest.mark.parametrize("as_json", [True, False])
def test_a_failure_ends_the_command_with_its_words_on_stderr(run, network, as_json) -> None:
    network[URLS["embed"]].always("/v1/embeddings", status(500, "out of [memory]"))
    ran = run(*(["--json"] if as_json else []))
    assert ran.code == 1
    assert "InternalServerError: HTTP 500: out of [memory]" in " ".join(ran.err.split())
    assert not as_json or ran.out == ""
    assert "Traceback" not in ran.err + ran.out


def test_servers_that_are_not_there_are_told(run, network) -> None:
    for server in network.values():
        server.always("*", broken("ConnectError"))
    ran = run("--json")
    assert (ran.code, ran.out) == (1, "")
    assert "APIConnectionError" in ran.err
    assert "Is the server up" in " ".join(ran.err.split())


@pytest.mark.parametrize("wrong", [["--nonsense"], ["--base-url"], ["argument"]], ids=str)
def test_wrong_use_is_status_2_and_says_what_is_wrong(wrong) -> None:
    ran = invoked("demo", *wrong)
    assert (ran.code, ran.out) == (2, "")
    assert wrong[0] in ran.err


def test_an_address_that_is_none_is_an_error_in_words(run) -> None:
    ran = run("--base-url", "ftp://server")
    assert (ran.code, ran.out) == (2, "")
    assert "InvalidRequestError" in ran.err
    assert "is not HTTP" in " ".join(ran.err.split())


def test_a_command_that_does_not_exist_is_status_2() -> None:
    assert invoked("dance").code == 2


@pytest.mark.parametrize("arguments", [[], ["--help"]], ids=str)
def test_help_names_the_commands(arguments) -> None:
    ran = invoked(*arguments)
    assert "demo" in ran.out + ran.err
    assert "Run every job once" in ran.out + ran.err


def test_the_command_s_help_shows_how_to_name_servers_of_one_s_own() -> None:
    ran = invoked("demo", "--help")
    assert ran.code == 0
    assert "vllm-modalities demo --base-url http://gpu1:8000" in " ".join(ran.out.split())


def test_a_cut_page_and_its_long_text_are_shown_in_brief(run, network) -> None:
    server = network[URLS["deepseek-ocr"]]
    server.says = "word " * 99
    server.always(
        "/v1/chat/completions",
        edited(lambda answer: answer["choices"][0].update(finish_reason="length")),
    )
    ran = run()
    assert "the page is cut" in ran.out
    assert "word…" in ran.out.replace("word …", "word…")
    assert "word " * 40 not in " ".join(ran.out.split())


def test_words_that_look_like_markup_are_shown_as_they_are(run, network) -> None:
    for name in ("whisper-base", "deepseek-ocr"):
        network[URLS[name]].says = "see [1] and [bold]x[/bold] and [/]"
    ran = run()
    assert ran.code == 0
    assert ran.out.count("see [1] and [bold]x[/bold] and [/]") >= 2


@pytest.fixture
def rig(monkeypatch: pytest.MonkeyPatch, network: dict[str, FakeVLLM]) -> list[tuple[str, ...]]:
    """In place of real servers: what was asked to run."""
    asked: list[tuple[str, ...]] = []

    @contextmanager
    def running(names, *, report):
        asked.append(tuple(names))
        report("installing vLLM [once]")
        yield {name: SimpleNamespace(spec=SERVERS[name], base_url=URLS[name]) for name in names}

    monkeypatch.setattr(demo, "running", running)
    return asked


def test_without_an_address_it_starts_servers_and_says_which_have_random_weights(rig) -> None:
    ran = invoked("demo")
    assert ran.code == 0
    assert rig == [demo.SERVERS]
    assert ran.out.count(demo.RANDOM) == 2
    for job in ("rerank", "ocr"):
        after = ran.out.split(f"client.{job}  ")[1].split("\nclient.")[0]
        assert demo.RANDOM in after
    lines = [line.split("s] ", 1)[1] for line in ran.err.splitlines()]
    assert lines == ["installing vLLM [once]", "all servers are up"]


def test_what_is_going_on_stays_out_of_the_json(rig) -> None:
    ran = invoked("demo", "--json")
    assert list(json.loads(ran.out)) == list(demo.JOBS)
    assert "all servers are up" in ran.err


def test_on_a_terminal_a_spinner_says_what_is_being_done(rig) -> None:
    ran = invoked("demo", "--json", FORCE_COLOR="1")
    said = ESCAPES.sub("", ran.err)
    assert ran.code == 0
    assert "looking for vLLM …" in said
    assert "installing vLLM" in said
    assert "all servers are up" in said
    assert list(json.loads(ran.out)) == list(demo.JOBS)


def test_a_step_in_brackets_is_shown_whole_on_a_terminal_too(rig) -> None:
    ran = invoked("demo", "--json", FORCE_COLOR="1")
    assert "installing vLLM [once]" in ESCAPES.sub("", ran.err)


def test_servers_that_cannot_be_started_end_the_command_with_the_reason(monkeypatch) -> None:
    @contextmanager
    def running(names, *, report):
        raise RigError("no space left [on device]")
        yield

    monkeypatch.setattr(demo, "running", running)
    ran = invoked("demo")
    assert (ran.code, ran.out) == (1, "")
    assert "RigError: no space left [on device]" in ran.err

    assert "demo --simulate` shows every job without vLLM" in " ".join(ran.err.split())


@pytest.mark.parametrize("as_json", [True, False])
def test_simulated_servers_do_every_job_and_say_what_they_are(as_json) -> None:
    ran = invoked("demo", "--simulate", *(["--json"] if as_json else []))
    assert ran.code == 0
    assert "simulated servers of vLLM 0." in ran.err
    if as_json:
        found = json.loads(ran.out)
        assert list(found) == list(demo.JOBS)
        assert found["rerank"]["ranked"][0]["index"] == QUESTION["best"]
        assert not any("left_out" in result for result in found.values())
        assert found["ocr"]["pages"][0]["finish_reason"] == "stop"
    else:
        assert ran.out.count(demo.SIMULATED) == len(demo.JOBS)


def test_without_the_extra_a_simulated_demo_says_which_is_missing(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm_modalities.simulator", None)
    ran = invoked("demo", "--simulate")
    assert (ran.code, ran.out) == (1, "")
    assert "ModuleNotFoundError" in ran.err


def test_answers_that_make_no_sense_are_an_error_and_no_traceback(run, network) -> None:
    network[URLS["rerank"]].always("/v1/rerank", body({"results": []}))
    ran = run("--json")
    assert (ran.code, ran.out) == (1, "")
    assert "ResponseError" in ran.err


def test_the_assets_of_the_demo_are_those_of_the_examples() -> None:
    for name in ("questions.json", "speech.json", "invoice.png", *RECORDINGS):
        assert (demo.ASSETS / name).is_file()
