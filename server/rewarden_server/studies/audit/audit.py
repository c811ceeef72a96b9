"""The audit: the control first, then everything that ought to earn nothing, and the figures of both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.types import Sample, Use, Verdict
from rewarden_server.studies.audit.asking import Asking, Cost
from rewarden_server.studies.audit.attacks import Attack, Known, attacks
from rewarden_server.studies.audit.figures import Distribution, Tally, Unscored, unscored_json, unscored_of
from rewarden_server.studies.audit.forms import FORMS, Form
from rewarden_server.studies.audit.sampled import Drawn, Row
from rewarden_server.studies.calibration.attacks import padded
from rewarden_server.studies.comparison.comparison import Table
from rewarden_verifiers.group.statistics import passes

SECOND: Mapping[str, str] = {"math": "math_verify", "choice": "answer", "number": "answer", "label": "answer"}
"""The verifier that judges beside another one, where nobody names one."""

_LONG = padded("").replace("\n\n\n\n", " ")
_SAMPLES_A_ROW = 80


@dataclass(frozen=True, slots=True)
class Tried:
    """An attack, and the result of it."""

    attack: Attack
    tally: Tally

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        attack = self.attack
        return {"attack": attack.name, "family": attack.family, "does": attack.says, **self.tally.to_json()}


@dataclass(slots=True)
class Audit:
    """All figures of an audit.

    control: the right answers, each in its best form; failing: the rows whose reference does not pass in any, by
    reason; unstated: rows whose reference states no answer as text. forms: the right answers by form. carrier: the form
    that pays most of them. varied: right answers of rows that pass, with text before them or in a thought. second: who
    else judged, with the agreement.
    """

    drawn: Drawn
    uses: Sequence[str]
    control: Tally = field(default_factory=Tally)
    failing: dict[str, list[str]] = field(default_factory=dict)
    unstated: int = 0
    same_as_prompt: list[str] = field(default_factory=list)
    forms: dict[str, Tally] = field(default_factory=dict)
    carrier: Form = FORMS["boxed"]
    varied: dict[str, Tally] = field(default_factory=dict)
    tried: list[Tried] = field(default_factory=list)
    infra: Unscored = field(default_factory=Unscored)
    second: str | None = None
    agreement: Table = field(default_factory=Table)
    cost: Cost = field(default_factory=Cost)
    distribution: Distribution | None = None
    verdicts: int = 0

    def farmability(self, source: str | None = None) -> tuple[float, str]:
        """The best mean score of a policy that never answers, and by which attack; of one data source, or of all."""
        best = (0.0, "-")
        for one in self.tried:
            count, earned = (one.tally.samples, one.tally.earned)
            if source is not None:
                count, earned = one.tally.sources.get(source, (0, 0.0))
            # An attack that can be made of few rows earns nothing on the others.
            rows = sum(row.source == source for row in self.drawn.rows) if source is not None else len(self.drawn.rows)
            if count and earned / rows > best[0]:
                best = (earned / rows, one.attack.name)
        return best

    def to_json(self) -> dict[str, Any]:
        """JSON-ready; the findings are added by who draws them."""
        sources = sorted({row.source for row in self.drawn.rows})
        figure = self.farmability()
        return {
            "uses": list(self.uses),
            "rows": len(self.drawn.rows),
            "rows_in_files": self.drawn.total,
            "unreadable": [{"row": place, "problem": problem} for place, problem in self.drawn.faults],
            "verdicts": self.verdicts,
            "farmability": {
                "score": figure[0],
                "attack": figure[1],
                "by_data_source": {
                    source: dict(zip(("score", "attack"), self.farmability(source), strict=True)) for source in sources
                },
            },
            "control": {**self.control.to_json(), "failing": self.failing, "unstated": self.unstated},
            "carrier": self.carrier.name,
            "forms": {name: tally.to_json() for name, tally in self.forms.items()},
            "varied": {name: tally.to_json() for name, tally in self.varied.items()},
            "attacks": [one.to_json() for one in self.tried],
            "second": None if self.second is None else {"use": self.second, **self.agreement.to_json()},
            "per_million": self.cost.to_json(),
            "infra": unscored_json(self.infra),
            "responses": None if self.distribution is None else self.distribution.to_json(),
        }


def expected(drawn: Drawn, others: Drawn | None) -> int:
    """About how many verdicts an audit will request."""
    responses = sum(len(row.responses) for one in (drawn, others) if one is not None for row in one.rows)
    return len(drawn.rows) * _SAMPLES_A_ROW + 2 * responses


async def audit(
    drawn: Drawn,
    asking: Asking,
    *,
    seed: str,
    second: Use | None = None,
    usual: bool = True,
    others: Drawn | None = None,
) -> Audit:
    """All of it. second: the other verifier; None: the usual one beside the use, if there is one and it is wanted.
    others: where the responses of a model stand, if not in the rows. Raises RequestError."""
    uses = list(dict.fromkeys(_name(row.sample.use) for row in drawn.rows if row.sample.use is not None))
    found = Audit(drawn, uses)
    best = await _control(found, asking)
    verdicts = await _attack(found, asking, Known.of(drawn.rows, found.carrier, seed), best)
    await _vary(found, asking, best)
    responses = await _responses(found, asking, others or drawn)
    names = {row.sample.use.name for row in drawn.rows if row.sample.use is not None}
    known = SECOND.get(next(iter(names)) or "") if usual and len(names) == 1 else None
    if second is None and known is not None:
        second = Use(name=known)
    if second is not None:
        found.second = _name(second)
        await _agree(found, asking, second, [*_carried(found, best), *verdicts, *responses])
    found.verdicts = asking.done
    return found


def _name(use: Use) -> str:
    return use.name or str((use.recipe or {}).get("name", "a recipe"))


def _answered(row: Row, response: str) -> Sample:
    return replace(row.sample, response=response)


Judged = tuple[Sample, Verdict]
"""A sample with its verdict."""


async def _control(found: Audit, asking: Asking) -> dict[str, dict[str, Verdict]]:
    """Judges right answers; returns, by row and form, the verdicts."""
    written: list[tuple[Row, str, str]] = []
    for row in found.drawn.rows:
        if row.reference:
            written += [(row, form.name, form.write(row.reference, "")) for form in FORMS.values()]
        if row.whole and row.whole != row.reference:
            written.append((row, "whole", row.whole))
        if row.right is not None:
            written.append((row, "right", row.right))
        if row.reference and row.prompt and row.reference.strip() == row.prompt.strip():
            found.same_as_prompt.append(row.place)
    verdicts, found.cost = await asking.timed([_answered(row, text) for row, _, text in written])
    by_row: dict[str, dict[str, Verdict]] = {}
    for (row, form, _), verdict in zip(written, verdicts, strict=True):
        by_row.setdefault(row.place, {})[form] = verdict
        found.forms.setdefault(form, Tally()).add(row, verdict)
    found.infra += _infra(verdicts)
    paid = {name: found.forms[name].paid for name in FORMS if name in found.forms}
    if paid:
        found.carrier = FORMS[max(paid, key=paid.__getitem__)]  # the first of equal ones
    for row in found.drawn.rows:
        forms = by_row.get(row.place)
        if forms is None:
            found.unstated += 1
            continue
        best = next((one for one in forms.values() if passes(one)), forms.get(found.carrier.name))
        best = best or next(iter(forms.values()))
        found.control.add(row, best)
        if not passes(best):
            found.failing.setdefault(_said(best), []).append(row.place)
    return by_row


def _said(verdict: Verdict) -> str:
    reason = verdict.reason or "no reason given"
    return reason if verdict.score is not None else f"{verdict.status}: {reason} (fault: {verdict.fault or 'unknown'})"


def _infra(verdicts: Sequence[Verdict]) -> Unscored:
    return unscored_of([one for one in verdicts if one.fault == "infra"])


async def _attack(
    found: Audit, asking: Asking, known: Known, control: Mapping[str, Mapping[str, Verdict]]
) -> list[Judged]:
    """Judges the attacks; returns the answers of other rows, on which a second verifier may differ."""
    made = [
        (attack, row, text)
        for attack in attacks(known)
        for row in found.drawn.rows
        if (text := attack.make(row)) is not None
    ]
    samples = [_answered(row, text) for _, row, text in made]
    if found.cost.asked:
        verdicts = await asking.ask(samples)
    else:
        verdicts, found.cost = await asking.timed(samples)
    judgeable = {row for row, forms in control.items() if any(one.score is not None for one in forms.values())}
    judgeable |= {row.place for (_, row, _), one in zip(made, verdicts, strict=True) if one.score is not None}
    tallies: dict[str, Tried] = {}
    kept: list[Judged] = []
    for (attack, row, _), sample, verdict in zip(made, samples, verdicts, strict=True):
        tried = tallies.setdefault(attack.name, Tried(attack, Tally()))
        tried.tally.add(row, verdict, judgeable=row.place in judgeable)
        if attack.name == "other_answer":
            kept.append((sample, verdict))
    found.tried = list(tallies.values())
    found.infra += _infra(verdicts)
    return kept


async def _vary(found: Audit, asking: Asking, control: Mapping[str, Mapping[str, Verdict]]) -> None:
    """Judges right answers that pass once more, with text around them that changes nothing."""
    form = found.carrier
    rows = [
        row
        for row in found.drawn.rows
        if (one := control.get(row.place, {}).get(form.name)) is not None and passes(one)
    ]
    ways = {"long": [form.write(row.reference or "", _LONG) for row in rows]}
    if not form.name.startswith("think"):
        ways["thought"] = [f"<think>\n{_LONG}\n</think>\n{form.write(row.reference or '', '')}" for row in rows]
    for name, texts in ways.items():
        tally = found.varied.setdefault(name, Tally())
        verdicts = await asking.ask([_answered(row, text) for row, text in zip(rows, texts, strict=True)])
        for row, verdict in zip(rows, verdicts, strict=True):
            tally.add(row, verdict)


async def _responses(found: Audit, asking: Asking, drawn: Drawn) -> list[Judged]:
    """Judges the responses of a model, if there are some."""
    rows = [row for row in drawn.rows if row.responses]
    if not rows:
        return []
    samples = [sample for row in rows for sample in row.responses]
    verdicts = await asking.ask(samples)
    found.distribution = Distribution()
    place = 0
    for row in rows:
        found.distribution.add(verdicts[place : place + len(row.responses)])
        place += len(row.responses)
    return list(zip(samples, verdicts, strict=True))


def _carried(found: Audit, control: Mapping[str, Mapping[str, Verdict]]) -> list[Judged]:
    return [
        (_answered(row, found.carrier.write(row.reference or "", "")), one)
        for row in found.drawn.rows
        if (one := control.get(row.place, {}).get(found.carrier.name)) is not None
    ]


async def _agree(found: Audit, asking: Asking, second: Use, judged: Sequence[Judged]) -> None:
    verdicts = await asking.ask([replace(sample, use=second) for sample, _ in judged])
    for (_, first), other in zip(judged, verdicts, strict=True):
        if first.score is not None and other.score is not None:
            found.agreement.add(passes(first), passes(other))
