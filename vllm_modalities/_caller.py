"""The line of the user's that made a call, for warnings to point at."""

from __future__ import annotations

import sys
import warnings
from dataclasses import dataclass
from typing import Any

PACKAGE = __name__.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Caller:
    """A line of code outside this package."""

    filename: str
    line: int
    module: str
    registry: dict[Any, int]

    def warn(self, message: str, category: type[Warning]) -> None:
        """Give a Python warning that names that line, once a line as the filters have it."""
        warnings.warn_explicit(
            message, category, self.filename, self.line, self.module, self.registry
        )


def caller() -> Caller:
    """The innermost frame outside this package."""
    frame = sys._getframe(1)  # noqa: SLF001
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__", "")):
        frame = frame.f_back
    registry = frame.f_globals.setdefault("__warningregistry__", {})
    module = frame.f_globals.get("__name__", "")
    return Caller(frame.f_code.co_filename, frame.f_lineno, module, registry)


def _is_ours(module: str) -> bool:
    return module == PACKAGE or module.startswith(f"{PACKAGE}.")
