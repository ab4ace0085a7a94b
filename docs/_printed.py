"""`request-models`: every request model and its fields, printed from the code."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from docutils import nodes
from pydantic.fields import FieldInfo
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

import vllm_modalities
from vllm_modalities._wire import TASKS, RequestModel


class RequestModels(SphinxDirective):
    """Every request model, and the bases whose fields they share."""

    def run(self) -> list[nodes.Node]:
        for name in vllm_modalities.__all__:  # names are loaded, and models defined, on demand
            getattr(vllm_modalities, name)
        models = [model for task in sorted(TASKS) for model in TASKS[task]]
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
    if hasattr(model, "TASK"):  # a base may have routes and no task yet
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
    app.add_directive("request-models", RequestModels)
    return {"parallel_read_safe": True}
