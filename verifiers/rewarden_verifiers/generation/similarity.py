"""`similarity`: measures how close a text is to the expected texts."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import spec_of, verifier
from rewarden_verifiers.extraction import extract
from rewarden_verifiers.generation import metrics, rouge
from rewarden_verifiers.generation.meaning import by_meaning
from rewarden_verifiers.generation.metrics import JOINT, Metric, Name
from rewarden_verifiers.generation.rouge import lcs
from rewarden_verifiers.generation.similarity_params import Reference, SimilarityParams, SimilarityReference, weighed
from rewarden_verifiers.generation.texts import Read, loops, read
from rewarden_verifiers.outcome import no_answer, too_expensive, wrong

MOST_CHARACTERS: Mapping[str, int] = {
    **dict.fromkeys(("rouge1", "rouge2"), 200_000),
    **dict.fromkeys(("bleu", "rougeL"), 100_000),
    **dict.fromkeys(("chrf", "chrf++", "rougeLsum", "edit"), 50_000),
    "ter": 20_000,  # and MOST_TER_WORDS
}
"""Maximum number of characters of a text, by metric: the computation then takes at most half a second."""
_MOST_LSUM_WORK = 500_000
"""Maximum number of backtracking steps of ROUGE-Lsum: two texts of 2,500 words in 100 lines each."""
_COPIED_WORDS = 4
_LONGEST_SOURCE = 100_000


@dataclass(frozen=True, slots=True, eq=False)
class Expected:
    """The prepared references, with the metrics that compare them."""

    references: tuple[Read, ...]
    source: Read | None
    metrics: Mapping[Name, Metric]
    limit: int


def expect(reference: Reference, params: SimilarityParams) -> Expected:
    """Prepares the references. Raises InvalidReference if there are none, one is blank, or one exceeds the metrics'
    limits.
    """
    given = reference.texts if isinstance(reference, SimilarityReference) else reference
    texts = (given,) if isinstance(given, str) else given
    if not texts:
        raise InvalidReference("the reference holds no text", path="reference")
    limit = min(MOST_CHARACTERS[name] for name in params.weights)
    for text in texts:
        if not text.strip():
            raise InvalidReference("the reference is blank", path="reference")
        if len(text) > limit:
            raise InvalidReference(
                f"the reference has {len(text)} characters; these metrics take at most {limit}", path="reference"
            )
    source = reference.source if isinstance(reference, SimilarityReference) else None
    references = tuple(read(text) for text in texts)
    for one in references:
        if not _affordable(one, one, params):
            raise InvalidReference(
                f"a reference of {len(one.words)} words in {len(one.lines)} lines is too long for TER (at most "
                f"{metrics.MOST_TER_WORDS} words) or ROUGE-Lsum (at most {_MOST_LSUM_WORK} steps)",
                path="reference",
            )
    return Expected(
        references,
        read(source[:_LONGEST_SOURCE]) if source is not None else None,
        {name: params.metric(name) for name in params.weights},
        limit,
    )


def _affordable(hypothesis: Read, reference: Read, params: SimilarityParams) -> bool:
    """Returns whether the metrics that take more than linear time are within their limits."""
    if "ter" in params.weights:
        found, wanted = len(hypothesis.text.split()), len(reference.text.split())
        if wanted > metrics.MOST_TER_WORDS or metrics.MOST_TER_WORDS < found < 2 * wanted:
            return False
    return "rougeLsum" not in params.weights or (rouge.lsum_work(hypothesis.lines, reference.lines) <= _MOST_LSUM_WORK)


def _measured(metric: Metric, name: Name, hypothesis: Read, references: Sequence[Read], how: str) -> float:
    if how == "together" and (len(references) == 1 or name in JOINT):
        return metric(hypothesis, references)
    each = [metric(hypothesis, (reference,)) for reference in references]
    return sum(each) / len(each) if how == "mean" else max(each)


@verifier(
    version="2",
    graded=True,
    prepare=expect,
    warm=metrics.load,
    optional={"text": "BLEU, chrF and TER"},
    variant=lambda params: spec_of(by_meaning) if "embedding" in params.weights else None,
)
def similarity(response: str, prepared: Expected, params: SimilarityParams, prompt: str | None = None) -> Outcome:
    """Measures similarity to one or several references, by BLEU, chrF, TER, ROUGE, edit distance or meaning.

    The reference is a text, a list of texts, or `{texts, source}`. BLEU, chrF and TER are sacrebleu's values divided by
    100 (extra `text`). ROUGE equals the reference implementation on ASCII, and works in every script. `embedding` is
    the cosine of the texts' vectors, from one of the server's models (see `embedding`). Several metrics are combined in
    a weighted mean, and the components hold each value. The score is graded; with `threshold`, it is 1 from that value
    upwards.

    These responses score 0:

    - a blank one (`no_answer`), or one without a single word if the references have words
    - a loop (`repeated`): few of its 4-grams are distinct, although those of the references are
    - a copy of the source or, with `copied`, of the prompt (`copied`)
    - one that is shorter or longer than `shortest` and `longest` allow (`wrong_length`)
    - several answers if only one is expected (`hedged`)
    - one beyond the limits of the metrics (`too_expensive`; 20,000 characters for `ter`, 50,000 to 200,000 for the
      others) or beyond the model's context (`too_long`)

    A similarity alone says little about quality; combine it with other verifiers. [translation.md](../translation.md)
    shows how for translations.
    """
    text = response
    evidence: dict[str, Any] = {}
    if params.extraction is not None:
        found = extract(response, params.extraction)
        if found is None:
            return no_answer()
        evidence["rule"] = found.rule
        if len(set(found.texts)) > 1:
            return wrong("hedged", flags=("hedged",), evidence=evidence)
        text = found.text
    if len(text) > prepared.limit:
        return too_expensive(evidence={**evidence, "characters": len(text), "most": prepared.limit})
    hypothesis = read(text)
    if not hypothesis.text or (not hypothesis.words and all(one.words for one in prepared.references)):
        return no_answer(evidence=evidence)
    if not all(_affordable(hypothesis, one, params) for one in prepared.references):
        return too_expensive(evidence={**evidence, "words": len(hypothesis.words), "lines": len(hypothesis.lines)})
    problem = _degenerate(hypothesis, prepared, params, prompt)
    if problem is not None:
        return wrong(problem, flags=(problem,), extracted=text[:200], evidence=evidence)
    values = {
        name: _measured(metric, name, hypothesis, prepared.references, params.references)
        for name, metric in prepared.metrics.items()
    }
    return weighed(values, params, evidence)


def _degenerate(hypothesis: Read, prepared: Expected, params: SimilarityParams, prompt: str | None) -> str | None:
    """Returns the reason why no metric may reward a text, or None."""
    if loops(hypothesis) and not all(loops(one) for one in prepared.references):
        return "repeated"  # a loop over the reference's frequent words earns unigram overlap
    if not any(_fits(hypothesis, one, params) for one in prepared.references):
        # Attack: several translations one after another. chrF is mostly recall, and gives nearly the credit of the best
        # one.
        return "wrong_length"
    source = prepared.source
    if source is None and params.copied is not None and prompt is not None:
        source = read(prompt[:_LONGEST_SOURCE])
    if source is None:
        return None
    share = params.copied if params.copied is not None else 0.9
    if _copies(hypothesis, source, share) and not any(_copies(one, source, share) for one in prepared.references):
        return "copied"  # returning the source is close to its translation, summary or correction
    return None


def _fits(hypothesis: Read, reference: Read, params: SimilarityParams) -> bool:
    """Returns whether a text's length is allowed for a reference, counted in letters and digits."""
    found, wanted = (sum(map(len, text.words)) for text in (hypothesis, reference))
    return (params.shortest or 0.0) * wanted <= found <= (params.longest or math.inf) * max(wanted, 1)


def _copies(text: Read, source: Read, share: float) -> bool:
    if len(text.words) < _COPIED_WORDS:
        return text.words == source.words
    return lcs(text.words, source.words) >= share * len(text.words)
