"""A real engine with a real sandbox, on a loop of its own in a thread: `code` from a response to its verdict."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.registry import Registry
from tests.programs import absent


class Judge:
    """Judges programs by `code`."""

    def __init__(self, launcher: str, slots: int) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="judge")
        self._thread.start()
        self.engine = self._ask(self._made(launcher, slots))

    async def _made(self, launcher: str, slots: int) -> Engine:
        sandbox = SandboxSettings(launcher=launcher, slots=slots, warm=2)  # type: ignore[arg-type]
        engine = Engine(Registry(), EngineSettings(workers=1, cache_bytes=0), sandbox=sandbox)
        await engine.start()
        return engine

    def _ask(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(timeout=600)

    def works(self) -> str | None:
        """None, or why no program can run here."""
        verdict = self.one("```python\nprint(1)\n```", reference("python", [{"type": "stdio", "stdout": "1"}]))
        return None if verdict.score == 1.0 else f"{verdict.reason}: {verdict.feedback}"

    def judge(self, samples: Sequence[Sample], params: Mapping[str, Any] | None = None) -> Sequence[Verdict]:
        """The verdicts of one batch."""
        use = Use(name="code", params=params or {})
        return list(self._ask(self.engine.verify(Batch(samples=samples, use=use))).verdicts)

    def one(self, response: str, reference: Mapping[str, Any], **params: Any) -> Verdict:
        """The verdict on one response."""
        return self.judge([Sample(response=response, reference=reference)], params)[0]

    def close(self) -> None:
        """End the engine and its sandbox host."""
        try:
            self._ask(self.engine.close(drain_s=0))
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join()
            self._loop.close()


def reference(language: str, tests: Sequence[Mapping[str, Any]], **more: Any) -> dict[str, Any]:
    """A reference of `code`."""
    return {"language": language, "tests": list(tests), **more}


def fenced(code: str, language: str = "python") -> str:
    """A response that says nothing but a program."""
    return f"Here it is.\n\n```{language}\n{code}\n```\n"


@contextmanager
def judge(launcher: str, slots: int = 3) -> Iterator[Judge]:
    """A judge whose programs run by this launcher; the test is skipped where it cannot."""
    made = Judge(launcher, slots)
    try:
        problem = made.works()
        if problem is not None:
            pytest.skip(absent(launcher, f"{launcher} runs no program here: {problem}"))
        yield made
    finally:
        made.close()
