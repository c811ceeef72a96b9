"""The reference of `lean`: the statement to prove, as Lean source."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from rewarden.errors import InvalidReference
from rewarden_verifiers.lean.source import Header, code, plain, split_header

MAX_CHARACTERS = 1_000_000
"""The maximum size of a reference; no statement is longer."""

_NAME = re.compile(r"(?:«[^»\n\\]+»|[^\W\d][\w'!?₀-₉ₐ-ₜᵢ-ᵪ]*)(?:\.(?:«[^»\n\\]+»|[^\W\d][\w'!?₀-₉ₐ-ₜᵢ-ᵪ]*))*")

_OPEN_END = re.compile(r"(?::=\s*(?:by\s*)?(?:sorry\s*)?|\bby\s+(?:sorry\s*)?)\Z")

_EQUATIONS = re.compile(r"^\s*\|.*=>", re.MULTILINE)
"""A theorem by cases has no `:=`."""

DECLARING = frozenset({"theorem", "lemma", "def", "abbrev", "structure", "inductive", "class", "instance", "opaque"})
"""Keywords that are followed by the name of a declaration."""

PROVED = frozenset({"theorem", "lemma"})


@dataclass(frozen=True, slots=True, kw_only=True)
class LeanReference:
    """The statement to prove.

    statement: Lean source: imports, `open` lines and definitions as needed, and the theorem or theorems. Their proofs
        can be `sorry`, or be missing at the end (`theorem t : p :=`, `… := by`, `theorem t : p`).
    header: Text before the statement, mainly imports, if the statement has none.
    theorems: Full names of the theorems that must be proved; default: those whose proof is open or, if none is open,
        all.
    definitions: Full names of definitions that must stay the same, in addition to those that the theorems depend on,
        which always must.
    lemmas: Full names of declared lemmas (subgoals); `components.subgoals` is the share of them that the proof uses.
    """

    # A misspelt key must not be silently ignored.
    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    statement: str
    header: str = ""
    theorems: tuple[str, ...] = ()
    definitions: tuple[str, ...] = ()
    lemmas: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in ("theorems", "definitions", "lemmas"):
            for name in getattr(self, field):
                if _NAME.fullmatch(name) is None:
                    raise ValueError(f"{field}: {name!r} is not a name that can be asked for")


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """A reference after parsing. text: the whole file, with `sorry` as its last proof if that was missing. preamble:
    the text before the first required theorem, without the imports. core: that theorem without its proof, with its
    comment and attributes, to which a proof can be added; empty if several theorems are required."""

    text: str
    header: Header
    preamble: str
    core: str
    asked: LeanReference
    declared: frozenset[str]


def read_reference(reference: str | LeanReference, default_header: str) -> Statement:
    """Returns the parsed reference. Raises InvalidReference for one without a statement."""
    asked = LeanReference(statement=reference) if isinstance(reference, str) else reference
    if len(asked.statement) + len(asked.header) > MAX_CHARACTERS:
        raise InvalidReference(f"reference.statement: more than {MAX_CHARACTERS} characters")
    text = plain(asked.statement).rstrip()
    if not text:
        raise InvalidReference("reference.statement is empty: give the theorem's Lean source")
    if not split_header(text).imports:
        before = plain(asked.header).strip() or default_header.strip()
        text = f"{before}\n\n{text.lstrip()}" if before else text.lstrip()
    header = split_header(text)
    found = list(declarations(text))
    theorems = [(start, name) for start, word, name in found if word in PROVED]
    if not theorems:
        raise InvalidReference("reference.statement declares no theorem: `theorem NAME … : … := by sorry`")
    wanted = {name.rpartition(".")[2] for name in asked.theorems}
    first = next((start for start, name in theorems if name.rpartition(".")[2] in wanted), None)
    if first is None:
        first = theorems[-1][0] if not wanted else theorems[0][0]
    begin = _begin(text, first)
    last = text[theorems[-1][0] :]
    if _OPEN_END.search(last):
        closed = text[: theorems[-1][0]] + _OPEN_END.sub("", last).rstrip()
        text = f"{closed} := sorry\n"
        core = closed[begin:] if first == theorems[-1][0] else ""
    elif not _without_proof(last) and not _EQUATIONS.search(last):
        text, core = f"{text} := sorry\n", text[begin:] if first == theorems[-1][0] else ""
    else:
        bare = _without_proof(last)
        core = text[begin:first] + bare if bare and first == theorems[-1][0] else ""
    return Statement(
        text=text,
        header=header,
        preamble=text[header.body : begin].strip("\n"),
        core=core,
        asked=asked,
        declared=frozenset(name for start, _, name in found if start < first),
    )


_BELONGS = re.compile(r"(?:/--(?:(?!-/)[\s\S])*-/|@\[[^\]]*\])\s*\Z")
"""A comment or attributes that belong to the next declaration: a response with the whole theorem has its own."""


def _begin(text: str, start: int) -> int:
    """Returns the beginning of a theorem whose keyword is at `start`."""
    while (found := _BELONGS.search(text, 0, start)) is not None:
        start = found.start()
    return start


def declarations(text: str) -> list[tuple[int, str, str]]:
    """Returns the declarations of a source: the position, the keyword, and the name as written; in order.

    A theorem with attributes or modifiers before it begins with these.
    """
    found: list[tuple[int, str, str]] = []
    words = list(code(text))
    before = 0  # The end of the previous declaration is after this.
    for index, token in enumerate(words[:-1]):
        if token.text in DECLARING and words[index + 1].kind == "word":
            begin = index
            while begin > before and not words[begin].first and words[begin - 1].kind == "word":
                begin -= 1
            before = index
            start = words[begin].start if words[begin].first else token.start
            found.append((start, token.text, words[index + 1].text))
    return found


def _without_proof(theorem: str) -> str:
    """Returns a theorem up to the `:=` of its proof: the first one outside brackets that belongs to no `let`."""
    depth = defined = 0
    for token, after in pairwise(code(theorem)):
        if token.text in tuple("([{⟨"):
            depth += 1
        elif token.text in tuple(")]}⟩"):
            depth -= 1
        elif token.text in _DEFINING and not depth:
            defined += 1
        elif token.text == ":" and not depth and after.text == "=" and after.start == token.end:
            if not defined:
                return theorem[: token.start].rstrip()
            defined -= 1
    return ""


_DEFINING = frozenset({"let", "have", "letI", "haveI"})
"""Words of a term with a `:=` of their own."""
