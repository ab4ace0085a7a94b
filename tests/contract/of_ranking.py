"""Cases of `/rerank` and `/score`, on a cross-encoder, an embedder and a late-interaction model."""

from __future__ import annotations

from functools import partial

from contract import seen
from contract.case import SAME, Case, post

QUERY = "What is the capital of France?"
DOCUMENTS = ["Cats sleep.", "Paris is the capital of France.", "Trains go to Berlin every hour."]
LONG = "cat " * 600  # the models read 512 tokens at most

rerank = partial(post, "rerank", "/v1/rerank")
score = partial(post, "rerank", "/v1/score")


def ranking(**given: object) -> dict[str, object]:
    return {"model": "cross-encoder", "query": QUERY, "documents": DOCUMENTS, **given}


def pairs(**given: object) -> dict[str, object]:
    return {"model": "cross-encoder", "queries": QUERY, "documents": DOCUMENTS, **given}


RERANKING = [
    rerank(
        "rerank",
        ranking(),
        call=lambda c: c.rerank(QUERY, DOCUMENTS),
        observe=seen.order,
    ),
    *(
        post("rerank", path, f"rerank at {path}", ranking(), observe=seen.order)
        for path in ("/rerank", "/v2/rerank")
    ),
    *(
        rerank(
            f"top_n={count!r}",
            ranking(top_n=count),
            call=lambda c, count=count: c.rerank(QUERY, DOCUMENTS, top_n=count),
            observe=seen.results,
        )
        for count in (0, 1, 99)
    ),
    rerank(
        "top_n=-1",
        ranking(top_n=-1),
        call=lambda c: c.rerank(QUERY, DOCUMENTS, top_n=-1),
        observe=seen.results,
        gates={"rerank-negative-top-n": "3 results|400 .*"},
        ignored=True,
    ),
    *(
        rerank(f"top_n={count!r}", ranking(top_n=count), call=None, observe=seen.results)
        for count in (None, "1", 1.5)
    ),
    rerank("no documents", ranking(documents=[]), observe=seen.results),
    rerank("an empty document", ranking(documents=[""]), observe=seen.results),
    rerank(
        "a document that is no list", ranking(documents="Cats."), call=None, observe=seen.results
    ),
    rerank("documents as objects with text", ranking(documents=[{"text": "Cats."}])),
    rerank(
        "documents as parts",
        ranking(documents=[{"content": [{"type": "text", "text": "Cats."}]}]),
        call=None,
        observe=seen.results,
    ),
    rerank("an empty query", ranking(query=""), call=None, observe=seen.results),
    rerank("several queries", ranking(query=["a", "b"])),
    rerank("no query", {"model": "cross-encoder", "documents": DOCUMENTS}),
    rerank("a document beyond the context", ranking(documents=["Cats.", LONG])),
    rerank(
        "truncate_prompt_tokens=-1, ranked",
        ranking(documents=["Cats.", LONG], truncate_prompt_tokens=-1),
        observe=seen.tokens,
    ),
    rerank(
        "use_activation=false, ranked",
        ranking(use_activation=False),
        observe=seen.relevance,
        gates={"ranking-bert-logits": "best 8.*"},
    ),
    rerank("use_activation=true, ranked", ranking(use_activation=True), observe=seen.relevance),
    rerank(
        "return_documents=false",
        ranking(return_documents=False),
        observe=seen.results,
        ignored=True,
    ),
    rerank("an unknown model, ranked", ranking(model="nobody")),
    rerank(
        "an image as a document",
        ranking(
            documents=[
                {
                    "content": [
                        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
                    ]
                }
            ]
        ),
        call=None,
    ),
    rerank(
        "the tokens that are counted",
        ranking(),
        observe=seen.tokens,
    ),
]

LIMITS = [
    *(
        rerank(
            f"max_tokens_per_doc={count}", ranking(max_tokens_per_doc=count), observe=seen.tokens
        )
        for count in (4, 0, 511, 100_000)
    ),
    *(
        rerank(
            f"max_tokens_per_query={count}",
            ranking(max_tokens_per_query=count),
            observe=seen.tokens,
        )
        for count in (4, 0, 100_000)
    ),
    *(
        rerank(
            f"{name}=-1",
            ranking(**{name: -1}),
            gates={f"ranking-negative-{name.replace('_', '-')}": "400 .*"},
        )
        for name in ("max_tokens_per_doc", "max_tokens_per_query")
    ),
    *(
        # What is no value of the field shows whether the release knows the field.
        rerank(
            f"{name} that is none",
            ranking(**{name: wrong}),
            call=None,
            observe=seen.results,
            gates={f"ranking-{name.replace('_', '-')}": "3 results"},
        )
        for name, wrong in (
            ("max_tokens_per_doc", "many"),
            ("max_tokens_per_query", "many"),
            ("instruction", 5),
            ("chat_template_kwargs", "none"),
        )
    ),
    rerank(
        "instruction",
        ranking(instruction="Find cities."),
        call=lambda c: c.rerank(QUERY, DOCUMENTS, instruction="Find cities."),
        observe=seen.results,
        ignored=True,
    ),
    rerank(
        "chat_template_kwargs, ranked",
        ranking(chat_template_kwargs={"a": 1}),
        observe=seen.results,
        ignored=True,
    ),
    rerank(
        "request_id, ranked",
        ranking(request_id="given"),
        observe=seen.identity,
        gates={"pooling-request-id": "id ignored"},
    ),
    rerank(
        "padding=max_length, ranked",
        ranking(padding="max_length"),
        observe=seen.tokens,
        ignored=True,
    ),
    rerank(
        "a cache_salt with a slash, ranked",
        ranking(cache_salt="a/b"),
        gates={"pooling-cache-salt-characters": "400 .*"},
    ),
]

SCORING = [
    score("one query, one document", pairs(documents=DOCUMENTS[1]), observe=seen.scores),
    score("one query, three documents", pairs(), observe=seen.scores),
    score("three queries, three documents", pairs(queries=DOCUMENTS), observe=seen.scores),
    score("three queries, one document", pairs(queries=DOCUMENTS, documents=QUERY)),
    score("three queries, two documents", pairs(queries=DOCUMENTS, documents=DOCUMENTS[:2])),
    *(
        score(
            f"{one} and {other}",
            {"model": "cross-encoder", one: QUERY, other: DOCUMENTS},
            call=None,
            observe=seen.scores,
        )
        for one, other in (("text_1", "text_2"), ("data_1", "data_2"), ("queries", "items"))
    ),
    score("no documents, scored", pairs(documents=[])),
    score("no queries, scored", pairs(queries=[])),
    score(
        "use_activation=false, scored",
        pairs(use_activation=False),
        observe=seen.scores,
        gates={"ranking-bert-logits": "scores 7.*"},
    ),
    post("rerank", "/score", "scored at /score", pairs(), observe=seen.scores),
    post(
        "rerank",
        "/classify",
        "one label classified",
        {"model": "cross-encoder", "input": QUERY},
        observe=seen.classes,
    ),
    post(
        "rerank",
        "/pooling",
        "one label pooled",
        {"model": "cross-encoder", "input": QUERY},
        observe=seen.vectors,
    ),
    post(
        "rerank",
        "/v1/embeddings",
        "embed by a reranker",
        {"model": "cross-encoder", "input": QUERY},
    ),
]

OTHERS = [
    post(
        server,
        path,
        name,
        {"model": model, query: QUERY, "documents": DOCUMENTS},
        observe=observe,
        gates=gates,
    )
    for server, model, counted in (
        ("embed", "minilm", "32 tokens"),
        ("late-interaction", "colbert", "32 tokens"),
        ("qwen3-embed", "qwen3-embed", "107 tokens"),
    )
    for path, name, query, observe, gates in (
        ("/v1/rerank", "ranked by this model", "query", seen.order, {}),
        ("/v1/rerank", "tokens of a ranking", "query", seen.tokens, {"ranking-usage": counted}),
        ("/v1/score", "scored by this model", "queries", seen.scores, {}),
    )
]

BY_EMBEDDER = [
    post(
        "embed",
        "/v1/rerank",
        "top_n=1, ranked by this model",
        {"model": "minilm", "query": QUERY, "documents": DOCUMENTS, "top_n": 1},
        observe=seen.results,
    ),
    *(
        post(
            "embed",
            path,
            f"{field}={value!r}, {how} by this model",
            {"model": "minilm", query: QUERY, "documents": DOCUMENTS, field: value},
            observe=observe,
            ignored=field == "instruction",
        )
        for path, how, query in (
            ("/v1/rerank", "ranked", "query"),
            ("/v1/score", "scored", "queries"),
        )
        for field, value, observe in (
            ("max_tokens_per_doc", 4, seen.tokens),
            ("max_tokens_per_query", 4, seen.tokens),
            ("instruction", "Find cities.", seen.answered),
            ("truncate_prompt_tokens", -1, seen.tokens),
            ("use_activation", False, seen.answered),
        )
    ),
    *(
        post(
            "embed",
            "/v1/score",
            f"{first} of {len(ones)} and {second} of {len(others)}",
            {"model": "minilm", first: ones, second: others},
            call=SAME if first == "queries" else None,
            observe=seen.scores,
        )
        for first, second in (("queries", "documents"), ("text_1", "text_2"))
        for ones, others in (
            (DOCUMENTS, DOCUMENTS),
            ([QUERY], DOCUMENTS),
            (DOCUMENTS, [QUERY]),
            (DOCUMENTS, DOCUMENTS[:2]),
        )
    ),
]

RANKING_CASES: list[Case] = [*RERANKING, *LIMITS, *SCORING, *OTHERS, *BY_EMBEDDER]
