"""An expression of a recipe: compiled once, and evaluated as far as what is known allows.

CEL cannot wait for a component to be run. So an expression is first asked what it still lacks (`lacks`): the walk
decides conditions and the left sides of `&&` and `||` as soon as they can be decided, and never looks at a branch that
is not taken. When nothing is lacking, the CEL binding computes the whole. What stands side by side (the two sides of
`+`) is asked for together, so that independent components can run at the same time.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import cel

from rewarden_verifiers.recipes.check import FUNCTIONS, Read, Scope, Type, check
from rewarden_verifiers.recipes.syntax import ExpressionError, Node, parse

Known = Mapping[str, Mapping[str, Any]]
"""Values by root and field, as CEL sees them: every number a double."""


class EvaluationError(ValueError):
    """An expression that failed on values that its check could not foresee."""


class Expression:
    """A compiled expression. `type` is what it yields, `reads` all that it may read. Immutable; safe in threads."""

    __slots__ = ("_calls", "_constant", "_parts", "_program", "_reads", "_root", "_roots", "reads", "text", "type")

    def __init__(self, text: str, scope: Scope) -> None:
        """Raises ExpressionError with the place of what is wrong."""
        self.text = text
        self._root = parse(text)
        checked = check(self._root, scope)
        self.type: Type = checked.type
        self._reads = checked.reads
        self.reads = tuple(dict.fromkeys(checked.reads.values()))
        self._program = _compile(text, 0)
        self._roots = [name for name in self._program.variables() if name in scope]
        self._constant: Any = None
        self._parts: dict[tuple[int, int], Any] = {}
        self._compile_conditions(self._root)
        names = {name for name in self._program.functions() if name in FUNCTIONS}
        self._calls = {name: call for name in names if (call := FUNCTIONS[name].call) is not None}

    def lacks(self, known: Known) -> list[Read]:
        """Returns what is certainly needed next and not known yet, in the order of the text; empty when all is there.

        Raises EvaluationError when a condition on the way fails.
        """
        return self._lacks(self._root, known) if self.reads else []

    def value(self, known: Known) -> Any:
        """The value, once nothing is lacking. Raises EvaluationError."""
        if (read := self._plain_read(self._root)) is not None:
            return _value(read, known)
        if not self.reads:
            if self._constant is None:
                self._constant = self._run(self._program, known)
            return self._constant
        return self._run(self._program, known)

    def number(self, known: Known) -> float:
        """The value as a finite number. Raises EvaluationError when it is none."""
        found = self.value(known)
        if isinstance(found, bool) or not isinstance(found, (int, float)):
            raise EvaluationError(f"{_short(self.text)} gave {_short(found)}, not a number")
        if not math.isfinite(found):
            raise EvaluationError(f"{_short(self.text)} gave {found}, not a finite number")
        return float(found)

    def holds(self, known: Known) -> bool:
        """The value of a condition. Raises EvaluationError when it is not true or false."""
        found = self.value(known)
        if not isinstance(found, bool):
            raise EvaluationError(f"{_short(self.text)} gave {_short(found)}, not true or false")
        return found

    def plain(self) -> Read | None:
        """Returns what is read, when the expression is `root.field` and nothing else."""
        return self._plain_read(self._root)

    # --- the walk -----------------------------------------------------------------------------------------------

    def _lacks(self, node: Node, known: Known) -> list[Read]:
        if node.kind == "if":
            condition, yes, no = node.children
            return self._lacks(condition, known) or self._lacks(yes if self._decided(condition, known) else no, known)
        if node.kind in ("and", "or"):
            for child in node.children:
                lacking = self._lacks(child, known)
                if lacking or self._decided(child, known) == (node.kind == "or"):
                    return lacking
            return []
        if node.kind == "macro":
            # Its body runs for every item, with a name that only CEL binds: all that stands in it is needed.
            return [read for read in self._within(node) if not _present(read, known)]
        read = self._reads.get((node.start, node.end)) if node.kind in ("select", "index") else None
        found = [] if read is None or _present(read, known) else [read]
        for child in node.children:
            found.extend(read for read in self._lacks(child, known) if read not in found)
        return found

    def _within(self, node: Node) -> list[Read]:
        return [read for (start, end), read in self._reads.items() if node.start <= start and end <= node.end]

    def _decided(self, node: Node, known: Known) -> bool:
        read = self._plain_read(node)
        found = self._run(self._parts[node.start, node.end], known) if read is None else _value(read, known)
        if not isinstance(found, bool):
            raise EvaluationError(f"{_short(self.text[node.start : node.end])} gave {_short(found)}, not true or false")
        return found

    def _plain_read(self, node: Node) -> Read | None:
        """Returns what a node reads, when it is `root.field` and nothing else: most are, and need no evaluator."""
        if node.kind != "select" or node.children[0].kind != "name":
            return None
        return self._reads.get((node.start, node.end))

    def _compile_conditions(self, node: Node) -> None:
        if node.kind == "macro":
            self._compile_conditions(node.children[0])
            return
        decisive = node.children[:1] if node.kind == "if" else node.children if node.kind in ("and", "or") else ()
        for child in decisive:
            self._parts[child.start, child.end] = _compile(self.text[child.start : child.end], child.start)
        for child in node.children:
            self._compile_conditions(child)

    def _run(self, program: Any, known: Known) -> Any:
        try:
            return program.execute({**{root: known[root] for root in self._roots if root in known}, **self._calls})
        except (ValueError, TypeError, RuntimeError, LookupError, ArithmeticError) as error:
            what = f"there is no key {error.args[0]!r}" if isinstance(error, KeyError) else _first_line(error)
            raise EvaluationError(f"{_short(program.source)} failed: {what}") from None


def as_cel(value: Any) -> Any:
    """A JSON-like value as CEL sees it: whole numbers become doubles, what is not JSON-like becomes its text.

    Raises OverflowError for whole numbers beyond the range of a double.
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


def _present(read: Read, known: Known) -> bool:
    inside: Any = known
    for part in read.path:
        if not isinstance(inside, dict) or part not in inside:
            return False
        inside = inside[part]
    return True


def _value(read: Read, known: Known) -> Any:
    root, field = read.path
    return known[root][field]


def _compile(text: str, offset: int) -> Any:
    try:
        return cel.compile(text)
    except ValueError as error:
        raise ExpressionError(_first_line(error), offset) from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "…"
