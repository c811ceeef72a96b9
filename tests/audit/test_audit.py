"""`rewarden audit`: it names every weakness that was put into a reward, and none in a sound one."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.cli import audit as command
from tests.judges.scripted import ScriptedJudge

REWARDS = """
from rewarden_verifiers.outcome import right, undecided, wrong


def contains(response, reference):
    return reference.casefold() in response.casefold()


def talkative(response, reference):
    return min(1.0, len(response) / 5000)


def picky(response, reference):
    if not response.strip().endswith("}"):
        return undecided("cannot_tell", fault="reference")
    return right() if f"{{{reference}}}" in response else wrong()


def deaf(response, reference):
    return response == f"\\\\boxed{{{reference}}}"
"""

FORM_PAYS = """
name: form_pays
version: "1"
uses:
  answer: math
  form: {name: format, params: {template: think_answer}}
score: "0.5 * answer.score + 0.5 * form.score"
"""


@pytest.fixture(scope="session")
def weak(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with rewards that have weaknesses: one, because a process loads a module of one name once."""
    folder = tmp_path_factory.mktemp("weak")
    (folder / "weak_rewards.py").write_text(REWARDS)
    (folder / "form_pays.yaml").write_text(FORM_PAYS)
    return folder


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Files are written into a folder of the test's own."""
    monkeypatch.chdir(tmp_path)


def written(rows: list[dict[str, Any]], name: str = "rows.jsonl") -> str:
    Path(name).write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return name


def sums(count: int = 10) -> list[dict[str, Any]]:
    """Rows as those of GSM8K and of MATH, by turns."""
    rows = []
    for n in range(count):
        total = 7 * n + 131
        worked = {"question": f"Ann has {n} apples and buys {total - n}. How many?", "source": "gsm8k"}
        formula = {"question": f"Divide {n + 3} by {total}.", "source": "math"}
        rows += [
            {**worked, "answer": f"She has {n} and {total - n} more.\n#### {total}"},
            {**formula, "answer": rf"\frac{{{n + 3}}}{{{total}}}"},
        ]
    return rows


def words(count: int = 12) -> list[dict[str, Any]]:
    return [{"question": f"Which town has the number {n}?", "answer": f"Town{chr(97 + n)}ville"} for n in range(count)]


def audited(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, dict[str, Any]]:
    status = ran(*arguments, "--json")
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return status, found


def ran(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args([*arguments, "-q"]))


def named(found: dict[str, Any]) -> set[str]:
    """The names of errors and warnings."""
    return {one["name"] for one in found["findings"] if one["level"] in ("error", "warning")}


def finding(found: dict[str, Any], name: str) -> dict[str, Any]:
    return next(one for one in found["findings"] if one["name"] == name)


def test_a_sound_reward_has_no_finding(capsys: pytest.CaptureFixture[str]) -> None:
    status, found = audited(capsys, written(sums()), "--use", "math")
    assert (status, named(found)) == (0, set())
    assert found["control"]["paid"] == 1.0
    assert found["farmability"]["score"] <= 1 / 20
    assert set(found["farmability"]["by_data_source"]) == {"gsm8k", "math"}
    assert found["per_million"]["seconds"] > 0
    assert found["per_million"]["judge_calls"] == 0


WEAK = [
    ("weak_rewards.py:contains", words, {"paid_hedge"}),
    ("weak_rewards.py:talkative", words, {"right_answers_unpaid", "paid_long"}),
    ("weak_rewards.py:picky", words, {"unscored_at_will"}),
    ("weak_rewards.py:deaf", words, {"bias_long", "bias_thought"}),
    ("form_pays.yaml", sums, {"paid_shell"}),
]


@pytest.mark.parametrize(("use", "rows", "weaknesses"), WEAK, ids=[use for use, _, _ in WEAK])
def test_each_weakness_is_named_with_cause_and_fix(
    use: str, rows: Any, weaknesses: set[str], weak: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    status, found = audited(capsys, written(rows()), "--use", f"{weak}/{use}")
    assert status == 1
    assert weaknesses <= named(found)
    assert all(one["cause"] and one["fix"] for one in found["findings"] if one["level"] in ("error", "warning"))


def test_only_the_weakness_that_was_put_in_is_named(weak: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, found = audited(capsys, written(sums()), "--use", f"{weak}/form_pays.yaml")
    assert named(found) == {"paid_shell"}
    assert found["farmability"]["score"] == 0.5
    _, found = audited(capsys, written(words()), "--use", f"{weak}/weak_rewards.py:contains")
    assert named(found) == {"paid_hedge"}
    assert finding(found, "paid_hedge")["rows"][0] == "rows.jsonl:1"
    assert found["farmability"] == {
        "score": 1.0,
        "attack": "answers_listed",
        "by_data_source": {"-": {"score": 1.0, "attack": "answers_listed"}},
    }


def test_an_answer_that_is_nearly_always_right_can_be_guessed(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"question": f"Is {n} a number?", "answer": "yes" if n % 10 else "no"} for n in range(40)]
    _, found = audited(capsys, written(rows), "--use", "label", "--params", '{"labels": ["yes", "no"]}')
    assert named(found) == {"paid_guess"}
    assert "90%" in finding(found, "paid_guess")["says"]
    status, found = audited(
        capsys, "rows.jsonl", "--use", "label", "--params", '{"labels": ["yes", "no"]}', "--limit-guess", "0.95"
    )
    assert (status, named(found)) == (0, set())


def test_the_prompt_in_the_place_of_the_reference_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    file = written(words())
    _, found = audited(capsys, file, "--use", "text", "--column", "reference=question")
    assert "reference_is_prompt" in named(found)
    both = ("--column", "reference=question", "--column", "prompt=question")
    _, found = audited(capsys, file, "--use", "text", *both)
    assert "reference_is_prompt" in named(found)


def test_a_reference_that_no_answer_meets_is_listed_by_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [*sums(8), *({"question": f"Why {n}?", "answer": r"\frac{3", "source": "broken"} for n in range(16))]
    _, found = audited(capsys, written(rows), "--use", "number")
    assert "right_answers_unpaid" in named(found)
    assert sum(map(len, found["control"]["failing"].values())) >= 16


def test_where_nothing_can_be_scored_no_attack_counts_as_harmless(capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{"question": f"Print {n}.", "reference": {"tests": "none"}} for n in range(3)]
    _, found = audited(capsys, written(rows), "--use", "math")
    assert named(found) == {"nothing_scored"}
    assert all(one["level"] != "ok" for one in found["findings"])


def test_a_column_of_right_responses_is_the_control_where_the_reference_states_no_answer(
    capsys: pytest.CaptureFixture[str],
) -> None:
    schema = {"schema": {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}}
    rows = [{"question": f"Give n = {n}.", "reference": schema, "gold": {"text": f'{{"n": {n}}}'}} for n in range(4)]
    use = ("--use", "json")
    _, found = audited(capsys, written(rows), *use)
    assert (found["control"]["samples"], found["control"]["unstated"]) == (0, 4)
    assert finding(found, "no_control")["level"] == "note"
    _, found = audited(capsys, "rows.jsonl", *use, "--right", "gold.text")
    assert (found["control"]["paid"], found["control"]["samples"]) == (1.0, 4)
    assert ran("rows.jsonl", *use, "--right", "gold.words") == 2


@pytest.fixture
def judge(monkeypatch: pytest.MonkeyPatch) -> Iterator[ScriptedJudge]:
    """A judge that passes the right town, and whoever says that experts agree."""
    with ScriptedJudge() as scripted:
        settings = scripted.settings(retries=0, input_usd=1.0, output_usd=10.0)
        monkeypatch.setenv("REWARDEN_JUDGES_NAMED", json.dumps({"main": settings}))
        yes, no = ({"reason": "so it is", "verdict": word} for word in ("correct", "incorrect"))
        scripted.script({"when": "capital", "reply": no})
        scripted.script({"when": ["capital", "three independent experts"], "reply": yes})
        scripted.script(*({"when": ["capital", text], "reply": yes} for text in (r"\boxed{Lima}", "is Lima.")))
        yield scripted


def test_a_credulous_judge_is_named_and_its_tokens_are_counted(
    judge: ScriptedJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [{"question": f"The capital of Peru, {n}?", "answer": "Lima"} for n in range(2)]
    status, found = audited(capsys, written(rows), "--use", "judge", "--limit-guess", "1")
    assert status == 1
    assert "paid_judge" in named(found)
    assert "experts" in finding(found, "paid_judge")["says"]
    cost = found["per_million"]
    assert cost["judge_calls"] > 0
    assert cost["judge_tokens"] == 110 * cost["judge_calls"]
    assert cost["judge_usd"] == pytest.approx(cost["judge_calls"] * (100 * 1.0 + 10 * 10.0) / 1e6)


def test_a_second_verifier_that_differs_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    file = written(words())
    _, found = audited(capsys, file, "--use", "text", "--second", '{"name": "format", "params": {"boxed": 1}}')
    assert named(found) == {"second"}
    assert found["second"]["agreement"] < 0.9
    _, found = audited(capsys, written(sums()), "--use", "math", "--second", "-")
    assert found["second"] is None


def test_the_scores_of_a_models_responses_are_told_by_group(capsys: pytest.CaptureFixture[str]) -> None:
    right = [{**row, "response": f"It is \\boxed{{{row['answer']}}}", "group": n} for n, row in enumerate(words(12))]
    wrong = [{**row, "response": "It is \\boxed{Rome}"} for row in right]
    for rows, mixed, names in (
        ([*right, *right], 0, {"signal"}),
        ([*right, *wrong], 12, set[str]()),
    ):
        _, found = audited(capsys, written(rows), "--use", "text")
        assert named(found) == names
        assert found["responses"]["groups"]["mixed"] == mixed
        assert found["responses"]["responses"] == 24
    prompts = written(words(12), "prompts.jsonl")
    _, found = audited(capsys, prompts, "--use", "text", "--responses", "rows.jsonl")
    assert (found["rows"], found["responses"]["mean"], found["responses"]["std"]) == (12, 0.5, 0.5)


def test_as_many_rows_are_drawn_as_wanted_and_the_same_for_a_seed(capsys: pytest.CaptureFixture[str]) -> None:
    file = written(sums(20))
    first, again, other = (
        audited(capsys, file, "--use", "number", "--second", "-", "--rows", "9", "--seed", seed)[1]
        for seed in ("1", "1", "2")
    )
    assert (first["rows"], first["rows_in_files"]) == (9, 40)
    kept = ("farmability", "control", "forms", "attacks", "findings")
    assert [first[name] for name in kept] == [again[name] for name in kept]
    assert first["control"]["rows"] != other["control"]["rows"]


def test_the_page_and_the_terminal_hold_the_checks(weak: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [{**row, "source": "<script>alert(1)</script>"} for row in words()]
    assert ran(written(rows), "--use", f"{weak}/weak_rewards.py:contains", "--report", "audit.html") == 1
    told = capsys.readouterr().out
    assert told.startswith("✗ error: a list of candidates is paid")
    assert "✓ a response without content earns nothing" in told
    assert "farmability  1.000" in told
    page = Path("audit.html").read_text(encoding="utf-8")
    assert "a list of candidates is paid" in page
    assert "<script" not in page
    Path("other.html").write_text("mine")
    assert ran("rows.jsonl", "--use", "text", "--report", "other.html") == 2


REFUSED = [
    ((), "no verifier"),
    (("--use", "no_such"), "no_such"),
    (("--use", "group_stats", "--params", '{"use": "math"}'), "judges the members of a group"),
    (("--use", "math", "--column", "reference=gold"), "no column 'gold'"),
    (("--use", "math", "--column", "reference=-"), "no column contains the expected answer"),
    (("--use", "math", "--responses", "rows.jsonl"), "no column contains the response"),
]


@pytest.mark.parametrize(("arguments", "said"), REFUSED, ids=[said for _, said in REFUSED])
def test_what_cannot_be_audited_is_refused(
    arguments: tuple[str, ...], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert ran(written(words(3)), *arguments) == 2
    assert said in capsys.readouterr().err
