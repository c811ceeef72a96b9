"""`language`: checks that a response, its reasoning included, is in the expected language."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Component, Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import no_answer, scored, too_expensive, wrong
from rewarden_verifiers.structure import languages
from rewarden_verifiers.structure.prose import prose
from rewarden_verifiers.view import View, apply_view
from rewarden_verifiers.words import tokens

MOST_CHARACTERS = 200_000
"""The maximum length of a response in characters; a longer one is `too_expensive`."""
_CHUNK = 80
"""The minimum number of letters for detecting a language: one long sentence, or two short ones."""
_MOST_CHUNKS = 16
"""The maximum number of chunks of a part; longer parts have longer chunks, so that the detector's work is bounded."""
_ENOUGH = 40
"""The number of letters below which languages of the same script cannot be distinguished."""

_LABEL = re.compile(r"(?<![^\W_])[A-Z]{2,4}(?![^\W_])|(?<=[^\x00-\u024f])[A-Z]{2,4}(?![A-Za-z])")
"""Points, units and abbreviations: AB, GPU."""
_SENTENCE_END = re.compile(r"[.!?…]\s|[。！？।؟\n]")


@dataclass(frozen=True, kw_only=True)
class LanguageParams:
    """Options of `language`.

    language: Expected language: a code ("fr", "zh", "pt-BR") or an English name. If unset, the reference's, else the
        prompt's.
    accept: Other languages that are as good.
    parts: Parts to judge: the reasoning (`thinking`), the text after it (`final`), or `both`, as far as they are
        present.
    combine: Score of both parts: that of the `worst`, or their `mean` by words.
    method: `auto`: by script if that decides, else by script and detection; `script`: by script alone.
    open, close: The tags of the reasoning.
    threshold: Lowest share of words that passes.
    graded: The score is the share of words; if false, 1 from the threshold up, and 0 below it.
    short_score: Score of a response with too few words to identify its language. Above 0, short answers pay.
    """

    language: str | None = None
    accept: tuple[str, ...] = ()
    parts: Literal["thinking", "final", "both"] = "both"
    combine: Literal["worst", "mean"] = "worst"
    method: Literal["auto", "script"] = "auto"
    open: str = "<think>"
    close: str = "</think>"
    threshold: float = 0.8
    graded: bool = True
    short_score: float = 0.0

    def __post_init__(self) -> None:
        self.accepted  # noqa: B018 - a language that does not exist is told once, not for each sample
        if self.language is not None:
            languages.known(self.language)
        if not self.open or not self.close or self.open == self.close:
            raise ValueError("open and close must differ and must not be empty")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")
        if not 0 <= self.short_score <= 1:
            raise ValueError("short_score must lie between 0 and 1")

    @cached_property
    def accepted(self) -> tuple[str, ...]:
        """The codes in `accept`."""
        return tuple(languages.known(name) for name in self.accept)

    def seen(self, response: str) -> dict[str, str]:
        """The parts to judge that are present."""
        found: dict[str, str] = {}
        for part in ("thinking", "final"):
            if self.parts in (part, "both"):
                view = View(part=part, open=self.open, close=self.close, special_tokens=())
                text = apply_view(response, view).text
                if text is not None and text.strip():
                    found[part] = text
        return found


@dataclass(frozen=True, slots=True)
class _Found:
    """The findings on a part: its words, the share of them in the language, and whether the language could be
    identified.
    """

    words: int
    share: float
    told: bool


def _chunks(text: str) -> Iterator[list[str]]:
    """Splits the words of a text into chunks of whole sentences that are long enough for language detection."""
    sentences = [found for sentence in _SENTENCE_END.split(text) if (found := tokens(sentence))]
    left = sum(len(word) for sentence in sentences for word in sentence)
    size = max(_CHUNK, left // _MOST_CHUNKS)
    chunk: list[str] = []
    letters = 0
    for sentence in sentences:
        for word in sentence:
            # Cut an endless sentence: the detector would only examine its beginning.
            if letters >= 4 * size:
                yield chunk
                left -= letters
                chunk, letters = [], 0
            chunk.append(word)
            letters += len(word)
        # A short remainder is not detected separately.
        if letters >= size and left - letters >= size:
            yield chunk
            left -= letters
            chunk, letters = [], 0
    if chunk:
        yield chunk


def _judged(text: str, codes: tuple[str, ...], method: str) -> _Found:
    total, good, told = 0, 0.0, False
    text = prose(text)
    labels = frozenset(label.lower() for label in _LABEL.findall(text))
    for chunk in _chunks(text):
        read = [(word, name) for word in chunk if (name := languages.script(word)) is not None]
        if not any("LATIN" in languages.SCRIPTS[code] for code in codes):
            # Variables and the letters of answers occur in every language.
            read = [(word, name) for word, name in read if name != "LATIN" or len(word) > 1]
            # The same applies to labels, and to terms with an ending, if they stand among words of the language.
            plain = [(word, name) for word, name in read if word not in labels and not languages.mixed(word)]
            own = max(languages.belongs(Counter(name for _, name in plain), code) for code in codes)
            if 2 * (len(read) - len(plain)) <= own:
                read = plain
        found = Counter(name for _, name in read)
        best = 0
        told_apart: dict[frozenset[str], dict[str, float]] = {}
        for code in codes:
            own = languages.belongs(found, code)
            if own <= best:
                continue
            if method == "script" or code not in languages.SHARING:
                best, told = own, True
                continue
            scripts = languages.SCRIPTS[code]
            inside = [word for word, name in read if name in scripts]
            if sum(map(len, inside)) >= _ENOUGH:
                told = True
                if scripts not in told_apart:
                    told_apart[scripts] = languages.probabilities(" ".join(inside))
                if told_apart[scripts].get(code, 0.0) >= languages.PROBABLE:
                    best = own
        outside = len(read) - max((languages.belongs(found, code) for code in codes), default=0)
        told = told or 2 * outside > len(
            read
        )  # words in other scripts belong to another language, however few they are
        total += len(read)
        good += best
    return _Found(total, good / total if total else 0.0, told)


def _expected(params: LanguageParams, reference: Any, prompt: str | None) -> tuple[str, str]:
    """Returns the expected language, and how to detect it. Raises InvalidReference."""
    if params.language is not None:
        return languages.known(params.language), params.method
    if reference is not None:
        if not isinstance(reference, str):
            raise InvalidReference("the reference must be a language's code or English name", path="reference")
        try:
            return languages.known(reference), params.method
        except ValueError as error:
            raise InvalidReference(str(error), path="reference") from None
    text = prose(prompt[:MOST_CHARACTERS]) if prompt is not None else ""
    said = tokens(text)
    found = languages.language_of(text, said)
    if found is None:
        raise InvalidReference(
            "no language is asked for: give the parameter 'language', a reference, or a prompt that is in one",
            path="prompt",
        )
    # "Hi" and "Compute 12*7." are detected as Dutch and Romanian: so few letters identify only the script.
    short = found in languages.SHARING and sum(char.isalpha() for word in said for char in word) < _ENOUGH
    return found, "script" if short else params.method


@verifier(version="2", graded=True, view="full", warm=languages.warm)
def language(response: str, params: LanguageParams, reference: Any = None, prompt: str | None = None) -> Outcome:
    """Scores the share of words in the expected language, in the reasoning and in the answer.

    The parameter, the reference or the prompt gives the language. If the prompt consists of only a few words in a
    script that several languages share, only the script is compared. Code, formulas, addresses, tags and digits belong
    to no language and are ignored. A script that only one language uses identifies it (Greek, Hangul, kana, Han without
    kana …). Within a script that several languages share, langdetect identifies two sentences at a time, offline and
    with a fixed seed. By default both parts are judged and the worse one counts, so the verifier reads the whole
    response (view `full`).

    A part that is too short to identify is skipped if the other is long enough. If none is, the response earns
    `short_score`, 0 by default (`too_short`, or `no_words`), because saying little must not pay. If the reasoning is
    never closed, there is no answer to judge. Source: DeepSeek-R1's language consistency, the share of words in the
    target language. Chinese is distinguished from Japanese, but the simplified script is not distinguished from the
    traditional one.
    """
    if len(response) > MOST_CHARACTERS:
        return too_expensive(evidence={"characters": len(response), "most": MOST_CHARACTERS})
    code, method = _expected(params, reference, prompt)
    parts = params.seen(response)
    if not parts or (params.parts != "thinking" and "final" not in parts):
        return no_answer()  # a thought alone, in whatever language, answers nothing
    found = {name: _judged(text, (code, *params.accepted), method) for name, text in parts.items()}
    told = {name: part for name, part in found.items() if part.told and part.words}
    evidence: dict[str, Any] = {
        "language": code,
        "method": method,
        "words": {name: part.words for name, part in found.items()},
        "shares": {name: part.share for name, part in told.items()},
    }
    if not told:
        reason = "too_short" if any(part.words for part in found.values()) else "no_words"
        if not params.short_score:
            return wrong(reason, flags=(reason,), evidence=evidence)
        return scored(params.short_score, passed=False, reason=reason, flags=(reason,), evidence=evidence)
    if params.combine == "worst":
        share = min(part.share for part in told.values())
    else:
        share = sum(part.share * part.words for part in told.values()) / sum(part.words for part in told.values())
    components = {name: Component(status="scored", score=part.share) for name, part in told.items()}
    passed = share >= params.threshold
    score = share if params.graded else float(passed)
    missed = None if passed else "other_language"
    return scored(score, passed=passed, reason=missed, raw=share, components=components, evidence=evidence)
