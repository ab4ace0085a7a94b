"""Rows for speech and OCR."""

from __future__ import annotations

from ._gate import ABSENT, ANY, SENT, Action, Gate, Models, above, one_of, that

SPEECH = ("TranscriptionRequest", "TranslationRequest")
OLD = "vllm/entrypoints/openai/speech_to_text/protocol.py"
TRANSLATION = "vllm/entrypoints/speech_to_text/translation/protocol.py"


def _named(name: str) -> Models:
    return Models(name, lambda profile: profile.name == name)


MEDIA_GATES: tuple[Gate, ...] = (
    Gate(
        code="audio-size",
        requests=SPEECH,
        field="file",
        reads="size",
        when=above(25 * 1024**2),
        action=Action.REFUSE,
        problem="a file of {value} bytes: the server takes at most 25 MiB a file and answers 400",
        cure="Cut the recording into pieces; if the server runs with a higher"
        ' VLLM_MAX_AUDIO_CLIP_FILESIZE_MB, pass validation="warn".',
        source="vLLM 0.16.0 vllm/envs.py; seen on 0.32.0",
    ),
    Gate(
        code="audio-duration",
        requests=SPEECH,
        field="file",
        reads="duration",
        when=above(600.0),
        since="0.24.0",
        action=Action.REFUSE,
        problem="{value} seconds of audio: the server takes at most 600 s a file and answers 400",
        cure="Cut the recording into pieces; if the server runs with a higher"
        ' VLLM_MAX_AUDIO_DECODE_DURATION_S, pass validation="warn".',
        source="vLLM 0.24.0 vllm/envs.py; seen on 0.32.0",
    ),
    Gate(
        code="transcription-xargs",
        requests=("TranscriptionRequest",),
        field="vllm_xargs",
        until="0.20.0",
        action=Action.REFUSE,
        problem="the server cannot read it from a form and answers 400",
        cure="Leave vllm_xargs out, or upgrade the server.",
        source=f"vLLM 0.20.0 {OLD}",
    ),
    *(
        Gate(
            code=f"translation-{field.replace('_', '-')}",
            requests=("TranslationRequest",),
            field=field,
            until="0.27.0",
            action=Action.REFUSE,
            problem="the server does not know the field here and drops it without a word",
            cure="Leave it out, or upgrade the server.",
            source=f"vLLM 0.27.0 {TRANSLATION}, PR #45839",
        )
        for field in (
            *("vllm_xargs", "top_p", "top_k", "min_p"),
            *("frequency_penalty", "presence_penalty", "repetition_penalty"),
        )
    ),
    Gate(
        code="speech-hotwords",
        requests=SPEECH,
        field="hotwords",
        until="0.20.0",
        action=Action.REFUSE,
        problem="the server drops the field without a word",
        cure="Put the words into `prompt`, or upgrade the server.",
        source=f"vLLM 0.20.0 {OLD}",
    ),
    Gate(
        code="speech-beam-search",
        requests=SPEECH,
        field="use_beam_search",
        when=that("true"),
        until="0.18.0",
        action=Action.REFUSE,
        problem="the server drops the field without a word and decodes greedily",
        cure="Leave it out, or upgrade the server.",
        source=f"vLLM 0.18.0 {OLD}",
    ),
    Gate(
        code="transcription-diarized",
        requests=("TranscriptionRequest",),
        field="response_format",
        when=one_of("diarized_json"),
        until="0.27.0",
        action=Action.REFUSE,
        problem="the server does not know this format and answers 400",
        cure="Upgrade the server to tell speakers apart.",
        source="vLLM 0.27.0 vllm/entrypoints/speech_to_text/transcription/protocol.py, PR #48543",
    ),
    Gate(
        code="speech-language-english",
        requests=SPEECH,
        field="language",
        when=ABSENT,
        models=_named("Whisper"),
        until="0.17.0",
        action=Action.DEFECT,
        problem="without a language the server takes the speech for English without a word",
        cure="Pass `language`.",
        source="vLLM 0.16.0 vllm/model_executor/models/whisper.py, `validate_language`",
    ),
    Gate(
        code="speech-verbose-language",
        requests=SPEECH,
        field="response_format",
        reads="is_verbose_without_language",
        when=that("'verbose_json' without a language"),
        until="0.17.0",
        action=Action.REFUSE,
        problem="verbose_json without a language is a 400",
        cure="Pass `language`.",
        source="vLLM 0.16.0 vllm/entrypoints/openai/speech_to_text/protocol.py",
    ),
    Gate(
        code="speech-long-verbose-times",
        requests=SPEECH,
        field="response_format",
        reads="is_long_verbose",
        when=that("'verbose_json' of more than 30 s of audio"),
        until="0.27.0",
        action=Action.DEFECT,
        problem="segment times after the first 30 s drift, by about half a second a chunk",
        cure="Send pieces shorter than 30 s, or upgrade to 0.27.0 or later.",
        source="vLLM issue #32588, PR #41131",
    ),
    Gate(
        code="speech-verbose-loses-text",
        requests=SPEECH,
        field="response_format",
        reads="is_verbose",
        when=that("'verbose_json'"),
        action=Action.DEFECT,
        problem="verbose_json drops the words after the last timestamp of each 30 s",
        cure='Compare with response_format="json".',
        source="vLLM issue #58029; vLLM 0.33.0 vllm/entrypoints/speech_to_text/base/serving.py",
    ),
    Gate(
        code="speech-long-glued",
        requests=SPEECH,
        field="file",
        reads="is_long",
        when=that("of more than 30 s of audio"),
        until="0.20.0",
        action=Action.DEFECT,
        problem="the texts of the 30 s chunks are joined without a blank, so words are glued",
        cure="Send pieces shorter than 30 s, or upgrade to 0.20.0 or later.",
        source="vLLM PR #39116",
    ),
    Gate(
        code="speech-whisper-prompt",
        requests=SPEECH,
        field="prompt",
        when=SENT,
        models=_named("Whisper"),
        action=Action.DEFECT,
        problem="the server writes `<|prev|>`, which is no token of Whisper's, in front of the"
        " prompt, so small models repeat the prompt or loop",
        cure="Leave the prompt out unless you have seen it help.",
        source="vLLM 0.16.0 and 0.32.0 vllm/model_executor/models/whisper.py; seen on 0.32.0",
    ),
    Gate(
        code="ocr-gibberish",
        requests=("OCRRequest",),
        field="model",
        when=ANY,
        models=_named("DeepSeek-OCR"),
        since="0.19.0",
        until="0.19.1",
        action=Action.DEFECT,
        problem="this release reads small images as gibberish",
        cure="Upgrade, or go back to 0.18.",
        source="vLLM issue #39919",
    ),
    Gate(
        code="ocr-repetition-detection",
        requests=("OCRRequest",),
        field="repetition_detection",
        until="0.17.0",
        action=Action.REFUSE,
        problem="the server drops the field without a word, and loops run to the end",
        cure="Leave it out and set max_tokens, or upgrade the server.",
        source="vLLM 0.17.0 vllm/sampling_params.py",
    ),
    Gate(
        code="ocr-pixels",
        requests=("OCRRequest",),
        field="messages",
        reads="pixels",
        when=above(178_956_970),
        since="0.25.0",
        action=Action.REFUSE,
        problem="{value} pixels: the server takes at most 178,956,970 an image, and from 0.33.0"
        " over all images of a request, and answers 400",
        cure="Scale the image down.",
        source="vLLM 0.25.0 vllm/envs.py, VLLM_MAX_IMAGE_PIXELS; 0.33.0,"
        " VLLM_MAX_MEDIA_REQUEST_DECODE_BYTES",
    ),
)
