"""A stream outlives its connection: every sample is answered once, and a group is never split."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidRequest, Overloaded, RequestError, Unavailable
from rewarden.resume import OpenStream, resume
from rewarden.retry import NO_RETRY, Retry
from rewarden.types import Group, Sample, Verdict
from tests.client.servers import judge, statistics

AT_ONCE = Retry(attempts=3, first_s=0.0)


def rows(*groups: str | None) -> list[Sample]:
    """One sample for each entry, which is its group."""
    sizes = {name: groups.count(name) for name in groups}
    return [
        Sample(response="x", reference="x", id=str(n), group=name, group_size=sizes[name] if name else None)
        for n, name in enumerate(groups)
    ]


async def each(samples: list[Sample]) -> AsyncIterator[Sample]:
    for sample in samples:
        yield sample


def breaking(*limits: int, error: RequestError | None = None) -> tuple[OpenStream, list[list[Sample]]]:
    """A transport whose n-th connection breaks after so many items, and what each connection was sent."""
    connections: list[list[Sample]] = []

    async def stream(samples: AsyncIterator[Sample]) -> AsyncGenerator[Verdict | Group, None]:
        limit = limits[len(connections)] if len(connections) < len(limits) else None
        seen: list[Sample] = []
        connections.append(seen)
        members: dict[str, list[Verdict]] = {}
        said = 0

        async for sample in samples:
            seen.append(sample)
            verdict = judge(sample, len(seen) - 1)
            items: list[Verdict | Group] = [verdict]
            if sample.group is not None:
                members.setdefault(sample.group, []).append(verdict)
                if len(members[sample.group]) == sample.group_size:
                    items.append(statistics(sample.group, members.pop(sample.group)))
            for item in items:
                if said == limit:
                    raise error or Unavailable("broke")
                said += 1
                yield item
        if limit is not None:
            raise error or Unavailable("broke")

    return stream, connections


async def collect(stream: OpenStream, samples: list[Sample], retry: Retry = AT_ONCE) -> list[Verdict | Group]:
    return [item async for item in resume(stream, each(samples), retry)]


def ids(samples: list[Sample]) -> list[str | None]:
    return [sample.id for sample in samples]


async def test_only_what_is_unanswered_is_sent_again() -> None:
    stream, connections = breaking(2)
    items = await collect(stream, rows(None, None, None, None))
    assert [item.index for item in items if isinstance(item, Verdict)] == [0, 1, 2, 3]
    assert [item.id for item in items if isinstance(item, Verdict)] == ["0", "1", "2", "3"]
    assert ids(connections[1]) == ["2", "3"]


async def test_a_group_is_sent_again_as_a_whole_and_its_members_are_answered_once() -> None:
    # 0 and 1 are whole and have their statistics; the break comes after 3, when 2 and 3 of group b are answered.
    stream, connections = breaking(5)
    items = await collect(stream, rows("a", "a", "b", "b", "b", None))
    assert ids(connections[1]) == ["2", "3", "4", "5"]
    assert sorted(item.index for item in items if isinstance(item, Verdict)) == [0, 1, 2, 3, 4, 5]
    assert [item.group for item in items if isinstance(item, Group)] == ["a", "b"]


async def test_a_group_whose_statistics_are_missing_is_sent_again() -> None:
    stream, connections = breaking(2)
    items = await collect(stream, rows("a", "a"))
    assert ids(connections[1]) == ["0", "1"]
    assert [type(item) for item in items] == [Verdict, Verdict, Group]


async def test_a_break_after_the_last_answer_asks_for_nothing_more() -> None:
    stream, connections = breaking(2)
    items = await collect(stream, rows(None, None))
    assert len(items) == 2
    assert len(connections) == 1


async def test_a_name_used_for_two_groups_one_after_the_other_settles_both() -> None:
    first, second = rows("a", "a"), rows("a", "a")
    stream, connections = breaking(4)
    items = await collect(stream, first + second)
    assert len([item for item in items if isinstance(item, Verdict)]) == 4
    assert len([item for item in items if isinstance(item, Group)]) == 2
    assert len(connections[1]) == 2


async def test_tries_that_bring_nothing_are_bounded() -> None:
    stream, connections = breaking(1, 0, 0, 0, 0, 0)
    with pytest.raises(Unavailable):
        await collect(stream, rows(None, None))
    assert len(connections) == 3, "one try that brought a verdict, after which the count of three begins anew"


async def test_one_try_is_one_try() -> None:
    stream, connections = breaking(0)
    with pytest.raises(Unavailable):
        await collect(stream, rows(None), NO_RETRY)
    assert len(connections) == 1


@pytest.mark.parametrize("error", [InvalidRequest("x"), Overloaded("x", retry_after_s=1e6)])
async def test_what_another_try_cannot_mend_is_raised_at_once(error: RequestError) -> None:
    stream, connections = breaking(1, error=error)
    with pytest.raises(type(error)):
        await collect(stream, rows(None, None))
    assert len(connections) == 1


async def test_what_the_samples_raise_is_raised_even_if_it_looks_like_the_servers_error() -> None:
    async def failing() -> AsyncIterator[Sample]:
        yield rows(None)[0]
        raise Unavailable("mine")

    stream, connections = breaking()
    with pytest.raises(Unavailable, match="mine"):
        async for _ in resume(stream, failing(), AT_ONCE):
            pass
    assert len(connections) == 1


@pytest.mark.parametrize("before", [1, 200])
async def test_samples_that_are_cancelled_end_the_stream_with_an_error(before: int) -> None:
    made = asyncio.ensure_future(asyncio.Event().wait())

    async def samples() -> AsyncIterator[Sample]:
        for sample in rows(*[None] * before):
            yield sample
        made.cancel()
        await made

    stream, connections = breaking()
    seen: list[Verdict | Group] = []

    async def read() -> None:
        async for item in resume(stream, samples(), AT_ONCE):
            seen.append(item)

    with pytest.raises(InvalidRequest, match="iterator of samples was cancelled"):
        await asyncio.wait_for(read(), 30)
    assert len(seen) == before
    assert len(connections) == 1


async def test_a_stream_that_is_cancelled_itself_stays_cancelled() -> None:
    begun = asyncio.Event()

    async def samples() -> AsyncIterator[Sample]:
        begun.set()
        await asyncio.Event().wait()
        yield rows(None)[0]

    async def read() -> None:
        async for _ in resume(breaking()[0], samples(), AT_ONCE):
            pass

    reader = asyncio.create_task(read())
    await begun.wait()
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader


async def test_a_break_does_not_disturb_the_iterator_of_samples() -> None:
    go_on = asyncio.Event()

    async def live() -> AsyncIterator[Sample]:
        yield rows(None)[0]
        await go_on.wait()  # the connection breaks while the caller makes the next sample
        yield replace(rows(None)[0], id="1")

    stream, connections = breaking(0)
    broken_after = stream

    async def watched(samples: AsyncIterator[Sample]) -> AsyncGenerator[Verdict | Group, None]:
        try:
            async for item in broken_after(samples):
                yield item
        except Unavailable:
            go_on.set()
            raise

    items = [item async for item in resume(watched, live(), AT_ONCE)]
    assert [item.index for item in items] == [0, 1]  # type: ignore[union-attr]
    assert ids(connections[1]) == ["0", "1"]


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.sampled_from([None, None, "a", "b", "c"]), max_size=12),
    st.lists(st.integers(0, 6), max_size=8),
)
def test_however_it_breaks_every_sample_and_every_group_is_answered_once(
    groups: list[str | None], limits: list[int]
) -> None:
    samples = rows(*groups)
    stream, connections = breaking(*limits)
    items = asyncio.run(collect(stream, samples, Retry(attempts=20, first_s=0.0)))
    verdicts = [item for item in items if isinstance(item, Verdict)]
    assert sorted(verdict.index for verdict in verdicts) == list(range(len(samples)))
    assert all(verdict.id == str(verdict.index) for verdict in verdicts)
    found = [item for item in items if isinstance(item, Group)]
    assert sorted(group.group for group in found) == sorted({name for name in groups if name})
    for group in found:
        assert group.size == groups.count(group.group)
    for sent in connections:
        # The last member sent of a group is preceded by all members that were sent before: none was left behind.
        for name in {sample.group for sample in sent if sample.group}:
            members = [int(sample.id or "") for sample in sent if sample.group == name]
            assert members == [n for n, other in enumerate(groups) if other == name][: len(members)]
