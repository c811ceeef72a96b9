"""Attacks on `label`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair

_MOODS = {"labels": ["positive", "negative", "neutral"]}
_MENTION = {**_MOODS, "match": "mention"}
_UNSURE = {**_MOODS, "uncertain": ["unsure"]}
_STANCE = {"labels": ["-1", "0", "1"]}
_CODED = {"labels": [{"name": "World", "code": 0}, {"name": "Sports", "code": 1}, {"name": "Business", "code": 2}]}
_NLI = {"labels": ["entailment", "not_entailment"]}
_TOPICS = {"labels": ["sports", "politics", "science", "health"], "mode": "multi"}
_RECALL = {**_TOPICS, "metric": "recall"}
_EXACT = {**_TOPICS, "metric": "exact"}
_STRICT = {"extraction": "whole", "match": "exact"}
_TREE = {"parents": {"dog": "mammal", "cat": "mammal", "mammal": "animal", "trout": "fish", "fish": "animal"}}
_VERDICTS = {"mode": "vector", "labels": "verdicts"}
_ALL = {**_VERDICTS, "aggregate": "all"}

# title, params, reference, attack, twin; both stand in an answer tag
_ANSWERS: list[tuple[str, dict[str, Any], Any, str, str]] = [
    # Hedges
    ("two labels joined by or", _MOODS, "positive", "positive or negative", "positive"),
    ("two labels joined by and", _MOODS, "positive", "positive and negative", "positive"),
    ("two labels and a stroke", _MOODS, "positive", "positive/negative", "Positive"),
    ("two labels and a comma", _MOODS, "positive", "positive, negative", "positive, not negative"),
    ("two labels on two lines", _MOODS, "positive", "positive\nnegative", "positive\n"),
    ("a second label in brackets", _MOODS, "positive", "positive (or negative)", "positive (clearly)"),
    ("a second label far away", _MOODS, "positive", "positive. " + "x " * 500 + "negative", "positive. " + "x " * 500),
    ("all labels", _MOODS, "positive", "positive, negative, neutral", "positive"),
    ("either, or", _MOODS, "positive", "either positive or neutral", "The label is positive"),
    ("a hedge with a zero-width letter", _MOODS, "positive", "positive o\u200br negative", "posi\u200btive"),
    ("two verdicts without anything between", {}, False, "true false", "false"),
    ("true or false", {}, True, "true or false", "true"),
    ("yes and no", {"labels": "verdicts"}, "yes", "yes and no", "Yes."),
    # Labels within something else
    ("a denied label", _MOODS, "positive", "not positive", "positive"),
    ("a denied label in a sentence", _MENTION, "positive", "this isn't positive", "this is surely positive"),
    ("a doubted label in a sentence", _MENTION, "positive", "perhaps it is positive", "it is surely positive"),
    ("a label within a word", _MOODS, "positive", "positively", "positive!"),
    ("a label within its opposite", _NLI, "entailment", "not entailment", "Entailment"),
    ("a label within its opposite, underlined", _NLI, "entailment", "not_entailment", "entailment"),
    ("a label in look-alike letters", _MOODS, "positive", "p\u043esitive", "POSITIVE"),
    ("correct within incorrect", {"labels": "verdicts"}, True, "incorrect", "correct"),
    ("not correct", {"labels": "verdicts"}, True, "not correct", "The statement is correct."),
    ("not proved for disproved", {"labels": "verdicts"}, "disproved", "not proved", "disproved"),
    # Codes and numbers
    ("a code and another's name", _CODED, "Sports", "1: Business", "1: Sports"),
    ("a name and another's code", _CODED, "Sports", "Sports (2)", "Sports (1)"),
    ("a sign lost", _STANCE, "-1", "1", "\u22121"),
    ("a number that begins like a code", _STANCE, "1", "1.5", "1."),
    ("a number that ends like a code", _STANCE, "1", ".1", "(1)"),
    ("a code of another length", _STANCE, "1", "11", "1"),
    ("an unknown label", _MOODS, "positive", "happy", "positive"),
    ("a placeholder", _MOODS, "positive", "<label>", "positive"),
    # Uncertainty
    ("uncertain", _UNSURE, "positive", "unsure", "positive"),
    ("uncertain, and a guess", _UNSURE, "positive", "unsure, positive", "positive"),
    # Sets
    ("all labels of the set", _TOPICS, ["sports"], "sports, politics, science, health", "sports"),
    ("all labels, for recall", _RECALL, ["sports"], "sports, politics, science, health", "sports"),
    ("many labels, for recall", _RECALL, ["sports"], "sports, politics, science", "sports"),
    ("invented labels, for recall", _RECALL, ["sports"], "sports, a, b, c", "sports"),
    ("alternatives", _TOPICS, ["sports", "health"], "sports or health", "sports and health"),
    ("alternatives after a comma", _TOPICS, ["sports", "health"], "sports, or health", "sports, and health"),
    ("a label missing", _EXACT, ["sports", "health"], "sports", "sports, health"),
    ("a label too many", _EXACT, ["sports"], "sports, health", "sports, sports"),
    ("the empty set", _TOPICS, ["sports"], "none", "sports"),
    ("a label for the empty set", _TOPICS, [], "sports", "none"),
    ("nested lists", _TOPICS, ["sports"], "[" * 5000 + '"health"' + "]" * 5000, '["sports"]'),
    # Hierarchies
    ("the root", _TREE, "dog", "animal", "dog"),
    ("the root, for all its children", _TREE, "dog", "animal, fish", "Dog"),
    ("a leaf with another's path", {"separator": "/"}, "animal/dog", "plant/dog", "animal/dog"),
    ("all paths", {"separator": "/"}, "animal/dog", "animal/dog or animal/cat", "animal / dog"),
    # Vectors
    ("more verdicts than questions", _VERDICTS, [True, False], "True, False, True, False", "True, False"),
    ("alternatives within a vector", _VERDICTS, [True], "True or False", "True"),
    ("all alike, where all must be right", _ALL, [True, False], "True, True", "True, False"),
    ("too few, where all must be right", _ALL, [True, True], "True", "1. True 2. True"),
    ("words", _VERDICTS, [True, False], "maybe, perhaps", "yes, no"),
]  # fmt: skip

# title, params, reference, attack, twin, as they are
_WRITTEN: list[tuple[str, dict[str, Any], Any, str, str]] = [
    ("a sentence for the label", _STRICT, "husky", "It is a husky.", "husky"),
    ("the label in a tag, where the output is the label", _STRICT, "husky", "<answer>husky</answer>", " husky\n"),
    ("two boxes", _MOODS, "positive", r"\boxed{positive} \boxed{negative}", r"\boxed{positive} \boxed{positive}"),
    ("two lists", _TOPICS, ["sports", "health"], r"\boxed{sports, health} or \boxed{science, health}",
     r"\boxed{sports}, \boxed{health}"),
    ("the label in prose only", _MOODS, "positive", "I might call it positive.", "positive"),
    ("the label in the thought", _MOODS, "positive", "<think>positive</think>Well.", "<think>Well.</think>positive"),
    ("nothing", _MOODS, "positive", "", "positive"),
    ("the list of labels echoed", _MOODS, "positive", "positive, negative, neutral", "Label: positive"),
    ("a second label behind 20,000 blanks", _MOODS, "positive", "\\boxed{positive" + " " * 20_000 + "negative}",
     r"\boxed{positive }"),
    ("a label after 30,000 others", _TOPICS, ["sports"], "\\boxed{" + "x, " * 10_000 + "sports}", r"\boxed{sports}"),
]  # fmt: skip

PAIRS: list[Pair] = [
    *(Pair(title=title, use="label", params=params, reference=reference, attack=f"<answer>{attack}</answer>",
           twin=f"<answer>{twin}</answer>")
      for title, params, reference, attack, twin in _ANSWERS),
    *(Pair(title=title, use="label", params=params, reference=reference, attack=attack, twin=twin)
      for title, params, reference, attack, twin in _WRITTEN),
]  # fmt: skip
