"""Reads loosely typed values, such as parameters and references, and makes their JSON Schema: the one module that knows
Pydantic.
"""

from __future__ import annotations

import dataclasses
import inspect
import threading
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from pydantic import AfterValidator as AfterValidator  # for modules that must not know Pydantic
from pydantic import BeforeValidator as BeforeValidator
from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError, with_config

from rewarden.errors import InvalidParams, InvalidReference, near
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.preset import filled

Place = tuple[str | int, ...]
"""The path from a value to a nested value: fields, keys and indices."""

_KEY = "[key]"
"""Pydantic's last step to a key that an object may not have."""

_STRICT = ConfigDict(extra="forbid")
"""A misspelt parameter must not be silently ignored."""

_DESCRIBED = ConfigDict(extra="forbid", use_attribute_docstrings=True)
"""For schemas that are displayed. To find the docstrings of fields, Pydantic parses the source of the whole module,
which takes ten times as long as everything else.
"""

_building = threading.Lock()
"""Held while an adapter is built: its configuration is an attribute of the class."""


@lru_cache(maxsize=1024)
def _adapter(annotation: Any, *, described: bool = False) -> TypeAdapter[Any]:
    if not dataclasses.is_dataclass(annotation):
        return TypeAdapter(annotation)
    with _building:
        return TypeAdapter(with_config(_DESCRIBED if described else _STRICT)(cast(type, annotation)))


@lru_cache(maxsize=1024)
def _strict_adapter(annotation: Any) -> TypeAdapter[Any]:
    """Rejects unknown fields of nested dataclasses as well."""
    if dataclasses.is_dataclass(annotation):
        return _adapter(cast(type, annotation))
    return TypeAdapter(annotation, config=_STRICT)


_UNKNOWN = "{}: there is no such field"


class Misfit(ValueError):
    """A value does not fit its type.

    words: the expected value, in words that follow its path. Of the actual value only numbers are repeated: a text may
    be a secret, or come from a sample. path: from the root given to the reader; message: both.

    Validators of a type (`AfterValidator`) raise it too, with the words, and the path from their own value.
    """

    def __init__(self, words: str, path: str = "", message: str | None = None) -> None:
        self.words, self.path = words, path
        self.message = message or f"{path}{'' if words.startswith(':') else ' '}{words}"
        super().__init__(self.message)


def read(annotation: Any, value: Any, path: str, *, unknown: str = _UNKNOWN, table: str = "an object") -> Any:
    """Converts a loosely typed value, such as one from JSON or TOML, to its type: objects become dataclasses without
    unknown fields, numbers can also come from texts, and booleans and numbers are never taken for each other.

    unknown: the message for an unknown field. table: the name for an object where the value comes from. Raises Misfit
    for the first mistake.
    """
    try:
        made = _strict_adapter(annotation).validate_python(value)
    except ValidationError as error:
        raise _misfit(error, annotation, path, unknown, table) from None
    for place, item in _confused(value, made, ()):
        where, kind = _at(annotation, place, path)
        raise Misfit(f"must be {_words(kind, table)}{_shown(item, table)}", where)
    return made


def _confused(value: Any, made: Any, place: Place) -> Iterator[tuple[Place, Any]]:
    """The places where Pydantic took true for 1, or 1 for true."""
    # What Pydantic passes on as it is needs no look: references can hold a hundred thousand texts.
    if isinstance(value, Mapping):
        for key, item in value.items():
            inner = made.get(key) if isinstance(made, Mapping) else getattr(made, key, None)
            if inner is not item:
                yield from _confused(item, inner, (*place, key))
    elif isinstance(value, list) and isinstance(made, (list, tuple)):
        for index, (item, inner) in enumerate(zip(value, made, strict=False)):
            if inner is not item:
                yield from _confused(item, inner, (*place, index))
    elif {type(value), type(made)} in ({bool, int}, {bool, float}):
        yield place, value


_BOUNDS: Mapping[str, str] = {
    "greater_than": "above {gt}",
    "greater_than_equal": "at least {ge}",
    "less_than": "below {lt}",
    "less_than_equal": "at most {le}",
    "finite_number": "finite",
}
"""The words for limits, by Pydantic's error types."""


def _misfit(
    error: ValidationError, annotation: Any, path: str, unknown: str = _UNKNOWN, table: str = "an object"
) -> Misfit:
    # Of a union's errors, the deepest one belongs to the member that was meant.
    first = max(error.errors(include_url=False), key=lambda found: len(found["loc"]))
    place, context = first["loc"], first.get("ctx", {})
    where, kind = _at(annotation, place, path)
    above, parent = _at(annotation, place[:-1], path)
    if place[-1:] == (_KEY,) and get_origin(kind) is Literal:
        keys = list(map(str, get_args(kind)))
        return Misfit("is unknown", where, unknown.format(where) + near(str(place[-2]), keys))
    if first["type"] == "unexpected_keyword_argument":
        known = list(_hints(_bare(parent)))
        message = unknown.format(where) + near(str(place[-1]), known, otherwise="")
        return Misfit("is unknown", where, message)
    if first["type"] == "missing":
        message = f"{above}: {place[-1]} is missing" + (f": {said}" if (said := _said_of(kind)) else "")
        return Misfit("is missing", where, message)
    if first["type"] == "value_error":
        inner = context["error"]
        words, below = (inner.words, inner.path) if isinstance(inner, Misfit) else (f": {inner}", "")
        return Misfit(words, where + below)
    if first["type"] in ("string_type", "string_too_short") and _holds_texts(parent):
        return Misfit(f"must be {_words(parent, table)}", above)
    if first["type"] in _BOUNDS:
        wanted = _BOUNDS[first["type"]].format_map({name: f"{bound:.15g}" for name, bound in context.items()})
    else:
        wanted = _words(kind, table) or first["msg"].removeprefix("Input should be ")
    if first["type"] == "literal_error" and isinstance(first["input"], str):  # a text is right, but not this one
        return Misfit(
            f"must be {wanted}{near(first['input'], list(map(str, get_args(_bare(kind)))), otherwise='')}", where
        )
    return Misfit(f"must be {wanted}{_shown(first['input'], table)}", where)


def _shown(value: Any, table: str) -> str:
    if isinstance(value, (bool, float)) or (isinstance(value, int) and abs(value) < 2**63):
        return f", not {str(value).lower()}"
    kinds: Mapping[type, str] = {str: "a string", dict: table, list: "a list"}
    return f", not {kinds[type(value)]}" if value and type(value) in kinds else ""


def _at(annotation: Any, place: Place, path: str) -> tuple[str, Any]:
    """Returns the path of a place, and the annotation of what stands there."""
    keys: Any = Any
    for part in place:
        bare = _bare(annotation)
        origin, arguments = get_origin(bare), get_args(bare)
        if origin in (Union, UnionType):  # the name of its member that was meant, which is no place
            name = str(part).partition("[")[0]
            annotation = next((one for one in arguments if getattr(_bare(one), "__name__", "") == name), Any)
            continue
        if part == _KEY:  # the key of an object, whose value `annotation` is about
            annotation = keys
            continue
        keys = arguments[0] if arguments else Any
        if dataclasses.is_dataclass(bare):
            annotation = _hints(cast(type, bare)).get(str(part), Any)
        else:
            annotation = arguments[0 if isinstance(part, int) else -1] if arguments else Any
        path += f"[{part}]" if isinstance(part, int) else f".{part}" if path else part
    return path, annotation


@lru_cache(maxsize=1024)
def _hints(kind: type) -> Mapping[str, Any]:
    """The annotations of a dataclass. Cached: every row of a data set may be invalid, and evaluating them takes two
    milliseconds each time.
    """
    return get_type_hints(kind, include_extras=True)


def _bare(annotation: Any) -> Any:
    """An annotation without its metadata, and without None."""
    if get_origin(annotation) is Annotated:
        return _bare(annotation.__origin__)
    members = [one for one in get_args(annotation) if one is not type(None)]
    return _bare(members[0]) if get_origin(annotation) in (Union, UnionType) and len(members) == 1 else annotation


def _said_of(annotation: Any) -> str:
    """The description of values that an annotation carries (`doc`)."""
    if get_origin(annotation) is Annotated:
        own = (getattr(one, "documentation", "") for one in annotation.__metadata__)
        return next(filter(None, own), "") or _said_of(annotation.__origin__)
    optional = get_origin(annotation) in (Union, UnionType)
    return next(filter(None, map(_said_of, get_args(annotation))), "") if optional else ""


_KINDS: Mapping[Any, str] = {
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    str: "a string",
    Path: "a path",
}


def _words(annotation: Any, table: str) -> str:
    """Describes the values of an annotation; empty if there is no description."""
    bare = _bare(annotation)
    if said := _said_of(annotation):
        return said
    if get_origin(bare) is Literal:
        return "one of " + ", ".join(map(str, get_args(bare)))
    if get_origin(bare) in (Union, UnionType):
        return " or ".join(filter(None, (_words(one, table) for one in get_args(bare))))
    of = " of strings" if _holds_texts(annotation) else ""
    if get_origin(bare) in (tuple, list):
        return f"a list{of}"
    if dataclasses.is_dataclass(bare) or get_origin(bare) in (dict, Mapping):
        return f"{table}{of}"
    return _KINDS.get(bare, "")


def _holds_texts(annotation: Any) -> bool:
    bare = _bare(annotation)
    if get_origin(bare) in (tuple, list):
        return _bare(get_args(bare)[0]) is str
    return get_origin(bare) in (dict, Mapping) and _bare(get_args(bare)[1]) is str


def parse_params(spec: VerifierSpec, params: Mapping[str, Any]) -> Any:
    """The verifier's parameters as its own type, with defaults filled in; None if it takes none.

    Raises InvalidParams with the JSON path of the first invalid field and the accepted parameters; or with the path of
    a parameter that contradicts the requested preset.
    """
    if spec.params_type is None:
        if params:
            raise InvalidParams(f"verifier {spec.name!r} takes no parameters", path=f"params.{next(iter(params))}")
        return None
    if not params and spec.source_text is not None:
        return spec.params_type()  # a recipe's parameters all have defaults, which were checked when it was loaded
    try:
        return _adapter(spec.params_type).validate_python(dict(filled(spec.params_type, params)))
    except ValidationError as error:
        misfit = _misfit(error, spec.params_type, "params")
        fields = ", ".join(field.name for field in dataclasses.fields(spec.params_type))
        message = f"verifier {spec.name!r}: {misfit.message} (it takes: {fields})"
        raise InvalidParams(message, path=misfit.path) from None


def parse_reference(spec: VerifierSpec, reference: Any) -> Any:
    """The reference as the type that the verifier's annotation gives. Raises InvalidReference with the JSON path."""
    if reference is None and spec.reference_required:
        raise InvalidReference(f"verifier {spec.name!r} needs a reference", path="reference")
    if reference is None or spec.reference_type is Any:
        return reference
    try:
        made = _adapter(spec.reference_type).validate_python(reference)
    except ValidationError as error:
        misfit = _misfit(error, spec.reference_type, "reference")
        raise InvalidReference(f"verifier {spec.name!r}: {misfit.message}", path=misfit.path) from None
    if made is reference:
        return made
    for place, item in _confused(reference, made, ()):
        # Attack: "1" as the answer to every row whose reference is true.
        if isinstance(item, bool):
            where, _ = _at(Any, place, "reference")
            raise InvalidReference(f"verifier {spec.name!r}: {where} must not be true or false", path=where)
    return made


def json_schema(annotation: Any) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a type; `{}` (anything) for types that have none."""
    try:
        return _adapter(annotation, described=True).json_schema()
    except PydanticUserError:
        return {}


def params_schema(spec: VerifierSpec) -> dict[str, Any]:
    """The JSON Schema of a verifier's parameters."""
    if spec.params_type is None:
        return {"type": "object", "properties": {}, "additionalProperties": False}
    schema = json_schema(spec.params_type)
    for name, meaning in field_meanings(spec.params_type).items():
        if name in schema.get("properties", {}):
            schema["properties"][name].setdefault("description", meaning)
    return schema


def field_meanings(annotation: type) -> dict[str, str]:
    """Returns the descriptions of fields in a dataclass's docstring, in paragraphs that begin with `name:` or `name,
    name:`; for inherited fields, those in the base class's docstring.
    """
    names = {field.name for field in dataclasses.fields(annotation)} if dataclasses.is_dataclass(annotation) else set()
    meanings: dict[str, str] = {}
    for one in reversed(annotation.__mro__):
        if dataclasses.is_dataclass(one):
            meanings |= _said(one.__doc__ or "", names)
    return meanings


def _said(doc: str, names: set[str]) -> dict[str, str]:
    meanings: dict[str, str] = {}
    current: list[str] = []
    for line in inspect.cleandoc(doc).splitlines():
        head, colon, rest = line.partition(":")
        listed = [name.strip(" `") for name in head.split(",")]
        if colon and all(name in names for name in listed):
            current = listed
            meanings.update(dict.fromkeys(listed, rest.strip()))
        elif not line.strip():
            current = []
        elif current:
            meanings.update({name: f"{meanings[name]} {line.strip()}" for name in current})
    return meanings


def reference_schema(spec: VerifierSpec) -> dict[str, Any]:
    """The JSON Schema of a verifier's reference; `{}` if it accepts anything or reads none."""
    return json_schema(spec.reference_type)
