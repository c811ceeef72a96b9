"""Finds the SMILES in a response by the extraction rules, and removes markup. Several SMILES are a hedge."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_verifiers.extraction import Extracted, Ladder, first_found, rules_of
from rewarden_verifiers.science.smiles import Molecule, Problem, looks_like_smiles, read

_TAGGED = rules_of([{"tag": "SMILES"}, {"tag": "smiles"}])

_FENCE = re.compile(r"```[A-Za-z]{0,12}\n?|~~~[A-Za-z]{0,12}\n?")
_BLOCK = re.compile(r"```smi(?:les)?[ \t]{0,8}\n([^`]{1,4000})```", re.IGNORECASE)
_MOST_WORDS = 400
"""The number of words after a block that are searched for another molecule."""
_DRESS = re.compile(r"\\(?:text|texttt|textbf|mathrm|mathtt|ce|mbox)\s?\{([^{}]*)\}")
_LEAD = re.compile(
    r"\W{0,4}(?:the\s)?(?:canonical\s|isomeric\s|final\s|predicted\s|product\s){0,3}(?:smiles|product|molecule|answer)"
    r"(?:\sstring|\snotation|\sof[\w\s-]{1,60}?)?[*_]{0,3}\s{0,4}(?:\bis\b|[:=])[\s*:]{0,6}",
    re.IGNORECASE,
)
_TAGS = re.compile(r"</?(?:smiles|mol|molecule|answer)>|<br\s?/?>", re.IGNORECASE)
_OBJECT = re.compile(
    r'\{\s{0,8}"(?:smiles|molecule|product|answer)"\s{0,8}:\s{0,8}("[^"\n]{1,4000}")\s{0,8}\}', re.IGNORECASE
)
_BETWEEN = re.compile(r"[\s,;|]+")
_AROUND = "_`$\"'“”‘’ \t\r\n"
_SENTENCE_END = re.compile(r"\.(?=\s|$)")
_BLANKS = re.compile(r"\s+")


@dataclass(frozen=True, slots=True)
class Written:
    """A written answer: its text and meaning, or the problem with it."""

    text: str
    molecule: Molecule | None
    problem: Problem | Literal["hedged", "unparseable_answer"] | None
    rule: str


def ladder(extraction: Any) -> Ladder:
    """Parses the parameter `extraction`. Raises InvalidParams, naming the error."""
    return Ladder(extraction, {"smiles_tag": _smiles_tag}, marks=("smiles_tag",), loose=("last_line",))


def _smiles_tag(text: str) -> Extracted | None:
    return first_found(text, _TAGGED)


def located(response: str, rules: Ladder, prompt: str | None, finish_reason: str | None) -> Extracted | None:
    """The part of a response that is its answer, or None if no rule applies."""
    text = _FENCE.sub("", response) if "```" in response or "~~~" in response else response
    return rules.find(text, prompt=prompt, finish_reason=finish_reason)


def written(found: Extracted, response: str, attached: bool = False) -> Written:
    """Parses the molecule in an extracted answer; with `attached`, a fragment that marks its attachment point by "*".
    Never raises.
    """
    read_out = _of(found, attached)
    if found.rule == "last_line" and read_out.problem in ("malformed", "unparseable_answer"):
        return _in_block(response, attached) or read_out
    return read_out


def _in_block(response: str, attached: bool) -> Written | None:
    """The molecule in the only block labelled as SMILES, if the words after it explain it and offer no other."""
    blocks = list(_BLOCK.finditer(response))
    if len(blocks) != 1:
        return None
    written = _one(undressed(blocks[0].group(1)), "block", attached)
    words = response[blocks[0].end() :].split()
    if written.molecule is None or len(words) > _MOST_WORDS:
        return None
    for word in words:
        bare = word.strip("()`*_\"'.,;:!?")
        if bare != "I" and looks_like_smiles(bare):
            other = read(bare, attached)
            if isinstance(other, Molecule) and other.smiles != written.molecule.smiles:
                return None
    return written


def _of(found: Extracted, attached: bool) -> Written:
    read_out = [undressed(text) for text in found.texts]
    if len(set(read_out)) > 1:
        molecules = [molecule for text in read_out if isinstance(molecule := _first(text, attached), Molecule)]
        if len({molecule.smiles for molecule in molecules}) != 1 or len(molecules) < len(read_out):
            return Written(" ".join(read_out)[:200], None, "hedged", found.rule)
    return _one(read_out[-1], found.rule, attached)


def _first(text: str, attached: bool) -> Molecule | Problem:
    return read(text, attached) if text else "empty"


def _one(text: str, rule: str, attached: bool) -> Written:
    pieces = [piece for piece in _BETWEEN.split(text) if piece]
    if len(pieces) <= 1:
        meant = _first(pieces[0], attached) if pieces else "empty"
        if isinstance(meant, Molecule):
            return Written(pieces[0], meant, None, rule)
        return Written(text[:200], None, meant, rule)
    # "CCO (ethanol)": a name in brackets after the answer is no second answer, but another SMILES is.
    if len(pieces) > 64:
        return Written(text[:200], None, "unparseable_answer", rule)
    first = _first(pieces[0], attached)
    if isinstance(first, Molecule) and pieces[1].startswith("(") and pieces[-1].rstrip(".").endswith(")"):
        inner = [piece.strip("().") for piece in pieces[1:]]
        if not any(isinstance(_first(piece, attached), Molecule) for piece in inner if looks_like_smiles(piece)):
            return Written(pieces[0], first, None, rule)
    offered = [_first(bare, attached) for piece in pieces if looks_like_smiles(bare := piece.strip("()"))]
    several = sum(isinstance(meaning, Molecule) for meaning in offered) > 1
    return Written(text[:200], None, "hedged" if several else "unparseable_answer", rule)


def undressed(text: str) -> str:
    """Removes Markdown, TeX, quotes and leading words from a SMILES."""
    body = text.strip()
    whole = _OBJECT.fullmatch(body)
    if whole is not None:
        body = _value(whole.group(1))
    # TeX has to escape the sign of the triple bond; in a SMILES, one bond never follows another.
    body = _TAGS.sub(" ", body).replace("\\#", "#")
    for _ in range(2):
        body = _DRESS.sub(r"\1", body)
    body = _bare(body)
    lead = _LEAD.match(body)
    if lead is not None:  # "The SMILES is CCO. It is ethanol."
        body = _bare(_SENTENCE_END.split(body[lead.end() :], maxsplit=1)[0])
    return _unmarked(_BLANKS.sub(" ", body).rstrip(",;").removesuffix("."))


def _value(quoted: str) -> str:
    """Unescapes a JSON string; unchanged if it contains a bond that JSON would have escaped."""
    try:
        return str(json.loads(quoted))
    except ValueError:
        return quoted[1:-1]


def _unmarked(text: str) -> str:
    r"""Removes an enclosing `\(…\)`; no SMILES begins that way."""
    inner = text[2:-2]
    if text.startswith("\\(") and text.endswith("\\)") and "\\)" not in inner:
        return _bare(inner)
    return text


def _bare(text: str) -> str:
    """Removes enclosing emphasis, quotes and dollars. A lone star is an atom."""
    bare = text.strip(_AROUND)
    while bare.startswith("**") or bare.endswith("**"):
        bare = bare.removeprefix("**").removesuffix("**").strip(_AROUND)
    return bare
