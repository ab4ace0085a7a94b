"""The command line, `vllm-modalities`: one file a command."""

from __future__ import annotations

import typer

from .demo import demo
from .ocr import ocr
from .rerank import rerank, score
from .simulate import simulate
from .transcribe import transcribe

app = typer.Typer(
    name="vllm-modalities",
    help="Embeddings, rerank, speech-to-text and document OCR on vLLM servers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def _main() -> None:
    """Embeddings, rerank, speech-to-text and document OCR on vLLM servers."""


app.command()(demo)
app.command()(simulate)
app.command()(rerank)
app.command()(score)
app.command()(ocr)
app.command()(transcribe)
