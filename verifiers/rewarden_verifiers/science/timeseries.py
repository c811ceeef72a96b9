"""`timeseries`: the error of a forecast, relative to that of a forecast without skill."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Rule, rules_of
from rewarden_verifiers.outcome import scored, wrong
from rewarden_verifiers.puzzles import answers
from rewarden_verifiers.science import forecasts

Measure = Literal["mae", "mse", "rmse", "smape", "mase"]

MOST_VALUES = 5_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SeriesReference:
    """A forecast's truth.

    values: what came. history: what came before, for the naive forecast and MASE. season: the number of values after
    which a pattern repeats; the naive forecast repeats the last season (with 1, the last value).
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    values: tuple[float, ...]
    history: tuple[float, ...] | None = None
    season: int = 1


@dataclass(frozen=True, kw_only=True)
class SeriesParams:
    """Options of `timeseries`.

    measure: `mae`, `mse`, `rmse`; `smape`: the mean of 2 |y - f| / (|y| + |f|), from 0 to 2; `mase`: MAE as a share of
        the mean error of one-step naive forecasts within the history.
    scale: The error that earns 0: that of the `naive` forecast, or a number.
    threshold: Lowest score that passes.
    graded: Gives intermediate scores; if false, 1 from the threshold up, and 0 below it.
    extraction: Rules that find the answer; see docs/extraction.md. `strict`: a box or an answer tag.
    """

    measure: Measure = "mae"
    scale: Literal["naive"] | float = "naive"
    threshold: float = 1.0
    graded: bool = True
    extraction: str | tuple[str | dict[str, str], ...] = "strict"

    def __post_init__(self) -> None:
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample
        if self.scale != "naive" and not (math.isfinite(self.scale) and self.scale > 0):
            raise ValueError("scale must be 'naive' or a finite number above 0")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)


@dataclass(frozen=True, eq=False)
class Truth:
    """A reference, read. step: the mean error of naive forecasts within the history. scale: the error that earns 0."""

    values: Sequence[float]
    step: float | None
    scale: float

    def error(self, forecast: Sequence[float], measure: Measure) -> float:
        """The error of a forecast. mase needs the step."""
        pairs = list(zip(self.values, forecast, strict=True))
        if measure == "smape":
            parts = [2 * abs(one - other) / total if (total := abs(one) + abs(other)) else 0.0 for one, other in pairs]
            return math.fsum(parts) / len(pairs)
        if measure in ("mse", "rmse"):
            mean = math.fsum((one - other) ** 2 for one, other in pairs) / len(pairs)
            return mean if measure == "mse" else math.sqrt(mean)
        mean = math.fsum(abs(one - other) for one, other in pairs) / len(pairs)
        return mean / self.step if measure == "mase" and self.step else mean


def prepare(reference: SeriesReference, params: SeriesParams) -> Truth:
    """The reference, read. Raises InvalidReference, naming the field."""
    values, history, season = reference.values, reference.history, reference.season
    for name, numbers in (("values", values), ("history", history)):
        if numbers is not None and not (
            1 <= len(numbers) <= MOST_VALUES and all(abs(number) <= forecasts.MOST for number in numbers)
        ):
            raise InvalidReference(f"{name} must be 1 to {MOST_VALUES} finite numbers", path=f"reference.{name}")
    if not 1 <= season <= MOST_VALUES:
        raise InvalidReference("season must be at least 1", path="reference.season")
    naive = params.scale == "naive"
    step = None
    if history is None:
        if naive or params.measure == "mase":
            raise InvalidReference("the naive forecast and MASE need the history", path="reference.history")
    elif len(history) < season + (params.measure == "mase"):
        raise InvalidReference("the history is shorter than a season", path="reference.history")
    elif len(history) > season:
        step = math.fsum(abs(one - other) for one, other in zip(history[season:], history, strict=False))
        step /= len(history) - season
    if params.measure == "mase" and not step:
        raise InvalidReference("the history repeats itself: MASE has no scale", path="reference.history")
    if params.scale != "naive":
        return Truth(values, step, params.scale)
    assert history is not None
    last = history[-season:]
    scale = Truth(values, step, 1.0).error([last[place % season] for place in range(len(values))], params.measure)
    if not scale:
        raise InvalidReference("the naive forecast is exact, so no forecast is better", path="reference.values")
    return Truth(values, step, scale)


@verifier(version="1", graded=True, prepare=prepare)
def timeseries(response: str, prepared: Truth, params: SeriesParams) -> Outcome:
    """Scores a forecast by its error (MAE, MSE, RMSE, sMAPE or MASE), on the scale of a naive forecast.

    The reference has the actual `values`, and the `history` before them. The answer is a list with the same number of
    values, as JSON, as a list, numbered list or table with a row for each value, or separated by commas, blanks or line
    breaks. Values can have labels (`2024-01-01: 12`), a currency or one unit (`$1,200`, `12.3 kWh`).

    The score is 1 - error / scale, at least 0. By default the scale is the error of the naive forecast, which repeats
    the last value, or the last `season`: it earns 0, and only a better forecast earns anything. The evidence contains
    the errors by every measure. To compare numbers that are not a forecast, use `number`.

    These responses score 0: no answer (`no_answer`), several (`hedged`), anything but finite numbers (`malformed`), too
    few or too many of them (`wrong_length`), and a forecast no better than the scale (`no_skill`). A better one below
    the threshold has the reason `inexact`.
    """
    found = answers.find(response, params.rules)
    if isinstance(found, Outcome):
        return found
    evidence: dict[str, Any] = {"rule": found.rule}
    shown: dict[str, Any] = {"extracted": found.text[: answers.EXCERPT], "evidence": evidence}
    forecast = forecasts.forecast(found.text, len(prepared.values))
    if forecast is None:
        return wrong("malformed", feedback="the answer is not a list of finite numbers", **shown)
    if len(forecast) != len(prepared.values):
        told = f"{len(prepared.values)} numbers are expected, not {len(forecast)}"
        return wrong("wrong_length", feedback=told, **shown)
    measures: tuple[Measure, ...] = ("mae", "mse", "rmse", "smape")
    if prepared.step:
        measures = (*measures, "mase")
    errors = {measure: prepared.error(forecast, measure) for measure in measures}
    evidence |= {str(measure): error for measure, error in errors.items()} | {"scale": prepared.scale}
    raw = max(0.0, 1 - errors[params.measure] / prepared.scale)
    passed = raw >= params.threshold
    return scored(
        raw if params.graded else float(passed),
        passed=passed,
        reason=None if passed else "inexact" if raw else "no_skill",
        raw=raw,
        **shown,
    )
