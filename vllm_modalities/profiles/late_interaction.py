"""Models with a vector a token, compared by MaxSim."""

from __future__ import annotations

from ._profile import EmbedProfile, Profile, RerankProfile
from ._shorthand import MTEB, VLLM, VLLM_DOCS, called, cite

PYLATE = "source: lightonai/pylate@1f1f47c pylate/models/colbert.py"
COLPALI = "source: illuin-tech/colpali@9be8f19"
ROWS = f"{VLLM}model_executor/layers/pooler/tokwise/heads.py"
SCORING = f"{VLLM}entrypoints/pooling/scoring/io_processor.py"
MODELS = f"{VLLM_DOCS}specific_models.md"
BARE = "vLLM adds no markers and no mask tokens; without them scores are below the original's. "

MAXSIM = RerankProfile(
    kind="late-interaction",
    scores="a sum over the query's tokens, each -1..1",
    sources=cite({SCORING: "kind scores"}),
)


def _tokens(
    name: str,
    *names: str,
    width: tuple[int, str] | None = None,
    context: tuple[int, str] | None = None,
    prompts: tuple[str, str, str] | None = None,
    notes: tuple[str, ...] = (),
) -> Profile:
    """A model whose facts come each with its place; `prompts` are a query's and a document's."""
    return Profile(name=name, pattern=called(*(names or (name,))))
