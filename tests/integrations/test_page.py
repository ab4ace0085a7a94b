"""The blocks of docs/frameworks.md do what they say."""

from __future__ import annotations

from typing import Any

import pytest
from docs._pages import ROOT, blocks, run


@pytest.mark.usefixtures("ray")
def test_the_blocks_do_what_they_say(servers: Any) -> None:
    namespace: dict[str, object] = {}
    rewrite = {f"http://gpu{at}:8000": url for at, url in enumerate(servers.urls, 1)}
    found = blocks(ROOT / "docs" / "frameworks.md")
    assert sum(run(block, namespace, rewrite) for block in found) == 5
