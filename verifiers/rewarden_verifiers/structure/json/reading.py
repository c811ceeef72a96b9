"""Parses the parameters and references of `json`, once for all responses."""

from __future__ import annotations

import marshal
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rewarden.errors import InvalidReference
from rewarden_verifiers.structure.json.comparing import Coercion, Field, ListRule, Rules, TextRule
from rewarden_verifiers.structure.json.expected import Blank, Extra, Scheme, Target
from rewarden_verifiers.structure.json.locate import Finder, Rule
from rewarden_verifiers.structure.json.strict import Malformed, parse
from rewarden_verifiers.structure.json.validation import Draft, Schema, Validation, validation

Level = Literal["parses", "format", "structure", "validity", "content"]
LEVELS: tuple[Level, ...] = ("parses", "format", "structure", "validity", "content")

MAX_REFERENCES = 4096
"""The maximum number of prepared references to cache, for each distinct set of parameters."""

MAX_ALTERNATIVES = 64
"""The maximum number of alternatives in one reference."""

_REFERENCE_KEYS = {"expected", "alternatives", "schema"}
_ROOTS: Mapping[str, type] = {"object": dict, "array": list}


@dataclass(frozen=True, kw_only=True)
class JsonParams:
    """Options of `json`.

    extraction: Place of the JSON: `strict` (the text is nothing else), `fenced` (also in one code fence, with prose
        around it), `explicit` (also in an answer tag), `lax` (also within prose), or an ordered list of the rules
        `whole`, `fence`, `prose`, `answer_tag`, `boxed`, `{"tag": name}` and `{"regex": pattern}`.
    several: Several different JSON values: `hedge` (they score 0) or `last` (the last one counts).
    reference_as: Reading of the reference: `value` (it is the expected value), `object` (it is an object with
        `expected` or `alternatives`, and optionally `schema`), or `auto` (the latter if it is an object with only these
        keys; a text that is a JSON object or list is that value; anything else is the value itself).
    schema: JSON Schema that the value must satisfy. A schema in the reference takes precedence.
    schemas: More schemas by address, as targets of `$ref`. Nothing is ever fetched.
    draft: Draft of the schema; `auto`: as its `$schema` says, else 2020-12.
    formats: Asserts `format`. If unset, the draft decides (4 to 7 assert it).
    patterns: Engine for `pattern`: `linear` cannot backtrack and has no look-around; `backtracking` has it, and gives
        up after a bound.
    content: Credit for content: `exact` (all or nothing) or `f_beta` (precision and recall over the leaves, by weight).
    beta: Weight of recall relative to precision.
    text: Comparison of texts: `exact`; `normal` (ignores case, whitespace and the composition of letters, and equates
        `500mg` with `500 mg`); `fuzzy` (similar enough by rapidfuzz's ratio, with the same numbers); `similarity`
        (earns that ratio).
    threshold: Lowest ratio that counts, for `fuzzy` and `similarity`.
    rel_tol, abs_tol: Tolerances for numbers: relative to the expected one, and absolute.
    coerce: `true`: accepts a number or truth value as text, in the expected value or in the answer. `python`: compares
        values of a Python program: also `None` as text, 1 for true, texts without the white space around them, and a
        list or object as the text that Python prints of it. `text` then has no effect.
    lists: `ordered`; `multiset` (any order, with the best possible pairing); `set` (as `multiset`, and ignores
        repetitions).
    blank: `value`: null, "", [] and {} are values; `absent`: they mean that there is nothing. A missing key is then
        equivalent, and neither counts.
    extra: Unexpected keys: `punish` (they count as wrong) or `ignore`. List items always count.
    fields: Rules for the values at some paths: weights, comparison, values to ignore. If several rules match, the last
        one applies.
    levels: Weights of the levels `parses`, `format` (nothing besides the JSON, its fence or its tag), `structure`
        (F-beta over paths and types), `validity` (against the schema) and `content`. The score is their weighted mean,
        without levels that have no schema or expected value. Without `levels`, the score is that of the content, or 0
        if the schema is violated.
    cascade: A level counts only if those before it have full marks.
    allow_empty: `{}` or `[]` can earn credit although it is not the expected value.
    pass_at: Lowest score that passes.
    """

    extraction: str | tuple[Rule, ...] = "explicit"
    several: Literal["hedge", "last"] = "hedge"
    reference_as: Literal["auto", "value", "object"] = "auto"
    schema: Schema | None = None
    schemas: dict[str, Schema] | None = None
    draft: Draft = "auto"
    formats: bool | None = None
    patterns: Literal["linear", "backtracking"] = "linear"
    content: Literal["exact", "f_beta"] = "exact"
    beta: float = 1.0
    text: TextRule = "exact"
    threshold: float = 0.9
    rel_tol: float = 0.0
    abs_tol: float = 0.0
    coerce: Coercion = False
    lists: ListRule = "ordered"
    blank: Blank = "value"
    extra: Extra = "punish"
    fields: tuple[Field, ...] = ()
    levels: dict[Level, float] | None = None
    cascade: bool = False
    allow_empty: bool = False
    pass_at: float = 1.0

    def __post_init__(self) -> None:
        if not 0.01 <= self.beta <= 100:
            raise ValueError("beta must lie between 0.01 and 100")
        if not 0 < self.pass_at <= 1:
            raise ValueError("pass_at must lie above 0 and at most at 1")
        if len(self.fields) > 256:
            raise ValueError("fields must be at most 256")
        weights = [1.0] if self.levels is None else list(self.levels.values())
        if any(not 0 <= weight <= 1e6 for weight in weights) or not sum(weights):
            raise ValueError("levels must have weights between 0 and 1,000,000, one of them above 0")
        if self.cascade and self.levels is None:
            raise ValueError("cascade needs levels: give their weights")
        self.reader  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @cached_property
    def reader(self) -> Reader:
        """Returns the reader, built once for all samples with these parameters."""
        return Reader(self)


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """A prepared reference: the acceptable values (empty if there is only a schema), and the schema."""

    targets: tuple[Target, ...]
    validation: Validation | None
    roots: tuple[type, ...]
    """The types of values to look for in prose."""
    empty: bool
    """True if an empty value is acceptable."""


class Reader:
    """The prepared parameters, and a cache of recent references."""

    def __init__(self, params: JsonParams) -> None:
        self._params = params
        self.finder = Finder(params.extraction, params.several)
        rules = Rules(
            text=params.text,
            threshold=params.threshold,
            rel_tol=params.rel_tol,
            abs_tol=params.abs_tol,
            coerce=params.coerce,
            lists=params.lists,
        )
        self.scheme = Scheme(rules, params.fields, params.blank, params.extra)
        self._plain = Scheme(rules, (), params.blank, params.extra)
        self._validation = None if params.schema is None else self._validate(params.schema)
        self._kept: OrderedDict[bytes, Expected] = OrderedDict()

    def expected(self, reference: Any) -> Expected:
        """Prepares a reference. Raises InvalidReference."""
        try:
            key = marshal.dumps(reference, 0)  # exact (1, 1.0 and true differ), and the fastest option
        except ValueError as error:
            raise InvalidReference(f"the reference is not JSON: {error}", path="reference") from None
        found = self._kept.get(key)
        if found is None:
            found = self._kept[key] = self._read(reference)
            if len(self._kept) > MAX_REFERENCES:
                self._kept.popitem(last=False)
        return found

    def _validate(self, schema: Schema) -> Validation:
        params = self._params
        return validation(schema, params.schemas or {}, params.draft, params.formats, params.patterns)

    def _read(self, reference: Any) -> Expected:
        values, schema = self._parts(reference)
        check = self._validation
        if schema is not None:
            try:
                check = self._validate(schema)
            except ValueError as error:
                raise InvalidReference(f"reference: {error}", path="reference.schema") from None
        elif check is None and not values:
            raise InvalidReference(
                "give an expected value (in the reference) or a schema (there or as a parameter)", path="reference"
            )
        if check is not None:
            check.try_neutral()
        targets = tuple(self._target(value) for value in values)
        roots: tuple[type, ...] = tuple({type(value) for value in values} & {dict, list})
        if not values:
            form = schema if schema is not None else self._params.schema
            named = form.get("type") if isinstance(form, dict) else None
            roots = (_ROOTS[named],) if isinstance(named, str) and named in _ROOTS else ()
        if values and check is not None and not any(check.holds(value) for value in values):
            raise InvalidReference("the expected value is not valid for the schema", path="reference")
        return Expected(targets, check, roots or (dict, list), any(value in ({}, []) for value in values))

    def _parts(self, reference: Any) -> tuple[list[Any], Schema | None]:
        """Splits a reference into its acceptable values and its schema."""
        form = self._params.reference_as
        if reference is None and form != "value":
            return [], None
        listed = isinstance(reference, Mapping) and bool(reference) and set(reference) <= _REFERENCE_KEYS
        if form == "object" and not listed:
            raise InvalidReference(
                'the reference must be an object with "expected" or "alternatives", and "schema"', path="reference"
            )
        if form == "value" or not listed:
            return [self._value(reference, form == "auto")], None
        if "expected" in reference and "alternatives" in reference:
            raise InvalidReference("the reference has both 'expected' and 'alternatives'", path="reference")
        schema = reference.get("schema")
        if schema is not None and not isinstance(schema, (dict, bool)):
            raise InvalidReference(
                "the reference's schema must be an object; where 'schema' is a key of the expected value, set the "
                "parameter reference_as: value",
                path="reference.schema",
            )
        if "alternatives" in reference:
            several = reference["alternatives"]
            if not isinstance(several, (list, tuple)) or not 1 <= len(several) <= MAX_ALTERNATIVES:
                raise InvalidReference(
                    f"alternatives must be a list of 1 to {MAX_ALTERNATIVES} values", path="reference.alternatives"
                )
            return list(several), schema
        return ([reference["expected"]] if "expected" in reference else []), schema

    @staticmethod
    def _value(reference: Any, read: bool) -> Any:
        if read and isinstance(reference, str) and reference.lstrip()[:1] in ("{", "["):
            try:
                return parse(reference)
            except Malformed as malformed:
                raise InvalidReference(
                    f"the reference is a text that begins like JSON but is none ({malformed}); for a text as expected "
                    "value set the parameter reference_as: value",
                    path="reference",
                ) from None
        return reference

    def _target(self, value: Any) -> Target:
        try:
            node = self.scheme.node(value)
        except ValueError as error:
            raise InvalidReference(f"the expected value: {error}", path="reference") from None
        if not node.total and self._plain.weigh(value, (), Rules()):
            raise InvalidReference("every value of the reference is ignored or weighs nothing", path="reference")
        return Target(node)
