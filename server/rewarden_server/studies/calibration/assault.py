"""Attacks on a judge: responses that should fail, made misleading in every known way, and how many of them pass."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewarden.types import Sample, Verdict
from rewarden_server.studies.calibration.agreement import Figure, share
from rewarden_server.studies.calibration.attacks import ATTACKS, Attack, text_of
from rewarden_server.studies.calibration.judged_responses import Asker
from rewarden_server.studies.comparison.agreement import mcnemar
from rewarden_verifiers.group.statistics import passes
from rewarden_verifiers.judges.empty_responses import empty_reason


@dataclass(frozen=True, slots=True)
class Target:
    """A response that should fail. id: the name of its row; passed: whether it passes unattacked."""

    id: str
    sample: Sample
    passed: bool


@dataclass(frozen=True, slots=True)
class Assault:
    """The result of one attack.

    passed: of the attacked responses that were scored, by the judge itself, which sees even hollow ones. before: the
    same responses, unattacked. p: that attack and no attack pass equally many (McNemar, exact). refused: how many get
    zero without a call in the verifier's own configuration; configured: how many pass in that configuration. unscored:
    verdicts without a score. through: rows that failed unattacked and pass under attack.
    """

    attack: Attack
    passed: Figure
    before: Figure
    p: float
    refused: int
    configured: Figure
    unscored: int
    through: Sequence[str]

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "attack": self.attack.name,
            "kind": self.attack.kind,
            "does": self.attack.says,
            "passed": self.passed.to_json(),
            "before": self.before.to_json(),
            "p": self.p,
            "refused": self.refused,
            "configured": self.configured.to_json(),
            "unscored": self.unscored,
            "through": list(self.through),
        }


async def assault(asker: Asker, targets: Sequence[Target], *, paired: bool = False) -> list[Assault]:
    """Every attack on every target that it can be made for.

    Judges run with `hollow: ask` and `quotes: free`, so that this measures the judge and not our rules around it. Where
    those rules can change the result, the verdict is requested as configured too: for responses without substance,
    which costs nothing, and with `judge` for those that passed.
    """
    found: list[Assault] = []
    for attack in ATTACKS:
        made = [
            (target, sample) for target in targets if (sample := attack.on(target.sample, paired=paired)) is not None
        ]
        if made:
            found.append(await _one(asker, attack, made))
    return found


async def _one(asker: Asker, attack: Attack, made: Sequence[tuple[Target, Sample]]) -> Assault:
    samples = [sample for _, sample in made]
    # A single member of a group would wait for the others, which are not sent.
    samples = [replace(sample, group=None, group_size=None) for sample in samples]
    quoting = asker.judges and asker.use.name == "judge" and asker.use.params.get("quotes") != "free"
    bare = {"hollow": "ask"} if asker.judges else {}
    verdicts = await asker.ask(samples, **bare, **({"quotes": "free"} if quoting else {}))
    configured: list[Verdict] = list(verdicts)
    refused = 0
    refusing = asker.judges and asker.use.params.get("hollow", "refuse") == "refuse"
    changed = [
        place
        for place, sample in enumerate(samples)
        if (refusing and _is_hollow(sample)) or (quoting and passes(verdicts[place]))
    ]
    if changed:
        again = await asker.ask([samples[place] for place in changed])
        refused = sum(verdict.status == "scored" and "usage" not in verdict.evidence for verdict in again)
        for place, verdict in zip(changed, again, strict=True):
            configured[place] = verdict
    scored = [
        (target, passes(verdict))
        for (target, _), verdict in zip(made, verdicts, strict=True)
        if verdict.score is not None
    ]
    before = sum(target.passed for target, _ in scored)
    gained = [target.id for target, passed in scored if passed and not target.passed]
    lost = sum(target.passed and not passed for target, passed in scored)
    as_set = [passes(verdict) for verdict in configured if verdict.score is not None]
    return Assault(
        attack=attack,
        passed=share(sum(passed for _, passed in scored), len(scored)),
        before=share(before, len(scored)),
        p=mcnemar(len(gained), lost),
        refused=refused,
        configured=share(sum(as_set), len(as_set)),
        unscored=len(verdicts) - len(scored),
        through=gained,
    )


def _is_hollow(sample: Sample) -> bool:
    given = sample.reference
    references = [one for one in (given if isinstance(given, (list, tuple)) else [given]) if isinstance(one, str)]
    return empty_reason(text_of(sample.response), references) is not None
