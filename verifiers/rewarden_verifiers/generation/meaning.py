"""The metric `embedding` of `similarity`: uses a model to measure how similar texts are in meaning."""

from __future__ import annotations

from dataclasses import fields

from rewarden.errors import InvalidReference
from rewarden.types import Outcome, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.extraction import extract
from rewarden_verifiers.generation.metrics import Name
from rewarden_verifiers.generation.similarity_params import Reference, SimilarityParams, SimilarityReference, weighed
from rewarden_verifiers.models.embeddings import cosines, near, vectors
from rewarden_verifiers.models.model_tasks import too_long
from rewarden_verifiers.models.resources import ModelResources
from rewarden_verifiers.models.seen import Seen

_OURS = frozenset({"metrics", "embedding", "threshold", "graded"})
_AS_GIVEN = {"part": "full", "special_tokens": []}
"""The view for a text that was viewed already: this verifier received it that way."""


def _of_text(params: SimilarityParams) -> Use:
    """`similarity` with only the text metrics. It also rejects texts that no metric rewards, so if no text metric is
    left, a cheap one is computed, and its value is ignored.
    """
    given = {item.name: getattr(params, item.name) for item in fields(params) if item.name not in _OURS}
    weights = {name: weight for name, weight in params.weights.items() if name != "embedding"}
    return Use(name="similarity", params={**given, "metrics": weights or "rouge1", "view": _AS_GIVEN})


@verifier(
    version="2",
    name="similarity",
    graded=True,
    determinism="tolerance",
    resources=ModelResources,
    children=lambda params: [_of_text(params)],
)
async def by_meaning(response: str, params: SimilarityParams, ctx: Context, reference: Reference) -> Outcome:
    """`similarity` with the metric `embedding`, alone or together with text metrics, which `similarity` computes
    itself.

    A text that earns nothing there earns nothing here, which is checked first. Raises InvalidReference for a reference
    beyond the model's context, and ModelError if the model returns no valid vectors.
    """
    judged = await ctx.verify(_of_text(params), response=response)
    if not judged.components:  # not measured: no answer, a copy, a loop, an invalid reference
        return judged
    text = response
    if params.extraction is not None and (found := extract(response, params.extraction)) is not None:
        text = found.text
    given = reference.texts if isinstance(reference, SimilarityReference) else reference
    texts = (given,) if isinstance(given, str) else given
    seen = Seen()
    wanted = await vectors(ctx, texts, params.embedding, seen, written=False)
    if wanted.long:
        error = next(iter(wanted.long.values()))
        raise InvalidReference(f"the reference is too long for the model: {error.message}", path="reference")
    own = await vectors(ctx, [text], params.embedding, seen)
    if text in own.long:
        return too_long(own.long[text])
    values = await cosines(own.of[text], [wanted.of[one] for one in texts])
    nearness = [near(value, params.embedding.scale) for value in values]
    best = sum(nearness) / len(nearness) if params.references == "mean" else max(nearness)
    measured: dict[Name, float] = {}
    for name in params.weights:
        known = None if name == "embedding" else judged.components[name].score
        measured[name] = best if known is None else known
    evidence = {**judged.evidence, "cosines": list(values[:16]), **seen.evidence()}
    return weighed(measured, params, evidence, tuple(seen.flags()))
