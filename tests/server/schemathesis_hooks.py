"""Instructions for Schemathesis: how newline-delimited JSON is made and read, and which numbers are whole."""

from __future__ import annotations

import json
from typing import Any

import schemathesis
from hypothesis import strategies as st

_ROW = {"response": "A", "reference": "A", "use": "same"}
_RECIPE = {"uses": {"answer": "same"}, "score": "answer.score"}

schemathesis.openapi.media_type(
    "application/x-ndjson",
    st.lists(st.one_of(st.just(_ROW), st.dictionaries(st.text(max_size=5), st.integers(), max_size=2)), max_size=4).map(
        lambda rows: b"\n".join(json.dumps(row).encode() for row in [{"batch": {"use": "same"}}, *rows])
    ),
)


@schemathesis.deserializer("application/x-ndjson")
def lines(context: schemathesis.DeserializationContext, response: schemathesis.Response) -> str:
    """The body as the document describes it: a text."""
    return response.text


@schemathesis.hook
def map_case(context: schemathesis.HookContext, case: schemathesis.Case) -> schemathesis.Case:
    """Gives the body what no schema can ask for: 1 and not 1.0 in `progress`, an `expect` that names the fingerprint
    in force, a verifier that there is, and an inline recipe that can be read.
    """
    body = case.body
    if not isinstance(body, dict):
        return case
    made = dict(body)
    if isinstance(progress := body.get("progress"), dict):
        made["progress"] = {
            name: int(n) if isinstance(n, float) and n.is_integer() else n for name, n in progress.items()
        }
    if isinstance(expect := body.get("expect"), dict) and all(isinstance(item, str) for item in expect.values()):
        made["expect"] = {}
    if body.get("use"):
        made["use"] = _known(body["use"])
    case.body = made
    return case


def _known(use: Any) -> Any:
    if isinstance(use, str):
        return "same"
    if not isinstance(use, dict):
        return use
    made = dict(use)
    if use.get("name") and isinstance(use["name"], str):
        made["name"] = "same"
    if isinstance(use.get("recipe"), dict):
        made["recipe"] = _RECIPE
    if isinstance(use.get("params"), dict):
        made["params"] = {}
    return made
