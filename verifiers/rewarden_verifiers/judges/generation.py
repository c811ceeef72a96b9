"""Criteria that a judge writes for a prompt before it sees any response.

Responses to one prompt share the criteria, because equal questions have one reply. Attack: a rubric written or amended
with the response in view rewards whatever the response contains.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from rewarden.errors import InvalidParams
from rewarden_verifiers.judges.criterion import LONGEST
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Asked, Inquiry, opinions
from rewarden_verifiers.judges.panel import Panel, PanelParams
from rewarden_verifiers.judges.params import Prompt
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.replies import UnreadableError, object_of

MOST_WRITTEN = 30


@dataclass(frozen=True, kw_only=True)
class Generation:
    """Criteria that a judge writes for each prompt, as in OpenRubrics or RaR. most: the maximum number; 0: none. judge:
    the judge that writes them; null: the one that also judges by them. prompt: templates that replace the built-in
    prompt, with the variables `prompt`, `most` and `instructions`. instructions: further instructions to the writer.
    """

    most: int = 0
    judge: str | None = None
    prompt: Prompt = field(default_factory=Prompt)
    instructions: str = ""

    def check(self, path: str) -> None:
        """Raises InvalidParams for numbers out of range."""
        if not 0 <= self.most <= MOST_WRITTEN:
            raise InvalidParams(f"{path}.most must be from 0 to {MOST_WRITTEN}", path=f"{path}.most")


P = TypeVar("P", bound=PanelParams)


async def written(
    ctx: Asked, params: P, generation: Generation, problem: str, ledger: Ledger
) -> list[Mapping[str, Any]] | None:
    """The criteria, in the form used by requests; None if no reply can be read, which is never the policy's fault.

    Raises what `ctx.judge.ask` raises.
    """
    criterion = object_of(
        {"text": {"type": "string"}, "points": {"type": "integer", "minimum": -10, "maximum": 10}},
    )
    rows = {"type": "array", "items": criterion, "minItems": 1, "maxItems": generation.most}
    inquiry = Inquiry(
        prompt="rubric.generate",
        variables={"prompt": Material(problem), "most": generation.most},
        schema=object_of({"criteria": rows}),
        read=_read,
        verdicts=generation.most,
    )
    asking = replace(
        params,
        judge=generation.judge or params.judge,
        panel=Panel(),
        samples=1,
        prompt=generation.prompt,
        instructions=generation.instructions,
    )
    (found,) = await opinions(ctx, asking, inquiry, ledger)
    return found.reading


def _read(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows: list[Mapping[str, Any]] = found["criteria"]
    if not all(row["text"].strip() and row["points"] for row in rows):
        raise UnreadableError("a criterion without a text or points")
    if any(len(row["text"]) > LONGEST for row in rows):
        raise UnreadableError("a criterion that is too long")
    if not any(row["points"] > 0 for row in rows):
        raise UnreadableError("no criterion with positive points")
    return rows
