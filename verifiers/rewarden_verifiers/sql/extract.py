"""Finds the statement in a response, by the rules of `code`, after normalising the ways in which models misuse SQL
fences."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from rewarden_verifiers.execution.candidate import Candidate, Missing, Rule, Unclosed, find, rules_of

LABELS = frozenset(
    {"sql", "sqlite", "sqlite3", "duckdb", "postgres", "postgresql", "psql", "pgsql", "mysql", "mariadb", "query"}
)
"""Fence labels for SQL."""

_WITHIN = re.compile(
    rf"```({'|'.join(sorted(LABELS, key=len, reverse=True))})[ \t]+((?:[^`\n]|`{{1,2}}(?!`))+)```(?!`)", re.IGNORECASE
)
_ONE_LINE = re.compile(rf"```({'|'.join(sorted(LABELS, key=len, reverse=True))})[ \t]+(?=\S)", re.IGNORECASE)
_CLOSING = re.compile(r"(?<=[^\s`])[ \t]{0,8}```(?=[ \t]{0,8}(?:</[A-Za-z_]{1,32}>[ \t]{0,8})?(?:\n|$))")
_BEHIND = re.compile(r"^```(?=[ \t]{0,8}</[A-Za-z_]{1,32}>)", re.MULTILINE)


_TAGGED = re.compile(r"\s*<sql>(.*)</sql>\s*", re.DOTALL)
_NAMED = re.compile(
    r"^[ \t>#*_-]{0,8}(?:final[ ])?SQL(?:[ ](?:query|statement))?[ \t*_]{0,4}:[ \t*_]{0,4}\n?"
    r"[ \t]{0,8}(?=(?:SELECT|WITH|VALUES|INSERT|UPDATE|DELETE|REPLACE|MERGE|FROM)\b|\()",
    re.IGNORECASE | re.MULTILINE,
)
_BLANK_LINE = re.compile(r"\n[ \t]*\n")
(_ANSWER_TAG, _SQL_TAG, _LAST_BLOCK, _WHOLE) = rules_of(("answer_tag", {"tag": "sql"}, "last_block", "whole"))


def _closing_tag(text: str, labels: frozenset[str], unclosed: Unclosed) -> Candidate | Missing | None:
    """Finds the statement in a tag that no fence follows: agents that explore in tags write their answer in a fence
    afterwards.
    """
    return _SQL_TAG(text, labels, unclosed) if text.rfind("</sql>") > text.rfind("```") else None


def _named(text: str, labels: frozenset[str], unclosed: Unclosed) -> Candidate | None:
    """Finds the statement after the last "SQL:" at the beginning of a line, up to a blank line."""
    starts = [match.end() for match in _NAMED.finditer(text)]
    if not starts:
        return None
    end = _BLANK_LINE.search(text, starts[-1])
    return Candidate(text[starts[-1] : len(text) if end is None else end.start()], "sql_label")


_PRESETS: Mapping[str, tuple[Rule, ...]] = {
    "strict": (_LAST_BLOCK,),
    "lax": (_ANSWER_TAG, _closing_tag, _LAST_BLOCK, _SQL_TAG, _named, _WHOLE),
}
"""Tags take precedence: fences before them were drafts."""

_BEGUN = re.compile(r"\b(SELECT|WITH)\s*$", re.IGNORECASE)


def continued(prefix: str, response: str) -> str:
    """Joins a response to the end of the prompt. Decoding may have dropped the blank between them, and some models
    repeat the prompt's last word.
    """
    begun = _BEGUN.search(prefix)
    if begun is None:
        return prefix + response
    if re.match(rf"\s*{begun[1]}\b", response, re.IGNORECASE):
        return prefix[: begun.start()] + response
    blank = "" if prefix[-1].isspace() or response[:1].isspace() else " "
    return prefix + blank + response


def sql_rules(extraction: str | Sequence[str | dict[str, str]]) -> tuple[Rule, ...]:
    """Returns the rules of a preset or a list. Raises InvalidParams."""
    return _PRESETS.get(extraction) or rules_of(extraction) if isinstance(extraction, str) else rules_of(extraction)


def find_statement(response: str, rules: Sequence[Rule]) -> Candidate | Missing:
    """Returns the statement in a response, found by the first rule that matches, or the reason why there is none.

    "```sql SELECT 1```" and a closing fence after the statement or before a closing tag are not fences in CommonMark,
    but common extractors (```sql(.*?)```) accept them, and so models write them.
    """
    if "```" in response:
        response = _WITHIN.sub(r"\n```\1\n\2\n```\n", response)
        response = _ONE_LINE.sub(r"```\1\n", response)
        response = _CLOSING.sub("\n```\n", response)
        response = _BEHIND.sub("```\n", response)
    found = find(response, rules, LABELS, "refuse")
    if not isinstance(found, Candidate):
        return found
    tagged = _TAGGED.fullmatch(found.code)
    return found if tagged is None else replace(found, code=tagged[1])
