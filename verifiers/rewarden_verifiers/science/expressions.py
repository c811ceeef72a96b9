"""Expressions in given variables: parsed as `math` parses answers, evaluated at points, and compared by skeleton."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence

from rewarden_verifiers.answer.math.limits import Budget, TooExpensive, Unreadable
from rewarden_verifiers.answer.math.numeric import Evaluator, Undefined
from rewarden_verifiers.answer.math.reading import read
from rewarden_verifiers.answer.math.syntax import (
    Call,
    Constant,
    Negation,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Root,
    Sum,
    Symbol,
    walk,
)

FUNCTIONS = (
    *("sin", "cos", "tan", "cot", "sec", "csc", "arcsin", "arccos", "arctan"),
    *("sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh"),
    *("exp", "ln", "abs", "sqrt", "min", "max"),
)
_FUNCTION_NAMES = frozenset(FUNCTIONS) | {"log", "lg", "asin", "acos", "atan", "sign", "sgn"}
MOST_WORK = 60_000
"""The maximum number of nodes times points of an evaluation: about a second."""
_DIGITS = 18
_NODES = (Number, Symbol, Constant, Sum, Negation, Product, Quotient, Power, Root, Call)
_MODULE = re.compile(r"(?<![A-Za-z0-9_])(?:np|numpy|math|torch|sp|sympy)\.(?=[a-z])")
_LOGARITHM = re.compile(r"(?<![A-Za-z\\_])log(2|10)\s?\(")
_EQUALS = re.compile(r"\\(?:approx|simeq|sim|cong)(?![A-Za-z])|≈|≃|≅|≒|~=?|∼|:=|=")
"""Signs between a name and its expression: a fitted one is often given as approximate."""
_PYTHON = re.compile(
    r"lambda\s+[A-Za-z_]\w{0,40}(?:\s*,\s*[A-Za-z_]\w{0,40})*\s*:(?P<body>[^\n]+)"
    r"|def\s+\w{1,80}\([^()\n]{0,400}\)[^\n]{0,40}:\s*return(?P<returned>[^\n]+)"
)
_LEFT = re.compile(
    r"(?:\\hat\{?)?\s*(\\?[A-Za-z]+(?:_\{?[A-Za-z0-9]+\}?)?)\}?\s*(?:\([^()=]{0,200}\)|\\left\([^()=]{0,200}\\right\))?"
)


class NoExpression(Exception):
    """The text is not an expression in these variables; the message says why."""


def expression(text: str, variables: Collection[str], functions: Collection[str] = FUNCTIONS) -> Node:
    """Parses an expression; of an equation `y = …`, the right-hand side. Raises NoExpression, TooExpensive."""
    text = _right_side(text.strip(), variables)
    function = _PYTHON.fullmatch(text)
    if function is not None:
        text = function["body"] or function["returned"]
    text = _LOGARITHM.sub(r"\\log_{\1}(", _MODULE.sub("", text))
    try:
        node = read(text).node
    except Unreadable:
        raise NoExpression("there is no expression") from None
    for part in walk(node):
        if not isinstance(part, _NODES) or (isinstance(part, Constant) and part.name not in ("pi", "e")):
            raise NoExpression(f"{type(part).__name__.lower()} does not belong in an expression")
        if isinstance(part, Symbol) and part.name not in variables:
            raise NoExpression(f"{part.name[:40]!r} is not a variable")
        if isinstance(part, Call) and part.name not in functions:
            raise NoExpression(f"the function {part.name[:40]!r} is not allowed")
    return node


def _right_side(text: str, variables: Collection[str]) -> str:
    """The right-hand side of `y = …`; a text that is no equation as it is."""
    equals = _EQUALS.search(text)
    if equals is None or text.startswith("def "):
        return text
    right = text[equals.end() :].strip()
    named = _LEFT.fullmatch(text[: equals.start()].strip())
    if named is None or _EQUALS.search(right) is not None or not _is_free(named[1].strip("\\"), variables):
        raise NoExpression("the equation does not give one value")
    return right


def _is_free(name: str, variables: Collection[str]) -> bool:
    """Returns whether a left-hand side only names the value. Attack: `x = …`, `mv = …` or `log(y) = …`, with another
    value.
    """
    if name in _FUNCTION_NAMES:
        return False
    try:
        return symbol(name) not in variables
    except NoExpression:  # a name such as KE, which is read as a product
        return not all(letter in variables for letter in name)


def symbol(name: str) -> str:
    """The symbol under which expressions contain a variable. Raises NoExpression if the name would be parsed as
    something else.
    """
    try:
        node = read(name).node
    except (Unreadable, TooExpensive):
        raise NoExpression(f"{name[:40]!r} is not a name") from None
    if not isinstance(node, Symbol):
        raise NoExpression(f"{name[:40]!r} is not read as a variable")
    return node.name


def size(node: Node) -> int:
    """The number of numbers, names, operators and functions in an expression as written; its complexity."""
    return sum(map(_own_size, walk(node)))


def _own_size(part: Node) -> int:
    """The size that a node adds to its children's."""
    if isinstance(part, Sum):
        # A minus between two terms is parsed as a plus and a sign, but counts as one operator.
        return len(part.terms) - 1 - sum(isinstance(term, Negation) for term in part.terms[1:])
    if isinstance(part, Product):
        return len(part.factors) - 1
    if isinstance(part, Power) and part.base == Constant("e"):
        return 0  # exp(x) is parsed as a power, but is one function
    if isinstance(part, Root) and isinstance(part.index, Number) and part.index.value == 2:
        return 0  # the 2 of a square root is not written
    return 1


def values(node: Node, variables: Sequence[str], points: Sequence[Sequence[float]]) -> list[float]:
    """The value at each point. Raises Undefined if one is not a real number, and TooExpensive."""
    budget = Budget(MOST_WORK * 6)
    if sum(1 for _ in walk(node)) * len(points) > MOST_WORK:
        raise TooExpensive("too many nodes and points")
    evaluator = Evaluator(_DIGITS)
    real = evaluator.context.mpf
    found = []
    for point in points:
        bindings: Mapping[str, object] = {name: real(value) for name, value in zip(variables, point, strict=True)}
        value = evaluator.value(node, bindings, budget)
        imaginary = evaluator.context.im(value)
        if abs(imaginary) > 1e-12 * (1 + abs(value)):
            raise Undefined("not real")
        try:
            found.append(float(evaluator.context.re(value)))
        except OverflowError:
            raise Undefined("too large") from None
        if abs(found[-1]) > 1e150:  # its square would not be finite
            raise Undefined("too large")
    return found


def skeleton(node: Node) -> str:
    """The expression with every constant replaced by C, sorted: equal for expressions that differ only in constants."""
    return _skeleton(node) or "C"


def _skeleton(node: Node) -> str | None:
    """The skeleton of an expression; None for a constant. Constants next to non-constant parts are dropped, except
    exponents.
    """
    match node:
        case Number() | Constant():
            return None
        case Symbol(name=name):
            return name
        case Negation(body=body):
            return _scaled(_skeleton(body))
        case Sum(terms=terms):
            # A constant is added or not, and each term has a factor or not: fitting distinguishes no other forms.
            parts = sorted({_unscaled(found) for term in terms if (found := _skeleton(term)) is not None})
            if not parts:
                return None
            constant = any(_skeleton(term) is None for term in terms)
            return f"({'+'.join(f'C*{part}' for part in parts)}{'+C' if constant else ''})"
        case Product(factors=factors):
            kept = [found for factor in factors if (found := _skeleton(factor)) is not None]
            constant = len(kept) < len(factors)
            return _product([(one, False) for one in kept], constant)
        case Quotient(top=top, bottom=bottom):
            above, below = _skeleton(top), _skeleton(bottom)
            if below is None:
                return None if above is None else _scaled(above)
            return _product([(above, False), (below, True)] if above is not None else [(below, True)], above is None)
        case Power(base=base, exponent=exponent):
            lower, upper = _skeleton(base), _skeleton(exponent)
            if lower is None and upper is None:
                return None
            if upper is None:
                return f"{lower}^{_number(exponent)}"
            return f"{lower or 'C'}^{upper}"
        case Root(radicand=radicand, index=index):
            inner = _skeleton(radicand)
            return None if inner is None else f"root{_number(index)}({inner})"
        case Call(name=name, arguments=arguments):
            found_arguments = [_skeleton(argument) for argument in arguments]
            if all(one is None for one in found_arguments):
                return None
            return f"{name}({','.join(one or 'C' for one in found_arguments)})"
    return repr(node)


def _number(node: Node) -> str:
    if isinstance(node, Number):
        return str(node.value)
    if isinstance(node, Negation):
        return f"-{_number(node.body)}"
    return "C"


def _scaled(found: str | None) -> str | None:
    return None if found is None else f"C*{_unscaled(found)}"


def _unscaled(found: str) -> str:
    return found.removeprefix("C*")


def _product(parts: Sequence[tuple[str, bool]], constant: bool) -> str | None:
    if not parts:
        return None
    constant = constant or any(one.startswith("C*") for one, _ in parts)
    written = sorted(f"{'/' if below else ''}{_unscaled(one)}" for one, below in parts)
    return f"{'C*' if constant else ''}{'*'.join(written)}"
