"""The command line, `vllm-modalities`: one file a command."""

from __future__ import annotations

import typer

from ._ending import STATUSES, Commands
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
    cls=Commands,
    help="Embeddings, rerank, speech-to-text and document OCR on vLLM servers.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode="markdown",
    pretty_exceptions_enable=False,
)


@app.callback()
def _main() -> None:
    """Embeddings, rerank, speech-to-text and document OCR on vLLM servers."""


for command in (
    *(demo, simulate, embed, rerank, score, rerank_table, ocr, transcribe),
    *(probe, doctor, recipe, check_command),
):
    app.command(epilog=STATUSES)(command)
