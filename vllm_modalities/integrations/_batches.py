"""What Ray Data's batches have in common: one client a process, and rows that fail alone."""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

import pyarrow as pa

from .._context import Transport
from .._fleet import BaseURL
from .._many import Failure, is_shared
from .._secrets import APIKey
from ..client import Client
from ..errors import BadRequestError, InvalidRequestError, MediaError, VLLMModalitiesError
from ..gates import Validation
from ..profiles import Profile
from ._blocks import extended, values

if TYPE_CHECKING:
    from ._blocks import Batch

SUBJECTS = {"inputs", "query", "documents"}  # fields of a request that a row fills

_clients: list[tuple[dict[str, Any], Client]] = []
_lock = threading.Lock()


@dataclass(frozen=True, kw_only=True)
class OfServers:
    """What a client is made with, in the process that works on the batches.

    Without slots, as all below: Ray derives from such a class, and sets attributes of its own.
    """

    base_url: BaseURL | None = field(default=None, repr=False)
    api_key: APIKey = field(default=None, repr=False)
    model: str | None = None
    server_version: str | None = None
    validation: Validation = "error"
    timeout: float = 600.0
    deadline: float | None = None
    max_retries: int = 2
    max_concurrency: int = 16
    transport: Transport = "auto"
    profiles: Sequence[Profile] = ()
    headers: Mapping[str, str] | None = field(default=None, repr=False)

    @property
    def client(self) -> Client:
        """This process's: made when it is first wanted, and shared by all that want the same."""
        wanted = {one.name: getattr(self, one.name) for one in fields(OfServers)}
        with _lock:
            for known, client in _clients:
                if known == wanted:
                    return client
            client = Client(**wanted)
            _clients.append((wanted, client))
            return client


@dataclass(frozen=True, kw_only=True)
class OfRows(OfServers):
    """Which failures are a row's own, and where they are told."""

    on_error: Literal["return", "raise"] = "return"
    prefix: str = ""

    def noted(self, error: VLLMModalitiesError) -> VLLMModalitiesError:
        """The failure of a row.

        Raises:
            VLLMModalitiesError: It is none that other rows would be spared.
        """
        is_own = isinstance(error, InvalidRequestError) and SUBJECTS.issuperset(
            finding.field for finding in error.findings
        )
        if self.on_error == "raise" or (is_shared(error) and not is_own):
            raise error
        return error

    def settled(self, lost: Sequence[VLLMModalitiesError | None]) -> None:
        """Raise the first error if there is one a row, and none is by the row's own fault."""
        own = (BadRequestError, InvalidRequestError, MediaError, type(None))
        if lost and lost[0] is not None and not any(isinstance(error, own) for error in lost):
            raise lost[0]

    def told(
        self,
        batch: Batch,
        columns: Mapping[str, pa.Array],
        warnings: Sequence[Sequence[str]],
        errors: Sequence[VLLMModalitiesError | None],
    ) -> Batch:
        """The batch with what was found, what was doubtful, and why rows failed."""
        doubts = ["; ".join(some) or None for some in warnings]
        reasons = [error and f"{type(error).__name__}: {error}" for error in errors]
        more = {"warnings": pa.array(doubts, pa.string()), "error": pa.array(reasons, pa.string())}
        named = {f"{self.prefix}{name}": column for name, column in {**columns, **more}.items()}
        return extended(batch, named)


class Result(Protocol):
    """What the client gives for a row."""

    @property
    def warnings(self) -> tuple[str, ...]: ...
    @property
    def failures(self) -> tuple[Failure, ...]: ...


@dataclass(frozen=True, kw_only=True)
class EachRow(OfRows, ABC):
    """A call a row, side by side."""

    TYPES: ClassVar[Mapping[str, pa.DataType]]

    @abstractmethod
    def _subjects(self) -> Sequence[str]:
        """The columns that are asked about."""

    @abstractmethod
    def _asked(self, *subjects: Any) -> tuple[Result, dict[str, Any]]:
        """What the client says of a row, and the values of the new columns."""

    def __call__(self, batch: Batch) -> Batch:
        rows = zip(*(values(batch, name) for name in self._subjects()), strict=True)
        with ThreadPoolExecutor(self.max_concurrency) as pool:
            outcomes = list(pool.map(self._outcome, rows))
        self.settled([None if found else error for found, _, error in outcomes])
        columns = {
            name: pa.array([found.get(name) for found, _, _ in outcomes], kind)
            for name, kind in self.TYPES.items()
        }
        warnings = [said for _, said, _ in outcomes]
        return self.told(batch, columns, warnings, [error for _, _, error in outcomes])

    def _outcome(
        self, row: tuple[Any, ...]
    ) -> tuple[dict[str, Any], tuple[str, ...], VLLMModalitiesError | None]:
        try:
            result, found = self._asked(*row)
        except VLLMModalitiesError as error:
            return {}, (), self.noted(error)
        first = next((error for _, error in result.failures), None)
        return found, result.warnings, first
