"""Splits Lean source into words, tells code from comments and strings, and finds the end of the import header.

This is a surface reading, not a parser: the imports of a file extend Lean's grammar. It is used for rejecting and
sorting, and no verdict depends on it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, NamedTuple

TokenKind = Literal["word", "symbol", "string", "comment"]


class Token(NamedTuple):
    """A part of a text. kind `word`: an identifier, a keyword or a number, with its dots, and `#word`. first: only
    blanks precede it on its line."""

    kind: TokenKind
    text: str
    start: int
    end: int
    first: bool

    @property
    def line(self) -> str:
        """The token on one line, shortened."""
        return self.text.split("\n", 1)[0][:80]


@dataclass(frozen=True)
class Header:
    """The part of a file before its first command.

    imports: `module`, `prelude` and the imports, one canonical line each, in order, without repetitions. body: the
    offset of the rest in the text.
    """

    imports: tuple[str, ...]
    body: int

    @cached_property
    def text(self) -> str:
        """The header as the beginning of a file: a line for each import."""
        return "".join(f"{line}\n" for line in self.imports)

    @property
    def modules(self) -> tuple[str, ...]:
        """The names of the imported modules."""
        return tuple(line.split()[-1] for line in self.imports if line.split()[0] not in ("module", "prelude"))


# Letters of any alphabet, subscripts and primes, as in Lean; «…» contains anything on one line. A number ends with its
# digits, whatever follows: `1axiom` is a number and a keyword.
_PART = r"(?:«[^«»\n]*»|[^\W\d][\w'!?₀-₉ₐ-ₜᵢ-ᵪ]*)"
_NUMBER = r"0[xX][0-9a-fA-F_]+|0[bB][01_]+|0[oO][0-7_]+|[0-9][0-9_]*(?:\.[0-9][0-9_]*)?(?:[eE][+-]?[0-9]+)?"
_WORD = re.compile(rf"#?{_PART}(?:\.(?:{_PART}|[0-9]+))*|{_NUMBER}")
_LOOSE = re.compile(rf"{_WORD.pattern}|\S")
_CHARACTER = r"'(?:\\(?:x[0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|.)|[^\\'\n])'"
_NEXT = re.compile(
    rf"(?P<blank>\s+)|(?P<line>--[^\n]*)|(?P<comment>/-)|(?P<string>\")|r(?P<raw>#*)\"|(?P<character>{_CHARACTER})"
    rf"|(?P<word>{_WORD.pattern})|(?P<symbol>.)",
    re.DOTALL,
)
_DASHES = re.compile(r"/-|-/")
_QUOTE = re.compile(r'[\\"]')
_MARKS = ("module", "prelude")


def plain(text: str) -> str:
    """Returns a text without a byte order mark, and with Lean's line ends."""
    return text.removeprefix("\ufeff").replace("\r\n", "\n")


def tokens(text: str) -> Iterator[Token]:
    """Yields all tokens of a text. One that is never closed extends to the text's end."""
    at, first = 0, True
    while at < len(text):
        match = _NEXT.match(text, at)
        assert match is not None  # everything else is a symbol
        begin, end, group = at, match.end(), match.lastgroup
        at = end
        if group == "blank":
            first = first or "\n" in match[0]
            continue
        kind: TokenKind = "symbol"
        if group == "word":
            kind = "word"
        elif group == "line":
            kind = "comment"
        elif group == "comment":
            kind, at = "comment", _comment_end(text, begin)
        elif group == "character":
            kind = "string"
        elif group == "string":
            kind, at = "string", _string_end(text, end)
        elif group == "raw":
            closing = text.find('"' + match["raw"], end)
            kind, at = "string", len(text) if closing < 0 else closing + 1 + len(match["raw"])
        yield Token(kind, text[begin:at], begin, at, first)
        first = False


def code(text: str) -> Iterator[Token]:
    """Yields the tokens of a text that appear to be code."""
    return (token for token in tokens(text) if token.kind in ("word", "symbol"))


_DOUBTFUL = re.compile(r"""["'{«]|--|/-|-/""")


def suspects(text: str) -> Iterator[Token]:
    """Yields the tokens of a text that may be code.

    Only Lean's own parser knows where strings and comments begin: strings can be interpolated, with strings of their
    own between their braces, and a file can declare words such as `x--`. Therefore, in a text with a string or a
    character that could have misled this reader, all tokens are code, including comments.
    """
    found = list(tokens(text))
    if not any(_misleads(token) for token in found):
        yield from (token for token in found if token.kind in ("word", "symbol"))
        return
    at = 0
    for match in _LOOSE.finditer(text):
        first = at == 0 or "\n" in text[at : match.start()]
        at = match.end()
        kind: TokenKind = "symbol" if len(match[0]) == 1 and not match[0].isalnum() and match[0] != "_" else "word"
        yield Token(kind, match[0], match.start(), at, first)


def _misleads(token: Token) -> bool:
    if token.kind != "string":
        return False
    if token.text[0] == "'":
        return '"' in token.text
    quoted = token.text.strip("r#")
    return len(quoted) < 2 or quoted[-1] != '"' or _DOUBTFUL.search(quoted[1:-1]) is not None


def _comment_end(text: str, at: int) -> int:
    """Returns the end of a comment. Comments nest. Lean skips the character after an opening `/-`: `/-/- -/` is a
    complete comment, and the text after it is code.
    """
    depth = 1
    for found in _DASHES.finditer(text, at + 3):
        depth += 1 if found[0] == "/-" else -1
        if depth <= 0:
            return found.end()
    return len(text)


def _string_end(text: str, at: int) -> int:
    while True:
        found = _QUOTE.search(text, at)
        if found is None:
            return len(text)
        if found[0] == '"':
            return found.end()
        at = found.end() + 1


def split_header(text: str) -> Header:
    """Returns the header of a file. A text without one has no imports and begins with its body."""
    imports: list[str] = []
    marks = True
    body = 0
    words = list(_head(text))
    at = 0
    while at < len(words):
        if words[at].text in _MARKS and marks:
            imports.append(words[at].text)
            body, at = words[at].end, at + 1
            continue
        line, length = _import(words, at)
        if line is None:
            break
        imports.append(line)
        marks = False
        at += length
        body = words[at - 1].end
    return Header(tuple(dict.fromkeys(imports)), body)


def _head(text: str) -> Iterator[Token]:
    """Yields the tokens up to the first one that cannot belong to a header."""
    wanted = False
    for token in tokens(text):
        if token.kind == "comment":
            continue
        known = token.kind == "word" and (wanted or token.text in ("public", "meta", "import", "all", *_MARKS))
        if not known:
            return
        wanted = token.text == "import" or (wanted and token.text == "all")
        yield token


def _import(words: list[Token], at: int) -> tuple[str | None, int]:
    """Returns the import that begins here, as a canonical line, and its number of words."""
    begin = at
    while at < len(words) and words[at].text in ("public", "meta"):
        at += 1
    if at >= len(words) or words[at].text != "import":
        return None, 0
    at += 1
    if at + 1 < len(words) and words[at].text == "all":
        at += 1
    if at >= len(words):
        return None, 0
    return " ".join(word.text for word in words[begin : at + 1]), at + 1 - begin


PLAIN = dict.fromkeys(map(ord, "«»"))
"""For `str.translate`: removes the guillemets of a name."""

RUNNING = frozenset(
    {
        *("#eval", "#eval!", "#guard", "#guard_msgs", "#run", "#html", "#widget", "run_cmd", "run_elab", "run_meta"),
        *("run_tac", "by_elab", "eval", "eval_expr", "elab", "elab_rules", "macro", "macro_rules", "syntax"),
        *("declare_syntax_cat", "initialize", "builtin_initialize", "unsafe", "simproc", "simproc_decl", "dsimproc"),
        *("dsimproc_decl", "simproc_pattern", "builtin_simproc", "builtin_dsimproc"),
        *("register_simp_attr", "register_label_attr", "register_option", "register_builtin_option"),
        *("declare_config_elab", "declare_command_config_elab"),
        *("native_decide", "bv_decide", "bv_check", "polyrith", "dbg_trace", "deriving_handler", "meta"),
    }
)
"""Words that make Lean run code from the text during elaboration, or may do so."""

PLAIN_ATTRIBUTES = frozenset(
    {
        *("simp", "ext", "reducible", "irreducible", "semireducible", "inline", "noinline", "always_inline"),
        *("instance", "congr", "refl", "symm", "trans", "gcongr", "simps", "to_additive", "default_instance"),
        *("specialize", "class", "deprecated", "inherit_doc", "norm_cast", "push_cast", "elab_as_elim", "mono"),
        *("match_pattern", "macro_inline", "coe", "nolint", "never_extract", "aesop", "grind", "fun_prop", "bound"),
        *("continuity", "measurability", "mfld_simps", "field_simps", "push_neg", "elementwise", "reassoc", "eqns"),
        *("induction_eliminator", "cases_eliminator", "unbox", "implicit_reducible", "expose", "mk_iff", "stacks"),
    }
)
"""Attributes that do not run code from the text."""


def attributes(found: Sequence[Token]) -> Iterator[Token]:
    """Yields the names of the attributes that code sets, in `@[…]` and after `attribute [`. found: its tokens."""
    at = 0
    while at < len(found):
        opens = found[at].text == "[" and at > 0 and found[at - 1].text in ("@", "attribute")
        at += 1
        if not opens:
            continue
        depth, wanted = 1, True
        while at < len(found) and depth:
            token = found[at]
            depth += (token.text in "[(") - (token.text in "])") if token.kind == "symbol" else 0
            if wanted and token.kind == "word" and token.text not in ("local", "scoped"):
                yield token._replace(text=token.text.translate(PLAIN))
                wanted = False
            elif token.text == "," and depth == 1:
                wanted = True
            at += 1


def runs_code(text: str) -> bool:
    """Returns whether code from the text may run during elaboration, in which case the process must not be reused.

    Hiding a word from this does not change any verdict: a warm process is only a screen.
    """
    found = list(suspects(text))
    for token in found:
        last = token.text.translate(PLAIN).rpartition(".")[2]
        if token.text in RUNNING or last in RUNNING or last.removeprefix("#") in RUNNING:
            return True
    return any(token.text not in PLAIN_ATTRIBUTES for token in attributes(found))
