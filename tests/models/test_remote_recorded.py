"""vLLM and SGLang as certain versions of them speak: our requests have only fields that they know, and their replies,
errors among them, are read. The shapes stand in `recorded/`, with the version that they are from."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rewarden_models.failure import Failure
from rewarden_models.remote.connection import Connection
from rewarden_models.remote.protocol import Engine
from rewarden_models.remote.sglang import Sglang
from rewarden_models.remote.vllm import Vllm
from rewarden_models.row import Row
from rewarden_verifiers.inference import Written
from tests.threaded import Threaded

pytestmark = pytest.mark.needs_server

CLIENTS: dict[str, Callable[[Connection, str], Engine]] = {"vllm": Vllm, "sglang": Sglang}
FOLDER = Path(__file__).with_name("recorded")
IDS = [5, 17, 9, 44]

Ask = Callable[[Engine], Awaitable[Any]]


@cache
def recorded(kind: str) -> dict[str, Any]:
    """The replies of an engine, and the fields of its requests, as JSON schemas."""
    found: dict[str, Any] = json.loads((FOLDER / f"{kind}.json").read_text())
    return found


def reply(kind: str, name: str) -> dict[str, Any]:
    """The body of a recorded reply."""
    body: dict[str, Any] = recorded(kind)["replies"][name]["body"]
    return body


@dataclass
class Playing:
    """A server of that kind that gives recorded replies by name, in turn, to requests that the engine would take whole.
    What it refuses is a test's failure: `refused`. paths: of the requests, in order."""

    kind: str
    names: list[str]
    paths: list[str] = field(default_factory=list)
    bodies: list[Any] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)

    async def answer(self, request: Request) -> Response:
        path = request.url.path
        body = await request.json() if request.method == "POST" else None
        self.paths.append(path)
        self.bodies.append(body)
        known = recorded(self.kind)["requests"]
        if body is not None:
            schema = known.get(path, False)  # nothing is recorded of another route
            self.refused += [error.message for error in jsonschema_rs.validator_for(schema).iter_errors(body)]
        given = recorded(self.kind)["replies"][self.names.pop(0)]
        assert given["path"] in (path, "*")
        return JSONResponse(given["body"], status_code=given.get("status", 200))


@contextmanager
def playing(kind: str, *names: str) -> Iterator[tuple[Playing, Engine]]:
    """That server, and who asks it. At the end every reply was asked for, and no request was refused."""
    player = Playing(kind, list(names))
    server = Threaded([Route("/{path:path}", player.answer, methods=["GET", "POST"])])
    connection = Connection("main", server.start(), None, timeout_s=10, concurrency=4, pause_s=0)
    try:
        yield player, CLIENTS[kind](connection, "served")
        assert player.refused == []
        assert player.names == []
    finally:
        server.stop()


def predicted(reads: Sequence[int], targets: Sequence[list[int]]) -> Ask:
    return lambda engine: engine.predicted(Row(ids=IDS, reads=list(reads), targets=list(targets)))


def classified(engine: Engine) -> Awaitable[Any]:
    return engine.classified(IDS)


def labelled(engine: Engine) -> Awaitable[Any]:
    return engine.labelled(IDS, range(len(IDS)))


def stepped(*ids: int) -> Ask:
    """Outputs at each 9 of these tokens."""
    return lambda engine: engine.labelled(ids, [place for place, token in enumerate(ids) if token == 9])


def paired(engine: Engine) -> Awaitable[Any]:
    return engine.paired("a question", "an answer")


def embedded(engine: Engine) -> Awaitable[Any]:
    return engine.embedded(IDS)


def written(engine: Engine) -> Awaitable[Any]:
    return engine.written(IDS, max_tokens=6, temperature=0.7, top_p=0.9, seed=3, stop=["\n\n"])


READ: dict[str, tuple[str, Sequence[str], Ask, Any]] = {
    "a reward": ("vllm", ["classify"], classified, [-3.25]),
    "logits of labels": ("vllm", ["classify, three labels"], classified, [-3.25, 0.5, 7.125]),
    "a cross-encoder's": ("vllm", ["score"], paired, [4.75]),
    "outputs of each token": (
        "vllm",
        ["pooling, each token"],
        labelled,
        [[-1.5, 2.0], [0.25, -0.75], [3.0, 1.0], [-4.0, 0.5]],
    ),
    "outputs of steps, pooled by STEP": (
        "vllm",
        ["pooling, by STEP", "pooling, by STEP, three"],
        stepped(5, 9, 44, 9),
        [[-1.5, 2.0], [3.0, 1.0]],
    ),
    "a vector": ("vllm", ["embeddings"], embedded, [0.6, -0.8]),
    "a likelihood, beside likelier tokens": (
        "vllm",
        ["completion, prompt_logprobs"],
        predicted([0, 1, 2], [[17], [9], [44]]),
        [[-2.5], [-6.0], [-0.25]],
    ),
    "a token that is impossible": (
        "vllm",
        ["completion, prompt_logprobs, -inf"],
        predicted([0], [[17]]),
        [[-9999.0]],
    ),
    "words at the end": (
        "vllm",
        ["completion, logprob_token_ids"],
        predicted([3], [[11, 12]]),
        [[-1.5, -3.0]],
    ),
    "words behind each step, whatever the order of the choices": (
        "vllm",
        ["completion, logprob_token_ids", "completion, logprob_token_ids, two prompts"],
        predicted([0, 1, 3], [[11, 12]] * 3),
        [[-1.0, -2.0], [-0.5, -0.75], [-1.5, -3.0]],
    ),
    "a text that ends": (
        "vllm",
        ["completion, stop"],
        written,
        Written(text=" The answer is 12.", finish="stop", tokens=1),
    ),
    "a text that is cut off": (
        "vllm",
        ["completion, length"],
        written,
        Written(text=" The answer", finish="length", tokens=1),
    ),
    "SGLang's reward": ("sglang", ["classify"], classified, [-3.25]),
    "SGLang's vector": ("sglang", ["embeddings"], embedded, [0.6, -0.8]),
    "SGLang's likelihood and words": (
        "sglang",
        ["generate, logprobs"],
        predicted([1, 2, 3], [[9], [44], [11, 12]]),
        [[-6.0], [-0.25], [-1.5, -3.0]],
    ),
    "SGLang's text that ends": (
        "sglang",
        ["generate, stop"],
        written,
        Written(text=" The answer is 12.", finish="stop", tokens=6),
    ),
    "SGLang's text that is cut off": (
        "sglang",
        ["generate, length"],
        written,
        Written(text=" The answer", finish="length", tokens=2),
    ),
}


@pytest.mark.parametrize("case", READ)
async def test_replies_are_read_and_requests_are_understood(case: str) -> None:
    kind, names, ask, expected = READ[case]
    with playing(kind, *names) as (_, engine):
        assert await ask(engine) == expected


@pytest.mark.parametrize(("kind", "names"), [("vllm", ["models"]), ("sglang", ["model_info", "models"])])
async def test_what_is_served_is_read(kind: str, names: Sequence[str]) -> None:
    with playing(kind, *names) as (_, engine):
        served = await engine.about()
        assert (served.context, "org/model" in served.version) == (4095, True)


async def test_an_older_sglang_is_asked_by_its_old_route() -> None:
    with playing("sglang", "no such route", "get_model_info", "models") as (player, engine):
        assert (await engine.about()).version == "org/model:default"
        assert player.paths == ["/model_info", "/get_model_info", "/v1/models"]


async def test_a_word_that_is_left_out_is_asked_for_behind_the_prompt() -> None:
    """A version that does not know `logprob_token_ids` names the likeliest tokens alone."""
    with playing("vllm", "completion, the likeliest alone", "completion, prompt_logprobs") as (player, engine):
        assert await engine.predicted(Row(ids=IDS[:3], reads=[2], targets=[[33, 44]])) == [[-1.0, -0.25]]
        assert player.bodies[1]["prompt"] == IDS


FAILED: dict[str, tuple[str, Sequence[str], Ask, str, str]] = {
    # vLLM writes NaN as null at `/pooling`, and answers 400 elsewhere.
    "a reward of NaN": ("vllm", ["classify, NaN"], classified, "not_finite", "Out of range"),
    "a score of NaN": ("vllm", ["score, NaN"], paired, "not_finite", "Out of range"),
    "a token's output of NaN": ("vllm", ["pooling, NaN"], labelled, "not_finite", "an output that is not finite"),
    "log-probabilities of NaN": ("vllm", ["completion, NaN"], predicted([3], [[11]]), "not_finite", "Out of range"),
    "a head that pools by STEP": ("vllm", ["pooling, by STEP"], labelled, "unsupported", "--pooler-config"),
    "a head that pools by STEP elsewhere": ("vllm", ["pooling, by STEP, none"], labelled, "unsupported", "step_tag_id"),
    "a model that could pool so": ("vllm", ["pooling, a task to set"], labelled, "unsupported", "--pooler-config.task"),
    "an embedding model's head": ("vllm", ["no such route"], classified, "unsupported", "Not Found"),
    "a pair for more labels than one": ("vllm", ["no such route"], paired, "unsupported", "Not Found"),
    "a model that pools otherwise": ("vllm", ["pooling, another task"], labelled, "unsupported", "Unsupported task"),
    "a prompt that is too long there": ("vllm", ["too long"], classified, "failed", "context length is 4096"),
    "a model that is gone": ("vllm", ["no such model"], classified, "loading", "`served` does not exist"),
    "a route that is not there": ("vllm", ["no such route"], labelled, "unsupported", "with 404: Not Found"),
    "an engine that is dead": ("vllm", ["engine dead"] * 4, classified, "failed", "had an error"),
    "a server without room": ("vllm", ["overloaded"] * 4, written, "failed", "with 503"),
    "a text that repeats itself": ("vllm", ["completion, repetition"], written, "failed", "'repetition'"),
    "SGLang's NaN": ("sglang", ["classify, NaN"], classified, "not_finite", "not finite"),
    "SGLang's log-probability of NaN": ("sglang", ["generate, NaN"], predicted([3], [[11]]), "not_finite", "finite"),
    "SGLang's token that is lacking": (
        "sglang",
        ["generate, a token is lacking"],
        predicted([1, 2, 3], [[9], [44], [12]]),
        "failed",
        "left out a requested token",
    ),
    "SGLang's prompt that is too long": ("sglang", ["too long"], classified, "failed", "longer than the model's"),
    "SGLang's refusal": ("sglang", ["refused by the schema"], written, "failed", "expected a list of integers"),
    "SGLang's route that is not there": ("sglang", ["no such route"], classified, "unsupported", "Not Found"),
    "SGLang's full queue": ("sglang", ["overloaded"] * 4, classified, "failed", "queue is full"),
    "SGLang's text that was given up": ("sglang", ["generate, abort"], written, "failed", "'abort'"),
}


@pytest.mark.parametrize("case", FAILED)
async def test_errors_are_never_numbers_and_say_whose_they_are(case: str) -> None:
    kind, names, ask, failure, said = FAILED[case]
    with playing(kind, *names) as (_, engine):
        with pytest.raises(Failure) as raised:
            await ask(engine)
        assert raised.value.kind == failure
        assert said in str(raised.value)
        assert '{"' not in str(raised.value).replace("""'{"pooling_type": """, ""), "the text, not its JSON"


@pytest.mark.parametrize("kind", sorted(CLIENTS))
async def test_who_is_told_to_come_back_comes_back(kind: str) -> None:
    with playing(kind, "overloaded", "classify") as (_, engine):
        assert await engine.classified(IDS) == [-3.25]


async def test_no_request_is_larger_than_the_engine_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """vLLM answers 400 to more than 128 tokens to name, or more than 1024 prompts."""
    limits = recorded("vllm")["requests"]["/v1/completions"]["properties"]
    most_tokens = limits["logprob_token_ids"]["maxItems"]
    most_prompts = limits["prompt"]["anyOf"][1]["maxItems"]
    asked: list[tuple[int, int]] = []

    async def post(self: Connection, path: str, body: dict[str, Any]) -> dict[str, Any]:
        prompts, tokens = body["prompt"], body["logprob_token_ids"]
        asked.append((len(prompts), len(tokens)))
        rows = [{f"token_id:{token}": -token / 1024 - len(ids) for token in tokens} for ids in prompts]
        return {"choices": [{"index": at, "logprobs": {"top_logprobs": [row]}} for at, row in enumerate(rows)]}

    monkeypatch.setattr(Connection, "post", post)
    engine = Vllm(Connection("main", "http://127.0.0.1:1", None, timeout_s=1, concurrency=1), "served")
    wanted = list(range(1000, 1000 + 2 * most_tokens + 1))
    count = most_prompts + 2
    row = Row(ids=[3] * (count + 1), reads=list(range(1, count + 1)), targets=[wanted] * count)
    found = await engine.predicted(row)
    assert found == [[-token / 1024 - read - 1 for token in wanted] for read in row.reads]
    assert max(prompts for prompts, _ in asked) == most_prompts
    assert max(tokens for _, tokens in asked) == most_tokens
