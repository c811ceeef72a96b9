"""Tokenises a response in Dafny, and finds constructs that are forbidden whatever Dafny's verifier reports.

The verifier trusts every assumption in the source. Each of these constructs lets a wrong program verify without errors
and with exit code 0.
"""

from __future__ import annotations

import re

_TOKEN = re.compile(
    r"""
    (?P<blank>\s+|//[^\r\n]*)
    |(?P<comment>/\*)
    |(?P<string>"(?:[^"\\\n]|\\.)*"|@"(?:[^"]|"")*")
    |(?P<char>'(?:[^'\\\n]|\\[^\n]|\\u[0-9a-fA-F]{4})'(?![A-Za-z0-9_'?]))
    |(?P<word>[A-Za-z_?][A-Za-z0-9_'?]*)
    |(?P<reading>~>)
    |(?P<open>\{)
    |(?P<close>\})
    |(?P<other>[\x21-\x7e])
    """,
    re.VERBOSE,
)
"""Attack: code after a lone carriage return in a comment, where Dafny begins a new line."""
_EDGE = re.compile(r"/\*|\*/")

WORDS = {
    "assume": "assume",  # is trusted without proof
    "include": "include",  # included files are not verified
    "trait": "trait",  # its lemmas need no bodies
    "iterator": "iterator",  # its specification is trusted if it has no body
    "abstract": "abstract",  # so is that of an abstract module
    "refines": "refines",
    "expect": "expect",
}
"""Words that a response must not contain."""

_HINTS = frozenset({"trigger", "induction", "opaque", "fuel", "autotriggers", "nowarn"})
_EFFORT = frozenset(
    {"timeLimit", "timeLimitMultiplier", "subsumption", "vcs_split_on_every_assert", "isolate_assertions"}
)
ATTRIBUTES = _HINTS | _EFFORT | {"tailrecursion"}
"""The attributes that a response may use: hints to the prover, limits on its time, divisions of the work, and hints to
the compiler. Others turn verification off (`verify`, `axiom`, `extern`), or restrict it.
"""


def refused(text: str) -> str | None:
    """Returns the first forbidden construct in a response, or None."""
    # Attack: `#if`, which removes lines before Dafny parses them, even in comments and strings.
    if re.search(r"(?:^|[\r\n])[ \t]*#", text):
        return "a line that begins with #"
    at, depth = 0, 0
    before = ""  # the last two tokens, without blanks and comments
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or (found.lastgroup == "other" and found[0] in "'\"#"):
            return f"a character that cannot be read: {text[at]!a}"
        at = found.end()
        kind = found.lastgroup
        if kind == "blank":
            continue
        if kind == "comment":
            end = _comment(text, at)
            if end is None:
                return "a comment without an end"
            at = end
            continue
        # Attack: `{ :axiom}` and `{/**/:axiom}`, which are attributes, too.
        if before == "{:" and found[0] not in ATTRIBUTES:
            return f"the attribute {{:{found[0][:40]}}}"
        before = before[-1:] + found[0] if found[0] in "{:" else ""
        if kind == "word" and found[0] in WORDS:
            return WORDS[found[0]]
        if kind == "reading":  # Attack: a function stored in the heap can call itself endlessly.
            return "a function that reads the heap as a value: ~>"
        if kind == "open":
            depth += 1
        if kind == "close":
            depth -= 1
            if depth < 0:  # Attack: closing the module that surrounds the response.
                return "a brace that closes nothing"
    return None if depth == 0 else "a brace that is not closed"


def _comment(text: str, at: int) -> int | None:
    """The end of a comment; comments nest."""
    depth = 1
    while depth:
        found = _EDGE.search(text, at)
        if found is None:
            return None
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at
