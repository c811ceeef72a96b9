"""Waiting rows become batches: their choice, the cost of a failing batch, its callers, and swaps of weights under
load."""

from __future__ import annotations

import asyncio
import gc
import threading
import weakref
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pytest

from rewarden_models.batches import SLACK, family_of, pick
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.memory import CALM_S, Budget
from rewarden_models.overhead import CPU, tokens_of
from rewarden_models.prefix import plan
from rewarden_models.row import Output, Row
from rewarden_verifiers.inference import Choose, Input, Write


@dataclass(eq=False)
class Waits:
    """A row that waits."""

    ids: list[int]
    family: object | None = None


def row(length: int, start: Sequence[int] = (), token: int = 1) -> Waits:
    ids = [*start, *[token] * (length - len(start))]
    return Waits(ids, family_of(ids))


def test_the_oldest_is_in_every_batch_however_many_shorter_ones_come() -> None:
    waiting = [row(900), *(row(10, token=n) for n in range(500))]
    assert waiting[0] in pick(waiting, 1000)


def test_a_batch_holds_rows_of_like_length_within_its_budget() -> None:
    waiting = [row(length, token=n) for n, length in enumerate((300, 20, 310, 2000, 290, 25, 305, 22, 900))]
    batch = pick(waiting, 1300)
    lengths = [len(item.ids) for item in batch]
    assert sorted(lengths) == [290, 300, 305, 310]
    assert len(batch) * max(lengths) - sum(lengths) < SLACK * len(batch) * max(lengths)


def test_a_row_beyond_the_budget_goes_alone() -> None:
    assert [len(item.ids) for item in pick([row(5000), row(5000, token=2)], 1000)] == [5000]


def test_few_short_rows_go_together_whatever_the_padding() -> None:
    assert len(pick([row(3), row(40, token=2), row(20, token=3)], 1000)) == 3


def test_where_passes_cost_much_a_batch_is_filled_before_it_is_even() -> None:
    waiting = [row(length, token=n) for n, length in enumerate((300, 20, 310, 290, 25, 305, 22, 900))]
    assert len(pick(waiting, 8000)) == 4
    assert len(pick(waiting, 8000, overhead=4000)) == 8


def test_where_passes_cost_much_siblings_share_only_what_saves_more() -> None:
    prompt = list(range(100, 400))
    waiting = [row(310, prompt), row(305, token=9), row(400, prompt, 2), row(320, prompt, 3)]
    assert waiting[1] not in pick(waiting, 2000, overhead=600)
    assert waiting[1] in pick(waiting, 2000, overhead=601)
    assert plan([entry.ids for entry in waiting], 600).parts
    assert not plan([entry.ids for entry in waiting], 601).parts


@pytest.mark.parametrize(
    ("few", "many", "tokens"),
    [
        pytest.param(0.02, 0.10, 2048, id="a fifth is the pass itself"),
        pytest.param(0.001, 0.801, CPU, id="next to nothing"),
        pytest.param(0.02, 0.02, 16384, id="as many as may be take no longer"),
        pytest.param(0.02, 0.019, 16384, id="and noise makes them look faster"),
    ],
)
def test_a_pass_costs_as_many_tokens_as_take_as_long(few: float, many: float, tokens: int) -> None:
    assert tokens_of(few, many, 8192, 16384) == tokens


def test_siblings_go_together_though_their_lengths_differ() -> None:
    prompt = list(range(100, 400))
    waiting = [row(310, prompt), row(305, token=9), row(400, prompt, 2), row(320, prompt, 3)]
    assert pick(waiting, 1000) == [waiting[0], waiting[2], waiting[3]]
    assert waiting[2] not in pick(waiting, 1000, share=False)


def test_a_plan_shares_what_pays_and_no_more() -> None:
    prompt, stem = list(range(300)), list(range(1000, 1064))
    rows = [[*prompt, 1], [*prompt, 2, 3], *([*prompt, *stem, n] for n in range(4)), [7, 8]]
    root = plan(rows)
    assert root.rows == [6]
    (piece,) = root.parts
    assert (piece.begin, piece.end, sorted(piece.rows)) == (0, 300, [0, 1])
    (inner,) = piece.parts
    assert (inner.begin, inner.end, sorted(inner.rows)) == (300, 364, [2, 3, 4, 5])
    assert root.tokens([len(ids) for ids in rows]) == 300 + 1 + 2 + 64 + 4 + 2
    assert plan([[1, 2, 3, n] for n in range(9)]).parts == []


def test_rows_that_begin_one_another_make_no_deep_tree() -> None:
    lists = [list(range(length)) for length in range(1, 1200)]
    assert sorted(plan(lists).below()) == list(range(1199))


def test_a_budget_shrinks_with_each_failure_and_grows_back() -> None:
    time = [0.0]
    budget = Budget(16_384, lambda: time[0])
    budget.failed(16_384)
    budget.failed(8_192)
    assert budget.tokens == 4_096
    time[0] = CALM_S
    assert budget.tokens == 8_192
    time[0] = 10 * CALM_S
    assert budget.tokens == 16_384


# From here on torch is needed.


class Fake:
    """A runner of batches: each row's output is its first token, unless `wrong` says otherwise."""

    def __init__(self, wrong: Callable[[Sequence[Row]], Any] = lambda rows: None) -> None:
        self.batches: list[list[int]] = []
        self.wrong = wrong
        self.free = threading.Event()
        self.free.set()
        self.overhead, self.measured = CPU, True

    def measure(self, most: int) -> None:
        self.overhead, self.measured = most, True

    def run(self, rows: Sequence[Row], tree: Any = None, cap: int = 0) -> list[Output]:
        self.batches.append([row.ids[0] for row in rows])
        assert self.free.wait(10)
        self.wrong(rows)
        return [[[float("nan") if row.ids[0] == 13 else float(row.ids[0])]] for row in rows]


def scheduling() -> Any:
    """The scheduler's module, which imports torch. Skips the test where torch is missing."""
    pytest.importorskip("torch", reason="models need torch")
    from rewarden_models import scheduler as module

    return module


def scheduler(**more: Any) -> Any:
    options = {"tokens": 1000, "latency_s": 0.001, "share": True, "on_cpu": True, **more}
    return scheduling().Scheduler(ThreadPoolExecutor(1), **options)


async def results(made: Any, fake: Fake, *firsts: int) -> list[Any]:
    """A task a row, all at once."""
    work = [made.run(fake, [Row([first, 5, 5], [])]) for first in firsts]
    return await asyncio.gather(*work, return_exceptions=True)


def kinds(found: Sequence[Any]) -> list[Any]:
    return [item.kind if isinstance(item, Failure) else item[0][0][0] for item in found]


@pytest.mark.needs_server
def test_what_arrives_together_is_one_batch_and_equal_rows_are_one_row() -> None:
    fake, made = Fake(), scheduler(latency_s=5, tokens=9)
    assert kinds(asyncio.run(results(made, fake, 1, 2, 1, 3, 3, 3))) == [1, 2, 1, 3, 3, 3]
    assert fake.batches == [[1, 2, 3]]
    assert made.status()["equal_rows"] == 3


@pytest.mark.needs_server
def test_what_a_pass_costs_on_a_device_is_measured_before_the_first_batch() -> None:
    """It decides the first batch: rows of such lengths would go apart on a CPU."""
    lists = [[number] * length for number, length in enumerate((300, 20, 310, 25), start=1)]

    async def main(made: Any, fake: Fake) -> None:
        await asyncio.gather(*(made.run(fake, [Row(ids, [])]) for ids in lists))

    device, processor = Fake(), Fake()
    device.measured = False
    asyncio.run(main(scheduler(tokens=2000, on_cpu=False), device))
    asyncio.run(main(scheduler(tokens=2000), processor))
    assert (device.overhead, [sorted(batch) for batch in device.batches]) == (2000, [[1, 2, 3, 4]])
    assert [sorted(batch) for batch in processor.batches] == [[1, 3], [2, 4]]


@pytest.mark.needs_server
def test_one_row_that_is_no_number_costs_nobody_else() -> None:
    assert kinds(asyncio.run(results(scheduler(), Fake(), 1, 13, 2))) == [1, "not_finite", 2]


@pytest.mark.needs_server
def test_one_row_that_the_model_chokes_on_costs_nobody_else() -> None:
    def wrong(rows: Sequence[Row]) -> None:
        if any(row.ids[0] == 7 for row in rows):
            raise IndexError("index out of range in self")

    assert kinds(asyncio.run(results(scheduler(), Fake(wrong), 1, 7, 2))) == [1, "failed", 2]


@pytest.mark.needs_server
@pytest.mark.parametrize(
    "error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes")]
)
def test_a_batch_that_does_not_fit_is_halved_until_it_does(error: Exception) -> None:
    def wrong(rows: Sequence[Row]) -> None:
        if len(rows) > 2 or rows[0].ids[0] == 9:
            raise error

    fake, made = Fake(wrong), scheduler(tokens=4000)
    assert kinds(asyncio.run(results(made, fake, 1, 2, 3, 4, 9, 6))) == [1, 2, 3, 4, "memory", 6]
    status = made.status()
    assert status["ooms"] >= 3
    assert status["batch_tokens"] < 4000


@pytest.mark.needs_server
def test_a_device_that_is_lost_ends_the_process_and_no_row_is_tried_on_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """After a failed assertion CUDA refuses all that comes: the next process has the device anew."""
    module = scheduling()
    left: list[bool] = []
    monkeypatch.setattr(module, "end_process", lambda: left.append(True))

    def wrong(rows: Sequence[Row]) -> None:
        raise RuntimeError("CUDA error: device-side assert triggered")

    fake = Fake(wrong)
    made = scheduler(latency_s=5, tokens=9)
    assert kinds(asyncio.run(results(made, fake, 1, 2, 3))) == ["stopped"] * 3
    assert (left, fake.batches) == ([True], [[1, 2, 3]])


@pytest.mark.needs_server
def test_who_leaves_takes_along_what_is_not_begun() -> None:
    async def main() -> None:
        fake, made = Fake(), scheduler()
        fake.free.clear()
        first = asyncio.create_task(made.run(fake, [Row([1], [])]))
        while not fake.batches:
            await asyncio.sleep(0)
        second, third = (asyncio.create_task(made.run(fake, [Row([n], [])])) for n in (2, 3))
        await asyncio.sleep(0)
        second.cancel()
        await asyncio.wait([second])
        fake.free.set()
        assert kinds([await first, await third]) == [1, 3]
        assert fake.batches == [[1], [3]]
        assert made.status()["waiting_rows"] == 0

    asyncio.run(main())


@pytest.mark.needs_server
def test_who_waits_when_it_is_closed_is_told() -> None:
    async def main() -> None:
        fake, made = Fake(), scheduler()
        fake.free.clear()
        under_way = asyncio.create_task(results(made, fake, 1))
        while not fake.batches:
            await asyncio.sleep(0)
        waits = asyncio.create_task(results(made, fake, 2))
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        made.close()
        fake.free.set()
        assert kinds([*await under_way, *await waits, *await results(made, fake, 3)]) == ["stopped"] * 3

    asyncio.run(main())


@pytest.mark.needs_server
def test_a_defect_leaves_nobody_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    module, made = scheduling(), scheduler()
    monkeypatch.setattr(module, "pick", lambda *_: 1 / 0)
    assert kinds(asyncio.run(results(made, Fake(), 1, 2))) == ["failed", "failed"]


def weights(version: str, seed: int = 0) -> Any:
    """A small model, loaded."""
    torch = pytest.importorskip("torch", reason="models need torch")
    pytest.importorskip("transformers", reason="models need transformers")
    from rewarden_models.loading import Loaded
    from rewarden_models.rendering import Reader
    from tests.models import tiny

    torch.set_num_threads(1)
    model, tokenizer = tiny.causal(), tiny.tokenizer()
    with torch.no_grad():
        model.model.norm.weight.mul_(1 + seed)
    return Loaded(
        name="tiny", model=model, tokenizer=tokenizer, reader=Reader(tokenizer), head="causal", context=512, pad=257,
        version=version,
    )  # fmt: skip


def engine(loaded: Any, **more: Any) -> Any:
    from rewarden_models.engine import ModelEngine

    return ModelEngine("tiny", ModelEndpoint(model="none", **more), loaded, ThreadPoolExecutor(1))


def ask(text: str) -> Choose:
    return Choose(input=Input(text=text), choices=["a", "b", "no"])


@pytest.mark.needs_server
def test_a_swap_loses_nobody_and_each_says_which_weights_it_had() -> None:
    async def main() -> None:
        first, second = weights("1"), weights("2", 1)
        made = engine(first)
        old = await made.run(ask("x0"))
        before = [asyncio.create_task(made.run(ask(f"x{n}"))) for n in range(40)]
        await asyncio.sleep(0.005)  # some are prepared by now, some are not
        made.swap(second)
        after = await asyncio.gather(*(made.run(ask(f"x{n}")) for n in range(40)))
        assert {item.facts.version for item in after} == {"2"}
        for number, result in enumerate(await asyncio.gather(*before)):
            same = old if number == 0 else None
            if result.facts.version == "2":
                same = after[number]
            if same is not None:
                assert result.logprobs == pytest.approx(same.logprobs, abs=1e-4)
        assert old.logprobs != pytest.approx(after[0].logprobs, abs=1e-2)
        assert made.about().version == "2"
        freed = weakref.ref(first.model)
        del first, before
        gc.collect()
        assert freed() is None
        made.close()

    asyncio.run(main())


@pytest.mark.needs_server
def test_weights_that_cannot_do_what_the_old_ones_can_are_not_swapped_in() -> None:
    made = engine(weights("1"))
    other = weights("2")
    other.head = "sequence"
    with pytest.raises(Failure, match="the old one is kept") as found:
        made.swap(other)
    assert found.value.kind == "unsupported"
    assert made.about().version == "1"
    made.close()


@pytest.mark.needs_server
def test_scores_go_on_while_a_long_text_is_written() -> None:
    async def main() -> None:
        made = engine(weights("1"))
        text = asyncio.create_task(made.run(Write(input=Input(text="ab"), max_tokens=300, temperature=1.0, samples=4)))
        while made.status()["writer"] is None:
            await asyncio.sleep(0)
        assert len((await made.run(ask("q"))).logprobs) == 3
        assert not text.done()
        assert len((await text).texts) == 4
        made.close()

    asyncio.run(main())


@pytest.mark.needs_server
def test_siblings_of_a_request_share_their_prompt() -> None:
    async def main() -> dict[str, Any]:
        made = engine(weights("1"), latency_ms=2000, batch_tokens=2000)
        prompt = "p" * 200
        together = await asyncio.gather(*(made.run(ask(prompt + end)) for end in "uvwxyz"))
        plain = engine(weights("1"), prefix=False)
        for end, result in zip("uvwxyz", together, strict=True):
            assert result.logprobs == pytest.approx((await plain.run(ask(prompt + end))).logprobs, abs=1e-4)
        assert plain.status()["shared_tokens"] == 0
        plain.close()
        made.close()
        return made.status()

    status = asyncio.run(main())
    assert status["shared_tokens"] >= 5 * 200
    assert status["waiting_rows"] == 0
