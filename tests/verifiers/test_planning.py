"""`planning`: simulation of classical plans, the forms of a plan, and the constraints of trips, meetings, calendars."""

from __future__ import annotations

import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Outcome, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.planning.pddl import simulation
from rewarden_verifiers.planning.planning import planning, prepare
from rewarden_verifiers.registry import Registry
from tests.attacks.pairs_planning import BLOCKS, CALENDAR, MEET, TRIP
from tests.verifiers.counting import steps

PLANNER = Planner(Registry())


def judged(response: str, reference: Any, finish_reason: str | None = None, **params: Any) -> Outcome:
    checked = PLANNER.bind(Use(name="planning", params=params)).params
    return planning(response, prepare(reference, checked), checked, finish_reason)


def world(
    effect: str = "(g)", condition: str = "()", goal: str = "(g)", start: str = "", more: str = ""
) -> dict[str, Any]:
    """A problem with one action, `act`, of one argument, and the objects `a` and `b` (boxes) and `c` (a bag)."""
    domain = f"""(define (domain d) (:types box bag - thing tin - box)
     (:predicates (g) (p ?x) (q ?x ?y)) {more}
     (:action act :parameters (?x - (either tin box bag)) :precondition {condition} :effect {effect}))"""
    objects = "(:objects a - tin b - box c - bag)"
    problem = f"(define (problem e) (:domain d) {objects} (:init {start}) (:goal {goal}))"
    return {"domain": domain, "problem": problem}


# --- the semantics of PDDL -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("condition", "start", "met"),
    [
        ("()", "", True),
        ("(and)", "", True),
        ("(or)", "", False),
        ("(p ?x)", "(p a)", True),
        ("(p ?x)", "(p b)", False),
        ("(not (p ?x))", "(p b)", True),
        ("(not (p ?x))", "(p a)", False),
        ("(= ?x a)", "", True),
        ("(= ?x b)", "", False),
        ("(or (p ?x) (p b))", "(p b)", True),
        ("(imply (p ?x) (p b))", "", True),
        ("(imply (p ?x) (p b))", "(p a)", False),
        ("(exists (?y - box) (q ?x ?y))", "(q a b)", True),
        ("(exists (?y - box) (q ?x ?y))", "(q a c)", False),
        ("(forall (?y - box) (p ?y))", "(p a) (p b)", True),
        ("(forall (?y - box) (p ?y))", "(p b) (p c)", False),
        ("(forall (?y ?z - box) (or (= ?y ?z) (q ?y ?z)))", "(q a b) (q b a)", True),
        ("(and (p ?x) (not (exists (?y) (q ?y ?x))))", "(p a)", True),
    ],
)
def test_a_step_needs_its_precondition(condition: str, start: str, met: bool) -> None:
    outcome = judged("<plan>(act a)</plan>", world(condition=condition, start=start))
    assert outcome.passed is met
    assert outcome.reason == (None if met else "illegal")


@pytest.mark.parametrize(
    ("effect", "start", "goal", "reached"),
    [
        ("(p ?x)", "", "(p a)", True),
        ("(p ?x)", "", "(p b)", False),
        ("(and (not (p a)) (p a))", "(p a)", "(and (p a) (g))", False),
        ("(and (not (p a)) (p a) (g))", "(p a)", "(and (p a) (g))", True),
        ("(when (p ?x) (g))", "(p a)", "(g)", True),
        ("(when (p ?x) (g))", "", "(g)", False),
        ("(and (p b) (when (p b) (g)))", "", "(g)", False),
        ("(forall (?y - box) (p ?y))", "", "(and (p a) (p b))", True),
        ("(forall (?y - box) (p ?y))", "", "(p c)", False),
        ("(forall (?y) (when (q ?x ?y) (and (p ?y) (not (q ?x ?y)))))", "(q a c)", "(and (p c) (not (q a c)))", True),
        ("(not (p ?x))", "(p a)", "(not (p a))", True),
    ],
)
def test_effects_are_evaluated_in_the_state_before(effect: str, start: str, goal: str, reached: bool) -> None:
    assert judged("<plan>(act a)</plan>", world(effect=effect, start=start, goal=goal)).passed is reached


@pytest.mark.parametrize(
    ("argument", "fits"), [("a", True), ("b", True), ("c", True), ("d", False), ("act", False), ("?x", False)]
)
def test_an_argument_is_an_object_of_the_type(argument: str, fits: bool) -> None:
    assert judged(f"<plan>(act {argument})</plan>", world()).passed is fits


def test_a_subtype_fits_and_another_type_does_not() -> None:
    problem = world(effect="(p ?x)", goal="(g)", more="(:action end :parameters (?x - box) :effect (g))")
    assert judged("<plan>(end a)</plan>", problem).passed
    outcome = judged("<plan>(end c)</plan>", problem)
    assert outcome.feedback == "step 1 'end c' cannot be executed: c is not of the type box"


def test_the_first_wrong_step_is_explained() -> None:
    outcome = judged("<plan>(pick-up k)\n(pick-up b)\n(stack k b)</plan>", BLOCKS)
    assert (outcome.reason, outcome.evidence["failed_step"], outcome.evidence["executed"]) == ("illegal", 2, 1)
    assert outcome.feedback == "step 2 'pick-up b' cannot be executed: its precondition (handempty) does not hold"


def test_costs_are_those_of_the_metric_or_one_a_step() -> None:
    priced = world(effect="(and (g) (increase (total-cost) (price ?x)))", more="(:functions (total-cost) (price ?y))")
    priced["problem"] = priced["problem"].replace("(:init ", "(:init (= (price a) 7) ")
    assert judged("<plan>(act a)</plan>", priced).evidence["cost"] == 1.0
    priced["problem"] = priced["problem"][:-1] + "(:metric minimize (total-cost)))"
    assert judged("<plan>(act a)</plan>", priced).evidence["cost"] == 7.0
    assert judged("<plan>(act b)</plan>", priced).reason == "illegal"


def test_a_cheaper_plan_than_the_stated_optimum_is_right() -> None:
    reference = {**BLOCKS, "plan": "(pick-up b)\n(put-down b)\n(pick-up k)\n(stack k b)"}
    assert judged("<plan>(pick-up k)\n(stack k b)</plan>", reference, optimal=True).passed
    assert judged("<plan>(pick-up k)\n(stack k b)</plan>", reference, credit="cost").score == 1.0


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"domain": "(define (domain d)"}, "never closed"),
        ({"domain": ")"}, "never opened"),
        ({"domain": "(" * 100 + ")" * 100}, "nested deeper"),
        ({"domain": "(define (domain d))"}, "no actions"),
        (world(condition="(r ?x)"), "no such predicate"),
        (world(condition="(p ?x ?x)"), "has 1 arguments"),
        (world(condition="(p ?y)"), "neither an object nor a parameter"),
        (world(condition="(forall (?y - boat) (p ?y))"), "no type boat"),
        (world(condition="(> (fuel ?x) 3)"), "only conditions over facts"),
        (world(condition="(= (fuel ?x) 3)"), "numeric conditions"),
        (world(effect="(increase (fuel ?x) 3)"), "only (increase (total-cost)"),
        (world(effect="(increase (total-cost) -3)"), "not a cost"),
        (world(more="(:derived (p ?x) (g))"), ":derived is not supported"),
        (world(more="(:durative-action drive)"), ":durative-action is not supported"),
        (world(more="(:action act :parameters ())"), "the same name"),
        (world(start="(g)"), "holds from the start"),
        (world(goal="(p d)"), "neither an object"),
        ({"plan": "(stack k b)"}, "plan: step 1"),
        ({"plan": "(pick-up k)"}, "does not reach (on k b)"),
        ({"optimal_cost": 3}, "less than optimal_cost"),
    ],
)
def test_a_problem_that_cannot_be_used_is_rejected(change: dict[str, Any], said: str) -> None:
    with pytest.raises(InvalidReference, match="reference") as raised:
        judged("<plan>(pick-up k)</plan>", {**BLOCKS, **change} if "problem" not in change else change)
    assert said in str(raised.value)


@pytest.mark.parametrize(
    ("params", "reference"),
    [
        ({"credit": "prefix"}, {key: value for key, value in BLOCKS.items() if key != "plan"}),
        ({"optimal": True}, {key: value for key, value in BLOCKS.items() if key != "plan"}),
        ({"credit": "constraints"}, BLOCKS),
        ({"credit": "goals"}, TRIP),
        ({"optimal": True}, CALENDAR),
        ({}, {"kind": "chess"}),
        ({}, {}),
    ],
)
def test_parameters_need_a_reference_that_suits_them(params: dict[str, Any], reference: Any) -> None:
    with pytest.raises(InvalidReference):
        judged("<plan>(pick-up k)</plan>", reference, **params)


class Table:
    """Blocks on a table, independently of PDDL."""

    def __init__(self, blocks: str) -> None:
        self.towers = [[block] for block in blocks]
        self.hand: str | None = None

    def step(self, name: str, block: str, under: str | None) -> bool:
        """Executes a step, or returns False."""
        of = next((tower for tower in self.towers if tower[-1] == block), None)
        if name == "pick-up" and self.hand is None and of is not None and len(of) == 1:
            self.towers.remove(of)
            self.hand = block
        elif name == "put-down" and self.hand == block:
            self.towers.append([block])
            self.hand = None
        elif name == "stack" and self.hand == block:
            target = next((tower for tower in self.towers if tower[-1] == under), None)
            if target is None:
                return False
            target.append(block)
            self.hand = None
        else:
            return False
        return True


@pytest.mark.parametrize("seed", range(40))
def test_the_simulation_agrees_with_another_model_of_blocks(seed: int) -> None:
    choose, table = random.Random(seed), Table("kbc")
    plan: list[str] = []
    executed = None
    for _ in range(25):
        name, block, under = choose.choice(["pick-up", "put-down", "stack"]), choose.choice("kbc"), choose.choice("kbc")
        done = table.step(name, block, under)
        if not done and choose.random() < 0.9:
            continue  # mostly legal plans, some with an illegal step
        plan.append(f"({name} {block} {under})" if name == "stack" else f"({name} {block})")
        if not done:
            executed = len(plan) - 1
            break
    problem = BLOCKS["problem"].replace("k b)", "k b c)", 1).replace("(:init ", "(:init (ontable c) (clear c) ")
    outcome = judged("<plan>" + "\n".join(plan) + "</plan>", {"domain": BLOCKS["domain"], "problem": problem})
    assert outcome.evidence["executed"] == (len(plan) if executed is None else executed)
    if executed is None:
        assert outcome.passed is any(a + b in "".join(tower) for a, b in ["bk"] for tower in table.towers)


# --- the forms of a plan -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "plan",
    [
        "(pick-up k)\n(stack k b)",
        "(pick-up k) (stack k b)",
        "(pick-up k), (stack k b).",
        "( PICK-UP  K )\n\n(Stack k b)",
        "1. (pick-up k)\n2. (stack k b)",
        "1) pick-up k\n2) stack k b",
        "Step 1: (pick-up k)\nStep 2: (stack k b)",
        "Step 1:\n(pick-up k)\nStep 2:\n(stack k b)",
        "- (pick-up k)\n- (stack k b)",
        "* `(pick-up k)`\n* `(stack k b)`",
        "**1.** (pick-up k)\n**2.** (stack k b)",
        "0.000: (pick-up k) [1.000]\n1.000: (stack k b) [1.000]",
        "(pick-up k) ; take it\n(stack k b)\n; cost = 2 (unit cost)",
        "pick-up(k)\nstack(k, b)",
        "pick-up k\nstack k b",
        '["(pick-up k)", "stack(k, b)"]',
        '{"plan": [{"action": "pick-up", "args": ["k"]}, {"name": "stack", "parameters": ["k", "b"]}]}',
        '```json\n[["pick-up", "k"], ["stack", "k", "b"]]\n```',
        "```pddl\n(pick-up k)\n(stack k b)\n```",
    ],
)
@pytest.mark.parametrize("frame", ["<plan>{}</plan>", "<answer>\n{}\n</answer>", "Done:\n\n{}\n\nThat is it.", "{}"])
def test_a_plan_is_read_in_every_common_form(plan: str, frame: str) -> None:
    outcome = judged(frame.replace("{}", plan), BLOCKS)
    assert outcome.passed, outcome
    assert ("loose_extraction" in outcome.flags) is ("<" not in frame)


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        ("<plan>pick up k</plan>", "malformed"),
        ("<plan>(pick-up k) then (stack k b)</plan>", "malformed"),
        ("<plan>(pick-up k\n(stack k b)</plan>", "malformed"),
        ('<plan>["pick-up k", 7]</plan>', "malformed"),
        ('<plan>{"plan": "(pick-up k)"}</plan>', "malformed"),
        ("(see above)", "no_answer"),
        ("I pick k up, then I stack it.", "no_answer"),
        ("<plan></plan>(pick-up k)\n(stack k b)", "no_answer"),
        ("\\boxed{}(pick-up k)\n(stack k b)", "no_answer"),
    ],
)
def test_a_plan_that_cannot_be_read_earns_nothing(response: str, reason: str) -> None:
    outcome = judged(response, BLOCKS)
    assert (outcome.score, outcome.reason) == (0.0, reason)


def test_the_plan_must_stand_in_the_tag_that_is_asked_for() -> None:
    plan = "(pick-up k)\n(stack k b)"
    assert judged(f"<plan>{plan}</plan>", BLOCKS, extraction="plan_tag").passed
    assert judged(plan, BLOCKS, extraction="plan_tag").reason == "no_answer"
    assert judged(plan, BLOCKS, extraction="strict").reason == "no_answer"
    with pytest.raises(InvalidParams):
        judged(plan, BLOCKS, extraction="loud")


@given(st.text(alphabet='(pick-up kbstac)\n1. ,;[]{}"`*:>\u212a', max_size=80))
def test_no_text_breaks_the_reader(text: str) -> None:
    for response in (text, f"<plan>{text}</plan>"):
        assert judged(response, BLOCKS).status == "scored"
        for reference in (TRIP, MEET, CALENDAR):
            assert judged(response, reference).status == "scored"


def test_reading_is_linear() -> None:
    for piece in ("(pick-up k) ", "(pick-up k)\n", "(", "a ", "(a", "1. ", "; ", "pick-up ", "[", "`"):
        few, many = (steps(lambda text=piece * n: judged(f"<plan>{text}</plan>", BLOCKS)) for n in (200, 400))
        assert many < 2.5 * few, piece


def test_work_is_bounded_by_the_plan(monkeypatch: pytest.MonkeyPatch) -> None:
    reference = {key: value for key, value in BLOCKS.items() if key != "plan"}
    monkeypatch.setattr(simulation, "MAX_WORK", 50)
    assert judged("<plan>" + "(pick-up k)\n(put-down k)\n" * 20 + "</plan>", reference).reason == "too_expensive"
    monkeypatch.setattr(simulation, "MAX_WORK", 5)
    with pytest.raises(InvalidReference, match="simulation exceeds"):
        judged("<plan>(pick-up k)</plan>", BLOCKS)


def test_a_quantifier_over_too_many_objects_is_the_references_fault() -> None:
    wide = world(condition="(forall (?y ?z ?w) (or (q ?y ?z) (p ?w)))")
    wide["problem"] = wide["problem"].replace("c - bag", "c " + " ".join(f"o{i}" for i in range(60)) + " - bag")
    with pytest.raises(InvalidReference, match="too many objects"):
        judged("<plan>(act a)</plan>", wide)


# --- trips, meetings, calendars ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("plan", "violated"),
    [
        ("Day 1-3: Oslo\nDay 3-6: Rome", []),
        ("Days 1 to 3: Oslo\nDays 3 through 6: Rome", []),
        ("Day 1-3: Arrive in Oslo.\nDay 3-6: Fly from Oslo to Rome and stay in Rome.", []),
        ("Day 1-4: Rome\nDay 4-6: Oslo", []),
        ("Day 1-3: Oslo\nDay 4-7: Rome", ["order", "days"]),
        ("Day 1-2: Oslo\nDay 2-6: Rome", ["stay Oslo", "stay Rome"]),
        ("Day 1-6: Rome", ["visit Oslo", "stay Oslo", "stay Rome"]),
        ("Day 1-3: Oslo\nDay 3: Fly from Rome to Oslo\nDay 3-6: Rome", ["moves"]),
    ],
)
def test_each_violated_constraint_of_a_trip_is_named(plan: str, violated: list[str]) -> None:
    outcome = judged(plan, TRIP)
    assert list(outcome.evidence.get("violated", [])) == violated
    assert outcome.passed is not bool(violated)


def test_days_of_flights_can_be_separate() -> None:
    trip = {**TRIP, "days": 7, "travel_day": "separate"}
    assert judged("Day 1-3: Oslo\nDay 4-7: Rome", trip).passed
    assert judged("Day 1-3: Oslo\nDay 3-6: Rome", trip).evidence["violated"] == ["order", "days"]


def test_one_way_flights_and_ends() -> None:
    trip = {**TRIP, "flights": [], "one_way": [["Oslo", "Rome"]], "start": "Oslo", "end": "Rome"}
    assert judged("Day 1-3: Oslo\nDay 3-6: Rome", trip).passed
    backwards = judged("Day 1-4: Rome\nDay 4-6: Oslo", trip)
    assert backwards.evidence["violated"] == ["flight Rome - Oslo", "start", "end"]


@pytest.mark.parametrize(
    ("presence", "days", "met"),
    [("all", [1, 3], True), ("all", [3, 4], False), ("any", [3, 4], True), ("any", [4, 6], False)],
)
def test_events(presence: str, days: list[int], met: bool) -> None:
    event = {"city": "Oslo", "days": days, "presence": presence}
    assert judged("Day 1-3: Oslo\nDay 3-6: Rome", {**TRIP, "events": [event]}).passed is met


@pytest.mark.parametrize(
    ("plan", "violated"),
    [
        ("You meet Ann for 60 minutes from 9:30AM to 10:30AM.", []),
        ("Meet Ann at the Museum, 11:00 - 12:00", []),
        ("Meet Ann from 9:19 to 10:20.", ["travel Ann", "hours Ann"]),
        ("Meet Ann from 9:30 to 10:29.", ["minutes Ann"]),
        ("Meet Ann from 11:30 a.m. to 12:30 p.m.", ["hours Ann"]),
    ],
)
def test_each_violated_constraint_of_meetings_is_named(plan: str, violated: list[str]) -> None:
    assert list(judged(plan, MEET).evidence.get("violated", [])) == violated


@pytest.mark.parametrize(
    ("plan", "violated"),
    [
        ("Monday, 16:30 - 17:00", []),
        ("monday from 4:30 PM to 5 PM", []),
        ("Monday, 16:00 - 16:30", ["busy Ann"]),
        ("Monday, 16:30 - 17:30", ["minutes", "hours"]),
        ("Tuesday, 16:30 - 17:00", ["busy Ann"]),
    ],
)
def test_each_violated_constraint_of_a_calendar_is_named(plan: str, violated: list[str]) -> None:
    assert list(judged(plan, CALENDAR).evidence.get("violated", [])) == violated


def test_the_day_may_be_left_out_if_there_is_one() -> None:
    one = {**CALENDAR, "days": ["Monday"], "busy": {"Ann": {"Monday": [["9:00", "16:30"]]}}}
    assert judged("16:30 - 17:00", one).passed
    assert judged("16:30 - 17:00", CALENDAR).reason == "malformed"


@pytest.mark.parametrize(
    "reference",
    [
        {**TRIP, "flights": [["Oslo", "Paris"]]},
        {**TRIP, "cities": {}},
        {**TRIP, "cities": {"Oslo": 3, "oslo": 4}, "flights": []},
        {**TRIP, "events": [{"city": "Oslo", "days": [5, 9]}]},
        {**TRIP, "solution": "Day 1-6: Oslo"},
        {**MEET, "need": 0},
        {**MEET, "travel": {}},
        {**MEET, "time": "noonish"},
        {**MEET, "solution": "Meet Ann from 9:00 to 10:00."},
        {**CALENDAR, "minutes": 600},
        {**CALENDAR, "days": []},
        {**CALENDAR, "busy": {"Ann": {"Sunday": []}}},
        {**CALENDAR, "hours": ["17:00", "9:00"]},
        {**CALENDAR, "busy": {"Ann": {day: [["9:00", "17:00"]] for day in ("Monday", "Tuesday")}}},
        {**CALENDAR, "colour": "red"},
    ],
)
def test_constraints_that_contradict_themselves_are_rejected(reference: dict[str, Any]) -> None:
    with pytest.raises(InvalidReference):
        judged("Monday, 16:30 - 17:00", reference)
