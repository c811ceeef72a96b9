"""Judges on vLLM and SGLang, as certain versions of them speak OpenAI's protocol: our requests have only fields that
they know, and their replies are read. The shapes stand in `tests/models/recorded/`, with the version that they are of.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jsonschema_rs
import pytest

from rewarden_server.judges.failure import Failure
from rewarden_server.judges.provider import OpenAIProvider
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Reply
from tests.judges.proxy import Fault, FaultyProxy, reply
from tests.judges.stand_in import question
from tests.models.test_remote_recorded import recorded

pytestmark = pytest.mark.needs_server

KINDS = ("vllm", "sglang")
ROUTE = "/v1/chat/completions"
SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}, "required": ["verdict"]}
TOOL = {"type": "function", "function": {"name": "calculate", "parameters": {"type": "object"}}}


def played(kind: str, name: str) -> Fault:
    """A recorded reply."""
    given = recorded(kind)["replies"][name]
    assert given["path"] in (ROUTE, "*")
    return reply(given["body"], given.get("status", 200))


async def asked(kind: str, names: Sequence[str], extra: Any = None, **more: Any) -> Reply | Failure:
    """The reply to the last of these requests, each of which that engine would take whole."""
    async with FaultyProxy("http://upstream/v1", *(played(kind, name) for name in names)) as server:
        made = OpenAIProvider("main", JudgeEndpoint(model="served", base_url=server.url, extra=extra or {}))
        found: Reply | Failure
        for _ in names:
            try:
                found = await made.complete(question(**more))
            except Failure as failure:
                found = failure
        await made.close()
        schema = recorded(kind)["requests"][ROUTE]
        assert [list(jsonschema_rs.validator_for(schema).iter_errors(sent)) for sent in server.requests] == [[]] * len(
            names
        )
        return found


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("name", "text", "finish"),
    [
        pytest.param("chat", '{"verdict": "yes"}', "stop", id="an enforced form"),
        pytest.param("chat, a thought", '{"verdict": "yes"}', "stop", id="a verdict within a thought is none"),
        pytest.param("chat, only a thought", "", "length", id="a thought that is cut off"),
        pytest.param("chat, length", '{"verdict": "y', "length", id="a reply that is cut off"),
    ],
)
async def test_replies_are_read_and_requests_are_understood(kind: str, name: str, text: str, finish: str) -> None:
    found = await asked(kind, [name], schema=SCHEMA, temperature=0.5, top_p=0.9, seed=7, max_tokens=40)
    assert isinstance(found, Reply)
    assert (found.text, found.finish, found.model) == (text, finish, "served")
    assert (found.usage.prompt_tokens, found.usage.completion_tokens, found.usage.estimated) == (41, 12, False)


@pytest.mark.parametrize(("kind", "name"), [("vllm", "chat, repetition"), ("sglang", "chat, abort")])
async def test_a_reply_that_the_engine_gave_up_is_not_whole(kind: str, name: str) -> None:
    found = await asked(kind, [name], schema=SCHEMA)
    assert isinstance(found, Reply)
    assert found.finish == "length"


@pytest.mark.parametrize("kind", KINDS)
async def test_the_first_token_s_alternatives(kind: str) -> None:
    found = await asked(kind, ["chat, logprobs"], alternatives=20, max_tokens=1)
    assert isinstance(found, Reply)
    assert [(one.text, one.logprob) for one in found.alternatives] == [("Yes", -0.25), ("No", -1.75)]


async def test_tokens_that_the_configuration_names_are_alternatives_too() -> None:
    """vLLM's `logprob_token_ids`: words that are not among the likeliest twenty have a probability all the same."""
    found = await asked(
        "vllm", ["chat, logprob_token_ids"], {"logprob_token_ids": [9454, 2753]}, alternatives=20, max_tokens=1
    )
    assert isinstance(found, Reply)
    assert {one.text: one.logprob for one in found.alternatives} == {"Well": -0.125, "Yes": -4.0, "No": -6.5}


@pytest.mark.parametrize("kind", KINDS)
async def test_a_tool_is_called(kind: str) -> None:
    found = await asked(kind, ["chat, tools"], tools=[TOOL])
    assert isinstance(found, Reply)
    assert [(one.name, one.arguments) for one in found.calls] == [("calculate", '{"expression": "6*7"}')]


async def test_a_form_that_the_engine_cannot_enforce_is_asked_for_in_another_way() -> None:
    found = await asked("vllm", ["chat, no such form", "chat"], schema=SCHEMA)
    assert isinstance(found, Reply)
    assert found.text == '{"verdict": "yes"}'


async def test_a_server_that_names_fewer_tokens_says_how_many() -> None:
    """`--max-logprobs` is below what `by: probability` asks for."""
    found = await asked("vllm", ["chat, too many logprobs"], alternatives=20, max_tokens=1)
    assert isinstance(found, Failure)
    assert (found.passing, "max allowed: 5" in str(found)) == (False, True)
