"""Without its framework a module says what to install."""

from __future__ import annotations

import importlib
import sys

import pytest

EXTRAS = {
    "langchain": ("langchain", "langchain_core.callbacks"),
    "llama_index": ("llama-index", "llama_index.core.base.embeddings.base"),
    "haystack": ("haystack", "haystack"),
    "ray": ("ray", "pyarrow"),
}


@pytest.mark.parametrize("name", EXTRAS)
def test_the_extra_is_named(name, monkeypatch) -> None:
    extra, package = EXTRAS[name]
    module = f"vllm_modalities.integrations.{name}"
    monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"pip install 'vllm-modalities\[{extra}\]'"):
        importlib.import_module(module)
