"""A model in a response: values for a script's constants and functions, which only Z3's evaluation can confirm."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from rewarden_verifiers.smt.expressions import Expression, text_of, written
from rewarden_verifiers.smt.script import Script, names_of

_LITERAL = re.compile(r"-?\d+(?:\.\d+)?|#x[0-9A-Fa-f]+|#b[01]+|\"(?:[^\"]|\"\")*\"|true|false|R(?:NE|NA|TP|TN|TZ)")
_ROUNDING = re.compile(r"round(?:NearestTiesToEven|NearestTiesToAway|TowardPositive|TowardNegative|TowardZero)")
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_INDEXED = re.compile(r"bv\d+|[+-]oo|[+-]zero|NaN|[Cc]har")

_HEADS = frozenset(
    [
        "-",
        "fp",
        "ite",
        "and",
        "or",
        "not",
        "=>",
        "=",
        "distinct",
        "<",
        "<=",
        ">",
        ">=",
        "store",
        "seq.unit",
        "seq.++",
        "str.++",
        "bvule",
        "bvult",
        "bvuge",
        "bvugt",
        "bvsle",
        "bvslt",
        "bvsge",
        "bvsgt",
    ]
)
"""Functions that a value may apply: all are total, and solvers cannot choose the meaning of any.

Attack: `(/ 1.0 0.0)` as a value, which stands for any number.
"""


class NoModel(ValueError):
    """The text gives no values, or invalid ones. reason: snake_case, of the verdict."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Value:
    """The value of a constant or a function: parameter names and a body."""

    names: tuple[str, ...]
    body: Expression


def read_model(given: Sequence[Expression], script: Script) -> Mapping[str, Value]:
    """Parses the values in a solver's output: definitions (`(define-fun x () Int 3)`), or pairs (`((x 3) (y 4))`).

    Raises NoModel.
    """
    values: dict[str, Value] = {}
    taken = set(names_of(script))
    for entry in _entries(given):
        name, value = _value(entry)
        if name not in script.signatures:
            continue  # functions that a solver adds; values cannot apply them
        if name in values:
            raise NoModel("hedged", f"{name[:80]} has two values")
        domain = script.signatures[name]
        if isinstance(entry, list) and entry[0] == "define-fun" and len(entry) == 5:
            parameters = entry[2] if isinstance(entry[2], list) else []
            sorts = [parameter[1] for parameter in parameters if isinstance(parameter, list) and len(parameter) == 2]
            if written([list(sorts), entry[3]]) != domain:
                raise NoModel("malformed_model", f"{name[:80]} has different sorts in the script")
        elif domain[2] != ")":
            raise NoModel("malformed_model", f"{name[:80]} is a function: define it with define-fun")
        if taken.intersection(value.names):
            raise NoModel("malformed_model", f"a parameter of {name[:80]} has a name of the script's")
        _check(value, script, taken, name)
        values[name] = value
    if not values and script.signatures:
        raise NoModel("malformed_model", "it gives no value of any constant of the script")
    return values


def _entries(given: Sequence[Expression]) -> list[Expression]:
    """The single definitions and pairs."""
    entries: list[Expression] = []
    for one in given:
        if isinstance(one, str):
            raise NoModel("malformed_model", f"unexpected {one[:40]}")
        if one and one[0] in ("define-fun", "define-const"):
            entries.append(one)
        else:
            entries += one[1:] if one and one[0] == "model" else one
    return entries


def _value(entry: Expression) -> tuple[str, Value]:
    if isinstance(entry, list) and entry and isinstance(entry[0], str):
        if entry[0] == "define-fun" and len(entry) == 5 and isinstance(entry[1], str) and isinstance(entry[2], list):
            names = [one[0] for one in entry[2] if isinstance(one, list) and len(one) == 2 and isinstance(one[0], str)]
            if len(names) == len(entry[2]):
                return entry[1], Value(tuple(map(str, names)), entry[4])
        elif entry[0] == "define-const" and len(entry) == 4 and isinstance(entry[1], str):
            return entry[1], Value((), entry[3])
        elif len(entry) == 2:
            return entry[0], Value((), entry[1])
    raise NoModel("malformed_model", f"not a definition of a value: {text_of(entry)[:80]}")


def _check(value: Value, script: Script, taken: set[str], name: str) -> None:
    """Raises NoModel unless the body is a value: literals and total functions, without names from the script.

    Attack: a value that is a term over other constants, or a question, so that the solver finds the answer for the
    response.
    """
    bound = set(value.names)
    waiting: list[Expression] = [value.body]
    while waiting:
        one = waiting.pop()
        if isinstance(one, str):
            if one not in bound and one not in script.constructors and not _is_literal(one):
                raise NoModel("malformed_model", f"the value of {name[:80]} is not a literal: {one[:40]}")
            continue
        head = one[0] if one else ""
        if head == "let" and len(one) == 3 and isinstance(one[1], list):
            for binding in one[1]:
                if not (isinstance(binding, list) and len(binding) == 2 and isinstance(binding[0], str)):
                    raise NoModel("malformed_model", f"the value of {name[:80]} has a malformed let")
                if binding[0] in taken:
                    raise NoModel("malformed_model", f"the value of {name[:80]} binds a name of the script's")
                bound.add(binding[0])
                waiting.append(binding[1])
            waiting.append(one[2])
        elif isinstance(head, str) and head in ("_", "as"):
            if not _is_constant(one, script):
                raise NoModel("malformed_model", f"the value of {name[:80]} is not a literal: {text_of(one)[:80]}")
        elif head == "/":
            if len(one) != 3 or not (_is_number(one[1]) and _is_number(one[2], zero=False)):
                raise NoModel("malformed_model", f"the value of {name[:80]} divides by something other than a number")
        elif isinstance(head, list):
            const = head[:2] == ["as", "const"] and len(head) == 3
            if not const and not (len(head) == 3 and head[0] == "as" and head[1] in script.constructors):
                raise NoModel("malformed_model", f"the value of {name[:80]} is not a literal: {text_of(one)[:80]}")
            waiting += one[1:]
        elif head in script.constructors or head in _HEADS:
            waiting += one[1:]
        else:
            raise NoModel("malformed_model", f"the value of {name[:80]} is not a literal: {text_of(one)[:80]}")


def _is_literal(token: str) -> bool:
    return _LITERAL.fullmatch(token) is not None or _ROUNDING.fullmatch(token) is not None


def _is_number(term: Expression, *, zero: bool = True) -> bool:
    if isinstance(term, list) and len(term) == 2 and term[0] == "-":
        term = term[1]
    return isinstance(term, str) and _NUMBER.fullmatch(term) is not None and (zero or float(term) != 0.0)


def _is_constant(term: list[Expression], script: Script) -> bool:
    if len(term) < 3 or not isinstance(term[1], str):
        return False
    if term[0] == "as":
        return term[1] == "seq.empty" or term[1] in script.constructors
    return _INDEXED.fullmatch(term[1]) is not None and all(
        isinstance(index, str) and re.fullmatch(r"\d+|#x[0-9A-Fa-f]+", index) is not None for index in term[2:]
    )


def substituted(script: Script, values: Mapping[str, Value]) -> str:
    """Replaces each declaration of a constant in the script by its value. Raises NoModel if a constant that the script
    mentions has no value: a solver would choose it.
    """
    mentioned = script.mentioned()
    made: list[str] = []
    for command in script.commands:
        if isinstance(command, str) or command[0] != "declare-fun":
            made.append(text_of(command))
            continue
        name = str(command[1])
        if name not in values:
            if name in mentioned:
                raise NoModel("incomplete_model", f"no value of {name[:80]}")
            made.append(text_of(command))
            continue
        value = values[name]
        domain = command[2] if isinstance(command[2], list) else []
        parameters: list[Expression] = [list(pair) for pair in zip(value.names, domain, strict=True)]
        made.append(text_of(["define-fun", name, parameters, command[3], value.body]))
    return "\n".join(made) + "\n" + script.asserted
