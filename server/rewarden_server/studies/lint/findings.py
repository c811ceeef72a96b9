"""The findings on a reference, and what to set for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["error", "warning", "note"]
"""`error`: no answer can be judged by the reference. `warning`: some wrong answers go unscored, or right ones unpaid.
`note`: worth a look."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding on a row. `name` is a verdict's reason where a verdict told of it."""

    name: str
    kind: Kind
    message: str


class _Known(NamedTuple):
    kind: Kind
    message: str
    advice: str


KNOWN: Mapping[str, _Known] = {
    "unreadable_row": _Known("error", "the row cannot be read", "mend the line, or name the columns (--column)"),
    "no_reference": _Known(
        "error", "the row has no reference", "leave the row out, or name the column (--column reference=…)"
    ),
    "invalid_reference": _Known("error", "the verifier refuses the reference", "give it in the form that is named"),
    "empty_reference": _Known("error", "the reference is empty", "leave the row out"),
    "unreadable_reference": _Known(
        "error",
        "a formula broke off, or takes itself back: only an answer that is literally the same is scored",
        "mend it; where it is words, use: text, or answer with type: text",
    ),
    "reference_too_expensive": _Known("error", "the reference is too large to be compared", "shorten it"),
    "free_text_reference": _Known(
        "warning",
        "prose: another wording may be right, so that no answer is called wrong",
        "fallback: a judge (params of answer), or a short reference",
    ),
    "option_unknown": _Known(
        "warning",
        "a letter without its options: a boxed value cannot be compared",
        'options: {"answer": "B", "options": […]} as the reference, or params.choice.options',
    ),
    "no_options": _Known(
        "warning",
        "a letter without its options: an option's text does not count",
        'options: {"answer": "B", "options": […]} as the reference, or the parameter options',
    ),
    "own_text_unpaid": _Known(
        "warning", "the reference's own text would not be paid", "use: another verifier, or type: (params of answer)"
    ),
    "worked_solution": _Known(
        "note", "a worked solution, which is reduced", "the answer alone, where the reading is wrong"
    ),
    "several_values": _Known(
        "note",
        "several values, all of which an answer must give",
        'a list, ["…", "…"], where one of them is enough',
    ),
    "condition": _Known(
        "note",
        "a condition, modulus or quantifier: an answer may leave it out, but not state another",
        "strict: true (params.math), where it must be stated",
    ),
    "form_demanded": _Known(
        "note",
        "the prompt asks for a box or a tag, and only that will count",
        "extraction: explicit, where the policy does not keep to the form",
    ),
    "not_examined": _Known(
        "note",
        "what judges asks others (a judge, a sandbox, a model), and is not tried here",
        "use: the verifier that reads",
    ),
}
"""The kind and the meaning of each finding, and what to set. Findings named by other reasons have no advice."""


def finding(name: str, said: str | None = None, *, otherwise: Kind = "warning") -> Finding:
    """The finding of a name. said: what is known of this row beside it; otherwise: the kind of an unknown one."""
    known = KNOWN.get(name)
    if known is None:
        return Finding(name, otherwise, said or "a wrong answer would have no score")
    return Finding(name, known.kind, f"{known.message} ({said})" if said else known.message)


def advice(name: str) -> str:
    """Returns what to set where there are such findings; empty where nothing is known to help."""
    known = KNOWN.get(name)
    return "" if known is None else known.advice
