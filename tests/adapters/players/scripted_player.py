"""A harness of verifiers that asks the model for one turn, in this process: verifiers finds it by the module's name."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import httpx

vf: Any = import_module("verifiers.v1")

__all__ = ["ScriptedPlayer"]


class Config(vf.HarnessConfig):  # type: ignore[misc]
    """No settings of its own."""


class ScriptedPlayer(vf.Harness[Config]):  # type: ignore[misc]
    """Relays the conversation to the model, as a chat program does."""

    SUPPORTS_RESUME = True
    EXECUTES_CODE = False
    NEEDS_CONTAINER = False

    async def launch(
        self, ctx: Any, trace: Any, runtime: Any, endpoint: str, secret: str, *args: Any, **kwargs: Any
    ) -> Any:
        """One turn."""
        wire = import_module("verifiers.v1.dialects.chat").message_to_wire
        data = kwargs.get("data") or args[1]
        _, prompt = self.resolve_prompt(data)
        messages = [{"role": "user", "content": prompt}] if isinstance(prompt, str) else [wire(one) for one in prompt]
        async with httpx.AsyncClient(timeout=60) as client:
            body = {"model": ctx.model, "messages": messages}
            headers = {"Authorization": f"Bearer {secret}"}
            (await client.post(f"{endpoint}/chat/completions", json=body, headers=headers)).raise_for_status()
        return import_module("verifiers.v1.runtimes").ProgramResult(exit_code=0, stdout="", stderr="")
