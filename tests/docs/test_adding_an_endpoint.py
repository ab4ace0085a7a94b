"""The page that shows `classify`: its file works as it stands there, bound by its one line."""

import json
import re
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import anyio
import httpx
import numpy as np
import pytest
from docs._pages import ROOT, blocks

from vllm_modalities import AsyncClient, Client, PartialFailureError, ResponseError
from vllm_modalities._endpoint import Endpoint
from vllm_modalities._wire import TASKS

PAGE = ROOT / "docs" / "adding-an-endpoint.md"
NAME = "vllm_modalities.endpoints._classify_of_the_page"
FILE = blocks(PAGE)[0].code
SAMPLE = {"good": [0.1, 0.9], "bad": [0.75, 0.25], "so-so": [0.5, 0.5], "a": [0.5, 0.5]}


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch) -> Iterator[ModuleType]:
    """The page's file, imported as if it stood in the package."""
    for task, kinds in list(TASKS.items()):
        monkeypatch.setitem(TASKS, task, list(kinds))
    before = set(TASKS)
    found = ModuleType(NAME)
    found.__package__ = "vllm_modalities.endpoints"
    monkeypatch.setitem(sys.modules, NAME, found)
    exec(compile(FILE, str(PAGE), "exec"), found.__dict__)
    yield found
    for task in set(TASKS) - before:
        del TASKS[task]


def server(refused: str = "", edit: Callable[[Any], None] = lambda _: None) -> httpx.MockTransport:
    """vLLM 0.32.0 with a classifier of two classes, as far as this endpoint asks for it."""

    def answer(request: httpx.Request) -> httpx.Response:
        match request.url.path:
            case "/version":
                return httpx.Response(200, json={"version": "0.32.0"})
            case "/v1/models":
                return httpx.Response(200, json={"data": [{"id": "m", "root": "hub/m"}]})
            case "/openapi.json":
                return httpx.Response(200, json={"paths": {"/classify": {}, "/pooling": {}}})
            case "/classify":
                body = json.loads(request.content)
                assert set(body) == {"model", "input"}
                if refused in body["input"]:
                    return httpx.Response(
                        400, json={"error": {"message": f"{refused} is too long"}}
                    )
                data = [
                    {
                        "index": place,
                        "label": ("no", "yes")[int(np.argmax(SAMPLE[text]))],
                        "probs": SAMPLE[text],
                        "num_classes": 2,
                    }
                    for place, text in enumerate(body["input"])
                ]
                usage = {"prompt_tokens": 3 * len(data), "total_tokens": 3 * len(data)}
                found = {"object": "list", "data": data[::-1], "usage": usage}
                edit(found)
                return httpx.Response(200, json=found)
        return httpx.Response(404, json={"detail": "Not Found"})

    return httpx.MockTransport(answer)


Call = Callable[..., Any]


@pytest.fixture(params=["Client", "AsyncClient"])
def classify(request: pytest.FixtureRequest, module: ModuleType) -> Callable[..., Any]:
    """`classify(transport, inputs, …)` on a subclass of either client with the page's line."""
    line = re.search(r"^\+    (classify = Endpoint\(classify\))$", PAGE.read_text(), re.MULTILINE)
    assert line is not None
    names = {"Endpoint": Endpoint, "classify": module.classify}
    exec(line[1], names)
    if request.param == "Client":
        made = type("Made", (Client,), {"classify": names["classify"]})

        def call(transport: httpx.MockTransport, *args: Any, **kwargs: Any) -> Any:
            with made("http://server", http_client=httpx.Client(transport=transport)) as client:
                return client.classify(*args, **kwargs)

        return call
    made = type("Made", (AsyncClient,), {"classify": names["classify"]})

    def call_async(transport: httpx.MockTransport, *args: Any, **kwargs: Any) -> Any:
        async def main() -> Any:
            http = httpx.AsyncClient(transport=transport)
            async with http, made("http://server", http_client=http) as client:
                return await client.classify(*args, **kwargs)

        return anyio.run(main)

    return call_async


def test_every_text_has_its_class(classify: Call) -> None:
    found = classify(server(), ["good", "bad", "bad"])
    assert found.labels == ("yes", "no", "no")
    np.testing.assert_array_equal(found.probs, np.float32([[0.1, 0.9], [0.75, 0.25], [0.75, 0.25]]))
    assert (found.model, found.usage.prompt_tokens, found.warnings) == ("m", 9, ())


def test_no_text_makes_no_request(classify: Call) -> None:
    def fail(_: httpx.Request) -> httpx.Response:
        raise AssertionError("a request was made")

    found = classify(httpx.MockTransport(fail), [])
    assert (len(found), found.probs.shape) == (0, (0, 0))


def test_the_one_bad_text_is_found(classify: Call) -> None:
    with pytest.raises(PartialFailureError) as caught:
        classify(server(refused="so-so"), ["good", "so-so", "bad"])
    assert [place for place, _ in caught.value.failures] == [1]
    assert caught.value.results.labels == ("yes", None, "no")
    assert np.isnan(caught.value.results.probs[1]).all()


def drop(found: Any) -> None:
    found["data"].pop()


def repeat(found: Any) -> None:
    found["data"][0]["index"] = found["data"][1]["index"]


def shorten(found: Any) -> None:
    found["data"][0]["probs"].pop()


@pytest.mark.parametrize("edit", [drop, repeat, shorten])
def test_an_answer_without_one_row_a_text_is_an_error(classify: Call, edit: Call) -> None:
    with pytest.raises(ResponseError):
        classify(server(edit=edit), ["good", "bad"])


def test_the_page_shows_the_file_itself() -> None:
    file = ROOT / "vllm_modalities" / "endpoints" / "classify.py"
    assert file.read_text() == FILE


def test_the_page_counts_the_lines_of_its_file() -> None:
    told = re.search(r"`vllm_modalities/endpoints/classify.py`, (\d+) lines", PAGE.read_text())
    assert told is not None
    assert int(told[1]) == FILE.count("\n")


def test_the_diff_of_the_page_is_one_line_and_its_import() -> None:
    diff = re.search(r"^```diff\n(.*?)^```", PAGE.read_text(), re.DOTALL | re.MULTILINE)
    assert diff is not None
    lines = diff[1].splitlines()
    added = [line.removeprefix("+").strip() for line in lines if line.startswith("+")]
    assert added == ["from .endpoints.classify import classify", "classify = Endpoint(classify)"]
    assert not any(line.startswith("-") for line in lines)
    client = (ROOT / "vllm_modalities" / "client.py").read_text()
    kept = [line[1:] for line in lines if line.startswith(" ")]
    assert [line for line in kept if line not in client.splitlines()] == []
