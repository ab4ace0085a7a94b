"""Models with a vector a token, compared by MaxSim: the width of each, and what it expects."""

from __future__ import annotations

import string
from collections.abc import Mapping

from ._profile import EmbedProfile, Mark, Profile, RerankProfile
from ._shorthand import MTEB, VLLM, VLLM_EXAMPLES, called, cite

PYLATE = "source: lightonai/pylate@1f1f47c pylate/models/colbert.py"
COLPALI = "source: illuin-tech/colpali@9be8f19 colpali_engine/models"
BARE = "vLLM adds no marker, mask or padding token; scores without them are not the original's."

MAXSIM = RerankProfile(
    kind="late-interaction",
    scores="a sum over the query's tokens, each -1..1",
    sources=cite({f"{VLLM}entrypoints/pooling/scoring/io_processor.py": "kind scores"}),
)


def _model(
    name: str,
    pattern: str,
    *notes: str,
    embedding_size: int | None = None,
    context: int | None = None,
    prompts: Mapping[str, str] | None = None,
    marks: Mapping[str, Mark] | None = None,
    places: Mapping[str, str],
) -> Profile:
    rows = {f"{VLLM}model_executor/layers/pooler/tokwise/heads.py": "normalized"}
    return Profile(
        name=name,
        pattern=pattern,
        embed=EmbedProfile(
            normalized=True,
            embedding_size=embedding_size,
            context=context,
            prompts=prompts or {},
            marks=marks or {},
            sources=cite(rows | dict(places)),
        ),
        rerank=MAXSIM,
        notes=notes,
    )


BERT_MARKS = {
    "query": Mark(marker="[unused0]", number=1, length=32),
    "document": Mark(marker="[unused1]", number=2, drops=string.punctuation),
}
MASKS = (
    "`embed_tokens` puts the marker in and leaves out the vectors of a document's punctuation, but"
    " fills no query with `[MASK]` up to 32 tokens: in vLLM all others would attend to those."
)

COLBERT = (
    _model(
        "colbertv2.0",
        called("colbertv2.0"),
        BARE,
        MASKS,
        embedding_size=128,
        context=512,
        marks=BERT_MARKS,
        places={PYLATE: "embedding_size marks", f"{MTEB}colbert-ir/colbertv2.0": "context"},
    ),
    _model(
        "answerai-colbert-small-v1",
        called("answerai-colbert-small-v1"),
        BARE,
        MASKS,
        embedding_size=96,
        marks=BERT_MARKS,
        places={
            "source: answerdotai/answerai-colbert-small-v1 artifact.metadata": (
                "embedding_size marks"
            )
        },
    ),
    _model(
        "jina-colbert-v2",
        called("jina-colbert-v2"),
        BARE,
        'It needs `--hf-overrides \'{"architectures": ["ColBERTJinaRobertaModel"]}\'` and'
        " --trust-remote-code.",
        "A query reads `<s> [QueryMarker] … </s>` and mask tokens up to exactly 32, a document `<s>"
        " [DocumentMarker] … </s>`; `embed_tokens` does so.",
        embedding_size=128,
        context=8192,
        marks={
            "query": Mark(marker="[QueryMarker]", length=32, fill="<mask>"),
            "document": Mark(marker="[DocumentMarker]"),
        },
        places={
            "source: vllm-project/vllm tests/plugins/colbert_query_plugin": "embedding_size marks",
            f"{MTEB}jinaai/jina-colbert-v2": "context",
        },
    ),
    _model(
        "GTE-ModernColBERT-v1",
        called("gte-moderncolbert-v1"),
        BARE,
        'It needs `--hf-overrides \'{"architectures": ["ColBERTModernBertModel"]}\'`.',
        "A query is filled with mask tokens up to 32; a document has at most 300 in training.",
        embedding_size=128,
        prompts={"query": "[Q] ", "document": "[D] "},
        places={PYLATE: "embedding_size prompts"},
    ),
    _model(
        "mxbai-edge-colbert-v0-32m",
        called("mxbai-edge-colbert-v0-32m"),
        'It needs `--hf-overrides \'{"architectures": ["ColBERTModernBertModel"]}\'`.',
        "A query has at most 48 tokens and no mask tokens, a document at most 512.",
        embedding_size=64,
        prompts={"query": "[Q] ", "document": "[D] "},
        places={
            f"{MTEB}mixedbread-ai/mxbai-edge-colbert-v0-32m": "embedding_size",
            PYLATE: "prompts",
        },
    ),
    _model(
        "LFM2-ColBERT-350M",
        called("lfm2-colbert-350m"),
        BARE,
        'It needs vLLM 0.19.0 or later and `--hf-overrides \'{"architectures":'
        ' ["ColBERTLfm2Model"]}\'`.',
        places={},
    ),
)

VISUAL = (
    _model(
        "colmodernvbert",
        called("colmodernvbert"),
        BARE,
        "It needs vLLM 0.17.0 or later.",
        "A query ends in ten `<end_of_utterance>`.",
        embedding_size=128,
        places={f"{COLPALI}/modernvbert": "embedding_size"},
    ),
    _model(
        "colpali-v1.3",
        called("colpali-v1.3"),
        BARE,
        "It needs vLLM 0.18.0 or later.",
        r"A query reads `<bos>Question: {query}`, ten `<pad>` and `\n`, at most 50 tokens.",
        embedding_size=128,
        places={f"{COLPALI}, ColPali": "embedding_size"},
    ),
    _model(
        "colqwen2",
        called("colqwen2", "colqwen2.5"),
        "No vLLM release up to 0.33.0 serves it; serve TomoroAI/tomoro-colqwen3-embed-4b instead.",
        embedding_size=128,
        places={f"{COLPALI}, ColQwen2": "embedding_size"},
    ),
    _model(
        "tomoro-colqwen3-embed",
        called("tomoro-colqwen3-embed"),
        "It needs vLLM 0.17.0 or later.",
        "A page goes to /pooling as a message: the image, then `Describe the image.`",
        embedding_size=320,
        places={f"{VLLM_EXAMPLES}token_embed/colqwen3_token_embed_online.py": "embedding_size"},
    ),
    _model(
        "Ops-Colqwen3-4B",
        called("ops-colqwen3-4b"),
        "It needs vLLM 0.17.0 or later.",
        embedding_size=2560,
        places={f"{VLLM_EXAMPLES}score/colqwen3_rerank_online.py": "embedding_size"},
    ),
    _model(
        "nemotron-colembed-vl-4b-v2",
        called("nemotron-colembed-vl-4b-v2"),
        "It needs vLLM 0.17.0 or later.",
        embedding_size=2560,
        places={f"{MTEB}nvidia/nemotron-colembed-vl-4b-v2": "embedding_size"},
    ),
    _model(
        "nemotron-colembed-vl-8b-v2",
        called("nemotron-colembed-vl-8b-v2"),
        "It needs vLLM 0.17.0 or later.",
        embedding_size=4096,
        places={f"{MTEB}nvidia/nemotron-colembed-vl-8b-v2": "embedding_size"},
    ),
    _model(
        "colqwen3.5",
        called("colqwen3.5"),
        "It needs vLLM 0.19.0 or later; from 0.33.0 its config must name a"
        " `retrieval_attention_contract`, `causal` or `bidirectional`.",
        places={},
    ),
)

LATE_INTERACTION = (*COLBERT, *VISUAL)
