"""Between the server and its sandbox host: requests arrive as sent, and failures are named."""

from __future__ import annotations

import asyncio
import math
import re
import subprocess
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, cast

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden_sandboxes import codec
from rewarden_sandboxes.checks import MOST, check_job
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.drain import Drain
from rewarden_sandboxes.errors import BadJob, Busy, HostError, HostLost, Leaving, NoRoom
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, JobEvent, Limits, Program, Report
from rewarden_sandboxes.secret import read_tokens
from rewarden_sandboxes.service import MOST_BYTES, make_server
from rewarden_sandboxes.tls import Tls
from rewarden_sandboxes.v1 import sandbox_pb2 as pb
from tests.certificates import Authority
from tests.server.hosts import ScriptedHost, free_address, serving

pytestmark = pytest.mark.needs_server

PROGRAM = Program(language="python", code=b"print(1)")

texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=12)
blobs = st.binary(max_size=12)
seconds = st.floats(min_value=1e-6, max_value=1e5)
counts = st.integers(1, 2**40)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The strategy's values, or None."""
    return st.none() | strategy


def tuples_of(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Short tuples."""
    return st.lists(strategy, max_size=3).map(tuple)


limits = st.builds(
    Limits,
    cpu_s=maybe(seconds),
    wall_s=maybe(seconds),
    **{name: maybe(counts) for name in ("memory_mb", "processes", "output_bytes", "disk_mb", "open_files")},
)
files = st.dictionaries(texts, blobs, max_size=2)
programs = st.builds(
    Program,
    language=texts,
    code=blobs,
    files=files,
    args=tuples_of(texts),
    mode=st.sampled_from(["script", "serve", "tests", "call", "shared"]),
    limits=limits,
)
cases = st.builds(
    Case,
    stdin=blobs,
    request=blobs,
    files=files,
    args=tuples_of(texts),
    limits=limits,
    partner_stdin=blobs,
    partner_request=blobs,
    partner_files=files,
    partner_args=tuples_of(texts),
)
jobs = st.builds(
    Job,
    program=programs,
    cases=tuples_of(cases),
    partner=maybe(programs),
    join=st.sampled_from(["", "socket", "stdio"]),
    compile_limits=limits,
    collect=tuples_of(texts),
    patience_s=maybe(st.one_of(seconds, st.just(math.inf))),
)
reports = st.builds(
    Report,
    status=st.sampled_from(["ok", "runtime_error", "time_limit", "internal_error"]),
    limit=maybe(texts),
    exit_code=maybe(st.integers(-1, 255)),
    signal=maybe(st.integers(0, 64)),
    stdout=blobs,
    stderr=blobs,
    reply=blobs,
    cpu_time=st.floats(0, 1e6),
    wall_time=st.floats(0, 1e6),
    idle_time=st.floats(0, 1e6),
    peak_memory=maybe(st.integers(0, 2**50)),
    truncated=st.booleans(),
    files=files,
    enforced=st.dictionaries(texts, texts, max_size=2),
    flags=tuples_of(texts),
    message=maybe(texts),
)
events = st.one_of(
    st.builds(CompileResult, report=reports, who=st.sampled_from(["program", "partner"])),
    st.builds(CaseResult, index=st.integers(0, 2**31 - 1), program=reports, partner=maybe(reports)),
)


@settings(max_examples=60)
@given(jobs)
def test_a_job_arrives_as_it_was_sent(job: Job) -> None:
    sent = pb.Job.FromString(codec.job_to_message(job).SerializeToString())
    assert codec.job_from_message(sent) == job


@settings(max_examples=60)
@given(events)
def test_an_event_arrives_as_it_was_sent(event: JobEvent) -> None:
    sent = pb.JobEvent.FromString(codec.event_to_message(event).SerializeToString())
    assert codec.event_from_message(sent) == event


def test_an_event_of_a_newer_host_is_refused_and_not_guessed() -> None:
    with pytest.raises(ValueError, match="not known here"):
        codec.event_from_message(pb.JobEvent())


# --- what a job may ask for


def job(program: dict[str, Any] | None = None, case: dict[str, Any] | None = None, **fields: Any) -> Job:
    """A job of `print(1)` with some fields replaced."""
    given = {"language": "python", "code": b"print(1)", **(program or {})}
    return Job(program=Program(**given), cases=(Case(**(case or {})),), **fields)


@pytest.mark.parametrize("name", MOST)
@pytest.mark.parametrize("value", [0, -1, math.nan, math.inf, -math.inf, 1e18, True, "1"])
def test_a_limit_that_is_none_is_refused_by_name(name: str, value: Any) -> None:
    wrong = Limits(**{name: value})
    for asked, path in (
        (job(program={"limits": wrong}), f"program.limits.{name}"),
        (job(case={"limits": wrong}), f"cases[0].limits.{name}"),
        (job(compile_limits=wrong), f"compile_limits.{name}"),
        (job(partner=Program(language="c", code=b"", limits=wrong), join="stdio"), f"partner.limits.{name}"),
    ):
        with pytest.raises(BadJob) as raised:
            check_job(asked)
        assert raised.value.path == path


def test_the_largest_and_smallest_limits_pass() -> None:
    check_job(job(program={"limits": Limits(cpu_s=1e-9, wall_s=MOST["wall_s"], memory_mb=1, open_files=1 << 20)}))


@pytest.mark.parametrize(
    "path",
    ["../x", "/etc/passwd", "", "a/../../x", "a//b", "./a", "a/", "a\0b", "x" * 256, "/".join("a" * 600), "\ud800"],
    ids=lambda path: repr(path[:12]),
)
def test_a_path_that_is_none_is_refused_wherever_it_stands(path: str) -> None:
    for asked, where in (
        (job(program={"files": {path: b""}}), "program.files"),
        (job(case={"files": {path: b""}}), "cases[0].files"),
        (job(case={"partner_files": {path: b""}}), "cases[0].partner_files"),
        (job(collect=[f"{path}/" if path == "a/" else path]), "collect"),  # one slash at the end is a folder there
    ):
        with pytest.raises(BadJob) as raised:
            check_job(asked)
        assert raised.value.path.startswith(f"{where}[")


def test_files_and_folders_can_be_collected() -> None:
    check_job(job(collect=["a", "b/", "b/c/"]))


def test_paths_that_stay_inside_pass() -> None:
    check_job(job(program={"files": {"a": b"", "b/c": b"", "…/é": b"", "..a": b"", "a b": b""}}))


def test_a_file_is_not_the_folder_of_another() -> None:
    with pytest.raises(BadJob, match="is a file next to it"):
        check_job(job(program={"files": {"a": b"", "a/b": b""}}))


@pytest.mark.parametrize("args", [["a\0b"], ["\ud800"], ["x" * 131_072], ["x" * 100_000] * 11])
def test_an_argument_that_the_kernel_would_refuse_is_refused_here(args: list[str]) -> None:
    with pytest.raises(BadJob) as raised:
        check_job(job(program={"args": args}))
    assert raised.value.path.startswith("program.args")


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"program": {"mode": "root"}}, "program.mode"),
        ({"program": {"language": ""}}, "program.language"),
        ({"join": "pipe"}, "join"),
        ({"join": "socket"}, "join"),
        ({"partner": PROGRAM}, "join"),
        ({"patience_s": -1.0}, "patience_s"),
        ({"patience_s": math.nan}, "patience_s"),
    ],
)
def test_whatever_else_is_wrong_is_refused_by_name(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(BadJob) as raised:
        check_job(job(**fields))
    assert raised.value.path == path


# --- over the socket


async def ask(client: HostClient, asked: Job) -> list[JobEvent]:
    """All of a job's events."""
    return [event async for event in client.run(asked)]


async def test_events_come_as_they_end(tmp_path: Path) -> None:
    more = asyncio.Event()

    async def slowly(asked: Job) -> AsyncGenerator[JobEvent, None]:
        yield CompileResult(report=Report(status="ok"))
        yield CaseResult(index=0, program=Report(status="ok", stdout=b"first"))
        await more.wait()
        yield CaseResult(index=1, program=Report(status="time_limit", limit="cpu_s"))

    host = ScriptedHost(slowly)
    asked = Job(program=PROGRAM, cases=(Case(stdin=b"a"), Case(stdin=b"b")))
    async with serving(host, tmp_path) as address:
        client = HostClient(address)
        told = []
        async for event in client.run(asked):
            told.append(event)
            if len(told) == 2:
                more.set()
        await client.close()
    assert host.jobs == [asked]
    assert told[1] == CaseResult(index=0, program=Report(status="ok", stdout=b"first"))
    assert told[2] == CaseResult(index=1, program=Report(status="time_limit", limit="cpu_s"))


@pytest.mark.parametrize(
    "error",
    [
        NoRoom("docker is gone; start it: systemctl start docker"),
        Busy("4096 jobs wait"),
        BadJob("program.language", "unknown language 'é\ud800'"),
        HostError("the disk is full"),
    ],
    ids=lambda error: type(error).__name__,
)
async def test_what_the_host_raises_is_raised_here_with_its_words(tmp_path: Path, error: HostError) -> None:
    async def refuse(asked: Job) -> AsyncGenerator[JobEvent, None]:
        raise error
        yield

    async with serving(ScriptedHost(refuse), tmp_path) as address:
        client = HostClient(address)
        with pytest.raises(type(error)) as raised:
            await ask(client, Job(program=PROGRAM))
        assert type(raised.value) is type(error)
        assert raised.value.message == error.message.replace("\ud800", "?")
        if isinstance(error, BadJob):
            assert isinstance(raised.value, BadJob)
            assert raised.value.path == error.path
        await client.close()


async def test_a_defect_of_the_host_is_told_without_its_text(tmp_path: Path) -> None:
    async def broken(asked: Job) -> AsyncGenerator[JobEvent, None]:
        raise ZeroDivisionError("the program's own words")
        yield

    async with serving(ScriptedHost(broken), tmp_path) as address:
        client = HostClient(address)
        with pytest.raises(HostError, match="a defect of the sandbox host") as raised:
            await ask(client, Job(program=PROGRAM))
        assert type(raised.value) is HostError
        await client.close()


async def test_a_malformed_job_never_reaches_the_host(tmp_path: Path) -> None:
    host = ScriptedHost()
    async with serving(host, tmp_path) as address:
        client = HostClient(address)
        with pytest.raises(BadJob) as raised:
            await ask(client, Job(program=Program(language="python", code=b"", files={"../\udcff": b""})))
        assert raised.value.path.startswith("program.files") or "cannot be sent" in raised.value.message
        with pytest.raises(BadJob, match=r"program\.|relative|leave"):
            await ask(client, Job(program=Program(language="python", code=b"", files={"../x": b""})))
        await client.close()
    assert host.jobs == []


async def test_a_job_beyond_one_message_is_refused_before_it_is_sent(tmp_path: Path) -> None:
    async with serving(ScriptedHost(), tmp_path) as address:
        client = HostClient(address)
        with pytest.raises(BadJob, match="bytes"):
            await ask(client, Job(program=Program(language="python", code=bytes(MOST_BYTES))))
        await client.close()


async def test_output_far_beyond_grpcs_usual_limit_comes_whole(tmp_path: Path) -> None:
    async with serving(ScriptedHost(), tmp_path) as address:
        client = HostClient(address)
        written = bytes(20_000_000)
        (event,) = await ask(client, Job(program=PROGRAM, cases=(Case(stdin=written),)))
        assert isinstance(event, CaseResult)
        assert event.program.stdout == written
        await client.close()


async def test_closing_the_iterator_closes_the_hosts(tmp_path: Path) -> None:
    async def forever(asked: Job) -> AsyncGenerator[JobEvent, None]:
        yield CaseResult(index=0, program=Report(status="ok"))
        await asyncio.Event().wait()

    host = ScriptedHost(forever)
    async with serving(host, tmp_path) as address:
        client = HostClient(address)
        # Of two cases: with the last one's result a job is over.
        async with aclosing(client.run(Job(program=PROGRAM, cases=[Case()] * 2))) as told:
            async for _ in told:
                break
        await asyncio.wait_for(host.left.wait(), 30)
        await client.close()


async def test_cancelling_who_waits_closes_the_hosts(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def forever(asked: Job) -> AsyncGenerator[JobEvent, None]:
        begun.set()
        await asyncio.Event().wait()
        yield

    host = ScriptedHost(forever)
    async with serving(host, tmp_path) as address:
        client = HostClient(address)
        task = asyncio.create_task(ask(client, Job(program=PROGRAM)))
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await asyncio.wait_for(host.left.wait(), 30)
        await client.close()


async def test_a_host_that_is_not_there_is_lost_and_found_again(tmp_path: Path) -> None:
    client = HostClient(f"unix:{tmp_path}/host.sock")
    with pytest.raises(HostLost):
        await client.status()
    with pytest.raises(HostLost):
        await ask(client, Job(program=PROGRAM))
    async with serving(ScriptedHost(), tmp_path), asyncio.timeout(30):
        while True:
            try:
                assert (await client.status())["ready"]
                break
            except HostLost:  # it tries again by itself after a moment
                await asyncio.sleep(0.01)
    await client.close()


async def test_a_host_that_goes_away_in_the_middle_is_lost_and_not_at_its_end(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def half(asked: Job) -> AsyncGenerator[JobEvent, None]:
        yield CaseResult(index=0, program=Report(status="ok"))
        begun.set()
        await asyncio.Event().wait()

    async def until_begun(client: HostClient) -> None:
        with pytest.raises(HostLost):
            await ask(client, Job(program=PROGRAM, cases=[Case()] * 2))

    client = HostClient(f"unix:{tmp_path}/host.sock")
    async with serving(ScriptedHost(half), tmp_path):
        task = asyncio.create_task(until_begun(client))
        await begun.wait()
    await task
    await client.close()


async def test_closing_the_client_ends_its_calls_as_lost(tmp_path: Path) -> None:
    begun = asyncio.Event()

    async def forever(asked: Job) -> AsyncGenerator[JobEvent, None]:
        begun.set()
        await asyncio.Event().wait()
        yield

    async with serving(ScriptedHost(forever), tmp_path) as address:
        client = HostClient(address)
        task = asyncio.create_task(ask(client, Job(program=PROGRAM)))
        await begun.wait()
        await client.close()
        with pytest.raises(HostLost):
            await task


class SilentHost(ScriptedHost):
    """Never says how it is. asked: somebody has asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked = asyncio.Event()

    async def status(self, probe: bool = False) -> dict[str, Any]:
        self.asked.set()
        await asyncio.Event().wait()
        return {}


@pytest.mark.parametrize("question", [HostClient.status, partial(HostClient.healthy, timeout_s=60.0)])
async def test_who_asks_how_a_host_is_while_its_client_is_closed_hears_that_it_is_lost(
    question: Callable[[HostClient], Awaitable[object]], tmp_path: Path
) -> None:
    """And is not cancelled, which nobody has asked for: a probe of our own health would have no answer."""
    host = SilentHost()
    async with serving(host, tmp_path) as address:
        client = HostClient(address)

        async def ask() -> type[BaseException] | None:
            try:
                await question(client)
            except (HostLost, asyncio.CancelledError) as error:
                return type(error)
            return None

        left, lost = asyncio.ensure_future(ask()), asyncio.ensure_future(ask())
        await host.asked.wait()
        left.cancel()
        assert await left is asyncio.CancelledError  # who leaves has left
        await client.close()
        assert await lost is HostLost


async def test_the_hosts_status_is_told_as_it_says_it(tmp_path: Path) -> None:
    host = ScriptedHost()
    async with serving(host, tmp_path) as address:
        client = HostClient(address)
        assert await client.status() == host.told
        assert (await client.status(probe=True))["probe"] == {"ok": True, "reason": None}
        await client.close()


# --- from another machine


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Ours."""
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest.fixture(scope="module")
def stranger(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Another one, which nobody here believes."""
    return Authority(tmp_path_factory.mktemp("stranger"), "theirs")


TOKENS = ("the-token-of-tomorrow", "the-token-of-today")


@asynccontextmanager
async def over_tcp(host: ScriptedHost, tls: Tls | None, tokens: tuple[str, ...] = ()) -> AsyncIterator[str]:
    """Serve it at a free port of this machine; the address."""
    address = free_address()
    server = make_server(cast(Host, host), address, tls, tokens)
    await server.start()
    try:
        yield address
    finally:
        await server.stop(0)


async def test_a_host_that_others_can_reach_needs_tls() -> None:
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:50052", "example.org:50052"):
        with pytest.raises(HostError, match="needs TLS"):
            make_server(cast(Host, ScriptedHost()), address)


async def test_a_host_that_others_can_reach_asks_them_for_a_certificate_or_a_token(authority: Authority) -> None:
    made = authority.made("host")
    with pytest.raises(HostError, match=r"certificate \(sandbox\.tls_ca .* token \(sandbox\.token_file"):
        make_server(cast(Host, ScriptedHost()), "0.0.0.0:0", made.alone)
    make_server(cast(Host, ScriptedHost()), "0.0.0.0:0", made.alone, TOKENS)
    make_server(cast(Host, ScriptedHost()), "0.0.0.0:0", made.mutual)


async def test_over_tls_only_who_has_a_certificate_runs_programs(authority: Authority, stranger: Authority) -> None:
    host = ScriptedHost()
    async with over_tcp(host, authority.made("host").mutual) as address:
        theirs = stranger.made("server", believes=authority.ca).mutual
        for tls in (None, theirs, Tls(ca=authority.ca)):
            with pytest.raises(HostLost):
                await asked_once(address, tls, None)
        assert host.jobs == []
        assert len(await asked_once(address, authority.made("server").mutual, None)) == 1


async def test_with_a_token_the_host_alone_shows_a_certificate(authority: Authority) -> None:
    host = ScriptedHost()
    ca = Tls(ca=authority.ca)
    async with over_tcp(host, authority.made("host").alone, TOKENS) as address:
        for token in (None, "the-token-of-yesterday", TOKENS[0][:-1], TOKENS[0] + "x"):
            with pytest.raises(HostLost, match=r"refuses this caller's token: sandbox\.token_file"):
                await asked_once(address, ca, token)
            client = HostClient(address, ca, token)
            with pytest.raises(HostLost, match="token"):
                await client.status()
            assert await client.healthy(60)  # whether it is ready is no secret, and a container's check has no token
            await client.close()
        assert host.jobs == []
        for token in TOKENS:
            assert len(await asked_once(address, ca, token)) == 1


class BrokenCall:
    """A call whose write failed, as gRPC then tells of it: the host's own words are lost."""

    async def write(self, order: pb.Order) -> None:
        raise asyncio.InvalidStateError

    async def read(self) -> pb.Answer:
        nothing = grpc.aio.Metadata()
        raise grpc.aio.AioRpcError(grpc.StatusCode.INTERNAL, nothing, nothing, "Internal error from Core")


@pytest.mark.parametrize(
    ("token", "why"),
    [(TOKENS[0] + "x", r"refuses this caller's token: sandbox\.token_file"), (TOKENS[0], "Internal error from Core")],
)
async def test_a_refusal_that_comes_while_a_job_is_written_is_named_all_the_same(
    authority: Authority, token: str, why: str
) -> None:
    async with over_tcp(ScriptedHost(), authority.made("host").alone, TOKENS) as address:
        client = HostClient(address, Tls(ca=authority.ca), token)
        client._stub.Work = lambda metadata: BrokenCall()
        with pytest.raises(HostLost, match=why):
            await ask(client, Job(program=PROGRAM))
        await client.close()


@pytest.mark.parametrize("wrong", ["theirs", "expired", "elsewhere"])
async def test_no_token_goes_to_a_host_whose_certificate_is_not_right(
    authority: Authority, stranger: Authority, wrong: str
) -> None:
    host = ScriptedHost()
    shown = {
        "theirs": lambda: stranger.made("host"),
        "expired": lambda: authority.made("expired", days=-1),
        "elsewhere": lambda: authority.made("elsewhere", "DNS:elsewhere.example"),
    }[wrong]()
    async with over_tcp(host, shown.alone, TOKENS) as address:
        with pytest.raises(HostLost, match="cannot be reached"):
            await asked_once(address, Tls(ca=authority.ca), TOKENS[0])
    assert host.jobs == []


async def test_no_token_goes_to_another_machine_in_the_clear() -> None:
    with pytest.raises(HostError, match=r"only over TLS: sandbox\.tls_ca is missing"):
        HostClient("192.0.2.1:50052", None, TOKENS[0])


@pytest.mark.parametrize("content", ["", "\n \n", "short", "a token with spaces in it", "t\u00f6ken-token-token-token"])
def test_a_file_without_a_token_is_refused_and_never_repeated(content: str, tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(content)
    with pytest.raises(HostError, match=r"sandbox\.token_file: .*openssl rand -hex 32") as raised:
        read_tokens(path)
    assert not content.strip() or content.strip() not in raised.value.message


def test_a_token_is_a_line(tmp_path: Path) -> None:
    path = tmp_path / "token"
    path.write_text(f"{TOKENS[0]}\r\n\n  {TOKENS[1]}\n")
    assert read_tokens(path) == TOKENS


async def asked_once(address: str, tls: Tls | None, token: str | None) -> list[JobEvent]:
    """Returns what a client of its own is told of a job."""
    client = HostClient(address, tls, token)
    try:
        return await ask(client, Job(program=PROGRAM))
    finally:
        await client.close()


async def test_its_health_is_told_by_the_common_protocol(tmp_path: Path) -> None:
    host = ScriptedHost()
    async with serving(host, tmp_path) as address, grpc.aio.insecure_channel(address) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        serving_, not_serving = health_pb2.HealthCheckResponse.SERVING, health_pb2.HealthCheckResponse.NOT_SERVING
        watched = stub.Watch(health_pb2.HealthCheckRequest(service="rewarden_sandbox.v1.SandboxHost"))
        assert (await watched.read()).status == serving_
        host.told["ready"] = False
        assert (await stub.Check(health_pb2.HealthCheckRequest())).status == not_serving
        assert (await watched.read()).status == not_serving
        with pytest.raises(grpc.aio.AioRpcError, match="NOT_FOUND"):
            await stub.Check(health_pb2.HealthCheckRequest(service="another"))


# --- its end


async def test_a_host_that_drains_answers_what_runs_and_takes_nothing_new(tmp_path: Path) -> None:
    let_go, drain = asyncio.Event(), Drain()

    async def until_let_go(asked: Job) -> AsyncGenerator[JobEvent, None]:
        await let_go.wait()
        yield CaseResult(index=0, program=Report(status="ok"))

    host = ScriptedHost(until_let_go)
    address = f"unix:{tmp_path}/host.sock"
    server = make_server(cast(Host, host), address, drain=drain)
    await server.start()
    client = HostClient(address)
    running = asyncio.create_task(ask(client, Job(program=PROGRAM)))
    while not host.jobs:
        await asyncio.sleep(0.001)
    draining = asyncio.create_task(drain.wait(30))
    while not drain.leaving:
        await asyncio.sleep(0)
    with pytest.raises(Leaving, match="is shutting down"):
        await ask(client, Job(program=PROGRAM))
    with pytest.raises(Leaving):
        await client.session(PROGRAM)
    assert not await client.healthy(5)
    told = await client.status()
    assert (told["ready"], told["leaving"]) == (False, True)
    assert not draining.done()
    let_go.set()
    assert len(await running) == 1
    await draining
    await client.close()
    await server.stop(0)


async def test_what_a_drain_cuts_off_may_be_done_elsewhere(tmp_path: Path) -> None:
    drain = Drain()

    async def half(asked: Job) -> AsyncGenerator[JobEvent, None]:
        yield CaseResult(index=0, program=Report(status="ok"))
        await asyncio.Event().wait()

    host = ScriptedHost(half)
    address = f"unix:{tmp_path}/host.sock"
    server = make_server(cast(Host, host), address, drain=drain)
    await server.start()
    client = HostClient(address)
    events = client.run(Job(program=PROGRAM, cases=[Case()] * 2))
    await anext(events)
    await drain.wait(0)
    await drain.cut(30)
    with pytest.raises(Leaving):
        await anext(events)
    await asyncio.wait_for(host.left.wait(), 30)  # nothing of it runs on
    await client.close()
    await server.stop(0)


async def test_a_certificate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.pem"
    with pytest.raises(HostError, match=r"nothing\.pem"):
        HostClient("127.0.0.1:1", Tls(cert=nothing, key=nothing, ca=nothing))


async def test_certificates_and_keys_that_are_none_are_named(
    authority: Authority, stranger: Authority, tmp_path: Path
) -> None:
    good, other = authority.made("host").mutual, stranger.made("other").mutual
    assert good.cert is not None
    text, text_ca = tmp_path / "text.pem", tmp_path / "text_ca.pem"
    for path in (text, text_ca):
        path.write_text("no certificate\n")
    locked = tmp_path / "locked.pem"
    words = ["openssl", "pkey", "-in", str(good.key), "-aes256", "-passout", "pass:secret", "-out", str(locked)]
    subprocess.run(words, check=True, capture_output=True)
    for wrong, name in (
        (replace(good, cert=text), "text.pem"),
        (replace(good, key=text), "text.pem"),
        (replace(good, key=other.key), str(other.key)),
        (replace(good, key=locked), "locked.pem"),
        (replace(good, ca=text_ca), "text_ca.pem"),
    ):
        for use in (wrong.of_host, wrong.of_server):
            with pytest.raises(HostError, match=re.escape(name)):
                use()
    assert good.of_host()
    assert good.of_server()
