"""The size of what was extracted: an answer that was cut is not judged by its beginning."""

from __future__ import annotations

from rewarden_verifiers.extraction import MAX_ANSWER, Extracted


def oversized(found: Extracted) -> bool:
    """Returns whether an answer, or several that stand together, exceed 20,000 characters, box and blanks included.

    Extraction cuts a box there and trims it: "Paris", 20,000 blanks and "London" would read as Paris. And sixty-four
    boxes that stand together are sixty-four answers to read.
    """
    return found.span[1] - found.span[0] > MAX_ANSWER
