"""`label`: compares the class, the classes or the verdicts that a response names with the right ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rewarden.types import Outcome
from rewarden_verifiers.answer.label.equivalence import LabelEquivalence
from rewarden_verifiers.answer.label.gold import Prepared, prepare
from rewarden_verifiers.answer.label.names import Read
from rewarden_verifiers.answer.label.params import LabelParams, Reader, is_empty
from rewarden_verifiers.answer.label.scoring import overlap, shared_depth
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import Extracted
from rewarden_verifiers.outcome import loosely, no_answer, right, scored, too_expensive, wrong

_SHOWN = 50
_EXCERPT = 200

Details = dict[str, Any]


@verifier(version="2", graded=True, inline=True, prepare=prepare, equivalence=LabelEquivalence)
def label(
    response: str,
    prepared: Prepared,
    params: LabelParams,
    prompt: str | None = None,
    finish_reason: str | None = None,
) -> Outcome:
    """Compares a label, a set of labels, a place in a hierarchy or a list of verdicts with the expected one.

    The reference is a label's name, alias or code, or true or false. A list means alternatives in `single`, the set
    (possibly empty) in `multi`, and the labels in order in `vector`. The answer is read from a box, an answer tag, a
    phrase or a last line that holds only labels: "positive", "Label: positive", "3: positive", "positive, because …",
    "a, b and c", `["a", "b"]`, "1. True 2. False".

    Precision, recall, F-beta and Jaccard are computed for one sample over its sets of labels (scikit-learn's
    `average="samples"`), each label counted by its weight. The score is 1 if the reference and the answer are both
    empty. In a hierarchy, each label counts together with its ancestors (Kiritchenko's hierarchical P, R and F); a root
    that all labels share does not count. `exact` is subset accuracy.

    These responses score 0, with the reason:

    - `no_answer`: there is no answer.
    - `unknown_label`: the answer is not in the set.
    - `hedged`: several labels although only one is expected, alternatives, all labels of the set, or more than `most`.
    - `contradictory`: a code with another label's name.
    - `too_many`: a vector longer than the reference's.
    - `wrong`: another label.

    `uncertain` earns `uncertain_score`.
    """
    reader = params.reader
    found = reader.extract(response, prepared.names, prompt, finish_reason)
    if found is None:
        return no_answer(feedback=reader.missed(response, prepared.names, prompt, finish_reason))
    outcome = _outcome(found, prepared, params)
    return loosely(outcome) if found.loose else outcome


def _outcome(found: Extracted, prepared: Prepared, params: LabelParams) -> Outcome:
    reader = params.reader
    details: Details = {"extracted": found.text[:_EXCERPT], "evidence": {"rule": found.rule}}
    if found.oversized:
        return too_expensive(**details)
    if params.mode == "single":
        return _single(found, prepared, reader, details)
    if params.mode == "multi":
        return _multi(found, prepared, reader, details)
    return _vector(found, prepared, reader, details)


def _single(found: Extracted, prepared: Prepared, reader: Reader, details: Details) -> Outcome:
    mention = reader.params.match == "mention"
    reads = [prepared.names.read(text, several=False, mention=mention) for text in found.texts]
    labels = _labels(reads)
    if labels:
        details["extracted"] = labels[0] if len(labels) == 1 else list(labels[:_SHOWN])
    if any(read.contradictory for read in reads):
        return wrong("contradictory", flags=("contradictory",), **details)
    if len(labels) > 1 or any(read.either for read in reads):
        return wrong("hedged", flags=("hedged",), **details)
    if not labels or any(read.unknown for read in reads):
        return wrong("unknown_label", flags=("unknown_label",), **details)
    named = labels[0]
    if named in prepared.labels:
        earned = reader.weight(named) / reader.largest
        return right(**details) if earned >= 1.0 else scored(earned, passed=True, **details)
    if named in reader.uncertain:
        return _uncertain(reader, details)
    if reader.metric == "exact":
        return wrong(**details)
    return max((_near(named, wanted, reader, details) for wanted in prepared.labels), key=_score)


def _score(outcome: Outcome) -> float:
    return outcome.score or 0.0


def _near(named: str, wanted: str, reader: Reader, details: Details) -> Outcome:
    """The outcome for a wrong label, which may share the beginning of its path with the right one."""
    if reader.metric == "depth":
        share = shared_depth(reader.hierarchy.line(named), reader.hierarchy.line(wanted))
        return _partial(share * reader.weight(wanted) / reader.largest, {"depth": share}, details)
    return _overlapping(frozenset((named,)), frozenset((wanted,)), reader, details)


def _multi(found: Extracted, prepared: Prepared, reader: Reader, details: Details) -> Outcome:
    params, wanted = reader.params, frozenset(prepared.labels)
    blank = all(is_empty(text, prepared.names, params) for text in found.texts)
    reads = [] if blank else [prepared.names.read(text, several=True) for text in found.texts]
    # One answer can be a list; if there are several answers, each must give the same.
    named = frozenset(_labels(reads))
    details["extracted"] = sorted(named)[:_SHOWN]
    unknown = [text for read in reads for text in read.unknown]
    if unknown:
        details["evidence"]["unknown"] = unknown[:5]
    if any(read.contradictory for read in reads):
        return wrong("contradictory", flags=("contradictory",), **details)
    sure = len(prepared.names.names) - len(reader.uncertain)
    everything = prepared.names.closed and sure > 1 and len(named - reader.uncertain) == sure and named != wanted
    most = params.most or (2 * len(wanted) if reader.metric == "recall" else None)
    too_many = most is not None and len(named) + len(unknown) > max(most, 1)
    doubting = bool(named & reader.uncertain) and len(named) > 1 and not reader.uncertain & wanted
    if everything or too_many or doubting or any(read.either for read in reads) or _differ(reads):
        return wrong("hedged", flags=("hedged",), **details)
    if not blank and not named:
        return wrong("unknown_label", flags=("unknown_label",), **details)
    if named == wanted and not unknown:
        return right(**details)
    if named and named <= reader.uncertain:
        return _uncertain(reader, details)
    if reader.metric == "exact":
        return wrong(**details)
    # An entry that is not a label still counts as named: it lowers precision like a wrong label.
    return _overlapping(named | {f"\x00{text}" for text in unknown}, wanted, reader, details)


def _vector(found: Extracted, prepared: Prepared, reader: Reader, details: Details) -> Outcome:
    params, wanted = reader.params, prepared.labels
    several = len(found.texts) == 1
    reads = [prepared.names.read(text, several=several) for text in found.texts]
    named = [entry for read in reads for entry in read.entries]
    details["extracted"] = named[:_SHOWN]
    if any(read.contradictory or read.either for read in reads):
        return wrong("hedged", flags=("hedged",), **details)
    if len(named) > len(wanted):
        return wrong("too_many", flags=("hedged",), **details)
    if not any(entry is not None for entry in named):
        return wrong("unknown_label", flags=("unknown_label",), **details)
    hits = [one is not None and one == other for one, other in zip(named, wanted, strict=False)]
    unsure = sum(one in reader.uncertain and not hit for one, hit in zip(named, hits, strict=True))
    details["evidence"] |= {"right": sum(hits), "of": len(wanted)}
    if all(hits) and len(hits) == len(wanted):
        return right(**details)
    if params.aggregate == "all":
        return wrong(**details)
    weights = [reader.weight(one) for one in wanted]
    gained = sum(weight for weight, hit in zip(weights, hits, strict=False) if hit)
    gained += params.uncertain_score * sum(
        weight for weight, one, hit in zip(weights, named, hits, strict=False) if one in reader.uncertain and not hit
    )
    if unsure:
        details["evidence"]["uncertain"] = unsure
    return _partial(min(gained / sum(weights), 1.0), {}, details)


def _labels(reads: Sequence[Read]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(label for read in reads for label in read.labels))


def _differ(reads: Sequence[Read]) -> bool:
    """Returns whether several answers are lists that differ: each would be a set on its own, together they are a hedge.

    Boxes with one label each form one list.
    """
    if all(len(read.entries) == 1 for read in reads):
        return False
    return len({frozenset(read.labels) for read in reads}) > 1


def _uncertain(reader: Reader, details: Details) -> Outcome:
    return scored(reader.params.uncertain_score, passed=False, reason="uncertain", flags=("uncertain",), **details)


def _overlapping(named: frozenset[str], wanted: frozenset[str], reader: Reader, details: Details) -> Outcome:
    params = reader.params
    over = overlap(reader.hierarchy.closure(named), reader.hierarchy.closure(wanted), reader.weight)
    if reader.metric == "precision":
        earned = over.precision
    elif reader.metric == "recall":
        earned = over.recall
    elif reader.metric == "jaccard":
        earned = over.jaccard
    else:
        earned = over.fbeta(params.beta if reader.metric == "fbeta" else 1.0)
    figures = {"precision": over.precision, "recall": over.recall}
    return _partial(min(earned, 1.0), figures, details)


def _partial(earned: float, figures: Details, details: Details) -> Outcome:
    details = {**details, "evidence": {**details["evidence"], **figures}}
    if not earned:
        return wrong(**details)
    passed = earned >= 1.0
    return scored(earned, passed=passed, reason=None if passed else "partly_right", **details)
