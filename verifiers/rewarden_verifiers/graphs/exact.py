"""Best values that take exponential time, by searches with a bound on their steps."""

from __future__ import annotations

from itertools import combinations

from rewarden_verifiers.graphs.reference import Graph

MOST_STEPS = 500_000
"""Nodes and edges that a search looks at: about half a second."""
MOST_SEARCHED = 400
"""Nodes of a graph that is searched: each is a call deeper."""


class TooHard(Exception):
    """The search would take more than its steps."""


class _Steps:
    def __init__(self, graph: Graph) -> None:
        if len(graph.nodes) > MOST_SEARCHED:
            raise TooHard
        self.left = MOST_STEPS

    def take(self, count: int) -> None:
        self.left -= count
        if self.left < 0:
            raise TooHard


def clique_size(graph: Graph, *, complement: bool = False) -> int:
    """The number of nodes of the largest clique; with complement, of the largest independent set. Raises TooHard."""
    steps, best = _Steps(graph), 0
    places = {node: place for place, node in enumerate(graph.nodes)}
    everything = (1 << len(places)) - 1
    near = [0] * len(places)
    for one, other in graph.weights:
        near[places[one]] |= 1 << places[other]
    if complement:
        near = [everything & ~mask & ~(1 << place) for place, mask in enumerate(near)]

    def grow(size: int, left: int) -> None:
        nonlocal best
        steps.take(1)
        best = max(best, size)
        while left and size + left.bit_count() > best:
            steps.take(left.bit_count())
            # The candidate with the most neighbours leaves the fewest for later.
            chosen = max(_bits(left), key=lambda place: (near[place] & left).bit_count())
            if (near[chosen] | 1 << chosen) & left == left:
                grow(size + 1, left & near[chosen])
                return
            grow(size + 1, left & near[chosen])
            left &= ~(1 << chosen)

    grow(0, everything)
    return best


def domination(graph: Graph) -> int:
    """The number of nodes of the smallest dominating set. Raises TooHard."""
    steps = _Steps(graph)
    places = {node: place for place, node in enumerate(graph.nodes)}
    covers = [1 << place for place in range(len(places))]
    for one, other in graph.weights:
        covers[places[one]] |= 1 << places[other]
    everything = (1 << len(places)) - 1
    for size in range(1, len(places) + 1):
        for chosen in combinations(covers, size):
            steps.take(size)
            covered = 0
            for mask in chosen:
                covered |= mask
            if covered == everything:
                return size
    raise TooHard  # not reached: all nodes dominate


def chromatic_number(graph: Graph) -> int:
    """The least number of colours. Raises TooHard."""
    steps = _Steps(graph)
    for colours in range(1, len(graph.nodes) + 1):
        if _colourable(graph, colours, {}, steps):
            return colours
    raise TooHard  # not reached: as many colours as nodes are enough


def _colourable(graph: Graph, colours: int, given: dict[str, int], steps: _Steps) -> bool:
    free = [node for node in graph.nodes if node not in given]
    steps.take(1 + len(graph.nodes) + graph.size // 4)
    if not free:
        return True
    node = max(free, key=lambda one: len({given[near] for near in graph.after[one] if near in given}))
    taken = {given[near] for near in graph.after[node] if near in given}
    # One new colour stands for all new ones.
    for colour in range(min(colours, max(given.values(), default=-1) + 2)):
        if colour not in taken:
            given[node] = colour
            if _colourable(graph, colours, given, steps):
                return True
            del given[node]
    return False


def _bits(mask: int) -> list[int]:
    found = []
    while mask:
        low = mask & -mask
        found.append(low.bit_length() - 1)
        mask ^= low
    return found
