"""The files of recordings: what is written is read back, and differences are lines."""

from vllm_modalities.simulator._recordings import (
    Answer,
    Asked,
    Case,
    Recordings,
    load,
    save,
    servers,
)

JSON = {"content-type": "application/json"}
RECORDINGS = Recordings(
    server="embed",
    model="minilm",
    recorded={"0.9.0": "2026-11-28", "0.10.0": "2026-11-29"},
    cases={
        "broken-json": Case(
            Asked("POST", "/v1/embeddings", headers=JSON, text="{"),
            (Answer(("0.9.0", "0.10.0"), 400, JSON, {"error": {"message": "ü"}}),),
        ),
        "bytes": Case(
            Asked("POST", "/v1/embeddings", json={"input": "a"}),
            (
                Answer(("0.9.0",), 200, {"metadata": "{}"}, b"\xff\x00"),
                Answer(("0.10.0",), 200, {"content-type": "text/plain"}, "a text"),
            ),
        ),
        "health": Case(Asked("GET", "/health"), (Answer(("0.10.0",), 200),)),
        "form": Case(
            Asked("POST", "/f", form={"a": "1", "b": ["2", "3"]}, files={"file": "jfk.flac"}), ()
        ),
    },
)


def test_what_is_saved_is_loaded(tmp_path) -> None:
    save(RECORDINGS, tmp_path)
    assert load("embed", tmp_path) == RECORDINGS


def test_the_same_recordings_are_the_same_file_whatever_their_order(tmp_path) -> None:
    path = save(RECORDINGS, tmp_path)
    first = path.read_bytes()
    turned = Recordings(
        "embed",
        "minilm",
        dict(reversed(RECORDINGS.recorded.items())),
        dict(reversed(RECORDINGS.cases.items())),
    )
    assert save(turned, tmp_path).read_bytes() == first


def test_an_answer_has_a_line_of_its_own_and_releases_stand_by_age(tmp_path) -> None:
    lines = save(RECORDINGS, tmp_path).read_text("utf-8").splitlines()
    assert sum('"releases"' in line for line in lines) == 4
    assert any('["0.9.0", "0.10.0"]' in line for line in lines)


def test_a_case_knows_what_each_release_answered() -> None:
    case = RECORDINGS.cases["bytes"]
    assert (case.of("0.9.0"), case.of("0.10.0")) == case.answers
    assert case.of("0.11.0") is None


def test_an_answer_gives_its_body_as_bytes() -> None:
    broken, raw = RECORDINGS.cases["broken-json"], RECORDINGS.cases["bytes"]
    assert broken.answers[0].content == '{"error":{"message":"ü"}}'.encode()
    assert [one.content for one in raw.answers] == [b"\xff\x00", b"a text"]
    assert RECORDINGS.cases["health"].answers[0].content == b""


def test_the_kinds_of_server_are_the_files_that_there_are() -> None:
    assert all(load(server).server == server for server in servers())
