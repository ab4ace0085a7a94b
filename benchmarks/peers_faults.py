"""The faults of tests/faults, tried on other clients of `/v1/embeddings` and `/v2/embed`.

Each client has its defaults but for a timeout of 3 s. Each fault has a process of its own, in which
the fault server and the client run; what is not over after 20 s is a hang.

    pip install openai litellm cohere baseten-performance-client trustme -e .
    python benchmarks/peers_faults.py --json faults.json
"""

from __future__ import annotations

import argparse
import base64
import contextlib
import importlib
import importlib.metadata
import json
import multiprocessing
import os
import resource
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # or it asks GitHub when it is imported
TEXTS = ["one", "two", "three", "four"]
TIMEOUT, HANG = 3.0, 20.0  # seconds
MEMORY = 4 * 2**30  # bytes of address space beside what an idle client has

Call = Callable[[], np.ndarray]


def matrix(rows: list[Any]) -> np.ndarray:
    """What a client handed over; empty where the rows are not equally wide."""
    widths = {len(row) for row in rows}
    return np.array(rows, np.float32) if len(widths) == 1 else np.empty((0, 0), np.float32)


def ours(url: str) -> Call:
    from vllm_modalities import Client

    client = Client(url, api_key="k", timeout=TIMEOUT)
    return lambda: np.asarray(client.embed(TEXTS))


def openai(url: str) -> Call:
    from openai import OpenAI

    client = OpenAI(base_url=f"{url}/v1", api_key="k", timeout=TIMEOUT)

    def call() -> np.ndarray:
        answer = client.embeddings.create(model="m", input=TEXTS)
        return matrix([row.embedding for row in answer.data])

    return call


def litellm(url: str) -> Call:
    from litellm import embedding

    def call() -> np.ndarray:
        answer = embedding(
            model="hosted_vllm/m",
            input=TEXTS,
            api_base=f"{url}/v1",
            api_key="k",
            encoding_format="float",
            timeout=TIMEOUT,
        )
        return matrix([row["embedding"] for row in answer.data])

    return call


def cohere(url: str) -> Call:
    from cohere import ClientV2

    client = ClientV2(api_key="k", base_url=url, timeout=TIMEOUT)

    def call() -> np.ndarray:
        answer = client.embed(model="m", texts=TEXTS, input_type="q", embedding_types=["base64"])
        rows = answer.embeddings.base64 or []
        return matrix([np.frombuffer(base64.b64decode(row), "<f4") for row in rows])

    return call


def baseten(url: str) -> Call:
    from baseten_performance_client import PerformanceClient, RequestProcessingPreference

    client = PerformanceClient(base_url=url, api_key="k")
    preference = RequestProcessingPreference(timeout_s=TIMEOUT)

    def call() -> np.ndarray:
        return np.asarray(client.embed(TEXTS, model="m", preference=preference).numpy())

    return call


# Name, its package, and the modules whose errors count as its own; baseten raises ValueError too.
PEERS: dict[str, tuple[Callable[[str], Call], str, str]] = {
    "vllm-modalities": (ours, "vllm-modalities", "vllm_modalities"),
    "openai": (openai, "openai", "openai"),
    "litellm": (litellm, "litellm", "litellm"),
    "cohere": (cohere, "cohere", "cohere"),
    "baseten": (baseten, "baseten-performance-client", "requests builtins"),
}


def outcome(call: Call, healthy: np.ndarray, own: str) -> str:
    try:
        result = call()
    except Exception as error:
        module = type(error).__module__.partition(".")[0]
        return "own error" if module in own.split() else f"other error: {type(error).__name__}"
    same = result.shape == healthy.shape and (result == healthy).all()
    return "right" if same else "WRONG"


def healthy_answer(call: Call) -> np.ndarray:
    """A busy machine may take longer than the client waits."""
    for _ in range(20):
        with contextlib.suppress(Exception):
            return call()
    return call()


def try_one(peer: str, place: int, pipe: Any) -> None:
    """What comes of a call whose first try has the fault, and of one whose every try has."""
    from _script import FakeVLLM
    from faults import _server
    from faults._faults import FAULTS

    fault = FAULTS[place]
    make, _, own = PEERS[peer]
    _server.PATIENCE = 60.0
    limit = MEMORY + int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf(
        "SC_PAGESIZE"
    )
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    server = _server.Server(FakeVLLM(prompts={"q": ""}))
    call = make(server.url)
    healthy = healthy_answer(call)
    if fault.edit is not None and fault.edit(server.vllm.answer(server.vllm.posts[-1])) is None:
        pipe.send(False)
        return
    pipe.send(True)
    assert fault.play is not None
    for times in (server.once, server.always):
        times(fault.play)
        pipe.send(outcome(call, healthy, own))
    os._exit(0)


def tried(peer: str, place: int) -> list[str] | None:
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=try_one, args=(peer, place, there))
    child.start()
    there.close()
    found: list[str] = []
    if here.recv():
        found = [here.recv() if here.poll(HANG) else "hang"]
        found += [here.recv() if found[0] != "hang" and here.poll(HANG) else "hang"]
    child.kill()
    child.join()
    return found or None


def main() -> None:
    from faults._faults import FAULTS

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="every outcome")
    parser.add_argument("--peer", choices=list(PEERS), action="append")
    given = parser.parse_args()
    every: dict[str, dict[str, list[str]]] = {}
    for peer in given.peer or PEERS:
        importlib.import_module(PEERS[peer][1].replace("-", "_"))  # before the forks
        version = importlib.metadata.version(PEERS[peer][1])
        found = {}
        for place, fault in enumerate(FAULTS):
            if fault.play is not None and (came := tried(peer, place)):
                found[fault.name] = came
                print(f"{peer} {version}: {fault.name}: {', '.join(came)}", flush=True)
        every[f"{peer} {version}"] = found
        if given.json:
            given.json.write_text(json.dumps(every, indent=1))
    print(table(every))


KINDS = ("right", "own error", "other error", "WRONG", "hang")


def table(every: dict[str, dict[str, list[str]]]) -> str:
    lines = [f"| | calls | {' | '.join(KINDS)} |", "|---|---|" + "---|" * len(KINDS)]
    for peer, found in every.items():
        count = Counter(came.partition(":")[0] for pair in found.values() for came in pair)
        cells = " | ".join(str(count[kind]) for kind in KINDS)
        lines.append(f"| {peer} | {count.total()} | {cells} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
