"""Solves the problems that can be solved: whether there is a solution, its best value, or the one right answer.

networkx is imported on first use.
"""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidReference
from rewarden_verifiers.graphs import exact
from rewarden_verifiers.graphs.checks import same
from rewarden_verifiers.graphs.reference import MOST_MATCHED, Graph, Question

_ROUNDS = 4
"""Rounds in which the nodes of two graphs are told apart by their neighbours."""

Truth = frozenset[str] | frozenset[tuple[str, str]] | frozenset[frozenset[str]]

LARGEST = frozenset({"clique", "independent_set", "matching", "flow"})
SMALLEST = frozenset({"shortest_path", "vertex_cover", "dominating_set", "spanning_tree", "cut", "colouring"})
"""Problems whose solutions have a value that is to be large, or small."""


@dataclass(frozen=True, eq=False)
class Solved:
    """A question with its answer.

    exists: there is a solution. optimum: the best value; None where every solution is right, or one answer is. trivial:
    the value that a solution has without effort. truth: the one right answer.
    """

    question: Question
    exists: bool
    optimum: float | None = None
    trivial: float | None = None
    truth: Truth | None = None

    @property
    def number(self) -> float | None:
        """The number that answers the question: the best value, or the size of the one right answer."""
        return float(len(self.truth)) if self.truth is not None else self.optimum


def solved(question: Question) -> Solved:
    """The question with its answer. Raises InvalidReference if the reference is wrong, or lacks what takes too long to
    compute.
    """
    if question.problem in _SETS:
        if question.optimum is not None or question.exists is not None:
            raise InvalidReference(f"{question.problem} is computed: leave out optimum and exists", path="reference")
        return Solved(question, exists=True, truth=_SETS[question.problem](question))
    exists = _exists(question)
    if question.optimum is not None and (question.problem not in LARGEST | SMALLEST or question.colours is not None):
        raise InvalidReference(f"{question.problem} has no best value here", path="reference.optimum")
    if not exists:
        if question.optimum is not None:
            raise InvalidReference("there is no solution, so there is no optimum", path="reference.optimum")
        return Solved(question, exists=False)
    if question.problem not in LARGEST | SMALLEST or question.colours is not None:
        return Solved(question, exists=True)
    return Solved(question, exists=True, optimum=_optimum(question), trivial=_trivial(question))


def load() -> None:
    """Import networkx."""
    import networkx  # noqa: F401


def _exists(question: Question) -> bool:
    """Returns whether there is a solution: computed, or as the reference says, by default yes."""
    computed = _EXISTENCE[question.problem](question) if question.problem in _EXISTENCE else None
    if question.problem == "colouring" and question.colours is None:
        computed = True
    if computed is None:
        return question.exists is not False
    if question.exists is not None and question.exists is not computed:
        raise InvalidReference(f"exists is {question.exists}, but it is {computed}", path="reference.exists")
    return computed


def _optimum(question: Question) -> float:
    given = question.optimum
    if given is not None and question.problem not in _QUICK:
        return given
    try:
        best = float((_QUICK | _SEARCHED)[question.problem](question))
    except exact.TooHard:
        if given is not None:
            return given
        raise InvalidReference(
            f"the best {question.problem} of this graph takes too long to compute: give optimum",
            path="reference.optimum",
        ) from None
    if given is not None and not same(best, given):
        raise InvalidReference(f"optimum is {given}, but it is {best}", path="reference.optimum")
    return best


def _trivial(question: Question) -> float | None:
    """The value of a solution that needs no thought, where there is one: it earns nothing."""
    problem, graph = question.problem, question.graph
    if problem in ("vertex_cover", "dominating_set", "colouring"):
        return float(len(graph.nodes))
    if problem in ("clique", "independent_set"):
        return 1.0
    if problem == "cut":
        return max(
            _weight(graph, lambda one, _: one == question.source),
            _weight(graph, lambda _, other: other == question.target),
        )
    return 0.0 if problem in LARGEST else None


def _weight(graph: Graph, counts: Callable[[str, str], bool]) -> float:
    return math.fsum(weight for (one, other), weight in graph.weights.items() if counts(one, other))


def _distance(question: Question) -> float:
    """The length of the shortest path; infinite if there is none."""
    graph = question.graph
    best = {question.source: 0.0}
    queue = [(0.0, question.source)]
    while queue:
        distance, node = heapq.heappop(queue)
        if node == question.target:
            return distance
        if distance > best[node]:
            continue
        for near in graph.after[node]:
            length = distance + graph.weights[node, near]
            if length < best.get(near, math.inf):
                best[near] = length
                heapq.heappush(queue, (length, near))
    return math.inf


def _reached(graph: Graph, start: Iterable[str], before: bool = False) -> frozenset[str]:
    after: Mapping[str, Sequence[str]] = graph.after
    if before and graph.directed:
        backwards: dict[str, list[str]] = {node: [] for node in graph.nodes}
        for one, other in graph.weights:
            backwards[one].append(other)
            backwards[other].append(one)
        after = backwards
    found = set(start)
    waiting = list(found)
    while waiting:
        for near in after[waiting.pop()]:
            if near not in found:
                found.add(near)
                waiting.append(near)
    return frozenset(found)


def _components(question: Question) -> frozenset[frozenset[str]]:
    """The components; those of a directed graph without regard to directions."""
    return frozenset(_parts(question.graph))


def _parts(graph: Graph) -> list[frozenset[str]]:
    left = dict.fromkeys(graph.nodes)
    parts = []
    while left:
        parts.append(_reached(graph, [next(iter(left))], before=True))
        for node in parts[-1]:
            del left[node]
    return parts


def _acyclic(graph: Graph) -> bool:
    if not graph.directed:
        return graph.size == len(graph.nodes) - len(_parts(graph))
    waits = dict.fromkeys(graph.nodes, 0)
    for _, other in graph.weights:
        waits[other] += 1
    ready = [node for node, count in waits.items() if not count]
    done = 0
    while ready:
        done += 1
        for near in graph.after[ready.pop()]:
            waits[near] -= 1
            if not waits[near]:
                ready.append(near)
    return done == len(graph.nodes)


def _euler(question: Question, circuit: bool) -> bool:
    graph = question.graph
    if sum(any(graph.after[node] for node in part) for part in _parts(graph)) != 1:
        return False  # no edge at all, or edges apart from each other
    if not graph.directed:
        odd = {node for node in graph.nodes if len(graph.after[node]) % 2}
        ends = {end for end in (question.source, question.target) if end}
        if not odd:  # the walk ends where it begins
            return len(ends) < 2 and all(graph.after[end] for end in ends)
        return not circuit and len(odd) == 2 and ends <= odd
    surplus = {node: len(graph.after[node]) for node in graph.nodes}
    for _, other in graph.weights:
        surplus[other] -= 1
    uneven = {node: count for node, count in surplus.items() if count}
    if not uneven:
        ends = {end for end in (question.source, question.target) if end}
        return len(ends) < 2 and all(graph.after[end] for end in ends)
    start = next((node for node, count in uneven.items() if count == 1), None)
    end = next((node for node, count in uneven.items() if count == -1), None)
    if circuit or len(uneven) != 2 or start is None or end is None:
        return False
    return question.source in ("", start) and question.target in ("", end)


def _two_colourable(question: Question) -> bool | None:
    """Returns whether one or two colours are enough; None for more."""
    graph = question.graph
    if question.colours is None or question.colours > 2:
        return None if (question.colours or 0) < len(graph.nodes) else True
    if question.colours == 1:
        return not graph.weights
    side: dict[str, bool] = {}
    for first in graph.nodes:
        if first in side:
            continue
        side[first] = True
        waiting = [first]
        while waiting:
            node = waiting.pop()
            for near in graph.after[node]:
                if near not in side:
                    side[near] = not side[node]
                    waiting.append(near)
                elif side[near] == side[node]:
                    return False
    return True


def _maybe_isomorphic(question: Question) -> bool | None:
    """False where degrees, or those of the nodes around, differ; None if they do not."""
    graph, other = question.graph, question.other
    assert other is not None
    known: dict[Any, int] = {}
    marks = [dict.fromkeys(one.nodes, 0) for one in (graph, other)]
    before = [_before(one) for one in (graph, other)]
    for _ in range(_ROUNDS):
        for place, one in enumerate((graph, other)):
            old = marks[place]
            marks[place] = {
                node: known.setdefault(
                    (
                        old[node],
                        tuple(sorted(old[near] for near in one.after[node])),
                        tuple(sorted(old[near] for near in before[place][node])),
                    ),
                    len(known) + 1,
                )
                for node in one.nodes
            }
        if sorted(marks[0].values()) != sorted(marks[1].values()):
            return False
    return None


def _before(graph: Graph) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {node: [] for node in graph.nodes}
    for one, other in graph.weights:
        found[other].append(one)
    return found


def _network(graph: Graph) -> Any:
    import networkx

    made = networkx.DiGraph() if graph.directed else networkx.Graph()
    made.add_nodes_from(graph.nodes)
    made.add_weighted_edges_from((one, other, weight) for (one, other), weight in graph.weights.items())
    return made


def _tree(question: Question) -> float:
    import networkx

    tree = networkx.minimum_spanning_edges(_network(question.graph), data=True)
    return math.fsum(data["weight"] for _, _, data in tree)


def _best_matching(question: Question) -> float:
    import networkx

    if len(question.graph.nodes) > MOST_MATCHED:
        raise exact.TooHard
    found = networkx.max_weight_matching(_network(question.graph))
    return math.fsum(question.graph.weights[edge] for edge in found)


def _best_flow(question: Question) -> float:
    import networkx

    return float(networkx.maximum_flow_value(_network(question.graph), question.source, question.target, "weight"))


def _bridges(question: Question) -> frozenset[tuple[str, str]]:
    import networkx

    return frozenset((min(edge), max(edge)) for edge in networkx.bridges(_network(question.graph)))


def _articulation_points(question: Question) -> frozenset[str]:
    import networkx

    return frozenset(networkx.articulation_points(_network(question.graph)))


def _strong(question: Question) -> frozenset[frozenset[str]]:
    import networkx

    return frozenset(map(frozenset, networkx.strongly_connected_components(_network(question.graph))))


_EXISTENCE: Mapping[str, Callable[[Question], bool | None]] = {
    "path": lambda question: question.target in _reached(question.graph, [question.source]),
    "shortest_path": lambda question: question.target in _reached(question.graph, [question.source]),
    "cycle": lambda question: not _acyclic(question.graph),
    "topological_order": lambda question: _acyclic(question.graph),
    "euler_path": lambda question: _euler(question, circuit=False),
    "euler_circuit": lambda question: _euler(question, circuit=True),
    "spanning_tree": lambda question: len(_parts(question.graph)) == 1,
    "colouring": _two_colourable,
    "isomorphism": _maybe_isomorphic,
    **dict.fromkeys(LARGEST | {"vertex_cover", "dominating_set", "cut"}, lambda _: True),
}
"""Tests of whether there is a solution; they return None if that is not known."""

_SETS: Mapping[str, Callable[[Question], Truth]] = {
    "components": _components,
    "strong_components": _strong,
    "reachable": lambda question: _reached(question.graph, [question.source]),
    "bridges": _bridges,
    "articulation_points": _articulation_points,
}

_QUICK: dict[str, Callable[[Question], float]] = {
    "shortest_path": _distance,
    "spanning_tree": _tree,
    "matching": _best_matching,
    "flow": _best_flow,
    "cut": _best_flow,
}

_SEARCHED: dict[str, Callable[[Question], float]] = {
    "clique": lambda question: exact.clique_size(question.graph),
    "independent_set": lambda question: exact.clique_size(question.graph, complement=True),
    "vertex_cover": lambda question: len(question.graph.nodes) - exact.clique_size(question.graph, complement=True),
    "dominating_set": lambda question: exact.domination(question.graph),
    "colouring": lambda question: exact.chromatic_number(question.graph),
}
