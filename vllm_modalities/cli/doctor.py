"""`vllm-modalities doctor`: servers examined with evidence, for eyes, for CI and as a memo."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.text import Text

from .. import Client
from .._printable import printable
from ..errors import ServerDefectWarning
from ..serving import Examined
from ..serving import doctor as examine
from ._shown import AsJSON, BaseURL, Urls, console, print_json, print_table, servers_of


def doctor(
    urls: Urls = None,
    base_url: BaseURL = None,
    json_: AsJSON = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="Print a memo to keep with the service.")
    ] = False,
) -> None:
    """Examine servers: what their releases get wrong, and what their answers show.

    What is sent is announced before it is sent, and no more than that is sent. The exit status is
    1 where anything is wrong with them.

    Example: `vllm-modalities doctor http://gpu1:8000 --markdown > memo.md`
    """
    told = console(stderr=True)
    with Client(servers_of(urls, base_url)) as client:
        report = examine(
            client, announce=lambda line: told.print(Text(printable(line)), style="dim")
        )
    if json_:
        print_json(report.to_dict())
    elif markdown:
        typer.echo(printable(report.to_markdown()))
    else:
        for one in report:
            _show(one)
    if not report.ok:
        raise typer.Exit(1)


def _show(one: Examined) -> None:
    out, server = console(), one.server
    head = f"{server.url}: vLLM {server.version or 'of an unknown release'}, {one.model}"
    out.print(Text(printable(f"{head} ({one.family})"), style="bold"))
    rows = [
        (check.name, check.status, f"{check.evidence}{f'. {check.cure}' if check.cure else ''}")
        for check in one.checks
    ]
    print_table(("check", "", "evidence, and what to do"), rows)
    defects = [gate for gate in one.gates if gate.warns is ServerDefectWarning]
    for gate in defects:
        out.print(Text(printable(f"wrong on this release: {gate.message}"), style="yellow"))
    others = len(one.gates) - len(defects)
    out.print(Text(f"{others} more rows of this release: --markdown lists them", style="dim"))
