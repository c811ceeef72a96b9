"""The tools that a judge may call before its verdict, with their limits, as set by a request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden.errors import InvalidParams

Tool = Literal["search", "calculator", "python"]


@dataclass(frozen=True, kw_only=True)
class Tools:
    """Tools that the judge may call before its verdict, through its server's function calling. use: `search` (in the
    sample's `metadata.documents`: texts, or objects of `title` and `text`), `calculator`, `python` (in the sandbox);
    none: it may call nothing. calls: how many at most. tokens: those of all questions and replies about calls, from
    which on no further call is asked for. seconds: of all tools' work together. shown: characters of a result that the
    judge is shown."""

    use: tuple[Tool, ...] = ()
    calls: int = 8
    tokens: int = 50_000
    seconds: float = 60.0
    shown: int = 4000

    def check(self, path: str) -> None:
        """Raises InvalidParams for invalid limits, and for a duplicate tool."""
        if len(set(self.use)) != len(self.use):
            raise InvalidParams(f"{path}.use names a tool twice", path=f"{path}.use")
        for name, low, high in (
            ("calls", 1, 64),
            ("tokens", 1, 10**8),
            ("seconds", 0.001, 3600),
            ("shown", 100, 10**5),
        ):
            value = getattr(self, name)
            if not low <= value <= high:
                raise InvalidParams(f"{path}.{name} must be from {low} to {high}, not {value}", path=f"{path}.{name}")
