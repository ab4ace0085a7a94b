"""What pages print from the code: `gate-table` and `request-models`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from itertools import groupby

from docutils import nodes
from docutils.parsers.rst import Directive
from pydantic.fields import FieldInfo
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import vllm_modalities  # defines every request model
from vllm_modalities._wire import TASKS, RequestModel
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
    done = nodes.strong("", "", *_with_code(f"{_sentence(gate.action.value)} "))
    problem, cure = _with_code(f"{_sentence(gate.problem)} "), _with_code(gate.cure)
    words = nodes.paragraph("", "", *problem, done, *cure)
    source = nodes.paragraph("", "", *_with_code(gate.source), classes=["source"])
    return _row([about, *models], [nodes.paragraph(text=gate.window)], [words, source])


def _sentence(text: str) -> str:
    first = text if text.startswith("vLLM") else f"{text[0].upper()}{text[1:]}"
    return f"{first}."


def _with_code(text: str) -> list[nodes.Node]:
    """What stands between backticks is code."""
    parts = enumerate(text.split("`"))
    return [nodes.literal(text=part) if place % 2 else nodes.Text(part) for place, part in parts]


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


class RequestModels(SphinxDirective):
    """Every request model, and the bases whose fields they share."""

    def run(self) -> list[nodes.Node]:
        models = [model for kinds in TASKS.values() for model in kinds]
        bases = [base for model in models for base in _bases(model)]
        shared = [base for base in dict.fromkeys(bases) if base not in models]
        text = "\n".join(line for model in [*models, *shared] for line in _described(model))
        return self.parse_text_to_nodes(text)


def _bases(model: type[RequestModel]) -> list[type[RequestModel]]:
    return [base for base in model.__mro__[1:] if issubclass(base, RequestModel)]


def _described(model: type[RequestModel]) -> Iterator[str]:
    """reStructuredText of one class: its docstring, its routes, and the fields of its own."""
    yield f".. py:class:: {model.__name__}"
    yield ""
    for line in inspect.cleandoc(model.__doc__ or "").split("\n\nRaises:")[0].splitlines():
        yield f"   {line}"
    yield ""
    if hasattr(model, "PATHS"):
        tasks = " and ".join(f"`{task}`" for task in model.tasks())
        yield f"   Task {tasks}, sent to {' or '.join(f'`{path}`' for path in model.PATHS)}."
        yield ""
    for name in inspect.get_annotations(model):
        if name in model.model_fields:
            yield f"   * `{name}`: {_type(model, name)}{_limits(model.model_fields[name])}"
    yield ""
    if bases := _bases(model):
        yield f"   And the fields of {', '.join(f':py:class:`{base.__name__}`' for base in bases)}."
        yield ""


def _type(model: type[RequestModel], name: str) -> str:
    return f"`{inspect.get_annotations(model)[name].removesuffix(' | None')}`"


def _limits(field: FieldInfo) -> str:
    words = {"ge": "at least", "gt": "above", "le": "at most", "lt": "below"}
    found = [
        f"{word} {getattr(limit, name):,}"
        for limit in field.metadata
        for name, word in words.items()
        if getattr(limit, name, None) is not None
    ]
    found += ["not empty" for limit in field.metadata if getattr(limit, "min_length", 0)]
    found += ["required"] if field.is_required() else []
    found += ["not sent"] if field.exclude else []
    return "".join(f", {words}" for words in found)


def setup(app: Sphinx) -> dict[str, bool]:
    app.add_directive("gate-table", GateTable)
    app.add_directive("request-models", RequestModels)
    return {"parallel_read_safe": True}
