"""The layout of a graph without cycles: nodes in layers, every arrow downwards, few crossings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from math import floor
from statistics import fmean, mean

GAP, DROP = 16.0, 34.0
"""The space between neighbours in a layer, and between layers."""
_BEND = 6.0
"""The width of the place in a layer that an arrow passes."""

_STRAIGHT = 4.0
"""The pull of the part of an arrow between two such places, against that of an arrow between boxes."""


@dataclass(slots=True)
class Layout:
    """The place of everything. nodes: the upper left corner of each; arrows: the points that each passes."""

    width: float
    height: float
    nodes: dict[int, tuple[float, float]] = field(default_factory=dict)
    arrows: dict[tuple[int, int], list[tuple[float, float]]] = field(default_factory=dict)


def arranged(sizes: Mapping[int, tuple[float, float]], arrows: Iterable[tuple[int, int]]) -> Layout:
    """The layout of nodes of these widths and heights. Arrows run from smaller numbers to larger ones."""
    arrows = sorted(arrows)
    level = dict.fromkeys(sorted(sizes), 0)
    for start, end in arrows:
        level[end] = max(level[end], level[start] + 1)
    widths = {node: width for node, (width, _) in sizes.items()}
    layers: list[list[int]] = [
        [node for node in level if level[node] == each] for each in range(max(level.values()) + 1)
    ]
    paths = {}
    for start, end in arrows:  # an arrow over several layers keeps a place in each of those between
        path = [start]
        for each in range(level[start] + 1, level[end]):
            bend = len(widths)
            widths[bend] = _BEND
            layers[each].append(bend)
            path.append(bend)
        paths[start, end] = [*path, end]
    steps = [step for path in paths.values() for step in pairwise(path)]
    layers = _ordered(layers, steps)
    centre = _centred(layers, steps, widths)
    left = min(centre[node] - widths[node] / 2 for node in centre)
    right = max(centre[node] + widths[node] / 2 for node in centre)
    layout = Layout(right - left, 0.0)
    tops, bottoms = [], []
    for layer in layers:
        height = max((sizes[node][1] for node in layer if node in sizes), default=0.0)
        tops.append(layout.height)
        bottoms.append(layout.height + height)
        layout.height += height + DROP
        for node in layer:
            if node in sizes:
                layout.nodes[node] = (centre[node] - widths[node] / 2 - left, tops[-1] + (height - sizes[node][1]) / 2)
    layout.height -= DROP
    for (start, end), path in paths.items():
        exits = sorted((each for each in paths if each[0] == start), key=lambda each: centre[paths[each][1]])
        entries = sorted((each for each in paths if each[1] == end), key=lambda each: centre[paths[each][-2]])
        (start_left, start_top), (end_left, end_top) = layout.nodes[start], layout.nodes[end]
        points = [(start_left + _port(exits, (start, end), widths[start]), start_top + sizes[start][1])]
        for offset, bend in enumerate(path[1:-1], 1):
            x, each = centre[bend] - left, level[start] + offset
            points += [(x, tops[each]), (x, bottoms[each])]
        points.append((end_left + _port(entries, (start, end), widths[end]), end_top))
        layout.arrows[start, end] = points
    return layout


def _port(arrows: Sequence[tuple[int, int]], arrow: tuple[int, int], width: float) -> float:
    """Returns where an arrow meets the edge of a node: the arrows share its middle part evenly."""
    return width * (0.5 + 0.6 * ((arrows.index(arrow) + 0.5) / len(arrows) - 0.5))


def _ordered(layers: list[list[int]], steps: Sequence[tuple[int, int]]) -> list[list[int]]:
    """The layers, each in the order with the fewest crossings that sweeping down and up has found."""
    best, fewest = layers, _crossings(layers, steps)
    for sweep in range(24):
        down = sweep % 2 == 0
        beside = _neighbours(steps, above=down)
        layers = layers if down else layers[::-1]
        swept = layers[:1]
        for layer in layers[1:]:
            swept.append(_sorted(layer, swept[-1], beside))
        layers = swept if down else swept[::-1]
        if (found := _crossings(layers, steps)) < fewest:
            best, fewest = layers, found
    return best


def _sorted(layer: Sequence[int], before: Sequence[int], beside: Mapping[int, Sequence[int]]) -> list[int]:
    """A layer, each node at the mean place of its neighbours in the layer before."""
    place = {node: number for number, node in enumerate(before)}
    wanted = {
        node: mean([place[other] for other in beside.get(node, ())] or [number]) for number, node in enumerate(layer)
    }
    return sorted(layer, key=lambda node: wanted[node])


def _neighbours(steps: Iterable[tuple[int, int]], *, above: bool) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for start, end in steps:
        node, other = (end, start) if above else (start, end)
        found.setdefault(node, []).append(other)
    return found


def _crossings(layers: Sequence[Sequence[int]], steps: Sequence[tuple[int, int]]) -> int:
    place = {node: number for layer in layers for number, node in enumerate(layer)}
    level = {node: number for number, layer in enumerate(layers) for node in layer}
    count = 0
    for number, (start, end) in enumerate(steps):
        for other, another in steps[:number]:
            if level[start] == level[other]:
                count += (place[start] - place[other]) * (place[end] - place[another]) < 0
    return count


def _centred(
    layers: Sequence[Sequence[int]], steps: Sequence[tuple[int, int]], widths: Mapping[int, float]
) -> dict[int, float]:
    """The middle of each node: near the middles of its neighbours, in the order of its layer."""
    above, below = _neighbours(steps, above=True), _neighbours(steps, above=False)
    centre: dict[int, float] = {}
    for layer in layers:
        centre |= _spread(layer, dict.fromkeys(layer, 0.0), widths)
    for sweep in range(60):
        for layer in layers if sweep % 2 == 0 else reversed(layers):
            wanted = {}
            for node in layer:
                beside = [*above.get(node, ()), *below.get(node, ())]
                # An arrow that passes several layers had better be straight than near the boxes that it joins.
                pull = [_STRAIGHT if widths[node] == widths[other] == _BEND else 1.0 for other in beside]
                wanted[node] = fmean([centre[other] for other in beside], pull) if beside else centre[node]
            centre |= _spread(layer, wanted, widths)
    # Whole numbers, halves upwards with room for error: the last digits of sums differ between versions of Python.
    return {node: floor(place + 0.5 + 1e-6) for node, place in centre.items()}


def _spread(layer: Sequence[int], wanted: Mapping[int, float], widths: Mapping[int, float]) -> dict[int, float]:
    """The places nearest to the wanted ones, in least squares, at which neighbours keep their distance."""
    offset, shift = 0.0, {}
    for before, node in zip([None, *layer], layer, strict=False):
        offset += 0.0 if before is None else (widths[before] + widths[node]) / 2 + GAP
        shift[node] = offset
    blocks: list[list[int]] = []
    for node in layer:
        blocks.append([node])
        while len(blocks) > 1 and _level(blocks[-2], wanted, shift) > _level(blocks[-1], wanted, shift):
            blocks[-2:] = [blocks[-2] + blocks[-1]]
    return {node: _level(block, wanted, shift) + shift[node] for block in blocks for node in block}


def _level(block: Sequence[int], wanted: Mapping[int, float], shift: Mapping[int, float]) -> float:
    return mean(wanted[node] - shift[node] for node in block)
