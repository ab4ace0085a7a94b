"""Errors of the caller's own code, such as `progress=`, which are no outcome of a request.

Their code may well use a client too; an error of ours that it lets through would be taken for that
of a server: asked again, noted for one of many items, or never seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .errors import VLLMModalitiesError


class CallerError(Exception):
    """Carries such an error past all that looks for ours."""

    def __init__(self, error: VLLMModalitiesError) -> None:
        super().__init__(str(error))
        self.error = error


@contextmanager
def theirs() -> Iterator[None]:
    """Code of the caller's runs here, in a flow or beside it."""
    try:
        yield
    except VLLMModalitiesError as error:
        raise CallerError(error) from error


@contextmanager
def handed_back() -> Iterator[None]:
    """A whole call runs here, and the caller gets the error that was raised."""
    try:
        yield
    except CallerError as carrier:
        error = carrier.error
    else:
        return
    raise error  # out here, so that its context is what it was
