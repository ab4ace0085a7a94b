"""Asks real servers every case, and keeps what they answer: `python -m contract.record --help`."""

from __future__ import annotations

import argparse
import datetime as dt
import json
import os
import sys
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from typing import Any

import httpx
from contract.alike import alike
from contract.assets import ASSETS
from contract.case import RIG
from contract.cases import of
from packaging.version import Version

from vllm_modalities._rig import RELEASES, RigError, Running, provision, running
from vllm_modalities._rig.cache import cache_folder
from vllm_modalities._rig.rig import is_healthy
from vllm_modalities.simulator._recordings import (
    Answer,
    Asked,
    Case,
    Recordings,
    load,
    save,
    servers,
)

WITHIN = 90.0  # seconds that an answer may take
DIES = 3.0  # seconds from an engine's failure to the end of its server
KEPT = ("allow", "content-type", "metadata", "retry-after", "transfer-encoding", "x-request-id")

Report = Callable[[str], None]


def ask(url: str, asked: Asked, release: str, *, within: float = WITHIN) -> Answer:
    """What the server at `url` answers; status 0 if nothing comes."""
    try:
        response = httpx.request(
            asked.method,
            url + asked.path,
            headers=asked.headers,
            timeout=within,
            trust_env=False,
            **body_of(asked),
        )
    except httpx.HTTPError:
        return Answer((release,), 0)
    headers = {name: response.headers[name] for name in KEPT if name in response.headers}
    return Answer((release,), response.status_code, headers, _kept(asked, response))


def body_of(asked: Asked) -> dict[str, Any]:
    """What httpx is to send."""
    if asked.form is not None:
        files = {name: (asset, ASSETS[asset]()) for name, asset in asked.files.items()}
        # httpx writes a multipart body only where there are files.
        fields = {name: value for name, value in asked.form.items() if files}
        texts = {} if files else {name: (None, value) for name, value in asked.form.items()}
        return {"data": fields, "files": files or texts}
    if asked.text is not None:
        return {"content": asked.text.encode()}
    return {} if asked.json is None else {"json": asked.json}


def _kept(asked: Asked, response: httpx.Response) -> Any:
    """The body without this machine's paths; of the description of all routes their names."""
    kind = response.headers.get("content-type", "")
    if not response.content:
        return None
    if "octet-stream" in kind:
        return response.content
    text = response.text.replace(str(cache_folder()), "/cache")
    if "json" not in kind:
        return text
    body = json.loads(text)
    if asked.path == "/openapi.json" and response.is_success:
        ways = {path: {way: {} for way in ways} for path, ways in body["paths"].items()}
        body = {"paths": ways}
    return body


def record(server: Running, kind: str, report: Report) -> Recordings:
    """Every case of that kind of server, put to one, beside what other releases answered."""
    release = server.release
    cases: dict[str, Case] = {}
    known: Mapping[str, Case] = load(kind).cases if kind in servers() else {}
    for case in of(kind):
        answer = ask(server.base_url, case.asked, release)
        if dead(server, answer):
            report(f"{kind} {release}: {case.name!r} ended the server; it is started again")
            server.restart()
        before = known.get(case.name)
        others = before.answers if before and before.asked == case.asked else ()
        cases[case.name] = Case(case.asked, merged(case.asked, others, answer))
    recorded = dict(load(kind).recorded) if known else {}
    today = dt.datetime.now(tz=dt.UTC).date().isoformat()
    return Recordings(kind, server.spec.served_name, recorded | {release: today}, cases)


def dead(server: Running, answer: Answer) -> bool:
    """Whether that answer was its last: an engine that fails takes the server along."""
    if answer.status < 500 and answer.status != 0:
        return False
    time.sleep(DIES)
    return answer.status == 0 or not is_healthy(server.port)


def merged(asked: Asked, others: tuple[Answer, ...], answer: Answer) -> tuple[Answer, ...]:
    """`others` with what that release answers now; of answers that are alike the first stays."""
    (release,) = answer.releases
    first = next((one for one in others if alike(asked, one, answer)), answer)
    kept: list[Answer] = []
    for one in others if first in others else (*others, first):
        releases = {*one.releases} - {release} | ({release} if one is first else set())
        if releases:
            kept.append(replace(one, releases=tuple(sorted(releases, key=Version))))
    return tuple(sorted(kept, key=lambda one: Version(one.releases[0])))


def refresh(release: str, kind: str) -> str | None:
    """Record one kind of server of one release; what was in the way, if it does not come up."""
    started = time.monotonic()
    try:
        with running([RIG[kind]], release=release, report=print) as rig:
            save(record(rig[RIG[kind]], kind, print))
    except RigError as error:
        return f"{kind} {release}: {error}"
    print(f"{kind} {release}: recorded after {time.monotonic() - started:.0f} s")
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("servers", nargs="*", help=f"kinds of server: {', '.join(RIG)}")
    parser.add_argument("--release", action="append", help=f"of {', '.join(RELEASES)}")
    given = parser.parse_args()
    missing = []
    for release in given.release or RELEASES:
        provision(release, report=print)
        # Starting keeps a core busy, and so does being asked.
        with ThreadPoolExecutor(os.cpu_count()) as side_by_side:
            outcomes = side_by_side.map(partial(refresh, release), given.servers or RIG)
        missing += [outcome for outcome in outcomes if outcome]
    sys.exit("\n\n".join(missing) or None)


if __name__ == "__main__":
    main()
