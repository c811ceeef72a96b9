"""The statement in a response. The rules are those of `code`; what models do with SQL's fences is put right first."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rewarden_verifiers.execution.candidate import Candidate, Missing, Rule, find, rules_of

PRESETS = {"strict": ("last_block",), "lax": ("answer_tag", "last_block", "whole")}
"""A tag comes first: what stands in fences before it was a draft."""

LABELS = frozenset(
    {"sql", "sqlite", "sqlite3", "duckdb", "postgres", "postgresql", "psql", "pgsql", "mysql", "mariadb", "query"}
)
"""Labels that fences give to SQL."""

_WITHIN = re.compile(
    rf"```({'|'.join(sorted(LABELS, key=len, reverse=True))})[ \t]+((?:[^`\n]|`{{1,2}}(?!`))+)```(?!`)", re.IGNORECASE
)
_ONE_LINE = re.compile(rf"```({'|'.join(sorted(LABELS, key=len, reverse=True))})[ \t]+(?=\S)", re.IGNORECASE)
_CLOSING = re.compile(r"(?<=[^\s`])[ \t]{0,8}```(?=[ \t]{0,8}(?:</[A-Za-z_]{1,32}>[ \t]{0,8})?(?:\n|$))")
_BEHIND = re.compile(r"^```(?=[ \t]{0,8}</[A-Za-z_]{1,32}>)", re.MULTILINE)


_BEGUN = re.compile(r"\b(SELECT|WITH)\s*$", re.IGNORECASE)


def continued(prefix: str, response: str) -> str:
    """The response behind what the prompt ended with. Decoding may have taken the blank between the two, and some
    models say the prompt's last word again."""
    begun = _BEGUN.search(prefix)
    if begun is None:
        return prefix + response
    if re.match(rf"\s*{begun[1]}\b", response, re.IGNORECASE):
        return prefix[: begun.start()] + response
    blank = "" if prefix[-1].isspace() or response[:1].isspace() else " "
    return prefix + blank + response


def sql_rules(extraction: str | Sequence[str | dict[str, str]]) -> tuple[Rule, ...]:
    """The rules of a preset or of a list. Raises InvalidParams."""
    return rules_of(PRESETS.get(extraction, extraction) if isinstance(extraction, str) else extraction)


def find_statement(response: str, rules: Sequence[Rule]) -> Candidate | Missing:
    """The statement of a response, by the first rule that finds one; else why there is none.

    "```sql SELECT 1```" and a closing fence behind the statement or before a closing tag are no fences to CommonMark,
    but extractors in use (```sql(.*?)```) read them, and so models write them.
    """
    if "```" in response:
        response = _WITHIN.sub(r"\n```\1\n\2\n```\n", response)
        response = _ONE_LINE.sub(r"```\1\n", response)
        response = _CLOSING.sub("\n```\n", response)
        response = _BEHIND.sub("```\n", response)
    return find(response, rules, LABELS, "refuse")
