"""Reads written verdicts strictly: the end of a text, in the required form, or nothing.

Prose is never a verdict, nor is reasoning, nor earlier text, in which the model can quote the candidate. Two different
verdicts next to each other count as none.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypeVar

from rewarden.errors import InvalidParams
from rewarden_verifiers.chat import Reply
from rewarden_verifiers.extraction import boxes
from rewarden_verifiers.judges.replies import UnreadableError, read_object, said
from rewarden_verifiers.judges.scales import Scale
from rewarden_verifiers.view import View, apply_view

Value = TypeVar("Value")

_NAME = re.compile(r"[^\W\d][\w -]{0,31}")
_NUMBER = re.compile(r"[-+]?\d{1,12}(?:\.\d{1,12})?")
_AROUND = "*_`$ \t\r\n"
_ENDED = re.compile(r"[\s*_`$.)\]]*")
"""Characters that may follow a verdict."""


@dataclass(frozen=True, kw_only=True)
class Form:
    r"""The place of the verdict in a written text.

    kind: `line`: the last line, `NAME: verdict`; `boxed`: `\boxed{verdict}`; `tag`: `<NAME>verdict</NAME>`; `json`: the
        whole text is one JSON object, whose field NAME it is. All but the last must be at the end of the text.
    name: NAME; empty: `Score` or `Verdict`, depending on the question, in lower case for a tag or field.
    """

    kind: Literal["line", "boxed", "tag", "json"] = "line"
    name: str = ""

    def check(self, path: str) -> None:
        """Raises InvalidParams for an invalid name."""
        if self.name and not _NAME.fullmatch(self.name):
            message = f"{path}.name must be a letter, then letters, digits, spaces, - or _, at most 32"
            raise InvalidParams(message, path=f"{path}.name")

    def called(self, default: str) -> str:
        """The name, or the default name as this form spells it."""
        return self.name or (default if self.kind == "line" else default.lower())

    def words(self, default: str, what: str, schema: dict[str, Any]) -> str:
        """Returns the instruction on the form. what: describes the verdict; schema: the schema of its JSON value."""
        name = self.called(default)
        if self.kind == "json":
            return (
                "Reply with one JSON object and nothing else: no text before or after it. Its JSON Schema:\n"
                + json.dumps(_schema(name, schema), ensure_ascii=False)
            )
        place = {
            "line": f"the last line `{name}: X`",
            "boxed": "the last line `\\boxed{X}`",
            "tag": f"the last line `<{name}>X</{name}>`",
        }
        return f"End with {place[self.kind]}, where X is {what}, and write nothing behind it."


def after_thought(text: str, opened: bool = False) -> str:
    """Returns the text after the reasoning. Raises UnreadableError if the reasoning is never closed."""
    behind = apply_view(text, View(starts_open=opened, special_tokens=())).text
    if behind is None:
        raise UnreadableError("unclosed thought")
    return behind


def verdict_in(
    reply: Reply, form: Form, default: str, schema: dict[str, Any], read: Callable[[str], Value], opened: bool = False
) -> tuple[Value, str]:
    """The verdict in a written text, and the text without its reasoning. read: reads the verdict from its words; it
    raises UnreadableError for anything that is not a verdict, and so does this function.
    """
    text = after_thought(said(reply), opened).strip()
    name = form.called(default)
    if form.kind == "json":
        found = read_object(replace(reply, text=text), _schema(name, schema))
        value = found[name]
        return read(value if isinstance(value, str) else json.dumps(value)), str(found.get("critique", ""))
    given = _lines(text, name) if form.kind == "line" else _last(text, _marks(text, form.kind, name))
    if not given:
        raise UnreadableError("no verdict at the end" if text else "empty")
    values = [read(given[0].strip(_AROUND))]
    for one in given[1:]:
        try:
            values.append(read(one.strip(_AROUND)))
        except UnreadableError:
            break  # a part of the critique that looks like a verdict
    if any(one != values[0] for one in values):
        raise UnreadableError("two verdicts")
    return values[0], text


def on_scale(scale: Scale) -> Callable[[str], float]:
    """Returns a reader of numbers on a scale, such as `8` or `8/10`."""

    def read(text: str) -> float:
        number, slash, of = (part.strip() for part in text.partition("/"))
        if not _NUMBER.fullmatch(number) or (slash and (not _NUMBER.fullmatch(of) or float(of) != scale.high)):
            raise UnreadableError("no number")
        value = float(number)
        if not scale.low <= value <= scale.high or (scale.integer and not value.is_integer()):
            raise UnreadableError(f"no number {scale.ends}")
        return value

    return read


def one_of(accept: Sequence[str], reject: Sequence[str]) -> Callable[[str], bool]:
    """Returns a reader of accepting and rejecting words, in any case."""
    yes, no = ({_bare(word) for word in group} for group in (accept, reject))

    def read(text: str) -> bool:
        word = _bare(text)
        if word not in yes and word not in no:
            raise UnreadableError("another word")
        return word in yes

    return read


def _bare(text: str) -> str:
    return text.strip(_AROUND + "'\".").casefold()


def _schema(name: str, value: dict[str, Any]) -> dict[str, Any]:
    return {"type": "object", "properties": {"critique": {"type": "string"}, name: value}, "required": [name]}


def _lines(text: str, name: str) -> list[str]:
    """Returns the verdicts in the last lines of this form, the last one first, up to a line of another form."""
    # No quotation mark may come before it.
    form = re.compile(rf"[ \t*_#]*{re.escape(name)}[ \t*_]*[:=][ \t*_]*([^\n]*?)[ \t*_.]*", re.IGNORECASE)
    found: list[str] = []
    for line in reversed(text.split("\n")):
        if not line.strip():
            continue
        match = form.fullmatch(line.strip()) if len(line) <= 1000 else None
        if match is None:
            break
        found.append(match.group(1))
    return found


def _marks(text: str, kind: str, name: str) -> list[tuple[int, int, str]]:
    """Boxes or tags: start, end, content."""
    if kind == "boxed":
        return boxes(text)
    found: list[tuple[int, int, str]] = []
    opening, closing = f"<{name}>", f"</{name}>"
    start = text.find(opening)
    while start >= 0:
        end = text.find(closing, start)
        if end < 0:
            break
        found.append((start, end + len(closing), text[start + len(opening) : end]))
        start = text.find(opening, end)
    return found


def _last(text: str, marks: Sequence[tuple[int, int, str]]) -> list[str]:
    """The contents of the marks at the end of the text: on its last line, or with only white space between them; the
    last one first.
    """
    found: list[str] = []
    until = len(text)
    for start, end, content in reversed(marks):
        between = text[end:until]
        if _ENDED.fullmatch(between) is None and (not found or "\n" in between):
            break
        found.append(content)
        until = start
    return found
