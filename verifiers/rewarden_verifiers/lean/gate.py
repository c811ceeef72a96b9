"""Rejects forbidden content before Lean sees it, each kind with its own reason.

The gate makes rejections cheap and their reasons clear. It is not what keeps a false proof from scoring: the strict
tier, which reads the compiled module, catches a forbidden word that the gate cannot see (in a macro, in a notation, in
a name made during elaboration).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rewarden_verifiers.lean.source import PLAIN, Token, attributes, split_header, suspects


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """The rejection of a text. reason: snake_case, as in the verdict. word: the forbidden word, at `line` (from 1)."""

    reason: str
    word: str
    line: int
    why: str

    @property
    def message(self) -> str:
        """The message for the feedback."""
        return f"line {self.line}: `{self.word}`: {self.why}"


_SORRY = frozenset({"sorry", "admit", "sorryAx", "proof_wanted"})

_NATIVE = frozenset({"native_decide", "ofReduceBool", "ofReduceNat", "reduceBool", "reduceNat", "trustCompiler"})
"""Attack: trusting the compiler instead of the kernel (ATTACKS F5)."""

_AXIOM = "axiom"
"""Attack: `axiom cheat : False` above the statement (PrimeIntellect-ai/verifiers issue 2177)."""

_META = frozenset(
    {
        *("#eval", "#eval!", "#run", "#html", "#widget", "run_cmd", "run_elab", "run_meta", "run_tac", "by_elab"),
        *("eval%", "initialize", "simproc_pattern%", "builtin_simproc_pattern%"),
        *("builtin_initialize", "elab", "elab_rules", "simproc", "simproc_decl", "dsimproc", "dsimproc_decl", "meta"),
        *("builtin_simproc", "builtin_dsimproc", "register_simp_attr", "register_option", "register_builtin_option"),
        *("declare_config_elab", "declare_command_config_elab", "unsafe"),
    }
)
"""Attack: code at elaboration that edits the environment or writes the compiled file (leanprover/comparator issues 39
and 43)."""

_META_ATTRIBUTES = re.compile(
    r"(?:builtin_)?(?:command_elab|term_elab|tactic|macro|init|delab|app_delab|app_unexpander|unexpander|\w*parser"
    r"|\w*parenthesizer|\w*formatter|\w*simproc\w*|sevalproc|norm_num|positivity|attr\w*|code_action\w*|tactic_alt|env_linter|linter|run_builtin\w*|widget\w*)"
)

_COMPILER = frozenset({"implemented_by", "extern", "export", "csimp"})
"""Attack: code that the compiler runs in place of a definition (ATTACKS F5)."""

_SYNTAX = frozenset({"macro", "macro_rules", "syntax", "declare_syntax_cat", "notation3", "binder_predicate"})

_COMMAND = re.compile(r"\bcommand\b|\(\s*#\w")
"""Attack: a macro of the category `command` can replace `theorem` or `#print axioms`
(harbor-framework/terminal-bench-science PR 325)."""

_EXIT = "#exit"
"""Attack: the text after it is never elaborated, so the file compiles."""

_SILENCER = "#guard_msgs"
"""Attack: `#guard_msgs (drop all) in` before code that does not compile, or that leaves a `sorry` by way of `apply?`:
the screen detects both only by their messages."""

_OPTIONS = re.compile(
    r"(?:weak\.)?(?:maxHeartbeats|maxRecDepth|maxSynthPendingDepth|autoImplicit|relaxedAutoImplicit|quotPrecheck|hygiene"
    r"|exponentiation\.threshold|diagnostics|simprocs|genSizeOf|genSizeOfSpec|genInjectivity|genCtorIdx"
    r"|(?:aesop|backward|diagnostics|grind|linter|pp|profiler|says|simprocs|synthInstance|tactic|trace)\.[\w'.]+"
    r"|warn\.(?!sorry)[\w'.]+)"
)
"""Options that change how a proof is found or shown. `debug.skipKernelTC` and other options that can change what is
checked are not among them, nor is `warn.sorry`, because the screen detects a `sorry` by that warning."""


def refusals(text: str, *, sorry: bool = False, meta: bool = False) -> Iterator[Refusal]:
    """Yields the reasons for rejecting a text, in the order below; nothing if it is accepted.

    sorry: whether proofs can be left open (only for statements). meta: whether code can run during elaboration.
    """
    header = split_header(text)
    if "module" in header.imports:
        yield Refusal(
            reason="module_header",
            word="module",
            line=1,
            why="a `module` hides its proofs from the compiled file; remove the word",
        )
    body = list(suspects(text[header.body :]))
    for index, token in enumerate(body):
        found = _word(token, body, index, sorry=sorry, meta=meta)
        if found is not None:
            yield _refusal(text, header.body + token.start, token, *found)
    if not meta:
        for token in attributes(body):
            if _META_ATTRIBUTES.fullmatch(token.text):
                why = "it makes Lean run code of the submission's own while it elaborates"
                yield _refusal(text, header.body + token.start, token, "elaboration_code", why)


def _word(token: Token, body: list[Token], index: int, *, sorry: bool, meta: bool) -> tuple[str, str] | None:
    if token.kind != "word":
        return None
    word = token.text
    last = word.translate(PLAIN).rpartition(".")[2]
    if not sorry and (word.removeprefix("#") in _SORRY or last == "sorryAx"):
        return "sorry", "part of the proof is missing"
    if last in _NATIVE or (word == "native" and index and body[index - 1].text in tuple("+({,")):
        return "native_decide", "it trusts the compiler, not the kernel"
    if word == _AXIOM:
        return "axiom_added", "a submission must not add axioms"
    if word == "set_option":
        option = body[index + 1].text if index + 1 < len(body) else ""
        if not _OPTIONS.fullmatch(option):
            return "option_changed", f"the option {option[:60]!r} can change what is checked"
    if word == _EXIT and index + 1 < len(body):
        return "early_exit", "Lean ignores everything after it"
    if word == _SILENCER:
        return "hidden_messages", "it hides Lean's messages"
    if word in _COMPILER and _in_attribute(body, index):
        return "compiler_override", "it replaces a definition's code"
    if meta:
        return None
    if _meta(token, body, index):
        return "elaboration_code", "it runs code of the submission's own while it elaborates"
    if word in _SYNTAX and _COMMAND.search(_declaration(body, index)):
        return "overridden_command", "it can change what a command does"
    return None


def _meta(token: Token, body: list[Token], index: int) -> bool:
    """Returns whether a word runs code. `meta` inside a line is a name, as it was before Lean 4.22, and `unsafe` also
    marks Aesop rules that are tried late.
    """
    word = token.text
    behind = body[index + 1] if index + 1 < len(body) else None
    if behind is not None and behind.text == "%" and behind.start == token.end:
        word = f"{word}%"
    if word not in _META or (word == "meta" and not token.first):
        return False
    rule = behind is not None and (behind.text in _RULES or behind.text[0].isdigit())
    return not (word == "unsafe" and rule and any(one.text == "aesop" for one in body[max(0, index - 100) : index]))


_RULES = frozenset({"apply", "forward", "destruct", "constructors", "cases"})


def _in_attribute(body: list[Token], index: int) -> bool:
    """Returns whether a word is within `@[…]` or after `attribute [`."""
    for token in reversed(body[max(0, index - 30) : index]):
        if token.text == "]":
            return False
        if token.text == "[":
            return True
    return False


def _declaration(body: list[Token], index: int) -> str:
    """Yields the words up to the next command, assumed to begin an unindented line."""
    words = [body[index].text]
    for token in body[index + 1 : index + 400]:
        if token.text in _SYNTAX or (token.first and token.text in _COMMANDS):
            break
        words.append(token.text)
    return " ".join(words).replace("( #", "(#")


_COMMANDS = frozenset(
    {
        *("theorem", "lemma", "def", "example", "instance", "abbrev", "structure", "inductive", "class", "namespace"),
        *("section", "end", "open", "variable", "universe", "noncomputable", "private", "protected", "mutual"),
        *("macro", "macro_rules", "syntax", "notation", "attribute", "set_option", "axiom", "opaque", "elab", "#print"),
    }
)


def _refusal(text: str, at: int, token: Token, reason: str, why: str) -> Refusal:
    return Refusal(reason=reason, word=token.line, line=text.count("\n", 0, at) + 1, why=why)
