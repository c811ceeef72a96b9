"""Checks the names and types of an expression when its recipe is loaded.

CEL never converts between integers and doubles, truncates the division of integers, and treats values of different
types as unequal. At run time each of these would be a failed sample or a silently wrong score. Here they are refused
early, with the fix. `any` is a value whose type is known only at run time (metadata, evidence).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from rewarden.errors import near
from rewarden_verifiers.recipes.functions import FUNCTIONS, METHODS, Type
from rewarden_verifiers.recipes.syntax import MACROS, ExpressionError, Node

_CLASS: Mapping[Type, str] = {
    "double": "a number",
    "int": "a number",
    "mixed": "a number",
    "bool": "true or false",
    "string": "a text",
    "list": "a list",
}


@dataclass(frozen=True, slots=True)
class Read:
    """An external value that an expression reads: `path` is `(root, field, …)`, such as `("answer", "score")`."""

    path: tuple[str, ...]

    def __str__(self) -> str:
        return ".".join(self.path)


RESERVED = frozenset(
    {
        # CEL's own words, and its types and functions that recipes do not have
        *("as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop"),
        *("null", "package", "namespace", "return", "true", "var", "void", "while"),
        *("int", "bool", "uint", "bytes", "type", "dyn"),
        # the roots of expressions, and what these may call
        *("sample", "progress", "params", "schedule"),
        *("has", *MACROS, *FUNCTIONS),
    }
)
"""Names that a use cannot have."""

Scope = Mapping[str, Mapping[str, Type]]
"""The fields that an expression can read: root → field → type."""

OPTIONAL_ROOTS = ("sample", "progress")
"""Roots whose fields can be absent, so that `has()` applies to them directly."""

OPEN_FIELDS = ("metadata", "signals")
"""Fields of `sample` that contain the caller's own keys: each key is a separate input."""


@dataclass(slots=True)
class Checked:
    """The result of the check: the type of the whole expression, and the values read, by the position of the reading
    node."""

    type: Type
    reads: dict[tuple[int, int], Read] = field(default_factory=dict)


def check(root: Node, scope: Scope) -> Checked:
    """Returns the names, types and reads of an expression. Raises ExpressionError with the position and the fix."""
    checker = _Checker(scope)
    found = checker.type_of(root, frozenset())
    return Checked(found, checker.reads)


class _Checker:
    def __init__(self, scope: Scope) -> None:
        self._scope = scope
        self.reads: dict[tuple[int, int], Read] = {}
        self._in_macro = False

    def type_of(self, node: Node, bound: frozenset[str]) -> Type:
        match node.kind:
            case "literal":
                return node.text  # type: ignore[return-value]
            case "name":
                if node.text in bound:
                    return "any"
                raise self._unknown_name(node)
            case "select" | "index":
                return self._field(node, bound)
            case "list":
                for child in node.children:
                    self.type_of(child, bound)
                return "list"
            case "has":
                return self._has(node, bound)
            case "call":
                return self._call(node, bound)
            case "macro":
                return self._macro(node, bound)
            case "not":
                self._need_bool(node.children[0], bound, "'!'")
                return "bool"
            case "negate":
                kind = self.type_of(node.children[0], bound)
                if kind not in ("double", "int", "any"):
                    raise ExpressionError(f"'-' needs a number, not {_say(kind)}", node.start)
                return "double" if kind == "any" else kind
            case "and" | "or":
                sign = "'&&'" if node.kind == "and" else "'||'"
                for child in node.children:
                    self._need_bool(child, bound, sign)
                return "bool"
            case "if":
                return self._if(node, bound)
            case "chain":
                return self._chain(node, bound)

    # --- what is read -------------------------------------------------------------------------------------------

    def _field(self, node: Node, bound: frozenset[str]) -> Type:
        path, type_, rest = self._path(node, bound)
        if path is not None:
            self.reads[node.start, node.end] = Read(path)
        for index in rest:
            self.type_of(index, bound)
        return type_

    def _path(self, node: Node, bound: frozenset[str]) -> tuple[tuple[str, ...] | None, Type, list[Node]]:
        """Returns the outer path that a chain of fields reads, its type, and the indices in it that must be checked."""
        steps: list[Node] = []
        inner = node
        while inner.kind in ("select", "index"):
            steps.append(inner)
            inner = inner.children[0]
        steps.reverse()
        indices = [step.children[1] for step in steps if step.kind == "index"]
        if inner.kind != "name" or inner.text in bound:
            of = self.type_of(inner, bound)
            if of not in ("any", "list") or (of == "list" and steps[0].kind == "select"):
                raise ExpressionError(f"{_say(of)} has no fields", steps[0].start)
            return None, "any", indices
        fields = self._scope.get(inner.text)
        if fields is None:
            raise self._unknown_name(inner)
        first = _key(steps[0])
        if first is None:
            raise self._unknown_name(inner)
        if first not in fields:
            raise ExpressionError(f"{inner.text!r} has no field {first!r}{near(first, fields)}", steps[0].start)
        path, type_ = [inner.text, first], fields[first]
        for step in steps[1:]:
            if type_ not in ("any", "list") or (type_ == "list" and step.kind == "select"):
                raise ExpressionError(f"{inner.text}.{first} is {_say(type_)} and has no fields", step.start)
            type_ = "any"
        if inner.text == "sample" and first in OPEN_FIELDS and len(steps) > 1 and (key := _key(steps[1])) is not None:
            path.append(key)
        return tuple(path), type_, indices

    def _has(self, node: Node, bound: frozenset[str]) -> Type:
        (inner,) = node.children
        path, _, rest = self._path(inner, bound)
        for index in rest:
            self.type_of(index, bound)
        if path is None:
            return "bool"
        if path[0] not in OPTIONAL_ROOTS:
            if inner.children[0].kind == "name":
                raise ExpressionError(f"{'.'.join(path)} is always there: has() is not needed", node.start)
            # has(answer.evidence.key) needs answer's evidence, whatever it contains.
            self.reads[inner.start, inner.end] = Read(path)
        elif _depth(inner) > 2:
            # has(sample.metadata.a.b) tests for b; the caller must provide a.
            self.reads[inner.start, inner.end] = Read(path)
        return "bool"

    def _unknown_name(self, node: Node) -> ExpressionError:
        if node.text in self._scope:
            example = _example(node.text, self._scope[node.text])
            return ExpressionError(f"name a field of {node.text!r}, such as {example}", node.start)
        return ExpressionError(f"there is no {node.text!r}{near(node.text, self._scope, 'known here: ')}", node.start)

    # --- operators ----------------------------------------------------------------------------------------------

    def _need_bool(self, node: Node, bound: frozenset[str], what: str) -> None:
        kind = self.type_of(node, bound)
        if kind not in ("bool", "any"):
            raise ExpressionError(f"{what} needs true or false, not {_say(kind)}", node.start)

    def _if(self, node: Node, bound: frozenset[str]) -> Type:
        condition, yes, no = node.children
        self._need_bool(condition, bound, "the condition before '?'")
        first, second = self.type_of(yes, bound), self.type_of(no, bound)
        if first == second:
            return first
        if "any" in (first, second) or "null" in (first, second):
            return "any"
        if _CLASS.get(first) != _CLASS.get(second):
            raise ExpressionError(f"one branch is {_say(first)}, the other {_say(second)}", no.start)
        return "mixed"

    def _chain(self, node: Node, bound: frozenset[str]) -> Type:
        left = self.type_of(node.children[0], bound)
        for op, child in zip(node.ops, node.children[1:], strict=True):
            left = self._binary(op, left, self.type_of(child, bound), child)
        return left

    def _binary(self, op: str, left: Type, right: Type, at: Node) -> Type:
        if op == "in":
            if right not in ("list", "any"):
                raise ExpressionError(
                    f"'in' looks in a list, not in {_say(right)}; for strings use .contains()", at.start
                )
            return "bool"
        if op in ("==", "!="):
            if not {"any", "null"} & {left, right} and _CLASS[left] != _CLASS[right]:
                raise ExpressionError(f"{_say(left)} never equals {_say(right)}", at.start)
            return "bool"
        if op in ("<", "<=", ">", ">="):
            if "any" not in (left, right) and (_CLASS.get(left) != _CLASS.get(right) or left in ("bool", "list")):
                raise ExpressionError(f"'{op}' cannot compare {_say(left)} with {_say(right)}", at.start)
            return "bool"
        return self._arithmetic(op, left, right, at)

    def _arithmetic(self, op: str, left: Type, right: Type, at: Node) -> Type:
        kinds = {left, right}
        if op == "/" and kinds == {"int"}:
            raise ExpressionError(
                "whole numbers divide by cutting off (1/2 is 0): write 1.0/2.0 or double(…)", at.start
            )
        if "mixed" in kinds or kinds in ({"int", "double"}, {"int", "any"}):
            raise ExpressionError(
                f"'{op}' cannot mix whole numbers and doubles: write 2.0 for 2, or double(…)", at.start
            )
        if op == "%" and kinds != {"int"}:
            raise ExpressionError("'%' is for whole numbers only", at.start)
        if kinds <= {"double", "any"}:
            return "double" if "double" in kinds or op != "+" else "any"
        if kinds == {"int"}:
            return "int"
        if op == "+" and (kinds <= {"string", "any"} or kinds <= {"list", "any"}):
            return "string" if "string" in kinds else "list"
        raise ExpressionError(f"'{op}' cannot join {_say(left)} and {_say(right)}", at.start)

    # --- functions ----------------------------------------------------------------------------------------------

    def _call(self, node: Node, bound: frozenset[str]) -> Type:
        method = "method" in node.ops
        known = METHODS if method else FUNCTIONS
        function = known.get(node.text)
        if function is None:
            raise ExpressionError(f"there is no function {node.text!r}{near(node.text, known)}", node.start)
        arguments = node.children[1:] if method else node.children
        if len(arguments) < function.least or (function.most is not None and len(arguments) > function.most):
            wanted = str(function.least) if function.most is not None else f"at least {function.least}"
            raise ExpressionError(f"{node.text}() takes {wanted}, not {len(arguments)} arguments", node.start)
        if method:
            of = self.type_of(node.children[0], bound)
            if of not in ("string", "any") and not (node.text == "size" and of == "list"):
                raise ExpressionError(f".{node.text}() is for strings, not for {_say(of)}", node.start)
        for argument in arguments:
            kind = self.type_of(argument, bound)
            if function.argument == "double" and kind in ("int", "mixed"):
                raise ExpressionError(f"{node.text}() takes doubles: write 2.0 for 2, or double(…)", argument.start)
            if function.argument != "any" and kind not in (function.argument, "any"):
                raise ExpressionError(
                    f"{node.text}() takes {_say(function.argument)}, not {_say(kind)}", argument.start
                )
        return function.result

    def _macro(self, node: Node, bound: frozenset[str]) -> Type:
        if self._in_macro:
            # Each level multiplies the work; a recipe from outside must not be able to stall the server.
            raise ExpressionError(f"{node.text}() cannot be nested in another such function", node.start)
        over = self.type_of(node.children[0], bound)
        if over not in ("list", "any"):
            raise ExpressionError(f"{node.text}() goes over a list, not over {_say(over)}", node.start)
        variable, *bodies = node.children[1:]
        if variable.text in self._scope or variable.text in RESERVED:
            raise ExpressionError(f"{variable.text!r} already means something: choose another name", variable.start)
        if len(bodies) == 2 and node.text != "map":
            raise ExpressionError(f"{node.text}() takes a name and one condition", node.start)
        self._in_macro = True
        for place, body in enumerate(bodies):
            if node.text == "map" and place == len(bodies) - 1:
                self.type_of(body, bound | {variable.text})
            else:
                self._need_bool(body, bound | {variable.text}, f"{node.text}()")
        self._in_macro = False
        return "list" if node.text in ("map", "filter") else "bool"


def _key(step: Node) -> str | None:
    """The field that a step names: `.field` or `["field"]`."""
    if step.kind == "select":
        return step.text
    index = step.children[1].value
    return index if isinstance(index, str) else None


def _depth(node: Node) -> int:
    return 1 + _depth(node.children[0]) if node.kind in ("select", "index") else 0


def _say(kind: Type) -> str:
    return {"int": "a whole number", "null": "null", "any": "anything"}.get(kind) or _CLASS[kind]


def _example(root: str, fields: Mapping[str, Type]) -> str:
    return f"{root}.{'score' if 'score' in fields else next(iter(fields), 'name')}"
