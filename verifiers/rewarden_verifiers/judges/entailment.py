"""Claims checked by an entailment classifier: a cross-encoder that reads a passage and a claim.

It is a small model for use without a judge. It sees only the two texts and errs more often than a judge; its verdicts
are flagged accordingly.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Outcome, Sample, Use
from rewarden_verifiers.contract import Context
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.portions import cut

Word = Literal["supported", "refuted", "unknown"]

_PASSAGE = 400
"""Tokens per piece of a passage, by our estimate, which is about twice the real count for English: such models read
512.
"""

_MOST_PAIRS = 4000


@dataclass(frozen=True, kw_only=True)
class Entailment:
    """A classifier of text pairs. model: its name in `[models.named]`; null: the server's default. supported, refuted:
    its labels for a passage that entails or contradicts a claim, in any case, or their indices from 0; refuted can be
    null if the model has no such label. least: the share a label needs to count.
    """

    model: str | None = None
    supported: str | int = "entailment"
    refuted: str | int | None = "contradiction"
    least: float = 0.5

    def check(self, path: str) -> None:
        """Raises InvalidParams for options that make no sense."""
        if not 0 < self.least <= 1:
            raise InvalidParams(f"{path}.least must be above 0 and at most 1", path=f"{path}.least")
        if self.supported == self.refuted:
            raise InvalidParams(f"{path}.supported and refuted are one label", path=f"{path}.refuted")

    def use(self) -> Use:
        """Returns the use of the verifier that calls the classifier."""
        measures = {"supported": {"label": self.supported, "model": self.model}}
        if self.refuted is not None:
            measures["refuted"] = {"label": self.refuted, "model": self.model}
        return Use(name="style_metric", params={"on": "pair", "measures": measures, "copied": "ask", "hollow": "ask"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A claim, and the passage that decides it. models: versions by name. flags: the flags of the classifier's
    outcomes.
    """

    claim: str
    word: Word
    passage: str = ""
    reason: str = ""
    models: Mapping[str, str] = field(default_factory=dict)
    flags: tuple[str, ...] = ()


async def entailed(
    ctx: Context, entailment: Entailment, claims: Sequence[str], passages: Sequence[str]
) -> list[Checked] | Outcome:
    """Checks the claims and returns them in order; or the outcome of a pair that could not be scored.

    Raises InvalidReference if claims and evidence make too many pairs.
    """
    pieces = await offload(sum(map(len, passages)), _pieces, passages)
    if len(claims) * len(pieces) > _MOST_PAIRS:
        message = f"{len(claims)} claims and {len(pieces)} pieces of evidence are more than {_MOST_PAIRS} pairs"
        raise InvalidReference(message, path="reference")
    use = entailment.use()
    pairs = [Sample(prompt=piece, response=claim) for claim in claims for piece in pieces]
    found = await gather(*(ctx.verify(use, sample=one) for one in pairs))
    lacking = next((one for one in found if one.status != "scored"), None)
    if lacking is not None:
        return _told(lacking)
    rows = [found[place : place + len(pieces)] for place in range(0, len(found), len(pieces))]
    return [_checked(claim, row, pieces, entailment.least) for claim, row in zip(claims, rows, strict=True)]


def _told(outcome: Outcome) -> Outcome:
    """An outcome that names the parameters of whoever asked, and not those of the verifier that is asked for them."""
    said, evidence = outcome.feedback or "", dict(outcome.evidence)
    for word in ("supported", "refuted"):
        theirs, ours = f"params.measures.{word}.label", f"params.entailment.{word}"
        said = said.replace(theirs, ours)
        if evidence.get("path") == theirs:
            evidence["path"] = ours
    if said.startswith("params.entailment.refuted"):
        said += ". Set it to null for a model that has no such label"
    return replace(outcome, feedback=said or None, evidence=evidence)


def _pieces(passages: Sequence[str]) -> list[str]:
    return [text[start:end] for text in passages if text.strip() for start, end in cut(text, _PASSAGE)]


def _checked(claim: str, row: Sequence[Outcome], pieces: Sequence[str], least: float) -> Checked:
    """Combines the results for one claim. One supporting passage is enough even if another contradicts the claim, since
    that one may be about something else.
    """
    models: dict[str, Any] = {}
    for one in row:
        models |= one.evidence.get("models", {})
    flags = tuple(dict.fromkeys(flag for one in row for flag in one.flags))
    words: tuple[Word, ...] = ("supported", "refuted")
    for word in words:
        shares = [_share(one, word) for one in row]
        best = max(range(len(row)), key=shares.__getitem__)
        if shares[best] >= least:
            reason = f"the classifier finds it {word}, by {shares[best]:.2f}"
            return Checked(claim=claim, word=word, passage=pieces[best], reason=reason, models=models, flags=flags)
    reason = "no passage decides it, says the classifier"
    return Checked(claim=claim, word="unknown", reason=reason, models=models, flags=flags)


def _share(one: Outcome, word: Word) -> float:
    """Returns the share of a label; 0 if the claim is too long for the model."""
    component = one.components.get(word)
    return component.score if component is not None and component.score is not None else 0.0
