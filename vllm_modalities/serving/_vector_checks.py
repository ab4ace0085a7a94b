"""Checks of embedders: length, width, pooling, Matryoshka, prompts, long inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from .._flow import Flow, Together
from ..endpoints.cohere_embed import CohereEmbedRequest
from ..endpoints.embeddings import EmbeddingRequest
from ..errors import BadRequestError, VLLMModalitiesError
from ..vectors.compare import similarity
from ._references import REFERENCES
from ._report import Check
from ._subject import Checks, Examination, Subject, brief, listed

TEXT = "Yeast in the dough turns sugar into gas, and the bubbles lift the bread."
CLOSE = "Bread rises because yeast makes gas out of sugar."
FAR = "The stock market fell sharply on Monday."
OTHERS = (CLOSE, FAR, "A cat sleeps for most of the day.", "Paris is the capital of France.")
UNIT = 1e-2  # by which a length may differ from 1: half precision
SAME = 0.999  # the cosine of one text in batches of other shapes: half precision
KNOWN = 0.02  # by which a cosine may differ from its makers': precision and kernels
LONGEST = 8192  # tokens: a longer context is not put to the test
LANES, PER_LANE = 4, 4


def vectors(subject: Subject) -> Checks:
    """Width, length, and whether a text has one vector, alone, again and among others."""
    alone = yield from subject.vectors(TEXT)
    again = yield from subject.vectors(TEXT)
    among = yield from subject.vectors(*OTHERS, TEXT)
    facts = subject.profile.embed
    width, length = alone.shape[1], float(np.linalg.norm(alone[0]))
    wanted = facts.embedding_size if facts else None
    odd = wanted is not None and width != wanted
    checks = [
        Check(
            "width",
            "fault" if odd else "ok",
            f"{width} numbers" + (f"; {subject.profile.name} has {wanted}" if odd else ""),
            "serve the model that is meant, without overrides of its width" if odd else "",
        ),
        _length(subject, length),
    ]
    same = float(np.abs(again - alone).max())
    checks.append(
        Check(
            "same again",
            "ok" if same < UNIT else "fault",
            f"one text twice differs by {same:.1e} at most",
            "" if same < UNIT else "upgrade the server; its results vary",
        )
    )
    close = float(similarity(alone, among[-1:], "cosine")[0, 0])
    checks.append(
        Check(
            "alone and among others",
            "ok" if close > SAME else "fault",
            f"cosine {close:.5f} of one text alone and in a batch of {len(among)}",
            "" if close > SAME else "the server mixes inputs; upgrade it or serve other kernels",
        )
    )
    return checks


def _length(subject: Subject, length: float) -> Check:
    """Whether vectors are as long as the model's are."""
    facts, unit = subject.profile.embed, abs(length - 1) < UNIT
    wanted = True if facts is None or facts.normalized is None else facts.normalized
    evidence = f"length {length:.4f}"
    if unit == wanted:
        return Check("unit length", "ok", evidence + ("" if unit else ", as this model's are"))
    if unit:
        return Check("unit length", "doubt", f"{evidence}; this model's own are not of unit length")
    known = facts is not None and facts.normalized is True
    cure = (
        "ask for it, `normalize=True`, or serve with --pooler-config '{\"use_activation\": true}'"
    )
    return Check("unit length", "fault" if known else "doubt", evidence, cure)


def meaning(subject: Subject) -> Checks:
    """Whether cosines are those that its makers tell, or else follow meaning at all."""
    known = [one for one in REFERENCES if one.profile == subject.profile.name]
    if not known:
        found = yield from subject.vectors(TEXT, CLOSE, FAR)
        close, far = similarity(found[:1], found[1:], "cosine")[0]
        evidence = f"cosine {close:.3f} with a paraphrase, {far:.3f} with another subject"
        if close > far:
            return [Check("meaning", "ok", evidence)]
        cure = "check the pooling type and that the weights are the model's"
        return [Check("meaning", "fault", evidence, cure)]
    reference = known[0]
    texts = (*reference.queries, *reference.documents)
    found = yield from subject.vectors(*texts)
    count = len(reference.queries)
    off = np.abs(
        similarity(found[:count], found[count:], "cosine") - np.array(reference.cosines)
    ).max()
    evidence = f"cosines differ by {off:.3f} at most from those of {reference.source}"
    if off < KNOWN:
        return [Check("pooling and weights", "ok", evidence)]
    pooling = subject.profile.embed.pooling if subject.profile.embed else None
    cure = f"serve it without --pooler-config; it pools {pooling}"
    return [Check("pooling and weights", "fault", evidence, cure)]


def matryoshka(subject: Subject) -> Checks:
    """Which sizes the server cuts to, and whether that is the beginning of the vector."""
    whole = yield from subject.vectors(TEXT)
    sizes = list(_sizes(subject, whole.shape[1]))
    outcomes = []
    for size in sizes:
        outcomes += yield from Together([subject.vectors(TEXT, dimensions=size)])
    cut = {
        size: one for size, one in zip(sizes, outcomes, strict=True) if isinstance(one, np.ndarray)
    }
    wrong = [
        size
        for size, one in cut.items()
        if one.shape[1] != size or float(similarity(whole[:, :size], one, "cosine")[0, 0]) < SAME
    ]
    facts = subject.profile.embed
    trained = bool(facts and facts.matryoshka)
    if wrong:
        evidence = f"not the beginning of the whole at {', '.join(map(str, wrong))}"
        return [Check("Matryoshka", "fault", evidence, "cut vectors in the client")]
    if cut:
        evidence = f"cuts to {', '.join(map(str, cut))}, each the beginning of the whole"
        if facts is not None and facts.matryoshka == ():
            cure = "take the override out; this model was not trained for it"
            return [Check("Matryoshka", "doubt", evidence, cure)]
        return [Check("Matryoshka", "ok", evidence)]
    evidence = f"refuses {', '.join(map(str, sizes))}: {_told(outcomes)}"
    if trained:
        cure = "serve it with --hf-overrides '{\"is_matryoshka\": true}'"
        return [Check("Matryoshka", "fault", f"{evidence}; the model was trained for it", cure)]
    return [Check("Matryoshka", "ok", evidence)]


def _sizes(subject: Subject, width: int) -> Iterator[int]:
    """Up to three sizes to try: those that the model was trained for, or parts of its width."""
    facts = subject.profile.embed
    trained = facts.matryoshka if facts and facts.matryoshka else None
    if isinstance(trained, tuple):
        yield from [size for size in trained if size < width][-3:]
    else:
        yield from (width // 2, width // 4)


def _told(outcomes: Sequence[object]) -> str:
    errors = [one for one in outcomes if isinstance(one, VLLMModalitiesError)]
    return brief(errors[0]) if errors else "no size was tried"


def prompts(subject: Subject) -> Checks:
    """Whether the words that the server puts before texts are those of the model."""
    facts = subject.profile.embed
    if facts is None or not facts.needs_prompt or "/v2/embed" not in subject.server.routes:
        return [
            Check("prompts", "left out", "no prompts are known, or the server has no /v2/embed")
        ]
    checks = []
    for name in [name for name in ("query", "document") if name in facts.prompts]:
        asked = CohereEmbedRequest(texts=(TEXT,), input_type=name, embedding_types=("float",))
        outcome = yield from subject.outcome(asked)
        if isinstance(outcome, VLLMModalitiesError):
            told = f"the server has none of that name, so the client writes it: {brief(outcome)}"
            checks.append(Check(f"prompt {name}", "ok", told))
            continue
        given = asked.read(outcome).float
        assert given is not None  # it was asked for
        ours = yield from subject.vectors(f"{facts.prompts[name]}{TEXT}")
        close = float(similarity(given.vectors, ours, "cosine")[0, 0])
        evidence = f"cosine {close:.4f} of the server's and {facts.prompts[name]!r}"
        right = close > SAME
        cure = "" if right else "serve it without task_instructions in --hf-overrides"
        checks.append(Check(f"prompt {name}", "ok" if right else "fault", evidence, cure))
    return checks


def long_input(subject: Subject) -> Checks:
    """What becomes of a text that is longer than the context."""
    context = subject.model.max_model_len
    if context is None or context > LONGEST:
        why = f"would send more than {context} tokens" if context else "its context is not known"
        return [Check("long input", "left out", why)]
    text = "word " * (context + 64)
    outcome = yield from subject.outcome(EmbeddingRequest(input=(text,), encoding_format="float"))
    if isinstance(outcome, BadRequestError):
        return [Check("long input", "ok", f"refused, as it should be: {brief(outcome)}")]
    if isinstance(outcome, VLLMModalitiesError):
        return [Check("long input", "fault", brief(outcome), "see the server's log")]
    length = float(np.linalg.norm(listed(outcome, 1)[0]))
    evidence = (
        f"{context + 64} words or more are taken, and averaged in pieces; length {length:.4f}"
    )
    return [Check("long input", "ok" if abs(length - 1) < UNIT else "doubt", evidence)]


def pace(subject: Subject) -> Checks:
    """Latency and throughput of short texts, four at a time."""
    began = subject.now()
    lanes = yield from Together([_lane(subject) for _ in range(LANES)])
    seconds = max(subject.now() - began, 1e-9)
    times = sorted(time for lane in lanes if isinstance(lane, list) for time in lane)
    if len(times) < LANES * PER_LANE:
        failed = next(lane for lane in lanes if not isinstance(lane, list))
        return [Check("pace", "fault", brief(failed), "see the server's log")]
    middle, slowest = times[len(times) // 2], times[-1]
    evidence = (
        f"{len(times) / seconds:.1f} texts/s, {LANES} at a time;"
        f" {middle * 1e3:.0f} ms in the middle, {slowest * 1e3:.0f} ms at most"
    )
    return [Check("pace", "ok", evidence)]


def _lane(subject: Subject) -> Flow[list[float]]:
    times = []
    for _ in range(PER_LANE):
        began = subject.now()
        yield from subject.vectors(TEXT)
        times.append(subject.now() - began)
    return times


VECTOR_CHECKS = (
    Examination("embed", "vectors", 3, vectors),
    Examination("embed", "meaning", 1, meaning),
    Examination("embed", "matryoshka", 4, matryoshka),
    Examination("embed", "prompts", 4, prompts),
    Examination("embed", "long input", 1, long_input),
    Examination("embed", "pace", LANES * PER_LANE, pace),
)
