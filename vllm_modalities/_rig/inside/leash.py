"""Run a module as `python -m` would, and end with the process that started it.

usage: leash.py MODULE [ARGUMENT ...]

The starter holds the other end of standard input open. However it ends (an exception, SIGTERM,
SIGKILL), the kernel closes that end, and the whole process group here is told to stop. Unlike
PR_SET_PDEATHSIG this does not fire when the *thread* that started the process ends.
"""

from __future__ import annotations

import os
import runpy
import signal
import sys
import threading
import time

STOP_WITHIN = 10.0  # seconds from SIGTERM to SIGKILL


def end_with(starter: int) -> None:
    """Wait for the end of `starter`, a file descriptor, then stop this process group."""
    while os.read(starter, 4096):
        pass
    os.kill(os.getpid(), signal.SIGTERM)
    time.sleep(STOP_WITHIN)
    os.killpg(0, signal.SIGKILL)


def main() -> None:
    # Children would inherit descriptor 0; the copy is ours alone.
    starter = os.dup(0)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    threading.Thread(target=end_with, args=(starter,), daemon=True).start()
    del sys.argv[0]
    runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()
