"""`vllm-modalities transcribe`: files, folders and patterns in, text and subtitles out."""

import json
from pathlib import Path

import numpy as np
import pytest
import soundfile
from _script import FakeVLLM, body, edited, status
from typer.testing import CliRunner

from vllm_modalities import cli

SPOKEN = (np.sin(np.arange(4_000) / 5) * 9_000).astype(np.int16)
PATH, TRANSLATIONS = "/v1/audio/transcriptions", "/v1/audio/translations"


@pytest.fixture
def server(reached) -> FakeVLLM:
    return reached(
        "transcribe",
        FakeVLLM("speech", model="MOSS-Transcribe-Diarize", says="[0.01][S01] One. [0.1]"),
    )


@pytest.fixture
def talks(tmp_path: Path) -> Path:
    """A folder with two recordings, one of them deeper, and a note."""
    folder = tmp_path / "talks"
    (folder / "more").mkdir(parents=True)
    for name in ("a.wav", "more/b.flac"):
        soundfile.write(folder / name, SPOKEN, 16_000)
    (folder / "note.txt").write_text("no sound")
    return folder


def run(*arguments: object):
    environment = {"COLUMNS": "300", "TERM": "dumb", "FORCE_COLOR": None}
    return CliRunner().invoke(cli.app, ["transcribe", *map(str, arguments)], env=environment)


def test_one_recording_s_text_is_printed(server, talks) -> None:
    done = run(talks / "a.wav")
    assert (done.exit_code, done.stdout) == (0, "One.\n")
    assert [path.name for path in talks.iterdir() if path.suffix in (".srt", ".vtt")] == []


@pytest.mark.parametrize("way", ["folder", "pattern", "twice"])
def test_folders_and_patterns_mean_the_recordings_in_them(server, talks, way) -> None:
    given = {
        "folder": [talks],
        "pattern": [talks / "*.wav", f"{talks}/**/*.flac"],
        "twice": [talks, talks / "a.wav"],
    }[way]
    done = run(*given)
    assert done.exit_code == 0
    assert done.stdout == f"{talks}/a.wav:\nOne.\n{talks}/more/b.flac:\nOne.\n"
    assert len(server.posts) == 2


def test_subtitles_are_written_beside_the_recordings(server, talks) -> None:
    done = run(talks, "--srt", "--vtt", "--diarize")
    assert (done.exit_code, done.stdout) == (0, "")
    for name in ("a", "more/b"):
        assert "[S01]: One." in (talks / f"{name}.srt").read_text("utf-8")
        assert (talks / f"{name}.vtt").read_text("utf-8").startswith("WEBVTT")


def test_subtitles_are_written_into_a_folder(server, talks) -> None:
    assert run(talks, "--srt", "--out", talks / "new" / "subtitles").exit_code == 0
    assert {path.name for path in (talks / "new" / "subtitles").iterdir()} == {"a.srt", "b.srt"}


def test_recordings_of_one_name_do_not_overwrite_each_other(server, talks) -> None:
    soundfile.write(talks / "a.flac", SPOKEN, 16_000)
    assert run(talks, "--srt").exit_code == 0
    assert {path.name for path in talks.glob("*.srt")} == {"a.flac.srt", "a.wav.srt"}
    soundfile.write(talks / "more" / "a.wav", SPOKEN, 16_000)
    done = run(talks, "--srt", "--out", talks / "new")
    assert done.exit_code == 2
    assert "several recordings" in done.stderr


def test_machines_get_all_there_is(server, talks) -> None:
    done = run(talks, "--json", "--srt")
    found = json.loads(done.stdout)
    assert [Path(one["file"]).name for one in found] == ["a.wav", "b.flac"]
    assert found[0]["segments"][0]["speaker"] == "S01"
    assert (talks / "a.srt").exists()


def test_options_reach_the_server(server, talks) -> None:
    done = run(talks / "a.wav", "--language", "de", "--model", "MOSS-Transcribe-Diarize")
    assert done.exit_code == 0
    assert server.posts[0].fields["language"] == ["de"]


def test_a_translation_is_asked_for_where_translations_are_made(server, talks) -> None:
    server.models[0] = {"id": "whisper-base"}
    done = run(talks / "a.wav", "--translate", "--language", "de")
    assert (done.exit_code, server.posts[0].path) == (0, TRANSLATIONS)


def test_warnings_name_the_recording(server, talks) -> None:
    server.always(PATH, body({"text": "[0.01][S01] One."}))
    done = run(talks)
    assert done.exit_code == 0
    assert f"{talks}/a.wav: 0.0 to 0.2 s: 1 of 1 segments" in done.stderr


def test_a_text_that_is_cut_is_not_all_that_was_asked_for(server, talks) -> None:
    server.task, server.models[0] = "chat", {"id": "ultravox-v0_5"}
    server.routes = ("/v1/chat/completions",)
    server.says = "One."
    assert run(talks / "a.wav").exit_code == 0
    server.always(
        "/v1/chat/completions", edited(lambda one: one["choices"][0].update(finish_reason="length"))
    )
    done = run(talks / "a.wav")
    assert (done.exit_code, done.stdout) == (1, "One.\n")
    assert "the text is cut" in done.stderr


def test_one_recording_that_fails_leaves_the_others(server, talks) -> None:
    (talks / "broken.mp3").write_bytes(b"no sound")
    done = run(talks)
    assert done.exit_code == 1
    assert done.stdout.count("One.") == 2
    assert f"{talks}/broken.mp3: MediaError:" in done.stderr


def test_of_a_recording_that_fails_in_part_the_rest_is_written(server, talks) -> None:
    server.models[0] = {"id": "whisper-base"}
    minute = np.tile(SPOKEN, 160)
    minute[320_000:400_000] = 0
    soundfile.write(talks / "a.wav", minute, 16_000)
    server.says = "One."
    server.once(PATH, status(400, "a bad piece"))
    done = run(talks / "a.wav", "--language", "en", "--vtt")
    assert done.exit_code == 1
    assert "a bad piece" in done.stderr
    assert "One." in (talks / "a.vtt").read_text("utf-8")


def test_a_journal_spares_what_is_done(server, talks) -> None:
    for _ in range(2):
        assert run(talks / "a.wav", "--journal").exit_code == 0
    assert len(server.posts) == 1
    assert (talks / "a.journal").exists()


def test_a_server_that_fails_is_exit_status_1(server, talks) -> None:
    server.always(PATH, status(500, "engine died"))
    done = run(talks)
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.count("engine died") == 2


def test_what_no_server_can_do_is_exit_status_2(server, talks) -> None:
    server.model = "whisper-base"
    server.models[0] = {"id": "whisper-base"}
    done = run(talks, "--diarize", "--language", "en")
    assert done.exit_code == 2
    assert "tells no speakers apart" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["nowhere.wav"], "no such file"),
        (["*.nothing"], "no file fits it"),
        ([".", "--translate", "--diarize"], "does not go with"),
    ],
)
def test_wrong_use_is_exit_status_2(server, tmp_path, monkeypatch, arguments, told) -> None:
    monkeypatch.chdir(tmp_path)
    done = run(*arguments)
    assert done.exit_code == 2
    assert told in done.stderr
    assert server.posts == []


def test_a_folder_that_cannot_be_written_to_is_told(server, talks) -> None:
    (talks / "file").write_text("in the way")
    done = run(talks / "a.wav", "--srt", "--out", talks / "file")
    assert done.exit_code == 1
    assert "FileExistsError" in done.stderr


def test_help_has_an_example() -> None:
    done = run("--help")
    assert done.exit_code == 0
    assert "vllm-modalities transcribe talk.mp3" in done.stdout
