"""The schemas of `/openapi.json`, made from `rewarden.types` and the fields that exist only on the wire."""

from __future__ import annotations

import copy
from dataclasses import fields
from typing import Any

from rewarden.boxes.types import (
    BoxFile,
    BoxInfo,
    BoxLease,
    BoxRequest,
    BoxSnapshot,
    CellRequest,
    CellResult,
    ExecProgress,
    ExecRequest,
    ExecResult,
    ForkRequest,
    LeaseRequest,
    NotebookInfo,
    NotebookRequest,
    ScoreRequest,
    SnapshotRequest,
    StepBegun,
    StepRequest,
    Variable,
)
from rewarden.types import Batch, Group, Limits, Run, RunResult, Sample, Verdict
from rewarden.wire.json import VERDICT_FIELDS
from rewarden_server.boxes.settings import BoxSettings
from rewarden_verifiers.schema import json_schema

_LARGEST = 2**63 - 1

_BOX_REQUESTS = (
    BoxRequest,
    CellRequest,
    ExecRequest,
    ForkRequest,
    LeaseRequest,
    NotebookRequest,
    ScoreRequest,
    SnapshotRequest,
    StepRequest,
)
_BOX_ANSWERS = (
    BoxFile,
    BoxInfo,
    BoxLease,
    BoxSnapshot,
    CellResult,
    ExecProgress,
    ExecResult,
    NotebookInfo,
    StepBegun,
    Variable,
)

_OBJECT: dict[str, Any] = {"type": "object", "additionalProperties": True}
_NULL: dict[str, Any] = {"type": "null"}
_NAME: dict[str, Any] = {"type": "string", "minLength": 1}


def schemas(boxes: BoxSettings) -> dict[str, Any]:
    """Component schemas by name. `Header` is a batch without samples: the first line of a stream. `boxes`: their
    bounds."""
    found: dict[str, Any] = {}
    for kind in (Batch, Sample, Verdict, Group, Run, RunResult, *_BOX_REQUESTS, *_BOX_ANSWERS):
        schema = copy.deepcopy(json_schema(kind))
        found.update(schema.pop("$defs", {}))
        found[kind.__name__] = schema
    del found["BadSample"]  # never on the wire: a faulty row is sent as it is and returns as an error verdict
    found = {name: _as_on_the_wire(schema) for name, schema in found.items()}
    found["Use"] = _use(found["Use"]["description"])
    batch = found["Batch"]
    batch["properties"].update(_envelope())
    batch["required"] = ["samples"]
    header = copy.deepcopy(batch)
    del header["properties"]["samples"], header["required"]
    header["description"] = "A batch without its samples."
    found["Header"] = header
    for name, field in (("Verdict", "verdict"), ("Group", "group")):
        # Responses can gain fields: clients ignore unknown ones.
        found[name]["additionalProperties"] = True
        found[f"{name}Line"] = _exact({field: _ref(name)})
    found["Verdict"]["required"] = ["index", "status"]
    found["Run"]["properties"].update(_run())
    _of_boxes(found, boxes)
    found["RunResult"]["additionalProperties"] = True
    found["BatchResult"] = {
        **_exact({"verdicts": _list(_ref("Verdict")), "groups": _list(_ref("Group"))}),
        "description": "Verdicts in the request's order; groups in order of appearance.",
    }
    found["Error"] = _exact(
        {
            "error": _exact(
                {
                    "code": {"type": "string", "description": "Stable; snake_case."},
                    "message": {"type": "string", "description": "What is wrong, and how to fix it."},
                    "details": _OBJECT,
                }
            )
        }
    )
    found["Description"] = {**_OBJECT, "required": ["name", "kind", "available"], "properties": _description()}
    found["Job"] = {**_OBJECT, "required": ["id", "status"], "properties": _job()}
    found["TrainingRun"] = {**_OBJECT, "required": ["id", "name", "key", "verdicts"], "properties": _training_run()}
    found["Model"] = {**_OBJECT, "required": ["name", "state"], "properties": _model()}
    return found


def _of_boxes(found: dict[str, Any], settings: BoxSettings) -> None:
    """Adjusts the schemas of boxes to their form on the wire, and to the bounds in force."""
    content = _run()["stdin"]["anyOf"][0]
    output = {
        "type": "object",
        "properties": {"stdout": content, "stderr": content},
        "additionalProperties": True,
    }
    for kind in _BOX_ANSWERS:
        found[kind.__name__]["additionalProperties"] = True
    for name in ("BoxUsage", "ExecState"):
        found[name]["additionalProperties"] = True
    del found["ExecOutput"]
    found["ExecProgress"]["properties"]["output"] = _list(output)
    found["CellInterrupted"] = {
        **_OBJECT,
        "required": ["interrupted"],
        "properties": {"interrupted": {"type": "boolean"}},
    }
    found["ExecStarted"] = {**_OBJECT, "required": ["exec"], "properties": {"exec": {"type": "integer"}}}
    contents = {"anyOf": [{"type": "object", "additionalProperties": content}, _NULL]}
    found["BoxRequest"]["properties"]["files"] = contents
    found["ExecRequest"]["properties"]["stdin"] = {"anyOf": [content, _NULL]}
    found["ExecRequest"]["properties"]["limits"] = _run()["limits"]
    seconds = {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": settings.ttl_s_max}, _NULL]}
    for name in ("BoxRequest", "ForkRequest"):
        found[name]["properties"] |= {"ttl_s": seconds, "idle_s": seconds}
    most = {"memory_mb": settings.memory_mb_per_key, "disk_mb": settings.disk_mb_per_key}
    for name in found["BoxLimits"]["properties"]:
        whole = {"type": "integer", "minimum": 1, "maximum": most.get(name, _LARGEST)}
        found["BoxLimits"]["properties"][name] = {"anyOf": [whole, _NULL]}


def _model() -> dict[str, Any]:
    return {
        "name": _NAME,
        "model": {"type": "string", "description": "The name on the hub, or the base name of the folder or file."},
        "backend": {"enum": ["own", "vllm", "sglang"]},
        "state": {"type": "string", "description": "starting, ready, failed, remote (run elsewhere), …"},
        "problem": {"type": "string", "description": "Why it is not available."},
        "version": {
            "type": ["string", "null"],
            "description": "A digest of weights, revision and dtype; null if not known yet.",
        },
        "swaps": {"type": "integer", "description": "How often its weights were replaced."},
        "in_flight": {"type": "integer"},
        "about": {**_OBJECT, "description": "Kinds of tasks, context in tokens, labels, dtype, device."},
    }


def _run() -> dict[str, Any]:
    content = {
        "anyOf": [
            {"type": "string"},
            _exact({"base64": {"type": "string", "contentEncoding": "base64"}}),
        ],
        "description": "Text, or bytes in base64.",
    }
    seconds = {"anyOf": [{"type": "number", "exclusiveMinimum": 0}, _NULL]}
    count = {"anyOf": [{"type": "integer", "minimum": 1}, _NULL]}
    return {
        "stdin": {"anyOf": [content, _NULL]},
        "files": {"anyOf": [{"type": "object", "additionalProperties": content}, _NULL]},
        "limits": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        field.name: seconds if field.name.endswith("_s") else count for field in fields(Limits)
                    },
                    "additionalProperties": False,
                },
                _NULL,
            ],
            "description": "At most the sandbox's maximum, which `GET /v1/info` lists.",
        },
    }


def _job() -> dict[str, Any]:
    return {
        "id": _NAME,
        "status": {"enum": ["queued", "running", "finished", "failed"]},
        "created": {"type": "number", "description": "Seconds since the epoch."},
        "ended": {"type": ["number", "null"]},
        "message": {"type": ["string", "null"], "description": "Why it failed."},
        "rows": {"type": "integer"},
        "share": {"type": "number", "description": "The share of the input that is done, from 0 to 1."},
        "summary": {"type": ["object", "null"]},
        "asked": _OBJECT,
    }


def _training_run() -> dict[str, Any]:
    whole = {"type": "integer", "minimum": 0}
    seconds = {"type": "number", "description": "Seconds since the epoch."}
    names = _list({"type": "string"})
    return {
        "id": _NAME,
        "name": {"type": "string", "description": "`metadata.run` of its samples, or the name of their key."},
        "key": {"type": "string", "description": "The name of the key whose run it is."},
        "began": seconds,
        "latest": seconds,
        **dict.fromkeys(("verdicts", "scored", "unscored", "rollouts"), whole),
        "mean": {"type": ["number", "null"], "description": "The mean position of scores in their ranges, 0 to 1."},
        "cost_usd": {
            "type": "number",
            "description": "The cost of its judges in US dollars; 0 without a price.",
        },
        "axis": {"enum": ["step", "time"]},
        "last_step": {"type": ["integer", "null"]},
        "sources": names,
        "verifiers": names,
    }


def _ref(name: str) -> dict[str, Any]:
    return {"$ref": f"#/components/schemas/{name}"}


def _list(items: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "items": items}


def _exact(properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def _as_on_the_wire(schema: Any) -> Any:
    """Adjusts references to components, drops titles, which repeat names, and allows null for every optional field."""
    if isinstance(schema, list):
        return [_as_on_the_wire(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    made = {
        name: _as_on_the_wire(item) for name, item in schema.items() if name != "title" or not isinstance(item, str)
    }
    if "$ref" in made:
        made["$ref"] = made["$ref"].replace("#/$defs/", "#/components/schemas/")
    if isinstance(made.get("properties"), dict):
        required = made.get("required", [])
        for name, item in made["properties"].items():
            if name not in required and _NULL not in item.get("anyOf", ()) and ("type" in item or "$ref" in item):
                description = item.pop("description", None)
                made["properties"][name] = {"anyOf": [item, _NULL]} | (
                    {"description": description} if description else {}
                )
    return made


def _use(description: str) -> dict[str, Any]:
    params = {"anyOf": [_OBJECT, _NULL]}
    forms = (("name", _NAME, "recipe"), ("recipe", _OBJECT, "name"))
    return {
        "description": f"{description} A plain name can be given as a string.",
        "anyOf": [
            _NAME,
            *(
                {
                    "type": "object",
                    "properties": {one: schema, "params": params, other: _NULL},
                    "required": [one],
                    "additionalProperties": False,
                }
                for one, schema, other in forms
            ),
        ],
    }


def _envelope() -> dict[str, Any]:
    seconds = {"anyOf": [{"type": "number", "exclusiveMinimum": 0, "maximum": 1e9}, _NULL]}
    return {
        "samples": {
            "type": "array",
            "items": {
                "anyOf": [
                    _ref("Sample"),
                    {"description": "A row that is not a sample gets an `error` verdict in its place."},
                ]
            },
        },
        "shared": {
            "anyOf": [_OBJECT, _NULL],
            "description": 'Values that samples name by key. `{"$blob": "<sha256>"}` is replaced by that JSON.',
        },
        "progress": {
            "anyOf": [
                {
                    "type": "object",
                    "properties": {
                        "step": {"anyOf": [{"type": "integer", "minimum": 0, "maximum": _LARGEST}, _NULL]},
                        "total_steps": {"anyOf": [{"type": "integer", "minimum": 1, "maximum": _LARGEST}, _NULL]},
                    },
                    "additionalProperties": False,
                },
                _NULL,
            ]
        },
        "deadline_s": seconds,
        "group_deadline_s": seconds,
        "expect": {
            "anyOf": [{"type": "object", "additionalProperties": {"type": "string"}}, _NULL],
            "description": "The fingerprint, or NAME@VERSION, that each named verifier must have; 409 otherwise.",
        },
        "fields": {
            "anyOf": [_list({"type": "string", "enum": list(VERDICT_FIELDS)}), _NULL],
            "description": "Verdict fields to return (default: all). `index`, `status` and `id` are always returned.",
        },
    }


def _description() -> dict[str, Any]:
    text = {"type": "string"}
    return {
        "name": text,
        "kind": {"type": "string", "enum": ["verifier", "recipe"]},
        "plugin": {"type": ["string", "null"], "description": "The package that provides it; null for built-in ones."},
        "available": {"type": "boolean"},
        "problem": _exact({"reason": text, "message": text}),
        "version": text,
        "summary": text,
        "fingerprint": {"type": ["string", "null"], "description": "With default parameters."},
        "params_schema": _OBJECT,
        "reference_schema": _OBJECT,
        "cases": _list(_OBJECT),
    }
