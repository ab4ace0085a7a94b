"""Recipes: every model that an operator may name, by release and by card."""

from __future__ import annotations

import json
import re
import runpy
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from vllm_modalities import InvalidRequestError, ServerVersion
from vllm_modalities.profiles import PROFILES, profile_of
from vllm_modalities.serving import ServeCommand, check_command, recipe
from vllm_modalities.serving._options import RELEASES
from vllm_modalities.serving._recipe import ROWS, row_of
from vllm_modalities.serving._templates import TEMPLATES

POOLING = ["--runner", "pooling"]


def flags(command: ServeCommand) -> list[str]:
    return list(command.argv[3:])


def setting(command: ServeCommand, option: str) -> dict[str, object]:
    found = json.loads(command.argv[command.argv.index(option) + 1])
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("Qwen/Qwen3-Embedding-0.6B", POOLING),
        ("Qwen/Qwen3-Embedding-4B", POOLING),
        ("Qwen/Qwen3-Embedding-8B", POOLING),
        ("BAAI/bge-m3", POOLING),
        ("jinaai/jina-embeddings-v3", [*POOLING, "--trust-remote-code"]),
        ("jinaai/jina-embeddings-v4-vllm-retrieval", [*POOLING, "--dtype", "float16"]),
        ("jinaai/jina-embeddings-v5-text-small", [*POOLING, "--trust-remote-code"]),
        ("jinaai/jina-embeddings-v5-text-nano", [*POOLING, "--trust-remote-code"]),
        ("ssmits/Qwen2-7B-Instruct-embed-base", POOLING),
        ("BAAI/bge-reranker-v2-m3", POOLING),
        ("BAAI/bge-reranker-v2-gemma", [*POOLING, "--chat-template"]),
        ("Qwen/Qwen3-Reranker-0.6B", [*POOLING, "--convert", "classify", "--chat-template"]),
        ("Qwen/Qwen3-Reranker-8B", [*POOLING, "--convert", "classify", "--chat-template"]),
        ("mixedbread-ai/mxbai-rerank-large-v2", [*POOLING, "--chat-template"]),
        ("nvidia/llama-nemotron-rerank-1b-v2", [*POOLING, "--chat-template"]),
        ("jinaai/jina-reranker-v3", POOLING),
        ("jinaai/jina-reranker-m0", POOLING),
        ("jinaai/jina-colbert-v2", [*POOLING, "--trust-remote-code"]),
        ("lightonai/GTE-ModernColBERT-v1", POOLING),
        ("vidore/colpali-v1.3-hf", POOLING),
        ("TomoroAI/tomoro-colqwen3-embed-4b", POOLING),
        ("athrael-soju/colqwen3.5-4.5B-v3", POOLING),
        ("ModernVBERT/colmodernvbert-merged", POOLING),
        ("openai/whisper-large-v3", []),
        ("openai/whisper-large-v3-turbo", []),
        ("RedHatAI/whisper-large-v3-turbo-FP8-dynamic", []),
        ("RedHatAI/whisper-large-v3-turbo-quantized.w8a8", []),
        ("RedHatAI/whisper-large-v3-turbo-quantized.w4a16", []),
        ("mistralai/Voxtral-Mini-3B-2507", ["--tokenizer-mode", "mistral"]),
        ("Qwen/Qwen3-ASR-1.7B", []),
        ("Qwen/Qwen3-Omni-30B-A3B-Instruct", []),
        ("moonshotai/Kimi-Audio-7B-Instruct", ["--trust-remote-code"]),
        ("fixie-ai/ultravox-v0_5-llama-3_2-1b", ["--trust-remote-code"]),
        ("FunAudioLLM/Fun-ASR-Nano-2512", []),
        ("zai-org/GLM-ASR-Nano-2512", []),
        ("OpenMOSS-Team/MOSS-Transcribe-Diarize", ["--trust-remote-code"]),
        ("deepseek-ai/DeepSeek-OCR", ["--logits-processors"]),
        ("deepseek-ai/DeepSeek-OCR-2", ["--logits-processors"]),
        ("baidu/Unlimited-OCR", ["--logits-processors"]),
        ("rednote-hilab/dots.ocr", ["--chat-template-content-format", "string"]),
        ("rednote-hilab/dots.mocr", ["--trust-remote-code"]),
        ("zai-org/GLM-OCR", ["--speculative-config"]),
        ("PaddlePaddle/PaddleOCR-VL", ["--trust-remote-code"]),
        ("nvidia/NVIDIA-Nemotron-Parse-v1.1", ["--trust-remote-code"]),
    ],
)
def test_every_model_of_the_guide_has_its_flags_and_a_reason_for_each(model, wanted) -> None:
    command = recipe(model)
    assert command.argv[:3] == ("vllm", "serve", model)
    assert set(wanted) <= set(flags(command))
    assert all(note.text and note.source for note in command.notes)
    told = " ".join(note.text for note in command.notes)
    assert all(flag in told for flag in flags(command) if flag.startswith("--"))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
def test_the_example_of_a_row_is_of_that_row(row) -> None:
    assert row_of(row.example) is row
    assert row_of(row.example.replace("-", "_")) is not None
    assert all(row_of(model) for model in row.quantised)


@pytest.mark.parametrize("row", [row for row in ROWS if not row.instead], ids=lambda row: row.name)
def test_a_recipe_is_what_each_release_takes_and_nothing_in_it_harms(row) -> None:
    for release in RELEASES:
        if row.since is not None and ServerVersion(release) < row.since:
            with pytest.raises(InvalidRequestError, match=f"needs vLLM {row.since}"):
                recipe(row.example, vllm_version=release)
            continue
        command = recipe(row.example, vllm_version=release)
        variables = " ".join(f"{name}={value}" for name, value in command.env.items())
        line = f"{variables} {shlex.join(command.argv)}"
        assert [str(found) for found in check_command(line, vllm_version=release)] == []


def test_a_reranker_that_needs_a_template_gets_it_as_a_file() -> None:
    for row in ROWS:
        command = recipe(row.example)
        named = [word for word in command.argv if word.endswith(".jinja")]
        assert named == list(command.files)
        assert all(TEMPLATES[name] == text for name, text in command.files.items())


def test_a_template_has_the_words_of_the_profile_and_the_texts_in_their_places() -> None:
    text = TEMPLATES["qwen3_reranker.jinja"]
    assert text.index("<Instruct>: {{ instruction") < text.index("<Query>: {{ messages")
    assert "'equalto', 'document'" in text.split("<Document>: ")[1]
    assert text.endswith("</think>\n\n\n")  # of which Jinja drops one
    assert "{instruction}" not in "".join(TEMPLATES.values()).replace("{{", "")


def test_every_template_that_a_profile_names_and_has_words_for_can_be_written() -> None:
    named = {p.rerank.template for p in PROFILES if p.rerank and p.rerank.form}
    assert named <= set(TEMPLATES)


def test_a_base_that_no_release_serves_leads_to_the_one_that_is_served() -> None:
    command = recipe("jinaai/jina-embeddings-v4")
    assert command.model == "jinaai/jina-embeddings-v4-vllm-retrieval"
    assert setting(command, "--pooler-config") == {"pooling_type": "ALL", "task": "token_embed"}
    assert "no release serves" in command.notes[0].text


def test_every_family_that_its_profile_says_is_not_served_leads_to_one_that_the_profile_names() -> (
    None
):
    unserved = [row for row in ROWS if row.instead]
    told = [p for p in PROFILES if any("No vLLM release" in note for note in p.notes)]
    assert {p.name for p in told} == {profile_of(PROFILES, row.example).name for row in unserved}
    for row in unserved:
        assert row.instead in " ".join(profile_of(PROFILES, row.example).notes)
        assert recipe(row.example).model == row.instead


def test_what_a_profile_says_that_a_server_needs_is_in_its_recipe() -> None:
    needed = {
        profile.name: flags
        for profile in PROFILES
        for note in profile.notes
        if note.startswith("It needs ") and (flags := set(re.findall(r"--[a-z][a-z-]+", note)))
    }
    examples = {profile_of(PROFILES, row.example).name: row.example for row in ROWS}
    for name, flags in needed.items():
        command = recipe(examples.get(name, name))
        told = " ".join([*command.argv, *(note.text for note in command.notes)])
        assert flags <= set(re.findall(r"--[a-z][a-z-]+", told)), name


def test_a_pooling_task_is_named_only_where_a_server_does_one() -> None:
    old = recipe("jinaai/jina-embeddings-v4-vllm-code", vllm_version="0.18.0")
    assert setting(old, "--pooler-config") == {"pooling_type": "ALL"}


@pytest.mark.parametrize("memory", [24, 31.9])
def test_whisper_large_is_quantised_below_32_gb(memory) -> None:
    command = recipe("openai/whisper-large-v3-turbo", gpu_memory_gb=memory)
    assert command.model == "RedHatAI/whisper-large-v3-turbo-FP8-dynamic"
    assert "quantized.w4a16" in command.notes[0].text
    large = recipe("openai/whisper-large-v3", gpu_memory_gb=memory)
    assert large.model == "RedHatAI/whisper-large-v3-FP8-Dynamic"


@pytest.mark.parametrize("memory", [None, 32, 80])
def test_whisper_large_is_served_as_it_is_from_32_gb_on(memory) -> None:
    command = recipe("openai/whisper-large-v3-turbo", gpu_memory_gb=memory)
    assert command.model == "openai/whisper-large-v3-turbo"


def test_what_fits_anywhere_stays_as_it_is() -> None:
    assert recipe("openai/whisper-base", gpu_memory_gb=8).model == "openai/whisper-base"


def test_audio_backend_is_not_offered_and_the_notes_say_why() -> None:
    command = recipe("openai/whisper-large-v3")
    assert "--media-io-kwargs" not in command.argv
    assert any("audio_backend" in note.text for note in command.notes)


@pytest.mark.parametrize(("release", "env"), [("0.30.0", {}), ("0.31.0", {"V2": "0"})])
def test_the_ngram_processor_gets_the_first_runner_where_v2_refuses_it(release, env) -> None:
    found = recipe("deepseek-ai/DeepSeek-OCR", vllm_version=release).env
    assert dict(found) == ({"VLLM_USE_V2_MODEL_RUNNER": "0"} if env else {})


def test_a_release_that_is_too_old_is_refused_with_the_one_that_is_not() -> None:
    with pytest.raises(InvalidRequestError, match=r"needs vLLM 0\.27\.0 or later, not 0\.26\.0"):
        recipe("jinaai/jina-embeddings-v5-text-nano", vllm_version="0.26.0")


@pytest.mark.parametrize(
    ("task", "wanted"),
    [
        ("embed", [*POOLING, "--convert", "embed"]),
        ("rerank", [*POOLING, "--convert", "classify"]),
        ("classify", [*POOLING, "--convert", "classify"]),
        (
            "embed_tokens",
            [*POOLING, "--convert", "embed", "--pooler-config", '{"task": "token_embed"}'],
        ),
        ("transcribe", []),
        ("ocr", ["--no-enable-prefix-caching", "--mm-processor-cache-gb", "0"]),
    ],
)
def test_a_model_of_an_unknown_family_is_made_into_what_it_is_to_do(task, wanted) -> None:
    assert flags(recipe("acme/tiny-lm", task=task)) == wanted


def test_a_model_of_an_unknown_family_without_a_task_is_refused_with_what_is_known() -> None:
    with pytest.raises(InvalidRequestError, match=r'task="embed".*docs/recipes'):
        recipe("acme/tiny-lm")
    with pytest.raises(InvalidRequestError, match="task"):
        recipe("acme/tiny-lm", task="chat")


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("intfloat/e5-large-v2", POOLING),
        ("cross-encoder/ms-marco-MiniLM-L6-v2", POOLING),
        ("CohereLabs/cohere-transcribe-03-2026", []),
    ],
)
def test_a_model_that_has_a_profile_alone_is_served_as_what_it_is(model, wanted) -> None:
    command = recipe(model)
    assert flags(command) == wanted


def test_matryoshka_is_forced_or_its_list_is_pinned() -> None:
    command = recipe("BAAI/bge-m3")
    assert setting(command.matryoshka(), "--hf-overrides") == {"is_matryoshka": True}
    pinned = recipe("Qwen/Qwen3-Embedding-0.6B").matryoshka(256, 512)
    assert setting(pinned, "--hf-overrides") == {
        "is_matryoshka": True,
        "matryoshka_dimensions": [256, 512],
    }
    with pytest.raises(InvalidRequestError):
        command.matryoshka(0)


def test_long_texts_are_cut_by_the_server_where_that_is_asked_for() -> None:
    command = recipe("BAAI/bge-m3").long_texts(100_000)
    wanted = {"enable_chunked_processing": True, "max_embed_len": 100_000}
    assert setting(command, "--pooler-config") == wanted


def test_the_shell_text_is_the_command_and_its_files(tmp_path: Path) -> None:
    command = recipe("Qwen/Qwen3-Reranker-0.6B")
    script = command.shell().replace("vllm serve", "printf '%s\\n' vllm serve")
    done = subprocess.run(  # the script itself
        ["sh", "-c", script], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert tuple(done.stdout.splitlines()) == command.argv
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == dict(command.files)


def test_writing_gives_a_script_that_runs_beside_its_files(tmp_path: Path) -> None:
    command = recipe("deepseek-ai/DeepSeek-OCR")
    script = command.write(tmp_path / "new")
    text = script.read_text().replace("vllm serve", "printenv VLLM_USE_V2_MODEL_RUNNER; :")
    done = subprocess.run(  # the script itself
        ["sh", "-c", text, script], capture_output=True, text=True, check=False
    )
    assert (done.returncode, script.name) == (0, "serve.sh")
    assert script.stat().st_mode & 0o100
    reranker = recipe("mixedbread-ai/mxbai-rerank-base-v2")
    assert "cat >" not in reranker.write(tmp_path).read_text()
    assert (tmp_path / "mxbai_rerank_v2.jinja").read_text() == TEMPLATES["mxbai_rerank_v2.jinja"]


def test_a_note_reads_with_its_source() -> None:
    note = recipe("BAAI/bge-m3").notes[0]
    assert str(note) == f"{note.text} [{note.source}]"


def test_the_printed_page_has_every_family(capsys: pytest.CaptureFixture[str]) -> None:
    sys.modules.pop("vllm_modalities.serving._print", None)
    runpy.run_module("vllm_modalities.serving._print", run_name="__main__")
    printed = capsys.readouterr().out
    assert all(f"### {row.name}\n" in printed for row in ROWS)
