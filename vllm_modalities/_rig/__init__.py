"""Real vLLM servers on this machine's own CPU, for the live tests and the demo command."""

from __future__ import annotations

from .commands import Report, RigError
from .environment import provision
from .releases import RELEASES
from .rig import Rig, Running, running
from .servers import SERVERS, Spec

__all__ = [
    "RELEASES",
    "SERVERS",
    "Report",
    "Rig",
    "RigError",
    "Running",
    "Spec",
    "provision",
    "running",
]
