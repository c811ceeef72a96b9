"""The OpenAPI document is true: Schemathesis finds no 500 and no answer that the document does not allow."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.http.spec import document
from tests.server.conftest import Running, Start
from tests.server.hosts import ScriptedProcess
from tests.server.process import ServerProcess

HERE = Path(__file__).parent


def test_every_reference_of_the_document_leads_somewhere() -> None:
    made = document(keyed=True)

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


async def test_every_route_is_in_the_document_and_the_other_way_round(server: Running) -> None:
    from rewarden_server.http.app import PARTS

    routes = {
        (route.path, method.lower())
        for part in PARTS
        for route in part.routes(server.serving.service)
        for method in route.methods or ()
        if method != "HEAD"
    }
    paths = (await server.http.get("/openapi.json")).json()["paths"]
    assert {(path, method) for path, item in paths.items() for method in item} == routes


async def test_a_key_is_asked_for_where_keys_are_set(start: Start) -> None:
    server = await start({"keys.named": "a=" + "0" * 64})
    made = (await server.http.get("/openapi.json")).json()
    assert made["security"] == [{"key": []}]
    assert made["paths"]["/healthz"]["get"]["security"] == []


def test_what_the_edge_answers_is_in_the_document() -> None:
    for path, item in document(keyed=True)["paths"].items():
        for method, operation in item.items():
            told = set(operation["responses"])
            assert {"400", "431", "500"} <= told, (path, method)
            if operation.get("security") != []:
                assert {"401", "403", "429", "503"} <= told, (path, method)
            if "requestBody" in operation:
                assert {"408", "413", "415"} <= told, (path, method)


@pytest.mark.slow
@pytest.mark.needs_server
def test_schemathesis_finds_nothing(tmp_path: Path) -> None:
    environ = {**os.environ, "PYTHONPATH": str(HERE), "SCHEMATHESIS_HOOKS": "schemathesis_hooks"}
    tool = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(HERE / "schemathesis.toml")]
    jobs = tmp_path / "jobs"
    settings = ["--set", "logs.level=error", "--set", f"jobs.dir={jobs}"]
    # Whether a program can run is the machine's matter and not the document's: the host is scripted.
    with (
        ScriptedProcess(tmp_path) as address,
        ServerProcess(tmp_path, *settings, "--set", f"sandbox.address={address}") as server,
    ):
        command = [*tool, "run", f"{server.http}/openapi.json"]
        found = subprocess.run(command, capture_output=True, text=True, check=False, env=environ)
        assert found.returncode == 0, found.stdout[-6000:] + found.stderr[-2000:]
        assert server.process.poll() is None
