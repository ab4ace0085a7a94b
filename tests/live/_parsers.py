"""The real parser of `vllm serve`, asked in a release's own Python."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from vllm_modalities._rig import provision
from vllm_modalities._rig.commands import process_environment

PROGRAM = """
import argparse, importlib, json, sys
try:
    module = importlib.import_module("vllm.entrypoints.launchers.cli_args")
    module.make_arg_parser
except (ImportError, AttributeError):
    module = importlib.import_module("vllm.entrypoints.openai.cli_args")
from vllm.utils.argparse_utils import FlexibleArgumentParser

class Refusal(Exception):
    pass

class Parser(FlexibleArgumentParser):
    def error(self, message):
        raise Refusal(message)

def parse(words):
    try:
        args = parser.parse_args(words)
        module.validate_parsed_serve_args(args)
    except Exception as error:
        return str(error)
    return None

parser = module.make_arg_parser(Parser())
if sys.argv[1] == "parse":
    found = [parse(words) for words in json.load(sys.stdin)]
else:
    found = {
        name: {
            "takes": 0 if action.nargs == 0 else action.nargs or 1,
            "choices": action.choices and sorted(map(str, action.choices)),
        }
        for action in parser._actions
        for name in action.option_strings
    }
print("FOUND" + json.dumps(found))
"""


def options(release: str) -> dict[str, dict[str, Any]]:
    """What each option of a release takes."""
    return _ask(release, "options", "")


def refusals(release: str, commands: Sequence[Sequence[str]], folder: Path) -> list[str | None]:
    """What the parser of a release says of each command's words after `vllm serve`, or None."""
    return _ask(release, "parse", json.dumps([list(command) for command in commands]), folder)


def _ask(release: str, what: str, text: str, folder: Path | None = None) -> Any:
    python = provision(release)
    environment = process_environment({"VLLM_NO_USAGE_STATS": "1", "HF_HUB_OFFLINE": "1"})
    done = subprocess.run(
        [str(python), "-c", PROGRAM, what],
        input=text,
        capture_output=True,
        text=True,
        env=environment,
        check=False,
        cwd=folder,
    )
    found = [line for line in done.stdout.splitlines() if line.startswith("FOUND")]
    assert found, done.stderr[-2000:]
    return json.loads(found[-1].removeprefix("FOUND"))
