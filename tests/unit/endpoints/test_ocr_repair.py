"""What is done about pages that come back in a loop, empty or cut, and what is said of them."""

from __future__ import annotations

import io
import warnings

import pytest
from _pages import Reader, document, numbers_in, spoken
from _script import BLOCKING, URL, FakeVLLM, Play, Talker, status
from PIL import Image, ImageDraw

from vllm_modalities import ModelUsageWarning, Profile
from vllm_modalities.endpoints import _pages
from vllm_modalities.endpoints.ocr import ocr
from vllm_modalities.profiles import OCRProfile

LOOP = "Total 5\n" + "and on and " * 90
LOOPING = pytest.warns(ModelUsageWarning, match="n-gram processor")


def lines(*texts: str) -> Image.Image:
    """A page of 200x400 with black lines, one a text, evenly spread."""
    page = Image.new("RGB", (200, 400), "white")
    for n in range(len(texts)):
        top = 20 + n * 360 // len(texts)
        ImageDraw.Draw(page).rectangle((20, top, 180, top + 10), fill="black")
    return page


def test_a_loop_is_asked_for_again_with_more_chance_until_it_ends(talk) -> None:
    server = Reader(answers=lambda ask: LOOP if ask.temperature < 0.5 else spoken(ask))
    with LOOPING:
        found = talk(server).ocr(document(1))
    assert [ask.temperature for ask in server.asks] == [0.0, 0.2, 0.6]
    assert numbers_in(found.text) == [1]
    assert found.pages[0].finish_reason == "stop"
    assert found.warnings == (
        "the page was read at temperature 0.6: at 0 the answer ended in a loop",
    )


def test_what_stays_a_loop_is_kept_and_says_so(talk) -> None:
    server = Reader(answers=lambda ask: (LOOP, "length"))
    with LOOPING:
        page = talk(server).ocr(document(1)).pages[0]
    assert [ask.temperature for ask in server.asks] == [0.0, 0.2, 0.6, 0.0]
    assert page.text.startswith("Total 5")
    assert page.finish_reason == "length"
    first, cut, loop = page.warnings
    assert first == "the answer ended in a loop, at temperatures 0.2, 0.6 too"
    assert "the page is cut" in cut
    assert "the text ends in a loop: 'and on and '" in loop


def test_a_loop_that_the_processor_cannot_see_is_not_blamed_on_its_absence(talk) -> None:
    """It looks back 90 tokens for 30 in a row; a line of 80 letters may have as many tokens."""
    line = "".join(map(chr, range(33, 113)))
    found = talk(Reader(answers=lambda ask: line * 40)).ocr(document(1))
    assert "ends in a loop" in found.pages[0].warnings[-1]


@pytest.mark.parametrize("size", ["30", -1, 2.5, True])
def test_arguments_that_no_processor_takes_tell_nothing_of_one(talk, size) -> None:
    """The server took them, so nobody looked at them; the loop is found all the same."""
    client = talk(Reader(answers=lambda ask: LOOP), validation="warn")
    with pytest.warns(Warning, match="ngram_size") as caught:
        found = client.ocr(document(1), extra_body={"vllm_xargs": {"ngram_size": size}})
    assert not any("n-gram processor" in str(one.message) for one in caught)
    assert "ends in a loop" in found.pages[0].warnings[-1]


def test_a_loop_that_the_server_ended_is_one_too(talk) -> None:
    server = Reader(answers=lambda ask: ("a b", "repetition") if not ask.temperature else "Words.")
    found = talk(server).ocr(document(1))
    assert found.text == "Words."
    assert "ended in a loop" in found.warnings[0]


def test_further_tries_choose_among_all_tokens(talk) -> None:
    """With `top_k` 1 a temperature does nothing."""
    facts = OCRProfile(
        prompts={"markdown": "Read."},
        sampling={"temperature": 0.3, "top_k": 1, "top_p": 0.1, "repetition_penalty": 1.1},
        sources={},
    )
    server = Reader(model="mine", answers=lambda ask: LOOP)
    talk(server, profiles=[Profile(name="Mine", pattern="mine", ocr=facts)]).ocr(document(1))
    first, second = (ask.fields for ask in server.asks)
    assert [first[name] for name in ("temperature", "top_k", "top_p")] == [0.3, 1, 0.1]
    assert (second["temperature"], second["repetition_penalty"]) == (0.6, 1.1)
    assert not {"top_k", "top_p"} & set(second)


@pytest.mark.parametrize(
    "options",
    [
        {"repair": False},
        {"extra_body": {"temperature": 0.0}},
        {"extra_body": {"temperature": None}},
    ],
    ids=["as asked", "own temperature", "the server's temperature"],
)
def test_a_caller_may_have_it_asked_once(talk, options) -> None:
    server = Reader(answers=lambda ask: LOOP)
    with LOOPING:
        page = talk(server).ocr(document(1), **options).pages[0]
    assert len(server.asks) == 1
    assert "ends in a loop" in page.warnings[0]


@pytest.mark.parametrize("own", [{"vllm_xargs": None}, {"vllm_xargs": {"other": 1}}], ids=str)
def test_a_caller_who_does_without_the_processor_is_not_told_that_it_is_missing(talk, own) -> None:
    server = Reader(answers=lambda ask: LOOP)
    page = talk(server).ocr(document(1), repair=False, extra_body=own).pages[0]
    assert "ends in a loop" in page.warnings[0]


def test_a_try_that_fails_leaves_what_there_was(talk) -> None:
    server = Reader(answers=lambda ask: status(400, "no")(None) if ask.temperature else LOOP)
    with LOOPING:
        page = talk(server).ocr(document(1)).pages[0]
    assert len(server.asks) == 2
    assert page.text.startswith("Total 5")
    assert "asking for the page again failed: HTTP 400: no" in page.warnings[0]


def test_an_empty_answer_for_a_page_with_words_is_asked_for_again(talk) -> None:
    server = Reader(answers=lambda ask: spoken(ask) if ask.temperature else " \n")
    found = talk(server).ocr(document(2))
    assert numbers_in(found.text) == [1, 2]
    assert len(server.asks) == 4
    assert "the answer was empty" in found.warnings[0]


def test_an_empty_answer_for_a_blank_page_is_the_answer(talk) -> None:
    server = Reader(answers=lambda ask: "")
    found = talk(server).ocr(Image.new("RGB", (50, 50), (250, 240, 230)))
    assert len(server.asks) == 1
    assert (found.text, found.warnings, found.pages[0].finish_reason) == ("", (), "stop")


def test_one_warning_a_call_says_that_the_processor_is_missing() -> None:
    server = Reader(answers=lambda ask: LOOP)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        Talker(BLOCKING, server).ocr(document(6), repair=False)
    (one,) = caught
    assert "--logits-processors" in str(one.message)
    assert one.filename == __file__


@pytest.mark.parametrize(
    ("model", "says"),
    [("deepseek-ocr", "<td></td> " * 90), ("olmocr", LOOP)],
    ids=["cells, which it lets be", "no processor to be had"],
)
def test_a_loop_that_no_processor_would_have_stopped_gives_no_warning(talk, model, says) -> None:
    server = Reader(model=model, answers=lambda ask: says)
    page = talk(server).ocr(document(1), repair=False).pages[0]
    assert any("ends in a loop" in warning for warning in page.warnings)


def test_a_page_that_is_cut_is_read_in_two_halves_parted_between_lines(talk) -> None:
    page = lines(*"abcd")
    half = "<|ref|>text<|/ref|><|det|>[[0, 0, 999, 999]]<|/det|>\nHalf of {} rows.\n\n"
    image = "<|ref|>image<|/ref|><|det|>[[0, 0, 500, 500]]<|/det|>\n"

    def answers(ask):
        height = ask.size[1]
        return ("The who", "length") if height == 400 else half.format(height) + image

    server = Reader(answers=answers)
    found = talk(server).ocr(page)
    (whole,) = found.pages
    tall, (top, bottom) = server.asks[0].size[1], sorted(ask.size[1] for ask in server.asks[1:])
    assert (tall, top + bottom) == (400, 400)
    assert whole.finish_reason == "stop"
    (note,) = found.warnings
    row = int(note.rpartition(" ")[2])
    assert note.startswith("the whole page was too long: it was read in two halves, parted at row")
    assert page.crop((0, row, 200, row + 1)).getextrema() == ((255, 255),) * 3
    assert [block.text for block in whole.blocks if block.text] == [
        f"Half of {row} rows.",
        f"Half of {400 - row} rows.",
    ]
    assert [block.boxes[0][1] for block in whole.blocks] == [0, 0, row, row]
    assert whole.blocks[2].boxes == ((0, row, 200, 400),)
    assert [block.order for block in whole.blocks] == [0, 1, 2, 3]
    assert whole.markdown.index("page-1-1.png") < whole.markdown.index("page-1-2.png")
    assert len(whole.figures) == 2


def lying(ask) -> str:
    """olmOCR, of a page of 200x400 that lies on its side: turned, it is wider than high."""
    is_upright = ask.size[0] > ask.size[1]
    turn = "0" if is_upright else "90"
    head = f"---\nis_rotation_valid: {is_upright}\nrotation_correction: {turn}\n---\n"
    return head + ("Upright words.\n\n![A dot](page_10_20_30_40.png)" if is_upright else "?")


def test_a_page_that_lies_on_its_side_is_turned_and_its_boxes_turned_back(talk) -> None:
    server = Reader(model="olmocr", answers=lying)
    page = talk(server).ocr(lines("a", "b")).pages[0]
    assert [ask.size[0] > ask.size[1] for ask in server.asks] == [False, True]
    assert page.text.startswith("Upright words.")
    assert page.warnings[0] == "the page was turned by 90 degrees, as the model said"
    (box,) = page.figures
    assert (page.width, page.height) == (200, 400)
    assert box == pytest.approx((20, 360, 60, 390), abs=1)


def test_a_page_that_cannot_be_asked_for_once_it_is_turned_stays_as_it_lay(talk) -> None:
    def answers(ask):
        return lying(ask) if ask.size[0] < ask.size[1] else status(400, "no")(None)

    server = Reader(model="olmocr", answers=answers)
    page = talk(server).ocr(lines("a", "b")).pages[0]
    assert page.text == "?"
    assert "after turning it failed" in page.warnings[0]
    assert len(talk(server).ocr(lines("a", "b"), repair=False)) == 1


NOISE = Image.effect_noise((100, 200), 90).convert("RGB")


def test_halves_overlap_where_words_cross_every_row_and_what_both_say_stands_once(talk) -> None:
    words = [f"w{n}" for n in range(40)]

    def answers(ask):
        if ask.size[1] == 200:
            return " ".join(words[:9]), "length"
        first_row = Image.open(io.BytesIO(ask.picture)).crop((0, 0, 100, 1))
        is_upper = first_row.tobytes() == NOISE.crop((0, 0, 100, 1)).tobytes()
        return " ".join([*words[:25], "d4mag3d"] if is_upper else ["d4mag3d", *words[16:]])

    server = Reader(answers=answers)
    (page,) = talk(server).ocr(NOISE)
    assert page.text.split() == words
    assert sum(ask.size[1] for ask in server.asks[1:]) == 220
    assert page.warnings[0].startswith(
        "the whole page was too long: it was read in two halves that overlap, from row"
    )
    assert len(page.warnings) == 1


def test_halves_that_overlap_and_say_nothing_alike_say_so(talk) -> None:
    def answers(ask):
        return (f"Of {ask.size[1]} rows", "length" if ask.size[1] == 200 else "stop")

    note, doubt = talk(Reader(answers=answers)).ocr(NOISE).warnings
    assert "two halves that overlap" in note
    assert doubt == "where the halves overlap, words may stand twice"


def test_a_family_s_other_task_is_tried_last(talk) -> None:
    """Its answer has no loop, and is read in its own grammar; blocks it has none."""

    def answers(ask):
        words = ask.fields["messages"][-1]["content"][-1]["text"]
        return "Plain [[1, 2]] words." if words == "Free OCR." else LOOP

    server = Reader(answers=answers)
    with LOOPING:
        (page,) = talk(server).ocr(document(1))
    assert (page.text, page.blocks, page.finish_reason) == ("Plain [[1, 2]] words.", (), "stop")
    assert page.warnings == (
        "the answer ended in a loop, at temperatures 0.2, 0.6 too",
        "the page was read with task='text' in the end",
    )


@pytest.mark.parametrize("own", [{"task": "text"}, {"prompt": "Read."}], ids=str)
def test_no_other_task_is_tried_than_the_caller_s_where_none_stands_for_it(talk, own) -> None:
    server = Reader(answers=lambda ask: LOOP)
    with LOOPING:
        talk(server).ocr(document(1), **own)
    assert [ask.temperature for ask in server.asks] == [0.0, 0.2, 0.6]


def test_a_family_has_a_ladder_of_its_own(talk) -> None:
    server = Reader(model="olmocr", answers=lambda ask: LOOP)
    talk(server).ocr(document(1))
    assert [ask.temperature for ask in server.asks] == [0.1, 0.2, 0.3, 0.5, 0.8]


def test_a_turned_page_that_is_cut_is_parted_as_it_stands_upright(talk) -> None:
    """The page of 200x400 lies on its side; upright it is 400x200, and its halves are lower."""

    def answers(ask):
        return (lying(ask), "length") if ask.size == (400, 200) else lying(ask)

    server = Reader(model="olmocr", answers=answers)
    page = talk(server).ocr(lines("a", "b")).pages[0]
    whole, upright, *halves = (ask.size for ask in server.asks)
    assert (whole, upright) == ((200, 400), (400, 200))
    assert [width for width, _ in halves] == [400, 400]
    turned, parted, *_ = page.warnings
    assert turned.startswith("the page was turned by 90 degrees")
    assert parted.startswith("the whole page was too long")
    assert page.text.count("Upright words.") == 2
    assert all(0 <= x0 < x1 <= 200 and 0 <= y0 < y1 <= 400 for x0, y0, x1, y1 in page.figures)


def test_a_half_that_comes_back_empty_is_asked_for_again(talk) -> None:
    def answers(ask):
        if ask.size[1] == 400:
            return "The who", "length"
        return "Half." if ask.temperature else ""

    (page,) = talk(Reader(answers=answers)).ocr(lines(*"abcd"))
    assert page.text == "Half.\n\nHalf."
    assert page.warnings[0] == ("the half was read at temperature 0.2: at 0 the answer was empty")


def test_a_half_that_is_cut_too_leaves_the_page_cut(talk) -> None:
    server = Reader(answers=lambda ask: ("words", "length"))
    page = talk(server).ocr(lines("a", "b")).pages[0]
    assert len(server.asks) == 3
    assert page.finish_reason == "length"
    assert page.text == "words\n\nwords"
    assert any("the page is cut" in warning for warning in page.warnings)


def test_halves_that_fail_leave_what_there_was(talk) -> None:
    def answers(ask):
        return ("words", "length") if ask.size[1] == 400 else status(400, "no")(None)

    page = talk(Reader(answers=answers)).ocr(lines("a", "b")).pages[0]
    assert (page.text, page.finish_reason) == ("words", "length")
    assert "asking for the page in two halves failed" in page.warnings[0]


@pytest.mark.parametrize(
    "options",
    [
        {"max_tokens": 9},
        {"extra_body": {"max_tokens": 9}},
        {"extra_body": {"max_completion_tokens": 9}},
        {"repair": False},
    ],
    ids=str,
)
def test_a_page_that_the_caller_has_cut_stays_cut(talk, options) -> None:
    server = Reader(answers=lambda ask: ("words", "length"))
    page = talk(server).ocr(lines("a", "b"), **options).pages[0]
    assert len(server.asks) == 1
    assert page.finish_reason == "length"


@pytest.mark.parametrize("version", ["0.16.0", "0.17.0", "0.32.0"])
def test_the_server_is_asked_to_end_loops_where_it_can(talk, version) -> None:
    server = Reader(version=version)
    talk(server).ocr(document(1))
    assert ("repetition_detection" in server.asks[0].fields) == (version != "0.16.0")


def test_of_mixed_replicas_none_is_asked_what_one_drops(talk) -> None:
    servers = {"http://old": Reader(version="0.16.0"), "http://new": Reader()}
    talk(servers).ocr(document(4))
    asks = [ask for server in servers.values() for ask in server.asks]
    assert not any("repetition_detection" in ask.fields for ask in asks)


def test_the_words_of_another_page_are_doubted(talk) -> None:
    words = "The same words on each page, as a cache that has gone wrong gives them. " * 2
    server = Reader(answers=lambda ask: words if ask.number in (1, 3) else spoken(ask))
    (warning,) = talk(server, max_concurrency=1).ocr(document(4)).warnings
    assert warning == "page 3: the words are those of page 1, whose picture is another"


def test_the_words_of_a_page_of_another_document_are_doubted(talk) -> None:
    words = "The same words on each page, as a cache that has gone wrong gives them. " * 2
    server = Reader(answers=lambda ask: words)
    other = Image.new("RGB", (30, 20), "black")
    first, second = talk(server, max_concurrency=1).every("ocr_iter", [document(1), other])
    doubts = [*first.warnings, *second.warnings]  # of whichever came later
    assert len(doubts) == 1
    assert "the words are those of page 1 of source" in doubts[0]


def test_pages_are_not_remembered_for_ever(talk, monkeypatch) -> None:
    monkeypatch.setattr(_pages, "REMEMBERED", 2)
    words = "The same words on the first page and on the last, which is far behind it. " * 2
    server = Reader(answers=lambda ask: words if ask.number in (1, 9) else spoken(ask))
    pages = Talker(BLOCKING, server, max_concurrency=1).every("ocr_iter", [document(9)])
    assert not any(page.warnings for page in pages)


def test_equal_pages_may_read_the_same(talk, tmp_path) -> None:
    words = "The same words on each page, since it is the same page again. " * 2
    path = tmp_path / "a.tif"
    page = lines("a")
    page.save(path, save_all=True, append_images=[page])
    assert talk(Reader(answers=lambda ask: words)).ocr(path).warnings == ()
    assert talk(Reader(answers=lambda ask: "Blank.")).ocr(document(2)).warnings == ()


def test_a_page_in_another_script_than_all_others_is_doubted(talk) -> None:
    def answers(ask):
        return "Съешь же ещё этих мягких булок. " * 5 if ask.number == 2 else spoken(ask) * 2

    (warning,) = talk(Reader(answers=answers)).ocr(document(6)).warnings
    assert warning.startswith(
        "page 2: the words are Cyrillic, where those of other pages are Latin"
    )


def test_further_tries_end_with_the_time_of_a_page() -> None:
    """The clock moves only here: each answer takes 50 s, and a page has 60."""
    server = FakeVLLM("chat", model="mine", says=LOOP)
    play = Play(server, timeout=60, base_url={"ocr": URL})

    def slow(answer):
        play.now += 50
        return answer

    server.always("/v1/chat/completions", slow)
    page = play.call(ocr, _png()).pages[0]
    posts = [request for request in play.requests if request.method == "POST"]
    assert [(round(one.timeout), one.ends) for one in posts[:2]] == [(60, None), (10, 60)]
    assert page.text.startswith("Total 5")


def _png() -> bytes:
    file = io.BytesIO()
    lines("a").save(file, "PNG")
    return file.getvalue()
