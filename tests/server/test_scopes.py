"""The rights of a key: each route and each method asks for its scope."""

from __future__ import annotations

import json
from typing import Any

import grpc
import pytest
from fastapi.routing import APIRoute

from rewarden.v1 import rewarden_pb2 as pb
from rewarden_server.access.key_record import new_key
from rewarden_server.access.keys import Keys
from rewarden_server.access.rules import OF_A_KEY, SCOPES
from rewarden_server.access.settings import KeySettings
from rewarden_server.config import ConfigError, load_config
from rewarden_server.http.access import check_scopes, needs
from rewarden_server.rpc.call import NEEDS
from tests.server.conftest import Running, Start

ASKED = {
    "verify": [
        ("POST", "/v1/verify"),
        ("POST", "/v1/verify/stream"),
        ("PUT", "/v1/blobs/" + "0" * 64),
        ("POST", "/compat/slime/rm"),
        ("POST", "/compat/openrlhf/math/get_reward"),
        ("POST", "/compat/open_instruct/test_program"),
        ("POST", "/openenv/nim/reset"),
        ("GET", "/openenv/nim/state"),
    ],
    "run": [("POST", "/v1/run"), ("POST", "/compat/sandbox_fusion/run_code")],
    "sessions": [
        ("POST", "/v1/sessions"),
        ("GET", "/v1/sessions"),
        ("DELETE", "/v1/sessions/x"),
        ("POST", "/v1/sessions/x/exec"),
        ("GET", "/v1/sessions/x/files/a"),
        ("POST", "/v1/sessions/x/score"),
        ("DELETE", "/v1/snapshots/x"),
    ],
    "jobs": [("POST", "/v1/jobs"), ("GET", "/v1/jobs"), ("GET", "/v1/jobs/x"), ("DELETE", "/v1/jobs/x")],
    "read": [
        ("GET", "/v1/info"),
        ("GET", "/v1/verifiers"),
        ("GET", "/v1/models/x"),
        ("GET", "/v1/runs"),
        ("GET", "/metrics"),
    ],
    "admin": [("POST", "/v1/models/x/reload")],
}


async def keyed(start: Start, *scopes: str, **more: Any) -> Running:
    """A server whose only key has these scopes; its client sends it."""
    key, digest = new_key()
    rules = {"*": {"scopes": list(scopes)}} if scopes else {}
    server = await start({"keys.named": f"trainer={digest}", "keys.rules": json.dumps(rules), **more})
    server.http.headers["Authorization"] = f"Bearer {key}"
    return server


@pytest.mark.parametrize("scope", sorted(ASKED))
async def test_a_key_may_do_what_its_scope_says_and_nothing_else(start: Start, scope: str) -> None:
    server = await keyed(start, scope)
    for asked, requests in ASKED.items():
        for method, path in requests:
            answer = await server.http.request(method, path)
            assert (answer.status_code == 403) == (asked != scope), (method, path, answer.text)
            if asked != scope:
                assert answer.json()["error"]["code"] == "forbidden"
                assert answer.json()["error"]["details"]["scope"] == asked


async def test_a_key_without_a_rule_swaps_no_weights(start: Start) -> None:
    server = await keyed(start)
    assert (await server.http.post("/v1/models/x/reload")).status_code == 403
    assert (await server.http.get("/v1/models")).status_code == 200


@pytest.mark.parametrize("required", [True, False])
async def test_reasons_of_a_probe_are_told_to_who_may_read(start: Start, tmp_path: Any, required: bool) -> None:
    made = {name: new_key() for name in ("reader", "trainer")}
    server = await start(
        {
            "keys.named": ",".join(f"{name}={digest}" for name, (_, digest) in made.items()),
            "keys.rules": json.dumps({"reader": {"scopes": ["read"]}, "trainer": {"scopes": ["verify"]}}),
            "sandbox.address": f"unix:{tmp_path}/nobody.sock",
            "sandbox.required": required,
        }
    )
    sent: dict[str, dict[str, str]] = {name: {"Authorization": f"Bearer {key}"} for name, (key, _) in made.items()}
    for name, told in (("reader", True), ("trainer", False), ("wrong", False), ("", False)):
        headers = sent.get(name, {"Authorization": "Bearer wrong"} if name else {})
        answer = await server.http.get("/readyz", headers=headers)
        assert answer.status_code == (503 if required else 200)
        assert ("nobody.sock" in answer.text) == told
        if not required:
            assert answer.json()["sandbox"]["state"] == "missing"


async def test_grpc_asks_for_the_same_scopes(start: Start) -> None:
    key, digest = new_key()
    server = await start({"keys.named": f"monitor={digest}", "keys.rules": '{"monitor": {"scopes": ["read"]}}'})
    metadata = (("authorization", f"Bearer {key}"),)
    await server.stub.Info(pb.InfoRequest(), metadata=metadata)
    await server.stub.ListVerifiers(pb.ListVerifiersRequest(name="choice"), metadata=metadata)
    for method, message in ((server.stub.Verify, pb.VerifyRequest()), (server.stub.Run, pb.RunRequest())):
        with pytest.raises(grpc.aio.AioRpcError) as raised:
            await method(message, metadata=metadata)
        assert raised.value.code() == grpc.StatusCode.PERMISSION_DENIED


def test_every_method_of_grpc_has_a_scope() -> None:
    services = pb.DESCRIPTOR.services_by_name
    boxes = {f"Box.{name}" for name in services["BoxService"].methods_by_name}
    assert set(NEEDS) == boxes | set(services["RewardService"].methods_by_name)


def test_a_route_without_a_scope_keeps_the_server_from_starting() -> None:
    async def nothing() -> None: ...

    check_scopes([APIRoute("/v1/new", nothing, dependencies=[needs("read")]), APIRoute("/docs/{name}", nothing)])
    with pytest.raises(LookupError, match="/v1/new"):
        check_scopes([APIRoute("/v1/new", nothing)])
    with pytest.raises(LookupError, match="/docs"):  # open by its path, whatever it declares: say so in one place
        check_scopes([APIRoute("/docs", nothing, dependencies=[needs("read")])])


def test_without_keys_whoever_reaches_the_port_may_do_all() -> None:
    assert Keys(KeySettings()).caller(None).scopes == frozenset(SCOPES)
    key, digest = new_key()
    assert Keys(KeySettings(named={"trainer": digest})).caller(f"Bearer {key}").scopes == OF_A_KEY


async def test_a_job_is_seen_by_its_key_and_by_an_admin_only(start: Start, tmp_path: Any) -> None:
    made = {name: new_key() for name in ("mine", "other", "root")}
    server = await start(
        {
            "keys.named": ",".join(f"{name}={digest}" for name, (_, digest) in made.items()),
            "keys.rules": json.dumps({"root": {"scopes": ["jobs", "admin"]}}),
            "jobs.dir": str(tmp_path / "jobs"),
        }
    )
    headers = {name: {"Authorization": f"Bearer {key}"} for name, (key, _) in made.items()}
    line = json.dumps({"response": "B", "reference": "B"}).encode() + b"\n"
    posted = await server.http.post('/v1/jobs?job={"use":"choice"}', content=line, headers=headers["mine"])
    assert posted.status_code == 202, posted.text
    path = posted.headers["Location"]
    for name, seen in (("mine", True), ("other", False), ("root", True)):
        assert (await server.http.get(path, headers=headers[name])).status_code == (200 if seen else 404)
        listed = (await server.http.get("/v1/jobs", headers=headers[name])).json()["jobs"]
        assert len(listed) == int(seen)
    for ending in ("", "/verdicts"):
        assert (await server.http.get(path + ending, headers=headers["other"])).status_code == 404
    assert (await server.http.delete(path, headers=headers["other"])).status_code == 404
    assert (await server.http.delete(path, headers=headers["root"])).status_code == 204


@pytest.mark.parametrize(
    ("rules", "said"),
    [
        ({"trainer": {"scope": ["verify"]}}, "keys.rules.trainer.scope; did you mean 'scopes'"),
        ({"trainer": {"scopes": ["verfy"]}}, "did you mean 'verify'"),
        ({"trainer": {"scopes": []}}, "keys.rules.trainer.scopes must be a list"),
        ({"trainer": {"requests_per_minute": 0}}, "keys.rules.trainer.requests_per_minute must be above 0"),
        ({"trainer": {"concurrency": 1.5}}, "keys.rules.trainer.concurrency must be a whole number"),
        ({"trainer": 3}, "keys.rules.trainer must be a table"),
        ([], "keys.rules"),
    ],
)
def test_a_rule_that_is_none_is_named(rules: Any, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        load_config(environ={"REWARDEN_KEYS_RULES": json.dumps(rules)})


def test_a_rule_for_a_key_that_there_is_not_is_refused() -> None:
    config = load_config(environ={"REWARDEN_KEYS_RULES": '{"trianer": {"concurrency": 1}}'})
    with pytest.raises(ConfigError, match="unknown key 'trianer'"):
        Keys(KeySettings(named={"trainer": new_key()[1]}, rules=config.keys.rules))


def test_one_key_under_two_names_is_refused() -> None:
    digest = new_key()[1]
    with pytest.raises(ConfigError, match="the same key"):
        Keys(KeySettings(named={"one": digest, "two": digest}))
