"""Parses ranked lists: JSON, "[3] > [1] > [2]", a table, numbered or bulleted lines, commas."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden_verifiers.retrieval.tables import last_table

MOST_CHARACTERS = 200_000
"""Characters of a list; a longer one is too expensive."""
_LONGEST_ID = 500
_ID_KEYS = ("id", "doc_id", "docid", "document_id", "passage_id", "pid", "item_id", "item", "title", "name")
_LIST_KEYS = ("ranking", "ranked_list", "ranked", "results", "items", "ids", "documents", "recommendations", "answer")

_FENCE = re.compile(r"```[A-Za-z]{0,12}\n?|~~~[A-Za-z]{0,12}\n?")
_TEXT = re.compile(r"\\(?:text|textbf|texttt|mathrm|mathbf|mathtt)\s?\{([^{}]{0,500})\}")
_GREATER = re.compile(r"[ \t]{0,8}(?:\\(?:succ(?:eq)?|rightarrow|to|gt|geq?)(?![A-Za-z])|[≻⪰→⇒≥]|->|>=)[ \t]{0,8}")
"""Signs between an id and the next one in a chain."""
_CHAIN = re.compile(r"\[[^\[\]\n>]{1,500}\](?:\s{0,20}>\s{0,20}\[[^\[\]\n>]{1,500}\])+")
_BRACKETS = re.compile(r"\[([^\[\]\n,]{1,500})\]")
_ENTRY = re.compile(
    r"([ \t]{0,16})(?:\*\*|__)?(?:\(?(\d{1,5})[.):]|[-*•+#]|(\d{1,5})\s{0,2}[-–—])(?:\*\*|__)?[ \t]{1,16}(\S.*)"
)
_LEAD = re.compile(r"^[^\n:>\[\]]{0,80}:\s")
_SEPARATORS = re.compile(r"\s*[,;，；、]\s*")
_AROUND = " \t\r\n*_`\"'“”‘’"


def ranking(text: str) -> list[str] | None:
    """The ids in their order, repeated ones included; None if there is no list. Never raises; linear."""
    body = _FENCE.sub("", text).strip() if "`" in text or "~" in text else text.strip()
    body = _GREATER.sub(" > ", _TEXT.sub(r"\1", body))
    if not body:
        return None
    for reader in (_json, _chain, _table, _entries, _line):
        found = reader(body)
        if found is not None:
            ids = [one for one in map(clean, found) if one]
            return ids or None
    return None


def clean(item: str) -> str:
    """An id without brackets, quotes and emphasis around it."""
    plain = item.strip(_AROUND)
    inner = _BRACKETS.fullmatch(plain)
    return (inner.group(1) if inner is not None else plain).strip(_AROUND)[:_LONGEST_ID]


def _json(text: str) -> Sequence[str] | None:
    """A JSON list, alone or within an object, or the last one within the text."""
    candidates = [text] if text[0] in "[{" else []
    end = text.rfind("]")
    if end >= 0:
        candidates += [text[start : end + 1] for start in (text.find("["), text.rfind("[", 0, end)) if start >= 0]
    for candidate in candidates:
        try:
            value = json.loads(candidate)
        except (ValueError, RecursionError):
            continue
        found = _of_json(value)
        # "[2]" at the end of "[3], [2]" or of a chain is the last of several, and no list of one.
        if found is not None and (len(found) > 1 or text.count("[") == 1):
            return found
    return None


def _of_json(value: Any) -> list[str] | None:
    if isinstance(value, Mapping):
        inner = next((value[key] for key in _LIST_KEYS if isinstance(value.get(key), list)), None)
        return _of_json(inner) if inner is not None else None
    if not isinstance(value, list):
        return None
    ids: list[str] = []
    for item in value:
        if isinstance(item, Mapping):
            item = next((item[key] for key in _ID_KEYS if key in item), None)
        if isinstance(item, bool) or not isinstance(item, (str, int)):
            return None
        ids.append(str(item))
    return ids


def _chain(text: str) -> Sequence[str] | None:
    if ">" not in text:
        return None
    chains = _CHAIN.findall(text)
    if chains:
        return _BRACKETS.findall(chains[-1])
    lines = [line for line in text.split("\n") if " > " in line]
    if lines:
        return _LEAD.sub("", lines[-1]).split(" > ")
    return None


def _table(text: str) -> Sequence[str] | None:
    """The last table, unless a list follows that may be the answer: a numbered one, or any where no column ranks."""
    if "|" not in text:
        return None
    lines = text.split("\n")
    table = last_table(lines)
    if table is None:
        return None
    for line in lines[table.end :]:
        entry = _ENTRY.fullmatch(line.rstrip())
        if entry is not None and (entry[2] or entry[3] or not table.ranked):
            return None
    return table.ids


def _entries(text: str) -> Sequence[str] | None:
    """The last run of numbered or bulleted lines. Numbers that begin anew begin a run; indented lines continue one."""
    run: list[tuple[int, bool, str]] = []
    open_run, last, first_line = False, 0, False
    for place, line in enumerate(text.split("\n")):
        match = _ENTRY.fullmatch(line.rstrip())
        if match is None:
            open_run = open_run and (not line.strip() or line[0] in " \t")
            continue
        number = int(match.group(2) or match.group(3) or 0)
        if not open_run or (number and number <= last):
            run, first_line = [], place == 0
        open_run, last = True, number
        run.append((len(match.group(1).expandtabs()), number > 0, match.group(4)))
    if not run:
        return None
    deepest = run[0][0]
    if first_line:  # its indent was cut off with the blanks around the text: its like have it
        deepest = min((indent for indent, numbered, _ in run[1:] if numbered == run[0][1]), default=deepest)
    # What is indented below an entry remarks on it, and takes no rank.
    return [item for at, (indent, _, item) in enumerate(run) if at == 0 or indent <= deepest]


def _line(text: str) -> Sequence[str] | None:
    """Ids with commas between them on the last line, brackets in a row, or one id a line."""
    lines = [line for line in text.split("\n") if line.strip()]
    last = _LEAD.sub("", lines[-1])
    inner = _BRACKETS.findall(last)
    if len(inner) > 1:
        return inner
    if "," in last or "，" in last or ";" in last or "、" in last:
        return _SEPARATORS.split(last.rstrip(". \t").strip("[](){} \t").rstrip("."))
    if len(lines) == 1 and " | " in last:
        return last.strip("| \t").split(" | ")
    if len(lines) > 1 and all(len(line) <= _LONGEST_ID for line in lines):
        return [line for line in lines if not line.rstrip().endswith(":")]
    return [last] if len(last) <= _LONGEST_ID else None
