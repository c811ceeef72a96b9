"""Rows for comparing rewards that ask a judge, whose opinion is in the row: both sides get it as the reply."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from benchmarks.parity_rows import Form, Forms, Row, drawn, thought

_LABELS = ("healthy", "myopathy", "neuropathy")
_ADVICE = (
    "Take a biopsy of the left deltoid.",
    "Measure the nerve's conduction at the elbow.",
    "Repeat the recording after exercise.",
)
_GENERIC = ("Further diagnostic tests may help.", "Consider the clinical history.", "Confirm the diagnosis first.")


def asked(
    rows: Callable[[random.Random], Row], opinions: Sequence[Any], sure: Sequence[str] = ()
) -> Callable[[random.Random], Row]:
    """Returns a maker of the same rows with a judge's opinion, one of these; the first for kinds that are sure."""

    def make(rng: random.Random) -> Row:
        row = rows(rng)
        opinion = opinions[0] if row.label.split(",")[0] in sure else rng.choice(opinions)
        return Row(row.label, row.response, row.reference, {**row.fields, "opinion": opinion})

    return make


def numbered(rows: Callable[[random.Random], Row]) -> Callable[[random.Random], Row]:
    """Returns a maker of the same rows with different prompts, since a judge is not asked twice about the same."""

    def make(rng: random.Random) -> Row:
        row = rows(rng)
        return replace(row, fields={**row.fields, "prompt": f"Question {rng.randrange(10**9)}: which one is it?"})

    return make


def concluded() -> Forms:
    """Returns the forms of a thought and of a sentence that ends with "the answer is"."""
    phrase = "Therefore, the answer is"
    return {
        "plain": (12, lambda rng, why, what: f"<think>{why}</think>\n{phrase} {what}."),
        "no stop": (2, lambda rng, why, what: f"<think>{why}</think>\n{phrase} {what}"),
        "opened": (1, lambda rng, why, what: f"{why}</think>\n{phrase} {what}."),
        "no thought": (2, lambda rng, why, what: f"{phrase} {what}."),
        "no phrase": (1, lambda rng, why, what: f"<think>{why}</think>\n{what}"),
        "capital": (1, lambda rng, why, what: f"<think>{why}</think>\nThe answer is {what}."),
        "cut": (1, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }


def rubrics() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with criteria and their points, and a judge's opinion on which of them are met."""
    forms: dict[str, tuple[int, Form]] = {
        "plain": (12, lambda rng, why, what: f"{why} {what}"),
        "thought": (3, lambda rng, why, what: f"<think>{why}</think>\n{what}"),
        "cut": (1, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }

    def make(rng: random.Random) -> Row:
        names = rng.sample(("cause", "dose", "risk", "source", "limit", "next step"), rng.randint(1, 5))
        points = [rng.choice((1, 2, 3, 5, 7, 10)), *(rng.choice((2, 4, 5, 8, -1, -3, -6)) for _ in names[1:])]
        rubric = [{"text": f"Names the {name}", "points": each} for name, each in zip(names, points, strict=True)]
        opinion = {criterion["text"]: rng.random() < 0.6 for criterion in rubric}
        met = [each for each, yes in zip(points, opinion.values(), strict=True) if yes]
        kind = "all" if len(met) == len(points) else "none" if not met else "below 0" if sum(met) < 0 else "some"
        name, form = drawn(rng, forms)
        what = f"Take the tablets at noon. Case {rng.getrandbits(40)}."
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), rubric, {"opinion": opinion})

    return make


def diagnoses() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with a class of a signal and advice, and a judge's grade of the advice from 0 to 1."""

    def told(label: str, advice: str) -> str:
        return f"<class>{label}</class><extension>{advice}</extension>"

    forms: dict[str, tuple[int, Form]] = {
        "plain": (10, lambda rng, why, what: f"<think>{why}</think>{what}"),
        "lines": (2, lambda rng, why, what: f"<think>\n{why}\n</think>\n" + what.replace("><", ">\n<")),
        "no thought": (1, lambda rng, why, what: what),
        "after": (1, lambda rng, why, what: f"<think>{why}</think>{what} Done."),
        "cut": (1, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }

    def make(rng: random.Random) -> Row:
        right, wrong = rng.sample(_LABELS, 2)
        # A number of its own: an opinion is kept for a text that was judged before.
        advice = f"{rng.choice(_ADVICE)} Case {rng.getrandbits(40)}."
        kind = rng.choices(
            ("right", "generic", "wrong", "upper", "spaced", "unknown", "no class", "no advice", "blank", "several"),
            weights=(8, 3, 6, 2, 1, 1, 1, 2, 1, 1),
        )[0]
        what = {
            "right": told(right, advice),
            "generic": told(right, f"{rng.choice(_GENERIC)} {advice}"),
            "wrong": told(wrong, advice),
            "upper": told(right.upper(), advice),
            "spaced": told(f" {right} ", advice),
            "unknown": told("myasthenia", advice),
            "no class": f"It is {right}. <extension>{advice}</extension>",
            "no advice": f"<class>{right}</class>",
            "blank": told(right, " "),
            "several": f"<class>{right}</class>{told(wrong, advice)}",
        }[kind]
        name, form = drawn(rng, forms)
        grade = rng.choice((0.0, 0.25, 0.4, 0.5, 0.75, 1.0))
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right, {"opinion": grade})

    return make


def grades(aspects: Sequence[str]) -> Callable[[random.Random], Row]:
    """Returns a maker of rows with a judge's grade of each aspect, from 1 to 5."""
    forms: dict[str, tuple[int, Form]] = {
        "plain": (12, lambda rng, why, what: f"{why} {what}"),
        "thought": (3, lambda rng, why, what: f"<think>{why}</think>\n{what}"),
        "short": (2, lambda rng, why, what: what),
        "cut": (1, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }

    def make(rng: random.Random) -> Row:
        kind = rng.choice(("mixed", "mixed", "mixed", "best", "worst"))
        told = {"mixed": (1, 2, 3, 4, 5), "best": (5,), "worst": (1,)}[kind]
        name, form = drawn(rng, forms)
        # No two are the same, since a judge is not asked twice about the same response.
        response = form(rng, thought(rng), f"{rng.choice(_ADVICE)} See case {rng.randrange(10**9)}.")
        fields = {"prompt": "What now?", "opinion": {aspect: rng.choice(told) for aspect in aspects}}
        return Row(f"{kind}, {name}", response, None, fields)

    return make


def checklists(opinions: int) -> Callable[[random.Random], Row]:
    """Returns a maker of rows with the weighted items of a checklist, and that many opinions on each, from 0 to 100."""
    forms: dict[str, tuple[int, Form]] = {
        "plain": (14, lambda rng, why, what: f"{why} {what}"),
        "short": (3, lambda rng, why, what: what),
        "cut": (1, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }

    def make(rng: random.Random) -> Row:
        names = rng.sample(("cause", "dose", "risk", "source", "limit"), rng.randint(1, 3))
        items = [{"text": f"Does it name the {name}?", "weight": rng.choice((100, 90, 75, 50, 20))} for name in names]
        kind = rng.choice(("mixed", "mixed", "mixed", "all", "none"))
        told = {"mixed": range(101), "all": (100,), "none": (0,)}[kind]
        opinion = {item["text"]: rng.choices(told, k=opinions) for item in items}
        name, form = drawn(rng, forms)
        # No two are the same, since a judge is not asked twice about the same response.
        response = form(rng, thought(rng), f"{rng.choice(_ADVICE)} See case {rng.randrange(10**9)}.")
        return Row(f"{kind}, {name}", response, items, {"prompt": "What now?", "opinion": opinion})

    return make


def stated(rows: Callable[[random.Random], Row]) -> Callable[[random.Random], Row]:
    """Returns a maker of the same rows with evidence, and with a judge's grade of the answer, "A" for a right one, "B"
    for a wrong one or "C" for a refusal, and its opinions on the claims of the thought."""

    def make(rng: random.Random) -> Row:
        row = rows(rng)
        kind = row.label.split(",")[0]
        right = dict.fromkeys(("right", "spelled", "spaced", "first"), "A")
        grade = {**right, "wrong": "B", "several": "B", "refused": "C"}.get(kind, rng.choice("AB"))
        sure = rng.choice((0.0, 0.5, 0.8, 1.0))
        claims = [rng.random() < sure for _ in range(rng.choice((0, 1, 2, 4, 7, 9, 10, 11, 14)))]
        evidence = {"evidence": "The Gannock light was lit in 1871."}
        return replace(row, fields={**row.fields, "metadata": evidence, "opinion": {"grade": grade, "claims": claims}})

    return make


def evidence() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with an answer, rubrics of its evidence, and opinions on all of them."""
    forms: dict[str, tuple[int, Form]] = {
        "plain": (12, lambda rng, why, what: f"{why} {what}"),
        "thought": (3, lambda rng, why, what: f"<think>{why}</think>\n{what}"),
        "cited": (4, lambda rng, why, what: f"{what}\n\n## References\n[1] https://example.org/{rng.randrange(99)}"),
        "cut": (1, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }

    def make(rng: random.Random) -> Row:
        names = rng.sample(("dam", "river", "year", "engineer", "strike"), rng.randint(1, 5))
        right = rng.random() < 0.6
        sure = rng.choice((0.0, 0.5, 1.0))
        support = [rng.random() < sure for _ in names]
        rubric = [
            {"text": "The answer", "kind": "program", "use": "judge", "reference": "Lake Orrin", "tags": ["outcome"]},
            *({"text": f"Finds the {name}, with a source", "tags": ["support"]} for name in names),
        ]
        kind = ("right" if right else "wrong") + ", " + ("all" if all(support) else "some" if any(support) else "none")
        name, form = drawn(rng, forms)
        # No two are the same, since a judge is not asked twice about the same response.
        response = form(rng, thought(rng), f"It is the reservoir, by page {rng.getrandbits(40)}.")
        fields = {"prompt": "Which lake was dammed?", "opinion": {"outcome": right, "support": support}}
        return Row(f"{kind}, {name}", response, rubric, fields)

    return make


def episodes() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with a negotiation, and a language model's reply to a question about it."""
    forms: dict[str, tuple[int, Form]] = {
        "agreed": (8, lambda rng, why, what: f"Alice: {what}\nBob: Deal."),
        "refused": (4, lambda rng, why, what: f"Alice: {what}\nBob: No.\nAlice: {what}\nBob: No deal."),
        "one turn": (2, lambda rng, why, what: f"Alice: {what}"),
        "thought": (2, lambda rng, why, what: f"<think>{why}</think>\nAlice: {what}\nBob: Deal."),
        "cut": (1, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }
    reasons = ("", ".", ", because Alice asked for the same again.", "\n\nShe gave in at once.")

    def make(rng: random.Random) -> Row:
        name, form = drawn(rng, forms)
        # No two are the same, since a judge is not asked twice about the same response.
        offer = f"I take {rng.randint(1, 3)} books and {rng.randint(0, 4)} hats. Call it offer {rng.getrandbits(40)}."
        opinion = rng.choice(("Yes", "No", " Yes", "yes", "no", "\nNo")) + rng.choice(reasons)
        return Row(name, form(rng, thought(rng), offer), None, {"prompt": "Negotiate.", "opinion": opinion})

    return make
