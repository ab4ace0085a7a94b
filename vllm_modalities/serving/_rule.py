"""`Rule`: one row of what can be wrong with a `vllm serve` command, and how it is put right."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from ..errors import Finding
from ..profiles import PROFILES, Profile, profile_of
from ..server import ServerVersion
from ._part import Row
from ._recipe import row_of
from ._words import Words

POOLED = ("embed", "embed_tokens", "rerank")


@dataclass(frozen=True, slots=True)
class Served:
    """A command, and what is known of it.

    Attributes:
        words: The command.
        version: The release that is to run it.
        row: How its model is served; None if that is not known.
        profile: What is known of its model.
    """

    words: Words
    version: ServerVersion
    row: Row | None
    profile: Profile

    @classmethod
    def of(cls, words: Words, version: ServerVersion) -> Served:
        """The command with what its model's name tells."""
        name = words.model or ""
        names = (name, words.get("--served-model-name") or name)
        row = row_of(name) or row_of(names[1])
        return cls(words, version, row, profile_of(PROFILES, *names))

    @property
    def pools(self) -> bool:
        """Whether it serves vectors or scores."""
        if self.words.get("--runner") == "pooling" or self.words.has("--pooler-config"):
            return True
        return self.row is not None and self.row.task in POOLED

    @property
    def hears(self) -> bool:
        """Whether it has `/v1/audio`."""
        return self.row is not None and self.row.task == "transcribe"

    @property
    def pools_last(self) -> bool:
        """Whether its model pools the last token."""
        known = (self.profile.embed, self.profile.rerank)
        return any(facts is not None and facts.pooling == "LAST" for facts in known)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """In releases in [since, until), a command of which `when` holds is wrong.

    Attributes:
        code: Stable name.
        option: What it is about: an option, a key of one after a dot, or a variable.
        severity: `"error"` if the server does not start or answers nonsense, else `"warning"`.
        when: Whether it concerns a command.
        since, until: vLLM releases; None is open.
        problem: What comes of it.
        cure: What to do instead.
        source: Where that is read.
        fix: Puts it right; None where only the operator can.
    """

    code: str
    option: str
    severity: Literal["error", "warning"]
    when: Callable[[Served], bool]
    since: str | None = None
    until: str | None = None
    problem: str
    cure: str
    source: str
    fix: Callable[[Words], Words] | None = None

    def concerns(self, served: Served) -> bool:
        """Whether it concerns this command on its release."""
        version = served.version
        started = self.since is None or version >= self.since
        return started and (self.until is None or version < self.until) and self.when(served)

    @property
    def finding(self) -> Finding:
        """What is said."""
        return Finding(
            code=self.code,
            severity=self.severity,
            field=self.option,
            message=f"{self.option}: {self.problem}. {self.cure}.",
            since=self.since,
            until=self.until,
            source=self.source,
        )
