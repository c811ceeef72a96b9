"""Types of objects, and lists of names with types."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from rewarden_verifiers.planning.pddl.expressions import Expression, head, names, written

OBJECT = "object"


def typed(expressions: list[Expression]) -> list[tuple[str, frozenset[str]]]:
    """The names of a list such as `a b - block c`, each with its types. Raises ValueError."""
    found: list[tuple[str, frozenset[str]]] = []
    waiting: list[str] = []
    items = iter(expressions)
    for item in items:
        if not isinstance(item, str):
            raise ValueError(f"{written(item)} is not a name")
        if item != "-":
            waiting.append(item)
            continue
        kind = next(items, None)
        if isinstance(kind, str) and kind != "-":
            kinds = frozenset((kind,))
        elif isinstance(kind, list) and head(kind) == "either" and len(kind) > 1:
            kinds = frozenset(names(kind[1:]))
        else:
            raise ValueError("after '-' there must be a type")
        if not waiting:
            raise ValueError("before '-' there must be a name")
        found += [(name, kinds) for name in waiting]
        waiting = []
    return found + [(name, frozenset((OBJECT,))) for name in waiting]


@dataclass(frozen=True, slots=True)
class Types:
    """Each type with all the types that it is one of, itself included."""

    above: Mapping[str, frozenset[str]]

    @classmethod
    def of(cls, declared: Iterable[tuple[str, frozenset[str]]]) -> Types:
        """The types of a domain. Raises ValueError for types that contain each other."""
        parents: dict[str, set[str]] = {OBJECT: set()}
        for name, kinds in declared:
            parents.setdefault(name, set()).update(kinds - {name})
            for kind in kinds:
                parents.setdefault(kind, set())
        above: dict[str, frozenset[str]] = {}
        for name in parents:
            found, waiting = {name, OBJECT}, [name]
            while waiting:
                for parent in parents[waiting.pop()]:
                    if parent == name and name != OBJECT:
                        raise ValueError(f"the type {name} contains itself")
                    if parent not in found:
                        found.add(parent)
                        waiting.append(parent)
            above[name] = frozenset(found)
        return cls(above)

    def check(self, kinds: Iterable[str]) -> None:
        """Raises ValueError for a type that is not declared."""
        for kind in kinds:
            if kind not in self.above:
                raise ValueError(f"there is no type {kind}")

    def fits(self, own: Iterable[str], wanted: frozenset[str]) -> bool:
        """Returns whether an object of these types may stand where one of the wanted types belongs."""
        return any(self.above[kind] & wanted for kind in own)
