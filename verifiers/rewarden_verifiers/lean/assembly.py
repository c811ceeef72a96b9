"""Makes a whole file from the response, with the reference's imports, and its statement before a bare proof.

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
"""No tactic begins so."""

_BEGINS = DECLARING | {"namespace", "section", "private", "protected", "noncomputable", "mutual", "example"}

_ONCE = frozenset({"namespace", "section", "universe", "variable"})
"""Commands that must not come twice: names would have two prefixes, or two meanings."""


def whole_file(submission: str, statement: Statement, mode: Mode) -> tuple[str, str]:
    """The file that is elaborated, and how it was made: `file` or `proof`.

    The reference's imports replace the submission's: they name the same things then, and no import can bring in what
    the reference has not. `auto` takes for a proof what declares no theorem of the names that are asked for.
    """
    text = plain(submission).strip("\n")
    written = split_header(text)
    body = text[written.body :]
    if mode == "proof" or (mode == "auto" and statement.core and not _states(body, statement)):
        return _join(statement, f"{statement.preamble}\n\n{statement.core}{_proof(body)}\n"), "proof"
    names = {name for _, _, name in declarations(body)}
    if not written.imports and not names & statement.declared and not _begins_anew(body, statement):
        # A theorem by itself: what stands before the reference's own belongs before it.
        body = f"{statement.preamble}\n\n{body.strip()}"
    return _join(statement, f"{body.strip()}\n"), "file"


def _begins_anew(body: str, statement: Statement) -> bool:
    """Returns whether a text repeats what stands before the reference's theorem."""
    before = {token.text for token in code(statement.preamble)} & _ONCE
    return bool(before) and any(token.text in before for token in code(body))


def _join(statement: Statement, body: str) -> str:
    return f"{statement.header.text}\n{body.lstrip()}"


def _states(body: str, statement: Statement) -> bool:
    """Returns whether a text declares what is asked for, or at least begins with a declaration, as no proof does."""
    first = next(iter(code(body)), None)
    if first is not None and first.text in _BEGINS:
        return True
    wanted = {_last(name) for name in statement.asked.theorems}
    if not wanted:
        wanted = {_last(name) for _, word, name in declarations(statement.core) if word in PROVED}
    return any(_last(name) in wanted for _, _, name in declarations(body))


def _last(name: str) -> str:
    """A name's last part, however it is written."""
    return name.translate(PLAIN).rpartition(".")[2]


def _proof(body: str) -> str:
    """A proof as it goes on behind a statement: `:= by …`, `by …`, a term behind `:=`, or tactics alone."""
    proof = body.strip("\n").rstrip()
    begun = proof.lstrip()
    if begun.startswith(":="):
        return f" {begun}"
    if (begun.startswith("by") and not begun[2:3].strip()) or _TERM.match(begun):
        return f" := {begun}"
    return " := by\n" + textwrap.indent(textwrap.dedent(proof), "  ")
