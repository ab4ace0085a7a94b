"""The live tests' servers are started as the recipes of their families say: each really runs."""

from __future__ import annotations

from collections.abc import Iterable

import pytest

from vllm_modalities._rig import SERVERS
from vllm_modalities._rig.releases import RELEASE
from vllm_modalities.serving import recipe

STAND_INS = {
    "embed": "sentence-transformers/all-MiniLM-L6-v2",
    "rerank": "BAAI/bge-reranker-v2-m3",
    "late-interaction": "colbert-ir/colbertv2.0",
    "whisper-base": "openai/whisper-large-v3",
    "deepseek-ocr": "deepseek-ai/DeepSeek-OCR",
    "olmocr": "allenai/olmOCR-2-7B-1025",
    "dots-ocr": "rednote-hilab/dots.ocr",
}
"""By the rig's name, the model whose place a small one takes. Live tests start recipes of Qwen3's
embedder and reranker, which the rig serves in other ways."""
SMALLER = {"--max-model-len"}  # what does not fit on a CPU


def options(words: Iterable[str]) -> dict[str, str]:
    """Each option with its value, if it has one."""
    found: dict[str, str] = {}
    name = ""
    for word in words:
        if word.startswith("--"):
            name, found[word] = word, ""
        else:
            found[name] = word
    return found


@pytest.mark.parametrize("name", STAND_INS)
def test_a_server_of_the_rig_has_all_that_the_recipe_asks_for(name: str) -> None:
    spec, command = SERVERS[name], recipe(STAND_INS[name], vllm_version=RELEASE)
    wanted = {o: v for o, v in options(command.argv[3:]).items() if o not in SMALLER}
    assert wanted.items() <= options(spec.flags).items()
    assert command.env.items() <= spec.variables.items()
    assert not command.files
