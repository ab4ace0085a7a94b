"""Jobs over files on one machine, which survive a kill: tables and folders in, Parquet files out.

Needs the extra `bulk`.
"""

from __future__ import annotations

from ..integrations import missing

try:
    import pyarrow as pa  # noqa: F401
except ModuleNotFoundError as error:
    raise missing("bulk", error) from None

from ._embed import embed
from ._ocr import ocr
from ._report import BulkReport
from ._rerank import rerank
from ._transcribe import transcribe

__all__ = ["BulkReport", "embed", "ocr", "rerank", "transcribe"]
