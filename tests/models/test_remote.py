"""vLLM and SGLang: the same numbers through either protocol, and no number where a server says something else."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any

import pytest

from rewarden_models.failure import Failure
from rewarden_models.remote.connection import Connection
from rewarden_models.remote.protocol import Engine, raw
from rewarden_models.remote.sglang import Sglang
from rewarden_models.remote.vllm import Vllm
from rewarden_models.row import Row
from tests.models.engines import FakeEngine, FakeSglang, FakeVllm

pytestmark = pytest.mark.needs_server

IDS = [5, 17, 9, 301, 44, 8, 2, 90]
FAKES: dict[str, tuple[type[FakeEngine], Callable[[Connection, str], Engine]]] = {
    "vllm": (FakeVllm, Vllm),
    "sglang": (FakeSglang, Sglang),
}


@pytest.fixture(params=sorted(FAKES))
async def asked(request: pytest.FixtureRequest) -> AsyncIterator[tuple[FakeEngine, Engine]]:
    """A server of each kind, and who asks it."""
    kind, client = FAKES[request.param]
    with kind() as fake:
        connection = Connection("main", fake.url, None, timeout_s=10, concurrency=8, pause_s=0)
        yield fake, client(connection, "served")
        await connection.close()


@contextmanager
def _vllm(**more: Any) -> Iterator[FakeEngine]:
    with FakeVllm(**more) as fake:
        yield fake


def _client(fake: FakeEngine, name: str = "served") -> Vllm:
    return Vllm(Connection("main", fake.url, None, timeout_s=10, concurrency=8, pause_s=0), name)


async def test_what_is_served_is_asked(asked: tuple[FakeEngine, Engine]) -> None:
    served = await asked[1].about()
    assert served.context == 4095, "a token is always written, so that the input has one less"
    assert "org/model" in served.version


async def test_a_likelihood_is_that_of_the_tokens_that_stand_there(asked: tuple[FakeEngine, Engine]) -> None:
    fake, engine = asked
    row = Row(ids=IDS, reads=[3, 4, 5, 6], targets=[[token] for token in IDS[4:]])
    expected = [[fake.toy.logprob(IDS[:place], IDS[place])] for place in range(4, 8)]
    assert await engine.predicted(row) == [pytest.approx(one) for one in expected]
    assert len(fake.requests) == 1, "one pass gives them all"


async def test_choices_are_read_at_the_end_and_within(asked: tuple[FakeEngine, Engine]) -> None:
    fake, engine = asked
    row = Row(ids=IDS, reads=[2, 7], targets=[[11, 12], [12, 13]])
    assert await engine.predicted(row) == [
        pytest.approx([fake.toy.logprob(IDS[:3], token) for token in (11, 12)]),
        pytest.approx([fake.toy.logprob(IDS, token) for token in (12, 13)]),
    ]


async def test_a_version_that_names_the_likeliest_tokens_alone_is_asked_for_each() -> None:
    with _vllm(chosen=False) as fake:
        found = await _client(fake).predicted(Row(ids=IDS, reads=[7], targets=[[12, 13]]))
        assert found == [pytest.approx([fake.toy.logprob(IDS, token) for token in (12, 13)])]
        assert [body.get("prompt") for _, body in fake.requests] == [[IDS], [*IDS, 12], [*IDS, 13]]


async def test_steps_are_asked_at_once_behind_the_longest() -> None:
    """The server computes the longest once, and remembers it for the others, which are its beginnings."""
    with _vllm() as fake:
        row = Row(ids=IDS, reads=[1, 3, 5, 7], targets=[[11, 12]] * 4)
        found = await _client(fake).predicted(row)
        expected = [[fake.toy.logprob(IDS[: read + 1], token) for token in (11, 12)] for read in row.reads]
        assert found == [pytest.approx(one) for one in expected]
        assert [body["prompt"] for _, body in fake.requests] == [[IDS], [IDS[:2], IDS[:4], IDS[:6]]]
        assert all(body["logprob_token_ids"] == [11, 12] for _, body in fake.requests)


@pytest.mark.parametrize("indices", [[], [0], [0, 0], [0, 2], [1, 2], [0, 1, 2], [None, 1]])
async def test_numbers_of_another_prompt_are_never_taken(indices: list[Any]) -> None:
    told = {"top_logprobs": [{"token_id:11": -1.0}]}
    reply = {"choices": [{"index": index, "finish_reason": "length", "logprobs": told} for index in indices]}

    class Confused(FakeVllm):
        def routes(self) -> dict[str, Any]:
            usual = super().routes()
            complete = usual["/v1/completions"]
            return {**usual, "/v1/completions": lambda body: reply if len(body["prompt"]) > 1 else complete(body)}

    with Confused() as fake, pytest.raises(Failure) as raised:
        await _client(fake).predicted(Row(ids=IDS, reads=[1, 3, 7], targets=[[11]] * 3))
    assert raised.value.kind == "failed"


class TestSteps:
    """vLLM's STEP pooling, its default for Qwen2.5-Math-PRM: outputs at the tokens of its own mark alone, whose number
    is all that tells which token that is."""

    STEPS = (5, 17, 99, 301, 44, 99, 2, 99)

    async def test_outputs_are_those_at_the_marks(self) -> None:
        with _vllm(labels=2, tag=99) as fake:
            client = _client(fake)
            for reads in ([2, 5, 7], [5]):  # a mark of the prompt's is no step's
                expected = [pytest.approx(fake.toy.outputs(self.STEPS[: read + 1], 2)) for read in reads]
                assert await client.labelled(self.STEPS, reads) == expected
            assert len(fake.requests) == 3, "which token it is was asked once"

    @pytest.mark.parametrize(
        ("tag", "reads"),
        [
            pytest.param(98, [2, 5, 7], id="a token that is not there"),
            pytest.param(44, [2, 5, 7], id="another one"),
            pytest.param(99, [2, 4], id="steps that end in several tokens"),
        ],
    )
    async def test_a_mark_that_is_another_token_is_refused_with_what_to_set(self, tag: int, reads: list[int]) -> None:
        with _vllm(labels=2, tag=tag) as fake, pytest.raises(Failure) as raised:
            await _client(fake).labelled(self.STEPS, reads)
        assert raised.value.kind == "unsupported"
        assert all(part in raised.value.message for part in ("params.mark", "step_tag_id", "--pooler-config", '"ALL"'))

    async def test_as_many_outputs_as_marks_are_not_enough(self) -> None:
        """A token that occurs as often as the mark would give each step another place's value."""
        ids = [5, 99, 8, 44, 99, 8, 44, 99, 8]
        with _vllm(labels=2, tag=8) as fake, pytest.raises(Failure, match="step_tag_id"):
            await _client(fake).labelled(ids, [1, 4, 7])

    async def test_outputs_after_an_activation_are_seen_with_the_first_steps(self) -> None:
        with _vllm(labels=2, tag=99, activated=True) as fake, pytest.raises(Failure, match="use_activation"):
            await _client(fake).labelled(self.STEPS, [2, 5, 7])


async def test_heads_and_vectors_are_raw(asked: tuple[FakeEngine, Engine]) -> None:
    fake, engine = asked
    assert await engine.classified(IDS) == pytest.approx(fake.toy.outputs(IDS, 1))
    assert await engine.embedded(IDS) == pytest.approx(fake.toy.vector(IDS))


async def test_each_token_has_its_outputs() -> None:
    with _vllm(labels=2) as fake:
        rows = await _client(fake).labelled(IDS, range(len(IDS)))
        assert rows == [pytest.approx(fake.toy.outputs(IDS[: place + 1], 2)) for place in range(len(IDS))]


async def test_sglang_has_no_outputs_of_tokens_and_no_pairs() -> None:
    with FakeSglang() as fake:
        engine = Sglang(Connection("main", fake.url, None, timeout_s=10, concurrency=8), "served")
        for work in (engine.labelled(IDS, [0]), engine.outputs(IDS), engine.paired("a", "b")):
            with pytest.raises(Failure) as raised:
                await work
            assert raised.value.kind == "unsupported"


@pytest.mark.parametrize("labels", [1, 3])
async def test_outputs_after_an_activation_are_told_from_raw_ones(labels: int) -> None:
    """An old vLLM leaves out `use_activation`: every reward would lie between 0 and 1."""
    for activated in (False, True):
        with _vllm(labels=labels, activated=activated) as fake:
            found = [await _client(fake).classified(IDS[:end]) for end in range(2, 8)]
            assert raw(found) is not activated


async def test_what_passes_is_asked_again_and_what_does_not_is_a_failure(asked: tuple[FakeEngine, Engine]) -> None:
    fake, engine = asked
    fake.failures += [503, 429]
    assert await engine.classified(IDS) == pytest.approx(fake.toy.outputs(IDS, 1))
    fake.failures += [503] * 4
    with pytest.raises(Failure) as raised:
        await engine.classified(IDS)
    assert raised.value.kind == "failed"
    fake.failures += [404]
    with pytest.raises(Failure) as raised:
        await engine.classified(IDS)
    assert raised.value.kind == "unsupported", "the server has no such route: its model does something else"


async def test_a_model_that_is_not_served_is_named() -> None:
    with _vllm() as fake, pytest.raises(Failure, match="no model 'other'; it has: served"):
        await _client(fake, "other").about()


@pytest.mark.parametrize(
    "reply",
    [
        {},
        {"data": []},
        {"data": [{"probs": []}]},
        {"data": [{"probs": ["1"]}]},
        {"data": [{"probs": [True]}]},
        {"data": [{"probs": [1.0]}, {"probs": [2.0]}]},
        [],
        "text",
    ],
)
async def test_a_reply_of_another_form_is_never_a_number(reply: Any) -> None:
    with _replying("/classify", reply) as fake, pytest.raises(Failure) as raised:
        await _client(fake).classified(IDS)
    assert raised.value.kind == "failed"


@pytest.mark.parametrize(
    "rows",
    [None, [], [None] * 7, [None] * 9, [None, *({"1": {"logprob": -1.0}} for _ in range(7))], [None] * 8],
    ids=["none", "empty", "short", "long", "of other tokens", "blank"],
)
async def test_log_probabilities_of_another_prompt_are_never_taken(rows: Any) -> None:
    reply = {"choices": [{"index": 0, "text": "", "finish_reason": "length", "prompt_logprobs": rows}]}
    with _replying("/v1/completions", reply) as fake, pytest.raises(Failure) as raised:
        await _client(fake).predicted(Row(ids=IDS, reads=[6], targets=[[90]]))
    assert raised.value.kind == "failed"


def _replying(path: str, reply: Any) -> AbstractContextManager[FakeEngine]:
    class Other(FakeVllm):
        def routes(self) -> dict[str, Any]:
            return {**super().routes(), path: lambda body: reply}

    return Other()
