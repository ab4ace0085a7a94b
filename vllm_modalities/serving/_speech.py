"""How models that hear are served."""

from __future__ import annotations

from ..profiles._shorthand import called
from ._part import VLLM, Note, Part, Row, remote_code

RED_HAT = "https://developers.redhat.com, Whisper on Red Hat AI Inference Server"
ISSUE_OOM = "vLLM issue #15216"

LIMITS = (
    Note(
        "a request may have 25 MB: VLLM_MAX_AUDIO_CLIP_FILESIZE_MB. The client sends pieces, so"
        " only other clients need more",
        f"{VLLM}envs.py",
    ),
    Note(
        "from 0.24.0 a request may have 600 s of sound: VLLM_MAX_AUDIO_DECODE_DURATION_S; from"
        " 0.28.0 also 268,435,456 bytes decoded: VLLM_MAX_AUDIO_DECODE_BYTES",
        f"{VLLM}envs.py",
    ),
    Note(
        "from 0.24.0 VLLM_MAX_AUDIO_PREPROCESS_WORKERS is how many files are decoded at once, two"
        " at most if nothing is said",
        f"{VLLM}envs.py",
    ),
)
BACKEND = Note(
    "`audio_backend` of --media-io-kwargs is left out: it is of chat's sound, and has no effect on"
    " /v1/audio",
    f"{VLLM}multimodal/media/audio.py, `AudioMediaIO`",
)
HUNGRY = Note(
    "its encoder reserves far more than its weights: 24 GB ran out of memory, 32 GB is comfortable"
    " unquantised; 0.25.0 reserves less (PRs #47071, #47437). Where memory is truly tight:"
    " --gpu-memory-utilization above 0.9, with --enforce-eager",
    ISSUE_OOM,
)
TURBO = "RedHatAI/whisper-large-v3-turbo"


def _speech(
    name: str,
    example: str,
    *parts: Part,
    pattern: str | None = None,
    since: str | None = None,
    notes: tuple[Note, ...] = (),
    quantised: tuple[str, ...] = (),
) -> Row:
    return Row(
        name=name,
        pattern=pattern or called(name),
        example=example,
        task="transcribe",
        since=since,
        parts=parts,
        notes=(*notes, *LIMITS, BACKEND),
        quantised=quantised,
    )


WHISPER = (
    _speech(
        "Whisper large-v3, quantised",
        f"{TURBO}-FP8-dynamic",
        pattern=r"redhatai/whisper-large-v3",
        notes=(Note("quantised, for 24 GB", RED_HAT),),
    ),
    _speech(
        "Whisper large-v3-turbo",
        "openai/whisper-large-v3-turbo",
        pattern=called("whisper-large-v3-turbo"),
        notes=(HUNGRY,),
        quantised=(f"{TURBO}-FP8-dynamic", f"{TURBO}-quantized.w8a8", f"{TURBO}-quantized.w4a16"),
    ),
    _speech(
        "Whisper large-v3",
        "openai/whisper-large-v3",
        pattern=called("whisper-large-v3"),
        notes=(HUNGRY,),
        quantised=("RedHatAI/whisper-large-v3-FP8-Dynamic",),
    ),
    _speech("Whisper", "openai/whisper-base", pattern="whisper"),
)

MISTRAL = Part(
    flags=(
        *("--tokenizer-mode", "mistral", "--config-format", "mistral"),
        *("--load-format", "mistral"),
    ),
    why="its repository is in Mistral's own format",
    source="card: mistralai/Voxtral-Mini-3B-2507",
)

SPEECH: tuple[Row, ...] = (
    *WHISPER,
    _speech(
        "Voxtral",
        "mistralai/Voxtral-Mini-3B-2507",
        MISTRAL,
        pattern=r"voxtral-(mini|small)(?!-4b-realtime)",
    ),
    _speech("Qwen3-ASR", "Qwen/Qwen3-ASR-1.7B", pattern=called("qwen3-asr")),
    _speech(
        "Qwen3-Omni",
        "Qwen/Qwen3-Omni-30B-A3B-Instruct",
        pattern=called("qwen3-omni"),
        notes=(
            Note(
                "it hears and writes; sound out is vLLM-Omni's alone",
                f"{VLLM}model_executor/models/qwen3_omni_moe_thinker.py",
            ),
        ),
    ),
    _speech(
        "Kimi-Audio",
        "moonshotai/Kimi-Audio-7B-Instruct",
        remote_code("vllm-project/vllm docs/models/supported_models.md"),
        since="0.18.0",
    ),
    Row(
        name="Ultravox",
        pattern=r"ultravox",
        example="fixie-ai/ultravox-v0_5-llama-3_2-1b",
        task="chat",
        parts=(remote_code("vllm-project/vllm docs/models/supported_models.md"),),
        notes=(
            Note(
                "no release gives it /v1/audio/transcriptions; `transcribe` asks it in a chat",
                f"{VLLM}model_executor/models/ultravox.py",
            ),
        ),
    ),
    _speech(
        "Fun-ASR",
        "FunAudioLLM/Fun-ASR-Nano-2512",
        pattern=r"fun-?asr",
        since="0.18.0",
        notes=(
            Note(
                "it takes English where no language is given",
                f"{VLLM}model_executor/models/funasr.py, `validate_language`",
            ),
        ),
    ),
    _speech("GLM-ASR", "zai-org/GLM-ASR-Nano-2512", pattern=called("glm-asr")),
    _speech(
        "MOSS-Transcribe-Diarize",
        "OpenMOSS-Team/MOSS-Transcribe-Diarize",
        remote_code("OpenMOSS-Team/MOSS-Transcribe-Diarize config.json, `auto_map`"),
        Part(
            env={"VLLM_MAX_AUDIO_DECODE_DURATION_S": "5400"},
            why="it hears 90 minutes at once, and a server takes 10 if nothing is said",
            source="vLLM PR #49403",
        ),
        pattern=called("moss-transcribe-diarize"),
        since="0.25.0",
    ),
)
