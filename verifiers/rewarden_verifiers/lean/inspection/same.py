"""Decides whether two modules declare the same: compares statements and definitions as terms.

A term's form is a number, from a table that both modules share: equal numbers mean equal terms, apart from details
without meaning: names and kinds of binders, annotations, names of universe parameters (their positions count), and the
names that the elaborator makes up, which are replaced by the content of their constants. A constant is identified by
its name and by whether the module itself or an imported one declares it; those that a module declares are then compared
as well.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

from rewarden_verifiers.lean.inspection import names
from rewarden_verifiers.lean.inspection.axioms import SORRY, children, mentioned, reached, roots, unannotated
from rewarden_verifiers.lean.inspection.olean import Malformed
from rewarden_verifiers.lean.inspection.terms import Constant, Module, Name

Reason = Literal["theorem_missing", "kind_changed", "statement_changed", "shadowed_name", "definition_changed"]


class TooLarge(Malformed):
    """Comparing the modules would take more steps than their size justifies: constants share terms in a way that no
    elaborator produces."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """The difference between a constant and the reference's. name: the constant that differs, by the reference's name
    for it (or, for a shadowed name, the submission's). reference, submission: the places of the difference, as indices
    of expressions; None if it is not in the terms. message: the difference in words."""

    reason: Reason
    name: Name
    message: str
    reference: int | None = None
    submission: int | None = None


Table = dict[tuple[Any, ...], int]


class Forms:
    """The forms of one module's terms. steps: the maximum number of terms to look at; beyond it, TooLarge is raised."""

    def __init__(self, module: Module, table: Table, steps: int) -> None:
        self.module = module
        self.owned = names.owned(module)
        self._bare = {name: key for key, name in self.owned.items()}
        self._table = table
        self._steps = steps
        self._terms: dict[tuple[Name, ...], dict[int, int]] = {}
        self._seen: dict[tuple[Name, ...], set[int]] = {}
        self._levels: dict[tuple[Name, ...], dict[int, int]] = {}
        self._keys: dict[Name, tuple[Any, ...]] = {}

    def _number(self, form: tuple[Any, ...]) -> int:
        return self._table.setdefault(form, len(self._table))

    def _below(self, start: Iterable[int], seen: set[int]) -> Iterator[int]:
        for at in reached(self.module, start, seen):
            self._spend(1)
            yield at

    def _spend(self, steps: int) -> None:
        self._steps -= steps
        if self._steps < 0:
            raise TooLarge("terms shared between too many constants")

    def key(self, name: Name) -> tuple[Any, ...]:
        """Returns the identity of a constant."""
        return self._keys[name] if self.hidden(name) else self.told(name)

    def hidden(self, name: Name) -> bool:
        """Returns whether the constant has a made-up name that can be replaced by its content."""
        constant = self.module.constants.get(name)
        return constant is not None and constant.kind in ("definition", "theorem") and names.made_up(name)

    def _content(self, constant: Constant) -> list[int]:
        """Returns the terms that stand for a hidden constant: all proofs of one statement are the same."""
        return [constant.type] if constant.kind == "theorem" else list(roots(constant))

    def _resolve(self, start: Iterable[int]) -> None:
        """Gives the hidden constants at and below `start` their keys, dependencies first."""
        todo = self._unresolved(start)
        opened: set[Name] = set()
        while todo:
            name = todo[-1]
            if name in self._keys:
                todo.pop()
                continue
            constant = self.module.constants[name]
            if name not in opened:
                opened.add(name)
                below = self._unresolved(self._content(constant))
                for other in below:
                    if other in opened:  # it contains itself: only its name identifies it
                        self._keys[other] = self.told(other)
                todo += [other for other in below if other not in opened]
            else:
                params = constant.level_params
                forms = [self._term(at, params) for at in self._content(constant)]
                self._keys[name] = ("hidden", constant.kind, constant.safety, len(params), *forms)

    def _unresolved(self, start: Iterable[int]) -> list[Name]:
        found = dict.fromkeys(mentioned(self.module, at) for at in self._below(start, set()))
        return [name for name in found if name and name not in self._keys and self.hidden(name)]

    def term(self, at: int, params: tuple[Name, ...]) -> int:
        """Returns the form of a term of a constant with these universe parameters."""
        memo = self._terms.get(params)
        if memo is None or at not in memo:
            self._resolve([at])
        return self._term(at, params)

    def _term(self, start: int, params: tuple[Name, ...]) -> int:
        memo = self._terms.setdefault(params, {})
        if start in memo:
            return memo[start]
        for at in sorted(self._below([start], self._seen.setdefault(params, set()))):
            expr = self.module.exprs[at]
            kind = expr[0]
            if kind == "mdata":
                memo[at] = memo[expr[1]]
                continue
            form: tuple[Any, ...]
            below = [memo[child] for child in children(expr)]
            if kind == "const":
                self._spend(len(expr[2]))
                form = (kind, self.key(expr[1]), tuple(self._level(level, params) for level in expr[2]))
            elif kind == "sort":
                form = (kind, self._level(expr[1], params))
            elif kind == "proj":
                form = (kind, self.key(expr[1]), expr[2], *below)
            elif kind in ("bvar", "nat", "str"):
                form = expr
            else:
                form = (kind, *below)
            memo[at] = self._number(form)
        return memo[start]

    def _level(self, start: int, params: tuple[Name, ...]) -> int:
        memo = self._levels.setdefault(params, {})
        todo = [start]
        while todo:
            at = todo[-1]
            level = self.module.levels[at]
            missing = [] if level[0] == "param" else [below for below in level[1:] if below not in memo]
            if missing:
                todo += missing
                continue
            todo.pop()
            if at not in memo:
                self._spend(1)
                if level[0] == "param":
                    place = params.index(level[1]) if level[1] in params else level[1]
                    memo[at] = self._number(("param", place))
                else:
                    memo[at] = self._number(("level", level[0], *(memo[below] for below in level[1:])))
        return memo[start]

    def constant(self, name: Name, *, value: bool = True) -> tuple[Any, ...]:
        """Returns the form of a constant with its whole declaration. value: including the value of a definition."""
        c = self.module.constants[name]
        self._spend(len(c.all) + len(c.ctors) + len(c.rules))
        keep = value and c.kind in ("definition", "opaque")
        return (
            c.kind,
            c.safety,
            len(c.level_params),
            self.term(c.type, c.level_params),
            self.term(c.value, c.level_params) if keep and c.value is not None else None,
            c.quot,
            (c.num_params, c.num_indices, c.num_nested, c.is_rec, c.is_reflexive),
            (c.cidx, c.num_fields, c.num_motives, c.num_minors, c.k),
            tuple(self.told(other) for other in (c.induct, *c.ctors)),
            tuple(self.told(other) for other in c.all) if c.kind in ("inductive", "recursor") else (),
            tuple(
                (self.told(rule.constructor), rule.fields, self.term(rule.value, c.level_params)) for rule in c.rules
            ),
        )

    def in_order(self, theorem: Constant) -> Constant:
        """Returns a theorem with its universe parameters in the order in which its statement mentions them: a theorem
        holds for all universes, so their order does not matter."""
        found: dict[Name, None] = {}
        seen: set[int] = set()
        for at in self._below([theorem.type], set()):
            expr = self.module.exprs[at]
            todo = list(expr[2]) if expr[0] == "const" else [expr[1]] if expr[0] == "sort" else []
            self._spend(len(todo))
            while todo:
                level = todo.pop()
                if level in seen:
                    continue
                seen.add(level)
                if self.module.levels[level][0] == "param":
                    found.setdefault(self.module.levels[level][1])
                else:
                    todo += self.module.levels[level][1:]
        if not found.keys() <= set(theorem.level_params):
            return theorem
        return replace(theorem, level_params=tuple(dict.fromkeys((*found, *theorem.level_params))))

    def told(self, name: Name) -> tuple[Any, ...]:
        """Returns the identity of a constant by its name alone, made up or not."""
        return ("own", self._bare[name]) if name in self.module.constants else ("imported", name)

    def declared(self, constant: Constant, *, value: bool = True) -> set[Name]:
        """Returns the module's own constants that this one mentions, including those behind made-up names."""
        found: set[Name] = set()
        passed: set[Name] = set()
        seen: set[int] = set()
        todo = [constant]
        while todo:
            at = todo.pop()
            start = list(roots(at))
            if at is constant and not (value and at.kind != "theorem"):
                start = [at.type]
            elif at is not constant:
                start = self._content(at)
            others = {mentioned(self.module, expr) for expr in self._below(start, seen)}
            if at is constant:
                self._spend(len(at.all) + len(at.ctors) + len(at.rules))
                others |= {at.induct, *at.ctors, *(rule.constructor for rule in at.rules)}
                others |= set(at.all) if at.kind in ("inductive", "recursor") else set()
            for other in others:
                if not other or other not in self.module.constants or other in passed:
                    continue
                passed.add(other)
                if self.hidden(other):
                    todo.append(self.module.constants[other])
                else:
                    found.add(other)
        return found


class Comparison:
    """A submission's module compared with its reference's. All methods raise TooLarge.

    steps: the maximum number of terms to look at on each side; by default several times the need of honest files.
    """

    def __init__(self, reference: Module, submission: Module, *, steps: int | None = None) -> None:
        table: Table = {}
        if steps is None:
            steps = 20 * (len(reference.exprs) + len(submission.exprs)) + 300_000
        self.reference = Forms(reference, table, steps)
        self.submission = Forms(submission, table, steps)
        self._same: dict[Name, Difference | None] = {}

    def theorem(self, name: Name) -> Difference | None:
        """Returns how the submission fails to prove the reference's statement of that name; None if it proves it."""
        ours = self.reference.module.constants[name]
        found = self._counterpart(name)
        if found is None:
            return Difference(reason="theorem_missing", name=name, message="the submission declares nothing so named")
        theirs = self.submission.module.constants[found]
        wanted = "definition" if ours.kind == "definition" else "theorem"
        if wanted == "theorem":
            ours, theirs = self.reference.in_order(ours), self.submission.in_order(theirs)
        if theirs.kind != wanted or (theirs.safety != "safe" and ours.safety == "safe"):
            said = theirs.kind if theirs.safety == "safe" else f"{theirs.safety} {theirs.kind}"
            return Difference(reason="kind_changed", name=name, message=f"a {wanted} is asked for, it is a(n) {said}")
        if len(ours.level_params) != len(theirs.level_params):
            return Difference(
                reason="statement_changed",
                name=name,
                message=f"{len(theirs.level_params)} universe parameters, not {len(ours.level_params)}",
            )
        if self.reference.term(ours.type, ours.level_params) != self.submission.term(theirs.type, theirs.level_params):
            return self._parted(name, ours, theirs)
        return self._definitions(self.reference.declared(ours, value=False))

    def definition(self, name: Name) -> Difference | None:
        """Returns how the submission's declaration of the constant, or of one that it depends on, differs from the
        reference's; None if it does not."""
        return self._definitions({name})

    def holes(self, name: Name) -> tuple[Name, ...]:
        """Returns the definitions within the statement whose values the reference leaves open (`sorry`): only their
        types are compared."""
        constants = self.reference.module.constants
        todo = [name]
        seen: set[Name] = set()
        while todo:
            at = todo.pop()
            if at not in seen:
                seen.add(at)
                todo += self.reference.declared(constants[at], value=at != name and not self._open(constants[at]))
        return tuple(at for at in constants if at in seen and at != name and self._open(constants[at]))

    def _counterpart(self, name: Name) -> Name | None:
        return self.submission.owned.get(names.bare(name), name if name in self.submission.module.constants else None)

    def _open(self, constant: Constant) -> bool:
        module = self.reference.module
        return (
            constant.kind in ("definition", "opaque")
            and constant.value is not None
            and any(mentioned(module, at) == SORRY for at in reached(module, [constant.value], set()))
        )

    def _definitions(self, todo: set[Name]) -> Difference | None:
        """Returns the first difference among these constants of the reference and their dependencies."""
        waiting = sorted(todo, key=str)
        seen = set(waiting)
        while waiting:
            name = waiting.pop()
            if name not in self._same:
                self._same[name] = self._declared_same(name)
            difference = self._same[name]
            if difference is not None:
                return difference
            ours = self.reference.module.constants[name]
            for other in self.reference.declared(ours, value=not self._open(ours)):
                if other not in seen:
                    seen.add(other)
                    waiting.append(other)
        return None

    def _declared_same(self, name: Name) -> Difference | None:
        changed = partial(Difference, reason="definition_changed", name=name)
        found = self._counterpart(name)
        if found is None:
            return changed(message="the submission does not declare it")
        ours, theirs = self.reference.module.constants[name], self.submission.module.constants[found]
        value = not self._open(ours)
        if self.reference.constant(name, value=value) == self.submission.constant(found, value=value):
            return None
        if ours.kind != theirs.kind or ours.safety != theirs.safety:
            message = f"{ours.safety} {ours.kind} in the reference, {theirs.safety} {theirs.kind} in the submission"
            return changed(message=message)
        for mine, other, what in ((ours.type, theirs.type, "type"), (ours.value, theirs.value, "value")):
            if mine is None or other is None:
                continue
            if self.reference.term(mine, ours.level_params) != self.submission.term(other, theirs.level_params):
                return changed(message=f"its {what} differs", reference=mine, submission=other)
        return changed(message="its declaration differs")

    def _parted(self, name: Name, ours: Constant, theirs: Constant) -> Difference:
        """Returns the difference between two statements: at a constant that the submission itself declares, or
        elsewhere."""
        a, b = self._first_difference(ours, theirs)
        for at in reached(self.submission.module, [b], set()):
            other = mentioned(self.submission.module, at)
            if not other or other not in self.submission.module.constants or names.made_up(other):
                continue
            if names.bare(other) not in self.reference.owned:
                return Difference(
                    reason="shadowed_name",
                    name=other,
                    message=f"the statement speaks of {names.text(other)}, which the submission itself declares",
                    reference=a,
                    submission=b,
                )
        for at in reached(self.reference.module, [a], set()):
            mine = mentioned(self.reference.module, at)
            if mine is None or mine not in self.reference.module.constants or self.reference.hidden(mine):
                continue
            if self._counterpart(mine) is None:
                return Difference(reason="definition_changed", name=mine, message="the submission does not declare it")
        return Difference(
            reason="statement_changed", name=name, message="the statements differ", reference=a, submission=b
        )

    def _first_difference(self, ours: Constant, theirs: Constant) -> tuple[int, int]:
        """Returns the smallest terms at the same place in both types that differ."""
        left, right = self.reference, self.submission
        a, b = ours.type, theirs.type
        while True:
            a, b = unannotated(left.module, a), unannotated(right.module, b)
            one, other = left.module.exprs[a], right.module.exprs[b]
            if one[0] != other[0]:
                return a, b
            for x, y in zip(children(one), children(other), strict=True):
                if left.term(x, ours.level_params) != right.term(y, theirs.level_params):
                    a, b = x, y
                    break
            else:
                return a, b
