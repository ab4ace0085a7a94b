"""`RequestModel`: the base of every request body, in the server's own field names."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

import pydantic

from ._flow import Form
from .errors import Finding, InvalidRequestError

if TYPE_CHECKING:
    from .server import ServerInfo

TASKS: dict[str, list[type[RequestModel]]] = {}
"""The request models of every task, filled as they are defined."""


class RequestModel(pydantic.BaseModel):
    """One request body.

    A field that is None is not sent. Unknown fields are refused, since a vLLM server drops them
    without a word (vllm/entrypoints/openai/engine/protocol.py, `OpenAIBaseModel`); `extra_body`
    passes anything on deliberately. Its names that are fields here are checked like them.

    Raises:
        InvalidRequestError: A field is unknown, missing, or of the wrong type or range.
    """

    model_config = pydantic.ConfigDict(frozen=True, extra="forbid", defer_build=True)

    TASK: ClassVar[str]
    """What a server is asked to do; a key of a `base_url` mapping."""
    MAPPED_AS: ClassVar[tuple[str, ...]] = ()
    """Other keys of a mapping that stand for this task too."""
    PATHS: ClassVar[tuple[str, ...]]
    """The routes that take this body; the first is preferred."""
    WEBSOCKET: ClassVar[bool] = False
    """Whether they are websockets, which no server lists and no GET finds."""

    CURE: ClassVar[str] = ""
    """A sentence, after a blank, of how a server comes to do it; for where none does."""

    model: str | None = None
    extra_body: Mapping[str, Any] | None = pydantic.Field(default=None, exclude=True, repr=False)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        if hasattr(cls, "TASK"):
            TASKS.setdefault(cls.TASK, []).append(cls)

    if not TYPE_CHECKING:  # type checkers derive the signature from the fields

        def __init__(self, **fields: Any) -> None:
            extra = fields.pop("extra_body", None) or {}
            extra = {name: value for name, value in extra.items() if value is not None}
            known = {name: extra.pop(name) for name in type(self).model_fields if name in extra}
            twice = sorted(name for name in known if fields.get(name) is not None)
            if twice:
                raise InvalidRequestError(
                    [
                        Finding(
                            code="given-twice",
                            severity="error",
                            field=name,
                            message=f"{name!r} is given both as an argument and in extra_body;"
                            " drop one",
                        )
                        for name in twice
                    ]
                )
            try:
                super().__init__(**(fields | known), extra_body=extra or None)
            except pydantic.ValidationError as error:
                raise InvalidRequestError(_findings(error)) from None

    @classmethod
    def tasks(cls) -> tuple[str, ...]:
        """The keys of a mapping that stand for this task."""
        return (cls.TASK, *cls.MAPPED_AS)

    @classmethod
    def suits(cls, server: ServerInfo) -> bool:
        """Whether a server with these routes and models does the task."""
        return not server.routes or not server.routes.isdisjoint(cls.PATHS)

    @classmethod
    def preference(cls, server: ServerInfo) -> int:
        """Which of several servers that do the task is asked: the lowest."""
        return 0

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """What the model behind `server` does not take, as far as it is known."""
        return ()

    def validate_for(self, server: ServerInfo) -> list[Finding]:
        """What is wrong or doubtful about this request on `server`; nothing is sent."""
        from .gates import examine

        return examine(server, self)

    def fields_sent(self) -> dict[str, Any]:
        """The fields that go on the wire, without the unset ones."""
        return self.model_dump(mode="json", exclude_none=True)

    def as_form(self, fields: Mapping[str, Any]) -> Form | None:
        """The multipart body of `fields`, for the routes that take one instead of JSON."""
        return None


def _findings(error: pydantic.ValidationError) -> list[Finding]:
    return [
        Finding(
            code=f"pydantic.{fault['type']}",
            severity="error",
            field=".".join(map(str, fault["loc"])),
            message=_words(error.title, fault),
        )
        for fault in error.errors(include_url=False)
    ]


def _words(model: str, fault: Any) -> str:
    name = ".".join(map(str, fault["loc"])) or model
    if fault["type"] == "extra_forbidden":
        return (
            f"{model} has no field {name!r}; the server would drop it without a word."
            " Check the spelling, or pass it in extra_body"
        )
    if fault["type"] == "missing":
        return f"{model} needs {name!r}"
    if fault["type"] in ("too_short", "string_too_short") and not fault["input"]:
        return f"{name} must not be empty"
    got = repr(fault["input"])
    return f"{name}: {fault['msg']}, got {got if len(got) <= 60 else got[:57] + '...'}"
