"""Finds the functions that code declares by their heads: `def add(`, `int add(`, `add <- function(`.

A prompt's last function is unfinished, so the language's own parser cannot read it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

TEXT = r'"(?:[^"\\\n]|\\.)*"' + r"|'(?:[^'\\\n]|\\.)*'"
SLASHES = r"//[^\n]*|/\*(?:.*?\*/|.*\Z)"
HASH = r"(?:(?<=\s)|^|\A)#[^\n]*"
"""Patterns of comments and string literals, which may quote heads."""

_NO_NAMES = frozenset({"if", "for", "while", "switch", "catch", "decltype", "synchronized", "try"})
_OF_A_TYPE = re.compile(r"\b(?:class|struct|union|enum|namespace|interface|record)\b")
_LAST_NAME = re.compile(r"([A-Za-z_]\w*)\s*\Z")


@dataclass(frozen=True, slots=True)
class Heads:
    """The heads of functions in a language. In `head` and `also`, NAME stands for the name.

    ignored: the pattern of comments and string literals. head: the pattern of a function's head. also: the pattern of
    other definitions of a name, such as a variable. name: the pattern of a name. more: characters that names can
    contain besides word characters.
    """

    ignored: str
    head: str
    also: str | None = None
    name: str = r"[A-Za-z_]\w*"
    more: str = ""

    def functions(self, prompt: str) -> list[str]:
        """Returns the names of the functions that a prompt declares, in order.

        Not for hostile text: the time is not linear.
        """
        bare = blanked(prompt, self.ignored)
        found = re.finditer(rf"^[ \t]*(?:{self.head.replace('NAME', f'({self.name})')})", bare, re.MULTILINE)
        return [next(filter(None, match.groups())) for match in found]

    def defines(self, code: str, *names: str) -> bool:
        """Returns whether a program defines a function of one of these names, at its outermost level."""
        heads = self.head if self.also is None else f"{self.head}|{self.also}"
        word = rf"(?:{'|'.join(map(re.escape, names))})(?![\w{self.more}])"
        return re.search(rf"^(?:{heads.replace('NAME', word)})", code, re.MULTILINE) is not None


PYTHON = Heads(
    ignored=r'"""(?:.*?"""|.*\Z)|' + r"'''(?:.*?'''|.*\Z)|" + f"{HASH}|{TEXT}",
    head=r"(?:async[ \t]+)?def[ \t]+NAME",
    also=r"class[ \t]+NAME",
)


def blanked(code: str, ignored: str) -> str:
    """Returns code with each comment replaced by a blank, and each string literal by an empty one."""
    return re.sub(ignored, _blank, code, flags=re.DOTALL | re.MULTILINE)


def _blank(match: re.Match[str]) -> str:
    return '""' if match[0][0] in "\"'" else " "


def before_braces(prompt: str) -> Iterator[str]:
    """Yields the names of functions in a language without a keyword for functions: names before a parameter list that
    is followed by an opening brace or the end of the code.
    """
    bare = blanked(prompt, f"{SLASHES}|{TEXT}")
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
