"""The search: candidates against the grounds of verifiers, and what they farmed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.errors import SampleError
from rewarden.types import Batch, Sample, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.studies.farm.candidates import PIECES, Candidate, Pieces, candidate
from rewarden_server.studies.farm.grounds import Ground, grounds_of
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.execution.modes import PROVENANCE
from rewarden_verifiers.judges.resources import JUDGING
from rewarden_verifiers.models.resources import MODELLED
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_params

BATCH = 200
"""Candidates that are judged together."""

WEAK = PROVENANCE | {"shared_process", "screen_only"}
"""Flags of passes by tests that are weak or share a process with the candidate, and by Lean's screen alone, which does
not compare what is proven."""
FREE_TEXT = frozenset(("free_text_reference", "option_unknown"))
"""Reasons for which a verdict is undecided because its reference does not say enough: prose, or a letter whose options
nobody gives. Such a data set needs a `fallback`, or its options."""

_LEARNED = frozenset({*JUDGING, *MODELLED, "cascade"})
_EXECUTED = frozenset({"code", "dafny", "formalization", "kernel", "lean", "rocq", "verilog"})
"""Verifiers of programs and proofs: no piece is a right one, and each takes rooms to try."""


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
    """The farmability of one verifier. untried: why there was no try. flagged: passes by weak tests. free_text:
    undecided for want of a reference that says enough. learned: a judge or a model has a say, so that the tally is
    reported and held to nothing.
    """

    verifier: str
    tries: int = 0
    unscored: int = 0
    paid: int = 0
    flagged: int = 0
    free_text: int = 0
    finds: list[Find] = field(default_factory=list)
    untried: str | None = None
    learned: bool = False
    seconds: float = 0.0

    @property
    def per_ten_thousand(self) -> float:
        """Unscored and paid verdicts per 10,000 tries."""
        return 10_000 * (self.unscored + self.paid) / self.tries if self.tries else 0.0


@dataclass(frozen=True, slots=True)
class Field:
    """A ground, with the pieces that earn nothing on it."""

    ground: Ground
    pieces: Pieces

    def candidate(self, seed: str) -> Candidate:
        """The candidate of a seed here."""
        return candidate(self.ground, self.pieces, seed)


def parts_of(registry: Registry, spec: VerifierSpec, params: Mapping[str, Any] | None = None) -> frozenset[str]:
    """The names of a verifier or recipe and of all that it may ask, with these parameters and else its default ones."""
    found = {spec.name}
    with suppress(SampleError, TypeError, ValueError):  # a parameter is required, or known at a sample only
        for use in spec.children(parse_params(spec, params or {})) if spec.children is not None else ():
            if use.name is not None and use.name not in found:
                found |= parts_of(registry, registry.get(use.name), use.params)
    return frozenset(found)


async def farm(engine: Engine, verifier: str, grounds: Sequence[Ground], tries: int, seed: str) -> Tally:
    """The tally of so many tries, spread over a verifier's grounds. The candidate of number n has the seed `SEED:n`.

    Of a verifier of groups a candidate takes the place of one response, and none of the group may go unscored.
    """
    began = time.monotonic()
    spec = engine.registry.get(verifier)
    parts = parts_of(engine.registry, spec)
    tally = Tally(verifier, learned=bool(parts & _LEARNED))
    if tally.learned and not (engine.judges.status() or engine.models.status()):
        tally.untried = "learned: no judge and no model is configured"
    elif not grounds:
        tally.untried = "no case in text"
    else:
        usable = await fields_of(engine, grounds, parts)
        if usable:
            await _search(engine, usable, tries, seed, tally)
        else:
            tally.untried = "no case in text whose right response passes here"
    tally.seconds = time.monotonic() - began
    return tally


async def fields_of(engine: Engine, grounds: Sequence[Ground], parts: frozenset[str]) -> list[Field]:
    """The grounds of which a right response passes here, each with its pieces. parts: see `parts_of`."""
    executed = bool(parts & _EXECUTED)
    usable = []
    for ground in grounds:
        pieces = await _worthless(engine, ground, executed)
        if pieces is not None:
            usable.append(Field(ground, pieces))
    return usable


async def _search(engine: Engine, usable: Sequence[Field], tries: int, seed: str, tally: Tally) -> None:
    for start in range(0, tries, BATCH):
        numbers = range(start, min(tries, start + BATCH))
        chosen = [place(usable, number) for number in numbers]
        made = [one.candidate(f"{seed}:{number}") for one, number in zip(chosen, numbers, strict=True)]
        asked = [(one.ground, what.text) for one, what in zip(chosen, made, strict=True)]
        verdicts = await _judged(engine, asked)
        for one, what, number, verdict in zip(chosen, made, numbers, verdicts, strict=True):
            _count(tally, one.ground, what, f"{seed}:{number}", verdict)


def place(usable: Sequence[Field], number: int) -> Field:
    """The field of the candidate of a number: each has its turn."""
    return usable[number % len(usable)]


async def replay(engine: Engine, seed: str) -> Find:
    """The candidate of a seed as a find gives it (`SEED:VERIFIER:NUMBER`), and its verdict now; `kind` is empty if it
    earns nothing.

    Raises ValueError for what is no such seed.
    """
    head, _, last = seed.rpartition(":")
    name = head.rpartition(":")[2]
    if not name or not last.isdigit():
        raise ValueError(f"{seed!r} is not a seed of a find: SEED:VERIFIER:NUMBER is")
    spec = engine.registry.get(name)
    usable = await fields_of(engine, grounds_of(spec), parts_of(engine.registry, spec))
    if not usable:
        raise ValueError(f"{name} cannot be searched here")
    chosen = place(usable, int(last))
    made = chosen.candidate(seed)
    (verdict,) = await _judged(engine, [(chosen.ground, made.text)])
    tally = Tally(name)
    _count(tally, chosen.ground, made, seed, verdict)
    return tally.finds[0] if tally.finds else Find("", chosen.ground.title, seed, made.text, verdict)


def _count(tally: Tally, ground: Ground, made: Candidate, seed: str, verdict: Verdict) -> None:
    tally.tries += 1
    if verdict.status == "undecided" and verdict.reason in FREE_TEXT:
        tally.free_text += 1
    elif verdict.status != "scored":
        tally.unscored += 1
        tally.finds.append(Find("unscored", ground.title, seed, made.text, verdict))
    elif made.empty_handed and _earns(ground, verdict):
        if WEAK & set(verdict.flags):
            tally.flagged += 1
        else:
            tally.paid += 1
            tally.finds.append(Find("paid", ground.title, seed, made.text, verdict))


async def _worthless(engine: Engine, ground: Ground, executed: bool) -> Pieces | None:
    """The pieces that earn nothing on a ground, and do not hold the right answer in a place where it does not count.
    executed: responses are programs or proofs, of which no piece is a right one.

    None if a right response does not pass, so that nothing is known.
    """
    pieces = [*PIECES, *ground.wrong]
    # Without a reference whatever is of the right form is right: a statement that compiles.
    wanted = ground.sample.reference is not None
    executed = executed and wanted
    asked = ground.right[:1] if executed else [ground.right[0], *pieces]
    right, *verdicts = await _judged(engine, [(ground, text) for text in asked])
    if not _earns(ground, right):
        return None
    if executed:
        return Pieces(tuple(pieces), joined=True)
    # Where no call is right, all kinds of text are.
    answer = str(right.extracted).strip() if right.extracted not in (None, []) else ""
    worthless = [
        piece
        for piece, verdict in zip(pieces, verdicts, strict=True)
        if not _earns(ground, verdict) and not (answer and answer in piece)
    ]
    return Pieces(tuple(worthless), joined=bool(answer) and wanted)


async def _judged(engine: Engine, tries: Sequence[tuple[Ground, str]]) -> Sequence[Verdict]:
    """The verdict on each response; where its group has one without a score, that."""
    flocks = [_samples(ground, text, number) for number, (ground, text) in enumerate(tries)]
    samples = [sample for flock in flocks for sample in flock]
    verdicts = iter((await engine.verify(Batch(samples=samples), source="farm")).verdicts)
    groups = [[next(verdicts) for _ in flock] for flock in flocks]
    return [next((one for one in group if one.status != "scored"), group[0]) for group in groups]


def _samples(ground: Ground, text: str, number: int) -> list[Sample]:
    """A response as a sample, and those that it is judged with."""
    group = f"farm-{number}" if ground.beside else None
    flock = (replace(ground.sample, response=text), *ground.beside)
    return [replace(sample, use=ground.use, group=group, finish_reason=None) for sample in flock]


def _earns(ground: Ground, verdict: Verdict) -> bool:
    """Returns whether a verdict pays: it passed, or its score is above what the cases give for nothing."""
    if verdict.status != "scored" or verdict.score is None:
        return False
    return bool(verdict.passed) or verdict.score > ground.floor
