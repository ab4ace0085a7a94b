"""Subtitles for a video: shown as they are sure, and written beside it.

VLLM_BASE_URL=http://gpu1:8000 python video_subtitles.py VIDEO [LANGUAGE]

gpu1: vllm serve openai/whisper-large-v3-turbo
Needs the extra `media`. Killed and started again, it goes on where it was.
"""

import sys
from pathlib import Path

from vllm_modalities import Client, Segment

if len(sys.argv) < 2:
    sys.exit(__doc__)
video = Path(sys.argv[1])
language = sys.argv[2] if len(sys.argv) > 2 else None


def show(segment: Segment) -> None:
    print(f"{segment.start:8.1f} s  {segment.text}")


with Client() as client:
    speech = client.transcribe(
        video,
        language=language,
        timestamps="segment",
        journal=video.with_suffix(".journal"),
        on_segment=show,
    )

for kind in (".srt", ".vtt"):
    speech.save(video.with_suffix(kind))
video.with_suffix(".journal").unlink()
print(f"Subtitles of {speech.duration:.0f} s are in {video.with_suffix('.srt')} and .vtt.")
for warning in speech.warnings:
    print(f"Doubtful: {warning}")
