"""The journal: what survives a kill, who may write, and whose files it never touches."""

import json
import os
import subprocess
import sys
import textwrap
from itertools import islice
from pathlib import Path
from types import SimpleNamespace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vllm_modalities import InvalidRequestError
from vllm_modalities._journal import HEADER, Journal, key_of

values = st.dictionaries(
    st.text(max_size=3), st.none() | st.text(max_size=8) | st.integers() | st.lists(st.text())
)


def entries(path: Path, keys: list[str]) -> list[object]:
    with Journal(path) as journal:
        return [journal.get(key) for key in keys]


@settings(max_examples=20)
@given(pieces=st.lists(values, max_size=3))
def test_a_journal_cut_at_any_byte_holds_the_pieces_that_were_whole_and_takes_more(
    tmp_path_factory, pieces
) -> None:
    path = tmp_path_factory.mktemp("journal") / "j"
    keys, ends = [str(place) for place in range(len(pieces))], [0]
    with Journal(path) as journal:
        for key, value in zip(keys, pieces, strict=True):
            journal.put(key, value)
            ends.append(path.stat().st_size)
    content = path.read_bytes()
    for cut in range(len(content) + 1):
        path.write_bytes(content[:cut])
        whole = sum(end <= cut for end in ends[1:])
        with Journal(path) as journal:
            assert len(journal) == whole
            journal.put("more", {"a": 1})
        assert entries(path, [*keys, "more"]) == [
            *pieces[:whole],
            *([None] * (len(pieces) - whole)),
            {"a": 1},
        ]


def test_its_keys_are_those_of_the_pieces_in_their_order(tmp_path) -> None:
    with Journal(tmp_path / "j") as journal:
        for key in ("b", "a", "b"):
            journal.put(key, {})
        assert list(journal) == ["b", "a"]


def test_killed_while_writing_it_has_every_piece_that_was_put(tmp_path) -> None:
    path = tmp_path / "j"
    code = f"""
        from itertools import count
        from vllm_modalities._journal import Journal
        journal = Journal({str(path)!r})
        for number in count():
            journal.put(str(number), {{"n": number, "pad": "x" * 5000}})
            print(number, flush=True)
    """
    with subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout
        seen = list(islice(process.stdout, 100))
        process.kill()
        seen += list(process.stdout)
    found = entries(path, [str(number) for number in range(len(seen))])
    assert [one["n"] for one in found if isinstance(one, dict)] == list(range(len(seen)))


def test_only_its_owner_can_read_a_new_journal(tmp_path) -> None:
    path = tmp_path / "j"
    Journal(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_second_writer_is_told_that_the_journal_is_in_use(tmp_path) -> None:
    path = tmp_path / "j"
    code = f"from vllm_modalities._journal import Journal; Journal({str(path)!r})"
    with Journal(path):
        with pytest.raises(InvalidRequestError, match="in use"):
            Journal(path)
        other = subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=False
        )
        assert "in use" in other.stderr
    Journal(path).close()


def test_a_process_forked_meanwhile_keeps_no_lock(tmp_path) -> None:
    """It has the same open file, as a copy of the descriptor has."""
    with Journal(tmp_path / "j") as journal:
        kept = os.dup(journal._file.fileno())
    try:
        Journal(tmp_path / "j").close()
    finally:
        os.close(kept)
    journal.close()  # once more does no harm


def test_where_there_is_no_flock_the_first_byte_is_locked(tmp_path, monkeypatch) -> None:
    locked = []

    def locking(number: int, mode: int, count: int) -> None:
        locked.append((os.lseek(number, 0, os.SEEK_CUR), mode, count))

    monkeypatch.setitem(sys.modules, "fcntl", None)
    monkeypatch.setitem(sys.modules, "msvcrt", SimpleNamespace(locking=locking, LK_NBLCK=2))
    Journal(tmp_path / "j").close()
    assert locked == [(0, 2, 1)]


@pytest.mark.parametrize(
    "content",
    [
        b"my notes\n",
        b"\0" * 5000,
        b"{}\n",
        b"[1]\n",
        b'{"journal": "of my journey"}\n',
        HEADER[:-3] + b"\n",
        HEADER.replace(b"1", b"2"),
    ],
)
def test_a_file_that_is_no_journal_of_this_format_is_refused_and_left_alone(
    tmp_path, content
) -> None:
    path = tmp_path / "j"
    path.write_bytes(content)
    with pytest.raises(InvalidRequestError, match="left as it is"):
        Journal(path)
    assert path.read_bytes() == content


def test_what_is_no_ordinary_file_is_refused(tmp_path) -> None:
    os.mkfifo(tmp_path / "fifo")
    for path in (tmp_path, tmp_path / "none" / "j", tmp_path / "fifo", "/dev/null"):
        with pytest.raises(InvalidRequestError, match=r"cannot be opened|no ordinary file"):
            Journal(path)


@pytest.mark.parametrize("line", [b"\0\0\n", b"[]\n", b'{"key": "a"}\n', b'{"value": {}}\n'])
def test_a_line_that_a_failing_disk_left_costs_no_other_piece(tmp_path, line) -> None:
    path = tmp_path / "j"
    good = json.dumps({"key": "b", "value": {"n": 1}}).encode() + b"\n"
    path.write_bytes(HEADER + line + good)
    assert entries(path, ["a", "b"]) == [None, {"n": 1}]


def test_a_key_differs_with_the_bytes_the_model_and_every_parameter() -> None:
    asked = [
        (b"a", "m", {}),
        (b"b", "m", {}),
        (b"a", None, {}),
        (b"a", "m", {"x": 1}),
        (b"a", "m", {"x": "1"}),
        (b"a", "m", {"x": {1}}),
    ]
    assert len({key_of(*one) for one in asked}) == len(asked)
    assert key_of(b"a", "m", {"x": 1, "y": 2}) == key_of(b"a", "m", {"y": 2, "x": 1})
