"""What is wrong, or harmful, though the parser takes it: one row each."""

from __future__ import annotations

from dataclasses import replace

from ._ocr import PROCESSOR
from ._part import VLLM
from ._pooler_rules import POOLER_RULES, pooler, without_key
from ._rule import Rule, Served
from ._words import Words

RUNNER = "VLLM_USE_V2_MODEL_RUNNER"


def _variable(served: Served) -> str | None:
    return served.words.env.get(RUNNER)


def _unset(words: Words) -> Words:
    kept = {name: value for name, value in words.env.items() if name != RUNNER}
    return replace(words, env=kept)


SETTING_RULES: tuple[Rule, ...] = (
    Rule(
        code="eager-pooling",
        option="--enforce-eager",
        severity="warning",
        when=lambda served: (
            served.pools
            and served.words.on("enforce-eager")
            and not (served.pools_last and served.version < "0.26.0")
        ),
        problem="pooling runs on piecewise CUDA graphs, which this switches off for nothing",
        cure="Drop it",
        source=f"{VLLM}config/vllm.py, `cudagraph_mode`",
        fix=lambda words: words.without("--enforce-eager"),
    ),
    Rule(
        code="flash-late-interaction",
        option="--no-enable-flash-late-interaction",
        severity="warning",
        when=lambda served: served.words.has("--no-enable-flash-late-interaction"),
        since="0.20.0",
        problem="MaxSim runs slowly, from 0.32.0 in the engine too",
        cure="Drop it",
        source="vLLM PR #40337",
        fix=lambda words: words.without("--no-enable-flash-late-interaction"),
    ),
    Rule(
        code="flash-late-interaction",
        option="--pooler-config.enable_flash_late_interaction",
        severity="warning",
        when=lambda served: pooler(served).get("enable_flash_late_interaction") is False,
        since="0.32.0",
        problem="MaxSim runs slowly in the engine",
        cure="Leave it out",
        source="vLLM PR #40337",
        fix=without_key("enable_flash_late_interaction"),
    ),
    Rule(
        code="async-pooling",
        option="--async-scheduling",
        severity="warning",
        when=lambda served: served.pools and served.words.on("async-scheduling"),
        since="0.20.0",
        problem="it slows pooling, and is off there if nothing is said",
        cure="Drop it, unless a measurement of yours says otherwise",
        source="vLLM PR #39592",
        fix=lambda words: words.without("--async-scheduling"),
    ),
    Rule(
        code="generate-pooling",
        option="--runner",
        severity="error",
        when=lambda served: (
            served.words.get("--runner") == "generate"
            and (
                served.words.get("--convert") in ("embed", "classify")
                or (served.row is not None and served.pools)
            )
        ),
        problem="a generating server has no vectors and no scores",
        cure="Say --runner pooling",
        source=f"{VLLM}config/model.py, `RunnerOption`",
        fix=lambda words: words.having("--runner", "pooling"),
    ),
    Rule(
        code="matryoshka-untrained",
        option="--hf-overrides",
        severity="warning",
        when=lambda served: (
            bool(
                {"is_matryoshka", "matryoshka_dimensions"}
                & set(served.words.settings("--hf-overrides"))
            )
            and served.profile.embed is not None
            and served.profile.embed.matryoshka == ()
        ),
        problem="this model was not trained for vectors that are cut, so short ones are poor",
        cure="Leave it out",
        source="the model's profile",
    ),
    Rule(
        code="audio-backend",
        option="--media-io-kwargs",
        severity="warning",
        when=lambda served: (
            served.hears
            and "audio_backend" in str(served.words.settings("--media-io-kwargs").get("audio"))
        ),
        problem="`audio_backend` is of chat's sound, and has no effect on /v1/audio",
        cure="Leave it out",
        source=f"{VLLM}multimodal/media/audio.py, `AudioMediaIO`",
    ),
)

RUNNER_RULES: tuple[Rule, ...] = (
    Rule(
        code="v2-runner-processors",
        option=RUNNER,
        severity="error",
        when=lambda served: _variable(served) == "1" and served.words.has("--logits-processors"),
        until="0.31.0",
        problem="Model Runner V2 takes no custom logits processors, and ends at its start",
        cure=f"Leave {RUNNER} out",
        source="vLLM 0.30.0 vllm/config/vllm.py, `_get_v2_model_runner_unsupported_features`",
        fix=_unset,
    ),
    Rule(
        code="v2-runner-ngrams",
        option=RUNNER,
        severity="error",
        when=lambda served: (
            _variable(served) != "0"
            and any(
                PROCESSOR in option.values
                for option in served.words.options
                if option.name == "--logits-processors"
            )
        ),
        since="0.31.0",
        problem="Model Runner V2, the default where Triton is, refuses this processor, which is of"
        " the first runner's kind, and ends at its start",
        cure=f"Set {RUNNER}=0",
        source=f"{VLLM}v1/worker/gpu/sample/logits_processor/loader.py",
        fix=lambda words: words.with_env(**{RUNNER: "0"}),
    ),
    Rule(
        code="v2-runner-pooling",
        option=RUNNER,
        severity="warning",
        when=lambda served: served.pools and _variable(served) == "1",
        until="0.29.0",
        problem="pooling is not yet at home on Model Runner V2: before 0.27.0 it only embeds there",
        cure=f"Leave {RUNNER} out; from 0.29.0 it is the default",
        source="vLLM 0.26.0 vllm/v1/worker/gpu/pool/pooling_runner.py",
        fix=_unset,
    ),
    Rule(
        code="v1-runner-pooling",
        option=RUNNER,
        severity="warning",
        when=lambda served: (
            served.pools and _variable(served) == "0" and pooler(served).get("task") != "plugin"
        ),
        since="0.29.0",
        problem="it puts pooling back on the first model runner, which is a way out, not a setting",
        cure=f"Leave {RUNNER} out once V2 serves your model",
        source=f"{VLLM}config/vllm.py, `use_v2_model_runner`",
        fix=_unset,
    ),
    Rule(
        code="v2-runner-plugin",
        option=RUNNER,
        severity="error",
        when=lambda served: pooler(served).get("task") == "plugin" and _variable(served) != "0",
        since="0.29.0",
        problem="Model Runner V2 does not take the task plugin",
        cure=f"Set {RUNNER}=0",
        source=f"{VLLM}v1/worker/gpu/pool/pooling_runner.py",
        fix=lambda words: words.with_env(**{RUNNER: "0"}),
    ),
)


RULES = (*POOLER_RULES, *SETTING_RULES, *RUNNER_RULES)
