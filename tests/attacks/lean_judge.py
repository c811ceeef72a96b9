"""`lean` from a response to its verdict: a real Lean in real rooms, for the tests of one module."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.lean import verifier
from rewarden_verifiers.registry import Registry
from tests.lean.toolchain import Library
from tests.programs import problem_of

HEADER = "prelude\nimport Base\n"


def fenced(source: str) -> str:
    """A source as models give it."""
    return f"Here it is:\n```lean4\n{source}\n```"


class Judge:
    """Judges by an engine on a loop of its own in a thread. The project is the tests' library."""

    def __init__(self, library: Library, launcher: str) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="judge")
        self._thread.start()
        self.engine: Engine = self._ask(self._made(library, launcher))

    async def _made(self, library: Library, launcher: str) -> Engine:
        engine = Engine(
            Registry(),
            EngineSettings(workers=1, cache_bytes=0),
            sandbox=SandboxSettings(launcher=launcher, slots=4, warm=2),  # type: ignore[arg-type]
            lean=LeanSettings(projects={"base": str(library.folder)}, processes=2),
        )
        await engine.start()
        return engine

    def _ask(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=600)

    def judge(
        self, responses: Sequence[str], reference: str | Mapping[str, Any], params: Mapping[str, Any] | None = None
    ) -> list[Verdict]:
        """The verdicts of one batch on responses to one reference."""
        samples = [Sample(response=response, reference=reference) for response in responses]
        use = Use(name="lean", params={"header": HEADER, "replay": "require", **(params or {})})
        return list(self._ask(self.engine.verify(Batch(samples=samples, use=use))).verdicts)

    def each(self, pairs: Sequence[tuple[str, str | Mapping[str, Any]]]) -> list[Verdict]:
        """The verdicts on sources in fences, each to a reference of its own, side by side."""

        async def work() -> list[Verdict]:
            use = Use(name="lean", params={"header": HEADER, "replay": "require"})
            samples = [Sample(response=fenced(source), reference=reference) for source, reference in pairs]
            return list((await self.engine.verify(Batch(samples=samples, use=use))).verdicts)

        verdicts: list[Verdict] = self._ask(work())
        return verdicts

    def one(self, source: str, reference: str | Mapping[str, Any], **params: Any) -> Verdict:
        """The verdict on a source in a fence."""
        return self.judge([fenced(source)], reference, params)[0]

    @contextmanager
    def without_the_gate(self) -> Iterator[None]:
        """As for a text whose words the gate does not see."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(verifier, "refusals", lambda *_, **__: iter(()))
            yield

    @contextmanager
    def compiled(self, forge: Any) -> Iterator[None]:
        """As where a submission's code wrote the compiled file: forge gives its bytes from those that Lean wrote."""
        lane = self.engine.lean
        honest = lane.compile

        async def compile(*words: Any, keep: bool = False, **named: Any) -> Any:
            found = await honest(*words, keep=keep, **named)
            return found if keep or found.module is None else replace(found, module=forge(found.module))

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lane, "compile", compile)
            yield

    def close(self) -> None:
        """End the engine and its sandbox host."""
        try:
            self._ask(self.engine.close(drain_s=0))
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


@contextmanager
def judging(library: Library) -> Iterator[Judge]:
    """A judge by the first launcher that this machine can have; skips with the reason where it has none."""
    problems = []
    for launcher in ("bwrap", "docker"):
        problem = asyncio.run(problem_of(launcher))
        if problem is None:
            with pytest.MonkeyPatch.context() as patch:
                patch.setenv("ELAN_HOME", str(library.elan))
                judge = Judge(library, launcher)
                try:
                    yield judge
                finally:
                    judge.close()
            return
        problems.append(f"{launcher}: {problem}")
    pytest.skip("; ".join(problems))
