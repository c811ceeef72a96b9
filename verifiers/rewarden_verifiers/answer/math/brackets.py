"""Brackets, braces, absolute values and environments: what encloses other answers."""

# ruff: noqa: SIM905 (long word lists read better as text)
from __future__ import annotations

from fractions import Fraction

from rewarden_verifiers.answer.math.build import negate
from rewarden_verifiers.answer.math.cursor import Cursor
from rewarden_verifiers.answer.math.limits import Unreadable
from rewarden_verifiers.answer.math.syntax import (
    Braces,
    Builder,
    Call,
    Group,
    Listing,
    Matrix,
    Node,
    Number,
)

_MATRICES = frozenset("matrix pmatrix bmatrix Bmatrix vmatrix Vmatrix smallmatrix array".split())
_LINES = frozenset(
    "cases aligned align align* gathered gather gather* split array* dcases rcases equation equation*".split()
)


class Brackets(Cursor):
    """Enclosed things."""

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
        """Round or square brackets. One item in round ones is only bracketed; a lone item in square ones too."""
        self.enter()
        opening = self.peek()[1]
        self.index += 1
        bars, self.bars = self.bars, 0
        builder, self.in_builder = self.in_builder, False
        if self.at(")", "]"):
            raise Unreadable("empty brackets")
        if opening == "(" and self.at(r"\bmod"):
            self.index += 1
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
        """Lines of an arranging environment, as a list."""
        self.enter()
        items: list[Node] = []
        while not self.at(r"\end"):
            if self.at(r"\\", ",", "&"):
                self.index += 1
                continue
            if self.index >= len(self.tokens):
                raise Unreadable("environment never ends")
            items.append(self.item())
            while self.at("&", ","):
                self.index += 1
            if name.endswith("cases") and not self.at(r"\\", r"\end"):
                self.cases_condition(items)
        self.index += 1
        self.script_text()
        self.depth -= 1
        if not items:
            raise Unreadable("no lines")
        return items[0] if len(items) == 1 else Listing(tuple(items), "and")

    def cases_condition(self, items: list[Node]) -> None:
        """The condition beside a case: kept as a second item of a pair, so that both must agree."""
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
