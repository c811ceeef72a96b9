"""Parses written answers: JSON in fences and in prose, markup around words, and statements that nothing is there."""

from __future__ import annotations

import json
import re
from typing import Any

MAX_DEPTH = 24
"""The maximum depth of brackets in a value that is parsed: no list of boxes is that deep."""

_FENCE = re.compile(r"```[ \t]{0,4}[\w+-]{0,16}[ \t]{0,4}\n?")
_TOKEN = re.compile(r'["\[\]{}\n]|\\.')
_TRAILING_COMMA = re.compile(r",(\s{0,200}[\]}])")
_WORDS = re.compile(r"\b(?:None|True|False)\b")
_AS_JSON = {"None": "null", "True": "true", "False": "false"}

_TEXT_COMMAND = re.compile(r"\\(?:text|textbf|mathrm|mathbf|operatorname)\s?\{([^{}]{0,200})\}")
# Between two digits, a mark is an operator and not markup: "3*4" must not become 34.
_MARK = re.compile(r"\\(?:left|right|big[lr]?)(?![A-Za-z])|(?<!\d)[*`$]|[*`$](?!\d)")
_SPACE = re.compile(r"\\[,;:! ]|\\quad(?![A-Za-z])")
_ARROW = re.compile(r"\\(?:to|rightarrow)(?![A-Za-z])")
_INDEX = re.compile(r"\b([xy])_\{?(\d|min|max)\}?")
_SIGNS = str.maketrans("（），：；‑‒−", "(),:;---")

_LONGEST_DENIAL = 400
_UNSURE = re.compile(
    r"\b(?:don't|do not|didn't|did not|doesn't|does not|cannot|can't|can not|couldn't|could not|unable to|not)"
    r" (?:\w+ly )?(?:know|sure|tell|say|determine|answer|certain|clear|view|access"
    r"|(?:see|find|open|watch) (?:the|this|any|your) (?:image|video|picture|photo|screenshot|clip|answer)s?)\b"
    r"|\b(?:unsure|uncertain|maybe|perhaps|possibly|i(?:'ve| have)? never|never mind)\b"
    r"|不知道|不确定|不清楚|无法|看不",
    re.IGNORECASE,
)
_BARE = re.compile(
    r"\W{0,9}(?:(?:the )?(?:final )?answer(?: is)?\W{1,4})?"
    r"(?:no|none|null|nothing|never|empty|n/a|nowhere|absent|not (?:present|found|visible|there|applicable)"
    r"|无|没有|从未)\W{0,9}",
    re.IGNORECASE,
)
_NO = (
    r"(?:no|zero)(?! (?:doubt|need|way|question|problem|reason|chance|idea|clue|answer|comment|explanation|worries)\b)"
)
_NOT = (
    r"(?<!who )(?<!which )(?<!that )\b(?:(?:is|are|was|were|do|does|did|has|have|had|will|can|could)(?:n't| not| never)"
    r"|cannot|can't)"
)
# A negation counts only next to a verb of being or happening: "not far from the door" denies nothing.
_DENIAL = re.compile(
    rf"\bthere(?:'s| is| are| was| were) (?:{_NO} |none\b|nothing\b|not (?:a|an|any|one|such)\b)"
    r"|\bthere (?:is|are|was|were)n't (?:a|an|any|one|such)\b"
    rf"|\b{_NO} (?:\w{{1,30}} ){{1,4}}(?:is|are|was|were|can be|could be|occurs?|occurred|happens?|happened|exists?"
    r"|appears?|found|visible|present|detected|here)\b"
    rf"|\A\W{{0,9}}{_NO} [\w' -]{{1,60}}[.!]?\s{{0,4}}\Z"
    rf"|{_NOT} (?!(?:fully|completely|entirely|quite|very|clearly|only|just|yet|far)\b)(?:\w{{1,30}} ){{0,2}}"
    r"(?:any|anything|anyone|occur|occurred|happen|happened|exist|appear|present|visible|found|contain|include|shown?"
    r"|seen|take place|taken place|depicted|pictured|detected|displayed|observed"
    r"|(?:see|find|spot|detect) (?:an?|the|such))\b"
    rf"|{_NOT} (?:ever )?(?:open|opened|performed|in (?:the|this))\b"
    rf"|{_NOT} [^.,;:!?\n]{{1,60}}(?: at any (?:time|point|moment)| anywhere)\b"
    r"|(?<!who )(?<!which )(?<!that )\bnever\b"
    r"|\A\W{0,9}(?:none|nothing|nowhere)\b|\bnothing (?:is|was|like|of|here|there|happens|happened|matches|visible)\b"
    r"|\b(?:see|find|found|contains?|shows?) nothing\b|\b(?:is|are|was|were) (?:absent|nowhere)\b"
    r"|\b(?:list|answer|result|set|output) (?:is|remains) empty\b|\bempty (?:list|set)\b"
    r"|没有(?!问题|关系)|没(?:出现|发生)|从未|从不|不存在|并未|未(?:出现|发生|找到|见|打开|检测)|找不到",
    re.IGNORECASE,
)


def fenced(text: str) -> list[str]:
    """The contents of the fenced blocks, in order. An unclosed block extends to the end of the text."""
    if "```" not in text:
        return []
    marks = list(_FENCE.finditer(text))
    found = []
    for place in range(0, len(marks), 2):
        end = marks[place + 1].start() if place + 1 < len(marks) else len(text)
        found.append(text[marks[place].end() : end])
    return found


def values_in(text: str) -> list[Any]:
    """Every outermost list or object in JSON or Python syntax."""
    return [value for _, value in placed_values(text)]


def placed_values(text: str) -> list[tuple[int, Any]]:
    """The values of `values_in` with their start positions. Makes one pass, and parses each part at most twice."""
    if "[" not in text and "{" not in text:
        return []
    return [(start, value) for start, end in _spans(text) if (value := _parsed(text[start:end])) is not None]


def says_nothing(value: Any) -> bool:
    """Returns whether a JSON value says that nothing is there: `[]`, `{}`, `[[]]`, `[null, null]`, `{"boxes": []}`.

    An empty list counts even next to other fields; null counts only if all fields are null.
    """
    if not isinstance(value, (list, dict)):
        return False
    if hollow(value):
        return True
    if isinstance(value, list):
        return all(says_nothing(item) for item in value)
    return any(isinstance(item, (list, dict)) and says_nothing(item) for item in value.values()) and not any(
        isinstance(item, str) and _UNSURE.search(item[:_LONGEST_DENIAL]) for item in value.values()
    )


def hollow(value: Any) -> bool:
    """Returns whether a JSON value contains nothing but null at any depth."""
    if isinstance(value, dict):
        return all(hollow(item) for item in value.values())
    if isinstance(value, list):
        return all(hollow(item) for item in value)
    return value is None


def unmarked(text: str) -> str:
    """Removes Markdown and LaTeX markup from a text, and replaces full-width and rare variants of characters."""
    text = _MARK.sub("", _TEXT_COMMAND.sub(r"\1", text))
    text = _ARROW.sub(" to ", _SPACE.sub(" ", text)).translate(_SIGNS)
    return _INDEX.sub(r"\1\2", text)


def denies(text: str) -> bool:
    """Returns whether a short answer says in words that nothing is there, or that it never happens.

    Not knowing is not a denial, nor is the negation of something else. Takes time linear in the text.
    """
    if not 0 < len(text) <= _LONGEST_DENIAL:
        return False
    plain = " ".join(unmarked(text.replace("’", "'")).split())
    if _UNSURE.search(plain):
        return False
    return _BARE.fullmatch(plain) is not None or _DENIAL.search(plain) is not None


def _spans(text: str) -> list[tuple[int, int]]:
    """The start and end of each outermost pair of balanced brackets."""
    found: list[tuple[int, int]] = []
    opened: list[str] = []
    start = deepest = 0
    quoted = False
    for match in _TOKEN.finditer(text):
        token = match.group()
        if quoted:
            quoted = token not in '"\n'  # JSON strings do not span lines, so a stray quote spoils only its own line
        elif token == '"':
            quoted = bool(opened)
        elif token in "[{":
            if not opened:
                start, deepest = match.start(), 0
            opened.append(token)
            deepest = max(deepest, len(opened))
        elif token in "]}":
            if not opened or (opened[-1] == "[") != (token == "]"):
                opened.clear()
                continue
            opened.pop()
            if not opened and deepest <= MAX_DEPTH:
                found.append((start, match.end()))
    return found


def _parsed(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        pass
    plain = _TRAILING_COMMA.sub(r"\1", text.replace("'", '"').replace("(", "[").replace(")", "]"))
    try:
        return json.loads(_WORDS.sub(lambda match: _AS_JSON[match.group()], plain))
    except ValueError:
        return None
