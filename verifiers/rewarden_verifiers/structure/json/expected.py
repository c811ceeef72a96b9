"""An expected value, prepared once for all responses: the weights of its leaves, and their comparison.

A *leaf* is a scalar or an empty list or object. Three sets of leaves are counted by weight: those of the expected value
that the answer has (`matched`), those that it has with a value of the right type (`shaped`), and those that the answer
gives (`predicted`). Precision, recall and F-beta follow.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rewarden_verifiers.structure.json.assignment import MAX_SIDE, best_pairs
from rewarden_verifiers.structure.json.comparing import Effort, Field, Rules
from rewarden_verifiers.structure.json.paths import Path, Pattern, matches, pattern_of, shown
from rewarden_verifiers.structure.json.strict import MAX_DEPTH, MAX_VALUES, canonical

Blank = Literal["value", "absent"]
Extra = Literal["punish", "ignore"]

MAX_SHOWN = 50
"""The maximum number of paths of each kind in the evidence."""

MAX_PAIRINGS = 300_000
"""The maximum number of leaf comparisons for pairing unordered lists in one response; beyond it, lists are compared in
order.
"""

Counts = tuple[float, float, float]
"""Weights of the matched leaves, the leaves of the right type, and the leaves in the answer."""

NOTHING: Counts = (0.0, 0.0, 0.0)


@dataclass(slots=True, eq=False)
class Tally:
    """The findings from comparing one answer."""

    effort: Effort = field(default_factory=Effort)
    pairings: int = 0
    fields: dict[str, float] = field(default_factory=dict)
    missed: list[str] = field(default_factory=list)
    extra: list[str] = field(default_factory=list)
    in_order: bool = False
    """True if an unordered list was too long for pairing, and was compared in order."""

    def leaf(self, path: str, credit: float) -> None:
        """Records the credit of a leaf."""
        if len(self.fields) < MAX_SHOWN:
            self.fields[path] = credit


class Scheme:
    """The comparison scheme: the general rules, and the fields with their own rules."""

    __slots__ = ("blank", "extra", "fields", "rules", "strict")

    def __init__(self, rules: Rules, fields: Sequence[Field], blank: Blank, extra: Extra) -> None:
        self.rules = rules
        self.fields: tuple[tuple[Pattern, Field], ...] = tuple((pattern_of(item.path), item) for item in fields)
        self.blank = blank
        self.extra = extra
        # A value that counts as a whole is not right with more keys in it, even where more keys cost nothing.
        self.strict: Scheme = self if extra == "punish" else Scheme(rules, fields, blank, "punish")

    def at(self, path: Path, above: Rules) -> Rules:
        """Returns the rules at a path, given those of its parent. If several fields match, the last one applies."""
        for pattern, item in self.fields:
            if matches(pattern, path):
                above = above.but(item)
        return above

    def is_blank(self, value: Any) -> bool:
        """Returns whether a value counts as absent."""
        return self.blank == "absent" and (
            value is None or value == [] or value == {} or (isinstance(value, str) and not value.strip())
        )

    def weigh(self, value: Any, path: Path, rules: Rules) -> float:
        """Returns the weight of the leaves of a value that matches nothing."""
        if isinstance(value, (dict, list)) and value and not rules.whole:
            steps: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
            if not self.fields:
                return sum(self.weigh(inner, path, rules) for _, inner in steps)
            total = 0.0
            for step, inner in steps:
                deeper = (*path, step)
                total += self.weigh(inner, deeper, self.at(deeper, rules))
            return total
        return 0.0 if self.is_blank(value) else rules.weight

    def node(self, value: Any, path: Path = (), rules: Rules | None = None) -> Node:
        """Prepares an expected value. Raises ValueError if it is not JSON, or too deep or too large."""
        counter = [0]
        return self._node(value, path, self.at(path, rules or self.rules), counter)

    def _node(self, value: Any, path: Path, rules: Rules, counter: list[int]) -> Node:
        counter[0] += 1
        if counter[0] > MAX_VALUES:
            raise ValueError(f"more than {MAX_VALUES} values")
        if len(path) > MAX_DEPTH:
            raise ValueError(f"nested deeper than {MAX_DEPTH}")
        if self.is_blank(value):
            return Blanked(self, path, rules, value)
        if rules.whole:
            inner = self.strict._node(value, path, replace(rules, whole=False), counter)
            return Whole(self, path, rules, value, inner)
        if isinstance(value, Mapping) and value:
            children: dict[str, Node] = {}
            for key, inner in value.items():
                if not isinstance(key, str):
                    raise ValueError(f"the key {key!r} is not text")
                deeper = (*path, key)
                children[key] = self._node(inner, deeper, self.at(deeper, rules), counter)
            return Object(self, path, rules, value, children)
        if isinstance(value, (list, tuple)) and value:
            items = list(value)
            if rules.lists == "set":
                items = list({canonical(item): item for item in items}.values())
            listed: list[Node] = []
            for index, inner in enumerate(items):
                deeper = (*path, index)
                listed.append(self._node(inner, deeper, self.at(deeper, rules), counter))
            return Listing(self, path, rules, items, listed)
        if isinstance(value, float) and value - value != 0:
            raise ValueError("NaN and infinity are not JSON")
        if value is None or isinstance(value, (str, int, float)) or value in ([], {}, ()):
            return Leaf(self, path, rules, [] if value == () else value)
        raise ValueError(f"{type(value).__name__} is not JSON")


class Node:
    """An expected value. `total` is the weight of its leaves, `leaves` their number. `unordered`: whether it contains
    lists that must be paired.
    """

    __slots__ = ("leaves", "name", "path", "rules", "scheme", "total", "unordered", "value")

    def __init__(self, scheme: Scheme, path: Path, rules: Rules, value: Any) -> None:
        self.scheme = scheme
        self.path = path
        self.name = shown(path)
        self.rules = rules
        self.value = value
        self.total = 0.0
        self.leaves = 1
        self.unordered = False

    def compare(self, value: Any, tally: Tally, note: bool) -> Counts:
        """Compares a value with this one. `note`: whether to record the findings by path."""
        raise NotImplementedError

    def miss(self, tally: Tally) -> None:
        """Records that the answer has nothing here."""
        if self.total and len(tally.missed) < MAX_SHOWN:
            tally.missed.append(self.name)

    def other(self, value: Any, tally: Tally, note: bool) -> Counts:
        """Returns the counts for a value of a different type."""
        if self.rules.written_alike(self.value, value):
            if note and self.total:
                tally.leaf(self.name, 1.0)
            return (self.total, self.total, self.total)
        weight = self.scheme.weigh(value, self.path, self.rules)
        if note:
            if self.total:
                tally.leaf(self.name, 0.0)
            elif weight and len(tally.extra) < MAX_SHOWN:
                tally.extra.append(self.name)
        return (0.0, 0.0, weight)

    def stray(self, step: str | int, value: Any, tally: Tally, note: bool) -> float:
        """Returns the weight of a value inside this one that was not expected."""
        path = (*self.path, step)
        weight = self.scheme.weigh(value, path, self.scheme.at(path, self.rules))
        if note and weight and len(tally.extra) < MAX_SHOWN:
            tally.extra.append(shown(path)[:200])
        return weight


class Blanked(Node):
    """A blank that counts as absent: any other value here is superfluous."""

    __slots__ = ()

    def compare(self, value: Any, tally: Tally, note: bool) -> Counts:
        """See Node."""
        return NOTHING if self.scheme.is_blank(value) else self.other(value, tally, note)


class Leaf(Node):
    """A scalar, or an empty list or object."""

    __slots__ = ("empty", "full", "kind")

    def __init__(self, scheme: Scheme, path: Path, rules: Rules, value: Any) -> None:
        super().__init__(scheme, path, rules, value)
        self.total = rules.weight
        self.empty = isinstance(value, (list, dict))
        self.kind = type(value)
        self.full: Counts = (rules.weight, rules.weight, rules.weight)

    def compare(self, value: Any, tally: Tally, note: bool) -> Counts:
        """See Node."""
        weight = self.total
        if type(value) is self.kind and value == self.value and weight:
            if note and len(tally.fields) < MAX_SHOWN:
                tally.fields[self.name] = 1.0
            return self.full
        if not weight:
            return NOTHING
        if isinstance(value, (dict, list)) and value:
            return self.other(value, tally, note)
        if self.empty or isinstance(value, (dict, list)):
            credit = float(self.rules.written_alike(self.value, value))
        else:
            credit = self.rules.credit(self.value, value, tally.effort)
        if note:
            tally.leaf(self.name, credit)
        shaped = weight if credit > 0 or _kind(self.value) == _kind(value) else 0.0
        return (weight * credit, shaped, weight)


class Whole(Node):
    """A value that is right only if everything in it is, and it has nothing else."""

    __slots__ = ("inner",)

    def __init__(self, scheme: Scheme, path: Path, rules: Rules, value: Any, inner: Node) -> None:
        super().__init__(scheme, path, rules, value)
        self.inner = inner
        self.total = rules.weight if inner.total else 0.0
        self.leaves = inner.leaves
        self.unordered = inner.unordered

    def compare(self, value: Any, tally: Tally, note: bool) -> Counts:
        """See Node."""
        weight = self.total
        if not weight:
            return NOTHING
        matched, _, predicted = self.inner.compare(value, tally, False)
        right = _near(matched, self.inner.total) and _near(predicted, self.inner.total)
        if note:
            tally.leaf(self.name, float(right))
        shaped = weight if right or _kind(self.value) == _kind(value) else 0.0
        return (weight if right else 0.0, shaped, weight)


class Object(Node):
    """An object with at least one key."""

    __slots__ = ("children",)

    def __init__(self, scheme: Scheme, path: Path, rules: Rules, value: Any, children: dict[str, Node]) -> None:
        super().__init__(scheme, path, rules, value)
        self.children = children
        self.total = sum(child.total for child in children.values())
        self.leaves = sum(child.leaves for child in children.values())
        self.unordered = any(child.unordered for child in children.values())

    def compare(self, value: Any, tally: Tally, note: bool) -> Counts:
        """See Node."""
        if not isinstance(value, dict):
            return self.other(value, tally, note)
        matched = shaped = predicted = 0.0
        absent = self.scheme.blank == "absent"
        common = 0
        for key, child in self.children.items():
            if key in value:
                common += 1
                inner = value[key]
                if absent and child.total and self.scheme.is_blank(inner):
                    if note:
                        child.miss(tally)
                    continue
                counts = child.compare(inner, tally, note)
                matched += counts[0]
                shaped += counts[1]
                predicted += counts[2]
            elif note:
                child.miss(tally)
        if common < len(value) and self.scheme.extra == "punish":
            for key, inner in value.items():
                if key not in self.children:
                    predicted += self.stray(key, inner, tally, note)
        return (matched, shaped, predicted)


class Listing(Node):
    """A list with at least one item."""

    __slots__ = ("children",)

    def __init__(self, scheme: Scheme, path: Path, rules: Rules, value: Any, children: list[Node]) -> None:
        super().__init__(scheme, path, rules, value)
        self.children = children
        self.total = sum(child.total for child in children)
        self.leaves = sum(child.leaves for child in children)
        self.unordered = rules.lists != "ordered" or any(child.unordered for child in children)

    def compare(self, value: Any, tally: Tally, note: bool) -> Counts:
        """See Node."""
        if not isinstance(value, list):
            return self.other(value, tally, note)
        if self.rules.lists == "ordered":
            pairs = [(place, place) for place in range(min(len(self.children), len(value)))]
        else:
            if self.rules.lists == "set":
                value = list({canonical(item): item for item in value}.values())
            pairs = self._paired(value, tally)
        matched = shaped = predicted = 0.0
        for place, other in pairs:
            counts = self.children[place].compare(value[other], tally, note)
            matched += counts[0]
            shaped += counts[1]
            predicted += counts[2]
        if len(pairs) < len(value):
            used = {other for _, other in pairs}
            for other, inner in enumerate(value):
                if other not in used:
                    predicted += self.stray(other, inner, tally, note)
        if note and len(pairs) < len(self.children):
            kept = {place for place, _ in pairs}
            for place, child in enumerate(self.children):
                if place not in kept:
                    child.miss(tally)
        return (matched, shaped, predicted)

    def _paired(self, value: list[Any], tally: Tally) -> list[tuple[int, int]]:
        """Pairs the items for the best match. Equal items are paired first; the rest is paired by the Hungarian method
        if there are few enough, else in order.
        """
        waiting: dict[str, list[int]] = {}
        for place in range(len(self.children) - 1, -1, -1):
            waiting.setdefault(canonical(self.children[place].value), []).append(place)
        pairs: list[tuple[int, int]] = []
        over: list[int] = []
        for other, item in enumerate(value):
            same = waiting.get(canonical(item))
            if same:
                pairs.append((same.pop(), other))
            else:
                over.append(other)
        left = sorted(place for places in waiting.values() for place in places)
        if left and over:
            pairs += self._best(left, over, value, tally)
        pairs.sort()
        return pairs

    def _best(self, left: list[int], over: list[int], value: list[Any], tally: Tally) -> list[tuple[int, int]]:
        nodes = [self.children[place] for place in left]
        cost = sum(node.leaves for node in nodes)
        cost *= sum(_leaves(value[other]) for other in over) if any(n.unordered for n in nodes) else len(over)
        if len(left) > MAX_SIDE or len(over) > MAX_SIDE or tally.pairings + cost > MAX_PAIRINGS:
            tally.in_order = True
            return list(zip(left, over, strict=False))
        tally.pairings += cost
        gains = [[node.compare(value[other], tally, False)[0] for other in over] for node in nodes]
        pairs = [(left[row], over[column]) for row, column in best_pairs(gains)]
        # Items without a match are paired in order, because their shape may still be right.
        places, others = {place for place, _ in pairs}, {other for _, other in pairs}
        rest = (
            (place for place in left if place not in places),
            (other for other in over if other not in others),
        )
        return pairs + list(zip(*rest, strict=False))


def _leaves(value: Any) -> int:
    if isinstance(value, dict) and value:
        return sum(_leaves(inner) for inner in value.values())
    if isinstance(value, list) and value:
        return sum(_leaves(inner) for inner in value)
    return 1


def _kind(value: Any) -> type:
    """The JSON type, which is the same for integers and other numbers."""
    kind = type(value)
    return float if kind is int else kind


@dataclass(slots=True, eq=False)
class Content:
    """The match between an answer and an expected value. `f` is the F-beta of the values, `structure` that of paths and
    types.
    """

    exact: bool
    precision: float
    recall: float
    f: float
    structure: float
    tally: Tally
    matched: float


class Target:
    """An entire expected value: its node, and the credit of an answer that is literally identical."""

    __slots__ = ("_plain", "_text", "_value", "_whole", "node")

    def __init__(self, node: Node) -> None:
        self.node = node
        self._value = node.value
        # Python treats 1 and True as equal. If neither occurs, equality in Python is equality in JSON.
        self._plain = not _confusable(self._value)
        self._text = None if self._plain else canonical(self._value)
        self._whole = content(node, self._value, 1.0)

    def compare(self, value: Any, beta: float) -> Content:
        """Compares an answer with this value. Raises TooExpensive."""
        if value == self._value and (self._plain or canonical(value) == self._text):
            return self._whole
        return content(self.node, value, beta)


def _confusable(value: Any) -> bool:
    if isinstance(value, dict):
        return any(map(_confusable, value.values()))
    if isinstance(value, list):
        return any(map(_confusable, value))
    return isinstance(value, bool) or (isinstance(value, (int, float)) and value in (0, 1))


def content(node: Node, value: Any, beta: float) -> Content:
    """Compares an answer with an expected value. Raises TooExpensive."""
    tally = Tally()
    matched, shaped, predicted = node.compare(value, tally, True)
    total = node.total
    if not total and not predicted:  # nothing was expected, and nothing was given
        return Content(True, 1.0, 1.0, 1.0, 1.0, tally, 0.0)
    precision = min(1.0, matched / predicted) if predicted else 0.0
    recall = min(1.0, matched / total) if total else 0.0
    exact = bool(total) and _near(matched, total) and _near(predicted, total)
    structure = _f(shaped / predicted if predicted else 0.0, shaped / total if total else 0.0, beta)
    f = 1.0 if exact else _f(precision, recall, beta)
    return Content(exact, precision, recall, f, structure, tally, matched)


def _near(a: float, b: float) -> bool:
    return abs(a - b) <= 1e-9 * max(a, b)


def _f(precision: float, recall: float, beta: float) -> float:
    """F-beta (van Rijsbergen 1979): recall counts beta times as much as precision."""
    if precision <= 0 or recall <= 0:
        return 0.0
    squared = beta * beta
    return min(1.0, (1 + squared) * precision * recall / (squared * precision + recall))
