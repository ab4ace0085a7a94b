"""What a job comes to."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True)
class BulkReport:
    """What a job came to.

    Attributes:
        out: The folder with the shards, `part-00000.parquet` and so on.
        rows: Of the input.
        failed: Rows that are in no shard; `_failed.jsonl` in the folder says why.
        partial: Rows in the shards that lack a part, as `failures` in their new column says.
        found: Rows that earlier runs had settled, and this one did not send.
        seconds: That this run took.
        warnings: What was doubtful in this run, each with how often.
    """

    out: Path
    rows: int
    failed: int
    partial: int
    found: int
    seconds: float
    warnings: tuple[str, ...] = ()

    @property
    def done(self) -> int:
        """Rows that are in the shards."""
        return self.rows - self.failed

    @property
    def rows_per_second(self) -> float:
        """Rows that this run settled, in a second."""
        return (self.rows - self.found) / self.seconds if self.seconds else 0.0

    def to_dict(self) -> dict[str, Any]:
        """All of it, as JSON has it."""
        counted = {"done": self.done, "rows_per_second": round(self.rows_per_second, 1)}
        plain = {"out": str(self.out), "seconds": round(self.seconds, 3)}
        return {**asdict(self), **plain, **counted, "warnings": list(self.warnings)}
