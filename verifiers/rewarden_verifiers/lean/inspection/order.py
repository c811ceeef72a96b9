"""The order in which a module's constants are declared: a declaration comes after those that it uses.

Nothing here needs to be right: if a module is wrong about which constants belong together, or its constants use each
other in a circle, the kernel receives something that it rejects.
"""

from __future__ import annotations

from collections.abc import Iterator

from rewarden_verifiers.lean.inspection.axioms import children
from rewarden_verifiers.lean.inspection.terms import Constant, Module, Name

Units = dict[Name, list[Constant]]
"""The constants that one declaration makes, by the name of the first: an inductive family with its constructors and
recursors, the quotients, definitions that can call each other because they are not safe, any other constant alone."""


def units(module: Module) -> Units:
    """Returns the module's declarations, in no order."""
    found: Units = {}
    for constant in module.constants.values():
        found.setdefault(_first(module, constant), []).append(constant)
    return found


def _first(module: Module, constant: Constant) -> Name:
    match constant.kind:
        case "quot":
            return ("Quot",)
        case "constructor":
            family = module.constants.get(constant.induct)
            return _first(module, family) if family is not None and family.kind == "inductive" else constant.induct
        case "inductive" | "recursor":
            return constant.all[0] if constant.all else constant.name
        case "definition" if constant.safety != "safe" and constant.name in constant.all:
            first = module.constants.get(constant.all[0])
            if first is not None and (first.kind, first.safety, first.all) == (
                "definition",
                constant.safety,
                constant.all,
            ):
                return first.name
    return constant.name


def ordered(module: Module, found: Units) -> Iterator[Name]:
    """Returns the units' names, with those that others use first. Each expression is walked once, however many share
    it."""
    unit = {constant.name: name for name, members in found.items() for constant in members}
    seen: set[Name] = set()
    walked = bytearray(len(module.exprs))
    # A unit's name begins it; a name in a list ends it; an expression's index walks it.
    stack: list[Name | list[Name] | int] = list(reversed(found))
    while stack:
        place = stack.pop()
        if isinstance(place, int):
            if walked[place]:
                continue
            walked[place] = 1
            expr = module.exprs[place]
            if expr[0] == "const":
                place = unit.get(expr[1], ())
                if place and place not in seen:
                    stack.append(place)
            else:
                stack.extend(children(expr))
        elif isinstance(place, list):
            yield place[0]
        elif place not in seen:
            seen.add(place)
            stack.append([place])
            for constant in found[place]:
                stack.extend(_used(constant))
                if constant.kind == "quot" and ("Eq",) in unit:
                    stack.append(unit["Eq",])


def _used(constant: Constant) -> tuple[int, ...]:
    """Yields the expressions in its declaration, without a recursor's, because the kernel makes it."""
    if constant.kind == "recursor":
        return ()
    return (constant.type,) if constant.value is None else (constant.type, constant.value)
