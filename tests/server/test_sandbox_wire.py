"""Between the server and its sandbox host: what is asked arrives as it was sent, and what fails has its name."""

from __future__ import annotations

import asyncio
import math
import shutil
import socket
import subprocess
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any, cast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden_sandboxes import codec
from rewarden_sandboxes.checks import MOST, check_job
from rewarden_sandboxes.client import HostClient
from rewarden_sandboxes.errors import BadJob, Busy, HostError, HostLost, NoRoom
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, JobEvent, Limits, Program, Report
from rewarden_sandboxes.service import MOST_BYTES, make_server
from rewarden_sandboxes.tls import Tls
from rewarden_sandboxes.v1 import sandbox_pb2 as pb
from tests.server.hosts import ScriptedHost, serving

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
    patience_s=maybe(seconds),
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
        (job(collect=[path]), "collect"),
    ):
        with pytest.raises(BadJob) as raised:
            check_job(asked)
        assert raised.value.path.startswith(f"{where}[")


def test_paths_that_stay_inside_pass() -> None:
    check_job(job(program={"files": {"a": b"", "b/c": b"", "…/é": b"", "..a": b"", "a b": b""}}))


def test_a_file_is_not_the_folder_of_another() -> None:
    with pytest.raises(BadJob, match="is a file beside it"):
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


async def test_the_hosts_status_is_told_as_it_says_it(tmp_path: Path) -> None:
    host = ScriptedHost()
    async with serving(host, tmp_path) as address:
        client = HostClient(address)
        assert await client.status() == host.told
        assert (await client.status(probe=True))["probe"] == {"ok": True, "reason": None}
        await client.close()


# --- from another machine


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Tls]:
    """The files of `host`, of `server`, and of a `stranger` whom another authority signed."""
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")

    def openssl(*words: str) -> None:
        subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)

    def made(name: str, ca: str) -> Tls:
        new = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"]
        signed = ["-CA", f"{ca}.pem", "-CAkey", f"{ca}.key"] if name != ca else []
        (folder / "ext").write_text("subjectAltName=IP:127.0.0.1\n")
        if not signed:
            openssl("req", "-x509", *new, "-out", f"{name}.pem", "-subj", f"/CN={name}", "-days", "2")
        else:
            openssl("req", *new, "-out", f"{name}.csr", "-subj", f"/CN={name}")
            request = ["-in", f"{name}.csr", "-out", f"{name}.pem", "-days", "2", "-extfile", "ext", "-CAcreateserial"]
            openssl("x509", "-req", *request, *signed)
        return Tls(cert=folder / f"{name}.pem", key=folder / f"{name}.key", ca=folder / "ours.pem")

    made("ours", "ours")
    made("theirs", "theirs")
    return {"host": made("host", "ours"), "server": made("server", "ours"), "stranger": made("stranger", "theirs")}


async def test_a_host_that_others_can_reach_needs_tls() -> None:
    for address in ("0.0.0.0:0", "[::]:0", "192.0.2.1:50052", "example.org:50052"):
        with pytest.raises(HostError, match="needs TLS"):
            make_server(cast(Host, ScriptedHost()), address)


async def test_over_tls_only_who_has_a_certificate_runs_programs(certificates: dict[str, Tls]) -> None:
    host = ScriptedHost()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{free.getsockname()[1]}"
    server = make_server(cast(Host, host), address, certificates["host"])
    await server.start()
    for tls in (None, certificates["stranger"]):
        client = HostClient(address, tls)
        with pytest.raises(HostLost):
            await ask(client, Job(program=PROGRAM))
        await client.close()
    assert host.jobs == []
    client = HostClient(address, certificates["server"])
    assert len(await ask(client, Job(program=PROGRAM))) == 1
    await client.close()
    await server.stop(0)


async def test_a_certificate_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.pem"
    with pytest.raises(HostError, match=r"nothing\.pem"):
        HostClient("127.0.0.1:1", Tls(cert=nothing, key=nothing, ca=nothing))
