"""The formats of tool calls, as a table on the page of `tool_calls`."""

from __future__ import annotations

from making.markdown import code, table
from rewarden_verifiers.tools.tool_calls.formats import FORMATS, UNMARKED

MEASURED = (
    "On 2026-11-26 we tested these formats on texts that the model families' own code renders from our conversations:",
    "the chat templates of llama.cpp (as in llama-cpp-python 0.3.36), vLLM 0.33 and TRL 1.16, mistral-common 1.13,",
    "and vLLM's encoders for DeepSeek. 116 of them rendered 1,604 texts with calls. The verifier read 1,545",
    "completely, with and without `tools`. It judged all 256 plain answers as abstaining, and gave no credit for a",
    "call if none was right, or if one of its arguments had been changed. Of the other texts, 52 come from five",
    "example templates of vLLM that lose quotation marks, commas or types (Gemma 3, Llama 3.2 and Llama 4 in Python",
    "syntax, ToolACE, FunctionGemma). Seven contain quotation marks or line ends that look like those of the format",
    'itself, omit `null`, or put bare JSON after prose. Without `tools`, `5` between tags matches both 5 and `"5"`.',
)
"""The share of the texts of the families' own templates that the verifier reads."""


def section() -> list[str]:
    """Returns the section's lines."""
    rows = [(row.name, row.shape, row.families, row.written) for row in FORMATS]
    rows += [(name, shape, families, written) for name, shape, families, written in UNMARKED]
    return [
        "## Formats",
        "",
        f"There are {len(rows)} formats, {len(UNMARKED)} of them without marks. `shapes` accepts shapes and formats.",
        "",
        *MEASURED,
        "",
        *table(
            ("format", "shape", "models", "notation"),
            [(code(name), code(shape), families, _spans(written)) for name, shape, families, written in rows],
        ),
    ]


def _spans(written: str) -> str:
    """A description in which spans of code remain code within a cell, whatever they contain."""
    pieces = written.split("`")
    return "".join(code(piece) if number % 2 else piece for number, piece in enumerate(pieces))
