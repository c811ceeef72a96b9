"""The closeness of a recipe to the published system, in words."""

from __future__ import annotations

from collections.abc import Mapping

PARITIES: Mapping[str, str] = {
    "verified": "run against the published code",
    "reading": "checked by reading the published code",
    "mapped": "made from a description of the reward",
}
"""The words for each parity that a recipe can state."""


def parity(stated: str) -> str:
    """Returns the markup of a parity and its meaning; nothing for a recipe that states none."""
    return f'<span class="parity {stated}">{stated}</span> {PARITIES[stated]}' if stated in PARITIES else ""
