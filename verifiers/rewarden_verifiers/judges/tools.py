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
    empty: no tools. calls: maximum number of calls. tokens: limit for the tokens of all questions and replies about
    calls, after which no further call is requested. seconds: limit for the total run time of all tools. shown: maximum
    number of characters of a result shown to the judge.
    """

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
