"""What may import what, how long things may be, and what stays out of memory until it is used."""

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import vllm_modalities

ROOT = Path(vllm_modalities.__file__).parent
NAME = ROOT.name
FILES = [path for path in sorted(ROOT.rglob("*.py")) if "_rig" not in path.parts]


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_of(path): path for path in FILES}


def is_for_types_only(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """All nodes that run: without what stands under `if TYPE_CHECKING`."""
    yield tree
    for child in ast.iter_child_nodes(tree):
        if not is_for_types_only(child):
            yield from nodes(child)


def imports(path: Path) -> set[str]:
    """The full names of the modules, and perhaps of the names in them, that a file imports."""
    package = module_of(path) if path.name == "__init__.py" else module_of(path).rpartition(".")[0]
    found = set()
    for node in nodes(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        if isinstance(node, ast.ImportFrom):
            levels = package.split(".")[: len(package.split(".")) - node.level + 1]
            start = ".".join([*(levels if node.level else []), *filter(None, [node.module])])
            found |= {start} | {f"{start}.{name.name}" for name in node.names}
    return found


def test_importing_the_package_loads_nothing_heavy() -> None:
    heavy = ["soundfile", "soxr", "PIL", "typer", "rich", "torch", "transformers", "vllm"]
    code = f"import sys, {NAME}; print(*[name for name in {heavy} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_only_the_transport_imports_an_http_library() -> None:
    libraries = {"httpx", "httpx2", "requests", "aiohttp", "urllib3", "http.client"}
    users = {
        module
        for module, path in MODULES.items()
        if libraries & imports(path) and not module.startswith(f"{NAME}.simulator")
    }
    assert users == {f"{NAME}._transport.library"}


def test_only_the_transport_opens_sockets() -> None:
    users = {module for module, path in MODULES.items() if {"socket", "ssl"} & imports(path)}
    assert {top(module) for module in users} <= {"_transport", "simulator"}


# From the bottom to the top: nothing imports what stands in a later group.
GROUPS = [
    (
        "errors",
        "_events",
        "_flow",
        "_forks",
        "_retry",
        "_places",
        "_caller",
        "_html",
        "_inputs",
        "_journal",
        "_printable",
        "_progress",
        "_secrets",
        "_sniff",
        "_theirs",
        "_xargs",
    ),
    ("server", "profiles", "_wire", "_results", "vectors", "audio", "documents", "gates"),
    ("_fleet", "_exchange", "_routing", "_context", "_many", "_sizes", "endpoints"),
    ("_transport", "_drivers", "_stream", "_live", "_endpoint", "_moving", "client"),
    ("serving", "bulk", "integrations", "simulator", "telemetry"),
    ("cli", "__main__", "_pytest"),
]
PLACE = {name: place for place, names in enumerate(GROUPS) for name in names}


def top(module: str) -> str:
    return module.split(".")[1]


@pytest.mark.parametrize("module", [module for module in MODULES if module != NAME])
def test_arrows_point_one_way(module) -> None:
    wrong = {
        found
        for found in imports(MODULES[module])
        if found.startswith(f"{NAME}.")
        and top(found) in PLACE
        and PLACE[top(found)] > PLACE[top(module)]
    }
    assert wrong == set()


@pytest.mark.parametrize("part", ["vectors", "audio", "documents", "profiles"])
def test_what_knows_nothing_of_servers_imports_none_of_it(part) -> None:
    known = {"_context", "_exchange", "_fleet", "_routing", "_transport", "_wire", "endpoints"}
    found = {
        top(found)
        for module, path in MODULES.items()
        if module.startswith(f"{NAME}.{part}")
        for found in imports(path)
        if found.startswith(f"{NAME}.")
    }
    assert found & known == set()


@pytest.mark.parametrize("path", FILES, ids=module_of)
def test_text_is_written_with_the_same_bytes_on_every_system(path) -> None:
    """Windows would have other line ends, and in a language's own encoding."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    for call in calls:
        name = ast.unparse(call.func).rpartition(".")[2]
        if name == "write_text" or (name == "open" and "'w'" in map(ast.unparse, call.args)):
            words = ast.unparse(call)
            assert "newline='\\n'" in words
            assert "'utf-8'" in words


def test_nothing_imports_the_command_line_but_itself() -> None:
    users = {
        top(module)
        for module, path in MODULES.items()
        if any(found.startswith(f"{NAME}.") and top(found) == "cli" for found in imports(path))
    }
    assert users <= {"cli", "__main__"}


@pytest.mark.parametrize("module", MODULES)
def test_a_module_has_one_opening_sentence_and_fewer_than_300_lines(module) -> None:
    source = MODULES[module].read_text()
    assert len(source.splitlines()) < 300
    assert ast.get_docstring(ast.parse(source))


def code_lines(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """From the first statement to the last, without the docstring."""
    body = function.body[1:] if ast.get_docstring(function) else function.body
    return body[-1].end_lineno - body[0].lineno + 1 if body else 0


@pytest.mark.parametrize("module", MODULES)
def test_a_function_has_fewer_than_40_lines(module) -> None:
    functions = [
        node
        for node in ast.walk(ast.parse(MODULES[module].read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    assert {one.name: code_lines(one) for one in functions if code_lines(one) >= 40} == {}


@pytest.mark.parametrize("module", MODULES)
def test_no_public_function_takes_any_keyword(module) -> None:
    tree = ast.parse(MODULES[module].read_text())
    public = [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        and not node.name.startswith("_")
        and node.args.kwarg is not None
    ]
    assert public == []
