"""The files that a command's arguments mean: files, folders with all below them, and patterns."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from glob import glob, has_magic
from pathlib import Path

from ._ending import WrongUsage


def files_of(arguments: Iterable[str], kinds: frozenset[str], *, what: str) -> list[Path]:
    """Each file once, in the order of the arguments, those of a folder or a pattern by name.

    Args:
        kinds: Endings of the files that a folder is asked for, in small letters; a file that is
            named, or fits a pattern, is taken whatever its ending.
        what: Such a file, for people.

    Raises:
        WrongUsage: An argument means no file.
    """
    found: dict[Path, None] = {}
    for argument in arguments:
        files = dict.fromkeys(_files(argument, kinds, what))
        if not files:
            raise WrongUsage(f"{argument}: no file fits it")
        found |= files
    return list(found)


def _files(argument: str, kinds: frozenset[str], what: str) -> Iterator[Path]:
    path = Path(argument)
    if path.is_dir():
        below = sorted(path.rglob("*"))
        inside = [one for one in below if one.suffix.lower() in kinds and one.is_file()]
        if not inside:
            raise WrongUsage(f"{argument}: there is no {what} in it")
        yield from inside
    elif path.exists():  # its name may well look like a pattern
        yield path
    elif has_magic(argument):
        # A pattern may begin anywhere, and so has no folder to look in.
        matches = map(Path, sorted(glob(argument, recursive=True)))  # noqa: PTH207
        yield from (match for match in matches if match.is_file())
    else:
        raise WrongUsage(f"{argument}: no such file or folder")
