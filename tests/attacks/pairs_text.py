"""Attacks on `text`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

_COVER = {"mode": "substring"}
_TWO = {"mode": "two_way"}
_F1 = {"mode": "f1"}
_FUZZY = {"mode": "fuzzy"}
_PARTIAL = {"mode": "fuzzy", "scorer": "partial"}
_REGEX = {"mode": "regex"}
_ASKED = "Which city is larger, Paris or London?"

# title, params, reference, attack, twin; both stand in an answer tag
_ANSWERS: list[tuple[str, dict[str, Any], Any, str, str]] = [
    # Numbers and signs that careless normalisation loses
    ("a name in brackets", {}, "Barack Obama", "**Barack Obama** (or **Joe Biden**)", "**Barack Obama** (born 1961)"),
    ("a name in brackets without or", {}, "Barack Obama", "Barack Obama (Joe Biden)", "Barack Obama (the 44th president)"),
    ("a decimal point lost", {}, "1.5", "15", "1.5."),
    ("a decimal point gained", {}, "15", "1.5", "15."),
    ("a sign lost", {}, "-5", "5", "\u22125"),
    ("a sign gained", {}, "5", "-5", "$5"),
    ("a sign lost before money", {}, "-$5", "$5", "-5"),
    ("a sign within a sentence", _COVER, "5", "it is -5", "it is 5"),
    ("a fraction run together", {}, "1/2", "12", "½"),
    ("a range run together", {}, "10-20", "1020", "10\u201320"),
    ("a ratio run together", {}, "2:1", "21", "2:1"),
    ("an exponent flattened", {}, "10²", "102", "10^2"),
    ("an exponent's sign lost", {}, "1e-5", "1e5", "1E-5"),
    ("digits grouped wrongly", {}, "1,000", "1,00", "1000"),
    ("a list of digits for a number", {}, "123", "1,2,3", "1\u200b23"),
    ("circled digits", {}, "12", "①②", "１２"),
    ("a NUL between digits", {}, "12", "1\x002", "12"),
    ("a combining mark on a digit", {}, "12", "12\u0301", "12"),
    ("text in the other direction", {}, "12", "\u202e21", "12"),
    ("half of a surrogate pair", {}, "12", "12\ud800", "12"),
    ("the other bound", {}, "<5", ">5", "< 5"),
    ("one number of many digits for another", _FUZZY, "100000000000001", "100000000000002", "100000000000001."),
    # Names that it loses
    ("a lone letter dropped", {}, "Vitamin A", "Vitamin", "vitamin a"),
    ("a lone A for an article", _COVER, "A", "a cat", "A"),
    ("an article for an article", {}, "A", "The", "A."),
    ("punctuation for punctuation", {}, "?", "!", "?"),
    ("the other blood group", {}, "O-", "O+", "O\u2212"),
    ("another language", {}, "C++", "C#", "c++"),
    ("look-alike letters", {}, "Paris", "P\u0430ris", "PARIS"),
    ("an accent", {}, "año", "ano", "AÑO"),
    # yes and no
    ("no within other words", _COVER, "no", "not sure, unknown", "No, because it is odd"),
    ("no within an idea", _COVER, "no", "no idea at all", "no"),
    ("no within a negation", _COVER, "no", "There is no doubt that it is so", "No: it is not"),
    ("yes, then no", _COVER, "yes", "Yes. No.", "Yes."),
    ("no, then yes", _COVER, "no", "no, yes", "no, never"),
    ("yes and no", _F1, "yes", "yes and no", "yes"),
    ("yes within a sentence, for partial credit", _F1, "yes", "yes it certainly is", "Yes"),
    ("nearly no", _FUZZY, "no", "now", "No"),
    # Hedges
    ("two names joined by or", {}, "Paris", "Paris or London", "Paris"),
    ("two names joined by or, for cover", _COVER, "Paris", "Paris or London", "the city of Paris"),
    ("two names joined by or, for F1", _F1, "Paris", "Paris or London", "Paris"),
    ("two names and a stroke", _COVER, "Paris", "Paris/London", "Paris"),
    ("two names and a bar", _COVER, "Paris", "Paris | London", "Paris"),
    ("two names and a semicolon", _COVER, "Paris", "Paris; London", "Paris"),
    ("a list of candidates", _COVER, "Paris", "London, Rome, Paris, Oslo", "Paris, France"),
    ("a list of candidates on lines", _COVER, "Paris", "London\nRome\nParis\nOslo", "Paris\nin France"),
    ("a list of candidates, for F1", _F1, "Paris", "London, Rome, Paris, Oslo", "paris"),
    ("or in another script", _COVER, "Paris", "London或Paris", "Paris"),
    ("a denial", _COVER, "Paris", "It is not Paris", "It is Paris"),
    ("a denial afterwards", _COVER, "Paris", "Paris is wrong", "Paris is right"),
    ("a denial, and the other", _COVER, "Paris", "not in Paris but London", "not in London but Paris"),
    ("padding that covers everything", _COVER, "Paris", "Paris " + "and then London " * 15, "Paris and then London"),
    ("padding, for F1", _F1, "Paris", "Paris " + "and then London " * 15, "Paris"),
    ("padding, for a partial ratio", _PARTIAL, "Paris", "Paris " + "and then London " * 15, "in Paris itself"),
    # Silence
    ("I do not know", {}, "Paris", "I do not know", "Paris"),
    ("I do not know, for cover", _COVER, "not know", "I do not know", "not know"),
    ("I do not know, for F1", _F1, "what I know", "I don\u2019t know.", "what I know"),
    ("I do not know, for a pattern", _REGEX, "(?i)[a-z' ]+n", "I don't kno", "Berlin"),
    ("a refusal that guesses", _COVER, "Paris", "I don't know, maybe Paris", "Paris, maybe"),
    ("a blank", {}, "Paris", " \u200b ", "Paris"),
    # Parts of the reference
    ("a common word of the reference", _TWO, "the University of the Arts", "of the", "University of the Arts"),
    ("one letter of the reference", _TWO, "a b c d e", "c", "a b c d"),
    ("one letter, for a partial ratio", _PARTIAL, "Paracelsus", "a", "Paracelsus"),
    ("a third of the reference, for a partial ratio", _PARTIAL, "Paracelsus", "Para", "by Paracelsus"),
    ("a longer word", _COVER, "art", "party", "an art"),
    # Size and cost
    ("a pattern that would backtrack", _REGEX, "(a*)*b", "a" * 15_000, "a" * 15_000 + "b"),
    ("one token of great length", _FUZZY, "Paris", "x" * 19_000, "Paris"),
    ("a thousand times the right word", _F1, "Paris", "Paris " * 1000, "Paris"),
    ("one word over and over", _F1, "the cat sat on a mat and slept", "cat " * 41, "the cat sat on a mat and slept"),
]  # fmt: skip

# title, params, attack, twin, where the question was asked; the reference is London
_ECHOES: list[tuple[str, dict[str, Any], str, str]] = [
    ("the question", _COVER, _ASKED, "London"),
    ("the question, for F1", _F1, _ASKED, "London"),
    ("the question in bold and small letters", _COVER, f"**{_ASKED.lower()}**", "**London**"),
    ("the question without its mark", _COVER, "Which city is larger Paris or London", "London is larger"),
    ("most of the question", _COVER, "larger, Paris or London", "the larger is London"),
    ("the question, then the other city", _COVER, f"{_ASKED} Paris", f"{_ASKED} London"),
    ("the question twice", _COVER, f"{_ASKED} {_ASKED}", f"{_ASKED} {_ASKED} London"),
]  # fmt: skip

# title, reference, attack, twin, as they are
_WRITTEN: list[tuple[str, Any, str, str]] = [
    ("two boxes", "Paris", r"\boxed{Paris} or \boxed{London}", r"\boxed{London}. Wait, no: \boxed{Paris}"),
    ("two tags", "Paris", "<answer>London</answer> <answer>Paris</answer>", "<answer>Paris</answer>"),
    ("the answer in prose only", "Paris", "It could be Paris, I think.", "The answer is Paris."),
    ("nothing", "Paris", "", r"\boxed{Paris}"),
    ("a box that never closes", "Paris", r"\boxed{Paris", r"\boxed{Paris}"),
    ("a second answer behind 20,000 blanks", "Paris", "\\boxed{Paris" + " " * 20_000 + "or London}", r"\boxed{Paris }"),
    ("an answer of 30,000 characters", "Paris", "\\boxed{" + "Paris " * 5000 + "}", r"\boxed{Paris }"),
]  # fmt: skip

PAIRS: list[Pair] = [
    *(Pair(title=title, use="text", params=params, reference=reference, attack=f"<answer>{attack}</answer>",
           twin=f"<answer>{twin}</answer>")
      for title, params, reference, attack, twin in _ANSWERS),
    *(Pair(title=title, use="text", params=params, reference="London", attack=f"<answer>{attack}</answer>",
           twin=f"<answer>{twin}</answer>", fields={"prompt": f"Answer in a tag.\n\nQuestion: {_ASKED}"})
      for title, params, attack, twin in _ECHOES),
    *(Pair(title=title, use="text", reference=reference, attack=attack, twin=twin)
      for title, reference, attack, twin in _WRITTEN),
]  # fmt: skip
