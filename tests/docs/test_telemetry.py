"""The page on telemetry does what it says, with a simulated server."""

import logging
import re
from collections.abc import Iterator

import pytest
from docs._pages import ROOT, blocks, run
from unit.telemetry.test_calls import known

from vllm_modalities.simulator import simulate

PAGE = ROOT / "docs" / "telemetry.md"


@pytest.fixture
def loggers() -> Iterator[None]:
    """The page turns the log on."""
    root, ours = logging.getLogger(), logging.getLogger("vllm_modalities")
    before = list(root.handlers)
    yield
    ours.setLevel(logging.NOTSET)
    root.handlers[:] = before


@pytest.mark.usefixtures("loggers")
def test_the_blocks_do_what_they_say() -> None:
    with simulate(tasks=["embed"]) as servers:
        rewrite = {r'"http://localhost:8000"': repr(servers["embed"])}
        namespace: dict[str, object] = {}
        assert sum(run(block, namespace, rewrite) for block in blocks(PAGE)) >= 6
        namespace["client"].close()


def test_every_name_that_it_gives_is_one_of_the_conventions() -> None:
    text = PAGE.read_text("utf-8")
    named = set(re.findall(r"`((?:gen_ai|http|url|server|error)\.[\w.-]+)`", text))
    metrics = {"gen_ai.client.operation.duration", "gen_ai.client.token.usage"}
    assert len(named) > 15
    assert named - known() - metrics == {"http.response.header.x-request-id"}
