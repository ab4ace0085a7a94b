"""The operator's side: how a model is served, what is wrong with a command, and with a server."""

from __future__ import annotations

from ._check import check_command, correct_command
from ._command import ServeCommand
from ._doctor import doctor
from ._part import Note
from ._probe import Probed, Route, probe
from ._recipe import recipe
from ._report import Check, Examined, Report

__all__ = [
    "Check",
    "Examined",
    "Note",
    "Probed",
    "Report",
    "Route",
    "ServeCommand",
    "check_command",
    "correct_command",
    "doctor",
    "probe",
    "recipe",
]
