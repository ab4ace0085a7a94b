"""How well texts fit each other, pair by pair: `POST /v1/score`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import ClassVar

from ..errors import Finding
from ..server import ServerInfo
from ._ranking import Item, RankingFields


class ScoreRequest(RankingFields):
    """Body of `POST /v1/score`.

    Source: vLLM 0.32.0 vllm/entrypoints/pooling/scoring/protocol.py,
    `ScoreQueriesDocumentsRequest`.
    """

    TASK: ClassVar[str] = "score"
    MAPPED_AS: ClassVar[tuple[str, ...]] = ("rerank",)
    PATHS: ClassVar[tuple[str, ...]] = ("/v1/score", "/score")

    queries: Item | tuple[Item, ...]
    documents: Item | tuple[Item, ...]

    def texts(self) -> Iterable[str]:
        for side in (self.queries, self.documents):
            items = side if isinstance(side, tuple) else (side,)
            yield from (item for item in items if isinstance(item, str))

    def limits(self, server: ServerInfo) -> Iterable[Finding]:
        """The pairings that the server makes: 1 to 1, 1 to n, n to n."""
        yield from super().limits(server)
        counts = [
            len(side) if isinstance(side, tuple) else 1 for side in (self.queries, self.documents)
        ]
        if 0 in counts or (counts[0] not in (1, counts[1])):
            yield Finding(
                code="score-pairs",
                severity="error",
                field="queries",
                message=f"{counts[0]} queries and {counts[1]} documents cannot be paired; send one"
                " query and any number of documents, or as many of each",
                source="vLLM 0.16.0 vllm/entrypoints/pooling/score; seen on 0.32.0",
            )
