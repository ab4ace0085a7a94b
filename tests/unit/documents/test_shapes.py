"""Each answer in shapes/ is read as it says there: what models write, whole, cut and damaged.

A file is a grammar: its name, the model's number for the right and the bottom edge, where the shape
is from, and the answers by what they show. Words in them are our own.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from vllm_modalities.documents.grammars import GRAMMARS
from vllm_modalities.documents.preparing import Frame

FILES = {
    path.stem: json.loads(path.read_text("utf-8"))
    for path in Path(__file__).parent.glob("shapes/*.json")
}
SIDE = 1000  # pixels of the page


def read(grammar: str, text: str, edge: float) -> dict[str, Any]:
    """What is read out of `text`, with what is empty left out."""
    parsed = GRAMMARS[grammar](text, Frame.whole(SIDE, SIDE, edge))
    assert [block.order for block in parsed.blocks] == list(range(len(parsed.blocks)))
    blocks = [
        [block.type, block.text, [[round(side, 3) for side in box] for box in block.boxes]]
        for block in parsed.blocks
    ]
    found = {
        "markdown": parsed.markdown,
        "blocks": blocks,
        "warnings": list(parsed.warnings),
        "rotation": parsed.rotation,
    }
    return {name: value for name, value in found.items() if value}


@pytest.mark.parametrize(
    ("file", "shape"), [(file, shape) for file, said in FILES.items() for shape in said["answers"]]
)
def test_an_answer_is_read(file: str, shape: str) -> None:
    said = FILES[file]
    answer = dict(said["answers"][shape])
    text = answer.pop("text")
    assert read(said["grammar"], text, said["edge"]) == answer


def test_every_grammar_has_its_answers_twenty_or_more() -> None:
    assert {said["grammar"] for said in FILES.values()} == set(GRAMMARS)
    assert all(len(said["answers"]) >= 20 for said in FILES.values())
