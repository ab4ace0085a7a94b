"""`from_openai` takes over an openai client's settings; tests/integrations has a real one."""

from types import SimpleNamespace
from typing import get_type_hints

import httpx
import pytest

from vllm_modalities import AsyncClient, Client, InvalidRequestError
from vllm_modalities._moving import ClientOptions, settings

KEY = "sk-the-very-secret-key"


def openai(**changed):
    """What an `openai.OpenAI` shows of itself."""
    headers = {
        "Accept": "application/json",
        "User-Agent": "OpenAI/Python 3.57.0",
        "X-Stainless-Lang": "python",
        "OpenAI-Organization": object(),
        "X-Team": "search",
    }
    shown = {
        "base_url": httpx.URL("http://gpu1:8000/v1/"),
        "api_key": KEY,
        "default_headers": headers,
        "timeout": httpx.Timeout(30, connect=5),
        "max_retries": 4,
        "default_query": {},
    }
    return SimpleNamespace(**{**shown, **changed})


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_address_headers_and_limits_are_taken_over(kind) -> None:
    client = kind.from_openai(openai())
    assert repr(client) == f"{kind.__name__}('http://gpu1:8000')"
    options = client._options
    assert (options.timeout, options.max_retries) == (30, 4)
    assert options.headers == {"X-Team": "search"}


def test_arguments_go_before_what_is_taken_over_and_headers_are_added() -> None:
    client = Client.from_openai(
        openai(), base_url=["http://a", "http://b"], timeout=7, headers={"X-More": "1"}, model="m"
    )
    assert repr(client) == "Client('http://a', 'http://b')"
    options = client._options
    assert (options.timeout, options.max_retries, options.model) == (7, 4, "m")
    assert options.headers == {"X-Team": "search", "X-More": "1"}


@pytest.mark.parametrize(("theirs", "ours"), [(9.5, 9.5), (None, 600), (httpx.Timeout(None), 600)])
def test_a_timeout_of_any_kind_becomes_a_bound(theirs, ours) -> None:
    assert Client.from_openai(openai(timeout=theirs))._options.timeout == ours


def test_the_function_that_gives_the_key_is_taken_over() -> None:
    given = openai(api_key="", _api_key_provider=lambda: KEY)
    assert settings(given)["api_key"]() == KEY
    assert settings(openai())["api_key"] == KEY
    assert settings(openai(api_key=""))["api_key"] is None


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_no_repr_shows_the_key(kind) -> None:
    client = kind.from_openai(openai(default_headers={"X-Key": KEY}))
    assert KEY not in " ".join(f"{one!r} {one}" for one in (client, *vars(client).values()))


@pytest.mark.parametrize("wrong", ["http://gpu1:8000", None, SimpleNamespace(api_key=KEY)])
def test_what_is_no_openai_client_is_named(wrong) -> None:
    with pytest.raises(InvalidRequestError, match=f"a {type(wrong).__name__} has no") as caught:
        Client.from_openai(wrong)
    assert KEY not in str(caught.value)


def test_a_query_behind_each_url_is_refused() -> None:
    with pytest.raises(InvalidRequestError, match="default_query"):
        Client.from_openai(openai(default_query={"api-version": "1"}))


@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_the_options_are_the_arguments_of_the_clients(kind) -> None:
    hints = get_type_hints(kind.__init__)
    del hints["return"]
    assert get_type_hints(ClientOptions) == hints
