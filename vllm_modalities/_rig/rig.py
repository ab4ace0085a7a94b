"""Servers from their start to their end: they live no longer than the process that started them."""

from __future__ import annotations

import http.client
import logging
import os
import signal
import socket
import subprocess
import tempfile
import time
from collections import deque
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from .commands import Report, RigError, last_lines, process_environment
from .environment import provision
from .releases import RELEASE
from .servers import SERVERS, Spec, command, variables
from .weights import model_folder

log = logging.getLogger(__name__)

UP_WITHIN = 400.0  # seconds from launch to the first healthy answer
STOP_WITHIN = 15.0  # seconds from SIGTERM to SIGKILL
GONE_WITHIN = 5.0  # seconds that the kernel may take to remove a process group
POLL = 0.25  # seconds between two looks at a server that starts


class Running:
    """One server of ours, with its port: also between a `stop` and a `restart`.

    Attributes:
        spec: What it serves.
        release: vLLM's.
        base_url: Its address.
        log: The file with all that it has printed, over restarts too.
        process: Its first process, which is also the name of its process group.
    """

    def __init__(
        self, spec: Spec, release: str, python: Path, model: Path, logs: Path, report: Report
    ) -> None:
        self.spec, self.release, self._report = spec, release, report
        self.log = logs / f"{spec.name}.log"
        self._claim = claimed_port()
        self.port: int = self._claim.getsockname()[1]
        self.base_url = f"http://127.0.0.1:{self.port}"
        self._command = command(spec, python=python, model=model, port=self.port)
        self.process = self._launch()

    def __repr__(self) -> str:
        return f"Running({self.spec.name!r}, {self.base_url!r})"

    def is_up(self) -> bool:
        """Whether it answers; an answer that can no longer come is an error.

        Raises:
            RigError: It has ended, or it took more than `UP_WITHIN` to start.
        """
        taken = time.monotonic() - self._launched
        if self.process.poll() is not None:
            raise self._failed(f"ended with status {self.process.returncode} before it was up")
        if is_healthy(self.port):
            self._report(f"{self.spec.name}: up at {self.base_url} after {taken:.0f} s")
            return True
        if taken > UP_WITHIN:
            raise self._failed(f"was not up after {taken:.0f} s")
        return False

    def stop(self) -> None:
        """Ask it to end, and end whatever of it is left after `STOP_WITHIN`."""
        self.process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.process.wait(STOP_WITHIN)
        self.kill()

    def kill(self) -> None:
        """End the whole process group at once, as a crash would, and see it gone."""
        assert self.process.stdin is not None
        if self.process.stdin.closed:  # gone already; the number may be another group's by now
            return
        deadline = time.monotonic() + GONE_WITHIN
        with suppress(ProcessLookupError):
            while time.monotonic() < deadline:
                os.killpg(self.process.pid, signal.SIGKILL)
                self.process.wait()
                time.sleep(0.05)
        self.process.stdin.close()

    def restart(self) -> None:
        """Stop it, start it again at the same address, and wait until it answers."""
        self.stop()
        self.process = self._launch()
        while not self.is_up():
            time.sleep(POLL)

    def close(self) -> None:
        """Stop it and give its port back."""
        self.stop()
        self._claim.close()

    def _launch(self) -> subprocess.Popen[bytes]:
        self._launched = time.monotonic()
        with self.log.open("ab") as output:
            process = subprocess.Popen(  # noqa: S603 - the rig's own command line, no shell
                self._command,
                stdin=subprocess.PIPE,  # its leash: the kernel closes it when this process ends
                stdout=output,
                stderr=subprocess.STDOUT,
                env=process_environment(variables(self.spec, self.release)),
                start_new_session=True,
            )
        self._report(f"{self.spec.name}: starting as process {process.pid} (log: {self.log})")
        return process

    def _failed(self, what: str) -> RigError:
        printed = self.log.read_text(errors="replace")
        return RigError(
            f"the server {self.spec.name!r} {what}; its log ({self.log}) ends with\n"
            f"{last_lines(printed)}"
        )


class Rig:
    """The servers that are up, by name: `rig["embed"]` starts it if it is not among them."""

    def __init__(self, *, release: str = RELEASE, report: Report = log.info) -> None:
        self.release, self._report = release, report
        self._running: dict[str, Running] = {}
        self._logs = Path(tempfile.mkdtemp(prefix="vllm-modalities-"))

    def __getitem__(self, name: str) -> Running:
        self.start(name)
        return self._running[name]

    def start(self, *names: str) -> None:
        """Start those of `names` that are not among them, and wait until all of these answer.

        Starting keeps a core busy, so as many start side by side as there are cores.

        Raises:
            KeyError: A name that `SERVERS` does not have. Nothing is started.
            RigError: A server did not come up. Those that did stay.
        """
        specs = [SERVERS[name] for name in dict.fromkeys(names) if name not in self._running]
        if not specs:
            return
        python = provision(self.release, report=self._report)
        models = [model_folder(spec.model, python, report=self._report) for spec in specs]
        waiting, starting = deque(zip(specs, models, strict=True)), list[Running]()
        try:
            while waiting or starting:
                while waiting and len(starting) < (os.cpu_count() or 1):
                    spec, model = waiting.popleft()
                    starting.append(
                        Running(spec, self.release, python, model, self._logs, self._report)
                    )
                time.sleep(POLL)
                for server in tuple(starting):
                    if server.is_up():
                        starting.remove(server)
                        self._running[server.spec.name] = server
        finally:
            close(starting)

    def close(self) -> None:
        """Stop all servers."""
        close(self._running.values())
        self._running.clear()


@contextmanager
def running(
    names: Iterable[str] = (), *, release: str = RELEASE, report: Report = log.info
) -> Iterator[Rig]:
    """Real servers, up when the block is entered and gone when it is left, however it is left.

    Args:
        names: Keys of `SERVERS`.
        release: vLLM's, such as "0.23.0"; see `RELEASES`.
        report: Told what is being done.

    Raises:
        KeyError: A name that `SERVERS` does not have.
        RigError: vLLM could not be installed, or a server did not come up.
    """
    rig = Rig(release=release, report=report)
    try:
        rig.start(*names)
        yield rig
    finally:
        rig.close()


def close(servers: Iterable[Running]) -> None:
    """Ask all to end first, so that they do so side by side."""
    servers = list(servers)
    for server in servers:
        server.process.terminate()
    for server in servers:
        server.close()


def claimed_port() -> socket.socket:
    """A socket bound to a free port of the loopback address; the port is ours while it lives.

    It never listens, so connections are refused while no server runs, and yet nobody takes the
    port between a stop and a restart. A server binds it too, since both set SO_REUSEADDR (vLLM
    v0.32.0, vllm/entrypoints/launchers/launcher.py, `create_server_socket`).
    """
    claim = socket.socket()
    claim.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    claim.bind(("127.0.0.1", 0))
    return claim


def is_healthy(port: int) -> bool:
    """Whether `GET /health` answers 200 within 2 s. No proxy is asked: the address is local."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=2.0)
    try:
        connection.request("GET", "/health")
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
