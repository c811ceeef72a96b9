"""One sample at a time from many threads, one stream for all of them, and no event loop."""

from __future__ import annotations

import asyncio
import signal
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from rewarden.errors import DeadlineExceeded, InternalError, InvalidRequest, Overloaded, RequestError, Unavailable
from rewarden.transports.thread_stream import ThreadStream
from rewarden.types import Batch, Group, Sample, Use, Verdict
from tests.client.servers import Script, judge

HEADER = Batch(samples=(), use=Use(name="equal"))


def row(number: int) -> Sample:
    return Sample(response=str(number), reference=str(number % 2), id=str(number))


def outcome(stream: ThreadStream, number: int) -> Verdict | RequestError:
    """The verdict of a sample, or the error of its call."""
    try:
        return stream.verify(row(number))
    except RequestError as error:
        return error


def outcomes(stream: ThreadStream, count: int) -> list[Verdict | RequestError]:
    """Those of so many calls, each from a thread of its own."""
    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(lambda number: outcome(stream, number), range(count)))


def test_each_thread_gets_its_own_verdict(served: str, script: Script) -> None:
    stream = ThreadStream(served, HEADER, api_key="k", timeout_s=60, idle_s=60)
    for _ in range(8):
        found = outcomes(stream, 24)
        assert [verdict.id for verdict in found if isinstance(verdict, Verdict)] == [str(n) for n in range(24)]
        assert [verdict.score for verdict in found[:4] if isinstance(verdict, Verdict)] == [1.0, 1.0, 0.0, 0.0]
    assert [len(seen) for seen in script.streams] == [8 * 24]
    assert (script.headers[0].use, script.authorizations) == (Use(name="equal"), ["Bearer k"])


def test_samples_and_verdicts_of_any_size_pass(served: str, script: Script) -> None:
    long = "x" * 20_000_000  # more than a socket's buffers hold

    def echo(sample: Sample, index: int) -> Verdict:
        return Verdict(status="scored", score=1.0, index=index, extracted=sample.response)

    script.judge = echo
    stream = ThreadStream(served, HEADER, timeout_s=60)
    with ThreadPoolExecutor(4) as pool:
        found = list(
            pool.map(lambda size: stream.verify(Sample(response=long[:size])), [20_000_000, 10, 10, 5_000_000])
        )
    assert [len(verdict.extracted) for verdict in found] == [20_000_000, 10, 10, 5_000_000]


def test_a_stream_ends_when_nobody_asks_and_the_next_call_opens_another(served: str, script: Script) -> None:
    stream = ThreadStream(served, HEADER, idle_s=0.001)
    for number in range(3):
        assert stream.verify(row(number)).id == str(number)
        while stream.open:
            time.sleep(0.001)
    assert [len(seen) for seen in script.streams] == [1, 1, 1]


def test_an_error_ends_the_calls_that_wait_and_the_next_one_may_succeed(served: str, script: Script) -> None:
    script.refusals.append(Overloaded("busy", retry_after_s=3.0))
    stream = ThreadStream(served, HEADER, timeout_s=60)
    error = outcome(stream, 0)
    assert isinstance(error, Overloaded)
    assert (error.message, error.details["retry_after_s"]) == ("busy", 3.0)
    script.breaks.append(0)
    assert isinstance(outcome(stream, 0), Unavailable)
    assert stream.verify(row(0)).score == 1.0


def test_a_server_that_cannot_be_reached_is_unavailable_to_all_threads() -> None:
    with socket.socket() as bound:  # and does not listen
        bound.bind(("127.0.0.1", 0))
        stream = ThreadStream(f"http://127.0.0.1:{bound.getsockname()[1]}", HEADER)
        found = outcomes(stream, 8)
    assert [type(error) for error in found] == [Unavailable] * 8
    assert "cannot be reached" in str(found[0])


def test_a_target_that_is_no_url_is_refused() -> None:
    with pytest.raises(InvalidRequest, match="not a valid URL"):
        ThreadStream("http://127.0.0.1:99999", HEADER)


def test_a_silent_server_ends_the_calls_that_wait(served: str, script: Script) -> None:
    script.hold = asyncio.Event()
    found = outcomes(ThreadStream(served, HEADER, timeout_s=0.05), 3)
    assert [type(error) for error in found] == [DeadlineExceeded] * 3


def test_a_sample_that_cannot_be_written_costs_its_own_caller_only(served: str, script: Script) -> None:
    stream = ThreadStream(served, HEADER)
    assert stream.verify(row(1)).score == 1.0
    with pytest.raises(InvalidRequest, match="reference"):
        stream.verify(Sample(response="", reference=float("nan")))
    assert stream.verify(row(1)).score == 1.0
    assert [len(seen) for seen in script.streams] == [2]


def test_a_server_that_hangs_up_while_a_lone_call_writes_ends_the_call() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:

        def hang_up() -> None:
            connection, _ = listener.accept()
            connection.recv(1)  # so that it is writing
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # by a reset
            connection.close()

        serving = pool.submit(hang_up)
        stream = ThreadStream(f"http://127.0.0.1:{listener.getsockname()[1]}", HEADER)
        with pytest.raises(Unavailable):
            stream.verify(Sample(response="x" * 2**24))  # more than sockets hold, so that the writing fails
        serving.result()


@pytest.mark.parametrize("ends", [b"", b'{"error":{"code":"unavailable","message":"draining"}}\n'])
def test_a_stream_that_the_server_has_ended_meanwhile_is_opened_again_without_an_error(ends: bytes) -> None:
    """The server ends each stream after its first verdict."""
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:

        def serve() -> None:
            for _ in range(2):
                connection, _ = listener.accept()
                with connection, connection.makefile("rb") as lines:
                    while b'"response"' not in lines.readline():
                        pass
                    verdict = b'{"verdict":{"index":0,"status":"scored","score":1.0}}\n'
                    connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n" + verdict)
                    answered.acquire()
                    connection.sendall(ends)
                ended.release()

        answered, ended = threading.Semaphore(0), threading.Semaphore(0)
        pool.submit(serve)
        stream = ThreadStream(f"http://127.0.0.1:{listener.getsockname()[1]}", HEADER, timeout_s=60, idle_s=60)
        for _ in range(2):
            assert stream.verify(row(0)).score == 1.0
            answered.release()
            assert ended.acquire(timeout=60)


@pytest.mark.parametrize(
    ("line", "error"),
    [
        (b"not json", InternalError),
        (b'{"verdict":{"index":0}}', InternalError),
        (b'{"verdict":{"status":"scored","score":1.0}}', InternalError),
        (b'{"done":{"verdicts":0}}', Unavailable),
        (b'{"error":{"code":"invalid_request","message":"no such use"}}', InvalidRequest),
    ],
)
def test_a_line_that_is_no_verdict_ends_the_stream(line: bytes, error: type[RequestError]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener, ThreadPoolExecutor(1) as pool:

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(1 << 16)
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b\n" % (len(line) + 1, line))

        serving = pool.submit(serve)
        found = outcome(ThreadStream(f"http://127.0.0.1:{listener.getsockname()[1]}", HEADER, timeout_s=60), 0)
        serving.result()
    assert type(found) is error


@pytest.mark.parametrize("reader", ["interrupted", "other"])
def test_an_interrupt_ends_the_call_of_its_own_thread_only(
    served: str, script: Script, interruptible: None, reader: str
) -> None:
    came = [threading.Event(), threading.Event()]
    left = threading.Event()

    async def stream_of_two(header: Batch, samples: AsyncIterator[Sample]) -> AsyncIterator[Verdict | Group]:
        seen = []
        async for sample in samples:
            seen.append(sample)
            came[len(seen) - 1].set()
            if len(seen) == 2:
                await asyncio.to_thread(left.wait)
                for place, one in enumerate(seen):
                    yield judge(one, place)

    script.stream = stream_of_two  # type: ignore[method-assign]
    stream = ThreadStream(served, HEADER, timeout_s=60)

    def interrupt() -> None:
        came[1].wait(60)
        while stream._connection is None or stream._connection._writing:  # an interrupt there breaks the stream
            time.sleep(0.001)
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    def second() -> Verdict:
        came[0].wait(60)
        return stream.verify(row(1))

    with ThreadPoolExecutor(2) as pool:
        pool.submit(interrupt)
        other = pool.submit(second) if reader == "interrupted" else pool.submit(stream.verify, row(1))
        if reader == "other":
            assert came[0].wait(60)
        with pytest.raises(KeyboardInterrupt):
            stream.verify(row(0))
        left.set()
        assert other.result(60).id == "1"
