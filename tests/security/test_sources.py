"""What the package never does, read from its source."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import vllm_modalities

ROOT = Path(vllm_modalities.__file__).parent
FILES = {str(path.relative_to(ROOT)): path for path in sorted(ROOT.rglob("*.py"))}

# What runs, or makes objects of, the bytes that it reads.
MODULES = {"dill", "cloudpickle", "jinja2", "joblib", "marshal", "pickle", "shelve", "xml", "yaml"}
CALLS = {"__import__", "compile", "eval", "exec", "input"}
METHODS = {"os.system", "os.popen", "tempfile.mktemp", "torch.load", "builtins.eval"}
SAFE = {frozenset({"YAMLError", "safe_load_all"}): {"yaml"}}  # names that make plain data only
OPTIONS = {("shell", True), ("allow_pickle", True), ("weights_only", False), ("verify", False)}


def dangers(source: str) -> Iterator[str]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = {name.name for name in node.names} | {getattr(node, "module", "") or ""}
            found = MODULES & {name.partition(".")[0] for name in names}
            yield from found - SAFE.get(frozenset(name.name for name in node.names), set())
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            if called in CALLS | METHODS:
                yield called
            for keyword in node.keywords:
                value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if (keyword.arg, value) in OPTIONS:
                    yield f"{called}({keyword.arg}={value})"


@pytest.mark.parametrize("name", FILES)
def test_nothing_that_is_read_is_ever_run(name: str) -> None:
    assert list(dangers(FILES[name].read_text())) == []


@pytest.mark.parametrize(
    "source",
    [
        "import pickle",
        "import yaml",
        "from yaml import load",
        "from xml.etree import ElementTree",
        "eval(text)",
        "os.system(command)",
        "run(command, shell=True)",
        "np.load(file, allow_pickle=True)",
        "Client(verify=False)",
    ],
)
def test_what_would_be_found(source: str) -> None:
    assert list(dangers(source))
