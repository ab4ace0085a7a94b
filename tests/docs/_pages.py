"""The code blocks of the pages, run as they stand and held to what their comments claim.

A block's statement may be followed by a comment that claims something:

    vectors.vectors.shape        # -> (2, 384)
    client.embed("", top=1)
    # InvalidRequestError: the beginning of its text, in which … stands for anything
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
PAGES = (
    ROOT / "README.md",
    ROOT / "CONTRIBUTING.md",
    ROOT / "SECURITY.md",
    *sorted(page for page in (ROOT / "docs").rglob("*.md") if "_build" not in page.parts),
)

FENCE = re.compile(r"^```python\n(.*?)^```$", re.DOTALL | re.MULTILINE)
VALUE = re.compile(r"-> (.+)")
ERROR = re.compile(r"(\w+(?:Error|Warning)): (.*)")


@dataclass(frozen=True)
class Block:
    """One ```python block of a page, and the line of the page that it begins on."""

    page: Path
    line: int
    code: str

    def __str__(self) -> str:
        return f"{self.page.relative_to(ROOT)}:{self.line}"


def blocks(page: Path) -> list[Block]:
    text = page.read_text("utf-8")
    return [
        Block(page, text.count("\n", 0, found.start(1)) + 1, found[1])
        for found in FENCE.finditer(text)
    ]


def statements(code: str) -> Iterator[tuple[ast.stmt, str]]:
    """Each statement of a block, and the comment that follows it, in one line."""
    comments = {
        token.start[0]: token.string.removeprefix("#").strip()
        for token in tokenize.generate_tokens(io.StringIO(code).readline)
        if token.type == tokenize.COMMENT
    }
    body = ast.parse(code).body
    starts = [statement.lineno for statement in body[1:]] + [code.count("\n") + 2]
    for statement, following in zip(body, starts, strict=True):
        lines = range(statement.end_lineno or 0, following)
        yield statement, " ".join(comments[line] for line in lines if line in comments)


def run(block: Block, namespace: dict[str, Any], rewrite: Mapping[str, str]) -> int:
    """Run a block; the number of claims that held.

    Args:
        namespace: The page's, which its blocks share.
        rewrite: Regular expressions, and what stands for their matches in the code.

    Raises:
        AssertionError: A claim that does not hold; the message names page and line.
    """
    code = block.code
    for pattern, replacement in rewrite.items():
        code = re.sub(pattern, replacement, code)
    parts = list(statements(code))
    if not any(VALUE.match(comment) or ERROR.match(comment) for _, comment in parts):
        exec(compile(code, str(block), "exec", dont_inherit=True), namespace)
        return 0
    return sum(_holds(statement, comment, block, namespace) for statement, comment in parts)


def _holds(statement: ast.stmt, comment: str, block: Block, namespace: dict[str, Any]) -> bool:
    where = f"{block.page.name}:{block.line + statement.lineno - 1}"
    claimed = ERROR.match(comment)
    try:
        value = _execute(statement, where, namespace)
    except Exception as error:
        if claimed is None:
            raise
        said = f"{type(error).__name__}: {error}"
        _check(_fits(comment, said), f"{where} raised {said}")
        return True
    _check(claimed is None, f"{where} raised nothing")
    if claimed := VALUE.match(comment):
        _check(isinstance(statement, ast.Expr), f"{where} claims the value of a statement")
        _check(_fits(claimed[1], repr(value), whole=True), f"{where} is {value!r}")
        return True
    return False


def _check(holds: bool, otherwise: str) -> None:
    if not holds:
        raise AssertionError(otherwise)


def _execute(statement: ast.stmt, where: str, namespace: dict[str, Any]) -> Any:
    if isinstance(statement, ast.Expr):
        return eval(compile(ast.Expression(statement.value), where, "eval"), namespace)
    exec(compile(ast.Module([statement], []), where, "exec", dont_inherit=True), namespace)
    return None


def _fits(claimed: str, found: str, *, whole: bool = False) -> bool:
    """Whether a text is as claimed, or begins so; `…` stands for anything."""
    pattern = ".*".join(re.escape(part) for part in " ".join(claimed.split()).split("…"))
    match = re.fullmatch if whole else re.match
    return match(pattern, " ".join(found.split())) is not None
