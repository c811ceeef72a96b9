"""Instructions for Schemathesis: how newline-delimited JSON is made and read, and which numbers are whole."""

from __future__ import annotations

import json
from typing import Any

import schemathesis
from hypothesis import strategies as st

_ROW = {"response": "A", "reference": "A", "use": "same"}

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
def map_body(context: schemathesis.HookContext, body: Any) -> Any:
    """Returns what no schema can ask for: 1 and not 1.0 in `progress`, and that `expect` names the fingerprint in
    force.
    """
    if not isinstance(body, dict):
        return body
    made = dict(body)
    if isinstance(progress := body.get("progress"), dict):
        made["progress"] = {
            name: int(n) if isinstance(n, float) and n.is_integer() else n for name, n in progress.items()
        }
    if isinstance(expect := body.get("expect"), dict) and all(isinstance(item, str) for item in expect.values()):
        made["expect"] = {}
    return made
