"""The drawing of the house: each package as a frame, its rooms as boxes, imports as arrows from top to bottom."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from graphlib import TopologicalSorter
from math import ceil
from textwrap import wrap
from xml.sax.saxutils import escape

from making.house import Box, House, Part, reduced
from making.layers import Layout, arranged

COLUMNS = (
    {"rewarden_server": "server/", "rewarden_models": "server/", "rewarden_sandboxes": "sandboxes/"},
    {"rewarden_verifiers": "verifiers/", "rewarden": "client/"},
)
"""The packages as they are drawn, column by column, each with its folder."""

_STYLE = """
    .ground { fill: #f5f8fb } .frame { fill: #ffffff; stroke: #9db4cb; stroke-width: 1.5 }
    .room { fill: #e3eefa; stroke: #5c8fc4; stroke-width: 1.5 }
    .loose { fill: #f5f8fb; stroke: #9db4cb; stroke-width: 1.2 }
    text { fill: #17324d } .head { font-weight: 600 } .small { font-size: 12.5px; fill: #4a6179 }
    .line { fill: none; stroke: #6d87a1; stroke-width: 1.4 } .wide { stroke-width: 3 } .tip { fill: #6d87a1 }
    @media (prefers-color-scheme: dark) {
      .ground { fill: #131c27 } .frame { fill: #1b2735; stroke: #48617b }
      .room { fill: #1c3552; stroke: #5c8fc4 } .loose { fill: #172230; stroke: #48617b }
      text { fill: #e4edf6 } .small { fill: #a9bccf } .line { stroke: #8aa3bc } .tip { fill: #8aa3bc }
    }
"""
_TITLE = "The rooms of the four packages, and the imports between them, from top to bottom."
_MARGIN, _PAD, _HEAD, _LEAD, _LINE, _BETWEEN = 20.0, 18.0, 50.0, 20.0, 16.0, 44.0
_CHARACTERS = 26
"""In a line of a box, at most."""


@dataclass(slots=True)
class Frame:
    """A package's part of the drawing, of which left, top and width are set when all are placed."""

    house: House
    folder: str
    layout: Layout
    sizes: Mapping[int, tuple[float, float]]
    column: int
    left: float = 0.0
    top: float = 0.0
    width: float = 0.0

    @property
    def height(self) -> float:
        return self.layout.height + _HEAD + _PAD


def drawing(imports: Mapping[str, Set[str]]) -> str:
    """The drawing as SVG. imports: of every module of ours, the modules of ours that it imports."""
    columns = [
        [_frame(House(package, imports), folder, number) for package, folder in column.items()]
        for number, column in enumerate(COLUMNS)
    ]
    left = bottom = _MARGIN
    for column in columns:
        top, width = _MARGIN, max(frame.layout.width for frame in column) + 2 * _PAD
        for frame in column:
            frame.left, frame.top, frame.width = left, top, width
            top += frame.height + _BETWEEN
        bottom = max(bottom, top - _BETWEEN)
        left += width + _BETWEEN
    width, height = left - _BETWEEN + _MARGIN, bottom + _MARGIN
    frames = [frame for column in columns for frame in column]
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}"'
        " font-family=\"system-ui, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif\" font-size=\"15\""
        ' role="img" aria-labelledby="title">',
        f'  <title id="title">{_TITLE}</title>',
        "  <!-- Generated from the imports by `make docs`; do not edit. -->",
        f"  <style>{_STYLE}  </style>",
        '  <defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="8" markerHeight="8" orient="auto"'
        ' markerUnits="userSpaceOnUse"><path class="tip" d="M0 0 8 4 0 8z"/></marker>',
        '  <marker id="wide" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="15" markerHeight="15" orient="auto"'
        ' markerUnits="userSpaceOnUse"><path class="tip" d="M0 0 8 4 0 8z"/></marker></defs>',
        f'  <rect class="ground" width="{width:.0f}" height="{height:.0f}" rx="12"/>',
        *(line for frame in frames for line in _framed(frame)),
        *(_between(frames[start], frames[end]) for start, end in sorted(_packages(frames, imports))),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _packages(frames: Sequence[Frame], imports: Mapping[str, Set[str]]) -> set[tuple[int, int]]:
    """The imports between packages, by their places in `frames`, without those that follow from others."""
    place = {frame.house.package: number for number, frame in enumerate(frames)}
    packages: dict[int, set[int]] = {number: set() for number in place.values()}
    for name, found in imports.items():
        packages[place[name.split(".")[0]]] |= {place[other.split(".")[0]] for other in found}
    order = list(TopologicalSorter({start: ends - {start} for start, ends in packages.items()}).static_order())[::-1]
    rank = {number: each for each, number in enumerate(order)}
    arrows = reduced((rank[start], rank[end]) for start, ends in packages.items() for end in ends if start != end)
    return {(order[start], order[end]) for start, end in arrows}


def _frame(house: House, folder: str, column: int) -> Frame:
    sizes = {number: _size(box) for number, box in enumerate(house.boxes)}
    return Frame(house, folder, arranged(sizes, house.arrows), sizes, column)


def _words(part: Part) -> tuple[str, list[str]]:
    """The name that stands over a part of a box, and the lines below it: of a room, none but for a smaller part."""
    if part.room and 2 * len(part.modules) > part.of:
        return part.room, []
    return part.room, wrap(", ".join(part.names), _CHARACTERS)


def _size(box: Box) -> tuple[float, float]:
    width, height = 0.0, 14.0
    for head, lines in map(_words, box):
        width = max(width, 10.6 * len(head), *(7 * len(line) for line in lines))
        height += (_LEAD if head else 0) + _LINE * len(lines)
    return ceil(width) + 24, height


def _framed(frame: Frame) -> list[str]:
    inner = (frame.width - frame.layout.width) / 2
    lines = [
        f'  <g transform="translate({frame.left:.0f} {frame.top:.0f})">',
        f'    <rect class="frame" width="{frame.width:.0f}" height="{frame.height:.0f}" rx="8"/>',
        f'    <text class="head" x="{_PAD:.0f}" y="30">{frame.house.package}'
        f'<tspan class="small" dx="10">{frame.folder}</tspan></text>',
        f'    <g transform="translate({inner:.0f} {_HEAD:.0f})">',
    ]
    for points in frame.layout.arrows.values():
        lines.append(f'      <path class="line" d="{_curve(points)}" marker-end="url(#tip)"/>')
    for number, (x, y) in sorted(frame.layout.nodes.items()):
        box = frame.house.boxes[number]
        width, height = frame.sizes[number]
        kind = "room" if box[0].room else "loose"
        lines.append(
            f'      <rect class="{kind}" x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" rx="6"/>'
        )
        for head, below in map(_words, box):
            if head:
                y += _LEAD
                lines.append(f'      <text class="head" x="{x + 12:.0f}" y="{y + 4:.0f}">{escape(head)}</text>')
            for line in below:
                y += _LINE
                lines.append(f'      <text class="small" x="{x + 12:.0f}" y="{y + 5:.0f}">{escape(line)}</text>')
    return [*lines, "    </g>", "  </g>"]


def _curve(points: list[tuple[float, float]]) -> str:
    """A line through points that leaves and meets each vertically."""
    (x, y), *others = points
    text = f"M{x:.1f} {y:.1f}"
    for there, down in others:
        half = (y + down) / 2
        text += (
            f"V{down:.1f}"
            if abs(there - x) < 0.05
            else f"C{x:.1f} {half:.1f} {there:.1f} {half:.1f} {there:.1f} {down:.1f}"
        )
        x, y = there, down
    return text


def _between(start: Frame, end: Frame) -> str:
    """The arrow from one package to another: downwards in a column, else across; through the gap between columns where
    they do not stand side by side."""
    if start.column == end.column:
        x, y, line = start.left + start.width / 2, start.top + start.height, f"V{end.top:.0f}"
    else:
        x, y, line = start.left + start.width, max(start.top, end.top) + 30, f"H{end.left:.0f}"
        if y > end.top + end.height:
            line = f"H{(x + end.left) / 2:.0f}V{end.top + end.height - 30:.0f}{line}"
    return f'  <path class="line wide" d="M{x:.0f} {y:.0f}{line}" marker-end="url(#wide)"/>'
