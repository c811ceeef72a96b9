"""API keys: named, hashed, optional."""

from __future__ import annotations

import base64
from pathlib import Path

import grpc
import httpx
import pytest

from rewarden.errors import Unauthorized
from rewarden.v1 import rewarden_pb2 as pb
from rewarden_server.access.key_record import ANONYMOUS, hash_key, new_key
from rewarden_server.access.keys import Keys
from rewarden_server.access.settings import KeySettings
from rewarden_server.config import ConfigError
from tests.server.conftest import Start


def test_a_new_key_is_known_by_its_hash() -> None:
    key, digest = new_key()
    keys = Keys(KeySettings(named={"trainer": digest, "other": new_key()[1]}))
    assert keys.check(f"Bearer {key}") == "trainer"
    assert keys.check(f"bearer  {key}") == "trainer"
    assert new_key()[0] != key


def basic(pair: str) -> str:
    """Returns what an HTTP client makes of `http://user:password@host`."""
    return "Basic " + base64.b64encode(pair.encode()).decode()


def test_a_key_may_come_as_the_password_of_an_address() -> None:
    key, digest = new_key()
    keys = Keys(KeySettings(named={"other": new_key()[1], "trainer": digest}))
    for pair in (f"any:{key}", f":{key}"):
        assert keys.check(basic(pair)) == "trainer"
    assert keys.check(basic(f"any:{key}").replace("Basic", "basic")) == "trainer"
    for pair in (f"{key}:", key, f"{key}:{key}x", f"any:{digest}", ":", ""):
        with pytest.raises(Unauthorized):
            keys.check(basic(pair))


BAD = [None, "", "Bearer", "Bearer ", "Bearer wrong", "Basic", "Basic x", "Basic \udcff", "Digest a:b", "Bearer \udcff"]


@pytest.mark.parametrize("given", BAD)
def test_anything_else_is_refused(given: str | None) -> None:
    with pytest.raises(Unauthorized):
        Keys(KeySettings(named={"trainer": new_key()[1]})).check(given)


def test_the_hash_is_no_key() -> None:
    _, digest = new_key()
    with pytest.raises(Unauthorized):
        Keys(KeySettings(named={"trainer": digest})).check(f"Bearer {digest}")


def test_without_keys_everyone_may_ask() -> None:
    assert Keys(KeySettings()).check(None) == ANONYMOUS


def test_keys_are_read_from_the_file_and_the_configuration(tmp_path: Path) -> None:
    file = tmp_path / "keys"
    file.write_text(f"# ours\ntrainer {hash_key('a')}\n\neval {hash_key('b')}  # second\n")
    keys = Keys(KeySettings(file=file, named={"ci": hash_key("c")}))
    assert [keys.check(f"Bearer {key}") for key in "abc"] == ["trainer", "eval", "ci"]


@pytest.mark.parametrize(
    "line", ["rwd_secret", "trainer rwd_secret", "a b c", f"bad/name {'0' * 64}", f"{ANONYMOUS} {'0' * 64}"]
)
def test_a_bad_line_is_named_by_number_and_never_repeated(tmp_path: Path, line: str) -> None:
    file = tmp_path / "keys"
    file.write_text(f"\n{line}\n")
    with pytest.raises(ConfigError, match=":2:") as raised:
        Keys(KeySettings(file=file))
    assert "rwd_secret" not in raised.value.message


async def test_http_asks_for_a_key_but_not_for_probes_and_pages(start: Start) -> None:
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}"})
    for path in ("/healthz", "/readyz", "/", "/docs", "/openapi.json"):
        assert (await server.http.get(path)).status_code == 200
    for method, path in (
        ("POST", "/v1/verify"),
        ("POST", "/v1/verify/stream"),
        ("PUT", "/v1/blobs/" + "0" * 64),
        ("GET", "/v1/verifiers"),
        ("GET", "/v1/recipes"),
        ("GET", "/v1/info"),
        ("GET", "/metrics"),
    ):
        answer = await server.http.request(method, path)
        assert (answer.status_code, answer.json()["error"]["code"]) == (401, "unauthorized")
        assert answer.headers["WWW-Authenticate"] == "Bearer"
    answer = await server.http.get("/v1/info", headers={"Authorization": f"Bearer {key}"})
    assert answer.status_code == 200
    assert key not in answer.text
    assert "trainer" not in answer.text


async def test_a_client_that_takes_an_address_alone_is_known_by_it(start: Start) -> None:
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}"})
    async with httpx.AsyncClient() as client:
        for password, status in ((key, 200), ("wrong", 401)):
            address = server.serving.http.replace("://", f"://any:{password}@")
            assert (await client.get(f"{address}/v1/info")).status_code == status


async def test_grpc_asks_for_a_key(start: Start) -> None:
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}"})
    with pytest.raises(grpc.aio.AioRpcError) as raised:
        await server.stub.Verify(pb.VerifyRequest())
    assert raised.value.code() == grpc.StatusCode.UNAUTHENTICATED
    await server.stub.Verify(pb.VerifyRequest(), metadata=(("authorization", f"Bearer {key}"),))


async def test_two_values_of_authorization_are_refused_over_grpc_as_over_http(start: Start) -> None:
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}"})
    good, other = ("authorization", f"Bearer {key}"), ("authorization", "Bearer other")
    await server.stub.Verify(pb.VerifyRequest(), metadata=(good,))
    assert (await server.http.get("/v1/info", headers=[good])).status_code == 200
    for pair in ((good, other), (other, good), (good, good)):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await server.stub.Verify(pb.VerifyRequest(), metadata=pair)
        assert raised.value.code() == grpc.StatusCode.INVALID_ARGUMENT
        assert (await server.http.get("/v1/info", headers=list(pair))).status_code == 400


async def test_metrics_name_the_key_and_never_show_it(start: Start) -> None:
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}"})
    headers = {"Authorization": f"Bearer {key}"}
    await server.http.get("/v1/info", headers=headers)
    page = (await server.http.get("/metrics", headers=headers)).text
    assert 'rewarden_requests_total{key="trainer",route="/v1/info",status="200",surface="http"} 1.0' in page
    assert key not in page
    assert digest not in page
