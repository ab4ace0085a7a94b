"""What a job has in its folder: its own journal, a journal a shard under way, finished shards.

A shard is finished when the job's journal says so, which it does once the shard's file is there; so
a kill between any two steps leaves what the next run goes on from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Self

from pyarrow import parquet

from .._inputs import invalid
from .._journal import Journal
from ._shards import Failed, Shard, paths, tidy
from ._tables import JOURNAL, is_job

FAILED = "_failed.jsonl"


class State:
    """One job's folder, which no other process uses meanwhile.

    Attributes:
        under_way: Shards that are begun and not finished, by number.
    """

    def __init__(self, folder: Path, identity: Mapping[str, Any], rows: int, size: int) -> None:
        """Begin the job in `folder`, or go on with it.

        Args:
            folder: Empty, not there yet, or this job's.
            identity: What tells the job from others.
            rows: Of the input.
            size: Rows of a shard.

        Raises:
            InvalidRequestError: The folder is another job's, in use, or no job's at all.
        """
        self._folder, self._rows, self._size = folder, rows, size
        self.under_way: dict[int, Shard] = {}
        with ExitStack() as files:
            self._journal = files.enter_context(_journal_in(folder))
            others = self._others(json.loads(json.dumps(identity, default=repr)))
            if others:
                raise invalid(
                    "out",
                    f"{folder} holds another job: {'; '.join(others)}. Go on with it as it was"
                    " begun, or give another folder",
                )
            files.pop_all()

    def _others(self, asked: dict[str, Any]) -> list[str]:
        """In what the job differs from the one in the folder."""
        known = self._journal.get("job")
        if known is None:
            self._journal.put("job", asked)
            return []
        return [
            _changed(known["input"], asked["input"])
            if name == "input"
            else f"{name} was {known.get(name)!r} and is {asked.get(name)!r}"
            for name in {**known, **asked}
            if known.get(name) != asked.get(name)
        ]

    def shard(self, number: int) -> Shard | None:
        """The shard of that number, at work; None if it is finished."""
        known = self.under_way.get(number)  # once, since another thread may finish it
        if known is not None or self._is_finished(number):
            return known
        first = number * self._size
        shard = Shard(self._folder, number, first, min(self._size, self._rows - first))
        self.under_way[number] = shard
        if shard.settled.all():  # killed before its file was there
            self.finish(number)
            return None
        return shard

    def _is_finished(self, number: int) -> bool:
        """Whether the journal has the shard as finished, and its file is still there."""
        file, _ = paths(self._folder, number)
        known = self._journal.get(file.stem)
        if known is None or (known["rows"] and not file.exists()):
            return False
        tidy(self._folder, number)  # killed before it was
        return True

    def finish(self, number: int) -> None:
        """Write the file of a shard whose rows are all settled, and do without its journal."""
        shard = self.under_way[number]
        failures = shard.write()
        done = shard.count - len(failures)
        self._journal.put(shard.file.stem, {"rows": done, "failures": failures})
        shard.close()
        tidy(self._folder, number)
        del self.under_way[number]

    def write_failures(self) -> int:
        """Write the files of shards with rows to be tried again, and the one of all rows that
        failed; how many these are.
        """
        beside, count = self._folder / f"{FAILED}.new", 0
        with beside.open("w", encoding="utf-8", newline="\n") as file:
            for number in range(-(-self._rows // self._size)):
                for row, error, reason in self._failures_of(number):
                    file.write(json.dumps({"row": row, "error": error, "reason": reason}) + "\n")
                    count += 1
        if count:
            beside.replace(self._folder / FAILED)
        else:
            beside.unlink()
            (self._folder / FAILED).unlink(missing_ok=True)
        return count

    def count_partial(self, column: str | None) -> int:
        """How many rows of all files have `failures` in that column."""
        if column is None:
            return 0
        count = 0
        for number in range(-(-self._rows // self._size)):
            file, _ = paths(self._folder, number)
            if file.exists():
                with parquet.ParquetFile(file) as opened:
                    values = opened.read([f"{column}.failures"])[column].to_pylist()
                count += sum(bool(one["failures"]) for one in values)
        return count

    def _failures_of(self, number: int) -> list[Failed]:
        if number in self.under_way:
            return self.under_way[number].write()
        known = self._journal.get(paths(self._folder, number)[0].stem)
        assert known is not None
        failures: list[Failed] = known["failures"]
        return failures

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Let another process have the folder."""
        self._journal.close()
        for shard in self.under_way.values():
            shard.close()


def _changed(known: Sequence[Sequence[Any]], asked: Sequence[Sequence[Any]]) -> str:
    """A file in which two lists of files differ, that `Table.identity` gave, or their order."""
    others = [file[0] for file in [*asked, *known] if (file in asked) != (file in known)]
    what = f"{others[0]} is new, gone or changed" if others else "its files stand in another order"
    return f"the input is not what it was: {what}"


def _journal_in(folder: Path) -> Journal:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        is_ours = is_job(folder) or not any(folder.iterdir())
    except OSError as error:
        raise invalid("out", f"{folder} cannot be written to: {error.strerror}") from None
    if not is_ours:
        raise invalid("out", f"{folder} holds files that are no job's; give an empty folder")
    return Journal(folder / JOURNAL)
