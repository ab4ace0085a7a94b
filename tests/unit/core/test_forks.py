"""A process that is forked shares nothing with its parent that both would use."""

import contextlib
import os
import subprocess
import sys
from pathlib import Path

import pytest
from _sockets import Sender, serving

from vllm_modalities._drivers import AsyncDriver, Driver
from vllm_modalities._fleet import Replica
from vllm_modalities._forks import renew_all
from vllm_modalities.endpoints._sheet import PREPARING
from vllm_modalities.simulator import simulate

TESTS = Path(__file__).parents[2]


def test_parent_and_child_each_get_their_own_vectors(kind) -> None:
    program = [sys.executable, str(TESTS / "_forked.py"), kind]
    with simulate(tasks=["embed"], seconds_per_request=0.02) as servers:
        done = subprocess.run(
            [*program, servers["embed"]], capture_output=True, text=True, timeout=120, check=False
        )
    assert (done.returncode, done.stdout.split()) == (0, ["20", "20"]), done.stderr


def test_the_connections_stay_the_parent_s(kind) -> None:
    sender = Sender(kind)
    with serving() as server:
        for renewals in range(3):
            sender(server.url)
            sender(server.url)
            assert server.accepted == renewals + 1
            renew_all()
        assert not sender.transport._own.pool._idle
    sender.run(sender.transport.close)


@pytest.mark.parametrize("driver", [Driver, AsyncDriver])
def test_no_place_is_held_by_a_thread_that_is_not_there(driver) -> None:
    one = driver(None, max_concurrency=1)
    with one._places.turn(None), one._places.turn(None) as waiting:
        assert not waiting.has_place
        renew_all()
        with one._places.turn(None) as turn:
            assert turn.has_place


def test_no_page_of_the_parent_s_takes_a_turn() -> None:
    with contextlib.ExitStack() as stack:
        for _ in range(os.cpu_count() or 1):
            stack.enter_context(PREPARING)
        stack.pop_all()
        renew_all()
        with PREPARING:
            pass


FORKS_WHILE_A_PAGE_IS_RENDERED = """
import os, threading
from vllm_modalities.documents.pdf import LOCK

held, half_done = threading.Event(), []

def render():
    with LOCK:
        half_done.append(1)
        held.set()
        threading.Event().wait(0.2)
        half_done.clear()

threading.Thread(target=render).start()
held.wait()
child = os.fork()
done = LOCK.acquire(timeout=20) and not half_done
if not child:
    os._exit(0 if done else 1)
print(done, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_no_process_is_forked_in_the_midst_of_a_pdf_s_page() -> None:
    program = [sys.executable, "-c", FORKS_WHILE_A_PAGE_IS_RENDERED]
    done = subprocess.run(program, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout.split() == ["True", "0"], done.stderr


def test_no_request_of_the_parent_s_counts() -> None:
    replica = Replica("http://server")
    with replica.busy():
        assert replica.outstanding == 1
        renew_all()
        assert replica.outstanding == 0


def test_a_client_of_the_user_s_stays_and_one_of_ours_is_made_anew(kind, monkeypatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "http://proxy")
    ours = Sender(kind).transport._borrowed
    users = Sender(kind, ours._client).transport._borrowed
    before = ours._client
    renew_all()
    assert (users._client is before, ours._client is before) == (True, False)
