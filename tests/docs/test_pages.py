"""The pages say what the code says: errors, names, links, numbers, versions."""

import ast
import inspect
import re
import subprocess
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Literal

import pytest
from docs._pages import PAGES, ROOT, Block, blocks, run

import vllm_modalities
from vllm_modalities import errors
from vllm_modalities.client import AsyncClient, Client

DOCS = ROOT / "docs"
ERRORS = (DOCS / "errors.md").read_text("utf-8")
LINK = re.compile(r"(?<!\!)\[[^\]\n]+\]\(([^)\s]+)\)")
ENTRY = re.compile(r"^( *)- `(\w+)`(?: \(([^)]*)\))?: ", re.MULTILINE)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def classes() -> dict[str, type]:
    """The exceptions and warnings of errors.py."""
    return {
        name: found
        for name, found in inspect.getmembers(errors, inspect.isclass)
        if issubclass(found, Exception) and found.__module__ == errors.__name__
    }


def entries() -> list[tuple[str, str | None, str]]:
    """(class, class above it, words in brackets) of each entry of the page's two trees."""
    path: list[str] = []
    found = []
    for spaces, name, words in ENTRY.findall(ERRORS):
        depth = len(spaces) // 2
        found.append((name, path[depth - 1] if depth else None, words))
        path[depth:] = [name]
    return found


def test_the_errors_page_lists_exactly_the_classes_there_are() -> None:
    assert sorted(name for name, _, _ in entries()) == sorted(classes())


def test_the_errors_page_shows_the_tree_as_it_is() -> None:
    known = classes()
    for name, above, _ in entries():
        bases = known[name].__bases__
        assert (known[above] in bases) if above else bases[0] in (Exception, UserWarning), name


def test_the_errors_page_names_every_second_base() -> None:
    known = classes()
    for name, above, words in entries():
        others = {base.__name__ for base in known[name].__bases__} - {above, "Exception"}
        assert others == set(re.findall(r"also an? `(\w+)`", words)), name


def test_the_errors_page_gives_the_statuses_of_each_class() -> None:
    told = {int(code): name for name, _, words in entries() for code in re.findall(r"\d{3}", words)}
    assert len(told) >= 9
    assert told == {code: errors.status_class(code).__name__ for code in told}
    listed = {
        code for code in range(400, 500) if errors.status_class(code) is not errors.APIStatusError
    }
    assert listed <= set(told)


def test_every_error_has_its_when_and_its_cure() -> None:
    tree = ERRORS.split("## The tree")[1].split("## Warnings")[0].split("\nA cause that")[0]
    parts = re.split(r"^ *- `", tree, flags=re.MULTILINE)[2:]
    assert len(parts) >= 14
    assert [part for part in parts if "**When:**" not in part or "**Cure:**" not in part] == []


def test_the_docstring_of_errors_shows_the_same_classes() -> None:
    drawn = re.findall(r"\b[A-Z]\w+(?:Error|Warning)\b", errors.__doc__ or "")
    builtin = {"ValueError", "UserWarning"}
    assert set(drawn) - builtin == set(classes())


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_inside_the_project_resolve(page: Path) -> None:
    for link in LINK.findall(page.read_text("utf-8")):
        if link.startswith(("http://", "https://")):
            continue
        file, _, anchor = link.partition("#")
        target = (page.parent / file).resolve() if file else page
        assert target.is_file(), f"{page.name} links to {link}"
        assert target == page or target.is_relative_to(ROOT)
        if anchor:
            headings = [slug(title) for title in HEADING.findall(target.read_text("utf-8"))]
            assert anchor in headings, f"{page.name} links to {link}"


def slug(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def test_every_page_is_in_the_contents() -> None:
    index = (DOCS / "index.md").read_text("utf-8")
    listed = set(
        re.findall(
            r"^[\w/-]+$",
            "".join(re.findall(r"```\{toctree\}(.*?)```", index, re.DOTALL)),
            re.MULTILINE,
        )
    )
    pages = {
        str(page.relative_to(DOCS).with_suffix("")) for page in PAGES if page.is_relative_to(DOCS)
    }
    assert listed == pages - {"index"}


def test_the_versions_agree() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    newest = re.search(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text("utf-8"), re.MULTILINE)
    assert newest is not None
    assert newest[1] == project["version"]


def test_every_public_name_is_in_the_reference() -> None:
    reference = [ERRORS, *(page.read_text("utf-8") for page in (DOCS / "reference").glob("*.md"))]
    directives = re.findall(
        r"(?:autoclass|autofunction|py:type):: (?:[\w.]+\.)?(\w+)", "".join(reference)
    )
    assert "request-models::" in "".join(reference)
    from vllm_modalities._wire import TASKS

    public = {name: getattr(vllm_modalities, name) for name in vllm_modalities.__all__}
    printed = {model.__name__ for kinds in TASKS.values() for model in kinds}
    named = {*directives, *printed, *classes()}
    assert set(public) - named == set()


def test_the_types_named_in_signatures_are_spelled_out_as_they_are() -> None:
    from vllm_modalities._context import Transport
    from vllm_modalities._fleet import BaseURL
    from vllm_modalities._many import OnError
    from vllm_modalities._progress import Progress
    from vllm_modalities.endpoints._embedding import Truncate
    from vllm_modalities.endpoints._recording import Chunking, OnSegment, Timestamps
    from vllm_modalities.gates import Validation
    from vllm_modalities.vectors.precision import DType

    page = (DOCS / "reference" / "clients.md").read_text("utf-8")
    told = dict(re.findall(r"py:type:: (\w+)\n   :canonical: (.+)", page))
    names = {"Sequence": Sequence, "Mapping": Mapping, "Literal": Literal, "Callable": Callable}
    names |= {"Segment": vllm_modalities.Segment}
    real = {
        "BaseURL": BaseURL,
        "Transport": Transport,
        "OnError": OnError,
        "Validation": Validation,
        "Truncate": Truncate,
        "DType": DType,
        "Progress": Progress,
        "Timestamps": Timestamps,
        "Chunking": Chunking,
        "OnSegment": OnSegment,
    }
    assert {name: eval(told[name], names) for name in real} == real


def test_every_argument_type_of_a_method_is_explained_or_known() -> None:
    """A reader never meets a name of ours in a signature that the reference does not have."""
    page = "".join(file.read_text("utf-8") for file in (DOCS / "reference").glob("*.md"))
    known = set(re.findall(r"(?:autoclass|py:type):: (?:[\w.]+\.)?(\w+)", page))
    known |= {
        "RequestModel",
        "Any",
        "None",
        "True",
        "False",
        "Literal",
        "Sequence",
        "Iterable",
        "Mapping",
        "Callable",
    }
    known |= {
        "Iterator",
        "AsyncIterator",
        "AsyncIterable",
        "Self",
        "str",
        "int",
        "float",
        "bool",
        "tuple",
        "list",
    }
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if name.startswith("_") or name == "with_options":
            continue
        text = str(inspect.signature(method))
        bare = re.sub(r"'[^' ]*'(?=[,\]) ]|$)", "", text.replace('"', "'"))
        types = set(re.findall(r"(?<![\w.'\"])[A-Z]\w+", bare))
        assert types - known == set(), f"{name}{text}"


def test_methods_of_the_async_client_are_coroutines_with_the_same_signatures() -> None:
    for name, method in inspect.getmembers(Client, inspect.isfunction):
        if name.startswith("_") or name in ("close", "with_options"):
            continue
        twin = getattr(AsyncClient, name)
        signature = re.sub(
            r"-> 'Async(Iterator|TextStream)\[", r"-> '\1[", str(inspect.signature(twin))
        )
        streams = (
            " -> 'Iterator[Embeddings]'",
            " -> 'Iterator[Page]'",
            " -> 'TextStream[Transcript]'",
        )
        assert inspect.iscoroutinefunction(twin) or signature.endswith(streams)
        assert signature == str(inspect.signature(method)), name


def test_ci_runs_the_test_command_of_the_readme() -> None:
    readme, ci = ROOT / "README.md", (ROOT / ".ci" / "run").read_text()
    script = re.search(r"^sed -n '([^']+)' README.md", ci, re.MULTILINE)
    assert script is not None
    chosen = subprocess.run(
        ["sed", "-n", script[1], str(readme)], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    section = readme.read_text("utf-8").split("## See it work")[1]
    demo, tests = re.findall(r"^python3 .+$", section, re.MULTILINE)
    assert "demo" in demo
    assert chosen == [tests]
    assert re.search(r"nox -s .*\blive\b", ci)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_blocks_are_python_and_fit_the_page(page: Path) -> None:
    for block in blocks(page):
        ast.parse(block.code)
        if page.is_relative_to(DOCS):
            assert max(map(len, block.code.splitlines())) <= 100, str(block)


@pytest.mark.parametrize(
    "name",
    [
        *("how-it-works", "models", "reference/profiles", "reference/requests"),
        *("serving", "migration", "faults-and-cures"),
    ],
)
def test_blocks_that_need_no_server_do_what_they_say(name: str) -> None:
    found = blocks(DOCS / f"{name}.md")
    namespace: dict[str, object] = {}
    for block in found:
        run(block, namespace, {})
    assert found


def test_the_page_of_releases_is_the_one_that_is_printed() -> None:
    from vllm_modalities.gates._print import page

    command = "python -m vllm_modalities.gates._print > docs/versions.md"
    assert (DOCS / "versions.md").read_text("utf-8") == page(), command


def test_the_page_of_recipes_is_the_one_that_is_printed() -> None:
    from vllm_modalities.serving._print import page

    command = "python -m vllm_modalities.serving._print > docs/recipes.md"
    assert (DOCS / "recipes.md").read_text("utf-8") == page(), command


def test_every_name_of_the_operators_side_is_in_the_reference() -> None:
    from vllm_modalities import serving

    told = (DOCS / "reference" / "serving.md").read_text("utf-8")
    named = set(re.findall(r"auto(?:class|function):: (\w+)", told))
    assert named == set(serving.__all__)


def test_pages_have_blocks() -> None:
    found: list[Block] = [block for page in PAGES for block in blocks(page)]
    assert len(found) >= 15
