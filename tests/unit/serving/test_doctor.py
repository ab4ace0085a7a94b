"""`doctor` and `probe`: what each finds on servers that are right, and on those that are not."""

from __future__ import annotations

import asyncio
import itertools
import json
from typing import Any

import httpx
import numpy as np
import pytest
from unit.serving._server import (
    CONTEXT,
    URL,
    WIDTH,
    Server,
    completion,
    ranking,
    refusal,
    rows,
    vector,
)

from vllm_modalities import AsyncClient, AuthenticationError, Client, Profile
from vllm_modalities.profiles import EmbedProfile, RerankProfile
from vllm_modalities.serving import Check, Report, doctor, probe
from vllm_modalities.serving._media_checks import ASSETS, CLIP, _drawn
from vllm_modalities.serving._references import REFERENCES
from vllm_modalities.serving._subject import Budget

LONE = itertools.count()


def profile(**facts: Any) -> Profile:
    return Profile(name="mine", pattern="^m$", embed=EmbedProfile(**facts, sources={}))


def ranker(**facts: Any) -> Profile:
    return Profile(name="mine", pattern="^m$", rerank=RerankProfile(**facts, sources={}))


def examined(server: Server, *profiles: Profile) -> dict[str, Check]:
    server.sent.clear()
    with server.client(profiles=profiles) as client:
        (found,) = doctor(client)
    assert len(server.sent) == found.sent <= found.announced
    return {check.name: check for check in found.checks}


def statuses(server: Server, *profiles: Profile) -> dict[str, str]:
    return {name: check.status for name, check in examined(server, *profiles).items()}


GOOD = ("embed", "rerank", "late-interaction", "classify", "transcribe")


ODD: list[Any] = [
    *([], [1], "a", 5, None, {}, {"data": []}, {"data": None}, {"results": [], "usage": None}),
    *({"data": [{"index": 0, "data": data}]} for data in ([], [[]], [1.0], [[1.0], [2.0, 3.0]])),
    {"results": [{"index": n, "relevance_score": n} for n in range(2)], "usage": None},
]


@pytest.mark.parametrize("answer", ODD, ids=repr)
@pytest.mark.parametrize("kind", ["rerank", "late-interaction", "classify", "embed"])
def test_an_answer_that_is_none_is_a_fault_and_ends_no_examination(kind: str, answer: Any) -> None:
    routes = ("/pooling", "/v1/rerank", "/classify", "/v1/embeddings")
    server = Server(kind)
    server.answers = dict.fromkeys(routes, lambda _: answer)
    assert "fault" in statuses(server, ranker(kind="llm", template="t.jinja")).values()


@pytest.mark.parametrize("kind", GOOD)
def test_nothing_is_wrong_with_a_server_that_is_right(kind: str) -> None:
    server = Server(kind)
    spoken = json.loads((ASSETS / "speech.json").read_text())[CLIP]["text"]
    server.answers["/v1/audio/transcriptions"] = lambda _: {"text": spoken}
    found = statuses(server)
    assert set(found.values()) <= {"ok", "left out"}
    assert "ok" in found.values()


def test_a_page_is_read_and_the_processor_seen() -> None:
    found = examined(Server("ocr", "deepseek-ocr"))
    assert {check.status for check in found.values()} == {"ok"}
    assert "refuses ngram_size=-1" in found["n-gram processor"].evidence


def test_the_page_that_is_drawn_has_black_words_on_white() -> None:
    image = np.asarray(_drawn().convert("L"))
    assert (image.min(), image.max()) == (0, 255)
    assert 0.01 < (image < 128).mean() < 0.2


def test_what_is_announced_is_told_before_anything_is_sent() -> None:
    server, told = Server("embed"), list[str]()

    def announce(words: str) -> None:
        assert not server.sent
        told.append(words)

    with server.client() as client:
        (found,) = doctor(client, announce=announce)
    (line,) = told
    assert f"{URL}: m, at most {found.announced} requests, 4 at once" in line


def test_more_than_was_announced_cannot_be_sent() -> None:
    budget = Budget(1)
    budget.take()
    with pytest.raises(AssertionError):
        budget.take()


def test_nothing_is_tried_twice() -> None:
    server = Server("embed")
    server.answers["/v1/embeddings"] = lambda _: refusal("busy", 503)
    found = statuses(server)
    assert "ok" not in {found[name] for name in ("vectors", "meaning", "matryoshka", "pace")}
    assert len(server.sent) <= 8


def test_the_async_client_is_awaited() -> None:
    server = Server("embed")

    async def run() -> Report:
        http = httpx.AsyncClient(transport=httpx.MockTransport(server))
        async with AsyncClient(URL, http_client=http) as client:
            assert (await probe(client))[0].server.url == URL
            return await doctor(client)

    report = asyncio.run(run())
    assert report.ok


# What is wrong with an embedder, and the check that says so.
def widened(server: Server) -> None:
    server.answers["/v1/embeddings"] = lambda body: rows(body, lambda text: [*vector(text), 0.0])


def lengthened(server: Server) -> None:
    server.answers["/v1/embeddings"] = lambda body: rows(
        body, lambda text: [3 * number for number in vector(text)]
    )


def wavering(server: Server) -> None:
    server.answers["/v1/embeddings"] = lambda body: rows(
        body, lambda _: vector(f"word{next(LONE)}")
    )


def mixing(server: Server) -> None:
    def answer(body: Any) -> Any:
        count = len(body["input"])
        return rows(body, lambda text: vector(text if count == 1 else "the same for all"))

    server.answers["/v1/embeddings"] = answer


@pytest.mark.parametrize(
    ("change", "facts", "check", "status"),
    [
        (widened, {"embedding_size": WIDTH}, "width", "fault"),
        (lengthened, {"normalized": True}, "unit length", "fault"),
        (lengthened, {}, "unit length", "doubt"),
        (lengthened, {"normalized": False}, "unit length", "ok"),
        (lambda _: None, {"normalized": False}, "unit length", "doubt"),
        (wavering, {}, "same again", "fault"),
        (mixing, {}, "alone and among others", "fault"),
        (mixing, {}, "meaning", "fault"),
    ],
)
def test_wrong_vectors_are_named(change, facts, check, status) -> None:
    server = Server("embed")
    change(server)
    found = examined(server, profile(**facts))[check]
    assert found.status == status
    assert bool(found.cure) == (status == "fault") or status == "doubt"


@pytest.mark.parametrize("reference", REFERENCES, ids=lambda one: one.profile)
def test_cosines_that_are_not_its_makers_name_the_pooling(reference) -> None:
    server = Server("embed", f"org/{reference.profile}")
    found = examined(server)["pooling and weights"]
    assert found.status == "fault"
    assert reference.source in found.evidence


def test_cosines_that_are_its_makers_are_right() -> None:
    (reference,) = (one for one in REFERENCES if one.profile == "bge-m3")
    texts = (*reference.queries, *reference.documents)
    gram = np.eye(4)
    gram[:2, 2:] = reference.cosines
    gram[2:, :2] = np.transpose(reference.cosines)
    gram[0, 1] = gram[1, 0] = gram[2, 3] = gram[3, 2] = 0.5
    known = np.zeros((4, 1024))
    known[:, :4] = np.linalg.cholesky(gram)

    def embed(text: str) -> list[float]:
        return known[texts.index(text) if text in texts else 0].tolist()

    server = Server("embed", "BAAI/bge-m3")
    server.answers["/v1/embeddings"] = lambda body: rows(body, embed)
    assert examined(server)["pooling and weights"].status == "ok"


def cutting(server: Server, size_of: Any = lambda size: size) -> None:
    def answer(body: Any) -> Any:
        size = body.get("dimensions")
        return rows(body, lambda text: vector(text, size and size_of(size)))

    server.answers["/v1/embeddings"] = answer


@pytest.mark.parametrize(
    ("cuts", "trained", "status", "words"),
    [
        (False, (128, 256, 384), "fault", "refuses 128, 256"),
        (False, range(32, 385), "fault", "refuses 192, 96"),
        (False, None, "ok", "refuses 192, 96"),
        (True, (128, 256, 384), "ok", "cuts to 128, 256"),
        (True, (), "doubt", "cuts to 192, 96"),
    ],
)
def test_matryoshka_is_told_as_it_is(cuts, trained, status, words) -> None:
    server = Server("embed")
    if cuts:
        cutting(server)
    found = examined(server, profile(matryoshka=trained))["Matryoshka"]
    assert (found.status, words in found.evidence) == (status, True)
    assert ("is_matryoshka" in found.cure) == (status == "fault")


def test_a_size_that_is_not_the_beginning_of_the_whole_is_wrong() -> None:
    server = Server("embed")
    cutting(server, lambda size: size - 1)
    found = examined(server, profile(matryoshka=(128, 384)))["Matryoshka"]
    assert (found.status, found.evidence) == ("fault", "not the beginning of the whole at 128")


def test_a_model_that_was_trained_for_its_whole_width_alone_is_asked_for_no_other() -> None:
    found = examined(Server("embed"), profile(matryoshka=(384,)))["Matryoshka"]
    assert found.evidence.startswith("refuses : no size was tried")


@pytest.mark.parametrize(
    ("servers", "wanted"),
    [
        ({"query": "query: "}, {"prompt query": "ok", "prompt document": "ok"}),
        ({"query": "something else: "}, {"prompt query": "fault", "prompt document": "ok"}),
        ({}, {"prompt query": "ok", "prompt document": "ok"}),
    ],
)
def test_prompts_of_the_server_are_held_against_the_models(servers, wanted) -> None:
    server = Server("embed")
    server.prompts = servers
    mine = profile(prompts={"query": "query: ", "document": ""})
    found = statuses(server, mine)
    assert {name: found[name] for name in wanted} == wanted


@pytest.mark.parametrize(
    ("context", "answer", "status", "words"),
    [
        (CONTEXT, None, "ok", "refused, as it should be"),
        (CONTEXT, lambda body: rows(body, vector), "ok", "averaged in pieces"),
        (
            CONTEXT,
            lambda body: rows(body, lambda text: [2 * number for number in vector(text)]),
            "doubt",
            "length 2.0000",
        ),
        (100_000, None, "left out", "more than 100000 tokens"),
        (None, None, "left out", "not known"),
    ],
)
def test_a_long_input_is_refused_cut_or_left_out(context, answer, status, words) -> None:
    server = Server("embed")
    server.context = context
    if answer:
        server.answers["/v1/embeddings"] = answer
    found = examined(server)["long input"]
    assert (found.status, words in found.evidence) == (status, True)


def test_a_server_that_breaks_at_a_long_input_is_at_fault() -> None:
    server = Server("embed")
    usual = server._v1_embeddings

    def answer(body: Any) -> Any:
        return refusal("oh", 500) if len(body["input"][0]) > 300 else usual(body)

    server.answers["/v1/embeddings"] = answer
    assert examined(server)["long input"].status == "fault"


def test_vectors_that_are_miscounted_are_an_error_of_the_answer() -> None:
    server = Server("embed")
    server.answers["/v1/embeddings"] = lambda _: {"data": []}
    found = examined(server)
    assert "expected 1 vectors" in found["vectors"].evidence


def scoring(server: Server, score: Any, tokens: int = 99) -> None:
    server.answers["/v1/rerank"] = lambda body: ranking(body, score, tokens)


def test_a_reranker_that_prefers_london_fails_its_canary() -> None:
    server = Server("rerank")
    scoring(server, lambda text: 0.1 if "Paris" in text else 0.9)
    found = examined(server)["canary pair"]
    assert (found.status, "London 0.900, Paris 0.100" in found.evidence) == ("fault", True)


def test_scores_outside_the_models_range_are_named() -> None:
    server = Server("rerank")
    scoring(server, lambda text: 7.0 if "Paris" in text else -3.0)
    found = statuses(server, ranker(kind="pair", scores="0..1 (sigmoid)"))
    assert (found["canary pair"], found["range of scores"]) == ("ok", "fault")
    scoring(server, lambda text: 0.7 if "Paris" in text else 0.3)
    assert statuses(server, ranker(kind="pair", scores="0..1"))["range of scores"] == "ok"


@pytest.mark.parametrize(("tokens", "status"), [(99, "ok"), (14, "fault"), (0, "left out")])
def test_a_template_shows_in_the_tokens_of_a_pair(tokens, status) -> None:
    server = Server("rerank")
    scoring(server, lambda text: 0.9 if "Paris" in text else 0.1, tokens)
    found = examined(server, ranker(kind="llm", template="t.jinja"))["template"]
    assert found.status == status
    assert ("--chat-template t.jinja" in found.cure) == (status == "fault")


def test_a_server_that_does_not_tokenize_leaves_the_template_open() -> None:
    server = Server("rerank")
    server.answers["/tokenize"] = lambda _: refusal("no", 500)
    found = examined(server, ranker(kind="llm", template="t.jinja"))["template"]
    assert found.status == "left out"


def test_scores_that_waver_or_depend_on_the_others_are_named() -> None:
    server = Server("rerank")
    scoring(server, lambda text: next(LONE) + (1e6 if "Paris" in text else 0))
    wavering = statuses(server)
    assert wavering["same again"] == "ok"  # by one of a million

    def by_count(body: Any) -> Any:
        return ranking(body, lambda text: len(body["documents"]) + ("Paris" in text))

    server.answers["/v1/rerank"] = by_count
    assert statuses(server)["alone and among others"] == "fault"
    assert statuses(server, ranker(kind="listwise"))["alone and among others"] == "ok"


def test_scores_that_differ_the_second_time_are_named() -> None:
    server = Server("rerank")
    scoring(server, lambda text: next(LONE) % 7 + 10 * ("Paris" in text))
    assert statuses(server)["same again"] == "fault"


def test_a_reranker_that_fails_under_load_is_at_fault() -> None:
    server = Server("rerank")
    server.answers["/v1/rerank"] = lambda _: refusal("busy", 503)
    assert examined(server)["pace"].status == "fault"


def test_token_vectors_are_held_against_the_profile() -> None:
    server = Server("late-interaction")
    server.answers["/pooling"] = lambda _: {"data": [{"index": 0, "data": [[3.0, 4.0]]}]}
    found = statuses(server, profile(embedding_size=128, normalized=True))
    assert (found["width"], found["unit length"]) == ("fault", "doubt")
    assert statuses(server, profile(normalized=False))["unit length"] == "ok"


def test_classes_that_do_not_add_up_are_named() -> None:
    server = Server("classify")
    server.answers["/classify"] = lambda _: {"data": [{"index": 0, "probs": [2.0, 3.0]}]}
    assert examined(server)["classes"].status == "fault"


def test_words_that_are_not_heard_or_not_heard_again_are_named() -> None:
    server = Server("transcribe")
    server.answers["/v1/audio/transcriptions"] = lambda _: {"text": f"noise {next(LONE)}"}
    found = statuses(server)
    assert (found["spoken canary"], found["same again"]) == ("fault", "doubt")


@pytest.mark.parametrize(
    ("answer", "wanted"),
    [
        (completion("nothing", "length"), ("fault", "doubt", "fault")),
        (completion(None), ("fault", "ok", "fault")),
        (refusal("no"), ("fault", None, "fault")),
    ],
)
def test_a_page_that_is_not_read_and_a_processor_that_is_not_there_are_named(
    answer, wanted
) -> None:
    server = Server("ocr", "deepseek-ocr")
    server.answers["/v1/chat/completions"] = lambda _: answer
    found = statuses(server)
    names = ("page canary", "end of the page", "n-gram processor")
    assert tuple(found.get(name) for name in names) == wanted


def test_a_model_without_a_known_processor_is_not_asked_for_it() -> None:
    from vllm_modalities.profiles import OCRProfile

    mine = Profile(name="mine", pattern="^m$", ocr=OCRProfile(prompts={"text": "x"}, sources={}))
    assert statuses(Server("ocr"), mine)["n-gram processor"] == "left out"


def test_a_server_that_is_down_and_one_that_lists_no_model_are_faults() -> None:
    with Client("http://127.0.0.1:9", max_retries=0) as client:
        (found,) = doctor(client)
        (probed,) = probe(client)
    assert [fault.name for fault in found.faults] == ["answers"]
    assert "What the client does" not in Report((found,)).to_markdown()
    assert (probed.routes, probed.server.healthy) == ((), False)
    empty = httpx.Client(transport=httpx.MockTransport(lambda _: httpx.Response(404)))
    with pytest.warns(match="release"), Client(URL, http_client=empty) as client:
        (found,) = doctor(client)
    assert found.faults[0].evidence == "it lists no model"


def test_a_wrong_key_is_raised() -> None:
    refusing = httpx.MockTransport(lambda _: httpx.Response(401, json={"error": "Unauthorized"}))
    with (
        Client(URL, http_client=httpx.Client(transport=refusing)) as client,
        pytest.raises(AuthenticationError),
    ):
        doctor(client)


def test_a_report_is_a_memo_and_json() -> None:
    server = Server("embed")
    lengthened(server)
    with server.client(profiles=[profile(normalized=True)]) as client:
        report = doctor(client)
    assert (len(report), report.ok) == (1, False)
    memo = report.to_markdown()
    assert memo.startswith("# Servers examined: 2 faults")
    assert "| unit length | fault | length 3.0000 |" in memo
    found = json.loads(json.dumps(report.to_dict()))
    assert found["servers"][0]["requests"]["sent"] == len(server.sent)
    assert found["ok"] is False
    assert any("cache_salt" in gate["message"] for gate in found["servers"][0]["gates"])


def test_gates_of_other_releases_and_tasks_are_not_shown() -> None:
    server = Server("transcribe")
    server.version = "0.23.0"
    with server.client() as client:
        (found,) = doctor(client)
    assert not any("cache_salt" in gate.message for gate in found.gates)
    with Server("ocr", "deepseek-ocr").client() as client:
        memo = doctor(client).to_markdown()
    assert "nothing wrong" in memo


@pytest.mark.parametrize(
    ("kind", "version", "wanted"),
    [
        ("embed", "0.32.0", {"tokens of m"}),
        ("transcribe", "0.32.0", {"tokens of m", "a sound file", "sound", "decoded sound"}),
        ("transcribe", "0.23.0", {"tokens of m", "a sound file"}),
        ("ocr", "0.32.0", {"tokens of deepseek-ocr", "an image"}),
    ],
)
def test_probe_tells_routes_and_limits(kind, version, wanted) -> None:
    server = Server(kind, "deepseek-ocr" if kind == "ocr" else "m")
    server.version = version
    with server.client() as client:
        (found,) = probe(client)
    assert set(found.limits) == wanted
    live = {route.path for route in found.routes if route.live}
    assert live == {*server.routes, "/tokenize"} & {route.path for route in found.routes}
    assert server.sent == []


def test_a_model_whose_context_is_not_known_has_no_limit() -> None:
    server = Server("embed")
    server.context = None
    with server.client() as client:
        (found,) = probe(client)
    assert found.limits == {}


def test_a_route_that_does_not_answer_is_not_live() -> None:
    server = Server("embed")

    def answer(request: httpx.Request) -> httpx.Response:
        if request.url.path == "/pooling":
            raise httpx.ConnectError("gone")
        return server(request)

    http = httpx.Client(transport=httpx.MockTransport(answer))
    with Client(URL, http_client=http, max_retries=0) as client:
        (found,) = probe(client)
    (route,) = (route for route in found.routes if route.path == "/pooling")
    assert (route.status, route.live) == (None, False)
