"""The search: candidates against the grounds of verifiers, and what they farmed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.studies.farm.candidates import PIECES, Candidate, Pieces, candidate
from rewarden_server.studies.farm.grounds import Ground
from rewarden_verifiers.execution.modes import PROVENANCE

BATCH = 200
"""Candidates that are judged together."""


@dataclass(frozen=True, slots=True)
class Find:
    """A candidate that was farmed. kind: `unscored` or `paid`. seed: by which it is made again."""

    kind: str
    title: str
    seed: str
    text: str
    verdict: Verdict


@dataclass(slots=True)
class Tally:
    """The farmability of one verifier. untried: why there was no try. flagged: passes by weak tests."""

    verifier: str
    tries: int = 0
    unscored: int = 0
    paid: int = 0
    flagged: int = 0
    finds: list[Find] = field(default_factory=list)
    untried: str | None = None

    @property
    def per_ten_thousand(self) -> float:
        """Unscored and paid verdicts per 10,000 tries."""
        return 10_000 * (self.unscored + self.paid) / self.tries if self.tries else 0.0


async def farm(engine: Engine, verifier: str, grounds: Sequence[Ground], tries: int, seed: str) -> Tally:
    """The tally of so many tries, spread over a verifier's grounds."""
    tally = Tally(verifier)
    usable: list[tuple[Ground, Pieces]] = []
    for ground in grounds:
        pieces = await _worthless(engine, ground)
        if pieces is not None:
            usable.append((ground, pieces))
    if not usable:
        tally.untried = "no case in text whose right response passes here" if grounds else "no case in text"
        return tally
    for start in range(0, tries, BATCH):
        seeds = [f"{seed}:{number}" for number in range(start, min(tries, start + BATCH))]
        chosen = [usable[number % len(usable)] for number in range(start, start + len(seeds))]
        made = [candidate(ground, pieces, one) for (ground, pieces), one in zip(chosen, seeds, strict=True)]
        texts = [one.text for one in made]
        verdicts = await _judged(engine, [(ground, text) for (ground, _), text in zip(chosen, texts, strict=True)])
        for (ground, _), one, at, verdict in zip(chosen, made, seeds, verdicts, strict=True):
            _count(tally, ground, one, at, verdict)
    return tally


def _count(tally: Tally, ground: Ground, made: Candidate, seed: str, verdict: Verdict) -> None:
    tally.tries += 1
    if verdict.status != "scored":
        tally.unscored += 1
        tally.finds.append(Find("unscored", ground.title, seed, made.text, verdict))
    elif made.empty_handed and _earns(ground, verdict):
        if PROVENANCE & set(verdict.flags):
            tally.flagged += 1
        else:
            tally.paid += 1
            tally.finds.append(Find("paid", ground.title, seed, made.text, verdict))


async def _worthless(engine: Engine, ground: Ground) -> Pieces | None:
    """The pieces that earn nothing on a ground, and do not hold the right answer in a place where it does not count.

    None where a right response does not pass, so that nothing is known.
    """
    pieces = [*PIECES, *ground.wrong]
    right, *verdicts = await _judged(engine, [(ground, text) for text in (ground.right[0], *pieces)])
    if not _earns(ground, right):
        return None
    answer = str(right.extracted).strip() if right.extracted is not None else ""
    worthless = [
        piece
        for piece, verdict in zip(pieces, verdicts, strict=True)
        if not _earns(ground, verdict) and not (answer and answer in piece)
    ]
    return Pieces(tuple(worthless), joined=bool(answer))


async def _judged(engine: Engine, tries: Sequence[tuple[Ground, str]]) -> Sequence[Verdict]:
    samples = [_sample(ground, text) for ground, text in tries]
    return (await engine.verify(Batch(samples=samples), source="farm")).verdicts


def _sample(ground: Ground, text: str) -> Sample:
    use: Use = ground.use
    return replace(ground.sample, response=text, use=use, group=None, token_count=None, finish_reason=None)


def _earns(ground: Ground, verdict: Verdict) -> bool:
    """Returns whether a verdict pays: it passed, or its score is above what the cases give for nothing."""
    if verdict.status != "scored" or verdict.score is None:
        return False
    if verdict.passed is not None:
        return verdict.passed
    return verdict.score > ground.floor
