"""Equivalence of two answers, on which `consensus`, `diversity`, `reader` and maj@k build.

A verifier that can compare answers declares an `Equivalence`. Answers are strings, so that they can cross a process
boundary; `key` maps equal answers to equal keys where possible, which saves a group of n members most of its n²
comparisons; `same` decides the rest. All three run where they can be killed.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable


@runtime_checkable
class Equivalence(Protocol):
    """Made from the verifier's parameters; reflexive and symmetric; none of the three methods raises for any text."""

    def extract(self, text: str) -> str | None:
        """The answer in a viewed response, or None if there is none (or if it hedges)."""

    def key(self, answer: str) -> str | None:
        """A canonical form: equal keys mean equal answers. None if there is no cheap one."""

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether two answers are equal; None if undecidable."""
