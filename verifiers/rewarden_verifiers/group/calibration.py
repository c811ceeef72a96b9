"""`calibration`: a right answer, minus the loss of the confidence that the response states."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import InvalidParams
from rewarden.types import Component, Outcome, Use
from rewarden_verifiers.contract import Context, Member, verifier
from rewarden_verifiers.extraction import Extracted, first_found, rules_of
from rewarden_verifiers.outcome import scored, wrong
from rewarden_verifiers.uses import UseLike, parse_use

_DIGITS = r"(?:\d{1,9}(?:\.\d{0,32})?|\.\d{1,32})"
_NUMBER = re.compile(
    rf"(?<![\w.,+-])(?<![-−–]\s)({_DIGITS})(?:\s*(%|percent\b)|\s*(?:/|out\s+of)\s*({_DIGITS}))?(?![\w/%]|[.,]\d|\s?[-–]\s?\d)",
    re.ASCII | re.IGNORECASE,
)
"""A number alone, in percent, or out of another."""
_DRESS = re.compile(r"\\(?:boxed|text|mathbf|textbf)\s?\{([^{}]{0,200})\}")
_REMARK_LIST = """
a about almost am answer approx approximately around certain certainty chance confidence confident correct estimate
estimated extremely fairly high i in is it level likelihood low medium moderate moderately my of probability probably
quite rating right score somewhat sure that the this very
"""
_REMARK = frozenset(_REMARK_LIST.split())
"""Words that may stand beside the number, which say no other one and do not limit it."""

_BINS = 10


@dataclass(frozen=True, slots=True, kw_only=True)
class CalibrationParams:
    """Options of `calibration`.

    use: Verifier or recipe that decides whether the answer is right.
    passing: Lowest score at which it is right. If unset, the verifier's own `passed` decides.
    tag: Name of the tag that holds the confidence.
    scale: The confidence that means certainty: 1, 10 or 100. A number with a percent sign is out of 100.
    rule: Loss of a confidence: `brier`, the squared error; `log`, the logarithm, from which `floor` keeps certainty;
        `spherical`. All of them are smallest, in the mean, for the true probability, and lie from 0 to 1.
    floor: Lowest probability in `log`.
    target: What the confidence is to tell: whether this answer is right (`own`), or how many of the group's are
        (`pass_rate`).
    weight: Weight of the loss. At most 1, so that no wrong answer earns more than a right one.
    """

    use: UseLike
    passing: float | None = None
    tag: str = "confidence"
    scale: Literal[1, 10, 100] = 1
    rule: Literal["brier", "log", "spherical"] = "brier"
    floor: float = 0.001
    target: Literal["own", "pass_rate"] = "own"
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0 < self.floor < 0.5:
            raise ValueError("floor must lie between 0 and 0.5")
        if not 0 < self.weight <= 1:
            raise ValueError("weight must be more than 0 and at most 1")
        rules_of([{"tag": self.tag}])


def _children(params: CalibrationParams) -> list[Use]:
    return [parse_use(params.use)]


@dataclass(frozen=True, slots=True)
class _Stated:
    """A confidence from 0 to 1, or the reason why there is none. text: as the response has it."""

    value: float | None
    text: str | None
    reason: str = ""


@verifier(version="1", graded=True, children=_children)
async def calibration(samples: list[Member], params: CalibrationParams, ctx: Context) -> Sequence[Outcome]:
    """Scores a right answer 1 and a wrong one 0, each minus a loss for the confidence that the response states.

    `use` judges each answer. The answer must be marked separately: a rule that takes the last number would take the
    confidence. The loss is that of a proper scoring rule, so that the best confidence is the true probability, and
    neither bluffing nor false modesty pays. With `rule: brier`, `target: own` and a weight of 1 this is the reward of
    RLCR (arXiv 2507.16806). The evidence has the group's calibration: mean confidence, pass rate, Brier score, and
    expected calibration error over ten bins of equal width.

    The last tag counts. It holds one number, such as `0.9`, `90 %` or `9/10`, also with a remark: `high (0.9)`. A
    response gets the lowest score, which is minus the weight, if it states no confidence (`no_confidence`) or one that
    is not a number of the scale (`bad_confidence`). A member that could not be judged keeps that outcome, and is
    excluded from the statistics.

    Raises InvalidParams if `use` has no notion of passing and `passing` is unset.
    """
    use = parse_use(params.use)
    outcomes = await ctx.verify_group(use, samples)
    rights = [_right(outcome, params) for outcome in outcomes]
    known = [right for right in rights if right is not None]
    rate = math.fsum(known) / len(known) if known else 0.0
    rules = rules_of([{"tag": params.tag}])
    stated = [_stated(first_found(member.response or "", rules), params.scale) for member in samples]
    evidence = {"group": _statistics(stated, rights)}
    return [
        _outcome(outcome, right, one, right if params.target == "own" else rate, evidence, params, use)
        if right is not None
        else outcome
        for outcome, right, one in zip(outcomes, rights, stated, strict=True)
    ]


def _right(outcome: Outcome, params: CalibrationParams) -> float | None:
    """1 if the member is right, else 0; None if it could not be judged."""
    if outcome.status != "scored" or outcome.score is None:
        return None
    if params.passing is not None:
        return float(outcome.score >= params.passing)
    if outcome.passed is None:
        raise InvalidParams("params.use does not decide passed or failed: give params.passing", path="params.passing")
    return float(outcome.passed)


def _stated(found: Extracted | None, scale: int) -> _Stated:
    if found is None:
        return _Stated(None, None, "no_confidence")
    values = _values(found.text, scale)
    value = values.pop() if len(values) == 1 else math.inf
    if value > 1:
        return _Stated(None, found.text, "bad_confidence")
    return _Stated(value, found.text)


def _values(text: str, scale: int) -> set[float]:
    """The different confidences in a text such as "90 %", "9/10", "high (0.9)"; none if it says anything else.

    Attack: "0.9 or 0.1", "at most 0.9", "-5": a confidence that could be read as another one.
    """
    text = _DRESS.sub(r"\1", text).replace("\\%", "%")
    rest = _NUMBER.sub(" ", text)
    words = re.findall(r"[^\W_]+", rest)
    if any(word.casefold() not in _REMARK for word in words) or re.search(r"[^\w\s*$~≈().:=,{}\[\]`\"']", rest):
        return set()
    return {_value(match, scale) for match in _NUMBER.finditer(text)}


def _value(match: re.Match[str], scale: int) -> float:
    if match[3] is not None:
        return float(match[1]) / float(match[3]) if float(match[3]) else math.inf
    return float(match[1]) / (100 if match[2] else scale)


def _loss(params: CalibrationParams, confidence: float, target: float) -> float:
    """The mean loss, from 0 to 1, over answers of which the share `target` is right."""
    right, wrong_ = (_of_probability(params, chance) for chance in (confidence, 1.0 - confidence))
    return min(1.0, target * right + (1.0 - target) * wrong_)


def _of_probability(params: CalibrationParams, chance: float) -> float:
    """The loss if an event with this stated probability happens."""
    if params.rule == "brier":
        return (1.0 - chance) ** 2
    if params.rule == "log":
        return math.log(max(chance, params.floor)) / math.log(params.floor)
    return 1.0 - chance / math.hypot(chance, 1.0 - chance)


def _outcome(
    own: Outcome,
    right: float,
    stated: _Stated,
    target: float,
    evidence: dict[str, Any],
    params: CalibrationParams,
    use: Use,
) -> Outcome:
    bounds = (-params.weight, 1.0)
    part = Component(status=own.status, score=own.score, reason=own.reason, fault=own.fault, verifier=use.name)
    details: dict[str, Any] = {
        "range": bounds,
        "extracted": own.extracted,
        "evidence": {**own.evidence, **evidence, "confidence": stated.text},
        "flags": own.flags,
        "effective": own.effective,
        "feedback": own.feedback,
        "exclude": own.exclude,
        "exclude_reason": own.exclude_reason,
        "components": {"answer": part},
    }
    if stated.value is None:
        return wrong(stated.reason, **details)
    loss = _loss(params, stated.value, target)
    details["components"]["loss"] = Component(status="scored", score=loss)
    score = min(max(right - params.weight * loss, bounds[0]), bounds[1])
    fault = own.fault if right == 0.0 else None
    return scored(score, passed=right == 1.0, reason=own.reason, fault=fault, raw=stated.value, **details)


def _statistics(stated: Sequence[_Stated], rights: Sequence[float | None]) -> dict[str, Any]:
    """The calibration statistics of the judged members that state a confidence."""
    pairs = [
        (one.value, right)
        for one, right in zip(stated, rights, strict=True)
        if one.value is not None and right is not None
    ]
    if not pairs:
        return {"size": len(rights), "stated": 0}
    count = len(pairs)
    bins: dict[int, list[tuple[float, float]]] = {}
    for confidence, right in pairs:
        bins.setdefault(min(int(confidence * _BINS), _BINS - 1), []).append((confidence, right))
    gaps = [abs(math.fsum(confidence - right for confidence, right in found)) for found in bins.values()]
    return {
        "size": len(rights),
        "stated": count,
        "pass_rate": math.fsum(right for _, right in pairs) / count,
        "mean_confidence": math.fsum(confidence for confidence, _ in pairs) / count,
        "brier": math.fsum((confidence - right) ** 2 for confidence, right in pairs) / count,
        "calibration_error": math.fsum(gaps) / count,
    }
