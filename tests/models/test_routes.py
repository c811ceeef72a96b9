"""`/v1/models` on a server, and what its other pages say of models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewarden.errors import ModelError
from rewarden_server.local import LocalTransport
from rewarden_server.models import process_backend
from tests.models.scripted import NAME, ScriptedModel
from tests.models.stand_in import StandIn, settled
from tests.server.conftest import Running, Start, start
from tests.server.test_metrics import value

__all__ = ["start"]


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch) -> StandIn:
    """The backend of `main`, the only model."""
    made = StandIn()
    monkeypatch.setattr(
        process_backend, "backends_of", lambda settings: {name: made(name, None) for name in settings.named}
    )  # type: ignore[arg-type]
    return made


def settings(**more: Any) -> dict[str, Any]:
    """A server's, with that model."""
    return {"models.named": json.dumps({"main": {"model": "/models/secret-place/rm"}}), **more}


@pytest.fixture
async def server(start: Start, backend: StandIn) -> Running:
    """A server with that model."""
    return await start(settings())


async def test_models_are_listed_and_one_is_described(server: Running, backend: StandIn) -> None:
    (listed,) = (await server.http.get("/v1/models")).json()["models"]
    assert (listed["name"], listed["model"], listed["backend"], listed["state"]) == ("main", "rm", "own", "ready")
    assert listed["version"] is None  # nobody has asked for it yet
    one = (await server.http.get("/v1/models/main")).json()
    assert (one["version"], one["about"]["context"], one["about"]["kinds"]) == ("v1", 512, ["classify"])
    assert "secret-place" not in str(one)
    missing = await server.http.get("/v1/models/other")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "not_found")
    assert "configured: main" in missing.json()["error"]["message"]


async def test_a_model_that_cannot_be_had_says_why(server: Running, backend: StandIn) -> None:
    backend.problem = ModelError("no weights in its folder")
    one = (await server.http.get("/v1/models/main")).json()
    assert (one["state"], one["problem"], "about" in one) == ("failed", "no weights in its folder", False)
    info = (await server.http.get("/v1/info")).json()
    assert info["models"]["main"]["problem"] == "no weights in its folder"


@pytest.mark.parametrize("body", [None, {}, {"model": "/allowed", "revision": "r"}, {"model": None}])
async def test_a_reload_is_answered_when_the_new_weights_are_in_force(
    server: Running, backend: StandIn, body: dict[str, Any] | None
) -> None:
    await server.http.get("/v1/models/main")
    reply = await server.http.post("/v1/models/main/reload", **({} if body is None else {"json": body}))
    assert reply.status_code == 200
    assert (reply.json()["version"], reply.json()["about"]["version"], reply.json()["swaps"]) == ("v1'", "v1'", 1)
    assert backend.reloads == [((body or {}).get("model"), (body or {}).get("revision"))]


@pytest.mark.parametrize(
    ("name", "sent", "status", "code", "path"),
    [
        ("main", b'{"model": "/elsewhere"}', 400, "invalid_request", "model"),
        ("main", b'{"model": 1}', 400, "invalid_request", "model"),
        ("main", b'{"weights": "x"}', 400, "invalid_request", "weights"),
        ("main", b"[]", 400, "invalid_request", ""),
        ("main", b"{", 400, "invalid_request", None),
        ("other", b"{}", 404, "not_found", None),
    ],
)
async def test_what_cannot_be_reloaded_is_refused(
    server: Running, backend: StandIn, name: str, sent: bytes, status: int, code: str, path: str | None
) -> None:
    headers = {"content-type": "application/json"}
    reply = await server.http.post(f"/v1/models/{name}/reload", content=sent, headers=headers)
    error = reply.json()["error"]
    assert (reply.status_code, error["code"]) == (status, code)
    if path is not None:
        assert error["details"]["path"] == path
    assert backend.reloads == []


async def test_weights_that_cannot_be_had_are_503_and_the_old_ones_stay(server: Running, backend: StandIn) -> None:
    await server.http.get("/v1/models/main")
    backend.problem = ModelError("the new folder holds another architecture", kind="failed")
    reply = await server.http.post("/v1/models/main/reload", json={})
    assert reply.status_code == 503
    assert "another architecture" in reply.json()["error"]["message"]
    assert (await server.http.get("/v1/models/main")).json()["version"] == "v1"


async def test_keys_are_asked_for(start: Start, backend: StandIn) -> None:
    server = await start(settings(**{"keys.named": "a=" + "0" * 64}))
    for method, path in (("GET", "/v1/models"), ("GET", "/v1/models/main"), ("POST", "/v1/models/main/reload")):
        assert (await server.http.request(method, path)).status_code == 401
    assert backend.reloads == []


async def test_a_server_whose_own_models_load_is_not_ready_and_one_whose_model_failed_is(
    start: Start, backend: StandIn
) -> None:
    backend.held = True
    server = await start(settings(**{"engine.eager": True}))
    reply = await server.http.get("/readyz")
    assert (reply.status_code, reply.json()["error"]["message"]) == (503, "models are still loading: main")
    assert (await server.http.get("/healthz")).status_code == 200
    assert (await server.verify({"response": "A", "reference": "A"}, use="same")).status_code == 200
    backend.problem = ModelError("no such folder")
    backend.release()
    await settled()
    assert (await server.http.get("/readyz")).status_code == 200
    page = (await server.http.get("/metrics")).text
    assert value(page, "rewarden_model_state", model="main", state="failed") == 1


async def test_a_process_on_its_wire_is_reached_and_its_version_is_in_the_fingerprint(
    start: Start, scripted: ScriptedModel
) -> None:
    scripted.script({"task": "classify", "when": "quernstone", "reply": [1.5]})
    server = await start({"models.named": json.dumps({NAME: scripted.settings()})})
    unknown = (await server.http.get("/v1/verifiers/rm_scalar")).json()["fingerprint"]
    row = {"prompt": "What grinds?", "response": "A quernstone grinds grain."}
    (verdict,) = (await server.verify(row, use="rm_scalar")).json()["verdicts"]
    assert (verdict["raw"], verdict["evidence"]["models"]) == (1.5, {NAME: "scripted-1"})
    known = (await server.http.get("/v1/verifiers/rm_scalar")).json()["fingerprint"]
    assert verdict["verifier"]["fingerprint"] == known != unknown
    refused = await server.verify(row, use="rm_scalar", expect={"rm_scalar": unknown})
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "fingerprint_moved")
    models = (await server.http.get("/v1/info")).json()["models"]
    assert (models[NAME]["version"], models[NAME]["swaps"]) == ("scripted-1", 0)


async def test_the_local_target_has_the_models_too(monkeypatch: pytest.MonkeyPatch, backend: StandIn) -> None:
    monkeypatch.setenv("REWARDEN_MODELS_NAMED", settings()["models.named"])
    transport = LocalTransport()
    try:
        assert (await transport.info())["models"]["main"]["model"] == "rm"
    finally:
        await transport.close()
