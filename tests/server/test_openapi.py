"""The OpenAPI document is true: Schemathesis finds no 500 and no answer that the document does not allow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.server.conftest import Running, Start
from tests.server.hosts import ScriptedProcess
from tests.server.process import ServerProcess

HERE = Path(__file__).parent


KEYED = {"keys.named": "a=" + "0" * 64}


async def document(server: Running) -> Any:
    """Returns the server's own description."""
    return (await server.http.get("/openapi.json")).json()


async def test_every_reference_of_the_document_leads_somewhere(server: Running) -> None:
    made = await document(server)

    def check(value: Any) -> None:
        if isinstance(value, dict):
            if "$ref" in value:
                *_, kind, name = value["$ref"].split("/")
                assert name in made["components"][kind]
            for item in value.values():
                check(item)
        elif isinstance(value, list):
            for item in value:
                check(item)

    check(made)


async def test_our_own_routes_are_in_the_document_and_peers_are_not(server: Running) -> None:
    paths = (await document(server))["paths"]
    assert {"/v1/verify", "/v1/jobs/{id}", "/v1/models/{name}/reload", "/playground/{name}", "/metrics"} <= paths.keys()
    assert set(paths["/v1/jobs"]) == {"get", "post"}
    assert not [path for path in paths if path.startswith("/compat")]


async def test_a_key_is_asked_for_where_keys_are_set(start: Start, server: Running) -> None:
    made = await document(await start(KEYED))
    assert made["components"]["securitySchemes"] == {"key": {"type": "http", "scheme": "bearer"}}
    assert made["paths"]["/v1/verify"]["post"]["security"] == [{"key": []}]
    assert made["paths"]["/v1/jobs/{id}"]["delete"]["security"] == [{"key": []}]
    assert "security" not in made["paths"]["/healthz"]["get"]
    open_ = await document(server)
    assert "securitySchemes" not in open_["components"]
    assert "security" not in open_["paths"]["/v1/verify"]["post"]


async def test_what_the_edge_answers_is_in_the_document(start: Start) -> None:
    for path, item in (await document(await start(KEYED)))["paths"].items():
        for method, operation in item.items():
            told = set(operation["responses"])
            assert {"400", "431", "500"} <= told, (path, method)
            assert "422" not in told, (path, method)
            if "security" in operation:
                assert {"401", "403", "429", "503"} <= told, (path, method)
            if "requestBody" in operation:
                assert {"408", "413", "415"} <= told, (path, method)


@pytest.mark.slow
@pytest.mark.needs_server
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(HERE), "SCHEMATHESIS_HOOKS": "schemathesis_hooks"}
    tool = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml")]
    jobs = tmp_path / "jobs"
    settings = ["--set", "logs.level=error", "--set", f"jobs.dir={jobs}", "--set", f"boxes.dir={tmp_path / 'boxes'}"]
    # Whether a program can run is the machine's matter and not the document's: the host is scripted.
    with (
        ScriptedProcess(tmp_path) as address,
        ServerProcess(tmp_path, *settings, "--set", f"sandbox.address={address}") as server,
    ):
        command = [*tool, "run", f"{server.http}/openapi.json"]
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
        assert server.process.poll() is None
