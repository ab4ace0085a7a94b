"""The client as parts of other frameworks: a module for each, which needs the extra of its name."""

from __future__ import annotations


def missing(extra: str, error: ModuleNotFoundError) -> ImportError:
    """What to install, in place of which module was not found."""
    return ImportError(
        f"this module needs {error.name}: pip install 'vllm-modalities[{extra}]'", name=error.name
    )
