"""How data sets write their references, and what the verifiers read: pure functions from one to the other.

Each takes the sample, because a reference may be spread over its metadata, and returns the reference of the verifier
that the route names. Raises ValueError in words for what is not in that form.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from rewarden.types import Sample


def read_reference(form: str, sample: Sample) -> Any:
    """The reference of a sample whose data set writes it in `form`. Raises ValueError."""
    return FORMS[form](sample)


def _json(sample: Sample) -> Any:
    """JSON in a text."""
    reference = sample.reference
    if not isinstance(reference, str):
        return reference
    try:
        return json.loads(reference)
    except ValueError as error:
        raise ValueError(f"is no JSON, which the form 'json' asks for: {error}") from None


def _gsm8k(sample: Sample) -> Any:
    """GSM8K's solutions: the answer stands behind the last `####`."""
    reference = sample.reference
    return reference.rpartition("####")[2].strip() if isinstance(reference, str) else reference


FORMS: Mapping[str, Callable[[Sample], Any]] = {"json": _json, "gsm8k": _gsm8k}
"""Name to reader."""
