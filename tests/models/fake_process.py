"""A model process as ours is, but for the computing: `python -m tests.models.fake_process`, with the same arguments.

A model is a folder with a file `version`. What an input's text says is done: `die` (the process kills itself), `wait`
(forever), `raise`, `nan`, `memory`, or nothing: its length is the logit. `Write` writes which inputs `wait` now.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import time
from pathlib import Path
from typing import Any

from rewarden_models.app import App
from rewarden_models.command import serve
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.settings import settings_from_json
from rewarden_verifiers.inference import About, Classify, Facts, Logits, Task, Texts, Write, Written


def load(name: str, settings: ModelEndpoint) -> str:
    """The version that is in the folder; `slow` next to it has the loading wait until that file is gone."""
    folder = Path(settings.model)
    while (folder / "slow").exists():
        time.sleep(0.005)
    if (folder / "poison").exists():
        os.kill(os.getpid(), signal.SIGKILL)
    if not (folder / "version").exists():
        raise Failure("failed", f"{folder.name} holds no model")
    return (folder / "version").read_text()


class FakeEngine:
    """An `Engine`."""

    def __init__(self, name: str, settings: ModelEndpoint, loaded: str) -> None:
        self._name = name
        self._loaded = loaded
        self._waiting: list[str] = []

    async def run(self, task: Task[Any]) -> Any:
        facts = Facts(model=self._name, version=self._loaded)
        if isinstance(task, Write):
            return Texts(texts=[Written(text="\n".join(self._waiting))], facts=facts)
        assert isinstance(task, Classify)
        text = task.input.text or ""
        word = text.partition(" ")[0]
        if word == "die":
            os.kill(os.getpid(), signal.SIGKILL)
        if word == "raise":
            raise RuntimeError(f"a defect that quotes {text!r}")
        if word == "memory":
            raise Failure("memory", "no memory for this one, even alone")
        if word == "wait":
            self._waiting.append(text)
            try:
                await asyncio.Event().wait()
            finally:
                self._waiting.remove(text)
        await asyncio.sleep(0)
        return Logits(values=[float("nan") if word == "nan" else float(len(text))], labels=["x"], facts=facts)

    def about(self) -> About:
        return About(model=self._name, version=self._loaded, kinds=["classify", "write"], context=1000)

    def swap(self, loaded: str) -> None:
        self._loaded = loaded

    def status(self) -> dict[str, Any]:
        return {"waiting": len(self._waiting)}

    def close(self) -> None:
        """Nothing is held."""


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--address", required=True)
    parser.add_argument("--settings", required=True)
    parser.add_argument("--tied", action="store_true")
    given = parser.parse_args()
    serve(
        settings_from_json(given.settings),
        given.address,
        tied=given.tied,
        make=lambda settings, key: App(settings, key, load=load, make=FakeEngine),
    )
