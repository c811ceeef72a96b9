"""A recursive-descent parser for the LaTeX and ASCII that answers are written in. Bounded in depth, never evaluating.

From loose to tight: separators (`,` `;` and, or), relations and membership, set operations, sums, products (`/`, `:`
and juxtaposition included), signs, powers, postfix signs (`!` `%` degrees, units), atoms.
"""

from __future__ import annotations

from rewarden_verifiers.answer.math import words
from rewarden_verifiers.answer.math.build import is_domain
from rewarden_verifiers.answer.math.expressions import Expressions
from rewarden_verifiers.answer.math.limits import Unreadable
from rewarden_verifiers.answer.math.syntax import (
    Braces,
    Group,
    Listing,
    Membership,
    NamedSet,
    Node,
    Relation,
    SetOperation,
    Text,
)

_RELATIONS = {
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=", r"\le": "<=", r"\ge": ">=",
    r"\ne": "!=", r"\approx": "~", r"\to": "=", r"\mapsto": "=", "->": "=", r"\sim": "~", r"\cong": "=",
}  # fmt: skip
_SET_OPERATORS = {r"\cup": "cup", r"\cap": "cap", r"\setminus": "minus"}
_CLOSING = {"(": ")", "[": "]", r"\{": r"\}"}
_DISPLAY_SEPARATORS = frozenset({",", ";", r"\\"})


class Parser(Expressions):
    """One pass over one list of tokens."""

    def answer(self) -> Node:
        """The whole text."""
        node = self.listing()
        if self.index != len(self.tokens):
            raise Unreadable("trailing tokens")
        return node

    def listing(self) -> Node:
        """Items separated at this level."""
        items: list[Node] = []
        joiner = ""
        while True:
            self.label()
            items.append(self.item())
            self.condition()
            separator = self.separator()
            if separator is None:
                break
            joiner = separator if joiner != "or" else "or"
            if self.index == len(self.tokens):
                break
        if len(items) == 1:
            return items[0]
        stated = [item for item in items if not is_domain(item)]
        if len(stated) == 1:
            return stated[0]
        return Listing(tuple(stated or items), joiner)

    def separator(self) -> str | None:
        """Commas, semicolons, line breaks, "and" and "or", several in a row counting as one."""
        found = None
        while True:
            kind, text, _ = self.peek()
            if kind == "w" and text in ("or", "and"):
                found = text
            elif kind in "oc" and text in _DISPLAY_SEPARATORS:
                found = found or ","
            elif kind == "o" and text == "&":
                pass
            else:
                return found
            self.index += 1

    def label(self) -> None:
        """Skip words before a colon ("Maximum: 3"), leading words, and quantifiers."""
        index = self.index
        while index < len(self.tokens):
            kind, text, _ = self.tokens[index]
            if kind == "w" or (kind == "f" and text in ("min", "max")) or (kind == "n" and index > self.index):
                index += 1
                continue
            break
        if index > self.index and index < len(self.tokens) and self.tokens[index][:2] in (("o", ":"), ("o", "=")):
            self.index = index + 1
            return
        while self.peek()[0] == "w" and self.peek()[1] in words.LEADING_WORDS and self.index + 1 < len(self.tokens):
            self.index += 1
        while self.at(r"\forall", r"\exists", r"\therefore", r"\because", r"\Rightarrow", r"\approx", "="):
            self.index += 1

    def condition(self) -> None:
        """Skip "for all integers n" and the like, up to the next separator outside brackets."""
        kind, text, _ = self.peek()
        starts = kind == "w" and text in words.CONDITION_WORDS
        if not starts and not self.at_remark() and not (kind == "c" and text == r"\forall"):
            return
        depth = 0
        while self.index < len(self.tokens):
            kind, text, _ = self.peek()
            if kind in "oc":
                if text in _CLOSING:
                    depth += 1
                elif text in (")", "]", r"\}", "}"):
                    if depth == 0:
                        return
                    depth -= 1
                elif depth == 0 and text in _DISPLAY_SEPARATORS:
                    return
                elif text == "{":
                    depth += 1
            elif kind == "w" and text in words.HEDGES:
                raise Unreadable("a second answer in a condition")
            elif depth == 0 and kind == "w" and text == "or":
                return
            self.index += 1

    def item(self) -> Node:
        """A relation, a membership or an expression; or words, where a list has items of words."""
        start = self.index
        kind, text, _ = self.peek()
        if kind == "w" and text not in words.NUMBER_WORDS:
            return self.phrase()
        try:
            return self.relation()
        except Unreadable:
            self.index = start
            if kind in "wt":
                return self.phrase()
            raise

    def phrase(self) -> Node:
        """Consecutive words."""
        found = ""
        while self.peek()[0] in "wtvn" and not (self.peek()[0] == "w" and self.peek()[1] in ("or", "and")):
            _, text, spaced = self.peek()
            found += " " + text if spaced else text
            self.index += 1
        phrase = words.plain(found)
        if not phrase:
            raise Unreadable("no words")
        return Text(phrase)

    def relation(self) -> Node:
        """A chain of comparisons, or an element and its set."""
        self.enter()
        operands = [self.sets()]
        operators: list[str] = []
        while True:
            kind, text, _ = self.peek()
            if kind in "oc" and text in _RELATIONS:
                self.index += 1
                operator = _RELATIONS[text]
                if operator in "<>" and self.at("="):
                    self.index += 1
                    operator += "="
                while self.at("&"):
                    self.index += 1
                operators.append(operator)
                operands.append(self.sets())
                continue
            if kind == "o" and text == "&" and self.peek(1)[1] in _RELATIONS:
                self.index += 1
                continue
            break
        if self.at(r"\in", r"\notin") or (self.at(r"\subset", r"\subseteq")):
            negative = self.at(r"\notin")
            self.index += 1
            container = self.sets()
            self.depth -= 1
            element = operands[0] if not operators else Relation(tuple(operands), tuple(operators))
            if negative:
                container = SetOperation("minus", (NamedSet("R"), container))
            return Membership(element, container)
        self.depth -= 1
        if not operators:
            return operands[0]
        return Relation(tuple(operands), tuple(operators))

    def sets(self) -> Node:
        """Unions, intersections and differences, from the left."""
        node = self.sum()
        while True:
            kind, text, _ = self.peek()
            if kind == "c" and text in _SET_OPERATORS:
                operator = _SET_OPERATORS[text]
            elif kind == "v" and text == "U" and isinstance(node, (Group, Braces, SetOperation)):
                operator = "cup"
            else:
                return node
            self.index += 1
            right = self.sum()
            if isinstance(node, SetOperation) and node.kind == operator == "cup":
                node = SetOperation("cup", (*node.operands, right))
            else:
                node = SetOperation(operator, (node, right))
