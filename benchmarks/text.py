"""Short answers per second on one core, next to rapidfuzz and a plain SQuAD script on the same pairs, in the same run.

Load: 250 references (names, places, years, phrases; one to three aliases) × 16 answers, 60 % right in other spellings;
references prepared; the answer is the whole response, or is in a tag after 600 characters of reasoning. Seconds are CPU
time, to exclude the machine's other load.
"""

from __future__ import annotations

import random
import re
import string
import time
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from rapidfuzz import fuzz

from benchmarks.report import Report
from rewarden.types import Outcome
from rewarden_verifiers.answer.text.params import TextParams
from rewarden_verifiers.answer.text.verifier import prepare, text

Pair = tuple[str, tuple[str, ...]]

_FIRST = ("Marie", "Albert", "Ada", "Niels", "Emmy", "Alan", "Grace", "Kurt", "Lise", "Paul")
_LAST = ("Curie", "Einstein", "Lovelace", "Bohr", "Noether", "Turing", "Hopper", "Meitner", "Dirac", "Borges")
_PLACES = ("Eiffel Tower", "University of Oxford", "Lake Geneva", "Treaty of Westphalia", "Battle of Hastings")
_PROSE = "We look at what is known and follow the hint in the second sentence, which leads to the person in question. "
_EACH = 4_000
_LEAST = 100_000


def pairs(seed: int = 7) -> list[Pair]:
    """Returns the 4,000 answers with their references."""
    rng = random.Random(seed)
    made: list[Pair] = []
    for number in range(250):
        if number % 3 == 0:
            first, last = rng.choice(_FIRST), rng.choice(_LAST)
            references: tuple[str, ...] = (f"{first} {last}", last, f"{last}, {first}")
        elif number % 3 == 1:
            references = (rng.choice(_PLACES),)
        else:
            references = (str(rng.randint(1500, 2020)),)
        gold = references[0]
        right = (gold, f"The {gold}", f"{gold}.", gold.lower(), f"**{gold}**", gold.upper())
        wrong = (f"{rng.choice(_FIRST)} {rng.choice(_LAST)}", rng.choice(_PLACES), str(rng.randint(1500, 2020)))
        made += [(rng.choice(right if place < 10 else wrong), references) for place in range(16)]
    return made[:_EACH]


def squad(answer: str) -> list[str]:
    """Returns SQuAD's normalisation in plain code."""
    bare = "".join(char for char in answer.lower() if char not in string.punctuation)
    return re.sub(r"\b(a|an|the)\b", " ", bare).split()


def squad_f1(answer: str, references: Sequence[str]) -> float:
    """Returns SQuAD's F1 in plain code: the best over the references."""
    best = 0.0
    for reference in references:
        one, other = squad(answer), squad(reference)
        common = sum((Counter(one) & Counter(other)).values())
        if common:
            precision, recall = common / len(one), common / len(other)
            best = max(best, 2 * precision * recall / (precision + recall))
    return best


def rate(work: Callable[[], object], number: int = _EACH) -> float:
    """Returns how many of `number` complete per second of CPU time: the best of seven runs."""
    best = float("inf")
    for _ in range(7):
        start = time.process_time()
        work()
        best = min(best, time.process_time() - start)
    return number / best


def ours(load: list[Pair], tagged: bool = False, **params: Any) -> Callable[[], list[Outcome]]:
    """Runs the verifier's function on prepared arguments."""
    made = TextParams(extraction="explicit" if tagged else "whole", **params)
    work = [
        (_PROSE * 6 + f"<answer>{answer}</answer>" if tagged else answer, prepare(references, made))
        for answer, references in load
    ]
    return lambda: [text(response, None, prepared, made) for response, prepared in work]


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    report = Report("text: 4,000 short answers, references prepared, one core, CPU time")
    load = pairs()
    bound = rate(lambda: [max(fuzz.ratio(answer, gold) for gold in golds) for answer, golds in load])
    plain = rate(lambda: [squad_f1(answer, golds) for answer, golds in load])
    report.figure("rapidfuzz.fuzz.ratio on the bare texts", bound, "/s")
    report.figure("SQuAD's F1, plain script", plain, "/s")
    rates = {mode: rate(ours(load, mode=mode)) for mode in ("exact", "normalised", "substring", "f1", "fuzzy")}
    for mode, each in rates.items():
        simple = mode in ("exact", "normalised")
        report.figure(f"mode {mode}", each, "/s", least=_LEAST if simple else None)
    report.figure("normalised, in a tag after 600 characters", rate(ours(load, tagged=True)), "/s")
    report.figure("f1: times the plain script", rates["f1"] / plain)
    report.figure("fuzzy: share of rapidfuzz's own rate", rates["fuzzy"] / bound)
    right = sum((outcome.score == 1.0) == (place % 16 < 10) for place, outcome in enumerate(ours(load)()))
    report.figure("share judged as labelled (some wrong answers are right by chance)", right / len(load), least=0.95)
    return report.broken
