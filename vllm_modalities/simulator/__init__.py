"""A vLLM server of any recorded release, without vLLM: it answers as that release was seen to.

with simulate(version="0.23.0", tasks=("embed",)) as server:
    client = Client(server.urls)

It needs the extra `simulator`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._app import Received
    from ._simulate import Served, Simulator, releases, simulate

__all__ = ["Received", "Served", "Simulator", "releases", "simulate"]


def __getattr__(name: str) -> Any:
    # Late, since recordings are also read where the extra is not installed.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    try:
        from . import _app, _simulate
    except ModuleNotFoundError as error:
        missing = (error.name or "").partition(".")[0]
        if missing not in ("httptools", "starlette", "uvicorn"):
            raise
        raise ImportError(
            f"simulated servers need {missing}: pip install 'vllm-modalities[simulator]'"
        ) from None
    return getattr(_app if name == "Received" else _simulate, name)
