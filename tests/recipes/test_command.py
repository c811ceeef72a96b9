"""`rewarden recipes`: lists, shows and checks."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import pytest

from rewarden_server.cli import recipes

GOOD = "name: mine\nversion: '1'\nuses: {answer: math}\nscore: answer.score\n"


def called(*arguments: str) -> int:
    parser = argparse.ArgumentParser()
    recipes.configure(parser)
    return recipes.run(parser.parse_args(arguments))


def test_it_lists_every_recipe_with_its_summary(capsys: pytest.CaptureFixture[str]) -> None:
    assert called() == 0
    lines = capsys.readouterr().out.splitlines()
    assert any(
        line.split(maxsplit=1) == ["logic_rl", "Logic-RL: format +1 or -1, answer +2, -1.5 or -2."] for line in lines
    )


def test_it_shows_a_recipes_parameters_and_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("soft_overlong") == 0
    shown = capsys.readouterr().out
    assert "# max_tokens = 20480  The limit: L_max." in shown
    assert "kind: soft_overlong" in shown


def test_a_name_that_is_none_is_refused_with_near_names(capsys: pytest.CaptureFixture[str]) -> None:
    assert called("logic_lr") == 2
    assert "'logic_lr'; did you mean 'logic_rl'?" in capsys.readouterr().err
    assert called("math") == 2
    assert "no recipe named 'math'; it is a verifier" in capsys.readouterr().err


def test_it_checks_files_and_names_the_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text(GOOD)
    bad.write_text(GOOD.replace("answer.score", "answer.scroe"))
    assert called("--check", str(good)) == 0
    assert "ok: mine 1, scores from 0 to 1" in capsys.readouterr().out
    assert called("--check", str(good), str(bad)) == 1
    assert f"{bad}:4: score: 'answer' has no field 'scroe'; did you mean 'score'?" in capsys.readouterr().err
    assert called("--check", str(tmp_path / "gone.yaml")) == 1
    assert "cannot be read" in capsys.readouterr().err


# --- explain ---

GATED = """
name: gated
version: "1"
range: [-1, 2]
params: {weight: {default: 0.5, type: number}}
schedule: {bonus: 'progress.step < 10.0 ? 1.0 : 0.0'}
uses:
  form: {name: format, params: {template: think_answer}}
  answer: {name: text, params: {extraction: [answer_tag]}}
main: answer
table:
  - {when: "!form.passed", score: -1, reason: bad_format}
  - otherwise: params.weight * answer.score + schedule.bonus
shaping:
  - length: {kind: linear, by: characters, correct: {start: 0, end: -0.5, max: 78}}
"""
GOOD_ROW = {"id": "first", "response": "<think>so</think><answer>Paris</answer>", "reference": "Paris"}
BARE_ROW = {"response": "Paris", "reference": "Paris"}


@pytest.fixture
def gated(tmp_path: Path) -> Path:
    file = tmp_path / "gated.yaml"
    file.write_text(GATED)
    return file


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in (GOOD_ROW, BARE_ROW)))
    return file


def test_it_explains_each_step_of_each_sample(gated: Path, rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("explain", str(gated), "--sample", str(rows), "--step", "3") == 0
    first, second = capsys.readouterr().out.split("sample 2")
    lines = [" ".join(line.split()) for line in first.splitlines()]
    assert lines[0] == "sample 1 (first): 1.25, passed"
    assert lines[1] == "uses.form format: scored, passed → 1"
    assert lines[2] == "table[0].when !form.passed = !true → false"
    assert "uses.answer text: scored, passed, answer 'Paris' → 1" in lines
    assert "schedule.bonus progress.step < 10.0 ? 1.0 : 0.0 = 3 < 10.0 ? 1.0 : 0.0 → 1" in lines
    assert "table[1] params.weight * answer.score + schedule.bonus = 0.5 * 1 + 1 → 1.5" in lines
    assert lines[-1] == "shaping.length linear: 39 characters, start 0, end -0.5, max 78: -0.25, so add -0.25 → 1.25"
    assert "answer" not in second, "behind the gate nothing runs"
    assert second.startswith(": -1, not passed, bad_format")


def test_it_explains_with_parameters_and_as_json(gated: Path, rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["explain", str(gated), "--sample", str(rows), "--step", "30", "--params", '{"weight": 1}', "--json"]
    assert called(*arguments) == 0
    first, second = map(json.loads, capsys.readouterr().out.splitlines())
    assert (first["sample"], first["verdict"]["id"], first["verdict"]["score"]) == (1, "first", 0.75)
    assert "id" not in second["verdict"]
    last = next(step for step in first["steps"] if step["where"] == "table[1]")
    assert (last["filled"], last["value"]) == ("1 * 1 + 0", 1.0)


def test_it_explains_a_group_member_by_member(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    recipe, file = tmp_path / "agreed.yaml", tmp_path / "group.jsonl"
    recipe.write_text(
        "name: agreed\nversion: '1'\nuses: {answer: {name: consensus, params: {view: full}}}\nscore: answer.score\n"
    )
    rows = [
        {"response": text, "group": "g", "group_size": 3} for text in ("\\\\boxed{4}", "\\\\boxed{4}", "\\\\boxed{5}")
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    assert called("explain", str(recipe), "--sample", str(file)) == 0
    told = capsys.readouterr().out
    assert [line for line in told.splitlines() if line.startswith("sample")] == [
        "sample 1: 1, passed",
        "sample 2: 1, passed",
        "sample 3: 0, not passed, minority",
    ]


def test_a_sample_that_a_recipe_cannot_judge_says_why(rows: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert called("explain", "soft_overlong", "--sample", str(rows)) == 0
    assert "recipe 'soft_overlong' needs the input 'token_count'" in capsys.readouterr().out


def test_a_row_that_is_no_sample_says_why_and_the_others_are_explained(
    gated: Path, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows.write_text(json.dumps({"response": 12}) + "\n" + rows.read_text())
    assert called("explain", str(gated), "--sample", str(rows), "--step", "3") == 0
    first, second, *_ = capsys.readouterr().out.split("sample ")[1:]
    assert first == (
        "1: no score, invalid_sample\n   response: must be text or a list of chat messages, not a number\n"
    )
    assert second.startswith("2 (first): 1.25, passed")


def test_a_sample_without_a_score_shows_the_steps_so_far_and_the_feedback(
    rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows.write_text(json.dumps({**GOOD_ROW, "reference": True}) + "\n")
    assert called("explain", "logic_rl", "--sample", str(rows)) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "sample 1 (first): no score, invalid_reference"
    assert any(line.startswith("   uses.answer") for line in lines)
    assert lines[-1].startswith("   verifier 'math': reference ")


def test_a_formula_of_several_lines_is_shown_in_one(
    tmp_path: Path, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text(GOOD.replace("answer.score", "|\n  answer.passed\n    ? 1.0\n    : 0.0"))
    assert called("explain", str(file), "--sample", str(rows)) == 0
    assert "score        answer.passed ? 1.0 : 0.0 = " in capsys.readouterr().out


def test_it_explains_what_a_fraction_of_training_schedules(
    tmp_path: Path, rows: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "fading.yaml"
    file.write_text(
        "name: fading\nversion: '1'\nuses: {answer: text}\nschedule: {left: 1.0 - progress.fraction}\n"
        "score: answer.score + schedule.left\nrange: [0, 2]\n"
    )
    arguments = ["explain", str(file), "--sample", str(rows), "--step", "30"]
    assert called(*arguments, "--total-steps", "40") == 0
    assert "schedule.left  1.0 - progress.fraction = 1.0 - 0.75 → 0.25" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["explain", "logic_rl"], "explain NAME --sample FILE"),
        (["explain", "logic_lr", "--sample", "ROWS"], "logic_lr"),
        (["explain", "logic_rl", "--sample", "GONE"], "No such file"),
        (["explain", "logic_rl", "--sample", "ROWS", "--params", "{"], "--params"),
        (["logic_rl", "--step", "3"], "are for `rewarden recipes explain`"),
        (["diff", "logic_rl"], "diff A B"),
        (["diff", "logic_rl", "logic_lr"], "logic_lr"),
        (["logic_rl", "--total-steps", "3"], "are for `rewarden recipes explain`"),
        (["logic_rl", "deepresearcher"], "one NAME"),
        (["show", "logic_rl"], "rewarden recipes NAME"),
        (["logic_rl", "--check", "x.yaml"], "either a NAME or --check"),
    ],
)
def test_a_mistake_in_the_command_is_named(
    rows: Path, capsys: pytest.CaptureFixture[str], arguments: list[str], told: str
) -> None:
    places = {"ROWS": str(rows), "GONE": str(rows.with_name("gone.jsonl"))}
    assert called(*(places.get(word, word) for word in arguments)) == 2
    assert told in capsys.readouterr().err


# --- diff ---


def test_it_shows_what_two_recipes_judge_differently(
    gated: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    other = tmp_path / "other.yaml"
    text = GATED.replace("name: gated", "name: other\ndescription: another").replace("score: -1", "score: -0.5")
    other.write_text(text.replace("[answer_tag]", "[answer_tag, boxed]"))
    assert called("diff", str(gated), str(other)) == 1
    assert capsys.readouterr().out.splitlines() == [
        "table[0].score",
        "   - -1",
        "   + -0.5",
        "uses.answer.params.extraction",
        '   - ["answer_tag"]',
        '   + ["answer_tag", "boxed"]',
    ]
    assert called("diff", str(gated), str(gated)) == 0
    assert capsys.readouterr().out == "the recipes judge alike\n"
    assert called("diff", str(gated), str(other), "--json") == 1
    assert json.loads(capsys.readouterr().out)[0] == {"field": "table[0].score", "a": -1, "b": -0.5}


# --- weaknesses ---


def checked(tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str) -> list[str]:
    """Returns what is said of a recipe beside that it is one, without the file's name."""
    file = tmp_path / "mine.yaml"
    file.write_text(f"name: mine\nversion: '1'\n{text}")
    assert called("--check", str(file)) == 0
    ok, *rest = capsys.readouterr().out.splitlines()
    assert ": ok: mine 1" in ok
    return [line.removeprefix(f"{file}: ") for line in rest]


FORM = "uses: {form: {name: format, params: {template: think_answer}}, answer: math}\nmain: answer\n"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        (
            FORM + "table:\n  - {when: form.passed, score: 0.8}\n  - otherwise: answer.score\n",
            ["note: table[0]: pays 0.8 for 'form' alone, without a right answer; with one, at most 1"],
        ),
        (
            FORM + "score: 'max(form.score, answer.score)'\n",
            ["warning: score: pays 1 for 'form' alone, without a right answer; with one, at most 1"],
        ),
        (
            "uses: {answer: {name: math, default: 1.0}}\nscore: answer.score\n",
            [
                "warning: uses.answer.default: pays 1 if 'answer' fails, but 0 if its answer is wrong: "
                "failing must not pay"
            ],
        ),
        (
            "uses: {answer: math}\nscore: answer.score\nfallback: 0.5\n",
            ["warning: fallback: pays 0.5 if 'answer' fails, but 0 if its answer is wrong: failing must not pay"],
        ),
        (
            "uses: {answer: math}\ntable:\n  - {when: '\"no_answer\" in answer.flags', score: 1}\n"
            "  - otherwise: answer.score\n",
            ["warning: table[0]: pays 1 for nothing, without a right answer; with one, at most 1"],
        ),
        (
            # A policy chooses to give no answer: what has no score is not trained on.
            "uses: {answer: math}\nscore: 'answer.reason == \"no_answer\" ? log(0.0) : answer.score'\n",
            [
                "warning: score: gives no score if 'answer' is without an answer: 'answer.reason == \"no_answer\" ? "
                "log(0.0) : answer.score' failed: log(): math domain error"
            ],
        ),
        (
            "uses: {answer: math}\nscore: answer.score\n"
            "exclude: {when: 'answer.reason == \"no_answer\"', reason: none}\n",
            [
                "warning: exclude: leaves the sample out if 'answer' is without an answer, but pays 0 if it is wrong: "
                "a policy can choose to be left out"
            ],
        ),
        (
            "uses: {answer: math}\ntable:\n  - {when: 'sample.finish_reason == \"length\"', score: 0.9}\n"
            "  - otherwise: answer.score\n",
            ["note: table[0]: pays 0.9 for a truncated response, without a right answer; with one, at most 1"],
        ),
        (
            "uses: {answer: math}\nscore: 0.5 * answer.score\n"
            "shaping: [{length: {kind: linear, start: 0.0, end: 0.5, max: 1000}}]\n",
            [
                "warning: shaping.length: pays 0.5 for 20,000 tokens without a right answer; a short one earns 0.0005, "
                "and if right 0.5005"
            ],
        ),
        (
            "uses: {answer: math}\nrange: [-1, 1]\nscore: answer.score\n"
            "shaping: [{length: {kind: cosine, combine: replace, max: 1000, exceeded: 0.0, "
            "correct: {start: 1.0, end: 0.5}, wrong: {start: -1.0, end: -0.5}}}]\n",
            ["warning: shaping.length: pays a wrong answer 0 past its limit, but at most -0.5 before it"],
        ),
        (
            "uses: {answer: math}\nrange: [-1, 1]\nscore: answer.score\n"
            "shaping: [{length: {kind: soft_overlong, max: 1000, buffer: 100}}]\n",
            [],
        ),
        (
            "uses: {answer: math}\nscore: answer.score\n"
            "exclude: {when: 'sample.finish_reason == \"length\"', reason: truncated}\n",
            [],
        ),
        (
            FORM + "range: [0, 3]\nscore: 'answer.score + 1.5 * form.score'\n",
            [
                "warning: score: pays 1.5 for 'form' alone, without a right answer; with one, at most 2.5, and 1 for "
                "the answer alone"
            ],
        ),
        (
            "uses: {answer: math}\nscore: 1.0 - answer.score\n",
            ["warning: score: pays 1 for nothing, without a right answer; with one, at most 0"],
        ),
        (
            "uses: {answer: math, other: text}\nscore: 'max(answer.score, other.status == \"error\" ? 1.0 : 0.0)'\n",
            ["warning: score: pays 1 if 'other' fails, but 0 if its answer is wrong: failing must not pay"],
        ),
        (FORM + "score: 0.2 * form.score + 0.8 * answer.score\n", []),
        (FORM + "score: 'form.passed ? answer.score : 0.0'\n", []),
        ("uses: {answer: {name: math, default: 0.0}}\nscore: answer.score\n", []),
        ("uses: {form: {name: format, params: {template: think_answer}}}\nscore: form.score\n", []),
    ],
)
def test_a_recipe_that_pays_without_an_answer_is_told(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, told: list[str]
) -> None:
    assert checked(tmp_path, capsys, text) == told


def test_what_cannot_be_evaluated_without_samples_is_not_judged(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = "uses: {answer: math}\nscore: 'has(answer.evidence.x) ? 1.0 : answer.score'\n"
    assert checked(tmp_path, capsys, text) == [
        "note: not checked for rewards without an answer: this needs real samples"
    ]
    assert called("--check", str(tmp_path / "mine.yaml"), "--json") == 0
    assert json.loads(capsys.readouterr().out)[0]["weaknesses"] is None
