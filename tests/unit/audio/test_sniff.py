from __future__ import annotations

import io
import os
import pathlib

import pytest

from vllm_modalities._sniff import Family, opened, sniff
from vllm_modalities.errors import MediaError

KNOWN = {
    b"RIFF\0\0\0\0WAVEfmt ": "a WAV file",
    b"RF64\xff\xff\xff\xffWAVEds64": "a WAV file",
    b"riff" + bytes(20) + b"wave": "a W64 file",
    b"fLaC\0\0\0\x22": "a FLAC file",
    b"OggS\0\x02": "an Ogg file",
    b"FORM\0\0\0\0AIFFCOMM": "an AIFF file",
    b".snd\0\0\0\x18": "an AU file",
    b"caff\0\x01": "a CAF file",
    b"ID3\x04\0\0": "an MP3 file",
    b"\xff\xfb\x90\x64": "an MP3 file",
    b"\xff\xfd\x90\x64": "an MPEG audio file",
    b"\xff\xf1\x50\x80": "an AAC file",
    b"\0\0\0\x20ftypM4A \0": "an M4A file",
    b"\0\0\0\x20ftypisom\0": "an MP4 file",
    b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x84webm": "a WebM file",
    b"\x1aE\xdf\xa3\x9fB\x86\x81\x01B\x82\x88matroska": "a Matroska (MKV) file",
    b"RIFF\0\0\0\0AVI LIST": "an AVI file",
    b"\x30\x26\xb2\x75\x8e\x66\xcf\x11": "a WMA file",
    b"#!AMR\n": "an AMR file",
    b"FLV\x01": "an FLV file",
    b"\x89PNG\r\n\x1a\n": "a PNG image",
    b"\xff\xd8\xff\xe0": "a JPEG image",
    b"RIFF\0\0\0\0WEBPVP8 ": "a WebP image",
    b"GIF89a": "a GIF image",
    b"II*\0\x08": "a TIFF image",
    b"BM\x9a\x02\0\0\0\0\0\0": "a BMP image",
    b"\0\0\0\x0cjP  \r\n": "a JPEG 2000 image",
    b"P6\n3 3\n255\n": "a PPM image",
    b"\0\0\0\x20ftypavif": "an AVIF image",
    b"\0\0\0\x18ftypheic": "a HEIC image",
    b"%PDF-1.7": "a PDF",
    b"PK\x03\x04": "a ZIP archive",
    b"\x1f\x8b\x08": "a gzip file",
    b"": "an empty file",
    b"\x00\x01\x02": "binary data beginning 0x000102",
    b"<!DOCTYPE html>\n<html>": "text beginning '<!DOCTYPE html> <html>'",
    "Über".encode("utf-16"): "text beginning 'Über'",
    "größer".encode()[:4]: "text beginning 'grö'",
}


@pytest.mark.parametrize(("head", "name"), KNOWN.items())
def test_bytes_are_named_with_their_article(head: bytes, name: str) -> None:
    assert str(sniff(head)) == name


def test_a_character_cut_at_the_end_of_the_head_is_still_text() -> None:
    assert sniff("grö".encode()[:-1]).name == "text beginning 'gr'"


def test_a_long_text_is_quoted_by_its_beginning() -> None:
    assert (
        sniff(b"word " * 100).name == "text beginning 'word word word word word word word word …'"
    )


def test_control_characters_are_no_text() -> None:
    assert sniff(b"word\x01").family is Family.UNKNOWN


def test_a_missing_file_is_named() -> None:
    with pytest.raises(MediaError, match=r"'no/such\.wav': no such file\.$"), opened("no/such.wav"):
        pass


def test_a_url_is_recognised_as_no_path() -> None:
    with pytest.raises(MediaError, match="this one is a URL"), opened("https://host/a.wav"):
        pass


def test_a_directory_is_named(tmp_path: pathlib.Path) -> None:
    with pytest.raises(MediaError, match="is a directory"), opened(tmp_path):
        pass


def test_a_path_that_cannot_be_one_is_refused() -> None:
    with pytest.raises(MediaError, match="cannot be opened: embedded null"), opened("a\0b"):
        pass


def test_a_pipe_is_refused_with_the_reason(tmp_path: pathlib.Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    descriptor = os.open(pipe, os.O_RDWR)  # so that opening does not wait for a writer
    os.write(descriptor, bytes(4096))
    try:
        with pytest.raises(MediaError, match="pipe' cannot be read"), opened(pipe):
            pass
    finally:
        os.close(descriptor)


def test_another_type_is_refused() -> None:
    with pytest.raises(MediaError, match="cannot read int: give a path, bytes"), opened(3):  # type: ignore[arg-type]
        pass


def test_a_text_mode_file_is_refused() -> None:
    with pytest.raises(MediaError, match="mode 'rb'"), opened(io.StringIO("a")):  # type: ignore[arg-type]
        pass


def test_an_open_file_is_read_from_where_it_stands_and_stays_open() -> None:
    file = io.BytesIO(b"skipped%PDF-1.7")
    file.seek(7)
    with opened(file) as given:
        assert given.kind.name == "a PDF"
        assert given.name == "the open file (8 bytes)"
    assert not file.closed


def test_a_file_on_disk_that_is_open_is_not_taken_into_memory(tmp_path) -> None:
    (tmp_path / "a").write_bytes(b"skipped%PDF-1.7")
    with (tmp_path / "a").open("rb") as file:
        file.seek(7)
        with opened(file) as given:
            assert given.name == "the open file (8 bytes)"
            assert not isinstance(given.file, io.BytesIO)
            assert given.file.seek(-3, os.SEEK_END) == 5
            assert given.file.read() == b"1.7"
            assert given.file.seek(1) == given.file.tell() == 1
            assert given.file.read(3) == b"PDF"
        assert not file.closed


def test_what_cannot_seek_is_read_whole() -> None:
    class Answer:
        def read(self) -> bytes:
            return b"%PDF-1.7"

    with opened(Answer()) as given:  # type: ignore[arg-type]
        assert given.name == "the open file (8 bytes)"
        assert given.file.read() == b"%PDF-1.7"


def test_memory_is_bytes() -> None:
    with opened(memoryview(b"PK\x03\x04")) as given:  # type: ignore[arg-type]
        assert given.kind.name == "a ZIP archive"
        assert given.file.read() == b"PK\x03\x04"
