"""What Haystack's components share: their servers, and how a pipeline's file has them."""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from haystack import default_from_dict, default_to_dict
from haystack.components.converters.utils import normalize_metadata
from haystack.dataclasses import ByteStream
from haystack.utils import Secret, deserialize_secrets_inplace

from ..client import AsyncClient, Client
from ._files import File

Source: TypeAlias = str | Path | ByteStream
Meta: TypeAlias = dict[str, Any] | list[dict[str, Any]] | None

KEY = Secret.from_env_var("VLLM_API_KEY", strict=False)


class Component:
    """What every component is made with."""

    FIELDS: ClassVar[tuple[str, ...]]
    SECRETS: ClassVar[tuple[str, ...]] = ("api_key",)

    base_url: str | list[str] | None
    api_key: Secret | None

    @cached_property
    def client(self) -> Client:
        return Client(self.base_url, api_key=self._key())

    @cached_property
    def async_client(self) -> AsyncClient:
        return AsyncClient(self.base_url, api_key=self._key())

    def _key(self) -> str | None:
        return self.api_key.resolve_value() if self.api_key else None

    def _options(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.FIELDS}

    def to_dict(self) -> dict[str, Any]:
        """For a pipeline's file: the name of the key's variable, never the key."""
        secrets = {name: getattr(self, name) for name in self.SECRETS}
        written = {name: one.to_dict() if one else None for name, one in secrets.items()}
        return default_to_dict(self, base_url=self.base_url, **written, **self._options())

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Any:
        deserialize_secrets_inplace(data["init_parameters"], cls.SECRETS)
        return default_from_dict(cls, data)


def files_of(sources: list[Source], meta: Meta) -> list[File]:
    pairs = zip(sources, normalize_metadata(meta, len(sources)), strict=True)
    return [
        File(one.data, {**one.meta, **known})
        if isinstance(one, ByteStream)
        else File(one, {"file_path": str(one), **known})
        for one, known in pairs
    ]
