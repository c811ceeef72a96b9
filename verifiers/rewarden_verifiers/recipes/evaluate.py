"""Evaluates a recipe for one sample: runs each component when it is needed, and records the steps to the score."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import fields
from typing import Any, NoReturn, TypeVar

from rewarden.errors import InvalidParams, InvalidSample, PluginError
from rewarden.types import Component, Outcome, Progress, Sample, Use
from rewarden_verifiers.outcome import scored
from rewarden_verifiers.recipes.check import Read
from rewarden_verifiers.recipes.expression import EvaluationError, Expression, Known, as_cel
from rewarden_verifiers.recipes.functions import short
from rewarden_verifiers.recipes.model import Candidate, LengthStep, Number, Recipe
from rewarden_verifiers.recipes.shaping import CURVES, length_of
from rewarden_verifiers.recipes.step import OnStep, Step

T = TypeVar("T")

Verify = Callable[[Candidate, Use], Awaitable[Outcome]]
"""The function that returns a candidate's outcome for this sample."""

_NEAR = 1e-9
"""A score this close to an end of the range counts as that end: weighted sums are rarely exact."""


_OF_COMPONENTS = frozenset({"status", "score", "passed", "reason", "fault"})
"""The fields of a component that are always available if it has a score."""


class _Unscored(Exception):
    """A component that the score needs has no score."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class _Part:
    """A component that ran: its outcome, that of the last candidate tried; its score and whether it passed, which its
    default decides where the outcome has no score; and the candidates tried.
    """

    __slots__ = ("outcome", "passes", "score", "scored", "tried")

    def __init__(self, outcome: Outcome, default: float | None, tried: list[dict[str, Any]]) -> None:
        self.outcome = outcome
        self.tried = tried
        self.scored = outcome.status == "scored"
        self.score = outcome.score if self.scored else default
        if self.scored and outcome.passed is not None:
            self.passes = outcome.passed
        else:
            self.passes = self.score is not None and self.score >= outcome.range[1]


async def _gathered(*parts: Awaitable[_Part]) -> list[_Part | BaseException]:
    return await asyncio.gather(*parts, return_exceptions=True)


class Shared:
    """Data that do not depend on the sample, made once for samples with the same parameters and progress.

    known: the values known before anything runs. fields: for each root of expressions, the fields of it that the recipe
    reads, besides those of every component. uses: by path, the use of each candidate whose parameters read only the
    recipe's own, once it was needed.
    """

    __slots__ = ("fields", "known", "params", "progress", "recipe", "uses")

    def __init__(self, recipe: Recipe, params: Any, progress: Progress | None) -> None:
        self.recipe = recipe
        self.params = params
        self.progress = progress
        self.known = known_before(params, progress)
        self.fields: dict[str, set[str]] = {}
        for root, field, *_ in recipe.reads:
            if root == "sample" or field not in _OF_COMPONENTS:
                self.fields.setdefault(root, set()).add(field)
        fixed = [one for component in recipe.components.values() for one in component.candidates if _is_fixed(one)]
        self.uses: dict[tuple[str | int, ...], Use | None] = {candidate.path: None for candidate in fixed}


class Run:
    """The evaluation of a recipe for one sample. Made for one `outcome()`. on_step: gets its steps."""

    def __init__(
        self,
        shared: Shared,
        sample: Sample,
        verify: Verify,
        on_step: OnStep | None = None,
        together: Callable[..., Awaitable[list[_Part | BaseException]]] = _gathered,
    ) -> None:
        self._shared = shared
        self._recipe = shared.recipe
        self._sample = sample
        self._verify = verify
        self._on_step = on_step
        self._together = together
        self._parts: dict[str, _Part] = {}
        self._shaped: dict[str, Component] = {}
        self._shaping: dict[str, Any] = {}
        self._effective: dict[str, Any] = {}
        self._flags: list[str] = []
        self._known: dict[str, dict[str, Any]] = {
            **shared.known,
            "sample": _sample_fields(sample, shared.fields.get("sample", ())),
            "schedule": {},
        }

    async def outcome(self) -> Outcome:
        """Returns the recipe's outcome. Raises InvalidSample for missing inputs, PluginError for a defect in the
        recipe."""
        require_inputs(self._recipe, self._sample, self._known)
        notes: dict[str, Any] = {}
        try:
            base, reason = await self._table(notes)
        except _Unscored as unscored:
            if self._recipe.fallback is None:
                return await self._unscored(unscored.name)
            try:
                base, reason = await self._read(self._recipe.fallback, "fallback", Expression.number), None
            except _Unscored:
                return await self._unscored(unscored.name)
            notes["fallback"] = unscored.name
            self._flags.append("fallback_used")
        try:
            passed, side = await self._passed(base)
        except _Unscored as unscored:
            return await self._unscored(unscored.name)
        score = base
        for step in self._recipe.shaping:
            score = await self._length(step, side, score)
        if self._recipe.shaping:
            notes["base_score"] = base
            notes["shaping"] = self._shaping
        return await self._scored(score, passed, reason, notes)

    # --- the score ----------------------------------------------------------------------------------------------

    async def _table(self, notes: dict[str, Any]) -> tuple[float, str | None]:
        rows = self._recipe.rows
        for place, row in enumerate(rows):
            where = f"table[{place}]" if len(rows) > 1 else "score"
            if row.when is not None and not await self._read(row.when, f"{where}.when", Expression.holds):
                continue
            if len(rows) > 1:
                notes["row"] = place
            return await self._read(row.score, where, Expression.number), row.reason
        raise PluginError(f"recipe {self._recipe.name!r}: no row of the table holds")  # the last row has no `when`

    async def _passed(self, base: float) -> tuple[bool | None, bool]:
        """Returns whether the sample passed, for the verdict (None: the recipe does not define it) and for the sides of
        shaping.
        """
        if self._recipe.passed is not None:
            told = await self._read(self._recipe.passed, "passed", Expression.holds)
            return told, told
        part = self._spokesman()
        if part is None:
            return None, base >= self._recipe.range[1]
        return part.outcome.passed if part.scored else part.passes, part.passes

    async def _length(self, step: LengthStep, side: bool, score: float) -> float:
        numbers = step.correct if side else step.wrong
        if numbers is None:
            return score
        where = f"shaping.{step.name}"
        values = {name: await self._plain_number(value, f"{where}.{name}") for name, value in numbers.items()}
        length = length_of(self._sample, step.by)
        try:
            value = CURVES[step.kind].call(length, **values)
        except ValueError as error:
            raise InvalidParams(f"recipe {self._recipe.name!r}: {where}: {error}", path="params") from None
        term = await self._plain_number(step.weight, f"{where}.weight") * value + 0.0
        if step.cap is not None:
            cap = abs(await self._plain_number(step.cap, f"{where}.cap"))
            term = min(max(term, -cap), cap)
        self._shaped[step.name] = Component(status="scored", score=term, verifier=f"length.{step.kind}")
        self._shaping[step.name] = {
            "kind": step.kind,
            "by": step.by,
            "length": length,
            "side": "correct" if side else "wrong",
            "combine": step.combine,
            "value": value,
            "term": term,
            **values,
        }
        after = term if step.combine == "replace" else score + term
        if self._on_step is not None:
            told = ", ".join(f"{name} {number:g}" for name, number in values.items())
            filled = f"{length:g} {step.by}, {told}: {value:g}, so {step.combine} {term:g}"
            self._on_step(self._sample, Step(where=where, text=step.kind, filled=filled, value=after))
        return after

    # --- what an expression needs -------------------------------------------------------------------------------

    async def _read(self, expression: Expression, where: str, kind: Callable[[Expression, Known], T]) -> T:
        """Returns the value of an expression, after everything that it needs is known. kind: its method that gives the
        value."""
        if not expression.roots <= self._known.keys():
            await self._supply_next(expression, where)
        while True:
            try:
                value = kind(expression, self._known)
                break
            except EvaluationError as error:
                if not await self._supply_next(expression, where):
                    self._defect(where, error)
        if self._on_step is not None:
            filled = expression.filled(self._known)
            self._on_step(self._sample, Step(where=where, text=expression.text, filled=filled, value=value))
        return value

    async def _plain_number(self, value: Number, where: str) -> float:
        if not isinstance(value, Expression):
            return value
        found = await self._read(value, where, Expression.number)
        if is_scheduled(value):
            self._effective[where] = found
        return found

    def _defect(self, where: str, error: Exception) -> NoReturn:
        raise PluginError(f"recipe {self._recipe.name!r}: {where}: {error}") from None

    async def _supply_all(self, expression: Expression, where: str) -> None:
        while await self._supply_next(expression, where):
            pass

    async def _supply_next(self, expression: Expression, where: str) -> bool:
        """Supplies what an expression needs next. Returns False if it lacks nothing."""
        try:
            lacking = expression.lacks(self._known)
        except EvaluationError as error:
            self._defect(where, error)
        if lacking:
            await self._supply(lacking, where)
        return bool(lacking)

    async def _supply(self, lacking: Sequence[Read], where: str) -> None:
        names: list[str] = []
        for read in lacking:
            root, name = read.path[0], read.path[1]
            if root in ("sample", "progress", "params"):
                self._absent(read, where)
            elif root == "schedule":
                self._known["schedule"][name] = await self._scheduled(name)
            elif root in self._parts:
                raise _Unscored(root)  # the component ran, but the field requires a score
            elif root not in names:
                names.append(root)
        if not names:
            return
        if len(names) == 1:
            parts: Sequence[_Part | BaseException] = [await self._judge(names[0])]
        else:
            # All of them are certainly needed, and independent of each other.
            # If one fails, the others must not keep running unobserved: await all, then raise.
            parts = await self._together(*(self._judge(name) for name in names))
        for name, part in zip(names, parts, strict=True):
            if isinstance(part, BaseException):
                raise part
            self._parts[name] = part
            self._known[name] = self._bound(name, part)

    async def _scheduled(self, name: str) -> Any:
        self._effective[name] = found = await self._read(
            self._recipe.schedule[name], f"schedule.{name}", Expression.value
        )
        return found

    def _absent(self, read: Read, where: str) -> NoReturn:
        root = read.path[0]
        path = ".".join(read.path[1:] if root == "sample" else read.path)
        whose = "sample" if root == "sample" else "batch"
        raise InvalidSample(
            f"recipe {self._recipe.name!r} reads {read} in {where!r}, but the {whose} has no {path!r}", path=path
        )

    # --- components ---------------------------------------------------------------------------------------------

    async def _judge(self, name: str) -> _Part:
        component = self._recipe.components[name]
        tried: list[dict[str, Any]] = []
        for candidate in component.candidates:
            use = self._shared.uses.get(candidate.path) or await self._use(candidate, name)
            if candidate.reference is not None and not candidate.has_reference(self._sample):
                field = ".".join(candidate.reference)
                raise InvalidSample(
                    f"recipe {self._recipe.name!r}: {name!r} needs its reference in {field!r}", path=field
                )
            outcome = await self._verify(candidate, use)
            label = use.name or "recipe"
            tried.append({"verifier": label, "status": outcome.status, "reason": outcome.reason})
            if self._on_step is not None:
                step = Step(where=f"uses.{name}", text=label, filled=_told(outcome), value=outcome.score)
                self._on_step(self._sample, step)
            if outcome.status == "scored":
                break
        return _Part(outcome, component.default, tried)

    async def _use(self, candidate: Candidate, name: str) -> Use:
        """Evaluates everything that the candidate's parameters need, and records the values of scheduled ones."""
        for path, expression in expressions_in(candidate.params, ".".join(map(str, (*candidate.path, "params")))):
            await self._supply_all(expression, path)
            if is_scheduled(expression):
                self._effective[path] = expression.value(self._known)
        try:
            use = use_of(candidate, self._known, self._shared.params)
        except EvaluationError as error:
            self._defect(f"uses.{name}", error)
        if candidate.path in self._shared.uses:
            self._shared.uses[candidate.path] = use
        return use

    def _bound(self, name: str, part: _Part) -> dict[str, Any]:
        """Returns a component's fields as expressions see them. A component without a score has only a status."""
        outcome = part.outcome
        if part.score is None:
            return {"status": outcome.status}
        if not part.scored and "default_used" not in self._flags:
            self._flags.append("default_used")
        seen: dict[str, Any] = {
            "status": outcome.status,
            "score": part.score,
            "passed": part.passes,
            "reason": outcome.reason,
            "fault": outcome.fault,
        }
        for field in self._shared.fields.get(name, ()):
            try:
                seen[field] = as_cel(getattr(outcome, field))
            except OverflowError as error:
                self._defect(f"uses.{name}", error)
        return seen

    def _spokesman(self) -> _Part | None:
        """Returns the component that decides about passing: the main one, or else the last with a score."""
        main = self._parts.get(self._recipe.main)
        if main is not None and main.score is not None:
            return main
        return next((part for part in reversed(self._parts.values()) if part.score is not None), None)

    def _deciding(self, passed: bool | None) -> Outcome | None:
        """Returns the outcome whose reason the recipe reports: if the sample does not pass, the last that did not
        pass."""
        failed = [part for part in self._parts.values() if part.score is not None and not part.passes]
        if failed and not passed:
            return failed[-1].outcome
        part = self._spokesman()
        return None if part is None else part.outcome

    # --- outcomes -----------------------------------------------------------------------------------------------

    async def _scored(self, score: float, passed: bool | None, reason: str | None, notes: dict[str, Any]) -> Outcome:
        low, high = self._recipe.range
        slack = _NEAR * max(1.0, high - low)
        if not low - slack <= score <= high + slack:
            raise PluginError(
                f"recipe {self._recipe.name!r}: the score {score:g} lies outside the declared range [{low:g}, {high:g}]"
                ": declare a wider 'range', or bound it with clamp(…) or a shaping's 'cap'"
            )
        deciding = self._deciding(passed)
        part = self._parts.get(self._recipe.main)
        main = None if part is None else part.outcome
        excluded = await self._exclusion()
        return scored(
            min(max(score, low), high),
            range=(low, high),
            passed=passed,
            reason=reason if reason is not None or deciding is None else deciding.reason,
            # If a default replaced a failure, the policy is not at fault.
            fault=deciding.fault if deciding is not None and deciding.status != "scored" else None,
            raw=main.raw if main is not None else None,
            components=self._components(),
            steps=main.steps if main is not None else (),
            feedback=main.feedback if main is not None else deciding.feedback if deciding is not None else None,
            extracted=main.extracted if main is not None else None,
            evidence=self._evidence(main, notes),
            flags=self._all_flags(),
            effective=self._effective,
            exclude=excluded is not None,
            exclude_reason=excluded,
        )

    async def _unscored(self, name: str) -> Outcome:
        outcome = self._parts[name].outcome
        excluded = await self._exclusion()
        return Outcome(
            status=outcome.status,
            range=self._recipe.range,
            reason=outcome.reason,
            fault=outcome.fault,
            components=self._components(),
            feedback=outcome.feedback,
            evidence=self._evidence(outcome, {"unscored": name}),
            flags=self._all_flags(),
            effective=self._effective,
            exclude=excluded is not None,
            exclude_reason=excluded,
        )

    async def _exclusion(self) -> str | None:
        for place, exclusion in enumerate(self._recipe.exclude):
            try:
                if await self._read(exclusion.when, f"exclude[{place}]", Expression.holds):
                    return exclusion.reason
            except _Unscored:
                continue  # an undecided condition excludes nothing
        return None

    def _components(self) -> dict[str, Component]:
        found: dict[str, Component] = {}
        for name, part in self._parts.items():
            outcome = part.outcome
            found[name] = Component(
                status=outcome.status,
                score=outcome.score,
                reason=outcome.reason,
                fault=outcome.fault,
                verifier=part.tried[-1]["verifier"],
            )
        return {**found, **self._shaped}

    def _evidence(self, main: Outcome | None, notes: dict[str, Any]) -> dict[str, Any]:
        cascades = {name: part.tried for name, part in self._parts.items() if len(part.tried) > 1}
        if cascades:
            notes["cascade"] = cascades
        return {**(main.evidence if main is not None else {}), **({"recipe": notes} if notes else {})}

    def _all_flags(self) -> tuple[str, ...]:
        flags = [flag for part in self._parts.values() for flag in part.outcome.flags]
        return tuple(dict.fromkeys([*flags, *self._flags]))


def _told(outcome: Outcome) -> str:
    """Returns an outcome in a few words."""
    passed = {True: "passed", False: "not passed", None: None}[outcome.passed]
    found = None if outcome.extracted is None else f"answer {short(outcome.extracted)}"
    return ", ".join(filter(None, [outcome.status, passed, outcome.reason, found]))


def known_before(params: Any, progress: Progress | None) -> dict[str, dict[str, Any]]:
    """Returns the values known before anything runs: the recipe's parameters and the progress of training."""
    told: dict[str, Any] = {}
    if progress is not None:
        told["step"] = float(progress.step)
        if progress.total_steps is not None:
            told["total_steps"] = float(progress.total_steps)
            told["fraction"] = min(progress.step / progress.total_steps, 1.0) if progress.total_steps > 0 else 1.0
    own = {field.name: as_cel(getattr(params, field.name)) for field in fields(params)} if params is not None else {}
    return {"params": own, "progress": told}


def use_of(candidate: Candidate, known: Known, params: Any) -> Use:
    """Returns a candidate's use, with the values of its expressions. Raises EvaluationError."""
    name = candidate.name
    if isinstance(name, Expression):
        name = str(_value(name, known, params))
    return Use(name=name, recipe=candidate.recipe, params=_filled(candidate.params, known, params))


def expressions_in(params: Any, path: str) -> list[tuple[str, Expression]]:
    """Every expression in the parameters of a candidate, with its path."""
    if isinstance(params, Expression):
        return [(path, params)]
    items: Any = (
        params.items() if isinstance(params, Mapping) else enumerate(params) if isinstance(params, list) else ()
    )
    return [found for key, item in items for found in expressions_in(item, f"{path}.{key}")]


def _is_fixed(candidate: Candidate) -> bool:
    """Returns whether the candidate's use depends on the recipe's parameters alone."""
    found = expressions_in([candidate.name, candidate.params], "")
    return all(read.path[0] == "params" for _, expression in found for read in expression.reads)


def is_scheduled(expression: Expression) -> bool:
    """Returns whether the value changes with training."""
    return any(read.path[0] in ("progress", "schedule") for read in expression.reads)


def require_inputs(recipe: Recipe, sample: Sample, known: Known) -> None:
    """Raises InvalidSample, naming the field, if a declared input is missing. Called before anything runs."""
    for name in recipe.inputs:
        field, _, key = name.partition(".")
        if field == "progress":
            present = bool(known["progress"])
        else:
            value = getattr(sample, field)
            present = value is not None and (not key or key in value)
        if not present:
            raise InvalidSample(f"recipe {recipe.name!r} needs the input {name!r}", path=name)


def _filled(value: Any, known: Known, params: Any) -> Any:
    if isinstance(value, Expression):
        return _value(value, known, params)
    if isinstance(value, Mapping):
        return {key: _filled(item, known, params) for key, item in value.items()}
    if isinstance(value, list):
        return [_filled(item, known, params) for item in value]
    return value


def _value(expression: Expression, known: Known, params: Any) -> Any:
    # A parameter that is passed on unchanged keeps its type: an integer stays one.
    read = expression.plain()
    if read is not None and read.path[0] == "params":
        return getattr(params, read.path[1])
    return expression.value(known)


def _sample_fields(sample: Sample, names: Iterable[str]) -> dict[str, Any]:
    found: dict[str, Any] = {"metadata": {}, "signals": {}}
    for field in names:
        value = getattr(sample, field)
        if value is not None:
            try:
                found[field] = as_cel(value)
            except OverflowError:
                raise InvalidSample(f"{field} holds a number beyond the range of a double", path=field) from None
    return found
