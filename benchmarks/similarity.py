"""Similarities per second, each metric against its library alone, on one core in the same process.

Load: 400 pairs of a hypothesis and a reference of about 25 words each, with a third of the words changed or moved.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable

from benchmarks.report import Report
from rewarden_verifiers.generation.similarity import SimilarityParams, expect, similarity

_WORDS = (  # noqa: SIM905
    "the river rose quickly after storm and farmers moved their animals to higher ground by noon bridge was closed "
    "volunteers filled sandbags near old mill mayor asked everyone stay home evening water began fall again"
).split(" ")


def pairs(count: int = 400, words: int = 25, seed: int = 5) -> list[tuple[str, str]]:
    """Returns hypotheses and references."""
    rng = random.Random(seed)
    made = []
    for _ in range(count):
        base = [rng.choice(_WORDS) for _ in range(words)]
        other = [word if rng.random() < 0.7 else rng.choice(_WORDS) for word in base]
        cut = rng.randrange(words) if rng.random() < 0.3 else 0
        made.append((" ".join(other[cut:] + other[:cut]), " ".join(base)))
    return made


def _rate(call: Callable[[str, str], object], load: list[tuple[str, str]]) -> float:
    call(*load[0])
    start = time.perf_counter()
    for hypothesis, reference in load:
        call(hypothesis, reference)
    return len(load) / (time.perf_counter() - start)


def _ours(name: str) -> Callable[[str, str], object]:
    params = SimilarityParams(metrics=name)  # type: ignore[arg-type]
    return lambda hypothesis, reference: similarity(hypothesis, expect(reference, params), params)


def run() -> list[str]:
    """Runs and reports; returns the broken promises."""
    from rapidfuzz.distance import Levenshtein
    from sacrebleu.metrics import BLEU, CHRF, TER

    report = Report("similarity: 400 pairs of 25 words, one core, references not prepared")
    load = pairs()
    bleu, chrf, ter = BLEU(effective_order=True), CHRF(), TER(case_sensitive=True)
    plain: dict[str, Callable[[str, str], object]] = {
        "bleu": lambda hypothesis, reference: bleu.sentence_score(hypothesis, [reference]),
        "chrf": lambda hypothesis, reference: chrf.sentence_score(hypothesis, [reference]),
        "ter": lambda hypothesis, reference: ter.sentence_score(hypothesis, [reference]),
        "edit": Levenshtein.normalized_similarity,
    }
    for name, call in plain.items():
        some = load[:40] if name == "ter" else load
        theirs, ours = _rate(call, some), _rate(_ours(name), some)
        report.figure(f"{name}, its library alone", theirs, "/s")
        report.figure(f"{name}, Rewarden", ours, "/s")
        if name != "edit":  # a call of a microsecond: the code around it takes longer
            report.figure(f"{name}, share of the library's speed", ours / theirs, least=0.5)
    for name in ("rouge1", "rouge2", "rougeL", "rougeLsum"):
        report.figure(f"{name}, Rewarden", _rate(_ours(name), load), "/s")
    return report.broken
