"""What was promised, and what came of it, from one run's figures."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from workers import Cost

Costs = Mapping[str, Cost]
BIG = ("256×1024", "2048×1024")


def met(
    calls: Mapping[str, Costs],
    flying: Mapping[str, Costs],
    bulk: Costs,
    imported: tuple[float, float],
) -> Iterator[str]:
    """Markdown: a row a promise."""
    yield "| promised | bound | ours | ours, fast |"
    yield "|---|---|---|---|"
    ours, limit = ("ours", "ours, fast"), "the raw limit (promised of fast)"

    def ratios(size: str, to: str) -> list[float]:
        return [calls[size][name].cpu / calls[size][to].cpu for name in ours]

    def row(words: str, bound: float, values: list[float], judged: Callable[[float], bool]) -> str:
        shown = (f"{value:.3g} {'✓' if judged(value) else '✗'}" for value in values)
        return f"| {words} | {bound:.3g} | {' | '.join(shown)} |"

    def most(words: str, bound: float, values: list[float]) -> str:
        return row(words, bound, values, lambda value: value <= bound)

    for size in BIG:
        yield most(f"{size}: times httpx with raw bytes", 1.15, ratios(size, "httpx, raw bytes"))
        best = min(("baseten", "baseten, base64"), key=lambda name: calls[size][name].cpu)
        yield most(f"{size}: times {best}", 1 / 4, ratios(size, best))
        yield most(f"{size}: times openai", 1 / 15, ratios(size, "openai"))
    best = min(("baseten", "baseten, base64"), key=lambda name: calls["32×1024"][name].cpu)
    yield most(f"32×1024: times {best}", 1, ratios("32×1024", best))
    yield most("1×384: times httpx with raw bytes", 1.3, ratios("1×384", "httpx, raw bytes"))
    yield most(f"1×384: times {limit}", 1.5, ratios("1×384", "raw limit"))
    for size in ("32×1024", *BIG):
        yield most(
            f"{size}: times the raw limit (promised of fast)", 1.8, ratios(size, "raw limit")
        )
    for suffix in ("", ", async"):
        for many in ("64", "256"):
            grown = [flying[many][n + suffix].cpu / flying["8"][n + suffix].cpu for n in ours]
            yield most(f"CPU a request{suffix}, {many} in flight: times 8 in flight", 1.3, grown)
        for peer in ("baseten", "baseten, base64"):
            share = [bulk[name + suffix].cpu / bulk[peer].cpu for name in ours]
            yield most(f"8,192 texts{suffix}: times {peer}", 0.5, share)
    alone, client = imported
    yield most("`import vllm_modalities`: times importing the libraries", 1.3, [alone] * 2)
    yield most("the same, and `Client`", 1.3, [client] * 2)
