"""Notation beyond the parser (integrals, limits, derivatives), read by latex2sympy2-extended and compared by values.

Reached only if the reference itself contains such notation, so a policy cannot steer anything in here. Input is short
and free of factorials and long numerals. SymPy only differentiates, takes limits and evaluates to twenty digits; it
never simplifies. Both libraries take a second to import, weigh 80 MB with what they need, and come with the extra
`sympy`. They are imported only here and in `math_verify`.
"""

from __future__ import annotations

import cmath
import re
from fractions import Fraction
from typing import Any

from rewarden.errors import MissingDependency
from rewarden_verifiers.answer.math.limits import MAX_FALLBACK_TEXT

_RISKY = re.compile(r"!|\d{40}|\^\s*\{?\s*\d{4}|\^[^^]{0,40}\^|\\(?:sum|prod)")
# The limits of an integral are not powers: `\int_0^1 x^2` is not a tower.
_LIMITS = re.compile(r"(\\i*int)\s*_\s*(?:\{[^{}^]*\}|[^\\{}^])\s*\^\s*(?:\{[^{}^]*\}|[^\\{}^])")
_FOREIGN = re.compile(r"\\(?:i*int|lim|partial|nabla)(?![a-z])|\\d?frac\s*\{\s*d")
_POINTS = 4
_NOTHING = 1e-15
_PRECISION = 36
"""Bits to which a reference's value must be known: eleven digits."""
DIGITS = 10
"""Significant digits of a reference's value. The quadrature is more precise than that."""


def concerns(reference: str) -> bool:
    """Returns whether a reference can contain such notation, so that both libraries are needed."""
    return _FOREIGN.search(reference) is not None


def load() -> None:
    """Imports both libraries, so that no reference of this kind pays for it. Raises MissingDependency."""
    try:
        import latex2sympy2_extended  # noqa: F401
        import sympy  # noqa: F401
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"a reference with an integral, a limit or a derivative needs the package {error.name!r}: "
            "pip install 'rewarden-server[sympy]'",
            verifier="math",
        ) from error


def value_of(reference: str) -> Fraction | None:
    """The number that a reference in such notation evaluates to, rounded to `DIGITS` significant digits; None if it
    contains variables, is complex or cannot be read. Raises MissingDependency.
    """
    read = _read(reference)
    if read is None or len(read) != 1 or read[0].free_symbols:
        return None
    try:
        value = _value(read[0])
    except Exception:  # noqa: BLE001 (a foreign library, which raises anything)
        return None
    if value is None or abs(value.imag) > _NOTHING:
        return None
    return Fraction(f"{value.real:.{DIGITS - 1}e}")


def same(reference: str, candidate: str) -> bool | None:
    """Returns whether two short LaTeX expressions agree; None if undecidable. Raises MissingDependency."""
    read = _read(reference, candidate)
    if read is None:
        return None
    ours, theirs = read
    try:
        return True if ours == theirs else _agree(ours, theirs)
    except Exception:  # noqa: BLE001 (a foreign library, which raises anything)
        return None


def _read(reference: str, *candidates: str) -> list[Any] | None:
    """The parsed expressions; None if the reference has no such notation, or a text must not be passed on."""
    texts = [text.replace("$", " ").strip() for text in (reference, *candidates)]
    if not _FOREIGN.search(texts[0]):
        return None
    if any(len(text) > MAX_FALLBACK_TEXT or _RISKY.search(_LIMITS.sub(r"\1 ", text)) for text in texts):
        return None
    load()
    from latex2sympy2_extended import NormalizationConfig, latex2sympy, normalize_latex
    from sympy import Expr

    tidy = NormalizationConfig(malformed_operators=True, nits=True, boxed="none")
    try:
        read = [_resolved(latex2sympy(normalize_latex(text, tidy))) for text in texts]
    except Exception:  # noqa: BLE001 (two foreign libraries, which raise anything)
        return None
    return read if all(isinstance(one, Expr) for one in read) else None


def _resolved(expression: Any) -> Any:
    """The expression with derivatives and limits evaluated."""
    from sympy import Derivative, Limit

    if not hasattr(expression, "replace"):
        return expression
    return expression.replace(lambda part: isinstance(part, Derivative | Limit), lambda part: part.doit(deep=False))


def _agree(ours: Any, theirs: Any) -> bool | None:
    from sympy import Rational

    symbols = sorted(ours.free_symbols | theirs.free_symbols, key=str)
    for row in range(_POINTS if symbols else 1):
        point = {name: Rational(7 * row + 5 * column + 3, 11) for column, name in enumerate(symbols)}
        one, two = _value(ours.subs(point)), complex(theirs.subs(point).evalf(20))
        if one is None:
            return None
        # Otherwise `0/0` and infinity would agree with everything, since every comparison with them is false.
        if not cmath.isfinite(two) or abs(one - two) > 1e-10 * max(abs(one), abs(two), 1e-6):
            return False
    return True


def _value(reference: Any) -> complex | None:
    """The value of an expression without variables; None if it has none, or if only a few digits are known, as for a
    divergent integral.
    """
    from sympy import Float

    value = reference.evalf(20)
    number = complex(value)
    if not cmath.isfinite(number):
        return None
    if abs(number) < _NOTHING:
        return 0j
    return number if all(part._prec >= _PRECISION for part in value.atoms(Float)) else None
