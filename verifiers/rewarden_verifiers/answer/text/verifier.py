"""`text`: compares a short answer in words with the expected one, with optional partial credit."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.answer.text.apposition import before_remark
from rewarden_verifiers.answer.text.closed import CLOSED, OPPOSITES, clause
from rewarden_verifiers.answer.text.echo import question_of
from rewarden_verifiers.answer.text.equivalence import TextEquivalence
from rewarden_verifiers.answer.text.hedging import affirmed, negations, offering, offers, sentences
from rewarden_verifiers.answer.text.markup import undressed
from rewarden_verifiers.answer.text.normalise import listed, tokens
from rewarden_verifiers.answer.text.params import Reader, TextParams
from rewarden_verifiers.answer.text.reference import MAX_FUZZY, Alternative, Prepared, Reference, read
from rewarden_verifiers.answer.text.similarity import among, counted, f1, numbers, ratio
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Extracted, encodable
from rewarden_verifiers.outcome import loosely, no_answer, right, scored, too_expensive, wrong

_EXCERPT = 500
_MAX_PARTIAL_ANSWER = 1000
_PLAIN_DENIALS = frozenset(("not", "never"))
"""Words that negate in F1. Other words ("no", "don't") count as in SQuAD: alone they are no clear negation."""
_LEAD = re.compile(
    r"[\s*]{0,4}(?:the |my )?(?:(?:final|correct|right) )?answer(?:\s{1,4}is\b\s{0,4}:?|[\s*]{0,4}:)[\s*]{0,8}",
    re.IGNORECASE,
)

_REFERENCES = 1024
"""Number of prepared references to cache, over all parameters: inline verifiers have no other cache for them."""

Details = dict[str, Any]


def prepare(reference: Reference, params: TextParams) -> Prepared:
    """Prepares the references, once for all their responses. Raises InvalidReference."""
    return _prepared(reference, params.reader)


_prepared = lru_cache(maxsize=_REFERENCES)(read)  # by the reader, because parameters can be unhashable


@verifier(
    version="2",
    graded=True,
    inline=True,
    prepare=prepare,
    equivalence=TextEquivalence,
)
def text(
    response: str, prompt: str | None, prepared: Prepared, params: TextParams, finish_reason: str | None = None
) -> Outcome:
    """Compares a short answer in words with the expected one: by name, alias, pattern, edit ratio or token F1.

    The reference is a text, a list of texts (the best match counts), or `{"answer": "Paris", "aliases": ["Paname"]}`;
    with `mode: regex` the texts are patterns. The default is SQuAD's exact match without its known flaws. Signs and
    decimal points survive normalisation (1.5 is not 15, -5 is not 5, 1/2 is not 12, O- is not O+). An article is
    dropped only before another word (a lone "A" and "Vitamin A" keep theirs). A text that consists only of punctuation
    is compared unchanged. A remark in brackets is ignored if it cannot be another answer: "**Barack Obama** (born
    1961)".

    These responses score 0, with the reason:

    - `no_answer`: there is no answer.
    - `refused`: "I do not know"; it earns `refusal_score`.
    - `echoed`: the answer repeats the question. If the sample has a prompt, an echo of it is removed before the rest is
      judged.
    - `hedged`: several different answers ("Paris or London"), a list of candidates, or a refusal that goes on to guess.
      This applies to short references that are not themselves of this form.
    - `too_long`: more tokens than `longest` permits, in the modes that credit parts of an answer.
    - `denied`: "not Paris" mentions Paris.
    - `too_expensive`: the answer exceeds the size limits.
    - `wrong`: another answer.

    yes, no, true, false and noanswer never match partially: they neither earn nor give partial credit, and as
    references of `substring` they must be the answer's first clause.

    No rule can tell that "Paris, London" and "Paris and London" are two guesses and "Paris, France" is one answer, so
    cover match accepts them all. If that matters, use `normalised` with aliases, or a small `longest`.

    The tokens of `f1` are words, or single characters in scripts without spaces between words. With `graded`, the score
    is the similarity. ANLS is `mode: fuzzy, scorer: edit, threshold: 0.5, graded: true, numbers: false`.

    `preset: squad` gives the verdict of SQuAD 2.0's own script, without these guards. Use it to compare results, not to
    train. If there are no references (`[]`), or only whitespace and articles, the empty response is right, as in the
    script for unanswerable questions.
    """
    reader = params.reader
    found = reader.extract(response, prompt, finish_reason)
    if params.preset is not None:
        return _official(response, found, prepared, params)
    if found is None:
        if reader.refused(response):
            return _refused({}, params)
        return no_answer(feedback=reader.missed(response, prompt, finish_reason))
    outcome = _outcome(found, prompt, prepared, params)
    return loosely(outcome) if found.loose else outcome


def _outcome(found: Extracted, prompt: str | None, prepared: Prepared, params: TextParams) -> Outcome:
    reader = params.reader
    answer = found.texts[-1]
    evidence: Details = {"rule": found.rule}
    details: Details = {"extracted": answer[:_EXCERPT], "evidence": evidence}
    if found.oversized:
        return too_expensive(**details)
    if params.mode == "regex":
        return _matched(found, prompt, prepared, params, details)
    form = _form(answer, params)
    if len(found.texts) > 1 and any(_form(other, params) != form for other in found.texts):
        return wrong("hedged", flags=("hedged",), **details)
    place = prepared.places.get(form)
    if place is not None:
        evidence["reference"] = place
        return scored(1.0, passed=True, extracted=answer[:_EXCERPT], evidence=evidence)  # `right`, inlined
    place = _led(answer, prepared, params)
    if place is None and params.mode != "exact" and (joined := listed(answer)) is not None:
        place = prepared.places.get(reader.normal(joined))
    if place is not None:
        return _met(place, details)
    lenient = params.mode not in ("exact", "normalised")
    question = question_of(prompt) if prompt and lenient else None
    if question is not None:
        rest = question.without(answer)
        if not rest:
            return wrong("echoed", flags=("echoed",), **details)
        if rest != answer:
            answer, form = rest, reader.normal(rest)
            place = prepared.places.get(form)
            if place is not None:
                return _met(place, details)
    problem = _problem(answer, form, prepared, params, details)
    if problem is not None:
        return problem
    if not lenient:
        return wrong(**details)
    if params.mode == "fuzzy":
        return _fuzzy(answer, form, prepared, params, details)
    parts = tokens(form)
    if len(parts) > max(params.longest, 2 * prepared.longest):
        return wrong("too_long", flags=("too_long",), **details)
    if params.mode == "f1":
        return _f1(answer, form, parts, prepared, params, details)
    return _within(answer, " ".join(parts), prepared, params, details)


def _official(response: str, found: Extracted | None, prepared: Prepared, params: TextParams) -> Outcome:
    """SQuAD's own verdict: it knows no refusals, echoes, denials or hedges, and the last answer counts."""
    if found is None and response.strip():
        return no_answer()
    if found is not None and found.oversized:
        return too_expensive(extracted=found.text[:_EXCERPT])
    answer = found.text if found is not None else ""
    details: Details = {"extracted": answer[:_EXCERPT], "evidence": {"rule": found.rule if found else "whole"}}
    if found is None:
        details["flags"] = ("no_answer",)
    form = params.reader.normal(answer)
    place = prepared.places.get(form)
    if place is not None:
        return _met(place, details)
    if params.mode != "f1" or not form:
        return wrong(**details)
    parts = form.split()
    counts = counted(parts)
    sized = ((f1(counts, len(parts), one.counts, one.size), one.index) for one in prepared.alternatives if one.size)
    best, place = max(sized, default=((0.0, 0.0, 0.0), None), key=lambda pair: pair[0][0])
    details["evidence"] |= {"f1": best[0], "precision": best[1], "recall": best[2]}
    return _similar(best[0], place if best[0] else None, params, details)


def _form(text: str, params: TextParams) -> str:
    return text if params.mode == "exact" else params.reader.normal(text)


def _led(answer: str, prepared: Prepared, params: TextParams) -> int | None:
    """The reference that is the whole text after "The answer is" or "Answer:" within a tag or a box, or before a
    remark.
    """
    if params.mode == "exact":
        return None
    bare = undressed(answer) if params.markup else answer
    lead = _LEAD.match(bare)
    bare = bare if lead is None else bare[lead.end() :]
    place = None if lead is None else prepared.places.get(params.reader.normal(bare))
    head = before_remark(bare) if place is None and "(" in bare else None
    return place if head is None else prepared.places.get(params.reader.normal(head))


def _problem(answer: str, form: str, prepared: Prepared, params: TextParams, details: Details) -> Outcome | None:
    """The outcome for an answer that equals no reference and is a refusal or a hedge; else None."""
    reader = params.reader
    plain = reader.plain(answer, form)
    if reader.refuses(plain):
        return _refused(details, params)
    hedged = prepared.offers is not None and offering(answer) and offers(answer).beyond(prepared.offers)
    if hedged or reader.refuses_and_guesses(plain):
        return wrong("hedged", flags=("hedged",), **details)
    return None


def _refused(details: Details, params: TextParams) -> Outcome:
    return scored(params.refusal_score, passed=False, reason="refused", flags=("refused",), **details)


def _matched(found: Extracted, prompt: str | None, prepared: Prepared, params: TextParams, details: Details) -> Outcome:
    """The outcome for an answer that must match a pattern as a whole."""
    if len(found.texts) > 1 and len({params.reader.normal(other) for other in found.texts}) > 1:
        return wrong("hedged", flags=("hedged",), **details)
    answer = found.text
    question = question_of(prompt) if prompt else None
    if question is not None:
        answer = question.without(answer)
        if not answer:
            return wrong("echoed", flags=("echoed",), **details)
    readable = encodable(answer)
    for index, pattern in enumerate(prepared.patterns):
        if pattern.fullmatch(readable) is not None:
            return _met(index, details)
    return _refused(details, params) if params.reader.refuses(params.reader.plain(answer)) else wrong(**details)


def _within(answer: str, spaced: str, prepared: Prepared, params: TextParams, details: Details) -> Outcome:
    """The outcome for an answer that contains a reference, or is contained in one."""
    denied = False
    for one in prepared.alternatives:
        if one.closed:
            if _first_clause(answer, one.normal, params.reader):
                return _met(one.index, details)
            continue
        if f" {one.spaced} " in f" {spaced} ":
            if _affirmed(answer, spaced, one, params.reader):
                return _met(one.index, details)
            denied = True
        elif params.mode == "two_way" and _is_enough(spaced, one, params):
            return _met(one.index, details)
    return wrong("denied" if denied else "wrong", **details)


def _affirmed(answer: str, spaced: str, one: Alternative, reader: Reader) -> bool:
    """Returns whether a reference in an answer is not denied there, or at least not within its own sentence."""
    if affirmed(one.spaced, spaced):
        return True
    parts = sentences(answer)
    if len(parts) < 2:
        return False
    forms = [" ".join(tokens(reader.normal(part))) for part in parts]
    return any(affirmed(one.spaced, form, after) for form, after in zip(forms, [*forms[1:], ""], strict=True))


def _turned(answer: str, spaced: str, count: int, one: Alternative, reader: Reader) -> bool:
    """Returns whether an answer denies what a reference says, or the other way round. "Paris, not London" affirms
    Paris.
    """
    if count == one.negations:
        return False
    return f" {one.spaced} " not in f" {spaced} " or not _affirmed(answer, spaced, one, reader)


def _denied(answer: str, spaced: str, one: Alternative, reader: Reader) -> bool:
    """Returns whether an answer contains a whole reference only to deny it."""
    return f" {one.spaced} " in f" {spaced} " and not _affirmed(answer, spaced, one, reader)


def _is_enough(spaced: str, one: Alternative, params: TextParams) -> bool:
    """Returns whether an answer is contained in a reference and long enough: many references contain "of the"."""
    if spaced in CLOSED or len(spaced) < params.least_share * len(one.spaced):
        return False
    return f" {spaced} " in f" {one.spaced} "


def _met(place: int, details: Details) -> Outcome:
    """The outcome for an answer that equals or contains the reference at this index."""
    details["evidence"]["reference"] = place
    return right(**details)


def _first_clause(answer: str, wanted: str, reader: Reader) -> bool:
    """Returns whether yes or no is the first clause of an answer that does not later say the opposite."""
    first, rest = clause(answer)
    opposite = OPPOSITES.get(wanted, "")
    return reader.normal(first) == wanted and f" {opposite} " not in f" {reader.normal(rest)} "


def _f1(answer: str, form: str, parts: list[str], prepared: Prepared, params: TextParams, details: Details) -> Outcome:
    best = (0.0, 0.0, 0.0)
    place = None
    if form not in CLOSED:
        counts = counted(parts)
        spaced = " ".join(parts)
        denying = not _PLAIN_DENIALS.isdisjoint(counts)
        for one in prepared.alternatives:
            if not one.closed and not (denying and _denied(answer, spaced, one, params.reader)):
                made = f1(counts, len(parts), one.counts, one.size)
                if made > best:
                    best, place = made, one.index
    details["evidence"] |= {"f1": best[0], "precision": best[1], "recall": best[2]}
    return _similar(best[0], place, params, details)


def _fuzzy(answer: str, form: str, prepared: Prepared, params: TextParams, details: Details) -> Outcome:
    partial = params.scorer == "partial"
    if len(form) > (_MAX_PARTIAL_ANSWER if partial else MAX_FUZZY):
        return too_expensive(**details)
    parts = tokens(form)
    if partial and len(parts) > max(params.longest, 2 * prepared.longest):
        return wrong("too_long", flags=("too_long",), **details)
    own = numbers(form) if params.numbers else ()
    spaced, count = " ".join(parts), negations(parts)
    best, place = 0.0, None
    if form not in CLOSED:
        for one in prepared.alternatives:
            if one.closed or (params.numbers and not (among(one.numbers, own) if partial else one.numbers == own)):
                continue
            if count != one.negations and (not partial or _turned(answer, spaced, count, one, params.reader)):
                continue
            made = ratio(params.scorer, form, one.normal)
            if made > best:
                best, place = made, one.index
    details["evidence"]["similarity"] = best
    return _similar(best, place, params, details)


def _similar(best: float, place: int | None, params: TextParams, details: Details) -> Outcome:
    """The outcome for a similarity: by threshold, or graded."""
    reader = params.reader
    if place is not None:
        details["evidence"]["reference"] = place
    if not best or best < reader.threshold:
        return wrong(**details)
    if not reader.graded:
        return right(**details)
    passed = best >= reader.mark
    return scored(best, passed=passed, reason=None if passed else "partly_right", **details)
