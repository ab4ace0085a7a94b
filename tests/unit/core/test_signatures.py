"""Both clients are one surface, and every public name is documented."""

import inspect
import re
from collections.abc import AsyncIterator, Iterator

import pytest

import vllm_modalities
from vllm_modalities import AsyncClient, Client

LIFECYCLE = {"close", "from_openai", "with_options"}
STREAMS = ["embed_iter", "ocr_iter", "realtime_transcription", "stream_transcription"]
METHODS = sorted(
    name
    for name in dir(Client)
    if not name.startswith("_") and callable(getattr(Client, name)) and name not in LIFECYCLE
)


def test_both_clients_have_the_same_public_names() -> None:
    def names(kind: type) -> set[str]:
        return {name for name in dir(kind) if not name.startswith("_")}

    assert names(Client) == names(AsyncClient)
    assert {"embed", "rerank", "servers", "send"} <= set(METHODS)


@pytest.mark.parametrize("name", [*METHODS, "from_openai", "with_options", "__init__"])
def test_a_method_has_one_signature_in_both_clients(name) -> None:
    blocking, awaited = getattr(Client, name), getattr(AsyncClient, name)
    same = inspect.signature(awaited)
    if name in STREAMS:
        same = same.replace(return_annotation=same.return_annotation.removeprefix("Async"))
    assert inspect.signature(blocking) == same
    assert blocking.__annotations__ | {"return": 0} == awaited.__annotations__ | {"return": 0}
    assert inspect.getdoc(blocking) == inspect.getdoc(awaited)


@pytest.mark.parametrize("name", METHODS)
def test_a_method_is_blocking_in_one_client_and_a_coroutine_in_the_other(name) -> None:
    assert not inspect.iscoroutinefunction(getattr(Client, name))
    assert inspect.iscoroutinefunction(getattr(AsyncClient, name)) == (name not in STREAMS)


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_an_iterator_in_one_client_and_an_async_one_in_the_other(name) -> None:
    assert isinstance(getattr(Client("http://server"), name)([]), Iterator)
    assert isinstance(getattr(AsyncClient("http://server"), name)([]), AsyncIterator)


@pytest.mark.parametrize("kind", [Client, AsyncClient])
@pytest.mark.parametrize("name", METHODS)
def test_a_method_shows_its_own_name_docs_and_result(kind, name) -> None:
    method = getattr(kind, name)
    signature = inspect.signature(method)
    assert (method.__name__, inspect.getdoc(method) is None) == (name, False)
    assert "context" not in signature.parameters
    assert "Flow" not in str(signature.return_annotation)
    assert method.__annotations__["return"] == signature.return_annotation
    results = re.sub(
        r"(tuple|(Async)?Iterator|(Async)?TextStream)\[", "", str(signature.return_annotation)
    )
    results = results.split(",")[0].strip("]")
    assert inspect.isclass(getattr(vllm_modalities, results))


@pytest.mark.parametrize("name", METHODS)
def test_only_subjects_are_positional(name) -> None:
    parameters = list(inspect.signature(getattr(Client, name)).parameters.values())[1:]
    optional = [p for p in parameters if p.default is not p.empty]
    assert all(p.kind is p.KEYWORD_ONLY for p in optional)
    assert not any(p.kind is p.VAR_KEYWORD for p in parameters)


@pytest.mark.parametrize("name", METHODS)
def test_every_argument_is_explained(name) -> None:
    docs = inspect.getdoc(getattr(Client, name))
    for parameter in list(inspect.signature(getattr(Client, name)).parameters)[1:]:
        assert parameter in docs


def test_every_argument_of_the_constructor_is_explained() -> None:
    for parameter in list(inspect.signature(Client.__init__).parameters)[1:]:
        assert f"{parameter}:" in inspect.getdoc(Client)


def test_a_wrong_argument_is_a_type_error_at_once() -> None:
    with pytest.raises(TypeError, match="dimension"):
        Client("http://server").embed("a", dimension=3)


def test_all_is_sorted_and_complete() -> None:
    names = vllm_modalities.__all__
    assert names == sorted(set(names))
    public = {
        name
        for name, value in vars(vllm_modalities).items()
        if not name.startswith("_") and not inspect.ismodule(value)
    }
    # What the module needs to find its names; `dir` and `import *` show the public ones alone.
    assert public - {"annotations", "Any", "TYPE_CHECKING"} <= set(names)


@pytest.mark.parametrize("name", vllm_modalities.__all__)
def test_every_public_name_exists_and_says_what_it_is(name) -> None:
    value = getattr(vllm_modalities, name)
    assert value.__doc__
    assert not value.__doc__.startswith(f"{name}(")  # a dataclass's own makeshift
