"""Checks of rerankers, of models with a vector a token, and of classifiers."""

from __future__ import annotations

import numpy as np

from .._flow import Together
from ..endpoints._canary import DOCUMENTS, QUERY
from ..endpoints._tokens import read_tokens
from ..endpoints.classify import ClassifyRequest, read_classes
from ..endpoints.pooling import TokenEmbedRequest
from ..endpoints.rerank import RerankRequest, read_ranking
from ..errors import VLLMModalitiesError
from ._report import Check
from ._subject import Checks, Examination, Subject, brief, shown
from ._vector_checks import UNIT

LANES, PER_LANE = 4, 2
OTHERS = ("A cat sleeps for most of the day.", "Berlin lies on the Spree.", "Bread is baked.")
# Tokens that a template adds at least: the shortest, bge-reranker-v2-gemma's, has some 30.
TEMPLATE = 6


def canary(subject: Subject) -> Checks:
    """Whether Paris comes before London for the capital of France."""
    scores = yield from subject.scores(QUERY, *DOCUMENTS)
    right = bool(scores[1] > scores[0])
    evidence = f"{QUERY} London {scores[0]:.3f}, Paris {scores[1]:.3f}"
    cure = "" if right else "serve it with its template and overrides: `vllm-modalities recipe`"
    checks = [Check("canary pair", "ok" if right else "fault", evidence, cure)]
    facts = subject.profile.rerank
    if facts and (facts.scores or "").startswith("0..1"):
        inside = bool(((scores >= 0) & (scores <= 1)).all())
        cure = "" if inside else "serve it without use_activation in --pooler-config"
        told = f"{shown(scores)}; this model's are {facts.scores}"
        checks.append(Check("range of scores", "ok" if inside else "fault", told, cure))
    return checks


def template(subject: Subject) -> Checks:
    """Whether the server puts words around query and document, by the tokens that it counts."""
    facts = subject.profile.rerank
    if facts is None or facts.template is None:
        return [Check("template", "left out", "this model is not known to need one")]
    document = DOCUMENTS[1]
    request = RerankRequest(query=QUERY, documents=(document,))
    _, usage = read_ranking((yield from subject.post(request)), request)
    counted = usage.prompt_tokens
    both = yield from Together([subject.tokens(QUERY), subject.tokens(document)])
    bare = [count for count in both if isinstance(count, int)]
    if len(bare) < len(both) or not counted:
        return [Check("template", "left out", "the server does not count tokens")]
    added = counted - sum(bare)
    evidence = f"{counted} tokens of a pair, {sum(bare)} of its bare texts"
    if added >= TEMPLATE:
        return [Check("template", "ok", evidence)]
    cure = f"serve it with --chat-template {facts.template}: `vllm-modalities recipe` writes it"
    return [Check("template", "fault", f"{evidence}, so the server has no template", cure)]


def steadiness(subject: Subject) -> Checks:
    """Whether a pair has one score, alone, again and among others."""
    alone = yield from subject.scores(QUERY, DOCUMENTS[1])
    again = yield from subject.scores(QUERY, DOCUMENTS[1])
    among = yield from subject.scores(QUERY, *OTHERS, DOCUMENTS[1])
    scale = max(float(np.abs(alone).max()), 1.0)
    same, close = float(abs(again - alone)[0]), float(abs(among[-1] - alone[0]))
    checks = [
        Check(
            "same again",
            "ok" if same < UNIT * scale else "fault",
            f"one pair twice differs by {same:.1e}",
            "" if same < UNIT * scale else "upgrade the server; its results vary",
        )
    ]
    facts = subject.profile.rerank
    if facts and facts.kind == "listwise":
        told = f"differs by {close:.3f}; a listwise model's score depends on the others"
        return [*checks, Check("alone and among others", "ok", told)]
    right = close < UNIT * scale
    cure = "" if right else "the server mixes inputs; upgrade it"
    evidence = f"one pair alone and among {len(among)} differs by {close:.1e}"
    return [*checks, Check("alone and among others", "ok" if right else "fault", evidence, cure)]


def pace(subject: Subject) -> Checks:
    """Throughput of short pairs, four requests at a time."""
    pairs = LANES * PER_LANE * len(DOCUMENTS)
    began = subject.now()
    flows = [subject.scores(QUERY, *DOCUMENTS) for _ in range(LANES * PER_LANE)]
    outcomes = []
    for start in range(0, len(flows), LANES):
        outcomes += yield from Together(flows[start : start + LANES])
    seconds = max(subject.now() - began, 1e-9)
    failed = [one for one in outcomes if isinstance(one, VLLMModalitiesError)]
    if failed:
        return [Check("pace", "fault", brief(failed[0]), "see the server's log")]
    return [Check("pace", "ok", f"{pairs / seconds:.1f} pairs/s, {LANES} requests at a time")]


def tokens(subject: Subject) -> Checks:
    """Width and length of a text's token vectors."""
    body = TokenEmbedRequest(input=(QUERY,), encoding_format="float")
    response = yield from subject.post(body)
    (rows,), _ = read_tokens(response, 1, None)
    if rows.ndim != 2 or not rows.size:
        raise response.fault("the answer has no vector a token")
    lengths = np.linalg.norm(rows, axis=1)
    facts = subject.profile.embed
    wanted = facts.embedding_size if facts else None
    odd = wanted is not None and rows.shape[1] != wanted
    unit = bool(np.abs(lengths - 1).max() < UNIT)
    expected = facts.normalized if facts and facts.normalized is not None else True
    return [
        Check(
            "width",
            "fault" if odd else "ok",
            f"{rows.shape[0]} vectors of {rows.shape[1]} numbers"
            + (f"; {subject.profile.name} has {wanted}" if odd else ""),
            "serve the class that `vllm-modalities recipe` names" if odd else "",
        ),
        Check(
            "unit length",
            "ok" if unit == expected else "doubt",
            f"lengths {lengths.min():.3f} to {lengths.max():.3f}",
        ),
    ]


def classes(subject: Subject) -> Checks:
    """Whether the probabilities of a text's classes add up to 1."""
    response = yield from subject.post(ClassifyRequest(input=(QUERY,)))
    rows, _ = read_classes(response, 1)
    total, count = sum(rows[0].probs), len(rows[0].probs)
    right = count == 1 or abs(total - 1) < UNIT
    cure = "" if right else "serve it without use_activation in --pooler-config"
    evidence = f"{count} classes, probabilities add up to {total:.3f}"
    return [Check("classes", "ok" if right else "fault", evidence, cure)]


RANKING_CHECKS = (
    Examination("rerank", "canary", 1, canary),
    Examination("rerank", "template", 3, template),
    Examination("rerank", "steadiness", 3, steadiness),
    Examination("rerank", "pace", LANES * PER_LANE, pace),
    Examination("embed_tokens", "tokens", 1, tokens),
    Examination("classify", "classes", 1, classes),
)
