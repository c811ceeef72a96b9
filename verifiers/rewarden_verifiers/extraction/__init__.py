r"""Finds the answer in a response by an ordered list of rules. The first rule that matches decides, and the evidence
names it.

Presets: `auto` reads every mark of an answer and then applies each verifier's loose rules (see `ladder`); `strict`
reads a `\boxed{}` or an answer tag; `explicit`, all marks; `lax` is `auto` and finally the last number. Every rule is a
linear scan. The caller's patterns run on RE2, which cannot backtrack.

If boxes disagree (ATTACKS E, hedging), the last *cluster* of boxes counts; the same applies to tags, JSON keys and
phrases. Boxes form a cluster if only a few connecting words separate them ("\boxed{12} or \boxed{13}"). A cluster
yields several `texts`, and the verifier decides whether it accepts several answers. An answer that is retracted ("wait,
…") does not join a cluster.
"""

from __future__ import annotations

from rewarden_verifiers.extraction.extracted import MAX_ANSWER, MAX_TEXTS, Extracted, Rule, lowered
from rewarden_verifiers.extraction.ladder import (
    PRESETS,
    Ladder,
    demanded,
    encodable,
    extract,
    first_found,
    rules_of,
)
from rewarden_verifiers.extraction.marks import boxes

__all__ = [
    "MAX_ANSWER",
    "MAX_TEXTS",
    "PRESETS",
    "Extracted",
    "Ladder",
    "Rule",
    "boxes",
    "demanded",
    "encodable",
    "extract",
    "first_found",
    "lowered",
    "rules_of",
]
