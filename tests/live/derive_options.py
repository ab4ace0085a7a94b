"""Prints vllm_modalities/serving/options.json: what `vllm serve` of each release takes.

    PYTHONPATH=.:tests python -m live.derive_options > vllm_modalities/serving/options.json

Names, releases and choices are those of tests/unit/serving/serve_flags.json, which lists the
parsers of sixteen releases; whether an option takes a value is asked of releases of the rig.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from live._parsers import options

FLAGS = Path(__file__).parents[1] / "unit" / "serving" / "serve_flags.json"
ASKED = ("0.20.2", "0.26.0", "0.30.0", "0.32.0")


def derived() -> dict[str, Any]:
    """Releases; by option: first release, the first without it, what it takes; and choices."""
    flags = json.loads(FLAGS.read_text())
    releases, listed = flags["releases"], flags["options"]
    takes = {}
    for release in ASKED:
        takes |= {name: found["takes"] for name, found in options(release).items()}
    rows, choices = {}, {}
    for name, found in sorted(listed.items()):
        gone = releases.index(found["last"]) + 1
        bare = name.removeprefix("--no-").removeprefix("--")
        switch = {f"--{bare}", f"--no-{bare}"} <= set(listed)
        rows[name] = [
            found["first"],
            releases[gone] if gone < len(releases) else None,
            takes.get(name, 0 if switch else 1),
        ]
        if found.get("choices"):
            choices[name] = found["choices"]
    return {"releases": releases, "options": rows, "choices": choices}


if __name__ == "__main__":
    print(json.dumps(derived(), separators=(",", ":")))
