"""A real server that is none of the rig's own, for one test."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from vllm_modalities._rig import Report, Spec, provision
from vllm_modalities._rig.releases import RELEASE
from vllm_modalities._rig.rig import Running
from vllm_modalities._rig.weights import model_folder


@contextmanager
def serving(spec: Spec, logs: Path, report: Report) -> Iterator[str]:
    """Its address, while it is up."""
    python = provision(RELEASE, report=report)
    model = model_folder(spec.model, python, report=report)
    server = Running(spec, RELEASE, python, model, logs, report)
    try:
        while not server.is_up():
            time.sleep(0.25)
        yield server.base_url
    finally:
        server.close()
