"""Parameters of `text`, and the values derived from them once."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden_verifiers.answer.sentence import short_response
from rewarden_verifiers.answer.text import squad
from rewarden_verifiers.answer.text.normalise import Normaliser
from rewarden_verifiers.answer.text.similarity import Scorer
from rewarden_verifiers.extraction import Extracted, Ladder
from rewarden_verifiers.preset import Preset

Mode = Literal["exact", "normalised", "substring", "two_way", "fuzzy", "f1", "regex"]

REFUSALS = (
    "I do not know",
    "I don't know",
    "do not know",
    "don't know",
    "I am not sure",
    "I'm not sure",
    "not sure",
    "no idea",
    "unknown",
    "unanswerable",
    "N/A",
    "no answer",
    "not enough information",
    "insufficient information",
    "cannot be determined",
    "cannot be answered",
    "I cannot answer",
    "I can't answer",
    "不知道",
    "我不知道",
    "无法确定",
)
_SHORT = 200
"""Maximum number of characters of a response that can be a refusal even if no extraction rule matches."""


def _ladder(extraction: Any) -> Ladder:
    return Ladder(extraction, {"short_response": short_response}, marks=("answer_line",), loose=("short_response",))


@dataclass(frozen=True, kw_only=True)
class TextParams:
    r"""Options of `text`.

    preset: `squad`: the official verdict of SQuAD 2.0, exact match or, with `mode: f1`, F1. The answer is the whole
        response unless `extraction` is set. It reproduces the script's faults: it accepts 15 for 1.5, gives "London
        Paris" half of "Paris", and accepts an empty response if no reference is given.
    mode: Kind of comparison. `exact`: the same characters; `normalised`: the same after the normalisation below;
        `substring`: the answer contains the reference, at token boundaries (cover match); `two_way`: that, or the
        reference contains the answer, which is at least `least_share` of it; `fuzzy`: an edit ratio; `f1`: F1 over
        tokens (SQuAD, HotpotQA); `regex`: the reference is an RE2 pattern that the whole answer matches.
    extraction: Rules that find the answer: `auto` (any marked answer, else a response of one short line; if the prompt
        asks for a box or a tag, only that counts), `explicit` (any marked answer), `strict` (a box or a tag), `whole`
        (the entire response), or an ordered list of rules.
    case: Ignores case (in `regex` too).
    punctuation: Ignores punctuation, except in and before numbers ("1.5", "-5", "1/2") and in names ("C++", "O-").
    articles: Words to ignore before another word; empty: none.
    whitespace: Treats a run of whitespace as one space.
    unicode: Maps full-width forms, digits of other scripts, curly quotes, dashes, ligatures and zero-width characters
        to their plain forms.
    markup: Ignores `\text{}` and other commands that only format.
    accents: Ignores accents.
    numerals: Treats English number words and numerals as equal ("twenty-one", "21").
    scorer: For `fuzzy`: `ratio` (insertions and deletions), `edit` (Levenshtein, as in ANLS), `partial` (the reference
        within the answer), `token_sort` (words in any order), as rapidfuzz computes them.
    threshold: For `fuzzy` and `f1`: a similarity below it scores 0. The default is 0.9 for `fuzzy` and 0 for `f1`.
    graded: For `fuzzy` and `f1`: the score is the similarity instead of 1. By default `f1` is graded and `fuzzy` is
        not. A graded answer passes with full marks, or at `threshold` if that is set.
    numbers: For `fuzzy`: the answer must contain the numbers of the reference and no others (`partial` permits others).
    longest: For `substring`, `two_way`, `f1` and the scorer `partial`: maximum number of tokens of an answer, or twice
        that of the longest reference if this is more. A long enough text contains any answer.
    least_share: For `two_way`: share of the reference's characters that an answer within it must have.
    refusals: Answers that mean "I do not answer". A refusal that goes on to guess is a hedge.
    refusal_score: Score for a refusal.
    """

    presets: ClassVar[Mapping[str, Preset]] = {
        "squad": Preset(sets={"extraction": "whole"}, free=("mode", "extraction")),
    }

    preset: Literal["squad"] | None = None
    mode: Mode = "normalised"
    extraction: str | tuple[str | dict[str, str], ...] = "auto"
    case: bool = True
    punctuation: bool = True
    articles: tuple[str, ...] = ("a", "an", "the")
    whitespace: bool = True
    unicode: bool = True
    markup: bool = True
    accents: bool = False
    numerals: bool = False
    scorer: Scorer = "ratio"
    threshold: float | None = None
    graded: bool | None = None
    numbers: bool = True
    longest: int = 40
    least_share: float = 0.5
    refusals: tuple[str, ...] = REFUSALS
    refusal_score: float = 0.0

    def __post_init__(self) -> None:
        _ladder(self.extraction)
        if self.preset is not None and self.mode not in ("normalised", "f1"):
            raise ValueError(
                f"preset {self.preset!r} is for the modes normalised (exact match) and f1, not {self.mode}"
            )
        for name in ("threshold", "least_share", "refusal_score"):
            value = getattr(self, name)
            if value is not None and not 0.0 <= value <= 1.0:
                raise ValueError(f"{name} must lie between 0 and 1")
        if self.longest < 1:
            raise ValueError("longest must be at least 1")
        if (self.threshold is not None or self.graded is not None) and self.mode not in ("fuzzy", "f1"):
            raise ValueError(f"threshold and graded are for the modes fuzzy and f1, not for {self.mode}")
        if any(not word.strip() or len(word.split()) > 1 for word in self.articles):
            raise ValueError("articles must be single words")
        if any(not text.strip() for text in self.refusals):
            raise ValueError("refusals must not be blank")

    @cached_property
    def reader(self) -> Reader:
        """Returns the precomputed data shared by all samples with these parameters."""
        return Reader(self)


class Reader:
    """Prepared parameters: the rules of extraction, the canonical form of texts, and refusals."""

    def __init__(self, params: TextParams) -> None:
        self.params = params
        self._ladder = _ladder(params.extraction)
        self.normal: Callable[[str], str] = (
            Normaliser(
                case=params.case,
                punctuation=params.punctuation,
                articles=params.articles,
                whitespace=params.whitespace,
                unicode=params.unicode,
                markup=params.markup,
                accents=params.accents,
                numerals=params.numerals,
            )
            if params.preset is None
            else squad.normalised
        )
        # A refusal in any spelling is one, whatever the parameters distinguish.
        self._plain = Normaliser()
        switches = (params.case, params.punctuation, params.whitespace, params.unicode, params.markup)
        plain = all(switches) and params.articles == ("a", "an", "the")
        self._is_plain = plain and not params.accents and not params.numerals and params.mode != "exact"
        self._is_plain = self._is_plain and params.preset is None
        self._refusals = frozenset(self._plain(text) for text in params.refusals)
        # A single refusal word can begin an answer ("Unknown Pleasures"), several cannot.
        self._begun = tuple(f"{text} " for text in self._refusals if " " in text)
        self.threshold = params.threshold if params.threshold is not None else 0.9 if params.mode == "fuzzy" else 0.0
        self.graded = params.graded if params.graded is not None else params.mode == "f1"
        self.mark = params.threshold if self.graded and params.threshold is not None else 1.0

    def extract(self, response: str, prompt: str | None = None, finish_reason: str | None = None) -> Extracted | None:
        """The answer of a response, from the first rule that matches."""
        return self._ladder.find(response, prompt=prompt, finish_reason=finish_reason)

    def missed(self, response: str, prompt: str | None = None, finish_reason: str | None = None) -> str | None:
        """Feedback on a response without an answer; see `Ladder.missed`."""
        return self._ladder.missed(response, prompt=prompt, finish_reason=finish_reason)

    def plain(self, text: str, form: str | None = None) -> str:
        """The form in which an answer is compared with refusals; usually the same as its canonical form `form`."""
        return form if form is not None and self._is_plain else self._plain(text)

    def refuses(self, plain: str) -> bool:
        """Returns whether an answer is only a refusal."""
        return plain in self._refusals

    def refuses_and_guesses(self, plain: str) -> bool:
        """Returns whether an answer begins with a refusal of several words and then continues."""
        return plain.startswith(self._begun)

    def refused(self, response: str) -> bool:
        """Returns whether a response without a marked answer is a refusal as a whole."""
        return len(response) <= _SHORT and self.refuses(self._plain(response))
