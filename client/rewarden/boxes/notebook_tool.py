"""A notebook as a tool for models: its schema for OpenAI's API, and the texts that are returned to the model."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Union

from rewarden.boxes.types import CellResult

NOTEBOOK_TOOL: Mapping[str, Any] = {
    "type": "function",
    "function": {
        "name": "python",
        "description": "Run Python code in a notebook. Variables, imports and files stay between calls. Returns the "
        "printed text, the value of the last expression, and errors. There is no network.",
        "parameters": {
            "type": "object",
            "properties": {"code": {"type": "string", "description": "The cell to run."}},
            "required": ["code"],
        },
    },
}
"""The tool for `tools=[…]` of a chat request, and for a chat template. Its calls go to `notebook.call`."""

Arguments = Union[str, Mapping[str, Any]]
"""The arguments of a call: an object, or the JSON text that the model wrote."""

_MOST = 20_000
"""The most characters of a reply. Longer ones are cut in the middle."""

_ENDS = {
    "time_limit": "The cell exceeded its time limit and was interrupted.",
    "output_limit": "The cell wrote too much and was interrupted.",
    "interrupted": "The cell was interrupted.",
    "kernel_died": "The cell ended the interpreter.",
}


def code_in(arguments: Arguments) -> str | None:
    """Returns the code of a call; None if its arguments do not match the schema."""
    try:
        value = json.loads(arguments) if isinstance(arguments, str) else arguments
    except (ValueError, RecursionError):
        return None
    code = value.get("code") if isinstance(value, Mapping) else None
    return code if isinstance(code, str) and _encodes(code) else None


def _encodes(text: str) -> bool:
    """Returns whether a text has no lone surrogates, which UTF-8 cannot encode."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


UNREADABLE = 'The call cannot be read: its arguments must be a JSON object such as {"code": "print(1)"}.'


def reply_of(result: CellResult) -> str:
    """Returns the text for the model: the outputs of a cell and how it ended. Images appear by type only."""
    parts = [result.text.rstrip("\n")]
    for output in result.outputs:
        data = output.get("data")
        if isinstance(data, Mapping):
            parts += [f"[{kind}]" for kind in data if kind.startswith("image/")]
    if result.status in _ENDS:
        parts.append(_ENDS[result.status])
    if result.restarted:
        parts.append("The interpreter was restarted; all variables are lost.")
    text = "\n".join(part for part in parts if part)
    if len(text) <= _MOST:
        return text
    half = _MOST // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
