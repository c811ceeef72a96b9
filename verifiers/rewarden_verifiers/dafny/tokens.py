"""The tokens of a response in Dafny: constructs that are forbidden, whatever Dafny's verifier reports.

The verifier trusts every assumption in the source. Each of these constructs lets a wrong program verify without an
error and with exit code 0.
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
"""Attack: code after a carriage return alone in a comment, where Dafny begins a new line."""
_EDGE = re.compile(r"/\*|\*/")

WORDS = {
    "assume": "assume",  # is believed
    "include": "include",  # what is included is not verified
    "trait": "trait",  # its lemmas need no bodies
    "iterator": "iterator",  # its specification is believed where it has no body
    "abstract": "abstract",  # so is that of an abstract module
    "refines": "refines",
    "expect": "expect",
}
"""Words that a response may not have."""

_HINTS = frozenset({"trigger", "induction", "opaque", "fuel", "autotriggers", "nowarn"})
_EFFORT = frozenset(
    {"timeLimit", "timeLimitMultiplier", "subsumption", "vcs_split_on_every_assert", "isolate_assertions"}
)
ATTRIBUTES = _HINTS | _EFFORT | {"tailrecursion"}
"""The attributes that a response may have: hints to the prover, bounds on its time, its division of the work, and the
compiler's. Others turn verification off (`verify`, `axiom`, `extern`), or limit it."""


def refused(text: str) -> str | None:
    """Returns the construct for which a response is refused; None if there is none."""
    # Attack: `#if`, which removes lines before Dafny sees them, also in comments and texts.
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
        # Attack: `{ :axiom}` and `{/**/:axiom}`, which are attributes as well.
        if before == "{:" and found[0] not in ATTRIBUTES:
            return f"the attribute {{:{found[0][:40]}}}"
        before = before[-1:] + found[0] if found[0] in "{:" else ""
        if kind == "word" and found[0] in WORDS:
            return WORDS[found[0]]
        if kind == "reading":  # Attack: one kept in the heap can call itself without an end.
            return "a function that reads the heap as a value: ~>"
        if kind == "open":
            depth += 1
        if kind == "close":
            depth -= 1
            if depth < 0:  # Attack: the end of the module that the response stands in.
                return "a brace that closes nothing"
    return None if depth == 0 else "a brace that is not closed"


def _comment(text: str, at: int) -> int | None:
    """The end of a comment, in which others may stand."""
    depth = 1
    while depth:
        found = _EDGE.search(text, at)
        if found is None:
            return None
        depth += 1 if found[0] == "/*" else -1
        at = found.end()
    return at
