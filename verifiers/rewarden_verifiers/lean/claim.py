"""A claim: a statement in Lean without its proof, represented by an axiom of that type.

A response's claim is rebuilt token by token, so that it can be put before a proof as trusted source.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from rewarden.errors import InvalidReference
from rewarden_verifiers.lean.reference import PROVED, Statement, declarations, read_reference
from rewarden_verifiers.lean.source import PLAIN, Token, code, plain, suspects, tokens

MAX_CHARACTERS = 20_000
"""The maximum size of a response's statement."""

MAX_DEPTH = 200
"""The maximum nesting depth of its brackets. Attack: thousands of them, which overflow the stack of Lean's own
parser.
"""

_COMMANDS = """
by sorry admit axiom macro macro_rules notation syntax elab elab_rules run_tac run_cmd run_elab run_meta infix infixl
infixr prefix postfix set_option attribute instance def abbrev theorem lemma namespace section end open local scoped
private protected universe variable example opaque inductive structure class initialize import mutual deriving by_elab
unsafe partial noncomputable export include omit declare_syntax_cat builtin_initialize include_str include_bytes
"""
_TERMS_ONLY = frozenset(_COMMANDS.split())
"""Words that a statement does not need after its name. All other words build terms, which have no side effects."""

_OPENING, _CLOSING = frozenset("([{⦃⟨⟦"), frozenset(")]}⦄⟩⟧")

_EVALUATED = re.compile(r"#|[A-Za-z_]{2}%")
"""Commands, and elaborators such as `eval% e`."""

_LEVELS = re.compile(r"\s*\.\{([^{}]*)\}")
_LEVEL = re.compile(r"[^\W\d][\w']*")
_PART = re.compile(r"«[^«»\n]*»|[^.«»]+")

_MODIFIERS = frozenset({"private", "protected", "nonrec", "noncomputable", "public"})
_SECTIONS = frozenset({"section", "noncomputable"})
_BEGINS = frozenset({"open", "variable", "universe", "set_option", "in"}) | _SECTIONS

_ONLY_EFFORT = re.compile(r"(?:synthInstance\.)?max(?:Heartbeats|RecDepth|Size)|(?:linter|pp)\.[\w.]+")
"""Options that do not change the meaning of a statement. They are dropped."""


class Refused(ValueError):
    """The response is not a single statement. reason: of the verdict."""

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A statement without its proof. name: the axiom's name. before: commands that only apply to it (`open`,
    `variable`). levels: `.{u}` if it names universes. universes: the number of universes that uses of it give, or 0.
    """

    name: str
    before: str = ""
    levels: str = ""
    binders: str
    kind: str
    universes: int = 0

    @property
    def text(self) -> str:
        """The statement as an axiom, which gives it a type. No proof may depend on it.

        Attack: a command after the type. The type and the binders are in brackets, where commands are impossible.
        """
        axiom = f"axiom {self.name}{self.levels} {self.binders} : (\n{self.kind}\n)"
        return f"section\n{self.before}\n{axiom}\nend\n"

    @property
    def type(self) -> str:
        """The statement as a term, with the universes of the goal."""
        return f"(type_of% @{self.name}{levels(self.universes)})"


def levels(count: int) -> str:
    """The universe parameters of a goal."""
    return ".{" + ", ".join(f"rewarden_{number}" for number in range(count)) + "}" if count else ""


def claim_of_reference(stated: Statement, name: str) -> tuple[str, Claim]:
    """Returns the context of a reference's theorem, and its claim. Raises Refused."""
    text = _without_proof(stated)
    found = _code(text)
    place = _keyword(found)
    begin = end = _own(found, place)
    # `open X in` applies to this theorem only.
    while begin and found[begin - 1].text == "in":
        begin = max((at for at in range(begin - 1) if found[at].text in _BEGINS), default=0)
    before = text[found[begin].start : found[end - 1].end] if begin < end else ""
    context = text[: found[begin].start].rstrip()
    return context, _claim(text[found[place + 1].end :], name, before)


def claim_of_response(response: str, context: str, before: str, name: str) -> Claim:
    """Returns the claim of a response, which may repeat the task's context. before: the commands of the reference's
    claim, which also count as context. Raises Refused.
    """
    if len(response) > MAX_CHARACTERS:
        raise Refused("too_expensive", f"more than {MAX_CHARACTERS} characters")
    source = plain(response)
    if not any(word in PROVED for _, word, _ in declarations(source)):
        raise Refused("theorem_missing", "it declares no theorem")
    try:
        text = _without_proof(read_reference(source, ""))
    except InvalidReference as error:
        raise Refused("theorem_missing", str(error)) from None
    found = _without(_code(text), [token.text for token in _code(context)])
    place = _keyword(found)
    commands = [*_commands(text, found[: _own(found, place)]), before]
    claim = _claim(text[found[place + 1].end :], name, "\n".join(commands))
    if declarations(text[found[place + 2].start :] if place + 2 < len(found) else ""):
        raise Refused("extra_declarations", "it declares more than one theorem")
    _only_terms(f"{claim.binders} : {claim.kind}")
    return claim


def _code(text: str) -> list[Token]:
    return [token for token in tokens(text) if token.kind != "comment"]


def _without_proof(stated: Statement) -> str:
    if not stated.core:
        raise Refused("theorem_missing", "the theorem has no type before its proof")
    return f"{stated.preamble}\n\n{stated.core}"


def _keyword(found: Sequence[Token]) -> int:
    """The position of the last `theorem` or `lemma` with a name."""
    places = (at for at in range(len(found) - 2, -1, -1) if found[at].text in PROVED and found[at + 1].kind == "word")
    place = next(places, None)
    if place is None:
        raise Refused("theorem_missing", "it declares no theorem last")
    return place


def _own(found: Sequence[Token], place: int) -> int:
    """The position where a theorem begins, including its attributes and modifiers. place: the position of its
    keyword.
    """
    while place and found[place - 1].text in _MODIFIERS:
        place -= 1
    while place and found[place - 1].text == "]":
        begin = place - 1
        depth = 1
        while begin and depth:
            begin -= 1
            depth += (found[begin].text == "]") - (found[begin].text == "[")
        if not begin or found[begin - 1].text != "@":
            return place
        place = begin - 1
    return place


def _without(found: list[Token], context: Sequence[str]) -> list[Token]:
    """Removes the context from the beginning of the tokens, whatever its layout."""
    size = len(context)
    texts = [token.text for token in found]
    for at in range(len(found) - size + 1) if size else ():
        if texts[at] == context[0] and texts[at : at + size] == context:
            return found[:at] + found[at + size :]
    return found


def _commands(text: str, found: Sequence[Token]) -> Iterator[str]:
    """Yields the commands before a response's theorem, rewritten.

    Attack: a notation, macro, instance or axiom that changes the meaning of the goal; or such a command after the names
    of an `open`. Names are quoted, so that they cannot contain keywords.
    """
    at = 0
    while at < len(found):
        word, begin = found[at].text, at
        at += 1
        if word == "open":
            end = _names(found, at)
            named = [token.text for token in found[at:end]]
            opened = ["open", *(["scoped"] if named[:1] == ["scoped"] else [])]
            named = named[len(opened) - 1 :]
            if named[1:2] == ["hiding"]:
                opened += [_quoted(named[0]), "hiding"]
                named = named[2:]
            opened += map(_quoted, named)
            at = end
            if at < len(found) and found[at].text == "(":
                end = _names(found, at + 1)
                opened += ["(", *(_quoted(token.text) for token in found[at + 1 : end]), ")"]
                at = end + 1
                if end >= len(found) or found[end].text != ")":
                    raise _extra(found[begin])
            if not named:
                raise _extra(found[begin])
            yield " ".join(opened)
        elif word == "universe":
            end = _names(found, at)
            yield " ".join(["universe", *(_quoted(token.text) for token in found[at:end])])
            at = end
        elif word == "variable":
            end = _brackets(found, at)
            if end == at:
                raise _extra(found[begin])
            bare = _bare(text[found[at].start : found[end - 1].end])
            _only_terms(bare)
            yield f"variable {bare}"
            at = end
        elif word == "set_option" and at + 1 < len(found) and _ONLY_EFFORT.fullmatch(found[at].text):
            at += 2
        elif word == "section" or (word == "noncomputable" and at < len(found) and found[at].text == "section"):
            at = _names(found, at + (word == "noncomputable"))
        else:
            raise _extra(found[begin])
        if at < len(found) and found[at].text == "in":
            at += 1


def _extra(token: Token) -> Refused:
    return Refused("extra_declarations", f"before the theorem only `open` and `variable` are allowed: {token.line}")


def _names(found: Sequence[Token], at: int) -> int:
    """The position after the names that begin at `at`."""
    while at < len(found) and found[at].kind == "word" and found[at].text not in _BEGINS:
        at += 1
    return at


def _brackets(found: Sequence[Token], at: int) -> int:
    """The position after the brackets that begin at `at`."""
    depth = 0
    while at < len(found) and (depth or found[at].text in _OPENING):
        depth += (found[at].text in _OPENING) - (found[at].text in _CLOSING)
        at += 1
    return at


def _quoted(word: str) -> str:
    return ".".join(f"«{part.translate(PLAIN)}»" for part in _PART.findall(word))


def _claim(rest: str, name: str, before: str) -> Claim:
    """Returns the claim in the text after a theorem's name. Raises Refused unless it consists of bracketed binders and
    a type.
    """
    universes = _LEVELS.match(rest)
    named = ""
    if universes is not None:
        named = ".{" + ", ".join(_LEVEL.findall(universes[1])) + "}"
        rest = rest[universes.end() :]
    depth = 0
    for token in code(rest):
        if token.text in _OPENING:
            depth += 1
        elif token.text in _CLOSING:
            depth -= 1
            if depth < 0:
                break
        elif token.text == ":" and depth == 0:
            binders, kind = _bare(rest[: token.start]), _bare(rest[token.start + 1 :])
            if not kind:
                break
            return Claim(name=name, before=before, levels=named, binders=binders, kind=kind)
        elif depth == 0:
            raise Refused("forbidden_construct", "binders must be in brackets")
    raise Refused("theorem_missing", "the theorem has no type")


def _bare(text: str) -> str:
    """Returns a text with comments blanked out. Raises Refused if its brackets are unbalanced or nested too deeply."""
    depth, last, kept = 0, 0, list[str]()
    for token in tokens(text):
        kept += [text[last : token.start], " " if token.kind == "comment" else token.text]
        last = token.end
        if token.kind == "comment":
            continue
        depth += (token.text in _OPENING) - (token.text in _CLOSING)
        if depth < 0:
            raise Refused("forbidden_construct", "a bracket closes that was not opened")
        if depth > MAX_DEPTH:
            raise Refused("too_expensive", f"more than {MAX_DEPTH} brackets are open at once")
    if depth:
        raise Refused("forbidden_construct", "a bracket does not close")
    return "".join(kept).strip()


def _only_terms(text: str) -> None:
    """Raises Refused for a text that could run code or contain more than terms. Attack: code in an interpolated
    string.
    """
    words = {token.text for token in suspects(text) if token.kind == "word"}
    if refused := sorted(words & _TERMS_ONLY):
        raise Refused("forbidden_construct", f"its type has {', '.join(refused)[:200]}")
    if _EVALUATED.search(text) is not None:
        raise Refused("forbidden_construct", "its type has a term that is evaluated")
