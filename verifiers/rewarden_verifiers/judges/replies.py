"""Reads replies: one JSON object of the required form, or nothing. Prose is never a verdict.

A reply can begin with closed reasoning (`<think>…</think>`, or without the opening tag if the judge's chat template
wrote it), and the object can be in a code fence, because models do both unprompted. Any other text around the object
makes the reply unreadable: a judge that quotes the candidate there could quote an object that the candidate wrote.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden_verifiers.chat import Alternative, Reply

_FENCE = re.compile(r"```(?:json|JSON)?[ \t]*\n(.*)\n[ \t]*```", re.DOTALL)
_LONGEST = 200_000
ALTERNATIVES = 20
"""The number of alternatives requested for the first token: the maximum in OpenAI's protocol."""
_FAILED: Mapping[str, str] = {"content_filter": "filtered", "refusal": "refused"}


class UnreadableError(Exception):
    """A reply that cannot be read; the message says why in a few words."""


class CutOffError(UnreadableError):
    """A reply truncated by its token limit or by the model's context, which is the judge's own limit."""


def read_object(reply: Reply, schema: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the reply's object after checking it against the question's schema.

    Supported keywords of JSON Schema: type, properties, required, enum, minimum, maximum, items, minItems, maxItems.
    Keys that are not in the schema, duplicate keys, NaN and infinities are rejected. Raises UnreadableError.
    """
    text = said(reply).strip()
    if not text.startswith(("{", "`")):
        # Reasoning, whose opening tag may be in the judge's chat template. No candidate can write the closing one.
        before, closed, after = text.partition("</think>")
        text = after.strip() if closed else before
    fence = _FENCE.fullmatch(text)
    if fence is not None and "```" not in fence.group(1):
        text = fence.group(1).strip()
    try:
        value = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        if not isinstance(value, dict):
            raise UnreadableError("not one JSON object")
        _hold(value, schema, "the reply")
        read: dict[str, Any] = _encodable(value)
    except (ValueError, RecursionError):
        raise UnreadableError("not one JSON object" if text else "empty") from None
    return read


def said(reply: Reply) -> str:
    """The text of a reply. Raises UnreadableError for a reply that is incomplete (CutOffError if it ran out of tokens)
    or too long.
    """
    if reply.finish == "length":
        raise CutOffError("cut off")
    if reply.finish in _FAILED:
        raise UnreadableError(_FAILED[reply.finish])
    if len(reply.text) > _LONGEST:
        raise UnreadableError("too long")
    return reply.text


def object_of(properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of an object with exactly these properties, all of them required."""
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties),
        "additionalProperties": False,
    }


def numbered(name: str, count: int, properties: Mapping[str, Any]) -> dict[str, Any]:
    """The schema of a reply: under `name`, `count` entries with a number (from 1) and the properties, all required."""
    entry = object_of({"number": {"type": "integer", "minimum": 1, "maximum": count}, **properties})
    return object_of({name: {"type": "array", "items": entry, "minItems": count, "maxItems": count}})


def by_number(found: Mapping[str, Any], name: str, count: int) -> list[Mapping[str, Any]]:
    """The entries, ordered by number. Raises UnreadableError if a number is duplicated, and so another one is
    missing.
    """
    rows = {row["number"]: row for row in found[name]}
    if len(rows) != count:
        raise UnreadableError("a number occurs twice")
    return [rows[number] for number in range(1, count + 1)]


def probability(reply: Reply, positive: Sequence[str], negative: Sequence[str], least: float = 0.5) -> float:
    """The probability of the positive words among positive and negative ones, from the reply's first token.

    Case and surrounding spaces are ignored. Raises UnreadableError if all these words together have a probability below
    `least`: the judge was then about to say something else.
    """
    # It does not matter if the reply continues: only its first token is read.
    if reply.finish in _FAILED:
        raise UnreadableError(_FAILED[reply.finish])
    if not reply.alternatives:
        raise UnreadableError("no token probabilities")
    yes, no = _mass(reply.alternatives, positive), _mass(reply.alternatives, negative)
    if yes + no < least or yes + no <= 0:
        raise UnreadableError("another first word")
    return yes / (yes + no)


def _mass(alternatives: Sequence[Alternative], words: Sequence[str]) -> float:
    wanted = {word.lower() for word in words}
    # A token's text may contain its tokenizer's mark for a space.
    return sum(
        math.exp(min(one.logprob, 0.0))
        for one in alternatives
        if one.text.strip(" \t\n▁Ġ").lower() in wanted and not math.isnan(one.logprob)
    )


def _encodable(value: Any) -> Any:
    """The value with lone surrogates replaced: JSON can contain them, UTF-8 cannot."""
    if isinstance(value, str):
        return value.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if isinstance(value, dict):
        return {_encodable(name): _encodable(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_encodable(item) for item in value]
    return value


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("a key occurs twice")
    return made


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _hold(value: Any, schema: Mapping[str, Any], where: str) -> None:
    kind = schema.get("type")
    if kind is not None and not _is(value, kind):
        raise UnreadableError(f"{where} is not {kind if isinstance(kind, str) else ' or '.join(kind)}")
    if "enum" in schema and not any(type(value) is type(one) and value == one for one in schema["enum"]):
        raise UnreadableError(f"{where} is none of {', '.join(map(str, schema['enum']))}")
    if isinstance(value, dict):
        properties = schema.get("properties", {})
        for name in schema.get("required", ()):
            if name not in value:
                raise UnreadableError(f"{name} is missing")
        for name, item in value.items():
            if name not in properties:
                raise UnreadableError(f"{name[:40]!r} was not asked for")
            _hold(item, properties[name], name)
    elif isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            raise UnreadableError(f"{where} has {len(value)} items")
        for item in value:
            _hold(item, schema.get("items", {}), where)
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        low, high = schema.get("minimum", -math.inf), schema.get("maximum", math.inf)
        # This also rejects integers of a hundred thousand digits, and NaN, for which every comparison is false.
        within = low <= value <= high and abs(value) <= 1e300
        if not within:
            raise UnreadableError(f"{where} is out of bounds")


def _is(value: Any, kind: str | Sequence[str]) -> bool:
    if not isinstance(kind, str):
        return any(_is(value, one) for one in kind)
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    kinds: Mapping[str, type] = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds[kind])
