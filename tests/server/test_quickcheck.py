"""`rewarden quickcheck`: three verdicts from each part, with the time that they took and the fix for each problem."""

from __future__ import annotations

import argparse
import asyncio
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.cli import quickcheck
from tests.judges.scripted import ScriptedJudge
from tests.lean.toolchain import TOOLCHAIN, needs_lean
from tests.models.scripted import ScriptedModel
from tests.programs import no_sandbox
from tests.server.conftest import Start

pytestmark = pytest.mark.needs_server

NO_SANDBOX = "[sandbox]\nlauncher = 'none'\n"
RIGHT, WRONG = "the answer is 4", "the answer is 5"


def configured(text: str) -> None:
    """Writes the configuration file that the command finds."""
    Path("rewarden.toml").write_text(text)


def run(*words: str) -> int:
    parser = argparse.ArgumentParser()
    quickcheck.configure(parser)
    return quickcheck.run(parser.parse_args(words))


def trials(capsys: pytest.CaptureFixture[str], *words: str, status: int = 0) -> Mapping[str, Any]:
    """Runs the command with --json, and returns its trials by part."""
    assert run("--json", *words) == status
    return {trial["part"]: trial for trial in json.loads(capsys.readouterr().out)}


def scores(trial: Mapping[str, Any]) -> dict[str, float | None]:
    return {answer: verdict["score"] for answer, verdict in trial["verdicts"].items()}


@pytest.fixture
def judge() -> Iterator[ScriptedJudge]:
    """A judge that knows the right answer."""
    with ScriptedJudge() as made:
        made.script(
            {"when": RIGHT, "reply": {"reason": "4 is 4", "verdict": "correct"}},
            {"when": WRONG, "reply": {"reason": "5 is not 4", "verdict": "incorrect"}},
        )
        yield made


def judges(**named: Mapping[str, Any]) -> str:
    """Returns the configuration of judges, without a sandbox."""
    lines = [NO_SANDBOX]
    for name, settings in named.items():
        lines += [f"[judges.named.{name}]", *(f"{key} = {json.dumps(value)}" for key, value in settings.items())]
    return "\n".join(lines)


AWAY = {"model": "m", "base_url": "http://127.0.0.1:1/v1", "retries": 0}


def test_each_part_is_a_line_with_its_three_verdicts_and_the_time_of_the_first_and_of_a_warm_one(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configured(NO_SANDBOX)
    assert run() == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == [
        "– judge                   none (no judges.named)",
        "– model                   none (no models.named)",
        "– language                no sandbox (sandbox.launcher = none)",
    ]
    assert re.fullmatch(
        r"✓ database sqlite         right 1, wrong 0, empty 0; first [0-9.]+ m?s, warm [0-9.]+ m?s", lines[3]
    )


def test_one_registered_database_of_each_engine_is_queried(capsys: pytest.CaptureFixture[str]) -> None:
    Path("shop.sql").write_text("CREATE TABLE item (id INTEGER);")
    Path("databases.toml").write_text("[databases]\nshop = {script = 'shop.sql'}\nworks = {script = 'shop.sql'}\n")
    configured(NO_SANDBOX + "[sql]\ncatalogue = 'databases.toml'\n")
    found = trials(capsys)
    assert "database works" not in found
    assert scores(found["database shop"]) == {"right": 1.0, "wrong": 0.0, "empty": 0.0}
    assert found["database shop"]["use"] == {"name": "sql", "params": {}}


def test_a_database_server_that_does_not_answer_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    configured(NO_SANDBOX + "[sql]\npostgres = 'postgresql://u:secret@127.0.0.1:1/'\n")
    trial = trials(capsys, status=1)["database postgres"]
    assert (trial["state"], list(trial["verdicts"])) == ("broken", ["right"])
    assert trial["problems"][0]["what"].startswith("the right answer has no score: ")
    assert "secret" not in json.dumps(trial)


def test_a_judge_receives_two_questions(judge: ScriptedJudge, capsys: pytest.CaptureFixture[str]) -> None:
    configured(judges(main=judge.settings()))
    trial = trials(capsys)["judge main"]
    assert (trial["state"], scores(trial)) == ("works", {"right": 1.0, "wrong": 0.0, "empty": 0.0})
    assert trial["first_s"] > 0 < trial["warm_s"]
    assert len(judge.requests) == 2


def test_no_two_runs_ask_the_same(judge: ScriptedJudge, capsys: pytest.CaptureFixture[str]) -> None:
    configured(judges(main=judge.settings()))
    trials(capsys)
    trials(capsys)
    assert len(set(judge.chats())) == 4


def test_a_judge_that_calls_a_wrong_answer_right_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedJudge() as lenient:
        lenient.script({"when": "answer is", "reply": {"reason": "fine", "verdict": "correct"}})
        configured(judges(main=lenient.settings()))
        trial = trials(capsys, status=1)["judge main"]
    assert trial["problems"] == [
        {
            "what": "the wrong answer passed",
            "fix": "choose a stronger model, or measure this one: rewarden judge calibrate labelled.jsonl",
        }
    ]


def test_a_judge_that_does_not_answer_is_a_problem_and_is_not_asked_again(capsys: pytest.CaptureFixture[str]) -> None:
    configured(judges(main=AWAY))
    assert run() == 1
    out = capsys.readouterr().out
    assert re.search(r"^✗ judge main +right error; first ", out, re.MULTILINE)
    assert re.search(r"^    the right answer has no score: .*no connection", out, re.MULTILINE)
    assert "    fix: start the model's server, or correct base_url\n" in out


def test_a_fallback_does_not_hide_a_judge_that_fails(judge: ScriptedJudge, capsys: pytest.CaptureFixture[str]) -> None:
    configured(judges(main={**AWAY, "fallback": ["other"]}, other=judge.settings()))
    found = trials(capsys, status=1)
    assert found["judge other"]["state"] == "works"
    assert found["judge main"]["problems"][0]["what"] == "it did not answer, and its fallback other did"


@pytest.mark.parametrize(
    ("rules", "use"),
    [
        ([("classify", "2 + 2 = 4", [2.0]), ("classify", "2 + 2 = 5", [-2.0])], "rm_scalar"),
        ([("rate", "2 + 2 = 4", [[2.0]]), ("rate", "2 + 2 = 5", [[-2.0]])], "rm_process"),
        ([("embed", "Note", [1.0, 0.0]), ("embed", "Interest", [0.0, 1.0])], "similarity"),
    ],
    ids=["reward", "steps", "embedding"],
)
def test_a_model_gets_the_question_that_it_is_able_to_answer(
    rules: list[tuple[str, str, Any]], use: str, capsys: pytest.CaptureFixture[str]
) -> None:
    cannot = {"$error": {"kind": "unsupported", "message": "cannot"}}
    others = {"classify", "likelihood", "rate", "embed"} - {kind for kind, _, _ in rules}
    with ScriptedModel() as model:
        model.script(*({"task": kind, "when": when, "reply": reply} for kind, when, reply in rules))
        model.script(*({"task": kind, "when": "", "reply": cannot} for kind in others))
        configured(f"{NO_SANDBOX}[models.named.main]\nmodel = 'm'\naddress = '{model.url}'\n")
        trial = trials(capsys)["model main"]
    assert trial["use"]["name"] == use
    found = scores(trial)
    assert found["right"] > found["wrong"] >= found["empty"] == 0.0  # type: ignore[operator]


def test_a_model_that_prefers_the_wrong_answer_is_a_problem(capsys: pytest.CaptureFixture[str]) -> None:
    with ScriptedModel() as model:
        model.script({"task": "classify", "when": "2 + 2 = 4", "reply": [-2.0]})
        model.script({"task": "classify", "when": "2 + 2 = 5", "reply": [2.0]})
        configured(f"{NO_SANDBOX}[models.named.main]\nmodel = 'm'\naddress = '{model.url}'\n")
        trial = trials(capsys, status=1)["model main"]
    assert trial["problems"][0]["what"] == "the wrong answer scores 0.880797, more than the right one, 0.119203"


def test_a_sandbox_that_cannot_start_is_one_problem_with_the_command_that_fixes_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configured("[sandbox]\nlauncher = 'bwrap'\nrootfs = '/nowhere'\n")
    found = trials(capsys, status=1)
    assert [name for name in found if name.startswith("language")] == ["language python"]
    fix = found["language python"]["problems"][0]["fix"]
    assert fix.startswith(("apt-get install bubblewrap", "rewarden sandbox-host build"))


@pytest.mark.slow
@pytest.mark.skipif(no_sandbox() is not None, reason=no_sandbox() or "")
def test_each_language_of_the_sandbox_runs_a_program(capsys: pytest.CaptureFixture[str]) -> None:
    configured("")
    found = trials(capsys)
    for name in ("python", "c", "cpp", "javascript", "bash"):
        trial = found[f"language {name}"]
        assert (trial["state"], scores(trial)) == ("works", {"right": 1.0, "wrong": 0.0, "empty": 0.0})


@pytest.mark.slow
@needs_lean
@pytest.mark.skipif(no_sandbox() is not None, reason=no_sandbox() or "")
def test_each_lean_project_checks_a_proof(capsys: pytest.CaptureFixture[str]) -> None:
    configured(f"[lean.projects]\ntests = '{TOOLCHAIN}'\nother = '/nowhere'\n")
    found = trials(capsys, status=1)
    assert scores(found["lean tests"]) == {"right": 1.0, "wrong": 0.0, "empty": 0.0}
    assert found["lean other"]["state"] == "broken"
    assert "/nowhere" in found["lean other"]["problems"][0]["what"]


async def test_a_server_tries_the_parts_that_it_lists(
    start: Start, judge: ScriptedJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    server = await start({"sandbox.launcher": "none", "judges.named": {"main": judge.settings()}})
    found = await asyncio.to_thread(trials, capsys, "--target", server.serving.http)
    states = {name: trial["state"] for name, trial in found.items() if name != "database duckdb"}
    assert states == {
        "judge main": "works",
        "model": "unused",
        "language": "unused",
        "database sqlite": "works",
        **{name: state for name, state in states.items() if name.startswith("lean")},
    }


def test_a_server_that_cannot_be_reached_is_1_and_a_wrong_setting_2(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rewarden.retry.Retry.wait_s", lambda *_: None)
    assert run("--target", "http://127.0.0.1:1") == 1
    configured("[judges]\ndefault = 'nobody'\n")
    assert run() == 2
    assert "judges.default: unknown judge 'nobody'" in capsys.readouterr().err
