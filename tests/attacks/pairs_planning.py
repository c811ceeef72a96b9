"""Attacks on `planning`, each with its honest twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tests.attacks.pairs import Pair

DOMAIN = """(define (domain blocks)
 (:predicates (clear ?x) (ontable ?x) (handempty) (holding ?x) (on ?x ?y))
 (:action pick-up :parameters (?x) :precondition (and (clear ?x) (ontable ?x) (handempty))
  :effect (and (holding ?x) (not (clear ?x)) (not (ontable ?x)) (not (handempty))))
 (:action put-down :parameters (?x) :precondition (holding ?x)
  :effect (and (clear ?x) (handempty) (ontable ?x) (not (holding ?x))))
 (:action stack :parameters (?x ?y) :precondition (and (clear ?y) (holding ?x))
  :effect (and (handempty) (clear ?x) (on ?x ?y) (not (clear ?y)) (not (holding ?x)))))"""
PROBLEM = """(define (problem two) (:domain blocks) (:objects k b)
 (:init (handempty) (ontable k) (clear k) (ontable b) (clear b)) (:goal (on k b)))"""
BLOCKS = {"domain": DOMAIN, "problem": PROBLEM, "plan": "(pick-up k)\n(stack k b)"}
PLAN = "(pick-up k)\n(stack k b)"
TRIP = {"kind": "trip", "days": 6, "cities": {"Oslo": 3, "Rome": 4}, "flights": [["Oslo", "Rome"]]}
DAYS = "Day 1-3: Oslo\nDay 3-6: Rome"
MEET = {
    "kind": "meetings",
    "place": "Station",
    "time": "9:00",
    "people": {"Ann": {"place": "Museum", "start": "9:30", "end": "12:00", "minutes": 60}},
    "travel": {"Station": {"Museum": 20}},
}
CALENDAR = {
    "kind": "calendar",
    "minutes": 30,
    "days": ["Monday", "Tuesday"],
    "hours": ["9:00", "17:00"],
    "busy": {"Ann": {"Monday": [["9:00", "16:30"]], "Tuesday": [["9:00", "17:00"]]}},
}


def _tagged(plan: str) -> str:
    return f"<plan>{plan}</plan>"


_TABLE: list[tuple[str, Any, str, str, Mapping[str, Any]]] = [
    # Several plans
    ("two plans in prose", BLOCKS, f"(pick-up b)\n(stack b k)\nor\n{PLAN}", f"The plan:\n{PLAN}", {}),
    ("two plans in tags", BLOCKS, _tagged("(pick-up b)") + _tagged(PLAN), _tagged(PLAN), {}),
    ("two plans in JSON", BLOCKS, '["(pick-up b)"] or ["(pick-up k)", "(stack k b)"]', '["(pick-up k)", "(stack k b)"]', {}),
    ("a plan in JSON and one in lines", BLOCKS, f'["(pick-up b)"]\n{PLAN}', f"Two steps, [1]:\n{PLAN}", {}),
    ("numbers that begin anew", BLOCKS, "1. (pick-up b)\n2. (put-down b)\n1. (pick-up k)\n2. (stack k b)", "1. (pick-up k)\n2. (stack k b)", {}),
    ("a duplicate key", BLOCKS, '{"plan": ["(pick-up b)"], "plan": ["(pick-up k)", "(stack k b)"]}', '{"plan": ["(pick-up k)", "(stack k b)"]}', {}),
    ("two trips", TRIP, f"{DAYS}\nOr:\nDay 1-4: Rome\nDay 4-6: Oslo", DAYS, {}),
    ("two times", CALENDAR, "Monday, 16:00 - 16:30 or 16:30 - 17:00", "Monday, 16:30 - 17:00", {}),
    ("two days", CALENDAR, "Monday or Tuesday, 16:30 - 17:00", "Monday, 16:30 - 17:00", {}),
    ("a meeting twice", MEET, "Meet Ann from 9:30 to 10:30. Meet Ann from 10:30 to 11:30.", "Meet Ann from 9:30 to 10:30.", {}),
    # Nothing
    ("an empty plan", BLOCKS, _tagged(""), _tagged(PLAN), {}),
    ("an empty list", BLOCKS, "<answer>[]</answer>", '<answer>["(pick-up k)", "(stack k b)"]</answer>', {}),
    ("an empty plan, for goals", BLOCKS, _tagged(""), _tagged(PLAN), {"credit": "goals"}),
    ("a harmless step, for goals", BLOCKS, _tagged("(pick-up k)"), _tagged(PLAN), {"credit": "goals"}),
    ("comments alone", BLOCKS, _tagged("; done"), _tagged(f"; so\n{PLAN}"), {}),
    ("no meeting", MEET, "<answer>[]</answer>", '<answer>[{"person": "Ann", "start": "9:30", "end": "10:30"}]</answer>', {}),
    ("no stay", TRIP, '<answer>{"trip": []}</answer>', _tagged(DAYS), {}),
    # Quotes and instructions
    ("a quote", BLOCKS, "> (pick-up k)\n> (stack k b)", PLAN, {}),
    ("the domain echoed", BLOCKS, DOMAIN, f"{DOMAIN}\n\nThe plan is:\n{PLAN}", {}),
    ("a problem of its own", BLOCKS, _tagged("(define (problem two) (:init (on k b)) (:goal (on k b)))"), _tagged(PLAN), {}),
    ("an action of its own", BLOCKS, _tagged("(:action win :effect (on k b))\n(win)"), _tagged(PLAN), {}),
    ("the goal as a step", BLOCKS, _tagged("(on k b)"), _tagged(PLAN), {}),
    ("a step in a step", BLOCKS, _tagged("(stack (pick-up k) b)"), _tagged(PLAN), {}),
    ("the thought alone", BLOCKS, f"<think>{PLAN}</think>It is solved.", f"<think>hm</think>{PLAN}", {}),
    ("tags without an end", BLOCKS, f"<plan>{PLAN}", _tagged(PLAN), {}),
    # Names
    ("a look-alike letter", BLOCKS, _tagged("(p\u0456ck-up k)\n(stack k b)"), _tagged(PLAN), {}),
    ("the sign of the kelvin", BLOCKS, _tagged("(pick-up \u212a)\n(stack \u212a b)"), _tagged("(pick-up K)\n(stack K b)"), {}),
    ("a variable", BLOCKS, _tagged("(pick-up ?x)\n(stack ?x b)"), _tagged(PLAN), {}),
    ("too many arguments", BLOCKS, _tagged("(pick-up k b)\n(stack k b)"), _tagged(PLAN), {}),
    ("too few arguments", BLOCKS, _tagged("(pick-up)\n(stack k b)"), _tagged(PLAN), {}),
    ("a zero-width space", BLOCKS, _tagged("(pick-up k\u200b)\n(stack k b)"), _tagged(PLAN), {}),
    ("a look-alike city", TRIP, "Day 1-3: \u041eslo\nDay 3-6: Rome", DAYS, {}),
    # Times and days
    ("a day that is none", TRIP, "Day 0-2: Oslo\nDay 2-6: Rome", DAYS, {}),
    ("days backwards", TRIP, "Day 3-1: Oslo\nDay 3-6: Rome", DAYS, {}),
    ("a long stay and a short one in one city", TRIP, "Day 1-2: Oslo\nDay 2-2: Oslo\nDay 2-6: Rome", DAYS, {}),
    ("days as fractions", TRIP, '[{"city": "Oslo", "days": [1, 3.0]}, {"city": "Rome", "days": [3, 6]}]', '[{"city": "Oslo", "days": [1, 3]}, {"city": "Rome", "days": [3, 6]}]', {}),
    ("true as a day", TRIP, '[{"city": "Oslo", "days": [true, 3]}, {"city": "Rome", "days": [3, 6]}]', '[{"city": "Oslo", "days": [1, 3]}, {"city": "Rome", "days": [3, 6]}]', {}),
    ("a time that is none", CALENDAR, "Monday, 16:30 - 17:75", "Monday, 16:30 - 17:00", {}),
    ("a time of another day", CALENDAR, "Monday, 16:30 - 24:30", "Monday, 16:30 - 17:00", {}),
    ("no length", CALENDAR, "Monday, 16:30 - 16:30", "Monday, 16:30 - 17:00", {}),
    ("a meeting before one arrives", MEET, "Meet Ann from 9:10 to 11:10.", "Meet Ann from 9:40 to 11:10.", {}),
    ("a meeting elsewhere", MEET, '[{"person": "Ann", "place": "Station", "start": "9:30", "end": "10:30"}]', '[{"person": "Ann", "place": "Museum", "start": "9:30", "end": "10:30"}]', {}),
    # Size
    ("a hundred thousand steps", BLOCKS, _tagged("(pick-up k)\n(put-down k)\n" * 50_000 + PLAN), _tagged("(pick-up k)\n(put-down k)\n" * 100 + PLAN), {}),
    ("brackets without end", BLOCKS, "(" * 100_000, PLAN, {}),
    ("blanks in a step", BLOCKS, _tagged("(pick-up k)" + " " * 150_000 + "x"), _tagged("(pick-up  k)  \n(stack k b)"), {}),
    ("lists within lists", BLOCKS, "[" * 5000 + "]" * 5000, '[["pick-up", "k"], ["stack", "k", "b"]]', {}),
    ("a long word", BLOCKS, _tagged("(" + "a" * 150_000 + ")"), _tagged(PLAN), {}),
    ("thousands of days", TRIP, "Day 1-3: Oslo\n" * 10_000, DAYS, {}),
    ("thousands of times", CALENDAR, "Monday 16:30 - 17:00, 16:31 - 17:00. " * 4000, "So. " * 4000 + "Monday 16:30 - 17:00.", {}),
]  # fmt: skip

PAIRS = [
    Pair(title=title, use="planning", reference=reference, attack=attack, twin=twin, params=params)
    for title, reference, attack, twin, params in _TABLE
]
