"""A real model behind a real server: SmolLM2-135M-Instruct, answered by `transformers serve` in a process of its own.

It is far too small to judge anything. It is there for what scripts cannot tell: that requests, replies, limits and
cancellation hold against a server that others wrote, and what a chat template and a tokenizer make of our chats.
"""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
import time
import urllib.request
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest
from jinja2 import Environment

FOLDER = Path(__file__).parents[2] / ".venv" / "judge-model"
"""The folder in which `make judge-model` puts the model, see scripts/judge-model.py."""

NEEDED = ("torch", "transformers", "tokenizers", "fastapi", "uvicorn", "openai", "accelerate")


def no_model() -> str | None:
    """Returns why no model can answer on this machine, or None."""
    if not (FOLDER / "config.json").is_file():
        return "there is no model for the tests' judge: make test MODELS=1, or make judge-model"
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    return f"the tests' judge needs {', '.join(missing)}" if missing else None


needs_model = pytest.mark.skipif(no_model() is not None, reason=str(no_model()))
"""Marks tests, or as `pytestmark` a file of them."""


class Reader:
    """The reading of a chat by the model's server: its template and its tokenizer."""

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer

        return Tokenizer.from_file(str(FOLDER / "tokenizer.json"))

    @cached_property
    def _template(self) -> Any:
        return Environment().from_string((FOLDER / "chat_template.jinja").read_text(encoding="utf-8"))

    @cached_property
    def special(self) -> frozenset[str]:
        """The texts that are tokens of their own: turns, ends, files."""
        return frozenset(token.content for token in self._tokenizer.get_added_tokens_decoder().values())

    def tokens(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """The chat as the model gets it."""
        text = self._template.render(messages=messages, add_generation_prompt=True)
        return list(self._tokenizer.encode(text, add_special_tokens=False).tokens)

    def controls(self, messages: Sequence[Mapping[str, Any]]) -> list[str]:
        """Those of the chat's tokens by which the model tells turns apart."""
        return [token for token in self.tokens(messages) if token in self.special]


class ModelServer:
    """`transformers serve`, which takes one request after the other. `url`: what a judge's `base_url` is. A context
    manager."""

    def __init__(self, scratch: Path) -> None:
        self._scratch = scratch
        self._log = scratch / "serve.log"
        self.url = ""

    @property
    def asked(self) -> int:
        """Returns how many chats it has answered."""
        return self._said().count('"POST /v1/chat/completions')

    def settings(self, **more: Any) -> dict[str, Any]:
        """Returns what `[judges.named.NAME]` has to say for this server."""
        return {"base_url": self.url, "model": str(FOLDER), "timeout_s": 60.0, "retries": 0, **more}

    def __enter__(self) -> ModelServer:
        command = [Path(sys.executable).with_name("transformers"), "serve", FOLDER, "--device", "cpu"]
        own = {"HF_HUB_OFFLINE": "1", "HF_HOME": str(self._scratch), "PYTHONUNBUFFERED": "1"}
        # Threads meet after each step of each token; who spins until the other comes takes its time if cores are few.
        own |= {"OMP_NUM_THREADS": "2", "OMP_WAIT_POLICY": "passive"}
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--dtype", "float32", "--host", "127.0.0.1", "--port", "0"],
                env={**os.environ, **own},
                cwd=self._scratch,
                stdout=log,
                stderr=log,
            )
        until = time.monotonic() + 180
        while (found := re.search(r"running on (http://127\.0\.0\.1:\d+)", self._said())) is None:
            assert self._process.poll() is None, self._said()[-3000:]
            assert time.monotonic() < until, "the model's server was not ready within three minutes"
            time.sleep(0.05)
        with urllib.request.urlopen(f"{found.group(1)}/health", timeout=10) as answer:
            assert answer.status == 200
        self.url = f"{found.group(1)}/v1"
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._process.kill()
        self._process.wait()

    def _said(self) -> str:
        return self._log.read_text(encoding="utf-8", errors="replace") if self._log.exists() else ""
