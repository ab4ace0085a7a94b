"""Rows for embeddings and pooling."""

from __future__ import annotations

from ._gate import ANY, Action, Gate, When, one_of, that
from ._shared import SHARED_GATES

EMBED = "vllm/entrypoints/pooling/embed/protocol.py"
DIRECT = ("ChatFields",)

EMBEDDING_GATES: tuple[Gate, ...] = (
    *SHARED_GATES,
    Gate(
        code="normalize-ignored",
        requests=DIRECT,
        field="normalize",
        since="0.17.0",
        until="0.26.0",
        action=Action.REFUSE,
        problem="the server drops this name without a word",
        cure="Say use_activation instead (the argument `normalize` of embed does).",
        source="vLLM 0.17.0 vllm/entrypoints/pooling/base/protocol.py; seen on 0.23.0",
    ),
    Gate(
        code="normalize-removed",
        requests=DIRECT,
        field="normalize",
        since="0.26.0",
        action=Action.REFUSE,
        problem="the server answers 400",
        cure="Say use_activation instead (the argument `normalize` of embed does).",
        source="vLLM 0.26.0, `reject_removed_pooling_parameters`; seen on 0.32.0",
    ),
    Gate(
        code="embeddings-message-input",
        requests=("EmbeddingRequest",),
        field="input",
        reads="has_message_input",
        when=that("holding chat messages"),
        until="0.24.0",
        action=Action.REFUSE,
        problem="messages in `input` are a 400",
        cure="Send one conversation in `messages`, or upgrade the server.",
        source=f"vLLM 0.24.0 {EMBED}, PR #45173; seen on 0.23.0",
    ),
    Gate(
        code="embeddings-message-batch",
        requests=("EmbeddingRequest",),
        field="messages",
        reads="has_message_batch",
        when=that("holding several conversations"),
        until="0.24.0",
        action=Action.REFUSE,
        problem="several conversations in one request are a 400",
        cure="Send one conversation a request, or upgrade the server.",
        source=f"vLLM 0.24.0 {EMBED}, `EmbeddingBatchChatRequest`, PR #45173",
    ),
    Gate(
        code="embeddings-chunked-norm",
        requests=("EmbeddingRequest", "CohereEmbedRequest"),
        field="input",
        until="0.31.0",
        action=Action.REPAIR,
        problem="the vector of a text that the server splits into chunks is not of unit length",
        cure="Upgrade and embed long texts anew; here it is divided by its length.",
        source="vLLM 0.31.0 vllm/entrypoints/pooling/embed/io_processor.py; seen on 0.30.0",
    ),
    Gate(
        code="cohere-embed-route",
        requests=("CohereEmbedRequest",),
        field="model",
        when=ANY,
        until="0.18.0",
        action=Action.REFUSE,
        problem="the server has no /v2/embed",
        cure="Use /v1/embeddings (embed without input_type), or upgrade the server.",
        source="vLLM 0.18.0 vllm/entrypoints/pooling/embed/api_router.py",
    ),
    Gate(
        code="pooling-task-score",
        requests=("PoolingRequest",),
        field="task",
        when=one_of("score"),
        since="0.19.0",
        action=Action.REFUSE,
        problem="this task was removed and is a 400",
        cure='Say "classify", and use /score and /rerank for scores.',
        source="vLLM 0.19.0 vllm/tasks.py",
    ),
    Gate(
        code="pooling-task-encode",
        requests=("PoolingRequest",),
        field="task",
        when=one_of("encode"),
        action=Action.REFUSE,
        problem="this task was removed in 0.11.1 and is a 400",
        cure='Say "token_embed" or "token_classify".',
        source="vLLM 0.11.1 vllm/tasks.py",
    ),
    *(
        Gate(
            code=f"pooling-task-both-{'old' if until else 'new'}",
            requests=("PoolingRequest",),
            field="task",
            when=one_of("embed&token_classify"),
            since=since,
            until=until,
            action=Action.REFUSE,
            problem="the server does not take the two tasks in one request",
            cure='Ask for "embed" and "token_classify" one after the other.',
            source="vLLM 0.19.0 vllm/tasks.py; 0.29.0 vllm/entrypoints/pooling/pooling",
        )
        for since, until in ((None, "0.19.0"), ("0.29.0", None))
    ),
    Gate(
        code="embeddings-both-shapes",
        requests=("EmbeddingRequest",),
        field="messages",
        reads="has_both_shapes",
        when=that("together with `input`"),
        action=Action.REFUSE,
        problem="with both `input` and `messages` the server takes the messages without a word",
        cure="Send one of them.",
        source="seen on vLLM 0.32.0",
    ),
    Gate(
        code="embeddings-chat-options",
        requests=("EmbeddingRequest",),
        field="chat_template_kwargs",
        reads="text_with_chat_options",
        when=When("and its like with plain text", lambda value: value is not None),
        action=Action.REFUSE,
        problem="{value} with plain text: that never passes through the chat template, so the"
        " server drops it",
        cure="Send messages, or leave it out.",
        source=f"vLLM 0.16.0 {EMBED}, `EmbeddingCompletionRequest`",
    ),
)
