"""Reads an answer: nodes, sets, edges, groups, assignments, flows, a number, or that there is none.

JSON, Python's brackets, bare words with commas, and arrows between the nodes of a path are read. Nothing is guessed: an
answer that is not one of these forms as a whole raises Unread.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import Any

from rewarden_verifiers.puzzles.literals import NotRead, parse

MOST_DEPTH = 4

_ARROWS = re.compile(r"\\(?:to|rightarrow|longrightarrow|Rightarrow)(?![A-Za-z])|[→⟶⇒➔➝]|[-=]+>")
_LATEX = re.compile(r"\\(?:text|texttt|mathrm|mathbf)\{([^{}]*)\}|\\([{}])|\\(?:left|right)(?![A-Za-z])|\\[,;: ]")
_DASH = re.compile(r"\s[-–—]\s")
_CLOSE = (re.compile(r"[-–—]"), re.compile(r"\s{1,20}to\s{1,20}"), re.compile(r"\s{1,20}and\s{1,20}"))
"""Marks between nodes that could also be part of a name: they count if every part is a node."""
_MARKER = re.compile(
    r"(?:(?:[0-9]{1,5}[.)]|[-*•+]|and)\s{1,20})?(?:(?:node|vertex|city|item)s?\s{1,20})?(?=\S)",
    re.ASCII | re.IGNORECASE,
)
_LABEL = re.compile(
    r"(?:the\s{1,4})?(?:(?:optimal|best|final|shortest|selected|visiting)\s{1,4}){0,2}"
    r"(tour|route|path|order(?:ing)?|cycle|circuit|items?|nodes|solution|answer)\s{0,4}(?::|=|is:?\s|are:?\s)\s{0,4}"
    r"|(?:take|select|choose|pick)\s{1,4}(?=items?\s)",
    re.ASCII | re.IGNORECASE,
)
"""A word for the answer before it. Nothing else stands before a list of nodes."""
_PAIR = re.compile(r"[^:=]+[:=][^:=]+")
_AND = re.compile(r",?\s{1,8}and\s{1,8}(?=[^:=,;\n]{1,80}[:=])")
_BEST = re.compile(r"\^(?:\*|\{\*\})")
"""The star of an optimal value, as in `x^* = 4`."""
_TUPLES = re.compile(r"\(([^()=]{1,2000})\)\s?=\s?\(([^()=]{1,2000})\)")
_BULLET = re.compile(r"[-*•]\s+")
_TOKEN = re.compile(r"[\[\](){}<>]|[,;\n]|[^\[\](){}<>,;\n]+")
_PAIRED = {"[": "]", "(": ")", "{": "}", "<": ">"}
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,30}(?:\.[0-9]{0,30})?|\.[0-9]{1,30})(?:[eE][+-]?[0-9]{1,2})?")
_ABSENT = frozenset(
    ("none", "null", "no", "impossible", "infeasible", "no solution", "no path", "not possible", "does not exist")
)
_NOTHING = re.compile(
    r"(?:there (?:is|are|exists?) )?no "
    r"(?:(?:such|valid|feasible|proper|simple|hamiltonian|euler(?:ian)?|topological) )*"
    r"(?:solution|path|route|tour|walk|cycle|circuit|order(?:ing)?|colou?ring|matching|isomorphism|mapping|flow|tree)"
    r"(?: exists?)?"
)
_YES = frozenset(("yes", "true"))
_NO = frozenset(("no", "false"))
_AROUND = " \t\r\n\"'`*"


class Unread(Exception):
    """The answer cannot be read; the text says why."""


def plain(text: str) -> str:
    """The answer without LaTeX, every arrow as `->`."""
    text = _LATEX.sub(lambda found: found[1] or found[2] or " ", text.strip())
    return _ARROWS.sub("->", text).replace("$", "").strip()


def absent(text: str) -> bool:
    """Returns whether the answer says that there is no solution."""
    word = _word(text)
    return word in _ABSENT or _NOTHING.fullmatch(word) is not None


def yes_or_no(text: str) -> bool:
    """Returns whether the answer is yes. Raises Unread unless it is one word, yes or no."""
    word = _word(text)
    if word in _YES or word in _NO:
        return word in _YES
    raise Unread("the answer is not yes or no")


def number(text: Any) -> float:
    """A number. Raises Unread for anything else, and for what is not finite."""
    if isinstance(text, bool) or text is None:
        raise Unread(f"{text} is not a number")
    if isinstance(text, (int, float)):
        text = repr(text)
    if not isinstance(text, str) or _NUMBER.fullmatch(text.strip().strip("'\"")) is None:
        raise Unread("it is not a number")
    return float(text.strip().strip("'\""))


def nodes(text: str, known: Collection[str]) -> list[str]:
    """The nodes of a path, an order or a set, as they are written."""
    label = _LABEL.match(text)
    if label is not None and (label[1] or "").lower() not in known:
        text = text[label.end() :]
    value = _value(text if "<" in text else text.replace("->", ">").replace(">", "->"))
    if isinstance(value, dict):  # {"path": […], "length": 8}
        lists = [item for item in value.values() if isinstance(item, list)]
        value = lists[0] if len(lists) == 1 else None
    if isinstance(value, str):
        value = [value] if value in known else _apart(value, known)
    if not isinstance(value, list):
        raise Unread("the answer is not a list of nodes")
    return [name for item in value for name in _named(_node(item), known)]


def groups(text: str) -> list[list[str]]:
    """Groups of nodes. A single group may stand alone."""
    value = _value(text)
    if not isinstance(value, list):
        raise Unread("the answer is not a list of groups")
    if value and not any(isinstance(item, list) for item in value):
        value = [value]
    return [[_node(item) for item in _list(group, "a group")] for group in value]


def edges(text: str, known: Collection[str]) -> list[tuple[str, str]]:
    """Edges, as pairs of nodes."""
    value = _value(text)
    if isinstance(value, str):
        value = [value]
    found = _list(value, "the answer")
    if len(found) == 2 and all(isinstance(item, (str, int)) and _node(item) in known for item in found):
        found = [found]  # one edge, without brackets around it
    return [_edge(item, known) for item in found]


def flows(text: str, known: Collection[str]) -> list[tuple[str, str, float]]:
    """Edges, each with its flow."""
    value = _value(text)
    if isinstance(value, dict):
        return [(*_edge(key, known), number(item)) for key, item in value.items()]
    found = _list(value, "the answer")
    if len(found) == 3 and not any(isinstance(item, list) for item in found):
        found = [found]
    result = []
    for item in found:
        if isinstance(item, str):  # a->b: 3
            item = list(_pair(item, (":", "=")))
        parts = _list(item, "an edge with its flow")
        if len(parts) == 2:
            parts = [*_edge(parts[0], known), parts[1]]
        if len(parts) != 3:
            raise Unread("an edge with its flow has two nodes and a number")
        result.append((_node(parts[0]), _node(parts[1]), number(parts[2])))
    return result


def assignment(text: str, *, numbers: bool = False) -> dict[str, str]:
    """A value for each node, a name or with `numbers` a number. Raises Unread if one has two."""
    text = _AND.sub(", ", _BEST.sub("", text))
    tuples = _TUPLES.fullmatch(text)
    if tuples is not None and tuples[1].count(",") == tuples[2].count(","):
        text = ", ".join(map("=".join, zip(tuples[1].split(","), tuples[2].split(","), strict=True)))
    value = _value(text)
    if isinstance(value, str):  # a=1 b=2, or one pair
        words = value.split()
        value = words if len(words) > 1 and all(_PAIR.fullmatch(word) for word in words) else [value]
    if isinstance(value, dict):
        pairs = [(_node(key), str(number(item)) if numbers else _node(item)) for key, item in value.items()]
    else:
        pairs = [_pair(item) for item in _list(value, "the answer")]
    found = dict(pairs)
    if len(found) < len(pairs):
        raise Unread("a node has two values")
    return found


def _apart(text: str, known: Collection[str]) -> list[str]:
    """The parts of a text between the marks that it uses."""
    if "->" in text:
        return text.split("->")
    if _DASH.search(text):
        return _DASH.split(text)
    for mark in _CLOSE:
        parts = mark.split(text)
        if len(parts) > 1 and all(name in known for part in parts for name in _named(part.strip(_AROUND), known)):
            return parts
    return text.split()


def _named(name: str, known: Collection[str]) -> list[str]:
    """The node, without a mark or a word such as "node" before it; both nodes of "a and b"."""
    if name in known:
        return [name]
    marker = _MARKER.match(name)
    bare = name[marker.end() :] if marker is not None else name
    if bare in known:
        return [bare]
    parts = [part.strip(_AROUND) for part in _CLOSE[2].split(bare)]
    return parts if len(parts) == 2 and all(part in known for part in parts) else [name]


def _word(text: str) -> str:
    return " ".join(text.casefold().strip(" .!\"'`*").split())


def _value(text: str) -> Any:
    try:
        value = parse(text)
    except NotRead as error:
        if "occurs twice" in str(error):
            raise Unread("a node has two values") from None
        return _loose(text)
    if isinstance(value, (list, dict)):
        return value
    return str(value) if isinstance(value, (str, int)) and not isinstance(value, bool) else _loose(text)


def _loose(text: str) -> Any:
    """Nested lists of words, as brackets and commas part them; the word alone where there is neither."""
    stack: list[tuple[str, list[Any]]] = [("", [])]
    parted = False
    text = text.replace("->", "\0")
    for token in _TOKEN.findall(text):
        if token in _PAIRED:
            if len(stack) > MOST_DEPTH:
                raise Unread("the answer is nested too deep")
            stack.append((_PAIRED[token], []))
        elif token in "])}>":
            closing, items = stack.pop()
            if not stack or token != closing:
                raise Unread("a bracket does not match")
            stack[-1][1].append(items)
        elif token in ",;\n":
            parted = True
        elif token.strip():
            stack[-1][1].append(token.replace("\0", "->").strip())
    if len(stack) > 1:
        raise Unread("a bracket is not closed")
    items = stack[0][1]
    if len(items) == 1 and not (parted and isinstance(items[0], str)):
        return items[0]
    if not items:
        raise Unread("the answer is empty")
    return items


def _list(value: Any, what: str) -> list[Any]:
    if not isinstance(value, list):
        raise Unread(f"{what} is not a list")
    return value


def _node(item: Any) -> str:
    if isinstance(item, bool) or not isinstance(item, (str, int)):
        raise Unread("a node is a name or a whole number")
    name = str(item).strip(_AROUND)
    if not name:
        raise Unread("a node is empty")
    return name


def _edge(item: Any, known: Collection[str]) -> tuple[str, str]:
    if isinstance(item, list):
        if len(item) == 1 and isinstance(item[0], str):
            item = item[0]
        elif len(item) == 2:
            return _node(item[0]), _node(item[1])
        else:
            raise Unread("an edge has two nodes")
    if isinstance(item, str):
        for mark in ("->", "–", "—", "-", " "):
            one, found, other = item.strip(_AROUND).partition(mark)
            if found and _plain_name(one) in known and _plain_name(other) in known:
                return _plain_name(one), _plain_name(other)
    raise Unread("an edge has two nodes of the graph")


def _plain_name(text: str) -> str:
    return text.strip(_AROUND)


def _pair(item: Any, marks: Sequence[str] = (":", "->", "=")) -> tuple[str, str]:
    if isinstance(item, list) and len(item) == 2:
        return _node(item[0]), _node(item[1])
    if isinstance(item, str):
        item = _BULLET.sub("", item, count=1) if _BULLET.match(item) else item
        for mark in marks:
            one, found, other = item.partition(mark)
            if found:
                return _node(one), _node(other)
    raise Unread("the answer does not give a value for each node")
