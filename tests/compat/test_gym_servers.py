"""The table of NeMo Gym's published servers: the rows of each are judged, over the real route."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks import gym
from rewarden.routing.proofs import lean
from rewarden.types import Sample
from rewarden_server.compat.gym_servers import NotJudged, server_named, server_of, servers
from rewarden_verifiers.registry import BUILT_IN, Registry
from tests.compat.conftest import Running, Start
from tests.compat.gym_rows import OPTIONS, ROWS, Row, call, result, text

JUDGED = {name for name, server in servers().items() if server.needs is None}
BY_JUDGES = {name for name, server in servers().items() if any(rule.use == "judge" for rule in server.rule)}


def body(task: dict[str, Any], response: Any) -> dict[str, Any]:
    """A request as Gym's agents send it."""
    output = ([text(response)] if response else []) if isinstance(response, str) else response
    made = {"id": "r", "created_at": 0, "model": "m", "object": "response", "output": output}
    made |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {"responses_create_params": {"input": [{"role": "user", "content": "?"}]}, "response": made, **task}


async def differing(server: Running, rows: list[Row], path: str = "/compat/gym/{}/verify") -> list[Any]:
    """Returns the responses whose reward is not the one that the row demands, or that are masked."""
    found = []
    for row in rows:
        for response, reward in row.responses:
            answer = await server.http.post(path.format(row.server), json=body(row.task, response))
            reply = answer.json()
            got = (reply.get("reward"), reply.get("mask_sample"), reply.get("failure_reason"))
            if answer.status_code != 200 or got[0] != pytest.approx(reward, abs=1e-3) or got[1] is not False:
                found.append((row.server, response, reward, answer.status_code, got))
    return found


def test_every_published_server_has_a_row_or_a_reason() -> None:
    assert len(servers()) >= 114
    rowless = JUDGED - {row.server for row in ROWS} - BY_JUDGES - {"math_formal_lean"}
    assert not rowless, f"no test judges {sorted(rowless)}"
    assert len(JUDGED) >= 30


async def test_rows_of_every_server_are_judged(start: Start, tmp_path: Path) -> None:
    server = await start({"sql.catalogue": str(databases(tmp_path))})
    found = await differing(server, [row for row in ROWS if row.needs is None])
    assert not found, "\n".join(str(one) for one in found)


async def test_programs_of_rows_are_judged(real: Running) -> None:
    found = await differing(real, [row for row in ROWS if row.needs == "sandbox"])
    assert not found, "\n".join(str(one) for one in found)


def databases(folder: Path) -> Path:
    """A catalogue with the database `towns`."""
    file = folder / "towns.sqlite"
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("CREATE TABLE town (name TEXT, size INTEGER)")
        connection.executemany("INSERT INTO town VALUES (?, ?)", [("Oslo", 700), ("Bergen", 290), ("Voss", 15)])
        connection.commit()
    catalogue = folder / "databases.toml"
    catalogue.write_text(f'[databases.towns]\nfile = "{file}"\n')
    return catalogue


async def test_the_agent_of_a_row_names_its_server(start: Start) -> None:
    server = await start()
    agents = {"mcqa": "supergpqa_mcqa_simple_agent", "ruler2": "ruler2_simple_agent", "arc_agi": "arc_agi_simple_agent"}
    rows = [row for row in ROWS if row.server in agents]
    known = [Row(row.server, {**row.task, "agent_ref": {"name": agents[row.server]}}, row.responses) for row in rows]
    assert not await differing(server, known, "/compat/gym/verify")
    unknown = await server.http.post("/compat/gym/verify", json=body({"agent_ref": {"name": "simple_agent"}}, "B"))
    assert unknown.status_code == 400, "nobody is named"
    assert server_of("lc_equivalence_rule_simple_agent") is servers()["equivalence_rule"]
    assert server_named("livecodebench") is server_named("comp_coding") is servers()["code_gen"]


async def test_what_is_not_judged_says_what_it_needs(start: Start) -> None:
    server = await start()
    state = body({"ground_truth": [], "agent_ref": {"name": "workplace_assistant_simple_agent"}}, "Done.")
    refused = await server.http.post("/compat/gym/workplace_assistant/verify", json=state)
    assert (refused.status_code, "the state of its tools" in refused.text) == (400, True)
    for path, sent, told in (
        ("", state, "the state of its tools"),
        ("evalplus/", body({"verifier_metadata": {"task_id": "HumanEval/0"}}, "x"), "task_id only"),
        ("structured_outputs/", body({"schema_str": "{}", "schema_type": "yaml"}, "a: 1"), "a verifier of YAML"),
        ("mcqa/", body({"options": []}, "B"), "the row has no expected_answer"),
        ("simpleqa/", body({"question": "?", "expected_answer": "Oslo"}, "Oslo"), "judge"),
    ):
        answer = await server.http.post(f"/compat/gym/{path}verify", json=sent)
        reply = answer.json()
        assert (answer.status_code, reply["mask_sample"], told in reply["failure_reason"]) == (200, True, True), reply


async def test_the_address_sets_options_and_parameters(start: Start) -> None:
    server = await start()

    async def reward(path: str, task: dict[str, Any], response: str) -> Any:
        answer = await server.http.post(f"/compat/gym/{path}", json=body(task, response))
        return answer.json().get("reward", answer.status_code)

    row = {"options": OPTIONS, "expected_answer": "B"}
    assert await reward("mcqa/verify", row, "Answer: B") == 0.0
    assert await reward("mcqa/verify?grading_mode=lenient_answer_colon_md", row, "**Answer:** B") == 1.0
    assert await reward("math/verify?grading_mode=lenient_boxed", row, "B") == 400, "an option of another server"
    assert await reward('mcqa/verify?params={"extraction": "phrase"}', row, "The answer is B.") == 1.0

    near = {"expected_answer": "to the sea"}
    assert await reward("equivalence_rule/verify", near, "to the see") == 0.0
    assert await reward("equivalence_rule/verify?grading_rule=seq_match", near, "to the see") == pytest.approx(0.9)


async def test_the_reference_is_renamed_and_options_are_one_object(start: Start) -> None:
    server = await start()
    row = {"options": OPTIONS, "gold": "Bergen", "verifier_metadata": {"ideal": "B"}}
    for reference in ("answer:gold,options", "answer:verifier_metadata.ideal,options:options"):
        path = f"/compat/gym/choice/verify?reference={reference}"
        answer = await server.http.post(path, json=body(row, "\\boxed{Bergen}"))
        assert (answer.json()["reward"], answer.json()["failure_reason"]) == (1.0, None)
    missing = await server.http.post("/compat/gym/choice/verify?reference=answer:silver", json=body(row, "B"))
    assert (missing.status_code, "silver" in missing.text) == (400, True)


async def test_calls_of_the_whole_trajectory_are_judged(start: Start) -> None:
    server = await start()
    expected = {"expected_answer": [{"name": "get_weather", "arguments": {"city": "Bern"}}]}
    wrong = {"expected_answer": [{"name": "get_weather", "arguments": {"city": "Basel"}}]}
    told = [call("get_weather", city="Bern"), result("get_weather", "rain"), text("It rains in Bern.")]
    for task, query, reward in (
        (expected, "", 1.0),
        (wrong, "", 0.0),
        (expected, "?reads=last", 0.0),  # the last message calls nothing
        ({"expected_answer": []}, "", 0.0),  # a text does not hide that a tool was called
    ):
        answer = await server.http.post(f"/compat/gym/tool_calls/verify{query}", json=body(task, told))
        assert answer.json()["reward"] == reward, (task, query)
    unknown = await server.http.post("/compat/gym/tool_calls/verify?reads=all", json=body(expected, told))
    assert unknown.status_code == 400


def test_names_of_servers_are_no_names_of_verifiers() -> None:
    names = [name for server in servers().values() for name in (server.name, *server.names)]
    assert len(names) == len(set(names))
    assert not set(names) & {*BUILT_IN, *Registry().recipe_names()}


def test_broken_rows_are_blamed_and_never_raise() -> None:
    odd = (None, 3, "x", [], {}, [None], {"a": []}, [{"A": None}])
    for server in servers().values():
        for field in server.fields:
            for value in odd:
                name, _, inner = field.partition(".")
                with suppress(NotJudged):
                    server.judged({name: {inner: value} if inner else value}, {}, {})


async def test_agreement_with_rollouts_of_gym(start: Start, tmp_path: Path) -> None:
    server = await start()
    agent = {"agent_ref": {"name": "gpqa_mcqa_simple_agent"}, "options": OPTIONS, "expected_answer": "B"}
    rows = [
        body(agent, "\\boxed{B}") | {"reward": 1.0},
        body(agent, "\\boxed{C}") | {"reward": 0.0},
        body(agent, "\\boxed{A or B}") | {"reward": 1.0},
        body({**agent, "expected_answer": None}, "\\boxed{B}") | {"reward": 0.0},
        body(agent, "\\boxed{B}") | {"reward": 0.0, "_ng_failure_class": "judge_failed"},
    ]
    file = tmp_path / "rollouts.jsonl"
    file.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    found = await gym.compare(gym.rollouts(file), server.http, None)
    counts = found["mcqa"]
    assert (list(found), counts.rows, counts.agreeing, counts.masked) == (["mcqa"], 4, 2, 1)
    told = gym.report(found)
    assert "mcqa: 1 with 1 by Gym, 0 here: hedged" in told
    assert "mcqa: 1 with 0 by Gym, masked here: invalid_sample: mcqa: the row has no expected_answer" in told


def test_a_theorem_is_judged_by_lean_with_its_header() -> None:
    task = {"header": "import Mathlib\n", "formal_statement": "theorem two : 1 + 1 = 2 := by\n", "name": "two"}
    judged = servers()["math_formal_lean"].judged(task, {}, {})
    assert judged.use == {"name": "lean", "params": {}}
    assert judged.reference == lean(Sample(response="", reference=task))
