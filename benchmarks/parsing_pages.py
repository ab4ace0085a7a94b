"""What reading a model's answer costs, for a full page in each grammar: median of many, in ms.

    python benchmarks/parsing_pages.py

A page here has twenty-four blocks of 240 characters, a table of twenty rows and three formulas: A4
in small print. The ratio is to `json.loads` of as many characters.

Then each reads what no page is: a megabyte of one piece of markup, again and again, for every piece
below; and a quarter of it, to see whether time grows faster than the text.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable

from vllm_modalities.documents.grammars import GRAMMARS
from vllm_modalities.documents.preparing import Frame

ROUNDS = 40
WORDS = "It grows slowly, and it lives for long; nobody saw it young. " * 4
ROWS = "".join(f"<tr><td>{n}</td><td>an oak</td><td>{n * 7}.50</td></tr>" for n in range(20))
HTML = f"<table>{ROWS}</table>"
OTSL = "".join(f"<fcel>{n}<fcel>an oak<fcel>{n * 7}.50<nl>" for n in range(20))
TEXTS = [*(WORDS for _ in range(24)), HTML, *(r"\[ x^2 + y^2 = z^2 \]" for _ in range(3))]


def blocks(write: Callable[[int, str], str]) -> str:
    return "\n\n".join(write(10 * place, text) for place, text in enumerate(TEXTS))


def page_json() -> str:
    return json.dumps(
        [
            {"bbox": [10, 10 * place, 900, 10 * place + 9], "category": "Text", "text": text}
            for place, text in enumerate(TEXTS)
        ]
    )


MARKDOWN = "\n\n".join(TEXTS)
LOCATIONS = "".join(f"<|LOC_{edge}|>" for edge in (10, 20, 900, 20, 900, 30, 10, 30))
ANSWERS = {
    "grounding": blocks(
        lambda y, text: f"<|ref|>text<|/ref|><|det|>[[10, {y}, 900, {y + 9}]]<|/det|>\n{text}"
    ),
    "layout-json": page_json(),
    "corners": blocks(
        lambda y, text: f"<x_0.1><y_{y / 1000}>{text}<x_0.9><y_{y / 1000 + 0.009}><class_Text>"
    ),
    "spotted": blocks(lambda y, text: f"{text}(10,{y}),(900,{y + 9})"),
    "locations": blocks(lambda y, text: f"{text}{LOCATIONS}"),
    "html-blocks": blocks(
        lambda y, text: f'<div data-bbox="10 {y} 900 {y + 9}" data-label="Text"><p>{text}</p></div>'
    ),
    "doctags": blocks(
        lambda y, text: f"<text><loc_5><loc_{y // 2}><loc_450><loc_{y // 2 + 4}>{text}</text>"
    )
    + f"<otsl>{OTSL}</otsl>",
    "box-marks": blocks(
        lambda y, text: (
            f"<|box_start|>10 {y} 900 {y + 9}<|box_end|><|ref_start|>text<|ref_end|>{text}"
        )
    ),
    "front-matter": f"---\nprimary_language: en\nrotation_correction: 0\n---\n{MARKDOWN}",
    "placed-figures": f"{MARKDOWN}\n\n![image](image_1.png)10,20,900,400",
    "page-tags": f"<watermark>COPY</watermark>{MARKDOWN}<page_number>1</page_number>",
    "plain": MARKDOWN,
}


HOSTILE = (
    *(
        "<|det|>[[",
        "<|ref|>",
        "[[",
        "{",
        '{"bbox":[',
        '"',
        '\\"',
        "<x_0.1><y_0.2>",
        "<x_",
        "<class_A>",
    ),
    *("(1,2),", "(1,2),(3,4)", "<|LOC_1|>", "<fcel>a", "<lcel>a", "<nl><ucel>a", "a: b\n", "---\n"),
    *("![a](page_1_2_3_4.png)", "![", "![a](", "</s>", "```\n", "<think>", "<img>", "<watermark>a"),
    *("<|box_start|>", "<|box_start|>1 2 3 4<|box_end|>", "<div", '<div data-bbox="1 2 3 4">'),
    *(
        "<table>",
        "<td",
        "<td rowspan=99 colspan=99>",
        "<text>",
        "<loc_1>",
        "<list_item>",
        "<ul><li>",
    ),
    *(r"\(", r"\[", "\\\\", "|a\n", "| a | b |\n", "|-|-|\n", " ", "\n", "<", "a"),
)
MEGABYTE = 1_000_000


def cost(run: Callable[[], object]) -> float:
    """Median, in ms."""
    costs = []
    for _ in range(ROUNDS):
        began = time.perf_counter()
        run()
        costs.append(time.perf_counter() - began)
    return 1000 * statistics.median(costs)


def hostile(name: str, unit: str, size: int) -> float:
    """Seconds that a grammar takes for so many characters."""
    text, frame = unit * (size // len(unit)), Frame.whole(1240, 1754, 1000)
    began = time.process_time()
    GRAMMARS[name](text, frame)
    return time.process_time() - began


def main() -> None:
    assert set(ANSWERS) == set(GRAMMARS)
    frame = Frame.whole(1240, 1754, 1000)
    plain = json.dumps(MARKDOWN)
    print("| grammar | characters | ms a page | beside json.loads |\n|---|---|---|---|")
    for name, answer in sorted(ANSWERS.items()):
        parse = GRAMMARS[name]
        spent = cost(lambda: parse(answer, frame))  # noqa: B023 - run at once
        read = cost(lambda: json.loads(plain)) * len(answer) / len(plain)
        print(f"| {name} | {len(answer):,} | {spent:.2f} | {spent / read:.0f} x |")
    print("\n| grammar | 1 MB of `<|det|>[[`, s | slowest piece | 1 MB of it, s | beside 1/4 |")
    print("|---|---|---|---|---|")
    for name in sorted(GRAMMARS):
        many, slowest = max((hostile(name, unit, MEGABYTE), unit) for unit in HOSTILE)
        few, det = hostile(name, slowest, MEGABYTE // 4), hostile(name, HOSTILE[0], MEGABYTE)
        print(f"| {name} | {det:.2f} | `{slowest!r}` | {many:.2f} | {many / few:.1f} x |")


if __name__ == "__main__":
    main()
