"""A real browser: Debian's `chromium`, which `nox -s browser` installs where it is missing."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--shots", help="a folder that keeps the screenshots")
