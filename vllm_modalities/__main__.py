"""`python -m vllm_modalities`: the command line."""

from __future__ import annotations


def main() -> None:
    """Run the command line; it needs the extra `cli`."""
    try:
        from .cli import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        raise SystemExit(
            f"the command line needs {error.name}: pip install 'vllm-modalities[cli]'"
        ) from None
    app()


if __name__ == "__main__":
    main()
