"""Rows for comparing recipes with published rewards: right and wrong ones, odd ones, and exploits.

We generate them ourselves, seeded: the same seed gives the same rows. A row's label says how its answer and its form
were made, such as `right, plain` or `several, twice`.
"""

from __future__ import annotations

import json
import math
import random
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Row:
    """A response with its reference. fields: further values, for our sample and for the published call."""

    label: str
    response: str
    reference: Any
    fields: Mapping[str, Any] = field(default_factory=dict)


Form = Callable[[random.Random, str, str], str]
"""Makes a response of a thought and of the text that gives the answer."""

Forms = Mapping[str, tuple[int, Form]]
"""Forms by name, with weights."""

_THOUGHTS = (
    "Let me work through this step by step.", "First I list what is given.", "The two parts add up.",
    "I check the result once more.", "That would contradict the first line, so I start again.", "So this must hold.",
    "It follows from the definition.", "Comparing both sides settles it.",
)  # fmt: skip


def thought(rng: random.Random) -> str:
    """Returns a few sentences."""
    return " ".join(rng.choices(_THOUGHTS, k=rng.randint(1, 5)))


def drawn(rng: random.Random, forms: Mapping[str, tuple[int, T]]) -> tuple[str, T]:
    """Returns a form, or a response in it, and its name."""
    names = list(forms)
    name = rng.choices(names, weights=[forms[each][0] for each in names])[0]
    return name, forms[name][1]


def think_answer(answer: str = "<answer>{}</answer>", between: str = "\n") -> Forms:
    """Returns the forms of a thought and an answer in tags: the right one and wrong ones."""
    tags = answer.format

    return {
        "plain": (12, lambda rng, why, what: f"<think>{why}</think>{between}{tags(what)}"),
        "lines": (2, lambda rng, why, what: f"<think>\n{why}\n</think>{between}{tags(what)}"),
        "no thought": (2, lambda rng, why, what: tags(what)),
        "before": (1, lambda rng, why, what: f"Sure! <think>{why}</think>{between}{tags(what)}"),
        "between": (1, lambda rng, why, what: f"<think>{why}</think>\nTherefore\n{tags(what)}"),
        "after": (1, lambda rng, why, what: f"<think>{why}</think>{between}{tags(what)}\nI hope this helps."),
        "thought twice": (1, lambda rng, why, what: f"<think>{why}</think><think>{why}</think>{between}{tags(what)}"),
        "reversed": (1, lambda rng, why, what: f"{tags(what)}{between}<think>{why}</think>"),
        "no tags": (1, lambda rng, why, what: f"{why} {what}"),
        "cut": (1, lambda rng, why, what: f"<think>{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }


def reasoned() -> Forms:
    """Returns the forms of an answer after a format of reasoning, of one without any, and of mixtures."""

    def answer(what: str) -> str:
        return f"<ANSWER>\n{what}\n</ANSWER>"

    def program(what: str) -> str:
        return f"<CODE>\ndef work():\n    return {{'answer': {what!r}}}\nprint(work())\n</CODE>"

    def run(what: str) -> str:
        return f"{program(what)}\n<OBSERVATION>\nresult = {{'answer': {what!r}}}\n</OBSERVATION>\n{answer(what)}"

    return {
        "direct": (6, lambda rng, why, what: answer(what)),
        "short": (6, lambda rng, why, what: f"<COT>\n{why}\n</COT>\n{answer(what)}"),
        "long": (6, lambda rng, why, what: f"<LONG_COT>\n{why} {why}\n</LONG_COT>\n{answer(what)}"),
        "program": (4, lambda rng, why, what: run(what)),
        "not run": (1, lambda rng, why, what: f"{program(what)}\n{answer(what)}"),
        "opened": (1, lambda rng, why, what: f"<COT>\n{why}\n{answer(what)}"),
        "after": (1, lambda rng, why, what: f"<COT>\n{why}\n</COT>\n{answer(what)}\nI hope this helps."),
        "before": (1, lambda rng, why, what: f"Sure! <COT>\n{why}\n</COT>\n{answer(what)}"),
        "indented": (1, lambda rng, why, what: f"\n<COT>\n{why}\n</COT>\n{answer(what)}"),
        "mixed": (1, lambda rng, why, what: f"<COT>\n{why}\n</COT>\n<LONG_COT>\n{why}\n</LONG_COT>\n{answer(what)}"),
        "reversed": (1, lambda rng, why, what: f"{answer(what)}\n<COT>\n{why}\n</COT>"),
        "twice": (1, lambda rng, why, what: f"<COT>\n{why}\n</COT>\n{answer(what)}\n{answer(what)}"),
        "no tags": (1, lambda rng, why, what: f"{why} {what}"),
        "cut": (1, lambda rng, why, what: f"<LONG_COT>\n{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }


def named(forms: Forms, thought: str) -> Forms:
    """Returns the same forms, with the thought in other tags than `think`."""

    def other(form: Form) -> Form:
        return lambda rng, why, what: re.sub("(</?)think>", rf"\1{thought}>", form(rng, why, what))

    return {name: (weight, other(form)) for name, (weight, form) in forms.items()}


# --- mathematics ---------------------------------------------------------------------------------------------------


def _value(rng: random.Random, reduced: bool = False) -> tuple[str, str, str]:
    """Returns a value, another spelling of it, and another value. reduced: a fraction is in lowest terms."""
    a, b, c = rng.randint(2, 97), rng.randint(3, 11), rng.randint(2, 6)
    while a % b == 0 or (reduced and math.gcd(a, b) > 1):
        a += 1
    kind = rng.randrange(6)
    if kind == 0:
        return str(a), f"{a}.0", str(a + b)
    if kind == 1:
        return str(-a), f"-{a}.0", str(a)
    if kind == 2:
        return rf"\frac{{{a}}}{{{b}}}", rf"\dfrac{{{a * c}}}{{{b * c}}}", rf"\frac{{{a + 1}}}{{{b}}}"
    if kind == 3:
        return f"{a}.5", rf"\frac{{{2 * a + 1}}}{{2}}", f"{a}.25"
    if kind == 4:
        return rf"{b}\sqrt{{{c}}}", rf"\sqrt{{{c}}} \cdot {b}", rf"{b + 1}\sqrt{{{c}}}"
    return f"x^2 + {a}x", f"{a}x + x^2", f"x^2 + {a + 1}x"


def mathematics(
    forms: Forms,
    box: str = r"\boxed{{{}}}",
    skip: Sequence[str] = (),
    length: bool = False,
    bare: bool = True,
    reduced: bool = False,
    display: bool = True,
    unsure: bool = False,
) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a value in a box.

    skip: kinds of answers to leave out. length: a row has a count of tokens. bare: a value can stand outside a box.
    reduced: the reference's fraction is in lowest terms. display: an equal fraction is written in display style.
    unsure: some say that they do not know.
    """
    boxed = box.format
    kinds = {
        "right": 12, "equal": 3, "wrong": 6, "none": 1, "repeated": 1, "corrected": 2, "several": 1, "thought": 1,
        **({"bare": 1} if bare else {}), **({"unsure": 1} if unsure else {}),
    }  # fmt: skip
    names = [kind for kind in kinds if kind not in skip]
    weights = [kinds[name] for name in names]

    def make(rng: random.Random) -> Row:
        right, same, wrong = _value(rng, reduced)
        same = same if display else same.replace("dfrac", "frac")
        kind = rng.choices(names, weights=weights)[0]
        name, form = drawn(rng, forms)
        why = thought(rng)
        if kind in ("corrected", "thought"):
            why += f" It could be {boxed(wrong if kind == 'corrected' else right)}."
        what = {
            "right": f"The result is {boxed(right)}.",
            "equal": f"The result is {boxed(same)}.",
            "wrong": f"The result is {boxed(wrong)}.",
            "none": "I could not find a result.",
            "repeated": f"It is {boxed(right)}, so the result is {boxed(right)}.",
            "corrected": f"The result is {boxed(right)}.",
            "several": f"It is {boxed(right)} or {boxed(wrong)}.",
            "thought": "I gave the result above.",
            "bare": f"The result is ${right}$.",
            "unsure": "I do not know.",
        }[kind]
        response = form(rng, why, what)
        fields = {"token_count": rng.randrange(0, 6000)} if length else {}
        return Row(f"{kind}, {name}", response, right, fields)

    return make


def lengths(rows: Callable[[random.Random], Row], limit: int) -> Callable[[random.Random], Row]:
    """Returns a maker of the same rows with a count of tokens, some of them near the limit or at it."""

    def make(rng: random.Random) -> Row:
        row = rows(rng)
        near = rng.randint(limit - 20, limit + 5)
        count = rng.choices((rng.randrange(limit), near, 0), weights=(12, 4, 1))[0]
        return replace(row, fields={**row.fields, "token_count": count})

    return make


def values(forms: Forms, skip: Sequence[str] = (), dollars: bool = False) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a value by itself, which the forms put into tags.

    skip: kinds of answers to leave out. A fraction is in lowest terms. dollars: a formula is in dollar signs.
    """
    kinds = {
        "right": 12, "equal": 3, "wrong": 8, "boxed": 2, "math": 1, "blank": 1, "none": 1, "either": 1, "several": 1,
        "first": 1,
    }  # fmt: skip
    names = [kind for kind in kinds if kind not in skip]
    weights = [kinds[name] for name in names]

    def make(rng: random.Random) -> Row:
        right, same, wrong = _value(rng, reduced=True)
        kind = rng.choices(names, weights=weights)[0]
        name, form = drawn(rng, forms)
        told = [f"${text}$" if dollars and not text.lstrip("-").replace(".", "").isdigit() else text
                for text in (right, same, wrong)]  # fmt: skip
        what = {
            "right": told[0],
            "equal": told[1],
            "wrong": told[2],
            "boxed": rf"\boxed{{{right}}}",
            "math": f"${right}$",
            "blank": " ",
            "none": "I could not find a result.",
            "either": f"{told[0]} or {told[2]}",
            "several": f"{told[2]}</answer> No: <answer>{told[0]}",
            "first": f"{told[0]}</answer> Or: <answer>{told[2]}",
        }[kind]
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


def votes(forms: Forms, size: int = 4) -> Callable[[random.Random], list[Row]]:
    """Returns a maker of the rows of a group, whose answers agree or not; each value has one spelling."""

    def make(rng: random.Random) -> list[Row]:
        right, _, wrong = _value(rng, reduced=True)
        other = "12345"
        kind = rng.choice(("all", "most", "most", "half", "tie", "none", "silent"))
        answers: Mapping[str, Sequence[str | None]] = {
            "all": [right] * size,
            "most": [right] * (size - 1) + [wrong],
            "half": [right] * (size // 2) + [wrong, other],
            "tie": [right] * (size // 2) + [wrong] * (size - size // 2),
            "none": [right, wrong, other, "777"],
            "silent": [*[None] * (size - 1), right],
        }
        said = list(answers[kind])
        rng.shuffle(said)
        responses = []
        for what in said:
            _, form = drawn(rng, forms)
            told = rf"The result is \boxed{{{what}}}." if what is not None else "I could not find a result."
            responses.append(form(rng, thought(rng), told))
        silent = sum("boxed" not in response for response in responses)
        heard = f"{silent} silent" if silent else "all answer"
        return [Row(f"{kind}, {heard}", response, right) for response in responses]

    return make


def numbers(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a number, whole or decimal, which the forms put into words."""

    def make(rng: random.Random) -> Row:
        whole = rng.randint(2, 4000)
        right = rng.choice((str(whole), str(whole), f"{whole}.5", f"-{whole}"))
        kind, what = rng.choice(
            (
                *[("right", right)] * 8,
                *[("wrong", str(whole + 7))] * 6,
                ("zeros", f"{right}.0" if "." not in right else f"{right}0"),
                ("near", f"{float(right) + 0.004:.3f}"),
                ("off", f"{float(right) + 0.02:.2f}"),
                ("signed", f"+{right}" if right[0] != "-" else right),
                ("dollars", f"${right}"),
                ("unit", f"{right} apples"),
                ("grouped", f"{float(right):,}"),
                ("stopped", f"{right}."),
                ("words", "about a dozen"),
                ("blank", " "),
                ("several", f"{right} or {whole + 7}"),
            )
        )
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


def agreeing(forms: Forms, size: int) -> Callable[[random.Random], list[Row]]:
    """Returns a maker of the rows of a group whose answers agree more or less; in some groups, thoughts have boxes."""
    states = {"agreed": (8, 1), "mixed": (4, 2, 1), "split": (1, 1), "alone": (1,) * size, "thoughts": (4, 1)}

    def make(rng: random.Random) -> list[Row]:
        state, shares = rng.choice(list(states.items()))
        values = list(dict.fromkeys(_value(rng)[0] for _ in range(2 * size)))[:size]
        silent = rng.choice((0, 0, 0.2))
        rows: list[Row] = []
        for place in range(size):
            value = values[place] if state == "alone" else rng.choices(values[: len(shares)], weights=shares)[0]
            name, form = drawn(rng, forms)
            why, what = thought(rng), rf"The result is \boxed{{{value}}}."
            if state == "thoughts":
                why += rf" It could be \boxed{{{value}}}."
            kind = "none" if rng.random() < silent or (state == "thoughts" and place % 2) else "answer"
            what = what if kind == "answer" else "I could not find a result."
            rows.append(Row(f"{state}, {kind}, {name}", form(rng, why, what), values[0]))
        return rows

    return make


# --- short answers in words ----------------------------------------------------------------------------------------

_FIRST = ("Mara", "Otto", "Lina", "Pavel", "Ingrid", "Tomas", "Yuki", "Amara", "Hugo", "Selma")
_LAST = ("Keller", "Okafor", "Lindqvist", "Marsh", "Ferreira", "Novak", "Tanaka", "Whitfield", "Duarte", "Holm")
_THINGS = ("Lighthouse", "Orchard", "Bridge", "Museum", "Harbour", "Observatory")
_COLOURS = ("Red", "Silver", "Old", "Northern", "Glass")


def _name(rng: random.Random, years: bool = True) -> str:
    kind = rng.randrange(4) if years else rng.choice((0, 1, 3))
    if kind == 0:
        return f"{rng.choice(_FIRST)} {rng.choice(_LAST)}"
    if kind == 1:
        return f"{rng.choice(_COLOURS)} {rng.choice(_THINGS)}"
    if kind == 2:
        return str(rng.randint(1701, 1999))
    return f"{rng.choice(_COLOURS)} {rng.choice(_THINGS)} of {rng.choice(_LAST)}"


def _other(rng: random.Random, than: Sequence[str], years: bool = True) -> str:
    """Returns a name that shares no word with others."""
    taken = {word for text in than for word in text.lower().split()}
    while True:
        name = _name(rng, years)
        if taken.isdisjoint(name.lower().split()):
            return name


def words(
    forms: Forms, skip: Sequence[str] = (), several: bool = True, single: bool = False, years: bool = True
) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a name, which the forms put into tags.

    several: two answers can be in tags. single: the reference is one text, not a list. years: some names are years.
    """
    kinds = {
        "right": 10, "alias": 3, "spelled": 4, "spaced": 1, "wrong": 6, "part": 4, "more": 4, "either": 1, "denied": 1,
        "refused": 1, "doubled": 1, "blank": 1, **({"several": 1, "first": 1} if several else {}),
    }  # fmt: skip
    names = [kind for kind in kinds if kind not in skip and not (single and kind == "alias")]
    weights = [kinds[name] for name in names]

    def make(rng: random.Random) -> Row:
        first = _name(rng, years)
        references = [first] if single or rng.random() < 0.5 else [first, _other(rng, [first], years)]
        wrong = _other(rng, references, years)
        kind = rng.choices(names, weights=weights)[0]
        name, form = drawn(rng, forms)
        spelled = rng.choice((first.upper(), f"the {first}", f"{first}.", f'"{first}"'))
        what = {
            "right": first,
            "alias": references[-1],
            "spelled": spelled,
            "spaced": f" {first} ",
            "wrong": wrong,
            "part": first.split()[-1],
            "more": f"{first} near {wrong}",
            "either": f"{first} or {wrong}",
            "denied": f"not {first}",
            "refused": "I do not know",
            "doubled": f"{first} {first}",
            "blank": " ",
            "several": f"{wrong}</answer> No: <answer>{first}",
            "first": f"{first}</answer> Or: <answer>{wrong}",
        }[kind]
        response = form(rng, thought(rng), what)
        return Row(f"{kind}, {name}", response, references[0] if single else references)

    return make


def confident(analysis: bool = True) -> Forms:
    """Returns the forms of a thought, an answer, an analysis of it, and a confidence."""

    def sure(rng: random.Random) -> str:
        return rng.choice(("0", "1", "0.5", "0.9", "0.25", "0.75", ".3", "1.0", "0.05", "0.99"))

    def told(rng: random.Random, what: str, q: str) -> str:
        middle = f"<analysis>{thought(rng)}</analysis>\n" if analysis else ""
        return f"<answer>{what}</answer>\n{middle}<confidence>{q}</confidence>"

    return {
        "plain": (14, lambda rng, why, what: f"<think>{why}</think>\n{told(rng, what, sure(rng))}"),
        "over": (1, lambda rng, why, what: f"<think>{why}</think>\n{told(rng, what, '1.5')}"),
        "below": (1, lambda rng, why, what: f"<think>{why}</think>\n{told(rng, what, '-0.5')}"),
        "percent": (1, lambda rng, why, what: f"<think>{why}</think>\n{told(rng, what, '90%')}"),
        "words": (1, lambda rng, why, what: f"<think>{why}</think>\n{told(rng, what, 'very sure')}"),
        "not said": (1, lambda rng, why, what: f"<think>{why}</think>\n{told(rng, what, '')}"),
        "no confidence": (1, lambda rng, why, what: f"<think>{why}</think>\n<answer>{what}</answer>"),
        "between": (1, lambda rng, why, what: f"<think>{why}</think>\nSo\n{told(rng, what, sure(rng))}"),
        "after": (1, lambda rng, why, what: f"<think>{why}</think>\n{told(rng, what, sure(rng))}\nDone."),
        "cut": (1, lambda rng, why, what: f"<think>{why}</think>\n<answer>{what}"),
        "no tags": (1, lambda rng, why, what: f"{why} {what}"),
        "empty": (1, lambda rng, why, what: ""),
    }


def searching(rounds: Callable[[random.Random], int], query: Callable[[random.Random], str]) -> Forms:
    """Returns the forms of thoughts, searches and their results, and an answer."""

    def steps(rng: random.Random) -> str:
        made = [
            f"<think>{thought(rng)}</think>\n<search>{query(rng)}</search>\n<information>{_name(rng)} was built "
            f"then.</information>\n"
            for _ in range(rounds(rng))
        ]
        return "".join(made)

    return {
        "plain": (12, lambda rng, why, what: f"{steps(rng)}<think>{why}</think>\n<answer>{what}</answer>"),
        "no thought": (1, lambda rng, why, what: f"{steps(rng)}<answer>{what}</answer>"),
        "between": (1, lambda rng, why, what: f"{steps(rng)}So.\n<think>{why}</think>\n<answer>{what}</answer>"),
        "after": (1, lambda rng, why, what: f"{steps(rng)}<think>{why}</think>\n<answer>{what}</answer> Done."),
        "no answer": (1, lambda rng, why, what: f"{steps(rng)}<think>{why}</think>\n"),
        "cut": (1, lambda rng, why, what: f"{steps(rng)}<think>{why}</think>\n<answer>{what}"),
        "no tags": (1, lambda rng, why, what: f"{steps(rng)}{why} {what}"),
        "empty": (1, lambda rng, why, what: ""),
    }


def noted(rows: Callable[[random.Random], Row], values: Mapping[str, Sequence[Any]]) -> Callable[[random.Random], Row]:
    """Returns a maker of the same rows with metadata: for each key, one of these values."""

    def make(rng: random.Random) -> Row:
        row = rows(rng)
        drawn = {key: rng.choice(choices) for key, choices in values.items()}
        return Row(row.label, row.response, row.reference, {**row.fields, "metadata": drawn})

    return make


def graded(rows: Callable[[random.Random], Row], signal: str) -> Callable[[random.Random], Row]:
    """Returns a maker of the same rows with a signal from 0 to 1."""

    def make(rng: random.Random) -> Row:
        row = rows(rng)
        return replace(row, fields={**row.fields, "signals": {signal: round(rng.random(), 3)}})

    return make


def counted(rows: Callable[[random.Random], Row], most: int, least: int = 1) -> Callable[[random.Random], Row]:
    """Returns a maker of the same rows with a count of tokens within these bounds; none is cut off."""

    def make(rng: random.Random) -> Row:
        row = rows(rng)
        return replace(row, fields={**row.fields, "token_count": rng.randint(least, most), "finish_reason": "stop"})

    return make


def grouped(rows: Callable[[random.Random], Row], size: int) -> Callable[[random.Random], list[Row]]:
    """Returns a maker of groups of the same rows."""
    return lambda rng: [rows(rng) for _ in range(size)]


def batched(
    rows: Callable[[random.Random], Row], share: Callable[[str], bool], signal: str, size: int
) -> Callable[[random.Random], list[Row]]:
    """Returns a maker of batches of the same rows, with the share of the responses that have a property as a signal."""

    def make(rng: random.Random) -> list[Row]:
        batch = [rows(rng) for _ in range(size)]
        rate = sum(share(row.response) for row in batch) / size
        return [replace(row, fields={**row.fields, "signals": {signal: rate}}) for row in batch]

    return make


def likely(rows: Callable[[random.Random], Row], size: int) -> Callable[[random.Random], list[Row]]:
    """Returns a maker of groups of the same rows, with log-probabilities of the reference's tokens as signals: those
    after the reasoning, and those without any, which the group shares."""

    def make(rng: random.Random) -> list[Row]:
        tokens = rng.randint(1, 6)
        bare = [-rng.expovariate(0.7) for _ in range(tokens)]
        made = []
        for _ in range(size):
            row = rows(rng)
            after = [value * rng.choice((0.05, 0.3, 1, 1.5)) for value in bare]
            signals = {"reference_logprobs": after, "baseline_logprobs": bare}
            made.append(replace(row, fields={**row.fields, "prompt": "Who built it?", "signals": signals}))
        return made

    return make


def posed(rows: Callable[[random.Random], Row], prompt: str) -> Callable[[random.Random], Row]:
    """Returns a maker of the same rows with a prompt."""

    def make(rng: random.Random) -> Row:
        row = rows(rng)
        return replace(row, fields={**row.fields, "prompt": prompt})

    return make


def standing(
    rows: Callable[[random.Random], Row], right: Callable[[Row], bool], signal: str, size: int
) -> Callable[[random.Random], list[Row]]:
    """Returns a maker of groups of the same rows, with a signal: how many standard deviations a response is longer than
    the mean of the right ones, or of the wrong ones, whichever it is."""

    def make(rng: random.Random) -> list[Row]:
        group = [rows(rng) for _ in range(size)]
        made = []
        for row in group:
            lengths = [len(other.response) for other in group if right(other) == right(row)]
            spread = max(statistics.stdev(lengths), 1e-6) if len(lengths) > 1 else 1.0
            far = (len(row.response) - statistics.fmean(lengths)) / spread
            made.append(replace(row, fields={**row.fields, "signals": {signal: far}}))
        return made

    return make


def query(rng: random.Random) -> str:
    """Returns what somebody searches for."""
    return f"who built the {rng.choice(_COLOURS)} {rng.choice(_THINGS)}"


# --- knights and knaves --------------------------------------------------------------------------------------------


def knights(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer says who is a knight and who a knave."""

    def told(people: Mapping[str, str]) -> str:
        return "\n".join(f"({place}) {name} is a {role}" for place, (name, role) in enumerate(people.items(), 1))

    def make(rng: random.Random) -> Row:
        names = rng.sample(_FIRST, rng.randint(2, 5))
        right = {name: rng.choice(("knight", "knave")) for name in names}
        turned = {**right, names[0]: "knave" if right[names[0]] == "knight" else "knight"}
        fewer = {name: right[name] for name in names[1:]}
        kind = rng.choices(
            ("right", "wrong", "left out", "prose", "joined", "upper", "blank", "other words", "denied", "all"),
            weights=(10, 7, 2, 1, 2, 1, 1, 1, 1, 1),
        )[0]
        what = {
            "right": told(right),
            "wrong": told(turned),
            "left out": told(fewer),
            "prose": "Everybody said something that I cannot decide.",
            "joined": ", and ".join(f"{name} is a {role}" for name, role in right.items()) + ".",
            "upper": told(right).upper(),
            "blank": " ",
            "other words": "\n".join(f"{name} tells the truth" for name in names),
            "denied": f"It is not true that {told(right)}",
            "all": "\n".join(f"{name} is a knight or {name} is a knave" for name in names),
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


# --- tables of houses ------------------------------------------------------------------------------------------------


def houses(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a table of houses and what is in them, as JSON."""

    def make(rng: random.Random) -> Row:
        size = rng.randint(2, 4)
        columns = {
            "Name": rng.sample(_FIRST, size),
            "Drink": rng.sample(("tea", "milk", "water", "coffee", "cocoa"), size),
            "Pet": rng.sample(("cat", "dog", "bird", "fish", "horse"), size),
        }
        right = {f"House {place + 1}": {key: column[place] for key, column in columns.items()} for place in range(size)}
        first, second = rng.sample(list(right), 2)
        turned = {**right, first: right[second], second: right[first]}
        swapped = {**right, first: {**right[first], "Pet": right[second]["Pet"]}}
        kinds = {"right": 8, "bare": 2, "turned": 6, "some": 3, "same": 1, "left out": 2, "strangers": 3, "prose": 2,
                 "broken": 1, "blank": 1, "list": 1}  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": json.dumps({"solution": right}),
            "bare": json.dumps(right),
            "turned": json.dumps({"solution": turned}),
            "some": json.dumps({"solution": swapped}),
            "same": json.dumps({"solution": dict.fromkeys(right, right[first])}),
            "left out": json.dumps({"solution": {name: row for name, row in right.items() if name != first}}),
            "strangers": json.dumps({"solution": {name: dict.fromkeys(row, "nothing") for name, row in right.items()}}),
            "prose": "I cannot decide who lives where.",
            "broken": json.dumps({"solution": right}).removesuffix("}}"),
            "blank": " ",
            "list": json.dumps(list(right.values())),
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


def sudokus(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a grid of 9 by 9, of which a puzzle leaves some cells blank."""

    def make(rng: random.Random) -> Row:
        digits = rng.sample(range(1, 10), 9)
        lines = [line for band in rng.sample(range(3), 3) for line in rng.sample(range(3 * band, 3 * band + 3), 3)]
        right = [[digits[(3 * (line % 3) + line // 3 + column) % 9] for column in range(9)] for line in lines]
        blanks = [divmod(cell, 9) for cell in rng.sample(range(81), 12)]
        puzzle = [list(line) for line in right]
        for line, column in blanks:
            puzzle[line][column] = 0
        wrong = [list(line) for line in right]
        wrong[blanks[0][0]][blanks[0][1]] = right[blanks[0][0]][blanks[0][1]] % 9 + 1
        changed = [[cell % 9 + 1 for cell in line] for line in right]
        written = "\n".join(" ".join(map(str, line)) for line in right)
        kinds = {"right": 10, "wrong": 6, "changed": 2, "puzzle": 2, "short": 2, "wide": 1, "spaced": 2, "flat": 1,
                 "packed": 1, "commas": 1, "words": 1, "blank": 1}  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": written,
            "wrong": "\n".join(" ".join(map(str, line)) for line in wrong),
            "changed": "\n".join(" ".join(map(str, line)) for line in changed),
            "puzzle": "\n".join(" ".join(map(str, line)) for line in puzzle),
            "short": written.rpartition("\n")[0],
            "wide": written.replace("\n", " 1\n"),
            "spaced": "\n" + written.replace(" ", "  ") + "\n",
            "flat": written.replace("\n", " "),
            "packed": written.replace(" ", ""),
            "commas": written.replace(" ", ", "),
            "words": "It has no solution.",
            "blank": " ",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), {"puzzle": puzzle, "solution": right})

    return make


def boards() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a grid of 9 by 9 as tuples, in a code block."""
    lists = sudokus({"alone": (1, lambda rng, why, what: what)})

    def make(rng: random.Random) -> Row:
        row = lists(rng)
        right, puzzle = row.reference["solution"], row.reference["puzzle"]
        kinds = {"right": 8, "lists": 2, "wrong": 5, "changed": 2, "puzzle": 2, "short": 2, "words": 1}
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        wrong = [list(line) for line in right]
        line, column = rng.randrange(9), rng.randrange(9)
        wrong[line][column] = right[line][column] % 9 + 1
        what = {
            "right": str(tuple(map(tuple, right))),
            "lists": str(right),
            "wrong": str(tuple(map(tuple, wrong))),
            "changed": str(tuple(tuple(cell % 9 + 1 for cell in line) for line in right)),
            "puzzle": str(tuple(map(tuple, puzzle))),
            "short": str(tuple(map(tuple, right[:-1]))),
            "words": "It has no solution.",
        }[kind]
        why = thought(rng)
        block = f"```python\n{what}\n```"
        forms = {
            "plain": (10, f"<think>\n{why}\n</think>\n{block}"),
            "after": (2, f"<think>\n{why}\n</think>\n{block}\nI hope this helps."),
            "no thought": (3, block),
            "cut": (2, f"<think>\n{why}"),
            "empty": (1, ""),
        }
        form, response = drawn(rng, forms)
        return Row(f"{kind}, {form}", response, {"puzzle": puzzle})

    return make


def sequences(forms: Forms, brackets: bool) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a list of whole numbers, or without brackets, numbers and blanks."""
    between, around = (", ", "[{}]") if brackets else (" ", "{}")

    def make(rng: random.Random) -> Row:
        right = [rng.randrange(10) for _ in range(rng.randint(3, 9))]
        written = between.join(map(str, right))
        kinds = {"right": 10, "wrong": 8, "short": 3, "long": 2, "spaced": 2, "other marks": 1, "words": 1, "blank": 1}
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": around.format(written),
            "wrong": around.format(between.join(map(str, [*right[:-1], 9 - right[-1]]))),
            "short": around.format(between.join(map(str, right[:-1]))),
            "long": around.format(f"{written}{between}{right[0]}"),
            "spaced": "\n" + around.format(written.replace(" ", "  ")) + "\n",
            "other marks": written if brackets else f"[{written}]",
            "words": "There is no rule.",
            "blank": " ",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


def spelled(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is one word in small letters."""
    known = [name.lower() for name in (*_FIRST, *_COLOURS)]

    def make(rng: random.Random) -> Row:
        right, wrong = rng.sample(known, 2)
        kinds = {"right": 10, "wrong": 8, "capital": 2, "spaced": 1, "stopped": 1, "quoted": 1, "sentence": 2,
                 "either": 1, "denied": 1, "blank": 1}  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": right,
            "wrong": wrong,
            "capital": right.capitalize(),
            "spaced": f"\n  {right}\n",
            "stopped": f"{right}.",
            "quoted": f'"{right}"',
            "sentence": f"It is {right}",
            "either": f"{right} or {wrong}",
            "denied": f"not {right}",
            "blank": " ",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


# --- arithmetic with given numbers -----------------------------------------------------------------------------------


def countdown(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is an expression that makes a target of numbers, each used once."""

    def make(rng: random.Random) -> Row:
        numbers = [rng.randint(1, 60) for _ in range(rng.choice((3, 4)))]
        expression = str(numbers[0])
        for number in numbers[1:]:
            expression = f"({expression} {rng.choice('+-*')} {number})"
        target = eval(expression)  # noqa: S307 - made above of numbers and operators
        kind = rng.choices(
            ("right", "bracketed", "wrong", "left out", "twice", "others", "words", "target", "blank"),
            weights=(10, 3, 6, 3, 2, 2, 2, 1, 1),
        )[0]
        what = {
            "right": expression.removeprefix("(").removesuffix(")"),
            "bracketed": f"({expression})",
            "wrong": f"{expression.removeprefix('(').removesuffix(')')} + 1",
            "left out": " + ".join(map(str, numbers[:-1])),
            "twice": f"{expression} + {numbers[0]} - {numbers[0]}",
            "others": f"{target + 1} - 1",
            "words": "There is no way to make it.",
            "target": str(target),
            "blank": " ",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), {"target": target, "numbers": numbers})

    return make


def cards() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a formula that makes 24 of four cards, in JSON."""

    def make(rng: random.Random) -> Row:
        value = 0
        while value != 24:
            numbers = [rng.randint(1, 13) for _ in range(4)]
            first, second, third = (rng.choice("+-*") for _ in range(3))
            a, b, c, d = numbers
            formula = rng.choice((f"(({a}{first}{b}){second}{c}){third}{d}", f"({a}{first}{b}){second}({c}{third}{d})"))
            value = eval(formula)  # noqa: S307 - made above of numbers and operators
        foreign = next(number for number in range(14, 99) if str(number) not in formula)
        kinds = {
            "right": 10, "bracketed": 2, "wrong": 6, "left out": 4, "twice": 3, "foreign": 5, "added": 2,
            "target": 2, "blanks": 1, "signs": 2, "sign first": 1, "no sign": 1, "closed": 1, "words": 1,
            "other sign": 1, "broken off": 2, "blank": 1,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": formula,
            "bracketed": f"({formula})",
            "wrong": f"{a}+{b}+{c}+{d}" if sum(numbers) != 24 else f"{a}-{b}+{c}+{d}",
            "left out": f"{a}+{b}*{c}",
            "twice": f"{formula}+{a}-{a}",
            "foreign": f"{a}*{b}+{c}+{foreign}",
            "added": f"{formula}+{foreign}-{foreign}",
            "target": "24",
            "blanks": " + ".join(map(str, numbers)),
            "signs": f"{a}+*{b}+{c}+{d}",
            "sign first": f"-{a}+{b}+{c}+{d}",
            "no sign": f"({a}+{b}){c}+{d}",
            "closed": f"{formula})",
            "words": "there is no way",
            "other sign": f"{a}×{b}+{c}+{d}",
            "broken off": formula[: rng.randint(3, len(formula) - 1)],
            "blank": "",
        }[kind]
        what += rng.choice(("", "=24"))
        told = json.dumps({"cards": numbers, "number": numbers, "formula": what}, ensure_ascii=False)
        forms = {
            "plain": (10, told),
            "fenced": (3, f"```json\n{told}\n```"),
            "after": (2, f"{thought(rng)}\n{told}"),
            "no formula": (1, json.dumps({"cards": numbers, "number": numbers})),
            "text": (1, f"{thought(rng)} {what}"),
            "cut": (1, told[:-2]),
            "empty": (1, ""),
        }
        form, response = drawn(rng, forms)
        return Row(f"{kind}, {form}", response, numbers)

    return make


# --- rankings ------------------------------------------------------------------------------------------------------


def rankings(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer ranks numbered passages; the reference has the order and relevant ones."""

    def told(numbers: Sequence[int]) -> str:
        return " > ".join(f"[{number}]" for number in numbers)

    def make(rng: random.Random) -> Row:
        count = rng.randint(12, 20)
        order = rng.sample(range(1, count + 1), count)
        relevant = sorted(rng.sample(order[:8], rng.randint(1, 4)))
        moved = list(order)
        for _ in range(3):
            first, second = rng.sample(range(count), 2)
            moved[first], moved[second] = moved[second], moved[first]
        foreign = [number if number != order[1] else 99 for number in moved]
        kinds = {
            "right": 4, "moved": 6, "shuffled": 6, "reversed": 2, "commas": 3, "fewer": 2, "one": 1, "longer": 1,
            "doubled": 2, "foreign": 2, "words": 1, "blank": 1, "several": 1, "first": 1,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": told(order),
            "moved": told(moved),
            "shuffled": told(rng.sample(order, count)),
            "reversed": told(order[::-1]),
            "commas": ", ".join(f"[{number}]" for number in moved),
            "fewer": told(moved[:-2]),
            "one": told(order[:1]),
            "longer": told([*moved, count + 1]),
            "doubled": told([moved[0], *moved[:-1]]),
            "foreign": told(foreign),
            "words": "The passages cannot be ranked.",
            "blank": " ",
            "several": f"{told(moved)}</answer> No: <answer>{told(order)}",
            "first": f"{told(order)}</answer> Or: <answer>{told(moved)}",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), {"order": order, "relevant": relevant})

    return make


def recommendations() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer recommends films, one a line, as `TITLE (YEAR)`."""

    def make(rng: random.Random) -> Row:
        titles = [f"The {colour} {thing}" for colour in _COLOURS for thing in _THINGS]
        films = [f"{title} ({rng.randint(1931, 2024)})" for title in rng.sample(titles, len(titles))]
        right, others = films[: rng.randint(1, 6)], films[6:]
        kind = rng.choices(
            ("mixed", "best", "none", "repeated", "small", "no years", "longer", "remarks"), (8, 2, 2, 2, 1, 1, 2, 2)
        )[0]
        drawn_ones = rng.sample(right, rng.randint(1, len(right)))
        listed = rng.sample(others, rng.randint(3, 14)) + (drawn_ones if kind != "none" else [])
        rng.shuffle(listed)
        if kind == "best":
            listed = right + rng.sample(others, 8)
        elif kind == "repeated":
            listed = [*drawn_ones, *listed, drawn_ones[0]]
        elif kind == "small":
            listed = [film.lower() for film in listed]
        elif kind == "no years":
            listed = [film.rpartition(" (")[0] for film in listed]
        elif kind == "longer":
            listed = [*rng.sample(others, 19), *right]
        elif kind == "remarks":
            listed = [f"{film} - a quiet one" for film in listed]
        forms = {
            "lines": (8, "\n".join(listed)),
            "numbered": (6, "\n".join(f"{place}. {film}" for place, film in enumerate(listed, 1))),
            "bulleted": (3, "\n".join(f"- {film}" for film in listed)),
            "introduced": (
                2,
                "You may like these:\n" + "\n".join(f"{place}. {film}" for place, film in enumerate(listed, 1)),
            ),
            "spaced": (2, "\n\n".join(f"{place}. {film}" for place, film in enumerate(listed, 1))),
            "prose": (1, f"I would watch {listed[0]} tonight."),
            "empty": (1, ""),
        }
        form, response = drawn(rng, forms)
        return Row(f"{kind}, {form}", response, {"right": right, "films": films})

    return make


# --- verdicts ------------------------------------------------------------------------------------------------------


def verdicts(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a box that says whether a statement is proved."""

    def make(rng: random.Random) -> Row:
        right, wrong = rng.sample(("proved", "disproved"), 2)
        kinds = {"right": 8, "wrong": 8, "text": 2, "spelled": 2, "bare": 1, "other": 1, "blank": 1}
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": rf"\boxed{{{right}}}",
            "wrong": rf"\boxed{{{wrong}}}",
            "text": rf"The statement is \boxed{{\text{{{right}}}}}.",
            "spelled": rf"\boxed{{{right.capitalize()}}}",
            "bare": right,
            "other": r"\boxed{unknown}",
            "blank": r"\boxed{}",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


def preferred() -> Callable[[random.Random], Row]:
    """Returns a maker of rows that say which of two responses, A or B, is better, after a thought and a rationale."""

    def told(rng: random.Random, why: str, what: str) -> str:
        return f"<think>\n{why}\n</think>\n<rationale>\n{thought(rng)}\n</rationale>\n<answer>\n{what}\n</answer>"

    forms: Forms = {
        "plain": (12, told),
        "tight": (
            2,
            lambda rng, why, what: told(rng, why, what).replace("\n<", "<").replace("><answer>\n", "><answer>"),
        ),
        "after": (2, lambda rng, why, what: f"{told(rng, why, what)}\nI hope this helps."),
        "same line": (1, lambda rng, why, what: f"{told(rng, why, what)} I hope this helps."),
        "no rationale": (3, lambda rng, why, what: f"<think>\n{why}\n</think>\n<answer>{what}</answer>"),
        "not closed": (1, lambda rng, why, what: told(rng, why, what).removesuffix("</answer>")),
        "no answer": (1, lambda rng, why, what: f"<think>\n{why}\n</think>\n<rationale>{what}</rationale>"),
        "cut": (1, lambda rng, why, what: f"<think>\n{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }

    def make(rng: random.Random) -> Row:
        right, wrong = rng.sample("AB", 2)
        kinds = {"right": 8, "wrong": 6, "words": 3, "small": 1, "third": 1, "blank": 1}
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": right,
            "wrong": wrong,
            "words": f"response {right} is better",
            "small": right.lower(),
            "third": "C",
            "blank": "",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


def marks(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is the mark that a solution earned: 1, -0.5 or -1, in a box."""

    def make(rng: random.Random) -> Row:
        right, wrong = rng.sample(("1", "-0.5", "-1"), 2)
        kinds = {"right": 8, "wrong": 6, "equal": 2, "word": 1, "none": 1, "several": 1, "corrected": 2, "thought": 1}
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": rf"The mark is \boxed{{{right}}}.",
            "wrong": rf"The mark is \boxed{{{wrong}}}.",
            "equal": rf"The mark is \boxed{{{right if '.' in right else right + '.0'}}}.",
            "word": r"The mark is \boxed{good}.",
            "none": "I cannot mark it.",
            "several": rf"It is \boxed{{{right}}} or \boxed{{{wrong}}}.",
            "corrected": rf"The mark is \boxed{{{right}}}.",
            "thought": "I gave the mark above.",
        }[kind]
        why = thought(rng)
        if kind in ("corrected", "thought"):
            why += rf" It could be \boxed{{{wrong if kind == 'corrected' else right}}}."
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, why, what), right)

    return make


def critiques() -> Callable[[random.Random], Row]:
    """Returns a maker of critiques that end with a verdict on an answer; the signals say how its refinement ended."""

    def make(rng: random.Random) -> Row:
        right, wrong = rng.sample(("Correct", "Wrong"), 2)
        kind = rng.choices(("right", "wrong", "both", "other", "none", "empty"), weights=(8, 6, 2, 1, 2, 1))[0]
        said = "Correctness of the final answer: "
        what = {
            "right": f"{thought(rng)}\n{said}{right}",
            "wrong": f"{thought(rng)}\n{said}{wrong}",
            "both": f"{said}{wrong}\n{thought(rng)}\n{said}{right}",
            "other": f"{thought(rng)}\n{said}unclear",
            "none": thought(rng),
            "empty": "",
        }[kind]
        refined = rng.choice((0.0, 1.0))
        return Row(f"{kind}, {right}, refined to {refined:.0f}", what, right, {"signals": {"refined": refined}})

    return make


def conclusions() -> Callable[[random.Random], Row]:
    """Returns a maker of critiques that end with `\\conclusion{T}` if a program is right, and otherwise with F."""

    def make(rng: random.Random) -> Row:
        right, wrong = rng.sample("TF", 2)
        words = {"T": "True", "F": "False"}
        kinds = {
            "right": 8, "wrong": 8, "word": 3, "wrong word": 2, "revised": 2, "spaced": 1, "other": 1, "bare": 1,
            "none": 2, "cut": 1, "empty": 1,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": rf"\conclusion{{{right}}}",
            "wrong": rf"\conclusion{{{wrong}}}",
            "word": rf"\conclusion{{{words[right]}}}",
            "wrong word": rf"\conclusion{{{words[wrong]}}}",
            "revised": rf"\conclusion{{{wrong}}} {thought(rng)} \conclusion{{{right}}}",
            "spaced": rf"\conclusion{{ {right} }}",
            "other": r"\conclusion{unsure}",
            "bare": f"Conclusion: {right}",
            "none": "",
            "cut": r"\conclusion{",
            "empty": "",
        }[kind]
        return Row(f"{kind}, {words[right].lower()}", "" if kind == "empty" else f"{thought(rng)}\n{what}", right)

    return make


# --- tools ---------------------------------------------------------------------------------------------------------


def turns_with_tools() -> Callable[[random.Random], Row]:
    """Returns a maker of turns that call a tool or answer, with what the calls solve of a list of questions."""

    def make(rng: random.Random) -> Row:
        right = _name(rng, years=False)
        unsolved = rng.sample(_FIRST[1:], rng.choice((0, 1, 2, 3)))  # without the name that is part of another
        kinds = {"calls": 10, "answer": 4, "sentence": 2, "wrong": 3, "long": 2, "broken": 2, "unclosed": 1, "empty": 2}
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        asked = [rng.choice((*unsolved, *_LAST)) for _ in range(rng.randint(1, 4))]
        calls = [json.dumps({"name": "find", "arguments": {"who": who}}) for who in asked]
        what = {
            "calls": "\n".join(f"<tool_call>\n{call}\n</tool_call>" for call in calls),
            "answer": right,
            "sentence": f"It is {right}.",
            "wrong": _other(rng, [right], years=False),
            "long": f"{thought(rng)} {thought(rng)} {thought(rng)} It may be {right}, or somebody else altogether.",
            "broken": "<tool_call>\n{find: somebody}\n</tool_call>",
            "unclosed": "I would call the tool. </tool_call>",
            "empty": "",
        }[kind]
        solved = len(set(asked) & set(unsolved)) if kind == "calls" else 0
        metadata = {"calls": len(asked) if kind == "calls" else 0, "solved": solved, "open": len(unsolved)}
        label = f"{kind}, {len(unsolved)} open"
        return Row(label, what, right, {"metadata": metadata, "unsolved": {"find": unsolved}})

    return make


# --- multiple choice -----------------------------------------------------------------------------------------------


def letters(forms: Forms, skip: Sequence[str] = ()) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is the letter of an option."""
    kinds = {"right": 10, "wrong": 8, "small": 2, "dotted": 2, "text": 2, "listed": 1, "blank": 1, "none": 1}
    names = [kind for kind in kinds if kind not in skip]
    weights = [kinds[name] for name in names]

    def make(rng: random.Random) -> Row:
        right, wrong = rng.sample("ABCD", 2)
        kind = rng.choices(names, weights=weights)[0]
        what = {
            "right": right,
            "wrong": wrong,
            "small": right.lower(),
            "dotted": f"{right}.",
            "text": f"{right}. the {rng.choice(_THINGS)}".lower().capitalize(),
            "listed": "A, B, C, D" if right != "A" else "A, B",
            "blank": " ",
            "none": "?",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


# --- time ----------------------------------------------------------------------------------------------------------


def intervals(forms: Forms, length: float) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is an interval of a video, as JSON with texts for the seconds."""

    def told(start: float, end: float) -> str:
        return json.dumps({"start_time": f"{start:g}", "end_time": f"{end:g}"})

    def make(rng: random.Random) -> Row:
        start = rng.randint(5, int(length) // 2)
        end = start + rng.randint(4, int(length) // 3)
        kinds = {
            "right": 6, "overlaps": 8, "elsewhere": 3, "whole": 1, "longer": 2, "turned": 2, "point": 1, "numbers": 3,
            "spaced": 1, "one end": 1, "prose": 2, "broken": 1, "blank": 1, "list": 1,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": told(start, end),
            "overlaps": told(start + rng.randint(-4, 3), end + rng.randint(-3, 6) + 0.5),
            "elsewhere": told(end + 3, end + 9),
            "whole": told(0, length),
            "longer": told(start, length + 20),
            "turned": told(end, start),
            "point": told(start + 1, start + 1),
            "numbers": json.dumps({"start_time": start + 1, "end_time": end}),
            "spaced": f'{{ "start_time" : "{start}" ,\n "end_time" : "{end}" }}',
            "one end": json.dumps({"start_time": str(start)}),
            "prose": f"from {start} to {end} seconds",
            "broken": told(start, end).removesuffix("}"),
            "blank": " ",
            "list": f"[{start}, {end}]",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), [start, end], {"length": length})

    return make


# --- distributions -------------------------------------------------------------------------------------------------


def distributions() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a list of probabilities after the word ANSWER."""

    def told(values: Sequence[float]) -> str:
        return f"ANSWER [{', '.join(map(str, values))}]"

    def drawn_list(rng: random.Random, size: int) -> list[float]:
        cuts = sorted(rng.randint(0, 100) for _ in range(size - 1))
        return [round((high - low) / 100, 2) for low, high in zip([0, *cuts], [*cuts, 100], strict=True)]

    def make(rng: random.Random) -> Row:
        right = drawn_list(rng, rng.randint(2, 5))
        kinds = {
            "right": 8, "wrong": 8, "near": 4, "longer": 2, "shorter": 2, "not distributed": 2, "negative": 1,
            "several": 2, "no list": 2, "no blanks": 1, "words": 1, "empty": 1,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        other = drawn_list(rng, len(right))
        what = {
            "right": told(right),
            "wrong": told(other),
            "near": told([round(right[0] + 0.01, 2), *right[1:]]),
            "longer": told([*right, 0.0]),
            "shorter": told(right[:-1]),
            "not distributed": told([1.0] * len(right)),
            "negative": told([-0.5, *right[1:]]),
            "several": f"{told(other)}\n{told(right)}",
            "no list": str(right),
            "no blanks": told(right).replace(", ", ","),
            "words": "ANSWER [about a half]",
            "empty": "",
        }[kind]
        return Row(kind, f"{thought(rng)}\n{what}" if what else "", right)

    return make


# --- databases -----------------------------------------------------------------------------------------------------

_CITIES = (
    "CREATE TABLE city (id INTEGER PRIMARY KEY, name TEXT, country TEXT, people INTEGER);\n"
    "INSERT INTO city VALUES (1, 'Lyon', 'France', 520000), (2, 'Nice', 'France', 340000), "
    "(3, 'Turin', 'Italy', 850000), (4, 'Pisa', 'Italy', 90000), (5, 'Porto', 'Portugal', 230000), "
    "(6, 'Braga', 'Portugal', 190000);"
)


def conversations() -> Callable[[random.Random], Row]:
    """Returns a maker of conversations with a database that end with a query."""

    def make(rng: random.Random) -> Row:
        country, other = rng.sample(("France", "Italy", "Portugal"), 2)
        column, another = rng.sample(("name", "people"), 2)
        right = f"SELECT {column} FROM city WHERE country = '{country}'"
        kinds = {
            "right": 6, "equal": 4, "ordered": 2, "wrong": 4, "another column": 2, "all": 2, "fails": 2, "nothing": 1,
            "none": 1,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        query = {
            "right": right,
            "equal": f"SELECT {column} FROM city AS c WHERE c.country LIKE '{country}'",
            "ordered": f"{right} ORDER BY {column} DESC",
            "wrong": f"SELECT {column} FROM city WHERE country = '{other}'",
            "another column": f"SELECT {another} FROM city WHERE country = '{country}'",
            "all": "SELECT * FROM city",
            "fails": f"SELECT {column} FROM town",
            "nothing": f"SELECT {column} FROM city WHERE id < 0",
            "none": "",
        }[kind]
        why = f"<think>{thought(rng)}</think>\n"
        look = f"{why}<sql>SELECT * FROM city LIMIT 1</sql>\n<observation>\n1|Lyon|France|520000\n</observation>\n"
        end = f"<solution>{query}</solution>"
        forms = {
            "plain": (6, f"{why}{end}"),
            "looked": (6, f"{look}{why}{end}"),
            "twice": (3, f"{look}{look}{why}{end}"),
            "no thought": (2, end),
            "no second thought": (2, f"{look}{end}"),
            "no solution": (1, f"{look}{why}The query is {query}"),
            "cut": (1, f"{look}{why}<solution>{query}"),
            "empty": (1, ""),
        }
        form, response = drawn(rng, forms)
        return Row(f"{kind}, {form}", response, {"database": _CITIES, "sql": right})

    return make


def queries() -> Callable[[random.Random], Row]:
    """Returns a maker of queries after a thought, each in tags."""

    def make(rng: random.Random) -> Row:
        country, other = rng.sample(("France", "Italy", "Portugal"), 2)
        column, another = rng.sample(("name", "people"), 2)
        where = f"WHERE country = '{country}'"
        right = f"SELECT {rng.choice((column, 'name, people'))} FROM city {where}"
        wanted = right.split()[1:-6]
        kinds = {
            "right": 4, "equal": 3, "ordered": 2, "wrong": 3, "another column": 3, "all rows": 3, "all": 2, "one": 2,
            "fails": 2, "no rows": 1, "no query": 1, "doubled": 2,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        query = {
            "right": right,
            "equal": f"SELECT {' '.join(wanted)} FROM city AS c WHERE c.country LIKE '{country}'",
            "ordered": f"{right} ORDER BY {column} DESC",
            "wrong": f"SELECT {column} FROM city WHERE country = '{other}'",
            "another column": f"SELECT {another} FROM city {where}",
            "all rows": f"SELECT {column} FROM city",
            "all": "SELECT id, name, people FROM city",
            "one": f"{right} LIMIT 1",
            "fails": f"SELECT {column} FROM town",
            "no rows": f"SELECT {column} FROM city WHERE id < 0",
            "no query": "",
            "doubled": f"SELECT a.{column} FROM city a, city b WHERE a.country = '{country}'",
        }[kind]
        why, block = f"<reasoning>\n{thought(rng)}\n</reasoning>", f"```sql\n{query}\n```"
        forms = {
            "plain": (6, f"{why}\n<answer>\n{block}\n</answer>"),
            "no block": (3, f"{why}\n<answer>{query}</answer>"),
            "plain block": (2, f"{why}\n<answer>\n```\n{query}\n```\n</answer>"),
            "before": (2, f"Let me see.\n{why}\n<answer>{query}</answer>"),
            "after": (2, f"{why}\n<answer>{query}</answer>\nThat is all."),
            "no thought": (2, f"<answer>{query}</answer>"),
            "block alone": (2, f"I would ask for it so:\n{block}"),
            "query alone": (1, query),
            "cut": (1, f"{why[:-15]}"),
            "several": (1, f"{why}\n<answer>SELECT id FROM city</answer>\n<answer>{query}</answer>"),
            "empty": (1, ""),
        }
        form, response = drawn(rng, forms)
        return Row(f"{kind}, {form}", response, {"database": _CITIES, "sql": right})

    return make


def cells(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer, in a box, is a number or a name from a table."""

    def make(rng: random.Random) -> Row:
        whole = rng.randint(1000, 9000)
        right = rng.choice((str(whole), f"{whole}.5", f"-{whole}", _name(rng), _name(rng)))
        number = right.lstrip("-").replace(".", "").isdigit()
        kinds = {
            "right": 8, "wrong": 6, "none": 1, "repeated": 1, "several": 1, "thought": 1,
            **({"zeros": 1, "near": 1, "grouped": 2, "signed": 1} if number else {"capitals": 2}),
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        wrong = str(whole + 77) if number else _other(rng, [right])
        box = r"\boxed{{{}}}".format
        what = {
            "right": f"The table says {box(right)}.",
            "wrong": f"The table says {box(wrong)}.",
            "none": "The table does not say it.",
            "repeated": f"It is {box(right)}, so the result is {box(right)}.",
            "several": f"It is {box(right)} or {box(wrong)}.",
            "thought": "I gave the result above.",
            "zeros": f"The table says {box(right if '.' not in right else right + '0')}.",
            "near": f"The table says {box(f'{float(right) + 40:.1f}' if number else '')}.",
            "grouped": f"The table says {box(f'{float(right):,}' if number else '')}.",
            "signed": f"The table says {box('+' + right.lstrip('-'))}.",
            "capitals": f"The table says {box(right.upper())}.",
        }[kind]
        why = thought(rng) + (f" It could be {box(right)}." if kind == "thought" else "")
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, why, what), right)

    return make


def predicted() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a function's output, as JSON."""

    def make(rng: random.Random) -> Row:
        number, word = rng.randint(2, 900), rng.choice(("tea", "milk", "water"))
        right, wrong = rng.choice((
            (number, number + 1), ([number, 3, 5], [number, 5, 3]), (word, word + "s"), ({"sum": number, "of": word},
            {"sum": number, "of": ""}), (number + 0.5, number), ([[number], [word]], [[number]]),
        ))  # fmt: skip
        kinds = {
            "right": 8, "wrong": 6, "spaced": 2, "none": 1, "broken": 1, "other key": 1, "several": 1, "either": 1,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": json.dumps({"output": right}),
            "wrong": json.dumps({"output": wrong}),
            "spaced": json.dumps({"output": right}, indent=2),
            "none": "I cannot say what it returns.",
            "broken": json.dumps({"output": right})[:-1],
            "other key": json.dumps({"result": right}),
            "several": f"{json.dumps({'output': wrong})}\n{json.dumps({'output': right})}",
            "either": f"{json.dumps({'output': right})}\n{json.dumps({'output': wrong})}",
        }[kind]
        why = thought(rng)
        forms = {
            "plain": (8, f"<think>\n{why}\n</think>\n{what}"),
            "fence": (6, f"<think>\n{why}\n</think>\n```json\n{what}\n```"),
            "prose": (2, f"{why}\n{what}"),
            "after": (2, f"<think>\n{why}\n</think>\n```json\n{what}\n```\nThat is what it returns."),
            "cut": (1, f"<think>\n{why}"),
            "empty": (1, ""),
        }
        form, response = drawn(rng, forms)
        return Row(f"{kind}, {form}", response, {"output": right})

    return make


def orders(forms: Forms) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a list of birds in their order."""

    def make(rng: random.Random) -> Row:
        right = rng.sample(("crow", "robin", "hawk", "quail", "falcon", "barn owl", "blue jay"), rng.randint(3, 5))
        turned = [right[1], right[0], *right[2:]]
        kinds = {"right": 8, "turned": 6, "capitals": 2, "left out": 2, "prose": 2, "no brackets": 2,
                 "blank": 1, "several": 1, "first": 1}  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        what = {
            "right": json.dumps(right),
            "turned": json.dumps(turned),
            "capitals": json.dumps([bird.title() for bird in right]),
            "left out": json.dumps(right[:-1]),
            "prose": "I cannot decide the order.",
            "no brackets": ", ".join(right),
            "blank": " ",
            "several": f"{json.dumps(turned)}</answer> No: <answer>{json.dumps(right)}",
            "first": f"{json.dumps(right)}</answer> Or: <answer>{json.dumps(turned)}",
        }[kind]
        name, form = drawn(rng, forms)
        return Row(f"{kind}, {name}", form(rng, thought(rng), what), right)

    return make


# --- programs ------------------------------------------------------------------------------------------------------


def programs(tags: bool = False, spaces: bool = True) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a program that reads two numbers and prints one.

    tags: the program is in answer tags. spaces: some programs print white space at the end.
    """

    def make(rng: random.Random) -> Row:
        sign, other = rng.sample("+-*", 2)
        pairs = [(rng.randint(2, 50), rng.randint(3, 50)) for _ in range(4)]
        inputs = [f"{a} {b}\n" for a, b in pairs]
        outputs = [f"{eval(f'{a} {sign} {b}')}\n" for a, b in pairs]  # noqa: S307 - of numbers and an operator
        read = "a, b = map(int, input().split())\n"
        kinds = {
            "right": 6,
            "wrong": 4,
            "some": 4,
            "crash": 2,
            "syntax": 1,
            "silent": 1,
            **({"spaced": 1} if spaces else {}),
        }
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        program = {
            "right": f"{read}print(a {sign} b)",
            "wrong": f"{read}print((a {other} b) + 7919)",
            "some": f"{read}print(a {sign} b if a != {pairs[0][0]} else 'no')",
            "crash": f"{read}print(a {sign} b)\nraise SystemExit(3)",
            "syntax": f"{read}print(a {sign}",
            "silent": read.strip(),
            "spaced": f"{read}print(a {sign} b, end='  \\n\\n')",
        }[kind]
        code = f"```python\n{program}\n```"
        code = f"<answer>\n{code}\n</answer>" if tags else code
        why = thought(rng)
        forms = {
            "plain": (10, f"<think>\n{why}\n</think>\n{code}"),
            "after": (2, f"<think>\n{why}\n</think>\nThis works:\n{code}\nIt takes constant time."),
            "opened": (2, f"{why}\n</think>\n{code}"),
            "cut": (2, f"<think>\n{why}\n{code}"),
            "no program": (2, f"<think>\n{why}\n</think>\nI cannot write it."),
            "empty": (1, ""),
        }
        form, response = drawn(rng, forms)
        return Row(f"{kind}, {form}", response, {"inputs": inputs, "outputs": outputs})

    return make


def functions() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose response is a function without arguments that works out a number."""

    def make(rng: random.Random) -> Row:
        a, b, c = rng.randint(2, 40), rng.randint(2, 30), rng.randint(2, 9)
        right = a * b + c
        body = f"    boxes = {a}\n    each = {b}\n    loose = {c}\n"
        kinds = {
            "right": 8, "wrong": 6, "float": 2, "raises": 2, "nothing": 2, "syntax": 1, "other name": 1, "helper": 1,
            "argument": 1, "empty": 1,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        told = f"    '''{thought(rng)}'''\n{body}"
        head = f"def simple_math_problem() -> int:\n{told}"
        response = {
            "right": f"{head}    return boxes * each + loose\n",
            "wrong": f"{head}    return boxes * (each + loose) + 1\n",
            "float": f"{head}    return boxes * each + loose * 1.0\n",
            "raises": f"{head}    return boxes * each + lose\n",
            "nothing": head,
            "syntax": f"{head}    return boxes * (each\n",
            "other name": f"def solve() -> int:\n{told}    return boxes * each + loose\n",
            "helper": f"def twice(number):\n    return 2 * number\n\n{head}    return boxes * each + loose\n",
            "argument": f"def simple_math_problem(boxes) -> int:\n{told}    return boxes * each + loose\n",
            "empty": "",
        }[kind]
        breaks = rng.randint(1, 2)
        return Row(f"{kind}, line {breaks + 1}", "\n" * breaks + response if response else "", right)

    return make


# --- patches -------------------------------------------------------------------------------------------------------


def combinations(unlabelled: bool = True) -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose answer is a function of two numbers, with assertions about it.

    unlabelled: some blocks do not name their language.
    """

    def make(rng: random.Random) -> Row:
        sign, other = rng.sample("+-*", 2)
        pairs = rng.sample([(a, b) for a in range(2, 40) for b in range(3, 30)], 4)
        values = [eval(f"{a} {sign} {b}") for a, b in pairs]  # noqa: S307 - of numbers and an operator
        head = f"def combine(a, b):\n    # {thought(rng)}\n"
        kinds = {
            "right": 8, "wrong": 5, "some": 5, "raises": 2, "nothing": 1, "syntax": 1, "other name": 1, "prints": 1,
            "exits": 2, "imports": 2,
        }  # fmt: skip
        kind = rng.choices(list(kinds), weights=list(kinds.values()))[0]
        program = {
            "right": f"{head}    return a {sign} b",
            "wrong": f"{head}    return (a {other} b) + 7919",
            "some": f"{head}    return a {sign} b if a < {sorted(pairs)[2][0]} else None",
            "raises": f"{head}    return a {sign} c",
            "nothing": f"{head}    a {sign} b",
            "syntax": f"{head}    return (a {sign} b",
            "other name": f"def solve(a, b):\n    return a {sign} b",
            "prints": f"{head}    print('working')\n    return a {sign} b",
            "exits": f"import sys\n\n{head}    return a {other} b - 7919\n\nsys.exit(0)",
            "imports": f"import math\n\n{head}    return math.floor(a {sign} b)",
        }[kind]
        forms = {
            "plain": (8, f"```python\n{program}\n```"),
            "before": (3, f"{thought(rng)}\n```python\n{program}\n```"),
            "after": (3, f"```python\n{program}\n```\nIt takes constant time."),
            **({"no label": (2, f"```\n{program}\n```")} if unlabelled else {}),
            "no program": (1, "I cannot write it."),
            "empty": (1, ""),
        }
        form, response = drawn(rng, forms)
        known = [[a, b, value] for (a, b), value in zip(pairs, values, strict=True)]
        return Row(f"{kind}, {form}", response, known)

    return make


def patches() -> Callable[[random.Random], Row]:
    """Returns a maker of rows whose response changes files by blocks of search and replacement."""

    def file(rng: random.Random) -> list[str]:
        lines = []
        for name in rng.sample(("add", "scale", "shift", "trim", "join", "fold"), rng.randint(2, 4)):
            lines += [f"def {name}(a, b):", f"    result = a + {rng.randint(1, 99)}", "    return result * b", ""]
        return lines

    def changed(rng: random.Random, lines: Sequence[str], at: int) -> str:
        return rng.choice(
            (f"{lines[at]}  # {rng.choice(_FIRST)}", lines[at].replace("a", "c"), f"{lines[at]}\n    pass")
        )

    def make(rng: random.Random) -> Row:
        files = {f"{name}.py": file(rng) for name in rng.sample(("one", "two", "three"), rng.choice((1, 1, 2)))}
        before = {path: "\n".join(lines) + "\n" for path, lines in files.items()}
        after: dict[str, str] = {}
        blocks: list[str] = []
        kind = rng.choices(("right", "near", "elsewhere", "absent", "same", "other file"), weights=(5, 6, 3, 1, 1, 1))[
            0
        ]
        for path, lines in files.items():
            at = rng.choice([place for place, line in enumerate(lines) if line and lines.count(line) == 1])
            new = changed(rng, lines, at)
            after[path] = "\n".join([*lines[:at], new, *lines[at + 1 :]]) + "\n"
            spot, text = at, new
            if kind == "near":
                text = changed(rng, lines, at) + "  # x"
            elif kind == "elsewhere":
                spot = rng.choice([place for place, line in enumerate(lines) if line and lines.count(line) == 1])
                text = changed(rng, lines, spot)
            old = "nothing like this" if kind == "absent" else lines[spot]
            text = old if kind == "same" else text
            shown = "four.py" if kind == "other file" else path
            blocks.append(f"```python\n### {shown}\n<<<<<<< SEARCH\n{old}\n=======\n{text}\n>>>>>>> REPLACE\n```")
        form = rng.choices(("plain", "no thought", "no solution", "twice", "no blocks", "empty"), (14, 1, 1, 1, 1, 1))[
            0
        ]
        body = "\n\n".join(blocks) if form != "no blocks" else "I would change it."
        why = f"<think>\n{thought(rng)}\n</think>\n" if form != "no thought" else ""
        response = f"{why}{body}" if form == "no solution" else f"{why}<solution>\n{body}\n</solution>"
        response = f"{response}\n{response}" if form == "twice" else "" if form == "empty" else response
        return Row(f"{kind}, {form}", response, {"files": before, "after": after})

    return make
