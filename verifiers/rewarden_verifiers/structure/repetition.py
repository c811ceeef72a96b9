"""`repetition`: measures how much of a response repeats earlier text.

Finds repeated n-grams and spans exactly, in near-linear time. Spans are numbered by doubling: a span of 2k units is the
pair of its halves' numbers. Equal numbers mean equal spans, and there is no hash for which a text could provoke
collisions.
"""

from __future__ import annotations

import math
import zlib
from collections import Counter
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Component, Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import no_answer, scored, too_expensive
from rewarden_verifiers.words import tokens, visible

Kind = Literal["ngrams", "frequent", "runs", "near", "longest", "lines", "compression"]

MOST_CHARACTERS = 600_000
"""The maximum length of a response in characters; a longer one is `too_expensive`."""
MOST_UNITS = 150_000
"""The maximum number of words, or of characters if these are compared."""
_LONGEST_WORD = 40
"""The maximum length of a word; a longer one ("hahaha…") is compared by characters."""
_N = {"words": 3, "characters": 20}
_MOST_NEAR = 20
"""The longest n-gram for the kind `near`, whose time grows with it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Measure:
    """A measure of repetition: a share from 0 (nothing is repeated) to 1.

    kind: `ngrams`: the share of n-grams that occurred before; `frequent`: 1 if an n-gram occurs more than `times`
        times, else 0; `runs`: how often an n-gram follows itself without a break, out of `times`; `near`: how often an
        n-gram occurs again within the 3 n units after it, out of three; `longest`: the longest span that occurs twice,
        as a share of the text; `lines`: the share of lines that occurred before; `compression`: the share that zlib
        saves (about a half for a page of plain prose, so set `allowed`).
    n: Length of the n-grams; None: 3 words or 20 characters.
    times: Number of times that an n-gram can occur, for `frequent`, or that is a share of 1, for `runs`.
    allowed: Share up to which there is no penalty.
    full: Share from which the penalty is full.
    weight: Weight of this measure in a mean.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    kind: Kind = "ngrams"
    n: int | None = None
    times: int = 20
    allowed: float = 0.0
    full: float = 1.0
    weight: float = 1.0

    def __post_init__(self) -> None:
        if self.n is not None and not 1 <= self.n <= 1000:
            raise ValueError("n must be between 1 and 1000")
        if self.n is not None and self.kind not in ("ngrams", "frequent", "runs", "near"):
            raise ValueError("n belongs to the kinds 'ngrams', 'frequent', 'runs' and 'near'")
        if self.kind == "near" and (self.n or _N["words"]) > _MOST_NEAR:
            raise ValueError(f"n must be at most {_MOST_NEAR} for the kind 'near'")
        if self.times < 1:
            raise ValueError("times must be at least 1")
        if not 0 <= self.allowed < self.full <= 1:
            raise ValueError("allowed must be at least 0 and below full, and full at most 1")
        if not (math.isfinite(self.weight) and self.weight > 0):
            raise ValueError("weight must be above 0")


@dataclass(frozen=True, kw_only=True)
class RepetitionParams:
    """Options of `repetition`.

    measures: Measures: kinds (`ngrams`, `frequent`, `runs`, `near`, `longest`, `lines`, `compression`) or
        `{kind, n, times, allowed, full, weight}`.
    unit: n-grams and spans of `words`, of `characters`, or of what is between `spaces`, with its punctuation. In
        scripts without spaces every character is a word.
    combine: Combination of several measures: the `worst` one, or their weighted `mean`.
    shape: `linear`: the penalty grows from 0 at allowed to 1 at full; `step`: 1 above allowed; `adaptive`: linear, but
        at least the current level is allowed. The reference gives that level: a share, or a text to measure.
    max_penalty: Largest penalty for repetition.
    same_numbers: Treats all numbers as the same, so that a loop with a counter is a loop.
    threshold: Lowest score that passes.
    """

    measures: tuple[Kind | Measure, ...] = ("ngrams",)
    unit: Literal["words", "characters", "spaces"] = "words"
    combine: Literal["worst", "mean"] = "worst"
    shape: Literal["linear", "step", "adaptive"] = "linear"
    max_penalty: float = 1.0
    same_numbers: bool = False
    threshold: float = 0.5

    def __post_init__(self) -> None:
        if not self.measures:
            raise ValueError("measures must name at least one")
        kinds = [measure.kind for measure in self.listed]
        if len({(measure.kind, measure.n) for measure in self.listed}) < len(kinds):
            raise ValueError("measures must differ")
        if not 0 < self.max_penalty <= 1:
            raise ValueError("max_penalty must be above 0 and at most 1")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")

    @property
    def listed(self) -> tuple[Measure, ...]:
        """The measures; those given by kind have default settings."""
        return tuple(Measure(kind=measure) if isinstance(measure, str) else measure for measure in self.measures)


def _numbered(spans: Sequence[Hashable]) -> list[int]:
    numbers: dict[Hashable, int] = {}
    return [numbers.setdefault(span, len(numbers)) for span in spans]


def _longer(numbers: Sequence[int], length: int, wanted: int) -> list[int]:
    """Numbers all spans of `wanted` units, each made of two overlapping spans of `length`, where length ≤ wanted ≤ 2
    length.
    """
    if wanted == length:
        return list(numbers)
    return _numbered(list(zip(numbers, numbers[wanted - length :], strict=False)))


def _spans(units: Sequence[Hashable], length: int) -> list[int]:
    """Returns the number of each span of `length` units, in order. Takes log2(length) passes."""
    numbers, reached = _numbered(units), 1
    while reached < length:
        wanted = min(2 * reached, length)
        numbers, reached = _longer(numbers, reached, wanted), wanted
    return numbers


def repeated_share(units: Sequence[Hashable], n: int) -> float:
    """The share of n-grams that occurred before: 1 - distinct / all. 0 if there are none."""
    spans = len(units) - n + 1
    return 1.0 - len(set(_spans(units, n))) / spans if spans > 0 else 0.0


def most_occurrences(units: Sequence[Hashable], n: int) -> int:
    """The number of occurrences of the most frequent n-gram. 0 if there is none."""
    return max(Counter(_spans(units, n)).values(), default=0) if len(units) >= n else 0


def longest_run(units: Sequence[Hashable], n: int) -> int:
    """The maximum number of times that an n-gram follows itself without a break."""
    numbers = _spans(units, n) if len(units) >= n else []
    runs = [0] * len(numbers)  # for each position, how often the n-gram that begins there followed itself before
    for place in range(n, len(numbers)):
        if numbers[place] == numbers[place - n]:
            runs[place] = runs[place - n] + 1
    return max(runs, default=0)


def near_repeats(units: Sequence[Hashable], n: int) -> int:
    """The maximum number of times that an n-gram occurs again, without overlap, among the 3 n units after it: from 0 to
    3.
    """
    numbers = _spans(units, n) if len(units) >= n else []
    most = 0
    for place, number in enumerate(numbers):
        count, at = 0, place + n
        while at < min(place + 3 * n + 1, len(numbers)):
            if numbers[at] == number:
                count, at = count + 1, at + n
            else:
                at += 1
        if count > most:
            most = count
            if most == 3:  # more do not fit
                break
    return most


def longest_repeat(units: Sequence[Hashable]) -> int:
    """The length of the longest span that occurs at two positions, which may overlap. 0 if there is none."""
    numbers, length = _numbered(units), 1
    if len(set(numbers)) == len(numbers):
        return 0
    while 2 * length < len(units):
        doubled = _longer(numbers, length, 2 * length)
        if len(set(doubled)) == len(doubled):
            break
        numbers, length = doubled, 2 * length
    least, most = length, min(2 * length, len(units)) - 1
    while least < most:
        middle = (least + most + 1) // 2
        spans = _longer(numbers, length, middle)
        if len(set(spans)) < len(spans):
            least = middle
        else:
            most = middle - 1
    return least


class _Text:
    """A text, split into the units that measures compare, each computed at most once."""

    def __init__(self, text: str, params: RepetitionParams) -> None:
        self._text, self._params = text, params
        found = self._read(text) if params.unit == "words" else []
        seen = visible(text)
        if params.unit == "spaces":
            found = seen.lower().split()
        # A text with few words ("!!!!!!", "No 😂😂😂😂…") is compared by characters; otherwise it would go unpunished.
        self.by_words = 4 * sum(map(len, found)) >= len(seen) - seen.count(" ")
        self.units: Sequence[str] = seen
        if self.by_words:
            self.units = [unit for word in found for unit in ((word,) if len(word) <= _LONGEST_WORD else word)]

    def _read(self, text: str) -> list[str]:
        found = tokens(text)
        return ["0" if word.isdecimal() else word for word in found] if self._params.same_numbers else found

    def share(self, measure: Measure) -> float:
        """Returns the repeated share, from 0 to 1."""
        if measure.kind == "compression":
            data = visible(self._text).encode("utf-8", "surrogatepass")
            return max(0.0, 1.0 - len(zlib.compress(data, 6)) / len(data)) if data else 0.0
        if measure.kind == "lines":
            # A line without a word ("}", a rule) does not count as a repeatable line.
            lines = [found for line in self._text.splitlines() if (found := tuple(self._read(line)))]
            return 1.0 - len(set(lines)) / len(lines) if lines else 0.0
        if measure.kind == "longest":
            return longest_repeat(self.units) / len(self.units) if self.units else 0.0
        n = measure.n or _N["words" if self.by_words else "characters"]
        if measure.kind == "frequent":
            return float(most_occurrences(self.units, n) > measure.times)
        if measure.kind == "runs":
            return min(1.0, longest_run(self.units, n) / measure.times)
        if measure.kind == "near":
            return near_repeats(self.units, n) / 3
        return repeated_share(self.units, n)


def _penalty(share: float, measure: Measure, params: RepetitionParams, level: float) -> float:
    allowed = max(measure.allowed, level)
    if share <= allowed:
        return 0.0
    if params.shape == "step" or allowed >= measure.full:
        return 1.0
    return min(1.0, (share - allowed) / (measure.full - allowed))


def _levels(reference: Any, params: RepetitionParams) -> Callable[[Measure], float]:
    """Returns the currently allowed level of each measure. Raises InvalidReference."""
    if params.shape != "adaptive":
        return lambda measure: 0.0
    if isinstance(reference, str) and len(reference) <= MOST_CHARACTERS:
        text = _Text(reference, params)
        return text.share
    if isinstance(reference, bool) or not isinstance(reference, (int, float)) or not 0 <= reference <= 1:
        raise InvalidReference(
            "the shape 'adaptive' needs a reference: the current share of repetition, from 0 to 1, or a text",
            path="reference",
        )
    return lambda measure: float(reference)


@verifier(version="2", graded=True)
def repetition(response: str, params: RepetitionParams, reference: Any = None) -> Outcome:
    """Penalises repetition: every repeated n-gram, span or line lowers the score.

    Words are compared without case, punctuation, invisible characters and compatibility forms. The measure `ngrams` is
    1 - distinct / all n-grams, the penalty of open recipes for long reasoning. `longest` and `lines` find loops longer
    than n, and `compression` finds those that the others miss. The score is 1 - max_penalty × penalty. The evidence
    reports each measure's share; the components hold its score, as a penalty that recipes can weight.

    A blank response scores 0 (`no_answer`); otherwise it would earn full marks, as it repeats nothing. A response of
    more than 150,000 words is `too_expensive`. The running time is near-linear in the length of the text. The
    comparison is exact: spans are compared by content, not by hash. Sources: Demystifying Long CoT, MiroMind-M1
    (adaptive to the current level), LongWriter-Zero.
    """
    if not response.strip():
        return no_answer()
    if len(response) > MOST_CHARACTERS:
        return too_expensive(evidence={"characters": len(response), "most": MOST_CHARACTERS})
    text = _Text(response, params)
    if not text.units:  # nothing visible: zero-width characters and similar ones
        return no_answer()
    if len(text.units) > MOST_UNITS:
        return too_expensive(evidence={"units": len(text.units), "most": MOST_UNITS})
    level = _levels(reference, params)
    shares: dict[str, float] = {}
    penalties: list[tuple[float, float]] = []
    components: dict[str, Component] = {}
    for measure in params.listed:
        name = measure.kind if measure.n is None else f"{measure.kind}:{measure.n}"
        shares[name] = text.share(measure)
        penalty = _penalty(shares[name], measure, params, level(measure))
        penalties.append((penalty, measure.weight))
        components[name] = Component(status="scored", score=1.0 - penalty)
    if params.combine == "worst":
        worst = max(penalty for penalty, _ in penalties)
    else:
        worst = sum(penalty * weight for penalty, weight in penalties) / sum(weight for _, weight in penalties)
    evidence = {"shares": shares, "unit": "words" if text.by_words else "characters", "units": len(text.units)}
    score = max(0.0, 1.0 - params.max_penalty * worst)
    passed = score >= params.threshold
    reason = None if passed else "repetitive"
    return scored(score, passed=passed, reason=reason, raw=worst, components=components, evidence=evidence)
