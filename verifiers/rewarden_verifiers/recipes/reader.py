"""Turns a recipe's data into its model: checks every field, compiles every expression, and reports each mistake's
position."""

from __future__ import annotations

import keyword
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn, TypeVar

from rewarden.errors import near
from rewarden_verifiers.canonical import canonical
from rewarden_verifiers.recipes.check import RESERVED, Read, Scope
from rewarden_verifiers.recipes.expression import EvaluationError, Expression
from rewarden_verifiers.recipes.functions import Type
from rewarden_verifiers.recipes.model import (
    PARITIES,
    Candidate,
    Component,
    Covered,
    Exclusion,
    LengthStep,
    Number,
    Parameter,
    Recipe,
    Row,
)
from rewarden_verifiers.recipes.shaping import CURVES
from rewarden_verifiers.recipes.source import Path, Source
from rewarden_verifiers.recipes.syntax import ExpressionError

T = TypeVar("T")

MAX_COMPONENTS = 32
MAX_ROWS = 64

_FIELDS = (
    *("name", "version", "description", "source", "parity", "systems"),
    *("range", "inputs", "params", "schedule", "uses", "main"),
    *("score", "table", "passed", "shaping", "fallback", "exclude"),
)
_INPUTS = (
    *("reference", "prompt", "token_count", "finish_reason", "data_source", "group", "media", "steps"),
    *("metadata", "signals", "progress"),
)
_NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
_SYSTEM = re.compile(r"[a-z0-9][a-z0-9-]{0,63}")

_COMPONENT: Mapping[str, Type] = {
    "score": "double",
    "passed": "bool",
    "status": "string",
    "reason": "any",
    "fault": "any",
    "flags": "list",
    "extracted": "any",
    "evidence": "any",
    "feedback": "any",
    "raw": "any",
}
_SAMPLE: Mapping[str, Type] = {
    "finish_reason": "string",
    "token_count": "double",
    "data_source": "string",
    "metadata": "any",
    "signals": "any",
}
_PROGRESS: Mapping[str, Type] = {"step": "double", "total_steps": "double", "fraction": "double"}
_PARAMETER: Mapping[str, Type] = {
    "number": "double",
    "integer": "double",
    "string": "string",
    "boolean": "bool",
    "list": "list",
    "object": "any",
}


def read_recipe(data: Any, source: Source) -> Recipe:
    """Returns the recipe. Raises the source's error for the first mistake."""
    return _Reader(data, source).recipe()


class _Reader:
    def __init__(self, data: Any, source: Source) -> None:
        self._source = source
        self._data = self._mapping(data, (), _FIELDS)
        self._reads: dict[Read, None] = {}
        self._scope: dict[str, Mapping[str, Type]] = {}

    def recipe(self) -> Recipe:
        data = self._data
        name = self._name(data.get("name", "recipe" if self._source.file is None else None), ("name",))
        version = str(self._get("version", self._text_or_number, "1" if self._source.file is None else None))
        low, high = self._range(data.get("range", [0, 1]), ("range",))
        params = self._each("params", self._parameter)
        self._scope = {"params": {one.name: _PARAMETER[one.type] for one in params.values()}, "progress": _PROGRESS}
        schedule = self._each("schedule", self._scheduled)
        self._scope["schedule"] = {one: expression.type for one, expression in schedule.items()}
        components = self._each("uses", self._component)
        if not components:
            self._fail((), "'uses' must name at least one verifier")
        self._scope["sample"] = _SAMPLE
        shaping = self._list("shaping", self._step)
        names = [step.name for step in shaping]
        for place, step in enumerate(shaping):
            if step.name in components or names.index(step.name) != place:
                self._fail(("shaping", place), f"the name {step.name!r} is taken: give the step a 'name' of its own")
        self._scope.update(dict.fromkeys(components, _COMPONENT))
        rows = self._rows()
        passed = self._condition(data["passed"], ("passed",)) if "passed" in data else None
        fallback = self._score(data["fallback"], ("fallback",)) if "fallback" in data else None
        exclude = self._exclusions()
        main = self._main(components)
        if not shaping:
            self._check_range(rows, low, high)
        self._all_used(components, params, schedule)
        inputs = self._list("inputs", self._input)
        if any(step.by == "tokens" for step in shaping) and "token_count" not in inputs:
            inputs = [*inputs, "token_count"]
        told = {key: value for key, value in data.items() if key not in ("description", "source", "parity", "systems")}
        return Recipe(
            name=name,
            version=version,
            description=str(self._get("description", self._text, "")).strip(),
            origin=self._origin(),
            parity=self._get("parity", self._one_of(*PARITIES), None),
            systems=self._systems(params),
            range=(low, high),
            inputs=tuple(inputs),
            params=params,
            schedule=schedule,
            components=components,
            main=main,
            rows=rows,
            passed=passed,
            shaping=tuple(shaping),
            fallback=fallback,
            exclude=tuple(exclude),
            reads=tuple(read.path for read in self._reads),
            canonical=canonical(told),
            source=self._source,
        )

    # --- parts --------------------------------------------------------------------------------------------------

    def _parameter(self, name: str, value: Any, path: Path) -> Parameter:
        if keyword.iskeyword(name):  # parameters are fields of a dataclass
            self._fail(path, f"{name!r} is a Python keyword, and cannot name a parameter")
        full = isinstance(value, Mapping)
        given = self._mapping(value, path, ["type", "default", "min", "max", "choices", "description"]) if full else {}
        if full and "default" not in given:
            self._fail(path, "a parameter needs a 'default', so that the recipe runs without parameters")
        default = given["default"] if full else value
        natural = {bool: "boolean", int: "number", float: "number", str: "string", list: "list", dict: "object"}
        type_ = given.get("type", natural.get(type(default)))
        type_ = self._one_of(*_PARAMETER)(type_, (*path, "type"))
        unset = default is None and "type" in given  # then the verifier that receives it decides
        if not unset and not _fits(default, type_):
            self._fail((*path, "default") if full else path, f"the default is not of type {type_}")
        low, high = (self._number_only(given[key], (*path, key)) if key in given else None for key in ("min", "max"))
        choices = tuple(self._items(given.get("choices", []), (*path, "choices")))
        if (low is not None or high is not None) and type_ not in ("number", "integer"):
            self._fail(path, "'min' and 'max' are for numbers")
        if choices and not unset and default not in choices:
            self._fail((*path, "default"), "the default is not among the choices")
        if not unset and ((low is not None and default < low) or (high is not None and default > high)):
            self._fail((*path, "default"), "the default lies outside 'min' and 'max'")
        description = str(given.get("description", ""))
        if type_ == "number" and not unset:
            default = float(default)
        return Parameter(
            name=name, type=type_, default=default, low=low, high=high, choices=choices, description=description
        )

    def _systems(self, params: Mapping[str, Parameter]) -> tuple[Covered, ...]:
        found = self._list("systems", lambda value, path: self._covered(value, path, params))
        for place, covered in enumerate(found):
            if any((one.system, one.part) == (covered.system, covered.part) for one in found[:place]):
                self._fail(("systems", place), f"{covered.system!r} is listed twice: name its parts with 'part'")
        return tuple(found)

    def _covered(self, value: Any, path: Path, params: Mapping[str, Parameter]) -> Covered:
        full = value if isinstance(value, Mapping) else {"id": value}
        given = self._mapping(full, path, ("id", "params", "part", "parity"))
        system = given.get("id")
        if not isinstance(system, str) or _SYSTEM.fullmatch(system) is None:
            self._fail(path, "a system is an id of small letters, digits and '-', or {id, params, part, parity}")
        return Covered(
            system=system,
            params=self._mapping(given.get("params", {}), (*path, "params"), list(params)),
            part=self._text(given.get("part", ""), (*path, "part")),
            parity=self._one_of(*PARITIES)(given["parity"], (*path, "parity")) if "parity" in given else None,
        )

    def _scheduled(self, name: str, value: Any, path: Path) -> Expression:
        expression = self._expression(value, path)
        if expression.type not in ("double", "int", "mixed", "any", "bool", "string"):
            self._fail(path, "a scheduled value is a number, a text, or true or false")
        return expression

    def _component(self, name: str, value: Any, path: Path) -> Component:
        if name in RESERVED:
            self._fail(path, f"{name!r} already means something in expressions: choose another name")
        if len(self._data["uses"]) > MAX_COMPONENTS:
            self._fail(("uses",), f"at most {MAX_COMPONENTS} uses")
        if isinstance(value, str):
            value = {"name": value}
        given = self._mapping(value, path, ("name", "params", "recipe", "reference", "cascade", "default"))
        default = self._number_only(given["default"], (*path, "default")) if "default" in given else None
        if "cascade" not in given:
            one = {key: item for key, item in given.items() if key != "default"}
            return Component(name=name, candidates=(self._candidate(one, path),), default=default)
        if extra := set(given) & {"name", "params", "recipe", "reference"}:
            self._fail((*path, sorted(extra)[0]), "goes inside the list of 'cascade'")
        items = self._items(given["cascade"], (*path, "cascade"))
        if not items:
            self._fail((*path, "cascade"), "list the uses to try, in order")
        candidates = tuple(self._candidate(item, (*path, "cascade", place)) for place, item in enumerate(items))
        return Component(name=name, candidates=candidates, default=default)

    def _candidate(self, value: Any, path: Path) -> Candidate:
        if isinstance(value, str):
            value = {"name": value}
        given = self._mapping(value, path, ("name", "params", "recipe", "reference"))
        if ("name" in given) == ("recipe" in given):
            self._fail(path, "give either the 'name' of a verifier or a 'recipe'")
        params = self._filled(given.get("params", {}), (*path, "params"))
        if not isinstance(params, (Mapping, Expression)):
            self._fail((*path, "params"), "params must be a mapping")
        name = given.get("name")
        if isinstance(name, Mapping):
            name = self._filled(name, (*path, "name"))
            if not isinstance(name, Expression) or name.type not in ("string", "any"):
                self._fail((*path, "name"), "the name of a verifier must be a string")
            if any(read.path[0] != "params" for read in name.reads):
                self._fail((*path, "name"), "which verifier judges may only depend on 'params'")
        elif name is not None and not isinstance(name, str):
            self._fail((*path, "name"), "the name of a verifier must be a string")
        recipe = given.get("recipe")
        if recipe is not None and not isinstance(recipe, Mapping):
            self._fail((*path, "recipe"), "an inline recipe is a mapping")
        reference = self._own_reference(given["reference"], (*path, "reference")) if "reference" in given else None
        return Candidate(path=path, name=name, recipe=recipe, params=params, reference=reference)

    def _own_reference(self, value: Any, path: Path) -> tuple[str, str]:
        """Returns the field that is written `metadata.KEY` or `reference.KEY`."""
        root, _, key = value.partition(".") if isinstance(value, str) else ("", "", "")
        if root not in ("metadata", "reference") or not key.isidentifier():
            self._fail(path, "a reference of a use's own is a field of the sample: 'metadata.KEY' or 'reference.KEY'")
        return root, key

    def _filled(self, value: Any, path: Path) -> Any:
        """Returns the parameters of a use: data, with `{cel: …}` in place of any value."""
        if isinstance(value, Mapping):
            if set(value) == {"cel"}:
                return self._expression(value["cel"], (*path, "cel"))
            return {key: self._filled(item, (*path, key)) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._filled(item, (*path, place)) for place, item in enumerate(value)]
        return value

    def _rows(self) -> tuple[Row, ...]:
        data = self._data
        if ("score" in data) == ("table" in data):
            self._fail((), "give either a 'score' or a 'table'")
        if "score" in data:
            return (Row(score=self._score(data["score"], ("score",))),)
        items = self._items(data["table"], ("table",))
        if not 2 <= len(items) <= MAX_ROWS:
            self._fail(("table",), f"a table has 2 to {MAX_ROWS} rows")
        return tuple(self._row(item, ("table", place), place == len(items) - 1) for place, item in enumerate(items))

    def _row(self, value: Any, path: Path, last: bool) -> Row:
        given = self._mapping(value, path, ("when", "score", "otherwise", "reason"))
        wanted = "otherwise" if last else "when"
        if wanted not in given or ("otherwise" in given and set(given) & {"when", "score"}):
            self._fail(path, "the last row is 'otherwise: SCORE', every other has 'when' and 'score'")
        reason = self._reason(given["reason"], (*path, "reason")) if "reason" in given else None
        if last:
            return Row(score=self._score(given["otherwise"], (*path, "otherwise")), reason=reason)
        if "score" not in given:
            self._fail(path, "the row has no 'score'")
        when = self._condition(given["when"], (*path, "when"))
        return Row(when=when, score=self._score(given["score"], (*path, "score")), reason=reason)

    def _step(self, value: Any, path: Path) -> LengthStep:
        given = self._mapping(value, path, ("length",))
        if "length" not in given:
            self._fail(path, "a shaping step is 'length: {…}'")
        path = (*path, "length")
        if not isinstance(given["length"], Mapping) or given["length"].get("kind") not in list(CURVES):
            self._fail(path, f"kind must be one of {', '.join(CURVES)}")
        kind = given["length"]["kind"]
        curve = CURVES[kind]
        own = (*curve.required, *curve.optional)
        step = self._mapping(
            given["length"], path, ("name", "kind", "by", "correct", "wrong", "combine", "weight", "cap", *own)
        )
        common = {key: step[key] for key in own if key in step}
        sides: dict[str, Mapping[str, Number] | None] = {}
        for side in ("correct", "wrong"):
            mine = self._mapping(step.get(side) or {}, (*path, side), own)
            # If only one side has numbers, only that side is shaped.
            shaped = side in step or not {"correct", "wrong"} & set(step)
            sides[side] = self._curve(kind, common, mine, path, side) if shaped else None
        return LengthStep(
            name=self._name(step.get("name", "length"), (*path, "name")),
            kind=kind,
            by=self._one_of("tokens", "characters", "words")(step.get("by", "tokens"), (*path, "by")),
            correct=sides["correct"],
            wrong=sides["wrong"],
            combine=self._one_of("add", "replace")(step.get("combine", "add"), (*path, "combine")),
            weight=self._number(step.get("weight", 1.0), (*path, "weight")),
            cap=self._number(step["cap"], (*path, "cap")) if "cap" in step else None,
        )

    def _curve(
        self, kind: str, common: Mapping[str, Any], mine: Mapping[str, Any], path: Path, side: str
    ) -> Mapping[str, Number]:
        numbers = {key: self._number(value, (*path, key)) for key, value in common.items() if key not in mine}
        numbers |= {key: self._number(value, (*path, side, key)) for key, value in mine.items()}
        where = (*path, side) if mine else path
        for key in CURVES[kind].required:
            if key not in numbers:
                self._fail(where, f"{kind} needs {key!r} for {side} answers")
        constants = {key: value for key, value in numbers.items() if not isinstance(value, Expression)}
        if len(constants) == len(numbers):
            try:
                CURVES[kind].call(0.0, **constants)
            except ValueError as error:
                self._fail(where, str(error))
        return numbers

    def _exclusions(self) -> list[Exclusion]:
        value = self._data.get("exclude", [])
        alone = isinstance(value, Mapping)
        items = [value] if alone else self._items(value, ("exclude",))
        found: list[Exclusion] = []
        for place, item in enumerate(items):
            path: Path = ("exclude",) if alone else ("exclude", place)
            given = self._mapping(item, path, ("when", "reason"))
            if "when" not in given or "reason" not in given:
                self._fail(path, "an exclusion has 'when' and 'reason'")
            found.append(
                Exclusion(
                    when=self._condition(given["when"], (*path, "when")),
                    reason=self._reason(given["reason"], (*path, "reason")),
                )
            )
        return found

    def _main(self, components: Mapping[str, Component]) -> str:
        if "main" in self._data:
            if self._data["main"] not in list(components):
                self._fail(("main",), f"main must be one of the uses: {', '.join(components)}")
            return str(self._data["main"])
        if len(components) > 1 and "answer" not in components:
            self._fail((), "say with 'main' which use the extracted answer and the feedback come from")
        return "answer" if "answer" in components else next(iter(components))

    def _input(self, value: Any, path: Path) -> str:
        field, _, key = str(value).partition(".")
        if field not in _INPUTS or (key and field not in ("metadata", "signals")):
            known = (*_INPUTS, "metadata.KEY", "signals.KEY")
            self._fail(path, f"there is no input {value!r}{near(field, known)}")
        return str(value)

    def _range(self, value: Any, path: Path) -> tuple[float, float]:
        ends = [self._number_only(item, (*path, place)) for place, item in enumerate(self._items(value, path))]
        if len(ends) != 2 or ends[0] >= ends[1]:
            self._fail(path, "the range is [lowest, highest]")
        return ends[0], ends[1]

    def _origin(self) -> str:
        value = self._data.get("source", "")
        if isinstance(value, (list, tuple)):
            return "; ".join(self._text(item, ("source", place)) for place, item in enumerate(value))
        return self._text(value, ("source",)).strip()

    def _all_used(self, components: Mapping[str, Any], params: Mapping[str, Any], schedule: Mapping[str, Any]) -> None:
        """Rejects parts that are never read: they are mistakes, because the author expects them to count."""
        read = {read.path[:2] for read in self._reads}
        for name in components:
            if not any(path[0] == name for path in read):
                self._fail(("uses", name), "is never used: read its score or whether it passed, or take it out")
        for root, names in (("params", params), ("schedule", schedule)):
            for name in names:
                if (root, name) not in read:
                    self._fail((root, name), f"is never used: read it as {root}.{name}, or take it out")

    def _check_range(self, rows: Sequence[Row], low: float, high: float) -> None:
        for place, row in enumerate(rows):
            if row.score.reads:
                continue
            path: Path = ("table", place) if len(rows) > 1 else ("score",)
            try:
                value = row.score.number({})
            except EvaluationError as error:
                self._fail(path, str(error))
            if not low <= value <= high:
                said = f"the score {value:g} lies outside the range [{low:g}, {high:g}]: declare a wider 'range'"
                self._fail(path, said)

    # --- expressions --------------------------------------------------------------------------------------------

    def _expression(self, value: Any, path: Path) -> Expression:
        if isinstance(value, bool):
            value = "true" if value else "false"
        elif isinstance(value, (int, float)):
            value = repr(self._number_only(value, path))
        if not isinstance(value, str) or not value.strip():
            self._fail(path, "an expression must be a string or a number")
        scope: Scope = dict(self._scope)
        try:
            expression = Expression(value, scope)
        except ExpressionError as error:
            raise self._source.problem(path, error.message, value, error.offset) from None
        self._reads.update(dict.fromkeys(expression.reads))
        return expression

    def _score(self, value: Any, path: Path) -> Expression:
        expression = self._expression(value, path)
        if expression.type not in ("double", "int", "mixed", "any"):
            self._fail(path, "a score is a number; for a condition write 'CONDITION ? 1.0 : 0.0'")
        return expression

    def _condition(self, value: Any, path: Path) -> Expression:
        expression = self._expression(value, path)
        if expression.type not in ("bool", "any"):
            self._fail(path, "a condition is true or false, such as 'answer.passed' or 'answer.score > 0.5'")
        return expression

    def _number(self, value: Any, path: Path) -> Number:
        return self._score(value, path) if isinstance(value, str) else self._number_only(value, path)

    # --- plain values -------------------------------------------------------------------------------------------

    def _fail(self, path: Path, message: str) -> NoReturn:
        raise self._source.problem(path, message)

    def _mapping(self, value: Any, path: Path, known: Sequence[str]) -> Mapping[str, Any]:
        if not isinstance(value, Mapping):
            self._fail(path, f"must be a mapping with {', '.join(known)}")
        for key in value:
            if key not in known:
                self._fail((*path, key), f"there is no such field{near(key, known)}")
        return value

    def _items(self, value: Any, path: Path) -> Sequence[Any]:
        if not isinstance(value, (list, tuple)):
            self._fail(path, "must be a list")
        return value

    def _list(self, field: str, read: Callable[[Any, Path], T]) -> list[T]:
        items = self._items(self._data.get(field, []), (field,))
        return [read(item, (field, place)) for place, item in enumerate(items)]

    def _each(self, field: str, read: Callable[[str, Any, Path], T]) -> dict[str, T]:
        value = self._data.get(field, {})
        if not isinstance(value, Mapping):
            self._fail((field,), "must be a mapping of names")
        return {self._name(name, (field, name)): read(name, item, (field, name)) for name, item in value.items()}

    def _get(self, field: str, read: Callable[[Any, Path], Any], default: Any) -> Any:
        if field not in self._data:
            if default is None and field != "parity":
                self._fail((), f"{field!r} is missing")
            return default
        return read(self._data[field], (field,))

    def _name(self, value: Any, path: Path) -> str:
        if value is None:
            self._fail((), f"{path[-1]!r} is missing")
        if not isinstance(value, str) or _NAME.fullmatch(value) is None:
            self._fail(path, "a name is small letters, digits and '_', beginning with a letter")
        return value

    def _reason(self, value: Any, path: Path) -> str:
        if not isinstance(value, str) or _NAME.fullmatch(value) is None:
            self._fail(path, "a reason must be snake_case, so that metrics can count by it")
        return value

    def _text(self, value: Any, path: Path) -> str:
        if not isinstance(value, str):
            self._fail(path, "must be a string")
        return value

    def _text_or_number(self, value: Any, path: Path) -> str:
        if isinstance(value, bool) or not isinstance(value, (str, int, float)):
            self._fail(path, 'must be a string, such as "1"')
        return str(value)

    def _number_only(self, value: Any, path: Path) -> float:
        if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
            self._fail(path, "must be a finite number")
        return float(value)

    def _one_of(self, *known: str) -> Callable[[Any, Path], Any]:
        def read(value: Any, path: Path) -> Any:
            if value not in known:
                self._fail(path, f"must be one of {', '.join(known)}")
            return value

        return read


def _fits(value: Any, type_: str) -> bool:
    fits: Mapping[str, tuple[type, ...]] = {
        "number": (int, float),
        "integer": (int,),
        "string": (str,),
        "boolean": (bool,),
        "list": (list,),
        "object": (dict,),
    }
    return isinstance(value, fits[type_]) and (type_ == "boolean" or not isinstance(value, bool))
