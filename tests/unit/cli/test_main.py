"""`python -m vllm_modalities`, with and without the packages that it needs."""

import builtins
import runpy
import sys

import pytest

from vllm_modalities.__main__ import main


@pytest.fixture
def fresh(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """The command line as if it had never been imported."""
    for name in [name for name in sys.modules if name.startswith("vllm_modalities.cli")]:
        monkeypatch.delitem(sys.modules, name)
    return monkeypatch


@pytest.mark.parametrize("missing", ["typer", "rich"])
def test_a_missing_package_is_named_with_the_extra_that_brings_it(fresh, missing) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == missing]:
        fresh.delitem(sys.modules, name)
    real = builtins.__import__

    def without(name, *arguments, **named):
        if name.partition(".")[0] == missing:
            raise ModuleNotFoundError(f"No module named {missing!r}", name=missing)
        return real(name, *arguments, **named)

    fresh.setattr(builtins, "__import__", without)
    with pytest.raises(SystemExit) as caught:
        main()
    assert caught.value.code == (
        f"the command line needs {missing}: pip install 'vllm-modalities[cli]'"
    )


def test_a_package_of_another_s_that_is_missing_is_not_ours_to_explain(fresh) -> None:
    fresh.setitem(sys.modules, "vllm_modalities.cli", None)
    with pytest.raises(ModuleNotFoundError, match=r"vllm_modalities\.cli"):
        main()


def test_the_package_runs_as_a_module(monkeypatch, capsys) -> None:
    monkeypatch.delitem(sys.modules, "vllm_modalities.__main__")
    monkeypatch.setattr(sys, "argv", ["vllm-modalities", "--help"])
    with pytest.raises(SystemExit) as caught:
        runpy.run_module("vllm_modalities", run_name="__main__")
    assert caught.value.code == 0
    assert "demo" in capsys.readouterr().out
