"""`vllm-modalities simulate`: servers that answer as a release of vLLM was seen to."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Annotated, Any

import typer

from ._ending import WrongUsage

Wish = Annotated[str | None, typer.Option(help="The release; default: the newest one recorded.")]
Tasks = Annotated[
    list[str],
    typer.Option(help="embed, rerank, classify, embed_tokens, transcribe or ocr; may be repeated."),
]
Faults = Annotated[
    list[str] | None,
    typer.Option(
        help="What goes wrong, such as '503 retry_after=2 times=3', 'reset probability=0.1',"
        " 'delay seconds=2 path=/v1/rerank', 'cut', 'error', 'nan' or 'loop'; may be repeated."
    ),
]


def simulate(
    version: Wish = None,
    task: Tasks = ["embed"],  # noqa: B006 - typer copies it
    model: Annotated[str | None, typer.Option(help="Name of what the first task serves.")] = None,
    port: Annotated[
        int, typer.Option(help="Of the first server, the others follow; 0: free ones.")
    ] = 8000,
    width: Annotated[int | None, typer.Option(help="Numbers of its vectors.")] = None,
    max_model_len: Annotated[int | None, typer.Option(help="Tokens that it reads.")] = None,
    matryoshka: Annotated[bool, typer.Option(help="It can shorten its vectors.")] = False,
    api_key: Annotated[str | None, typer.Option(help="What it asks for.")] = None,
    slots: Annotated[int | None, typer.Option(help="Requests worked on at once.")] = None,
    seconds_per_request: Annotated[float, typer.Option(help="What each takes.")] = 0.0,
    seconds_per_token: Annotated[float, typer.Option(help="What each token takes.")] = 0.0,
    fail: Faults = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON, for machines.")] = False,
) -> None:
    """Serve what a release of vLLM was seen to answer, until it is interrupted.

    Each task gets a server of its own, on a port of its own. It needs the extra `simulator`.

    Example: `vllm-modalities simulate --version 0.32.0 --task embed --task rerank --port 8000`
    """
    settings: dict[str, Any] = {
        "model": model,
        "width": width,
        "max_model_len": max_model_len,
        "matryoshka": matryoshka or None,
        "api_key": api_key,
    }
    pace: dict[str, Any] = {
        "slots": slots,
        "seconds_per_request": seconds_per_request,
        "seconds_per_token": seconds_per_token,
    }
    try:
        from ..simulator import Served
        from ..simulator import simulate as serving

        first = Served(task=task[0], **settings)
        with (
            serving(version=version, tasks=[first, *task[1:]], port=port, **pace) as simulator,
            _until_interrupted(),
        ):
            for text in fail or ():
                simulator.fail_as(text)
            _tell(simulator.version, {name: simulator[name] for name in task}, as_json=as_json)
            _wait()
    except ValueError as error:
        raise WrongUsage(str(error)) from None


def _tell(version: str, urls: dict[str, str], *, as_json: bool) -> None:
    if as_json:
        typer.echo(json.dumps({"version": version, "urls": urls}))
        return
    for name, url in urls.items():
        typer.echo(f"vLLM {version}, simulated, {name}: {url}")


@contextmanager
def _until_interrupted() -> Iterator[None]:
    """Ctrl-C or SIGTERM is a good end; from before anybody is told that there is a server."""
    numbers = signal.SIGINT, signal.SIGTERM
    before = [signal.signal(number, signal.default_int_handler) for number in numbers]
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in zip(numbers, before, strict=True):
            signal.signal(number, handler)


def _wait() -> None:
    while True:
        time.sleep(3600)
