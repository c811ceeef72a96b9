"""`novelty` by vectors from a model."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from rewarden.errors import InvalidReference
from rewarden.types import Outcome, Use
from rewarden_verifiers.archives.known_texts import known_texts
from rewarden_verifiers.archives.novelty_params import NoveltyParams, as_new
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.models.embeddings import cosines, near, vectors
from rewarden_verifiers.models.model_tasks import too_long
from rewarden_verifiers.models.resources import ModelResources
from rewarden_verifiers.models.seen import Seen

MOST_VECTORS = 256
"""Maximum number of texts of an archive that are embedded."""
_AS_GIVEN = {"part": "full", "special_tokens": []}
"""The view for a text that was viewed already: this verifier received it that way."""


def _by_ngrams(params: NoveltyParams) -> Use:
    given = {one.name: getattr(params, one.name) for one in fields(params) if one.name not in ("by", "embedding")}
    return Use(name="novelty", params={**given, "passing": None, "view": _AS_GIVEN})


@verifier(
    version="1",
    name="novelty",
    graded=True,
    determinism="tolerance",
    resources=ModelResources,
    children=lambda params: [_by_ngrams(params)],
)
async def by_meaning(
    response: str,
    params: NoveltyParams,
    ctx: Context,
    reference: Any = None,
    metadata: Mapping[str, Any] | None = None,
) -> Outcome:
    """`novelty` with `by: embedding`. A response that scores nothing by n-grams, such as a copy, is not sent to the
    model.

    Raises InvalidReference for an archive of more than 256 texts, or a text beyond the model's context.
    """
    judged = await ctx.verify(_by_ngrams(params), response=response)
    if judged.status != "scored" or not judged.score:
        return judged
    texts = known_texts(reference, metadata, params)
    if len(texts) > MOST_VECTORS:
        message = f"by: embedding compares with at most {MOST_VECTORS} texts; the archive has {len(texts)}"
        raise InvalidReference(message, path=params.archive)
    seen = Seen()
    wanted = await vectors(ctx, texts, params.embedding, seen, written=False)
    if wanted.long:
        message = f"a text of the archive is too long for the model: {next(iter(wanted.long.values())).message}"
        raise InvalidReference(message, path=params.archive)
    own = await vectors(ctx, [response], params.embedding, seen)
    if response in own.long:
        return too_long(own.long[response])
    values = await cosines(own.of[response], [wanted.of[text] for text in texts])
    best = max(range(len(values)), key=values.__getitem__, default=None)
    about: dict[str, Any] = {"archive": judged.evidence["archive"], **seen.evidence()}
    if best is None:
        return as_new(1.0, params, evidence=about, flags=seen.flags())
    about |= {"nearest": best, "cosine": values[best]}
    return as_new(1.0 - near(values[best], "positive"), params, evidence=about, flags=seen.flags())
