"""Verifiers of the server's tests, found as a stranger's are: through entry points of a package on the path."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rewarden.types import Outcome
from rewarden_verifiers.contract import Context, Member, verifier
from rewarden_verifiers.outcome import right, scored, wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """The parameter that says whether upper and lower case differ."""

    matters: bool = True


@verifier(version="1", inline=True)
def same(response: str, reference: str, params: Case) -> Outcome:
    """The response <b>is</b> the `reference`."""
    one, other = (response, reference) if params.matters else (response.lower(), reference.lower())
    return right(extracted=response) if one == other else wrong(extracted=response)


@verifier(version="1")
def worked(response: str, reference: str) -> Outcome:
    """The response is the reference; judged in a worker process."""
    return right() if response == reference else wrong()


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """`folder` gets a file `entered` when a sample is being judged and `left` when it was cancelled.

    `only`: responses without it do not wait.
    """

    folder: str
    only: str = ""


@verifier(version="1", determinism="stateful")
async def gated(response: str, params: Gate, ctx: Context) -> Outcome:
    """Waits for the file `open` in its folder."""
    if params.only not in response:
        return right()
    folder = Path(params.folder)
    (folder / "entered").touch()
    try:
        while not (folder / "open").exists():
            await asyncio.sleep(0.005)
    except asyncio.CancelledError:
        (folder / "left").touch()
        raise
    return right()


@verifier(version="1", inline=True)
def broken(response: str) -> Outcome:
    """Raises, quoting the response as real defects do."""
    raise ValueError(f"cannot read {response!r}")


@verifier(version="1", graded=True)
async def spread(samples: Sequence[Member], ctx: Context) -> Sequence[Outcome]:
    """Scores a group by place."""
    return [scored(place / len(samples)) for place, _ in enumerate(samples)]
