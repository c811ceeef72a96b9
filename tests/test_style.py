"""The documentation avoids the worst patterns that docs/style.md warns of. Pages made from docstrings, schemas and the
command line are included.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
STYLE = ROOT / "docs/style.md"
PAGES = [*ROOT.glob("*.md"), *(path for path in (ROOT / "docs").rglob("*.md") if path != STYLE)]
CODE = re.compile(r"```.*?```|`[^`\n]+`", re.DOTALL)

INSTEAD = {
    r"\bmend(?:s|ed|ing)?\b": "fix",
    r"\bnoughts?\b": "zero",
    r"\bin any dress\b": "in any form",
    r"\b(?:is|are|be|not) believed\b": "trusted",
    r"\bask(?:s|ed)? again\b": "retry",
    r"\bwhat may (?:pass|succeed)\b": "requests that may succeed",
    r"\b(?:its|their|the) like\b": "similar ones, or name them",
    r"\b[Ww]hoever\b": "the one who acts",
    r"\b(?:is|are|was|were) (?:asked|spoken to|told) (?:by|from) (?:a|the)\b": "active voice",
    r"\blets? go of\b": "releases",
    r"\bfrom which on\b": "above which",
    r"\bfor ever\b": "forever",
    r"\bmay earn a share\b": "can earn partial credit",
}
"""Patterns that read as translated, with what to write instead."""


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_reads_as_written_in_english(page: Path) -> None:
    text = CODE.sub(lambda code: "\n" * code.group().count("\n"), page.read_text(encoding="utf-8"))
    found = [
        f"line {text.count(chr(10), 0, match.start()) + 1}: {match.group()!r}: {instead}"
        for pattern, instead in INSTEAD.items()
        for match in re.finditer(pattern, text)
    ]
    assert found == []


def test_the_patterns_find_what_they_are_for() -> None:
    told = "A letter in any dress; whoever mends it is not believed, and its like is asked again for ever."
    assert sum(re.search(pattern, told) is not None for pattern in INSTEAD) == 7
