"""Progress of long calls: told to a function of the caller's, or drawn as a bar."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeAlias

from ._inputs import invalid
from ._theirs import theirs

Progress: TypeAlias = bool | Callable[[int, int | None], object] | None
"""True draws a bar; a function is called with how much is done and how much there is, if known."""


@contextmanager
def told(progress: Progress, total: int | None, *, of: str) -> Iterator[Callable[[int], None]]:
    """What is called with how much more is done, one call at a time.

    What is not told as done when all went well has failed, which is done too.

    Args:
        progress: The caller's argument.
        total: How much there is; None if that is not known.
        of: What is counted, such as `"texts"`.

    Raises:
        ImportError: A bar is asked for, and rich is not installed.
    """
    if not progress:
        yield lambda _: None
    elif callable(progress):
        with _counting(progress, total) as more:
            yield more
    elif progress is True:
        with _bar(total, of) as draw, _counting(draw, total) as more:
            yield more
    else:
        raise invalid("progress", f"progress must be True or a function, got {progress!r}")


@contextmanager
def _counting(
    tell: Callable[[int, int | None], object], total: int | None
) -> Iterator[Callable[[int], None]]:
    done, lock = 0, threading.Lock()

    def more(count: int) -> None:
        nonlocal done
        with lock:
            done += count
            with theirs():
                tell(done, total)

    yield more
    if total is not None and done < total:
        tell(total, total)


def pace(speed: float | None) -> str:
    """So many a second in words; a minute where that is easier to read."""
    if speed is None:
        return ""
    return f"{speed:,.0f} a second" if speed >= 10 else f"{60 * speed:,.0f} a minute"


@contextmanager
def _bar(total: int | None, of: str) -> Iterator[Callable[[int, int | None], None]]:
    try:
        from rich.progress import (
            BarColumn,
            MofNCompleteColumn,
            Progress,
            ProgressColumn,
            Task,
            TextColumn,
            TimeElapsedColumn,
            TimeRemainingColumn,
        )
        from rich.table import Column
        from rich.text import Text
    except ImportError:
        raise ImportError(
            "progress=True draws with rich: pip install 'vllm-modalities[cli]', or pass a function"
        ) from None

    class Pace(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(pace(task.finished_speed or task.speed))

    def line() -> Column:
        return Column(no_wrap=True)  # so that the bar alone gets shorter, on a narrow terminal

    columns = (
        *(TextColumn("{task.description}", table_column=line()), BarColumn()),
        *(MofNCompleteColumn(table_column=line()), Pace(line())),
        *(TimeElapsedColumn(line()), TimeRemainingColumn(table_column=line())),
    )
    with Progress(*columns) as bars:
        bar = bars.add_task(of, total=total)
        yield lambda done, _: bars.update(bar, completed=done)
