"""Commands checked: what a release does not have, what harms, and the command put right."""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import InvalidRequestError, ServerVersion
from vllm_modalities.serving import check_command, correct_command
from vllm_modalities.serving._options import NAMES, RELEASES, choices, listed, names, takes
from vllm_modalities.serving._recipe import ROWS
from vllm_modalities.serving._rules import RULES

FLAGS = json.loads((Path(__file__).parent / "serve_flags.json").read_text())
PUBLIC = json.loads((Path(__file__).parent / "public_commands.json").read_text())
OPTIONS: dict[str, Any] = FLAGS["options"]
RUNNER = "VLLM_USE_V2_MODEL_RUNNER"
PROCESSOR = "vllm.model_executor.models.deepseek_ocr:NGramPerReqLogitsProcessor"


def has(option: str, release: str) -> bool:
    """Whether the parser of a release lists an option."""
    order = FLAGS["releases"]
    found = OPTIONS[option]
    return order.index(found["first"]) <= order.index(release) <= order.index(found["last"])


def codes(command: str, release: str = "0.32.0") -> list[str]:
    return [finding.code for finding in check_command(command, vllm_version=release)]


def abbreviates(option: str, release: str) -> bool:
    """Whether argparse takes it as the beginning of another name."""
    return any(name.startswith(option) for name in OPTIONS if has(name, release))


@given(st.sampled_from(sorted(OPTIONS)), st.sampled_from(RELEASES))
def test_an_option_is_found_exactly_where_the_parser_has_none(option: str, release: str) -> None:
    words = {0: "", 1: " 1"}.get(takes(option), " 1")
    found = check_command(f"vllm serve acme/model {option}{words}", vllm_version=release)
    unknown = [finding.field for finding in found if finding.code == "option-unknown"]
    assert unknown == ([] if abbreviates(option, release) else [option])


@pytest.mark.parametrize("release", RELEASES)
def test_every_option_that_came_or_went_is_found_on_each_release_that_has_it_not(release) -> None:
    gone = [name for name in OPTIONS if not has(name, release) and not abbreviates(name, release)]
    line = " ".join(f"{name}=1" for name in gone)
    found = check_command(f"vllm serve acme/model {line}", vllm_version=release)
    assert [finding.field for finding in found if finding.code == "option-unknown"] == gone


def test_the_table_is_that_of_the_parsers() -> None:
    assert list(RELEASES) == FLAGS["releases"]
    assert all(names(release) == {n for n in OPTIONS if has(n, release)} for release in RELEASES)
    wanted = {name: found.get("choices") for name, found in OPTIONS.items() if "choices" in found}
    assert all(choices(name, RELEASES[0]) == by.get(RELEASES[0]) for name, by in wanted.items())


@pytest.mark.parametrize("entry", PUBLIC, ids=lambda entry: entry["command"][:60])
def test_commands_of_public_recipes_raise_no_false_alarm(entry) -> None:
    found = codes(entry["command"], entry.get("release", "0.32.0"))
    assert found == entry.get("codes", [])


def test_there_are_thirty_of_them_with_their_sources() -> None:
    assert len(PUBLIC) >= 30
    assert all(entry["source"] for entry in PUBLIC)


@pytest.mark.parametrize(
    ("release", "stands_for"),
    [
        ("0.32.0", "0.32.0"),
        ("0.20.0", "0.20.2"),
        ("0.28.1", "0.28.0"),
        ("0.17.0", "0.16.0"),
        ("0.9.0", "0.16.0"),
        ("0.40.0", "0.32.0"),
    ],
)
def test_a_release_that_was_not_read_is_taken_for_the_nearest(release, stands_for) -> None:
    assert listed(release) == stands_for


def test_what_a_newer_release_may_have_is_doubtful_and_not_wrong() -> None:
    (found,) = check_command("vllm serve m --brand-new 1", vllm_version="0.40.0")
    assert found.severity == "warning"
    (sure,) = check_command("vllm serve m --brand-new 1", vllm_version="0.32.0")
    assert sure.severity == "error"


@pytest.mark.parametrize(
    ("command", "wanted"),
    [
        ("vllm serve BAAI/bge-m3 --task embed", "vllm serve BAAI/bge-m3 --runner pooling"),
        ("vllm serve m --task=generate", "vllm serve m"),
        ("vllm serve m --enable-scoring-api", "vllm serve m"),
        ("vllm serve --enable-scoring-api BAAI/bge-m3", "vllm serve BAAI/bge-m3"),
        ("vllm serve m --swap-space 4 --port 1", "vllm serve m --port 1"),
        ("vllm serve m --max-modle-len 9", "vllm serve m --max-model-len 9"),
        (
            'vllm serve m --override-pooler-config \'{"pooling_type": "CLS"}\'',
            'vllm serve m --pooler-config \'{"pooling_type": "CLS"}\'',
        ),
        (
            "vllm serve m --guided-decoding-backend auto",
            "vllm serve m --structured-outputs-config.backend auto",
        ),
        ("vllm serve m --enable-prefix-caching False", "vllm serve m --enable-prefix-caching"),
    ],
)
def test_what_is_gone_is_put_right(command: str, wanted: str) -> None:
    (found, *_) = check_command(command)
    assert found.severity == "error"
    assert correct_command(command) == wanted
    assert check_command(wanted) == []


def test_a_finding_says_since_when_an_option_is_gone_or_there() -> None:
    (gone,) = check_command("vllm serve m --swap-space 4")
    assert "gone by 0.18.1" in gone.message
    (early,) = check_command("vllm serve m --log-level info", vllm_version="0.30.0")
    assert "came by 0.31.0" in early.message


POOLER = "vllm serve m --runner pooling --pooler-config"
RERANKER = "vllm serve Qwen/Qwen3-Reranker-0.6B --runner pooling --chat-template t.jinja"
OVERRIDES = (
    '{"architectures": ["Qwen3ForSequenceClassification"], "classifier_from_token": ["no", "yes"],'
    ' "is_original_qwen3_reranker": true}'
)
OCR = (
    f"vllm serve deepseek-ai/DeepSeek-OCR --logits-processors {PROCESSOR}"
    " --no-enable-prefix-caching --mm-processor-cache-gb 0"
)
HARMFUL: list[tuple[str, str, str]] = [
    ("pooler-logits-renamed", f'{POOLER} \'{{"logit_bias": 2.65, "logit_scale": 2}}\'', "0.32.0"),
    ("pooler-logits-renamed", f"{POOLER} '{{\"logit_bias\": 2.65}}'", "0.22.0"),
    ("pooler-logits-renamed", f"{POOLER}.logit_scale 2", "0.32.0"),
    ("pooler-task-score", f"{POOLER}.task score", "0.19.0"),
    ("pooler-task-encode", f"{POOLER}.task encode", "0.32.0"),
    ("pooler-task-unknown", f"{POOLER}.task reward", "0.32.0"),
    ("pooler-type-unknown", f"{POOLER}.pooling_type mean", "0.32.0"),
    ("pooler-normalize", f'{POOLER} \'{{"normalize": true, "dimensions": 9}}\'', "0.32.0"),
    ("pooler-key-unknown", f'{POOLER} \'{{"task": "embed"}}\'', "0.18.0"),
    ("pooler-key-unknown", f"{POOLER} '{{\"enable_flash_late_interaction\": true}}'", "0.31.0"),
    ("pooler-key-unknown", f"{POOLER} '{{\"nonsense\": 1}}'", "0.32.0"),
    ("eager-pooling", "vllm serve BAAI/bge-m3 --enforce-eager", "0.25.0"),
    ("eager-pooling", "vllm serve Qwen/Qwen3-Embedding-0.6B --enforce-eager", "0.26.0"),
    ("flash-late-interaction", "vllm serve m --no-enable-flash-late-interaction", "0.20.0"),
    (
        "flash-late-interaction",
        f"{POOLER} '{{\"enable_flash_late_interaction\": false}}'",
        "0.32.0",
    ),
    ("async-pooling", "vllm serve BAAI/bge-m3 --async-scheduling", "0.20.0"),
    ("generate-pooling", "vllm serve BAAI/bge-m3 --runner generate", "0.32.0"),
    ("generate-pooling", "vllm serve m --runner generate --convert embed", "0.32.0"),
    (
        "matryoshka-untrained",
        "vllm serve BAAI/bge-m3 --hf-overrides.is_matryoshka true",
        "0.32.0",
    ),
    (
        "audio-backend",
        'vllm serve openai/whisper-base --media-io-kwargs \'{"audio": {"audio_backend": "pyav"}}\'',
        "0.32.0",
    ),
    ("v2-runner-processors", f"{RUNNER}=1 {OCR}", "0.30.0"),
    ("v2-runner-ngrams", OCR, "0.31.0"),
    ("v2-runner-ngrams", f"{RUNNER}=1 {OCR}", "0.32.0"),
    ("v2-runner-pooling", f"{RUNNER}=1 vllm serve BAAI/bge-m3", "0.28.0"),
    ("v1-runner-pooling", f"{RUNNER}=0 vllm serve BAAI/bge-m3", "0.29.0"),
    ("v2-runner-plugin", f"{POOLER}.task plugin", "0.29.0"),
    ("missing", f"{RERANKER} --hf-overrides.is_original_qwen3_reranker true", "0.32.0"),
    (
        "missing",
        f"vllm serve Qwen/Qwen3-Reranker-0.6B --runner pooling --hf-overrides '{OVERRIDES}'",
        "0.32.0",
    ),
    ("missing", "vllm serve jinaai/jina-embeddings-v3 --runner pooling", "0.32.0"),
    ("missing", "vllm serve ssmits/Qwen2-7B-Instruct-embed-base --runner pooling", "0.32.0"),
    ("missing", f"{OCR.replace('--no-enable', '--enable')}", "0.30.0"),
    ("missing", f"{OCR.replace('cache-gb 0', 'cache-gb 4')}", "0.30.0"),
    ("value-refused", "vllm serve m --runner reward", "0.32.0"),
    ("not-json", "vllm serve m --hf-overrides is_matryoshka", "0.32.0"),
    ("stray-word", "vllm serve m other", "0.32.0"),
]
LEFT = {"pooler-type-unknown", "value-refused", "not-json", "matryoshka-untrained", "audio-backend"}
"""What only the operator can put right."""


@pytest.mark.parametrize(("code", "command", "release"), HARMFUL)
def test_what_harms_is_found_and_put_right(code: str, command: str, release: str) -> None:
    assert codes(command, release) == [code]
    corrected = correct_command(command, vllm_version=release)
    assert codes(corrected, release) == ([code] if code in LEFT else [])
    assert correct_command(corrected, vllm_version=release) == corrected


@pytest.mark.parametrize("row", [row for row in ROWS if row.instead], ids=lambda row: row.name)
def test_a_model_that_no_release_serves_is_an_error_that_names_another(row) -> None:
    (found,) = check_command(f"vllm serve {row.example} --runner pooling")
    assert (found.code, found.severity, found.field) == ("model-unserved", "error", "model")
    assert row.example in found.message
    assert row.instead in found.message


@pytest.mark.parametrize("row", [row for row in ROWS if row.since], ids=lambda row: row.name)
def test_a_model_is_too_new_for_exactly_the_releases_before_its_first(row) -> None:
    for release in RELEASES:
        found = codes(f"vllm serve {row.example}", release)
        assert ("model-too-new" in found) == (ServerVersion(release) < row.since)


def test_every_rule_has_a_command_that_it_is_about() -> None:
    assert {rule.code for rule in RULES} <= {code for code, _, _ in HARMFUL}


@pytest.mark.parametrize(
    ("command", "release"),
    [
        ("vllm serve Qwen/Qwen3-Embedding-0.6B --enforce-eager", "0.25.0"),
        ("vllm serve Qwen/Qwen3-Reranker-0.6B-seq-cls --enforce-eager --chat-template t", "0.25.0"),
        ("vllm serve openai/whisper-large-v3 --enforce-eager --async-scheduling", "0.32.0"),
        ("vllm serve BAAI/bge-m3 --async-scheduling", "0.19.0"),
        ("vllm serve BAAI/bge-m3 --async-scheduling --no-async-scheduling", "0.32.0"),
        (f"{POOLER}.logit_mean 2", "0.20.0"),
        (f"{POOLER} '{{\"logit_bias\": 2}}'", "0.19.0"),
        (f"{RUNNER}=0 {POOLER}.task plugin", "0.32.0"),
        (f"{RUNNER}=0 {OCR}", "0.32.0"),
        (OCR, "0.30.0"),
        (f"{OCR}.0".replace("cache-gb 0.0", "cache-gb 0.0"), "0.30.0"),
        (f"{RERANKER} --hf-overrides '{OVERRIDES}'", "0.32.0"),
        (f"{RERANKER} --hf-overrides $OVERRIDES", "0.32.0"),
        ("vllm serve m --runner $RUNNER $ARGS --max-model 9 -tp 2 -O3 --seed -1", "0.32.0"),
        ("vllm serve m --pooler-config $CONFIG", "0.32.0"),
        ("vllm serve --model m --port 1", "0.32.0"),
        ("vllm serve --config serve.yaml", "0.32.0"),
        ("vllm serve m --api-key '' --port 1", "0.32.0"),
        ("vllm serve --served-model-name a b", "0.32.0"),
        ("vllm serve m --hf-token --hf-overrides={} --api-key a b", "0.32.0"),
    ],
)
def test_what_is_right_is_left_alone(command: str, release: str) -> None:
    assert codes(command, release) == []


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve BAAI/bge-m3 --task embed",
        "$ exec nohup /opt/venv/bin/vllm serve BAAI/bge-m3 --task embed > log 2>&1 &",
        "# a comment\nexport A=1 && cd /srv; vllm serve BAAI/bge-m3 \\\n  --task embed  # embeds",
        "(cd /srv && vllm serve BAAI/bge-m3 --task embed)  # don't ask",
        "echo 'it never closes\nvllm serve BAAI/bge-m3 --task embed",
        "# isn't\nvllm serve BAAI/bge-m3 --task embed",
        "python -m vllm.entrypoints.openai.api_server --model BAAI/bge-m3 --task embed",
        "docker run --gpus all -e A=1 --env=B=2 vllm/vllm-openai:v0.20 --model BAAI/bge-m3"
        " --task embed",
        "FROM vllm/vllm-openai:latest\nENV A=1\nENV B two words\nCMD"
        ' ["--model", "BAAI/bge-m3", \\\n "--task", "embed"]',
        'FROM python:3.12\nENTRYPOINT ["vllm", "serve"]\nCMD ["BAAI/bge-m3", "--task", "embed"]',
        "FROM python:3.12\nRUN pip install vllm\nCMD vllm serve BAAI/bge-m3 --task embed",
        'FROM python:3.12\nCMD ["sh", "-c", "vllm serve BAAI/bge-m3 --task embed"]',
        "services:\n  embed:\n    image: vllm/vllm-openai:v0.20\n    environment: {A: 1}\n"
        "    command: --model BAAI/bge-m3 --task embed\n  other: text\n"
        "  db:\n    image: postgres\n",
        "services:\n  embed:\n    image: mine\n    environment: [A=1, B]\n"
        "    command: [vllm, serve, BAAI/bge-m3, --task, embed]\n",
        "kind: List\n---\njust text\n---\napiVersion: apps/v1\nkind: Deployment\nspec:\n"
        "  template:\n    spec:\n"
        "      containers:\n      - name: embed\n        image: vllm/vllm-openai:v0.20\n"
        "        env:\n        - {name: A, value: 1}\n"
        "        args: [--model, BAAI/bge-m3, --task, embed]\n      - text\n",
        "apiVersion: v1\nkind: Pod\nitems:\n- spec:\n    initContainers:\n    - name: embed\n"
        "      command: [sh, -c]\n      args: ['vllm serve BAAI/bge-m3 --task embed']\n",
    ],
)
def test_a_command_is_found_wherever_it_stands(text: str) -> None:
    (finding,) = check_command(text)
    assert finding.field == "--task"
    assert correct_command(text).split(" vllm ")[-1].removeprefix("vllm ") == (
        "serve BAAI/bge-m3 --runner pooling"
    )


def test_a_quote_may_go_over_lines_and_one_that_never_closes_hides_what_follows() -> None:
    text = "vllm serve m --hf-overrides '{\n \"is_matryoshka\": true}'\nvllm serve n 'open"
    assert correct_command(text) == "vllm serve m --hf-overrides '{\n \"is_matryoshka\": true}'"


def test_variables_go_with_the_command_that_they_are_given_to() -> None:
    text = f"export {RUNNER}=0\nOTHER=2 vllm serve BAAI/bge-m3\nvllm serve openai/whisper-base"
    (finding,) = check_command(text)
    assert finding.code == "v1-runner-pooling"
    assert finding.message.startswith("command 1: ")
    assert correct_command(text).splitlines() == [
        "OTHER=2 vllm serve BAAI/bge-m3",
        f"{RUNNER}=0 vllm serve openai/whisper-base",
    ]


def test_a_service_is_named_where_there_are_several() -> None:
    text = (
        "services:\n  a: {image: vllm/vllm-openai, command: --model m --swap-space 1}\n"
        "  b: {image: vllm/vllm-openai, command: --model m --task embed}\n"
    )
    assert [found.message[:9] for found in check_command(text)] == ["service a", "service b"]


def test_a_text_without_a_command_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="no `vllm serve` command"):
        check_command("vllm bench serve --model m")


def test_yaml_without_its_library_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(ImportError, match=r"vllm-modalities\[cli\]"):
        check_command("services: {}")


@given(st.text(max_size=300))
def test_no_text_breaks_it(text: str) -> None:
    for end in ("", "'"):
        try:
            check_command(f"{text}\nvllm serve m {text}{end}")
        except InvalidRequestError:
            assert "vllm serve" not in text


ANYTHING = st.recursive(
    st.none() | st.integers() | st.text(max_size=9) | st.just("vllm serve m --task embed"),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["command", "args", "entrypoint", "image", "env", "environment", "containers"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(ANYTHING, ANYTHING)
def test_no_manifest_breaks_it(services: Any, spec: Any) -> None:
    text = f"services: {json.dumps(services)}\n---\nkind: Pod\nspec: {json.dumps(spec)}\n"
    with contextlib.suppress(InvalidRequestError):
        check_command(text)


@given(st.text(max_size=200))
def test_no_text_that_begins_like_a_manifest_or_a_dockerfile_breaks_it(text: str) -> None:
    for start in ("kind: ", "services: {a: ", "FROM ", "FROM a\nENV ", "FROM a\nCMD "):
        with contextlib.suppress(InvalidRequestError):
            check_command(f"{start}{text}")


def test_aliases_that_repeat_themselves_are_looked_at_once() -> None:
    levels = [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]" for n in range(1, 30)]
    text = "\n".join(["kind: Pod", "a0: &a0 [&self {containers: [], self: *self}]", *levels])
    with pytest.raises(InvalidRequestError, match="no `vllm serve` command"):
        check_command(text)


def test_yaml_that_is_none_is_refused_in_words() -> None:
    with pytest.raises(InvalidRequestError, match="looks like YAML, and is none"):
        check_command("kind: [Pod")


def test_names_are_known_for_every_option() -> None:
    assert set(NAMES) == set(OPTIONS)
