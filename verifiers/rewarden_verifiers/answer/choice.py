"""`choice`: checks whether a response names the right option."""

from __future__ import annotations

import re
import string
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.answer.chembench import marked_letters
from rewarden_verifiers.answer.labels import MAX_LABELS, Alphabet, alphabet, expand, usual
from rewarden_verifiers.answer.options import Options, listed_in, normal, options_of
from rewarden_verifiers.answer.sentence import DOUBT, last_sentence, opening_clause
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Extracted, Ladder, Rule
from rewarden_verifiers.outcome import loosely, no_answer, right, scored, wrong
from rewarden_verifiers.preset import Preset

OptionTexts = tuple[str, ...] | dict[str, str]
Problem = Literal["hedged", "contradictory"]
Gold = str | int | bool  # bool is listed so that `true` is refused instead of being read as the index 1

_REFERENCES = 4096
"""Number of prepared questions to cache, for each distinct set of parameters."""
_SHORT_LINE = 40
"""Maximum number of characters of a line that can name several labels without a box, tag or phrase."""
_EXCERPT = 200
_MOST_WORDS = 12
"""Maximum number of words of an option that can end a sentence."""
_SHORT_TEXT = 400
"""Maximum number of characters of a response in which every sentence is read: a list of the options is not a choice."""
_IS = re.compile(r"\b(?:is|are|was|were|be)\s+(?:\*\*|the |a |an )*$", re.IGNORECASE)
_CHOSEN = re.compile(
    r"\b(?:is|are|be|in|as|choose|select|pick)\s+(?:\*\*|the |option |choice |answer )*$", re.IGNORECASE
)
# "D（8）" is an option with its text, whereas "C(5,2)" is a number of combinations.
_BESIDE = re.compile(r"([A-Z])\(([^()]{1,200})\)")
_BRACKETED = re.compile(r"\(([A-Za-z0-9]{1,4})\)")
_ABSTAINED = -1
"""The option index that means "abstained"."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChoiceReference:
    """A reference with its options. Exactly one of `answer` and `answers` (several are right) is given.

    options: the options' texts in order, or an object from labels to texts.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    answer: Gold | None = None
    answers: tuple[Gold, ...] | None = None
    options: OptionTexts | None = None


Reference = Gold | tuple[Gold, ...] | ChoiceReference


@dataclass(frozen=True, kw_only=True)
class ChoiceParams:
    """Options of `choice`.

    preset: `chembench`: ChemBench's `all_correct` for a question with options, as far as it uses no model. The letters
        in all `[ANSWER]…[/ANSWER]` together, without those of no option, must be the right ones.
    options: The options' texts in order, or an object from labels to texts, if all samples share them.
    labels: The labels: a range ("A-J", "a-d", "1-4", "i-v") or a list. If unset, the reference suggests them, else
        letters.
    gold: How to read the reference; `auto`: a label if it is one, else an option's text. An integer is an index, or a
        label if the labels are numbers.
    index_base: Index of the first option.
    extraction: Rules that find the answer: `auto` (any marked answer, else a line that holds only a label; if the
        prompt asks for a box or a tag, only that counts), `lax` (as `auto` but regardless of the prompt), `strict` (a
        box or a tag), or an ordered list of rules, which can include `label_line`.
    several: Credit if several options are right: `exact` (these and no others), `any` (one or more of them and no
        others), `subset` (the share of them that the answer names, 0 if it names another one), `jaccard` (intersection
        over union of the named and the right options).
    abstain: Labels or texts that mean "I do not answer".
    abstain_score: Score for abstaining.
    """

    presets: ClassVar[Mapping[str, Preset]] = {
        "chembench": Preset(free=("options", "labels", "gold", "index_base")),
    }

    preset: Literal["chembench"] | None = None
    options: OptionTexts | None = None
    labels: str | tuple[str, ...] | None = None
    gold: Literal["auto", "label", "index", "text"] = "auto"
    index_base: Literal[0, 1] = 0
    extraction: str | tuple[str | dict[str, str], ...] = "auto"
    several: Literal["exact", "any", "subset", "jaccard"] = "exact"
    abstain: tuple[str, ...] = ()
    abstain_score: float = 0.0

    def __post_init__(self) -> None:
        if not 0.0 <= self.abstain_score <= 1.0:
            raise ValueError("abstain_score must lie between 0 and 1")
        _ladder(self.extraction)
        labels = self.own_labels
        if labels is not None and not 2 <= len(labels) <= MAX_LABELS:
            raise ValueError(f"labels must be between 2 and {MAX_LABELS}")
        if labels is not None and (len(set(labels)) < len(labels) or not all(label.strip() for label in labels)):
            raise ValueError("labels must differ and must not be blank")
        if self.options is not None and (problem := _flawed(self.options, labels)) is not None:
            raise ValueError(problem)

    @cached_property
    def own_labels(self) -> tuple[str, ...] | None:
        """The labels given by the parameters themselves."""
        return expand(self.labels) if isinstance(self.labels, str) else self.labels

    @cached_property
    def reader(self) -> Reader:
        """Returns the precomputed data shared by all samples with these parameters."""
        return Reader(self)


def _ladder(extraction: Any) -> Ladder:
    # These rules need the labels and options, which a sample can supply.
    return Ladder(extraction, dict.fromkeys(_OWN), loose=tuple(_OWN))


def _flawed(options: OptionTexts, labels: tuple[str, ...] | None) -> str | None:
    """Returns the problem with the options, or None."""
    if not 2 <= len(options) <= MAX_LABELS:
        return f"there must be between 2 and {MAX_LABELS} options, not {len(options)}"
    if isinstance(options, dict):
        if any(not label.strip() for label in options):
            return "an option's label must not be blank"
        if labels is not None and set(options) != set(labels):
            return "the options' labels differ from the parameter 'labels'"
    elif labels is not None and len(labels) < len(options):
        return f"there are {len(options)} options but only {len(labels)} labels"
    return None


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """A prepared reference: which of the labelled options are right.

    `settled` caches the outcome for each option named by each rule: siblings give the same few answers, and building an
    outcome costs as much as reading one.
    """

    alphabet: Alphabet
    options: Options | None
    right: frozenset[int]
    abstained: frozenset[int]
    abstentions: frozenset[str]
    count: int | None
    settled: dict[tuple[int, str], Outcome] = field(default_factory=dict)

    def read(self, text: str) -> tuple[tuple[int, ...], Problem | None]:
        """Returns the options that an answer names (none: it names no option), and the problem with naming them in this
        way.
        """
        reading = self.alphabet.read(text)
        if reading is None and self.options is not None and (beside := _BESIDE.fullmatch(normal(text))) is not None:
            place = self.alphabet.index.get(beside.group(1))
            if place is not None and place in (
                self.options.match(beside.group(2)),
                self.options.valued(beside.group(2)),
            ):
                return (place,), None
        if reading is not None:
            if reading.either:
                return reading.labels, "hedged"
            if reading.rest and self.options is not None and len(reading.labels) == 1:
                other = self.options.match(reading.rest)
                if other is not None and other != reading.labels[0]:
                    return reading.labels, "contradictory"
            return reading.labels, None
        if self.abstentions and normal(text).casefold() in self.abstentions:
            return (_ABSTAINED,), None
        if self.options is not None:
            for named in (self.options.match, self.options.begun, self.options.valued):
                place = named(text)
                if place is not None:
                    return (place,), None
        return (), None

    def label(self, place: int) -> str:
        """The label of an option."""
        return "abstain" if place == _ABSTAINED else self.alphabet.labels[place]

    def shown(self, places: Sequence[int]) -> str | list[str]:
        """The label of one option, or the labels of several."""
        labels = [self.label(place) for place in places]
        return labels[0] if len(labels) == 1 else labels


class Reader:
    """Prepared parameters: the rules of extraction, and questions made from references."""

    def __init__(self, params: ChoiceParams) -> None:
        self._params = params
        self._ladder = _ladder(params.extraction)
        self.question = lru_cache(maxsize=_REFERENCES)(self._question)
        self._with_options = lru_cache(maxsize=_REFERENCES)(_with_options)

    def ask(self, reference: Reference) -> Question:
        """Makes the question of a reference. Raises InvalidReference."""
        labels: tuple[str, ...] | None = None
        options = self._params.options
        if isinstance(reference, ChoiceReference):
            golds = _golds(reference)
            options = reference.options if reference.options is not None else options
        else:
            golds = reference if isinstance(reference, tuple) else (reference,)
        # Checked before the cache, which cannot tell True from 1.
        if any(isinstance(gold, bool) for gold in golds):
            raise InvalidReference("the reference must be a label, an index or a text, not true or false")
        if isinstance(options, dict):
            labels, options = tuple(options), tuple(options.values())
        return self.question(golds, labels, options)

    def extract(
        self, response: str, question: Question, prompt: str | None = None, finish_reason: str | None = None
    ) -> Extracted | None:
        """The answer of a response, from the first rule that matches."""
        return self._ladder.find(
            response, prompt=prompt, finish_reason=finish_reason, own=lambda name: _own(name, question)
        )

    def shown(self, question: Question, prompt: str) -> Question | None:
        """The question with the options listed in its prompt; None if it lists none, or too few."""
        texts = listed_in(prompt)
        if texts is None or max(question.right) >= len(texts) or len(texts) > len(question.alphabet.labels):
            return None
        labels = question.alphabet.labels[: len(texts)]
        if labels != tuple(string.ascii_uppercase[: len(texts)]) or _flawed(texts, labels) is not None:
            return None
        return self._with_options(question, texts)

    def missed(
        self, response: str, question: Question, prompt: str | None = None, finish_reason: str | None = None
    ) -> str | None:
        """Feedback on a response without an answer; see `Ladder.missed`."""
        return self._ladder.missed(
            response, prompt=prompt, finish_reason=finish_reason, own=lambda name: _own(name, question)
        )

    def _question(
        self, golds: tuple[Gold, ...], labels: tuple[str, ...] | None, texts: tuple[str, ...] | None
    ) -> Question:
        params = self._params
        if not golds:
            raise InvalidReference("the reference names no correct option", path="reference")
        if texts is not None:
            shown: OptionTexts = dict(zip(labels, texts, strict=True)) if labels is not None else texts
            if (problem := _flawed(shown, params.own_labels)) is not None:
                raise InvalidReference(f"reference: {problem}", path="reference.options")
        options = options_of(texts) if texts is not None else None
        if labels is None:
            labels = params.own_labels
            if labels is not None and texts is not None:
                labels = labels[: len(texts)]
        if labels is None:
            suggesting = golds
            if params.gold == "text" or (
                options is not None and any(isinstance(gold, str) and options.match(gold) is not None for gold in golds)
            ):
                suggesting = ()
            count = len(texts) if texts is not None else None
            labels = usual(suggesting if params.gold != "index" else (), count)
            known = texts is not None
        else:
            known = True
        letters = alphabet(labels)
        places = frozenset(self._place(gold, letters, options) for gold in golds)
        abstained = frozenset(letters.index[text] for text in params.abstain if text in letters.index)
        return Question(
            letters,
            options,
            places,
            abstained,
            frozenset(normal(text).casefold() for text in params.abstain),
            len(labels) if known else None,
        )

    def _place(self, gold: Gold, letters: Alphabet, options: Options | None) -> int:
        """The option meant by a reference. Raises InvalidReference if it matches none, or two."""
        kind = self._params.gold
        numbered = all(label.isdigit() for label in letters.labels)
        if isinstance(gold, int):
            if kind == "label" or (kind == "auto" and numbered):
                gold = str(gold)
            elif kind == "text":
                raise InvalidReference(f"the reference {gold} is a number, not an option's text", path="reference")
            else:
                return self._by_index(gold, letters)
        gold = gold.strip()
        if not gold:
            raise InvalidReference("the reference is empty", path="reference")
        if kind == "index":
            if not gold.removeprefix("-").isdecimal() or len(gold) > 4:
                raise InvalidReference(f"the reference {gold!r} is not an index", path="reference")
            return self._by_index(int(gold), letters)
        by_text = options.match(gold) if options is not None and kind != "label" else None
        if kind == "text":
            if by_text is None:
                raise InvalidReference(f"the reference {gold!r} is not the text of one option", path="reference")
            return by_text
        reading = letters.read(gold)
        if reading is None or len(reading.labels) != 1:
            if by_text is None:
                raise InvalidReference(
                    f"the reference {gold!r} names no option; the labels are {', '.join(letters.labels[:10])}",
                    path="reference",
                )
            return by_text
        label = reading.labels[0]
        other = by_text
        if other is None and options is not None and reading.rest:
            other = options.match(reading.rest)
        if other is not None and other != label:
            raise InvalidReference(
                f"the reference {gold!r} is the label of one option and the text of another; set the parameter 'gold'",
                path="reference",
            )
        return label

    def _by_index(self, gold: int, letters: Alphabet) -> int:
        place = gold - self._params.index_base
        if not 0 <= place < len(letters.labels):
            raise InvalidReference(
                f"the reference {gold} is not an index of {len(letters.labels)} options (the first is "
                f"{self._params.index_base})",
                path="reference",
            )
        return place


def _with_options(question: Question, texts: tuple[str, ...]) -> Question:
    letters = alphabet(question.alphabet.labels[: len(texts)])
    return replace(question, alphabet=letters, options=options_of(texts), count=len(texts), settled={})


def _golds(reference: ChoiceReference) -> tuple[Gold, ...]:
    if reference.answers is None:
        if reference.answer is None:
            raise InvalidReference("the reference needs 'answer' or 'answers'", path="reference.answer")
        return (reference.answer,)
    if reference.answer is not None:
        raise InvalidReference("the reference has both 'answer' and 'answers'", path="reference.answers")
    return reference.answers


def label_line(text: str, letters: Alphabet) -> Extracted | None:
    """A label that is the last or the first line of a response ("B", "(B)", "B) Paris", "A, C"), or that the last line
    chooses in words ("so B is correct").

    A line within a list of the options is not an answer: echoing the question must not pay.
    """
    for line, at, beside in (_last_line(text), _first_line(text)):
        named = _labels_alone(line, letters) if line else ()
        if named:
            listed = _labels_alone(beside, letters)
            if not listed or set(listed) & set(named):
                return Extracted((line,), "label_line", (at, at + len(line)))
    line, at, _ = _last_line(text)
    chosen = letters.states(line)
    if not chosen:
        return None
    return Extracted(tuple(letters.labels[place] for place in chosen), "label_line", (at, at + len(line)))


def _own(name: str, question: Question) -> Rule:
    rule = _OWN[name]
    return lambda text: rule(text, question)


def option_line(text: str, question: Question) -> Extracted | None:
    """The last line if it is an option's text, unless the previous line is an option too."""
    if question.options is None:
        return None
    line, at, before = _last_line(text)
    if question.options.match(line) is None or question.options.match(before.lstrip("-*• ")) is not None:
        return None
    return Extracted((line,), "option_line", (at, at + len(line)))


def concluding_option(text: str, question: Question) -> Extracted | None:
    """The label in brackets ("… is shown in (C).") or the option's text at the end of the last sentence, if the
    sentence expresses no doubt and names no other option.
    """
    sentence = last_sentence(text)
    if sentence is None or DOUBT.search(text, *sentence) is not None:
        return None
    start, end = sentence
    said = text[start:end].rstrip(" \t\r\n.!。*_")
    bracketed = [match for match in _BRACKETED.finditer(said) if match.group(1) in question.alphabet.index]
    if bracketed:
        last = bracketed[-1]
        if last.end() < len(said) or len(bracketed) > 1 or not _CHOSEN.search(said, 0, last.start()):
            return None
        return Extracted((last.group(),), "concluding_option", (start + last.start(), start + len(said)))
    if question.options is None:
        return None
    words = said.split(" ")
    for first in range(max(1, len(words) - _MOST_WORDS), len(words)):
        ending = " ".join(words[first:])
        before = said[: -len(ending)]
        named = question.options.match(ending) is not None or question.options.valued(ending) is not None
        if named and _IS.search(before):
            if question.options.others(text[:start] + before if len(text) < _SHORT_TEXT else before, ending):
                return None
            return Extracted((ending,), "concluding_option", (start + len(said) - len(ending), start + len(said)))
    return None


def opening_option(text: str, question: Question) -> Extracted | None:
    """The option's text before a comma in the first or last sentence ("Yes, because …")."""
    options = question.options
    if options is None:
        return None
    return opening_clause(text, lambda clause: options.match(clause) is not None, "opening_option")


_OWN: Mapping[str, Callable[[str, Question], Extracted | None]] = {
    "label_line": lambda text, question: label_line(text, question.alphabet),
    "option_line": option_line,
    "concluding_option": concluding_option,
    "opening_option": opening_option,
}


def _last_line(text: str) -> tuple[str, int, str]:
    """The last line that is not blank, its position, and the line before it."""
    body = text.rstrip()
    start = body.rfind("\n") + 1
    before = body[:start].rstrip()
    line = body[start:].lstrip()
    return line, len(body) - len(line), before[before.rfind("\n") + 1 :].strip()


def _first_line(text: str) -> tuple[str, int, str]:
    """The first line that is not blank, its position, and the line after it."""
    body = text.lstrip()
    line, _, rest = body.partition("\n")
    return line.rstrip(), len(text) - len(body), rest.lstrip().partition("\n")[0].strip()


def _labels_alone(line: str, letters: Alphabet) -> tuple[int, ...]:
    """The options named by a line that is an answer by itself or an entry of a list; none for prose."""
    found = letters.exact.get(line)
    if found is None and (letters.leads(line) is not None or len(line) <= _SHORT_LINE):
        found = letters.read(line)
        if found is not None and found.rest and letters.leads(line) is None:
            return ()
    return found.labels if found is not None else ()


class ChoiceEquivalence:
    """Equivalence of answers without a reference: equal labels, or equal texts if they name no option."""

    def __init__(self, params: ChoiceParams) -> None:
        self._reader = params.reader
        own = params.options
        labels = tuple(own) if isinstance(own, dict) else params.own_labels
        if labels is None or (own is not None and not isinstance(own, dict)):
            labels = (labels or usual((), None))[: len(own) if own is not None else None]
        texts = None if own is None else tuple(own.values()) if isinstance(own, dict) else own
        options = None if texts is None else options_of(texts)
        self._question = Question(alphabet(labels), options, frozenset(), frozenset(), frozenset(), None)

    def extract(self, text: str) -> str | None:
        """The labels named ("B", "A, C"), or the answer's text; None if there is no answer or it hedges."""
        found = self._reader.extract(text, self._question)
        if found is None:
            return None
        readings = [self._question.read(answer) for answer in found.texts]
        places, problem = readings[0]
        if problem is not None or any(other != readings[0] for other in readings):
            return None
        if not places:
            return found.text if len(set(found.texts)) == 1 else None
        return ", ".join(self._question.label(place) for place in sorted(places))

    def key(self, answer: str) -> str | None:
        """The answer without details that carry no meaning."""
        return normal(answer).casefold()

    def same(self, a: str, b: str) -> bool | None:
        """Returns whether the keys are equal."""
        return self.key(a) == self.key(b)


@verifier(version="2", graded=True, inline=True, equivalence=ChoiceEquivalence)
def choice(
    response: str,
    reference: Reference,
    params: ChoiceParams,
    prompt: str | None = None,
    finish_reason: str | None = None,
) -> Outcome:
    """Checks the option, or options, that the response chooses, by label, index or text.

    The reference is a label ("B"), an index (1), an option's text, a list of these if several are right, or an object
    with the options: `{"answer": "B", "options": ["Paris", "London"]}`, `{"answers": ["A", "C"], "options": {"A": "…",
    "B": "…"}}`. The answer is read from a box, an answer tag, a phrase ("the answer is …") or, failing these, a line
    that contains only a label. It can be a label, with or without brackets or markup. If the options are known, it can
    also be an option's exact text or its value ("1/2" for "0.5 cm"). If an answer names no label and neither the
    reference nor the parameters give the options, they are read from the prompt ("A. Paris", "(B) London").

    These responses score 0, with the reason:

    - `no_answer`: there is no answer.
    - `unparseable_answer`: the answer names no option.
    - `hedged`: the answer names several options although only one is right, or it names all of them.
    - `contradictory`: the answer gives the label of one option with the text of another.
    - `wrong`: the answer names another option.

    `abstained` earns `abstain_score`. If the reference names no option, or two, the outcome is undecided.

    A blind guess among n options is right with probability 1/n. The evidence reports this probability (`chance`) if n
    is known.
    """
    reader = params.reader
    question = reader.ask(reference)
    if params.preset is not None:
        return _official(response, question)
    outcome = _verdict(response, question, params, prompt, finish_reason)
    if outcome.reason in ("no_answer", "unparseable_answer") and question.options is None and prompt is not None:
        shown = reader.shown(question, prompt)
        if shown is not None:
            return _verdict(response, shown, params, prompt, finish_reason)
    return outcome


def _verdict(
    response: str, question: Question, params: ChoiceParams, prompt: str | None, finish_reason: str | None
) -> Outcome:
    reader = params.reader
    found = reader.extract(response, question, prompt, finish_reason)
    if found is None:
        return no_answer(feedback=reader.missed(response, question, prompt, finish_reason))
    if found.rule == "boxed" and not any(question.read(text)[0] for text in found.texts):
        # "…= \boxed{45 km}. The answer is (E).": the box holds an intermediate value, not an option.
        later = reader.extract(response[found.span[1] :], question, prompt, finish_reason)
        if later is not None and not later.loose and all(question.read(text)[0] for text in later.texts):
            found = later
    outcome = _outcome(found, question, params)
    return loosely(outcome) if found.loose else outcome


def _official(response: str, question: Question) -> Outcome:
    """ChemBench's own verdict, which knows no hedges: several letters are an answer like any other."""
    letters = marked_letters(response)
    if letters is None:
        return no_answer()
    places = [place for place, label in enumerate(question.alphabet.labels) if label in letters]
    if not places:
        return wrong("unparseable_answer", flags=("unparseable_answer",), extracted=", ".join(sorted(letters)))
    shown = question.shown(places)
    return right(extracted=shown) if frozenset(places) == question.right else wrong(extracted=shown)


def _outcome(found: Extracted, question: Question, params: ChoiceParams) -> Outcome:
    if len(found.texts) == 1:
        named, problem = question.read(found.text)
        if len(named) == 1 and problem is None:
            outcome = question.settled.get((named[0], found.rule))
            if outcome is None:
                outcome = question.settled[named[0], found.rule] = _judged(named, found, question, params)
            return outcome
        readings = [(named, problem)]
    else:
        readings = [question.read(text) for text in found.texts]
    evidence = _evidence(found, question)
    if not all(named for named, _ in readings):
        excerpt = found.text[:_EXCERPT]
        return wrong("unparseable_answer", flags=("unparseable_answer",), extracted=excerpt, evidence=evidence)
    every = tuple(dict.fromkeys(place for named, _ in readings for place in named))
    for _, problem in readings:
        if problem is not None:
            return wrong(problem, flags=("hedged",), extracted=question.shown(every), evidence=evidence)
    return _judged(every, found, question, params)


def _evidence(found: Extracted, question: Question) -> dict[str, Any]:
    if question.count is None:
        return {"rule": found.rule}
    several = len(question.right) > 1
    chance = 1 / (2**question.count - 1) if several else 1 / question.count
    return {"rule": found.rule, "options": question.count, "chance": chance}


def _judged(places: tuple[int, ...], found: Extracted, question: Question, params: ChoiceParams) -> Outcome:
    good, named = question.right, frozenset(places)
    details: dict[str, Any] = {"extracted": question.shown(places), "evidence": _evidence(found, question)}
    if named == good:
        return right(**details)
    if len(named) == 1 and (_ABSTAINED in named or named <= question.abstained):
        return scored(params.abstain_score, passed=False, reason="abstained", flags=("abstained",), **details)
    if len(named) > 1 and (len(good) == 1 or len(named) == question.count):
        return wrong("hedged", flags=("hedged",), **details)
    shared = len(named & good)
    if params.several == "exact" or not shared or len(good) == 1:
        return wrong(**details)
    if params.several == "jaccard":
        return scored(shared / len(named | good), passed=False, reason="partly_right", **details)
    if shared < len(named):
        return wrong(**details)
    if params.several == "any":
        return right(**details)
    return scored(shared / len(good), passed=False, reason="partly_right", **details)
