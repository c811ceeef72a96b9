"""`graph`: agreement with networkx and with brute force, forms of answers, and bounds."""

from __future__ import annotations

import itertools
import json
import random
from contextlib import suppress
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.graphs import written
from rewarden_verifiers.graphs.graph import GraphParams, graph, prepare
from rewarden_verifiers.graphs.reference import GraphReference
from rewarden_verifiers.graphs.written import Unread
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_reference
from tests.verifiers.counting import HOSTILE, steps

networkx = pytest.importorskip("networkx")

SPEC = Registry().get("graph")
SEEDS = range(8)


def question(problem: str, edges: Any, **given: Any) -> GraphReference:
    reference = parse_reference(SPEC, {"problem": problem, "edges": edges, **given})
    assert isinstance(reference, GraphReference)
    return reference


def judged(given: Any, reference: GraphReference, **params: Any) -> Outcome:
    text = given if isinstance(given, str) else json.dumps(given)
    options = GraphParams(**params)
    return graph(f"<answer>{text}</answer>", prepare(reference, options), options)


def drawn(seed: int, size: int = 7, directed: bool = False) -> tuple[Any, list[list[Any]]]:
    """A random graph, as networkx has it and as a reference has its edges."""
    rng = random.Random(seed)
    made = networkx.gnp_random_graph(size, 0.45, seed=seed, directed=directed)
    for one, other in made.edges:
        made.edges[one, other]["weight"] = rng.randint(1, 9)
    return made, [[one, other, data["weight"]] for one, other, data in made.edges(data=True)]


def subsets(size: int) -> Any:
    return (set(chosen) for count in range(size + 1) for chosen in itertools.combinations(range(size), count))


def independent(made: Any, chosen: set[int]) -> bool:
    return not any(made.has_edge(one, other) for one, other in itertools.combinations(chosen, 2))


def covers(made: Any, chosen: set[int]) -> bool:
    return all(one in chosen or other in chosen for one, other in made.edges)


def clique(made: Any, chosen: set[int]) -> bool:
    return all(made.has_edge(one, other) for one, other in itertools.combinations(chosen, 2))


def dominates(made: Any, chosen: set[int]) -> bool:
    return all(node in chosen or set(made[node]) & chosen for node in made)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize(
    ("problem", "rule", "best"),
    [
        ("clique", clique, max),
        ("independent_set", independent, max),
        ("vertex_cover", covers, min),
        ("dominating_set", dominates, min),
    ],
)
def test_a_set_is_right_if_and_only_if_it_is_the_best_of_all(seed: int, problem: str, rule: Any, best: Any) -> None:
    made, edges = drawn(seed)
    optimum = best(len(chosen) for chosen in subsets(7) if rule(made, chosen))
    params = GraphParams()
    prepared = prepare(question(problem, edges, nodes=list(range(7))), params)
    for chosen in subsets(7):
        if chosen:
            found = graph(f"<answer>{sorted(chosen)}</answer>", prepared, params)
            assert (found.score == 1.0) == (rule(made, chosen) and len(chosen) == optimum)
            assert found.flags == ()


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("directed", [False, True])
def test_lengths_flows_and_cuts_are_networkxs(seed: int, directed: bool) -> None:
    made, edges = drawn(seed, directed=directed)
    ends = {"source": 0, "target": 6, "nodes": list(range(7)), "directed": directed}
    if networkx.has_path(made, 0, 6):
        way = networkx.shortest_path(made, 0, 6, weight="weight")
        assert judged(way, question("shortest_path", edges, **ends)).score == 1.0
        length = networkx.shortest_path_length(made, 0, 6, weight="weight")
        assert judged(str(length), question("shortest_path", edges, **ends), answer="value").score == 1.0
        assert judged("none", question("path", edges, **ends)).score == 0.0
    else:
        assert judged("none", question("path", edges, **ends)).score == 1.0
    amount, flows = networkx.maximum_flow(made, 0, 6, capacity="weight")
    written_flow = [[one, other, value] for one, to in flows.items() for other, value in to.items() if value]
    assert judged(written_flow, question("flow", edges, **ends)).score == 1.0
    assert judged(str(amount + 1), question("flow", edges, **ends), answer="value").score == 0.0
    side = networkx.minimum_cut(made, 0, 6, capacity="weight")[1][0]
    assert judged(sorted(side), question("cut", edges, **ends)).score == 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_trees_matchings_bridges_and_components_are_networkxs(seed: int) -> None:
    made, edges = drawn(seed)
    nodes = list(range(7))
    matching = [list(pair) for pair in networkx.max_weight_matching(made)]
    assert judged(matching, question("matching", edges, nodes=nodes)).score == 1.0
    assert judged(matching[1:], question("matching", edges, nodes=nodes)).score == 0.0
    parts = [sorted(part) for part in networkx.connected_components(made)]
    assert judged(parts, question("components", edges, nodes=nodes)).score == 1.0
    bridges = [list(edge) for edge in networkx.bridges(made)]
    assert judged(bridges or "none", question("bridges", edges, nodes=nodes)).score == 1.0
    tree = [[one, other] for one, other, _ in networkx.minimum_spanning_edges(made)]
    answer = tree if len(parts) == 1 else "none"
    assert judged(answer, question("spanning_tree", edges, nodes=nodes)).score == 1.0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("directed", [False, True])
def test_whether_there_is_an_euler_walk_is_found(seed: int, directed: bool) -> None:
    made, edges = drawn(seed, size=5, directed=directed)
    if not edges:
        return
    trimmed = made.subgraph([node for node in made if made.degree(node)])
    for problem, exists in (
        ("euler_circuit", networkx.is_eulerian(trimmed)),
        ("euler_path", networkx.has_eulerian_path(trimmed)),
    ):
        reference = question(problem, edges, directed=directed)
        assert (judged("none", reference).score == 1.0) is not exists
        if exists:
            walk = [one for one, _ in networkx.eulerian_path(trimmed)]
            last = [list(networkx.eulerian_path(trimmed))[-1][1]]
            assert judged([*walk, *last], reference).score == 1.0


@pytest.mark.parametrize("seed", SEEDS)
def test_a_shuffled_graph_is_isomorphic_by_its_shuffle_alone_or_another_that_keeps_edges(seed: int) -> None:
    _, edges = drawn(seed, size=5)
    plain = [edge[:2] for edge in edges]
    rng = random.Random(seed)
    order = list(range(5))
    rng.shuffle(order)
    other = {"edges": [[order[one], order[two]] for one, two in plain], "nodes": list(range(5))}
    reference = question("isomorphism", plain, nodes=list(range(5)), other=other)
    kept = {frozenset(edge) for edge in other["edges"]}
    for image in itertools.permutations(range(5)):
        right = {frozenset((image[one], image[two])) for one, two in plain} == kept
        found = judged({str(node): image[node] for node in range(5)}, reference)
        assert (found.score == 1.0) == right


@pytest.mark.parametrize("seed", SEEDS)
def test_colourings_use_the_chromatic_number(seed: int) -> None:
    made, edges = drawn(seed, size=6)
    reference = question("colouring", edges, nodes=list(range(6)))
    proper = [
        colours
        for colours in itertools.product(range(4), repeat=6)
        if all(colours[one] != colours[other] for one, other in made.edges)
    ]
    fewest = min(len(set(colours)) for colours in proper)
    assert judged(str(fewest), reference, answer="value").score == 1.0
    for colours in proper[:: max(1, len(proper) // 40)]:
        found = judged({str(node): colour for node, colour in enumerate(colours)}, reference)
        assert (found.score == 1.0) == (len(set(colours)) == fewest)


def test_a_search_that_takes_too_long_asks_for_the_optimum() -> None:
    edges = [[one, other] for one, other in itertools.combinations(range(150), 2) if (one * other) % 7 < 4]
    with pytest.raises(InvalidReference, match="give optimum"):
        prepare(question("colouring", edges, nodes=list(range(150))), GraphParams())
    given_one = question("colouring", edges, nodes=list(range(150)), optimum=150)
    assert prepare(given_one, GraphParams()).optimum == 150


@pytest.mark.parametrize(
    ("problem", "given", "path"),
    [
        ("path", {"source": "a"}, "reference.target"),
        ("path", {"source": "a", "target": "z"}, "reference.target"),
        ("clique", {"source": "a"}, "reference.source"),
        ("clique", {"directed": True}, "reference.directed"),
        ("clique", {"nodes": ["a"]}, "reference.edges[0]"),
        ("clique", {"nodes": ["a", "a", "b"]}, "reference.nodes"),
        ("clique", {"colours": 2}, "reference.colours"),
        ("clique", {"exists": False}, "reference.exists"),
        ("isomorphism", {}, "reference.other"),
        ("spanning_tree", {"optimum": 7}, "reference.optimum"),
        ("components", {"optimum": 1}, "reference"),
        ("cycle", {"exists": True}, "reference.exists"),
    ],
)
def test_a_bad_reference_names_its_field(problem: str, given: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidReference) as caught:
        prepare(question(problem, [["a", "b"]], **given), GraphParams())
    assert caught.value.details["path"] == path


@settings(max_examples=200)
@given(st.lists(st.sampled_from((*HOSTILE, "[", "]", "(", ")", "a", "b", ",", "->", ":", "1", '"', "}")), max_size=25))
def test_reading_raises_nothing_but_unread(parts: list[str]) -> None:
    text = written.plain("".join(parts))
    known = {"a": None, "b": None}
    readers: tuple[Any, ...] = (
        partial(written.nodes, known=known),
        partial(written.edges, known=known),
        partial(written.flows, known=known),
        written.groups,
        written.assignment,
        written.number,
        written.yes_or_no,
    )
    for read in readers:
        with suppress(Unread):
            read(text)


@pytest.mark.parametrize("unit", ["[", "a,", "a->", "(a,b),", "a:1,", " - ", "\\to", '"', "a "])
def test_reading_takes_linear_time(unit: str) -> None:
    def read(text: str) -> None:
        for reader in (partial(written.nodes, known=()), partial(written.edges, known=()), written.assignment):
            with suppress(Unread):
                reader(written.plain(text))

    small, large = (steps(partial(read, unit * count)) for count in (500, 2000))
    assert large <= 6 * small + 2000
