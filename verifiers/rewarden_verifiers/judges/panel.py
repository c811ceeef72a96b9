"""A panel: several judges each give a verdict, and the panel combines them.

This keeps a single judge that is credulous, or that was trained on the same preferences as the policy, from deciding
alone. A member that cannot be reached or gives no verdict is missing; it never counts as a no. Unless a quorum allows
it, the panel then gives no verdict either.
"""

from __future__ import annotations

import statistics
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Literal, Protocol, TypeVar

from rewarden.errors import BudgetExhausted, InvalidParams, MissingDependency, ProviderError, SampleError
from rewarden.types import Outcome
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.outcome import undecided

MOST_MEMBERS = 15


@dataclass(frozen=True, kw_only=True)
class Panel:
    """Several judges instead of one. judges: their names in `[judges.named]`; none: no panel. combine: `majority`
    (whether more than half of the members pass the response; `tie` decides a tie), the `mean` of their scores, or
    `veto` (the lowest of their scores; it passes if all members pass it). In comparisons `majority` is a win or a loss
    if more than half of the members say so, else a tie, and a `mean` that contradicts that side is a tie. In a ranking
    of a group, `majority` is the highest score that more than half of the members give at least. quorum: the number of
    verdicts that suffices if the other members give none; null: all.
    """

    judges: tuple[str, ...] = ()
    combine: Literal["majority", "mean", "veto"] = "majority"
    quorum: int | None = None


@dataclass(frozen=True, kw_only=True)
class PanelParams(JudgeParams):
    """Options of every verifier whose verdict a panel can give.

    panel: Several judges that each give a verdict, instead of the one in `judge`.
    """

    panel: Panel = Panel()

    def __post_init__(self) -> None:
        super().__post_init__()
        judges, quorum = self.panel.judges, self.panel.quorum
        if not judges:
            if self.panel != Panel():
                raise InvalidParams("params.panel.judges must name the judges", path="params.panel.judges")
            return
        if not 2 <= len(judges) <= MOST_MEMBERS or len(set(judges)) < len(judges):
            message = f"params.panel.judges must name 2 to {MOST_MEMBERS} different judges"
            raise InvalidParams(message, path="params.panel.judges")
        if self.judge is not None:
            raise InvalidParams("params.judge and params.panel are both set", path="params.panel")
        if quorum is not None and not 1 <= quorum <= len(judges):
            message = f"params.panel.quorum must be from 1 to {len(judges)}"
            raise InvalidParams(message, path="params.panel.quorum")


class Rules(Protocol):
    """The rules that combine the verdicts of a panel's members into one."""

    def vote(self, one: Outcome) -> str:
        """A member's vote, on which the agreement of members is computed."""

    def kappa(self, heard: Sequence[Outcome]) -> float | None:
        """Fleiss' kappa over the parts of the members' verdicts; None if it is not meaningful."""

    def combined(self, heard: Sequence[Outcome], evidence: Mapping[str, Any], flags: Sequence[str]) -> Outcome:
        """The panel's outcome, from at least one verdict. All verdicts have a score."""


P = TypeVar("P", bound=PanelParams)
Heard = TypeVar("Heard")


async def seated(params: P, judged: Callable[[P], Awaitable[Outcome]], rules: Rules) -> Outcome:
    """Returns the outcome of `judged`, or of a panel in which each member judges with these parameters and its own
    name.

    Raises what `judged` raises; with a panel, only if there are fewer verdicts than the quorum.
    """
    panel = params.panel
    if not panel.judges:
        return await judged(params)
    said = await gather(*(_heard(judged(one)) for one in _seats(params)))
    return _combined(panel, dict(zip(panel.judges, said, strict=True)), rules)


async def seated_group(
    params: P, judged: Callable[[P], Awaitable[Sequence[Outcome | SampleError]]], rules: Rules, size: int
) -> Sequence[Outcome | SampleError]:
    """Returns the outcomes of a group of `size` members. With a panel, the verdicts on each sample are combined."""
    panel = params.panel
    if not panel.judges:
        return await judged(params)
    said = await gather(*(_heard(judged(one)) for one in _seats(params)))
    outcomes: list[Outcome | SampleError] = []
    for place in range(size):
        own = {
            name: one if isinstance(one, SampleError) else one[place]
            for name, one in zip(panel.judges, said, strict=True)
        }
        try:
            outcomes.append(_combined(panel, own, rules))
        except SampleError as error:
            outcomes.append(error)
    return outcomes


def _seats(params: P) -> list[P]:
    """Returns the parameters for each member."""
    return [replace(params, judge=name, panel=Panel()) for name in params.panel.judges]


def _combined(panel: Panel, said: Mapping[str, Outcome | SampleError], rules: Rules) -> Outcome:
    """Combines the members' verdicts on a sample. Raises the error of a missing member."""
    found = _one_seat_each(said)
    heard = {name: one for name, one in found.items() if isinstance(one, Outcome) and one.score is not None}
    evidence = _evidence(found, heard, rules)
    if len(heard) < (panel.quorum or len(panel.judges)):
        failed = next((one for one in found.values() if isinstance(one, SampleError)), None)
        if failed is not None:
            raise failed  # a retry may succeed; an undecided member rarely changes its mind
        lacks = [(name, one) for name, one in found.items() if isinstance(one, Outcome) and name not in heard]
        # A program criterion that cannot run is not a member's opinion: report it as without a panel.
        broken = next((one for _, one in lacks if one.fault in ("caller", "infra")), None)
        if broken is not None:
            return replace(broken, evidence={**broken.evidence, **evidence})
        name, lacking = lacks[0]
        return undecided(
            "panel_incomplete",
            feedback=f"{name} gave no verdict: {lacking.feedback or lacking.reason}",
            evidence=evidence,
            flags=_flags(one for one in found.values() if isinstance(one, Outcome)),
        )
    flags = [*_flags(heard.values()), *["panel_incomplete"] * (len(heard) < len(found))]
    return rules.combined(list(heard.values()), evidence, flags)


async def _heard(judged: Awaitable[Heard]) -> Heard | SampleError:
    """A member's verdict, or the error if it could not be reached."""
    try:
        return await judged
    except (ProviderError, BudgetExhausted, MissingDependency) as error:
        return error


def _one_seat_each(said: Mapping[str, Outcome | SampleError]) -> dict[str, Outcome | SampleError]:
    """The members' verdicts, without those by a judge that already has another seat: its own, or as the fallback of an
    earlier member. Attack: text written for one credulous judge, while strict members are down and fall back to it.
    """
    seated: set[str] = set()
    found: dict[str, Outcome | SampleError] = {}
    for name, one in said.items():
        by = _judges(one) - {name}
        twice = sorted(by & (seated | set(said)))
        seated |= by
        message = (
            f"judge {name!r} could not be reached, and its fallback {', '.join(map(repr, twice))} has another seat"
        )
        found[name] = ProviderError(message, judge=name, kind="fallback") if twice else one
    return found


def _judges(one: Outcome | SampleError) -> set[str]:
    """The names of the judges behind a verdict that needed a fallback; empty for any other."""
    if isinstance(one, SampleError) or "judge_fallback" not in one.flags:
        return set()
    return set(str(one.evidence.get("judge", "")).split(", "))


def _evidence(found: Mapping[str, Outcome | SampleError], heard: Mapping[str, Outcome], rules: Rules) -> dict[str, Any]:
    members = {name: _told(one) for name, one in found.items()}
    votes = [rules.vote(one) for one in heard.values()]
    pairs = list(combinations(votes, 2))
    agreement = sum(one == other for one, other in pairs) / len(pairs) if pairs else None
    panel = {"members": members, "agreement": agreement, "kappa": rules.kappa(list(heard.values()))}
    said = [one.evidence for one in found.values() if isinstance(one, Outcome) and "usage" in one.evidence]
    judges, models = (", ".join(sorted({str(one[name]) for one in said})) for name in ("judge", "model"))
    return {"panel": panel, "judge": judges, "model": models, "usage": _usage([one["usage"] for one in said])}


def _told(one: Outcome | SampleError) -> dict[str, Any]:
    if isinstance(one, SampleError):
        return {"status": "error", "score": None, "passed": None, "reason": one.reason}
    return {"status": one.status, "score": one.score, "passed": one.passed, "reason": one.reason}


def _usage(said: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The total usage of the members."""
    names = {name: None for one in said for name in one}
    return {
        name: any(one.get(name) for one in said) if name == "estimated" else sum(one.get(name, 0) for one in said)
        for name in names
    }


def _flags(heard: Any) -> tuple[str, ...]:
    return tuple(dict.fromkeys(flag for one in heard for flag in one.flags))


def fleiss_kappa(table: Sequence[Sequence[int]]) -> float | None:
    """The agreement beyond chance of a fixed number of raters (Fleiss 1971): one row per subject, with the number of
    raters who chose each category. None for fewer than two raters, and if all raters chose one category throughout, so
    that chance alone explains the agreement.
    """
    raters = sum(table[0]) if table else 0
    if raters < 2:
        return None
    observed = statistics.fmean((sum(n * n for n in row) - raters) / (raters * (raters - 1)) for row in table)
    shares = [sum(column) / (raters * len(table)) for column in zip(*table, strict=True)]
    chance = sum(share * share for share in shares)
    return (observed - chance) / (1 - chance) if chance < 1 else None
