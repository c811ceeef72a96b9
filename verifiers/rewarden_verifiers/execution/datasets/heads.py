"""The functions that a prompt's code declares, found by their heads: `def add(`, `int add(`, `add <- function(`.

A prompt's last function has no end, so no parser of the language reads it. Comments and texts are blanked first,
because they quote heads.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

_TEXT = r'"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'"
_SLASHES = r"//[^\n]*|/\*(?:.*?\*/|.*\Z)"
_HASH = r"(?:(?<=\s)|^|\A)#[^\n]*"
_BLANKED: Mapping[str, str] = {
    **dict.fromkeys(("cpp", "java", "javascript", "typescript", "go"), f"{_SLASHES}|{_TEXT}"),
    "rust": rf"{_SLASHES}|" + r'"(?:[^"\\]|\\.)*"',  # a single quote also begins a lifetime
    "php": f"{_SLASHES}|{_HASH}|{_TEXT}",
    "python": r'"""(?:.*?"""|.*\Z)|' + r"'''(?:.*?'''|.*\Z)|" + f"{_HASH}|{_TEXT}",
    "ruby": rf"^=begin\b.*?^=end\b|{_HASH}|{_TEXT}",
    "lua": rf"--\[\[.*?\]\]|--[^\n]*|{_TEXT}",
    **dict.fromkeys(("perl", "r", "bash"), f"{_HASH}|{_TEXT}"),
}
"""Patterns of comments and texts, by language."""

_NAME = r"(?P<name>[A-Za-z_]\w*)"
_SCRIPT_NAME = r"(?P<{}>[A-Za-z_$][\w$]*)"
_SCRIPT = (
    r"(?:export[ \t]+)?(?:default[ \t]+)?(?:(?:async[ \t]+)?function\b[\s*]*"
    + _SCRIPT_NAME.format("name")
    + r"|(?:const|let|var)[ \t]+"
    + _SCRIPT_NAME.format("variable")
    + r"[^=\n]*=[ \t]*(?:async\b[ \t]*)?(?:function\b|\(|[A-Za-z_$][\w$]*[ \t]*=>))"
)
_HEADS: Mapping[str, str] = {
    "python": rf"(?:async[ \t]+)?def[ \t]+{_NAME}",
    "javascript": _SCRIPT,
    "typescript": _SCRIPT,
    "go": rf"func\s+{_NAME}\s*[(\[]",
    "rust": rf"(?:pub(?:\([^)\n]*\))?\s+)?(?:(?:const|async|unsafe)\s+)*fn\s+{_NAME}",
    "ruby": r"def\s+(?:self\.)?(?P<name>[A-Za-z_]\w*[?!]?)",
    "php": rf"function\s+&?\s*{_NAME}\s*\(",
    "perl": rf"sub\s+{_NAME}",
    "lua": rf"(?:local\s+)?(?:function\s+{_NAME}\s*\(|(?P<variable>[A-Za-z_]\w*)\s*=\s*function\b)",
    "r": r"(?P<name>[A-Za-z.][\w.]*)\s*(?:<<?-|=)\s*function\b",
    "bash": r"(?:function\s+(?P<name>[A-Za-z_][\w-]*)|(?P<variable>[A-Za-z_][\w-]*)[ \t]*\([ \t]*\))",
}
"""A word of these languages begins a function's head. In C++ and Java none does: see `_before_braces`."""

_NO_NAMES = frozenset({"if", "for", "while", "switch", "catch", "decltype", "synchronized", "try"})
_OF_A_TYPE = re.compile(r"\b(?:class|struct|union|enum|namespace|interface|record)\b")
_LAST_NAME = re.compile(r"([A-Za-z_]\w*)\s*\Z")

LANGUAGES = frozenset(_BLANKED)
"""The languages whose prompts can be read."""


def functions_of(language: str, prompt: str) -> list[str]:
    """Returns the names of the functions that code declares, in order. language: one of `LANGUAGES`."""
    bare = re.sub(_BLANKED[language], _blank, prompt, flags=re.DOTALL | re.MULTILINE)
    if language in _HEADS:
        found = re.finditer(rf"^[ \t]*{_HEADS[language]}", bare, re.MULTILINE)
        return [next(filter(None, match.groupdict().values())) for match in found]
    return list(_before_braces(bare))


def _blank(match: re.Match[str]) -> str:
    return '""' if match[0][0] in "\"'" else " "


def _before_braces(bare: str) -> Iterator[str]:
    """Yields the names before parameter lists that an opening brace, or the end of the code, follows."""
    start = 0
    for sign in re.finditer(r"[;{}]|\Z", bare):
        head = bare[start : sign.start()]
        start = sign.end()
        if sign[0] not in ("{", ""):
            continue
        head, closing, after = head.rpartition(")")
        if not closing or _OF_A_TYPE.search(after):
            continue
        depth, place = 1, len(head)
        while depth and place:
            place -= 1
            depth += (head[place] == ")") - (head[place] == "(")
        name = _LAST_NAME.search(head[:place])
        if depth == 0 and name is not None and name[1] not in _NO_NAMES:
            yield name[1]
