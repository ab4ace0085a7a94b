"""How rerankers and late-interaction models are served."""

from __future__ import annotations

from ..profiles._shorthand import called
from ._part import DOCS, POOLING, VLLM, Note, Part, Row, overrides, remote_code

SCORING = f"{DOCS}scoring.md"
EXAMPLES = "vllm-project/vllm examples/pooling/score/"
ADAPTERS = f"{VLLM}model_executor/models/adapters.py"
LATE = f"{DOCS}token_embed.md"


def _template(name: str) -> Part:
    return Part(
        flags=("--chat-template", name),
        file=name,
        without="query and document are put together bare, and scores look random",
        fatal=True,
        why="the words around query and document that it was trained with",
        source=f"{EXAMPLES}template/{name}",
    )


def _classifier(architecture: str, tokens: list[str], **config: str | bool) -> Part:
    return overrides(
        {"architectures": [architecture], "classifier_from_token": tokens, **config},
        why="makes a reranker of a language model, from the logits of the words it answers with",
        source=SCORING,
        without="the server serves a language model that ranks nothing, or ranks at random",
    )


CLASSIFY = Part(
    flags=("--convert", "classify"),
    why="says what it is made into",
    source=f"{VLLM}config/model.py, `ConvertOption`",
)
WARNED = Note(
    "from 0.30.0 the server warns at its start where its template is missing", "vLLM PR #56017"
)
CHUNKS = Note(
    "before 0.26.0 long pairs come back wrong where they are prefilled in chunks under"
    " torch.compile: upgrade and score anew, or add --enforce-eager",
    "vLLM PR #48901",
)


def _pair(name: str, example: str, *extra: Part, pattern: str | None = None) -> Row:
    return Row(
        name=name,
        pattern=pattern or called(name),
        example=example,
        task="rerank",
        parts=(POOLING, *extra),
    )


CROSS_ENCODERS: tuple[Row, ...] = (
    _pair(
        "bge-reranker",
        "BAAI/bge-reranker-v2-m3",
        pattern=called("bge-reranker-v2-m3", "bge-reranker-base", "bge-reranker-large"),
    ),
    _pair(
        "gte-multilingual-reranker-base",
        "Alibaba-NLP/gte-multilingual-reranker-base",
        overrides(
            {"architectures": ["GteNewForSequenceClassification"]},
            why="its config names a class that vLLM has under another name",
            source=SCORING,
            without="the server does not know its class",
        ),
        remote_code(SCORING),
    ),
    _pair(
        "jina-reranker-v2-base-multilingual",
        "jinaai/jina-reranker-v2-base-multilingual",
        remote_code("jinaai/jina-reranker-v2-base-multilingual config.json, `auto_map`"),
    ),
)

LLM_RERANKERS: tuple[Row, ...] = (
    Row(
        name="Qwen3-Reranker, converted",
        pattern=r"qwen3-reranker.*seq-cls",
        example="tomaarsen/Qwen3-Reranker-0.6B-seq-cls",
        task="rerank",
        parts=(POOLING, _template("qwen3_reranker.jinja")),
        notes=(CHUNKS,),
    ),
    Row(
        name="Qwen3-Reranker",
        pattern=called("qwen3-reranker"),
        example="Qwen/Qwen3-Reranker-0.6B",
        task="rerank",
        parts=(
            POOLING,
            CLASSIFY,
            _classifier(
                "Qwen3ForSequenceClassification", ["no", "yes"], is_original_qwen3_reranker=True
            ),
            _template("qwen3_reranker.jinja"),
        ),
        notes=(WARNED, CHUNKS),
    ),
    Row(
        name="Qwen3-VL-Reranker",
        pattern=called("qwen3-vl-reranker"),
        example="Qwen/Qwen3-VL-Reranker-2B",
        task="rerank",
        parts=(
            POOLING,
            _classifier(
                "Qwen3VLForSequenceClassification", ["no", "yes"], is_original_qwen3_reranker=True
            ),
            _template("qwen3_vl_reranker.jinja"),
        ),
    ),
    Row(
        name="mxbai-rerank-v2",
        pattern=called("mxbai-rerank-base-v2", "mxbai-rerank-large-v2"),
        example="mixedbread-ai/mxbai-rerank-base-v2",
        task="rerank",
        parts=(
            POOLING,
            _classifier("Qwen2ForSequenceClassification", ["0", "1"], method="from_2_way_softmax"),
            _template("mxbai_rerank_v2.jinja"),
        ),
        notes=(CHUNKS,),
    ),
    Row(
        name="bge-reranker-v2-gemma",
        pattern=called("bge-reranker-v2-gemma"),
        example="BAAI/bge-reranker-v2-gemma",
        task="rerank",
        parts=(
            POOLING,
            _classifier("GemmaForSequenceClassification", ["Yes"], method="no_post_processing"),
            _template("bge-reranker-v2-gemma.jinja"),
        ),
    ),
    Row(
        name="llama-nemotron-rerank-vl",
        pattern=called("llama-nemotron-rerank-vl-1b-v2"),
        example="nvidia/llama-nemotron-rerank-vl-1b-v2",
        task="rerank",
        since="0.17.0",
        parts=(
            POOLING,
            remote_code(f"{DOCS}specific_models.md"),
            _template("nemotron-vl-rerank.jinja"),
        ),
    ),
    Row(
        name="llama-nemotron-rerank",
        pattern=called("llama-nemotron-rerank-1b-v2"),
        example="nvidia/llama-nemotron-rerank-1b-v2",
        task="rerank",
        parts=(
            POOLING,
            Part(
                flags=("--trust-remote-code",),
                why="its config names a class of its repository; that code runs on the server",
                source="nvidia/llama-nemotron-rerank-1b-v2 config.json",
            ),
            _template("nemotron-rerank.jinja"),
        ),
    ),
    Row(
        name="jina-reranker-v3",
        pattern=called("jina-reranker-v3", "jina-reranker-v3.5"),
        example="jinaai/jina-reranker-v3",
        task="rerank",
        since="0.20.0",
        parts=(POOLING,),
        notes=(
            Note(
                "listwise: all documents of a call share one prompt, within --max-model-len",
                "vLLM PR #38800",
            ),
        ),
    ),
    Row(
        name="jina-reranker-m0",
        pattern=called("jina-reranker-m0"),
        example="jinaai/jina-reranker-m0",
        task="rerank",
        parts=(
            POOLING,
            Part(
                flags=("--max-num-seqs", "32"),
                why="pages are long prompts",
                source="vllm-project/recipes Jina/Jina-reranker-m0.md",
            ),
        ),
        notes=(
            Note("its template is built in", f"{VLLM}model_executor/models/jina_vl.py"),
            Note(
                "vLLM sets the pooler's logit_mean to 2.65 itself; do not set it",
                f"{VLLM}model_executor/models/config.py",
            ),
        ),
    ),
)


def _late(name: str, example: str, *extra: Part, since: str | None = None) -> Row:
    return Row(
        name=name,
        pattern=called(name),
        example=example,
        task="embed_tokens",
        since=since,
        parts=(POOLING, *extra),
        notes=(
            Note(
                "leave --enable-flash-late-interaction on, as it is: it makes MaxSim fast",
                f"{VLLM}entrypoints/launchers/cli_args.py",
            ),
        ),
    )


def _as(architecture: str) -> Part:
    return overrides(
        {"architectures": [architecture]},
        why="its config names the class without the last layer",
        source=LATE,
        without="the server serves another class, whose vectors are not its own",
    )


LATE_INTERACTION: tuple[Row, ...] = (
    _late(
        "jina-colbert-v2",
        "jinaai/jina-colbert-v2",
        _as("ColBERTJinaRobertaModel"),
        remote_code(LATE),
        since="0.17.0",
    ),
    _late(
        "gte-moderncolbert-v1",
        "lightonai/GTE-ModernColBERT-v1",
        _as("ColBERTModernBertModel"),
        since="0.17.0",
    ),
    _late(
        "mxbai-edge-colbert-v0",
        "mixedbread-ai/mxbai-edge-colbert-v0-32m",
        _as("ColBERTModernBertModel"),
        since="0.17.0",
    ),
    _late(
        "lfm2-colbert-350m",
        "LiquidAI/LFM2-ColBERT-350M",
        _as("ColBERTLfm2Model"),
        since="0.19.0",
    ),
    _late("colbertv2.0", "colbert-ir/colbertv2.0"),
    _late("answerai-colbert-small-v1", "answerdotai/answerai-colbert-small-v1"),
    _late("colpali-v1.3", "vidore/colpali-v1.3-hf", since="0.18.0"),
    _late(
        "tomoro-colqwen3-embed",
        "TomoroAI/tomoro-colqwen3-embed-4b",
        Part(
            flags=("--max-model-len", "4096"),
            why="a page is at most that many tokens",
            source=f"{EXAMPLES}colqwen3_rerank_online.py",
        ),
        since="0.17.0",
    ),
    _late("ops-colqwen3-4b", "OpenSearch-AI/Ops-Colqwen3-4B", since="0.17.0"),
    _late("colqwen3.5", "athrael-soju/colqwen3.5-4.5B-v3", since="0.19.0"),
    _late("colmodernvbert", "ModernVBERT/colmodernvbert-merged", since="0.17.0"),
)

RERANKERS = (*CROSS_ENCODERS, *LLM_RERANKERS, *LATE_INTERACTION)
