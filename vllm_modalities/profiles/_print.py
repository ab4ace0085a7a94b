"""Prints docs/models.md from the profiles: `python -m vllm_modalities.profiles._print`."""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from . import (
    PROFILES,
    EmbedProfile,
    ImageRule,
    OCRProfile,
    Profile,
    RerankProfile,
    SpeechProfile,
)

Facts = EmbedProfile | RerankProfile | OCRProfile | SpeechProfile
Rows = list[tuple[str, Facts]]
Columns = Mapping[str, tuple[str, ...]]
"""The facts of each column, by its title."""

MARKS = {"server": "ᵛ", "source": "ˢ", "card": "ᶜ"}

HEAD = """\
<!-- Printed: python -m vllm_modalities.profiles._print > docs/models.md renews this page. -->

# What is known of models

A server's model finds its profile by its name, or by the path it was loaded from. A model that is
not here has an empty profile, which refuses nothing; [profiles of your own](reference/profiles.md)
go before these.

Each fact says how sure it is: ᵛ seen on a vLLM server, ˢ read in source code or in the model's own
config, ᶜ said on its card. What is not known stays empty. `sources` names the place of each:

```python
from vllm_modalities.profiles import PROFILES, profile_of

profile = profile_of(PROFILES, "Qwen/Qwen3-Embedding-0.6B")
print(profile.embed.sources["prompts"])
```
"""

EMBEDDING = """\
## Embedding

One vector a text. Unit length is what comes where a request does not ask for it or against it.
"""
EMBEDDING_COLUMNS: Columns = {
    "Pooling": ("pooling",),
    "Unit length": ("normalized",),
    "Width, and sizes": ("embedding_size", "matryoshka"),
    "Tokens": ("context",),
}

LATE_INTERACTION = """\
## Late interaction

One vector a token. A score is a sum over the query's tokens, of each one's best dot product with a
token of the document (MaxSim)ˢ.
"""
LATE_COLUMNS: Columns = {
    "Unit length": ("normalized",),
    "Width": ("embedding_size",),
    "Markers": ("marks",),
    "Tokens": ("context",),
}

RERANK = """\
## Rerank

A `pair` model scores a query with one document; an `llm` too, through a template; a `listwise` one
scores all documents of a call together.

A model with a template must be served with it: `--chat-template`, and the file of that name from
vLLM's `examples/pooling/score/template`. Without it the call succeeds and the scores mean nothing.
No two models share a threshold.
"""
RERANK_COLUMNS: Columns = {
    "Kind, pooling": ("kind", "pooling"),
    "Scores": ("scores",),
    "Template, instruction": ("template", "form", "instruction"),
    "Reads": ("images",),
    "Tokens": ("context",),
}

SPEECH = """\
## Speech

Quantised versions, such as RedHatAI's, are of their family. A model that is asked in a chat has no
transcription route; `transcribe` finds that out by itself. `hotwords` and a `prompt` that a model
does not read are told in `.warnings`; a prompt that would replace its instruction is refused.
"""
SPEECH_COLUMNS: Columns = {
    "Hears at once": ("clip",),
    "Languages, or the one assumed": ("languages", "assumes"),
    "Timed segments": ("timestamps",),
    "Translates into": ("translates_into",),
    "`prompt`, and its tokens": ("prompt", "prompt_tokens"),
    "`hotwords`": ("hotwords",),
    "Asked, answers": ("chat", "realtime", "grammar"),
}

OCR = """\
## OCR

How each answer is written has [a grammar](ocr.md#grammars). One is proven by a public answer of the
model whose shape the tests follow, or *unproven*.
"""
OCR_COLUMNS: Columns = {
    "Answer": ("grammar", "grammars", "steps"),
    "Proven by": ("seen",),
    "Prompts under": ("licence",),
    "Special tokens": ("skip_special_tokens",),
    "Sampling": ("sampling", "samplings", "vllm_xargs"),
    "Further tries": ("ladder", "instead"),
    "Picture": ("image", "pictures", "dpi"),
}
LONGEST = 240  # characters of a prompt that are shown


def page(profiles: Iterable[Profile] = PROFILES) -> Iterator[str]:
    """The lines of the page."""
    late: list[Profile] = []
    other: list[Profile] = []
    for profile in profiles:
        tokens = profile.rerank and profile.rerank.kind == "late-interaction"
        (late if tokens else other).append(profile)
    embed = [profile for profile in other if not (profile.rerank or profile.ocr or profile.speech)]
    yield HEAD
    yield from _section(EMBEDDING, EMBEDDING_COLUMNS, embed, "embed")
    yield from _section(LATE_INTERACTION, LATE_COLUMNS, late, "embed")
    for words, columns, job in (
        (RERANK, RERANK_COLUMNS, "rerank"),
        (SPEECH, SPEECH_COLUMNS, "speech"),
        (OCR, OCR_COLUMNS, "ocr"),
    ):
        yield from _section(words, columns, [p for p in other if getattr(p, job)], job)


def _section(words: str, columns: Columns, profiles: list[Profile], job: str) -> Iterator[str]:
    rows = [(profile.name, getattr(profile, job)) for profile in profiles]
    known = [(name, facts) for name, facts in rows if facts]
    yield words
    yield from _table(
        ("Model", *columns),
        ([name, *(_cell(facts, names) for names in columns.values())] for name, facts in known),
    )
    prompted = [(name, facts) for name, facts in known if getattr(facts, "prompts", None)]
    if prompted:
        asked = job == "ocr"
        yield "What is said to it:\n" if asked else "What goes in front of a text, by input type:\n"
        yield from _table(
            ("Model", "Task" if asked else "Input type", "Prompt"), _prompts(prompted)
        )
    yield from _notes(profiles)


def _table(titles: Iterable[str], rows: Iterable[Iterable[str]]) -> Iterator[str]:
    head = list(titles)
    for row in (head, ["---"] * len(head), *rows):
        yield f"| {' | '.join(row)} |"
    yield ""


def _cell(facts: Facts, names: Iterable[str]) -> str:
    """The facts of these names that are set, each with its mark."""
    return "; ".join(
        f"{WORDS.get(name, str)(getattr(facts, name))}{_mark(facts, name)}"
        if name in facts.sources
        else UNSET[name]
        for name in names
        if name in facts.sources or name in UNSET
    )


def _mark(facts: Facts, name: str) -> str:
    return MARKS[facts.sources[name].partition(":")[0]]


def _sizes(sizes: tuple[int, ...] | range) -> str:
    if isinstance(sizes, range):
        return f"cut to any from {sizes.start}"
    return f"cut to {', '.join(map(str, sizes))}" if sizes else "not cut"


GRAMMARS = {"asr_text": "after a tag", "diarized": "with times and speakers"}


def _picture(rule: ImageRule) -> str:
    """How a page is fitted, and what its edges are called."""
    return ", ".join(
        words
        for words, told in (
            (f"edges at {rule.scale:g}" if rule.scale else "in its pixels", True),
            (
                f"{rule.pixels[0]:,} to {rule.pixels[1]:,} pixels" if rule.pixels else "",
                rule.pixels,
            ),
            (f"up to {rule.longest} pixels long", rule.longest),
            (f"sides multiples of {rule.multiple}", rule.multiple),
            (f"on a canvas of {rule.canvas}", rule.canvas),
            (f"squeezed to {rule.squeezed}", rule.squeezed),
            (f"at least {rule.shortest} pixels wide and high", rule.shortest),
            (f"white beside it beyond {rule.widened}:1", rule.widened),
        )
        if told
    )


def _fields(fields: Mapping[str, float]) -> str:
    return ", ".join(f"`{name}={value:g}`" for name, value in fields.items())


UNSET: Mapping[str, str] = {"seen": "*unproven*", "licence": "*not found*"}
"""What is said of facts that are not set."""

WORDS: Mapping[str, Callable[[Any], str]] = {
    "matryoshka": _sizes,
    "instruction": lambda reads: "reads an instruction" if reads else "no instruction",
    "skip_special_tokens": lambda skips: "skipped" if skips else "kept",
    "template": lambda file: f"`{file}`",
    "form": lambda _: "written here where the server lacks it",
    "images": lambda sees: "texts and images" if sees else "texts",
    "clip": lambda seconds: f"{seconds:g} s" if math.isfinite(seconds) else "the whole",
    "languages": lambda codes: f"{len(codes)} of them" if len(codes) > 3 else ", ".join(codes),
    "timestamps": lambda timed: "yes" if timed else "no",
    "translates_into": lambda codes: ", ".join(f"`{code}`" for code in codes) or "none",
    "hotwords": lambda reads: "read" if reads else "ignored",
    "chat": lambda _: "in a chat",
    "realtime": lambda _: "while it listens",
    "prompt": {
        "before": "words that come before",
        "context": "read beside the sound",
        "replaces": "would replace its instruction",
        "ignored": "ignored",
    }.__getitem__,
    "grammar": lambda grammar: str(GRAMMARS.get(grammar, grammar)),
    "vllm_xargs": lambda arguments: f"`{json.dumps(arguments)}`",
    "sampling": _fields,
    "samplings": lambda tasks: ", ".join(f"{_fields(tasks[task])} for `{task}`" for task in tasks),
    "steps": lambda tasks: f"{', '.join(f'`{task}`' for task in tasks)} in two steps",
    "ladder": lambda ladder: f"at temperatures {', '.join(map(str, ladder))}",
    "instead": lambda tasks: ", ".join(f"`{tasks[task]}` for `{task}`" for task in tasks),
    "pictures": lambda tasks: ", ".join(f"{_picture(tasks[task])} for `{task}`" for task in tasks),
    "grammars": lambda tasks: ", ".join(f"{name} for `{task}`" for task, name in tasks.items()),
    "image": _picture,
    "dpi": lambda dots: f"PDF at {dots} dpi",
    "marks": lambda marks: ", ".join(f"`{mark.marker}`" for mark in marks.values()),
    "normalized": lambda unit: "yes" if unit else "no",
}
"""How facts read that do not speak for themselves."""


def _prompts(rows: Rows) -> Iterator[list[str]]:
    """A row a prompt; models that have the same ones stand together."""
    alike: dict[tuple[tuple[str, str], ...], list[str]] = {}
    for name, facts in rows:
        assert isinstance(facts, EmbedProfile | OCRProfile)
        alike.setdefault(tuple(facts.prompts.items()), []).append(
            f"{name}{_mark(facts, 'prompts')}"
        )
    for prompts, names in alike.items():
        models = ", ".join(names)
        for prompt in dict.fromkeys(prompt for _, prompt in prompts):
            types = [f"`{kind}`" for kind, same in prompts if same == prompt]
            yield [models, ", ".join(types), _quoted(prompt)]
            models = ""


def _quoted(prompt: str) -> str:
    """As JSON, so that spaces at its ends and line feeds show."""
    if len(prompt) > LONGEST:
        prompt = f"{prompt[:LONGEST]}…"
    text = json.dumps(prompt, ensure_ascii=False).replace("|", r"\|")
    return f"`{text}`" if prompt else "nothing"


def _notes(profiles: Iterable[Profile]) -> Iterator[str]:
    alike: dict[tuple[str, ...], list[str]] = {}
    for profile in profiles:
        alike.setdefault(profile.notes, []).append(profile.name)
    alike.pop((), None)
    for notes, names in alike.items():
        yield f"- **{', '.join(names)}**: {' '.join(notes)}"
    yield ""


if __name__ == "__main__":
    sys.stdout.write("\n".join(page()))
