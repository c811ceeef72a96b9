"""`point`: checks whether the points, clicks and actions of a response hit their targets."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rapidfuzz.distance import Indel

from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import MAX_ANSWER, first_found
from rewarden_verifiers.outcome import no_answer, too_expensive, wrong
from rewarden_verifiers.vision import assignment, matched
from rewarden_verifiers.vision.action_reader import Action
from rewarden_verifiers.vision.frames import SCALES, Scale, Size, extent, factors, size_of
from rewarden_verifiers.vision.point_gold import ExpectedAction, PointGold, prepare
from rewarden_verifiers.vision.point_params import PointParams
from rewarden_verifiers.vision.point_reader import Place
from rewarden_verifiers.vision.reading import read_all
from rewarden_verifiers.vision.targets import Target

_SHOWN = 100
_CONFUSED = 0.5
"""The score from which points are flagged as right in another scale."""
_LONGEST_TEXT = 2000

Spots = Sequence[Place | None]


class _Scaler:
    """Converts points to the reference's scale."""

    def __init__(self, params: PointParams, size: Size | None) -> None:
        self._params, self._size = params, size
        self.image = extent(params.measured_scale, size)

    def by(self, scale: Scale) -> Size | None:
        """The factors for x and y; None if the image's size is required but unknown."""
        return factors(scale, self._params.measured_scale, self._size)

    def plausible(self, spots: Spots, scale: Scale) -> bool:
        """Returns whether all points lie within the image if they are in this scale."""
        reach = extent(scale, self._size)
        return reach is not None and all(
            spot is not None and 0 <= spot[0] <= reach[0] and 0 <= spot[1] <= reach[1] for spot in spots
        )

    def outside(self, spot: Place) -> bool:
        """Returns whether a converted point lies outside the image."""
        if self.image is None:
            return False
        return not (0 <= spot[0] <= self.image[0] and 0 <= spot[1] <= self.image[1])


def _worth(spot: Place | None, target: Target, by: Size, scaler: _Scaler) -> float:
    if spot is None:
        return 0.0
    x, y = spot[0] * by[0], spot[1] * by[1]
    return 0.0 if scaler.outside((x, y)) else target.worth(x, y)


def _scaled_best(
    judge: Callable[[Size], float],
    spots: Spots,
    params: PointParams,
    scaler: _Scaler,
    flags: list[str],
    evidence: dict[str, Any],
) -> float:
    """The score in the requested scale, or in another permitted one. If a scale that is not permitted would be right,
    it sets a flag.
    """
    by = scaler.by(params.scale)
    if by is None:
        raise params.size_missing()
    score = judge(by)
    if score >= _CONFUSED or not spots:
        return score
    for scale in SCALES:
        other = scaler.by(scale)
        if scale == params.scale or other is None or not scaler.plausible(spots, scale):
            continue
        better = judge(other)
        if better >= _CONFUSED and better > score:
            if scale in params.other_scales:
                flags.append("other_scale")
                evidence["scale"] = scale
                return better
            if "scale_confused" not in flags:
                flags.append("scale_confused")
    if "scale_confused" in flags:
        judge(by)  # restores the evidence of the requested scale
    return score


@verifier(
    version="2",
    graded=True,
    prepare=prepare,
    warm=assignment.warm,
    libraries=("numpy",),
    optional={"vision": "several points for several targets"},
)
def point(
    response: str, prepared: PointGold, params: PointParams, metadata: Mapping[str, Any] | None = None
) -> Outcome:
    """Checks that points hit their targets, or that an action on a screen is the right one.

    The reference is a point (`[x, y]`, with `tolerance` or `decay`), a box (`[left, top, right, bottom]`, or `{"box":
    […]}`), a polygon (`{"polygon": [[x, y], …]}`), a mask (`{"mask": {"size": [height, width], "counts": …}}`, COCO's
    run lengths), or a list of these; `size` adds the image's [width, height]. An answer can be JSON (`[x, y]`,
    `{"point_2d": […]}`, `{"x", "y"}`), tags (`<point x="…" y="…">`, `<point>x y</point>`), a call such as `click(x,
    y)`, or prose with `(x, y)`. In a turn `Thought: … Action: click(start_box='(x,y)')`, only the action is read.

    If one target is expected, one point is right or wrong, or earns credit by its distance; several different ones are
    `hedged`. If a list is expected, points are matched one to one, in any order, and missing, superfluous and invalid
    points lower the score. Points outside the image hit nothing (`out_of_image`).

    A reference with `action` is an action on a screen: `{"action": "click", "box": […]}`, `{"action": "type", "text":
    "hello"}`, `{"action": "scroll", "direction": "down"}`, `key`, `app`, `end_point`; a list of several is a sequence.
    The answer is read from JSON (tool calls too), calls (`click(10, 20)`, `type("hello")`) or tags. Its parts are
    weighted: type, target (required if the reference has a point) and value. A wrong type scores 0, and so do several
    actions if one is expected.

    A score of 0 has the reason `no_answer`, `malformed`, `hedged`, `wrong_type`, `missed`, `false_alarm`,
    `too_many_points`, `wrong_count` or `wrong`. Points that would be right in another scale have the flag
    `scale_confused`.
    """
    found = first_found(response, params.rules)
    if found is None:
        return too_expensive() if len(response) > MAX_ANSWER else no_answer()
    scaler = _Scaler(params, prepared.size or params.size or size_of(metadata))
    details: dict[str, Any] = {"evidence": {"rule": found.rule}}
    if prepared.actions:
        return _acted(found.texts, prepared, params, scaler, details)
    points = read_all(found.texts, params.points.read, params.which)
    details["evidence"]["form"] = points.form
    items: Spots = points.items
    if not items:
        return matched.nothing_found(points, bool(prepared.targets), params, details)
    if len(items) > params.limit:
        return wrong("too_many_points", flags=("too_many_points",), **details)
    details["extracted"] = [None if item is None else list(item) for item in items[:_SHOWN]]
    if not prepared.targets:
        return wrong("false_alarm", **details)
    return _pointed(items, prepared, params, scaler, details)


def _pointed(items: Spots, gold: PointGold, params: PointParams, scaler: _Scaler, details: dict[str, Any]) -> Outcome:
    """The outcome of points, if some are expected."""
    evidence: dict[str, Any] = details["evidence"]
    flags = ["malformed_point"] if None in items else []
    by = scaler.by(params.scale)
    if by is not None and any(
        item is not None and scaler.outside((item[0] * by[0], item[1] * by[1])) for item in items
    ):
        flags.append("out_of_image")
    alone = gold.single or params.regions == "any"
    if alone:
        items = list(dict.fromkeys(items))
        if len(items) == 1:
            details["extracted"] = details["extracted"][0]
        elif params.several == "hedged":
            return wrong("hedged", flags=("hedged", *flags), **details)
    if params.exact_count and not alone and len(items) != len(gold.targets):
        evidence |= {"predicted": len(items), "expected": len(gold.targets)}
        return wrong("wrong_count", flags=flags, **details)

    def judge(by: Size) -> float:
        if not alone:
            return _matched(items, gold.targets, by, params, scaler, evidence)
        worths = [max(_worth(item, target, by, scaler) for target in gold.targets) for item in items]
        evidence["hit"] = sum(worth > 0 for worth in worths)
        return sum(worths) / len(worths)

    score = _scaled_best(judge, items, params, scaler, flags, evidence)
    reason = "malformed" if not any(items) else None
    return matched.outcome(score, params, flags, details, reason)


def _matched(
    items: Spots,
    targets: Sequence[Target],
    by: Size,
    params: PointParams,
    scaler: _Scaler,
    evidence: dict[str, Any],
) -> float:
    """The score of points matched one to one with the targets."""
    if params.aggregate == "recall":
        items = items[: len(targets)]  # otherwise a grid of points would find everything
    gains = [[_worth(item, target, by, scaler) for target in targets] for item in items]
    pairs = assignment.assign(gains, "hungarian", range(len(items)))
    worths = [gains[row][column] for row, column in pairs]
    return matched.paired(worths, len(items), len(targets), params, evidence)


def _acted(
    texts: Sequence[str], gold: PointGold, params: PointParams, scaler: _Scaler, details: dict[str, Any]
) -> Outcome:
    """The outcome of actions, if some are expected."""
    evidence: dict[str, Any] = details["evidence"]
    read = read_all(texts, params.acts.read, params.which)
    items = read.items
    evidence["form"] = read.form
    if not items:
        return no_answer(**details)
    if gold.single:
        items = tuple(dict.fromkeys(items))
    details["extracted"] = _shown(items[0]) if len(items) == 1 else [_shown(item) for item in items[:_SHOWN]]
    if gold.single and len(items) > 1:
        return wrong("hedged", flags=("hedged",), **details)
    told: list[dict[str, float]] = []
    flags: list[str] = []
    spots = [item.place for item in items if item.place is not None]

    def judge(by: Size) -> float:
        told[:] = [_parts(item, wanted, by, params, scaler) for item, wanted in zip(items, gold.actions, strict=False)]
        total = sum(_weighed(one, params) for one in told)
        return total / max(len(items), len(gold.actions))

    if any(wanted.target is not None for wanted in gold.actions):
        score = _scaled_best(judge, spots, params, scaler, flags, evidence)
    else:
        score = judge((1.0, 1.0))
    evidence["parts"] = told[0] if gold.single else told[:_SHOWN]
    reason = "wrong_type" if told and not any(one["type"] for one in told) else None
    return matched.outcome(score, params, flags, details, reason)


def _parts(item: Action, wanted: ExpectedAction, by: Size, params: PointParams, scaler: _Scaler) -> dict[str, float]:
    """Returns the credit of each part that the reference has. All parts of an action of the wrong type earn nothing:
    clicking at the right place does not type text there.
    """
    same = item.type == wanted.action.type
    parts = {"type": float(same)}
    if wanted.target is not None:
        parts["target"] = _worth(item.place, wanted.target, by, scaler) if same else 0.0
        if wanted.end is not None:
            parts["target"] = min(parts["target"], _worth(item.end, wanted.end, by, scaler))
    expected = wanted.action
    values = [
        _alike(ours, theirs, params)
        for ours, theirs in (
            (item.text, expected.text if expected.direction is None else None),
            (item.direction, expected.direction),
            (_chord(item.key), _chord(expected.key)),
            (item.app or item.text, expected.app),
        )
        if theirs is not None
    ]
    if values:
        parts["value"] = float(same and all(values))
    return parts


def _weighed(parts: Mapping[str, float], params: PointParams) -> float:
    if not parts["type"]:
        return 0.0
    if params.all_or_nothing:
        return float(all(worth == 1 for worth in parts.values()))
    weights = {name: getattr(params.weights, name) for name in parts}
    total = sum(weights.values())
    return sum(weights[name] * worth for name, worth in parts.items()) / total if total else 0.0


def _alike(ours: str | None, theirs: str, params: PointParams) -> bool:
    """Returns whether two texts are equal, compared as the option `text` says."""
    if ours is None:
        return False
    if params.text == "exact" or ours == theirs:
        return ours == theirs
    ours, theirs = " ".join(ours.casefold().split()), " ".join(theirs.casefold().split())
    if params.text == "plain" or ours == theirs or max(len(ours), len(theirs)) > _LONGEST_TEXT:
        return ours == theirs
    return Indel.normalized_similarity(ours, theirs) >= params.text_threshold


def _chord(keys: str | None) -> str | None:
    """A key combination in canonical form: "ctrl c" and "ctrl+c" are equal."""
    return None if keys is None else "+".join(re.split(r"[\s+]+", keys.strip())) if keys.strip("+ ") else keys


def _shown(item: Action) -> dict[str, Any]:
    """The judged action."""
    return {
        name: list(value) if isinstance(value, tuple) else value[:_LONGEST_TEXT] if isinstance(value, str) else value
        for name, value in item._asdict().items()
        if value is not None
    }
