"""The question of a comparison in the roles on which NeMo's generative reward models were trained.

Each of the two texts is a message with its own role, `response_1` and `response_2`, after the request. The reply is an
object with a score from 1 to 5 for each text, and their ranking from 1 (the first is much better) to 6 (the second is).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.types import Media
from rewarden_verifiers.chat import Reply
from rewarden_verifiers.judges.opinions import Inquiry
from rewarden_verifiers.judges.preference import PROMPT, Margin, PreferenceParams
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.replies import object_of, read_object

_ROLES = {
    "user": "prompt",
    "principle": "principle",
    "response_1": "response_a",
    "response_2": "response_b",
}
"""The roles in the order of their messages, each with its variable."""

_SCORE = {"type": "number", "minimum": 1, "maximum": 5}
_SCHEMA = object_of({"score_1": _SCORE, "score_2": _SCORE, "ranking": {"type": "integer", "minimum": 1, "maximum": 6}})


def by_roles(
    params: PreferenceParams, texts: tuple[Material, Material], shown: Mapping[str, Any], media: Sequence[Media]
) -> Inquiry[Margin]:
    """Returns the question of which text is better. The instructions are the principle.

    The schema is not sent: a server that enforced it would keep the model from thinking first, as it was trained to.
    """
    principle = params.instructions.strip() or None
    variables = {**shown, "principle": principle, "response_a": texts[0], "response_b": texts[1]}

    def read(reply: Reply) -> Margin:
        return _margin(read_object(reply, _SCHEMA), params.strength), ""

    return Inquiry(prompt=PROMPT, variables=variables, schema=None, direct=read, form="", media=media, roles=_ROLES)


def _margin(found: Mapping[str, Any], strength: bool) -> float:
    """The lead of the first text, according to the ranking. If the scores contradict the ranking, the result is a tie:
    a judge that contradicts itself has no preference.
    """
    above = 3.5 - found["ranking"]
    if above * (found["score_1"] - found["score_2"]) < 0:
        return 0.0
    steps = (abs(above) + 0.5) / 3 if strength else 1.0
    return steps if above > 0 else -steps
