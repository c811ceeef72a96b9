"""Documents in a search tool's results: JSON, tags, numbered passages."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rewarden_verifiers.words import visible

_ID_KEYS = ("id", "doc_id", "docid", "document_id", "passage_id", "pid", "_id", "url", "link", "source")
_TITLE_KEYS = ("title", "name", "heading")
_TEXT_KEYS = ("text", "contents", "content", "body", "passage", "snippet", "summary", "description")
_DEPTH = 8
_ADDRESS = re.compile(r"^https?://(?:www\.)?")

_TAG = re.compile(
    r"<(?P<name>doc|document|passage|snippet|result|webpage|source)\b(?P<attributes>[^<>\n]{0,1000})>", re.IGNORECASE
)
_ATTRIBUTE = re.compile(r"([\w-]{1,40})\s?=\s?(?:\"([^\"]{0,500})\"|'([^']{0,500})'|([^\s\"'<>]{1,500}))")
# "Doc 1(Title: "Ulm") …", "Document [2] (Title: Ulm): …", "[3] Title: Ulm", "[d3] Ulm …"
_HEAD = re.compile(
    r"^[ \t]{0,8}(?:<[\w|-]{1,60}>[ \t]{0,3})?(?:\*\*)?"
    r"(?:(?:doc(?:ument)?|passage|result|page)[ \t]{0,3}(?:\[?\d{1,5}\]?)"
    r"|\[(?P<id>[^\[\]\n]{1,200})\]|(?=title:))[.:]?(?:\*\*)?[ \t]{0,3}"
    r"(?:\([ \t]{0,3}title:[ \t]{0,3}(?P<inner>[^\n]{1,300}?)\)|title:[ \t]{0,3}(?P<title>[^\n]{1,300}))?",
    re.IGNORECASE | re.MULTILINE,
)
_WRAPPER = re.compile(r"<[\w|-]{1,60}>\s{0,20}")
_CLOSED = re.compile(r"\s{0,20}</?[\w|-]{1,60}>$")
_LABEL = re.compile(
    r"^[ \t]{0,8}(?:doc[ _]?id|document[ _]id|passage[ _]id|id|url|link|source):[ \t]{0,3}(\S{1,500})[ \t]{0,8}$",
    re.IGNORECASE | re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Document:
    """A document that was returned. ids: as `plain_id` has them. title: empty if it has none. text: with its title."""

    ids: tuple[str, ...]
    title: str
    text: str

    @property
    def loose(self) -> bool:
        """True if nothing but its text says that it is a document."""
        return not (self.ids or self.title)


def plain_id(value: object) -> str:
    """An id as it is compared: an address without scheme, `www.`, fragment and closing slash."""
    text = visible(str(value))
    return _ADDRESS.sub("", text).partition("#")[0].rstrip("/") if _ADDRESS.match(text) else text


def documents(result: str) -> list[Document]:
    """The documents of a result; one without a name where it has no form that is known. Linear.

    A number in brackets, or after "Doc", is a rank and no id.
    """
    text = result.strip()
    if (around := _WRAPPER.match(text)) is not None and not _TAG.match(text):
        text = text[around.end() :]
    if text[:1] in ("{", "["):
        try:
            found = list(_of_json(json.loads(_CLOSED.sub("", text)), 0))
        except (ValueError, RecursionError):
            found = []
        if found:
            return found
    return _tagged(text) or _headed(text)


def _of_json(value: Any, depth: int) -> Iterator[Document]:
    if depth > _DEPTH:
        return
    if isinstance(value, list):
        for item in value:
            yield from _of_json(item, depth + 1)
    elif isinstance(value, Mapping):
        texts = [value[key] for key in _TEXT_KEYS if isinstance(value.get(key), str)]
        ids = [value[key] for key in _ID_KEYS if isinstance(value.get(key), (str, int)) and value[key] is not True]
        title = next((value[key] for key in _TITLE_KEYS if isinstance(value.get(key), str)), "")
        if texts or (ids and title):
            yield Document(tuple(map(plain_id, ids)), title, "\n".join([title, *texts]).strip())
        else:
            for item in value.values():
                yield from _of_json(item, depth + 1)


def _tagged(text: str) -> list[Document]:
    opened = list(_TAG.finditer(text))
    found: list[Document] = []
    for place, tag in enumerate(opened):
        end = opened[place + 1].start() if place + 1 < len(opened) else len(text)
        closing = text.find(f"</{tag['name']}>", tag.end(), end)
        given = {one.lower(): two or three or four for one, two, three, four in _ATTRIBUTE.findall(tag["attributes"])}
        ids = [given[key] for key in _ID_KEYS if given.get(key)]
        found.append(_document(text[tag.end() : end if closing < 0 else closing], ids, given.get("title", "")))
    return found


def _headed(text: str) -> list[Document]:
    heads = list(_HEAD.finditer(text))
    before = text[: heads[0].start()] if heads else text
    found = [_document(before, [], "")] if before.strip() else []
    for place, head in enumerate(heads):
        end = heads[place + 1].start() if place + 1 < len(heads) else len(text)
        title = (head["inner"] or head["title"] or "").strip(" \t\"'“”*")
        # A number is a rank: as an id it would be found by whoever finds anything.
        ids = [head["id"]] if head["id"] and not head["id"].strip().isdigit() else []
        found.append(_document(text[head.end() : end], ids, title))
    return found


def _document(body: str, ids: list[str], title: str) -> Document:
    """A document, with the ids and the title that lines of its own name."""
    ids = [*ids, *_LABEL.findall(body)]
    if not title and (head := _HEAD.search(body)) is not None:
        title = (head["inner"] or head["title"] or "").strip(" \t\"'“”*")
    return Document(tuple(map(plain_id, ids)), title, f"{title}\n{body}".strip())
