"""`OCRProfile`: what is known of a model that reads pages; how it is asked, and how it answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

Sources = Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRule:
    """How a page is fitted for a model, and in what numbers the model says where things are.

    Attributes:
        scale: What the model calls the right and the bottom edge of the picture that it was sent;
            None counts that picture's pixels.
        pixels: The fewest and the most pixels of a picture; a page beyond is resized.
        longest: The most pixels of the longer side.
        multiple: What both sides are multiples of.
        ratio: How many times the shorter side the longer one may be.
        canvas: Width and height of a white canvas, in whose middle the page is put, made smaller
            where it must be.
        squeezed: Width and height that every picture is brought to, whatever its own sides.
        shortest: The fewest pixels of the shorter side; a smaller picture is made larger.
        widened: How many times the shorter side the longer one may be; beyond, white is put on
            both sides of the picture.
    """

    scale: float | None = None
    pixels: tuple[int, int] | None = None
    longest: int | None = None
    multiple: int | None = None
    ratio: int | None = None
    canvas: tuple[int, int] | None = None
    squeezed: tuple[int, int] | None = None
    shortest: int | None = None
    widened: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Steps:
    """How a page is read in two steps: where its blocks are, and then what each of them says.

    Attributes:
        layout: The task whose answer has the blocks.
        tasks: The task that a type of block is read with; None leaves it unread, as a figure.
        others: The same for all other types.
    """

    layout: str
    tasks: Mapping[str, str | None]
    others: str

    def task_of(self, kind: str) -> str | None:
        """The task that a block of this type is read with, if it is."""
        return self.tasks.get(kind.lower(), self.others)

    @property
    def all_tasks(self) -> list[str]:
        """Every task that is asked for."""
        return list(dict.fromkeys([self.layout, *filter(None, self.tasks.values()), self.others]))


@dataclass(frozen=True, slots=True, kw_only=True)
class OCRProfile:
    """How a model that reads pages is asked, and how its answer reads.

    Attributes:
        prompts: What to say, by task (`"markdown"`, `"text"`, `"layout"`, `"table"`, `"formula"`,
            `"figure"`, `"locate"` …); `""` is nothing beside the page. `{phrase}` in it stands for
            what the caller looks for.
        placeholder: What stands for the picture in the model's own prompts. A server looks for it
            in the text, so no prompt may hold it.
        prefix: What goes in front of every prompt; a model whose prompt has no line feed behind its
            `placeholder` needs it there, since a server puts one.
        licence: Of the words, as far as it could be read; None if it was not found.
        system: What the system message says; None is no such message.
        steps: Tasks that are done in two steps, each of them a task of `prompts`.
        sampling: Fields of the request beside a temperature of 0.
        samplings: Further ones, by task.
        ladder: Temperatures of further tries, where an answer was empty or a loop; None is 0.2 and
            0.6.
        instead: The task that is tried last, where all temperatures were of no use, by task.
        vllm_xargs: Arguments of the logits processor that stops loops.
        skip_special_tokens: False keeps the tokens that carry the boxes.
        grammar: How the answer reads, a name in `vllm_modalities.documents.grammars.GRAMMARS`;
            `"plain"` is Markdown without boxes.
        grammars: The same for tasks whose answer reads otherwise.
        image: How a page is fitted; None sends it as it is.
        pictures: The same for tasks that see it otherwise.
        dpi: Dots an inch that a PDF's pages are rendered at.
        seen: The public output whose shape the tests follow; None if there is none, and the grammar
            is unproven.
        sources: Where each fact is from, by its name.
    """

    prompts: Mapping[str, str]
    licence: str | None = None
    placeholder: str | None = None
    prefix: str | None = None
    system: str | None = None
    steps: Mapping[str, Steps] = field(default_factory=dict)
    sampling: Mapping[str, float] = field(default_factory=dict)
    samplings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    ladder: tuple[float, ...] | None = None
    instead: Mapping[str, str] = field(default_factory=dict)
    vllm_xargs: Mapping[str, int | list[int]] = field(default_factory=dict)
    skip_special_tokens: bool | None = None
    grammar: str = "plain"
    grammars: Mapping[str, str] = field(default_factory=dict)
    image: ImageRule | None = None
    pictures: Mapping[str, ImageRule] = field(default_factory=dict)
    dpi: int | None = None
    seen: str | None = None
    sources: Sources
