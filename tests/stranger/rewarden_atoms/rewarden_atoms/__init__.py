import re
from dataclasses import dataclass

from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import no_answer, right, scored, wrong


@dataclass(frozen=True)
class Params:
    near: int = 0
    """Counts that are off by at most so many earn half."""


@verifier(version="1", graded=True)
def atom_count(response: str, reference: int, params: Params) -> Outcome:
    """The last integer of the response is the number of atoms."""
    found = re.findall(r"\d{1,9}", response)
    if not found:
        return no_answer()
    count = int(found[-1])
    if count == reference:
        return right(extracted=count)
    if abs(count - reference) <= params.near:
        return scored(0.5, passed=False, reason="near", extracted=count)
    return wrong(extracted=count)
