"""In which order a module's constants are declared: what a declaration uses comes before it.

Nothing here is believed: where a module's own word for what belongs together is wrong, or its constants use each other
in a circle, the kernel is given something that it refuses.
"""

from __future__ import annotations

from collections.abc import Iterator

from rewarden_verifiers.lean.inspection.axioms import children
from rewarden_verifiers.lean.inspection.terms import Constant, Module, Name

Units = dict[Name, list[Constant]]
"""The constants that one declaration makes, by the name of the first: an inductive family with its constructors and
recursors, the quotients, definitions that may call each other because they are not safe, any other constant alone."""


def units(module: Module) -> Units:
    """The module's declarations, in no order."""
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
    """The units' names, those that others use first. Each expression is walked once, however many share it."""
    unit = {constant.name: name for name, members in found.items() for constant in members}
    seen: set[Name] = set()
    walked = bytearray(len(module.exprs))
    # A unit's name to begin with it, in a list to end with it; an expression's index to walk it.
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
    """The expressions that stand in its declaration; a recursor's do not: the kernel makes them."""
    if constant.kind == "recursor":
        return ()
    return (constant.type,) if constant.value is None else (constant.type, constant.value)
