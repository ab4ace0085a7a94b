"""`doctor` on real servers: green on those started right, and the fault of each started wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from live._started import serving

from vllm_modalities import Client, Profile
from vllm_modalities._rig import Report, Rig, Spec
from vllm_modalities.profiles import EmbedProfile
from vllm_modalities.serving import Examined, check_command, doctor, recipe

POOLING = ("--runner", "pooling")
MINE = Profile(
    name="mine",
    pattern="minilm",
    embed=EmbedProfile(
        normalized=True,
        embedding_size=384,
        matryoshka=(128, 256, 384),
        prompts={"query": "query: ", "document": ""},
        sources={},
    ),
)


def prompted(words: str) -> tuple[str, str]:
    """Matryoshka, and these words before queries."""
    tasks = f'{{"query": "{words}", "document": ""}}'
    return "--hf-overrides", f'{{"is_matryoshka": true, "task_instructions": {tasks}}}'


def examined(url: str, *profiles: Profile) -> Examined:
    with Client(url, profiles=profiles) as client:
        (found,) = doctor(client)
    assert found.sent <= found.announced
    return found


@pytest.mark.parametrize(
    ("flags", "profile", "faults"),
    [
        ((), None, []),
        (("--pooler-config", '{"pooling_type": "CLS"}'), None, ["pooling and weights"]),
        (prompted("query: "), MINE, []),
        (("--hf-overrides", "{}"), MINE, ["Matryoshka"]),
        (prompted("a passage of a book: "), MINE, ["prompt query"]),
    ],
    ids=["right", "pooling overridden", "right, with prompts", "not flagged", "wrong prompts"],
)
def test_an_embedder_is_judged_by_how_it_was_started(
    flags: tuple[str, ...],
    profile: Profile | None,
    faults: list[str],
    tmp_path: Path,
    report: Report,
) -> None:
    name = "minilm" if profile else "all-MiniLM-L6-v2"
    spec = Spec("examined", model="minilm", served_name=name, flags=(*POOLING, *flags))
    with serving(spec, tmp_path, report) as url:
        found = examined(url, *([profile] if profile else []))
    assert [fault.name for fault in found.faults] == faults, found.faults


@pytest.mark.parametrize("templated", [True, False])
def test_a_reranker_without_its_template_is_found(
    templated: bool, tmp_path: Path, report: Report
) -> None:
    # The small model's tokenizer has letters, no words.
    command = recipe("Qwen/Qwen3-Reranker-0.6B").having(
        "--hf-overrides", {"classifier_from_token": ["n", "y"]}
    )
    command.write(tmp_path)
    flags = [str(tmp_path / w) if w in command.files else w for w in command.argv[3:]]
    if not templated:
        place = flags.index("--chat-template")
        del flags[place : place + 2]
    spec = Spec("reranker", "qwen3-embed", "Qwen3-Reranker-small", flags=tuple(flags))
    with serving(spec, tmp_path, report) as url:
        found = examined(url)
    assert [fault.name for fault in found.faults] == ([] if templated else ["template"])


def test_qwen3_s_embedder_started_by_its_recipe_gives_shorter_vectors(
    tmp_path: Path, report: Report
) -> None:
    flags = recipe("Qwen/Qwen3-Embedding-0.6B").argv[3:]
    spec = Spec("embedder", "qwen3-embed", "Qwen3-Embedding-small", flags=flags)
    with serving(spec, tmp_path, report) as url, Client(url) as client:
        assert client.embed("a text", dimensions=32, input_type="document").dimensions == 32


@pytest.mark.servers("whisper-base")
def test_a_model_that_hears_is_green(servers: Rig) -> None:
    assert examined(servers["whisper-base"].base_url).faults == ()


@pytest.mark.servers("deepseek-ocr")
def test_the_processor_of_deepseek_ocr_is_seen_where_it_is_loaded(servers: Rig) -> None:
    checks = {one.name: one for one in examined(servers["deepseek-ocr"].base_url).checks}
    assert checks["n-gram processor"].status == "ok"
    assert checks["page canary"].status == "fault"  # its weights are random


def test_the_servers_of_the_rig_are_started_as_they_should_be() -> None:
    """But for --enforce-eager, which is quicker on a processor."""
    from vllm_modalities._rig.servers import SERVERS, command

    for spec in SERVERS.values():
        words = command(spec, python=Path("python"), model=Path(f"/{spec.model}"), port=1)
        line = " ".join(["vllm", *(f"'{word}'" for word in words[words.index("serve") :])])
        found = {one.code for one in check_command(line)}
        assert found <= {"eager-pooling", "v2-runner-ngrams"}
