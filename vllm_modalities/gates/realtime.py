"""Rows for sessions on `/v1/realtime`, which every release from 0.16.0 on has."""

from __future__ import annotations

from ._gate import Action, Gate, Models

REALTIME = ("RealtimeRequest",)
OLD = "vllm/entrypoints/openai"

REALTIME_GATES: tuple[Gate, ...] = (
    Gate(
        code="realtime-key",
        requests=REALTIME,
        field="model",
        until="0.20.0",
        action=Action.DEFECT,
        problem="a server that was started with --api-key fails at every websocket, with a 500",
        cure="Have a gateway check keys, or upgrade to 0.20.0 or later.",
        source=f'vLLM 0.19.1 {OLD}/server_utils.py, `scope["method"]`',
    ),
    Gate(
        code="realtime-one-token",
        requests=REALTIME,
        field="model",
        models=Models("Qwen3-ASR", lambda profile: profile.name == "Qwen3-ASR"),
        until="0.20.0",
        action=Action.REFUSE,
        problem="the server writes one token for each five seconds of sound",
        cure="Use transcribe(), or upgrade to 0.20.0 or later.",
        source=f"vLLM 0.19.1 {OLD}/realtime/connection.py, `max_tokens=1`",
    ),
    Gate(
        code="realtime-left",
        requests=REALTIME,
        field="model",
        until="0.32.0",
        action=Action.DEFECT,
        problem="a session that is left before its end stays in the engine and keeps its place",
        cure="Let the blocks end, and read to the end; or upgrade to 0.32.0 or later.",
        source="vLLM 0.32.0 vllm/entrypoints/speech_to_text/realtime/connection.py, `cleanup`",
    ),
)
