"""`graph`: checks answers about a graph: paths, trees, flows, colourings, sets of nodes, and more."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Rule, rules_of
from rewarden_verifiers.graphs import checks, written
from rewarden_verifiers.graphs.checks import Infeasible
from rewarden_verifiers.graphs.reference import GraphReference, question_of
from rewarden_verifiers.graphs.solving import LARGEST, Solved, Truth, load, solved
from rewarden_verifiers.graphs.written import Unread
from rewarden_verifiers.outcome import right, scored, wrong
from rewarden_verifiers.puzzles import answers


@dataclass(frozen=True, kw_only=True)
class GraphParams:
    """Options of `graph`.

    answer: The form of the answer: a `solution` (a path, a set, a colouring), or its `value` alone: a number, or yes or
        no for problems whose solutions have no value.
    scoring: `optimal`: only the best solution earns credit. `share`: others earn the share of the way from a solution
        without effort to the best one.
    extraction: Rules that find the answer; see docs/extraction.md. `strict`: a box or an answer tag.
    """

    answer: Literal["solution", "value"] = "solution"
    scoring: Literal["optimal", "share"] = "optimal"
    extraction: str | tuple[str | dict[str, str], ...] = "strict"

    def __post_init__(self) -> None:
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample
        if self.answer == "value" and self.scoring == "share":
            raise ValueError("scoring 'share' compares solutions, not values")

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)


def prepare(reference: GraphReference, params: GraphParams) -> Solved:
    """The reference with its answer. Raises InvalidReference."""
    return solved(question_of(reference))


@verifier(version="1", graded=True, prepare=prepare, warm=load, requires=("graph",))
def graph(response: str, prepared: Solved, params: GraphParams) -> Outcome:
    """Checks an answer about a graph: a path, an order, a tree, a flow, a colouring, a matching, a set, a mapping.

    The reference is the graph and the problem: `{problem, edges, nodes, directed, source, target, …}`. Edges are pairs
    of nodes, each with an optional weight. A solution is checked against the graph, so any right one is accepted. It
    can be JSON, a list with other brackets, words with commas, or nodes with arrows between them.

    | problem | solution | best |
    |---|---|---|
    | `path`, `hamiltonian_path`, `hamiltonian_cycle`, `cycle`, `euler_path`, `euler_circuit` | nodes in order | any |
    | `shortest_path` | nodes in order | least weight |
    | `topological_order` | all nodes in order | any |
    | `clique`, `independent_set` | nodes | most |
    | `vertex_cover`, `dominating_set` | nodes | fewest |
    | `cut` | nodes on the source's side | least capacity |
    | `matching` | edges | greatest weight |
    | `spanning_tree` | edges | least weight |
    | `flow` | edges with amounts, `[["a", "b", 3]]` | greatest |
    | `colouring` | a colour for each node, `{"a": 1}` | fewest; any with `colours` |
    | `isomorphism` | a node of `other` for each node | any |
    | `components`, `strong_components` | groups of nodes | the right ones |
    | `reachable`, `articulation_points` | nodes | the right ones |
    | `bridges` | edges | the right ones |

    The best value is always computed for paths, trees, matchings, flows and cuts. For the others, a bounded search
    finds it; if the search does not suffice, the reference must give `optimum`. If there is no solution, the right
    answer is "none". For Hamiltonian paths and cycles, colourings with three or more colours, and isomorphisms, the
    reference must declare this with `exists: false`; otherwise a claim that there is none is wrong. A solution that
    refutes the reference, because it is better than its optimum or exists although it should not, passes with the flag
    `better_than_reference`.

    With `scoring: share`, a solution earns its distance from a trivial one (all nodes, one node, a colour for each
    node, nothing) as a share of the best one's; a path or a tree earns the best weight divided by its own. Sets with
    one right answer earn their Jaccard similarity, scaled so that all nodes or edges earn 0.

    These responses score 0: no answer (`no_answer`), several (`hedged`), one that cannot be read (`malformed`), breaks
    a rule (`infeasible`, with the rule as feedback), or is not the best (`not_optimal`).
    """
    found = answers.find(response, params.rules)
    if isinstance(found, Outcome):
        return found
    text = written.plain(found.text)
    evidence: dict[str, Any] = {"rule": found.rule, "problem": prepared.question.problem}
    shown: dict[str, Any] = {"extracted": found.text[: answers.EXCERPT], "evidence": evidence}
    try:
        if params.answer == "value":
            return _value(text, prepared, shown)
        if written.absent(text) and text not in prepared.question.graph.after:
            return right(**shown) if _empty(prepared) else wrong(feedback="there is a solution", **shown)
        if prepared.truth is not None:
            return _judged_set(_set(text, prepared), prepared, params, shown)
        value = checks.value_of(prepared.question, text)
    except Unread as error:
        return wrong("malformed", feedback=str(error), **shown)
    except Infeasible as error:
        return wrong("infeasible", feedback=str(error), **shown)
    return _judged(value, prepared, params, shown)


def _empty(prepared: Solved) -> bool:
    """Returns whether "none" is the right answer: there is no solution, or the right set is empty."""
    return not prepared.exists or (prepared.truth is not None and not prepared.truth)


def _value(text: str, prepared: Solved, shown: dict[str, Any]) -> Outcome:
    number = prepared.number
    if number is None:
        optimised = prepared.question.problem in ("shortest_path", "spanning_tree")
        if not prepared.exists and optimised and written.absent(text):
            return right(**shown)
        if optimised:
            written.number(text)
            return wrong(**shown)
        return right(**shown) if written.yes_or_no(text) is prepared.exists else wrong(**shown)
    return right(**shown) if checks.same(written.number(text), number) else wrong(**shown)


def _set(text: str, prepared: Solved) -> Truth:
    question = prepared.question
    if question.problem in ("components", "strong_components"):
        return checks.groups_of(question, text)
    if text in ("[]", "{}", "∅", "()"):
        return frozenset()
    return checks.edges_of(question, text) if question.problem == "bridges" else checks.set_of(question, text)


def _judged_set(found: Truth, prepared: Solved, params: GraphParams, shown: dict[str, Any]) -> Outcome:
    truth = prepared.truth
    assert truth is not None
    if found == truth:
        return right(**shown)
    question = prepared.question
    if params.scoring == "optimal" or question.problem in ("components", "strong_components"):
        return wrong(**shown)
    everything = question.graph.size if question.problem == "bridges" else len(question.graph.nodes)
    similarity = len(found & truth) / len(found | truth)
    effortless = len(truth) / everything
    share = (similarity - effortless) / (1 - effortless) if effortless < 1 else 0.0
    return _partly(share, "wrong", shown)


def _judged(value: float, prepared: Solved, params: GraphParams, shown: dict[str, Any]) -> Outcome:
    best = prepared.optimum
    if not prepared.exists:
        return right(flags=("better_than_reference",), **shown)
    if best is None:
        return right(**shown)
    shown["evidence"] |= {"value": value, "optimum": best}
    if checks.same(value, best):
        return right(**shown)
    largest = prepared.question.problem in LARGEST
    if (value > best) is largest:
        return right(flags=("better_than_reference",), **shown)
    if params.scoring == "optimal":
        return wrong("not_optimal", **shown)
    if prepared.trivial is None:
        return _partly(best / value, "not_optimal", shown)
    way = best - prepared.trivial
    return _partly((value - prepared.trivial) / way if way else 0.0, "not_optimal", shown)


def _partly(share: float, reason: str, shown: dict[str, Any]) -> Outcome:
    return scored(min(max(0.0, share), 0.999), passed=False, reason=reason, **shown)
