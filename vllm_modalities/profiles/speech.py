"""Models that hear: clip length, languages and what they can do."""

from __future__ import annotations

from ._profile import Profile, SpeechProfile

# Those that vLLM sends on without a warning, and those it knows beside them.
_WHISPER_LANGUAGES = frozenset(
    "af ar hy az be bs bg ca zh hr cs da nl en et fi fr gl de el he hi hu is id it ja kn kk ko lv"
    " lt mk ms mr mi ne no fa pl pt ro ru sr sk sl es sw sv tl ta th tr uk ur vi cy".split()
)

WHISPER = Profile(
    name="Whisper",
    pattern=r"whisper",
    speech=SpeechProfile(
        clip=30.0,
        languages=_WHISPER_LANGUAGES,
        translates_into=("en",),
        prompt_tokens=224,
        sources={
            "clip": "source: openai/whisper audio.py, CHUNK_LENGTH",
            "languages": "source: vLLM 0.32.0 vllm/model_executor/models/whisper.py",
            "translates_into": "card: openai/whisper-base",
            "prompt_tokens": "source: openai/whisper decoding.py, n_ctx // 2",
        },
    ),
)

QWEN3_ASR = Profile(
    name="Qwen3-ASR",
    pattern=r"qwen3-asr",
    speech=SpeechProfile(
        clip=30.0,
        sources={"clip": "source: vLLM 0.32.0 vllm/model_executor/models/qwen3_asr.py"},
    ),
)


def _assuming_english(name: str, pattern: str, module: str) -> Profile:
    source = f"source: vLLM 0.32.0 vllm/model_executor/models/{module}, `validate_language`"
    facts = SpeechProfile(assumes="en", sources={"assumes": source})
    return Profile(name=name, pattern=pattern, speech=facts)


FUN_ASR = _assuming_english("Fun-ASR", r"fun-?asr", "funasr.py")
FIRE_RED_ASR = _assuming_english("FireRedASR2", r"fire-?red-?asr", "fireredasr2.py")
COHERE_ASR = _assuming_english("Cohere ASR", r"cohere.*(asr|transcribe)", "cohere_asr.py")

SPEECH_PROFILES = (WHISPER, QWEN3_ASR, FUN_ASR, FIRE_RED_ASR, COHERE_ASR)
