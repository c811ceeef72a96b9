"""An expression of a recipe: parsed once, and evaluated as far as the known values allow.

Components take time, so an expression first reports what it still lacks (`lacks`). The walk decides conditions and the
left sides of `&&` and `||` as soon as it can, and never visits a branch that is not taken. If nothing is lacking, the
whole expression has a value. Independent parts (the two sides of `+`) are requested together, so that their components
can run at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from rewarden_verifiers.recipes.check import Read, Scope, check
from rewarden_verifiers.recipes.functions import Failure, Type, is_number, short
from rewarden_verifiers.recipes.interpreter import Absent, Program
from rewarden_verifiers.recipes.syntax import Node, parse

Known = Mapping[str, Mapping[str, Any]]
"""Values by root and field, as CEL sees them: every number a double."""


class EvaluationError(ValueError):
    """An expression failed on values that its check could not foresee."""


class Expression:
    """An expression. type: of its value. reads: all values that it can read. roots: the first parts of their paths.
    Immutable and thread-safe.
    """

    __slots__ = ("_constant", "_needs", "_programs", "_reads", "_root", "reads", "roots", "text", "type")

    def __init__(self, text: str, scope: Scope) -> None:
        """Raises ExpressionError with the position of the mistake."""
        self.text = text
        self._root = parse(text)
        checked = check(self._root, scope)
        self.type: Type = checked.type
        self._reads = checked.reads
        self.reads = tuple(dict.fromkeys(checked.reads.values()))
        self.roots = frozenset(read.path[0] for read in self.reads)
        self._constant: Any = None
        self._needs: dict[Node, tuple[Read | Node, ...]] = {}
        self._programs = {self._root: Program(self._root)}
        self._find_needs(self._root)

    def lacks(self, known: Known) -> list[Read]:
        """Returns the values that are certainly needed next and not yet known, in the order of the text; empty if there
        are none.

        Raises EvaluationError if a condition fails.
        """
        return self._lacks(self._root, known) if self.reads else []

    def value(self, known: Known) -> Any:
        """Returns the value. Raises EvaluationError, also if it needs a value that is not known."""
        if not self.reads:
            if self._constant is None:
                self._constant = self._run(self._root, known)
            return self._constant
        return self._run(self._root, known)

    def number(self, known: Known) -> float:
        """Returns the value as a finite number. Raises EvaluationError for any other value."""
        found = self.value(known)
        if not is_number(found):
            raise EvaluationError(f"{short(self.text)} gave {short(found)}, not a number")
        if not math.isfinite(found):
            raise EvaluationError(f"{short(self.text)} gave {found}, not a finite number")
        return float(found)

    def holds(self, known: Known) -> bool:
        """Returns the value of a condition. Raises EvaluationError unless it is true or false."""
        found = self.value(known)
        if not isinstance(found, bool):
            raise EvaluationError(f"{short(self.text)} gave {short(found)}, not true or false")
        return found

    def filled(self, known: Known) -> str:
        """Returns the text with each known value in place of the read."""
        pieces: list[str] = []
        end = 0
        for (start, stop), read in sorted(self._reads.items()):
            if start >= end and _present(read, known):
                value: Any = known
                for part in read.path:
                    value = value[part]
                pieces += [self.text[end:start], _shown(value)]
                end = stop
        return "".join([*pieces, self.text[end:]])

    def plain(self) -> Read | None:
        """Returns the read if the expression is just `root.field`."""
        node = self._root
        if node.kind != "select" or node.children[0].kind != "name":
            return None
        return self._reads.get((node.start, node.end))

    # --- the walk -----------------------------------------------------------------------------------------------

    def _find_needs(self, node: Node) -> tuple[Read | Node, ...]:
        """Records what each part needs whenever it is evaluated, in the order of the text: reads, and nested nodes with
        branches, which determine their own needs.
        """
        below = [need for child in node.children for need in self._find_needs(child)]
        if node.kind in ("if", "and", "or"):
            needs: list[Read | Node] = [node]
            conditions = node.children[:1] if node.kind == "if" else node.children
            self._programs.update((condition, Program(condition)) for condition in conditions)
        elif node.kind == "macro":
            # The body runs for every item, with its own variable, so it needs everything it reads.
            needs = list(self._within(node))
        else:
            read = self._reads.get((node.start, node.end)) if node.kind in ("select", "index") else None
            needs = below if read is None else [read, *below]
        self._needs[node] = found = tuple(dict.fromkeys(needs))
        return found

    def _lacks(self, node: Node, known: Known) -> list[Read]:
        found: list[Read] = []
        for need in self._needs[node]:
            if isinstance(need, Node):
                found += [read for read in self._branch_lacks(need, known) if read not in found]
            elif not _present(need, known) and need not in found:
                found.append(need)
        return found

    def _branch_lacks(self, node: Node, known: Known) -> list[Read]:
        if node.kind == "if":
            condition, yes, no = node.children
            return self._lacks(condition, known) or self._lacks(yes if self._decided(condition, known) else no, known)
        for child in node.children:
            lacking = self._lacks(child, known)
            if lacking or self._decided(child, known) == (node.kind == "or"):
                return lacking
        return []

    def _within(self, node: Node) -> list[Read]:
        return [read for (start, end), read in self._reads.items() if node.start <= start and end <= node.end]

    def _decided(self, node: Node, known: Known) -> bool:
        found = self._run(node, known)
        if not isinstance(found, bool):
            raise EvaluationError(f"{short(self.text[node.start : node.end])} gave {short(found)}, not true or false")
        return found

    def _run(self, node: Node, known: Known) -> Any:
        try:
            return self._programs[node].value(known)
        except (Failure, Absent) as failure:
            raise EvaluationError(f"{short(self.text[node.start : node.end])} failed: {failure}") from None


def as_cel(value: Any) -> Any:
    """Returns a JSON-like value as CEL sees it: integers become doubles, and values that JSON does not have become
    text.

    Raises OverflowError for integers beyond the range of a double.
    """
    if value is None or isinstance(value, (bool, str, float)):
        return value
    if isinstance(value, int):
        return float(value)
    if isinstance(value, Mapping):
        return {str(key): as_cel(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [as_cel(item) for item in value]
    return str(value)


def _shown(value: Any) -> str:
    """Returns a value as an expression writes it, abbreviated."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return f"{value:g}" if isinstance(value, float) else short(value)


def _present(read: Read, known: Known) -> bool:
    inside: Any = known
    try:
        for part in read.path:
            inside = inside[part]
    except (KeyError, TypeError):  # TypeError: the value has no fields
        return False
    return True
