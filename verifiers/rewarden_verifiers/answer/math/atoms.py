"""Atoms: numbers, names, functions, fractions, roots, sums over ranges, and brackets, which enclose other answers."""

# ruff: noqa: SIM905 (long word lists read better as text)
from __future__ import annotations

from fractions import Fraction

from rewarden_verifiers.answer.math import words
from rewarden_verifiers.answer.math.build import conditioned, fraction, index_i, lone, negate, times
from rewarden_verifiers.answer.math.cursor import Cursor
from rewarden_verifiers.answer.math.limits import TooExpensive, Unreadable
from rewarden_verifiers.answer.math.syntax import (
    TWO,
    Braces,
    Builder,
    Call,
    Constant,
    Group,
    Listing,
    Matrix,
    Measure,
    NamedSet,
    Node,
    Number,
    Power,
    Product,
    Quotient,
    Relation,
    Root,
    Scalar,
    Series,
    Symbol,
)

_NAMED_SETS = {
    r"\reals": "R", r"\naturals": "N", r"\integers": "Z", r"\rationals": "Q", r"\complexes": "C"
}  # fmt: skip
GREEK = frozenset(
    r"""\alpha \beta \gamma \delta \epsilon \zeta \eta \theta \iota \kappa \lambda \mu \nu \xi \rho \sigma \tau \upsilon
    \phi \chi \psi \omega \Gamma \Delta \Theta \Lambda \Xi \Pi \Sigma \Upsilon \Phi \Psi \Omega \ell \hbar \aleph \varpi
    \nabla \partial \wp \ldots \star \triangle \complement \mathbb""".split()
)
ACCENTS = frozenset(
    r"\overline \bar \vec \hat \tilde \overrightarrow \widehat \widetilde \dot \ddot \underline \overleftarrow "
    r"\overset \overarc \wideparen".split()
)
_RENAMED = {
    "lg": "log10", "asin": "arcsin", "acos": "arccos", "atan": "arctan", "cosec": "csc", "arsinh": "asinh",
    "arcsinh": "asinh", "arcosh": "acosh", "arccosh": "acosh", "artanh": "atanh", "arctanh": "atanh", "tg": "tan",
    "ctg": "cot", "arctg": "arctan", "arcctg": "arccot", "sgn": "sign", "Arg": "arg",
}  # fmt: skip
_INVERSES = {
    "sin": "arcsin", "cos": "arccos", "tan": "arctan", "cot": "arccot", "sec": "arcsec", "csc": "arccsc",
    "sinh": "asinh", "cosh": "acosh", "tanh": "atanh",
}  # fmt: skip
_MATRICES = frozenset("matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array".split())
_LINES = frozenset(
    "cases aligned align align* gathered gather gather* split array* dcases rcases equation equation*".split()
)
_ALWAYS_FUNCTIONS = frozenset({"f", "g", "F", "G"})
_OFTEN_FUNCTIONS = frozenset({"h", "H", "P", "Q", "p", "q", "T", "u", "v", r"\phi", r"\psi", "S"})


class Atoms(Cursor):
    """Parses terms that are a value by themselves."""

    def atom(self, plain: bool = False) -> Node:
        """A number, name, bracket, fraction, root, function ... `plain`: without arguments read by juxtaposition."""
        kind, text, _ = self.peek()
        if kind == "n":
            self.index += 1
            return self.number(text)
        if kind in "vt":
            self.index += 1
            return self.variable(text, plain)
        if kind == "f":
            self.index += 1
            return self.function(text)
        if kind == "c":
            return self.command(text, plain)
        if kind == "w" and text in words.NUMBER_WORDS:
            self.index += 1
            return Number(Fraction(words.NUMBER_WORDS[text]))
        if self.at_currency():
            self.index += 1
            return Measure(self.power(), text)
        if kind == "o":
            if text in ("(", "["):
                return self.group()
            if text == "{":
                inner = self.braced()
                # {1, 2}: a set whose braces lost their backslashes
                return Braces(inner.items) if isinstance(inner, Listing) else inner
            if text == "|":
                return self.absolute()
        raise Unreadable("no atom")

    def number(self, text: str) -> Node:
        """A literal; `0.1\\overline{6}` repeats."""
        if self.at(r"\overline", r"\bar", r"\dot") and "." in text:
            self.index += 1
            repeated = self.argument()
            if not isinstance(repeated, Number) or repeated.places is not None:
                raise Unreadable("repeating decimal")
            whole, _, places = text.partition(".")
            digits = self.tokens[self.index - 2][1] if self.tokens[self.index - 1][1] == "}" else str(repeated.value)
            if not digits.isdecimal():
                raise Unreadable("repeating decimal")
            start = Fraction(int(whole + places or "0"), 10 ** len(places))
            return Number(start + Fraction(int(digits), (10 ** len(digits) - 1) * 10 ** len(places)))
        if "e" in text or "E" in text:
            mantissa, _, exponent = text.lower().partition("e")
            if len(exponent) > 5:
                raise TooExpensive("exponent too large")
            return Product((self.number(mantissa), Power(Number(Fraction(10)), Number(Fraction(int(exponent))))))
        if "." in text:
            whole, _, places = text.partition(".")
            return Number(Fraction(int(whole + places), 10 ** len(places)), len(places))
        return Number(Fraction(int(text)))

    def variable(self, name: str, plain: bool) -> Node:
        """A letter with its subscript, or a function of that name applied."""
        name = self.subscripted(name)
        if name == "e":
            return Constant("e")
        if name == "i":
            return Constant("i")
        kind, text, spaced = self.peek()
        if kind == "n" and not spaced and not plain and "_" not in name and len(name) == 1 and text.isdecimal():
            self.index += 1
            name += "_" + text  # y1 is y_1: as a product, y1 > y3 would equal y1 > y2 up to a factor
        if not plain and self.at("(") and not self.peek()[2]:
            base = name.split("_")[0]
            if base in _ALWAYS_FUNCTIONS or (base in _OFTEN_FUNCTIONS and self._lone_argument()):
                return self.applied(name)
        return Symbol(name)

    def subscripted(self, name: str) -> str:
        """The name with its subscript, as canonical text."""
        while self.at("_"):
            self.index += 1
            if self.at("{"):
                depth = 0
                parts: list[str] = []
                while self.index < len(self.tokens):
                    _, text, _ = self.peek()
                    self.index += 1
                    depth += (text == "{") - (text == "}")
                    if depth == 0:
                        break
                    parts.append(text)
                name += "_" + "".join(parts[1:])
            else:
                name += "_" + self.peek()[1]
                self.index += 1
        return name

    def _lone_argument(self) -> bool:
        """Returns whether the brackets ahead hold one letter or number: `P(x)`, not `P(x+1)`."""
        return self.peek(1)[0] in "vn" and self.peek(2)[1] == ")"

    def applied(self, name: str) -> Node:
        """An opaque function's arguments."""
        group = self.group()
        arguments = group.items if isinstance(group, Group) else (group,)
        return Call(name, arguments)

    def function(self, name: str) -> Node:
        """A known function: its exponent or base first, then its argument."""
        exponent: Node | None = None
        base: Node | None = None
        for _ in range(2):
            if self.at("^", "**"):
                self.index += 1
                exponent = self.script()
            elif self.at("_"):
                self.index += 1
                base = self.script()
        if name == "sqrt":
            return self.root()
        name = _RENAMED.get(name, name)
        if name in _INVERSES and exponent == Number(Fraction(-1)):
            name, exponent = _INVERSES[name], None
        arguments = self.function_arguments()
        node: Node
        if name == "exp":
            node = Power(Constant("e"), arguments[0])
        elif name in ("log", "ln", "log10"):
            node = self.logarithm(name, base, arguments[0])
        elif name == "cis":
            inner = Product((Constant("i"), arguments[0]))
            node = Power(Constant("e"), inner)
        else:
            node = Call(name, arguments)
        return node if exponent is None else Power(node, exponent)

    def root(self) -> Node:
        """`\\sqrt[3]{x}`, `\\sqrt x`, `sqrt(x)`."""
        index: Node = TWO
        if self.at("["):
            self.index += 1
            index = self.sum()
            self.take("]")
        return Root(lone(self.argument()), index)

    def logarithm(self, name: str, base: Node | None, argument: Node) -> Node:
        """Natural unless a base is given; a bare `log` can be common in another style."""
        if base is None and name == "log":
            self.saw_log = True
            name = "log10" if self.style.common_log else "ln"
        if name == "log10":
            base = Number(Fraction(10))
        if base is None:
            return Call("ln", (argument,))
        return Quotient(Call("ln", (argument,)), Call("ln", (base,)))

    def function_arguments(self) -> tuple[Node, ...]:
        """Brackets, or adjacent factors up to the next sign or function."""
        self.enter()
        if self.at("(", "["):
            group = self.group()
            self.depth -= 1
            arguments = group.items if isinstance(group, Group) else (group,)
            if not all(isinstance(argument, (Scalar, Matrix)) for argument in arguments):
                raise Unreadable("argument of a function")
            return arguments
        if self.at("-"):
            self.index += 1
            node = negate(self.power())
        else:
            node = self.power()
        while self.starts_factor() and self.peek()[0] != "f" and not self.at("(", "["):
            node = times(node, self.power())
        if self.at("/") and isinstance(node, (Number, Symbol, Constant, Product)) and self.peek(1)[0] == "n":
            self.index += 1
            node = Quotient(node, self.power())
        self.depth -= 1
        return (node,)

    def command(self, text: str, plain: bool) -> Node:
        """A LaTeX command that starts an atom."""
        self.index += 1
        if text == r"\frac":
            return fraction(lone(self.argument()), lone(self.argument()))
        if text == r"\pi":
            return Constant("pi")
        if text == r"\infty":
            return Constant("oo")
        if text in _NAMED_SETS:
            name = _NAMED_SETS[text]
            if self.at("^", "_"):
                self.index += 1
                sign = self.script_text()
                name += sign.strip("{}")
            return NamedSet(name)
        if text == r"\emptyset":
            return Braces(())
        if text == r"\{":
            return self.braces()
        if text == r"\binom":
            return Call("binom", (self.argument(), self.argument()))
        if text in (r"\lfloor", r"\lceil"):
            inner = self.sum()
            self.take(text.replace(r"\l", r"\r"))
            return Call(text[2:], (inner,))
        if text in (r"\sum", r"\prod"):
            return self.series(text[1:])
        if text == r"\begin":
            return self.environment()
        if text == r"\$":
            return Measure(self.power(), "$")
        if text == r"\angle":
            parts = ["\\angle"]
            while self.peek()[0] in "vt":
                parts.append(self.peek()[1])
                self.index += 1
            return Symbol(" ".join(parts))
        if text == r"\neg":
            return Call("not", (self.power(),))
        if text in ACCENTS:
            return Symbol(self.subscripted(text + self.script_text()))
        if text in GREEK:
            return self.variable(text, plain)
        raise Unreadable(text)

    def series(self, kind: str) -> Node:
        """A sum or product over an integer range, with its body up to the next sign."""
        lower: Node | None = None
        upper: Node | None = None
        for _ in range(2):
            if self.at("_"):
                self.index += 1
                lower = self.script()
            elif self.at("^"):
                self.index += 1
                upper = self.script()
        if not isinstance(lower, Relation) or len(lower.operands) != 2 or upper is None:
            raise Unreadable("range of a sum")
        variable, first = lower.operands
        body = self.product()
        if variable == Constant("i"):
            variable = Symbol("i")
            body = index_i(body)
            upper = index_i(upper)
        if not isinstance(variable, Symbol):
            raise Unreadable("index of a sum")
        return Series(kind, variable.name, first, upper, body)

    # --- what encloses other answers

    def braced(self) -> Node:
        """A LaTeX group: invisible brackets."""
        self.enter()
        self.take("{")
        bars, self.bars = self.bars, 0
        node = self.listing()
        self.take("}")
        self.bars = bars
        self.depth -= 1
        return node

    def argument(self) -> Node:
        """A command's argument: braces or a single token; of a longer numeral, its first digit."""
        if self.at("{"):
            return self.braced()
        kind, text, _ = self.peek()
        if kind == "n" and len(text) > 1 and text.isdecimal():
            self.tokens[self.index] = ("n", text[1:], False)
            return Number(Fraction(int(text[0])))
        if self.at("-"):
            self.index += 1
            return negate(self.argument())
        return self.atom(plain=True)

    def script_text(self) -> str:
        """The raw tokens of one argument."""
        parts: list[str] = []
        depth = 0
        while self.index < len(self.tokens):
            _, text, _ = self.peek()
            self.index += 1
            depth += (text == "{") - (text == "}")
            parts.append(text)
            if depth <= 0:
                return "".join(parts)
        raise Unreadable("argument")

    def group(self) -> Node:
        """Round or square brackets. A single item in round ones is just bracketed; so is one in square brackets."""
        self.enter()
        opening = self.peek()[1]
        self.index += 1
        bars, self.bars = self.bars, 0
        builder, self.in_builder = self.in_builder, False
        if self.at(")", "]"):
            raise Unreadable("empty brackets")
        node = self.listing()
        closing = self.peek()[1]
        if closing not in (")", "]", "[", "("):
            raise Unreadable("unbalanced brackets")
        self.index += 1
        self.bars, self.in_builder = bars, builder
        self.depth -= 1
        if isinstance(node, Listing) and node.joiner == ",":
            return Group(opening, node.items, closing)
        if (opening == "(" and closing == ")") or (opening == "[" and closing == "]"):
            return node
        raise Unreadable("half-open brackets around one item")

    def braces(self) -> Node:
        """`\\{ ... \\}`: elements, or an element with its condition."""
        self.enter()
        bars, self.bars = self.bars, 0
        builder, self.in_builder = self.in_builder, True
        if self.at(r"\}"):
            self.index += 1
            node: Node = Braces(())
        else:
            inner = self.listing()
            if self.at("|", ":"):
                self.index += 1
                self.in_builder = False
                condition = self.listing()
                node = Builder(inner, condition)
            else:
                node = Braces(inner.items if isinstance(inner, Listing) else (inner,))
            self.take(r"\}")
        self.bars, self.in_builder = bars, builder
        self.depth -= 1
        return node

    def environment(self) -> Node:
        """Matrices, and environments that only arrange lines."""
        name = self.script_text().strip("{}")
        if name in _LINES:
            return self.lines(name)
        if name not in _MATRICES:
            raise Unreadable(name)
        self.enter()
        if name == "array" and self.at("{"):
            self.script_text()
        rows: list[tuple[Node, ...]] = []
        row: list[Node] = []
        while True:
            if self.at(r"\hline"):
                self.index += 1
                continue
            if self.at(r"\end"):
                self.index += 1
                self.script_text()
                break
            if self.at(r"\\"):
                self.index += 1
                rows.append(tuple(row))
                row = []
                continue
            if self.at("&"):
                self.index += 1
                continue
            row.append(self.relation())
        if row:
            rows.append(tuple(row))
        self.depth -= 1
        if not rows or len({len(entries) for entries in rows}) != 1 or not rows[0]:
            raise Unreadable("ragged matrix")
        matrix = Matrix(tuple(rows))
        return Call("det", (matrix,)) if name == "vmatrix" else matrix

    def lines(self, name: str) -> Node:
        """The lines of an environment that only arranges them, as a list."""
        self.enter()
        items: list[Node] = []
        outer, self.conditions = self.conditions, []
        while not self.at(r"\end"):
            if self.at(r"\\", ",", "&"):
                self.index += 1
                continue
            if self.index >= len(self.tokens):
                raise Unreadable("environment never ends")
            items.append(conditioned(self.item(), self.conditions))
            self.conditions = []
            while self.at("&", ","):
                self.index += 1
            if name.endswith("cases") and not self.at(r"\\", r"\end"):
                self.cases_condition(items)
        self.conditions = outer
        self.index += 1
        self.script_text()
        self.depth -= 1
        if not items:
            raise Unreadable("no lines")
        return items[0] if len(items) == 1 else Listing(tuple(items), "and")

    def cases_condition(self, items: list[Node]) -> None:
        """The condition next to a case: kept as the second item of a pair, so that both must agree."""
        while self.peek()[0] == "w":
            self.index += 1
        if self.at(r"\\", r"\end"):
            return
        items[-1] = Group("(", (items[-1], self.item()), ")")

    def absolute(self) -> Node:
        """`|x|`."""
        self.enter()
        self.take("|")
        builder, self.in_builder = self.in_builder, False
        self.bars += 1
        node = self.sum()
        self.bars -= 1
        self.take("|")
        self.in_builder = builder
        self.depth -= 1
        return Call("abs", (node,))
