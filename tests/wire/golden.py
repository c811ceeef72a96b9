"""The golden bytes: every message of the wires, as it is written, in golden/. Run as a module, it writes them anew.

    python -m tests.wire.golden

A difference is a change of a wire. CONTRIBUTING.md says which changes a minor version may bring.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from google.protobuf import text_format
from google.protobuf.descriptor import Descriptor, FieldDescriptor, FileDescriptor
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from rewarden.v1 import rewarden_pb2
from rewarden.wire import json as wire
from rewarden.wire import protobuf
from rewarden_sandboxes.v1 import sandbox_pb2
from tests.wire import instances

FOLDER = Path(__file__).with_name("golden")
JSON, PROTOBUF = FOLDER / "json.txt", FOLDER / "protobuf.txt"
FILES: tuple[FileDescriptor, ...] = (rewarden_pb2.DESCRIPTOR, sandbox_pb2.DESCRIPTOR)

Instances = Mapping[str, Any]

TYPES: Mapping[str, Instances] = {
    "use": instances.USES,
    "sample": instances.SAMPLES,
    "header": instances.HEADERS,
    "batch": instances.BATCHES,
    "outcome": instances.OUTCOMES,
    "verdict": instances.VERDICTS,
    "group": instances.GROUPS,
    "result": instances.RESULTS,
    "run": instances.RUNS,
    "run_result": instances.RUN_RESULTS,
    "error": instances.ERRORS,
}
"""Instances by the NAME of the functions that write them: `NAME_to_json`, and `NAME_to_message` where there is one."""


def written(module: Any, suffix: str) -> dict[str, Callable[[Any], Any]]:
    """The functions of a wire module that write a form: the name before the suffix, to the function."""
    functions = {name: getattr(module, name) for name in vars(module) if not name.startswith("_")}
    return {name.removesuffix(suffix): made for name, made in functions.items() if name.endswith(suffix)}


def json_forms() -> dict[str, bytes]:
    """The JSON text of each instance."""
    forms = written(wire, "_to_json")
    return {
        f"{name}: {title}": wire.dumps(forms[name](instance))
        for name, of_type in TYPES.items()
        for title, instance in of_type.items()
    }


def messages() -> dict[str, Message]:
    """The message of each instance, and a filled one of every message of the protos."""
    forms = written(protobuf, "_to_message")
    made = {
        f"{name}: {title}": forms[name](instance)
        for name, of_type in TYPES.items()
        if name in forms
        for title, instance in of_type.items()
    }
    for file in FILES:
        for descriptor in message_types(file):
            made |= {f"{descriptor.full_name}{chosen}": message for chosen, message in filled(descriptor)}
    return made


def message_types(file: FileDescriptor) -> Iterator[Descriptor]:
    """Yields every message that a file declares, those within others included; entries of maps are none."""
    waiting = list(file.message_types_by_name.values())
    while waiting:
        descriptor = waiting.pop(0)
        if not descriptor.GetOptions().map_entry:
            yield descriptor
            waiting += descriptor.nested_types


def filled(descriptor: Descriptor) -> Iterator[tuple[str, Message]]:
    """Yields a message with every field set, once for each alternative of a oneof: its name, and the message.

    A field holds its name or number. Messages in it are empty: they have entries of their own.
    """
    alternatives = [each for each in descriptor.oneofs if not _is_optional(each)]
    plain = [field for field in descriptor.fields if field.containing_oneof not in alternatives]
    for chosen in [field for each in alternatives for field in each.fields] or [None]:
        message = GetMessageClass(descriptor)()
        for field in sorted([*plain, *([chosen] if chosen else [])], key=lambda field: field.number):
            _fill(message, field)
        yield f", {chosen.name}" if chosen else "", message


def _is_optional(oneof: Any) -> bool:
    # How the compiler writes `optional`: a oneof of its own.
    return len(oneof.fields) == 1 and oneof.name == f"_{oneof.fields[0].name}"


def _fill(message: Message, field: FieldDescriptor) -> None:
    held = getattr(message, field.name)
    if field.message_type is not None and field.message_type.GetOptions().map_entry:
        key, value = field.message_type.fields_by_name["key"], field.message_type.fields_by_name["value"]
        if value.message_type is None:
            held[_value(key)] = _value(value)
        else:
            held[_value(key)].SetInParent()
    elif field.message_type is not None:
        held.add() if is_repeated(field) else held.SetInParent()
    elif is_repeated(field):
        held.append(_value(field))
    else:
        setattr(message, field.name, _value(field))


def is_repeated(field: FieldDescriptor) -> bool:
    """Returns whether a field is a list or a map, by whatever this version of protobuf calls it."""
    told = getattr(field, "is_repeated", None)
    return bool(field.label == field.LABEL_REPEATED if told is None else told)


def _value(field: FieldDescriptor) -> Any:
    if field.enum_type is not None:
        return field.enum_type.values[-1].number
    values: dict[int, Any] = {
        FieldDescriptor.CPPTYPE_STRING: field.name.encode() if field.type == field.TYPE_BYTES else field.name,
        FieldDescriptor.CPPTYPE_BOOL: True,
        FieldDescriptor.CPPTYPE_DOUBLE: field.number + 0.5,
        FieldDescriptor.CPPTYPE_FLOAT: field.number + 0.5,
    }
    return values.get(field.cpp_type, field.number)


# --- the files ---------------------------------------------------------------------------------------------------


def data(message: Message) -> bytes:
    """The bytes of a message, the entries of its maps in order."""
    return message.SerializeToString(deterministic=True)


def as_text() -> dict[Path, str]:
    """The text of each file in golden/."""
    json = "".join(f"## {name}\n{form.decode()}\n" for name, form in json_forms().items())
    shown = "".join(
        f"## {name}\n{text_format.MessageToString(message, as_utf8=True)}{_hex(data(message))}"
        for name, message in messages().items()
    )
    return {JSON: json, PROTOBUF: shown}


def _hex(content: bytes) -> str:
    return "".join(f"= {content[at : at + 48].hex()}\n" for at in range(0, len(content), 48)) or "=\n"


def entries(path: Path) -> dict[str, str]:
    """The entries of a file in golden/ as they stand there: name to text."""
    found = re.split(r"^## (.+)\n", path.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return dict(zip(found[1::2], found[2::2], strict=True))


def golden_json() -> dict[str, bytes]:
    """The JSON texts that are on record."""
    return {name: text.removesuffix("\n").encode() for name, text in entries(JSON).items()}


def golden_messages() -> dict[str, tuple[str, bytes]]:
    """The messages that are on record: the text form, and the bytes."""
    found = {}
    for name, text in entries(PROTOBUF).items():
        lines = text.splitlines()
        shown = "\n".join(line for line in lines if not line.startswith("="))
        found[name] = shown, bytes.fromhex("".join(line[1:].strip() for line in lines if line.startswith("=")))
    return found


if __name__ == "__main__":
    for path, text in as_text().items():
        path.write_text(text, encoding="utf-8")
        print(f"wrote {path.relative_to(Path.cwd())}")
