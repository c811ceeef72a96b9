"""The usage of a calibration, summed over verdicts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.types import Verdict


@dataclass(slots=True)
class Spent:
    """Questions and tokens that judges took, and dollars where they have a price. cached: replies that were remembered,
    which cost nothing. estimated: some of the tokens are upper bounds."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False

    def add(self, verdicts: Sequence[Verdict]) -> None:
        """Count what the evidence of verdicts says; that of a recipe holds its parts' evidence."""
        for verdict in verdicts:
            for usage in _usages(verdict.evidence):
                self.calls += int(usage.get("calls", 0))
                self.cached += int(usage.get("cached", 0))
                self.prompt_tokens += int(usage.get("prompt_tokens", 0))
                self.completion_tokens += int(usage.get("completion_tokens", 0))
                self.estimated |= bool(usage.get("estimated"))
                if usage.get("cost_usd") is not None:
                    self.cost_usd = (self.cost_usd or 0.0) + float(usage["cost_usd"])

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "calls": self.calls,
            "cached": self.cached,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost_usd": self.cost_usd,
            "estimated": self.estimated,
        }


def _usages(value: Any) -> Iterator[Mapping[str, Any]]:
    """The tables `usage` of judges in some evidence, at whatever depth."""
    if isinstance(value, Mapping):
        found = value.get("usage")
        if isinstance(found, Mapping) and "calls" in found:
            yield found
            return
        for item in value.values():
            yield from _usages(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _usages(item)
