"""The protos break nobody who was built with the released ones; and each way of breaking them is found."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet

from tests.wire import golden
from tests.wire.breaking import breaking, current, released

PROTOS = Path(__file__).parents[2] / "protos"

# message M {
#   reserved 9, 11 to 12; reserved "old";
#   message Inner { string word = 1; }
#   optional string name = 1; int64 count = 2; oneof form { string text = 3; bytes data = 4; }
#   repeated string tags = 5; Inner inner = 6; Kind kind = 7;
# }
# enum Kind { reserved 5; reserved "GONE"; PLAIN = 0; FANCY = 1; }
# service Asked { rpc Ask(M) returns (stream M.Inner); }
BEFORE = """
package: "p"
message_type {
  name: "M"
  nested_type { name: "Inner" field { name: "word" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING } }
  field { name: "name" number: 1 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 1 proto3_optional: true }
  field { name: "count" number: 2 label: LABEL_OPTIONAL type: TYPE_INT64 }
  field { name: "text" number: 3 label: LABEL_OPTIONAL type: TYPE_STRING oneof_index: 0 }
  field { name: "data" number: 4 label: LABEL_OPTIONAL type: TYPE_BYTES oneof_index: 0 }
  field { name: "tags" number: 5 label: LABEL_REPEATED type: TYPE_STRING }
  field { name: "inner" number: 6 label: LABEL_OPTIONAL type: TYPE_MESSAGE type_name: ".p.M.Inner" }
  field { name: "kind" number: 7 label: LABEL_OPTIONAL type: TYPE_ENUM type_name: ".p.Kind" }
  oneof_decl { name: "form" }
  oneof_decl { name: "_name" }
  reserved_range { start: 9 end: 10 }
  reserved_range { start: 11 end: 13 }
  reserved_name: "old"
}
enum_type {
  name: "Kind"
  value { name: "PLAIN" number: 0 }
  value { name: "FANCY" number: 1 }
  reserved_range { start: 5 end: 5 }
  reserved_name: "GONE"
}
service {
  name: "Asked"
  method { name: "Ask" input_type: ".p.M" output_type: ".p.M.Inner" server_streaming: true }
}
syntax: "proto3"
"""

ASK = "(p.M) returns (stream p.M.Inner)"

Change = Callable[[FileDescriptorProto], object]


def found(change: Change) -> list[str]:
    """Returns what a change of the proto above breaks."""
    before, after = FileDescriptorSet(), FileDescriptorSet()
    for files in (before, after):
        text_format.Parse(BEFORE, files.file.add())
    change(after.file[0])
    return breaking(before, after)


def field(file: FileDescriptorProto, name: str) -> FieldDescriptorProto:
    """The field of this name of M."""
    return next(each for each in file.message_type[0].field if each.name == name)


def drop(file: FileDescriptorProto, name: str) -> None:
    """Take a field of M away."""
    file.message_type[0].field.remove(field(file, name))


def add(file: FileDescriptorProto, name: str, number: int) -> None:
    """Give M another field."""
    file.message_type[0].field.add(name=name, number=number, label="LABEL_OPTIONAL", type="TYPE_STRING")


def untell(file: FileDescriptorProto) -> None:
    """Make `name` a field whose absence is its default."""
    field(file, "name").ClearField("proto3_optional")
    field(file, "name").ClearField("oneof_index")


def swap(file: FileDescriptorProto) -> None:
    """Exchange the numbers of two fields."""
    field(file, "text").number, field(file, "data").number = 4, 3


BREAKS: dict[str, tuple[Change, list[str]]] = {
    "a field is gone": (lambda f: drop(f, "count"), ["field p.M.count is gone"]),
    "a field has another number": (
        lambda f: setattr(field(f, "count"), "number", 8),
        ["field p.M.count has another number: 2 → 8"],
    ),
    "a field has another name": (
        lambda f: setattr(field(f, "count"), "name", "total"),
        ["field p.M.count has another name: total"],
    ),
    "two fields change places": (
        swap,
        ["field p.M.text has another number: 3 → 4", "field p.M.data has another number: 4 → 3"],
    ),
    "a field has another type": (
        lambda f: setattr(field(f, "count"), "type", FieldDescriptorProto.TYPE_INT32),
        ["field p.M.count has another type: int64 → int32"],
    ),
    "a field holds another message": (
        lambda f: setattr(field(f, "inner"), "type_name", ".p.M"),
        ["field p.M.inner has another type: p.M.Inner → p.M"],
    ),
    "a field becomes a list": (
        lambda f: setattr(field(f, "inner"), "label", FieldDescriptorProto.LABEL_REPEATED),
        ["field p.M.inner has another label: optional → repeated"],
    ),
    "a list becomes a field": (
        lambda f: setattr(field(f, "inner"), "label", FieldDescriptorProto.LABEL_REQUIRED),
        ["field p.M.inner has another label: optional → required"],
    ),
    "absence is no longer told": (
        untell,
        ["field p.M.name has another presence: told from its default → not told from its default"],
    ),
    "a field joins a oneof": (
        lambda f: setattr(field(f, "inner"), "oneof_index", 0),
        ["field p.M.inner has another oneof: none → form"],
    ),
    "a field leaves its oneof": (
        lambda f: field(f, "data").ClearField("oneof_index"),
        [
            "field p.M.data has another presence: told from its default → not told from its default",
            "field p.M.data has another oneof: form → none",
        ],
    ),
    "a default changes": (
        lambda f: setattr(field(f, "count"), "default_value", "3"),
        ["field p.M.count has another default: none → 3"],
    ),
    "a message is gone": (
        lambda f: f.message_type.pop(),
        ["message p.M is gone", "message p.M.Inner is gone"],
    ),
    "a message within another is gone": (
        lambda f: f.message_type[0].nested_type.pop(),
        ["message p.M.Inner is gone"],
    ),
    "a field of a message within another is gone": (
        lambda f: f.message_type[0].nested_type[0].field.pop(),
        ["field p.M.Inner.word is gone"],
    ),
    "the package has another name": (
        lambda f: setattr(f, "package", "q"),
        ["message p.M is gone", "message p.M.Inner is gone", "enum p.Kind is gone", "service p.Asked is gone"],
    ),
    "a reserved number is used": (lambda f: add(f, "fresh", 12), ["p.M uses 12, which is reserved"]),
    "a reserved name is used": (lambda f: add(f, "old", 20), ["p.M uses 'old', which is reserved"]),
    "numbers are no longer reserved": (
        lambda f: f.message_type[0].reserved_range.pop(),
        ["p.M no longer reserves 11 to 12"],
    ),
    "a number of a range is no longer reserved": (
        lambda f: setattr(f.message_type[0].reserved_range[1], "end", 12),
        ["p.M no longer reserves 11 to 12"],
    ),
    "a name is no longer reserved": (
        lambda f: f.message_type[0].ClearField("reserved_name"),
        ["p.M no longer reserves 'old'"],
    ),
    "an enum is gone": (lambda f: f.ClearField("enum_type"), ["enum p.Kind is gone"]),
    "a value is gone": (lambda f: f.enum_type[0].value.pop(), ["value p.Kind.FANCY is gone"]),
    "a value has another number": (
        lambda f: setattr(f.enum_type[0].value[1], "number", 2),
        ["value p.Kind.FANCY has another number: 1 → 2"],
    ),
    "a value uses a reserved number": (
        lambda f: f.enum_type[0].value.add(name="FRESH", number=5),
        ["p.Kind uses 5, which is reserved"],
    ),
    "a value's name is no longer reserved": (
        lambda f: f.enum_type[0].ClearField("reserved_name"),
        ["p.Kind no longer reserves 'GONE'"],
    ),
    "a service is gone": (lambda f: f.service.pop(), ["service p.Asked is gone"]),
    "a method is gone": (lambda f: f.service[0].method.pop(), ["method p.Asked.Ask is gone"]),
    "a method takes something else": (
        lambda f: setattr(f.service[0].method[0], "input_type", ".p.M.Inner"),
        [f"method p.Asked.Ask has another form: {ASK} → (p.M.Inner) returns (stream p.M.Inner)"],
    ),
    "a method no longer streams": (
        lambda f: setattr(f.service[0].method[0], "server_streaming", False),
        [f"method p.Asked.Ask has another form: {ASK} → (p.M) returns (p.M.Inner)"],
    ),
}  # fmt: skip

ALLOWED: dict[str, Change] = {
    "nothing": lambda f: None,
    "a field is added": lambda f: add(f, "fresh", 8),
    "fields stand in another order": lambda f: f.message_type[0].field.sort(key=lambda each: each.name),
    "more is reserved": lambda f: setattr(f.message_type[0].reserved_range[1], "end", 20),
    "a message is added": lambda f: f.message_type.add(name="Fresh"),
    "a value is added": lambda f: f.enum_type[0].value.add(name="FRESH", number=2),
    "a service and a method are added": lambda f: f.service.add(name="Fresh").method.add(name="Do", input_type=".p.M"),
    "a method is added": lambda f: f.service[0].method.add(name="Do", input_type=".p.M", output_type=".p.M"),
    "an alternative is added": lambda f: f.message_type[0].field.add(name="other", number=8, oneof_index=0),
}


@pytest.mark.parametrize("change", BREAKS)
def test_what_breaks_is_told(change: str) -> None:
    made, said = BREAKS[change]
    assert found(made) == said


@pytest.mark.parametrize("change", ALLOWED)
def test_what_breaks_nobody_is_not(change: str) -> None:
    assert found(ALLOWED[change]) == []


def test_a_message_may_move_to_another_file() -> None:
    before, after = FileDescriptorSet(), FileDescriptorSet()
    text_format.Parse(BEFORE, before.file.add())
    text_format.Parse(BEFORE, after.file.add())
    after.file.add(package="p").enum_type.append(after.file[0].enum_type.pop())
    assert breaking(before, after) == []


def test_the_protos_break_nobody_since_the_last_release() -> None:
    assert breaking(released(), current()) == []


def test_every_message_and_method_of_today_is_looked_at() -> None:
    """Against nothing at all, all that was released is gone."""
    gone = breaking(released(), FileDescriptorSet())
    assert {"message rewarden.v1.Verdict is gone", "message rewarden_sandbox.v1.Job is gone"} <= set(gone)
    assert {"service rewarden.v1.RewardService is gone", "service rewarden_sandbox.v1.SandboxHost is gone"} <= set(gone)


def test_the_stubs_say_what_the_protos_say() -> None:
    """The descriptors that are compared come from the stubs: `make protos` was run."""
    for path, file in zip(
        ("rewarden/v1/rewarden.proto", "rewarden_sandbox/v1/sandbox.proto"), golden.FILES, strict=True
    ):
        text = re.sub(r"//.*", "", (PROTOS / path).read_text(encoding="utf-8"))
        written = {
            name: set(re.findall(r"(\w+) = (\d+);", body))
            for name, body in re.findall(r"^message (\w+) \{(?:\}|(.*?)^\})", text, re.MULTILINE | re.DOTALL)
        }
        compiled = {
            each.name: {(one.name, str(one.number)) for one in each.fields} for each in golden.message_types(file)
        }
        assert written == compiled
        methods = {each.name for service in file.services_by_name.values() for each in service.methods}
        assert set(re.findall(r"rpc (\w+)\(", text)) == methods
