"""What a forked process makes anew: over its parent's connections come its parent's answers."""

from __future__ import annotations

import os
import threading
from typing import Any, Protocol
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


def _at_fork(**calls: Any) -> None:
    getattr(os, "register_at_fork", lambda **_: None)(**calls)  # Windows forks nothing


def not_forked_while_held(lock: threading.Lock) -> None:
    """Let a fork wait for `lock`: what another thread does under it would stay half done there."""
    _at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)


_at_fork(after_in_child=renew_all)
