"""A row of data, checked: what came of its solutions and of the programs that ought to fail."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from rewarden_server.studies.lint.findings import Finding


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """The resources that a solution took. cpu_s: of its slowest test. seconds: from the request to the verdict, without
    the wait. cpu_share, memory_share: of the limit, in the test that came nearest to it; None: not measured."""

    cpu_s: float | None = None
    seconds: float | None = None
    cpu_share: float | None = None
    memory_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A row. row: its place in the whole input, from 0. use: the verifier. solutions, passed: how many are stored and
    were judged, and how many of them pass. runs: of each. wrong, wrong_passed: how many programs that are stored as
    wrong ones were judged, and how many of them pass. mutants: how many were judged; survivors: those that pass, in
    words."""

    file: str
    line: int
    row: int
    source: str | None = None
    use: str | None = None
    solutions: int = 0
    passed: int = 0
    runs: int = 0
    measured: Measured = Measured()
    wrong: int = 0
    wrong_passed: int = 0
    mutants: int = 0
    survivors: tuple[str, ...] = ()
    findings: tuple[Finding, ...] = ()

    @property
    def good(self) -> bool:
        """Returns whether nothing speaks against training on the row."""
        return not any(one.kind == "error" for one in self.findings)

    @property
    def place(self) -> str:
        """Returns the file and the line."""
        return f"{self.file}:{self.line}"

    def having(self, *findings: Finding, **changes: Any) -> Checked:
        """Returns the row with further findings and other figures."""
        return replace(self, findings=(*self.findings, *findings), **changes)

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {**asdict(self), "good": self.good}

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Checked:
        """Reads what `to_json` wrote."""
        given = {name: item for name, item in value.items() if name != "good"}
        return cls(
            **{
                **given,
                "measured": Measured(**value["measured"]),
                "survivors": tuple(value["survivors"]),
                "findings": tuple(Finding(**one) for one in value["findings"]),
            }
        )
