"""The runner of the pages' blocks fails where a page is wrong."""

import pytest
from docs._pages import ROOT, Block, run


def held(code: str) -> int:
    return run(Block(ROOT / "README.md", 1, code), {}, {})


def test_claims_that_hold_are_counted() -> None:
    assert (
        held("1 + 1  # -> 2\nint('x')\n# ValueError: invalid literal … 'x'\nn = 1\nn  # one\n") == 2
    )


def test_a_claim_may_take_several_lines() -> None:
    assert held("int('x')\n# ValueError: invalid literal\n# for int()\n") == 1


@pytest.mark.parametrize(
    "code",
    [
        "1 + 1  # -> 3",
        "1 + 1  # -> 22",
        "12  # -> 1",
        "n = 2  # -> 2",
        "int('1')\n# ValueError: invalid",
        "int('x')\n# TypeError: invalid",
        "int('x')\n# ValueError: literal",
    ],
)
def test_a_false_claim_fails(code: str) -> None:
    with pytest.raises(AssertionError, match=r"^README\.md:1 "):
        held(code)


def test_an_error_that_is_not_claimed_is_raised() -> None:
    with pytest.raises(ZeroDivisionError):
        held("1 / 0  # whatever")


def test_addresses_are_rewritten() -> None:
    block = Block(ROOT / "README.md", 1, "str('http://there')  # -> 'here'")
    assert run(block, {}, {"http://there": "here"}) == 1
