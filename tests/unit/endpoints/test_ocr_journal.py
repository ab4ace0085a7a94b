"""A journal of pages: what is finished is never asked for again, whatever ended the work."""

from __future__ import annotations

import json
import pathlib
import random
import re
import signal
import subprocess
import sys
import time
from collections import defaultdict

import pytest
from _pages import Ask, Reader, document, spoken
from _script import BLOCKING, Sent, Talker, status
from _sockets import Heard, answer, serving
from PIL import Image

from vllm_modalities import InvalidRequestError, PartialFailureError

PAGES = 60


def test_a_finished_document_is_read_without_a_request(talk, tmp_path) -> None:
    path, given = tmp_path / "journal", document(4)
    server = Reader(answers=lambda ask: (spoken(ask), "abort" if ask.number == 2 else "stop"))
    first = talk(server).ocr(given, journal=path)
    again = talk(server).ocr(given, journal=path)
    assert len(server.asks) == 4
    assert again.to_dict() == first.to_dict()
    assert again.page(2).image.tobytes() == first.page(2).image.tobytes()


def test_only_what_failed_is_asked_for_again(talk, tmp_path) -> None:
    path, given = tmp_path / "journal", document(5)
    ill = [2, 4]
    server = Reader(
        answers=lambda ask: status(400, "no")(None) if ask.number in ill else spoken(ask)
    )
    with pytest.raises(PartialFailureError):
        talk(server).ocr(given, journal=path)
    ill.clear()
    server.asks.clear()
    assert len(talk(server).ocr(given, journal=path)) == 5
    assert sorted(server.numbers) == [2, 4]


@pytest.mark.parametrize(
    "change",
    [
        {"task": "text"},
        {"prompt": "Read."},
        {"dpi": 72},
        {"max_tokens": 9},
        {"repair": False},
        {"extra_body": {"seed": 1}},
    ],
    ids=str,
)
def test_what_changes_the_answer_is_asked_for_anew(tmp_path, change) -> None:
    path, server = tmp_path / "journal", Reader()
    Talker(BLOCKING, server).ocr(document(1), journal=path)
    Talker(BLOCKING, server).ocr(document(1), journal=path, **change)
    assert len(server.asks) == 2


def test_the_same_bytes_are_the_same_page_wherever_they_come_from(tmp_path) -> None:
    path, server = tmp_path / "journal", Reader()
    file = tmp_path / "a.pdf"
    file.write_bytes(document(2))
    talker = Talker(BLOCKING, server)
    with file.open("rb") as opened:
        for given in (file, document(2), opened):
            talker.ocr(given, journal=path)
    assert len(server.asks) == 2
    image = Image.new("RGB", (20, 20), "black")
    talker.ocr(image, journal=path)
    talker.ocr(image.copy(), journal=path)
    talker.ocr(Image.new("RGB", (20, 20), "white"), journal=path)
    assert len(server.asks) == 4


def test_pages_of_many_documents_share_a_journal(talk, tmp_path) -> None:
    path, server = tmp_path / "journal", Reader()
    given = [document(3), document(2)]
    first = talk(server).every("ocr_iter", given, journal=path)
    again = talk(server).every("ocr_iter", given, journal=path)
    assert len(server.asks) == 5
    assert [page.to_dict() for page in again] == [page.to_dict() for page in first]
    assert [page.source for page in again] == [0, 0, 0, 1, 1]


def test_a_file_of_another_kind_is_refused_and_left(talk, tmp_path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("mine")
    server = Reader()
    with pytest.raises(InvalidRequestError, match="journal"):
        talk(server).ocr(document(1), journal=path)
    assert (path.read_text(), server.asks) == ("mine", [])


WORKER = """
import json, pathlib, sys
from vllm_modalities import Client
url, run, given, journal, out = sys.argv[1:]
with Client(url, max_concurrency=3, headers={"X-Run": run}) as client:
    found = client.ocr(pathlib.Path(given), journal=journal)
pathlib.Path(out).write_text(json.dumps(found.to_dict()))
"""


def noted(path: pathlib.Path) -> set[int]:
    """The pages in the whole lines of a journal."""
    lines = path.read_bytes().split(b"\n")[1:-1] if path.exists() else []
    return {json.loads(line)["value"]["number"] for line in lines}


def test_work_that_is_killed_at_ten_random_moments_asks_for_no_finished_page_twice(
    tmp_path: pathlib.Path,
) -> None:
    given, journal, out = (tmp_path / name for name in ("a.pdf", "journal", "out.json"))
    given.write_bytes(document(PAGES))
    moments = random.Random(7)
    asked: dict[int, list[int]] = defaultdict(list)
    server = Reader()

    def respond(heard: Heard) -> list[bytes]:
        method, path, _ = heard.head.split(maxsplit=2)
        sent = Sent(method, path, {}, json.loads(heard.body or b"null"))
        if method == "POST":
            run = int(re.findall(r"(?i)x-run: (\d+)", heard.head)[0])
            asked[run].append(Ask(sent.body).number)
            time.sleep(0.01)
        found = server.answer(sent)
        return [answer(found.content, first=f"HTTP/1.1 {found.status} Said")]

    expected = Talker(BLOCKING, Reader()).ocr(given).to_dict()
    with serving(respond) as sockets:
        for run in range(11):
            before = noted(journal)
            command = [sys.executable, "-c", WORKER, sockets.url, str(run)]
            worker = subprocess.Popen([*command, str(given), str(journal), str(out)])
            until = len(before) + moments.randint(1, 4)
            while run < 10 and len(noted(journal)) < until:
                assert worker.poll() is None
                time.sleep(0.001)
            if run < 10:
                worker.kill()
            assert worker.wait(60) == (-signal.SIGKILL if run < 10 else 0)
            assert not before & set(asked[run])
    assert sorted({*range(1, PAGES + 1)} - before) == sorted(asked[10])
    assert json.loads(out.read_text()) == expected
