"""A client goes to other processes, and results come back from them."""

import copy
import inspect
import multiprocessing
import pickle
from concurrent.futures import ProcessPoolExecutor
from functools import partial

import anyio
import httpx
import numpy as np
import pytest

from vllm_modalities import AsyncClient, Client, Profile
from vllm_modalities.simulator import simulate

SETTINGS = {
    "base_url": {"embed": ["http://a", "http://b"], "rerank": "http://c"},
    "api_key": "key",
    "model": "m",
    "server_version": "0.31.0",
    "validation": "warn",
    "timeout": 7.0,
    "deadline": 8.0,
    "max_retries": 5,
    "max_concurrency": 9,
    "transport": "float",
    "profiles": (Profile(name="mine", pattern="mine"),),
    "headers": {"X-Team": "search"},
    "keep_raw": True,
}
KINDS = [Client, AsyncClient]


def state(client: Client | AsyncClient) -> tuple[object, ...]:
    """All that two clients of the same settings have in common."""
    fleet = client._fleet
    servers = [(replica.url, replica.tasks, replica.headers) for replica in fleet.replicas]
    key = client._driver.transport._api_key
    return servers, fleet.profiles, fleet.version, client._options, client._max_concurrency, key


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("copied", [lambda one: pickle.loads(pickle.dumps(one)), copy.deepcopy])
def test_a_copy_has_every_setting_and_connections_of_its_own(kind, copied) -> None:
    assert set(SETTINGS) == set(inspect.signature(kind).parameters) - {"http_client"}
    for client in (kind(**SETTINGS), kind(**SETTINGS).with_options(timeout=3.0, model="other")):
        other = copied(client)
        assert type(other) is kind
        assert state(other) == state(client)
        assert other._driver is not client._driver


def test_the_address_goes_along_and_a_key_of_the_environment_does_not(monkeypatch) -> None:
    monkeypatch.setenv("VLLM_BASE_URL", "http://here")
    monkeypatch.setenv("VLLM_API_KEY", "sk-of-this-machine")
    written = pickle.dumps(Client())
    assert b"sk-of-this-machine" not in written
    monkeypatch.setenv("VLLM_BASE_URL", "http://there")
    monkeypatch.setenv("VLLM_API_KEY", "sk-of-that-machine")
    there = pickle.loads(written)
    assert repr(there) == "Client('http://here')"
    assert there._driver.transport._api_key == "sk-of-that-machine"


@pytest.mark.parametrize(
    ("kind", "library"), [(Client, httpx.Client), (AsyncClient, httpx.AsyncClient)]
)
def test_what_cannot_go_along_is_named(kind, library) -> None:
    with pytest.raises(TypeError, match="with an http_client cannot be pickled: make one there"):
        pickle.dumps(kind(http_client=library()))


def test_a_pool_of_processes_embeds() -> None:
    texts = [f"text {number}" for number in range(6)]
    spawned = multiprocessing.get_context("spawn")
    with simulate(tasks=["embed"]) as servers, Client(servers["embed"]) as client:
        expected = client.embed(texts)
        with ProcessPoolExecutor(2, mp_context=spawned) as pool:
            found = list(pool.map(client.embed, texts))
    assert np.allclose(np.concatenate([one.vectors for one in found]), expected.vectors)
    assert {one.model for one in found} == {expected.model}


def test_an_async_client_embeds_where_it_arrives() -> None:
    with simulate(tasks=["embed"]) as servers:
        there = pickle.loads(pickle.dumps(AsyncClient(servers["embed"])))
        assert anyio.run(partial(there.embed, "a text")).vectors.shape[0] == 1
        anyio.run(there.close)
