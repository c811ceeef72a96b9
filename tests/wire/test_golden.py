"""The wires write what they wrote when golden/ was made, and read it back. Everything on them has golden bytes."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor import FieldDescriptor
from google.protobuf.message import Message

from rewarden import types
from rewarden.errors import REQUEST_ERRORS
from rewarden.wire import json as wire
from rewarden.wire import protobuf
from tests.wire import golden

ANEW = "a wire has changed; if CONTRIBUTING.md allows it: make golden"
JSON = golden.json_forms()
MESSAGES = golden.messages()
OLD_JSON = golden.golden_json()
OLD_MESSAGES = golden.golden_messages()
READ_JSON = golden.written(wire, "_from_json")
READ_MESSAGES = golden.written(protobuf, "_from_message")


# --- the bytes -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", JSON)
def test_json_is_written_as_it_was(name: str) -> None:
    assert JSON[name] == OLD_JSON.get(name), ANEW


@pytest.mark.parametrize("name", MESSAGES)
def test_a_message_is_written_as_it_was(name: str) -> None:
    assert golden.data(MESSAGES[name]) == OLD_MESSAGES.get(name, ("", None))[1], ANEW


def test_nothing_on_record_is_written_no_more() -> None:
    assert (OLD_JSON.keys(), OLD_MESSAGES.keys()) == (JSON.keys(), MESSAGES.keys()), ANEW


def test_the_standard_library_writes_the_same_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wire, "_msgspec", None)
    assert golden.json_forms() == OLD_JSON


@pytest.mark.parametrize("name", MESSAGES)
def test_the_text_beside_the_bytes_says_what_they_say(name: str) -> None:
    shown, _ = OLD_MESSAGES[name]
    assert text_format.Parse(shown, type(MESSAGES[name])()) == MESSAGES[name]


def test_the_files_are_what_the_command_writes() -> None:
    assert {path: path.read_text(encoding="utf-8") for path in (golden.JSON, golden.PROTOBUF)} == golden.as_text(), ANEW


# --- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [name for name in JSON if not name.startswith("error")])
def test_golden_json_is_read_as_what_was_written(name: str) -> None:
    kind, _, title = name.partition(": ")
    assert READ_JSON[kind](wire.loads(OLD_JSON[name])) == golden.TYPES[kind][title]


@pytest.mark.parametrize("code", sorted(REQUEST_ERRORS))
def test_a_golden_error_is_read_as_what_was_written(code: str) -> None:
    error = wire.error_from_json(wire.loads(OLD_JSON[f"error: {code}"]))
    assert (type(error), error.message) == (REQUEST_ERRORS[code], f"What was wrong: {code}.")
    assert error.details == {"path": "samples[0].response"}


@pytest.mark.parametrize("name", [name for name in MESSAGES if ": " in name])
def test_a_golden_message_is_read_as_what_was_written(name: str) -> None:
    kind, _, title = name.partition(": ")
    message = type(MESSAGES[name]).FromString(OLD_MESSAGES[name][1])
    assert READ_MESSAGES[kind](message) == golden.TYPES[kind][title]


# --- nothing is left out -------------------------------------------------------------------------------------------


def test_every_function_that_writes_a_form_has_instances() -> None:
    assert golden.written(wire, "_to_json").keys() == golden.TYPES.keys()
    assert golden.written(protobuf, "_to_message").keys() <= golden.TYPES.keys()


def held(value: Any) -> Iterator[Any]:
    """Yields a value and every dataclass that it holds."""
    if dataclasses.is_dataclass(value):
        yield value
        value = [getattr(value, field.name) for field in dataclasses.fields(value)]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        for item in value:
            yield from held(item)


def default(field: dataclasses.Field[Any]) -> Any:
    """The value of a field that nobody has given one; MISSING where somebody must."""
    return field.default if field.default_factory is dataclasses.MISSING else field.default_factory()


def test_every_field_of_every_type_differs_from_its_default_somewhere() -> None:
    told = {
        f"{type(each).__name__}.{field.name}"
        for each in held([list(instances.values()) for instances in golden.TYPES.values()])
        for field in dataclasses.fields(each)
        if getattr(each, field.name) != default(field)
    }
    public = [each for each in vars(types).values() if dataclasses.is_dataclass(each) and each is not types.BadSample]
    assert {f"{each.__name__}.{field.name}" for each in public for field in dataclasses.fields(each)} == told


def fields_set(message: Message) -> Iterator[FieldDescriptor]:
    """Yields every field that is set in a message, or in those within it; of maps only the values' fields."""
    for field, value in message.ListFields():
        yield field
        if field.message_type is None:
            continue
        inner = (
            (value.values() if field.message_type.GetOptions().map_entry else value)
            if golden.is_repeated(field)
            else [value]
        )
        for item in inner:
            if isinstance(item, Message):
                yield from fields_set(item)


def test_every_message_of_the_protos_has_golden_bytes_with_each_field_set() -> None:
    every = {
        field.full_name
        for file in golden.FILES
        for descriptor in golden.message_types(file)
        for field in descriptor.fields
    }
    assert {field.full_name for message in MESSAGES.values() for field in fields_set(message)} == every
    told = {message.DESCRIPTOR.full_name for message in MESSAGES.values()}
    assert {each.full_name for file in golden.FILES for each in golden.message_types(file)} == told


def test_the_types_cross_with_every_field_of_their_messages() -> None:
    """A field that the codec never writes would be held by no byte of it. Messages of other calls are left out."""
    codec = [message for name, message in MESSAGES.items() if ": " in name]
    reached = {field.full_name for message in codec for field in fields_set(message)}
    of_messages = {field.containing_type.full_name for message in codec for field in fields_set(message)}
    every = {
        field.full_name
        for descriptor in golden.message_types(golden.FILES[0])
        if descriptor.full_name in of_messages
        for field in descriptor.fields
    }
    assert every - reached == set()
