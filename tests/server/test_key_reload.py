"""Changes of the key file while a server runs."""

from __future__ import annotations

import asyncio
import json
import os
import threading
import time
from argparse import ArgumentParser
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import grpc
import httpx
import pytest
from structlog.testing import capture_logs

from rewarden.errors import Unauthorized
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.v1 import rewarden_pb2_grpc as stubs
from rewarden_server.access.key_file import LOOK_S
from rewarden_server.access.key_record import hash_key, shown_time
from rewarden_server.access.keys import Keys
from rewarden_server.access.rules import KeyRule
from rewarden_server.access.settings import KeySettings
from rewarden_server.cli import keys as command
from rewarden_server.config import ConfigError
from tests.server.clock import Clock
from tests.server.conftest import Gates, Running, Start
from tests.server.process import ServerProcess

ROW = {"response": "The answer is (B).", "reference": "B", "use": {"name": "choice"}}
TRAINER = f"trainer {hash_key('t')}"
OTHER = f"other {hash_key('o')}"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """A key file with two keys, whose secrets are `t` and `o`."""
    path = tmp_path / "keys"
    write(path, TRAINER, OTHER)
    return path


@pytest.fixture
def clock() -> Clock:
    """The time of the server's keys."""
    return Clock()


def write(path: Path, *lines: str) -> None:
    """Replace the file, as commands do."""
    fresh = path.with_name("fresh")
    fresh.write_text("".join(f"{line}\n" for line in lines))
    fresh.replace(path)


def at(clock: Clock, seconds: float) -> str:
    """A time so many seconds from now, as lines have it."""
    return shown_time(datetime.fromtimestamp(clock.now + seconds, UTC))


async def watched(start: Start, file: Path, clock: Clock, **more: Any) -> Running:
    """A server with that key file, whose keys live by that clock."""
    server = await start({"keys.file": str(file)} | more)
    keys = server.serving.service.keys
    keys._clock = keys._wall = clock
    keys._looked = clock()
    return server


def bearer(key: str) -> dict[str, str]:
    """The header of a key."""
    return {"Authorization": f"Bearer {key}"}


async def statuses(server: Running, key: str) -> tuple[int, str]:
    """The answers of both ports to a key."""
    http = (await server.http.get("/v1/info", headers=bearer(key))).status_code
    try:
        await server.stub.Info(pb.InfoRequest(), metadata=(("authorization", f"Bearer {key}"),))
    except grpc.aio.AioRpcError as error:
        return http, error.code().name
    return http, "OK"


IN, OUT = (200, "OK"), (401, "UNAUTHENTICATED")


def known(keys: Keys, key: str) -> bool:
    """Returns whether a key is let in."""
    try:
        keys.check(f"Bearer {key}")
    except Unauthorized:
        return False
    return True


# --- what a server does


async def test_a_revoked_key_is_refused_on_both_ports_and_a_new_one_let_in(
    start: Start, file: Path, clock: Clock
) -> None:
    server = await watched(start, file, clock)
    assert [await statuses(server, key) for key in ("t", "o", "n")] == [IN, IN, OUT]
    write(file, OTHER, f"new {hash_key('n')}")
    clock.now += LOOK_S
    assert [await statuses(server, key) for key in ("t", "o", "n")] == [OUT, IN, IN]


async def test_an_open_connection_outlives_its_key_and_serves_it_no_more(
    start: Start, file: Path, clock: Clock
) -> None:
    server = await watched(start, file, clock)

    async def ask(key: str) -> tuple[int, Any]:
        answer = await server.http.get("/v1/info", headers=bearer(key))
        return answer.status_code, answer.extensions["network_stream"].get_extra_info("client_addr")

    status, connection = await ask("t")
    assert status == 200
    write(file, OTHER)
    clock.now += LOOK_S
    assert await ask("t") == (401, connection)
    assert await ask("o") == (200, connection)


async def test_an_open_stream_of_a_revoked_key_ends_whole(start: Start, file: Path, clock: Clock, gate: Gates) -> None:
    server = await watched(start, file, clock)
    body = "\n".join(json.dumps(line) for line in ({"batch": {"use": gate.use}}, {"response": "A", "reference": "A"}))
    streaming = asyncio.ensure_future(server.http.post("/v1/verify/stream", content=body.encode(), headers=bearer("t")))
    await gate.entered()
    write(file, OTHER)
    clock.now += LOOK_S
    assert await statuses(server, "t") == OUT
    gate.open()
    answer = await streaming
    assert answer.status_code == 200
    assert '"status":"scored"' in answer.text


async def test_a_key_expires_on_both_ports(start: Start, file: Path, clock: Clock) -> None:
    server = await watched(start, file, clock)
    write(file, f"{TRAINER} expires={at(clock, 60)}")
    clock.now += 59
    assert await statuses(server, "t") == IN
    clock.now += 1
    assert await statuses(server, "t") == OUT
    answer = await server.http.get("/v1/info", headers=bearer("t"))
    assert f"(trainer) expired at {at(clock, 0)}" in answer.json()["error"]["message"]


async def test_a_rotated_keys_old_secret_works_through_the_grace_under_the_same_name(
    start: Start, file: Path, clock: Clock
) -> None:
    server = await watched(start, file, clock)
    write(file, f"trainer {hash_key('n')} old={hash_key('t')}@{at(clock, 60)}", OTHER)
    clock.now += 59
    assert [await statuses(server, key) for key in "tno"] == [IN, IN, IN]
    clock.now += 1
    assert [await statuses(server, key) for key in "tno"] == [OUT, IN, IN]
    page = (await server.http.get("/metrics", headers=bearer("o"))).text
    assert 'rewarden_requests_total{key="trainer",route="/v1/info",status="200",surface="http"} 3.0' in page
    assert 'rewarden_requests_total{key="",route="unmatched",status="401",surface="http"} 1.0' in page


async def test_an_invalid_file_is_not_used_is_logged_with_its_line_and_is_a_problem_until_it_is_mended(
    start: Start, file: Path, clock: Clock
) -> None:
    server = await watched(start, file, clock)
    with capture_logs() as logs:
        write(file, f"new {hash_key('n')}", "trainer rwd_secret")
        for _ in range(3):
            clock.now += LOOK_S
            assert [await statuses(server, key) for key in "ton"] == [IN, IN, OUT]
        told = [line for line in logs if line.get("part") == "keys"]
        assert [(line["log_level"], line["event"]) for line in told] == [
            ("error", "key file cannot be used; the old keys stay")
        ]
        assert f"{file}:2: " in told[0]["why"]
        assert "secret" not in str(logs)
        problems = (await server.http.get("/v1/info", headers=bearer("t"))).json()["problems"]
        assert "rewarden keys list" in [problem["mend"] for problem in problems]
        write(file, f"new {hash_key('n')}", OTHER)
        clock.now += LOOK_S
        assert [await statuses(server, key) for key in "ton"] == [OUT, IN, IN]
        read = [line for line in logs if line["event"] == "keys reloaded"]
        assert [(line["added"], line["revoked"], line["changed"]) for line in read] == [(["new"], ["trainer"], [])]
    problems = (await server.http.get("/v1/info", headers=bearer("o"))).json()["problems"]
    assert "rewarden keys list" not in [problem["mend"] for problem in problems]


async def test_the_audit_log_names_a_key_until_it_is_revoked(
    start: Start, file: Path, clock: Clock, tmp_path: Path
) -> None:
    server = await watched(start, file, clock, **{"audit.file": str(tmp_path / "audit")})
    for _ in range(2):
        await server.http.post("/v1/verify", json={"samples": [ROW]}, headers=bearer("t"))
        write(file, OTHER)
        clock.now += LOOK_S
    await server.http.aclose()
    await server.serving.drain(0.0)
    lines = [json.loads(line) for line in (tmp_path / "audit").read_text().splitlines()]
    assert [(line["key"], line["status"]) for line in lines] == [("trainer", "200"), ("", "401")]


async def test_a_call_whose_key_became_known_between_two_looks_is_sent_again_and_not_answered_with_nothing(
    start: Start, file: Path, clock: Clock
) -> None:
    server = await watched(start, file, clock)
    write(file, f"new {hash_key('n')}")
    looks = iter([0.0, LOOK_S])  # before the call's message would be read, and in its handler
    server.serving.service.keys._clock = lambda: clock.now + next(looks, LOOK_S)
    key = (("authorization", "Bearer n"),)
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await server.stub.Verify(pb.VerifyRequest(), metadata=key)
    assert raised.value.code() == grpc.StatusCode.UNAVAILABLE
    await server.stub.Verify(pb.VerifyRequest(), metadata=key)


# --- what the keys of a server do


def test_the_file_is_looked_at_once_a_second(file: Path, clock: Clock) -> None:
    keys = Keys(KeySettings(file=file), clock=clock, wall=clock)
    write(file, OTHER)
    clock.now += LOOK_S - 0.1
    assert known(keys, "t")
    clock.now += 0.1
    assert not known(keys, "t")


def test_a_file_that_was_written_in_place_is_noticed(file: Path, clock: Clock) -> None:
    keys = Keys(KeySettings(file=file), clock=clock, wall=clock)
    file.write_text(f"{OTHER}\n")
    clock.now += LOOK_S
    assert not known(keys, "t")


def test_a_file_that_is_gone_ends_no_key_and_is_used_again_when_it_is_back(file: Path, clock: Clock) -> None:
    keys = Keys(KeySettings(file=file), clock=clock, wall=clock)
    file.unlink()
    clock.now += LOOK_S
    assert known(keys, "t")
    assert keys.problem is not None
    write(file, OTHER)
    clock.now += LOOK_S
    assert (known(keys, "t"), known(keys, "o"), keys.problem) == (False, True, None)


@pytest.mark.parametrize("lines", [(), ("# none",), (f"{TRAINER} expires=2001-01-01T00:00:00Z",)])
def test_the_end_of_the_last_key_opens_nothing(file: Path, clock: Clock, lines: tuple[str, ...]) -> None:
    running = Keys(KeySettings(file=file), clock=clock)
    write(file, *lines)
    clock.now += LOOK_S
    for keys in (running, Keys(KeySettings(file=file))):
        assert keys.required
        for authorization in (None, "Bearer t"):
            with pytest.raises(Unauthorized):
                keys.caller(authorization)


def test_what_a_key_used_is_not_forgotten_when_another_changes(file: Path, clock: Clock) -> None:
    line = f"{TRAINER} samples_per_day=10"
    write(file, line)
    keys = Keys(KeySettings(file=file), clock=clock, wall=clock)
    meter = keys.caller("Bearer t").meter
    assert meter is not None
    meter.spend(9)
    write(file, line, OTHER)
    clock.now += LOOK_S
    assert keys.caller("Bearer t").meter is meter
    write(file, f"{TRAINER} samples_per_day=20")
    clock.now += LOOK_S
    raised = keys.caller("Bearer t").meter
    assert raised is not None
    raised.spend(20)


def test_a_line_says_what_its_key_may_do(file: Path, clock: Clock) -> None:
    settings = KeySettings(file=file, rules={"*": KeyRule(scopes=("read",), concurrency=1)})
    write(file, f"{TRAINER} scopes=verify", OTHER)
    keys = Keys(settings, clock=clock, wall=clock)
    trainer, other = keys.caller("Bearer t"), keys.caller("Bearer o")
    assert (trainer.scopes, trainer.meter) == ({"verify"}, None)
    assert other.scopes == {"read"}
    assert other.meter is not None
    write(file, f"{TRAINER} scopes=verify,run", OTHER)
    clock.now += LOOK_S
    assert keys.caller("Bearer t").scopes == {"verify", "run"}


def test_a_rule_of_the_configuration_outlives_its_key(file: Path, clock: Clock) -> None:
    settings = KeySettings(file=file, rules={"trainer": KeyRule(scopes=("read",))})
    keys = Keys(settings, clock=clock, wall=clock)
    write(file, OTHER)
    clock.now += LOOK_S
    assert not known(keys, "t")
    assert not known(Keys(settings), "t"), "a server starts with what a running one was told"


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"named {hash_key('x')}", "the name 'named' is taken: keys.named has it"),
        (f"other {hash_key('x')}", "the name 'other' is taken: .*keys:1 has it"),
        (f"ruled {hash_key('x')} concurrency=2", "a rule here and in keys.rules"),
        (f"third {hash_key('o')}", "the same key"),
        (f"third {hash_key('x')} old={hash_key('o')}@2100-01-01T00:00:00Z", "the same key"),
        (f"third {hash_key('x')} old={hash_key('x')}@2100-01-01T00:00:00Z", "the same key"),
    ],
)
def test_a_line_that_contradicts_another_place_makes_the_file_invalid(
    file: Path, clock: Clock, line: str, said: str
) -> None:
    settings = KeySettings(file=file, named={"named": hash_key("n")}, rules={"ruled": KeyRule(concurrency=1)})
    keys = Keys(settings, clock=clock, wall=clock)
    write(file, OTHER, line)
    clock.now += LOOK_S
    assert known(keys, "t")
    with pytest.raises(ConfigError, match=rf"{file}:2: .*{said}"):
        Keys(settings)


def test_a_pipe_is_read_once(tmp_path: Path, clock: Clock) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = threading.Thread(target=pipe.write_text, args=(f"{TRAINER}\n",))
    writer.start()
    keys = Keys(KeySettings(file=pipe), clock=clock, wall=clock)
    writer.join(60)
    clock.now += LOOK_S
    assert known(keys, "t")


# --- a server in a process of its own


def rewarden_keys(*words: str) -> int:
    """Run the command."""
    parser = ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args(words))


@pytest.mark.needs_server
def test_a_key_is_revoked_while_the_server_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "keys"

    def printed(*words: str) -> str:
        assert rewarden_keys(*words, "--file", str(file)) == 0
        return capsys.readouterr().out.strip()

    leaked, other = printed("new", "trainer"), printed("new", "other", "--scopes", "read")
    with ServerProcess(tmp_path, "--set", f"keys.file={file}") as server:
        with (
            httpx.Client(base_url=server.http) as client,
            grpc.insecure_channel(server.grpc.removeprefix("grpc://")) as channel,
        ):

            def http(key: str) -> int:
                return client.get("/v1/info", headers=bearer(key)).status_code

            def rpc(key: str) -> str:
                try:
                    stubs.RewardServiceStub(channel).Info(
                        pb.InfoRequest(), metadata=(("authorization", f"Bearer {key}"),)
                    )
                except grpc.RpcError as error:
                    return str(error.code().name)  # type: ignore[attr-defined,unused-ignore]
                return "OK"

            assert (http(leaked), rpc(leaked), http(other), rpc(other)) == (200, "OK", 200, "OK")
            file.write_text(file.read_text() + "trainer rwd_secret\n")
            until(lambda: http(leaked) == 200 and f"{file}:3" in (tmp_path / "server.err").read_text())
            file.write_text(file.read_text().replace("trainer rwd_secret\n", ""))
            fresh = printed("rotate", "trainer", "--grace", "1h")
            until(lambda: http(fresh) == 200)
            assert (http(leaked), rpc(leaked), rpc(fresh)) == (200, "OK", "OK")
            printed("revoke", "trainer")
            until(lambda: http(leaked) == 401)
            assert (rpc(leaked), http(fresh), rpc(fresh)) == ("UNAUTHENTICATED", 401, "UNAUTHENTICATED")
            assert (http(other), rpc(other)) == (200, "OK")
        for text in (file, tmp_path / "server.err", tmp_path / "server.out"):
            assert "rwd_" not in text.read_text()


def until(condition: Callable[[], bool]) -> None:
    """Ask again and again until it holds."""
    last = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < last, "it never held"
