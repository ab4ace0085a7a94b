"""The cache folder, and the one way into it: built once a machine, whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from .commands import Report, RigError

MARKER = ".complete"


def cache_folder() -> Path:
    """Where the rig keeps environments, wheels and models.

    `$VLLM_MODALITIES_CACHE`, else `vllm-modalities` in `$XDG_CACHE_HOME` or in `~/.cache`.
    """
    if chosen := os.environ.get("VLLM_MODALITIES_CACHE"):
        return Path(chosen).expanduser().absolute()
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    # The XDG specification has a relative path ignored.
    return (shared if shared.is_absolute() else Path.home() / ".cache") / "vllm-modalities"


def keep_private(folder: Path) -> None:
    """Make `folder` for this user alone, if it is not there: what is kept in it is run.

    Raises:
        RigError: It belongs to another user but root, or anybody may write in it.
    """
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    found = folder.stat()
    if found.st_uid not in (os.geteuid(), 0) or found.st_mode & stat.S_IWOTH:
        raise RigError(
            f"other users can write in {folder}, and what is kept there is run; set"
            " VLLM_MODALITIES_CACHE to a folder of your own"
        )


def fingerprint(*ingredients: str | bytes) -> str:
    """A short name for a recipe, that changes when any of its ingredients does."""
    digest = hashlib.sha256()
    for ingredient in ingredients:
        raw = ingredient if isinstance(ingredient, bytes) else ingredient.encode()
        digest.update(len(raw).to_bytes(8, "little") + raw)
    return digest.hexdigest()[:16]


def built_once(folder: Path, build: Callable[[Path], None], *, recipe: str, report: Report) -> Path:
    """`folder`, as `build` left it the last time that it succeeded with this `recipe`.

    The marker is written last and holds the recipe: a folder whose builder was killed, or whose
    recipe has changed since, is emptied and built again. Of two builders the second waits.

    Raises:
        RigError: Others can write in the cache folder.
    """
    keep_private(cache_folder())
    if is_built(folder, recipe):
        return folder
    with locked(folder.with_name(f"{folder.name}.lock"), report):
        if not is_built(folder, recipe):
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            build(folder)
            (folder / MARKER).write_text(recipe)
    return folder


def is_built(folder: Path, recipe: str) -> bool:
    """Whether `folder` was finished, by this very recipe."""
    try:
        return (folder / MARKER).read_text() == recipe
    except OSError:
        return False


@contextmanager
def locked(lock: Path, report: Report) -> Iterator[None]:
    """Holds an advisory lock on the file `lock`; the kernel lets go of it if this process dies."""
    import fcntl  # absent on Windows, where this module must still be importable

    lock.parent.mkdir(parents=True, exist_ok=True)
    with lock.open("w") as held:
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            report(f"waiting for another process that builds {lock.stem}")
            fcntl.flock(held, fcntl.LOCK_EX)
        yield
