"""`json`: checks the form and content of JSON in a response."""

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
"""The maximum length of the JSON that an outcome shows as a value; of longer JSON it shows the beginning."""
_FAULTS = 5


@verifier(version="2", graded=True, equivalence=JsonEquivalence)
def json(response: str, params: JsonParams, watch: Watch, reference: Any = None) -> Outcome:
    """Checks JSON: strictly well formed, valid for a JSON Schema, equal to an expected value.

    **Location.** `extraction` sets where to look for the JSON. A response with several different values scores 0
    (`hedged`), and so does one without any (`no_answer`).

    **Strict reading.** JSON that two parsers could read differently scores 0, with the reason `duplicate_key`,
    `not_a_number` (NaN, Infinity), `huge_number` (beyond 1.8e308, or over 300 digits), `lone_surrogate`, `too_deep`
    (over 64 levels), `trailing_text`, `unclosed_fence` or `malformed` (any other text that is not JSON). All of these
    carry the flag `malformed`. A text of over a million characters or 50,000 values is `too_expensive`.

    **Schema.** Drafts 4 to 2020-12. References resolve only within the schema itself and in the given `schemas`;
    nothing is fetched. An invalid schema is the fault of the caller or the reference, never of the policy. The same
    applies to a schema that explodes: one whose alternatives may try one value over 100,000 times (the message names
    the keyword), or that does not finish in time on its trial values (`{}`, `[]`, `""`, 0, null and the expected
    values).

    **Content.** A leaf is a scalar, or an empty list or object. Precision, recall and F-beta are computed over leaves:
    those of the expected value that the answer has, and those that it adds. `exact` requires all expected leaves and no
    others. Numbers are equal if their values are (1 is 1.0; true is not 1). Unordered lists are paired for the best
    match: equal items first, the rest by the Hungarian method, up to 64 items a side. Dates are texts here; `time`
    compares dates. If an empty object is expected, an empty answer is right. An empty answer to anything else scores 0
    (`empty`), however little the schema requires.

    **Score.** Without `levels`, the score is that of the content, or 0 if the schema is violated (`invalid`). Without
    an expected value it is 1 if the schema is satisfied. With `levels`, it is their weighted mean, and the evidence
    reports each level's share.

    Without tolerances, `json` is strict where extraction benchmarks are lenient: `{"age": "30"}` is not `{"age": 30}`
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
        # Attack: any short JSON, to earn the credit for form alone.
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
    """Returns whether an expected value has only blanks, and blanks count as absent."""
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
        return "malformed"  # everything is right but the form
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
