"""`length`: checks the length of a response."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import InvalidReference, InvalidSample
from rewarden.types import Outcome, Step
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import no_answer, scored
from rewarden_verifiers.structure.prose import split_code
from rewarden_verifiers.words import visible, words

Unit = Literal["characters", "words", "tokens", "sentences", "lines", "paragraphs", "steps", "code_characters"]

_SENTENCE_END = re.compile(
    r"(?<![.!?…])[.!?…]{1,8}[\"'”’»)\]*_]{0,4}(?=\s|$)|[。！？｡؟।]|\n\s*\n|\n(?=[ \t]{0,8}(?:[-*•]|\d{1,3}[.)]) )"
)
_ABBREVIATION = re.compile(
    r"(?:\b(?:mr|mrs|ms|dr|prof|st|vs|etc|cf|fig|eq|vol|pp|approx|e\.g|i\.e|a\.k\.a|u\.s)|\b[A-Z])\.$", re.IGNORECASE
)
# "No. 5" continues a sentence; "I said no. He left." does not.
_NUMERO = re.compile(r"\bno\.$", re.IGNORECASE)
_NUMERAL = re.compile(r"\s{1,4}\d")
_NUMBER_ALONE = re.compile(r"[\s*_>#(-]{0,16}\d{1,3}\.[*_]{0,4}")
_SOLE_CAPITAL = re.compile(r"(?:^|\s)[A-Z]\.$")
_STEP = re.compile(
    r"^[ \t]{0,16}(?:[#*_]{1,6}[ \t]{0,4})?(?:step[ \t]{0,4}\d{1,4}\b[ \t*_]{0,4}[:.)\-–—]?"
    r"|第?[一二三四五六七八九十\d]{1,4}步[:：]?|\d{1,4}[.)](?=\s)|[-*•+](?=\s))(.*)$",
    re.IGNORECASE | re.MULTILINE,
)
_BLANK_LINE = re.compile(r"\n[ \t\r\f\v]*\n")


@dataclass(frozen=True, kw_only=True)
class LengthParams:
    """Options of `length`. At least one of min, max and target must be given.

    unit: Unit of length: `characters` (as displayed: a run of whitespace is one, invisible characters are none),
        `words` (every character in scripts without spaces), `tokens` (the sample's `token_count`), `sentences`, `lines`
        (not blank), `paragraphs`, `steps` (the sample's own, else the distinct lines that begin like a step, else
        paragraphs), `code_characters` (as displayed, in fenced code blocks; the whole text if there is no fence).
    min: Shortest length with full marks.
    max: Longest length with full marks.
    target: Length with full marks, in place of min and max.
    tolerance: Deviation from the target that still earns full marks, as a share of the target.
    relative: min, max, target, zero_below and zero_above are ratios to the length of the reference.
    zero_below: Length at and below which the score is 0; 0 if unset. If it equals `min`, the score steps instead of
        sloping.
    zero_above: Length at and above which the score is 0; by default twice the longest length with full marks. If it
        equals `max`, the score steps.
    exponent: Exponent of the decrease: 1 is linear, 2 falls slowly at first and fast at the end.
    prefer: A slope between min and max instead of full marks: `more` rises from 0 at min to 1 at max, `fewer` falls
        from 1 at min to 0 at max.
    threshold: Lowest score that passes.
    graded: Gives intermediate scores; if false, 1 from the threshold up, and 0 below it.
    """

    unit: Unit = "words"
    min: float | None = None
    max: float | None = None
    target: float | None = None
    tolerance: float = 0.0
    relative: bool = False
    zero_below: float | None = None
    zero_above: float | None = None
    exponent: float = 1.0
    prefer: Literal["more", "fewer"] | None = None
    threshold: float = 1.0
    graded: bool = True

    def __post_init__(self) -> None:
        for name in ("min", "max", "target", "tolerance", "zero_below", "zero_above", "exponent", "threshold"):
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number of at least 0")
        if self.target is not None and (self.min is not None or self.max is not None or self.prefer):
            raise ValueError("give either target, or min, max and prefer")
        if self.target is None and self.min is None and self.max is None:
            raise ValueError("nothing is required: give min, max or target")
        if self.target == 0:
            raise ValueError("target must be above 0")
        if self.tolerance and self.target is None:
            raise ValueError("tolerance belongs to target")
        if not 0 < self.exponent <= 16:
            raise ValueError("exponent must be above 0 and at most 16")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")
        if self.prefer is not None:
            if self.min is None or self.max is None or self.min >= self.max:
                raise ValueError("prefer needs min and max, min below max: the ends of the slope")
            if self.zero_below is not None or self.zero_above is not None:
                raise ValueError("prefer has its slope between min and max: leave out zero_below and zero_above")
        low, high = self.full_marks
        if low > high:
            raise ValueError("max must be at least min")
        if self.zero_below is not None and self.zero_below > low:
            raise ValueError("zero_below must not be above where full marks begin")
        if self.zero_above is not None and self.zero_above < high:
            raise ValueError("zero_above must not be below where full marks end")

    @property
    def full_marks(self) -> tuple[float, float]:
        """The lowest and the highest length with full marks (infinity if unbounded)."""
        if self.target is not None:
            return self.target * (1 - self.tolerance), self.target * (1 + self.tolerance)
        if self.prefer == "more":
            return self.max or 0.0, math.inf
        if self.prefer == "fewer":
            return 0.0, self.min or 0.0
        return self.min or 0.0, math.inf if self.max is None else self.max

    def score(self, length: float) -> float:
        """The score for a length."""
        low, high = self.full_marks
        if low <= length <= high:
            return 1.0
        if length < low:
            way, whole = low - length, low - ((self.min if self.prefer else self.zero_below) or 0.0)
        else:
            zero = self.max if self.prefer else self.zero_above
            way, whole = length - high, (2 * high if zero is None else zero) - high
        return 0.0 if way >= whole else 1.0 - (way / whole) ** self.exponent


def count(text: str, unit: Unit) -> int:
    """Returns the length of a text in a unit that depends on the text alone. Takes linear time."""
    if unit == "characters":
        return len(visible(text))
    if unit == "words":
        return len(words(text))
    if unit == "lines":
        return sum(not line.isspace() and line != "" for line in text.splitlines())
    if unit == "paragraphs":
        return sum(bool(part.strip()) for part in _BLANK_LINE.split(text))
    if unit == "sentences":
        return _sentences(text)
    if unit == "code_characters":
        code, _ = split_code(text)
        return len(visible("\n".join(code) if code else text))
    return _steps(text)


def _sentences(text: str) -> int:
    """Counts the stretches between sentence ends that contain a word. Abbreviations and single initials do not end a
    sentence.

    A bare number belongs to the text after it: before a list item, or in a row of numbers, it is not a sentence.
    """
    found, begin, numbered = 0, 0, False
    for match in _SENTENCE_END.finditer(text):
        before = text[max(begin, match.end() - 12) : match.end()]
        if match.group() == "." and (_ABBREVIATION.search(before) or _SOLE_CAPITAL.search(before)):
            continue
        if match.group() == "." and _NUMERO.search(before) and _NUMERAL.match(text, match.end()):
            continue
        stretch = text[begin : match.end()]
        begin = match.end()
        if _NUMBER_ALONE.fullmatch(stretch):
            numbered = True
        elif any(char.isalnum() for char in stretch):
            found += 1
            numbered = False
    return found + (numbered or any(char.isalnum() for char in text[begin:]))


def _steps(text: str) -> int:
    # An empty or repeated step does not count: "Step 1: Step 2: …" must not pay.
    said = {tuple(words(match.group(1).lower())) for match in _STEP.finditer(text)} - {()}
    return len(said) if said else count(text, "paragraphs")


def _reference_length(reference: Any, unit: Unit) -> float:
    """Returns the length that ratios refer to. Raises InvalidReference."""
    if isinstance(reference, bool) or not isinstance(reference, (str, int, float)):
        raise InvalidReference("a relative length needs a reference: a text, or its length", path="reference")
    if isinstance(reference, str) and unit == "tokens":
        raise InvalidReference("the unit 'tokens' needs the reference's length as a number", path="reference")
    length = count(reference, unit) if isinstance(reference, str) else reference
    if not (math.isfinite(length) and length > 0):
        raise InvalidReference("the reference has no length that a ratio could be taken to", path="reference")
    return float(length)


@verifier(version="2", graded=True, inline=True)
def length(
    response: str,
    params: LengthParams,
    reference: Any = None,
    steps: Sequence[Step] = (),
    token_count: int | None = None,
) -> Outcome:
    """Checks the length of the response in characters, words, tokens, sentences, lines, paragraphs, steps or code.

    The score is 1 between `min` and `max`, or around `target`. Outside it falls to 0 at `zero_below` and `zero_above`,
    linearly or by a power (`exponent`). `prefer` rewards more, or fewer, throughout the range. With `relative`, all
    lengths are divided by that of the reference (a text, or a number). The view sets the part of the text that is
    measured; `tokens` is the trainer's own count, whichever part of the text the trainer counted.

    A blank response scores 0 (`no_answer`), however short the ideal is. The other reasons are `too_short` and
    `too_long`. Using the unit `tokens` without a `token_count` is the caller's error. Sources: LongWriter-Zero (a range
    with a decrease at both ends), RLRF (code length against the reference's), Format-Length (a rise to a turning point
    and a fall after it), RLSP (more steps).
    """
    if not response.strip():
        return no_answer()
    if params.unit == "tokens":
        if token_count is None:
            raise InvalidSample("the unit 'tokens' needs the sample's token_count", path="token_count")
        found = token_count
    elif params.unit == "steps" and steps:
        found = len(steps)
    else:
        found = count(response, params.unit)
    evidence: dict[str, Any] = {"length": found, "unit": params.unit}
    measured: float = found
    if params.relative:
        expected = _reference_length(reference, params.unit)
        measured = found / expected
        evidence |= {"reference_length": expected, "ratio": measured}
    if not found:  # no words or no code: there is nothing whose length could be right
        return no_answer(evidence=evidence)
    score = params.score(measured)
    passed = score >= params.threshold
    if not params.graded:
        score = float(passed)
    reason = "too_short" if measured < params.full_marks[0] else "too_long"
    return scored(score, passed=passed, reason=None if passed else reason, raw=measured, evidence=evidence)
