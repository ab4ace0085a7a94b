"""`gate-table`: the table of `vllm_modalities.gates`, printed into a page."""

from __future__ import annotations

from itertools import groupby

from docutils import nodes
from docutils.parsers.rst import Directive
from sphinx.application import Sphinx

from vllm_modalities.gates import GATES, Gate

COLUMNS = (("Field", 26), ("vLLM", 16), ("What it does, and what is done here", 58))


class GateTable(Directive):
    """Every row, under the request models that it concerns."""

    def run(self) -> list[nodes.Node]:
        ordered = sorted(GATES, key=lambda gate: gate.requests)
        printed: list[nodes.Node] = []
        for requests, gates in groupby(ordered, key=lambda gate: gate.requests):
            title = nodes.rubric("", "", *_listed(requests))
            printed += [title, _table(list(gates))]
        return printed


def _table(gates: list[Gate]) -> nodes.table:
    group = nodes.tgroup(cols=len(COLUMNS))
    group += [nodes.colspec(colwidth=width) for _, width in COLUMNS]
    head, body = nodes.thead(), nodes.tbody()
    head += _row(*([nodes.paragraph(text=title)] for title, _ in COLUMNS))
    body += [_printed(gate) for gate in gates]
    group += [head, body]
    table = nodes.table(classes=["gates", "colwidths-given"])
    table += group
    return table


def _printed(gate: Gate) -> nodes.row:
    about = nodes.paragraph("", "", nodes.literal(text=gate.field), nodes.Text(f" {gate.when.words}"))
    models = [] if gate.models.words == "every model" else [nodes.paragraph(text=gate.models.words)]
    done = nodes.strong(text=f"{_sentence(gate.action.value)} ")
    words = nodes.paragraph("", f"{_sentence(gate.problem)} ", done, nodes.Text(gate.cure))
    source = nodes.paragraph(text=gate.source, classes=["source"])
    return _row([about, *models], [nodes.paragraph(text=gate.window)], [words, source])


def _sentence(text: str) -> str:
    first = text if text.startswith("vLLM") else f"{text[0].upper()}{text[1:]}"
    return f"{first}."


def _listed(names: tuple[str, ...]) -> list[nodes.Node]:
    listed: list[nodes.Node] = []
    for name in names:
        listed += [nodes.literal(text=name), nodes.Text(" ")]
    return listed


def _row(*cells: list[nodes.Node]) -> nodes.row:
    row = nodes.row()
    for cell in cells:
        entry = nodes.entry()
        entry += cell
        row += entry
    return row


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("gate-table", GateTable)
    return {"parallel_read_safe": True}
