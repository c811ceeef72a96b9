"""`search`: checks that a trajectory's searches found the evidence, and used it, within the budget."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden.errors import InvalidReference, InvalidSample
from rewarden.types import Component, Outcome, Step, StepScore, Text
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import scored, too_expensive, undecided, wrong
from rewarden_verifiers.retrieval.citations import cited_sentences, name_of
from rewarden_verifiers.retrieval.documents import Document, documents, plain_id
from rewarden_verifiers.retrieval.trajectory import Lookup, Trajectory, trajectory
from rewarden_verifiers.view import apply_view
from rewarden_verifiers.words import tokens

MOST_CHARACTERS = 2_000_000
"""Characters of a trajectory; a longer one is too expensive."""
MOST_GOLD = 1000
MOST_CALLS = 2000
_STEPS = 1000

_PRINTING = frozenset(
    {
        "bash", "calculator", "code", "console", "echo", "edit", "eval", "exec", "execute", "execution", "interpreter",
        "ipython", "javascript", "jupyter", "memory", "node", "note", "notebook", "notes", "print", "python", "python3",
        "repl", "run", "sandbox", "save", "scratchpad", "sh", "shell", "sql", "terminal", "think", "write",
    }
)  # fmt: skip
"""Words in the names of tools that return what the policy makes them return."""
_NAME_WORD = re.compile(r"[A-Z]?[a-z]+3?|[A-Z]+(?![a-z])")

Id = str | int
Key = Literal["id", "title", "text"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gold:
    """A gold document, known by at least one of these.

    id: its id or address. title: its title. text: words that it contains, or several texts of which one suffices.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    id: Id | None = None
    title: str | None = None
    text: str | tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchReference:
    """A reference as an object.

    gold: the gold documents; a text or number is an id or a title.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    gold: tuple[Gold | Id, ...]


Reference = SearchReference | tuple[Gold | Id, ...] | str


@dataclass(frozen=True, kw_only=True)
class SearchParams:
    """Options of `search`.

    bare: A bare text or number in the reference is the id or title of a gold document (`names`); or all of them are
        answers, of which one in a result suffices (`answers`).
    match: The keys by which a gold document is recognised; any one of those that the reference gives suffices.
    roles: Roles of messages that the environment wrote. The policy's own, `assistant`, cannot be one.
    call_marks: Opening and closing marks of calls in text, for trajectories without structured tool calls.
    tools: Names of the tools whose results are evidence (`search` for a call in `<search>` tags). If unset, all but
        those whose names say that they run code, write or keep notes. Name them if the policy has another tool that
        prints what it is told.
    used: Weight of the gold documents that the answer uses, against those that were found, from 0 to 1.
    used_words: Consecutive words of a document that an answer must share with it to have used it.
    max_searches: Budget of searches. If unset, any number.
    max_repeats: Budget of repeated searches. If unset, any number.
    max_tokens: Budget of tokens, by the sample's `token_count`. If unset, any number.
    over_budget: A trajectory over budget scores 0 (`zero`); or searches beyond `max_searches` earn nothing, and the
        other budgets are only flagged (`cut`).
    unmarked: Text whose environment's part no step marks, though the evidence is somewhere in it, is `undecided`, or
        scores 0 (`zero`).
    threshold: Lowest score that passes.
    """

    bare: Literal["names", "answers"] = "names"
    match: tuple[Key, ...] = ("id", "title", "text")
    roles: tuple[str, ...] = ("tool", "function")
    call_marks: tuple[tuple[str, str], ...] = (("<search>", "</search>"), ("<tool_call>", "</tool_call>"))
    tools: tuple[str, ...] | None = None
    used: float = 0.0
    used_words: int = 5
    max_searches: int | None = None
    max_repeats: int | None = None
    max_tokens: int | None = None
    over_budget: Literal["zero", "cut"] = "zero"
    unmarked: Literal["undecided", "zero"] = "undecided"
    threshold: float = 1.0

    def __post_init__(self) -> None:
        if not self.match:
            raise ValueError("match must name at least one of id, title, text")
        if not self.roles or "assistant" in self.roles:
            raise ValueError("roles must name at least one, and not the policy's own (assistant)")
        if len(self.call_marks) > 8 or not all(one and two and one != two for one, two in self.call_marks):
            raise ValueError("call_marks must be at most 8 pairs of two different marks")
        if not 0 <= self.used <= 1:
            raise ValueError("used must lie between 0 and 1")
        if not 1 <= self.used_words <= 100:
            raise ValueError("used_words must lie between 1 and 100")
        for name in ("max_searches", "max_repeats", "max_tokens"):
            if (most := getattr(self, name)) is not None and most < 0:
                raise ValueError(f"{name} must be at least 0")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")


@dataclass(frozen=True, slots=True)
class Wanted:
    """A gold document as it is compared. texts: words, with a blank at both ends."""

    name: str
    ids: frozenset[str]
    title: str
    texts: tuple[str, ...]


def prepare(reference: Reference, params: SearchParams) -> tuple[Wanted, ...]:
    """The gold documents. Raises InvalidReference if there are none, or one has none of the keys in `match`."""
    given = reference.gold if isinstance(reference, SearchReference) else reference
    gold = (given,) if isinstance(given, str) else given
    if not 1 <= len(gold) <= MOST_GOLD:
        raise InvalidReference(f"the reference must have 1 to {MOST_GOLD} gold documents", path="reference")
    if params.bare == "answers" and (answers := tuple(str(one) for one in gold if not isinstance(one, Gold))):
        gold = (Gold(text=answers), *(one for one in gold if isinstance(one, Gold)))
    return tuple(_wanted(one, params) for one in gold)


def _wanted(one: Gold | Id, params: SearchParams) -> Wanted:
    if not isinstance(one, Gold):
        one = Gold(id=one, title=str(one))
    texts = (one.text,) if isinstance(one.text, str) else one.text or ()
    ids = [plain_id(one.id)] if one.id is not None and "id" in params.match else []
    title = _words(one.title or "") if "title" in params.match else ""
    words = [_words(text) for text in texts] if "text" in params.match else []
    made = Wanted(
        name=str(one.title or one.id or (texts[0] if texts else ""))[:200],
        ids=frozenset(filter(None, ids)),
        title=title.strip(),
        texts=tuple(text for text in words if text.strip()),
    )
    if not (made.ids or made.title or made.texts):
        keys = ", ".join(params.match)
        raise InvalidReference(f"a gold document ({made.name!r}) has none of these keys: {keys}", path="reference")
    return made


def _words(text: str) -> str:
    return f" {' '.join(tokens(text))} "


@dataclass(frozen=True)
class _Read:
    """A document as it is compared."""

    document: Document

    @cached_property
    def title(self) -> str:
        """The words of its title."""
        return _words(self.document.title).strip()

    @cached_property
    def words(self) -> str:
        """Its words, which need not be looked for in every document."""
        return _words(self.document.text)

    def is_gold(self, wanted: Wanted) -> bool:
        """Returns whether it is a gold document, by any key."""
        if not wanted.ids.isdisjoint(self.document.ids) or (wanted.title and self.title == wanted.title):
            return True
        return any(text in self.words for text in wanted.texts)


def _read(text: str) -> list[_Read]:
    return [_Read(one) for one in documents(text)]


@dataclass(frozen=True, slots=True)
class _Turn:
    """The policy's words in the turn of a call, by which a tool that only repeats them is known."""

    said: str
    asked: str
    own: Sequence[_Read]

    @classmethod
    def of(cls, lookup: Lookup) -> _Turn:
        """The turn of a call."""
        own = [one for text in (lookup.asked, lookup.said) for one in _read(text) if not one.document.loose]
        return cls(_words(lookup.said), _words(lookup.asked), own)


def _holds(documents: Sequence[_Read], wanted: Wanted, turn: _Turn) -> str | None:
    """The words of a document that is a gold one, else None.

    Attack: a tool that prints what it is told, or that repeats the query in its error message. A document that the
    policy had written itself is none; nor are words of its query, unless the document has a title or an id.
    """
    if any(one.is_gold(wanted) for one in turn.own):
        return None
    for one in documents:
        if one.document.loose:
            is_gold = any(text in one.words and text not in turn.asked for text in wanted.texts)
        else:
            is_gold = one.is_gold(wanted) and one.words not in turn.said
        if is_gold:
            return one.words
    return None


@dataclass(slots=True)
class _Walk:
    """The earnings of a trajectory's calls: by gold document, the words in which it was found; and their steps."""

    found: dict[int, str]
    steps: list[StepScore]
    queries: list[str]
    distinct: set[str]
    searches: int = 0
    repeated: int = 0
    malformed: int = 0
    useful: int = 0


@verifier(version="1", graded=True, prepare=prepare)
def search(
    messages: Text,
    prepared: tuple[Wanted, ...],
    params: SearchParams,
    steps: Sequence[Step] | None = None,
    token_count: int | None = None,
) -> Outcome:
    """Checks that a search agent's tools returned the gold evidence, its answer used it, and it kept to its budget.

    The reference lists the gold documents: by id, address or title, or as objects `{id, title, text}`. The score is the
    recall of gold in what tools returned; with `used`, a weighted mean of that and of the share that the answer uses.
    An answer uses a document that was found if it cites its id, has its title, or shares `used_words` consecutive words
    with it. To check that the answer is right, combine it in a recipe with `text`, `answer` or a judge.

    **Only what the environment wrote is evidence**: messages of the roles `tool` and `function`, and spans that the
    sample's `steps` mark with a kind of `tool`, `observation`, `environment`, `information` or `result`. Tags prove
    nothing, because the policy can write `<information>` too. Give every text response its steps; a trajectory without
    a search has a step of another kind, such as `policy`. If a text has no steps, it scores 0 if the evidence is
    nowhere in it, and is otherwise undecided (`unmarked_results`, the caller's fault).

    **Results** can be JSON, tags such as `<doc id="d3" title="Ulm">`, numbered passages (`Doc 1(Title: "Ulm") …`, `[d3]
    …`, `Title: Ulm`), or plain text, which only gold texts can match. A number in brackets or after `Doc` is a rank,
    not an id. Texts and titles are compared by their words.

    **Steps**: each call is a step. Its score is the share of the gold documents that it found first; all steps add up
    to the recall. These earn nothing: a call with malformed arguments, one of a tool that is not in `tools`, a
    repetition of a call that had returned documents, results that do not follow a readable call, and a document that
    the policy itself had written in that turn. `evidence` counts `searches`, `distinct`, `repeated`, `malformed` and
    `useful` calls and lists the `queries`, for recipes that shape costs. Components: `found`, `used`, and `useful`,
    the share of searches that found something first.

    Reasons: `no_search`, `nothing_found`, `partly_found`, `not_used`, `over_budget`, `too_expensive`. Flags:
    `over_budget`, `own_evidence` (the policy wrote what looks like a result with gold evidence that no tool returned).
    """
    size = len(messages) if isinstance(messages, str) else sum(map(_size, messages))
    if size > MOST_CHARACTERS:
        return too_expensive(evidence={"characters": size})
    if params.max_tokens is not None and token_count is None:
        raise InvalidSample("max_tokens needs the sample's token_count", path="token_count")
    found = trajectory(messages, steps, params.roles, params.call_marks)
    if len(found.lookups) > MOST_CALLS:
        return too_expensive(evidence={"calls": len(found.lookups)})
    if not found.marked:
        return _unmarked(found.own, prepared, params)
    walk = _walk(found, prepared, params)
    over = [
        name
        for name, most, spent in (
            ("searches", params.max_searches, walk.searches),
            ("repeats", params.max_repeats, walk.repeated),
            ("tokens", params.max_tokens, token_count or 0),
        )
        if most is not None and spent > most
    ]
    return _outcome(found, walk, over, prepared, params)


def _size(message: Any) -> int:
    return len(str(message.get("content"))) if isinstance(message, Mapping) else 0


def _unmarked(text: str, gold: Sequence[Wanted], params: SearchParams) -> Outcome:
    """The outcome of a text of which nobody says what the environment wrote."""
    words = _words(text)
    there = any(_named(one, words) for one in gold)
    if not there or params.unmarked == "zero":
        # Not even all of the text has it, so that no marks could: a policy that never searches is not spared.
        flags = ("own_evidence",) if there else ()
        return wrong("nothing_found", flags=flags, evidence={"marked": False}, extracted=[])
    message = "the sample has no steps that say which part of the response the environment wrote"
    return undecided("unmarked_results", fault="caller", feedback=message, evidence={"marked": False})


def _named(wanted: Wanted, words: str) -> bool:
    names = [*map(_words, wanted.ids), f" {wanted.title} ", *wanted.texts]
    return any(name.strip() and name in words for name in names)


def _written(text: str, gold: Sequence[Wanted]) -> bool:
    """Returns whether a text looks like a result that holds a gold document."""
    return any(one.is_gold(wanted) for one in _read(text) for wanted in gold)


def _walk(found: Trajectory, gold: Sequence[Wanted], params: SearchParams) -> _Walk:
    walk = _Walk({}, [], [], set())
    returned: set[str] = set()
    tools = None if params.tools is None else {name.casefold() for name in params.tools}
    for place, lookup in enumerate(found.lookups):
        told, earned = _told(lookup, walk, returned, tools, gold, params)
        if place < _STEPS:
            label = f"{lookup.name}: {lookup.query}" if lookup.name else lookup.query
            walk.steps.append(StepScore(index=place, score=earned / len(gold), label=label[:200], feedback=told))
    return walk


def _told(
    lookup: Lookup,
    walk: _Walk,
    returned: set[str],
    tools: set[str] | None,
    gold: Sequence[Wanted],
    params: SearchParams,
) -> tuple[str, int]:
    """Returns the feedback on a call, and the number of gold documents that it found first."""
    if tools is None:
        searches = _PRINTING.isdisjoint(word.lower() for word in _NAME_WORD.findall(lookup.name))
    else:
        searches = lookup.name.casefold() in tools or not lookup.name
    if not searches:
        return "other_tool", 0
    walk.searches += 1
    walk.queries.append(lookup.query)
    walk.distinct.add(lookup.key)
    if lookup.malformed:
        walk.malformed += 1
        return "malformed" if lookup.name else "unread", 0
    if lookup.key and lookup.key in returned:
        walk.repeated += 1
        return "repeated", 0
    if params.over_budget == "cut" and params.max_searches is not None and walk.searches > params.max_searches:
        return "over_budget", 0
    held = [one for text in lookup.results for one in _read(text)]
    turn = _Turn.of(lookup)
    new: list[str] = []
    for number, wanted in enumerate(gold):
        if number not in walk.found and (words := _holds(held, wanted, turn)) is not None:
            walk.found[number] = words
            new.append(wanted.name)
    if new or any(not one.document.loose for one in held):
        returned.add(lookup.key)
    walk.useful += bool(new)
    return ("; ".join(new)[:500] if new else "nothing_new"), len(new)


def _outcome(
    found: Trajectory, walk: _Walk, over: Sequence[str], gold: Sequence[Wanted], params: SearchParams
) -> Outcome:
    used = _used(found.last, walk.found, gold, params.used_words)
    recall, share = len(walk.found) / len(gold), len(used) / len(gold)
    missing = [one for number, one in enumerate(gold) if number not in walk.found]
    flags = ["over_budget"] if over else []
    if missing and _written(found.own, missing):
        flags.append("own_evidence")
    details: dict[str, Any] = {
        "components": {
            "found": Component(status="scored", score=recall),
            "used": Component(status="scored", score=share),
            "useful": Component(status="scored", score=walk.useful / walk.searches if walk.searches else 0.0),
        },
        "extracted": [gold[number].name for number in sorted(walk.found)][:100],
        "evidence": {
            "gold": len(gold),
            "found": len(walk.found),
            "used": len(used),
            "searches": walk.searches,
            "distinct": len(walk.distinct),
            "repeated": walk.repeated,
            "malformed": walk.malformed,
            "useful": walk.useful,
            "queries": walk.queries[:100],
            "over_budget": list(over),
            "marked": True,
        },
        "steps": tuple(walk.steps),
        "flags": flags,
        "feedback": ("not found: " + "; ".join(one.name for one in missing))[:1000] if missing else None,
    }
    if over and params.over_budget == "zero":
        return wrong("over_budget", **details)
    if not walk.found:
        return wrong("nothing_found" if walk.searches else "no_search", **details)
    score = min(1.0, math.fsum(((1 - params.used) * recall, params.used * share)))
    passed = score >= params.threshold
    reason = None if passed else "partly_found" if recall < 1 else "not_used"
    return scored(score, passed=passed, reason=reason, **details)


def _used(last: str, found: Mapping[int, str], gold: Sequence[Wanted], least: int) -> set[int]:
    """The gold documents that an answer uses, of those that were found."""
    answer = apply_view(last).text or ""
    words = tokens(answer)
    said = f" {' '.join(words)} "
    runs = {tuple(words[place : place + least]) for place in range(len(words) - least + 1)}
    ids = {name_of(one): one for wanted in gold for one in wanted.ids}
    cited = {name for one in cited_sentences(answer, ("brackets", "tags", "footnotes"), ids.get) for name in one.cited}
    used: set[int] = set()
    for number, text in found.items():
        wanted, there = gold[number], text.split()
        shares = any(tuple(there[place : place + least]) in runs for place in range(len(there) - least + 1))
        if shares or cited & wanted.ids or (wanted.title and f" {wanted.title} " in said):
            used.add(number)
    return used
