"""The findings on references, and what to set for each."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

Kind = Literal["error", "warning", "note"]
"""`error`: no answer can be judged by the reference. `warning`: some wrong answers go unscored, or right ones unpaid.
`note`: worth a look."""


@dataclass(frozen=True, slots=True)
class Finding:
    """A finding on a row. `name` is the reason of the verdict that revealed it, if one did."""

    name: str
    kind: Kind
    message: str


class Known(NamedTuple):
    """All that is known of a finding by its name: its kind, its meaning, and what to set."""

    kind: Kind
    message: str
    advice: str


KNOWN: Mapping[str, Known] = {
    "unreadable_row": Known("error", "the row cannot be read", "fix the line, or name the columns (--column)"),
    "no_reference": Known(
        "error", "the row has no reference", "remove the row, or name the column (--column reference=…)"
    ),
    "invalid_reference": Known("error", "the verifier rejects the reference", "use the form that the message names"),
    "empty_reference": Known("error", "the reference is empty", "remove the row"),
    "unreadable_reference": Known(
        "error",
        "a formula is incomplete or retracts itself: only a literally identical answer is scored",
        "correct it; if it is prose, set use: text, or answer with type: text",
    ),
    "reference_too_expensive": Known("error", "the reference is too large to compare", "shorten it"),
    "free_text_reference": Known(
        "warning",
        "prose: another wording can be right, so no answer is scored as wrong",
        "fallback: a judge (params of answer), or a shorter reference",
    ),
    "option_unknown": Known(
        "warning",
        "an option letter without its options: a boxed value cannot be compared",
        'options: {"answer": "B", "options": […]} as the reference, or params.choice.options',
    ),
    "no_options": Known(
        "warning",
        "an option letter without its options: an option's text is not accepted",
        'options: {"answer": "B", "options": […]} as the reference, or the parameter options',
    ),
    "own_text_unpaid": Known(
        "warning",
        "an answer with the reference's own text would not pass",
        "use: another verifier, or type: (params of answer)",
    ),
    "worked_solution": Known(
        "note", "a worked solution, reduced to its answer", "only the answer, if the reading is wrong"
    ),
    "several_values": Known(
        "note",
        "several values, all of which an answer must give",
        'a list, ["…", "…"], if one of them is enough',
    ),
    "condition": Known(
        "note",
        "a condition, modulus or quantifier: an answer may leave it out, but not state another",
        "strict: true (params.math), if it must be stated",
    ),
    "form_demanded": Known(
        "note",
        "the prompt asks for a box or a tag, and only that counts",
        "extraction: explicit, if the policy does not follow the form",
    ),
    "not_examined": Known(
        "note",
        "the verifier calls others (a judge, a sandbox, a model), so it is not tried here",
        "use: the verifier that reads the reference",
    ),
}
"""The kind and the meaning of each finding, and what to set. Findings named by other reasons have no advice."""


def finding(name: str, said: str | None = None, *, otherwise: Kind = "warning") -> Finding:
    """Returns the finding of a name. said: details on this row; otherwise: the kind if the name is unknown."""
    known = KNOWN.get(name)
    if known is None:
        return Finding(name, otherwise, said or "a wrong answer would have no score")
    return Finding(name, known.kind, f"{known.message} ({said})" if said else known.message)


def advice(name: str) -> str:
    """Returns what to set for this finding, or an empty text if nothing is known to help."""
    known = KNOWN.get(name)
    return "" if known is None else known.advice
