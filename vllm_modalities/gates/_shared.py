"""Rows for the fields that all pooling routes share, and the groups of models that rows name."""

from __future__ import annotations

from ..profiles import Profile
from ._gate import SENT, Action, Gate, Models, above, containing, longer_than, one_of, that

POOLING = ("PoolingFields",)
BASE = "vllm/entrypoints/pooling/base/protocol.py"


def _pools_last(profile: Profile) -> bool:
    models = (profile.embed, profile.rerank)
    return any(model is not None and model.pooling == "LAST" for model in models)


LAST_POOLING = Models("models that pool the last token", _pools_last)

SHARED_GATES: tuple[Gate, ...] = (
    Gate(
        code="pooling-truncation-side",
        requests=POOLING,
        field="truncation_side",
        until="0.18.0",
        action=Action.REFUSE,
        problem="the server drops the field without a word and cuts at the tokenizer's own side",
        cure="Shorten the texts before the call, or upgrade the server.",
        source=f"vLLM 0.18.0 {BASE}, `truncation_side`",
    ),
    Gate(
        code="pooling-padding",
        requests=POOLING,
        field="padding",
        until="0.29.0",
        action=Action.REFUSE,
        problem="the server drops the field without a word, so vectors are not the model's own",
        cure="Upgrade the server, or leave padding out if the model does not need it.",
        source=f"vLLM 0.29.0 {BASE}, `padding`",
    ),
    Gate(
        code="pooling-request-id",
        requests=POOLING,
        field="request_id",
        since="0.17.0",
        until="0.30.0",
        action=Action.NOTE,
        problem="the server ignores a request id in the body",
        cure='Send it as a header: with_options(headers={"X-Request-Id": ...}).',
        source="vLLM 0.30.0 vllm/entrypoints/pooling/base/serving.py, `_base_request_id`",
    ),
    *(
        Gate(
            code=f"pooling-cache-salt-empty-{since}",
            requests=POOLING,
            field="cache_salt",
            when=one_of(""),
            since=since,
            until=until,
            action=Action.REFUSE,
            problem="an empty salt is a 400",
            cure="Leave cache_salt out, or give a random string.",
            source=f"vLLM {since} {BASE}, `cache_salt`",
        )
        for since, until in (("0.25.0", "0.28.0"), ("0.29.0", None))
    ),
    Gate(
        code="pooling-cache-salt-1024",
        requests=POOLING,
        field="cache_salt",
        when=longer_than(1024),
        since="0.29.0",
        until="0.30.0",
        action=Action.REFUSE,
        problem="a salt of more than 1024 characters is a 400",
        cure="Send a shorter one, such as secrets.token_hex(32).",
        source=f"vLLM 0.29.0 {BASE}, `cache_salt`",
    ),
    Gate(
        code="pooling-cache-salt-128",
        requests=POOLING,
        field="cache_salt",
        when=longer_than(128),
        since="0.30.0",
        action=Action.REFUSE,
        problem="a salt of more than 128 characters is a 400",
        cure="Send a shorter one, such as secrets.token_hex(32).",
        source="vLLM 0.30.0 vllm/entrypoints/generate/base/protocol.py, `validate_cache_salt`",
    ),
    Gate(
        code="pooling-cache-salt-characters",
        requests=POOLING,
        field="cache_salt",
        when=containing("@/\\\0"),
        since="0.30.0",
        action=Action.REFUSE,
        problem="these characters in a salt are a 400, so standard base64 fails by chance",
        cure="Send hex or url-safe base64, such as secrets.token_urlsafe(32).",
        source="vLLM 0.30.0 vllm/entrypoints/generate/base/protocol.py, `validate_cache_salt`",
    ),
    Gate(
        code="pooling-last-token-chunks",
        requests=POOLING,
        field="input",
        reads="longest",
        when=above(8000),
        models=LAST_POOLING,
        until="0.26.0",
        action=Action.DEFECT,
        problem="an input of {value} characters: where such a prompt is prefilled in chunks under"
        " torch.compile (the default), vectors and scores are wrong and vary",
        cure="Upgrade to 0.26.0 or later and compute them anew, or serve with --enforce-eager.",
        source="vLLM PR #48901",
    ),
    *(
        Gate(
            code=f"trusted-{field.replace('_', '-')}",
            requests=(*POOLING, "OCRRequest"),
            field=field,
            when=that("given and not empty"),
            since="0.31.0",
            action=Action.NOTE,
            problem="the server refuses it unless it was started with --trust-request-mm-kwargs",
            cure="Set it on the server, or start that with the flag.",
            source="vLLM 0.31.0, `validate_request_mm_kwargs`",
        )
        for field in ("mm_processor_kwargs", "media_io_kwargs")
    ),
    Gate(
        code="media-io-kwargs-unknown",
        requests=("EmbeddingRequest", "OCRRequest"),
        field="media_io_kwargs",
        when=SENT,
        until="0.18.0",
        action=Action.REFUSE,
        problem="the server drops the field without a word",
        cure="Set decode options on the server with --media-io-kwargs, or upgrade it.",
        source="vLLM 0.18.0 vllm/entrypoints/pooling/base/protocol.py, `media_io_kwargs`",
    ),
    Gate(
        code="media-io-kwargs-cache",
        requests=("EmbeddingRequest", "OCRRequest"),
        field="media_io_kwargs",
        when=that("given and not empty"),
        since="0.18.0",
        until="0.30.0",
        action=Action.DEFECT,
        problem="it is no part of the cache's key, so a request can get the result of another"
        " that differs only in it",
        cure="Serve with --mm-processor-cache-gb 0, or upgrade to 0.30.0 or later.",
        source="vLLM 0.30.0 vllm/multimodal/processing/inputs.py, `get_mm_hashes`",
    ),
)
