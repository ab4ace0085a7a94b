"""What a text costs the client when a real vLLM server answers: MiniLM on this machine's CPU."""

from __future__ import annotations

from ways import WAYS
from workers import Cost, Worker, closing, median

from vllm_modalities._rig import running

NAMES = ("raw limit", "ours", "ours, async", "ours, fast", "openai", "baseten")
TEXTS, BATCH, IN_FLIGHT = 2048, 32, 8


def measured(rounds: int) -> list[str]:
    """Markdown: microseconds of the client's processor time a text, and texts a second."""
    with running(["embed"], report=print) as rig:
        url = rig["embed"].base_url
        costs: dict[str, list[Cost]] = {name: [] for name in NAMES}
        for _ in range(rounds):
            for name in NAMES:
                with closing(Worker(name, url, 384, "minilm")) as worker:
                    worker.ask("bulk", 64, BATCH, IN_FLIGHT)
                    costs[name].append(worker.ask("bulk", TEXTS, BATCH, IN_FLIGHT))
    lines = ["| | CPU of the client a text, µs | texts a second |", "|---|---|---|"]
    for name, many in costs.items():
        one = median(many)
        lines.append(f"| {name} | {one.cpu / TEXTS * 1e6:.1f} | {TEXTS / one.wall:.0f} |")
    return lines


assert set(NAMES) <= set(WAYS)
