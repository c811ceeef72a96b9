"""The formats of tool calls, as a table on the page of `tool_calls`."""

from __future__ import annotations

from making.markdown import code, table
from rewarden_verifiers.tools.tool_calls.formats import FORMATS, UNMARKED

MEASURED = (
    "On 2026-11-26 we ran the chat templates that llama.cpp (as in llama-cpp-python 0.3.36), vLLM 0.33 and TRL",
    "1.16 carry, mistral-common 1.13 and vLLM's encoders for DeepSeek on conversations of our own: of 1,604 texts",
    "with calls by 116 of them, 1,545 were read whole, with `tools` and without, and all 256 plain answers were",
    "abstaining; no call was paid where none is right or where one of its arguments had been changed. Of the",
    "others, 52 are by five example templates of vLLM that lose quotation marks, commas or types (Gemma 3, Llama",
    "3.2 and Llama 4 in Python's syntax, ToolACE, FunctionGemma); seven hold quotation marks or ends of lines",
    "that cannot be told from the form's own, leave `null` out, or put bare JSON behind prose. Without `tools`,",
    '`5` between tags is right for 5 and for `"5"`.',
)
"""The share of texts that is read of those that the families' own templates write."""


def section() -> list[str]:
    """Returns the section's lines."""
    rows = [(row.name, row.shape, row.families, row.written) for row in FORMATS]
    rows += [(name, shape, families, written) for name, shape, families, written in UNMARKED]
    return [
        "## Formats",
        "",
        f"There are {len(rows)}, {len(UNMARKED)} of them without marks. `shapes` takes shapes and formats.",
        "",
        *MEASURED,
        "",
        *table(
            ("format", "shape", "models", "written"),
            [(code(name), code(shape), families, _spans(written)) for name, shape, families, written in rows],
        ),
    ]


def _spans(written: str) -> str:
    """A description whose spans of code stay such within a cell, whatever they hold."""
    pieces = written.split("`")
    return "".join(code(piece) if number % 2 else piece for number, piece in enumerate(pieces))
