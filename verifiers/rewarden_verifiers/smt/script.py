"""A script of SMT-LIB 2, reduced to its declarations, definitions and assertions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from rewarden_verifiers.smt.expressions import Expression, Written, read, text_of, tokens, written

RESERVED = "rewarden!"
"""The prefix of names that the checks themselves define."""

_CORE = frozenset(
    [
        "true",
        "false",
        "not",
        "and",
        "or",
        "xor",
        "=>",
        "=",
        "distinct",
        "ite",
        "let",
        "forall",
        "exists",
        "lambda",
        "match",
        "par",
        "as",
        "_",
        "!",
    ]
)
"""Names that cannot be redefined. Attack: a response that changes their meaning, because the checks are written with
them.
"""

_IGNORED = frozenset(
    [
        "set-logic",
        "set-info",
        "check-sat",
        "get-model",
        "get-value",
        "get-unsat-core",
        "get-info",
        "get-option",
        "get-assignment",
        "get-assertions",
        "get-proof",
        "get-unsat-assumptions",
        "echo",
        "exit",
    ]
)
"""Commands that do not affect the meaning. Attack: `(set-info :status unsat)`, `(echo "unsat")`."""

_FORBIDDEN: Mapping[str, str] = {
    "push": "scopes make it unclear which assertions count",
    "pop": "scopes make it unclear which assertions count",
    "reset": "it withdraws what comes before it",
    "reset-assertions": "it withdraws what comes before it",
    "check-sat-assuming": "assumptions are no part of the script's meaning; assert them",
    "declare-sort": "a sort without a definition has no meaning that could be compared",
    "define-fun-rec": "recursive functions are not supported",
    "define-funs-rec": "recursive functions are not supported",
    "minimize": "objectives are not supported",
    "maximize": "objectives are not supported",
    "assert-soft": "objectives are not supported",
}
_REFERENCE_MAY = frozenset(("declare-sort", "define-fun-rec", "define-funs-rec"))
"""Commands that only a reference may use."""

_DEFINING = frozenset(("define-fun", "define-const", "define-fun-rec"))

_FILES = frozenset((":regular-output-channel", ":diagnostic-output-channel"))


class Refused(ValueError):
    """A script with a forbidden command. reason: snake_case, of the verdict."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Script:
    """The meaning of a script.

    commands: declarations and definitions, in order. signatures: maps declared constants and functions to their domain
    and range. types: names introduced by `declare-datatypes` and `declare-sort` (sorts, constructors, selectors), each
    with its declaration. defined: names of definitions. assertions: the asserted terms.
    """

    commands: tuple[Expression, ...]
    signatures: Mapping[str, Written]
    types: Mapping[str, Written]
    sorts: frozenset[str]
    constructors: frozenset[str]
    defined: frozenset[str]
    assertions: tuple[Expression, ...]

    @property
    def text(self) -> str:
        """The declarations and definitions as text."""
        return lines(self.commands)

    @property
    def asserted(self) -> str:
        """The assertions as commands."""
        return "".join(f"(assert {text_of(term)})\n" for term in self.assertions)

    def conjunction(self, name: str) -> str:
        """Defines a name as the conjunction of the assertions."""
        return f"(define-fun {name} () Bool (and true {' '.join(map(text_of, self.assertions))}))\n"

    def mentioned(self) -> set[str]:
        """The tokens of the assertions and of the definitions."""
        found: set[str] = set()
        for term in (*self.assertions, *(one for one in self.commands if one[0] in _DEFINING)):
            found.update(tokens(term))
        return found

    def hidden(self) -> Hidden:
        """Returns the script with its definitions and named terms renamed.

        Attack: a response that asserts the name of a definition in the reference, and never writes the formula.
        """
        names = {str(one[1]) for one in self.commands if one[0] in _DEFINING and isinstance(one, list)}
        for term in self.assertions:
            before = ""
            for token in tokens(term):
                if before == ":named":
                    names.add(token)
                before = token
        renamed = Hidden({name: f"{RESERVED}defined{place}" for place, name in enumerate(sorted(names))})
        renamed.script = replace(
            self,
            commands=tuple(map(renamed.term, self.commands)),
            assertions=tuple(map(renamed.term, self.assertions)),
            defined=self.defined - names,
        )
        return renamed


@dataclass(slots=True)
class Hidden:
    """The names of a script with their replacements. script: the renamed script."""

    names: Mapping[str, str]
    script: Script = field(init=False)

    def term(self, term: Expression) -> Expression:
        """Renames an expression."""
        if not self.names:
            return term
        (made,) = read(" ".join(self.names.get(token, token) for token in tokens(term)))
        return made


def lines(commands: tuple[Expression, ...] | list[Expression]) -> str:
    """Commands as text, one per line."""
    return "".join(f"{text_of(command)}\n" for command in commands)


@dataclass
class _Reading:
    trusted: bool
    given: Script | None
    commands: list[Expression] = field(default_factory=list)
    signatures: dict[str, Written] = field(default_factory=dict)
    types: dict[str, Written] = field(default_factory=dict)
    sorts: set[str] = field(default_factory=set)
    constructors: set[str] = field(default_factory=set)
    defined: set[str] = field(default_factory=set)
    assertions: list[Expression] = field(default_factory=list)
    asked: bool = False
    ended: bool = False

    def command(self, command: Expression) -> None:
        if isinstance(command, str) or not command or not isinstance(command[0], str):
            raise Refused("malformed", f"not a command: {text_of(command)[:80]}")
        name = command[0]
        if any(token.startswith((RESERVED, f"|{RESERVED}")) for token in tokens(command)):
            # Attack: `(assert rewarden!reference)`, which uses the name that the check gives to the answer.
            raise Refused("forbidden_command", f"names that begin with {RESERVED} are reserved")
        if self.ended:
            raise Refused("forbidden_command", "commands after (exit) are never read by a solver")
        if name in _FORBIDDEN and not (self.trusted and name in _REFERENCE_MAY):
            raise Refused("forbidden_command", f"{name}: {_FORBIDDEN[name]}")
        if name == "set-option":
            if any(token in _FILES for token in tokens(command)):
                # Attack: output channels are file paths, and a solver creates these files.
                raise Refused("forbidden_command", "set-option: output channels are files")
        elif name in _IGNORED:
            self.asked |= name == "check-sat"
            self.ended = name == "exit"
        elif self.asked:
            # Attack: a right formula before (check-sat), and a different one in total.
            raise Refused("forbidden_command", f"{name} after (check-sat): it is unclear which assertions count")
        elif name == "assert":
            if len(command) != 2:
                raise Refused("malformed", "assert takes one term")
            self.assertions.append(command[1])
        elif name in ("declare-const", "declare-fun"):
            self._declare(command)
        elif name in ("define-fun", "define-const", "define-sort", "define-fun-rec"):
            self._name(_symbol(command, 1), defined=True)
            self.commands.append(command)
        elif name == "define-funs-rec":
            self.commands.append(command)
        elif name in ("declare-datatypes", "declare-datatype", "declare-sort"):
            self._types(command)
        else:
            raise Refused("forbidden_command", f"{name[:40]}: not a command that a script may have here")

    def _name(self, name: str, *, defined: bool = False) -> None:
        if name in _CORE:
            raise Refused("forbidden_command", f"the name {name[:40]} is taken")
        if name in self.signatures or name in self.types or name in self.defined:
            raise Refused("redeclared", f"{name[:80]} is declared or defined twice")
        if self.given is not None and (name in self.given.types or name in self.given.defined):
            raise Refused("redeclared", f"{name[:80]} already has a meaning")
        if defined:
            # Attack: redefining the constant in question.
            if self.given is not None and name in self.given.signatures:
                raise Refused("signature_changed", f"{name[:80]} is a constant, and must be declared as one")
            self.defined.add(name)

    def _declare(self, command: list[Expression]) -> None:
        name = _symbol(command, 1)
        if len(command) != (3 if command[0] == "declare-const" else 4):
            raise Refused("malformed", f"{text_of(command)[:80]}: it takes a name and sorts")
        domain: Expression = [] if command[0] == "declare-const" else command[2]
        signature = written([domain, command[-1]])
        if self.given is not None:
            theirs = self.given.signatures.get(name)
            if theirs is None:
                raise Refused("unknown_symbol", f"{name[:80]} is not one of the given constants")
            if theirs != signature:
                raise Refused("signature_changed", f"{name[:80]} must be declared with {' '.join(theirs)[:200]}")
        self._name(name)
        self.signatures[name] = signature
        self.commands.append(["declare-fun", name, domain, command[-1]])

    def _types(self, command: list[Expression]) -> None:
        same = written(command)
        if self.given is not None:
            if same in self.given.types.values():
                return
            raise Refused("unknown_symbol", f"{text_of(command)[:80]}: not one of the given types")
        if command[0] == "declare-sort":
            name = _symbol(command, 1)
            self._name(name)
            self.types[name] = same
            self.sorts.add(name)
        else:
            self._datatypes(command, same)
        self.commands.append(command)

    def _datatypes(self, command: list[Expression], same: Written) -> None:
        try:
            sorts, bodies = ([command[1]], [command[2]]) if command[0] == "declare-datatype" else command[1:]
            for sort, body in zip(sorts, bodies, strict=True):
                self._type(sort if isinstance(sort, str) else sort[0], same)
                body = body[2] if body and body[0] == "par" else body
                for constructor in body:
                    head, *selectors = [constructor] if isinstance(constructor, str) else constructor
                    self._type(head, same)
                    self.constructors.add(str(head))
                    for selector in selectors:
                        self._type(selector[0], same)
        except (ValueError, IndexError) as error:
            if isinstance(error, Refused):
                raise
            raise Refused("malformed", f"{text_of(command)[:80]}: not a declaration of datatypes") from None

    def _type(self, name: Expression, same: Written) -> None:
        if not isinstance(name, str):
            raise Refused("malformed", "a datatype's names must be symbols")
        self._name(name)
        self.types[name] = same


def _symbol(command: list[Expression], place: int) -> str:
    if len(command) <= place or not isinstance(command[place], str):
        raise Refused("malformed", f"{text_of(command)[:80]}: a name is missing")
    return str(command[place])


def read_script(text: str, *, given: Script | None = None, trusted: bool = False) -> Script:
    """Parses a script.

    given: the script whose constants it must use. It may repeat their declarations, but not declare others; `commands`
    then only has its own additions. trusted: whether the script belongs to a reference.

    Raises Refused, and the exceptions of `expressions.read`.
    """
    reading = _Reading(trusted, given)
    for command in read(text):
        reading.command(command)
    own = [one for one in reading.commands if given is None or one[0] != "declare-fun"]
    return Script(
        commands=tuple(own),
        signatures=reading.signatures,
        types=reading.types,
        sorts=frozenset(reading.sorts),
        constructors=frozenset(reading.constructors),
        defined=frozenset(reading.defined),
        assertions=tuple(reading.assertions),
    )


def names_of(script: Script) -> Iterator[str]:
    """All names that a script declares or defines."""
    yield from script.signatures
    yield from script.types
    yield from script.defined
