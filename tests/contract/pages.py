"""Prints what the recordings show: docs/matrix.md, and gates/seen.json for docs/versions.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

from contract.alike import same_words
from contract.case import RIG, Case
from contract.cases import CASES, UNSEEN
from contract.replay import replayed
from contract.seen import Seen
from contract.through import ROWS, through
from packaging.version import Version

from vllm_modalities.gates import Action
from vllm_modalities.gates._print import SEEN
from vllm_modalities.gates._print import page as versions
from vllm_modalities.simulator._recordings import Recordings, load

ROOT = Path(__file__).parents[2]
MATRIX, VERSIONS = ROOT / "docs" / "matrix.md", ROOT / "docs" / "versions.md"

HEAD = """\
# What real servers answered

<!-- Printed from the recordings: PYTHONPATH=tests python -m contract.pages -->

{cases} requests were put to real vLLM servers on a CPU, {releases},
and this is what came back: {different} of them are answered differently by some releases. A line
without a release is the answer of all of them. "384, norm 1.00" is one vector of 384 numbers and
its length; "400 Bad Request" is the status and the `type` in the error's body. What the client does
about it stands in the last column, in short, and on [the page of releases](versions.md) with its
cure. The requests and the whole answers are in the wheel, in
`vllm_modalities/simulator/recordings`.

| server | model |
| --- | --- |
{models}
"""
MODELS = {
    "embed": "all-MiniLM-L6-v2, real weights",
    "embed-matryoshka": "the same, with `is_matryoshka`, an API key and request ids",
    "rerank": "a cross-encoder of random weights on MiniLM",
    "classify": "a classifier of three labels, likewise",
    "late-interaction": "a small ColBERT of random weights",
    "token-classify": "BGE-M3's token weights, a small one of random weights",
    "qwen3-embed": "a small Qwen3 embedder of random weights, with prompts and a chat template",
    "transcribe": "Whisper base, real weights",
    "ocr": "DeepSeek-OCR, its own code with random weights",
}
SECTIONS = {
    "/v1/embeddings": ["/v1/embeddings"],
    "/v2/embed": ["/v2/embed"],
    "/pooling": ["/pooling"],
    "/classify": ["/classify"],
    "/v1/rerank": ["/v1/rerank", "/rerank", "/v2/rerank"],
    "/v1/score": ["/v1/score", "/score"],
    "/v1/audio/transcriptions": ["/v1/audio/transcriptions"],
    "/v1/audio/translations": ["/v1/audio/translations"],
    "/v1/chat/completions": ["/v1/chat/completions"],
    "/tokenize and /detokenize": ["/tokenize", "/detokenize"],
    "Who a server is": ["/version", "/v1/models", "/openapi.json", "/health", "/v1/no-such-route"],
}
DOES = {
    Action.REFUSE: "refuses",
    Action.DEFECT: "warns",
    Action.NOTE: "notes",
    Action.REPAIR: "repairs",
    Action.DIFFERS: "tells replicas apart",
}


def minor(release: str) -> str:
    return ".".join(release.split(".")[:2])


def span(releases: list[str]) -> str:
    """The first and the last of neighbours: "0.20–0.25"."""
    ends = dict.fromkeys([minor(releases[0]), minor(releases[-1])])
    return "–".join(ends)


def runs(case: Case, known: Recordings) -> list[tuple[list[str], str]]:
    """What was observed, with the neighbouring releases on which it was."""
    told = known.cases[case.name]
    found: list[tuple[list[str], str]] = []
    for release in known.recorded:
        answer = told.of(release)
        assert answer is not None
        said = case.observed(Seen.of(case.asked, answer))
        if not found or not same_words(found[-1][1], said):
            found.append(([], said))
        found[-1][0].append(release)
    return found


def matrix() -> str:
    """The page of all cases, in Markdown."""
    known = {server: load(server) for server in RIG}
    observed = {str(case): runs(case, known[case.server]) for case in CASES}
    releases = sorted({r for each in known.values() for r in each.recorded}, key=Version)
    lines = [
        HEAD.format(
            cases=len(CASES),
            releases=f"{len(releases)} releases from {releases[0]} to {releases[-1]}",
            different=sum(len(each) > 1 for each in observed.values()),
            models="\n".join(f"| {server} | {model} |" for server, model in MODELS.items()),
        )
    ]
    for title, paths in SECTIONS.items():
        cases = [case for case in CASES if case.asked.path in paths]
        lines += [f"## {title}", "", "| request | server | answer | client |"]
        lines += ["| --- | --- | --- | --- |"]
        lines += [_row(case, observed[str(case)]) for case in cases] + [""]
    lines += ["## What none of these servers can show", "", "| row | why |", "| --- | --- |"]
    lines += [f"| `{code}`: {ROWS[code].problem} | {why} |" for code, why in UNSEEN.items()]
    return "\n".join(lines) + "\n"


def _row(case: Case, found: list[tuple[list[str], str]]) -> str:
    if len(found) == 1:
        answer = _cell(found[0][1])
    else:
        answer = "<br>".join(f"**{span(releases)}** {_cell(said)}" for releases, said in found)
    name = _cell(case.name)
    told = [f"{DOES[ROWS[code].action]} {ROWS[code].window}" for code in case.gates]
    told = told or list(_refusals(case, found))
    return f"| {name} | {case.server} | {answer} | {'<br>'.join(dict.fromkeys(told))} |"


def _refusals(case: Case, found: list[tuple[list[str], str]]) -> Iterator[str]:
    """Where the client refuses for what it knows of the model, or by the request alone."""
    for releases, _ in found if case.call else ():
        if not any(_refuses(case, release) for release in (releases[0], releases[-1])):
            continue
        refusing = [release for release in releases if _refuses(case, release)]
        everywhere = len(found) == 1 and refusing == releases
        yield "refuses" if everywhere else f"refuses on {span(refusing)}"


def _refuses(case: Case, release: str) -> bool:
    client, _ = replayed(case.server, release).clients
    return through(case, client, run=lambda _: None).refused is not None


def _cell(text: str) -> str:
    """`text` as it is, whatever it looks like to Markdown."""
    return re.sub(r"([\\|*_<>\[\]`&])", r"\\\1", text)


def evidence() -> dict[str, list[str]]:
    """The releases on which each row was put to the test, oldest first."""
    asked: dict[str, set[str]] = {}
    for case in CASES:
        for code in case.gates:
            asked.setdefault(code, set()).update(load(case.server).recorded)
    return {code: sorted(asked[code], key=Version) for code in sorted(asked)}


def printed(found: dict[str, list[str]]) -> str:
    lines = ",\n".join(f" {json.dumps(code)}: {json.dumps(each)}" for code, each in found.items())
    return f"{{\n{lines}\n}}\n"


if __name__ == "__main__":
    SEEN.write_text(printed(evidence()), "utf-8")
    MATRIX.write_text(matrix(), "utf-8")
    VERSIONS.write_text(versions(), "utf-8")
