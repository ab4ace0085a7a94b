"""Tables of any kind as rows, and back: HTML, GitHub's pipes, LaTeX."""

from __future__ import annotations

import pytest
from PIL import Image

from vllm_modalities.documents.blocks import Document, Page
from vllm_modalities.documents.grammars import otsl
from vllm_modalities.documents.tables import MOST_CELLS, Cell, grid, latex_cells, to_html, to_pipes


def page(markdown: str) -> Page:
    return Page(1, 9, 9, markdown, "", picture=Image.new("RGB", (9, 9)))


TABLES = {
    "HTML": ("<table><tr><td>1</td><td>2</td></tr></table>", [["1", "2"]]),
    "a head": (
        "<table><thead><tr><th>A</th></tr></thead><tbody><tr><td>1</td></tr></tbody></table>",
        [["A"], ["1"]],
    ),
    "cells over two columns": (
        "<table><tr><td colspan=2>A</td></tr><tr><td>1</td><td>2</td></tr></table>",
        [["A", ""], ["1", "2"]],
    ),
    "cells over two rows": (
        '<table><tr><td rowspan="2">A</td><td>B</td></tr><tr><td>C</td></tr></table>',
        [["A", "B"], ["", "C"]],
    ),
    "more rows covered than there are": (
        "<table><tr><td rowspan='9'>A</td><td>B</td></tr></table>",
        [["A", "B"]],
    ),
    "rows of different lengths": (
        "<table><tr><td>1</td></tr><tr><td>2</td><td>3</td></tr></table>",
        [["1", ""], ["2", "3"]],
    ),
    "nothing closed": ("<table><tr><td>1<td>2<tr><td>3", [["1", "2"], ["3", ""]]),
    "cells without a row": ("<table><td>1</td><td>2</td></table>", [["1", "2"]]),
    "a table in a table": (
        "<table><tr><td>A <table><tr><td>inner</td></tr></table> B</td><td>C</td></tr></table>",
        [["A <table><tr><td>inner</td></tr></table> B", "C"]],
    ),
    "an end too many": ("</table><table><tr><td>1</td></tr></table>", [["1"]]),
    "words on lines": ("<TABLE>\n<TR>\n<TD>\n a\n b </TD></TR></TABLE>", [["a b"]]),
    "pipes": ("| A | B |\n|---|:-:|\n| 1 | 2 |", [["A", "B"], ["1", "2"]]),
    "pipes without their ends": ("A | B\n--|--\n1 | 2", [["A", "B"], ["1", "2"]]),
    "pipes in pipes": ("| a\\|b |\n|---|\n| 1 |", [["a|b"], ["1"]]),
    "a line with a pipe before": ("x | y\n| A |\n|---|\n| 1 |", [["A"], ["1"]]),
}


@pytest.mark.parametrize(("markdown", "rows"), TABLES.values(), ids=TABLES)
def test_a_table_is_rows_of_one_length(markdown: str, rows: list[list[str]]) -> None:
    assert page(f"Before.\n\n{markdown}").tables() == [rows]


@pytest.mark.parametrize("markdown", ["", "a | b", "| a |\n| b |", "|---|", "no table", "<table>"])
def test_what_is_no_table_has_no_rows(markdown: str) -> None:
    assert page(markdown).tables() in ([], [[]])


def test_tables_come_in_the_order_of_the_page() -> None:
    mixed = "| A |\n|---|\n\nwords\n\n<table><tr><td>B</td></tr></table>\n\n| C |\n|---|"
    assert page(mixed).tables() == [[["A"]], [["B"]], [["C"]]]


def test_tables_are_written_as_html_or_in_pipes_by_choice() -> None:
    markdown = "# A\n\n<table><tr><th>a<br>b</th><th><b>c</b> &lt; d|e</th></tr></table>\n\nEnd."
    assert page(markdown).to_markdown(tables="gfm") == (
        "# A\n\n| a<br>b | c < d\\|e |\n| --- | --- |\n\nEnd."
    )
    pipes = "| A | B |\n|---|---|\n| 1 | 2 |\n\nEnd."
    html = "<table>\n<tr><th>A</th><th>B</th></tr>\n<tr><td>1</td><td>2</td></tr>\n</table>"
    assert page(pipes).to_markdown(tables="html") == f"{html}\n\nEnd."
    document = Document((page(pipes), page("Words.")))
    assert document.to_markdown(tables="html") == f"{html}\n\nEnd.\n\n---\n\nWords."


def test_spans_stay_in_html() -> None:
    cells = [[Cell("A", rows=2, columns=3, heads=True)]]
    assert to_html(cells) == '<table>\n<tr><th rowspan="2" colspan="3">A</th></tr>\n</table>'


def test_no_rows_are_no_table_in_pipes() -> None:
    assert to_pipes([]) == to_pipes([[]]) == ""


def test_a_table_of_spans_without_end_stays_small() -> None:
    cells = [[Cell("x", rows=100, columns=100)] * 40] * 40
    assert sum(map(len, grid(cells))) <= 3 * MOST_CELLS
    wide = [[Cell("x")] * 3000] + [[Cell("y")]] * 3000
    assert [len(row) for row in grid(wide)][:2] == [3000, 1]


def test_latex_is_cut_at_its_marks_alone() -> None:
    latex = r"\begin{tabular}{|l|r|}\hline a \& b & 1 \\[2pt] c & 2 \\\hline\end{tabular}"
    assert [[cell.text for cell in row] for row in latex_cells(latex)] == [
        ["a & b", "1"],
        ["c", "2"],
    ]


def test_short_rows_of_a_huge_table_of_tokens_stay_short() -> None:
    made = otsl.table("<fcel>x" * 400 + "<nl><fcel>y" * 400)
    assert made.count("<td>") == 800
