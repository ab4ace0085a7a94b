"""The servers that the rig can run: each is a model, the flags of `vllm serve`, and a name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .cache import cache_folder
from .commands import leashed

# Up in some 20 s instead of 50: nothing is compiled, and the model runs in the engine's process.
# vLLM takes "uni" on a CPU only with VLLM_ENABLE_V1_MULTIPROCESSING=0 (v0.32.0,
# vllm/platforms/cpu.py, `CpuPlatform.check_and_update_config`).
COMMON_FLAGS = (
    *("--enforce-eager", "--distributed-executor-backend", "uni"),
    *("--kv-cache-memory-bytes", str(256 * 2**20)),  # on a CPU all of it is taken at the start
)
COMMON_VARIABLES = {
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_NO_USAGE_STATS": "1",
    "HF_HUB_OFFLINE": "1",
    # Threads that spin while they wait for each other make speech five times slower as soon as
    # anything else, such as another server, wants the cores.
    "OMP_WAIT_POLICY": "PASSIVE",
}
POOLING = ("--runner", "pooling")
CHUNKED = '{"enable_chunked_processing": true, "max_embed_len": 4096}'
# float32 is twice as fast on a CPU as the float16 of the weights; unless profiling is skipped,
# pictures or sounds of the greatest size are encoded at the start.
SPEECH = ("--dtype", "float32", "--skip-mm-profiling")
LISTENING = (
    *("--load-format", "dummy", *SPEECH, "--max-model-len", "4096", "--max-num-seqs", "4"),
    *("--max-num-batched-tokens", "4096", "--mm-processor-cache-gb", "0"),
)

OCR_PLUGIN = Path(__file__).parent / "ocr_plugin"
READING = (
    *("--load-format", "dummy", "--dtype", "float32", "--skip-mm-profiling"),
    *("--max-model-len", "4096", "--max-num-batched-tokens", "4096", "--max-num-seqs", "4"),
    *("--no-enable-prefix-caching", "--mm-processor-cache-gb", "0"),
)
OCR = (
    *READING,
    *("--limit-mm-per-prompt", '{"image": 2}'),
    "--logits-processors",
    "vllm.model_executor.models.deepseek_ocr:NGramPerReqLogitsProcessor",
)


@dataclass(frozen=True, slots=True)
class Spec:
    """One server that can be run.

    Attributes:
        name: What the rig calls it.
        model: A key of `weights.RECIPES`.
        served_name: What requests call its model.
        flags: For `vllm serve`, beside those that all servers get.
        variables: Environment variables, likewise.
        api_key: What `/v1` and `/v2` ask for as a bearer token; None asks for nothing.
        random_weights: Whether its answers have a meaning's shape but no meaning.
    """

    name: str
    model: str
    served_name: str
    flags: tuple[str, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)
    api_key: str | None = None
    random_weights: bool = False


SERVERS: dict[str, Spec] = {
    spec.name: spec
    for spec in (
        Spec("embed", model="minilm", served_name="minilm", flags=POOLING),
        Spec(
            "embed-matryoshka",
            model="minilm",
            served_name="minilm-matryoshka",
            flags=(
                *POOLING,
                *("--hf-overrides", '{"is_matryoshka": true}'),
                *("--pooler-config", CHUNKED),
                "--enable-request-id-headers",
                "--disable-fastapi-docs",
            ),
            api_key="rig-key",
        ),
        Spec(
            "rerank",
            model="cross-encoder",
            served_name="cross-encoder",
            flags=POOLING,
            random_weights=True,
        ),
        Spec(
            "classify",
            model="classifier",
            served_name="classifier",
            flags=POOLING,
            random_weights=True,
        ),
        Spec(
            "late-interaction",
            model="colbert",
            served_name="colbert",
            flags=POOLING,
            random_weights=True,
        ),
        Spec(
            "qwen3-embed",
            model="qwen3-embed",
            served_name="qwen3-embed",
            flags=POOLING,
            random_weights=True,
        ),
        Spec(
            "embed-tokens",
            model="minilm",
            served_name="minilm-tokens",
            flags=(*POOLING, "--pooler-config", '{"task": "token_embed"}'),
        ),
        Spec(
            "token-classify",
            model="bge-m3",
            served_name="bge-m3",
            flags=(
                *POOLING,
                *("--hf-overrides", '{"architectures": ["BgeM3EmbeddingModel"]}'),
                *("--pooler-config", '{"task": "token_classify"}'),
            ),
            random_weights=True,
        ),
        Spec("whisper-base", model="whisper-base", served_name="whisper-base", flags=SPEECH),
        Spec(
            "whisper-tiny-en",
            model="whisper-tiny-en",
            served_name="whisper-tiny-en",
            flags=SPEECH,
        ),
        Spec(
            "realtime",
            model="qwen3-asr",
            served_name="qwen3-asr-small",
            flags=(
                *LISTENING,
                *("--hf-overrides", '{"architectures": ["Qwen3ASRRealtimeGeneration"]}'),
            ),
            random_weights=True,
        ),
        Spec(
            "deepseek-ocr",
            model="deepseek-ocr",
            served_name="deepseek-ocr",
            flags=OCR,
            variables={"PYTHONPATH": str(OCR_PLUGIN), "VLLM_USE_V2_MODEL_RUNNER": "0"},
            random_weights=True,
        ),
        Spec(
            "olmocr",
            model="qwen-vl",
            served_name="olmOCR-2-small",
            flags=(*READING, "--limit-mm-per-prompt", '{"image": 1, "video": 0}'),
            random_weights=True,
        ),
        Spec(
            "dots-ocr",
            model="dots-ocr",
            served_name="dots.ocr-small",
            flags=(
                *READING,
                *("--limit-mm-per-prompt", '{"image": 1}'),
                *("--trust-remote-code", "--chat-template-content-format", "string"),
            ),
            random_weights=True,
        ),
    )
}


def command(spec: Spec, *, python: Path, model: Path, port: int) -> list[str]:
    """The command line that serves `spec` on this machine's loopback address alone."""
    return leashed(
        python,
        "vllm.entrypoints.cli.main",
        "serve",
        str(model),
        *("--host", "127.0.0.1", "--port", str(port)),
        *("--served-model-name", spec.served_name),
        *(("--api-key", spec.api_key) if spec.api_key else ()),
        *COMMON_FLAGS,
        *spec.flags,
    )


def variables(spec: Spec, release: str) -> dict[str, str]:
    """The environment variables of a server, beside those of this process that it may have."""
    return {
        **COMMON_VARIABLES,
        # What vLLM learns of a model's class, by the class's name: each release of its own.
        "VLLM_CACHE_ROOT": str(cache_folder() / "vllm" / release),
        **spec.variables,
    }
