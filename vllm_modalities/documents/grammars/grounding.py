"""Read DeepSeek-OCR's grounding grammar: `<|ref|>label<|/ref|><|det|>[[boxes]]<|/det|>` and words.

Also read: words themselves as the label (tasks "OCR this image" and "Locate"), the label inside the
box (`<|det|>text [1, 2, 3, 4]<|/det|>`, Unlimited-OCR), an output without its special tokens, and
plain markdown. Any text can be read, in linear time.

Source: deepseek-ai/DeepSeek-OCR, DeepSeek-OCR-vllm/run_dpsk_ocr_image.py and run_dpsk_ocr_pdf.py,
whose regular expressions need every block to be complete.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ..blocks import Block, figure_path, is_figure
from ..preparing import Frame
from .boxes import GROUP, boxes
from .clean import dollars
from .parsed import BLANK_LINES, Doubts, Parsed, plain

REF, END_REF, DET, END_DET = "<|ref|>", "<|/ref|>", "<|det|>", "<|/det|>"
WORDS = "text"  # the type of block that is given to words without one
END_OF_TEXT = "<｜end▁of▁sentence｜>"  # there with `skip_special_tokens=false`
PAGE = re.compile(r"^<PAGE>", re.MULTILINE)
# What DeepSeek-OCR and Unlimited-OCR were seen to print; any other word is judged by its place.
KNOWN = """
    title sub_title text table image figure equation formula code list algorithm chart header footer
    page_number footnote reference aside_text seal image_caption table_caption figure_caption
    code_caption table_footnote image_footnote
"""
LABELS = frozenset(KNOWN.split())

# Possessive throughout: no input makes them try twice.
NUMBERS = r"\[[-0-9.,\s]*+\]"
LIST = rf"(?:\[(?:\s*+{NUMBERS}\s*+,?+)++\s*+\]|{NUMBERS})"
NAME = r"[A-Za-z_]{1,40}+"
MARKER = re.compile(r"(<\|/?(?:ref|det)\|>)")
OPEN_LIST = re.compile(rf"\s*+(?P<label>{NAME})?+\s*+(?P<boxes>{LIST})")
CUT_LIST = re.compile(rf"\s*+(?P<label>{NAME})?+\s*+(?P<boxes>\[[-0-9.,\s\[\]]*+)$")
LABEL = re.compile(r"[a-z]{1,40}(?:_[a-z]{1,40}){0,5}")
BARE_BLOCK = re.compile(rf"^(?P<label>{'|'.join(sorted(LABELS))}) ?(?P<boxes>{LIST})", re.MULTILINE)
FOUR = r"\[ ?[0-9]+(?:, ?[0-9]+){3}+\]"
BARE_WORDS = re.compile(rf"(?P<label>.*?)(?P<boxes>\[{FOUR}(?:, ?{FOUR})*+\])\s*")


@dataclass(slots=True)
class Part:
    """One mark, and the words from it to the next.

    Attributes:
        label: What the mark holds beside boxes.
        boxes: As printed.
        words: What follows.
        sure: The label is a type of block, not words of the page.
        is_mark: False for words before the first mark or behind a stray one.
    """

    label: str = ""
    boxes: str = ""
    words: str = ""
    sure: bool = False
    is_mark: bool = True


def parse(text: str, frame: Frame, page: int = 1) -> Parsed:
    """Read one page of output; no text raises.

    Types of block leave the markdown, words do not. Figures become links to
    `figure_path(page, 1)` and so on, one a box.

    Args:
        text: What the model wrote, with its special tokens (`skip_special_tokens=false`).
        frame: Where the page is; 999 is its right and bottom edge (run_dpsk_ocr_image.py:
            `x1 / 999 * image_width`).
        page: The page's number, for the links.
    """
    doubts = Doubts()
    parts = _parts(_one_page(text.replace(END_OF_TEXT, ""), doubts), doubts)
    blocks: list[Block] = []
    written: list[str] = []
    figures = 0
    before = Part(is_mark=False)
    for part, is_block in _judged(parts):
        places = boxes(part.boxes, frame, doubts)
        label, words = part.label.strip(), tidy(part.words)
        if not is_block:
            adjacent = before.is_mark and not before.words
            written.append("\n" if adjacent else _gap(before.words, part.label))
            written += [part.label, _gap(part.label, part.words)]
            label, words = WORDS, tidy(label)
        else:
            written.append("\n\n")
            if is_figure(label):
                paths = (figure_path(page, figures + n) for n in range(1, len(places) + 1))
                written += [f"![]({path})\n" for path in paths]
                figures += len(places)
        written.append(part.words)
        before = part
        if part.is_mark and (words or places):
            blocks.append(Block(label or WORDS, words, places, len(blocks)))
    markdown = tidy("".join(written))
    return Parsed(tuple(blocks), markdown, plain(markdown), doubts.warnings())


def tidy(words: str) -> str:
    """Two symbols as run_dpsk_ocr_pdf.py writes them, math between dollars, no two blank lines."""
    words = words.replace(r"\coloneqq", ":=").replace(r"\eqqcolon", "=:")
    return BLANK_LINES.sub("\n\n", dollars(words)).strip()


def _one_page(text: str, doubts: Doubts) -> str:
    """`text` without the `<PAGE>` that Unlimited-OCR prints before each page."""
    if not text.lstrip().startswith("<PAGE>"):
        return text
    pages, count = PAGE.subn("\n", text.lstrip())
    if count > 1:
        doubts.add(f"output of {count} pages read as one page", pages)
    return pages


def _parts(text: str, doubts: Doubts) -> list[Part]:
    """`text` as marks and the words behind them; every word outside a mark is kept."""
    tokens = MARKER.split(text)  # words, marker, words, marker, …, words
    if len(tokens) == 1:
        return _bare_parts(text, doubts)
    parts = [Part(words=tokens[0], is_mark=False)]
    at = 1
    while at < len(tokens):
        marker, body = tokens[at], tokens[at + 1]
        behind = tokens[at + 2] if at + 2 < len(tokens) else None
        if marker == DET:
            at = _det(tokens, at, Part(), parts, doubts)
        elif marker == REF and behind == END_REF:
            after = tokens[at + 3]
            if tokens[at + 4 : at + 5] == [DET] and not after.strip():
                at = _det(tokens, at + 4, Part(body), parts, doubts)
            else:
                doubts.add("label without a box", body)
                parts.append(Part(body, words=after))
                at += 4
        elif marker == REF and behind == DET:
            doubts.add("label that is never closed", body)
            at = _det(tokens, at + 2, Part(body), parts, doubts)
        elif marker == REF and behind is None:
            doubts.add("output cut inside a label, which was dropped", body)
            at += 2
        else:
            doubts.add("stray marker dropped", marker)
            parts.append(Part(words=body, is_mark=False))
            at += 2
    return _merged(parts)


def _merged(parts: list[Part]) -> list[Part]:
    """`parts` with words that have no mark of their own joined to the part before."""
    marks: list[Part] = []
    words: list[list[str]] = []
    for part in parts:
        if part.is_mark or not marks:
            marks.append(part)
            words.append([])
        words[-1].append(part.words)
    for part, pieces in zip(marks, words, strict=True):
        part.words = "".join(pieces)
    return marks


def _det(tokens: list[str], at: int, part: Part, parts: list[Part], doubts: Doubts) -> int:
    """Read the boxes behind the marker `tokens[at]` into `part`; where to go on."""
    body = tokens[at + 1]
    parts.append(part)
    if tokens[at + 2 : at + 3] == [END_DET]:
        part.words = tokens[at + 3]
        name, bracket, rest = body.partition("[")
        part.boxes = bracket + rest
        if re.search(r"\w", GROUP.sub("", part.boxes)) or (part.label and name.strip()):
            doubts.add("words inside a list of boxes dropped", body)
        if not GROUP.search(part.boxes):
            doubts.add("mark without a box", body)
        at += 4
    else:
        cut = at + 2 == len(tokens)
        reason = "output cut inside a list of boxes" if cut else "list of boxes never closed"
        doubts.add(reason, body)
        found = OPEN_LIST.match(body) or CUT_LIST.match(body)
        name, part.boxes = (found["label"] or "", found["boxes"]) if found else ("", "")
        part.words = body[found.end() :] if found else body
        at += 2
    if not part.label:
        part.label, name = name, name.strip()
        part.sure = bool(part.boxes) and (not name or bool(re.fullmatch(NAME, name)))
    return at


def _bare_parts(text: str, doubts: Doubts) -> list[Part]:
    """The same for an output without a single marker: tokens left out, or plain markdown."""
    page, parts = text.strip(), []
    if BARE_BLOCK.match(page):
        found = list(BARE_BLOCK.finditer(page))
        ends = [match.start() for match in found[1:]] + [len(page)]
        for match, end in zip(found, ends, strict=True):
            parts.append(Part(match["label"], match["boxes"], page[match.end() : end], sure=True))
    else:
        lines = [BARE_WORDS.fullmatch(line) for line in page.split("\n") if line.strip()]
        if not lines or None in lines:
            return [Part(words=text, is_mark=False)]
        parts = [Part(line["label"], line["boxes"], "\n") for line in lines if line]
    doubts.add("output without its special tokens; send skip_special_tokens=false", page)
    return parts


def _judged(parts: list[Part]) -> Iterator[tuple[Part, bool]]:
    """Each part, and whether its label is a type of block; otherwise it is words of the page."""
    marks = [part for part in parts if part.is_mark]
    # "OCR this image" gives nothing but labels, and they are the words; one may be "title".
    spotted = not any(part.words.strip() for part in parts) and any(
        not part.sure and part.label.strip().lower() not in LABELS for part in marks
    )
    before = ""
    for part in parts:
        yield part, part.sure or (part.is_mark and not spotted and _is_type(part, before))
        before = part.words


def _is_type(part: Part, before: str) -> bool:
    """A type of block stands alone on its line; in "a <|ref|>table<|/ref|> of oak" it is a word."""
    starts = not before or before.rstrip(" \t").endswith("\n")
    ends = not part.words.strip() or part.words.lstrip(" \t").startswith("\n")
    label = part.label.strip()
    if label.lower() in LABELS:
        return starts or ends
    return starts and ends and bool(part.words.strip()) and bool(LABEL.fullmatch(label))


def _gap(left: str, right: str) -> str:
    """What keeps the last word of `left` and the first of `right` apart, if anything must."""
    glued = left and right and not left[-1].isspace() and not right[0].isspace()
    return " " if glued and left[-1].isalnum() and right[0].isalnum() else ""
