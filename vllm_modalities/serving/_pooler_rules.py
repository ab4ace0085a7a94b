"""What is wrong in --pooler-config: one row each."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ._part import VLLM
from ._rule import Rule, Served
from ._words import Words

POOLER = f"{VLLM}config/pooler.py"
TASKS = f"{VLLM}tasks.py"
KEYS: dict[str, tuple[str | None, str | None]] = {
    **dict.fromkeys(
        (
            *("pooling_type", "seq_pooling_type", "tok_pooling_type", "use_activation"),
            *("dimensions", "enable_chunked_processing", "max_embed_len", "step_tag_id"),
            "returned_token_ids",
        ),
        (None, None),
    ),
    "task": ("0.19.0", None),
    "logit_bias": (None, "0.23.0"),
    "logit_scale": ("0.20.0", "0.23.0"),
    "logit_mean": ("0.20.0", None),
    "logit_sigma": ("0.20.0", None),
    "enable_flash_late_interaction": ("0.32.0", None),
}
"""The keys of --pooler-config, each with the releases that know it."""
POOLING_TYPES = ("CLS", "LAST", "MEAN", "ALL", "STEP")
POOLING_TASKS = (
    *("embed", "classify", "token_embed", "token_classify", "plugin"),
    "embed&token_classify",
)


def pooler(served: Served) -> dict[str, Any]:
    return served.words.settings("--pooler-config")


def without_key(*keys: str) -> Callable[[Words], Words]:
    def fix(words: Words) -> Words:
        kept = {
            key: value
            for key, value in words.settings("--pooler-config").items()
            if key not in keys
        }
        return words.setting("--pooler-config", kept)

    return fix


def _with_task(task: str) -> Callable[[Words], Words]:
    return lambda words: words.setting(
        "--pooler-config", {**words.settings("--pooler-config"), "task": task}
    )


def _renamed_logits(words: Words) -> Words:
    """`logit_sigma` is one over `logit_scale`."""
    settings = words.settings("--pooler-config")
    if "logit_bias" in settings:
        settings["logit_mean"] = settings.pop("logit_bias")
    if "logit_scale" in settings:
        settings["logit_sigma"] = 1 / float(settings.pop("logit_scale"))
    return words.setting("--pooler-config", settings)


def _logits(
    severity: Literal["error", "warning"], outcome: str, *, since: str, until: str | None = None
) -> Rule:
    return Rule(
        code="pooler-logits-renamed",
        option="--pooler-config",
        severity=severity,
        when=lambda served: bool({"logit_bias", "logit_scale"} & set(pooler(served))),
        since=since,
        until=until,
        problem=f"logit_bias and logit_scale are {outcome}",
        cure="Name them logit_mean and logit_sigma; logit_sigma is 1 / logit_scale",
        source="vLLM PR #39530",
        fix=_renamed_logits,
    )


POOLER_RULES: tuple[Rule, ...] = (
    _logits("warning", "old names, which 0.23.0 refuses", since="0.20.0", until="0.23.0"),
    _logits("error", "refused", since="0.23.0"),
    Rule(
        code="pooler-task-score",
        option="--pooler-config.task",
        severity="error",
        when=lambda served: pooler(served).get("task") == "score",
        since="0.19.0",
        problem="there is no score task",
        cure="Say classify; a model with one label then has /score and /rerank",
        source=f"{TASKS}, `check_removed_pooling_task`",
        fix=_with_task("classify"),
    ),
    Rule(
        code="pooler-task-encode",
        option="--pooler-config.task",
        severity="error",
        when=lambda served: pooler(served).get("task") == "encode",
        problem="there is no encode task",
        cure="Say token_embed for a vector a token, or token_classify for classes",
        source=f"{TASKS}, `check_removed_pooling_task`",
        fix=_with_task("token_embed"),
    ),
    Rule(
        code="pooler-task-unknown",
        option="--pooler-config.task",
        severity="error",
        when=lambda served: (
            pooler(served).get("task") not in (None, "score", "encode", *POOLING_TASKS)
        ),
        problem="the server refuses this task",
        cure=f"Say one of {', '.join(POOLING_TASKS)}",
        source=TASKS,
        fix=without_key("task"),
    ),
    Rule(
        code="pooler-type-unknown",
        option="--pooler-config.pooling_type",
        severity="error",
        when=lambda served: pooler(served).get("pooling_type") not in (None, *POOLING_TYPES),
        problem="the server refuses this pooling type",
        cure=f"Say one of {', '.join(POOLING_TYPES)}, in capitals",
        source=POOLER,
    ),
    Rule(
        code="pooler-normalize",
        option="--pooler-config.normalize",
        severity="error",
        when=lambda served: "normalize" in pooler(served),
        problem="there is no such key",
        cure="Say use_activation",
        source=f"{POOLER}, `reject_removed_parameters`",
        fix=lambda words: words.setting(
            "--pooler-config",
            {
                "use_activation" if key == "normalize" else key: value
                for key, value in words.settings("--pooler-config").items()
            },
        ),
    ),
    *(
        Rule(
            code="pooler-key-unknown",
            option=f"--pooler-config.{key}",
            severity="error",
            when=lambda served, key=key: key in pooler(served),  # type: ignore[misc]
            until=since,
            problem=f"releases before {since} know no such key",
            cure=f"Leave it out, or serve with {since} or later",
            source=POOLER,
            fix=without_key(key),
        )
        for key, (since, _) in KEYS.items()
        if since is not None
    ),
    Rule(
        code="pooler-key-unknown",
        option="--pooler-config",
        severity="error",
        when=lambda served: bool(set(pooler(served)) - {"normalize", *KEYS}),
        problem="the server refuses keys that it does not know",
        cure=f"Known are {', '.join(KEYS)}",
        source=POOLER,
        fix=lambda words: without_key(*set(words.settings("--pooler-config")) - set(KEYS))(words),
    ),
)
