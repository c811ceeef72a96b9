"""Validation and JSON Schema of references and parameters: the one module that knows Pydantic."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, cast

from pydantic import ConfigDict, PydanticUserError, TypeAdapter, ValidationError, with_config

from rewarden.errors import InvalidParams, InvalidReference
from rewarden_verifiers.contract import VerifierSpec


@lru_cache(maxsize=1024)
def _adapter(annotation: Any) -> TypeAdapter[Any]:
    if dataclasses.is_dataclass(annotation):
        # A misspelt parameter must not be silently ignored.
        annotation = with_config(ConfigDict(extra="forbid", use_attribute_docstrings=True))(cast(type, annotation))
    return TypeAdapter(annotation)


def _message(error: ValidationError, root: str) -> tuple[str, str]:
    # Of a union's errors, the one that went deepest is of the form that was meant.
    first = max(error.errors(include_url=False, include_input=False), key=lambda found: len(found["loc"]))
    path = root + "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"])
    if first["type"] == "unexpected_keyword_argument":
        return path, f"{path}: there is no such field"
    return path, f"{path}: {first['msg']}"


def parse_params(spec: VerifierSpec, params: Mapping[str, Any]) -> Any:
    """The verifier's parameters as its own type, defaults filled in; None where it takes none.

    Raises InvalidParams with the JSON path of the first field at fault, and what the verifier does accept.
    """
    if spec.params_type is None:
        if params:
            raise InvalidParams(f"verifier {spec.name!r} takes no parameters", path=f"params.{next(iter(params))}")
        return None
    try:
        return _adapter(spec.params_type).validate_python(dict(params))
    except ValidationError as error:
        path, message = _message(error, "params")
        fields = ", ".join(f.name for f in dataclasses.fields(spec.params_type))
        raise InvalidParams(f"verifier {spec.name!r}: {message} (it takes: {fields})", path=path) from None


def parse_reference(spec: VerifierSpec, reference: Any) -> Any:
    """The reference as the verifier's annotation has it. Raises InvalidReference with the JSON path."""
    if reference is None and spec.reference_required:
        raise InvalidReference(f"verifier {spec.name!r} needs a reference", path="reference")
    if reference is None or spec.reference_type is Any:
        return reference
    try:
        return _adapter(spec.reference_type).validate_python(reference)
    except ValidationError as error:
        path, message = _message(error, "reference")
        raise InvalidReference(f"verifier {spec.name!r}: {message}", path=path) from None


def json_schema(annotation: Any) -> dict[str, Any]:
    """The JSON Schema (2020-12) of a type; `{}` (anything) for types that have none."""
    try:
        return _adapter(annotation).json_schema()
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
    """Returns what a dataclass's docstring says of its fields, in paragraphs that begin with `name:` or `name, name:`;
    of those that it inherits, what the base's says.
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
    """The JSON Schema of a verifier's reference; `{}` where anything goes or none is read."""
    return json_schema(spec.reference_type)
