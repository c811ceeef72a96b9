"""`citation`: checks that a response cites sources that exist and that support it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Component, Outcome, StepScore
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import no_answer, scored, too_expensive, wrong
from rewarden_verifiers.retrieval.citations import Sentence, Style, cited_sentences, name_of, without_lead
from rewarden_verifiers.retrieval.names import Names, made_up, names
from rewarden_verifiers.words import tokens

Measure = Literal["precision", "coverage", "gold_precision", "gold_recall"]

MOST_CHARACTERS = 200_000
"""Characters of a response; a longer one is too expensive."""
MOST_QUOTES = 500
MOST_SOURCES = 1000
MOST_TEXT = 4_000_000
"""Characters of all sources together."""
_STEPS = 1000
_POINTER = re.compile(
    r"\b(?:doc(?:ument)?|source|passage|ref(?:erence)?|citation)s?\s+#?(\d{1,4})\b", re.IGNORECASE | re.ASCII
)
_FLAGS = ("unknown_sources", "too_many_citations", "false_quote")

_FUNCTION_WORDS_LIST = """
a about after all also an and any are as at be because been before being between both but by can could did do
does for from had has have he her his i if in into is it its may more most no not of on one or other our out
over s said she so some such than that the their them then there these they this those through to under up was
we were what when where which while who whose will with would you
"""
_FUNCTION_WORDS = frozenset(_FUNCTION_WORDS_LIST.split())
"""English words that hold no content. In other languages every word counts."""

Id = str | int


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A source that can be cited."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    id: Id
    text: str
    title: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationReference:
    """A reference with gold citations.

    sources: the sources that can be cited. gold: ids of those that a right response cites.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    sources: tuple[Source, ...] | dict[str, str]
    gold: tuple[Id, ...] | None = None


Reference = CitationReference | tuple[Source, ...] | dict[str, str]


@dataclass(frozen=True, kw_only=True)
class CitationParams:
    """Options of `citation`.

    styles: Accepted forms of citations: `brackets` ([1], [doc3], [1, 2], 【1】), `tags` (`<cite>doc3</cite>`, or
        `<cite id="doc3">…</cite>` around the text that it is cited for), `footnotes` ([^1] with a line `[^1]: doc3`).
    measures: Measures whose harmonic mean is the score. If unset, all that apply; `gold_precision` and `gold_recall`
        need the reference's `gold`.
    support: Share of a sentence's content words that must be in the sources that it cites. 0 turns the comparison of
        words, names and numbers off.
    most: Citations that a sentence can have; with more, none of them counts.
    least_words: Sentences with fewer distinct words need no citation, and citations in them earn nothing.
    quotes: Passages in quotation marks must be in a cited source (`check`), or every sentence with a citation must also
        have such a passage (`require`).
    quote_words: Shorter passages in quotation marks are not quotations.
    threshold: Lowest score that passes.
    """

    styles: tuple[Style, ...] = ("brackets", "tags", "footnotes")
    measures: tuple[Measure, ...] | None = None
    support: float = 0.5
    most: int = 3
    least_words: int = 4
    quotes: Literal["check", "require"] = "check"
    quote_words: int = 4
    threshold: float = 1.0

    def __post_init__(self) -> None:
        if not self.styles:
            raise ValueError("styles must name at least one")
        if self.measures is not None and not self.measures:
            raise ValueError("measures must name at least one")
        if not 0 <= self.support <= 1:
            raise ValueError("support must lie between 0 and 1")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")
        for name in ("most", "least_words", "quote_words"):
            if not 1 <= getattr(self, name) <= 1000:
                raise ValueError(f"{name} must lie between 1 and 1000")


@dataclass(frozen=True, eq=False)
class Shelf:
    """The sources by id, and the gold ones."""

    texts: Mapping[str, str]
    gold: frozenset[str] | None
    numbered: bool

    @cached_property
    def words(self) -> Mapping[str, list[str]]:
        """The words of each source."""
        return {name: tokens(text) for name, text in self.texts.items()}

    @cached_property
    def distinct(self) -> Mapping[str, frozenset[str]]:
        """The distinct words of each source."""
        return {name: frozenset(words) for name, words in self.words.items()}

    @cached_property
    def names(self) -> Mapping[str, Names]:
        """The words of each source, for names."""
        return {name: Names(words) for name, words in self.words.items()}

    @cached_property
    def joined(self) -> Mapping[str, str]:
        """The words of each source as one text."""
        return {name: f" {' '.join(words)} " for name, words in self.words.items()}

    @cached_property
    def places(self) -> Sequence[str]:
        """The ids in their order."""
        return list(self.texts)

    def resolve(self, mark: str) -> str | None:
        """The id that a mark names: its own, or its place from 1 if no id is a number."""
        for name in (mark, without_lead(mark)):
            if name in self.texts:
                return name
            if not self.numbered and name.isascii() and name.isdigit() and 1 <= int(name[:9]) <= len(self.places):
                return self.places[int(name[:9]) - 1]
        return None


def shelf(reference: Reference, params: CitationParams) -> Shelf:
    """The reference, read. Raises InvalidReference for one without sources, or whose gold is none of them."""
    if not isinstance(reference, CitationReference):
        reference = CitationReference(sources=reference)
    given = reference.sources
    sources = [Source(id=name, text=text) for name, text in given.items()] if isinstance(given, dict) else list(given)
    if not sources or len(sources) > MOST_SOURCES:
        raise InvalidReference(f"the reference must have 1 to {MOST_SOURCES} sources", path="reference.sources")
    if sum(len(source.text) for source in sources) > MOST_TEXT:
        raise InvalidReference(f"the sources have more than {MOST_TEXT} characters", path="reference.sources")
    texts: dict[str, str] = {}
    for place, source in enumerate(sources):
        name = name_of(str(source.id))
        if not name or name in texts:
            raise InvalidReference(
                f"the id {source.id!r} is empty or used twice", path=f"reference.sources[{place}].id"
            )
        texts[name] = f"{source.title}\n{source.text}" if source.title else source.text
    gold = None if reference.gold is None else frozenset(name_of(str(one)) for one in reference.gold)
    if gold is not None and (not gold or not gold <= texts.keys()):
        raise InvalidReference("gold must name sources of the reference, at least one", path="reference.gold")
    if gold is None and params.measures is not None and {"gold_precision", "gold_recall"} & {*params.measures}:
        raise InvalidReference("gold_precision and gold_recall need the reference's gold", path="reference.gold")
    return Shelf(texts, gold, any(name.isdigit() for name in texts))


@dataclass(frozen=True, slots=True)
class _Judged:
    """A sentence's outcome: the cited sources that count, and the reason if there are none."""

    counted: frozenset[str]
    reason: str | None = None


@verifier(version="1", graded=True, prepare=shelf)
def citation(response: str, prepared: Shelf, params: CitationParams) -> Outcome:
    """Checks, sentence by sentence, that the response cites sources that exist and contain what it says.

    The reference holds the sources: `{id: text}`, a list of `{id, text, title}`, or `{sources, gold}` with the ids of
    the sources that a right response cites. A number that is not an id names the source at that position, and the first
    is 1. Nothing that the response itself says about its sources counts: its list of sources, under a heading or at the
    end, is ignored.

    A sentence is **supported** if the sources that it cites, taken together, contain at least `support` of its content
    words, all of its numbers, all of its names, and every passage that it quotes. Names are capitalised words that do
    not begin the sentence, in languages that capitalise only these. A quotation must be word for word, apart from case
    and punctuation, and must not leave anything out. A citation **counts** if its sentence is supported and the source
    is needed: it supports the sentence alone, or the sentence is not supported without it. Repeated sentences are
    judged once.

    | measure | meaning |
    |---|---|
    | `precision` | citations that count, of all citations |
    | `coverage` | sentences with a citation that counts, of all sentences with `least_words` distinct words |
    | `gold_precision` | gold sources, of all distinct sources cited |
    | `gold_recall` | gold sources with a citation that counts, of all gold sources |

    The score is their harmonic mean, so that a measure of 0 makes it 0. Components hold each measure. The first two are
    those of ALCE (arXiv 2305.14627), but compare words instead of using an entailment model: a sentence that negates
    its source still counts as supported. To check the claims themselves, combine it with `fact`.

    Each sentence is a step: 1 if it is supported, else 0, with a reason as its feedback. These reasons are also the
    verdict's if the score is 0: `no_citations`, `unknown_sources`, `too_many_citations`, `false_quote`, `unsupported`,
    `not_quoted`, `wrong_sources`. A score below the threshold has the reason `partly_cited`. Flags: `unknown_sources`,
    `too_many_citations`, `false_quote`. To check that the answer is right, combine it with another verifier.
    """
    if not response.strip():
        return no_answer()
    if len(response) > MOST_CHARACTERS:
        return too_expensive(evidence={"characters": len(response)})
    found: dict[tuple[str, ...], Sentence] = {}
    for sentence in cited_sentences(response, params.styles, prepared.resolve):
        if not sentence.words and not sentence.cited and not sentence.unknown:
            continue
        first = found.setdefault(tuple(sentence.words), sentence)
        if first is not sentence:  # attack: one good sentence, said fifty times
            first.cited += [name for name in sentence.cited if name not in first.cited]
            first.unknown += [name for name in sentence.unknown if name not in first.unknown]
            first.quotes += sentence.quotes
    judged = [one for one in found.values() if one.cited or one.unknown or _claims(one, params)]
    if sum(len(one.quotes) for one in judged) > MOST_QUOTES:
        return too_expensive(evidence={"quotes": sum(len(one.quotes) for one in judged)})
    return _outcome(judged, [_judge(one, prepared, params) for one in judged], prepared, params)


def _claims(sentence: Sentence, params: CitationParams) -> bool:
    """Returns whether a sentence says enough to need a citation."""
    return len(frozenset(sentence.words)) >= params.least_words


def _judge(sentence: Sentence, prepared: Shelf, params: CitationParams) -> _Judged:
    cited = sentence.cited
    if not cited:
        return _Judged(frozenset(), "unknown_sources" if sentence.unknown else "no_citations")
    if len(cited) + len(sentence.unknown) > params.most:
        return _Judged(frozenset(), "too_many_citations")
    if not _claims(sentence, params):
        return _Judged(frozenset(), "unsupported")
    quotes = [words for words in sentence.quotes if len(words) >= params.quote_words]
    # Attack: a quotation of one common word, which every source holds.
    if not all(any(f" {' '.join(words)} " in prepared.joined[name] for name in cited) for words in quotes):
        return _Judged(frozenset(), "false_quote")
    if not quotes and params.quotes == "require":
        return _Judged(frozenset(), "not_quoted")
    if not params.support:
        return _Judged(frozenset(cited))
    supported = _support(sentence, prepared, params)
    if not supported(cited):
        return _Judged(frozenset(), "unsupported")
    needed = [name for name in cited if supported([name]) or not supported([other for other in cited if other != name])]
    return _Judged(frozenset(needed))


def _support(sentence: Sentence, prepared: Shelf, params: CitationParams) -> Callable[[Sequence[str]], bool]:
    content = frozenset(sentence.words) - _FUNCTION_WORDS
    # "According to document 1, …": a number that points at a source says nothing about its content.
    pointers = {one for one in _POINTER.findall(sentence.text) if prepared.resolve(one) in sentence.cited}
    numbers = frozenset(word for word in content if any(map(str.isdigit, word))) - pointers
    content -= pointers
    said = names(sentence.text)

    def supported(cited: Sequence[str]) -> bool:
        there = frozenset().union(*(content & prepared.distinct[name] for name in cited))
        if not content or not numbers <= there or len(there) < params.support * len(content):
            return False
        # Attack: one name in a sentence of a source put in the place of another.
        return not made_up(said, [prepared.names[name] for name in cited])

    return supported


def _outcome(
    sentences: Sequence[Sentence], judged: Sequence[_Judged], prepared: Shelf, params: CitationParams
) -> Outcome:
    citations = sum(len(one.cited) + len(one.unknown) for one in sentences)
    claims = [one for one, sentence in zip(judged, sentences, strict=True) if _claims(sentence, params)]
    cited = {name for one in sentences for name in one.cited}
    unknown = {name for one in sentences for name in one.unknown}
    counted = frozenset[str]().union(*(one.counted for one in judged))
    reasons = [one.reason for one in judged]
    details: dict[str, Any] = {
        "extracted": list(dict.fromkeys(name for one in sentences for name in one.cited))[:100],
        "evidence": {
            "sentences": len(claims),
            "supported": sum(bool(one.counted) for one in claims),
            "citations": citations,
            "counted": sum(len(one.counted) for one in judged),
            "sources": len(cited),
            "unknown": sorted(unknown)[:20],
        },
        "flags": [name for name in _FLAGS if name in reasons or (name == "unknown_sources" and unknown)],
        "steps": tuple(
            StepScore(index=place, score=float(bool(one.counted)), label=sentence.text[:200], feedback=one.reason)
            for place, (sentence, one) in enumerate(zip(sentences[:_STEPS], judged, strict=False))
        ),
    }
    if not citations:
        return no_answer("no_citations", **details)
    values: dict[str, float] = {
        "precision": sum(len(one.counted) for one in judged) / citations,
        "coverage": sum(bool(one.counted) for one in claims) / len(claims) if claims else 0.0,
    }
    if prepared.gold is not None:
        values["gold_precision"] = len(cited & prepared.gold) / (len(cited) + len(unknown))
        values["gold_recall"] = len(counted & prepared.gold) / len(prepared.gold)
    details["components"] = {name: Component(status="scored", score=value) for name, value in values.items()}
    kept = [values[name] for name in params.measures or values]
    score = len(kept) / sum(1 / value for value in kept) if all(kept) else 0.0
    score = 1.0 if score >= 1.0 - 1e-12 else score
    if not score:
        first = next((reason for reason in reasons if reason not in (None, "no_citations")), None)
        return wrong(first if first is not None and not counted else "wrong_sources", **details)
    passed = score >= params.threshold
    return scored(score, passed=passed, reason=None if passed else "partly_cited", **details)
