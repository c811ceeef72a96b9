"""Tokenises a statement as its engine does.

sqlglot tokenises all dialects nearly alike. Where an engine differs, text that sqlglot takes for a comment or a string
can run: in MySQL, `--` without a following space does not begin a comment, and PostgreSQL's comments nest. Forbidden
words are therefore found here, and comments are removed before anything else parses the statement.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal, NamedTuple

Kind = Literal["word", "quoted", "string", "number", "variable", "sign"]


class Unreadable(Exception):
    """The text is not exactly one statement.

    `reason`: no_answer, several_statements, statement_too_long, too_deep, bad_characters, executable_comment,
    syntax_error.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason
        self.message = message


class Token(NamedTuple):
    """A token and its position, from `start` to before `end`. `text` is as written; for quoted names and strings it is
    the content of the quotes. `lower` is the same in lower case.
    """

    kind: Kind
    text: str
    start: int
    end: int
    lower: str


_WORD = r"[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_$\x80-\U0010ffff]*"
# DuckDB treats all of Unicode's spaces as white space.
_WIDE = r"(?:[A-Za-z_]|[^\x00-\x7f\s])(?:[A-Za-z0-9_$]|[^\x00-\x7f\s])*"
_NUMBER = r"0[xX][0-9A-Fa-f_]+|(?:[0-9][0-9_]*(?:\.[0-9_]*)?|\.[0-9][0-9_]*)(?:[eE][+-]?[0-9]+)?"
# A doubled quote stands for a quote; the lookahead keeps half of one from closing an unterminated string. Nothing here
# repeats a group possessively: before Python 3.11.5 such a group may miss its end (CPython gh-106052).
_PLAIN = r"'[^']*+(?:''[^']*+)*'(?!')"
_ESCAPED = r"'[^'\\]*+(?:(?:\\.|'')[^'\\]*+)*'(?!')"
_DOUBLE = r'"[^"\\]*+(?:(?:\\.|"")[^"\\]*+)*"(?!")'
_NAME = r'"[^"]*+(?:""[^"]*+)*"(?!")'
_TICKED = r"`[^`]*+(?:``[^`]*+)*`(?!`)"
_DOLLARS = r"\$(?P<tag>(?:[A-Za-z_\x80-\U0010ffff][A-Za-z0-9_\x80-\U0010ffff]*)?)\$.*?\$(?P=tag)\$"
_LINE = r"--[^\n\r]*+"
_BLOCK = r"/\*[^*]*+\*++(?:[^/*][^*]*+\*++)*/"
_SIGN = r"::|->>|->|:=|."

# In PostgreSQL, the escapes of an E string also apply to its continuations on further lines.
_CONTINUED = rf"[eE]{_ESCAPED}(?:\s*+(?:{_LINE}\s*+)*{_ESCAPED})*"

_PATTERNS: dict[str, dict[str, str]] = {
    "sqlite": {
        "space": r"[ \t\n\f\r\ufeff]++",
        "comment": rf"--[^\n]*+|{_BLOCK}|/\*.*",
        "string": rf"[xX]?{_PLAIN}",
        "quoted": rf"{_NAME}|{_TICKED}|\[[^\]]*+\]",
        "variable": r"\?[0-9]*|[:@#$][A-Za-z0-9_$\x80-\U0010ffff]+",
        "number": _NUMBER,
        "word": _WORD,
    },
    "duckdb": {
        "space": r"\s++",
        "comment": _LINE,
        "nested": r"/\*",
        "string": rf"[eE]{_ESCAPED}|[xXbB]?{_PLAIN}|{_DOLLARS}",
        "quoted": rf"{_NAME}|{_TICKED}",
        "variable": r"\?|\$[A-Za-z0-9_]+",
        "number": _NUMBER,
        "word": _WIDE,
    },
    "postgres": {
        "space": r"[ \t\n\r\f\v]++",
        "comment": _LINE,
        "nested": r"/\*",
        "string": rf"{_CONTINUED}|[xXbBnN]?{_PLAIN}|[uU]&{_PLAIN}|{_DOLLARS}",
        "quoted": rf"(?:[uU]&)?{_NAME}",
        "variable": r"\$[0-9]+",
        "number": _NUMBER,
        "word": _WORD,
    },
    "mysql": {
        "space": r"[ \t\n\r\f\v]++",
        "comment": rf"--(?:(?=[\x00-\x20])[^\n]*+|$)|\#[^\n]*+|{_BLOCK}",
        "string": rf"[xXbBnN]?{_ESCAPED}|{_DOUBLE}",
        "quoted": _TICKED,
        "variable": rf"\?|@@?(?:[A-Za-z0-9_.$\x80-\U0010ffff]+|{_TICKED}|{_ESCAPED}|{_DOUBLE})",
        "number": rf"(?:{_NUMBER})(?![A-Za-z0-9_$\x80-\U0010ffff])",
        "word": r"[A-Za-z0-9_$\x80-\U0010ffff]+",
    },
}
_AS_THEY_ARE = frozenset(("word", "sign", "number"))
_QUOTES = {'"': '"', "`": "`", "[": "]"}
_NOT_BREAK = re.compile(r"[^\n]")
_NESTED = re.compile(r"/\*|\*/")


@lru_cache(maxsize=4)
def _pattern(dialect: str) -> re.Pattern[str]:
    parts = [f"(?P<{kind}>{pattern})" for kind, pattern in _PATTERNS[dialect].items()]
    quotes = "'\"" if dialect == "postgres" else "'\"`"
    return re.compile("|".join([*parts, rf"(?P<unclosed>[{quotes}]|/\*)", rf"(?P<sign>{_SIGN})"]), re.DOTALL)


def cut(text: str, dialect: str) -> tuple[str, list[Token]]:
    """Returns the text with comments blanked out, and its tokens. Takes linear time.

    Raises Unreadable for an unterminated string, quoted name or comment, and for a comment that MySQL executes.
    """
    pattern = _pattern(dialect)
    tokens: list[Token] = []
    clean: list[str] = []
    done = 0  # how far `clean` reaches: unchanged text is copied in one piece
    place: int | None = 0
    while place is not None:
        from_, place = place, None
        for match in pattern.finditer(text, from_):  # no gaps: any character matches as a sign
            kind = match.lastgroup
            if kind in _AS_THEY_ARE:
                word = match.group()
                tokens.append(Token(kind, word, match.start(), match.end(), word.lower()))  # type: ignore[arg-type]
                continue
            start, end = match.span()
            if kind == "space":
                if match.group().isascii():
                    continue
            elif kind == "unclosed":
                raise Unreadable("syntax_error", f"{match.group()} is never closed")
            elif kind == "nested":
                place = end_of_comment(text, start)
                if place is None:
                    raise Unreadable("syntax_error", "/* is never closed")
                end = place
            elif kind == "comment":
                if dialect == "mysql" and re.match(r"/\*M?!", match.group()):
                    raise Unreadable("executable_comment", "comments that run, /*! … */, are not permitted")
            else:
                tokens.append(_token("string" if kind == "tag" else str(kind), match.group(), start))
                continue
            clean += (text[done:start], _NOT_BREAK.sub(" ", text[start:end]))
            done = end
            if place is not None:
                break
    return "".join((*clean, text[done:])), tokens


def _token(kind: str, text: str, start: int) -> Token:
    end = start + len(text)
    if kind == "quoted" and text[0] in _QUOTES:
        mark = _QUOTES[text[0]]
        kind, text = "quoted", text[1:-1].replace(mark * 2, mark)
    elif kind == "string" and text[0] in "'\"":
        text = text[1:-1]
    return Token(kind, text, start, end, text.lower())  # type: ignore[arg-type]


def end_of_comment(text: str, start: int) -> int | None:
    """Returns the end of a comment that can contain others; None if it is never closed."""
    depth = 0
    for mark in _NESTED.finditer(text, start):
        depth += 1 if mark.group() == "/*" else -1
        if depth == 0:
            return mark.end()
    return None
