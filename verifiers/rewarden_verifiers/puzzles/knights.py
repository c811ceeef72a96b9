"""`knights_knaves`: find out who tells the truth and who lies."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden_verifiers.puzzles import grids, literals
from rewarden_verifiers.puzzles.findings import RIGHT, Finding, Task, illegal, malformed, share_of, wrong

MAX_PEOPLE = 50
MAX_STATEMENT = 200
"""The maximum number of operators and names in one statement."""

_KNIGHT, _KNAVE = frozenset({"telling-truth", "knight", "truthful"}), frozenset({"lying", "knave", "liar"})
_NOT, _AND, _OR = frozenset({"not", "¬"}), frozenset({"and", "∧"}), frozenset({"or", "∨"})
_IF, _IFF = frozenset({"->", "if", "implies", "→"}), frozenset({"<=>", "iff", "↔", "=="})
_XOR = frozenset({"xor"})
_ARTICLES = frozenset({"a", "an", "the"})
_JOINED = re.compile(r"\s{0,4}(?:,|(?:,\s{0,4})?(?:and|&))\s{0,4}")
_FILLERS = frozenset({"is", "a", "an", "the", "and", "are", "both", "all"})

Claim = Callable[[Sequence[bool]], bool]


@dataclass(frozen=True, kw_only=True)
class KnightsKnaves(Task):
    """People and what each of them says, or the only solution, or both (the solution is then the basis of `partial`
    credit).

    statements: for each person, in order, a statement as nested lists: `["knight", who]`, `["knave", who]`, `["not",
    x]`, `["and", x, …]`, `["or", x, …]`, `["implies", x, y]`, `["iff", x, y]`, `["xor", x, y]`, where `who` is a name
    or a place counted from 0; also as published data sets write them (`telling-truth`, `lying`, `->`, `<=>`). Null: the
    person says nothing. solution: maps names to roles. roles: the words for those who tell the truth and those who lie,
    such as `{"truth": ["hero"], "lie": ["villain"]}`.
    """

    people: tuple[str, ...] = ()
    statements: tuple[Any, ...] | None = None
    solution: dict[str, str] | None = None
    roles: dict[Literal["truth", "lie"], tuple[str, ...]] = field(default_factory=dict)
    task: Literal["knights_knaves"] = "knights_knaves"

    def checker(self) -> KnightsChecker:
        """The puzzle. Raises ValueError."""
        people = self.people or tuple(self.solution or ())
        names = tuple(_word(name) for name in people)
        if not 1 <= len(names) <= MAX_PEOPLE or len(set(names)) != len(names) or not all(names):
            raise ValueError(f"people must be 1 to {MAX_PEOPLE} different names")
        truth = frozenset(map(_word, self.roles.get("truth", ("knight", "truth-teller", "truthteller"))))
        lie = frozenset(map(_word, self.roles.get("lie", ("knave", "liar"))))
        if not truth or not lie or truth & lie or (truth | lie) & set(names):
            raise ValueError("roles: truth and lie need words of their own")
        solution: tuple[bool, ...] | None = None
        if self.solution is not None:
            told = {_word(name): _word(role) for name, role in self.solution.items()}
            if set(told) != set(names) or not set(told.values()) <= truth | lie:
                raise ValueError("solution must give each of the people one of the roles")
            solution = tuple(told[name] in truth for name in names)
        claims: tuple[Claim | None, ...] | None = None
        if self.statements is not None:
            if len(self.statements) != len(names):
                raise ValueError("statements must have an entry for each of the people")
            claims = tuple(None if one is None else _claim(one, names) for one in self.statements)
            if solution is not None and _contradicted(claims, solution) is not None:
                raise ValueError("solution contradicts the statements")
        elif solution is None:
            raise ValueError("give statements, a solution, or both")
        return KnightsChecker(names, truth, lie, claims, solution)


def _word(text: str) -> str:
    return " ".join(str(text).casefold().split())


def _claim(value: Any, names: Sequence[str], budget: list[int] | None = None) -> Claim:
    """Parses a statement into a function of who is a knight. Raises ValueError."""
    budget = [MAX_STATEMENT] if budget is None else budget
    budget[0] -= 1
    if budget[0] < 0:
        raise ValueError("statements: one is too long")
    if not isinstance(value, (list, tuple)) or not value or not isinstance(value[0], str):
        raise ValueError(f"statements: {str(value)[:60]!r} is not a statement such as ['knight', 'Ann']")
    word, rest = _word(value[0]), value[1:]
    if word in _KNIGHT | _KNAVE and len(rest) == 1:
        place = rest[0] if isinstance(rest[0], int) else _place(rest[0], names)
        if isinstance(place, bool) or not 0 <= place < len(names):
            raise ValueError(f"statements: nobody is {str(rest[0])[:60]!r}")
        return (lambda who: who[place]) if word in _KNIGHT else (lambda who: not who[place])
    parts = [_claim(one, names, budget) for one in rest]
    if word in _NOT and len(parts) == 1:
        return lambda who: not parts[0](who)
    if word in _AND and parts:
        return lambda who: all(part(who) for part in parts)
    if word in _OR and parts:
        return lambda who: any(part(who) for part in parts)
    if word in _IF and len(parts) == 2:
        return lambda who: not parts[0](who) or parts[1](who)
    if word in _IFF | _XOR and len(parts) == 2:
        return lambda who: (parts[0](who) == parts[1](who)) == (word in _IFF)
    raise ValueError(f"statements: {value[0]!r} with {len(rest)} arguments is not a statement")


def _place(name: Any, names: Sequence[str]) -> int:
    return names.index(_word(name)) if isinstance(name, str) and _word(name) in names else -1


def _contradicted(claims: Sequence[Claim | None], who: Sequence[bool]) -> int | None:
    """The position of the first person whose statement contradicts their role."""
    return next((place for place, claim in enumerate(claims) if claim is not None and claim(who) != who[place]), None)


@dataclass(frozen=True, slots=True)
class KnightsChecker:
    """The names and role words in lower case; what each person claims; the solution, by position."""

    names: tuple[str, ...]
    truth: frozenset[str]
    lie: frozenset[str]
    claims: tuple[Claim | None, ...] | None
    solution: tuple[bool, ...] | None

    def check(self, answer: str) -> Finding:
        """Reads everybody's role, as JSON or in sentences ("Ann is a knight, and Bob and Cid are knaves."). A person
        without a role or with both is `illegal`; a word outside such sentences makes the answer `malformed`.
        """
        told = self._read(answer)
        if isinstance(told, Finding):
            return told
        roles: dict[str, bool] = {}
        for name, role in told:
            if roles.setdefault(name, role) != role:
                return illegal(f"{name} is given both roles")
        if missing := [name for name in self.names if name not in roles]:
            return illegal(f"{missing[0]} is left out", self._share(roles))
        who = tuple(roles[name] for name in self.names)
        if self.claims is None:
            return RIGHT if who == self.solution else wrong("not everyone has the right role", self._share(roles))
        place = _contradicted(self.claims, who)
        return RIGHT if place is None else wrong(f"what {self.names[place]} says does not fit", self._share(roles))

    def _share(self, roles: Mapping[str, bool]) -> float:
        if self.solution is None:
            return 0.0
        right = sum(roles.get(name) == role for name, role in zip(self.names, self.solution, strict=True))
        return share_of(right, len(self.names), grids.best_constant(self.solution))

    def _read(self, answer: str) -> list[tuple[str, bool]] | Finding:
        if answer.lstrip().startswith("{"):
            try:
                value = literals.parse(answer)
            except literals.NotRead as error:
                return malformed(str(error))
            if len(value) == 1 and isinstance(next(iter(value.values())), dict):
                (value,) = value.values()
            pairs: list[tuple[str, bool]] = []
            for name, role in value.items():
                word = _word(role).removeprefix("a ") if isinstance(role, str) else ""
                if _word(name) not in self.names or word not in self.truth | self.lie:
                    return malformed(f"{str(name)[:40]!r} with {str(role)[:40]!r} is not a role of these people")
                pairs.append((_word(name), word in self.truth))
            return pairs
        return self._sentences(answer.casefold())

    def _sentences(self, text: str) -> list[tuple[str, bool]] | Finding:
        roles = self.truth | self.lie
        plurals = {f"{role}{end}": role for role in roles for end in ("s", "es")}
        plurals = {word: role for word, role in plurals.items() if word not in roles and word not in self.names}
        known = sorted((*self.names, *roles, *plurals), key=len, reverse=True)
        role_next = re.compile(rf"\s+(?:{'|'.join(map(re.escape, roles))})(?!\w)")
        pattern = re.compile(
            rf"(?<!\w)({'|'.join(re.escape(word) for word in known)})(?!\w)|(\(?\d{{1,3}}[.)](?=\s))|([^\W\d_][\w'-]*)"
            r"|([\s,.:;=&*\-–—→>|()]+)|(.)"
        )
        pairs: list[tuple[str, bool]] = []
        waiting: list[str] = []
        end = 0
        for match in pattern.finditer(text):
            word = match.group(1)
            if word in _ARTICLES and waiting and role_next.match(text, match.end()):
                continue  # "B is a knave", where someone's name is A
            if word in self.names and word:
                if waiting and _JOINED.fullmatch(text, end, match.start()) is None:
                    return malformed(f"{waiting[-1]} gets no role")
                waiting.append(word)
                end = match.end()
            elif word:
                if not waiting:
                    return malformed(f"no one is named {word!r}")
                if len(waiting) > 1 and word not in plurals:
                    return malformed(f"{waiting[0]} gets no role")
                pairs += [(name, plurals.get(word, word) in self.truth) for name in waiting]
                waiting = []
            elif match.group(5) or (match.group(3) and match.group(3) not in _FILLERS):
                return malformed(f"{match.group()[:40]!r} has no place in an answer")
        if waiting or not pairs:
            return malformed("someone gets no role" if waiting else "nobody gets a role")
        return pairs
