"""`ImageURL` and `AudioURL`: what stands there is fetched by the client, and no key goes along."""

import base64
import io
from collections.abc import Iterator
from dataclasses import dataclass, field

import httpx
import numpy as np
import pytest
import soundfile
from _script import Answer, FakeVLLM, Sent, Talker, body, mock_transport, status
from _sockets import answer, serving
from PIL import Image

from vllm_modalities import (
    APIConnectionError,
    APITimeoutError,
    AudioURL,
    Client,
    ImageURL,
    InvalidRequestError,
    MediaError,
    PartialFailureError,
)

VLLM, HOST, ELSEWHERE = "http://gpu", "http://pictures", "https://cdn"
KEY = "the-key"


def png(colour: str = "red") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (40, 30), colour).save(file, "PNG")
    return file.getvalue()


def flac() -> bytes:
    file = io.BytesIO()
    soundfile.write(file, np.sin(np.arange(8000) / 5) / 2, 16_000, format="FLAC")
    return file.getvalue()


@dataclass
class Host(FakeVLLM):
    """What is no vLLM, and has files."""

    files: dict[str, Answer] = field(default_factory=dict)

    def _usual(self, sent: Sent) -> Answer:
        return self.files.get(sent.path) or status(404, "no such file")(Answer())


def file(content: bytes) -> Answer:
    return body(content)(Answer())


def moved(place: str) -> Answer:
    return body(b"", 302, location=place)(Answer())


FILES = {
    "/red.png": file(png()),
    "/blue.png?sign=secret": file(png("blue")),
    "/talk.flac": file(flac()),
    "/moved.png": moved("/red.png"),
    "/away.png": moved(f"{ELSEWHERE}/far.png"),
    "/round.png": moved("/round.png"),
    "/local.png": moved("file:///etc/passwd"),
    "/odd.png": moved("http://[odd/a.png"),
    "/gone?token=secret": status(410, "gone")(Answer()),
}


def network(task: str, **told) -> dict[str, FakeVLLM]:
    files = Host(files=FILES)
    return {
        VLLM: FakeVLLM(task, **told),
        HOST: files,
        ELSEWHERE: Host(files={"/far.png": FILES["/red.png"]}),
    }


@pytest.fixture
def reach(talk):
    """A client of `VLLM` that has a key and a header of its own, in a network with files."""

    def made(servers: dict[str, FakeVLLM], **options) -> Talker:
        own = {"X-Own": "secret", "Authorization": f"Bearer {KEY}"}
        return talk(servers, base_url=[VLLM], api_key=KEY, headers=own, **options)

    return made


def pictures(sent: Sent) -> list[bytes]:
    """The images of a request."""
    urls = [
        part["image_url"]["url"]
        for given in sent.body["messages"]
        for message in (given if isinstance(given, list) else [given])
        for part in message["content"]
        if part["type"] == "image_url"
    ]
    return [base64.b64decode(url.partition(",")[2]) for url in urls]


def colour(picture: bytes) -> object:
    return Image.open(io.BytesIO(picture)).convert("RGB").getpixel((0, 0))


@pytest.mark.parametrize("path", ["red.png", "moved.png", "away.png"])
def test_an_image_is_fetched_and_sent_and_the_key_stays_at_home(reach, path) -> None:
    servers = network("embed")
    reach(servers).embed(
        [ImageURL(f"{HOST}/{path}"), {"content": ["a", ImageURL(f"{HOST}/red.png")]}]
    )
    (sent,) = servers[VLLM].posts
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert [colour(picture) for picture in pictures(sent)] == [(255, 0, 0)] * 2
    for asked in (*servers[HOST].sent, *servers[ELSEWHERE].sent):
        assert asked.method == "GET"
        assert "authorization" not in asked.headers
        assert "x-own" not in asked.headers


def test_credentials_in_an_address_go_there_and_are_not_shown(reach) -> None:
    servers = network("embed")
    address = ImageURL("http://me:word@pictures/none.png")
    assert repr(address) == "ImageURL('http://pictures/none.png')"
    with pytest.raises(MediaError) as caught:
        reach(servers).embed(address)
    assert "word" not in str(caught.value)
    (asked,) = servers[HOST].sent
    assert asked.headers["authorization"] == "Basic " + base64.b64encode(b"me:word").decode()


def test_words_beside_an_address_stay_as_they_are(reach) -> None:
    servers = network("embed")
    said = {"role": "system", "content": "be short"}
    asked = {"role": "user", "content": [ImageURL(f"{HOST}/red.png")]}
    reach(servers).embed([said, asked])
    conversation = servers[VLLM].posts[0].body["messages"]
    assert conversation[0] == said
    assert conversation[1]["content"][0]["image_url"]["url"].startswith("data:image/png")


def test_what_a_query_says_is_never_shown(reach) -> None:
    servers = network("embed")
    found = ImageURL(f"{HOST}/blue.png?sign=secret#part")
    reach(servers).embed(found)
    assert [colour(picture) for picture in pictures(servers[VLLM].posts[0])] == [(0, 0, 255)]
    assert repr(found) == f"ImageURL('{HOST}/blue.png')"
    with pytest.raises(MediaError) as caught:
        reach(servers).embed(ImageURL(f"{HOST}/gone?token=secret"))
    error: BaseException | None = caught.value
    while error:
        assert "secret" not in str(error)
        error = error.__cause__
    assert "410" in str(caught.value)


@pytest.mark.parametrize(
    ("address", "says"),
    [
        (f"{HOST}/none.png", "404"),
        (f"{HOST}/round.png", "moved more than 5 times"),
        (f"{HOST}/local.png", "file"),
        ("data:image/png;base64,%%%", "no base64"),
        ("http://:x/a.png", "address"),
        ("http://[odd/a.png", "IPv6"),
        (f"{HOST}/odd.png", "IPv6"),
        (f"{HOST}/talk.flac", "FLAC"),
    ],
)
def test_what_cannot_be_fetched_fails_alone(reach, address, says) -> None:
    servers = network("embed")
    good = ImageURL(f"{HOST}/red.png")
    with pytest.raises(PartialFailureError) as caught:
        reach(servers, max_retries=0).embed([good, ImageURL(address), good])
    ((place, error),) = caught.value.failures
    assert (place, type(error)) == (1, MediaError)
    assert says in str(error)
    assert np.isfinite(caught.value.results[[0, 2]]).all()


def test_data_is_decoded_here(reach) -> None:
    servers = network("embed")
    encoded = "data:image/png;base64," + base64.b64encode(png("blue")).decode()
    quoted = "data:image/png," + "".join(f"%{byte:02x}" for byte in png("red"))
    reach(servers).embed([ImageURL(encoded), ImageURL(quoted)])
    found = [colour(picture) for picture in pictures(servers[VLLM].posts[0])]
    assert found == [(0, 0, 255), (255, 0, 0)]
    assert repr(ImageURL(encoded)) == "ImageURL('data:image/png;base64')"
    assert servers[HOST].sent == []


def test_every_method_that_takes_an_image_fetches_it(reach) -> None:
    address = ImageURL(f"{HOST}/red.png")
    for task, call in [
        ("cross-encoder", lambda c: c.classify(address)),
        ("cross-encoder", lambda c: c.rerank(address, [[address, "a"], "b"])),
        ("cross-encoder", lambda c: c.score("a", [address])),
        ("late-interaction", lambda c: c.embed_tokens(address)),
        ("tokens", lambda c: c.tokenize(address)),
    ]:
        servers = network(task)
        call(reach(servers))
        assert "data:image/png;base64," in str(servers[VLLM].posts[-1].body)
        assert servers[HOST].sent


def test_documents_and_recordings_are_fetched_too(reach) -> None:
    servers = network("chat", model="deepseek-ocr")
    talker = reach(servers)
    assert talker.ocr(ImageURL(f"{HOST}/red.png")).pages[0].width == 40
    pages = talker.every("ocr_iter", [ImageURL(f"{HOST}/red.png")])
    assert [page.width for page in pages] == [40]
    servers = network("speech")
    talker = reach(servers)
    for method in ("transcribe", "translate"):
        assert getattr(talker, method)(AudioURL(f"{HOST}/talk.flac")).duration == 0.5
    with pytest.raises(MediaError, match="404"):
        reach(servers, max_retries=0).transcribe(AudioURL(f"{HOST}/none.flac"))


def test_a_recording_at_an_address_is_streamed() -> None:
    servers = network("speech", model="qwen3-asr")
    with Client(VLLM, http_client=httpx.Client(transport=mock_transport(servers))) as client:
        stream = client.stream_transcription(AudioURL(f"{HOST}/talk.flac"), language="en")
        assert "".join(stream) == stream.result.text != ""


def test_a_call_that_is_out_of_time_says_so() -> None:
    def late(_: object) -> Iterator[bytes]:
        host.wait(5)
        yield b""

    with serving(late) as host:
        address = AudioURL(f"{host.url}/a.flac")
        with Client("http://localhost:1", deadline=0.05) as c, pytest.raises(APITimeoutError):
            c.transcribe(address)
        client = Client("http://localhost:1", timeout=0.05, max_retries=0)
        with client, pytest.raises(MediaError, match="no complete answer"):
            client.transcribe(address)


def test_nothing_of_the_clients_goes_by_connections_of_our_own() -> None:
    with serving(lambda _: [answer(png())]) as host:
        own = {"X-Own": "1"}
        client = Client("http://localhost:1", api_key=KEY, headers=own, max_retries=0)
        with client, pytest.raises(APIConnectionError, match="Is the server up"):
            client.ocr(ImageURL(f"{host.url}/a.png"))
        (asked,) = host.heard
    assert asked.head.startswith("GET /a.png HTTP/1.1")
    assert KEY not in asked.head
    assert "X-Own" not in asked.head


def test_nothing_of_a_users_own_http_client_goes_along() -> None:
    with serving(lambda _: [answer(png())]) as host:
        own = httpx.Client(
            headers={"X-Own": "1"}, cookies={"a": "b"}, auth=("me", KEY), params={"q": "1"}
        )
        client = Client("http://localhost:1", http_client=own, max_retries=0)
        with own, client, pytest.raises(APIConnectionError, match="Is the server up"):
            client.ocr(ImageURL(f"{host.url}/a.png"))
        (asked,) = host.heard
    names = {name.lower() for name in asked.headers}
    assert asked.head.startswith("GET /a.png HTTP/1.1")
    assert names.isdisjoint({"x-own", "cookie", "authorization"})


@pytest.mark.parametrize("kind", [ImageURL, AudioURL])
@pytest.mark.parametrize("given", ["cat.png", "file:///etc/passwd", "ftp://x/cat", "", None, 3])
def test_what_is_no_address_is_refused(kind, given) -> None:
    with pytest.raises(InvalidRequestError, match=f"{kind.__name__} takes"):
        kind(given)
