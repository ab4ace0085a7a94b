"""Every fault at every endpoint through both clients: the right result, or the right error."""

from __future__ import annotations

import gc
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import trustme
from _script import FakeVLLM, instant
from faults import _page
from faults._calling import calling, nothing_left, outcome
from faults._faults import FAULTS, RIGHT, Fault, is_bytes
from faults._rows import KINDS, ROWS, Row
from faults._server import Server, serving

ANSWERS = {row.name: row.answers() for row in ROWS}


def strikes(fault: Fault, row: Row) -> bool:
    """Whether an endpoint's answers can have this fault, and the package sees it."""
    return fault.edit is None or (row.checks and fault.fits(ANSWERS[row.name]))


CASES = [(fault, row) for fault in FAULTS for row in ROWS if strikes(fault, row)]


@pytest.fixture(scope="module", autouse=True)
def frozen() -> Iterator[None]:
    """The collector passes over all that was there before, which is most of what there is."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Pauses take no time, and an answer is too large early."""
    monkeypatch.setattr("vllm_modalities._transport.http1.LARGEST", 2**24)
    with instant():
        yield


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("fault", "row"), CASES, ids=[f"{fault.name}-{row.name}" for fault, row in CASES]
)
def test_a_fault_ends_in_the_right_result_or_the_right_error(fault, row, kind) -> None:
    with nothing_left():
        came = struck(fault, row, kind) if fault.play else unreached(fault, row, kind)
    assert came == expected(fault, row)


def strikes_first(fault: Fault, row: Row) -> bool:
    """Whether the first answer of a call can have it, which is struck where one try is."""
    return fault.once is not None and fault.fits(ANSWERS[row.name][:1])


def expected(fault: Fault, row: Row) -> tuple[str | None, str]:
    if fault.of_bytes is not None and any(map(is_bytes, ANSWERS[row.name])):
        return fault.of_bytes, fault.of_bytes
    return fault.once if strikes_first(fault, row) else None, fault.always


def struck(fault: Fault, row: Row, kind: str) -> tuple[str | None, str]:
    """What comes of a call whose first try is struck, and of one whose every try is."""
    with serving(FakeVLLM()) as trap, serving(row.vllm(), elsewhere=trap.url) as server:
        with calling(kind, server.url, api_key="secret", **row.client) as caller:
            healthy = caller(row)
            once = None
            if strikes_first(fault, row):
                server.once(fault.play)
                once = outcome(caller, row, healthy, timeout=fault.timeout)
            server.always(fault.play)
            always = outcome(caller, row, healthy, timeout=fault.timeout)
            assert caller.tasks() == 0
            server.well()
            assert outcome(caller, row, healthy) == RIGHT, "the client is of no use any more"
        assert server.drained(), "a connection is left open"
        assert trap.connections == 0, "a redirect is followed, with the key"
    return once, always


def unreached(fault: Fault, row: Row, kind: str) -> tuple[None, str]:
    """What comes of a call to a server that cannot be reached."""
    with ExitStack() as stack, pytest.MonkeyPatch.context() as patch:
        server = stack.enter_context(WAYS[fault.name](row, patch))
        with calling(kind, server.url, **row.client) as caller:
            healthy = None
            if fault.name == "connection refused":
                healthy = caller(row)
                server.go_away()
            always = outcome(caller, row, healthy)
            assert caller.tasks() == 0
    return None, always


def plain(row: Row, _: pytest.MonkeyPatch) -> Any:
    return serving(row.vllm())


@contextmanager
def unknown(row: Row, patch: pytest.MonkeyPatch) -> Iterator[Server]:
    """The resolver's answer is scripted, since a real one may take its time."""

    def fails(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    with serving(row.vllm()) as server:
        server.url = "http://nobody.invalid:8000"
        patch.setattr(socket, "getaddrinfo", fails)
        yield server


AUTHORITY, STRANGER = trustme.CA(), trustme.CA()


@contextmanager
def secured(row: Row, patch: pytest.MonkeyPatch, *, by: trustme.CA, name: str) -> Iterator[Server]:
    """A server with a certificate, before a client that trusts AUTHORITY alone."""
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    by.issue_cert(name).configure_cert(tls)
    with AUTHORITY.cert_pem.tempfile() as trusted:
        patch.setenv("SSL_CERT_FILE", trusted)
        with serving(row.vllm(), tls=tls) as server:
            yield server


def by_a_stranger(row: Row, patch: pytest.MonkeyPatch) -> Any:
    return secured(row, patch, by=STRANGER, name="localhost")


def for_another(row: Row, patch: pytest.MonkeyPatch) -> Any:
    return secured(row, patch, by=AUTHORITY, name="example.org")


@contextmanager
def not_secured(row: Row, _: pytest.MonkeyPatch) -> Iterator[Server]:
    with serving(row.vllm()) as server:
        server.url = server.url.replace("http:", "https:")
        yield server


WAYS: dict[str, Callable[[Row, pytest.MonkeyPatch], Any]] = {
    "connection refused": plain,
    "host name unknown": unknown,
    "TLS: certificate of an unknown authority": by_a_stranger,
    "TLS: certificate of another host": for_another,
    "TLS: none spoken": not_secured,
}


@pytest.mark.parametrize("kind", KINDS)
def test_a_right_certificate_is_accepted(kind, monkeypatch) -> None:
    """So it is the wrong ones that the rows above are refused for."""
    (row,) = (row for row in ROWS if row.name == "embed")
    trusted = secured(row, monkeypatch, by=AUTHORITY, name="localhost")
    with trusted as server, calling(kind, server.url) as caller:
        assert len(caller(row)) == 4


def test_the_page_shows_what_every_case_is_held_to() -> None:
    page = Path(__file__).parents[2] / "docs" / "reliability.md"
    printed = _page.table([(fault.name, expected(fault, row)) for fault, row in CASES])
    if _page.WRITE:
        page.write_text(_page.put_into(page.read_text("utf-8"), printed), "utf-8")
    assert printed in page.read_text("utf-8"), "nox -s faults -- --write writes it"
