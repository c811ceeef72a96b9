"""A fingerprint moves with all that may change a verdict."""

from __future__ import annotations

import pytest

from rewarden_verifiers.fingerprint import _sources
from rewarden_verifiers.registry import Registry


@pytest.mark.parametrize(
    ("name", "made_of"),
    [
        ("math", {"math/parser.py", "rewarden_verifiers/extraction.py"}),
        ("label", {"label/verifier.py", "text/size.py"}),  # another verifier's module
        ("tool_calls", {"tool_calls/matching.py", "json/strict.py"}),
        ("language", {"structure/languages.py", "rewarden_verifiers/words.py"}),
        ("code", {"execution/plan.py", "rewarden_verifiers/programs.py"}),
    ],
)
def test_it_covers_what_a_verifier_imports_wherever_it_lies(name: str, made_of: set[str]) -> None:
    found = {f"{path.parent.name}/{path.name}" for path in _sources(Registry().get(name).module)}
    assert made_of <= found
