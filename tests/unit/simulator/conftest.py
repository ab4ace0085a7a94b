"""The package's own pytest plugin, as if it had been loaded from its entry point."""

from vllm_modalities._pytest import pytest_configure, vllm_simulator

__all__ = ["pytest_configure", "vllm_simulator"]
