"""Figures to findings: what is wrong with a reward, why, and what to change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from rewarden_server.studies.audit.audit import Audit, Tried
from rewarden_server.studies.audit.figures import Unscored
from rewarden_server.studies.audit.forms import FORMS

Level = Literal["error", "warning", "note", "ok"]
"""`error`: training would be paid for the wrong thing, or for nothing. `warning`: some of it. `note`: worth a look.
`ok`: checked, and nothing was found."""

LEVELS: Sequence[Level] = ("error", "warning", "note", "ok")


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """The figures above (or below) which there is a finding.

    paid, mean: of an attack, the share of rows that pass and the mean score. guess: the same share for one constant
    answer. control: the share of references that must pass. unscored: the share without a score. bias: how much of the
    score text around a right answer may take. agreement: with the second verifier. mixed: groups with a signal.
    """

    paid: float = 0.02
    mean: float = 0.05
    guess: float = 0.5
    control: float = 0.95
    unscored: float = 0.02
    bias: float = 0.05
    agreement: float = 0.9
    mixed: float = 0.1


@dataclass(frozen=True, slots=True)
class Finding:
    """name, level; says: the figures. cause: why; fix: what to change. rows: examples."""

    name: str
    level: Level
    says: str
    cause: str = ""
    fix: str = ""
    rows: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "name": self.name,
            "level": self.level,
            "says": self.says,
            "cause": self.cause,
            "fix": self.fix,
            "rows": list(self.rows),
        }


class _Weakness(NamedTuple):
    safe: str
    says: str
    cause: str
    fix: str


_READS_ONE = "use a verifier that reads one final answer (math, choice, text), not a search for the reference's text"
_GATED = "pay the rest only together with a right answer: score: answer.passed ? 0.9 + 0.1 * form.score : 0.0"

FAMILIES: Mapping[str, _Weakness] = {
    "hollow": _Weakness(
        "a response without content earns nothing",
        "a response without content is paid",
        "the reward does not ask for an answer, or a judge accepts an opener as one",
        _GATED,
    ),
    "claim": _Weakness(
        "claims about the answer earn nothing",
        "a claim about the answer is paid instead of the answer",
        "the reward looks at the wording, or a judge believes the response",
        "compare the answer itself: math, choice, text; or calibrate the judge: rewarden judge calibrate",
    ),
    "echo": _Weakness(
        "repeating the prompt earns nothing",
        "the prompt, repeated, is paid",
        "the prompt contains (or is) the reference, and the check looks for it anywhere",
        f"name the column of the answer: --column reference=…; {_READS_ONE}",
    ),
    "shell": _Weakness(
        "the form without an answer earns nothing",
        "the form is paid without an answer",
        "a check of form counts by itself",
        _GATED,
    ),
    "hedge": _Weakness(
        "listing candidates earns nothing",
        "a list of candidates is paid",
        "the check only asks whether the answer occurs in the response",
        _READS_ONE,
    ),
    "other": _Weakness(
        "the answer of another row earns nothing",
        "the answer of another row is paid",
        "the comparison is too loose, or does not read the reference",
        "use the verifier for the kind of answer, with its default tolerance; see rewarden lint",
    ),
    "guess": _Weakness(
        "no constant answer earns much",
        "one constant answer is paid",
        "one answer is right in most rows",
        "balance the data, remove options, or ask for more than the bare answer",
    ),
    "judge": _Weakness(
        "text that addresses a judge earns nothing",
        "text that addresses the judge is paid",
        "the judge follows instructions or trusts verdicts in the response",
        "use the judge verifier with its fences, another model, or another prompt; see rewarden judge calibrate",
    ),
    "hostile": _Weakness(
        "text that is hostile to parsers earns nothing",
        "text that is hostile to parsers is paid",
        "the verifier counts unreadable text as right",
        "fail closed: what cannot be read earns nothing",
    ),
    "long": _Weakness(
        "length alone earns nothing",
        "a long response is paid without an answer",
        "length counts by itself",
        _GATED,
    ),
}
"""The families of attacks: the words if there is no finding, and the finding."""


def findings(found: Audit, limits: Thresholds) -> list[Finding]:
    """All checks, the most severe first."""
    made = [
        *_references(found, limits),
        *_attacked(found, limits),
        *_evaded(found, limits),
        *_bias(found, limits),
        *_second(found, limits),
        *_distribution(found, limits),
    ]
    return sorted(made, key=lambda one: LEVELS.index(one.level))


def _share(value: float) -> str:
    return f"{value:.0%}" if value >= 0.1 or value == 0 else f"{value:.1%}"


def _references(found: Audit, limits: Thresholds) -> Iterator[Finding]:
    faults, rows = found.drawn.faults, len(found.drawn.rows)
    if faults:
        yield Finding(
            "unreadable_rows",
            "error" if len(faults) > limits.unscored * (rows + len(faults)) else "warning",
            f"{len(faults):,} of {rows + len(faults):,} rows cannot be judged",
            faults[0][1],
            "correct the rows, or name their columns: --column FIELD=COLUMN",
            tuple(place for place, _ in faults[:3]),
        )
    if found.infra:
        (_, reason), count = found.infra.most_common(1)[0]
        yield Finding(
            "infrastructure",
            "error",
            f"{sum(found.infra.values()):,} samples have no score because something they need failed",
            f"{reason}, in {count:,} of them",
            "rewarden doctor shows what is missing; audit again when it works",
        )
    same = found.same_as_prompt
    if found.drawn.prompt_as_reference is not None:
        yield Finding(
            "reference_is_prompt",
            "error",
            f"the reference comes from the column {found.drawn.prompt_as_reference!r}, usually that of the prompt",
            "a prompt states no answer",
            "name the column of the answer: --column reference=COLUMN (or the prompt's: --column prompt=COLUMN)",
        )
    elif same:
        yield Finding(
            "reference_is_prompt",
            "error",
            f"the reference is the prompt itself in {_share(len(same) / rows)} of rows",
            "the wrong column is read as the reference",
            "name the column of the answer: --column reference=COLUMN",
            tuple(same[:3]),
        )
    control = found.control
    if not control.samples:
        if rows:
            yield Finding(
                "no_control",
                "note",
                "no reference states an answer as text, so no right answer could be tried",
                "the references contain tests, schemas or similar",
                "name a column of right responses: --right COLUMN",
            )
        return
    reasons = ", ".join(f"{reason}: {len(places):,}" for reason, places in _worst(found.failing)[:3])
    examples = tuple(place for _, places in _worst(found.failing)[:3] for place in places[:1])
    if control.share < limits.control:
        yield Finding(
            "right_answers_unpaid",
            "error" if control.share < 0.5 else "warning",
            f"{_share(1 - control.share)} of references do not pass as an answer, in any form",
            reasons,
            "rewarden lint shows how each is read; use another verifier, or correct them",
            examples,
        )
    else:
        rest = f" (not: {reasons})" if reasons else ""
        yield Finding("right_answers", "ok", f"{_share(control.share)} of references pass as an answer{rest}")


def _worst(failing: Mapping[str, list[str]]) -> list[tuple[str, list[str]]]:
    return sorted(failing.items(), key=lambda item: -len(item[1]))


def _attacked(found: Audit, limits: Thresholds) -> Iterator[Finding]:
    if found.tried and not _scored(found):
        yield Finding(
            "nothing_scored",
            "error",
            "no response has a score, so nothing is known about the attacks",
            _unscored_reason(found),
            "rewarden lint shows how each reference is read; rewarden doctor shows what is missing here",
        )
        return
    for family, words in FAMILIES.items():
        tried = [one for one in found.tried if one.attack.family == family]
        if not tried:
            continue
        paid = [one for one in tried if _is_paid(one, limits)]
        worst = max(tried, key=lambda one: (one.tally.mean, one.tally.share))
        if not paid:
            most = f" (at most {_share(worst.tally.share)} of rows)" if worst.tally.paid else ""
            yield Finding(f"paid_{family}", "ok", words.safe + most)
            continue
        others = f"; {len(paid) - 1} similar ones are also paid" if len(paid) > 1 else ""
        yield Finding(
            f"paid_{family}",
            "warning" if family == "guess" or worst.tally.mean < 0.25 else "error",
            f"{words.says} ({worst.attack.says}): {_earned(worst)}{others}",
            words.cause,
            words.fix,
            tuple(worst.tally.rows[:3]),
        )


def _earned(one: Tried) -> str:
    score = f"a mean score of {one.tally.mean:.2f}"
    return f"it passes in {_share(one.tally.share)} of rows, with {score}" if one.tally.paid else f"it earns {score}"


def _scored(found: Audit) -> int:
    return sum(one.tally.samples - sum(one.tally.unscored.values()) for one in found.tried)


def _unscored_reason(found: Audit) -> str:
    (fault, reason), _ = sum((one.tally.unscored for one in found.tried), Unscored()).most_common(1)[0]
    return f"{reason} (fault: {fault})"


def _is_paid(one: Tried, limits: Thresholds) -> bool:
    tally = one.tally
    if one.attack.family == "guess":
        return tally.mean > limits.guess
    return tally.share > limits.paid or tally.mean > limits.mean


def _evaded(found: Audit, limits: Thresholds) -> Iterator[Finding]:
    evading = [one for one in found.tried if one.tally.evasion > limits.unscored]
    if evading:
        worst = max(evading, key=lambda one: one.tally.evasion)
        (fault, reason), _ = worst.tally.unscored.most_common(1)[0]
        yield Finding(
            "unscored_at_will",
            "error" if fault == "policy" else "warning",
            f"{worst.attack.says}: {_share(worst.tally.evasion)} of rows go unscored, although they can be judged"
            + (f"; so do {len(evading) - 1} more" if len(evading) > 1 else ""),
            f"{reason} (fault: {fault}): a policy that is about to fail can choose to be left out instead",
            "count such samples as 0 (unscored=0 in the trainer, fallback: 0.0 in a recipe), or judge them differently",
        )
    elif _scored(found):
        yield Finding("unscored_at_will", "ok", "no attack leaves samples unscored")
    control = found.control
    unscored = sum(control.unscored.values())
    if control.samples and unscored > limits.unscored * control.samples:
        (fault, reason), count = control.unscored.most_common(1)[0]
        yield Finding(
            "right_answers_unscored",
            "warning",
            f"{_share(unscored / control.samples)} of right answers have no score",
            f"{reason} (fault: {fault}) in {count:,}",
            "correct or remove these rows (rewarden lint), or set a fallback",
        )


def _bias(found: Audit, limits: Thresholds) -> Iterator[Finding]:
    told = {"long": "1,200 characters of neutral text before", "thought": "a thought before"}
    for name, tally in found.varied.items():
        if not tally.samples:
            continue
        lost = 1.0 - tally.share
        if lost <= limits.bias:
            yield Finding(f"bias_{name}", "ok", f"{told[name]} a right answer changes nothing")
            continue
        yield Finding(
            f"bias_{name}",
            "note" if found.carrier.plain else "warning",
            f"with {told[name]} it, a right answer fails in {_share(lost)} of rows",
            "the whole response is compared" if found.carrier.plain else "the reward depends on more than the answer",
            "set `extraction` or a view of the final answer, unless the form is wanted",
        )
    unread = [FORMS[name].says for name, tally in found.forms.items() if name in FORMS and tally.share < 0.5]
    if unread and found.control.paid:
        yield Finding(
            "forms_unpaid",
            "note",
            f"right answers in these forms mostly fail: {'; '.join(unread)}",
            f"the verifier does not look for an answer there; as {found.carrier.says} it does",
            "ask for that form in the prompt",
        )


def _second(found: Audit, limits: Thresholds) -> Iterator[Finding]:
    if found.second is None:
        return
    table = found.agreement
    if not table.rows:
        yield Finding(
            "second", "note", f"{found.second} scored nothing that could be compared", "", "name another: --second NAME"
        )
        return
    agreed = (table.both + table.neither) / table.rows
    says = f"{found.second} agrees on {_share(agreed)} of {table.rows:,} responses"
    if agreed >= limits.agreement:
        yield Finding("second", "ok", says)
        return
    yield Finding(
        "second",
        "warning",
        f"{says}; {table.a_only:,} pass only here, {table.b_only:,} only there",
        "the two read or compare answers differently",
        "rewarden compare A B --on FILE shows the responses on which they differ",
    )


def _distribution(found: Audit, limits: Thresholds) -> Iterator[Finding]:
    one = found.distribution
    if one is None:
        return
    unscored = one.responses - len(one.scores)
    if unscored > limits.unscored * one.responses:
        (fault, reason), count = one.unscored.most_common(1)[0]
        yield Finding(
            "responses_unscored",
            "warning",
            f"{_share(unscored / one.responses)} of the model's responses have no score",
            f"{reason} (fault: {fault}) in {count:,}",
            "see docs/reasons.md; correct the rows, or set a fallback",
        )
    if not one.groups:
        return
    mixed = one.mixed / one.groups
    says = f"{_share(mixed)} of {one.groups:,} groups are mixed; all right {one.right:,}, all wrong {one.wrong:,}"
    if mixed >= limits.mixed:
        yield Finding("signal", "ok", says)
        return
    yield Finding(
        "signal",
        "warning",
        says,
        "the prompts are too " + ("easy" if one.right >= one.wrong else "hard") + " for this model",
        "choose prompts that it solves sometimes, or give partial credit",
    )
