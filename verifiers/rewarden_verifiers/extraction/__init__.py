r"""Finding the answer in a response: an ordered list of rules, the first that fires wins and is named in the evidence.

Presets: `auto` reads every mark of an answer and then, by rules of each verifier's own, what stands where answers stand
(see `ladder`); `strict` reads a `\boxed{}` or an answer's tag; `explicit` all marks; `lax` is `auto` and, last, the
last number. Every rule is a linear scan; caller's patterns run on RE2, which cannot backtrack.

Boxes that disagree (ATTACKS E, hedging): the last *cluster* of boxes counts, and of tags, JSON keys and phrases
likewise. They form a cluster when little but connecting words stands between them ("\boxed{12} or \boxed{13}"); such a
cluster yields several `texts`, and the verifier decides whether several answers are permitted. One taken back
("wait, …") does not join a cluster.
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
