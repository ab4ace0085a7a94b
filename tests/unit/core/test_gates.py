"""The table of version gates: every row is complete, and acts in its window and nowhere else."""

import contextlib
import importlib
import pkgutil
import re
from collections import Counter

import pytest

from vllm_modalities import InvalidRequestError, RerankRequest, ServerVersion, endpoints
from vllm_modalities._wire import RequestModel
from vllm_modalities.gates import GATES, Action, admit, examine
from vllm_modalities.profiles import PROFILES, UNKNOWN
from vllm_modalities.server import ModelInfo, ServerInfo

JUDGING = (Action.REFUSE, Action.DEFECT, Action.NOTE)


def all_below(kind: type) -> set[type]:
    return {kind}.union(*map(all_below, kind.__subclasses__()))


for module in pkgutil.iter_modules(endpoints.__path__, f"{endpoints.__name__}."):
    importlib.import_module(module.name)
KINDS = {kind.__name__: kind for kind in all_below(RequestModel)}
ROWS = pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.code)


def triple(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


def just_below(version: str) -> str:
    major, minor, patch = triple(version)
    return f"{major}.{minor}.{patch - 1}" if patch else f"{major}.{minor - 1}.99"


CANDIDATES = [
    None,
    True,
    False,
    -1,
    0,
    1,
    10**9,
    "",
    "x",
    "x" * 2000,
    "@/\\\0",
    [],
    ["x"],
    {"x": 1},
]


def first(candidates, holds):
    """The first candidate that holds; a test that does not apply to it may fail as it likes."""
    for candidate in candidates:
        with contextlib.suppress(TypeError, AttributeError):
            if holds(candidate):
                return candidate
    raise AssertionError("no candidate: a row that nothing triggers, or one to add above")


def triggering(gate) -> tuple[object, ModelInfo]:
    """A stand-in for a request that uses the field in the way that the row is about."""
    words = re.findall(r"'([^']*)'", gate.when.words)
    value = first([*CANDIDATES, *words], gate.when.holds)
    profile = first([UNKNOWN, *PROFILES], gate.models.holds)
    fields = {gate.reads or gate.field: value, "extra_body": None, "limits": lambda *_: ()}
    kind = type(gate.requests[0], (), fields | {"model": "m"})
    return kind(), ModelInfo("m", profile=profile)


def acts(gate, version: str | None) -> bool:
    """Whether the table says what the row says, on that release."""
    request, model = triggering(gate)
    server = ServerInfo(version=ServerVersion(version) if version else None, models=(model,))
    return gate.code in {finding.code for finding in examine(server, request)}


@ROWS
def test_a_row_acts_just_inside_its_window_and_not_just_outside(gate) -> None:
    if gate.action not in JUDGING:
        assert not acts(gate, gate.since or "0.32.0")
        return
    if gate.since:
        assert acts(gate, gate.since)
        assert not acts(gate, just_below(gate.since))
        for suffix in ("rc1", ".dev3+g1a2b3c", "+cu129", ".post1"):
            assert acts(gate, gate.since + suffix)
    if gate.until:
        assert not acts(gate, gate.until)
        assert not acts(gate, gate.until + "rc1")
        assert acts(gate, just_below(gate.until))
    if not gate.since and not gate.until:
        assert acts(gate, "0.0.1")
        assert acts(gate, "99.0.0")


@ROWS
def test_of_an_unknown_release_only_an_open_window_is_sure(gate) -> None:
    sure = gate.since is None and gate.until is None and gate.action in JUDGING
    assert acts(gate, None) == sure


@ROWS
def test_a_row_names_what_exists_and_says_what_to_do(gate) -> None:
    assert set(gate.requests) <= set(KINDS)
    if gate.reads:
        kinds = [KINDS[name] for name in gate.requests]
        assert all(gate.reads in kind.model_fields or hasattr(kind, gate.reads) for kind in kinds)
    assert gate.problem
    assert gate.cure.endswith((".", ")", "`"))
    assert re.search(r"vllm|PR #\d+|issue|seen", gate.source, re.IGNORECASE)
    assert gate.since is None or gate.until is None or triple(gate.since) < triple(gate.until)


def test_every_code_stands_once() -> None:
    assert [code for code, count in Counter(gate.code for gate in GATES).items() if count > 1] == []


OLD, NEW = ServerInfo(version=ServerVersion("0.19.0")), ServerInfo(version=ServerVersion("0.20.0"))
LIMITED = RerankRequest(query="q", documents=["a"], max_tokens_per_doc=5, extra_body={"new": 1})


def test_admit_refuses_with_every_reason() -> None:
    request = RerankRequest(query="q", documents=["a"], max_tokens_per_doc=-5, top_n=-1)
    with pytest.raises(InvalidRequestError) as caught:
        admit(OLD, request)
    assert {finding.field for finding in caught.value.findings} == {"top_n", "max_tokens_per_doc"}
    assert all(finding.severity == "error" for finding in caught.value.findings)
    assert "this server runs 0.19.0" in str(caught.value)


@pytest.mark.parametrize(
    ("server", "validation", "doubtful"),
    [
        (NEW, "error", ["new"]),
        (OLD, "warn", ["max_tokens_per_doc", "new"]),
        (OLD, "off", []),
    ],
)
def test_admit_gives_the_whole_body_and_what_is_doubtful(server, validation, doubtful) -> None:
    fields, findings = admit(server, LIMITED, validation)
    assert fields == {"query": "q", "documents": ["a"], "max_tokens_per_doc": 5, "new": 1}
    assert [finding.field for finding in findings] == doubtful


def test_validate_for_is_pure_and_says_the_window_and_the_source() -> None:
    (finding,) = LIMITED.validate_for(OLD)
    assert (finding.severity, finding.field, finding.until) == (
        "error",
        "max_tokens_per_doc",
        "0.20.0",
    )
    assert finding.source
    assert LIMITED.validate_for(NEW) == []
