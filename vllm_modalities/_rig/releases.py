"""Which releases of vLLM the rig serves, and which of them share an environment."""

from __future__ import annotations

from collections.abc import Mapping

from packaging.version import Version

RELEASE = "0.32.0"

BASES: Mapping[str, str] = {
    **dict.fromkeys(("0.20.2", "0.21.0", "0.22.1", "0.23.0", "0.24.0", "0.25.1"), "0.26.0"),
    **dict.fromkeys(("0.27.1", "0.28.0", "0.29.0", "0.30.0", "0.31.0"), "0.32.0"),
}
"""The release in whose environment another one runs: the newest that wants the same torch.

A release's kernels load beside no other torch than that of its own METADATA: 2.11.0 up to 0.26.0,
2.13.0 from 0.27.0 on. Its other requirements differ little, and the newer ones serve it.
"""

ALSO: Mapping[str, tuple[str, ...]] = {"0.26.0": ("diskcache", "gguf")}
"""What the older releases of an environment import beside the requirements of its own."""

RELEASES = sorted({*BASES, *BASES.values()}, key=Version)
"""The last patch of every minor release since 0.20, oldest first."""
