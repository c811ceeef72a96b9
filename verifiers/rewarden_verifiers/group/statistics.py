"""Statistics of a group's scores: plain functions, shared by `group_stats`, the engine and rescoring."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

from rewarden.types import Group, Outcome


def pass_at_k(n: int, c: int, k: int) -> float:
    """The unbiased estimate of pass@k from n samples of which c passed (Chen et al. 2021, arXiv 2107.03374).

    1 - C(n - c, k) / C(n, k), as a product, so that no large number arises. Raises ValueError unless
    0 <= c <= n and 1 <= k <= n: with fewer samples than k there is no unbiased estimate.
    """
    if not 0 <= c <= n or not 1 <= k <= n:
        raise ValueError(f"pass@{k} of {c} passed among {n} is not defined")
    if n - c < k:
        return 1.0
    # C(n - c, k) / C(n, k) equals C(n - k, c) / C(n, c): the shorter product.
    return 1.0 - math.prod((n - max(c, k) - i) / (n - i) for i in range(min(c, k)))


def powers_of_two(n: int) -> list[int]:
    """1, 2, 4 … up to n: the values of k for which pass@k is reported by default."""
    return [1 << i for i in range(n.bit_length())]


def mean(values: Sequence[float]) -> float | None:
    """The mean; None if there are no values."""
    return math.fsum(values) / len(values) if values else None


def std(values: Sequence[float], ddof: int = 0) -> float | None:
    """The standard deviation with `ddof` degrees of freedom subtracted; None if none are left."""
    if len(values) <= ddof:
        return None
    centre = math.fsum(values) / len(values)
    return math.sqrt(math.fsum((value - centre) ** 2 for value in values) / (len(values) - ddof))


def estimates(n: int, c: int, ks: Iterable[int] | None = None) -> Mapping[int, float]:
    """pass@k for every k of `ks` that n samples allow (default: powers of two)."""
    return {k: pass_at_k(n, c, k) for k in (powers_of_two(n) if ks is None else ks) if 1 <= k <= n}


def passes(outcome: Outcome, threshold: float | None = None) -> bool:
    """Returns whether an outcome passed: as its verifier says, or with full marks if the verifier does not decide.

    With a threshold, returns whether its score reaches it. An unscored outcome never passes.
    """
    if outcome.score is None:
        return False
    if threshold is not None:
        return outcome.score >= threshold
    return outcome.passed if outcome.passed is not None else outcome.score >= outcome.range[1]


def describe(
    name: str,
    outcomes: Sequence[Outcome],
    *,
    ddof: int = 0,
    ks: Iterable[int] | None = None,
    threshold: float | None = None,
) -> Group:
    """The statistics of a group's outcomes. Unscored members are counted separately, never as zeros.

    `all_pass` and `all_fail` describe whole groups: with an unscored member neither is known, so neither is true.
    """
    scores = [outcome.score for outcome in outcomes if outcome.score is not None]
    passed = sum(passes(outcome, threshold) for outcome in outcomes)
    whole = bool(scores) and len(scores) == len(outcomes)
    return Group(
        group=name,
        size=len(outcomes),
        scored=len(scores),
        unscored=len(outcomes) - len(scores),
        passed=passed,
        mean=mean(scores),
        std=std(scores, ddof),
        ddof=ddof,
        best=max(scores) if scores else None,
        all_pass=whole and passed == len(outcomes),
        all_fail=whole and passed == 0,
        pass_at=estimates(len(scores), passed, ks) if scores else {},
    )


def wilson(successes: int, trials: int, z: float = 1.959964) -> tuple[float, float]:
    """The 95 % confidence interval of a proportion (Wilson 1927); (0, 1) without trials."""
    if trials == 0:
        return 0.0, 1.0
    share = successes / trials
    centre = share + z * z / (2 * trials)
    spread = z * math.sqrt(share * (1 - share) / trials + z * z / (4 * trials * trials))
    scale = 1 + z * z / trials
    return max(0.0, (centre - spread) / scale), min(1.0, (centre + spread) / scale)
