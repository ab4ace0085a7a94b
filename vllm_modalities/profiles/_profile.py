"""`Profile`: what is known of one model family, and how a served model finds its own.

A fact without a source stays unset. `sources` says, for each fact that is set, where it comes from,
and begins with how sure that is: `"server: "` (seen on one), `"source: "` (read in code or config)
or `"card: "` (said by the model's makers).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from ._ocr_profile import OCRProfile, Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """How a late-interaction model's texts of one type read, as tokens.

    Attributes:
        marker: What stands after the first token.
        number: That token's number, where a tokenizer does not read its name out of a text.
        length: Tokens of the whole at most; None is no bound.
        fill: The token that fills it up to `length`; None is none.
        drops: Tokens of one of these characters have no vector that counts.
    """

    marker: str
    number: int | None = None
    length: int | None = None
    fill: str | None = None
    drops: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class EmbedProfile:
    """What an embedding model is and needs.

    Attributes:
        pooling: Which tokens make the vector.
        normalized: Whether its vectors have unit length when nothing else is asked for.
        embedding_size: Width of its vectors. Operators override configs, so it is believed only
            to warn.
        matryoshka: The sizes it was trained to be cut to, some or a range; `()` if it was not.
        context: Tokens it reads at most.
        prompts: What goes before a text, by input type (`"query"`, `"document"` …); `""` is
            nothing. Empty if it is not known.
        marks: Markers among a text's tokens, by input type, for models with a vector a token.
        sources: Where each fact is from, by its name.
    """

    pooling: Literal["CLS", "LAST", "MEAN", "ALL"] | None = None
    normalized: bool | None = None
    embedding_size: int | None = None
    matryoshka: tuple[int, ...] | range | None = None
    context: int | None = None
    prompts: Mapping[str, str] = field(default_factory=dict)
    marks: Mapping[str, Mark] = field(default_factory=dict)
    sources: Sources

    @property
    def needs_prompt(self) -> bool:
        """Whether it was trained with words before some texts."""
        return any(self.prompts.values())


@dataclass(frozen=True, slots=True, kw_only=True)
class ScoreForm:
    """How a reranker's template reads, parted where the document begins.

    Attributes:
        query: The words up to the document, with `{query}` and, if it is read, `{instruction}`.
        document: The words from there on, with `{document}`.
        instruction: What stands for `{instruction}` where the caller gives none.
    """

    query: str
    document: str
    instruction: str = ""

    def query_of(self, query: str, instruction: str | None) -> str:
        """What goes out as the query."""
        words = {"query": query, "instruction": instruction or self.instruction}
        return re.sub(r"\{(query|instruction)\}", lambda found: words[found[1]], self.query)

    def document_of(self, document: str) -> str:
        """What goes out as the document."""
        return document.join(self.document.split("{document}"))


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankProfile:
    """What a reranker is and needs.

    Attributes:
        kind: `"pair"` scores a query with one document; `"llm"` too, through a template;
            `"listwise"` scores all documents together; `"late-interaction"` sums over tokens.
        scores: Range of its scores, in words, such as `"0..1 (sigmoid)"`.
        template: The score template that the server must be started with; None if none.
        form: How that template reads, for a server that was started without it; None if it is not
            known or cannot be written by a client.
        instruction: Whether an instruction has an effect.
        images: Whether it reads images; None if it is not known.
        context: Tokens it reads at most, of query and document together.
        pooling: Which tokens make the score.
        sources: Where each fact is from, by its name.
    """

    kind: Literal["pair", "llm", "listwise", "late-interaction"]
    scores: str | None = None
    template: str | None = None
    form: ScoreForm | None = None
    instruction: bool | None = None
    images: bool | None = None
    context: int | None = None
    pooling: Literal["CLS", "LAST", "MEAN", "ALL"] | None = None
    sources: Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeechProfile:
    """What a speech model takes.

    Attributes:
        clip: Seconds of audio it hears at once; infinite if that is any length; None if it is not
            known.
        languages: ISO 639-1 codes it knows; empty if it does not say.
        timestamps: Whether `verbose_json` gives timed segments; None if it is not known.
        translates_into: Codes of the languages it translates into, `()` if it was not made to;
            None if it does not say.
        prompt: What becomes of a `prompt`: words that come `"before"` what is heard, `"context"`
            that is read beside it, `"replaces"` the model's own instruction, or is `"ignored"`;
            None if it is not known.
        prompt_tokens: The most tokens of `prompt` it can use; None if it does not say.
        hotwords: Whether it reads `hotwords`; None if it is not known.
        assumes: Code of the language that is taken where none is given; None if it listens.
        chat: Whether it has no transcription route, and is asked in a chat; None if it has one.
        grammar: How its text reads: after a tag (`"asr_text"`), or with times and speakers in
            brackets (`"diarized"`); None if it is the text alone.
        realtime: Whether it writes while it listens, on `/v1/realtime`; None if it is not known.
        sources: Where each fact is from, by its name.
    """

    clip: float | None = None
    languages: frozenset[str] = frozenset()
    timestamps: bool | None = None
    translates_into: tuple[str, ...] | None = None
    prompt: Literal["before", "context", "replaces", "ignored"] | None = None
    prompt_tokens: int | None = None
    hotwords: bool | None = None
    assumes: str | None = None
    chat: bool | None = None
    grammar: Literal["asr_text", "diarized"] | None = None
    realtime: bool | None = None
    sources: Sources


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """Facts about one model family: no HTTP, no releases.

    Attributes:
        name: The family's name.
        pattern: Regular expression searched, without regard to case, in a model's served name
            and in its `root`.
        embed, rerank, ocr, speech: What it is and needs for those jobs; None where it does not
            do them, or nothing is known.
        notes: What a user should know beside that.
    """

    name: str
    pattern: str
    embed: EmbedProfile | None = None
    rerank: RerankProfile | None = None
    ocr: OCRProfile | None = None
    speech: SpeechProfile | None = None
    notes: tuple[str, ...] = ()

    def matches(self, *names: str | None) -> bool:
        """Whether one of a model's names is of this family; `_` in a folder reads `-` too."""
        written = [name for name in names if name]
        spelled = [*written, *(name.replace("_", "-") for name in written)]
        return any(re.search(self.pattern, name, re.IGNORECASE) for name in spelled)


UNKNOWN = Profile(name="unknown", pattern=r"(?!)")
"""The profile of a model that none matches: it knows nothing and refuses nothing."""


def profile_of(profiles: Iterable[Profile], *names: str | None) -> Profile:
    """The first of `profiles` that matches one of a model's names, else `UNKNOWN`."""
    return next((profile for profile in profiles if profile.matches(*names)), UNKNOWN)
