"""Servers that a command's client reaches without a socket."""

import importlib
from collections.abc import Callable

import httpx
import pytest
from _script import FakeVLLM, mock_transport

from vllm_modalities import Client


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, FakeVLLM], FakeVLLM]:
    """Puts a server before the command of that name, and gives it back."""

    def put(command: str, fake: FakeVLLM) -> FakeVLLM:
        http = httpx.Client(transport=mock_transport(fake))

        def client(url: str | None) -> Client:
            return Client(url or "http://server", max_retries=0, http_client=http)

        # By its name, since the package has the function's.
        module = importlib.import_module(f"vllm_modalities.cli.{command}")
        monkeypatch.setattr(module, "Client", client)
        return fake

    return put
