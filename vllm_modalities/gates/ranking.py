"""Rows for rerank and score."""

from __future__ import annotations

from ..profiles import UNKNOWN
from ._gate import ANY, SENT, Action, Gate, Models, When, below, one_of

RANKING = ("RerankRequest", "ScoreRequest")
PROTOCOL = "vllm/entrypoints/pooling/scoring/protocol.py"
LLM_RERANKERS = Models(
    "rerankers made of a language model",
    lambda profile: profile.rerank is not None and profile.rerank.kind == "llm",
)
DEAF = Models(
    "rerankers that read no instruction",
    lambda profile: profile.rerank is not None and profile.rerank.instruction is False,
)
BERT = Models(
    "BERT models and unknown ones",
    lambda profile: profile is UNKNOWN or profile.name == "ms-marco-MiniLM",
)

RANKING_GATES: tuple[Gate, ...] = (
    Gate(
        code="rerank-negative-top-n",
        requests=("RerankRequest",),
        field="top_n",
        when=below(0),
        action=Action.REFUSE,
        problem="vLLM before 0.24.0 silently returns every document, 0.24.0 and later answer 400",
        cure="Leave top_n out, or pass 0, for every document.",
        source=f"vLLM 0.24.0 {PROTOCOL}, PR #46119",
    ),
    *(
        Gate(
            code=f"ranking-{field.replace('_', '-')}",
            requests=RANKING,
            field=field,
            until="0.20.0",
            action=Action.REFUSE,
            problem="the server drops the field without a word",
            cure="Shorten the texts before the call, or upgrade the server.",
            source=f"vLLM 0.20.0 {PROTOCOL}, PR #38827",
        )
        for field in ("max_tokens_per_doc", "max_tokens_per_query")
    ),
    *(
        Gate(
            code=f"ranking-negative-{field.replace('_', '-')}",
            requests=RANKING,
            field=field,
            when=below(0),
            action=Action.REFUSE,
            problem="the server answers 400",
            cure="Pass a number of tokens above 0, or leave it out for no limit.",
            source="vLLM 0.20.0 vllm/entrypoints/pooling/scoring/io_processor.py",
        )
        for field in ("max_tokens_per_doc", "max_tokens_per_query")
    ),
    Gate(
        code="ranking-max-tokens-scores",
        requests=RANKING,
        field="max_tokens_per_doc",
        when=When("above 0", lambda value: bool(value) and value > 0),
        models=LLM_RERANKERS,
        since="0.20.0",
        until="0.31.0",
        action=Action.DEFECT,
        problem="it changes the scores of documents that are shorter than it, too",
        cure="Leave it out and shorten the documents before the call, or upgrade to 0.31.0.",
        source="vLLM 0.31.0 vllm/entrypoints/pooling/scoring/io_processor.py",
    ),
    Gate(
        code="ranking-bert-logits",
        requests=RANKING,
        field="use_activation",
        when=one_of(False),
        models=BERT,
        until="0.31.0",
        action=Action.DEFECT,
        problem="a BERT model leaves out the tanh before its last layer too, so the numbers are not"
        " its logits",
        cure="Leave it out and take log(score / (1 - score)), or upgrade to 0.31.0.",
        source="vLLM 0.16.0 and 0.31.0 vllm/model_executor/models/bert.py, `BertPooler`",
    ),
    *(
        Gate(
            code=f"ranking-{field.replace('_', '-')}",
            requests=RANKING,
            field=field,
            when=SENT,
            until="0.22.0",
            action=Action.REFUSE,
            problem="the server drops the field without a word",
            cure="Upgrade the server, or put the instruction into the query as the model's"
            " template would.",
            source=f"vLLM 0.22.0 {PROTOCOL}",
        )
        for field in ("instruction", "chat_template_kwargs")
    ),
    Gate(
        code="ranking-deaf-to-instruction",
        requests=RANKING,
        field="instruction",
        models=DEAF,
        action=Action.NOTE,
        problem="this model or its template reads no instruction",
        cure="Leave it out.",
        source="the model's profile; vLLM examples/pooling/score/template",
    ),
    Gate(
        code="ranking-usage",
        requests=RANKING,
        field="usage",
        when=ANY,
        since="0.30.0",
        action=Action.DIFFERS,
        problem="`usage` counts each query and document once, before that once a pair",
        cure="Do not add up token counts over these servers.",
        source="vLLM 0.30.0 vllm/entrypoints/pooling/scoring",
    ),
    Gate(
        code="ranking-templates",
        requests=RANKING,
        field="relevance_score",
        when=ANY,
        since="0.33.0",
        action=Action.DIFFERS,
        problem="a template in the checkpoint's Sentence-Transformers config is applied, which"
        " changes scores",
        cure="Do not compare scores over these servers; bring them to one release.",
        source="vLLM 0.33.0 vllm/entrypoints/pooling/scoring/io_processor.py",
    ),
)
