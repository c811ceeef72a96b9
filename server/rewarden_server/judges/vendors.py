"""Vendors that do not speak OpenAI's protocol, through the package litellm: Anthropic, Bedrock, Gemini …

`model` is litellm's name for it (`anthropic/claude-…`), and `base_url` its `api_base`.
"""

from __future__ import annotations

import asyncio
import os
from typing import Any

from rewarden.errors import MissingDependency
from rewarden_server.judges.failure import malformed, timed_out, unreachable
from rewarden_server.judges.provider import Provider, key_of, probe_question, said_by, trace_headers
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Question


class LiteLLMProvider(Provider):
    """Any vendor that litellm supports."""

    def __init__(self, name: str, settings: JudgeEndpoint) -> None:
        super().__init__(name, settings)
        self._litellm: Any = None

    async def ready(self) -> None:
        """See `Provider`."""
        if self._litellm is None:
            self._litellm = await asyncio.to_thread(_litellm, self._name)  # its import takes seconds

    async def probe(self) -> str:
        """See `Provider`. Vendors' lists of models differ too much, so it requests one token."""
        return f"answers as {(await self.complete(probe_question())).model}"

    async def close(self) -> None:
        """See `Provider`. Connections belong to litellm, for the whole process."""

    async def _asked(self, question: Question) -> Any:
        """See `Provider._asked`."""
        made = await self._answered(question)
        try:
            return made.model_dump()
        except (AttributeError, ValueError):
            raise malformed(f"litellm gave {type(made).__name__}") from None

    async def _answered(self, question: Question) -> Any:
        await self.ready()
        import openai

        settings = self._settings
        fields = self.wire.fields(question)
        headers = {**settings.headers, **trace_headers()}
        try:
            return await self._litellm.acompletion(
                **fields,
                **({"extra_body": dict(settings.extra)} if settings.extra else {}),
                **({"extra_headers": headers} if headers else {}),
                api_base=settings.base_url,
                api_key=key_of(settings),
                timeout=settings.timeout_s,
                num_retries=0,
                max_retries=0,
                drop_params=False,
            )
        except openai.APITimeoutError:  # litellm's errors derive from this package's
            raise timed_out(settings.timeout_s) from None
        except openai.APIStatusError as error:
            # The error's own words are only searched, never shown: litellm repeats requests in them.
            said = said_by(error.body) or str(getattr(error, "message", ""))
            raise self._refused(error, fields, said) from None
        except openai.APIConnectionError:
            raise unreachable("litellm could not connect", spent=True) from None
        except Exception as error:  # noqa: BLE001 - whatever the vendors' own packages raise; its words may hold a key
            raise malformed(type(error).__name__) from None


def _litellm(name: str) -> Any:
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # otherwise, its import downloads a list of prices
    try:
        import litellm
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"judge {name!r} needs the package {error.name!r}: pip install 'rewarden-server[judge,litellm]'"
        ) from None
    litellm.suppress_debug_info = True  # otherwise, it prints to stdout at each error
    litellm.telemetry = False
    return litellm
