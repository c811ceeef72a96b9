"""A recursive-descent parser for the LaTeX and ASCII in answers. Bounded in depth; it never evaluates anything.

From loose to tight: separators (`,` `;` and, or), relations and membership, set operations, sums, products (`/`, `:`
and juxtaposition included), signs, powers, postfix signs (`!` `%` degrees, units), atoms.
"""

from __future__ import annotations

from fractions import Fraction

from rewarden_verifiers.answer.math import words
from rewarden_verifiers.answer.math.atoms import ACCENTS, GREEK, Atoms
from rewarden_verifiers.answer.math.build import (
    add,
    conditioned,
    disjunction,
    is_domain,
    is_proper,
    is_set,
    mixed,
    negate,
    shared,
    times,
)
from rewarden_verifiers.answer.math.limits import Unreadable
from rewarden_verifiers.answer.math.syntax import (
    Based,
    Braces,
    Builder,
    Call,
    Conditioned,
    Constant,
    Degrees,
    Group,
    Listing,
    Measure,
    Membership,
    Mixed,
    Modulus,
    NamedSet,
    Negation,
    Node,
    Number,
    Percent,
    PlusMinus,
    Power,
    Product,
    Quantifier,
    Quotient,
    Ratio,
    Relation,
    Root,
    Scalar,
    SetOperation,
    Sum,
    Symbol,
    Text,
)
from rewarden_verifiers.answer.math.tokens import Token
from rewarden_verifiers.answer.math.units import is_unit

_RELATIONS = {
    "=": "=", "==": "=", "<": "<", ">": ">", "<=": "<=", ">=": ">=", "!=": "!=", r"\le": "<=", r"\ge": ">=",
    r"\ne": "!=", r"\approx": "~", r"\to": "=", r"\mapsto": "=", "->": "=", r"\sim": "~", r"\cong": "=",
}  # fmt: skip
_SET_OPERATORS = {r"\cup": "cup", r"\cap": "cap", r"\setminus": "minus"}
_CLOSING = {"(": ")", "[": "]", r"\{": r"\}"}
_DISPLAY_SEPARATORS = frozenset({",", ";", r"\\"})
_BASES = range(2, 37)


class Parser(Atoms):
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
        names: list[str] = []
        separators: list[str] = []
        outer = self.conditions
        while True:
            self.conditions = []
            name = self.label()
            if items and self.at_condition():
                self.condition()  # "f(x) = cx, where |c| <= 1"
                items[-1] = conditioned(items[-1], self.conditions)
            else:
                item = self.item()
                self.condition()
                items.append(conditioned(item, self.conditions))
                names.append(name)
            separator = self.separator()
            if separator is None:
                break
            separators.append(separator)
            if self.index == len(self.tokens):
                break
        self.conditions = outer
        if len(items) == 1:
            return items[0]
        stated = [item for item in items if not is_domain(item)]
        if stated and len(stated) < len(items):
            domains = [item for item in items if is_domain(item)]
            return conditioned(stated[0] if len(stated) == 1 else shared(stated, separators[-1]), domains)
        if all(names) and len(set(names)) == len(names):  # "maximum: 3, minimum: 1"
            items = [Relation((Text(name), item), ("=",)) for name, item in zip(names, items, strict=True)]
        signs = separators[: len(items) - 1]
        if len(signs) == len(items) - 1 and {words.CONJUNCTION, words.DISJUNCTION}.issuperset(signs):
            return disjunction(items, signs)
        return shared(items, "or" if "or" in separators else separators[-1])

    def separator(self) -> str | None:
        """Commas, semicolons, line breaks, "and" and "or"; several in a row count as one."""
        found = None
        while True:
            kind, text, _ = self.peek()
            if kind == "w" and text in words.JOINERS:
                found = text
            elif kind in "oc" and text in _DISPLAY_SEPARATORS:
                found = found or ","
            elif kind == "o" and text == "&":
                pass
            else:
                return found
            self.index += 1

    def label(self) -> str:
        """Skips words before a colon and returns them ("Maximum: 3"); also skips leading words, and quantifiers, which
        become conditions.
        """
        index = self.index
        while index < len(self.tokens):
            kind, text, _ = self.tokens[index]
            if kind == "w" or (kind == "f" and text in ("min", "max")) or (kind == "n" and index > self.index):
                index += 1
                continue
            break
        if index > self.index and index < len(self.tokens) and self.tokens[index][:2] in (("o", ":"), ("o", "=")):
            name = " ".join(text for _, text, _ in self.tokens[self.index : index])
            self.index = index + 1
            return words.EXTREMES.get(name, name)
        while self.peek()[0] == "w" and self.peek()[1] in words.LEADING_WORDS and self.index + 1 < len(self.tokens):
            self.index += 1
        while self.at(r"\therefore", r"\because", r"\Rightarrow", r"\approx", "="):
            self.index += 1
        while self.at(r"\forall", r"\exists"):
            self.quantifier()
        return ""

    def quantifier(self) -> None:
        """Takes a quantifier with its variable, up to the statement it applies to."""
        self.conditions.append(Quantifier(self.peek()[1][1:]))
        self.index += 1
        builder, self.in_builder = self.in_builder, True
        bound = self.relation()
        self.in_builder = builder
        if not isinstance(bound, Symbol):
            self.conditions.append(bound)
        while self.at(",", ":", "|"):
            self.index += 1
        while self.peek()[0] == "w" and self.peek()[1] in words.SUCH_THAT:
            self.index += 1

    def at_condition(self) -> bool:
        """Returns whether the next token is a word that begins a condition."""
        return self.peek()[0] == "w" and self.peek()[1] in words.CONDITION_WORDS

    def condition(self) -> None:
        """Takes "for all integers n" and similar conditions, up to the next separator outside brackets."""
        start = self.index
        if not self.at_condition() and not self.at_remark() and not self.at(r"\forall", r"\exists"):
            return
        self.pass_condition()
        self.conditions.extend(self.stated(self.tokens[start : self.index]))

    def pass_condition(self) -> None:
        """Moves past a condition. A second answer hidden in it makes the text unreadable."""
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
            elif depth == 0 and kind == "w" and text in words.EITHER:
                return
            self.index += 1

    def stated(self, tokens: list[Token]) -> list[Node]:
        """The conditions in these tokens that can be understood; others are ignored."""
        said = [text for kind, text, _ in tokens if kind == "w"]
        found: list[Node] = []
        if tokens[0][1] in (r"\forall", r"\exists"):
            found.append(Quantifier(tokens[0][1][1:]))
        elif words.QUANTIFIED.intersection(said[1:2]):
            found.append(Quantifier("forall"))
        if "non" not in said:
            found.extend(Text(word) for word in said if word in words.PROPERTIES)
        while tokens and (tokens[0][0] == "w" or tokens[0][1] in (r"\forall", r"\exists")):
            tokens = tokens[1:]
        inner = Parser(tokens, self.style)
        try:
            node = inner.answer() if tokens else None
        except Unreadable:
            return found
        if isinstance(node, Conditioned):
            found.extend(node.conditions)
            node = node.body
        items = node.items if isinstance(node, Listing) and node.joiner not in words.EITHER else (node,)
        return [*found, *(item for item in items if isinstance(item, (Relation, Membership)))]

    def item(self) -> Node:
        """A relation, a membership or an expression; or words, for lists of words."""
        start = self.index
        kind, text, _ = self.peek()
        if kind == "w" and text not in words.NUMBER_WORDS and not self.at_currency():
            return self.phrase()
        conditions, said = self.conditions, len(self.conditions)
        try:
            return self.relation()
        except Unreadable:
            self.index = start
            self.conditions = conditions
            del conditions[said:]
            if kind in "wt":
                return self.phrase()
            raise

    def phrase(self) -> Node:
        """Consecutive words."""
        found = ""
        while self.peek()[0] in "wtvn" and not (self.peek()[0] == "w" and self.peek()[1] in words.JOINERS):
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
        if self.at(r"\in", r"\notin", r"\subset", r"\subseteq"):
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

    # --- expressions, from sums down to powers and what follows a value (percent, degrees, units, bases)

    def sum(self) -> Node:
        """Terms with signs."""
        terms: list[Node] = []
        while True:
            kind, text, _ = self.peek()
            if (kind == "o" and text in "+-") or (kind == "c" and text in (r"\pm", r"\mp")):
                self.index += 1
                if text == "+":
                    if self.at("/") and self.peek(1)[1] == "-":
                        self.index += 2
                        text = r"\pm"
                    elif self.at("-"):
                        continue
                if text == "-" and self.at("+"):
                    self.index += 1
                term = self.product()
                if text == "-":
                    if isinstance(term, Braces | Builder | SetOperation | Group) and terms and is_set(terms[-1]):
                        terms[-1] = SetOperation("minus", (terms[-1], term))
                        continue
                    term = negate(term)
                elif text != "+":
                    left = add(terms) if terms else None
                    terms = [PlusMinus(left, term, text == r"\mp")]
                    continue
                terms.append(term)
                continue
            if terms:
                return add(terms)
            terms.append(self.product())

    def product(self) -> Node:
        """Factors joined by signs or by juxtaposition."""
        node = self.signed()
        ratio: list[Node] | None = None
        while True:
            kind, text, _ = self.peek()
            if kind == "o" and text == "*":
                self.index += 1
                node = times(node, self.signed())
            elif kind == "o" and text == "/":
                self.index += 1
                below = self.signed()
                if self.starts_factor():
                    self.saw_tight = True
                    if self.style.tight or not isinstance(below, Number):
                        while self.starts_factor():
                            below = times(below, self.signed())
                node = Quotient(node, below)
            elif kind == "o" and text == ":" and not self.in_builder:
                self.index += 1
                ratio = [*(ratio or [node]), self.signed()]
                node = Quotient(node, ratio[-1])
            elif kind == "c" and text in (r"\bmod", r"\pmod"):
                self.index += 1
                node = self.modulo(node, self.signed())
            elif kind == "o" and text == "(" and self.peek(1)[1] in (r"\bmod", r"\pmod"):
                self.index += 2
                node = self.modulo(node, self.sum())
                self.take(")")
            elif self.starts_factor():
                node = self._juxtapose(node)
            else:
                break
        if ratio is not None and len(ratio) > 2:
            return Ratio(tuple(ratio))
        return node

    def modulo(self, node: Node, modulus: Node) -> Node:
        """A remainder if an equation follows ("17 mod 5 = 2"); else the residue, with a condition."""
        if self.peek()[1] in _RELATIONS:
            return Call("remainder", (node, modulus))
        self.conditions.append(Modulus(modulus))
        return node

    def _juxtapose(self, node: Node) -> Node:
        """Multiplies by the next factor, unless the pair is a mixed number."""
        kind, text, spaced = self.peek()
        if isinstance(node, Number) and node.places is None:
            if kind == "c" and text == r"\frac":
                return mixed(node, self.signed())
            if kind == "n":
                if spaced and self.peek(1)[1] == "/" and self.peek(2)[0] == "n":
                    top = self.signed()
                    self.take("/")
                    part = Quotient(top, self.signed())
                    if is_proper(part):
                        return Mixed(node, part)
                raise Unreadable("two numbers side by side")
        elif kind == "n" and not isinstance(node, (Group, Call, Measure)):
            # "x2" is a product; nobody writes "x 2" for one
            beside = not spaced and isinstance(node, (Symbol, Product))
            if not beside:
                raise Unreadable("a number after an expression")
        bracketed = self.at("(")
        factor = self.signed()
        parts = factor.items if isinstance(factor, Group) else (factor,)
        if bracketed and all(isinstance(part, (Relation, Membership)) for part in parts):
            self.conditions.extend(parts)  # "x^2 + 1 (x > 0)"
            return node
        return times(node, factor)

    def starts_factor(self) -> bool:
        """Returns whether the next token begins a factor of an implicit product."""
        kind, text, _ = self.peek()
        if kind in ("n", "f", "t"):
            return True
        if kind == "v":
            return not (text == "U" and self.peek(1)[1] in ("(", "[", r"\{"))
        if kind == "o":
            if text == "|":
                return not self.in_builder and self.bars == 0
            return text in ("(", "[", "{") and not self.at_remark()
        if kind == "c":
            return (
                text in GREEK
                or text in ACCENTS
                or text in (r"\frac", r"\sqrt", r"\pi", r"\infty", r"\binom", r"\lfloor", r"\lceil", r"\sum", r"\prod")
                or text == r"\begin"
            )
        return False

    def signed(self) -> Node:
        """A factor with its own sign, as after a multiplication sign."""
        if self.at("-"):
            self.enter()
            self.index += 1
            node = negate(self.signed())
            self.depth -= 1
            return node
        if self.at("+"):
            self.index += 1
        return self.power()

    def power(self) -> Node:
        """An atom with its postfix signs and exponents."""
        self.enter()
        node = self.postfix(self.atom())
        self.depth -= 1
        return node

    def postfix(self, node: Node) -> Node:
        """Exponents, factorials, percent and degree signs, minutes, units and bases."""
        while True:
            kind, text, spaced = self.peek()
            if kind == "o" and text in ("^", "**"):
                self.index += 1
                if self.at(r"\circ", r"\degree") or self.peek()[0] == "end":
                    node = self.degrees(node)
                    continue
                if self.at("{") and self.peek(1)[1] in (r"\circ", r"\degree") and self.peek(2)[1] == "}":
                    self.index += 1
                    node = self.degrees(node)
                    continue
                if self.at("'"):
                    continue
                exponent = self.script()
                ordinal = isinstance(exponent, Text) and exponent.words in ("st", "nd", "rd", "th")
                node = node if ordinal else Power(node, exponent)
            elif kind == "o" and text == "!":
                self.index += 1
                name = "factorial"
                if self.at("!") and not self.peek()[2]:
                    self.index += 1
                    name = "factorial2"
                node = Call(name, (node,))
            elif kind == "o" and text == "%":
                self.index += 1
                node = Percent(node)
            elif kind == "c" and text in (r"\degree", r"\circ"):
                node = self.degrees(node)
            elif kind == "o" and text == "'" and isinstance(node, (Symbol, Degrees, Number, Sum)):
                self.index += 1
                if isinstance(node, Symbol):
                    node = Symbol(node.name + "'")
                    if self.at("("):
                        return self.applied(node.name)
                elif isinstance(node, Number):
                    node = Degrees(Quotient(node, Number(Fraction(60))))
            elif kind == "o" and text == "_" and isinstance(node, (Number, Group)):
                self.index += 1
                node = self.based(node)
            elif kind == "c" and text == r"\$" and isinstance(node, (Number, Quotient)):
                self.index += 1
                node = Measure(node, "$")
            elif self._starts_unit(node, kind, text, spaced):
                node = self.unit(node)
            else:
                return node

    def degrees(self, node: Node) -> Node:
        """After `x^\\circ`: minutes and seconds may follow; a letter C or F makes it a temperature."""
        if self.peek()[0] != "end":
            self.index += 1
        if self.at("}"):
            self.index += 1
        kind, text, _ = self.peek()
        if kind in "vt" and text in ("C", "F"):
            self.index += 1
            return Measure(node, "°" + text.lower())
        total: list[Node] = [node]
        for divisor in (60, 3600):
            if self.peek()[0] == "n" and self.peek(1)[1] in ("'", "^"):
                ahead = 1 if self.peek(1)[1] == "'" else 2
                if ahead == 2 and self.peek(2)[1] not in ("'", "{"):
                    break
                part = Number(Fraction(self.peek()[1]))
                self.index += 1
                marks = 0
                while self.at("'", "^", "{", "}"):
                    marks += self.at("'")
                    self.index += 1
                total.append(Quotient(part, Number(Fraction(divisor if marks < 2 else 3600))))
        return Degrees(total[0] if len(total) == 1 else Sum(tuple(total)))

    def based(self, node: Node) -> Node:
        """A numeral with a subscript: its base."""
        body = node.items[0] if isinstance(node, Group) and len(node.items) == 1 else node
        if not isinstance(body, Number) or body.places is not None:
            raise Unreadable("subscript")
        script = self.script()
        if isinstance(script, Text):
            value = words.NUMBER_WORDS.get(script.words.replace("base ", ""), 0)
        else:
            value = int(script.value) if isinstance(script, Number) and script.value.denominator == 1 else 0
        if value not in _BASES:
            raise Unreadable("base")
        return Based(str(body.value), value)

    def _starts_unit(self, node: Node, kind: str, text: str, spaced: bool) -> bool:
        """Returns whether a unit follows the value just read."""
        if kind not in ("w", "t", "f") or not isinstance(node, Scalar):
            return False
        if kind == "f":
            return text == "min" and self.peek(1)[1] not in ("(", "{", "_")
        if kind == "t":
            return isinstance(node, (Number, Quotient, Mixed, Root, Product, Power, Constant, Sum))
        if isinstance(node, Symbol) and not is_unit(text):
            return False  # "a circle"
        return text not in words.CONDITION_WORDS and text not in words.NEVER_UNITS

    def unit(self, node: Node) -> Node:
        """Words after a value, with exponents and a quotient: `km/h`, `square units`, `m^2`."""
        parts: list[str] = []
        while True:
            kind, text, _ = self.peek()
            if kind == "w" and (text in words.NUMBER_WORDS or text in words.HEDGES):
                raise Unreadable("a second answer in words")
            if (
                (kind == "w" and text not in words.CONDITION_WORDS and text not in words.JOINERS)
                or kind == "t"
                or (kind == "f" and text == "min")
            ):
                parts.append(text)
            elif kind == "o" and text == "/" and parts and self.peek(1)[0] in "wtvf":
                parts.append("/")
                if self.peek(1)[0] == "v":
                    parts.append(self.peek(1)[1])
                    self.index += 1
            elif kind in "oc" and text in ("*",) and parts and self.peek(1)[0] in "wt":
                pass
            elif kind == "o" and text == "^" and parts:
                self.index += 1
                exponent = self.script()
                if isinstance(exponent, Negation):
                    exponent = negate(exponent.body)
                if not isinstance(exponent, Number):
                    raise Unreadable("exponent of a unit")
                parts.append(f"^{exponent.value}")
                continue
            else:
                break
            self.index += 1
        if not 0 < len(parts) <= 8:
            raise Unreadable("no unit after a number, or a sentence")
        name = " ".join(parts)
        return Percent(node) if name == "percent" else Measure(node, name)

    def script(self) -> Node:
        """The argument of `^` or `_`: braces, one token, or a signed token."""
        if self.at("{"):
            return self.braced()
        if self.at("-", "+"):
            sign = self.peek()[1]
            self.index += 1
            node = self.script()
            return negate(node) if sign == "-" else node
        if self.at("("):
            return self.group()
        if self.peek()[0] == "w":
            text = self.peek()[1]
            self.index += 1
            return Text(text)
        node = self.atom(plain=True)
        if self.at("!"):
            self.index += 1
            node = Call("factorial", (node,))
        return node
