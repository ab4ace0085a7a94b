"""`vllm-modalities probe`: which routes of each server are live, and what its limits are."""

from __future__ import annotations

from typing import Any

import typer
from rich.text import Text

from .. import Client
from .._printable import printable
from ..serving import Probed
from ..serving import probe as ask
from ._shown import AsJSON, BaseURL, Urls, console, print_json, print_table, servers_of


def probe(urls: Urls = None, base_url: BaseURL = None, json_: AsJSON = False) -> None:
    """Ask each server which routes it has, which costs it nothing, and show its limits.

    The exit status is 1 where a server does not answer.

    Example: `vllm-modalities probe http://gpu1:8000 http://gpu2:8000`
    """
    with Client(servers_of(urls, base_url)) as client:
        found = ask(client)
    if json_:
        print_json([_values(one) for one in found])
    else:
        for one in found:
            _show(one)
    if not all(one.server.healthy for one in found):
        raise typer.Exit(1)


def _values(one: Probed) -> dict[str, Any]:
    return {
        "url": one.server.url,
        "healthy": one.server.healthy,
        "version": one.server.version,
        "models": [model.id for model in one.server.models],
        "tasks": sorted(one.server.tasks),
        "routes": {route.path: route.status for route in one.routes},
        "limits": dict(one.limits),
    }


def _show(one: Probed) -> None:
    out, server = console(), one.server
    if not server.healthy:
        out.print(Text(f"{server.url}: no answer", style="red"))
        return
    models = ", ".join(model.id for model in server.models) or "no model"
    head = f"{server.url}: vLLM {server.version or 'of an unknown release'}, {models}"
    out.print(Text(printable(head), style="bold"))
    rows = [
        (route.path, str(route.status or "no answer"), ", ".join(route.tasks) if route.live else "")
        for route in one.routes
    ]
    print_table(("route", "GET", "does"), sorted(rows, key=lambda row: not row[2]))
    if one.limits:
        print_table(("limit of", "at most"), list(one.limits.items()))
