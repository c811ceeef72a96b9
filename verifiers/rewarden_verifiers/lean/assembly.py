"""Makes a complete file from the response, with the reference's imports, and its statement before a bare proof.

A wrong guess is harmless: the theorems of the resulting file are compared with the reference's as terms.
"""

from __future__ import annotations

import re
import textwrap
from typing import Literal

from rewarden_verifiers.lean.reference import DECLARING, PROVED, Statement, declarations
from rewarden_verifiers.lean.source import PLAIN, code, plain, split_header

Mode = Literal["auto", "file", "proof", "statement"]

_TERM = re.compile(r"(?:fun|λ)\b|[⟨@‹]")
"""The beginnings of terms; no tactic begins with one of these."""

_BEGINS = DECLARING | {"namespace", "section", "private", "protected", "noncomputable", "mutual", "example"}

_ONCE = frozenset({"namespace", "section", "universe", "variable"})
"""Commands that must not be repeated: names would get a second prefix, or become ambiguous."""


def whole_file(submission: str, statement: Statement, mode: Mode) -> tuple[str, str]:
    """Returns the file to elaborate, and the mode: `file` or `proof`.

    The reference's imports replace the submission's, so that both have the same meaning, and no import can add
    something that the reference lacks. `auto` treats a text as a proof if it declares none of the required theorems.
    """
    text = plain(submission).strip("\n")
    written = split_header(text)
    body = text[written.body :]
    if mode == "proof" or (mode == "auto" and statement.core and not _states(body, statement)):
        return _join(statement, f"{statement.preamble}\n\n{statement.core}{_proof(body)}\n"), "proof"
    names = {name for _, _, name in declarations(body)}
    if not written.imports and not names & statement.declared and not _begins_anew(body, statement):
        # A bare theorem: the text before the reference's theorem belongs before it.
        body = f"{statement.preamble}\n\n{body.strip()}"
    return _join(statement, f"{body.strip()}\n"), "file"


def _begins_anew(body: str, statement: Statement) -> bool:
    """Returns whether a text repeats the text before the reference's theorem."""
    before = {token.text for token in code(statement.preamble)} & _ONCE
    return bool(before) and any(token.text in before for token in code(body))


def _join(statement: Statement, body: str) -> str:
    return f"{statement.header.text}\n{body.lstrip()}"


def _states(body: str, statement: Statement) -> bool:
    """Returns whether a text declares a required theorem, or at least begins with a declaration, as no proof does."""
    first = next(iter(code(body)), None)
    if first is not None and first.text in _BEGINS:
        return True
    wanted = {_last(name) for name in statement.asked.theorems}
    if not wanted:
        wanted = {_last(name) for _, word, name in declarations(statement.core) if word in PROVED}
    return any(_last(name) in wanted for _, _, name in declarations(body))


def _last(name: str) -> str:
    """Returns the last component of a name, however it is written."""
    return name.translate(PLAIN).rpartition(".")[2]


def _proof(body: str) -> str:
    """Returns a proof as the continuation of a statement: `:= by …`, `by …`, a term after `:=`, or only tactics."""
    proof = body.strip("\n").rstrip()
    begun = proof.lstrip()
    if begun.startswith(":="):
        return f" {begun}"
    if (begun.startswith("by") and not begun[2:3].strip()) or _TERM.match(begun):
        return f" := {begun}"
    return " := by\n" + textwrap.indent(textwrap.dedent(proof), "  ")
