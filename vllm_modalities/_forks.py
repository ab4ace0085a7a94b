"""What a forked process makes anew: over its parent's connections come its parent's answers."""

from __future__ import annotations

import os
from typing import Protocol
from weakref import WeakSet


class Renewable(Protocol):
    def renew(self) -> None:
        """Forget what is under way, which goes on in the parent, and what it locked."""
        ...


_ALL: WeakSet[Renewable] = WeakSet()


def renewed_in_children(one: Renewable) -> None:
    """Have `one` renewed in every process that is forked from this one, while it lives."""
    _ALL.add(one)


def renew_all() -> None:
    for one in list(_ALL):
        one.renew()


# Windows forks nothing.
getattr(os, "register_at_fork", lambda **_: None)(after_in_child=renew_all)
