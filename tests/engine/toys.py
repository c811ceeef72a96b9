"""Verifiers that misbehave on demand. In a module of their own, so that workers can import them."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from rewarden.errors import InvalidReference, PluginError, SampleError
from rewarden.types import Outcome, Sample, Use
from rewarden_verifiers.contract import Context, Expired, Member, Watch, verifier
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


@verifier(version="1")
def toy_metadata(response: str, metadata: Mapping[str, Any] | None) -> Outcome:
    """Says which metadata it sees."""
    return right(extracted=metadata)


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


_LOADED: list[bytes] = []


def load() -> None:
    """Takes more CPU time and memory than an item may."""
    _LOADED.append(bytes(400 << 20))
    until = time.process_time() + 0.6
    while time.process_time() < until:
        pass


@verifier(version="1", warm=load)
def toy_heavy(response: str, reference: str) -> Outcome:
    """Needs much to be loaded first; then some more memory of its own."""
    assert _LOADED
    return judge(response) if bytes(100 << 20) else wrong()


def prepare_loading(reference: str, params: object, watch: Watch) -> str:
    """Loads for its reference what few references need."""
    with watch.loading():
        load()
    return prepare(reference, params)


@verifier(version="1", prepare=prepare_loading)
def toy_loading(response: str, prepared: str) -> Outcome:
    """Its reference needs much to be loaded; then some more memory of its own."""
    return judge(response) if bytes(100 << 20) else wrong()


@dataclass(frozen=True)
class CachedParams:
    """Work out a function of themselves, which cannot be sent to a worker."""

    word: str = "yes"

    def __post_init__(self) -> None:
        assert self.finder("yes") is not None

    @cached_property
    def finder(self) -> Callable[[str], bool]:
        return lambda text: self.word in text


@verifier(version="1")
def toy_cached(response: str, params: CachedParams) -> Outcome:
    """Right where the word is found."""
    return right() if params.finder(response) else wrong()


@dataclass(frozen=True)
class UnsentReference:
    """Keeps a function, which cannot be sent to a worker."""

    word: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "found", lambda text: self.word in text)


@verifier(version="1")
def toy_unsent(response: str, reference: UnsentReference) -> Outcome:
    """Never reached."""
    return right()


@dataclass(frozen=True)
class Garden:
    """The resources that a server provides for `toy_garden`."""

    plant: str = "grass"

    @property
    def fingerprint(self) -> str:
        return self.plant


def plant(reference: object, params: object, resources: Garden) -> tuple[object, str]:
    """Notes what the server provides."""
    return reference, resources.plant


@verifier(version="1", blocking=True, resources=Garden, prepare=plant)
def toy_garden(response: str, prepared: tuple[object, str], resources: Garden, watch: Watch) -> Outcome:
    """Says where it runs and what it has there; `long` begins anew, `hang` never comes back to the interpreter,
    `starved` is runnable beyond its wall time, and `preparing` does as its second word says at the reference's
    expense."""
    reference, planted = prepared
    if reference == "long" and watch.quick_s is not None:
        raise Expired
    if isinstance(reference, str) and reference.startswith("hang"):
        limits = {"cpu_s": 0.05} if reference.endswith("cpu") else {"wall_s": 0.05}
        with watch.limit(**limits):
            if reference.endswith("cpu"):
                7 ** (10**9) % 5
            time.sleep(3600)
    if isinstance(reference, str) and reference.startswith("preparing"):
        with suppress(ValueError), watch.preparing():
            if reference.endswith("hang"):
                with watch.limit(wall_s=0.05):
                    time.sleep(3600)
            raise MemoryError if reference.endswith("memory") else ValueError
        raise MemoryError
    if reference == "starved":
        # As of a process that has all to go on with and is not run: it is runnable, and its time passes.
        with watch.limit(wall_s=0.001):
            until = time.process_time() + 0.5
            while time.process_time() < until:
                pass
    evidence = {"reference": reference, "grows": resources.plant, "prepared_for": planted}
    return right(evidence={**evidence, "quick_s": watch.quick_s, "pid": os.getpid()})


ALL = (
    toy_garden,
    toy_heavy,
    toy_loading,
    toy_cached,
    toy_unsent,
    toy_inline,
    toy_cpu,
    toy_pid,
    toy_metadata,
    toy_prepared,
    toy_orchestrator,
    toy_never,
    toy_group,
    toy_loop,
)
