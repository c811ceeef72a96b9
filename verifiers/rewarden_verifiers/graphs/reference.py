"""The reference of `graph`: a graph and the problem to solve on it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rewarden.errors import InvalidReference

Id = str | int
Edge = tuple[Id, Id] | tuple[Id, Id, float]
Name = Literal[
    "path",
    "shortest_path",
    "hamiltonian_path",
    "hamiltonian_cycle",
    "cycle",
    "euler_path",
    "euler_circuit",
    "topological_order",
    "components",
    "strong_components",
    "reachable",
    "bridges",
    "articulation_points",
    "clique",
    "independent_set",
    "vertex_cover",
    "dominating_set",
    "matching",
    "spanning_tree",
    "flow",
    "cut",
    "colouring",
    "isomorphism",
]

MOST_NODES = 2_000
MOST_EDGES = 20_000
MOST_MATCHED = 100
"""Nodes of a graph whose best matching is computed."""

_DIRECTED = ("topological_order", "strong_components")
_UNDIRECTED = (
    "bridges",
    "articulation_points",
    "clique",
    "independent_set",
    "vertex_cover",
    "dominating_set",
    "matching",
    "spanning_tree",
    "colouring",
)
_ENDS: Mapping[str, tuple[str, ...]] = {
    "path": ("source", "target"),
    "shortest_path": ("source", "target"),
    "flow": ("source", "target"),
    "cut": ("source", "target"),
    "reachable": ("source",),
}
_MAY_START = ("hamiltonian_path", "euler_path")


@dataclass(frozen=True, slots=True, kw_only=True)
class Other:
    """The second graph of `isomorphism`."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    edges: tuple[tuple[Id, Id], ...]
    nodes: tuple[Id, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class GraphReference:
    """A problem on a graph.

    edges: pairs of nodes, each with a weight (a length or a capacity; 1 if it has none). nodes: all nodes, if some have
    no edge. source, target: the ends of a path, a flow or a cut. colours: the number of colours that are allowed.
    other: the second graph of `isomorphism`. optimum: the best value, where computing it takes too long. exists: false
    if there is no solution.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    problem: Name
    edges: tuple[Edge, ...]
    nodes: tuple[Id, ...] | None = None
    directed: bool = False
    source: Id | None = None
    target: Id | None = None
    colours: int | None = None
    other: Other | None = None
    optimum: float | None = None
    exists: bool | None = None


@dataclass(frozen=True, eq=False)
class Graph:
    """A simple graph. weights: of each edge, from its first node to its second, and back if it is not directed."""

    nodes: Sequence[str]
    directed: bool
    weights: Mapping[tuple[str, str], float]
    after: Mapping[str, Sequence[str]] = field(repr=False)

    @property
    def size(self) -> int:
        """The number of edges."""
        return len(self.weights) if self.directed else len(self.weights) // 2

    def edges(self) -> Iterator[tuple[str, str]]:
        """Every edge once."""
        places = {node: place for place, node in enumerate(self.nodes)}
        for one, other in self.weights:
            if self.directed or places[one] < places[other]:
                yield one, other


def name_of(node: Id) -> str:
    """The text by which a node is compared."""
    return str(node).strip()


def graph_of(edges: Sequence[Edge], nodes: Sequence[Id] | None, directed: bool, path: str) -> Graph:
    """The graph of these edges. Raises InvalidReference for a loop, a repeated edge, or a node that is not listed."""
    names = [name_of(node) for node in nodes] if nodes is not None else []
    if len(set(names)) < len(names) or "" in names:
        raise InvalidReference("a node is empty or listed twice", path=f"{path}.nodes")
    known = dict.fromkeys(names)
    weights: dict[tuple[str, str], float] = {}
    for place, edge in enumerate(edges):
        one, other = name_of(edge[0]), name_of(edge[1])
        weight = float(edge[2]) if len(edge) == 3 else 1.0
        at = f"{path}.edges[{place}]"
        for node in (one, other):
            if not node or (nodes is not None and node not in known):
                raise InvalidReference(f"the node {node[:80]!r} is not one of the nodes", path=at)
            known[node] = None
        if one == other or (one, other) in weights:
            raise InvalidReference("an edge joins two nodes, and is listed once", path=at)
        if not math.isfinite(weight) or weight < 0:
            raise InvalidReference(f"the weight {weight} must be finite and at least 0", path=at)
        weights[one, other] = weight
        if not directed:
            weights[other, one] = weight
    if not known or len(known) > MOST_NODES or len(edges) > MOST_EDGES:
        raise InvalidReference(f"a graph has 1 to {MOST_NODES} nodes and at most {MOST_EDGES} edges", path=path)
    after: dict[str, list[str]] = {node: [] for node in known}
    for one, other in weights:
        after[one].append(other)
    return Graph(tuple(known), directed, weights, after)


@dataclass(frozen=True, eq=False)
class Question:
    """A reference, read: the graph, the problem, and its ends."""

    problem: Name
    graph: Graph
    source: str
    target: str
    colours: int | None
    other: Graph | None
    optimum: float | None
    exists: bool | None


def question_of(reference: GraphReference) -> Question:
    """The reference, read. Raises InvalidReference, naming the field, where the problem cannot be asked."""
    problem = reference.problem
    if problem in _DIRECTED and not reference.directed:
        raise InvalidReference(f"{problem} needs a directed graph", path="reference.directed")
    if problem in _UNDIRECTED and reference.directed:
        raise InvalidReference(f"{problem} needs an undirected graph", path="reference.directed")
    graph = graph_of(reference.edges, reference.nodes, reference.directed, "reference")
    ends: dict[str, str] = {}
    for end, given in (("source", reference.source), ("target", reference.target)):
        ends[end] = "" if given is None else name_of(given)
        needed = end in _ENDS.get(problem, ())
        if given is None and needed:
            raise InvalidReference(f"{problem} needs a {end}", path=f"reference.{end}")
        if given is not None and not needed and problem not in _MAY_START:
            raise InvalidReference(f"{problem} has no {end}", path=f"reference.{end}")
        if given is not None and ends[end] not in graph.after:
            raise InvalidReference(f"the {end} {ends[end][:80]!r} is not a node", path=f"reference.{end}")
    if ends["source"] and ends["source"] == ends["target"]:
        raise InvalidReference("source and target must differ", path="reference.target")
    if (problem == "isomorphism") != (reference.other is not None):
        raise InvalidReference("isomorphism needs other, and no other problem takes it", path="reference.other")
    if reference.colours is not None and (problem != "colouring" or not 1 <= reference.colours <= MOST_NODES):
        raise InvalidReference("only colouring takes colours, which must be at least 1", path="reference.colours")
    if reference.optimum is not None and not (math.isfinite(reference.optimum) and reference.optimum >= 0):
        raise InvalidReference("optimum must be finite and at least 0", path="reference.optimum")
    other = reference.other
    return Question(
        problem,
        graph,
        ends["source"],
        ends["target"],
        reference.colours,
        graph_of(other.edges, other.nodes, reference.directed, "reference.other") if other is not None else None,
        reference.optimum,
        reference.exists,
    )
