"""`ServeCommand`: a command line that serves a model, the files it needs, and why it is so."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from .._inputs import at_least
from ._part import Note


@dataclass(frozen=True, slots=True)
class ServeCommand:
    """How to serve one model.

    Attributes:
        argv: The command, word by word, from `vllm serve` on.
        env: Environment variables that it needs.
        files: Files to write first, where the command is run: text by name.
        notes: Why it is so, and what else an operator should know, each with its source.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    @property
    def model(self) -> str:
        """What it serves: a name on the hub, or a folder."""
        return self.argv[2]

    def shell(self) -> str:
        """The same for a shell, an option a line; the files are written before it."""
        files = [
            f"cat > {shlex.quote(name)} <<'END'\n{text}END\n" for name, text in self.files.items()
        ]
        variables = [f"{name}={shlex.quote(value)} \\\n" for name, value in self.env.items()]
        start, *options = _lines(self.argv)
        return "".join([*files, *variables, " \\\n  ".join([start, *options])])

    def write(self, folder: str | Path) -> Path:
        """Write the files and `serve.sh`, which runs the command beside them; its path."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in self.files.items():
            (folder / name).write_text(text, "utf-8", newline="\n")
        script = folder / "serve.sh"
        head = '#!/bin/sh\nset -e\ncd "$(dirname "$0")"\n'
        # Written on Windows, they may well be for another system, whose shell takes no "\r".
        text = f"{head}{replace(self, files={}).shell()}\n"
        script.write_text(text, "utf-8", newline="\n")
        script.chmod(0o755)
        return script

    def matryoshka(self, *sizes: int) -> ServeCommand:
        """The same with vectors that may be cut: to any size, or to these alone."""
        for size in sizes:
            at_least("sizes", size, 1)
        setting = {"matryoshka_dimensions": list(sizes)} if sizes else {"is_matryoshka": True}
        return self.having("--hf-overrides", setting)

    def long_texts(self, tokens: int) -> ServeCommand:
        """The same for texts of up to `tokens`, of which the server averages the pieces."""
        at_least("tokens", tokens, 1)
        setting = {"enable_chunked_processing": True, "max_embed_len": tokens}
        return self.having("--pooler-config", setting)

    def having(self, option: str, setting: Mapping[str, Any]) -> ServeCommand:
        """The same with `setting` merged into the JSON of `option`."""
        words = list(self.argv)
        if option in words:
            place = words.index(option) + 1
            words[place] = json.dumps(json.loads(words[place]) | dict(setting))
        else:
            words += [option, json.dumps(setting)]
        return replace(self, argv=tuple(words))


def _lines(argv: tuple[str, ...]) -> list[str]:
    """The words as a shell reads them, those of one option in one line."""
    lines: list[str] = []
    for word in argv:
        quoted = shlex.quote(word)
        if word.startswith("-") or not lines:
            lines.append(quoted)
        else:
            lines[-1] += f" {quoted}"
    return lines
