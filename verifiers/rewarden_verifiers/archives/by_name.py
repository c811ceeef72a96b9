"""`novelty` against an archive that the server keeps under the caller's name."""

from __future__ import annotations

import asyncio
import sqlite3
from dataclasses import dataclass, field, fields, replace

from rewarden.errors import InvalidSample, SampleError
from rewarden.types import Outcome, Sample, Use
from rewarden_verifiers.archives.by_meaning import MOST_VECTORS
from rewarden_verifiers.archives.kept import Keeper
from rewarden_verifiers.archives.novelty_params import NoveltyParams
from rewarden_verifiers.contract import Context, verifier

_AS_GIVEN = {"part": "full", "special_tokens": []}
"""The view for a text that was viewed already: this verifier received it that way."""
_TEXTS = "texts"


@dataclass(frozen=True, kw_only=True)
class ArchiveResources:
    """keeper: keeps the archives. Their content is not part of a fingerprint: verdicts state that they depend on it."""

    keeper: Keeper = field(default_factory=Keeper)

    @property
    def fingerprint(self) -> str:
        """See `rewarden_verifiers.contract.Resources`."""
        return ""


def _against_texts(params: NoveltyParams) -> Use:
    """`novelty` against texts given in the row."""
    given = {one.name: getattr(params, one.name) for one in fields(params) if one.name not in ("name", "archive")}
    return Use(name="novelty", params={**given, "archive": f"metadata.{_TEXTS}", "view": _AS_GIVEN})


@verifier(
    version="1",
    name="novelty",
    graded=True,
    determinism="stateful",
    resources=ArchiveResources,
    children=lambda params: [_against_texts(params)],
)
async def by_name(
    response: str, sample: Sample, params: NoveltyParams, resources: ArchiveResources, ctx: Context
) -> Outcome:
    """`novelty` with the parameter `name`: reads the archive, judges in a worker, and adds the response if it is new.

    Raises InvalidSample for a sample without an id, and SampleError if the archive cannot be read or written.
    """
    name = params.name or ""
    if not sample.id:
        message = "a sample needs an id with a named archive: without one, a retry matches its own first attempt"
        raise InvalidSample(message, path="id")
    text = response.encode("utf-8", "replace").decode("utf-8")  # lone surrogates cannot be stored
    try:
        texts = await asyncio.to_thread(resources.keeper.texts, name, sample.id, text)
        if params.by == "embedding":
            texts = texts[-MOST_VECTORS:]
        judged = await ctx.verify(_against_texts(params), response=response, metadata={_TEXTS: texts})
        if judged.status == "scored" and judged.score:
            await asyncio.to_thread(resources.keeper.add, name, sample.id, text)
    except sqlite3.Error as error:
        raise SampleError(f"the archive {name!r} cannot be used: {error}") from error
    about = {**judged.evidence.get("archive", {}), "name": name}
    return replace(judged, evidence={**judged.evidence, "archive": about}, flags=(*judged.flags, "kept_archive"))
