"""The catalogue of what can judge, described over HTTP."""

from __future__ import annotations

import json

from tests.server.conftest import Running, Start


async def test_every_verifier_is_listed_and_a_broken_one_with_its_problem(server: Running) -> None:
    listed = {item["name"]: item for item in (await server.http.get("/v1/verifiers")).json()["verifiers"]}
    same = listed["same"]
    assert (same["available"], same["plugin"], same["version"]) == (True, "rewarden-testing", "1")
    assert same["summary"] == "The response <b>is</b> the `reference`."
    assert listed["spread"]["group"]
    assert not listed["absent"]["available"]
    assert listed["absent"]["problem"]["reason"] == "missing_dependency"
    assert "pip install" in listed["absent"]["problem"]["message"]


async def test_one_verifier_is_described_with_schemas_and_cases(server: Running) -> None:
    same = (await server.http.get("/v1/verifiers/same")).json()
    assert same["params_schema"]["properties"]["matters"]["default"] is True
    assert same["reference_schema"] == {"type": "string"}
    assert [case["title"] for case in same["cases"]] == ["equal texts"]
    verdict = (await server.verify({"response": "A", "reference": "A"}, use="same")).json()["verdicts"][0]
    assert same["fingerprint"] == verdict["verifier"]["fingerprint"]


async def test_an_unknown_name_is_404_with_near_ones(server: Running) -> None:
    answer = await server.http.get("/v1/verifiers/samee")
    assert answer.status_code == 404
    assert "'same'" in answer.json()["error"]["message"]
    assert (await server.http.get("/v1/recipes/same")).status_code == 404
    assert "/v1/verifiers/same" in (await server.http.get("/v1/recipes/same")).json()["error"]["message"]


async def test_info_tells_versions_and_limits(server: Running) -> None:
    info = (await server.http.get("/v1/info")).json()
    assert info["limits"]["max_samples"] >= 100_000
    assert info["engine"]["ready"] is True
    assert info["keys"] is False


async def test_info_tells_the_lean_projects_and_what_is_wrong_with_one(start: Start) -> None:
    server = await start({"lean.projects": "far=http://me:secret@lean,near=nowhere"})
    answer = await server.http.get("/v1/info")
    projects = answer.json()["lean"]["projects"]
    assert projects["far"]["kind"] == "remote"
    assert "nowhere is not a folder" in projects["near"]["problem"]
    assert "secret" not in answer.text


async def test_info_tells_the_judges_and_nothing_secret_of_them(start: Start) -> None:
    judge = {"model": "m", "base_url": "http://me:secret@judge/v1", "api_key": "sk-secret", "budget_calls": 5}
    server = await start({"judges.named": json.dumps({"main": judge})})
    answer = await server.http.get("/v1/info")
    main = answer.json()["judges"]["main"]
    assert (main["model"], main["breaker"], main["left"]) == ("m", "closed", {"calls": 5})
    assert "secret" not in answer.text
    assert 'rewarden_judge_budget_left{judge="main",of="calls"} 5.0' in (await server.http.get("/metrics")).text
