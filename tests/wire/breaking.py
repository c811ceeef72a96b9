"""Changes of the protos that break whoever was built with the released ones, found in their descriptors.

    python -m tests.wire.breaking             # prints them; exit status 1 if there are any
    python -m tests.wire.breaking --release   # then writes what is released now: a step of a release
    python -m tests.wire.breaking --release --major   # the same, though it breaks

Reads the stubs' descriptors, so that no compiler is needed. The released ones are in protos/released.txtpb.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import (
    DescriptorProto,
    EnumDescriptorProto,
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
    MethodDescriptorProto,
    ServiceDescriptorProto,
)

from rewarden.v1 import rewarden_pb2
from rewarden_sandboxes.v1 import sandbox_pb2

RELEASED = Path(__file__).parents[2] / "protos/released.txtpb"
HEAD = """\
# The protos as they were last released, in protobuf's text form; tests hold the present ones against them.
# Written by `python -m tests.wire.breaking --release`, and by nobody's hand.
"""

_Element = TypeVar("_Element")


def current() -> FileDescriptorSet:
    """The descriptors of the stubs."""
    files = FileDescriptorSet()
    for stub in (rewarden_pb2, sandbox_pb2):
        stub.DESCRIPTOR.CopyToProto(files.file.add())
    return files


def released() -> FileDescriptorSet:
    """The descriptors of the last release."""
    return text_format.Parse(RELEASED.read_text(encoding="utf-8"), FileDescriptorSet())


def breaking(old: FileDescriptorSet, new: FileDescriptorSet) -> list[str]:
    """Returns what the new protos break, a line each. Elements go by their full names, in whatever file they are."""
    return [
        *_messages(_named(old, _messages_of), _named(new, _messages_of)),
        *_enums(_named(old, _enums_of), _named(new, _enums_of)),
        *_services(_named(old, _services_of), _named(new, _services_of)),
    ]


# --- elements by name ----------------------------------------------------------------------------------------------


def _named(files: FileDescriptorSet, elements: Any) -> dict[str, Any]:
    return {name: element for file in files.file for name, element in elements(file)}


def _messages_of(file: FileDescriptorProto) -> Iterator[tuple[str, DescriptorProto]]:
    waiting = [(file.package, message) for message in file.message_type]
    while waiting:
        scope, message = waiting.pop(0)
        name = f"{scope}.{message.name}"
        yield name, message
        waiting += [(name, nested) for nested in message.nested_type]


def _enums_of(file: FileDescriptorProto) -> Iterator[tuple[str, EnumDescriptorProto]]:
    scopes = [(file.package, file.enum_type), *((name, each.enum_type) for name, each in _messages_of(file))]
    for scope, enums in scopes:
        for enum in enums:
            yield f"{scope}.{enum.name}", enum


def _services_of(file: FileDescriptorProto) -> Iterator[tuple[str, ServiceDescriptorProto]]:
    for service in file.service:
        yield f"{file.package}.{service.name}", service


def _both(
    what: str, old: Mapping[str, _Element], new: Mapping[str, _Element], broken: list[str]
) -> Iterator[tuple[str, _Element, _Element]]:
    """Yields what both have; what only the old has is added to the broken."""
    for name, element in old.items():
        if name in new:
            yield name, element, new[name]
        else:
            broken.append(f"{what} {name} is gone")


# --- what breaks ---------------------------------------------------------------------------------------------------


def _messages(old: Mapping[str, DescriptorProto], new: Mapping[str, DescriptorProto]) -> list[str]:
    broken: list[str] = []
    for name, before, after in _both("message", old, new, broken):
        numbers = {field.number: field for field in after.field}
        names = {field.name: field for field in after.field}
        for field in before.field:
            full = f"{name}.{field.name}"
            same = numbers.get(field.number)
            if field.name in names and names[field.name].number != field.number:
                broken.append(f"field {full} has another number: {field.number} → {names[field.name].number}")
            elif same is None:
                broken.append(f"field {full} is gone")
            elif same.name != field.name:
                broken.append(f"field {full} has another name: {same.name}")
            else:
                broken += _field(full, _form(before, field), _form(after, same))
        # A message's ranges end before `end`.
        spans = [(span.start, span.end - 1) for span in before.reserved_range]
        kept = [(span.start, span.end - 1) for span in after.reserved_range]
        broken += _reserved(name, spans, kept, before.reserved_name, after.reserved_name, numbers.keys(), names)
    return broken


def _form(message: DescriptorProto, field: FieldDescriptorProto) -> dict[str, str]:
    kind = FieldDescriptorProto.Type.Name(field.type).removeprefix("TYPE_").lower()
    label = FieldDescriptorProto.Label.Name(field.label).removeprefix("LABEL_").lower()
    union = ""
    if field.HasField("oneof_index") and not field.proto3_optional:
        union = message.oneof_decl[field.oneof_index].name
    single = label != "repeated" and field.type != FieldDescriptorProto.TYPE_MESSAGE
    told = "told from its default" if field.proto3_optional or union else "not told from its default"
    return {
        "type": field.type_name.removeprefix(".") or kind,
        "label": label,
        "presence": told if single else "",
        "oneof": union or "none",
        "default": field.default_value or "none",
    }


def _field(name: str, old: Mapping[str, str], new: Mapping[str, str]) -> list[str]:
    return [f"field {name} has another {what}: {old[what]} → {new[what]}" for what in old if old[what] != new[what]]


def _enums(old: Mapping[str, EnumDescriptorProto], new: Mapping[str, EnumDescriptorProto]) -> list[str]:
    broken: list[str] = []
    for name, before, after in _both("enum", old, new, broken):
        numbers = {value.name: value.number for value in after.value}
        for value in before.value:
            if value.name not in numbers:
                broken.append(f"value {name}.{value.name} is gone")
            elif numbers[value.name] != value.number:
                broken.append(f"value {name}.{value.name} has another number: {value.number} → {numbers[value.name]}")
        spans = [(span.start, span.end) for span in before.reserved_range]
        kept = [(span.start, span.end) for span in after.reserved_range]
        broken += _reserved(name, spans, kept, before.reserved_name, after.reserved_name, numbers.values(), numbers)
    return broken


def _reserved(
    name: str,
    old_spans: Iterable[tuple[int, int]],
    new_spans: Iterable[tuple[int, int]],
    old_names: Iterable[str],
    new_names: Iterable[str],
    numbers: Iterable[int],
    names: Iterable[str],
) -> Iterator[str]:
    """Yields what is done with reserved numbers and names: reserved once, they stay so. Spans include both ends."""
    new_spans, numbers = list(new_spans), list(numbers)
    for low, high in old_spans:
        shown = str(low) if low == high else f"{low} to {high}"
        taken = [number for number in numbers if low <= number <= high]
        if taken:
            yield f"{name} uses {taken[0]}, which is reserved"
        elif not any(start <= low and high <= end for start, end in new_spans):
            yield f"{name} no longer reserves {shown}"
    for each in old_names:
        if each in set(names):
            yield f"{name} uses {each!r}, which is reserved"
        elif each not in set(new_names):
            yield f"{name} no longer reserves {each!r}"


def _services(old: Mapping[str, ServiceDescriptorProto], new: Mapping[str, ServiceDescriptorProto]) -> list[str]:
    broken: list[str] = []
    for name, before, after in _both("service", old, new, broken):
        methods = ({f"{name}.{method.name}": method for method in each.method} for each in (before, after))
        for full, was, now in _both("method", *methods, broken):
            if _signature(was) != _signature(now):
                broken.append(f"method {full} has another form: {_signature(was)} → {_signature(now)}")
    return broken


def _signature(method: MethodDescriptorProto) -> str:
    asked = ("stream " if method.client_streaming else "") + method.input_type.removeprefix(".")
    given = ("stream " if method.server_streaming else "") + method.output_type.removeprefix(".")
    return f"({asked}) returns ({given})"


def main() -> int:
    """0, or 1 if something breaks."""
    parser = argparse.ArgumentParser(prog="python -m tests.wire.breaking", description=__doc__.partition("\n")[0])
    parser.add_argument("--release", action="store_true", help="write what is released now")
    parser.add_argument("--major", action="store_true", help="even if it breaks")
    args = parser.parse_args()
    found = breaking(released(), current()) if RELEASED.exists() else []
    print("\n".join(found) or "nothing breaks")
    if found and not args.major:
        return 1
    if args.release:
        RELEASED.write_text(HEAD + text_format.MessageToString(current()), encoding="utf-8")
        print(f"wrote {RELEASED}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
