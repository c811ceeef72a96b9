"""The dependencies of a constant, as far as its own module shows: axioms, and constants of imported modules."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from rewarden_verifiers.lean.inspection.terms import Constant, Expr, Module, Name

SORRY: Name = ("sorryAx",)

TRUSTED_CODE = frozenset({("Lean", "ofReduceBool"), ("Lean", "ofReduceNat"), ("Lean", "trustCompiler")})
"""Axioms by which the kernel trusts the results of compiled code: `native_decide`."""


def native(name: Name) -> bool:
    """Returns whether an axiom stands for a computation: Lean's own axioms, and those that `native_decide` makes for
    each use since 4.28 (`f._native.native_decide.ax_1`)."""
    return name in TRUSTED_CODE or "_native" in name


@dataclass(frozen=True, slots=True, kw_only=True)
class Rests:
    """Everything that a constant reaches through types and values. own: constants of its module (including itself);
    axioms: those of `own` that are axioms; imported: constants that its module does not declare."""

    own: frozenset[Name]
    axioms: tuple[Name, ...]
    imported: tuple[Name, ...]

    def unsafe(self, module: Module) -> tuple[Name, ...]:
        """Returns the constants of `own` that are outside the logic: unsafe, or partial definitions."""
        return tuple(sorted_names(name for name in self.own if module.constants[name].safety != "safe"))


def sorted_names(names: Iterable[Name]) -> list[Name]:
    """Returns names in a fixed order: their components are text or numbers, which cannot be compared with each
    other."""
    return sorted(names, key=lambda name: tuple((isinstance(part, str), str(part)) for part in name))


def roots(constant: Constant) -> Iterator[int]:
    """Yields the expressions of a constant, by index."""
    yield constant.type
    if constant.value is not None:
        yield constant.value
    for rule in constant.rules:
        yield rule.value


def children(expr: Expr) -> tuple[int, ...]:
    """Returns the direct subexpressions of an expression, by index."""
    return tuple(expr[place] for place in _CHILDREN.get(expr[0], ()))


_CHILDREN = {
    "app": (1, 2),
    "lam": (2, 3),
    "pi": (2, 3),
    "let": (2, 3, 4),
    "mdata": (1,),
    "proj": (3,),
}

INNER = {"lam": 1, "pi": 1, "let": 2}
"""The place, among a binder's subexpressions (in their order), of the one within the scope of its variable."""


def unannotated(module: Module, at: int) -> int:
    """Returns the term below an expression's annotations."""
    while module.exprs[at][0] == "mdata":
        at = module.exprs[at][1]
    return at


def reached(module: Module, start: Iterable[int], seen: set[int]) -> Iterator[int]:
    """Yields all expressions at and below `start` that are not in `seen`, each once; adds them to `seen`."""
    todo = list(start)
    while todo:
        at = todo.pop()
        if at not in seen:
            seen.add(at)
            yield at
            todo += children(module.exprs[at])


def mentioned(module: Module, at: int) -> Name | None:
    """Returns the constant that an expression itself mentions, without its subexpressions."""
    expr = module.exprs[at]
    found: Name | None = expr[1] if expr[0] in ("const", "proj") else None
    return found


def rests(module: Module, name: Name) -> Rests:
    """Returns everything that the constant depends on. Raises KeyError if the module does not declare it."""
    own: set[Name] = set()
    imported: set[Name] = set()
    seen: set[int] = set()
    passed: set[int] = set()
    todo = [name]
    while todo:
        at = todo.pop()
        if at in own:
            continue
        constant = module.constants[at]
        own.add(at)
        found = {constant.induct, *(rule.constructor for rule in constant.rules)}
        for block in (constant.ctors, constant.all if constant.kind in ("inductive", "recursor") else ()):
            if id(block) not in passed:  # many constants may share one long block
                passed.add(id(block))
                found.update(block)
        found.update(mentioned(module, expr) or () for expr in reached(module, roots(constant), seen))
        found.discard(())
        for other in found:
            if other in module.constants:
                todo.append(other)
            else:
                imported.add(other)
    return Rests(
        own=frozenset(own),
        axioms=tuple(sorted_names(name for name in own if module.constants[name].kind == "axiom")),
        imported=tuple(sorted_names(imported)),
    )
