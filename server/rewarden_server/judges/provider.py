"""OpenAI's chat protocol, through its official client: vLLM, SGLang, hosted models.

Replies are not streamed. A verdict is read from a complete reply or not at all, so the first bytes have no use; a
truncated stream looks like a finished one, and its usage is an option that not all servers have.
"""

from __future__ import annotations

import asyncio
import json
import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rewarden.errors import MissingDependency
from rewarden_server.judges.completion import read_completion
from rewarden_server.judges.failure import Failure, malformed, of_status, timed_out, unreachable
from rewarden_server.judges.price import bound
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_server.judges.wire import Wire
from rewarden_server.observe.telemetry.span import current
from rewarden_verifiers.chat import Question, Reply

if TYPE_CHECKING:
    from openai import APIConnectionError, APIStatusError, AsyncOpenAI

_BEFORE = ("ConnectError", "ConnectTimeout", "PoolTimeout", "UnsupportedProtocol")
"""Errors of the HTTP client that are raised before a request has been sent."""


class Provider(ABC):
    """A client that completes chats at one endpoint, one attempt per call. wire: the form of request that the endpoint
    accepts.
    """

    def __init__(self, name: str, settings: JudgeEndpoint) -> None:
        self.wire = Wire(settings)
        self._name = name
        self._settings = settings

    @abstractmethod
    async def ready(self) -> None:
        """Prepares the packages and the client, once. Can take seconds, which do not count for any attempt. Raises
        Failure, MissingDependency.
        """

    async def complete(self, question: Question) -> Reply:
        """The reply of one attempt, whose time the caller limits. Raises Failure, MissingDependency."""
        body = await self._asked(question)
        return read_completion(body, self._name, self._settings, bound(self._settings, question))

    @abstractmethod
    async def probe(self) -> str:
        """Returns a description of the judge, at a cost of at most one token. Raises Failure, MissingDependency."""

    async def context(self) -> int | None:
        """Returns the size of the model's context in tokens, as stated by its server; None if it states none. Raises
        Failure, MissingDependency.
        """
        return None

    @abstractmethod
    async def close(self) -> None:
        """Closes connections."""

    @abstractmethod
    async def _asked(self, question: Question) -> Any:
        """The completion's JSON, unchecked. Raises Failure, MissingDependency."""

    def _refused(self, error: APIStatusError, fields: dict[str, Any], said: str) -> Failure:
        """Returns the failure for a status: the server may accept another form of these fields, or it refuses."""
        if error.status_code in (400, 422) and self.wire.learn(fields, said, error.param):
            return Failure(f"status {error.status_code}: another form", kind="form", passing=True)
        return status_failure(error, self._settings)


class OpenAIProvider(Provider):
    """OpenAI's own protocol."""

    def __init__(self, name: str, settings: JudgeEndpoint) -> None:
        super().__init__(name, settings)
        self._client: AsyncOpenAI | None = None
        self._making = asyncio.Lock()

    async def ready(self) -> None:
        """See `Provider`."""
        await self._made()

    async def probe(self) -> str:
        """See `Provider`. Uses the list of models, which costs nothing; if that does not help, one token."""
        client = await self._made()
        import openai

        try:
            raw = await client.models.with_raw_response.list()
            models = _models(raw.http_response.content)
        except openai.APIStatusError as error:
            if error.status_code in (401, 403, 429):
                raise status_failure(error, self._settings) from None
            models = None
        except openai.APIConnectionError as error:
            raise self._lost(error) from None
        if models is not None and self._settings.model in models:
            return f"has {self._settings.model}"
        try:
            # Lists omit aliases, and models served from a folder.
            return f"answers as {(await self.complete(probe_question())).model}"
        except Failure as failure:
            if models is None or failure.kind != "rejected":
                raise
            known = ", ".join(models[:8]) or "none"
            raise Failure(
                f"unknown model {self._settings.model!r}; the server has: {known}", kind="rejected", passing=False
            ) from None

    async def context(self) -> int | None:
        """See `Provider`. Uses the list of models."""
        client = await self._made()
        import openai

        try:
            raw = await client.models.with_raw_response.list()
        except openai.APIStatusError:
            return None  # it has no such list
        except openai.APIConnectionError as error:
            raise self._lost(error) from None
        except openai.OpenAIError as error:
            raise malformed(type(error).__name__) from None
        return _context(raw.http_response.content, self._settings.model)

    async def close(self) -> None:
        """See `Provider`."""
        client, self._client = self._client, None
        if client is not None:
            await client.close()

    async def _asked(self, question: Question) -> Any:
        """See `Provider._asked`. Reads the body itself: the client would accept any JSON as a completion."""
        client = await self._made()
        import openai

        fields = self.wire.fields(question)
        try:
            raw = await client.chat.completions.with_raw_response.create(
                **fields, extra_body=dict(self._settings.extra) or None, extra_headers=trace_headers() or None
            )
        except openai.APIStatusError as error:
            raise self._refused(error, fields, said_by(error.body)) from None
        except openai.APIConnectionError as error:
            raise self._lost(error) from None
        except openai.OpenAIError as error:
            raise malformed(type(error).__name__) from None
        try:
            return json.loads(raw.http_response.content)
        except (ValueError, RecursionError):
            raise malformed("it is not JSON") from None

    def _lost(self, error: APIConnectionError) -> Failure:
        """Returns the failure for a reply that never came or broke off, in the words of the root cause, which contain
        no more than host and port.
        """
        first: BaseException = error
        names = []
        while (cause := first.__cause__ or first.__context__) is not None:
            first = cause
            names.append(type(cause).__name__)
        early = any(name in _BEFORE for name in names)
        if not early and "Timeout" in "".join([type(error).__name__, *names]):
            return timed_out(self._settings.timeout_s)
        return unreachable(str(first)[:200] or type(first).__name__, spent=not early)

    async def _made(self) -> AsyncOpenAI:
        if self._client is None:
            async with self._making:
                if self._client is None:
                    # In a thread: importing the client takes seconds, during which the event loop must serve others.
                    self._client = await asyncio.to_thread(self._make)
        return self._client

    def _make(self) -> AsyncOpenAI:
        try:
            from openai import AsyncOpenAI, Timeout
        except ModuleNotFoundError as error:
            raise MissingDependency(
                f"judge {self._name!r} needs the package {error.name!r}: pip install 'rewarden-server[judge]'"
            ) from None
        settings = self._settings
        return AsyncOpenAI(
            api_key=key_of(settings) or "none",  # self-hosted servers usually need no key, but the client requires one
            base_url=settings.base_url,
            timeout=Timeout(settings.timeout_s, connect=settings.connect_s),
            max_retries=0,
            default_headers=dict(settings.headers) or None,
        )


def trace_headers() -> dict[str, str]:
    """Returns the headers that link the judge's own trace of a request to ours, if there is a trace."""
    traceparent = current().traceparent
    return {} if traceparent is None else {"traceparent": traceparent}


def key_of(settings: JudgeEndpoint) -> str | None:
    """The endpoint's key. Raises Failure if it should be in an environment variable that is not set."""
    if settings.api_key is not None:
        return settings.api_key
    if settings.api_key_env is None:
        return None
    key = os.environ.get(settings.api_key_env)
    if not key:
        raise Failure(f"the variable {settings.api_key_env} (api_key_env) is not set", kind="forbidden", passing=False)
    return key


def probe_question() -> Question:
    """A question whose answer costs one token."""
    return Question(messages=[{"role": "user", "content": "Say yes."}], max_tokens=1)


def status_failure(error: APIStatusError, settings: JudgeEndpoint) -> Failure:
    """Returns the failure for a status, with keys removed from its message: some servers repeat a key that they
    reject.
    """
    said = said_by(error.body)
    secrets = [settings.api_key, os.environ.get(settings.api_key_env or ""), *settings.headers.values()]
    for secret in filter(None, secrets):
        said = said.replace(secret, "…")
    # litellm's errors can lack a response.
    headers: Mapping[str, str] = error.response.headers if error.response is not None else {}
    return of_status(error.status_code, headers, said)


def said_by(body: Any) -> str:
    """The message in an error's body; the rest of it may repeat the request."""
    inner = body.get("error", body) if isinstance(body, Mapping) else None
    if isinstance(inner, str):
        return inner
    found = (inner.get("message") or inner.get("detail")) if isinstance(inner, Mapping) else None
    return found if isinstance(found, str) else ""


def _models(content: bytes) -> list[str] | None:
    try:
        data = json.loads(content)["data"]
        return [str(one["id"]) for one in data]
    except (ValueError, KeyError, TypeError, RecursionError):
        return None


def _context(content: bytes, model: str) -> int | None:
    """The context size of a model in a list of models, under any of the names that servers use for it."""
    try:
        (found,) = (one for one in json.loads(content)["data"] if one["id"] == model)
        sizes = [found.get(name) for name in ("max_model_len", "context_length", "context_window")]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)
