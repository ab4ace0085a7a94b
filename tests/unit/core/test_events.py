"""Events out of bytes, wherever these are cut."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import _events
from vllm_modalities._events import Events

TEXTS = st.lists(st.text(max_size=20), max_size=5)


def events_of(data: bytes, cuts: list[int]) -> list[bytes]:
    places = sorted({0, len(data), *(cut % (len(data) + 1) for cut in cuts)})
    events = Events()
    return [
        found
        for begin, end in zip(places, [*places[1:], len(data)], strict=True)
        for found in events.feed(data[begin:end])
    ]


@given(texts=TEXTS, cuts=st.lists(st.integers(0, 400)), end=st.sampled_from(["\n", "\r\n"]))
def test_events_come_whole_however_their_bytes_are_cut(texts, cuts, end) -> None:
    """Also inside a character, and between the two ends of a line."""
    data = [json.dumps(text, ensure_ascii=False).encode() for text in texts]
    lines = b"".join(b"data: %b" % one + (end * 2).encode() for one in data)
    assert events_of(lines, cuts) == data


@pytest.mark.parametrize(
    ("stream", "found"),
    [
        (b"data: a\n\n", [b"a"]),
        (b"data:a\n\n", [b"a"]),
        (b"data:  a\n\n", [b" a"]),
        (b"data: a\ndata: b\n\n", [b"a\nb"]),
        (b": still here\n\ndata: a\n\n", [b"a"]),
        (b"event: x\nid: 1\nretry: 5\ndata: a\n\n", [b"a"]),
        (b"\n\n\ndata: a\n\n\n", [b"a"]),
        (b"data: a\n", []),
        (b"data: a", []),
        (b"", []),
    ],
)
def test_only_whole_events_with_data_are_given(stream: bytes, found: list[bytes]) -> None:
    assert events_of(stream, []) == found


@pytest.mark.parametrize("part", [b"x" * 100, b"data: x\n" * 100])
def test_an_event_without_end_is_not_gathered(part, monkeypatch) -> None:
    monkeypatch.setattr(_events, "LONGEST", 1000)
    events = Events()
    with pytest.raises(ValueError, match="1,000 bytes"):
        for _ in range(100):
            list(events.feed(part))
