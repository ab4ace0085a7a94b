"""Rerankers: kind, range of scores, template and instruction of each family."""

from __future__ import annotations

from ._profile import Profile

RERANKERS: tuple[Profile, ...] = ()
