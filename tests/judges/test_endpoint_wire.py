"""Requests to a judge's server, and the reading of its replies: OpenAI's protocol as servers really speak it."""

from __future__ import annotations

import logging
import socket
from collections.abc import AsyncIterator
from typing import Any

import pytest

from rewarden_server.judges.completion import read_completion
from rewarden_server.judges.failure import Failure
from rewarden_server.judges.provider import OpenAIProvider
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Reply, Usage
from tests.judges import proxy as harm
from tests.judges.proxy import Fault, FaultyProxy, reply, status
from tests.judges.stand_in import question

SETTINGS = JudgeEndpoint(model="m", input_usd=1.0, output_usd=2.0)
BOUND = Usage(prompt_tokens=999, completion_tokens=99, estimated=True)
SCHEMA = {"type": "object", "properties": {"verdict": {"type": "string"}}}


def completion(text: Any = "fine", finish: Any = "stop", **message: Any) -> dict[str, Any]:
    """A completion's body."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text, **message}}
    usage = {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110}
    return {"id": "x", "object": "chat.completion", "created": 0, "model": "real", "choices": [choice], "usage": usage}


def read(body: Any) -> Reply:
    """The reply in it."""
    return read_completion(body, "main", SETTINGS, BOUND)


@pytest.mark.parametrize(
    ("finish", "means"),
    [
        ("stop", "stop"),
        (None, "stop"),
        ("length", "length"),
        ("content_filter", "content_filter"),
        ("abort", "length"),  # vLLM's, for a request that it gave up: not whole
        (["stop"], "length"),
    ],
)
def test_how_a_reply_ended(finish: Any, means: str) -> None:
    assert read(completion(finish=finish)).finish == means


def test_a_refusal_is_one_whatever_the_end_is_called() -> None:
    got = read(completion(text=None, refusal="I cannot judge that."))
    assert (got.finish, got.text) == ("refusal", "I cannot judge that.")


def test_a_thought_is_no_reply() -> None:
    got = read(completion(text=None, finish="length", reasoning_content='{"verdict": "correct"}'))
    assert (got.text, got.finish) == ("", "length")
    got = read(completion(text="b", reasoning_content="a", reasoning="a"))
    assert got.text == "b"


def test_content_in_parts_is_their_text() -> None:
    parts = [{"type": "thinking", "thinking": "no"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    assert read(completion(text=parts)).text == "ab"


@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        "fine",
        {},
        {"choices": []},
        {"choices": None},
        {"choices": ["x"]},
        {"choices": [{"message": None}]},
        {"choices": [{"text": "legacy"}]},
        completion(text=5),
        completion(text={"verdict": "correct"}),
        {"error": {"message": "said with 200"}},
    ],
)
def test_what_is_no_completion_is_a_failure_that_may_pass_and_may_have_cost(body: Any) -> None:
    with pytest.raises(Failure, match="does not follow OpenAI's chat protocol") as caught:
        read(body)
    assert (caught.value.kind, caught.value.passing, caught.value.spent) == ("malformed", True, True)


def test_usage_is_priced_and_bounded_where_it_is_not_said() -> None:
    said = read(completion()).usage
    assert (said.prompt_tokens, said.completion_tokens, said.estimated) == (100, 10, False)
    assert said.cost_usd == pytest.approx(120e-6)
    for usage in (None, {}, {"prompt_tokens": 5}, {"prompt_tokens": -5, "completion_tokens": 1}, "many"):
        assert read({**completion(), "usage": usage}).usage is BOUND


def test_the_first_token_s_alternatives_are_read_and_nonsense_left_out() -> None:
    top = [{"token": "Yes", "logprob": -0.1}, {"token": "No", "logprob": float("nan")}, {"token": 5, "logprob": 0}]
    top += [{"token": "no", "logprob": 1e-9}, "x"]  # type: ignore[list-item]
    body = completion()
    body["choices"][0]["logprobs"] = {"content": [{"token": "Yes", "logprob": -0.1, "top_logprobs": top}]}
    assert [(one.text, one.logprob) for one in read(body).alternatives] == [("Yes", -0.1), ("no", 0.0)]
    for logprobs in (None, {}, {"content": None}, {"content": []}, {"content": ["x"]}, "x"):
        body["choices"][0]["logprobs"] = logprobs
        assert list(read(body).alternatives) == []


# --- over the wire ------------------------------------------------------------------------------------------------


@pytest.fixture
async def server() -> AsyncIterator[FaultyProxy]:
    """A server that answers `fine`, after what a test spoils."""
    async with FaultyProxy("http://upstream/v1", otherwise=reply(completion())) as made:
        yield made


def provider(server: FaultyProxy, **more: Any) -> OpenAIProvider:
    """A provider that asks it."""
    return OpenAIProvider("main", JudgeEndpoint(**{"model": "m", "base_url": server.url, **more}))


async def asked(made: OpenAIProvider, *, times: int = 1, **more: Any) -> Reply:
    """The reply, after as many refused forms."""
    for _ in range(times - 1):
        with pytest.raises(Failure) as caught:
            await made.complete(question(**more))
        assert caught.value.kind == "form"
    got = await made.complete(question(**more))
    await made.close()
    return got


async def failed(made: OpenAIProvider, **more: Any) -> Failure:
    """Returns how it failed."""
    with pytest.raises(Failure) as caught:
        await made.complete(question(**more))
    await made.close()
    return caught.value


async def test_what_is_asked_for_is_sent_and_nothing_else(server: FaultyProxy) -> None:
    made = provider(server, top_p=0.9, extra={"chat_template_kwargs": {"enable_thinking": False}})
    got = await asked(made, schema=SCHEMA, temperature=0.5, seed=7, max_tokens=5)
    assert (got.text, got.model, got.judge) == ("fine", "real", "main")
    sent = server.requests[0]
    assert {name: sent[name] for name in ("model", "temperature", "top_p", "seed", "max_tokens")} == {
        "model": "m",
        "temperature": 0.5,
        "top_p": 0.9,
        "seed": 7,
        "max_tokens": 5,
    }
    assert sent["chat_template_kwargs"] == {"enable_thinking": False}
    assert sent["response_format"]["json_schema"] == {"name": "reply", "strict": True, "schema": SCHEMA}
    await asked(provider(server))
    assert set(server.requests[1]) == {"model", "messages", "temperature", "max_tokens"}


async def test_a_form_is_not_enforced_on_a_question_for_the_first_token(server: FaultyProxy) -> None:
    await asked(provider(server), schema=SCHEMA, alternatives=5)
    assert "response_format" not in server.requests[0]
    assert (server.requests[0]["logprobs"], server.requests[0]["top_logprobs"]) == (True, 5)


async def test_a_form_that_is_refused_is_not_sent_again(server: FaultyProxy) -> None:
    server.spoil(
        status(400, "Invalid parameter: 'response_format' of type 'json_schema' is not supported with this model."),
        status(422, "response_format.type: json_object is not permitted"),
    )
    made = provider(server)
    await asked(made, times=3, schema=SCHEMA)
    forms = [request.get("response_format", {}).get("type") for request in server.requests]
    assert forms == ["json_schema", "json_object", None]
    assert made.wire.structured == "none"
    await asked(made, schema=SCHEMA)
    assert "response_format" not in server.requests[-1]


async def test_a_form_that_was_asked_for_is_kept(server: FaultyProxy) -> None:
    server.spoil(status(400, "response_format is not supported"))
    failure = await failed(provider(server, structured="json_schema"), schema=SCHEMA)
    assert (failure.kind, failure.passing) == ("rejected", False)
    await asked(provider(server, structured="json_object"), schema=SCHEMA)
    assert server.requests[-1]["response_format"] == {"type": "json_object"}
    await asked(provider(server, structured="none"), schema=SCHEMA)
    assert "response_format" not in server.requests[-1]


async def test_a_bound_and_a_sampling_that_are_refused_are_sent_as_the_model_takes_them(server: FaultyProxy) -> None:
    server.spoil(
        status(
            400,
            "Unsupported parameter: 'max_tokens' is not supported with it. Use 'max_completion_tokens' instead.",
        ),
        status(400, "Unsupported value: 'temperature' does not support 0.0 with this model. Only 1 is supported."),
    )
    made = provider(server)
    await asked(made, times=3, max_tokens=5)
    assert "max_tokens" not in server.requests[-1]
    assert "temperature" not in server.requests[-1]
    assert server.requests[-1]["max_completion_tokens"] == 5


@pytest.mark.parametrize(
    "said",
    [
        "This model's maximum context length is 4096 tokens.",
        "'max_tokens' or 'max_completion_tokens' is too large: 9999",
        "logprobs are not supported",
    ],
)
async def test_another_refusal_is_one(server: FaultyProxy, said: str) -> None:
    server.spoil(status(400, said))
    failure = await failed(provider(server), schema=SCHEMA)
    assert (failure.kind, failure.passing, failure.spent) == ("rejected", False, False)
    assert said in str(failure)


@pytest.mark.parametrize(
    ("fault", "kind", "passing", "spent"),
    [
        (harm.RESET, "unreachable", True, True),
        (harm.EMPTY, "malformed", True, True),
        (harm.HTML, "malformed", True, True),
        (harm.WRONG_JSON, "malformed", True, True),
        (harm.NO_CHOICES, "malformed", True, True),
        (harm.ERROR_WITH_200, "malformed", True, True),
        (reply(b"[" * 100_000), "malformed", True, True),
        (reply(b"\xff\xfe\x00"), "malformed", True, True),
        (status(408), "server_error", True, False),
        (status(409), "server_error", True, False),
        (status(429), "rate_limited", True, False),
        (status(500), "server_error", True, False),
        (status(503), "server_error", True, False),
        (reply(b"<html>Bad Gateway</html>", 502, "text/html"), "server_error", True, False),
        (status(401, "Incorrect API key provided"), "forbidden", False, False),
        (status(403), "forbidden", False, False),
        (status(404, "The model does not exist"), "rejected", False, False),
        (status(413), "rejected", False, False),
    ],
)
async def test_every_way_to_fail_is_told_from_the_others(
    server: FaultyProxy, fault: Fault, kind: str, passing: bool, spent: bool
) -> None:
    server.spoil(fault)
    failure = await failed(provider(server))
    assert (failure.kind, failure.passing, failure.spent) == (kind, passing, spent)
    assert len(server.requests) == 1  # the client itself does not ask again


@pytest.mark.parametrize(
    ("fault", "timeout_s", "kind"),
    [(harm.HANG, 0.05, "timeout"), (Fault("slow"), 0.05, "timeout"), (Fault("cut"), 60.0, "unreachable")],
)
async def test_a_reply_that_does_not_end_is_none(
    server: FaultyProxy, fault: Fault, timeout_s: float, kind: str
) -> None:
    async with FaultyProxy(server.url, fault) as between:
        failure = await failed(provider(between, timeout_s=timeout_s))
    assert (failure.kind, failure.passing, failure.spent) == (kind, True, True)


async def test_the_pause_that_is_asked_for_is_heard(server: FaultyProxy) -> None:
    server.spoil(status(429, retry_after="7"), status(503, retry_after_ms="250"))
    assert (await failed(provider(server))).pause_s == 7
    assert (await failed(provider(server))).pause_s == 0.25


async def test_nobody_there_is_told_and_cost_nothing() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound, and not listening
        port = taken.getsockname()[1]
        made = OpenAIProvider("main", JudgeEndpoint(model="m", base_url=f"http://127.0.0.1:{port}/v1"))
        failure = await failed(made)
    assert (failure.kind, failure.passing, failure.spent) == ("unreachable", True, False)
    for address in ("http://no-such-host.invalid/v1", "no-address"):
        failure = await failed(OpenAIProvider("main", JudgeEndpoint(model="m", base_url=address)))
        assert (failure.kind, failure.spent) == ("unreachable", False)


async def test_keys_are_sent_and_never_said(
    server: FaultyProxy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    monkeypatch.setenv("SOME_KEY", "sk-from-env")
    await asked(provider(server, api_key="sk-own", headers={"x-team": "sk-header"}))
    await asked(provider(server, api_key_env="SOME_KEY"))
    assert [one["authorization"] for one in server.headers] == ["Bearer sk-own", "Bearer sk-from-env"]
    assert server.headers[0]["x-team"] == "sk-header"
    server.spoil(*[status(401, "Incorrect API key: sk-own, sk-from-env or sk-header. " + "x" * 5000)] * 2)
    failures = [await failed(provider(server, api_key="sk-own", headers={"x-team": "sk-header"}))]
    failures.append(await failed(provider(server, api_key_env="SOME_KEY")))
    assert "sk-own" not in str(failures[0])
    assert "sk-header" not in str(failures[0])
    assert "sk-from-env" not in str(failures[1])
    assert "see api_key" in str(failures[0])
    assert all(len(str(failure)) < 500 for failure in failures)
    assert "sk-" not in caplog.text


async def test_a_key_that_is_not_set_is_a_clear_error_and_nothing_is_sent(
    server: FaultyProxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SOME_KEY", raising=False)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-somebody-else")
    failure = await failed(provider(server, api_key_env="SOME_KEY"))
    assert (failure.kind, failure.passing) == ("forbidden", False)
    assert "SOME_KEY" in str(failure)
    assert server.requests == []
    await asked(provider(server))
    assert "sk-somebody-else" not in server.headers[0]["authorization"]


async def test_a_request_s_text_in_an_error_is_not_repeated_but_for_the_message(server: FaultyProxy) -> None:
    echo = {"detail": [{"loc": ["body"], "input": {"messages": "the sample's text"}}]}
    server.spoil(reply(echo, 422))
    assert "sample" not in str(await failed(provider(server)))


async def test_a_probe_asks_for_the_models_and_for_one_token_where_there_is_no_list(server: FaultyProxy) -> None:
    server.spoil(reply({"object": "list", "data": [{"id": "m"}, {"id": "n"}]}))
    assert await provider(server).probe() == "has m"
    assert server.requests == [None]
    server.spoil(reply({"object": "list", "data": [{"id": "n"}]}), status(404))
    with pytest.raises(Failure, match="unknown model 'm'; the server has: n"):
        await provider(server).probe()
    server.spoil(reply({"object": "list", "data": [{"id": "n"}]}))
    assert await provider(server).probe() == "answers as real", "lists leave out aliases and folders"
    for code in (404, 500):  # a list may be broken where chats are not
        server.spoil(status(code))
        assert await provider(server).probe() == "answers as real"
    assert server.requests[-1]["max_tokens"] == 1
    server.spoil(status(401))
    with pytest.raises(Failure, match="401"):
        await provider(server).probe()
