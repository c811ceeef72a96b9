"""The things that skipped tests lack, and the command that gets each: the table at the end of `make test`."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Literal

import tomllib

TABLE = Path(__file__).with_name("needs.toml")


@dataclass(frozen=True)
class Need:
    """Something that tests need and a machine may lack; needs.toml explains the fields."""

    what: str
    says: tuple[str, ...]
    command: str
    ci: Literal["core", "extra", "never"]
    because: str = ""
    target: str = ""

    def explains(self, reason: str) -> bool:
        """Returns whether a test that gives this reason lacks it."""
        return any(re.search(pattern, reason) for pattern in self.says)


@lru_cache(maxsize=1)
def needs() -> tuple[Need, ...]:
    """All of needs.toml."""
    rows = tomllib.loads(TABLE.read_text(encoding="utf-8"))["need"]
    return tuple(Need(**{**row, "says": tuple(row["says"])}) for row in rows)


def need_of(reason: str) -> Need | None:
    """Returns what a skipped test lacks: the first need that explains its reason, or None."""
    return next((need for need in needs() if need.explains(reason)), None)


def table(skipped: Mapping[str, str], total: int) -> list[str]:
    """The lines that tell what was not tried, why, and the command that gets it. A skipped file counts as one."""
    if not skipped:
        return [f"All {total} tests were tried."]
    counts = Counter(_row(reason) for reason in skipped.values())
    wide = max(len(what) for what, _ in counts)
    lines = [f"Not tried here: {len(skipped)} of {total} tests.", f"  tests  {'for want of':{wide}}  how to try them"]
    lines += [f"  {count:5}  {what:{wide}}  {command}" for (what, command), count in counts.most_common()]
    return lines


def _row(reason: str) -> tuple[str, str]:
    need = need_of(reason)
    return (need.what, need.command) if need is not None else (reason, "")


def lacking_in_ci(reasons: Iterable[str]) -> list[str]:
    """Reasons that CI must not give: what its core has installed, and what needs.toml does not know."""
    return sorted({reason for reason in reasons if (need := need_of(reason)) is None or need.ci == "core"})
