"""A journal: the finished pieces of long work, in a file that is only ever added to.

A piece's key tells what was done with which bytes, so work that was killed and is begun again finds
what it has. Every line is whole or is not there: a kill can only tear the last one, which is then
dropped. Opening, reading and adding touch the disk, so flows do them in `Work`.
"""

from __future__ import annotations

import hashlib
import json
import os
import stat
import threading
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, BinaryIO, Self, TypeAlias

from ._inputs import invalid
from .errors import InvalidRequestError

JournalPath: TypeAlias = str | os.PathLike[str]

NAME, VERSION = "vllm-modalities", 1
HEADER = json.dumps({"journal": NAME, "version": VERSION}).encode() + b"\n"


def key_of(piece: bytes, model: str | None, parameters: Mapping[str, Any]) -> str:
    """What names a piece of work: its bytes, the model, and all that changes what comes of it.

    Args:
        parameters: Anything that JSON can hold; what it cannot hold counts by its repr.
    """
    asked = json.dumps([model, parameters], sort_keys=True, default=repr).encode()
    return hashlib.sha256(hashlib.sha256(piece).digest() + asked).hexdigest()


class Journal:
    """Finished pieces by key; a context manager, used by one process at a time.

    The first line is `HEADER`; each further line is `{"key": ..., "value": {...}}`.
    """

    def __init__(self, path: JournalPath) -> None:
        """Open the journal at `path`, or begin it; only its owner can read the new file.

        Raises:
            InvalidRequestError: It cannot be opened, is in use, or is no journal of this format;
                such a file is left as it is.
        """
        self._file = _opened(path)
        self._lock = threading.Lock()
        try:
            _lock_file(self._file, path)
            self._places = _places(self._file, path)
        except BaseException:
            self.close()
            raise

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[str]:
        """The keys of the finished pieces, in the order in which they were first put."""
        with self._lock:
            return iter(list(self._places))

    def get(self, key: str) -> dict[str, Any] | None:
        """What came of a piece; None if it is not finished."""
        with self._lock:
            if key not in self._places:
                return None
            self._file.seek(self._places[key])
            entry: dict[str, Any] = json.loads(self._file.readline())
        value: dict[str, Any] = entry["value"]
        return value

    def put(self, key: str, value: Mapping[str, Any]) -> None:
        """Note what came of a piece.

        Once this returns, a kill does not lose it; a power cut may lose the latest pieces.
        """
        line = json.dumps({"key": key, "value": value}).encode() + b"\n"
        with self._lock:
            place = self._file.seek(0, os.SEEK_END)
            self._file.write(line)
            self._file.flush()
            self._places[key] = place

    def close(self) -> None:
        """Let another process have it."""
        with suppress(ImportError, ValueError):  # nothing to unlock, or closed already
            import fcntl

            # A process that was forked meanwhile has the file open too, and would keep the lock.
            fcntl.flock(self._file, fcntl.LOCK_UN)
        self._file.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _opened(path: JournalPath) -> BinaryIO:
    # "a": the system itself puts what is written at the end, and nothing before it can change.
    try:
        file = open(path, "a+b", opener=lambda name, flags: os.open(name, flags, 0o600))  # noqa: SIM115
    except OSError as error:
        raise _refused(path, f"cannot be opened: {error.strerror or error}") from error
    if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
        file.close()
        raise _refused(path, "is no ordinary file")
    return file


def _lock_file(file: BinaryIO, path: JournalPath) -> None:
    """Keep others out until the file is closed, or the process has ended in whatever way."""
    try:
        try:
            import fcntl
        except ImportError:
            import msvcrt

            file.seek(0)  # its first byte; no one else can read that either
            msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)  # type: ignore[attr-defined]
        else:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        raise _refused(
            path, "is in use by another call or process; give each its own journal"
        ) from error


def _places(file: BinaryIO, path: JournalPath) -> dict[str, int]:
    """Where the line of each key begins; a torn end is cut off."""
    file.seek(0)
    first = file.readline(1000)
    if HEADER.startswith(first) and first != HEADER:  # new, or killed at its first line
        file.truncate(0)
        file.write(HEADER)
        file.flush()
        return {}
    _check_header(first, path)
    places: dict[str, int] = {}
    place = len(first)
    for line in file:
        if not line.endswith(b"\n"):
            file.truncate(place)
            break
        if key := _key(line):
            places[key] = place
        place += len(line)
    return places


def _check_header(first: bytes, path: JournalPath) -> None:
    try:
        header = json.loads(first)
    except ValueError:
        header = None
    if not isinstance(header, dict) or header.get("journal") != NAME:
        raise _refused(path, "is a file of another kind, and is left as it is; give a new path")
    if header.get("version") != VERSION:
        raise _refused(
            path,
            f"is of format {header.get('version')!r}, and this release reads {VERSION}; it is left"
            " as it is, so give a new path",
        )


def _key(line: bytes) -> str | None:
    """The key of a line; None if a failing disk left something else, whose piece is done anew."""
    try:
        entry = json.loads(line)
        return str(entry["key"]) if isinstance(entry["value"], dict) else None
    except (ValueError, TypeError, KeyError):
        return None


def _refused(path: JournalPath, why: str) -> InvalidRequestError:
    return invalid("journal", f"the journal {os.fspath(path)!r} {why}")
