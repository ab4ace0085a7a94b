"""No span, metric or log shows a secret, nor what was sent, whatever a server does."""

import logging
from contextlib import suppress

import pytest
from _script import FakeVLLM, Talker
from hypothesis import given
from hypothesis import strategies as st
from unit.core.test_secrets import FAULTS, KEY, PAIR, PASSWORD, WITH_PASSWORD, echo, shown
from unit.endpoints.test_addresses import Host, file, flac
from unit.telemetry.conftest import Kept

from vllm_modalities import AudioURL, VLLMModalitiesError

pytestmark = pytest.mark.filterwarnings("ignore::vllm_modalities.VLLMModalitiesWarning")


def told(kept: Kept) -> str:
    """All that an exporter gets."""
    points = [*kept.points("gen_ai.client.operation.duration")]
    return "".join(span.to_json() for span in kept.spans) + str([p.attributes for p in points])


@pytest.mark.parametrize(
    "options", [{"api_key": KEY}, {"base_url": WITH_PASSWORD}], ids=["key", "password"]
)
@pytest.mark.parametrize("path", ["/v1/embeddings", "/v1/models", "/version"])
@pytest.mark.parametrize("fault", FAULTS.values(), ids=FAULTS)
def test_no_span_shows_a_secret_even_if_the_server_does(talk, fault, path, options) -> None:
    """Not even where contents are wanted, so that errors are told in words."""
    own = {KEY} if "api_key" in options else {PASSWORD, PAIR}
    server, kept = FakeVLLM(), Kept()
    server.always(path, echo(fault))
    talker = talk(server, max_retries=0, **options)
    kept.of(talker.client, contents=True)
    talker.every("embed_iter", ["a"])
    with suppress(VLLMModalitiesError):
        talker.embed("a")
    assert kept.calls
    assert not own & set(shown(told(kept)))


def test_a_host_of_the_user_s_own_address_learns_nothing_and_nobody_learns_the_address(
    talk, caplog
) -> None:
    """A signed address is as good as a key, and its host is no server that traces are for."""
    files = Host(files={"/talk.flac?sign=secret": file(flac())})
    server, kept = FakeVLLM("speech"), Kept()
    network = {"http://server": server, "http://files": files}
    talker = talk(network, base_url="http://server")
    kept.of(talker.client, contents=True)
    with caplog.at_level(logging.DEBUG, "vllm_modalities"):
        talker.transcribe(AudioURL("http://files/talk.flac?sign=secret"))
    assert "traceparent" in server.posts[0].headers
    assert "traceparent" not in files.sent[0].headers
    lines = [record.getMessage() for record in caplog.records if record.name == "vllm_modalities"]
    assert "GET of an input: HTTP 200 from http://files, request id none" in lines
    assert "sign" not in told(kept) + "".join(lines)


WORDS = st.text("abcdefghij", min_size=12, max_size=40)


@given(text=WORDS, refused=st.booleans())
def test_neither_spans_nor_logs_show_what_was_sent(text: str, refused: bool) -> None:
    server, kept = FakeVLLM(refuses=lambda said: f"{said} is no text" if refused else None), Kept()
    talker = Talker("blocking", server)
    kept.of(talker.client)
    log, records = logging.getLogger("vllm_modalities"), list[logging.LogRecord]()
    handler = logging.Handler()
    handler.emit = records.append
    log.addHandler(handler)
    log.setLevel(logging.DEBUG)
    try:
        talker.every("embed_iter", [text])
        talker.embed(text)
    except VLLMModalitiesError:
        assert refused
    finally:
        log.removeHandler(handler)
        log.setLevel(logging.NOTSET)
    assert records
    assert text not in told(kept) + "".join(record.getMessage() for record in records)
