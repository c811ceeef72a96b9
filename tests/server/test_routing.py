"""The server's own routing: who judges what names nobody, over every surface."""

from __future__ import annotations

import base64
import json
import zlib
from pathlib import Path
from typing import Any

import pytest

from rewarden import AsyncClient, Client, Sample
from rewarden.types import BadSample, Batch
from rewarden.wire.json import good_sample, sample_from_json, verdict_to_json
from rewarden_server.config import ConfigError, load_config
from rewarden_server.intake.routing import load_routing
from rewarden_server.service import Service
from tests.server.conftest import Start

ROUTES = """
[[route]]
data_source = "quiz"
use = "choice"

[[route]]
data_source = "sums/*"
use = "math"
params = { extraction = "hash" }
reference_form = "gsm8k"
"""
QUIZ = {"response": "It is \\boxed{A}", "reference": "A", "data_source": "quiz"}
SUM = {"response": "so\n#### 4", "reference": "2+2 #### 4", "data_source": "sums/easy"}
SHARED = {"response": "so\n#### 4", "reference_key": "k", "data_source": "sums/easy"}
NOBODYS = {"id": "n", "response": "?", "reference": "A", "data_source": "poem"}
NAMED = {"response": "#### 5", "reference": "4", "data_source": "poem", "use": {"name": "text"}}
ROWS = [QUIZ, SUM, SHARED, NOBODYS, NAMED]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "routes.toml"
    path.write_text(ROUTES)
    return path


def check(verdicts: list[dict[str, Any]]) -> None:
    quiz, total, shared, nobodys, named = verdicts
    assert (quiz["score"], quiz["verifier"]["name"]) == (1.0, "choice")
    assert (total["score"], total["verifier"]["name"]) == (1.0, "math")
    assert (shared["score"], shared["verifier"]["name"]) == (1.0, "math")
    assert (nobodys["id"], nobodys["status"], nobodys["fault"]) == ("n", "error", "caller")
    assert "matches the data source 'poem'; add a [[route]]" in nobodys["feedback"]
    assert named["verifier"]["name"] == "text"


async def test_every_surface_routes_what_names_nobody(start: Start, file: Path) -> None:
    server = await start({"routing.file": str(file)})
    shared = {"k": "2+2 #### 4"}
    check((await server.verify(*ROWS, shared=shared)).json()["verdicts"])

    lines = b"".join(json.dumps(row).encode() + b"\n" for row in ({"batch": {"shared": shared}}, *ROWS))
    answer = await server.http.post(
        "/v1/verify/stream", content=lines, headers={"content-type": "application/x-ndjson"}
    )
    found = [json.loads(line).get("verdict") for line in answer.text.splitlines()]
    check(sorted((verdict for verdict in found if verdict), key=lambda verdict: verdict["index"]))

    async with AsyncClient(server.serving.grpc) as client:
        samples = [good_sample(sample_from_json(row), 0) for row in ROWS]
        whole = await client.verify(samples, shared=shared)
        check([verdict_to_json(verdict) for verdict in whole.verdicts])
    async with AsyncClient(server.serving.grpc, stream_above=1) as client:
        streamed = await client.verify(samples, shared=shared)
        check([verdict_to_json(verdict) for verdict in streamed.verdicts])

    label = {"data_source": SUM["data_source"], "reference": SUM["reference"]}
    answer = await server.http.post(
        "/compat/slime/rm", json={"prompt": "2+2?", "response": SUM["response"], "label": json.dumps(label)}
    )
    assert answer.json() == 1.0


async def test_a_request_that_names_somebody_is_not_routed(start: Start, file: Path) -> None:
    server = await start({"routing.file": str(file)})
    (verdict,) = (await server.verify(SUM, use="text")).json()["verdicts"]
    assert verdict["verifier"]["name"] == "text"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[[route]]\nuse = 3\n", "routing.file"),
        ("[[route]]\ndata_sorce = 'a'\nuse = 'math'\n", "did you mean 'data_source'?"),
        (None, "routing.file"),
    ],
)
def test_a_file_that_makes_no_sense_stops_the_start(tmp_path: Path, text: str | None, told: str) -> None:
    path = tmp_path / "routes.toml"
    if text is not None:
        path.write_text(text)
    config = load_config(environ={"REWARDEN_ROUTING_FILE": str(path)})
    with pytest.raises(ConfigError) as error:
        load_routing(config)
    assert "env REWARDEN_ROUTING_FILE" in error.value.message
    assert told in error.value.message


def test_the_adapters_variables_are_not_the_servers() -> None:
    adapters = ("ROUTING", "USE", "TARGET", "UNSCORED", "PATIENCE_S", "TIMEOUT_S", "REFERENCE", "API_KEY")
    config = load_config(environ={f"REWARDEN_{name}": "starter" for name in adapters})
    assert load_routing(config) is None
    named = load_routing(load_config(environ={"REWARDEN_ROUTING_FILE": "starter"}))
    assert named is not None
    assert named.source == "starter"


@pytest.mark.needs_server
def test_the_local_target_routes_as_a_server_does(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDEN_ROUTING_FILE", str(file))
    with Client("local") as client:
        whole = client.verify([Sample(**SUM), Sample(**QUIZ)]).verdicts
        one = client.verify([Sample(**QUIZ)], use="text").verdicts[0]
    with Client("local", stream_above=1) as client:
        streamed = client.verify([Sample(**SUM), Sample(**QUIZ)]).verdicts
    for verdicts in (whole, streamed):
        assert [one.verifier.name for one in verdicts if one.verifier] == ["math", "choice"]
    assert one.verifier is not None
    assert one.verifier.name == "text"


def test_what_a_reference_form_reads_may_not_nest_too_deeply(tmp_path: Path) -> None:
    (tmp_path / "routes.toml").write_text('[[route]]\nuse = "json"\nreference_form = "json"\n')
    service = Service.build(load_config(environ={}, flags={"routing.file": ("-", str(tmp_path / "routes.toml"))}))
    found = service.take_sample(Sample(response="x", reference="[" * 100 + "]" * 100), Batch(samples=[]))
    assert isinstance(found, BadSample)
    assert (found.path, "nests deeper than 64 levels" in found.message) == ("reference", True)


async def test_what_a_packed_reference_may_unpack_to_is_the_servers_to_say(start: Start) -> None:
    bomb = base64.b64encode(zlib.compress(b"[" + b"0," * 10**6 + b"0]")).decode()
    server = await start({"limits.max_sample_bytes": 100_000})
    use = {"name": "code", "params": {"dataset": "livecodebench"}}
    row = {"response": "```python\n1\n```", "reference": {"private_test_cases": bomb}, "use": use}
    [verdict] = (await server.verify(row)).json()["verdicts"]
    assert verdict["reason"] == "invalid_reference"
    assert "private_test_cases: decompresses to more than" in verdict["feedback"]
