"""Plots as SVG, styled by the classes of `page.css`, so they follow light and dark mode. Texts are escaped here."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from html import escape

from rewarden_server.studies.calibration.agreement import BINS, Bin, Figure, Judged
from rewarden_server.studies.calibration.assault import Assault
from rewarden_server.studies.calibration.threshold import Point

_WIDTH = 360
_LEFT, _TOP = 132.0, 22.0
"""The position at which the rows begin in a drawing with names on the left."""


@dataclass
class _Drawing:
    """The elements of a plot as wide as a phone; larger screens scale it."""

    height: float
    title: str
    parts: list[str] = field(default_factory=list)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str) -> None:
        self.parts.append(f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>')

    def text(self, x: float, y: float, text: str, anchor: str = "start", kind: str = "tick") -> None:
        self.parts.append(f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(text)}</text>')

    def rect(self, x: float, y: float, width: float, height: float, kind: str, hint: str = "") -> None:
        inner = f"<title>{escape(hint)}</title>" if hint else ""
        self.parts.append(
            f'<rect class="{kind}" x="{x:.1f}" y="{y:.1f}" width="{max(0.0, width):.1f}" '
            f'height="{max(0.0, height):.1f}">{inner}</rect>'
        )

    def dot(self, x: float, y: float, size: float, kind: str, hint: str = "") -> None:
        inner = f"<title>{escape(hint)}</title>" if hint else ""
        self.parts.append(f'<circle class="{kind}" cx="{x:.1f}" cy="{y:.1f}" r="{size:.1f}">{inner}</circle>')

    def path(self, points: Sequence[tuple[float, float]], kind: str, *, closed: bool = False) -> None:
        way = " ".join(f"{'M' if not place else 'L'}{x:.1f} {y:.1f}" for place, (x, y) in enumerate(points))
        self.parts.append(f'<path class="{kind}" d="{way}{" Z" if closed else ""}"/>')

    def svg(self) -> str:
        return (
            f'<svg viewBox="0 0 {_WIDTH} {self.height:.0f}" role="img" aria-label="{escape(self.title)}">'
            + "".join(self.parts)
            + "</svg>"
        )


def _ruled(height: float, below: float, title: str) -> tuple[_Drawing, Callable[[float], float]]:
    """A drawing `height` high, ruled at each quarter, and the function that maps a share to its horizontal position."""
    drawing = _Drawing(_TOP + height + below, title)

    def at(share: float) -> float:
        return _LEFT + share * (_WIDTH - 12.0 - _LEFT)

    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        drawing.line(at(share), _TOP - 4, at(share), _TOP + height, "grid-line")
        drawing.text(at(share), _TOP - 9, f"{share:.0%}", "end" if share == 1 else "middle")
    return drawing, at


def attacks(found: Sequence[Assault]) -> str:
    """A chart of the share of wrong responses that pass under each attack, with its interval, and the share of the same
    responses that pass without it."""
    step = 19.0
    drawing, at = _ruled(step * len(found), 8, "Share of wrong responses that pass, by attack")
    for place, one in enumerate(found):
        y = _TOP + step * (place + 0.5)
        drawing.text(_LEFT - 8, y + 3.5, one.attack.name.replace("_", " "), "end", "name")
        if one.passed.value is None or one.passed.low is None or one.passed.high is None:
            drawing.text(_LEFT + 4, y + 3.5, "nothing scored")
            continue
        if one.before.value is not None:
            drawing.line(at(one.before.value), y - 7, at(one.before.value), y + 7, "before")
        drawing.line(at(one.passed.low), y, at(one.passed.high), y, "interval")
        hint = f"{one.attack.name}: {one.passed.count} of {one.passed.of} pass, {one.before.count} without the attack"
        drawing.dot(at(one.passed.value), y, 4.2, "attacked", hint)
        if one.refused and one.configured.value is not None:
            drawing.rect(at(one.configured.value) - 3.5, y - 3.5, 7, 7, "configured", "as configured")
    return drawing.svg()


class _Square(_Drawing):
    """A plot of one share against another."""

    def __init__(self, title: str, x: str, height: float = 250.0) -> None:
        super().__init__(height, title)
        self.left, self.right, self.top, self.bottom = 46.0, _WIDTH - 14.0, 12.0, height - 40.0
        for share in (0.0, 0.25, 0.5, 0.75, 1.0):
            self.line(self.left, self.y(share), self.right, self.y(share), "grid-line")
            self.text(self.left - 6, self.y(share) + 3.5, f"{share:.0%}", "end")
            self.text(self.x(share), self.bottom + 15, f"{share:g}", "middle")
        self.text((self.left + self.right) / 2, self.bottom + 32, x, "middle", "name")
        self.line(self.left, self.bottom, self.right, self.bottom, "axis")

    def x(self, share: float) -> float:
        return self.left + share * (self.right - self.left)

    def y(self, share: float) -> float:
        return self.bottom - share * (self.bottom - self.top)


def reliability(found: Sequence[Bin]) -> str:
    """The share that is right by score: on the diagonal the score is a probability."""
    plot = _Square("Share of right responses by score", "score")
    plot.line(plot.x(0), plot.y(0), plot.x(1), plot.y(1), "diagonal")
    most = max(one.rows for one in found)
    for one in found:
        if one.right.value is None or one.right.low is None or one.right.high is None:
            continue
        x = plot.x(one.score)
        plot.line(x, plot.y(one.right.low), x, plot.y(one.right.high), "interval")
        hint = f"score {one.low:g} to {one.high:g}: {one.right.count} of {one.rows} right"
        plot.dot(x, plot.y(one.right.value), 3 + 4 * (one.rows / most) ** 0.5, "attacked", hint)
    return plot.svg()


def thresholds(points: Sequence[Point], chosen: Point | None, wanted: float) -> str:
    """Precision, with its interval, and recall when responses pass from a score on."""
    plot = _Square("Precision and recall by threshold", "pass from this score on")
    known = [point for point in points if point.score > 0]
    band = _steps(plot, known, lambda point: point.precision.high)
    floor = _steps(plot, known, lambda point: point.precision.low)
    plot.path([*band, *reversed(floor)], "band", closed=True)
    plot.line(plot.left, plot.y(wanted), plot.right, plot.y(wanted), "wanted")
    plot.path(_steps(plot, known, lambda point: point.precision.value), "precision")
    plot.path(_steps(plot, known, lambda point: point.recall.value), "recall")
    if chosen is not None:
        x = plot.x(chosen.score)
        plot.line(x, plot.top, x, plot.bottom, "chosen")
        before = chosen.score < 0.8
        plot.text(x + (4 if before else -4), plot.bottom - 6, f"{chosen.score:.3g}", "start" if before else "end")
    return plot.svg()


def _steps(plot: _Square, points: Sequence[Point], value: Callable[[Point], float | None]) -> list[tuple[float, float]]:
    """The steps of a curve: a threshold between two scores passes the same responses as the higher one."""
    way: list[tuple[float, float]] = []
    before = 0.0
    for point in points:
        height = plot.y(value(point) or 0.0)
        way += [(plot.x(before), height), (plot.x(point.score), height)]
        before = point.score
    return way


def scores(rows: Sequence[Judged]) -> str:
    """A histogram of the scores: right responses upwards, wrong ones downwards."""
    counts = [[0] * BINS, [0] * BINS]
    for row in rows:
        counts[row.right][min(BINS - 1, int(row.score * BINS))] += 1
    most = max(1, *counts[0], *counts[1])
    height, left, right = 210.0, 12.0, _WIDTH - 12.0
    drawing = _Drawing(height, "Scores of right and of wrong responses")
    middle, reach, width = height / 2 - 6, height / 2 - 28, (right - left) / BINS
    for place in range(BINS):
        x = left + place * width
        for kind, sign in ((True, -1), (False, 1)):
            count = counts[kind][place]
            size = reach * count / most
            name = "right" if kind else "wrong"
            y = middle - size if sign < 0 else middle
            drawing.rect(x + 2, y, width - 4, size, f"bar {'passed' if kind else 'failed'}", f"{count} {name}")
            if count:
                drawing.text(x + width / 2, middle - size - 4 if sign < 0 else middle + size + 11, f"{count}", "middle")
    drawing.line(left, middle, right, middle, "axis")
    for share in (0.0, 0.5, 1.0):
        anchor = {0.0: "start", 0.5: "middle", 1.0: "end"}[share]
        drawing.text(left + share * (right - left), height - 3, f"{share:g}", anchor)
    return drawing.svg()


def bars(items: Sequence[tuple[str, Figure]], title: str) -> str:
    """Shares with intervals, one below another."""
    step = 26.0
    drawing, at = _ruled(step * len(items), 6, title)
    for place, (name, figure) in enumerate(items):
        y = _TOP + step * (place + 0.5)
        drawing.text(_LEFT - 8, y + 3.5, name, "end", "name")
        if figure.value is None or figure.low is None or figure.high is None:
            continue
        drawing.rect(at(0), y - 7, at(figure.value) - at(0), 14, "bar plain", f"{figure.count} of {figure.of}")
        drawing.line(at(figure.low), y, at(figure.high), y, "interval")
    return drawing.svg()
