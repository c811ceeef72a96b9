"""`memory`: compares the facts that an agent recalls from a memory, or its operations on it, with the expected ones."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.archives.bank import BadOperation, Change, Operation, change, operation
from rewarden_verifiers.archives.facts import LONGEST, Fact, alike, fact
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import no_answer, right, scored, too_expensive, wrong
from rewarden_verifiers.structure.json.assignment import MAX_SIDE, best_pairs
from rewarden_verifiers.structure.json.locate import Finder, Hedged
from rewarden_verifiers.structure.json.strict import Malformed

_FACT_KEYS = ("text", "fact", "content", "memory")
_FACTS_KEYS = ("facts", "memories", "memory", "recalled")
_OPERATIONS_KEYS = ("memory", "operations", "memories", "actions")


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryReference:
    """The expected facts, or the expected operations, at most 64.

    facts: Statements to recall; a list instead of one contains forms of the same statement.
    memory: Entries of the memory before the operations, by id.
    operations: The expected operations: `{event: ADD | UPDATE | DELETE | NOOP, id, text}`.
    """

    facts: list[str | list[str]] | None = None
    memory: dict[str, str] = field(default_factory=dict)
    operations: list[dict[str, Any]] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryParams:
    """Options of `memory`.

    threshold: Lowest F1 of words at which two statements count as the same.
    scoring: `f1` of what is expected and given, or 1 only if it is `exact`.
    passing: Lowest score that passes.
    extraction: Where to find the JSON, as for `json`: `strict` (the whole response), `fenced`, `explicit` (or in an
        answer tag), `lax` (or in prose).
    """

    threshold: float = 0.8
    scoring: Literal["f1", "exact"] = "f1"
    passing: float = 1.0
    extraction: Literal["strict", "fenced", "explicit", "lax"] = "lax"

    def __post_init__(self) -> None:
        if not 0.5 <= self.threshold <= 1:
            raise ValueError("threshold must lie between 0.5 and 1")
        if not 0 < self.passing <= 1:
            raise ValueError("passing must be more than 0 and at most 1")


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """A prepared reference: the forms of each fact, or the memory and the expected change."""

    facts: tuple[tuple[Fact, ...], ...] | None
    memory: Mapping[str, str]
    change: Change


@dataclass(frozen=True, slots=True)
class _Matched:
    """hits: the number of given items that were expected."""

    hits: int
    expected: int
    given: int

    @property
    def precision(self) -> float:
        return self.hits / self.given if self.given else float(not self.expected)

    @property
    def recall(self) -> float:
        return self.hits / self.expected if self.expected else float(not self.given)

    @property
    def f1(self) -> float:
        # If nothing is expected and nothing given, all of it is right.
        total = self.expected + self.given
        return 2 * self.hits / total if total else 1.0


def expect(reference: MemoryReference, params: MemoryParams) -> Expected:
    """Prepares the reference. Raises InvalidReference."""
    if (reference.facts is None) == (reference.operations is None):
        raise InvalidReference("the reference must have either facts or operations", path="reference")
    if reference.facts is not None:
        forms = [[one] if isinstance(one, str) else one for one in reference.facts]
        _check_size(len(forms), "reference.facts")
        for place, texts in enumerate(forms):
            if not texts or any(len(text) > LONGEST or not fact(text).words for text in texts):
                message = f"a fact has words, and at most {LONGEST} characters"
                raise InvalidReference(message, path=f"reference.facts[{place}]")
        return Expected(tuple(tuple(fact(text) for text in texts) for texts in forms), {}, Change())
    made = change(reference.memory, _operations(reference.operations or []))
    if made.void:
        message = "an operation names an entry that the memory does not have, or adds one that it has"
        raise InvalidReference(message, path="reference.operations")
    _check_size(made.size, "reference.operations")
    for text in [*made.added, *made.updated.values()]:
        if len(text) > LONGEST or not fact(text).words:
            message = f"an entry has words, and at most {LONGEST} characters"
            raise InvalidReference(message, path="reference.operations")
    return Expected(None, reference.memory, made)


def _check_size(size: int, path: str) -> None:
    if size > MAX_SIDE:
        raise InvalidReference(f"at most {MAX_SIDE} can be expected", path=path)


def _operations(values: Sequence[Any]) -> list[Operation]:
    try:
        return [operation(value) for value in values]
    except BadOperation as error:
        raise InvalidReference(str(error), path="reference.operations") from None


@verifier(version="1", graded=True, prepare=expect)
def memory(response: str, prepared: Expected, params: MemoryParams) -> Outcome:
    """Scores what an agent recalls from a memory, or does to it: the F1 against what is expected.

    The response contains JSON. For a reference with `facts`, that is a list of statements, or an object with such a
    list under `facts`, `memories`, `memory` or `recalled`. For a reference with `operations`, it is a list of
    operations, or an object with such a list under `memory`, `operations`, `memories` or `actions`. An operation is
    `{"event": "ADD" | "UPDATE" | "DELETE" | "NOOP", "id", "text"}`, as in Memory-R1 (arXiv 2508.19828) and mem0.

    Two statements match if the F1 of their longest common subsequence of words reaches `threshold` and they agree in
    numbers, capitalised words and negation. A statement matches at most one expected statement, so repetition and
    exhaustive lists lower the precision. Operations are compared by their effect on the reference's `memory`: order
    does not matter, an operation without an effect is a NOOP, and an operation on an unknown entry is wrong. If nothing
    is expected, only an empty list scores.

    Memory-R1 itself rewards operations by the answer that another agent then gives, and MemAgent (arXiv 2507.02259) by
    the final answer: for those, use `text` on that answer. This verifier is for rows that state what must be stored.

    Reasons with score 0: `no_answer` (no JSON), `malformed` and others of `json`, `not_facts`, `not_operations`,
    `hedged` (several lists), `too_expensive` (more than 64), `wrong`. Reasons with a score between 0 and 1: `missing`,
    `extra`, `partly_right`. Paraphrases are not recognised; list the accepted forms, or use a judge.
    """
    try:
        found = Finder(params.extraction, "hedge").find(response, (list, dict))
    except Malformed as malformed:
        return malformed.outcome()
    except Hedged as hedged:
        return wrong("hedged", flags=("hedged",), evidence={"values": hedged.number})
    if found is None:
        return no_answer()
    try:
        if prepared.facts is not None:
            return _of_facts(_statements(found.value), prepared.facts, params)
        return _of_operations(_listed(found.value, _OPERATIONS_KEYS), prepared, params)
    except BadOperation as error:
        reason = "not_facts" if prepared.facts is not None else "not_operations"
        return wrong(reason, flags=("malformed",), feedback=str(error))


def _listed(value: Any, keys: Sequence[str]) -> Sequence[Any]:
    """Returns the value if it is a list, or the list under one of the keys. Raises BadOperation."""
    if isinstance(value, Mapping):
        value = next((value[key] for key in keys if isinstance(value.get(key), list)), [value])
    if not isinstance(value, list):
        raise BadOperation("the response holds no list")
    return value


def _statements(value: Any) -> list[str]:
    if isinstance(value, Mapping) and not any(isinstance(value.get(key), list) for key in _FACTS_KEYS):
        raise BadOperation("the response holds no list of facts")
    texts: list[str] = []
    for item in _listed(value, _FACTS_KEYS):
        text = next((item[key] for key in _FACT_KEYS if key in item), None) if isinstance(item, Mapping) else item
        if not isinstance(text, str):
            raise BadOperation("a fact must be a string, or an object with one")
        texts.append(text)
    return texts


def _of_facts(texts: Sequence[str], expected: Sequence[Sequence[Fact]], params: MemoryParams) -> Outcome:
    if len(texts) > MAX_SIDE:
        return too_expensive(evidence={"given": len(texts), "most": MAX_SIDE})
    hits = _hits(texts, expected, params)
    return _judged(_Matched(hits, len(expected), len(texts)), params, {})


def _of_operations(values: Sequence[Any], expected: Expected, params: MemoryParams) -> Outcome:
    made = change(expected.memory, [operation(value) for value in values])
    wanted = expected.change
    if made.size + made.void > MAX_SIDE:
        return too_expensive(evidence={"given": made.size + made.void, "most": MAX_SIDE})
    hits = len(made.deleted & wanted.deleted)
    hits += sum(
        _hits([made.updated[own]], [(fact(wanted.updated[own]),)], params)
        for own in made.updated
        if own in wanted.updated
    )
    hits += _hits(made.added, [(fact(text),) for text in wanted.added], params)
    evidence = {
        "added": len(made.added),
        "updated": sorted(made.updated),
        "deleted": sorted(made.deleted),
        "void": made.void,
    }
    return _judged(_Matched(hits, wanted.size, made.size + made.void), params, evidence)


def _hits(texts: Sequence[str], expected: Sequence[Sequence[Fact]], params: MemoryParams) -> int:
    """Returns how many of the texts are expected; each expected one counts once."""
    given = [fact(text) for text in texts if len(text) <= LONGEST]
    same = [[max(alike(one, form, params.threshold) for form in forms) for forms in expected] for one in given]
    # Choose the assignment with most pairs: each pair counts for one, however alike the two are.
    return len(best_pairs([[float(value > 0) for value in row] for row in same])) if expected else 0


def _judged(matched: _Matched, params: MemoryParams, evidence: Mapping[str, Any]) -> Outcome:
    about = {
        "expected": matched.expected,
        "given": matched.given,
        "hits": matched.hits,
        "precision": matched.precision,
        "recall": matched.recall,
        **evidence,
    }
    if matched.f1 == 1.0:
        return right(evidence=about)
    if params.scoring == "exact" or not matched.hits:
        return wrong(evidence=about)
    reason = "missing" if matched.precision == 1 else "extra" if matched.recall == 1 else "partly_right"
    return scored(matched.f1, passed=matched.f1 >= params.passing, reason=reason, evidence=about)
