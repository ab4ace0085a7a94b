"""Models that hear: clip length, languages and what they can do."""

from __future__ import annotations

import math
from typing import Any

from ._profile import Profile, SpeechProfile
from ._shorthand import called, cite

MODELS = "source: vLLM 0.32.0 vllm/model_executor/models/"

# Those that vLLM sends on without a warning, and those it knows beside them.
_WHISPER_LANGUAGES = frozenset(
    "af ar hy az be bs bg ca zh hr cs da nl en et fi fr gl de el he hi hu is id it ja kn kk ko lv"
    " lt mk ms mr mi ne no fa pl pt ro ru sr sk sl es sw sv tl ta th tr uk ur vi cy".split()
)


def _codes(codes: str) -> frozenset[str]:
    return frozenset(codes.split())


def _served(
    name: str,
    pattern: str,
    module: str,
    facts: str,
    *notes: str,
    places: dict[str, str] | None = None,
    **values: Any,
) -> Profile:
    """A family whose `facts` are read in vLLM's own module of it, and others at `places`."""
    sources = cite({f"{MODELS}{module}": facts} | (places or {}))
    return Profile(
        name=name, pattern=pattern, speech=SpeechProfile(**values, sources=sources), notes=notes
    )


def _whisper(
    name: str, pattern: str, *notes: str, places: dict[str, str], **values: Any
) -> Profile:
    shared = {
        "source: openai/whisper audio.py, CHUNK_LENGTH": "clip",
        "source: openai/whisper decoding.py, n_ctx // 2": "prompt_tokens",
    }
    given = {"languages": _WHISPER_LANGUAGES} | values
    return _served(
        name,
        pattern,
        "whisper.py",
        "timestamps prompt hotwords languages",
        *notes,
        places=shared | places,
        clip=30.0,
        timestamps=True,
        prompt="before",
        prompt_tokens=224,
        hotwords=False,
        **given,
    )


WHISPERS = (
    _whisper(
        "Distil-Whisper",
        r"distil[-_.](whisper|(large|medium|small)[-_.](v\d|en))",
        "It hears English alone.",
        languages=_codes("en"),
        translates_into=(),
        places={"card: distil-whisper/distil-large-v3": "languages translates_into"},
    ),
    _whisper(
        "Whisper, English",
        r"whisper[-_.](tiny|base|small|medium)[-_.]en(?![a-z0-9])",
        "vLLM up to 0.32.0 tells it a language and a task, which it was not trained with, and no"
        " text comes back.",
        languages=_codes("en"),
        translates_into=(),
        places={"card: openai/whisper-base.en": "languages translates_into"},
    ),
    _whisper(
        "Whisper turbo",
        r"whisper[-_.]large[-_.]v3[-_.]turbo|whisper[-_.]turbo",
        "It was trained without translations: asked for one, it writes what it hears.",
        translates_into=(),
        places={"card: openai/whisper-large-v3-turbo": "translates_into"},
    ),
    _whisper(
        "Whisper",
        r"whisper",
        translates_into=("en",),
        places={"card: openai/whisper-base": "translates_into"},
    ),
)

SERVED = (
    _served(
        "Voxtral",
        r"voxtral(?!.*realtime)",
        "voxtral.py",
        "languages timestamps translates_into prompt hotwords",
        "Serve it with --tokenizer-mode mistral --config-format mistral --load-format mistral.",
        clip=1800.0,
        languages=_codes("ar nl en fr de hi it pt es"),
        timestamps=False,
        translates_into=(),
        prompt="ignored",
        hotwords=False,
        places={"card: mistralai/Voxtral-Mini-3B-2507": "clip"},
    ),
    _served(
        "Voxtral Realtime",
        r"voxtral.*realtime",
        "voxtral_realtime.py",
        "realtime timestamps hotwords",
        "It writes while it listens: `realtime_transcription`.",
        timestamps=False,
        hotwords=False,
        realtime=True,
    ),
    _served(
        "Qwen3-ASR",
        r"qwen3[-_.]asr",
        "qwen3_asr.py",
        "clip timestamps prompt hotwords grammar",
        clip=30.0,
        timestamps=False,
        prompt="context",
        hotwords=False,
        grammar="asr_text",
    ),
    _served(
        "Qwen3-Omni",
        r"qwen3[-_.]omni",
        "qwen3_omni_moe_thinker.py",
        "clip languages timestamps prompt hotwords",
        clip=math.inf,
        languages=_codes("en zh ko ja de ru it fr es pt ms nl id tr vi yue ar ur"),
        timestamps=False,
        prompt="context",
        hotwords=False,
    ),
    _served(
        "Granite Speech",
        r"granite[-_.]speech|granite[-_.]\d\.\d+[-_.](\d+b[-_.])?speech",
        "granite_speech.py",
        "clip languages timestamps prompt hotwords",
        clip=30.0,
        languages=_codes("en fr de ja pt es"),
        timestamps=False,
        prompt="ignored",
        hotwords=False,
    ),
    _served(
        "Kimi-Audio",
        called("kimi-audio"),
        "kimi_audio.py",
        "clip languages timestamps translates_into prompt hotwords",
        "Serve it with --trust-remote-code. A translation is asked for in the words of a"
        " transcription, so ask for it in `prompt`.",
        clip=30.0,
        languages=_codes("zh en ja ko de fr es it pt ru ar"),
        timestamps=False,
        translates_into=(),
        prompt="context",
        hotwords=False,
    ),
    _served(
        "Fun-ASR",
        r"fun[-_.]?asr",
        "funasr.py",
        "clip timestamps translates_into prompt hotwords assumes",
        "vLLM says that it gives segments; its `verbose_json` is a 400.",
        clip=30.0,
        timestamps=False,
        translates_into=(),
        prompt="ignored",
        hotwords=True,
        assumes="en",
    ),
    _served(
        "GLM-ASR",
        called("glm-asr"),
        "glmasr.py",
        "clip timestamps prompt hotwords",
        clip=655.0,
        timestamps=False,
        prompt="ignored",
        hotwords=False,
    ),
    _served(
        "MOSS-Transcribe-Diarize",
        called("moss-transcribe-diarize"),
        "moss_transcribe_diarize.py",
        "clip timestamps translates_into prompt hotwords grammar",
        "vLLM serves it from 0.25.0 on, with --trust-remote-code.",
        clip=math.inf,
        timestamps=False,
        translates_into=(),
        prompt="replaces",
        hotwords=False,
        grammar="diarized",
    ),
    _served(
        "Cohere ASR",
        r"cohere.*(asr|transcribe)",
        "cohere_asr.py",
        "languages timestamps translates_into prompt hotwords assumes",
        clip=35.0,
        languages=_codes("en fr de es pt it nl pl el ar ko ja vi zh"),
        timestamps=False,
        translates_into=(),
        prompt="ignored",
        hotwords=False,
        assumes="en",
        places={
            "source: transformers models/cohere_asr/feature_extraction_cohere_asr.py,"
            " `max_audio_clip_s`": "clip"
        },
    ),
    _served(
        "Gemma 3n",
        called("gemma-3n"),
        "gemma3n_mm.py",
        "clip timestamps prompt hotwords",
        clip=30.0,
        timestamps=False,
        prompt="ignored",
        hotwords=False,
    ),
    _served(
        "FireRedASR2",
        r"fire[-_.]?red[-_.]?asr",
        "fireredasr2.py",
        "clip timestamps translates_into prompt hotwords assumes",
        "vLLM says that it gives segments; its `verbose_json` is a 400.",
        clip=30.0,
        timestamps=False,
        translates_into=(),
        prompt="ignored",
        hotwords=False,
        assumes="en",
    ),
)

_LISTED = f"{MODELS}registry.py, of no class that `SupportsTranscription`"

CHATTING = (
    _served(
        "Gemma 4",
        called("gemma-4"),
        "gemma4_mm.py, `audio_seq_length` of 40 ms each",
        "clip",
        "Only the small sizes have ears.",
        clip=30.0,
        chat=True,
        places={_LISTED: "chat"},
    ),
    _served(
        "Ultravox",
        called("ultravox"),
        "ultravox.py, `audio_num_chunks`",
        "clip",
        clip=math.inf,
        chat=True,
        places={_LISTED: "chat"},
    ),
    _served(
        "Qwen2-Audio",
        called("qwen2-audio"),
        "qwen2_audio.py, `truncation`",
        "clip",
        clip=30.0,
        chat=True,
        places={_LISTED: "chat"},
    ),
)

SPEECH_PROFILES = (*WHISPERS, *SERVED, *CHATTING)
