"""JSON Schema (drafts 4 to 2020-12) by `jsonschema-rs`: compiled once, without fetching anything.

References resolve within the schema itself and in the schemas given with it; any other reference is rejected without a
request. `pattern` runs on a linear-time engine, unless the caller requests look-around.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from itertools import islice
from json import dumps, loads
from typing import Any, Literal, NoReturn

import jsonschema_rs

from rewarden_verifiers.structure.json.branching import branching

Draft = Literal["auto", "4", "6", "7", "2019-09", "2020-12"]
Schema = dict[str, Any] | bool

BACKTRACKS = 100_000
"""The maximum number of backtracking steps per match, if patterns may backtrack."""

MAX_EVALUATIONS = 100_000
"""The maximum number of evaluations of one value by a schema, including nested alternatives: a few milliseconds."""

MAX_EXPLAINED = 1_000
"""The same limit if detailed errors are collected, which takes a thousand times as long."""

MAX_SCHEMA = 1_000_000
"""The maximum length of a schema, written as JSON."""

_DRAFTS: Mapping[str, type[jsonschema_rs.Validator]] = {
    "4": jsonschema_rs.Draft4Validator,
    "6": jsonschema_rs.Draft6Validator,
    "7": jsonschema_rs.Draft7Validator,
    "2019-09": jsonschema_rs.Draft201909Validator,
    "2020-12": jsonschema_rs.Draft202012Validator,
}
_MESSAGE = 200
_NEUTRAL: tuple[Any, ...] = ({}, [], "", 0, None)
_LOOK_AROUND = re.compile(r"\(\?(?:[=!]|<[=!]|>)|\\[1-9]|\\k<")


def _refuse(uri: str) -> NoReturn:
    # Attack: a schema whose $ref makes the server request an address of the author's choice (SSRF, files).
    raise ValueError(f"{uri} is neither within the schema nor among the given 'schemas'; nothing is fetched")


class Validation:
    """A compiled schema. explained: whether detailed errors can be collected."""

    __slots__ = ("_explained", "_validator")

    def __init__(self, validator: jsonschema_rs.Validator, *, explained: bool) -> None:
        self._validator = validator
        self._explained = explained

    def holds(self, value: Any) -> bool:
        """Returns whether the value is valid. It comes from the strict parser: no NaN, no unpaired surrogates, not
        nested too deeply.
        """
        return self._validator.is_valid(value)

    def faults(self, value: Any, most: int) -> list[dict[str, str]]:
        """Returns the errors in a value, at most `most`: the path, the keyword, and a message for each."""
        if not self._explained:
            return [{"path": "/", "keyword": "schema", "message": "the value is none that the schema allows"}]
        return [
            {
                "path": "/" + "/".join(str(step)[:80] for step in error.instance_path),
                "keyword": str(error.schema_path[-1]) if error.schema_path else "false",
                "message": error.message[:_MESSAGE],
            }
            for error in islice(self._validator.iter_errors(value), most)
        ]

    def try_neutral(self) -> None:
        """Validates trivial values, for which a working schema finishes at once, so that a broken one is detected
        before it judges an answer: a control run.
        """
        for value in _NEUTRAL:
            if not self.holds(value):
                self.faults(value, 1)


def validation(
    schema: Schema,
    schemas: Mapping[str, Schema],
    draft: Draft,
    formats: bool | None,
    patterns: Literal["linear", "backtracking"],
) -> Validation:
    """Compiles a schema; equal ones are compiled once. Raises ValueError for an invalid schema."""
    try:
        texts = dumps(schema), dumps(schemas, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as error:
        raise ValueError(f"the schema is not JSON: {error}") from None
    if sum(map(len, texts)) > MAX_SCHEMA:
        raise ValueError(f"the schema has more than {MAX_SCHEMA} characters")
    return _compiled(*texts, draft, formats, patterns)


@lru_cache(maxsize=1024)
def _compiled(
    schema_text: str,
    schemas_text: str,
    draft: Draft,
    formats: bool | None,
    patterns: Literal["linear", "backtracking"],
) -> Validation:
    schema, schemas = loads(schema_text), loads(schemas_text)
    # By now, a Decimal, an object of the caller's, or a huge number has become plain JSON.
    make = _DRAFTS[draft] if draft != "auto" else jsonschema_rs.validator_for
    options: Any = (
        jsonschema_rs.RegexOptions()
        if patterns == "linear"
        else jsonschema_rs.FancyRegexOptions(backtrack_limit=BACKTRACKS)
    )
    tried = branching(schema, schemas, MAX_EVALUATIONS)
    if tried.evaluations > MAX_EVALUATIONS:
        raise ValueError(
            f"the schema explodes at {tried.keyword}: one value may be tried {tried.evaluations:.3g} times, and "
            f"{MAX_EVALUATIONS} is the limit"
        )
    try:
        registry = jsonschema_rs.Registry(list(schemas.items()), retriever=_refuse) if schemas else None
        return Validation(
            make(
                schema,
                validate_formats=formats,
                retriever=_refuse,
                registry=registry,
                pattern_options=options,
            ),
            explained=tried.evaluations <= MAX_EXPLAINED,
        )
    except (ValueError, jsonschema_rs.ReferencingError) as error:
        raise ValueError(_told(error, patterns)) from None


def _told(error: Exception, patterns: str) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    message = " ".join(lines)[:500]
    if patterns == "linear" and _LOOK_AROUND.search(message) and "regex" in message:
        message += " (look-around and back-references need the parameter patterns: backtracking)"
    return f"the schema is not valid: {message}"
