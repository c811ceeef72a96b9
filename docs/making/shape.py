"""The plot of a recipe's score over its main variable, computed by the recipe itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from xml.sax.saxutils import escape

from making.rehearsal import Rehearsal, State
from rewarden.types import Progress, Sample

_POINTS = 128
_DOUBLINGS = 17
"""Lengths and steps are tried up to 131,072."""
_STEPS = 1000
_NEAR = 1e-9
_FLAT = 0.02
"""The share of a curve's height below which it counts as flat beyond a length."""

_WIDTH, _HEIGHT, _LEFT, _TOP, _BOTTOM = 640, 300, 64, 44, 50

_STYLE = """
    .ground { fill: #f5f8fb } .field { fill: #ffffff; stroke: #9db4cb } .grid { stroke: #dde7f0 }
    text { font: 13px system-ui, "Segoe UI", "Helvetica Neue", Arial, sans-serif; fill: #17324d }
    .curve { fill: none; stroke-width: 2.5; stroke-linejoin: round }
    .first { stroke: #1f7a4d } .second { stroke: #b3452c; stroke-dasharray: 7 4 }
"""

_SIDES: Mapping[str, State] = {"right answer": "right", "wrong answer": "wrong"}

At = Callable[[float, State], float | None]


@dataclass(frozen=True, slots=True)
class Shape:
    """The curves of a score. variable: what the x-axis is. curves: a name and its points, each of (x, score)."""

    variable: str
    curves: Sequence[tuple[str, Sequence[tuple[float, float]]]]


def shape(rehearsal: Rehearsal) -> Shape | None:
    """Returns the curves over the first variable that the score depends on: length, progress, the score of a part, or
    a value that the caller sends; None if it depends on none, or reads more than can be made up."""
    for variable, most, at in _variables(rehearsal):
        found = _curves(variable, most, at)
        if found is not None:
            return found
    return None


def _curves(variable: str, most: float | None, at: At) -> Shape | None:
    end = _end(at) if most is None else most
    if end is None:
        return None
    xs = [end * place / _POINTS for place in range(_POINTS + 1)]
    if most is None:
        xs = sorted({float(round(x)) for x in xs})
    curves: list[tuple[str, list[tuple[float, float]]]] = []
    for name, state in _SIDES.items():
        points = [(x, y) for x in xs if (y := at(x, state)) is not None]
        if len(points) > 1:
            curves.append((name, points))
    if all(max(y for _, y in points) - min(y for _, y in points) <= _NEAR for _, points in curves):
        return None
    if len(curves) == 2 and curves[0][1] == curves[1][1]:
        curves = [("any answer", curves[0][1])]
    return Shape(variable, curves)


def _end(at: At) -> float | None:
    """Returns the length from which on nothing changes, with a little room; None if none changes anything."""
    xs = [0.0, *(float(2**power) for power in range(_DOUBLINGS + 1))]
    end = 0.0
    for state in _SIDES.values():
        ys = [at(x, state) for x in xs]
        known = [y for y in ys if y is not None]
        if not known or max(known) - min(known) <= _NEAR:
            continue
        small = _FLAT * (max(known) - min(known))
        last = max(
            place
            for place in range(1, len(xs))
            if (before := ys[place - 1]) is not None and (now := ys[place]) is not None and abs(now - before) > small
        )
        end = max(end, xs[last])
    return min(end * 1.25, xs[-1]) if end else None


def _variables(rehearsal: Rehearsal) -> list[tuple[str, float | None, At]]:
    recipe = rehearsal.recipe
    reads = {path[:2] for path in recipe.reads}
    found: list[tuple[str, float | None, At]] = []

    def at(make: Callable[[float], Sample | None], when: Callable[[float], Progress] | None = None) -> At:
        def score(x: float, state: State) -> float | None:
            return _score(rehearsal, {recipe.main: state}, make(x), None if when is None else when(x))

        return score

    units = {step.by for step in recipe.shaping}
    if ("sample", "token_count") in reads or "tokens" in units:
        found.append(("length of the response in tokens", None, at(lambda x: rehearsal.sample(token_count=round(x)))))
    if "words" in units:
        found.append(
            ("length of the response in words", None, at(lambda x: rehearsal.sample(response="a " * round(x))))
        )
    if "characters" in units:
        found.append(
            ("length of the response in characters", None, at(lambda x: rehearsal.sample(response="a" * round(x))))
        )
    if reads & {("progress", "fraction"), ("progress", "total_steps")}:
        found.append(
            (
                f"step of training, of {_STEPS}",
                float(_STEPS),
                at(lambda _: None, lambda x: Progress(step=round(x), total_steps=_STEPS)),
            )
        )
    elif ("progress", "step") in reads:
        found.append(("step of training", None, at(lambda _: None, lambda x: Progress(step=round(x)))))
    parts = [name for name in recipe.components if name != recipe.main]
    found += [part for name in parts for part in _part(rehearsal, name)]
    for kind in ("signals", "metadata"):
        for key in rehearsal.keys(kind):
            found.append((f"{kind}.{key}", 1.0, at(partial(_sent, rehearsal, kind, key))))
    # Last, because the answer's own score is mostly just paid as it is.
    found += _part(rehearsal, recipe.main)
    return found


def _sent(rehearsal: Rehearsal, kind: str, key: str, value: float) -> Sample:
    return rehearsal.sample(**{kind: {**dict.fromkeys(rehearsal.keys(kind), 0.0), key: value}})


def _part(rehearsal: Rehearsal, name: str) -> list[tuple[str, float | None, At]]:
    """Returns the score of a part as a variable if its verifier grades, over the verifier's range."""
    specs = rehearsal.specs(name)
    if (name, "score") not in {path[:2] for path in rehearsal.recipe.reads} or not specs or not specs[0].graded:
        return []
    low, high = specs[0].score_range
    main = rehearsal.recipe.main

    def at(x: float, state: State) -> float | None:
        return _score(rehearsal, {main: state, name: low + (high - low) * x}, None, None)

    said = f"score of {name}" if (low, high) == (0.0, 1.0) else f"score of {name}, as a share of {low:g} to {high:g}"
    return [(said, 1.0, at)]


def _score(
    rehearsal: Rehearsal, states: dict[str, State | float], sample: Sample | None, progress: Progress | None
) -> float | None:
    found = rehearsal.run(states, sample, progress)
    return None if found is None or found.outcome.exclude else found.outcome.score


def drawing(name: str, found: Shape) -> str:
    """Returns the plot as SVG."""
    points = [point for _, curve in found.curves for point in curve]
    right = max(x for x, _ in points)
    ys = _ticks(min(y for _, y in points), max(y for _, y in points))
    low, high = ys[0], ys[-1]

    def across(x: float) -> float:
        return _LEFT + (_WIDTH - _LEFT - 24) * x / right

    def down(y: float) -> float:
        return _TOP + (_HEIGHT - _TOP - _BOTTOM) * (high - y) / (high - low)

    lines = [
        f'<rect class="field" x="{_LEFT}" y="{_TOP}" width="{_WIDTH - _LEFT - 24}" '
        f'height="{_HEIGHT - _TOP - _BOTTOM}"/>'
    ]
    for y in ys:
        lines.append(f'<path class="grid" d="M{_LEFT} {down(y):.1f}H{_WIDTH - 24}"/>')
        lines.append(f'<text x="{_LEFT - 8}" y="{down(y) + 4.5:.1f}" text-anchor="end">{_number(y)}</text>')
    for x in (tick for tick in _ticks(0.0, right) if tick <= right * (1 + _NEAR)):
        lines.append(f'<path class="grid" d="M{across(x):.1f} {_TOP}V{_HEIGHT - _BOTTOM}"/>')
        lines.append(f'<text x="{across(x):.1f}" y="{_HEIGHT - _BOTTOM + 18}" text-anchor="middle">{_number(x)}</text>')
    place = float(_LEFT)
    for kind, (said, curve) in zip(("first", "second"), found.curves, strict=False):
        path = " ".join(f"{across(x):.1f},{down(y):.1f}" for x, y in _corners(curve))
        lines.append(f'<polyline class="curve {kind}" points="{path}"/>')
        lines.append(f'<path class="curve {kind}" d="M{place} 24h30"/>')
        lines.append(f'<text x="{place + 38}" y="28.5">{escape(said)}</text>')
        place += 150
    lines.append(f'<text x="{_WIDTH - 24}" y="28.5" text-anchor="end">score</text>')
    lines.append(
        f'<text x="{(_LEFT + _WIDTH - 24) / 2}" y="{_HEIGHT - 12}" text-anchor="middle">{escape(found.variable)}</text>'
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{_HEIGHT}" '
        f'viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="The score of {escape(name)} over the '
        f'{escape(found.variable)}">\n<style>{_STYLE}</style>\n'
        f'<rect class="ground" width="{_WIDTH}" height="{_HEIGHT}" rx="8"/>\n' + "\n".join(lines) + "\n</svg>\n"
    )


def _corners(curve: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Returns a curve without the points in the middle of straight lines."""
    kept = [curve[0]]
    for before, point, after in zip(curve, curve[1:], curve[2:], strict=False):
        slope = (after[1] - before[1]) / (after[0] - before[0])
        if abs(before[1] + slope * (point[0] - before[0]) - point[1]) > _NEAR:
            kept.append(point)
    return [*kept, curve[-1]]


def _ticks(low: float, high: float) -> list[float]:
    """Returns three to seven round numbers that span a range."""
    span = high - low or 1.0
    unit = 10.0 ** math.floor(math.log10(span / 4))
    step = next(unit * factor for factor in (1, 2, 2.5, 5, 10) if span / (unit * factor) <= 5)
    first, last = math.floor(low / step + _NEAR), math.ceil(high / step - _NEAR)
    return [step * place for place in range(first, max(last, first + 1) + 1)]


def _number(value: float) -> str:
    rounded = round(value, 6) + 0.0
    return f"{rounded:,.0f}" if abs(rounded) >= 1000 else f"{rounded:g}".replace("-", "\N{MINUS SIGN}")
