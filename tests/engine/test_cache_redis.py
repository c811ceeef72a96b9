"""Outcomes that engines share in a real Redis: what they save, and that nothing a Redis does costs a verdict."""

from __future__ import annotations

import asyncio
import json
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from rewarden.wire.json import dumps
from rewarden_server.cli.cache_state import cache_state
from rewarden_server.cli.doctor import settings_text
from rewarden_server.config import ConfigError, load_config
from rewarden_server.engine import cache_redis
from rewarden_server.engine.engine import Engine
from tests.engine.conftest import Make, Recorder, verdicts_of
from tests.stopped import stop

redis = pytest.importorskip("redis", reason="the package redis is not installed")

pytestmark = [
    pytest.mark.needs_server,
    pytest.mark.skipif(shutil.which("redis-server") is None, reason="no redis-server on this machine"),
]

PASSWORD = "open-sesame-4711"
TEXTS = [f"yes {number}" if number % 3 else f"no {number}" for number in range(40)]
SCORES = [float(number % 3 != 0) for number in range(40)]


class Server:
    """A redis-server of our own. `url` is what engines are told, `client` looks in from outside."""

    def __init__(self, folder: Path) -> None:
        self.socket = folder / "redis.sock"
        self.url = f"unix://:{PASSWORD}@{self.socket}"
        words = ["redis-server", "--port", "0", "--unixsocket", str(self.socket), "--save", "", "--dir", str(folder)]
        self.process = subprocess.Popen([*words, "--requirepass", PASSWORD], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        for line in self.process.stdout:
            if "eady to accept connections" in line:
                break
        self.client = redis.Redis(unix_socket_path=str(self.socket), password=PASSWORD)

    def calls(self, command: str) -> int:
        """Returns how often a command was sent so far."""
        return int(self.client.info("commandstats").get(f"cmdstat_{command}", {}).get("calls", 0))

    def end(self) -> None:
        self.process.send_signal(signal.SIGCONT)
        self.process.kill()
        self.process.wait()


@pytest.fixture
def server() -> Iterator[Server]:
    # Not pytest's folder: a socket's path has at most 108 characters.
    with tempfile.TemporaryDirectory(prefix="rw-redis-") as folder:
        made = Server(Path(folder))
        yield made
        made.end()


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may take longer than 50 ms to answer; here a hit must be a hit."""
    monkeypatch.setattr(cache_redis, "_LOOKUP_S", 10.0)
    monkeypatch.setattr(cache_redis, "_STORE_S", 30.0)


class Places(Recorder):
    """Remembers where work was known."""

    def __init__(self) -> None:
        super().__init__()
        self.hits: list[str] = []
        self.failures = 0

    def cache_hit(self, place: str) -> None:
        self.hits.append(place)

    def cache_failed(self, place: str) -> None:
        self.failures += 1


@pytest.fixture
def make(make_engine: Make, monkeypatch: pytest.MonkeyPatch) -> Make:
    monkeypatch.setattr("tests.engine.conftest.Recorder", Places)
    return make_engine


def hits(engine: Engine) -> list[str]:
    assert isinstance(engine.observer, Places)
    return engine.observer.hits


async def filled(make: Make, **settings: Any) -> None:
    """Have an engine judge the texts, and store what came out."""
    engine = await make(**settings)
    assert [verdict.score for verdict in await verdicts_of(engine, TEXTS)] == SCORES
    await engine.close()


async def test_what_one_engine_judged_another_knows_after_one_question(make: Make, server: Server) -> None:
    await filled(make, cache_redis=server.url)
    assert server.client.dbsize() == len(TEXTS)
    assert all(0 < server.client.ttl(key) <= 7 * 24 * 3600 for key in server.client.scan_iter())
    asked = server.calls("mget")

    other = await make(cache_redis=server.url)
    verdicts = await verdicts_of(other, TEXTS)
    assert [verdict.score for verdict in verdicts] == SCORES
    assert all(verdict.cached for verdict in verdicts)
    assert hits(other) == ["redis"] * len(TEXTS)
    assert server.calls("mget") - asked <= 2  # 40 samples are planned in pieces of at most 256
    again = await verdicts_of(other, TEXTS)
    assert all(verdict.cached for verdict in again)
    assert hits(other)[len(TEXTS) :] == ["memory"] * len(TEXTS)
    assert other.info()["cache_shared"] == "ready"


async def test_equal_samples_of_one_batch_are_one_question_and_one_verdict_each(make: Make, server: Server) -> None:
    engine = await make(cache_redis=server.url)
    verdicts = await verdicts_of(engine, ["yes"] * 20)
    assert [verdict.score for verdict in verdicts] == [1.0] * 20
    await engine.close()
    assert server.client.dbsize() == 1


async def test_limits_and_what_is_stateful_are_never_stored(make: Make, server: Server) -> None:
    engine = await make(cache_redis=server.url)
    (loop,) = await verdicts_of(engine, ["loop"])
    assert loop.flags == ("too_expensive",)
    await verdicts_of(engine, ["yes"], use="toy_pid")
    await engine.close()
    assert server.client.dbsize() == 0


def _dies(server: Server) -> None:
    server.process.kill()
    server.process.wait()


def _hangs(server: Server) -> None:
    stop(server.process.pid)


@pytest.mark.parametrize("fails", [_dies, _hangs])
async def test_a_redis_that_fails_costs_no_verdict_and_is_passed_over(
    make: Make, server: Server, monkeypatch: pytest.MonkeyPatch, fails: Callable[[Server], None]
) -> None:
    engine = await make(cache_redis=server.url)
    await verdicts_of(engine, ["yes before"])
    monkeypatch.setattr(cache_redis, "_LOOKUP_S", 0.05)
    monkeypatch.setattr(cache_redis, "_STORE_S", 0.2)
    monkeypatch.setattr(cache_redis, "_REST_S", 3600.0)
    fails(server)
    for attempt in range(4):
        (verdict,) = await verdicts_of(engine, [f"yes {attempt}"])
        assert verdict.score == 1.0
    assert engine.info()["cache_shared"] == "away"
    assert isinstance(engine.observer, Places)
    assert engine.observer.failures >= 3
    asked: list[object] = []
    monkeypatch.setattr(cache_redis.RedisCache, "_look", asked.append)
    assert [verdict.score for verdict in await verdicts_of(engine, TEXTS)] == SCORES
    assert not asked
    monkeypatch.undo()


async def test_a_redis_that_hung_is_asked_again_after_its_rest(
    make: Make, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    await filled(make, cache_redis=server.url)
    engine = await make(cache_redis=server.url)
    monkeypatch.setattr(cache_redis, "_LOOKUP_S", 0.05)
    monkeypatch.setattr(cache_redis, "_REST_S", 0.0)
    _hangs(server)
    for attempt in range(4):
        (verdict,) = await verdicts_of(engine, [f"yes, while it hangs {attempt}"])
        assert verdict.score == 1.0
    server.process.send_signal(signal.SIGCONT)
    monkeypatch.setattr(cache_redis, "_LOOKUP_S", 10.0)
    verdicts = await verdicts_of(engine, TEXTS)
    assert [verdict.score for verdict in verdicts] == SCORES
    assert all(verdict.cached for verdict in verdicts)


async def test_connections_that_take_longer_than_a_look_up_are_made_all_the_same(
    make: Make, server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    await filled(make, cache_redis=server.url)
    monkeypatch.setattr(cache_redis, "_LOOKUP_S", 0.05)
    monkeypatch.setattr(cache_redis, "_REST_S", 0.0)

    async def far(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await asyncio.sleep(0.2)  # what TLS and a distant server take
        there, back = await asyncio.open_unix_connection(server.socket)

        async def forward(source: asyncio.StreamReader, sink: asyncio.StreamWriter) -> None:
            while data := await source.read(65536):
                sink.write(data)
            sink.close()

        await asyncio.gather(forward(reader, back), forward(there, writer), return_exceptions=True)

    with tempfile.TemporaryDirectory(prefix="rw-redis-") as folder:
        gate = await asyncio.start_unix_server(far, f"{folder}/far.sock")
        engine = await make(cache_redis=f"unix://:{PASSWORD}@{folder}/far.sock")
        for text, score in zip(TEXTS, SCORES, strict=True):
            assert [verdict.score for verdict in await verdicts_of(engine, [text])] == [score]
        assert hits(engine)
        await engine.close()
        gate.close()


async def test_a_wrong_password_costs_no_verdict_and_is_told_by_the_doctor_alone(
    make: Make, server: Server, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_redis, "_REST_S", 3600.0)  # away as long as anybody asks
    url = server.url.replace(PASSWORD, "not-the-password")
    engine = await make(cache_redis=url)
    for attempt in range(4):
        assert (await verdicts_of(engine, [f"yes {attempt}"]))[0].score == 1.0
    assert engine.info()["cache_shared"] == "away"
    config = load_config(environ={"REWARDEN_ENGINE_CACHE_REDIS": url})
    check = await cache_state(config)
    assert "AuthenticationError" in check.problems[0].what
    assert check.state == "broken"
    shown = [str(check.as_json()), settings_text(config), json.dumps(engine.info()), repr(config)]
    shown += capsys.readouterr()
    assert not any("not-the-password" in text for text in shown)

    file = tmp_path / "password"
    file.write_text(f"{PASSWORD}\n")
    mended = {"REWARDEN_ENGINE_CACHE_REDIS": f"unix://{server.socket}"}
    mended["REWARDEN_ENGINE_CACHE_REDIS_PASSWORD_FILE"] = str(file)
    assert (await cache_state(load_config(environ=mended))).state == "works"


SPOILED: list[Callable[[bytes], bytes]] = [
    lambda value: b"",
    lambda value: b"\xff\x00junk",
    lambda value: value[: len(value) // 2],
    lambda value: b"rw9-" + value[4:],
    lambda value: value[:24] + b'{"status":"scored","score":"much"}',
    lambda value: value[:24] + b"[" * 100_000,
    lambda value: value[:24] + b'{"status":"error","reason":"internal","fault":"infra"}',
]
"""Values that say nothing: no bytes, no text, cut off, of another version, no number, too deep, an error."""


async def test_a_value_that_cannot_be_read_is_not_known(make: Make, server: Server) -> None:
    await filled(make, cache_redis=server.url)
    for number, key in enumerate(server.client.keys()):
        server.client.set(key, SPOILED[number % len(SPOILED)](server.client.get(key)))
    engine = await make(cache_redis=server.url)
    verdicts = await verdicts_of(engine, TEXTS)
    assert [verdict.score for verdict in verdicts] == SCORES
    assert not hits(engine)


async def test_a_value_under_another_samples_key_is_not_believed(make: Make, server: Server) -> None:
    await filled(make, cache_redis=server.url)
    keys = server.client.keys()
    values = server.client.mget(keys)
    server.client.mset(dict(zip(keys, values[1:] + values[:1], strict=True)))
    engine = await make(cache_redis=server.url)
    assert [verdict.score for verdict in await verdicts_of(engine, TEXTS)] == SCORES
    assert not hits(engine)


async def test_with_a_key_file_nobody_without_it_can_forge_a_verdict(
    make: Make, server: Server, tmp_path: Path
) -> None:
    key = tmp_path / "key"
    key.write_text("one secret of the servers'\n")
    await filled(make, cache_redis=server.url, cache_key_file=key)
    friend = await make(cache_redis=server.url, cache_key_file=key)
    assert all(verdict.cached for verdict in await verdicts_of(friend, TEXTS))

    outcome = dumps({"status": "scored", "score": 0.5})
    for name in list(server.client.scan_iter()):
        body = name.removeprefix(b"rewarden:outcome:1:") + outcome
        for forged in (b"rw1-" + body, b"rw1+" + bytes(32) + body):
            server.client.set(name, forged)
            engine = await make(cache_redis=server.url, cache_key_file=key)
            assert [verdict.score for verdict in await verdicts_of(engine, TEXTS)] == SCORES
            await engine.close()
        break
    else:
        pytest.fail("nothing was stored")
    other = tmp_path / "other"
    other.write_text("another secret of others'\n")
    stranger = await make(cache_redis=server.url, cache_key_file=other)
    assert [verdict.score for verdict in await verdicts_of(stranger, TEXTS)] == SCORES
    assert not hits(stranger)


@pytest.mark.parametrize(
    "answer", [b"*0\r\n", b":7\r\n", b"$-1\r\n", b"*1\r\n*1\r\n:1\r\n", b"HTTP/1.1 400 Bad\r\n\r\n"]
)
async def test_what_is_no_redis_costs_no_verdict(make: Make, tmp_path: Path, answer: bytes) -> None:
    async def answers(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(65536):
            writer.write(answer if b"MGET" in data else b"+OK\r\n" * data.count(b"\r\n$"))
        writer.close()

    with tempfile.TemporaryDirectory(prefix="rw-redis-") as folder:
        there = await asyncio.start_unix_server(answers, f"{folder}/redis.sock")
        engine = await make(cache_redis=f"unix://{folder}/redis.sock")
        assert [verdict.score for verdict in await verdicts_of(engine, TEXTS)] == SCORES
        assert not hits(engine)
        there.close()


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("CACHE_REDIS", "http://:hush@there", "must be redis://"),
        ("CACHE_KEY_FILE", "short", "at least 16 bytes"),
        ("CACHE_KEY_FILE", "missing", "cannot be read"),
    ],
)
def test_settings_that_have_no_sense_are_refused_without_their_secrets(
    tmp_path: Path, name: str, value: str, words: str
) -> None:
    (tmp_path / "short").write_text("hush")
    given = value if name == "CACHE_REDIS" else str(tmp_path / value)
    environ = {"REWARDEN_ENGINE_CACHE_REDIS": "redis://:hush@there", f"REWARDEN_ENGINE_{name}": given}
    with pytest.raises(ConfigError) as refused:
        load_config(environ=environ)
    assert words in refused.value.message
    assert "hush" not in refused.value.message
