"""The end of opinions: what all verifiers do alike before a judge is asked, and where there are too few readings."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from rewarden.types import Outcome
from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Opinion
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.outcome import no_answer, undecided, wrong

Reading = TypeVar("Reading")


def refused(
    response: str, params: JudgeParams, reference: str | Sequence[str] | None = None, **details: Any
) -> Outcome | None:
    """The outcome of a response about which nobody is asked: without substance, or too long to be shown; else None.
    details: of the outcome, such as its range."""
    if len(response) > params.longest:
        return wrong(
            "too_long",
            feedback=f"The response has {len(response)} characters; a judge is shown at most {params.longest}.",
            flags=("too_long",),
            **details,
        )
    why = empty_reason(response, reference) if params.hollow == "refuse" else None
    if why is not None:
        return no_answer(why, feedback="The response has no substance that could be judged.", **details)
    return None


def readings(
    found: Sequence[Opinion[Reading]], lowest: Reading, ledger: Ledger, **details: Any
) -> tuple[list[Reading], Outcome | None]:
    """Returns what the opinions say; and the outcome, where too few of them can be read.

    An opinion that the candidate's text made unreadable counts as `lowest`; all such are zero, `unreadable_reply`.
    Where half of them or more are lacking by the judge's fault it is undecided.
    """
    evidence = {**ledger.evidence(), "problems": sorted({one.problem for one in found if one.problem})}
    flags = ledger.flags()
    lacking = sum(one.blame == "verifier" for one in found)
    if lacking * 2 >= len(found):
        message = f"the judge gave no reply that can be read: {', '.join(evidence['problems'])}"
        return [], undecided("unreadable_reply", feedback=message, evidence=evidence, flags=tuple(flags))
    if all(one.blame == "policy" for one in found if one.blame != "verifier"):
        message = "the response makes the judge's replies unreadable"
        flags.append("unreadable_reply")
        return [], wrong("unreadable_reply", feedback=message, evidence=evidence, flags=flags, **details)
    return [lowest if one.reading is None else one.reading for one in found if one.blame != "verifier"], None
