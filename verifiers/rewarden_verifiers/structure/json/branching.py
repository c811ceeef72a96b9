"""Counts how often a schema evaluates one value. The counts multiply if alternatives contain further alternatives.

The count is made before validation, in time linear in the schema. The author of an exploding schema gets an error with
its path, and no answer is judged wrong because of it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import unquote

_LISTS = ("allOf", "anyOf", "oneOf")
_SINGLE = ("not", "if", "then", "else")
_TABLES = ("dependentSchemas", "dependencies")
_REFERENCES = ("$ref", "$dynamicRef", "$recursiveRef")

_Edges = list[tuple[str, dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Branching:
    """The maximum number of evaluations of one value, not counting those of its parts. keyword: the path of the
    innermost keyword that exceeds the limit, or else the one with the most evaluations.
    """

    evaluations: int
    keyword: str


def branching(schema: Any, schemas: Mapping[str, Any], limit: int) -> Branching:
    """Returns the maximum branching anywhere in a schema. schemas: other schemas that it may refer to."""
    documents = {"": schema, **schemas}
    places: dict[int, str] = {}
    nodes: list[tuple[str, dict[str, Any]]] = []
    for name, document in documents.items():
        for path, node in _walk(document):
            places[id(node)] = f"{name}{path}"
            nodes.append((name, node))
    edges = {id(node): _edges(node, name, documents) for name, node in nodes}
    counts = _counts([node for _, node in nodes], edges)
    most = max(counts.values(), default=1)
    above = [place for place, count in counts.items() if count > limit]
    named = min(above, key=counts.__getitem__) if above else max(counts, key=counts.__getitem__, default=None)
    if named is None:
        return Branching(most, "")
    keyword = max(edges[named], key=lambda edge: counts[id(edge[1])], default=("", {}))[0]
    return Branching(most, f"{places[named]}/{keyword}")


def _walk(document: Any) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yields every object in a document with its path. Plain values are included, because a reference may point to any
    of them.
    """
    pending: list[tuple[str, Any]] = [("", document)]
    while pending:
        path, value = pending.pop()
        if isinstance(value, dict):
            yield path, value
            pending += [(f"{path}/{key}", inner) for key, inner in value.items()]
        elif isinstance(value, list):
            pending += [(f"{path}/{index}", inner) for index, inner in enumerate(value)]


def _edges(node: dict[str, Any], name: str, documents: Mapping[str, Any]) -> _Edges:
    """Returns the subschemas that a schema applies to the same value, and the keyword of each."""
    found: list[tuple[str, Any]] = []
    for keyword in _LISTS:
        listed = node.get(keyword)
        found += [(keyword, one) for one in listed] if isinstance(listed, list) else []
    for keyword in _TABLES:
        table = node.get(keyword)
        found += [(keyword, one) for one in table.values()] if isinstance(table, dict) else []
    found += [(keyword, node[keyword]) for keyword in _SINGLE if keyword in node]
    for keyword in _REFERENCES:
        if isinstance(address := node.get(keyword), str):
            found.append((keyword, _target(address, name, documents)))
    return [(keyword, one) for keyword, one in found if isinstance(one, dict)]


def _target(address: str, name: str, documents: Mapping[str, Any]) -> Any:
    """Returns the schema at an address, or None if the text alone does not determine it."""
    base, _, pointer = address.partition("#")
    found = documents.get(base or name)
    if not pointer:
        return found
    if not pointer.startswith("/"):
        return None if found is None else next((one for _, one in _walk(found) if _anchored(one, pointer)), None)
    for step in unquote(pointer)[1:].split("/"):
        step = step.replace("~1", "/").replace("~0", "~")
        if isinstance(found, list):
            found = found[int(step)] if step.isdecimal() and int(step) < len(found) else None
        else:
            found = found.get(step) if isinstance(found, dict) else None
    return found


def _anchored(node: dict[str, Any], anchor: str) -> bool:
    return anchor in (node.get("$anchor"), node.get("$dynamicAnchor"))


def _counts(nodes: list[dict[str, Any]], edges: Mapping[int, _Edges]) -> dict[int, int]:
    """Counts the evaluations of one value by each schema, including itself. A recursive schema is followed once,
    because the library stops there.
    """
    counts: dict[int, int] = {}
    opened: set[int] = set()
    for root in nodes:
        stack = [id(root)]
        while stack:
            place = stack[-1]
            if place in counts:
                stack.pop()
                continue
            if place not in opened:
                opened.add(place)
                stack += [id(one) for _, one in edges[place] if id(one) not in counts and id(one) not in opened]
                continue
            counts[place] = 1 + sum(counts.get(id(one), 0) for _, one in edges[place])
            stack.pop()
    return counts
