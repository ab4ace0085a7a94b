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

SPEECH_PROFILES = (WHISPER,)
