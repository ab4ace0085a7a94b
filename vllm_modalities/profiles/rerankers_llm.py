"""Rerankers made of a language model: most need their template, else scores mean nothing."""

from __future__ import annotations

from ._profile import Profile, RerankProfile, ScoreForm
from ._shorthand import FLAG, MTEB, VLLM, VLLM_DOCS, VLLM_EXAMPLES, WEB_SEARCH, called, cite

TEMPLATES = f"{VLLM_EXAMPLES}score/template/"
SCORING_DOCS = f"{VLLM_DOCS}scoring.md"
CTXL = "card: ContextualAI/ctxl-rerank-v2-instruct-multilingual-1b"
ADAPTERS = f"{VLLM}model_executor/models/adapters.py"
ACTIVATION = f"{VLLM}model_executor/layers/pooler/activations.py"

QWEN_FORM = ScoreForm(
    query="<|im_start|>system\nJudge whether the Document meets the requirements based on the Query"
    ' and the Instruct provided. Note that the answer can only be "yes" or "no".<|im_end|>\n'
    "<|im_start|>user\n<Instruct>: {instruction}\n<Query>: {query}\n<Document>: ",
    document="{document}<|im_end|>\n<|im_start|>assistant\n<think>\n\n</think>\n\n",
    instruction=WEB_SEARCH,
)
MXBAI_FORM = ScoreForm(
    query="<|im_start|>system\nYou are Qwen, created by Alibaba Cloud. You are a helpful assistant."
    "<|im_end|>\n<|im_start|>user\nquery: {query}\ndocument: ",
    document="{document}\nYou are a search relevance expert who evaluates how well documents match"
    " search queries. For each query-document pair, carefully analyze the semantic relationship"
    " between them, then provide your binary relevance judgment (0 for not relevant, 1 for"
    " relevant).\nRelevance:<|im_end|>\n<|im_start|>assistant\n",
)
GEMMA_FORM = ScoreForm(
    query="A: {query}\nB: ",
    document="{document}\nGiven a query A and a passage B, determine whether the passage contains"
    " an answer to the query by providing a prediction of either 'Yes' or 'No'.",
)
NEMOTRON_FORM = ScoreForm(
    query="question:{query} \n \n passage:",
    document="{document}",
)

QWEN_RERANKERS = (
    Profile(
        name="Qwen3-Reranker",
        pattern=called("qwen3-reranker"),
        rerank=RerankProfile(
            kind="llm",
            images=False,
            scores="0..1 (probability of yes)",
            template="qwen3_reranker.jinja",
            form=QWEN_FORM,
            instruction=True,
            pooling="LAST",
            sources=cite(
                {
                    SCORING_DOCS: "kind images",
                    ADAPTERS: "scores pooling",
                    f"{TEMPLATES}qwen3_reranker.jinja": "template form instruction",
                }
            ),
        ),
        notes=(
            'Its own repository needs `--hf-overrides \'{"architectures":'
            ' ["Qwen3ForSequenceClassification"], "classifier_from_token": ["no", "yes"],'
            ' "is_original_qwen3_reranker": true}\'`; a converted one only the template.',
        ),
    ),
    Profile(
        name="Qwen3-VL-Reranker",
        pattern=called("qwen3-vl-reranker"),
        rerank=RerankProfile(
            kind="llm",
            images=True,
            scores="0..1 (probability of yes)",
            template="qwen3_vl_reranker.jinja",
            instruction=True,
            context=32768,
            sources=cite(
                {
                    SCORING_DOCS: "kind images",
                    "source: QwenLM/Qwen3-VL-Embedding@8ce3aab README.md": "scores context",
                    f"{TEMPLATES}qwen3_vl_reranker.jinja": "template instruction",
                }
            ),
        ),
        notes=(
            'It needs `--hf-overrides \'{"architectures": ["Qwen3VLForSequenceClassification"],'
            ' "classifier_from_token": ["no", "yes"], "is_original_qwen3_reranker":'
            " true}'`.",
        ),
    ),
)

MXBAI_RERANK_V2 = Profile(
    name="mxbai-rerank-v2",
    pattern=called("mxbai-rerank-base-v2", "mxbai-rerank-large-v2"),
    rerank=RerankProfile(
        kind="llm",
        images=False,
        scores="0..1 (sigmoid of the logit of 1 less that of 0)",
        template="mxbai_rerank_v2.jinja",
        form=MXBAI_FORM,
        instruction=False,
        context=32768,
        pooling="LAST",
        sources=cite(
            {
                SCORING_DOCS: "kind images",
                ADAPTERS: "scores pooling",
                f"{TEMPLATES}mxbai_rerank_v2.jinja": "template form instruction",
                f"{MTEB}mixedbread-ai/mxbai-rerank-base-v2": "context",
            }
        ),
    ),
    notes=(
        'It needs `--hf-overrides \'{"architectures": ["Qwen2ForSequenceClassification"],'
        ' "classifier_from_token": ["0", "1"], "method": "from_2_way_softmax"}\'`.',
        r"Its makers' own template begins with `instruction: {instruction}\n`; vLLM's does not.",
    ),
)

BGE_LLM_RERANKERS = (
    Profile(
        name="bge-reranker-v2-gemma",
        pattern=called("bge-reranker-v2-gemma"),
        rerank=RerankProfile(
            kind="llm",
            images=False,
            scores="0..1 (sigmoid of the logit of Yes)",
            template="bge-reranker-v2-gemma.jinja",
            form=GEMMA_FORM,
            instruction=False,
            sources=cite(
                {
                    SCORING_DOCS: "kind images",
                    ACTIVATION: "scores",
                    f"{TEMPLATES}bge-reranker-v2-gemma.jinja": "template form instruction",
                }
            ),
        ),
        notes=(
            'It needs `--hf-overrides \'{"architectures": ["GemmaForSequenceClassification"],'
            ' "classifier_from_token": ["Yes"], "method": "no_post_processing"}\'`.',
        ),
    ),
    Profile(
        name="bge-reranker-v2.5-gemma2-lightweight",
        pattern=called("bge-reranker-v2.5-gemma2-lightweight"),
        rerank=RerankProfile(
            kind="llm",
            scores="logits",
            sources=cite({f"{FLAG}reranker/decoder_only/lightweight.py": "kind scores"}),
        ),
        notes=(
            "No vLLM release up to 0.33.0 serves it; serve BAAI/bge-reranker-v2-m3 or"
            " BAAI/bge-reranker-v2-gemma instead.",
        ),
    ),
)

JINA_RERANKERS = (
    Profile(
        name="jina-reranker-v3",
        pattern=called("jina-reranker-v3", "jina-reranker-v3.5"),
        rerank=RerankProfile(
            kind="listwise",
            images=False,
            scores="-1..1 (cosine)",
            instruction=True,
            context=131072,
            sources=cite(
                {
                    f"{VLLM}model_executor/models/registry.py, JinaForRanking": "kind images",
                    f"{VLLM}entrypoints/pooling/scoring/io_processor.py": "scores instruction",
                    f"{MTEB}jinaai/jina-reranker-v3": "context",
                }
            ),
        ),
        notes=(
            "It needs vLLM 0.20.0 or later; its template is built in.",
            "All documents of a call share one prompt, and a document's score depends on the"
            " others: scores of two calls do not compare. Its makers pass at most 64 documents of"
            " 2048 tokens, and 3072 of the query.",
        ),
    ),
    Profile(
        name="jina-reranker-m0",
        pattern=called("jina-reranker-m0"),
        rerank=RerankProfile(
            kind="llm",
            images=True,
            scores="0..1 (sigmoid of the logit - 2.65)",
            context=10240,
            sources=cite(
                {
                    f"{VLLM}model_executor/models/registry.py, JinaVLForRanking": "kind images",
                    f"{VLLM}model_executor/models/config.py": "scores",
                    "card: jinaai/jina-reranker-m0": "context",
                }
            ),
        ),
        notes=("Its template is built in; documents may be images, of at most 768·28·28 pixels.",),
    ),
)

NEMOTRON_RERANKERS = (
    Profile(
        name="llama-nemotron-rerank-1b-v2",
        pattern=called("llama-nemotron-rerank-1b-v2"),
        rerank=RerankProfile(
            kind="llm",
            images=False,
            scores="0..1 (sigmoid)",
            template="nemotron-rerank.jinja",
            form=NEMOTRON_FORM,
            instruction=False,
            pooling="MEAN",
            sources=cite(
                {
                    SCORING_DOCS: "kind images",
                    ACTIVATION: "scores",
                    f"{TEMPLATES}nemotron-rerank.jinja": "template form instruction",
                    "card: nvidia/llama-nemotron-rerank-1b-v2": "pooling",
                }
            ),
        ),
        notes=("Its makers' card shows logits.",),
    ),
    Profile(
        name="llama-nemotron-rerank-vl-1b-v2",
        pattern=called("llama-nemotron-rerank-vl-1b-v2"),
        rerank=RerankProfile(
            kind="llm",
            images=True,
            scores="0..1 (sigmoid)",
            template="nemotron-vl-rerank.jinja",
            instruction=False,
            sources=cite(
                {
                    f"{VLLM_DOCS}specific_models.md": "kind images",
                    ACTIVATION: "scores",
                    f"{TEMPLATES}nemotron-vl-rerank.jinja": "template instruction",
                }
            ),
        ),
        notes=("It needs vLLM 0.17.0 or later, and --trust-remote-code.",),
    ),
)

OTHERS = (
    Profile(
        name="ctxl-rerank-v2",
        pattern=called("ctxl-rerank-v2"),
        rerank=RerankProfile(
            kind="llm",
            scores="logits; only their order counts",
            context=32768,
            sources=cite({CTXL: "kind scores context"}),
        ),
        notes=(
            "vLLM has no class and no template for it, only for converted repositories such as"
            " sigridjineth/ctxl-rerank-v2-1b-seq-cls, which want a prompt of your own:"
            r" `Check whether a given document contains information helpful to answer the query.\n"
            r"<Document> {document}\n<Query> {query} {instruction} ??`.",
        ),
    ),
    Profile(
        name="zerank-2",
        pattern=called("zerank-2"),
        rerank=RerankProfile(
            kind="llm",
            scores="0..1 (sigmoid of a fifth of the logit)",
            template="zerank2.jinja",
            instruction=True,
            context=40960,
            sources=cite(
                {
                    SCORING_DOCS: "kind",
                    f"{TEMPLATES}zerank2.jinja": "template instruction",
                    "card: zeroentropy/zerank-2": "scores context",
                }
            ),
        ),
        notes=("vLLM serves the converted polaria-tech/zerank-2-reranker-vllm.",),
    ),
)

LLM_RERANKERS = (
    *QWEN_RERANKERS,
    MXBAI_RERANK_V2,
    *BGE_LLM_RERANKERS,
    *JINA_RERANKERS,
    *NEMOTRON_RERANKERS,
    *OTHERS,
)
