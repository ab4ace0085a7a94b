"""Prints docs/recipes.md from the table of models."""

from __future__ import annotations

from ._part import Note, Row
from ._recipe import NEWEST, ROWS, recipe

HEAD = f"""\
# How each model is served

<!-- Printed from the table: python -m vllm_modalities.serving._print > docs/recipes.md -->

`vllm-modalities recipe MODEL` prints the command for a model and a release, with the files that it
needs; [serving](serving.md) says more. What follows is for vLLM {NEWEST}. Each reason ends with
where it was read.
"""
TITLES = {
    "embed": "Embedders",
    "rerank": "Rerankers",
    "embed_tokens": "A vector a token",
    "transcribe": "Speech",
    "chat": "Speech, by chat alone",
    "ocr": "Pages",
}


def page() -> str:
    """The whole page, in Markdown."""
    parts = [HEAD]
    for task, title in TITLES.items():
        parts += [f"## {title}", ""]
        for row in ROWS:
            if row.task == task:
                parts += _entry(row)
    return "\n".join(parts).rstrip() + "\n"


def _entry(row: Row) -> list[str]:
    command = recipe(row.example)
    since = f" From vLLM {row.since} on." if row.since else ""
    files = f" It needs the file {', '.join(f'`{name}`' for name in command.files)}."
    shown = recipe(row.example).shell().rpartition("END\n")[2]
    return [
        f"### {row.name}",
        "",
        f"`{row.example}`.{since}{files if command.files else ''}",
        "",
        "```sh",
        shown,
        "```",
        "",
        *map(_line, command.notes),
        "",
    ]


def _line(note: Note) -> str:
    return f"- {note.text} ({note.source})"


if __name__ == "__main__":
    print(page(), end="")  # noqa: T201
