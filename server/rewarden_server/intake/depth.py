"""The nesting depth of decoded values.

It is checked after decoding: the decoder itself refuses endless nesting (413), and walking the result costs a tenth of
scanning the bytes, because strings can be skipped.
"""

from __future__ import annotations

from typing import Any

from rewarden.types import Sample

NESTING = frozenset({dict, list, tuple})
_FREE_FORM = ("response", "prompt", "reference", "signals", "metadata")


def deeper_than(value: Any, most: int) -> bool:
    """Returns whether a value nests deeper than `most` levels of objects and lists. Linear, without recursion."""
    level = [value] if type(value) in NESTING else []
    depth = 0
    while level:
        depth += 1
        if depth > most:
            return True
        level = [
            child
            for item in level
            for child in (item.values() if type(item) is dict else item)
            if type(child) in NESTING
        ]
    return False


def too_deep_field(sample: Sample, most: int) -> str | None:
    """Returns the name of a free-form field of the sample that nests deeper than `most`, or None."""
    use = sample.use
    # This runs for every sample, and most contain only texts, so it checks the type before it walks.
    if (
        type(sample.response) in NESTING
        or type(sample.reference) in NESTING
        or type(sample.prompt) in NESTING
        or sample.metadata
        or sample.signals
    ):
        for name in _FREE_FORM:
            if deeper_than(getattr(sample, name), most):
                return name
    if use is not None and (deeper_than(use.params, most) or deeper_than(use.recipe, most)):
        return "use"
    return None
