import numpy as np
import pytest
from PIL import Image

from vllm_modalities.documents.blocks import Block
from vllm_modalities.documents.grammars.parsed import Parsed
from vllm_modalities.documents.turning import TURNS, turned, turned_back

BOX = (10, 20, 40, 30)


@pytest.mark.parametrize("degrees", TURNS)
def test_a_box_on_the_turned_page_is_the_same_on_the_page_as_it_lay(degrees: int) -> None:
    page = Image.new("L", (90, 60))
    page.paste(255, BOX)
    other = turned(page, degrees)
    rows, columns = np.nonzero(np.asarray(other))
    found = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)
    parsed = Parsed((Block("text", "Words", (found,), 0),), "Words", "Words")
    back = turned_back(parsed, degrees, width=other.width, height=other.height)
    assert back.blocks[0].boxes == (BOX,)


def test_a_page_is_turned_clockwise() -> None:
    page = Image.new("L", (3, 2))
    page.putpixel((0, 0), 9)
    assert turned(page, 90).getpixel((1, 0)) == 9
    assert turned(page, 90).size == (2, 3)
