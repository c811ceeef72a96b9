"""Parameters of `planning`."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from rewarden_verifiers.extraction import Extracted, Ladder
from rewarden_verifiers.extraction.extracted import cluster
from rewarden_verifiers.extraction.marks import unanswered
from rewarden_verifiers.planning.findings import Credit
from rewarden_verifiers.planning.written import MAX_TEXT

_TAG = re.compile(r"<(plan)>|</plan>|\[(plan)\]|\[(?:/plan|plan end)\]", re.IGNORECASE)


def plan_tag(text: str) -> Extracted | None:
    """The last plans in `<plan>…</plan>`, `[PLAN]…[/PLAN]` or `[PLAN]…[PLAN END]` that stand together."""
    found: list[tuple[int, int, str]] = []
    start = begin = -1
    for match in _TAG.finditer(text):
        if match[1] or match[2]:
            start, begin = match.span()
        elif begin >= 0:
            inner = text[begin : match.start()].strip()
            if inner:
                found.append((start, match.end(), inner))
            begin = -1
    return None if begin >= 0 else cluster(text, found, "plan_tag")


def plan_lines(text: str) -> Extracted | None:
    """The whole response, in which the checker finds the plan; none beside a tag or box that is empty or unclosed."""
    if unanswered(text) or _TAG.search(text) is not None:
        return None
    return Extracted((text[: MAX_TEXT + 1],), "plan_lines", (0, len(text)), loose=True) if text.strip() else None


@dataclass(frozen=True, kw_only=True)
class PlanningParams:
    """Options of `planning`.

    kind: Kind of the problems, if the references do not name it: `pddl`, `trip`, `meetings` or `calendar`.
    optimal: A classical plan must have the least cost.
    credit: `full`: only a plan that meets everything earns credit. Classical plans also: `goals`, the share of the
        goals that the steps before the first wrong one reach, not counting those that hold from the start; `prefix`,
        the executable steps over the length of the longer of the plan and the reference's; `cost`, least cost over
        cost for plans that reach the goal. Other plans: `constraints`, the share of constraints that are met.
    extraction: Rules that find the plan; see docs/extraction.md. Beside the shared ones: `plan_tag` (`<plan>`,
        `[PLAN]…[PLAN END]`), and `plan_lines` (the only plan in the response, wherever it is).
    """

    kind: str | None = None
    optimal: bool = False
    credit: Credit = "full"
    extraction: str | tuple[str | dict[str, str], ...] = ("answer_tag", "plan_tag", "boxed", "plan_lines")

    def __post_init__(self) -> None:
        self.ladder  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @cached_property
    def ladder(self) -> Ladder:
        """The rules of extraction."""
        own = {"plan_tag": plan_tag, "plan_lines": plan_lines}
        return Ladder(self.extraction, own, marks=("plan_tag",), loose=("plan_lines",))
