"""The operator's side: how a model is served, what is wrong with a command, and with a server."""

from __future__ import annotations

from ._check import check_command, correct_command
from ._command import ServeCommand
from ._part import Note
from ._recipe import recipe

__all__ = ["Note", "ServeCommand", "check_command", "correct_command", "recipe"]
