"""The judge's own solution of a problem without a reference, made before it sees any response.

Attack: a wrong response that argues well convinces a judge that has not solved the problem. A judge that solves first
sees nothing that the policy wrote; the response is then compared with its solution as with a reference. Responses to
one problem share one solution, because equal questions have one reply. With tools, the judge calculates, searches and
runs programs only while it solves, so no tool runs at the request of a response.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from rewarden.types import Media, Sample
from rewarden_verifiers.contract import Context
from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.judges.judge_params import Params
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Inquiry, opinions
from rewarden_verifiers.judges.params import Prompt
from rewarden_verifiers.judges.pictures import images
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.replies import object_of
from rewarden_verifiers.judges.research import researched
from rewarden_verifiers.judges.toolbox import toolbox


async def solved(
    ctx: Context, params: Params, problem: str, sample: Sample, media: Sequence[Media] | None, ledger: Ledger
) -> str | None:
    """The judge's final answer to a problem; None if it has none, or no reply can be read, which is never the policy's
    fault.

    sample: the sample whose documents the judge's tools search. Raises what `ctx.judge.ask` raises, and with tools what
    `toolbox` and `researched` raise.
    """
    text = {"type": "string"}
    inquiry = Inquiry(
        prompt="judge.solve",
        variables={"prompt": Material(problem)},
        schema=object_of({"reason": text, "answer": text}),
        read=_answer,
        media=images(media) if params.media else (),
    )
    # One solution, by the built-in prompt: the request's own prompt is about judging a response.
    own = replace(params, samples=1, prompt=Prompt())
    if params.tools.use:
        box = await toolbox(ctx, params.tools, sample)
        findings = await researched(ctx, own, params.tools, box, inquiry, ledger)
        inquiry = replace(inquiry, findings=findings)
    (found,) = await opinions(ctx, own, inquiry, ledger)
    answer = found.reading or ""
    return answer if empty_reason(answer, None, asked=problem) is None else None


def _answer(found: Mapping[str, Any]) -> str:
    answer: str = found["answer"]
    return answer.strip()
