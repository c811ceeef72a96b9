"""The scores that the rows have already against ours: where the two disagree, by our reason."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from rewarden.commands.terminal import one_line

Kind = Literal["agree", "only_theirs", "only_ours", "unscored", "without"]
"""`only_theirs`: the row's score passes and ours does not; `only_ours`: the other way round; `unscored`: ours has no
score; `without`: the row has none.
"""

TITLES: Mapping[Kind, str] = {
    "only_theirs": "theirs passes, ours fails",
    "only_ours": "theirs fails, ours passes",
    "unscored": "ours has no score",
}
"""The kinds that are told, in words."""

PASSES = 0.5
"""The score from which a response passes, unless the user names another."""

NO_REASON: Mapping[Kind, str] = {"only_theirs": "no reason", "only_ours": "accepted", "unscored": "no reason"}
"""Stands for our reason if there is none."""

_MOST_CLASSES = 200
_MOST_ROWS = 5
_SHOWN_CLASSES = 6
_SHOWN_ROWS = 3


def kind_of(theirs: float | None, verdict: Mapping[str, Any], passes: float) -> Kind:
    """Returns how a row's own score compares with a verdict, in its JSON form.

    passes: the score from which the row's own passes, and ours too where its verifier has no notion of passing.
    """
    if theirs is None:
        return "without"
    if verdict["status"] != "scored":
        return "unscored"
    passed = verdict.get("passed")
    ours = passed if passed is not None else (verdict.get("score") or 0.0) >= passes
    if ours == (theirs >= passes):
        return "agree"
    return "only_ours" if ours else "only_theirs"


@dataclass(slots=True)
class Class:
    """Responses of one kind with one reason of ours. `rows` are some of them, as `FILE:LINE`."""

    kind: Kind
    reason: str | None
    count: int = 0
    rows: list[str] = field(default_factory=list)


class Baseline:
    """Counts how the scores in a column compare with ours."""

    def __init__(self, column: str, passes: float, state: Mapping[str, Any] | None = None) -> None:
        self.column = column
        self.passes = passes
        self._counts: dict[str, int] = dict(state["counts"]) if state is not None else {}
        self._classes: dict[tuple[str, str | None], Class] = {}
        for told in state["classes"] if state is not None else ():
            one = Class(**told)
            self._classes[one.kind, one.reason] = one

    def add(self, theirs: float | None, verdict: Mapping[str, Any], row: str) -> Kind:
        """Count a response, and return its kind. row: where it stands."""
        kind = kind_of(theirs, verdict, self.passes)
        self._counts[kind] = self._counts.get(kind, 0) + 1
        if theirs is not None and theirs >= self.passes:
            self._counts["passed"] = self._counts.get("passed", 0) + 1
        if kind in TITLES:
            key = (kind, verdict.get("reason"))
            if key not in self._classes and len(self._classes) >= _MOST_CLASSES:
                key = (kind, "(other)")
            one = self._classes.setdefault(key, Class(kind, key[1]))
            one.count += 1
            if len(one.rows) < _MOST_ROWS:
                one.rows.append(row)
        return kind

    def state(self) -> dict[str, Any]:
        """Returns the state, ready for JSON, from which a `Baseline` can be restored."""
        return {"counts": dict(self._counts), "classes": [asdict(one) for one in self._classes.values()]}

    @property
    def compared(self) -> int:
        """Returns how many responses have both scores."""
        return sum(self._counts.get(kind, 0) for kind in ("agree", "only_theirs", "only_ours"))

    @property
    def disagreeing(self) -> int:
        """Returns how many responses pass by one score and fail by the other."""
        return self._counts.get("only_theirs", 0) + self._counts.get("only_ours", 0)

    def classes(self) -> list[Class]:
        """Returns the classes, the largest first; those in which only our score is missing come last."""
        return sorted(self._classes.values(), key=lambda one: (one.kind == "unscored", -one.count, one.kind))

    def to_json(self) -> dict[str, Any]:
        """Returns the comparison, ready for JSON."""
        count = self._counts.get
        return {
            "column": self.column,
            "passes_from": self.passes,
            "compared": self.compared,
            "agree": count("agree", 0),
            "disagree": self.disagreeing,
            "disagree_share": self.disagreeing / self.compared if self.compared else None,
            "only_theirs": count("only_theirs", 0),
            "only_ours": count("only_ours", 0),
            "theirs_passed": count("passed", 0),
            "unscored": count("unscored", 0),
            "without": count("without", 0),
            "classes": [{**asdict(one), "share": self._share(one)} for one in self.classes()],
        }

    def _share(self, one: Class) -> float | None:
        whole = self.compared + (self._counts.get("unscored", 0) if one.kind == "unscored" else 0)
        return one.count / whole if whole else None

    def lines(self) -> list[str]:
        """Returns the comparison as text, for people."""
        share = f" ({self.disagreeing / self.compared:.1%})" if self.compared else ""
        lines = [
            f"baseline   {self.column} (passes from {self.passes:g}): {_responses(self.compared)} compared, "
            f"{self.disagreeing:,} disagree{share}"
        ]
        told = self.classes()
        width = max(map(len, TITLES.values()))
        for one in told[:_SHOWN_CLASSES]:
            rows = ", ".join(one.rows[:_SHOWN_ROWS]) + (", …" if one.count > _SHOWN_ROWS else "")
            part = self._share(one)
            share = "" if part is None else f" ({part:.1%})"
            reason = one_line(one.reason or NO_REASON[one.kind])
            lines.append(f"  {TITLES[one.kind]:<{width}}  {one.count:>7,}{share:<9} {reason}: {one_line(rows)}")
        if len(told) > _SHOWN_CLASSES:
            lines.append(f"  {len(told) - _SHOWN_CLASSES} smaller classes: see the summary's JSON or the report")
        if without := self._counts.get("without", 0):
            lines.append(f"  {_responses(without)} without a score in that column")
        return lines


def _responses(count: int) -> str:
    return "1 response" if count == 1 else f"{count:,} responses"
