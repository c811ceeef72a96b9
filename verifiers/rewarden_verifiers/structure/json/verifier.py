"""`json`: whether a response is the JSON that was asked for, in form and in content."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.contract import Watch, verifier
from rewarden_verifiers.outcome import no_answer, right, scored, too_expensive, wrong
from rewarden_verifiers.structure.json.comparing import TooExpensive
from rewarden_verifiers.structure.json.expected import Content
from rewarden_verifiers.structure.json.locate import Hedged, Located
from rewarden_verifiers.structure.json.reading import LEVELS, Expected, JsonParams
from rewarden_verifiers.structure.json.sameness import JsonEquivalence
from rewarden_verifiers.structure.json.strict import Malformed

_SHOWN = 4000
"""Characters of the JSON that an outcome shows as a value; of a longer one it shows the beginning."""
_FAULTS = 5


@verifier(version="2", graded=True, equivalence=JsonEquivalence)
def json(response: str, params: JsonParams, watch: Watch, reference: Any = None) -> Outcome:
    """The response is the JSON asked for: strictly well formed, valid for a JSON Schema, equal to an expected value.

    **Where it stands** is a matter of `extraction`; several values that differ are a hedge and earn nothing
    (`hedged`), and so does a response without any (`no_answer`).

    **Strict reading.** What two readers could take for different things earns nothing and says why: `duplicate_key`,
    `not_a_number` (NaN, Infinity), `huge_number` (beyond 1.8e308, or over 300 digits), `lone_surrogate`, `too_deep`
    (over 64 levels), `trailing_text`, `unclosed_fence`, `malformed` (any other text that is no JSON);
    a text of over a million characters or 50,000 values is `too_expensive`. All bear the flag `malformed`.

    **Schema.** Drafts 4 to 2020-12. References reach only into the schema itself and into the given `schemas`; nothing
    is fetched. A schema that is none is the caller's or the reference's fault, never the policy's. So is one that
    explodes: whose alternatives may try one value over 100,000 times (the message names the keyword), or that does not
    end in time on `{}`, `[]`, `""`, 0, null and the expected values, which it is tried on first.

    **Content.** A leaf is a scalar, or an empty list or object. The expected value's leaves that the answer has, and
    those that it adds, make precision, recall and F-beta; `exact` asks for all of them and no other. Numbers equal
    where their values do (1 is 1.0; true is not 1). Unordered lists are paired so that most matches: equal items first,
    the rest by the Hungarian method up to 64 items a side. Dates are texts here; `time` compares dates. Where nothing
    is expected (an empty object) and nothing is said, the content is right; an empty answer to anything else earns
    nothing at all (`empty`), however little the schema demands.

    **Score.** Without `levels`: the content's, 0 where the schema does not hold (`invalid`); without an expected value
    1 where it holds. With `levels`: their weighted mean, each level's share in the evidence.

    Without tolerance this is strict where extraction benchmarks are lenient: `{"age": "30"}` is not `{"age": 30}`
    (`coerce`), and "Paris " is not "Paris" (`text`).
    """
    reader = params.reader
    with watch.preparing():
        expected = reader.expected(reference)
    try:
        found = reader.finder.find(response, expected.roots)
    except Malformed as malformed:
        return malformed.outcome()
    except Hedged as hedged:
        return wrong("hedged", flags=("hedged",), evidence={"rule": hedged.rule, "values": hedged.number})
    if found is None:
        return no_answer()
    try:
        return _judged(found, expected, params)
    except TooExpensive:
        return too_expensive(evidence={"rule": found.rule})


def _judged(found: Located, expected: Expected, params: JsonParams) -> Outcome:
    value = found.value
    evidence: dict[str, Any] = {"rule": found.rule}
    if found.copies > 1:
        evidence["copies"] = found.copies
    shown = value if len(found.text) <= _SHOWN else found.text[:_SHOWN]
    if value in ({}, []) and not expected.empty and not params.allow_empty and not _nothing_expected(expected):
        return wrong("empty", extracted=shown, evidence=evidence)
    valid = expected.validation is None or expected.validation.holds(value)
    if not valid and expected.validation is not None:
        evidence["invalid"] = expected.validation.faults(value, _FAULTS)
    best = _best(value, expected, params)
    if best is not None and not (best.exact or best.f or best.structure or params.allow_empty):
        # The attack: any short JSON, for the credit of form alone.
        _tell(best, evidence)
        reason = "empty" if value in (None, "") else "wrong" if valid else "invalid"
        return wrong(reason, feedback=_feedback(evidence), extracted=shown, evidence=evidence)
    earned: dict[str, float] = {"parses": 1.0, "format": float(found.alone)}
    if best is not None:
        earned["structure"] = best.structure
        _tell(best, evidence)
    if expected.validation is not None:
        earned["validity"] = float(valid)
    if best is not None:
        earned["content"] = float(best.exact) if params.content == "exact" else best.f
    if params.levels is None:
        score = earned.get("content", 1.0) if valid else 0.0
    else:
        evidence["levels"] = earned
        score = _weighted(earned, params.levels, params.cascade)
    if score == 1.0:
        return right(extracted=shown, evidence=evidence)
    return scored(
        score,
        passed=score >= params.pass_at,
        reason=_reason(valid, best, score),
        feedback=_feedback(evidence),
        extracted=shown,
        evidence=evidence,
    )


def _nothing_expected(expected: Expected) -> bool:
    """Returns whether an expected value has only blanks, where blanks count as absent."""
    return any(not target.node.total for target in expected.targets)


def _best(value: Any, expected: Expected, params: JsonParams) -> Content | None:
    best: Content | None = None
    for target in expected.targets:
        one = target.compare(value, params.beta)
        if best is None or (one.exact, one.f, one.structure) > (best.exact, best.f, best.structure):
            best = one
        if best.exact:
            break
    return best


def _tell(best: Content, evidence: dict[str, Any]) -> None:
    evidence["precision"] = best.precision
    evidence["recall"] = best.recall
    evidence["f"] = best.f
    evidence["fields"] = best.tally.fields
    if best.tally.missed:
        evidence["missed"] = best.tally.missed
    if best.tally.extra:
        evidence["extra"] = best.tally.extra
    if best.tally.in_order:
        evidence["lists"] = "too long to be paired, compared in order"


def _weighted(earned: Mapping[str, float], weights: Mapping[Any, float], cascade: bool) -> float:
    """The weighted mean over the levels that could be judged."""
    total = reached = 0.0
    open_ = True
    for level in LEVELS:
        if level in earned and (weight := weights.get(level, 0.0)):
            total += weight
            if open_:
                reached += weight * earned[level]
            open_ = open_ and (not cascade or earned[level] == 1.0)
    return 0.0 if not total else 1.0 if reached >= total else min(1.0, reached / total)


def _reason(valid: bool, best: Content | None, score: float) -> str:
    if not valid:
        return "invalid"
    if best is None or best.exact:
        return "malformed"  # all is right but the form
    return "partly_right" if score and best.matched else "wrong"


def _feedback(evidence: Mapping[str, Any]) -> str | None:
    told: list[str] = [f"{fault['path']}: {fault['message']}" for fault in evidence.get("invalid", ())[:3]]
    differing = [path for path, credit in evidence.get("fields", {}).items() if credit < 1]
    for words, paths in (
        ("missing", evidence.get("missed", ())),
        ("not expected", evidence.get("extra", ())),
        ("differs", differing),
    ):
        if paths:
            told.append(f"{words}: {', '.join(paths[:5])}")
    return "; ".join(told) or None
