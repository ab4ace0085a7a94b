"""Every row of the table, with real requests: it acts on its releases, values and models alone."""

import importlib
import pkgutil
import runpy
import sys
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from vllm_modalities import InvalidRequestError, ServerDefectWarning, ServerVersion, endpoints
from vllm_modalities._wire import TASKS, RequestModel
from vllm_modalities.gates import GATES, Action, Gate, admit, differing, examine, repairs
from vllm_modalities.gates._print import page
from vllm_modalities.profiles import PROFILES, UNKNOWN
from vllm_modalities.server import ModelInfo, ServerInfo

for module in pkgutil.iter_modules(endpoints.__path__, f"{endpoints.__name__}."):
    importlib.import_module(module.name)

VERSIONS = Path(__file__).parents[2] / "docs" / "versions.md"
JUDGING = (Action.REFUSE, Action.DEFECT, Action.NOTE)
MESSAGE = {"role": "user", "content": "hello"}
CHUNKS = {"chunk_size": 2}
LANGUAGE = {"language": "en"}

# A request that no row has anything against.
PLAIN: dict[str, dict[str, object]] = {
    "EmbeddingRequest": {"input": "a"},
    "PoolingRequest": {"input": "a"},
    "TokenEmbeddingRequest": {"input": "a"},
    "RerankRequest": {"query": "q", "documents": ("a",)},
    "ScoreRequest": {"queries": "q", "documents": ("a",)},
    "CohereEmbedRequest": {"texts": ("a",)},
    "TranscriptionRequest": {"file": b"fLaC", **LANGUAGE},
    "TranslationRequest": {"file": b"fLaC", **LANGUAGE},
    "OCRRequest": {"messages": (MESSAGE,)},
    "SpeechChatRequest": {"messages": (MESSAGE,)},
    "RealtimeRequest": {},
}


def text_of(length: int) -> dict[str, dict[str, object]]:
    text = "x" * length
    return {
        "EmbeddingRequest": {"input": ("a", text)},
        "PoolingRequest": {"input": text},
        "TokenEmbeddingRequest": {"input": text},
        "RerankRequest": {"documents": ("a", text)},
        "ScoreRequest": {"queries": text},
    }


# By row: what it is about, and what lies just beside it; `{}` is the plain request.
Fields = dict[str, object]
CASES: dict[str, tuple[Fields, Fields]] = {
    "pooling-truncation-side": ({"truncation_side": "left"}, {}),
    "pooling-padding": ({"padding": "do_not_pad"}, {}),
    "pooling-request-id": ({"request_id": "r"}, {}),
    "pooling-cache-salt-empty-0.25.0": ({"cache_salt": ""}, {"cache_salt": "s"}),
    "pooling-cache-salt-empty-0.29.0": ({"cache_salt": ""}, {"cache_salt": "s"}),
    "pooling-cache-salt-1024": ({"cache_salt": "s" * 1025}, {"cache_salt": "s" * 1024}),
    "pooling-cache-salt-128": ({"cache_salt": "s" * 129}, {"cache_salt": "s" * 128}),
    "pooling-cache-salt-characters": ({"cache_salt": "a/b"}, {"cache_salt": "a-b_c=+"}),
    "pooling-last-token-chunks": (text_of(8001), text_of(8000)),
    "trusted-mm-processor-kwargs": (
        {"mm_processor_kwargs": {"a": 1}},
        {"mm_processor_kwargs": {}},
    ),
    "trusted-media-io-kwargs": ({"media_io_kwargs": {"a": 1}}, {"media_io_kwargs": {}}),
    "media-io-kwargs-unknown": ({"media_io_kwargs": {}}, {}),
    "media-io-kwargs-cache": ({"media_io_kwargs": {"a": 1}}, {"media_io_kwargs": {}}),
    "normalize-ignored": ({"normalize": True}, {"use_activation": True}),
    "normalize-removed": ({"normalize": False}, {"use_activation": False}),
    "negative-token-id": ({"input": ((1, 2), (3, -1))}, {"input": ((1, 2), (3, 0))}),
    "embeddings-message-input": ({"input": (MESSAGE,)}, {"input": ("a",)}),
    "embeddings-message-batch": (
        {"input": None, "messages": ((MESSAGE,), (MESSAGE,))},
        {"input": None, "messages": (MESSAGE,)},
    ),
    "embeddings-truncate-to-nothing": (
        {"truncate_prompt_tokens": 0},
        {"truncate_prompt_tokens": -1},
    ),
    "embeddings-salt-of-chunks": ({"cache_salt": "s"}, {}),
    "chat-both-endings": (
        {"input": None, "messages": (MESSAGE,)}
        | {"add_generation_prompt": True, "continue_final_message": True},
        {"input": None, "messages": (MESSAGE,)}
        | {"add_generation_prompt": False, "continue_final_message": True},
    ),
    "chat-template-trusted": (
        {"input": None, "messages": (MESSAGE,), "chat_template": "t"},
        {"input": None, "messages": (MESSAGE,)},
    ),
    "cohere-system-message": ({"input_type": "query"}, {}),
    "transcription-xargs-lists": ({"vllm_xargs": {"a": [1]}}, {"vllm_xargs": {"a": 1}}),
    "speech-n-without-beams": ({"n": 2}, {"n": 2, "use_beam_search": True}),
    "cohere-embed-route": ({}, {}),
    "pooling-task-score": ({"task": "score"}, {"task": "classify"}),
    "pooling-task-encode": ({"task": "encode"}, {"task": "token_embed"}),
    "pooling-task-both-old": ({"task": "embed&token_classify"}, {"task": "embed"}),
    "pooling-task-both-new": ({"task": "embed&token_classify"}, {"task": "token_classify"}),
    "embeddings-both-shapes": ({"messages": (MESSAGE,)}, {"input": None, "messages": (MESSAGE,)}),
    "embeddings-chat-options": (
        {"chat_template": "t"},
        {"input": None, "messages": (MESSAGE,), "chat_template": "t"},
    ),
    "late-chunking-dropped": ({"late_chunking_params": CHUNKS}, {}),
    "token-embeddings-route": ({}, {}),
    "token-embeddings-float": ({"encoding_format": "bytes"}, {"encoding_format": "float"}),
    "token-embeddings-dimensions": ({"dimensions": 2}, {}),
    "token-embeddings-messages": ({"input": None, "messages": (MESSAGE,)}, {}),
    "late-chunking-whole-text": (
        {"late_chunking_params": CHUNKS, "truncate_prompt_tokens": -1},
        {"late_chunking_params": CHUNKS, "truncation_side": "left"},
    ),
    "rerank-negative-top-n": ({"top_n": -1}, {"top_n": 0}),
    "ranking-max-tokens-per-doc": ({"max_tokens_per_doc": 1}, {}),
    "ranking-max-tokens-per-query": ({"max_tokens_per_query": 1}, {}),
    "ranking-negative-max-tokens-per-doc": (
        {"max_tokens_per_doc": -1},
        {"max_tokens_per_doc": 0},
    ),
    "ranking-negative-max-tokens-per-query": (
        {"max_tokens_per_query": -1},
        {"max_tokens_per_query": 0},
    ),
    "ranking-max-tokens-scores": ({"max_tokens_per_doc": 1}, {"max_tokens_per_doc": 0}),
    "ranking-bert-logits": ({"use_activation": False}, {"use_activation": True}),
    "ranking-instruction": ({"instruction": "i"}, {}),
    "ranking-chat-template-kwargs": ({"chat_template_kwargs": {}}, {}),
    "ranking-deaf-to-instruction": ({"instruction": "i"}, {}),
    "audio-size": ({"file": bytes(25 * 1024**2 + 1)}, {"file": bytes(25 * 1024**2)}),
    "audio-duration": ({"duration": 600.01}, {"duration": 600.0}),
    "transcription-xargs": ({"vllm_xargs": {"a": 1}}, {}),
    **{
        f"translation-{name.replace('_', '-')}": ({name: value}, {})
        for name, value in {
            "vllm_xargs": {"a": 1},
            "top_p": 0.5,
            "top_k": 5,
            "min_p": 0.5,
            "frequency_penalty": 0.0,
            "presence_penalty": 0.0,
            "repetition_penalty": 1.0,
        }.items()
    },
    "speech-hotwords": ({"hotwords": "h"}, {}),
    "speech-stream-beams": (
        {"use_beam_search": True, "stream": True},
        {"use_beam_search": True},
    ),
    "speech-stream-format": (
        {"response_format": "verbose_json", "stream": True},
        {"response_format": "json", "stream": True},
    ),
    "speech-prompt-dropped": ({"prompt": "p"}, {"prompt": ""}),
    "speech-beam-search": ({"use_beam_search": True}, {"use_beam_search": False}),
    "transcription-diarized": (
        {"response_format": "diarized_json"},
        {"response_format": "json"},
    ),
    "speech-language-english": ({"language": None}, LANGUAGE),
    "speech-language-assumed": ({"language": None}, LANGUAGE),
    "speech-language-ignored": (LANGUAGE, {"language": None}),
    "speech-verbose-language": (
        {"language": None, "response_format": "verbose_json"},
        {"response_format": "verbose_json"},
    ),
    "speech-long-verbose-times": (
        {"response_format": "verbose_json", "duration": 30.01},
        {"response_format": "verbose_json", "duration": 30.0},
    ),
    "speech-verbose-loses-text": (
        {"response_format": "verbose_json"},
        {"response_format": "json"},
    ),
    "speech-long-glued": ({"duration": 30.01}, {"duration": 30.0}),
    "speech-whisper-prompt": ({"prompt": "p"}, {}),
    "realtime-key": ({}, {}),
    "realtime-one-token": ({}, {}),
    "realtime-left": ({}, {}),
    "ocr-gibberish": ({}, {}),
    "ocr-template": ({}, {}),
    "ocr-repetition-detection": ({"repetition_detection": {"a": 1}}, {}),
    "ocr-pixels": ({"pixels": 178_956_971}, {"pixels": 178_956_970}),
}

KINDS = {kind.__name__: kind for kinds in TASKS.values() for kind in kinds}
JUDGES = [gate for gate in GATES if gate.action in JUDGING]
PAIRS = [
    pytest.param(gate, kind, id=f"{gate.code}-{kind.__name__}")
    for gate in JUDGES
    for kind in KINDS.values()
    if gate.judges(kind)
    if kind.__name__ in PLAIN
]
ROWS = pytest.mark.parametrize(("gate", "kind"), PAIRS)


@cache
def request_of(kind: type[RequestModel], code: str, *, beside: bool = False) -> RequestModel:
    fields: Fields = CASES[code][beside]
    own = fields.get(kind.__name__, fields)
    assert isinstance(own, dict)
    fields = {"model": "m"} | PLAIN[kind.__name__] | own
    known = {name: value for name, value in fields.items() if name in kind.model_fields}
    return kind(**known, extra_body={name: fields[name] for name in fields.keys() - known.keys()})


@cache
def profile_for(gate: Gate, *, holds: bool = True):
    """The first profile that the row is about, or that it is not about; None if there is none."""
    found = (p for p in (UNKNOWN, *PROFILES) if gate.models.holds(p) is holds)
    return next(found, None)


def server_of(version: str | None, profile=UNKNOWN) -> ServerInfo:
    release = None if version is None else ServerVersion(version)
    return ServerInfo(version=release, models=(ModelInfo("m", profile=profile),))


def found(gate: Gate, request: RequestModel, version: str | None, profile=None):
    """What that row says of the request on that release."""
    server = server_of(version, profile or profile_for(gate))
    return [finding for finding in examine(server, request) if finding.code == gate.code]


def triple(version: str) -> tuple[int, ...]:
    return tuple(map(int, version.split(".")))


EDGES = sorted({edge for gate in GATES for edge in (gate.since, gate.until) if edge}, key=triple)


def before(edge: str) -> str:
    major, minor, patch = triple(edge)
    return f"{major}.{minor}.{patch - 1}" if patch else f"{major}.{minor - 1}.9"


NUMBERS = st.sampled_from([*EDGES, *map(before, EDGES)]) | st.builds(
    "{}.{}.{}".format, st.integers(0, 1), st.integers(0, 40), st.integers(0, 3)
)
SUFFIXES = st.sampled_from(["", "rc1", ".dev3+g1a2b3c", "+cu129", ".post1"])


def within(gate: Gate, number: str) -> bool:
    started = gate.since is None or triple(number) >= triple(gate.since)
    return started and (gate.until is None or triple(number) < triple(gate.until))


def inside(gate: Gate) -> str:
    """A release on which the row acts."""
    return gate.since or (before(gate.until) if gate.until else "0.32.0")


def test_every_row_that_judges_has_its_case() -> None:
    assert set(CASES) == {gate.code for gate in JUDGES}


@ROWS
@given(number=NUMBERS, suffix=SUFFIXES)
def test_a_row_acts_on_its_releases_alone(gate, kind, number, suffix) -> None:
    request = request_of(kind, gate.code)
    assert len(found(gate, request, number + suffix)) == within(gate, number)


@ROWS
def test_a_row_acts_at_the_edge_of_its_window(gate, kind) -> None:
    request = request_of(kind, gate.code)
    edges = {gate.since: True, gate.until: False} if gate.since != gate.until else {}
    for edge, acts in edges.items():
        if edge is not None:
            assert bool(found(gate, request, edge)) is acts
            assert bool(found(gate, request, before(edge))) is not acts


@ROWS
def test_a_row_leaves_alone_what_lies_just_beside_its_values(gate, kind) -> None:
    request = request_of(kind, gate.code, beside=True)
    always = gate.field == "model"  # such a row is about every request
    assert bool(found(gate, request, inside(gate))) is always


@ROWS
def test_a_row_leaves_other_models_alone(gate, kind) -> None:
    other = profile_for(gate, holds=False)
    request = request_of(kind, gate.code)
    assert other is None or found(gate, request, inside(gate), other) == []


@ROWS
def test_a_row_leaves_a_plain_request_alone(gate, kind) -> None:
    plain = PLAIN[kind.__name__]
    about = CASES[gate.code][0]
    plain_is_about_it = gate.field == "model" or (about and about.items() <= plain.items())
    assert bool(found(gate, kind(model="m", **plain), inside(gate))) is bool(plain_is_about_it)


@pytest.mark.parametrize("gate", JUDGES, ids=lambda gate: gate.code)
def test_a_row_says_nothing_of_requests_of_another_kind(gate) -> None:
    others = [kind for name, kind in KINDS.items() if name in PLAIN and not gate.judges(kind)]
    for kind in others:
        assert found(gate, request_of(kind, "cohere-embed-route"), inside(gate)) == []


@ROWS
def test_what_a_row_says_names_field_release_cure_and_source(gate, kind) -> None:
    version = inside(gate)
    (finding,) = found(gate, request_of(kind, gate.code), version)
    said = str(finding)
    assert finding.field == gate.field
    if gate.reads is None:  # else the problem says in words what was read
        assert finding.field in said
    assert gate.window in said
    assert (f"this server runs {version}" in said) is bool(gate.since or gate.until)
    assert gate.cure in said
    assert said.endswith(f"[{gate.source}]")
    assert "{value}" not in said
    assert (finding.since, finding.until) == (gate.since, gate.until)


@ROWS
def test_what_is_done_is_what_the_row_says(gate, kind) -> None:
    request, server = request_of(kind, gate.code), server_of(inside(gate), profile_for(gate))
    if gate.action is Action.REFUSE:
        with pytest.raises(InvalidRequestError) as caught:
            admit(server, request)
        assert gate.code in {finding.code for finding in caught.value.findings}
    fields, findings = admit(server, request, "warn")
    (finding,) = [one for one in findings if one.code == gate.code]
    defect = gate.action is Action.DEFECT
    assert (finding.warns is ServerDefectWarning) is defect
    assert (finding.warns is None) is (gate.action is Action.NOTE)
    assert admit(server, request, "off") == (fields, ())


REPAIRS = [gate for gate in GATES if gate.action is Action.REPAIR]
DIFFERS = [gate for gate in GATES if gate.action is Action.DIFFERS]


@pytest.mark.parametrize("gate", REPAIRS, ids=lambda gate: gate.code)
@given(number=NUMBERS, suffix=SUFFIXES)
def test_a_repair_is_made_on_its_releases_alone(gate, number, suffix) -> None:
    row = repairs(gate.code, ServerVersion(number + suffix))
    assert row == (gate if within(gate, number) else None)
    assert repairs(gate.code, None) is None


@pytest.mark.parametrize("gate", DIFFERS, ids=lambda gate: gate.code)
@given(numbers=st.lists(NUMBERS | st.none(), max_size=4), data=st.data())
def test_replicas_differ_where_they_stand_on_both_sides(gate, numbers, data) -> None:
    kind = KINDS[data.draw(st.sampled_from(gate.requests))]
    servers = [server_of(number) for number in numbers]
    told = differing(kind(**PLAIN[kind.__name__]), servers)
    sides = {within(gate, number) for number in numbers if number is not None}
    lines = [finding for finding in told if finding.code == gate.code]
    assert len(lines) == (len(sides) == 2)
    for line in lines:
        assert all(number in line.message for number in numbers if number is not None)
        assert (line.severity, line.warns, line.source) == ("warning", None, gate.source)
        assert gate.cure in line.message


@given(numbers=st.lists(NUMBERS, min_size=2, max_size=4))
def test_replicas_differ_for_the_requests_of_the_row_alone(numbers) -> None:
    servers = [server_of(number) for number in numbers]
    judged = {name for gate in DIFFERS for name in gate.requests}
    for name in PLAIN.keys() - judged:
        assert differing(KINDS[name](**PLAIN[name]), servers) == []


def test_the_page_of_releases_is_the_one_that_is_printed(capsys, monkeypatch) -> None:
    monkeypatch.delitem(sys.modules, "vllm_modalities.gates._print")
    runpy.run_module("vllm_modalities.gates._print", run_name="__main__")
    assert capsys.readouterr().out == page() == VERSIONS.read_text("utf-8")


@pytest.mark.parametrize("gate", GATES, ids=lambda gate: gate.code)
def test_the_page_has_every_row_in_the_part_of_its_action(gate) -> None:
    titles = {
        Action.REFUSE: "Refused before it is sent",
        Action.DEFECT: "Wrong results",
        Action.REPAIR: "Repaired",
        Action.NOTE: "Noted",
        Action.DIFFERS: "Not comparable",
    }
    part = page().split(f"## {titles[gate.action]}\n")[1].split("\n## ")[0]
    rows = [row for row in part.splitlines() if f"`{gate.field}`" in row and gate.cure in row]
    assert any(row.startswith(f"| {gate.window} |") for row in rows)
    assert all(row.count(" | ") == 5 for row in rows)
