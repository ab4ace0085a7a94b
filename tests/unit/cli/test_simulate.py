"""`vllm-modalities simulate`: what it serves, what it says, and how it ends."""

import importlib
import json
import os
import signal
import socket
import subprocess
import sys
from types import SimpleNamespace

import httpx
import pytest
from typer.testing import CliRunner

from vllm_modalities import Client, cli, simulator
from vllm_modalities.simulator import releases

command = importlib.import_module("vllm_modalities.cli.simulate")  # not the function of that name
NEWEST = releases("embed", "rerank")[-1]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch):
    """Runs the command until it would wait, calls what is given with its addresses, and ends it."""

    def invoke(*arguments: str, use=lambda urls: None):
        def sleep(_: float) -> None:
            use(told[-1])
            signal.raise_signal(signal.SIGINT)

        told: list[dict[str, str]] = []
        tell = command._tell
        monkeypatch.setattr(command, "time", SimpleNamespace(sleep=sleep))
        monkeypatch.setattr(
            command, "_tell", lambda v, urls, **how: (told.append(urls), tell(v, urls, **how))
        )
        settings = {"COLUMNS": "200", "NO_COLOR": "1", "TERM": "dumb"}
        return CliRunner().invoke(cli.app, ["simulate", *arguments], env=settings)

    return invoke


def test_each_task_is_served_at_the_address_that_is_told(run) -> None:
    answers = {}

    def use(urls):
        for task, url in urls.items():
            answers[task] = httpx.get(f"{url}/v1/models", trust_env=False).json()["data"][0]["id"]

    ran = run("--port", "0", "--task", "embed", "--task", "rerank", "--model", "mine", use=use)
    assert ran.exit_code == 0, ran.output
    assert answers == {"embed": "mine", "rerank": "cross-encoder"}
    assert [line.split(": http")[0] for line in ran.stdout.splitlines()] == [
        f"vLLM {NEWEST}, simulated, embed",
        f"vLLM {NEWEST}, simulated, rerank",
    ]


def test_json_is_all_that_is_printed(run) -> None:
    ran = run("--port", "0", "--json", "--version", NEWEST)
    found = json.loads(ran.stdout)
    assert (found["version"], list(found["urls"])) == (NEWEST, ["embed"])


def test_a_model_is_as_the_options_say(run) -> None:
    found = []

    def use(urls):
        with Client(urls["embed"], api_key="k", max_retries=0) as client:
            found.append(client.embed("a", dimensions=3).vectors.shape)
            found.append(client.servers()[0].models[0].max_model_len)

    options = ("--width", "6", "--matryoshka", "--max-model-len", "9", "--api-key", "k")
    ran = run("--port", "0", *options, use=use)
    assert (ran.exit_code, found) == (0, [(1, 3), 9]), ran.output


def test_faults_are_those_that_are_asked_for(run) -> None:
    statuses = []

    def use(urls):
        body = {"input": "a", "encoding_format": "base64", "endianness": "little"}
        for _ in range(2):
            found = httpx.post(f"{urls['embed']}/v1/embeddings", json=body, trust_env=False)
            statuses.append(found.status_code)

    run("--port", "0", "--fail", "503 times=1", use=use)
    assert statuses == [503, 200]


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        (["--version", "0.1.0"], "'embed' was not recorded on 0.1.0"),
        (["--task", "dance"], "'dance' was not recorded"),
        (["--fail", "explode"], "no fault 'explode'"),
        (["--nonsense"], "No such option"),
    ],
    ids=str,
)
def test_wrong_use_is_status_2_and_says_what_is_wrong(run, wrong, says) -> None:
    ran = run("--port", "0", *wrong)
    assert ran.exit_code == 2
    assert says in " ".join(ran.stderr.split())


def test_a_port_that_is_taken_is_status_1(run) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        ran = run("--port", str(taken.getsockname()[1]))
    assert ran.exit_code == 1
    assert "OSError" in ran.stderr


@pytest.mark.parametrize("missing", ["starlette", "uvicorn"])
def test_a_missing_extra_is_named(run, monkeypatch, missing) -> None:
    for name in ("_app", "_running", "_simulate"):
        monkeypatch.delitem(sys.modules, f"{simulator.__name__}.{name}")
        monkeypatch.delattr(simulator, name)
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        monkeypatch.setitem(sys.modules, name, None)
    ran = run("--port", "0")
    assert ran.exit_code == 1
    assert (
        f"simulated servers need {missing}: pip install 'vllm-modalities[simulator]'" in ran.stderr
    )


def test_another_package_that_is_missing_is_not_ours_to_explain(monkeypatch) -> None:
    monkeypatch.delattr(simulator, "_simulate")
    monkeypatch.setitem(sys.modules, "vllm_modalities.simulator._simulate", None)
    with pytest.raises(ModuleNotFoundError, match=r"vllm_modalities\.simulator\._simulate"):
        _ = simulator.simulate


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_process_serves_until_it_is_interrupted(number) -> None:
    arguments = [sys.executable, "-m", "vllm_modalities", "simulate", "--port", "0", "--json"]
    environment = {**os.environ, "PYTHONPATH": ":".join(filter(None, sys.path))}
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, text=True, env=environment) as process:
        assert process.stdout is not None
        url = json.loads(process.stdout.readline())["urls"]["embed"]
        assert httpx.get(f"{url}/version", trust_env=False).json() == {"version": NEWEST}
        process.send_signal(number)
        try:
            assert process.wait(20) == 0
        finally:
            process.kill()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_ends_it_well_as_soon_as_an_address_is_told(run, number) -> None:
    before = signal.getsignal(number)
    ran = run("--port", "0", use=lambda _: signal.raise_signal(number))
    assert (ran.exit_code, ran.stderr) == (0, "")
    assert signal.getsignal(number) is before


def test_a_signal_ends_it_well_before_the_first_wait(run, monkeypatch) -> None:
    monkeypatch.setattr(command, "_tell", lambda *_, **__: signal.raise_signal(signal.SIGTERM))
    ran = run("--port", "0")
    assert (ran.exit_code, ran.output) == (0, "")


def test_it_waits_until_it_is_interrupted(monkeypatch) -> None:
    waits: list[float] = []

    def sleep(seconds: float) -> None:
        waits.append(seconds)
        if len(waits) == 3:
            raise KeyboardInterrupt

    monkeypatch.setattr(command, "time", SimpleNamespace(sleep=sleep))
    with pytest.raises(KeyboardInterrupt):
        command._wait()
    assert len(waits) == 3
