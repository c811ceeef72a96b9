"""English words in answers: words to ignore, words that join, and words with a mathematical meaning."""

# ruff: noqa: SIM905 (long word lists read better as text)
from __future__ import annotations

import re

from rewarden_verifiers.answer.number.words import SMALL

# The signs for "and" and "or", which join propositions; the words can also join the values of a list.
CONJUNCTION, DISJUNCTION = r"\wedge", r"\vee"
BOTH = frozenset({"and", CONJUNCTION})
EITHER = frozenset({"or", DISJUNCTION})
JOINERS = BOTH | EITHER
# Words in a condition that exclude each other within a group: an even n is not odd.
PROPERTIES = {
    "even": "parity", "odd": "parity", "positive": "sign", "negative": "sign", "nonnegative": "sign",
    "nonpositive": "sign", "prime": "divisors", "composite": "divisors", "rational": "rationality",
    "irrational": "rationality",
}  # fmt: skip
SUCH_THAT = frozenset({"such", "that", "with"})
EXTREMES = {"max": "maximum", "min": "minimum"}
QUANTIFIED = frozenset({"all", "any", "every", "each"})
CURRENCIES = frozenset({"rs", "inr", "usd", "eur", "gbp"})
ORDINALS = frozenset({"st", "nd", "rd", "th"})
OR_WORDS = frozenset({"or"})
AND_WORDS = frozenset({"and"})
# After one of these comes a condition on the answer, which is not part of it: "2k for all integers k".
CONDITION_WORDS = frozenset({"for", "if", "where", "when", "with", "such", "provided", "given", "whenever", "unless"})
# After a value these are neither its unit nor a remark: the text after them changes the answer or adds another one.
HEDGES = frozenset(
    """not maybe perhaps possibly otherwise else but never alternatively nor versus vs wrong incorrect false""".split()
)
DOUBTS = frozenset({"maybe", "perhaps", "possibly"})
NEVER_UNITS = frozenset({*JOINERS, "is", "are", "base"})
# Words that can come before the actual answer.
LEADING_WORDS = frozenset({"answer", "is", "the", "are", "only", "about", "approximately", "exactly", "either", "both"})

ENGLISH = frozenset(
    """a all an any are as at be both but by can day each east even ever false few first four five has he her his how
    in infinite is it its least left less likely many max may men min more most nine no none north not now odd of off
    on one only other our out over pair per red right she six some south sum ten than that the then they this three
    to too true two under up via was we west who will yes yet you zero""".split()
)

NUMBER_WORDS = {**SMALL, "twenty": 20}

INFINITE = frozenset({"infinitely many", "infinite", "infinity", "infinite number", "an infinite number", "inf", "oo"})
NOTHING = frozenset(
    {
        "no solution", "no solutions", "none", "no real solution", "no real solutions", "there are no solutions",
        "there is no solution", "empty set", "the empty set", "no such number", "no such numbers", "no roots",
        "no real roots", "no answer exists", "nil", "no integer solutions", "no such x", "phi",
    }
)  # fmt: skip
EVERYTHING = frozenset({"all real numbers", "all reals", "any real number", "all real x", "every real number", "reals"})
UNDEFINED = frozenset(
    {"undefined", "does not exist", "dne", "not defined", "do not exist", "doesn't exist", "no limit", "nonexistent"}
)
YES = {"yes": "yes", "true": "yes", "no": "no", "false": "no", "correct": "yes", "incorrect": "no"}

_TOKEN = re.compile(r"\d+(?:\.\d+)?|[^\W\d_]+|[-+*/=<>^%]", re.UNICODE)
_COMMAND = re.compile(r"\\(?:text|textbf|textit|textrm|mathrm|mathbf|operatorname|mbox)\b|\\[,;:! ]|\\quad")
_ARTICLES = frozenset({"a", "an", "the"})
_CHOICE = re.compile(r"(?:option|choice|answer)?\s*[(\[]?\s*([A-Za-z])\s*[)\]]?\s*[.:]?", re.IGNORECASE)


def plain(text: str) -> str:
    """Words and numbers in lower case, with single spaces; signs and decimal points of numbers stay, and so does a lone
    article.
    """
    tokens = _TOKEN.findall(_COMMAND.sub(" ", text).casefold())
    kept = [token for token in tokens if token not in _ARTICLES]
    return " ".join(kept or tokens)


def choice(text: str) -> str | None:
    """The letter of an answer that consists of one letter, bracketed or not: `(A)`, `A.`, `option a`."""
    found = _CHOICE.fullmatch(_COMMAND.sub(" ", text).replace("{", " ").replace("}", " ").strip())
    return found[1].upper() if found else None


def tidy(phrase: str) -> str:
    """Plain words without an introduction to the answer."""
    parts = phrase.split()
    while len(parts) > 1 and parts[0] in LEADING_WORDS:
        parts.pop(0)
    return " ".join(parts)
