"""The lemmas of a plan that a proof states as steps of its own (`have`).

A proof in steps has no named lemmas. Each step's statement is the type of a `have` in the proof's term, and mentions
the variables around it, where the lemma's own statement binds them. Therefore a step counts as the lemma if its type is
the lemma's statement without none, some or all of its leading binders, with variables of the same name treated as the
same. The theorem's own variables have the names that the reference gives them.
"""

from __future__ import annotations

from collections.abc import Iterable

from rewarden_verifiers.lean.inspection.axioms import INNER, children, unannotated
from rewarden_verifiers.lean.inspection.same import Forms, TooLarge
from rewarden_verifiers.lean.inspection.terms import Module, Name

_Context = tuple[Name, "_Context"] | None
"""The names of the variables around a term, innermost first."""


class Steps:
    """The statements within a proof.

    proof: forms of the submission's module; of its constants, `theorem` is the proved one, and those in `own` belong to
    its proof. asked: names for the theorem's own variables. patience: the maximum number of pairs of terms to compare
    and of variables to look up; beyond it, TooLarge is raised.
    """

    def __init__(
        self, proof: Forms, theorem: Name, own: Iterable[Name], asked: list[Name], *, patience: int = 300_000
    ) -> None:
        self._module = proof.module
        self._patience = patience
        self._shapes: dict[tuple[object, ...], int] = {}
        shapes = _shapes(proof, self._shapes)
        self._by_shape: dict[int, list[tuple[int, _Context]]] = {}
        seen: set[int] = set()
        for name in [theorem, *(other for other in own if other != theorem)]:
            constant = self._module.constants[name]
            if constant.kind in ("theorem", "definition") and constant.value is not None:
                for type_, context in self._steps(constant.value, asked if name == theorem else [], seen):
                    self._by_shape.setdefault(shapes[type_], []).append((type_, context))

    def _steps(self, value: int, asked: list[Name], seen: set[int]) -> Iterable[tuple[int, _Context]]:
        """Yields the types of the steps below a value, with the variables around each at its first occurrence."""
        exprs = self._module.exprs
        context: _Context = None
        for given in asked:
            value = unannotated(self._module, value)
            if exprs[value][0] != "lam":
                break
            context = (given, context)
            value = exprs[value][3]
        todo = [(value, context)]
        while todo:
            at, context = todo.pop()
            if at in seen:
                continue
            seen.add(at)
            expr = exprs[at]
            if expr[0] == "let":
                yield expr[2], context
            elif expr[0] == "app":
                function = exprs[unannotated(self._module, expr[1])]
                if function[0] == "lam":  # so a step was written once
                    yield function[2], context
            inner = (expr[1], context) if expr[0] in INNER else context
            for place, below in enumerate(children(expr)):
                todo.append((below, inner if place == INNER.get(expr[0]) else context))

    def states(self, lemmas: Forms, name: Name) -> bool:
        """Returns whether one of the steps states the lemma, a constant of that module."""
        module = lemmas.module
        shapes = _shapes(lemmas, self._shapes)
        at = module.constants[name].type
        around: _Context = None
        while True:
            at = unannotated(module, at)
            if any(self._alike(module, at, around, *step) for step in self._by_shape.get(shapes[at], ())):
                return True
            if module.exprs[at][0] != "pi":
                return False
            around = (module.exprs[at][1], around)
            at = module.exprs[at][3]

    def _alike(self, lemmas: Module, lemma: int, around: _Context, step: int, context: _Context) -> bool:
        """Returns whether two terms of the same shape mention variables of the same names."""
        seen: set[tuple[int, int, int]] = set()
        todo = [(lemma, step, 0)]
        while todo:
            item = todo.pop()
            if item in seen:
                continue
            seen.add(item)
            self._spend(1)
            a, b, depth = item
            one, other = lemmas.exprs[a], self._module.exprs[b]
            if one[0] == "mdata":
                todo.append((one[1], b, depth))
            elif other[0] == "mdata":
                todo.append((a, other[1], depth))
            elif one[0] == "bvar":
                x, y = one[1] - depth, other[1] - depth
                if min(x, y) < 0:
                    if x != y:
                        return False
                elif self._variable(around, x) != self._variable(context, y):
                    return False
            else:
                below = zip(children(one), children(other), strict=True)
                inner = INNER.get(one[0])
                todo += [(x, y, depth + (place == inner)) for place, (x, y) in enumerate(below)]
        return True

    def _variable(self, context: _Context, index: int) -> Name | None:
        self._spend(index)
        for _ in range(index):
            context = context[1] if context else None
        return context[0] if context else None

    def _spend(self, steps: int) -> None:
        self._patience -= steps
        if self._patience < 0:
            raise TooLarge("too many steps to compare with the plan's")


def telescope(module: Module, name: Name) -> list[Name]:
    """Returns the names of the leading variables of a constant's type."""
    found = []
    at = unannotated(module, module.constants[name].type)
    while module.exprs[at][0] == "pi":
        found.append(module.exprs[at][1])
        at = unannotated(module, module.exprs[at][3])
    return found


def _shapes(forms: Forms, table: dict[tuple[object, ...], int]) -> list[int]:
    """Returns for each term of a module its shape, without the variables and universe levels that it mentions: a number
    from the table."""
    found: list[int] = []
    for expr in forms.module.exprs:
        kind = expr[0]
        if kind == "mdata":
            found.append(found[expr[1]])
            continue
        below = tuple(found[child] for child in children(expr))
        shape: tuple[object, ...]
        if kind in ("bvar", "sort"):
            shape = (kind,)
        elif kind == "const":
            shape = (kind, forms.told(expr[1]))
        elif kind == "proj":
            shape = (kind, forms.told(expr[1]), expr[2], *below)
        elif kind in ("nat", "str"):
            shape = expr
        else:
            shape = (kind, *below)
        found.append(table.setdefault(shape, len(table)))
    return found
