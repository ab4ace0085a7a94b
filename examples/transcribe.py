"""Write down what is said in a recording, as text and as subtitles.

VLLM_BASE_URL=http://gpu1:8000 python transcribe.py [RECORDING [LANGUAGE]]

gpu1: vllm serve openai/whisper-large-v3-turbo
"""

import sys
from pathlib import Path

from vllm_modalities import Client

SAMPLE = Path(__file__).parent / "assets" / "speech-en-gb.flac"

recording = Path(sys.argv[1]) if len(sys.argv) > 1 else SAMPLE
language = sys.argv[2] if len(sys.argv) > 2 else None

with Client() as client:  # the servers of $VLLM_BASE_URL
    speech = client.transcribe(recording, language=language)

subtitles = Path(recording.stem + ".srt")
subtitles.write_text(speech.to_srt(), encoding="utf-8")
print(f"{recording.name}, {speech.duration:.1f} s: {speech.text}")
print(f"Subtitles are in {subtitles}.")
for warning in speech.warnings:
    print(f"Doubtful: {warning}")
