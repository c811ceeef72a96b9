"""Research by a judge with tools: the calls that it makes before its verdict, and their results.

Each round asks the verdict's own question again, with the results so far as material, but requests a call instead of
the verdict. The verdict is then requested without tools, in its enforced form, with the results in view. Reading
replies, and blaming an unreadable one, therefore work as without tools.

Failures on our side are reported to the judge and counted; they are never a verdict. Tool results are not the
candidate's text: if they make the judge's replies unreadable, the response is not to blame.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rewarden.errors import ProviderRefused
from rewarden_verifiers.chat import Question, Reply
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.opinions import ASKS, Asked, Inquiry, question_of, refuses
from rewarden_verifiers.judges.params import JudgeParams
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.toolbox import Result, Toolbox
from rewarden_verifiers.judges.tools import Tools

Ended = Literal["done", "calls", "tokens", "seconds", "context", "repeated", "refused"]
"""`done`: the judge made no further call. `calls`, `tokens`, `seconds`: that limit was reached. `context`: the judge's
context was full. `repeated`: it only repeated earlier calls. `refused`: its server rejected the question, which the
question for the verdict then investigates.
"""

_FORM = (
    "Give no verdict yet. First check what you are not certain of, with the tools that you are given: call them now. "
    "A result that failed is nobody's fault and proves nothing. When nothing is left to be checked, call no tool and "
    "reply with the one word: done."
)

_TRIAL = "Call the tool {name!r} now, with any argument, and say nothing else."

_TOLD = 300
"""Maximum number of characters of a call and of its result in the evidence."""


@dataclass(slots=True)
class _Research:
    results: list[Result] = field(default_factory=list)
    tokens: int = 0
    ended: Ended = "done"

    def findings(self) -> list[Material]:
        """Returns the results as shown to the judge. A call's arguments are fenced too: they may repeat text by the
        candidate.
        """
        return [Material(f"{one.tool} {one.asked}\n{one.said}") for one in self.results]

    def evidence(self) -> Mapping[str, Any]:
        """`calls`, `failed`, `tokens`, `ended`."""
        calls = [
            {"tool": one.tool, "asked": one.asked[:_TOLD], "said": one.said[:_TOLD], "status": one.status}
            for one in self.results
        ]
        failed = sum(one.status == "failed" for one in self.results)
        return {"calls": calls, "failed": failed, "tokens": self.tokens, "ended": self.ended}


def reserved(tools: Tools) -> list[Material]:
    """Returns placeholder findings, for which each portion of a long response leaves room in the judge's context: two
    of the maximum size.
    """
    return [Material("x " * (tools.shown // 2))] * (2 if tools.use else 0)


async def researched(
    ctx: Asked, params: JudgeParams, tools: Tools, toolbox: Toolbox, inquiry: Inquiry[Any], ledger: Ledger
) -> list[Material]:
    """Lets the judge research a question; returns the findings and enters them into the ledger.

    Raises what `ctx.judge.ask` raises, and ProviderRefused for a judge that cannot call tools.
    """
    research = _Research()
    await _rounds(ctx, params, tools, toolbox, inquiry, ledger, research)
    if not research.results:
        await _able(ctx, params, toolbox, ledger)
    ledger.research.append(research.evidence())
    ledger.tools_failed += sum(one.status == "failed" for one in research.results)
    return research.findings()


async def _rounds(
    ctx: Asked,
    params: JudgeParams,
    tools: Tools,
    toolbox: Toolbox,
    inquiry: Inquiry[Any],
    ledger: Ledger,
    research: _Research,
) -> None:
    made: set[tuple[str, str]] = set()
    while True:
        question = await _question(params, toolbox, inquiry, research)
        spare = await ctx.judge.spare(question, params.judge)
        if spare is not None and spare < 0:
            research.ended = "context"
            del research.results[-1:]  # leave room for the verdict's question
            return
        try:
            reply = await ctx.judge.ask(question, params.judge)
        except ProviderRefused as error:
            if not refuses(error):
                raise
            research.ended = "refused"
            return
        ledger.enter(reply)
        research.tokens += reply.usage.prompt_tokens + reply.usage.completion_tokens
        if not reply.calls:
            return
        fresh = [call for call in dict.fromkeys(reply.calls) if (call.name, _plain(call.arguments)) not in made]
        if not fresh:
            research.ended = "repeated"
            return
        for call in fresh:
            if len(research.results) >= tools.calls or toolbox.exhausted:
                break
            made.add((call.name, _plain(call.arguments)))
            research.results.append(await toolbox.run(call))
        if len(research.results) >= tools.calls:
            research.ended = "calls"
            return
        if toolbox.exhausted:
            research.ended = "seconds"
            return
        if research.tokens >= tools.tokens:
            research.ended = "tokens"
            return


async def _question(params: JudgeParams, toolbox: Toolbox, inquiry: Inquiry[Any], research: _Research) -> Question:
    asking = replace(
        inquiry,
        schema=None,
        direct=None,
        form=_FORM,
        alternatives=0,
        max_tokens=None,
        verdicts=1,
        findings=research.findings(),
    )
    size = sum(len(one.said) for one in research.results)
    question = await offload(size, question_of, params, asking)
    return replace(question, tools=toolbox.described())


async def _able(ctx: Asked, params: JudgeParams, toolbox: Toolbox, ledger: Ledger) -> None:
    """Returns if the judge can call tools, tested after a judge made no call. The test question contains nothing of a
    response: it is the same for all, so its reply is shared.

    Flake: a judge whose server drops the tools, or cannot parse its calls, would silently judge without them. Raises
    ProviderRefused.
    """
    tools = toolbox.described()
    told = _TRIAL.format(name=tools[0]["function"]["name"])
    question = Question(messages=[{"role": "user", "content": told}], temperature=params.temperature, tools=tools)
    reply: Reply | None = None
    for attempt in range(ASKS):
        try:
            reply = await ctx.judge.ask(replace(question, attempt=attempt), params.judge)
        except ProviderRefused as error:
            if not refuses(error):
                raise
            raise _unable(params, f"its server refuses a question with tools: {error.message}") from None
        ledger.enter(reply)
        if reply.calls:
            return
    assert reply is not None
    raise _unable(params, f"told to call one, {reply.judge!r} calls none", reply.judge)


def _unable(params: JudgeParams, why: str, judge: str | None = None) -> ProviderRefused:
    name = judge or params.judge or "the default judge"
    fix = "serve it with function calling (vLLM: --enable-auto-tool-choice and --tool-call-parser; llama.cpp: --jinja)"
    message = f"params.tools: the judge cannot call tools: {why}; {fix}, or name another judge"
    return ProviderRefused(message, judge=name, kind="toolless")


def _plain(arguments: str) -> str:
    """Normalises the spelling of a call's arguments."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments
