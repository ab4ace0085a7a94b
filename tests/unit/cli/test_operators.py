"""`vllm-modalities recipe`, `check-command`, `probe`, `doctor`: what is printed, and the status."""

import importlib
import json
from pathlib import Path

import httpx
import pytest
from typer.testing import CliRunner
from unit.serving._server import Server, rows, vector

from vllm_modalities import Client, cli

URL = "http://server"


def run(*arguments: str, said: str | None = None, columns: int = 200):
    environment = {"COLUMNS": str(columns), "TERM": "dumb", "FORCE_COLOR": None}
    return CliRunner().invoke(cli.app, list(arguments), input=said, env=environment)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    """A server that both commands reach without a socket."""
    fake = Server("embed")
    http = httpx.Client(transport=httpx.MockTransport(fake))
    for name in ("probe", "doctor"):
        module = importlib.import_module(f"vllm_modalities.cli.{name}")
        monkeypatch.setattr(module, "Client", lambda urls: Client(urls, http_client=http))
    return fake


def test_a_recipe_is_a_script_on_the_output_and_its_reasons_beside_it() -> None:
    done = run("recipe", "Qwen/Qwen3-Reranker-0.6B")
    assert done.exit_code == 0, done.output
    assert done.stdout.startswith("cat > qwen3_reranker.jinja")
    assert "--chat-template qwen3_reranker.jinja" in done.stdout
    assert "[vllm-project/vllm docs/models/pooling_models/scoring.md]" in done.stderr


def test_a_recipe_is_written_to_a_folder(tmp_path: Path) -> None:
    done = run("recipe", "Qwen/Qwen3-Reranker-0.6B", "--write", str(tmp_path))
    assert {path.name for path in tmp_path.iterdir()} == {"serve.sh", "qwen3_reranker.jinja"}
    assert str(tmp_path / "serve.sh") in done.stderr.replace("\n", "")


def test_a_recipe_for_machines_has_everything() -> None:
    done = run(
        *("recipe", "openai/whisper-large-v3-turbo", "--gpu-memory-gb", "24", "--json"),
    )
    found = json.loads(done.stdout)
    assert found["argv"][-1] == "RedHatAI/whisper-large-v3-turbo-FP8-dynamic"
    assert all(note["source"] for note in found["notes"])
    assert set(found) == {"argv", "env", "files", "notes", "shell"}


@pytest.mark.parametrize(
    ("option", "value", "wanted"),
    [
        ("--matryoshka", "any", '"is_matryoshka": true'),
        ("--matryoshka", "256,512", '"matryoshka_dimensions": [256, 512]'),
        ("--long-texts", "9000", '"max_embed_len": 9000'),
    ],
)
def test_settings_are_merged_into_the_recipe(option, value, wanted) -> None:
    assert wanted in run("recipe", "BAAI/bge-m3", option, value).stdout


@pytest.mark.parametrize(
    "arguments",
    [
        ("recipe", "acme/unknown"),
        ("recipe", "BAAI/bge-m3", "--matryoshka", "wide"),
        ("recipe", "jinaai/jina-reranker-v3", "--vllm-version", "0.16.0"),
        ("check-command", "ls -l"),
    ],
)
def test_what_is_asked_wrongly_has_status_2(arguments) -> None:
    assert run(*arguments).exit_code == 2


def test_a_command_is_checked_and_put_right() -> None:
    done = run("check-command", "vllm serve BAAI/bge-m3 --task embed")
    assert done.exit_code == 1
    assert "error" in done.stdout
    assert done.stdout.endswith("Put right:\nvllm serve BAAI/bge-m3 --runner pooling\n")


def test_what_cannot_be_put_right_is_not_said_to_be() -> None:
    done = run("check-command", "vllm serve jinaai/jina-embeddings-v4")
    assert done.exit_code == 1
    assert "jina-embeddings-v4-vllm-retrieval" in done.stdout
    assert "Put right" not in done.stdout


def test_a_warning_alone_is_no_failure_and_nothing_wrong_is_said() -> None:
    assert run("check-command", "vllm serve BAAI/bge-m3 --enforce-eager").exit_code == 0
    done = run("check-command", "vllm serve BAAI/bge-m3")
    assert (done.exit_code, done.stdout) == (0, "nothing wrong\n")


def test_a_command_is_read_from_a_file_and_from_the_input(tmp_path: Path) -> None:
    file = tmp_path / "compose.yaml"
    file.write_text("services:\n  a: {image: vllm/vllm-openai, command: --model m --task embed}\n")
    by_file = json.loads(run("check-command", str(file), "--json").stdout)
    by_input = json.loads(run("check-command", "-", "--json", said=file.read_text()).stdout)
    assert by_file == by_input
    assert by_file["findings"][0]["option"] == "--task"
    assert by_file["corrected"] == "vllm serve m --runner pooling"


def test_probe_shows_live_routes_first_and_the_limits(server) -> None:
    done = run("probe", URL)
    assert done.exit_code == 0, done.output
    assert done.stdout.index("/v1/embeddings") < done.stdout.index("/v1/audio/transcriptions")
    assert "tokens of m" in done.stdout
    found = json.loads(run("probe", URL, "--json").stdout)
    assert found[0]["routes"]["/v1/embeddings"] == 405


def test_the_environment_says_which_servers_where_nobody_does(
    server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", "http://other")
    assert run("probe").stdout.startswith("http://other: vLLM 0.32.0, m\n")


@pytest.mark.parametrize("command", ["probe", "doctor"])
def test_servers_are_arguments_or_a_base_url_but_not_both(server, command) -> None:
    found = run(command, "--base-url", f"{URL}, http://other", "--json")
    assert f'"{URL}"' in found.stdout
    assert '"http://other"' in found.stdout
    done = run(command, URL, "--base-url", URL)
    assert done.exit_code == 2
    assert "not with both" in done.stderr


def test_probe_of_a_server_without_limits_shows_its_routes(server) -> None:
    server.context = None
    assert "at most" not in run("probe", URL).stdout


def test_probe_says_which_server_does_not_answer() -> None:
    done = run("probe", "http://127.0.0.1:9")
    assert (done.exit_code, done.stdout) == (1, "http://127.0.0.1:9: no answer\n")


def test_doctor_shows_its_checks_and_announces_its_load_first(server) -> None:
    done = run("doctor", URL)
    assert done.exit_code == 0, done.output
    assert "at most 29 requests, 4 at once" in done.stderr
    assert "unit length" in done.stdout
    assert "more rows of this release" in done.stdout


def test_doctor_of_a_release_with_defects_names_them(server) -> None:
    server.version, server.model = "0.23.0", "Qwen/Qwen3-Embedding-0.6B"
    done = run("doctor", URL)
    assert "wrong on this release" in done.stdout


@pytest.mark.parametrize("option", ["--json", "--markdown", None])
def test_doctor_has_status_1_where_something_is_wrong(server, option) -> None:
    server.answers["/v1/embeddings"] = lambda body: rows(body, lambda _: vector("all the same"))
    done = run("doctor", URL, *([option] if option else []))
    assert done.exit_code == 1
    assert "fault" in done.stdout
    if option == "--json":
        assert json.loads(done.stdout)["ok"] is False


def test_doctor_of_a_server_that_is_down_says_so() -> None:
    done = run("doctor", "http://127.0.0.1:9", columns=80)
    assert done.exit_code == 1
    assert "start it" in done.stdout


def test_a_wrong_key_is_an_error_in_words(server, monkeypatch: pytest.MonkeyPatch) -> None:
    refusing = httpx.MockTransport(lambda _: httpx.Response(401, json={"error": "Unauthorized"}))
    http = httpx.Client(transport=refusing)
    module = importlib.import_module("vllm_modalities.cli.doctor")
    monkeypatch.setattr(module, "Client", lambda urls: Client(urls, http_client=http))
    done = run("doctor", URL)
    assert done.exit_code == 1
    assert "AuthenticationError" in done.stderr
