"""Verifiers that misbehave on demand. In a module of their own, so that workers can import them."""

from __future__ import annotations

import asyncio
import os
import time
from dataclasses import dataclass

from rewarden.errors import InvalidReference, PluginError, SampleError
from rewarden.types import Outcome, Sample, Use
from rewarden_verifiers.contract import Context, Member, verifier
from rewarden_verifiers.outcome import right, scored, wrong


def judge(text: str) -> Outcome:
    """Do what the first word of the text says; a text with `yes` in it is right."""
    word = text.split(" ", 1)[0]
    if word == "loop":
        while True:
            pass
    if word == "swallow":  # a bare except must not outlive the clock
        while True:
            try:
                while True:
                    pass
            except:  # noqa: E722
                pass
    if word == "bigint":  # one C call that never comes back to the interpreter
        return scored(float(7 ** (10**9) % 5 > 9))
    if word == "memory":
        return scored(float(len([0] * 10**10)))
    if word == "die":
        os.kill(os.getpid(), 9)
    if word == "recurse":
        return judge(text)
    if word == "raise":
        raise ValueError("a defect of the verifier")
    if word == "set":
        return right(evidence={"words": {"a", "b"}})
    if word == "nan":
        return scored(float("nan"))
    if word == "wait":
        time.sleep(3600)
    return right(extracted=text) if "yes" in text else wrong(extracted=text)


@verifier(version="1", inline=True)
def toy_inline(response: str, reference: str) -> Outcome:
    """Runs on the server's thread."""
    return judge(response)


@verifier(version="1")
def toy_cpu(response: str, reference: str) -> Outcome:
    """Runs in a worker."""
    return judge(response)


@verifier(version="1", determinism="stateful")
def toy_pid(response: str) -> Outcome:
    """Says which process judged."""
    return right(evidence={"pid": os.getpid()})


def prepare(reference: str, params: object) -> str:
    """A reference that begins with `raise` is refused; others do what they say."""
    if reference.startswith("raise"):
        raise InvalidReference("the reference cannot be parsed")
    judge(reference)
    return reference


@verifier(version="1", prepare=prepare)
def toy_prepared(response: str, prepared: str) -> Outcome:
    """Its reference is prepared."""
    return judge(response)


@dataclass(frozen=True)
class ToyParams:
    """Parameters of the orchestrator."""

    use: str = "toy_cpu"


@verifier(version="1", children=lambda params: [Use(name=params.use)])
async def toy_orchestrator(sample: Sample, params: ToyParams, ctx: Context) -> Outcome:
    """Passes on what another verifier says."""
    return await ctx.verify(Use(name=params.use))


@verifier(version="1")
async def toy_never(sample: Sample, ctx: Context) -> Outcome:
    """Never ends by itself."""
    await asyncio.Event().wait()
    return right()


@verifier(version="1")
async def toy_group(samples: list[Member], ctx: Context) -> list[Outcome | SampleError]:
    """Gives every member the group's size as raw value."""
    return [PluginError("refused") if m.response == "refuse" else right(raw=len(samples)) for m in samples]


@dataclass(frozen=True)
class LoopParams:
    """None."""


@verifier(version="1", children=lambda params: [Use(name="toy_loop")])
async def toy_loop(sample: Sample, params: LoopParams, ctx: Context) -> Outcome:
    """Uses itself."""
    return await ctx.verify(Use(name="toy_loop"))


ALL = (
    toy_inline,
    toy_cpu,
    toy_pid,
    toy_prepared,
    toy_orchestrator,
    toy_never,
    toy_group,
    toy_loop,
)
