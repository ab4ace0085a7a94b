"""The command line, `vllm-modalities`: one file a command."""

from __future__ import annotations

import typer

from .check_command import check_command
from .demo import demo
from .doctor import doctor
from .embed import embed
from .ocr import ocr
from .probe import probe
from .recipe import recipe
from .rerank import rerank, score
from .rerank_table import rerank_table
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
app.command()(embed)
app.command()(rerank)
app.command()(score)
app.command("rerank-table")(rerank_table)
app.command()(ocr)
app.command()(transcribe)
app.command()(probe)
app.command()(doctor)
app.command()(recipe)
app.command("check-command")(check_command)
