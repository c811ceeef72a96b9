"""The parameters of `text`, and what is worked out of them once."""

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
"""Characters of a response that may be a refusal although no rule of extraction fires on it."""


def _ladder(extraction: Any) -> Ladder:
    return Ladder(extraction, {"short_response": short_response}, marks=("answer_line",), loose=("short_response",))


@dataclass(frozen=True, kw_only=True)
class TextParams:
    """Options of `text`.

    preset: `squad`: the official verdict of SQuAD 2.0, exact match or, with `mode: f1`, F1. The answer is the whole
        response unless `extraction` says otherwise. It pays what its script pays: 15 for 1.5, "London Paris" half of
        "Paris", and an empty response where no reference is given.
    mode: what makes an answer right. `exact`: the same characters; `normalised`: the same but for what the switches
        below overlook; `substring`: the reference stands in the answer, on borders of tokens (cover match); `two_way`:
        that, or the answer stands in the reference and is `least_share` of it; `fuzzy`: an edit ratio; `f1`: F1 over
        tokens (SQuAD, HotpotQA); `regex`: the reference is a pattern of RE2 that the whole answer matches.
    extraction: where the answer stands: `auto` (any mark, else a response of one short line; only a box or a tag where
        the prompt asks for it), `explicit` (any mark), `strict` (box or tag), `whole`, or an ordered list of rules.
    case: upper and lower case are the same (in `regex` too).
    punctuation: punctuation says nothing, except in and before numbers ("1.5", "-5", "1/2") and in names ("C++", "O-").
    articles: words that say nothing before another word; none where it is empty.
    whitespace: a run of blanks is one blank.
    unicode: full-width forms, digits of other scripts, curly quotes, dashes, ligatures and zero-width characters are as
        their plain forms.
    markup: `\\text{}` and other commands that only set type say nothing.
    accents: letters with and without accents are the same.
    numerals: English number words and numerals are the same ("twenty-one", "21").
    scorer: for `fuzzy`: `ratio` (insertions and deletions), `edit` (Levenshtein, as ANLS has it), `partial` (the
        reference within the answer), `token_sort` (words in any order); rapidfuzz's.
    threshold: for `fuzzy` and `f1`: a similarity below it earns nothing; without one it is 0.9 for `fuzzy`, 0 for `f1`.
    graded: for `fuzzy` and `f1`: whether the similarity is the score, or 1; without it `f1` is graded, `fuzzy` is not.
        A graded answer has passed with full marks, or at the threshold where one is given.
    numbers: for `fuzzy`: the numbers of the reference must stand in the answer, and no others (`partial`: others may).
    longest: for `substring`, `two_way`, `f1` and the scorer `partial`: tokens of an answer that may earn something, or
        twice those of the longest reference if that is more: who writes much hits something.
    least_share: for `two_way`: the share of the reference's characters that an answer within it must have.
    refusals: answers that mean "I do not answer"; one of them that goes on to guess is a hedge.
    refusal_score: what a refusal earns.
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
        """Returns what is worked out once for all samples with these parameters."""
        return Reader(self)


class Reader:
    """Parameters, worked out: the rules of extraction, the canonical form of texts, and refusals."""

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
        # However a refusal is written, it is one.
        self._plain = Normaliser()
        switches = (params.case, params.punctuation, params.whitespace, params.unicode, params.markup)
        plain = all(switches) and params.articles == ("a", "an", "the")
        self._is_plain = plain and not params.accents and not params.numerals and params.mode != "exact"
        self._is_plain = self._is_plain and params.preset is None
        self._refusals = frozenset(self._plain(text) for text in params.refusals)
        # One word may well begin an answer ("Unknown Pleasures"), several do not.
        self._begun = tuple(f"{text} " for text in self._refusals if " " in text)
        self.threshold = params.threshold if params.threshold is not None else 0.9 if params.mode == "fuzzy" else 0.0
        self.graded = params.graded if params.graded is not None else params.mode == "f1"
        self.mark = params.threshold if self.graded and params.threshold is not None else 1.0

    def extract(self, response: str, prompt: str | None = None, finish_reason: str | None = None) -> Extracted | None:
        """The answer of a response, by the first rule that fires."""
        return self._ladder.find(response, prompt=prompt, finish_reason=finish_reason)

    def missed(self, response: str, prompt: str | None = None, finish_reason: str | None = None) -> str | None:
        """Feedback on a response without an answer; see `Ladder.missed`."""
        return self._ladder.missed(response, prompt=prompt, finish_reason=finish_reason)

    def plain(self, text: str, form: str | None = None) -> str:
        """An answer's form as refusals have it; `form` is its canonical form, which mostly is the same."""
        return form if form is not None and self._is_plain else self._plain(text)

    def refuses(self, plain: str) -> bool:
        """Returns whether an answer is nothing but a refusal."""
        return plain in self._refusals

    def refuses_and_guesses(self, plain: str) -> bool:
        """Returns whether an answer begins with a refusal of several words and goes on."""
        return plain.startswith(self._begun)

    def refused(self, response: str) -> bool:
        """Returns whether a response without a marked answer is a refusal as a whole."""
        return len(response) <= _SHORT and self.refuses(self._plain(response))
