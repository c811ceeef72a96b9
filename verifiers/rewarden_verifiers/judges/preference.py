"""One comparison of two texts, in both orders, because judges favour a position (arXiv 2306.05685, section 3.3)."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.types import Media
from rewarden_verifiers.chat import Reply
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Asked, Inquiry, Opinion, opinions
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.replies import ALTERNATIVES, object_of, probability

PROMPT = "pairwise.preference"

_WIN = math.nextafter(0.5, 1.0)


@dataclass(frozen=True, kw_only=True)
class PreferenceParams(JudgeParams):
    """Options of every comparison of two texts.

    by: How to read the reply: the `verdict` (A, B or tie, with a reason), or the `probability` of A against B as the
        reply's first token. The latter needs a judge whose server returns token probabilities.
    strength: Whether the verdict also says how much better a text is, from 1 to 3. A win is then 2/3, 5/6 or 1 instead
        of always 1. Not for `probability`, which is graded already.
    disagree: What to do if the two orders name different texts: a `tie`, or `undecided`, which does not count.
    """

    by: Literal["verdict", "probability"] = "verdict"
    strength: bool = False
    disagree: Literal["tie", "undecided"] = "tie"


@dataclass(frozen=True, kw_only=True)
class ContestParams(PreferenceParams):
    """Options of a comparison that passes or fails.

    passing: What passes: only a `win`, or also a `tie`.
    """

    passing: Literal["win", "tie"] = "win"

    @property
    def least(self) -> float:
        """The lowest score that passes."""
        return _WIN if self.passing == "win" else 0.5


@dataclass(frozen=True, slots=True)
class Preference:
    """The preference on which the orders of one comparison agree. score: of the first text, from 0 (worse) to 0.5 (tie)
    to 1 (better). flipped: the orders named different texts; the score is then 0.5. reason: the judge's reason in the
    first order. named: `A`, `B` or `tie`, for each order.
    """

    score: float
    flipped: bool
    reason: str
    named: tuple[str, ...] = ()


Margin = tuple[float, str]
"""The lead of text A, from -1 to 1, and the reason."""

Inquire = Callable[[PreferenceParams, tuple[Material, Material], Mapping[str, Any], Sequence[Media]], Inquiry[Margin]]
"""Makes the question about two texts, A and B, with further variables of the prompt, and images."""


async def preferences(
    ctx: Asked,
    params: PreferenceParams,
    pair: tuple[Material, Material],
    shown: Mapping[str, Any],
    ledger: Ledger,
    *,
    orders: int = 2,
    media: Sequence[Media] = (),
    inquire: Inquire | None = None,
) -> list[Opinion[Preference]]:
    """Asks for `params.samples` preferences between two texts, each from one opinion per order. shown: further
    variables of the prompt. orders: 1: only the given order. inquire: makes the question; None: the judge's own. A
    preference is missing if one of its opinions is, and takes over its blame.

    Raises what `ctx.judge.ask` raises.
    """
    first, second = pair
    asked = ((first, second), (second, first))[:orders]
    inquiries = [(inquire or inquiry)(params, texts, shown, media) for texts in asked]
    found = await gather(*(opinions(ctx, params, inquiry, ledger) for inquiry in inquiries))
    return [agreed(seen) for seen in zip(*found, strict=True)]


def inquiry(
    params: PreferenceParams,
    texts: tuple[Material, Material],
    shown: Mapping[str, Any],
    media: Sequence[Media],
    prompt: str = PROMPT,
) -> Inquiry[Margin]:
    """Returns the question of which text is better, using the named prompt."""
    variables = {**shown, "response_a": texts[0], "response_b": texts[1]}
    if params.by == "probability":
        return Inquiry(
            prompt=prompt,
            variables=variables,
            schema=None,
            direct=_by_probability,
            form="Reply with one letter and nothing else: A or B.",
            alternatives=ALTERNATIVES,
            max_tokens=1,
            media=media,
        )
    return Inquiry(prompt=prompt, variables=variables, schema=_schema(params.strength), read=_by_verdict, media=media)


def _schema(strength: bool) -> dict[str, Any]:
    properties: dict[str, Any] = {
        "reason": {"type": "string"},
        "better": {"type": "string", "enum": ["A", "B", "tie"]},
    }
    if strength:
        properties["strength"] = {"type": "integer", "minimum": 1, "maximum": 3}
    return object_of(properties)


def _by_verdict(found: Mapping[str, Any]) -> Margin:
    sign = {"A": 1.0, "tie": 0.0, "B": -1.0}[found["better"]]
    return sign * found.get("strength", 3) / 3, found["reason"]


def _by_probability(reply: Reply) -> Margin:
    return 2 * probability(reply, ("A",), ("B",)) - 1, ""


def agreed(seen: Sequence[Opinion[Margin]]) -> Opinion[Preference]:
    """Combines the opinions of all orders. If one order says tie, or the orders disagree, the result is a tie. seen:
    the opinions with the first text as A, then as B.
    """
    for blame in ("policy", "verifier"):
        for one in seen:
            if one.blame == blame:
                return Opinion(None, one.problem, blame)
    given = [one.reading for one in seen if one.reading is not None]
    margins = [margin if place == 0 else -margin for place, (margin, _) in enumerate(given)]
    flipped = min(margins) < 0 < max(margins)
    same = min(margins) > 0 or max(margins) < 0
    margin = sum(margins) / len(margins) if same else 0.0
    named = tuple("A" if said > 0 else "B" if said < 0 else "tie" for said, _ in given)
    return Opinion(Preference(0.5 + margin / 2, flipped, given[0][1], named))
