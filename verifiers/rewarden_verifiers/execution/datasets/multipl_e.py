"""MultiPL-E: functions of HumanEval and MBPP in other languages, with test code in the language of the function."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from rewarden_verifiers.execution.datasets.row import Row
from rewarden_verifiers.execution.reference import PYTHON, CodeReference, Test, invalid
from rewarden_verifiers.execution.shims.heads import PYTHON as PYTHON_HEADS
from rewarden_verifiers.execution.shims.known import shim_of

LANGUAGES: Mapping[str, str] = {
    "py": "python",
    "js": "javascript",
    "ts": "typescript",
    "cpp": "cpp",
    "java": "java",
    "go": "go",
    "go_test.go": "go",
    "rs": "rust",
    "rb": "ruby",
    "php": "php",
    "pl": "perl",
    "lua": "lua",
    "r": "r",
    "sh": "bash",
}
"""MultiPL-E's language names, and ours."""


def multipl_e(row: Row, languages: Sequence[str]) -> CodeReference:
    """MultiPL-E: `language`, `prompt`, whose last function the program completes, `tests`, `stop_tokens`."""
    language = _language(row)
    prompt, tests = row.code("prompt"), row.code("tests")
    names = functions_of(language, prompt)
    # Helpers come before the tested function.
    tested = next((name for name in reversed(names) if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", tests)), None)
    if tested is None:
        found = f"declares {', '.join(names)}, which the tests do not use" if names else "declares no function"
        raise invalid(found, row.at("prompt"))
    stop = row.items("stop_tokens") if row.has("stop_tokens") else []
    if not all(isinstance(text, str) for text in stop):
        raise invalid("must be a list of strings", row.at("stop_tokens"))
    return CodeReference(
        language=language,
        tests=(Test(type="assert", code=tests),),
        entry_point=tested,
        prefix=prompt,
        stop=tuple(stop),
    )


def functions_of(language: str, prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order. language: one of `LANGUAGES`."""
    return (shim_of(language) or PYTHON_HEADS).functions(prompt)


def _language(row: Row) -> str:
    told = row.code("language")
    language = LANGUAGES.get(told, "")
    if language not in PYTHON and shim_of(language) is None:
        known = ", ".join(name for name, ours in LANGUAGES.items() if ours in PYTHON or shim_of(ours) is not None)
        raise invalid(f"tests cannot run in {told[:60]!r}; the languages are {known}", row.at("language"))
    return language
