"""What is fuzzed: each target takes any bytes, and raises only where the package is at fault."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from unittest import mock
from urllib.parse import urlsplit

import httpx
import numpy as np
from _script import Answer, FakeVLLM, Sent, as_is, body
from PIL import Image, ImageOps

from vllm_modalities import (
    Classification,
    Client,
    Detokenized,
    Document,
    Embeddings,
    InvalidRequestError,
    MediaError,
    RerankResult,
    Response,
    Scores,
    ServerOverloadedError,
    TextStream,
    TokenEmbeddings,
    Tokenized,
    Transcript,
    VLLMModalitiesError,
    VLLMModalitiesWarning,
)
from vllm_modalities._fleet import replicas_of
from vllm_modalities._flow import said
from vllm_modalities._sniff import sniff
from vllm_modalities._transport.http1 import H11Reader, MalformedError, ToolsReader
from vllm_modalities.audio import reading as sounds
from vllm_modalities.audio import spoken as speaking
from vllm_modalities.audio.pcm import PCM
from vllm_modalities.audio.transcript import Segment
from vllm_modalities.documents import pdf as pdfs
from vllm_modalities.documents import reading as images
from vllm_modalities.documents.blocks import Page
from vllm_modalities.documents.grammars import GRAMMARS, grounding
from vllm_modalities.documents.preparing import Frame
from vllm_modalities.documents.regions import composed, distinct
from vllm_modalities.documents.repetition import repeated_tail
from vllm_modalities.documents.sources import source_of
from vllm_modalities.endpoints._listening import Telling
from vllm_modalities.endpoints.realtime_transcription import _Session
from vllm_modalities.server import ServerInfo, ServerVersion
from vllm_modalities.vectors import decode
from vllm_modalities.vectors.listing import EmbeddingList, sliced

SEEDS = Path(__file__).parent / "seeds"
TARGETS: dict[str, Callable[[bytes], None]] = {}
"""By name, which is also the folder of its seeds."""


WORDS = [
    *(b'null true [ ] { } [] {} "" , : . - 0 1e999 -1 99999999999999999999 NaN'.split()),
    *(b"<|ref|> <|/ref|> <|det|> <|/det|> [[ ]] <PAGE> | < > & ' \n \r \t \0 \x1b[".split(b" ")),
    *(b"\xff\xff\xff\xff \x00\x00\x00\x00 \x7f\xff\xff\xff \x80 \xed\xa0\x80".split()),
]


def target(run: Callable[[bytes], None]) -> Callable[[bytes], None]:
    TARGETS[run.__name__] = run
    return run


def seeds(name: str) -> dict[str, bytes]:
    """The inputs to begin with, and those that were once too much, by file name."""
    return {path.name: path.read_bytes() for path in sorted((SEEDS / name).iterdir())}


# What a server says, read by each method of the client -------------------------------------------


SOUND = (np.sin(np.arange(1600) / 5).astype(np.float32), 16_000)
PAGE = Image.new("RGB", (8, 8))
READER = "deepseek-ai/DeepSeek-OCR"


def _vectors(result: Embeddings) -> None:
    assert len(result) == 2
    assert np.isfinite(result.vectors).all()
    assert result.usage is None or result.usage.prompt_tokens is not None


def _ranking(result: RerankResult) -> None:
    assert sorted(one.index for one in result) == [0, 1]
    assert all(math.isfinite(one.score) for one in result)


def _scores(result: Scores) -> None:
    assert result.scores.shape == (2,)
    assert np.isfinite(result.scores).all()


def _classes(result: Classification) -> None:
    assert len(result.labels) == len(result.probs) == 2
    assert np.isfinite(result.probs).all()


def _tokens(result: TokenEmbeddings) -> None:
    assert len(result) == 2
    assert all(np.isfinite(one).all() for one in result)


def _counted(result: Tokenized) -> None:
    assert result.strings is not None
    assert len(result) == len(result.counts) == len(result.strings) == 2


def _written(result: Detokenized) -> None:
    assert all(isinstance(text, str) for text in result)


def _transcript(result: Transcript) -> None:
    result.to_srt(), result.to_vtt(), result.to_dict()


def _streamed(stream: TextStream[Transcript]) -> Transcript:
    text = "".join(stream)
    assert text == stream.result.text
    return stream.result


def _document(result: Document) -> None:
    (page,) = result.pages
    for block in page.blocks:
        assert all(0 <= x0 < x1 <= 8 and 0 <= y0 < y1 <= 8 for x0, y0, x1, y1 in block.boxes)


def _anything(result: object) -> None:
    """A server may well say that."""


# What is asked of which server, the path whose answer is fuzzed, and what a result must be.
Row = tuple[FakeVLLM, str, Callable[[Client], Any], Callable[[Any], None]]
ANSWERS: dict[str, Row] = {
    "embed": (FakeVLLM(), "/v1/embeddings", lambda c: c.embed(["a", "b"]), _vectors),
    "embed_size": (
        FakeVLLM(matryoshka=True),
        "/v1/embeddings",
        lambda c: c.embed(["a", "b"], dimensions=2, on_error="return"),
        _anything,
    ),
    "embed_type": (
        FakeVLLM(prompts={"query": "q: "}),
        "/v2/embed",
        lambda c: c.embed(["a", "b"], input_type="query"),
        _vectors,
    ),
    "rerank": (
        FakeVLLM("cross-encoder"),
        "/v1/rerank",
        lambda c: c.rerank("q", ["a", "b"]),
        _ranking,
    ),
    "score": (FakeVLLM("cross-encoder"), "/v1/score", lambda c: c.score("q", ["a", "b"]), _scores),
    "classify": (
        FakeVLLM("cross-encoder"),
        "/classify",
        lambda c: c.classify(["a", "b"]),
        _classes,
    ),
    "embed_tokens": (
        FakeVLLM("late-interaction"),
        "/pooling",
        lambda c: c.embed_tokens(["a", "b"]),
        _tokens,
    ),
    "embed_sparse": (
        FakeVLLM(routes=("/pooling", "/tokenize")),
        "/pooling",
        lambda c: c.embed_sparse(["a", "b"]),
        _anything,
    ),
    "token_classify": (
        FakeVLLM(routes=("/pooling", "/tokenize")),
        "/pooling",
        lambda c: c.token_classify(["a", "b"]),
        _anything,
    ),
    "tokenize": (
        FakeVLLM("tokens"),
        "/tokenize",
        lambda c: c.tokenize(["a", "b"], return_token_strs=True),
        _counted,
    ),
    "detokenize": (
        FakeVLLM("tokens"),
        "/detokenize",
        lambda c: c.detokenize([[97], [98]]),
        _written,
    ),
    "transcribe": (
        FakeVLLM("speech"),
        "/v1/audio/transcriptions",
        lambda c: c.transcribe(SOUND, language="en"),
        _transcript,
    ),
    "stream_transcription": (
        FakeVLLM("speech", model="qwen3-asr"),
        "/v1/audio/transcriptions",
        lambda c: _streamed(c.stream_transcription(SOUND, language="en")),
        _transcript,
    ),
    "translate": (
        FakeVLLM("speech"),
        "/v1/audio/translations",
        lambda c: c.translate(SOUND),
        _transcript,
    ),
    "ocr": (
        FakeVLLM("chat", model=READER),
        "/v1/chat/completions",
        lambda c: c.ocr(PAGE),
        _document,
    ),
    "ocr_iter": (
        FakeVLLM("chat", model=READER),
        "/v1/chat/completions",
        lambda c: list(c.ocr_iter([PAGE], on_error="raise")),
        lambda pages: _document(Document(tuple(pages))),
    ),
    "servers": (FakeVLLM(), "*", lambda c: c.servers(), _anything),
}


def _answer(name: str, data: bytes) -> None:
    """Give the method `name` an answer: a line with status and media type, then the body."""
    server, path, call, check = ANSWERS[name]
    server.always(path, as_is)
    if name != "servers" and name not in KNOWN:
        with asking(server) as client:
            (KNOWN[name],) = client.servers()
    head, _, content = data.partition(b"\n")
    code, kind = head[:3], head[3:].strip()
    status = int(code) if code.isdigit() and 200 <= int(code) <= 599 else 200
    server.always(path, body(content, status, content_type=kind.decode("latin-1")))
    with asking(server) as client, quiet(), suppress(VLLMModalitiesError):
        if name in KNOWN:
            client._fleet.replicas[0].known(KNOWN[name], client._fleet.clock())
        result = call(client)
        repr(result)
        check(result)


KNOWN: dict[str, ServerInfo] = {}
"""Who the servers are; asking anew for each input would take most of the time."""


@contextmanager
def asking(server: FakeVLLM) -> Iterator[Client]:
    """A client of `server`, one request at a time: the fuzzer is guided by this thread alone."""
    server.sent.clear()

    def respond(request: httpx.Request) -> httpx.Response:
        kind = request.headers.get("content-type")
        asked = json.loads(request.content) if kind == "application/json" else None
        answer = server.answer(Sent(request.method, request.url.path, {}, asked))
        headers = {name: value.encode("latin-1") for name, value in answer.headers.items()}
        return httpx.Response(answer.status, headers=headers, content=answer.content)

    with httpx.Client(transport=httpx.MockTransport(respond)) as http:
        yield Client("http://server", max_retries=0, max_concurrency=1, http_client=http)


@contextmanager
def quiet() -> Iterator[None]:
    """Our own warnings are meant; any other is a fault."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", VLLMModalitiesWarning)
        warnings.simplefilter("ignore", Image.DecompressionBombWarning)
        yield


def _register(name: str) -> None:
    def run(data: bytes) -> None:
        _answer(name, data)

    TARGETS[f"answer_{name}"] = run


for _name in ANSWERS:
    _register(_name)


@target
def error_body(data: bytes) -> None:
    assert len(said(data)) <= 500
    with suppress(VLLMModalitiesError):
        Response(200, {}, data).json()


@target
def retry_after(data: bytes) -> None:
    server = FakeVLLM()
    server.always("*", lambda _: Answer(503, headers={"retry-after": data.decode("latin-1")}))
    with asking(server) as client:
        try:
            client.embed("a")
        except ServerOverloadedError as error:
            asked = error.retry_after
    assert asked is None or 0 <= asked < math.inf


@target
def version(data: bytes) -> None:
    try:
        release = ServerVersion(data.decode("utf-8", "replace"))
    except ValueError:
        return
    assert (release < "0.32.0") != (release >= "0.32.0")


@target
def http(data: bytes) -> None:
    """The first byte says in pieces of how many bytes it comes; then the connection closes."""
    size, raw = 1 + (data[0] if data else 0), memoryview(data[1:])
    for reader in (H11Reader(), ToolsReader()):
        with suppress(MalformedError):
            for start in range(0, len(raw), size):
                if not reader.done:
                    reader.came(raw[start : start + size])
            if not reader.done:
                reader.came(memoryview(b""))
        assert len(reader.body) <= len(raw)
        assert not reader.done or 200 <= reader.status <= 999


@target
def session(data: bytes) -> None:
    """Each line is a message of a realtime server; the first byte says how the model writes."""
    told: list[str] = []

    def tell(text: str) -> bool:
        told.append(text)
        return True

    telling = Telling(tell, (None, "asr_text", "diarized")[data[0] % 3 if data else 0])
    heard = _Session(PCM(16_000), telling, tell)
    for message in data[1:].split(b"\n"):
        if not heard.hear(message):
            break
    with suppress(VLLMModalitiesError):
        assert heard.text(Response(101, {}, b"")) == "".join(told)


@target
def listing(data: bytes) -> None:
    """What is sliced out of JSON is what the JSON parser finds there."""
    found = sliced(data, 2)
    if found is not None and found[0] and len(found[0]) % 8 == 0:
        parsed = EmbeddingList.model_validate_json(data)
        rows = decode.from_base64([str(row.embedding) for row in parsed.data])
        assert rows.tobytes() == bytes(found[0])
        assert [row.index for row in parsed.data] == [0, 1]


@target
def vectors(data: bytes) -> None:
    """The first byte is the count, the second the width."""
    count, width, raw = *(*data[:2], 0, 0)[:2], data[2:]
    with suppress(ValueError):
        assert decode.from_body(raw, count, width).shape == (count, width)
    with suppress(ValueError):
        decode.from_base64(raw.decode("latin-1").split("\n"))
    with suppress(ValueError):
        decode.from_bytes(raw.split(b"\n"))


# What a model writes ------------------------------------------------------------------------------


@target
def grammar(data: bytes) -> None:
    """The first two bytes are the page's size."""
    width, height = (1 + data[0], 1 + data[1]) if len(data) > 1 else (9, 9)
    text = data[2:].decode("utf-8", "replace")
    frame = Frame.whole(width, height, 1000)
    for parsed in (parse(text, frame) for parse in GRAMMARS.values()):
        page = composed(distinct(parsed), {0: text}, page=1)
        assert len(page.blocks) <= len(parsed.blocks)
        for order, block in enumerate(parsed.blocks):
            assert block.order == order
            for x0, y0, x1, y1 in block.boxes:
                assert 0 <= x0 < x1 <= width
                assert 0 <= y0 < y1 <= height


@target
def repetition(data: bytes) -> None:
    text = data.decode("utf-8", "replace")
    if found := repeated_tail(text):
        unit, count = found
        assert unit * count in text


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attributes: object) -> None:
        self.seen.add(tag)


OURS = set(
    "html head meta title style body script div section h1 h2 h3 h4 h5 h6 p figure svg image a rect"
    " b i u sub sup strong em code pre details summary ul ol li hr br img table tr td th".split()
)


@target
def spoken(data: bytes) -> None:
    """The first byte says how much of the text comes first."""
    text, early = data[1:].decode("utf-8", "replace"), data[0] if data else 0
    for kind in ("asr_text", "diarized", None):
        found = speaking.spoken(text, kind, duration=9.0)
        assert all(0 <= one.start <= one.end <= 9 for one in found.segments)
        first = speaking.worded(speaking.settled(text[:early], kind), kind)
        assert found.text.startswith(first)


@target
def document(data: bytes) -> None:
    """What a model wrote is shown as words, whatever it is."""
    text = data.decode("utf-8", "replace")
    parsed = grounding.parse(text, Frame.whole(8, 8, 999))
    page = Page(
        1, 8, 8, parsed.markdown, parsed.text, parsed.blocks, text, parsed.warnings, picture=PAGE
    )
    made = Document((page,), text).to_html()
    tags = _Tags()
    tags.feed(made)
    assert tags.seen <= OURS, tags.seen
    repr(page)


@target
def subtitles(data: bytes) -> None:
    """Each line is a segment: its first two bytes are its times."""
    parts = [line for line in data.decode("latin-1").splitlines() if len(line) > 2]
    segments = tuple(Segment(ord(one[0]), ord(one[1]), one[2:], one[:3]) for one in parts)
    heard = Transcript("", segments)
    srt, vtt = heard.to_srt(), heard.to_vtt()
    assert srt.count("-->") == vtt.count("-->")


# What a caller's own users hand in ----------------------------------------------------------------


@target
def image(data: bytes) -> None:
    """Few pixels are allowed, so that no time goes into large and empty pictures."""
    with quiet(), mock.patch.object(images, "MAX_PIXELS", 1 << 20), suppress(MediaError):
        page = images.read_image(data)
        assert page.image.mode == "RGB"
        assert page.image.size == ImageOps.exif_transpose(page.image).size


@target
def pages(data: bytes) -> None:
    """Every page is one or fails; a PDF's is drawn small, so that no time goes into large ones."""
    with (
        quiet(),
        mock.patch.object(images, "MAX_PIXELS", 1 << 20),
        mock.patch.object(pdfs, "MOST_PIXELS", 1 << 18),
        suppress(MediaError),
    ):
        source = source_of(data)
        for number in source.numbers[:3]:
            with suppress(MediaError):
                assert source.read(number, dpi=20).image.mode == "RGB"
        source.close()


@target
def sound(data: bytes) -> None:
    with quiet(), suppress(MediaError):
        heard = sounds.read_audio(data)
        assert np.isfinite(heard.samples).all()
        assert heard.duration > 0


@target
def signature(data: bytes) -> None:
    assert str(sniff(data)).isprintable()


@target
def address(data: bytes) -> None:
    text = data.decode("utf-8", "surrogateescape")
    try:
        replicas = replicas_of(text)
    except InvalidRequestError as error:
        assert "PASSWORD" not in str(error)  # noqa: PT017
        return
    for replica in replicas:
        assert "PASSWORD" not in replica.url
        with suppress(httpx.InvalidURL):  # the transport words it
            # Two parsers that see two hosts would send a key to the wrong one.
            host = urlsplit(replica.url).hostname or ""
            assert httpx.URL(replica.url).host == host.lower() or not host.isascii()
