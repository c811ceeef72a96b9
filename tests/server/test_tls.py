"""TLS on both ports, as clients of ours and strangers see it."""

from __future__ import annotations

import asyncio
import json
import shutil
import socket
import ssl
import sys
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from rewarden.__main__ import main
from rewarden.adapters.settings import Settings
from rewarden.client import AsyncClient
from rewarden.errors import InvalidRequest, Unavailable
from rewarden.retry import NO_RETRY
from rewarden_server.config import ConfigError
from tests.certificates import Authority
from tests.server.conftest import Running, Start

ROW = {"response": "The answer is (B).", "reference": "B"}


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """Returns the authority that signed the server's certificate."""
    return Authority(tmp_path_factory.mktemp("tls"))


@pytest_asyncio.fixture
async def secure(start: Start, authority: Authority, tmp_path: Path) -> Running:
    """A server whose ports speak TLS; its files lie in the test's own folder."""
    return await start(files_in(tmp_path, authority))


def files_in(folder: Path, authority: Authority) -> dict[str, str]:
    """The settings of a certificate whose files are put into this folder."""
    made = authority.made("server")
    for file, name in ((made.cert, "server.pem"), (made.key, "server.key")):
        shutil.copy(file, folder / name)
    return {"server.tls_cert": str(folder / "server.pem"), "server.tls_key": str(folder / "server.key")}


def targets(server: Running) -> list[str]:
    """Both ports."""
    return [server.serving.http, server.serving.grpc]


async def test_both_ports_speak_tls_to_clients_that_know_the_authority(secure: Running, authority: Authority) -> None:
    assert [target.partition(":")[0] for target in targets(secure)] == ["https", "grpcs"]
    for target in targets(secure):
        async with AsyncClient(target, ca=authority.ca, retry=NO_RETRY) as client:
            assert (await client.verify([ROW], use="choice")).verdicts[0].score == 1.0
            found = [item async for item in client.stream([ROW], use="choice")]
            assert found[0].score == 1.0  # type: ignore[union-attr]


async def test_the_authority_may_stand_in_the_environment(
    secure: Running, authority: Authority, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWARDEN_CA", str(authority.ca))
    for target in targets(secure):
        async with AsyncClient(target, retry=NO_RETRY) as client:
            await client.info()


async def test_a_server_that_another_authority_signed_is_not_believed(secure: Running, tmp_path: Path) -> None:
    stranger = Authority(tmp_path, "stranger")
    for target in targets(secure):
        for ca in (stranger.ca, None):
            async with AsyncClient(target, ca=ca) as client:  # patience does not help: it is told at once
                with pytest.raises(InvalidRequest, match="not trusted"):
                    await client.verify([ROW], use="choice")
                with pytest.raises(InvalidRequest, match="not trusted"):
                    _ = [item async for item in client.stream([ROW], use="choice")]


async def test_tls_is_not_waited_for_where_none_is_spoken(start: Start) -> None:
    plain = await start()
    for target in targets(plain):
        scheme, _, place = target.partition("://")
        async with AsyncClient(f"{scheme}s://{place}") as client:
            with pytest.raises(InvalidRequest, match="TLS"):
                await client.info()
            with pytest.raises(InvalidRequest, match="TLS"):
                _ = [item async for item in client.stream([ROW], use="choice")]


async def test_a_file_that_is_no_authority_is_named(tmp_path: Path) -> None:
    (tmp_path / "empty.pem").write_text("nothing")
    for ca in ("missing.pem", "empty.pem"):
        async with AsyncClient("https://127.0.0.1:1", ca=tmp_path / ca, retry=NO_RETRY) as client:
            with pytest.raises(InvalidRequest, match=ca):
                await client.info()


async def test_adapters_know_the_authority_too(authority: Authority) -> None:
    assert Settings.read(ca=str(authority.ca)).ca == str(authority.ca)


def handshake(port: int, version: ssl.TLSVersion) -> str | None:
    """The version that was agreed on. Raises OSError."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    context.set_ciphers("ALL:@SECLEVEL=0")
    context.set_alpn_protocols(["h2", "http/1.1"])
    context.minimum_version = context.maximum_version = version
    with socket.create_connection(("127.0.0.1", port), 10) as plain, context.wrap_socket(plain) as wrapped:
        return wrapped.version()


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
async def test_no_port_speaks_less_than_tls_1_2(secure: Running) -> None:
    for target in targets(secure):
        port = int(target.rpartition(":")[2])
        assert await asyncio.to_thread(handshake, port, ssl.TLSVersion.TLSv1_2) == "TLSv1.2"
        with pytest.raises(OSError, match=r"(?i)ssl|tls|reset|eof"):
            await asyncio.to_thread(handshake, port, ssl.TLSVersion.TLSv1_1)


@pytest.mark.parametrize("sent", [b"", b"\x16\x03\x01\x02\x00"])
async def test_a_handshake_that_does_not_end_is_not_waited_for(
    start: Start, authority: Authority, tmp_path: Path, sent: bytes
) -> None:
    secure = await start({"limits.header_timeout_s": 0.2, **files_in(tmp_path, authority)})
    reader, writer = await asyncio.open_connection("127.0.0.1", secure.port)
    writer.write(sent)
    assert await asyncio.wait_for(reader.read(-1), 30) == b""
    writer.close()


async def test_nothing_is_answered_in_the_clear(secure: Running) -> None:
    plain = secure.serving.http.replace("https", "http")
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.HTTPError):
            await client.get(f"{plain}/healthz")
    async with AsyncClient(secure.serving.grpc.replace("grpcs", "grpc"), retry=NO_RETRY) as client:
        with pytest.raises(Unavailable):
            await client.info()


async def test_a_renewed_certificate_is_shown_without_a_restart(
    secure: Running, authority: Authority, tmp_path: Path
) -> None:
    newer = Authority(tmp_path, "newer")
    made = newer.made("renewed")
    shutil.copy(made.key, tmp_path / "server.key")
    tls: Any = secure.serving._tls
    tls.look()  # the key alone does not fit the old certificate: the old pair stays
    for target in targets(secure):
        async with AsyncClient(target, ca=authority.ca, retry=NO_RETRY) as client:
            await client.info()
    shutil.copy(made.cert, tmp_path / "server.pem")
    tls.look()
    for target in targets(secure):
        async with AsyncClient(target, ca=newer.ca, retry=NO_RETRY) as client:
            await client.info()


@pytest.mark.parametrize("missing", ["server.tls_cert", "server.tls_key"])
async def test_half_a_certificate_keeps_the_server_from_starting(
    start: Start, authority: Authority, missing: str
) -> None:
    made = authority.made("half")
    files = {"server.tls_cert": str(made.cert), "server.tls_key": str(made.key)}
    with pytest.raises(ConfigError, match="must be set together"):
        await start({name: file for name, file in files.items() if name != missing})
    with pytest.raises(ConfigError, match="not a PEM certificate with its key"):
        await start(files | {missing: str(authority.ca if missing.endswith("key") else made.key)})


async def test_a_probe_needs_no_curl(
    secure: Running, authority: Authority, start: Start, capsys: pytest.CaptureFixture[str]
) -> None:
    plain = await start()
    secured = [["--ca", str(authority.ca), target] for target in targets(secure)]
    for words in (*secured, [plain.serving.http], [plain.serving.grpc]):
        assert await asyncio.to_thread(main, ["ready", *words]) == 0, words
    for target in targets(secure):
        assert await asyncio.to_thread(main, ["ready", target]) == 1
    await plain.serving.drain(0.0)
    for target in targets(plain):
        assert await asyncio.to_thread(main, ["ready", target]) == 1
    assert await asyncio.to_thread(main, ["ready", "local"]) == 2
    assert "not ready" in capsys.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        ["rescore", "rows.jsonl", "--use", "choice", "-o", "scored.jsonl", "--force", "--quiet", "--target"],
        ["judge", "calibrate", "labelled.jsonl", "--use", "choice", "--no-attacks", "--quiet", "--target"],
        ["models", "list", "--url"],
    ],
    ids=lambda command: command[0],
)
async def test_every_command_that_asks_a_server_knows_the_authority(
    secure: Running, authority: Authority, tmp_path: Path, command: list[str]
) -> None:
    (tmp_path / "rows.jsonl").write_text(json.dumps(ROW))
    (tmp_path / "labelled.jsonl").write_text(json.dumps({**ROW, "label": "right"}))

    async def status(*more: str) -> tuple[int | None, str]:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "rewarden", *command, *more, cwd=tmp_path, stderr=asyncio.subprocess.PIPE
        )
        _, said = await process.communicate()
        return process.returncode, said.decode()

    assert await status(secure.serving.http, "--ca", str(authority.ca)) == (0, "")
    code, said = await status("http://127.0.0.1:1", "--ca", str(authority.ca))
    assert code == 2
    assert "--ca: target 'http://127.0.0.1:1' does not use TLS" in said
