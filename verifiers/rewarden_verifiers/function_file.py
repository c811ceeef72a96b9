"""A function in a file that judges without being in any package: `path/to/reward.py:score`.

Only the operator of the process can name such a file, because loading a file runs it. The file is imported as a module
under its own name, with its folder after everything installed on the path, so workers can import it too, and the
fingerprint covers it and the neighbouring modules that it imports.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import numbers
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewarden.errors import InvalidRequest
from rewarden.types import FinishReason, Media, Outcome, Sample, Step
from rewarden_verifiers.contract import VerifierSpec, spec_of, verifier
from rewarden_verifiers.outcome import right, scored, wrong

VERSION = "0"
"""The version of a function that declares none: its fingerprint identifies it."""


def load(text: str) -> VerifierSpec:
    """The verifier named by `FILE.py:FUNCTION`. Raises InvalidRequest with the problem."""
    file, _, name = text.rpartition(":")
    path = Path(file).resolve()
    if not path.is_file():
        raise InvalidRequest(f"{text}: there is no file {file}")
    if "." in path.stem:
        raise InvalidRequest(f"{text}: a file with dots in its name cannot be imported; rename it")
    if str(path.parent) not in sys.path:
        # Last, so that no neighbouring file replaces an installed module.
        sys.path.append(str(path.parent))
    importlib.invalidate_caches()
    try:
        module = importlib.import_module(path.stem)
    except Exception as error:
        raise InvalidRequest(f"{text}: the file cannot be loaded: {type(error).__name__}: {error}") from error
    if Path(getattr(module, "__file__", None) or "").resolve() != path:
        raise InvalidRequest(f"{text}: another module is called {path.stem!r} already; rename the file")
    function = getattr(module, name, None)
    if not inspect.isfunction(function):
        raise InvalidRequest(f"{text}: {path.name} has no function {name!r}")
    if function.__module__ != module.__name__ or function.__name__ != name:
        raise InvalidRequest(f"{text}: {name!r} is defined elsewhere; name the file and the function of its definition")
    return declared(function)


def declared(function: Callable[..., Any]) -> VerifierSpec:
    """The spec of a function in a file, named `FILE.py:FUNCTION`: the one it declares itself, or that of a wrapper
    around it. Raises InvalidRequest for an invalid signature.
    """
    name = f"{function.__module__}.py:{function.__name__}"
    own = spec_of(function)
    if own is not None:
        return replace(own, name=name)
    if inspect.iscoroutinefunction(function):
        raise InvalidRequest(f"{name}: an 'async def' must be declared with @verifier")
    made = _of_sample(function) if list(inspect.signature(function).parameters) == ["sample"] else _of_parts(function)
    try:
        spec = spec_of(verifier(version=VERSION, name=name, graded=True)(made))
    except (TypeError, NameError) as error:  # NameError: an undefined name in an annotation
        raise InvalidRequest(f"{name}: {error}; or take one argument named 'sample'") from None
    assert spec is not None
    return spec


def outcome_of(value: Any) -> Outcome:
    """Converts the return value of a function: True or False, a number from 0 to 1, or an outcome.

    Raises TypeError or ValueError for anything else: that is a defect of the function, and never a zero.
    """
    if isinstance(value, Outcome):
        return value
    if getattr(value, "ndim", None) == 0 and hasattr(value, "item"):
        value = value.item()  # a NumPy or torch scalar
    if value is True or value is False:
        return right() if value else wrong()
    if isinstance(value, numbers.Real):
        if not 0 <= float(value) <= 1:  # also rejects NaN
            raise ValueError(
                f"returned {float(value)}; other than from 0 to 1, return scored(…, range=(low, high)) of "
                "rewarden_verifiers.outcome"
            )
        return scored(float(value))
    raise TypeError(f"returned {type(value).__name__}; return True, False, a number from 0 to 1, or an Outcome")


def _of_parts(function: Callable[..., Any]) -> Callable[..., Outcome]:
    """A verifier that reads the parts named by the function's arguments."""

    @functools.wraps(function)
    def made(**arguments: Any) -> Outcome:
        return outcome_of(function(**arguments))

    return made


def _of_sample(function: Callable[[Sample], Any]) -> Callable[..., Outcome]:
    """A verifier that reads a whole sample, with viewed parts as text, and passes it to the function."""

    def made(
        response: str,
        prompt: str | None = None,
        reference: Any = None,
        data_source: str | None = None,
        finish_reason: FinishReason | None = None,
        token_count: int | None = None,
        steps: Sequence[Step] | None = None,
        media: Sequence[Media] | None = None,
        signals: Mapping[str, Any] | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> Outcome:
        return outcome_of(
            function(
                Sample(
                    response=response,
                    prompt=prompt,
                    reference=reference,
                    data_source=data_source,
                    finish_reason=finish_reason,
                    token_count=token_count,
                    steps=steps,
                    media=media,
                    signals=signals,
                    metadata=metadata,
                )
            )
        )

    made.__module__, made.__name__, made.__doc__ = function.__module__, function.__name__, function.__doc__
    return made
