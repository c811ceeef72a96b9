"""Converts a returned value to the type of the expected one if the program's language has a single type for both.

This only chooses among the types that the language's value can represent; the comparison comes afterwards.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from rewarden_verifiers.execution.shims import lua, perl, r

Fit = Callable[[Any, Any], Any]
"""A rule that fits one value to the expected one. It does not descend into nested values."""

_NUMBER = re.compile(r"-?[0-9]{1,300}(?:\.[0-9]{1,300})?(?:[eE][+-]?[0-9]{1,3})?")


def fit_of(language: str) -> Fit | None:
    """Returns a language's rule, or None if the language distinguishes all types of JSON."""
    name = language.lower()
    return next((fit for names, fit in _FITS if name in names), None)


def fitted(fit: Fit, got: Any, wanted: Any) -> Any:
    """Returns a value converted to the expected types, as far as the rule allows."""
    got = fit(got, wanted)
    if isinstance(got, list) and isinstance(wanted, list) and wanted:
        others = wanted if len(wanted) == len(got) else [wanted[0]] * len(got)
        return type(got)(fitted(fit, item, other) for item, other in zip(got, others, strict=True))
    if isinstance(got, dict) and isinstance(wanted, dict):
        return {key: fitted(fit, item, wanted[key]) if key in wanted else item for key, item in got.items()}
    return got


def _perl(got: Any, wanted: Any) -> Any:
    """A scalar is a number, a text and a truth value at once. A one-item list counts as its item."""
    if isinstance(wanted, list) and not isinstance(got, list):
        return [] if got is None else [got]
    if isinstance(wanted, bool):
        return False if got in (None, "", "0") else True if got == "1" else got
    if isinstance(wanted, (int, float)) and isinstance(got, str) and _NUMBER.fullmatch(got):
        return int(got) if got.lstrip("-").isdecimal() else float(got)
    if isinstance(wanted, str) and isinstance(got, (int, float)) and not isinstance(got, bool):
        return _digits(got)
    return got


def _digits(number: float) -> str | float:
    """Returns a number as Perl prints it; unchanged if it has more digits than any program prints."""
    if isinstance(number, float):
        return f"{number:.15g}"
    return str(number) if number.bit_length() <= 64 else number


def _lua(got: Any, wanted: Any) -> Any:
    """A table is both a list and a dictionary, and cannot hold nil."""
    if isinstance(wanted, dict) and isinstance(got, list):
        return {str(place): item for place, item in enumerate(got, 1)}
    if isinstance(wanted, list) and None in wanted and isinstance(got, (list, dict)):
        items = got if isinstance(got, dict) else {str(place): item for place, item in enumerate(got, 1)}
        places = [str(place) for place in range(1, len(wanted) + 1)]
        return [items.get(place) for place in places] if items.keys() <= set(places) else got
    return got


def _r(got: Any, wanted: Any) -> Any:
    """A one-item vector is that item. NULL, an empty vector and an empty list are the same, and names can be
    ignored.
    """
    empty = got is None or got in ([], {})
    if wanted is None or isinstance(wanted, dict):
        return type(wanted)() if empty and wanted is not None else None if empty else got
    if isinstance(wanted, list):
        if empty:
            return []
        return list(got.values()) if isinstance(got, dict) else got if isinstance(got, list) else [got]
    if isinstance(got, (list, dict)) and len(got) == 1:
        return next(iter(got.values() if isinstance(got, dict) else got))
    return got


_FITS: tuple[tuple[frozenset[str], Fit], ...] = ((perl.NAMES, _perl), (lua.NAMES, _lua), (r.NAMES, _r))
