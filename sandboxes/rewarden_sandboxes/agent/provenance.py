"""The provenance of a pass: what it may rest on beside the values that the candidate returned.

A weak test can be passed by what no value shows: an argument that was emptied in place, an object whose truth and
length lie, nothing at all where a loop compares. None of that is wrong by itself, so it is told, and judged elsewhere.
"""

from __future__ import annotations

import ast
import builtins
from typing import Any

ARGUMENT, OBJECT, VACUOUS, NAMES = "argument_mutated", "object_result", "vacuous_comparison", "names_from_candidate"
MADE = "object_made"
"""As OBJECT, of objects that the test code made of the candidate's classes: what it was asked for is a class, or one
that passes for a function.
"""

_COLLECTIONS = (str, list, tuple, set, frozenset, dict)
_COMPARING = frozenset({"all", "allclose", "array_equal", "assert_allclose", "assert_array_equal", "isclose", "zip"})


class Provenance:
    """See the module. Of calls their numbers are kept, from 1, so that two candidates can be told apart."""

    def __init__(self) -> None:
        self.loops = False
        self._calls = 0
        self._found: dict[str, set[Any]] = {}
        self._objects: dict[int, str] = {}

    def read(self, source: bytes) -> None:
        """Note whether this test code compares element by element, or in loops over results: over nothing they compare
        nothing.
        """
        nodes = list(ast.walk(ast.parse(source)))
        results = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        for node in nodes:
            if isinstance(node, (ast.For, ast.comprehension)):
                self.loops = self.loops or any(_is_result(part, results) for part in ast.walk(node.iter))
            else:
                self.loops = self.loops or getattr(node, "attr", getattr(node, "id", None)) in _COMPARING

    def returned(self, result: Any, number: int | None, *, changed: bool, made: bool) -> None:
        """A call has ended. number: of the object of a class of the candidate's that it returned, if one. changed:
        whether it changed an argument. made: whether it was a class that was called.
        """
        self._calls += 1
        if changed:
            self._note(ARGUMENT, self._calls)
        if number is not None:
            self._objects[number] = MADE if made else OBJECT
        # By its type first: an object of the candidate's would be asked.
        empty = result.size == 0 if type(result).__name__ == "ndarray" else type(result) in _COLLECTIONS and not result
        if self.loops and empty:
            self._note(VACUOUS, self._calls)

    def used(self, number: int) -> None:
        """An object was asked for what it may lie about: truth, length, text, or an attribute."""
        if number in self._objects:
            self._note(self._objects[number], 0)

    def named(self, name: str) -> None:
        """The candidate lent the test code a name that is not its entry point."""
        self._note(NAMES, name)

    def told(self) -> dict[str, list[Any]]:
        """Flag to the calls or the names behind it."""
        return {flag: sorted(of) for flag, of in self._found.items()}

    def _note(self, flag: str, of: Any) -> None:
        self._found.setdefault(flag, set()).add(of)


def _is_result(node: ast.AST, results: set[str]) -> bool:
    """Returns whether an expression is a call of what is no built-in function, or a name that such a call gave."""
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id))
    return isinstance(node, ast.Name) and node.id in results
