"""Boxes on a real sandbox host, through a real server, by HTTP and gRPC."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import os
import signal
import tarfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
import pytest_asyncio

from rewarden import AsyncClient, Client, InvalidRequest, NotFound, TooLarge, Unauthorized
from rewarden.__main__ import main
from rewarden.boxes.box import AsyncBox
from rewarden.boxes.types import BoxRequest, ExecOutput, ExecResult
from rewarden.errors import BoxEnded, Forbidden, Overloaded, RequestError, TooManyBoxes, Unavailable, UnknownImage
from rewarden.v1 import rewarden_pb2 as pb
from rewarden_server.access.key_record import new_key
from rewarden_server.boxes.requests import request_of
from rewarden_server.service import Service
from tests.server.box_host import HostProcess
from tests.server.box_host import host as host
from tests.server.clock import Clock
from tests.server.conftest import Running, Start
from tests.server.launchers import launcher as launcher

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

HELLO = "print('hello')"


@pytest_asyncio.fixture
async def server(start: Start, host: HostProcess, tmp_path: Path) -> Running:
    """A server of that host."""
    return await start({"sandbox.address": host.address, "boxes.dir": str(tmp_path / "boxes")})


@pytest_asyncio.fixture(params=["http", "grpc"])
async def client(request: pytest.FixtureRequest, server: Running) -> AsyncIterator[AsyncClient]:
    """A client of it."""
    async with AsyncClient(getattr(server.serving, request.param)) as made:
        yield made


@pytest_asyncio.fixture
async def over_http(server: Running) -> AsyncIterator[AsyncClient]:
    """A client of it over HTTP, where the transport makes no difference."""
    async with AsyncClient(server.serving.http) as made:
        yield made


def with_clock(server: Running) -> Clock:
    """The clock of the server's boxes from here on."""
    clock = Clock()
    boxes = server.serving.service.boxes
    boxes._clock = boxes._wall = boxes.snapshots._wall = clock
    return clock


# --- programs ------------------------------------------------------------------------------------------------------


async def test_programs_of_a_box_share_its_files_and_say_how_they_ended(client: AsyncClient) -> None:
    async with client.box("python", env={"GREETING": "hi"}, files={"in/a.txt": "é", "b": b"\xff"}) as box:
        first = await box.exec(
            ["sh", "-c", "echo $GREETING $MORE > out; pwd; cat; exit 3"], stdin="x", env={"MORE": "2"}
        )
        assert (first.status, first.exit_code, first.stdout, first.stderr) == ("runtime_error", 3, "/tmp/box\nx", "")
        assert first.cpu_time >= 0
        second = await box.exec("cat out in/a.txt; od -An -tx1 b; mkdir -p /app && echo >&2 made", cwd="/tmp/box")
        assert (second.status, second.exit_code, second.stdout, second.stderr) == ("ok", 0, "hi 2\né ff\n", "made\n")
        third = await box.run("import os\nprint({'b', 'in', 'out'} <= set(os.listdir('/tmp/box')))")
        assert third.stdout == "True\n"
        assert [first.exec, second.exec, third.exec] == [1, 2, 3]


async def test_bytes_come_back_whole(client: AsyncClient) -> None:
    async with client.box() as box:
        result = await box.run("import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())", stdin=bytes(range(256)))
    assert result.stdout_base64 is not None


async def test_a_limit_of_a_program_ends_it_and_not_its_box(client: AsyncClient) -> None:
    async with client.box() as box:
        spun = await box.run("while True: pass", limits={"cpu_s": 0.2})
        assert (spun.status, spun.limit) == ("time_limit", "cpu_s")
        flooded = await box.run("while True: print('x' * 1000)", limits={"output_bytes": 10_000})
        assert (flooded.status, flooded.limit, flooded.truncated) == ("output_limit", "output_bytes", True)
        assert len(flooded.stdout) <= 10_000
        assert (await box.run(HELLO)).stdout == "hello\n"


async def test_output_in_one_piece_is_bounded_by_the_server(start: Start, host: HostProcess) -> None:
    server = await start({"sandbox.address": host.address, "boxes.output_bytes": 1000})
    async with AsyncClient(server.serving.http) as client, client.box() as box:
        whole = await box.run("print('x' * 5000)")
        assert (whole.status, len(whole.stdout)) == ("output_limit", 1000)
        streamed = [item async for item in box.stream(["python3", "-c", "print('x' * 5000)"])]
        assert sum(len(item.data) for item in streamed if isinstance(item, ExecOutput)) == 5001


async def test_output_is_streamed_before_the_program_ends(client: AsyncClient) -> None:
    code = (
        "import pathlib, time\nprint(1, flush=True)\nwhile not pathlib.Path('go').exists(): time.sleep(0.01)\nprint(2)"
    )
    async with client.box() as box:
        seen: list[ExecOutput | ExecResult] = []
        async for item in box.stream(["python3", "-c", code]):
            seen.append(item)
            if len(seen) == 1:
                assert isinstance(item, ExecOutput)
                assert item.text == "1\n"
                await box.write("go", b"")
        *output, last = seen
        assert isinstance(last, ExecResult)
        assert (last.status, last.stdout) == ("ok", "")
        assert b"".join(item.data for item in output if isinstance(item, ExecOutput)) == b"1\n2\n"


async def test_a_stream_that_is_left_kills_its_program(client: AsyncClient, server: Running) -> None:
    async with client.box() as box:
        stream = box.stream(["sh", "-c", "echo $$; exec sleep 1000"])
        first = await anext(stream)
        assert isinstance(first, ExecOutput)
        await stream.aclose()
        found = server.serving.service.boxes._open[box.id]
        async with asyncio.timeout(30):
            while found.execs:
                await asyncio.sleep(0.01)
            while (await box.exec(["kill", "-0", first.text.strip()])).status == "ok":
                await asyncio.sleep(0.01)
        assert (await box.run(HELLO)).stdout == "hello\n"


async def test_input_that_breaks_ends_its_program_and_says_why(server: Running, over_http: AsyncClient) -> None:
    async with over_http.box() as box:
        call = pb.BoxInput(call=pb.BoxCall(box=box.id, request_json='{"argv": ["cat"], "feed": true}'))
        async with grpc.aio.insecure_channel(server.serving.grpc.removeprefix("grpc://")) as channel:
            exec_ = channel.stream_stream(
                "/rewarden.v1.BoxService/Exec", pb.BoxInput.SerializeToString, pb.BoxReply.FromString
            )
            with pytest.raises(grpc.aio.AioRpcError, match="must contain data"):
                async for _ in exec_(iter([call, pb.BoxInput(data=b"x"), call])):
                    pass
        assert (await box.state()).execs == ()


async def test_a_program_in_the_background_is_fed_read_and_signalled(client: AsyncClient) -> None:
    code = "import sys\nfor line in sys.stdin: print(line.upper(), end='', flush=True)\nprint('end', file=sys.stderr)"
    async with client.box() as box:
        process = await box.start(["python3", "-c", code], feed=True)
        await process.write("a\n")
        progress = await process.progress(wait_s=60)
        assert [item.data for item in progress.output] == [b"A\n"]
        assert (progress.state, progress.next, progress.dropped) == ("running", 2, 0)
        assert [(each.exec, each.state, each.background) for each in (await box.state()).execs] == [
            (1, "running", True)
        ]
        await process.write("b\n", eof=True)
        result = await process.wait()
        assert (result.status, result.stdout, result.stderr) == ("ok", "A\nB\n", "end\n")
        with pytest.raises(InvalidRequest, match="input"):
            await process.write("c\n")
        sleeper = await box.start("sleep 1000")
        await sleeper.signal("TERM")
        assert (await sleeper.wait()).signal == signal.SIGTERM
        with pytest.raises(InvalidRequest, match="signal"):
            await sleeper.signal("NO")
        await sleeper.kill()
        with pytest.raises(NotFound):
            await sleeper.progress()


async def test_kept_output_of_the_background_says_what_was_dropped(start: Start, host: HostProcess) -> None:
    server = await start({"sandbox.address": host.address, "boxes.background_bytes": 100})
    async with AsyncClient(server.serving.http) as client, client.box() as box:
        process = await box.start(["python3", "-c", "print('x' * 999)"])
        await process.wait()
        progress = await process.progress()
        assert (progress.next, progress.dropped) == (1000, 900)
        assert sum(len(item.data) for item in progress.output) == 100


async def test_a_key_has_so_many_programs_in_the_background(start: Start, host: HostProcess) -> None:
    server = await start({"sandbox.address": host.address, "boxes.execs_per_key": 2})
    async with AsyncClient(server.serving.http, retry=_once()) as client, client.box() as box, client.box() as other:
        first = await box.start(["sleep", "1000"])
        await other.start(["sleep", "1000"])
        with pytest.raises(Overloaded, match=r"boxes\.execs_per_key"):
            await other.start(["true"])
        await first.signal("KILL")
        await first.wait()
        await box.start(["true"])  # in place of the one that has ended


async def test_the_idle_time_begins_when_a_long_score_ends(
    over_http: AsyncClient, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = with_clock(server)
    verify = Service.verify

    async def slowly(self: Service, *args: Any, **named: Any) -> Any:
        clock.now += 100
        return await verify(self, *args, **named)

    monkeypatch.setattr(Service, "verify", slowly)
    boxes = server.serving.service.boxes
    async with over_http.box(idle_s=50) as box:
        assert (await box.score("math", response="42", reference="42")).score == 1.0
        boxes.sweep()
        assert box.id in boxes._open


@pytest.mark.parametrize(
    ("value", "path"),
    [
        ({}, ""),
        ({"argv": []}, "argv"),
        ({"argv": ["a"], "shell": "a"}, ""),
        ({"argv": "ls"}, "argv"),
        ({"shell": "a", "limits": {"memory_mb": 5}}, "limits"),
        ({"shell": "a", "limits": {"cpu": 5}}, "limits.cpu"),
        ({"shell": "a", "cmd": 1}, "cmd"),
        ({"shell": "a", "stdin": {"base64": "?"}}, "stdin"),
        ({"code": "x", "language": "klingon"}, "language"),
    ],
)
async def test_a_malformed_program_is_refused_by_field(
    server: Running, over_http: AsyncClient, value: dict[str, Any], path: str
) -> None:
    async with over_http.box() as box:
        answer = await server.http.post(f"/v1/sessions/{box.id}/exec", json=value)
        assert answer.status_code == 400, answer.text
        assert path in answer.json()["error"]["message"]


# --- files ---------------------------------------------------------------------------------------------------------


async def test_files_are_written_read_listed_and_removed(client: AsyncClient) -> None:
    async with client.box() as box:
        data = os.urandom(3_000_000)
        await box.write("a b/ü.bin", data)
        assert await box.read("a b/ü.bin") == data
        assert await box.read("/tmp/box/a b/ü.bin") == data
        await box.write("/opt/x.txt", "text")
        assert (await box.exec(["cat", "/opt/x.txt"])).stdout == "text"
        await box.exec("ln -s /etc/passwd link; mkdir empty")
        found = {each.name: each for each in await box.list(depth=2)}
        assert {name: each.kind for name, each in found.items()} == {
            "a b": "folder",
            "a b/ü.bin": "file",
            "link": "link",
            "empty": "folder",
        }
        assert found["a b/ü.bin"].size == len(data)
        assert found["link"].target == "/etc/passwd"
        await box.remove("a b")
        with pytest.raises(NotFound):
            await box.read("a b/ü.bin")
        with pytest.raises(RequestError):
            await box.read("empty")


async def test_a_folder_travels_as_an_archive(client: AsyncClient) -> None:
    async with client.box() as box, client.box() as other:
        await box.exec("mkdir -p d/e; echo 1 > d/e/f; ln -s e d/g")
        archive = b"".join([piece async for piece in box.archive("d")])
        with tarfile.open(fileobj=io.BytesIO(archive)) as tar:
            assert {name.removeprefix("./") for name in tar.getnames()} >= {"e", "e/f", "g"}
        await other.extract(archive, "/tmp/box/copy")
        assert (await other.exec("cat copy/g/f")).stdout == "1\n"


DEEP = "head -c 300000 /dev/urandom > a; mkdir -p z; cd z; for i in $(seq 210); do mkdir d; cd d; done"
"""Shell: a folder whose archive fails after some bytes: it has too many levels."""


async def test_an_archive_that_fails_midway_fails_after_its_bytes(client: AsyncClient) -> None:
    async with client.box() as box:
        await box.exec(DEEP)
        came: list[bytes] = []
        with pytest.raises(
            (InvalidRequest, Unavailable), match=r"more than 200 levels|what came of it is not complete"
        ):
            await _gather(box.archive(), came)
        assert len(b"".join(came)) > 300_000
        assert (await box.run(HELLO)).stdout == "hello\n"


async def _gather(pieces: AsyncIterator[bytes], into: list[bytes]) -> None:
    async for piece in pieces:
        into.append(piece)


async def test_http_1_0_gets_no_archive_since_it_cannot_be_told_that_one_broke_off(
    server: Running, over_http: AsyncClient
) -> None:
    async with over_http.box() as box:
        for path in ("archive", "files//etc/passwd"):
            reader, writer = await asyncio.open_connection("127.0.0.1", httpx.URL(server.serving.http).port)
            writer.write(f"GET /v1/sessions/{box.id}/{path} HTTP/1.0\r\nHost: 127.0.0.1\r\n\r\n".encode())
            answer = await reader.read()
            writer.close()
            assert b" 400 " in answer.partition(b"\r\n")[0]
            assert b"use HTTP/1.1" in answer
        assert (await over_http.join(box.id).exec("true")).status == "ok"


async def test_names_that_are_not_text_are_listed_as_text_beside_their_bytes(
    server: Running, client: AsyncClient
) -> None:
    async with client.box() as box:
        await box.run("import os\nos.symlink(b'\\xfe', b'a\\xff')\nos.symlink('é', 'ü')")
        found = await box.list()
        assert {(each.name, each.name_base64, each.target, each.target_base64) for each in found} == {
            ("a\ufffd", "Yf8=", "\ufffd", "/g=="),
            ("ü", None, "é", None),
        }
        text = (await server.http.get(f"/v1/sessions/{box.id}/files")).text
        assert "\\ud" not in text
        for work in (box.read("a\udcff"), box.write("a\udcff", "x"), box.list("a\udcff"), box.remove("a\udcff")):
            with pytest.raises(InvalidRequest):
                await work
        with pytest.raises(InvalidRequest, match="surrogates not allowed"):
            await client.box(files={"a\udcff": "x"}).open()


async def test_an_archive_that_leads_outside_is_refused(over_http: AsyncClient) -> None:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        tar.addfile(tarfile.TarInfo("../../etc/evil"))
    async with over_http.box() as box:
        with pytest.raises(InvalidRequest, match=r"members must stay in their folder; name them without \.\."):
            await box.extract(made.getvalue())
        with pytest.raises(InvalidRequest, match="the archive is packed with gzip; send it unpacked"):
            await box.extract(gzip.compress(made.getvalue()))
        with pytest.raises(InvalidRequest, match=r"no tar archive .* tar -cf - FOLDER"):
            await box.extract(b"text")


# --- whose, how many, how long -------------------------------------------------------------------------------------


async def test_a_closed_box_says_so_and_closing_twice_is_closing_once(server: Running, client: AsyncClient) -> None:
    box = await client.box().open()
    assert [each.id for each in await client.boxes()] == [box.id]
    await box.close()
    await box.close()
    assert await client.boxes() == []
    with pytest.raises(BoxEnded) as raised:
        await box.exec("true")
    assert raised.value.details["reason"] == "closed"
    assert raised.value.details["fault"] == "caller"
    assert (await server.http.get(f"/v1/sessions/{box.id}")).status_code == 410
    assert (await server.http.get("/v1/sessions/box-0")).status_code == 404


async def test_a_box_ends_when_its_time_is_over_or_nobody_uses_it(server: Running, over_http: AsyncClient) -> None:
    clock = with_clock(server)
    boxes = server.serving.service.boxes
    short = await over_http.box(ttl_s=100).open()
    idle = await over_http.box(ttl_s=10_000, idle_s=50).open()
    busy = await over_http.box(ttl_s=10_000, idle_s=50).open()
    held = await over_http.box(ttl_s=10_000, idle_s=50).open()
    waiting = asyncio.create_task(held.run("import sys\nsys.stdin.read()\nwhile True: pass", limits={"cpu_s": 0.5}))
    await idle.start("sleep 1000")
    async with asyncio.timeout(30):
        while not boxes._open[held.id].execs:
            await asyncio.sleep(0.01)
    clock.now += 40
    await busy.exec("true")
    clock.now += 20
    boxes.sweep()
    assert boxes._ended[idle.id].info.reason == "idle"
    assert {each.id for each in await over_http.boxes()} == {short.id, busy.id, held.id}
    clock.now += 40
    with pytest.raises(BoxEnded) as raised:  # without a sweep
        await short.state()
    assert raised.value.details["reason"] == "expired"
    assert (await waiting).status == "time_limit"
    clock.now += 600.5
    with pytest.raises(NotFound):
        await short.state()


async def test_times_and_limits_beyond_the_server_are_refused(over_http: AsyncClient) -> None:
    for options, path in (
        ({"ttl_s": 1e9}, "ttl_s"),
        ({"idle_s": 0}, "idle_s"),
        ({"limits": {"memory_mb": 10**9}}, "memory"),
        ({"limits": {"cpu": 1}}, "and a program in it cpu_s"),
        ({"network": ["packages.example"]}, "network: this host gives boxes no network"),
    ):
        with pytest.raises(InvalidRequest, match=path):
            await over_http.box(**options).open()
    with pytest.raises(UnknownImage):
        await over_http.box("no-such-image").open()
    assert await over_http.boxes() == []


def test_an_unknown_limit_of_a_box_is_answered_with_those_of_boxes_and_programs() -> None:
    with pytest.raises(InvalidRequest, match=r"limits\.cpu: .* a program in it cpu_s"):
        request_of(BoxRequest, {"limits": {"cpu": 1}})


async def test_a_key_has_so_many_boxes_and_so_much_memory(start: Start, host: HostProcess) -> None:
    settings = {"boxes.per_key": 2, "boxes.memory_mb_per_key": 700, "boxes.memory_mb": 256}
    server = await start({"sandbox.address": host.address, **settings})
    async with AsyncClient(server.serving.http) as client:
        async with client.box() as first, client.box() as second:
            with pytest.raises(TooManyBoxes) as raised:
                await client.box().open()
            assert raised.value.details["limit"] == "boxes.per_key"
            assert raised.value.http_status == 429
            await second.close()
            with pytest.raises(TooManyBoxes) as raised:
                await client.box(limits={"memory_mb": 512}).open()
            assert raised.value.details["limit"] == "boxes.memory_mb_per_key"
            async with await first.fork() as fork:
                assert fork.id != first.id
                with pytest.raises(TooManyBoxes):
                    await first.fork()
        assert server.serving.service.boxes._held == {}


async def keyed(
    start: Start, host: HostProcess, folder: Path, *names: str, rules: Any = None
) -> tuple[Running, dict[str, str]]:
    """A server with these keys; the keys by name."""
    made = {name: new_key() for name in names}
    named = ",".join(f"{name}={digest}" for name, (_, digest) in made.items())
    server = await start(
        {
            "sandbox.address": host.address,
            "keys.named": named,
            "keys.rules": json.dumps(rules or {}),
            "boxes.dir": str(folder),
            "audit.file": str(folder / "audit.log"),
        }
    )
    return server, {name: key for name, (key, _) in made.items()}


async def test_a_box_belongs_to_its_key(start: Start, host: HostProcess, tmp_path: Path) -> None:
    rules = {"boss": {"scopes": ["sessions", "admin"]}}
    server, keys = await keyed(start, host, tmp_path, "a", "b", "boss", rules=rules)
    a, b, boss = (AsyncClient(server.serving.http, api_key=keys[name]) for name in ("a", "b", "boss"))
    async with a, b, boss:
        box = await a.box(rollout="r-1").open()
        for other in (b, AsyncClient(server.serving.grpc, api_key=keys["b"])):
            async with other:
                with pytest.raises(NotFound):
                    await other.join(box.id).exec("true")
                assert await other.boxes() == []
        assert [each.id for each in await boss.boxes()] == [box.id]
        with pytest.raises(NotFound):
            await boss.join(box.id).exec("true")
        await boss.join(box.id).close()
        with pytest.raises(BoxEnded):
            await box.exec("true")
        with pytest.raises(NotFound):
            await b.join(box.id).state()
    await asyncio.to_thread(server.serving.service.audit.wait_written)  # type: ignore[union-attr]
    lines = [json.loads(line) for line in (tmp_path / "audit.log").read_text().splitlines()]
    opened = next(line for line in lines if (line["method"], line["route"]) == ("POST", "/v1/sessions"))
    assert (opened["key"], opened["box"], opened["status"]) == ("a", box.id, "201")
    assert any(line["key"] == "boss" and line["method"] == "DELETE" and line["box"] == box.id for line in lines)


# --- leases --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["http", "grpc"])
async def test_a_lease_gives_its_rights_in_its_box_and_nothing_else(
    start: Start, host: HostProcess, tmp_path: Path, transport: str
) -> None:
    server, keys = await keyed(start, host, tmp_path, "a")
    target = getattr(server.serving, transport)
    async with AsyncClient(target, api_key=keys["a"]) as owner, AsyncClient(target) as stranger:
        async with owner.box(rollout="r-1") as box, owner.box() as second:
            lease = await box.lease(["exec", "read"], expires_s=60)
            assert (lease.box, list(lease.rights), lease.rollout) == (box.id, ["exec", "read"], "r-1")
            joined = stranger.join(box.id, lease.lease)
            assert (await joined.run(HELLO)).stdout == "hello\n"
            assert (await joined.state()).rollout == "r-1"
            refused: list[Any] = [
                joined.read("x"),
                joined.write("x", b""),
                joined.fork(),
                joined.snapshot(),
                joined.score("math", response="1", reference="1"),
                joined.close(),
                joined.lease(["exec"]),
            ]
            for work in refused:
                with pytest.raises(Forbidden):
                    await work
            said = set()
            for other in (second.id, "box-" + "0" * 24):
                with pytest.raises(NotFound) as unknown:
                    await stranger.join(other, lease.lease).exec("true")
                said.add(str(unknown.value).replace(other, ""))
            assert len(said) == 1  # whether a box is there is not told
            async with AsyncClient(target, api_key=lease.lease) as bearer:
                assert (await bearer.join(box.id).run(HELLO)).stdout == "hello\n"
                for call in (bearer.box().open(), bearer.boxes()):
                    with pytest.raises((Forbidden, Unauthorized)):
                        await call
                with pytest.raises(Unauthorized):
                    await bearer.verify([{"response": "1", "reference": "1"}], "math")
            with pytest.raises(Unauthorized):
                await stranger.join(box.id, lease.lease[:-2] + "AA").exec("true")
            with pytest.raises(Unauthorized):
                await stranger.join(box.id).exec("true")
        with pytest.raises(BoxEnded):
            await joined.exec("true")


async def test_a_lease_that_forks_can_use_the_fork_with_the_same_rights(
    start: Start, host: HostProcess, tmp_path: Path
) -> None:
    server, keys = await keyed(start, host, tmp_path, "a")
    target = server.serving.http
    owner, stranger = AsyncClient(target, api_key=keys["a"]), AsyncClient(target)
    async with owner, stranger, owner.box(rollout="r-1", files={"x": "1"}) as box:
        lease = await box.lease(["fork", "exec"], expires_s=60)
        async with await stranger.join(box.id, lease.lease).fork() as fork:
            assert (await fork.exec("cat x")).stdout == "1"
            with pytest.raises(Forbidden):
                await fork.read("x")
            assert [each.rollout for each in await owner.boxes()] == ["r-1", "r-1"]
        # Whoever opened the fork closed it, and cannot close the box that it came from.
        assert [each.id for each in await owner.boxes()] == [box.id]
        with pytest.raises(Forbidden):
            await stranger.join(box.id, lease.lease).close()


async def test_a_lease_forks_no_box_of_another_rollout_and_none_that_outlives_its_own(
    start: Start, host: HostProcess, tmp_path: Path
) -> None:
    server, keys = await keyed(start, host, tmp_path, "a")
    clock = with_clock(server)
    target = server.serving.http
    owner, stranger = AsyncClient(target, api_key=keys["a"]), AsyncClient(target)
    async with owner, stranger, owner.box(rollout="r-1", ttl_s=1000) as box:
        lease = await box.lease(["fork", "exec"], expires_s=900)
        joined = stranger.join(box.id, lease.lease)
        with pytest.raises(InvalidRequest, match="rollout"):
            await joined.fork(rollout="r-2")
        with pytest.raises(InvalidRequest, match="ttl_s"):
            await joined.fork(ttl_s=1001)
        assert len(await owner.boxes()) == 1
        fork = await joined.fork()
        assert fork.info.expires_at == pytest.approx(box.info.expires_at)
        short = await joined.fork(ttl_s=100)
        read = server.serving.service.boxes.read_lease
        assert fork.info.lease is not None
        assert short.info.lease is not None
        assert read(fork.info.lease).until == lease.expires_at
        assert read(short.info.lease).until == short.info.expires_at == clock.now + 100
        async with await box.fork(rollout="r-2", ttl_s=5000) as own:  # the owner may
            assert own.info.rollout == "r-2"
        await fork.close()
        await short.close()


async def test_a_lease_ends_with_its_time_and_with_its_givers_key(
    start: Start, host: HostProcess, tmp_path: Path
) -> None:
    server, keys = await keyed(start, host, tmp_path, "a")
    clock = with_clock(server)
    service = server.serving.service
    async with AsyncClient(server.serving.http, api_key=keys["a"]) as owner, owner.box() as box:
        lease = await box.lease(["read"], expires_s=60)
        joined = AsyncClient(server.serving.http).join(box.id, lease.lease)
        await joined.state()
        name = service.keys._table.records.pop("a")
        meters = service.keys._meters.pop("a")
        with pytest.raises(Unauthorized, match="no longer valid"):
            await joined.state()
        service.keys._table.records["a"], service.keys._meters["a"] = name, meters
        clock.now += 60
        with pytest.raises(Unauthorized, match="expired"):
            await joined.state()
        with pytest.raises(InvalidRequest, match="expires_s"):
            await box.lease(["read"], expires_s=1e9)
        with pytest.raises(InvalidRequest, match="rollout"):
            await box.lease(["read"], rollout="other")


async def test_a_key_leases_no_right_that_it_lacks(start: Start, host: HostProcess, tmp_path: Path) -> None:
    server, keys = await keyed(start, host, tmp_path, "a", rules={"a": {"scopes": ["sessions"]}})
    async with AsyncClient(server.serving.http, api_key=keys["a"]) as owner, owner.box() as box:
        with pytest.raises(Forbidden, match="verify"):
            await box.lease(["score"])
        with pytest.raises(Forbidden, match="verify"):
            await box.score("math", response="1", reference="1")
        await box.lease(["exec"])


# --- copies --------------------------------------------------------------------------------------------------------


async def test_a_fork_goes_its_own_way(client: AsyncClient) -> None:
    async with client.box("python", rollout="r", files={"a": "1"}, env={"X": "y"}) as box:
        await box.exec("echo 2 > /opt/b; rm -r /usr/share/doc || true; sleep 1000 &")
        async with await box.fork() as fork:
            assert fork.info.rollout == "r"
            assert (await fork.exec("cat a /opt/b; echo $X")).stdout == "12\ny\n"
            await fork.exec("echo 3 > a")
            assert await box.read("a") == b"1"
            assert (
                "sleep" not in (await fork.exec("cat /proc/[0-9]*/cmdline")).stdout.replace("\0", " ").split("cat")[0]
            )


async def test_a_snapshot_outlives_its_box(client: AsyncClient) -> None:
    async with client.box(files={"a": "1"}) as box:
        await box.exec("mkdir d; ln -s ../a d/l; chmod 700 d")
        made = await box.snapshot()
        assert made.bytes > 0
    async with client.box(snapshot=made.snapshot) as again:
        assert (await again.exec("cat d/l; stat -c %a d")).stdout == "1700\n"
    await client.delete_snapshot(made.snapshot)
    with pytest.raises(NotFound):
        await client.box(snapshot=made.snapshot).open()
    assert await client.boxes() == []


async def test_a_snapshot_beyond_the_quota_is_refused(start: Start, host: HostProcess, tmp_path: Path) -> None:
    settings = {"sandbox.address": host.address, "boxes.dir": str(tmp_path), "boxes.snapshot_bytes": 100_000}
    server = await start(settings)
    async with AsyncClient(server.serving.http) as client, client.box() as box:
        await box.write("big", os.urandom(200_000))
        with pytest.raises(TooLarge):
            await box.snapshot()
        assert (await box.run(HELLO)).stdout == "hello\n"  # it goes on after it was stopped


# --- verdicts ------------------------------------------------------------------------------------------------------


async def test_the_final_state_is_judged_as_any_response(client: AsyncClient) -> None:
    async with client.box() as box:
        await box.write("answer.txt", "It is \\boxed{4}.")
        right = await box.score("math", response_file="answer.txt", reference="4")
        assert (right.status, right.score) == ("scored", 1.0)
        wrong = await box.score("math", response="\\boxed{5}", reference="4")
        assert (wrong.status, wrong.score) == ("scored", 0.0)


@pytest.mark.parametrize(
    "made",
    [
        "",
        "mkdir answer.txt",
        "ln -s answer.txt answer.txt",
        "mkfifo answer.txt",
        "touch answer.txt; chmod 0 answer.txt",
        "python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"answer.txt\")'",
        "ln -s $(head -c 300 /dev/zero | tr '\\0' x) answer.txt",
        "sleep 1000 & ln -s /proc/$!/mem answer.txt",
        "sleep 1000 & ln -s /proc/$!/pagemap answer.txt",
    ],
)
async def test_a_file_that_is_no_answer_scores_the_lowest(over_http: AsyncClient, made: str) -> None:
    async with over_http.box() as box:
        await box.exec(made or "true")
        verdict = await box.score("math", response_file="answer.txt", reference="4")
        assert (verdict.status, verdict.score) == ("scored", 0.0)
        assert verdict.flags[-1:] == ("response_file_missing",) or "chmod" in made


# --- ends that are nobody's fault ----------------------------------------------------------------------------------


async def test_a_host_that_dies_ends_its_boxes_and_no_verdict_is_invented(
    start: Start, launcher: str, tmp_path: Path
) -> None:
    own = await asyncio.to_thread(HostProcess, tmp_path, launcher)
    server = await start({"sandbox.address": own.address})
    async with AsyncClient(server.serving.http) as client:
        box = await client.box().open()
        running = asyncio.create_task(box.exec("sleep 1000"))
        stream = box.stream("echo 1; sleep 1000")
        await anext(stream)
        own.kill()
        for work in (running, anext(stream), box.score("math", response_file="a", reference="4"), box.state()):
            with pytest.raises((BoxEnded, Unavailable)) as raised:
                await work  # type: ignore[misc]
            if isinstance(raised.value, BoxEnded):
                assert raised.value.details["reason"] == "host_lost"
                assert raised.value.details["fault"] == "infra"
        with pytest.raises(BoxEnded):
            await box.exec("true")
        figures = server.serving.service.boxes.figures()
        assert figures["ended"] == {"host_lost": 1}
        assert figures["open"] == 0


async def test_a_server_that_stops_ends_its_boxes(start: Start, host: HostProcess) -> None:
    server = await start({"sandbox.address": host.address})
    async with AsyncClient(server.serving.http) as client:
        box = await client.box().open()
        running = asyncio.create_task(box.exec("sleep 1000"))
        boxes = server.serving.service.boxes
        async with asyncio.timeout(30):
            while not boxes._open[box.id].execs:
                await asyncio.sleep(0.01)
        await boxes.drain()
        with pytest.raises(BoxEnded) as raised:
            await running
        assert raised.value.details["reason"] == "draining"
        with pytest.raises(Unavailable):
            await AsyncClient(server.serving.http, retry=_once()).box().open()


def _once() -> Any:
    from rewarden import NO_RETRY

    return NO_RETRY


# --- clients, figures ----------------------------------------------------------------------------------------------


def test_the_blocking_client_has_boxes(host: HostProcess, tmp_path: Path) -> None:
    from tests.server.process import ServerProcess

    with ServerProcess(tmp_path, "--set", f"sandbox.address={host.address}") as server, Client(server.http) as client:
        with client.box("python") as box:
            box.write("a", "1")
            assert box.exec(["cat", "a"]).stdout == "1"
            assert [item.text for item in box.stream("echo 2") if isinstance(item, ExecOutput)] == ["2\n"]
            process = box.start("cat", feed=True)
            process.write("3", eof=True)
            assert process.wait().stdout == "3"
            with box.fork() as fork:
                assert fork.read("a") == b"1"
        with pytest.raises(BoxEnded):
            box.exec("true")


def test_the_command_line_has_boxes(
    host: HostProcess, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.server.process import ServerProcess

    with ServerProcess(tmp_path, "--set", f"sandbox.address={host.address}") as server:
        monkeypatch.setenv("REWARDEN_TARGET", server.http)
        (tmp_path / "main.py").write_text("import sys\nprint('é', sys.stdin.read())\nsys.exit(4)")
        (tmp_path / "in").write_text("input")
        words = ["box", "run", "python", "--put", str(tmp_path / "main.py"), "--stdin", str(tmp_path / "in")]
        assert main([*words, "--", "python3", "main.py"]) == 4
        assert capfdbinary.readouterr().out.decode() == "é input\n"
        assert main(["box", "open", "python", "--ttl", "60", "--limit", "memory_mb=128"]) == 0
        id = capfdbinary.readouterr().out.decode().strip()
        assert main(["box", "put", id, str(tmp_path / "in"), "d/x"]) == 0
        assert main(["box", "exec", id, "--", "cat", "d/x"]) == 0
        assert main(["box", "get", id, "d/x"]) == 0
        assert main(["box", "ls", id, "--depth", "2"]) == 0
        said = capfdbinary.readouterr().out.decode()
        assert said.startswith("inputinput")
        assert "d/x" in said
        assert main(["box", "list"]) == 0
        assert id in capfdbinary.readouterr().out.decode()
        assert main(["box", "close", id]) == 0
        assert main(["box", "exec", id, "--", "true"]) == 1


async def test_boxes_and_their_ends_are_counted(server: Running, over_http: AsyncClient) -> None:
    async with over_http.box() as box:
        await box.exec("true")
        await box.exec("false")
        page = (await server.http.get("/metrics")).text
        assert "rewarden_boxes_open 1.0" in page
        assert 'rewarden_box_execs_total{status="ok"} 1.0' in page
        assert 'rewarden_box_execs_total{status="runtime_error"} 1.0' in page
    page = (await server.http.get("/metrics")).text
    assert "rewarden_boxes_opened_total 1.0" in page
    assert 'rewarden_boxes_ended_total{reason="closed"} 1.0' in page
    assert (await over_http.info())["boxes"]["open"] == 0


async def test_the_openapi_document_describes_every_route_of_boxes(server: Running) -> None:
    made = (await server.http.get("/openapi.json")).json()
    assert set(made["paths"]["/v1/sessions/{id}/files/{path}"]) == {"get", "put", "delete"}
    assert {"BoxRequest", "ExecRequest", "ExecResult", "BoxInfo", "LeaseRequest"} <= made["components"][
        "schemas"
    ].keys()


def test_a_target_without_boxes_says_so() -> None:
    with Client("local") as client, pytest.raises(InvalidRequest, match="has no boxes"):
        client.box().open()


def test_a_box_that_is_not_open_says_so() -> None:
    box: AsyncBox = AsyncClient().box()
    with pytest.raises(InvalidRequest, match="not open"):
        _ = box.id
