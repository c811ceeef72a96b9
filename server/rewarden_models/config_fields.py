"""The fields of config.json that the description of an architecture needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rewarden_models.failure import Failure

_LARGEST = 1 << 20
"""The widest layer that a configuration may ask for."""


@dataclass(frozen=True, slots=True)
class ConfigFields:
    """The fields of one config.json. where: its location, for messages; name: of the architecture that needs them."""

    config: Mapping[str, Any]
    where: str
    name: str

    def whole(self, key: str, default: int | None = None) -> int:
        """A width. Raises Failure if it is not a whole number in range."""
        found = self.config.get(key, default)
        if not isinstance(found, int) or isinstance(found, bool) or not 0 < found <= _LARGEST:
            needs = f"{self.name or 'the head'} needs {key} in config.json, a whole number"
            raise Failure("loading", f"{self.where}: {needs}")
        return found

    def number(self, key: str, default: float) -> float:
        """A positive number. Raises Failure for anything else."""
        found = self.config.get(key, default)
        if not isinstance(found, (int, float)) or isinstance(found, bool) or not 0 < found < float("inf"):
            raise Failure("loading", f"{self.where}: {self.name} needs {key} in config.json to be a positive number")
        return float(found)

    @property
    def hidden(self) -> int:
        """The width of the body."""
        return self.whole("hidden_size")

    def labels(self, default: tuple[str, ...]) -> tuple[str, ...]:
        """The labels in config.json if there is one for each output and they are more than numbers, otherwise the
        default."""
        told = self.config.get("id2label")
        named = [str(told[key]) for key in sorted(told, key=str)] if isinstance(told, Mapping) else []
        if len(named) != len(default) or any(label.startswith("LABEL_") for label in named):
            return default
        return tuple(named)
