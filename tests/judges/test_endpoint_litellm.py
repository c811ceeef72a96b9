"""The provider `litellm`, asked for an endpoint of OpenAI's protocol: `openai/…` with an `api_base`."""

from __future__ import annotations

import importlib.util

import pytest

from rewarden.errors import MissingDependency
from rewarden_server.judges.failure import Failure
from rewarden_server.judges.provider import Provider
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_server.judges.vendors import LiteLLMProvider
from rewarden_verifiers.chat import Question, Reply
from tests.judges import proxy as harm
from tests.judges.proxy import Fault, FaultyProxy, status
from tests.judges.scripted import ScriptedJudge
from tests.judges.stand_in import question

needs_litellm = pytest.mark.skipif(
    importlib.util.find_spec("litellm") is None, reason="needs pip install 'rewarden-server[judge,litellm]'"
)
SCHEMA = {
    "type": "object",
    "properties": {"verdict": {"type": "string"}},
    "required": ["verdict"],
    "additionalProperties": False,
}


def provider(url: str, **more: object) -> Provider:
    """A provider that asks it."""
    settings = {"model": "openai/scripted", "base_url": url, "api_key": "sk-own", "provider": "litellm", **more}
    return LiteLLMProvider("main", JudgeEndpoint(**settings))  # type: ignore[arg-type]


async def asked(made: Provider, wanted: Question) -> Reply:
    """The reply of one attempt."""
    await made.ready()
    return await made.complete(wanted)


@needs_litellm
async def test_a_reply_is_that_of_the_protocol(scripted: ScriptedJudge) -> None:
    scripted.script(
        {"when": "vendor question", "reply": {"$reply": {"text": "fine", "tokens": {"Yes": 0.9, "No": 0.1}}}}
    )
    got = await asked(provider(scripted.url, top_p=0.9), question("vendor question", seed=3, alternatives=2))
    assert (got.text, got.finish, got.judge) == ("fine", "stop", "main")
    assert (got.usage.prompt_tokens, got.usage.completion_tokens, got.usage.estimated) == (100, 10, False)
    assert [one.text for one in got.alternatives] == ["Yes", "No"]
    sent = scripted.requests[0]
    assert (sent["model"], sent["top_p"], sent["seed"], sent["max_tokens"]) == ("scripted", 0.9, 3, 1024)


@needs_litellm
async def test_a_form_and_further_fields_are_sent(scripted: ScriptedJudge) -> None:
    scripted.script({"when": "vendor form", "reply": {"verdict": "fine"}})
    made = provider(scripted.url, extra={"chat_template_kwargs": {"enable_thinking": False}})
    assert (await asked(made, question("vendor form", schema=SCHEMA))).text == '{"verdict": "fine"}'
    assert scripted.requests[0]["response_format"]["json_schema"]["schema"] == SCHEMA
    assert scripted.requests[0]["chat_template_kwargs"] == {"enable_thinking": False}


@needs_litellm
@pytest.mark.parametrize(
    ("fault", "kind", "passing"),
    [
        (status(429, retry_after="7"), "rate_limited", True),
        (status(500), "server_error", True),
        (status(503), "server_error", True),
        (status(401, "Incorrect API key: sk-own"), "forbidden", False),
        (status(404), "rejected", False),
        (status(400, "too long"), "rejected", False),
        (harm.RESET, None, True),
        (harm.HTML, None, True),
        (harm.WRONG_JSON, None, True),
        (harm.NO_CHOICES, None, True),
    ],
)
async def test_every_failure_is_one_and_is_tried_once(
    scripted: ScriptedJudge, fault: Fault, kind: str | None, passing: bool
) -> None:
    async with FaultyProxy(scripted.url, otherwise=fault) as between:
        with pytest.raises(Failure) as caught:
            await asked(provider(between.url), question())
        assert caught.value.passing == passing
        assert kind is None or caught.value.kind == kind
        assert "sk-own" not in str(caught.value)
        assert len(between.requests) == 1


@needs_litellm
async def test_a_refused_form_is_not_sent_again(scripted: ScriptedJudge) -> None:
    scripted.script({"when": "vendor form", "reply": {"verdict": "fine"}})
    async with FaultyProxy(scripted.url, status(400, "response_format json_schema is not supported")) as between:
        made = provider(between.url)
        with pytest.raises(Failure) as caught:
            await asked(made, question("vendor form", schema=SCHEMA))
        assert caught.value.kind == "form"
        assert (await asked(made, question("vendor form", schema=SCHEMA))).text == '{"verdict": "fine"}'
        assert between.requests[1]["response_format"] == {"type": "json_object"}


@needs_litellm
async def test_a_probe_costs_one_token(scripted: ScriptedJudge) -> None:
    scripted.script({"when": "Say yes", "reply": "yes"})
    made = provider(scripted.url)
    await made.ready()
    assert (await made.probe()).startswith("answers as ")
    assert scripted.requests[0]["max_tokens"] == 1


@pytest.mark.skipif(importlib.util.find_spec("litellm") is not None, reason="litellm is installed")
async def test_without_the_package_the_command_is_told() -> None:
    with pytest.raises(MissingDependency, match=r"'litellm': pip install 'rewarden-server\[judge,litellm\]'"):
        await asked(provider("http://127.0.0.1:1/v1"), question())
