"""The rules of each problem: the value of a solution, or the rule that it breaks."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from itertools import pairwise

from rewarden_verifiers.graphs import written
from rewarden_verifiers.graphs.reference import Question

_CLOSE = 1e-9
"""Relative tolerance of sums of weights."""


class Infeasible(Exception):
    """A solution breaks a rule; the text says which."""


def value_of(question: Question, text: str) -> float:
    """The value of the solution in a text: a length, a weight, a number of nodes, colours or edges, a flow.

    Raises Unread if it cannot be read, Infeasible if it breaks a rule.
    """
    return _CHECKS[question.problem](question, text)


def same(one: float, other: float) -> bool:
    """Returns whether two values are equal but for rounding."""
    return math.isclose(one, other, rel_tol=_CLOSE, abs_tol=_CLOSE)


def set_of(question: Question, text: str) -> frozenset[str]:
    """The nodes of a set. Raises Unread, and Infeasible for unknown or repeated nodes."""
    # Attack: a set made larger by a node that is in it twice.
    return frozenset(_nodes(question, text, distinct=True))


def edges_of(question: Question, text: str) -> frozenset[tuple[str, str]]:
    """The edges of a set, each as the graph has it. Raises Unread, and Infeasible for unknown or repeated edges."""
    graph = question.graph
    found: list[tuple[str, str]] = []
    for one, other in written.edges(text, graph.after):
        if (one, other) not in graph.weights:
            raise Infeasible(f"there is no edge from {_told(one)} to {_told(other)}")
        found.append((one, other) if graph.directed or one < other else (other, one))
    if len(set(found)) < len(found):
        raise Infeasible("an edge is listed twice")
    return frozenset(found)


def groups_of(question: Question, text: str) -> frozenset[frozenset[str]]:
    """The groups of nodes. Raises Unread, and Infeasible unless each node is in one group."""
    found = written.groups(text)
    listed = [node for group in found for node in group]
    if sorted(listed) != sorted(question.graph.nodes):
        raise Infeasible("every node must be in one group")
    return frozenset(map(frozenset, found))


def _told(node: str) -> str:
    return repr(node[:40])


def _nodes(question: Question, text: str, *, distinct: bool = False) -> list[str]:
    found = written.nodes(text, question.graph.after)
    for node in found:
        if node not in question.graph.after:
            raise Infeasible(f"{_told(node)} is not a node")
    if distinct and len(set(found)) < len(found):
        raise Infeasible("a node is listed twice")
    return found


def _walk(question: Question, found: Sequence[str]) -> float:
    """The weight of a walk, which follows edges from one end to the other."""
    graph = question.graph
    if question.source and found[0] != question.source:
        raise Infeasible(f"it does not begin at {_told(question.source)}")
    if question.target and found[-1] != question.target:
        raise Infeasible(f"it does not end at {_told(question.target)}")
    for one, other in pairwise(found):
        if (one, other) not in graph.weights:
            raise Infeasible(f"there is no edge from {_told(one)} to {_told(other)}")
    return math.fsum(graph.weights[pair] for pair in pairwise(found))


def _path(question: Question, text: str) -> float:
    return _walk(question, _nodes(question, text, distinct=True))


def _hamiltonian_path(question: Question, text: str) -> float:
    found = _nodes(question, text, distinct=True)
    if len(found) < len(question.graph.nodes):
        raise Infeasible("it does not visit every node")
    return _walk(question, found)


def _closed(question: Question, text: str) -> list[str]:
    """The nodes of a cycle, the first one again at the end."""
    found = _nodes(question, text)
    if len(found) < 2 or found[0] != found[-1]:
        found.append(found[0])
    if len(set(found)) < len(found) - 1:
        raise Infeasible("a node is visited twice")
    # Attack: an edge there and back as a cycle.
    if len(found) - 1 < (2 if question.graph.directed else 3):
        raise Infeasible("it is too short for a cycle")
    return found


def _cycle(question: Question, text: str) -> float:
    return _walk(question, _closed(question, text))


def _hamiltonian_cycle(question: Question, text: str) -> float:
    found = _closed(question, text)
    if len(found) - 1 < len(question.graph.nodes):
        raise Infeasible("it does not visit every node")
    return _walk(question, found)


def _euler_path(question: Question, text: str) -> float:
    found = _nodes(question, text)
    weight = _walk(question, found)
    graph = question.graph
    used = [pair if graph.directed else tuple(sorted(pair)) for pair in pairwise(found)]
    if len(set(used)) < len(used):
        raise Infeasible("an edge is used twice")
    if len(used) < graph.size:
        raise Infeasible("an edge is not used")
    return weight


def _euler_circuit(question: Question, text: str) -> float:
    weight = _euler_path(question, text)
    found = written.nodes(text, question.graph.after)
    if found[0] != found[-1]:
        raise Infeasible("it does not return to its beginning")
    return weight


def _topological_order(question: Question, text: str) -> float:
    found = _nodes(question, text, distinct=True)
    if len(found) < len(question.graph.nodes):
        raise Infeasible("a node is missing")
    place = {node: at for at, node in enumerate(found)}
    for one, other in question.graph.weights:
        if place[one] > place[other]:
            raise Infeasible(f"{_told(one)} must come before {_told(other)}")
    return 0.0


def _clique(question: Question, text: str) -> float:
    found = set_of(question, text)
    for one in found:
        missing = found - {one, *question.graph.after[one]}
        if missing:
            raise Infeasible(f"{_told(one)} and {_told(min(missing))} are not joined")
    return float(len(found))


def _independent_set(question: Question, text: str) -> float:
    found = set_of(question, text)
    for one in found:
        near = found.intersection(question.graph.after[one])
        if near:
            raise Infeasible(f"{_told(one)} and {_told(min(near))} are joined")
    return float(len(found))


def _vertex_cover(question: Question, text: str) -> float:
    found = set_of(question, text)
    for one, other in question.graph.weights:
        if one not in found and other not in found:
            raise Infeasible(f"the edge from {_told(one)} to {_told(other)} is not covered")
    return float(len(found))


def _dominating_set(question: Question, text: str) -> float:
    found = set_of(question, text)
    for node in question.graph.nodes:
        if node not in found and not found.intersection(question.graph.after[node]):
            raise Infeasible(f"{_told(node)} is not dominated")
    return float(len(found))


def _matching(question: Question, text: str) -> float:
    found = edges_of(question, text)
    ends = [node for edge in found for node in edge]
    if len(set(ends)) < len(ends):
        raise Infeasible("two edges share a node")
    return math.fsum(question.graph.weights[edge] for edge in found)


def _spanning_tree(question: Question, text: str) -> float:
    found = edges_of(question, text)
    if len(found) != len(question.graph.nodes) - 1:
        raise Infeasible("a spanning tree has one edge fewer than there are nodes")
    group = {node: node for node in question.graph.nodes}
    for one, other in found:
        one, other = _root(group, one), _root(group, other)
        if one == other:
            raise Infeasible("the edges have a cycle")
        group[one] = other
    return math.fsum(question.graph.weights[edge] for edge in found)


def _root(group: dict[str, str], node: str) -> str:
    while group[node] != node:
        group[node] = node = group[group[node]]
    return node


def _flow(question: Question, text: str) -> float:
    graph = question.graph
    given: dict[tuple[str, str], float] = {}
    for one, other, amount in written.flows(text, graph.after):
        if (one, other) not in graph.weights:
            raise Infeasible(f"there is no edge from {_told(one)} to {_told(other)}")
        if (one, other) in given or (not graph.directed and (other, one) in given):
            raise Infeasible("an edge is listed twice")
        if not 0 <= amount <= graph.weights[one, other] * (1 + _CLOSE):
            raise Infeasible(f"the flow from {_told(one)} to {_told(other)} is beyond the capacity")
        given[one, other] = amount
    net = dict.fromkeys(graph.nodes, 0.0)
    for (one, other), amount in given.items():
        net[one] -= amount
        net[other] += amount
    scale = max(1.0, sum(given.values()))
    for node, amount in net.items():
        if node not in (question.source, question.target) and abs(amount) > _CLOSE * scale:
            raise Infeasible(f"the flow into {_told(node)} differs from the flow out of it")
    return net[question.target]


def _cut(question: Question, text: str) -> float:
    side = set_of(question, text)
    if question.source not in side or question.target in side:
        raise Infeasible("the nodes are those on the source's side: with the source, without the target")
    return math.fsum(
        weight for (one, other), weight in question.graph.weights.items() if one in side and other not in side
    )


def _colouring(question: Question, text: str) -> float:
    found = written.assignment(text)
    graph = question.graph
    if found.keys() != graph.after.keys():
        raise Infeasible("every node needs a colour, and nothing else has one")
    for one, other in graph.weights:
        if found[one] == found[other]:
            raise Infeasible(f"{_told(one)} and {_told(other)} are joined and have one colour")
    count = len(set(found.values()))
    if question.colours is not None and count > question.colours:
        raise Infeasible(f"it has {count} colours; {question.colours} are allowed")
    return float(count)


def _isomorphism(question: Question, text: str) -> float:
    found = written.assignment(text)
    graph, other = question.graph, question.other
    assert other is not None
    if found.keys() != graph.after.keys():
        raise Infeasible("every node of the first graph needs one of the second")
    if sorted(found.values()) != sorted(other.nodes):
        raise Infeasible("every node of the second graph must be given once")
    for one, two in graph.weights:
        if (found[one], found[two]) not in other.weights:
            raise Infeasible(f"the edge from {_told(one)} to {_told(two)} is not kept")
    if len(graph.weights) != len(other.weights):
        raise Infeasible("the second graph has further edges")
    return 0.0


_CHECKS: Mapping[str, Callable[[Question, str], float]] = {
    "path": _path,
    "shortest_path": _path,
    "hamiltonian_path": _hamiltonian_path,
    "hamiltonian_cycle": _hamiltonian_cycle,
    "cycle": _cycle,
    "euler_path": _euler_path,
    "euler_circuit": _euler_circuit,
    "topological_order": _topological_order,
    "clique": _clique,
    "independent_set": _independent_set,
    "vertex_cover": _vertex_cover,
    "dominating_set": _dominating_set,
    "matching": _matching,
    "spanning_tree": _spanning_tree,
    "flow": _flow,
    "cut": _cut,
    "colouring": _colouring,
    "isomorphism": _isomorphism,
}
