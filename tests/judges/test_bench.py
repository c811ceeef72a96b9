"""`rewarden judge bench`, from rows of each published set to its figures, with a scripted judge."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from rewarden.__main__ import main
from rewarden_server.studies.calibration.attacks import ATTACKS
from tests.judges import bench_rows as rows_of
from tests.judges.scripted import ScriptedJudge

GOOD = "It rises at the Gull Stone."
BAD = "It rises in a teapot."


@pytest.fixture
def judged(scripted: ScriptedJudge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> ScriptedJudge:
    """The scripted judge as the configured one."""
    settings = scripted.settings(retries=0, input_usd=1.0, output_usd=10.0)
    monkeypatch.setenv("REWARDEN_JUDGES_NAMED", json.dumps({"main": settings}))
    monkeypatch.chdir(tmp_path)
    return scripted


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows))
    return path


def measured(capsys: pytest.CaptureFixture[str], *arguments: object) -> dict[str, Any]:
    """The findings; those of the parts also by name, under `values`."""
    assert main(["judge", "bench", *map(str, arguments), "-q", "--json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    found["values"] = {line["name"]: line["value"] for line in found["figures"]}
    return found


def refused(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    assert main(["judge", "bench", *map(str, arguments), "-q"]) == 2
    return capsys.readouterr().err


def prefers(text: str, *, over: str = "", reason: str = "better") -> list[dict[str, Any]]:
    """Rules by which the judge names a text in either place; of several questions those that hold `over`."""
    more = [over] if over else []
    return [
        {"when": ["[response_a", f"\n{text}\n[end of response_a", *more], "reply": {"reason": reason, "better": "A"}},
        {"when": ["[response_a", f"\n{text}\n[end of response_b", *more], "reply": {"reason": reason, "better": "B"}},
    ]


def test_pairs_are_asked_in_both_orders_and_sections_have_the_weights_of_the_set(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(*prefers(GOOD))
    # The place is favoured: A in either order, a tie, which counts half for a judge that compares.
    judged.script({"when": ["[response_a", "(3)", "teapot"], "reply": {"reason": "first", "better": "A"}})
    judged.script(*prefers("A wrong sum.", reason="fooled"))
    file = write(
        tmp_path / "filtered.jsonl",
        rows_of.reward_bench(1, "alpacaeval-easy", GOOD, BAD),
        rows_of.reward_bench(2, "mt-bench-med", "A right sum.", "A wrong sum."),
        rows_of.reward_bench(3, "donotanswer", "No.", BAD),
        rows_of.reward_bench(4, "math-prm", GOOD, BAD),
        rows_of.reward_bench(5, "hep-go", "A right sum.", "A wrong sum."),
    )
    found = measured(capsys, "rewardbench", file, "--judge", "main")
    assert len(judged.requests) == 10
    assert found["values"]["Chat"] == pytest.approx(100 / (100 + 40))
    assert found["values"]["Safety"] == 0.5
    assert found["values"]["Reasoning"] == pytest.approx(984 / (984 + 164))
    assert "Chat Hard" not in found["values"]
    assert found["missing"] == ["Chat Hard"]
    assert found["overall"]["value"] == pytest.approx((100 / 140 + 0.5 + 984 / 1148) / 3)
    assert found["ties"] == 1
    assert found["use"] == {"name": "pairwise", "params": {"judge": "main"}}
    assert found["spent"]["calls"] == 10
    assert found["spent"]["cost_usd"] == pytest.approx(10 * (100 * 1.0 + 10 * 10.0) / 1e6)
    assert found["latency"]["median_s"] <= found["latency"]["p95_s"]
    assert found["took_s"] > 0


def scaled(text: str, score: int) -> dict[str, Any]:
    return {"when": ["Name a colour", f"\n{text}\n[end of response"], "reply": {"reason": "so", "score": score}}


def test_the_best_of_four_is_rated_and_shares_its_point_with_its_equals(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(scaled("Teal", 9), scaled("Rust", 9), scaled("Plaid", 3), scaled("Loud", 2), scaled("Mud", 1))
    file = write(
        tmp_path / "rows.jsonl",
        rows_of.reward_bench_2("1", "Math", ["Teal"], ["Plaid", "Loud", "Mud"]),
        rows_of.reward_bench_2("2", "Math", ["Teal"], ["Rust", "Loud", "Mud"]),
        rows_of.reward_bench_2("3", "Focus", ["Plaid"], ["Teal", "Loud", "Mud"]),
    )
    found = measured(capsys, "rewardbench2", file)
    assert found["values"] == {"Math": 0.75, "Focus": 0.0}
    assert found["overall"]["value"] == pytest.approx(0.375)
    assert found["ties"] == 1
    assert found["asked_as"] == "rating"


def test_ties_are_scored_as_the_set_defines(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(scaled("Teal", 10), scaled("Rust", 9), scaled("Plaid", 3), scaled("Loud", 8))
    file = write(
        tmp_path / "rows.jsonl",
        # Right answers 10 and 9 apart by 1, and 6 above the wrong one; with one right answer 7 above.
        rows_of.reward_bench_2("tied:4", "Ties", ["Teal", "Rust"], ["Plaid"]),
        rows_of.reward_bench_2("ref:4", "Ties", ["Teal"], ["Plaid"]),
        # Right answers 10 and 3, the wrong one between them: no margin; with one right answer 2 above.
        rows_of.reward_bench_2("tied:5", "Ties", ["Teal", "Plaid"], ["Loud"]),
        rows_of.reward_bench_2("ref:5", "Ties", ["Teal"], ["Loud"]),
    )
    found = measured(capsys, "rewardbench2", file)
    assert found["values"]["tied accuracy"] == 0.5
    assert found["values"]["reference accuracy"] == 1.0
    assert found["values"]["margin"] == found["values"]["margin, hard"] == 0.5
    # 0.3 × ½ + 0.3 × 1 + 0.2 × ½ + 0.2 × ½, and a hundredth of the mean of tanh(6/1 - 1) and tanh(-5/7 - 1).
    assert found["values"]["Ties"] == pytest.approx(0.65 + 0.01 * (0.99990920 - 0.93720) / 2, abs=1e-5)


def test_a_judge_that_compares_is_not_asked_about_ties(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(*prefers("Teal"))
    file = write(
        tmp_path / "rows.jsonl",
        rows_of.reward_bench_2("1", "Math", ["Teal"], ["Plaid", "Loud", "Mud"]),
        rows_of.reward_bench_2("ref:4", "Ties", ["Teal"], ["Plaid"]),
    )
    found = measured(capsys, "rewardbench2", file, "--use", "pairwise")
    assert (found["rows"], found["left_out"], found["values"]) == (1, {"Ties": 1}, {"Math": 1.0})
    assert len(judged.requests) == 6
    assert main(["judge", "bench", "rewardbench2", str(file), "--use", "pairwise", "-q"]) == 0
    printed = capsys.readouterr().out
    assert "Ties: 1 rows left out, which pairwise cannot judge" in printed
    assert "the overall figure is without Factuality, Precise IF, Safety, Focus, Ties" in printed


def test_judgebench_wants_the_right_one_in_both_orders(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(*prefers("The Auk."), *prefers("The Gig.", over="(c)"))
    judged.script({"when": ["[response_a", "(d)"], "reply": {"reason": "first", "better": "A"}})
    file = write(
        tmp_path / "gpt.jsonl",
        rows_of.judge_bench("a", "mmlu-pro-law", "The Auk.", "The Skua.", "A>B"),
        rows_of.judge_bench("b", "livecodebench", "The Skua.", "The Auk.", "B>A"),
        rows_of.judge_bench("c", "livebench-math", "The Gig.", "The Yawl.", "B>A"),
        rows_of.judge_bench("d", "livebench-math", "The Gig.", "The Yawl.", "A>B"),
    )
    found = measured(capsys, "judgebench", file)
    assert found["values"] == {"mmlu-pro": 1.0, "livebench-math": 0.0, "livecodebench": 1.0}
    assert (found["overall"]["value"], found["overall"]["count"], found["overall"]["of"]) == (0.5, 2, 4)
    assert found["ties"] == 1


def test_rmb_has_pairs_and_best_of_n_in_a_folder_of_lists(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(*prefers("Hang it up."), *prefers("Burn it.", over="Boil it."))
    pairs = [
        rows_of.rmb_pair(1, "Pairwise_set/Helpfulness/Chat/Advice", "Hang it up.", "Burn it."),
        rows_of.rmb_pair(2, "Pairwise_set/Harmlessness/S1", "Boil it.", "Burn it."),
    ]
    best = [
        rows_of.rmb_best(1, "BoN_set/Helpfulness/Chat/Advice", "Hang it up.", "Burn it.", "Boil it."),
        rows_of.rmb_best(2, "BoN_set/Helpfulness/Chat/Advice", "Boil it.", "Hang it up.", "Burn it."),
    ]
    for name, rows in (("Pairwise_set/a.json", pairs), ("BoN_set/b.json", best)):
        path = tmp_path / "RMB_dataset" / name
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps(rows, indent=4))
    found = measured(capsys, "rmb", tmp_path / "RMB_dataset")
    assert {name: value for name, value in found["values"].items() if "," in name} == {
        "Helpfulness, best of n": 0.5,
        "Helpfulness, pairs": 1.0,
        "Harmlessness, pairs": 0.0,
    }
    assert found["overall"]["value"] == pytest.approx(0.5)
    assert found["values"]["S1"] == 0.0


def marked(when: str, *labels: str) -> dict[str, Any]:
    steps = [{"index": place, "reason": "", "label": label} for place, label in enumerate(labels, start=1)]
    return {"when": when, "reply": {"steps": steps}}


def test_processbench_wants_the_first_wrong_step(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = ["She has three.", "Three and two is six.", "She has six."]
    judged.script(
        marked("gsm8k-0", "correct", "incorrect", "incorrect"),
        marked("gsm8k-1", "correct", "correct", "incorrect"),
        marked("gsm8k-2", "correct", "correct", "correct"),
        marked("math-3", "incorrect", "correct", "correct"),
        marked("math-4", "correct", "correct", "incorrect"),
    )
    file = tmp_path / "gsm8k.json"
    rows = [("gsm8k-0", 1), ("gsm8k-1", 1), ("gsm8k-2", -1), ("math-3", 0), ("math-4", -1)]
    file.write_text(json.dumps([rows_of.process_bench(name, steps, label) for name, label in rows]))
    found = measured(capsys, "processbench", file)
    # gsm8k: one of two errors found, the right one held right: 2 × ½ × 1 / 1.5. math: the error, but no right one.
    assert found["values"]["gsm8k, F1"] == pytest.approx(2 / 3)
    assert found["values"]["math, F1"] == 0.0
    assert found["overall"]["value"] == pytest.approx(1 / 3)
    assert [line["value"] for line in found["figures"] if line["name"] == "wrong solutions"] == [0.5, 1.0]


def test_prmbench_counts_all_steps_of_a_kind_together(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = ["Four.", "Four again.", "Five and four.", "Nine."]
    judged.script(
        marked("(one)", "correct", "correct", "incorrect", "correct"),
        marked("(two)", "correct", "incorrect", "incorrect", "incorrect"),
        marked("(three)", "correct", "correct", "correct", "incorrect"),
    )
    row = rows_of.prm_bench("one", "circular", steps, [3, 4])
    file = write(
        tmp_path / "rows.jsonl",
        row,
        row,  # comes twice
        rows_of.prm_bench("two", "circular", steps, [3, 4, 9]),  # there is no step 9
        rows_of.prm_bench("three", "multi_solutions", steps, []),
    )
    found = measured(capsys, "prmbench", file)
    # circular: of four right steps three are held right, and of four wrong ones three wrong: F1 of each is ¾.
    assert found["values"]["circular"] == found["values"]["Simplicity"] == pytest.approx(0.75)
    # multi_solutions: no wrong step, three of four held right: 2 × 3 / (3 + 4).
    assert found["values"]["multi_solutions"] == found["values"]["Sensitivity"] == pytest.approx(6 / 7)
    # All steps: right 8, held right 7, both 6; wrong 4, held wrong 5, both 3.
    assert found["overall"]["value"] == pytest.approx((12 / 15 + 6 / 9) / 2)
    assert found["rows"] == 3


def met(when: list[str], verdict: str) -> dict[str, Any]:
    return {
        "when": when,
        "reply": {"criteria": [{"number": 1, "evidence": "", "reason": "", "verdict": verdict}]},
    }


def test_healthbench_is_the_macro_f1_over_every_physician(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(met(["Rest it", "advises rest"], "met"), met(["Rest it", "names a dose"], "not_met"))
    file = write(
        tmp_path / "meta.jsonl",
        rows_of.healthbench("emergency", "Rest it for two days.", "advises rest", [True, True, False]),
        rows_of.healthbench("emergency", "Rest it for two days.", "names a dose", [False, True]),
    )
    found = measured(capsys, "healthbench-meta", file)
    # Met is said of 3 labels, 3 labels are met, both 2: F1 4/6. Not met of 2 labels, 2 labels, both 1: F1 2/4.
    assert found["overall"]["value"] == pytest.approx((4 / 6 + 2 / 4) / 2)
    assert found["values"] == {"emergency": pytest.approx((4 / 6 + 2 / 4) / 2)}


def peru(judged: ScriptedJudge) -> None:
    judged.script({"when": "Peru", "reply": {"reason": "another city", "verdict": "incorrect"}})
    judged.script({"when": ["Peru", "quokka"], "reply": {"reason": "the same", "verdict": "correct"}})


VERIFY = [
    rows_of.verify_bench("String", "City", "The quokka says Lima.", True),
    rows_of.verify_bench("String", "River", "The numbat says Cusco.", False),
    rows_of.verify_bench("Number", "Integer", "The potoroo says Lima.", True),
]


def test_verifybench_asks_whether_the_reference_is_given(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peru(judged)
    found = measured(capsys, "verifybench", write(tmp_path / "verify_bench.jsonl", *VERIFY))
    assert found["values"] == {"Number": 0.0, "Integer": 0.0, "String": 1.0, "City": 1.0, "River": 1.0}
    assert (found["overall"]["count"], found["overall"]["of"]) == (2, 3)
    assert found["ties"] is None, "nothing can tie here"


def test_longjudgebench_has_orders_pairs_and_checks(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for text, score in (("Mole", 9), ("Quay", 6), ("Pier", 3), ("Buoy", 3)):
        judged.script({"when": ["harbour", f"\n{text}\n[end of response"], "reply": {"reason": "", "score": score}})
    ranks = {"structure_ranking": {"m0": 1, "m1": 2, "m2": 3}, "content_ranking": {"m0": 3, "m1": 2, "m2": 1}}
    file = write(
        tmp_path / "rows.jsonl",
        rows_of.long_judge("surge", "s", ["Mole", "Quay", "Pier"], ranks),
        # Two rows of one task are a pair.
        rows_of.long_judge("realdr", "r1", ["Mole"], {"weighted_total": 4.0}, task_id=20),
        rows_of.long_judge("realdr", "r2", ["Quay"], {"weighted_total": 7.5}, task_id=20),
        rows_of.long_judge("realdr", "r3", ["Pier"], {"weighted_total": 1.0}, task_id=21),
        rows_of.long_judge("wp_bench", "w", ["Pier", "Mole"], {"chosen": {"model": "m1"}, "rejected": {"model": "m0"}}),
        rows_of.long_judge("ma", "m", ["Pier", "Buoy"], {"preferred": "tie"}),
        rows_of.long_judge("ma", "n", ["Quay", "Buoy"], {"preferred": "B"}),
        rows_of.long_judge("verify_bench_hard", "v", ["Mole"], {"gold_correct": True}),
    )
    found = measured(capsys, "longjudgebench", file)
    assert found["values"] == {
        "realdr": 0.0,
        "verify_bench_hard": 1.0,
        "wp_bench": 1.0,
        "ma": 0.5,
        "surge, structure": 1.0,
        "surge, content": 0.0,
    }
    assert found["overall"]["value"] == pytest.approx(3.5 / 6)


def test_of_long_pairs_each_order_counts_by_itself(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script({"when": "harbour", "reply": {"reason": "first", "better": "A"}})
    truth = {"chosen": {"model": "m1"}, "rejected": {"model": "m0"}}
    file = write(
        tmp_path / "rows.jsonl",
        rows_of.long_judge("wp_bench", "w", ["Pier", "Mole"], truth),
        rows_of.long_judge("verify_bench_hard", "v", ["Mole"], {"gold_correct": True}),
    )
    # A passing check cannot be asked of a judge that compares: it has no rival.
    found = measured(capsys, "longjudgebench", file, "--use", "pairwise")
    assert found["values"]["wp_bench"] == 0.5


# --- what is unscored, attacked, shown ---


def test_unscored_rows_are_in_no_figure(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peru(judged)
    judged.script({"when": ["Peru", "potoroo says"], "reply": {"$reply": {"status": 500}}})
    found = measured(capsys, "verifybench", write(tmp_path / "rows.jsonl", *VERIFY))
    assert found["unscored"] == [{"status": "error", "fault": "infra", "reason": "provider_failed", "rows": 1}]
    assert (found["rows"], found["scored"], found["overall"]["of"]) == (3, 2, 2)
    assert found["unscored_parts"] == {"Number": 1}
    assert "Number" not in found["values"]
    assert main(["judge", "bench", "verifybench", str(tmp_path / "rows.jsonl"), "-q"]) == 0
    assert "unscored rows are in no figure below, and count neither as right nor as wrong (Number 1)" in (
        capsys.readouterr().out
    )


def test_a_row_of_which_one_verdict_lacks_is_unscored(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(scaled("Teal", 9), scaled("Plaid", 3), scaled("Loud", 2))
    judged.script({"when": ["Name a colour", "\nMud\n[end of response"], "reply": {"$reply": {"status": 500}}})
    file = write(
        tmp_path / "rows.jsonl",
        rows_of.reward_bench_2("1", "Math", ["Teal"], ["Plaid", "Loud", "Mud"]),
        rows_of.reward_bench_2("2", "Math", ["Teal"], ["Plaid", "Loud", "Plaid"]),
    )
    found = measured(capsys, "rewardbench2", file)
    assert (found["scored"], found["values"]["Math"]) == (1, 1.0)


def test_nothing_scored_has_a_status_of_its_own(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script({"when": "Peru", "reply": {"$reply": {"status": 500}}})
    file = write(tmp_path / "rows.jsonl", *VERIFY)
    assert main(["judge", "bench", "verifybench", str(file), "-q"]) == 3
    assert "no row was scored" in capsys.readouterr().err


def test_attacks_stand_beside_the_figures(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peru(judged)
    judged.script({"when": ["Peru", "numbat", "GRADE: PASS\nScore"], "reply": {"reason": "", "verdict": "correct"}})
    file = write(tmp_path / "rows.jsonl", *VERIFY)
    plain = measured(capsys, "verifybench", file)
    assert (plain["attacks"], plain["attacked"]) == ([], 0)
    found = measured(capsys, "verifybench", file, "--attacks")
    assert found["overall"] == plain["overall"]
    assert found["attacked"] == 1
    grade = next(one for one in found["attacks"] if one["attack"] == "grade_pass")
    assert (grade["passed"]["count"], grade["before"]["count"], grade["passed"]["of"]) == (1, 0, 1)
    assert {one["attack"] for one in found["attacks"]} == {one.name for one in ATTACKS} - {"half_met"}


def test_of_pairs_the_worse_one_is_attacked_against_the_better_one(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script({"when": "Quillfen", "reply": {"reason": "", "better": "tie"}})
    file = write(tmp_path / "rows.jsonl", rows_of.reward_bench(1, "hep-go", GOOD, BAD))
    found = measured(capsys, "rewardbench", file, "--attacks")
    assert found["attacked"] == 1
    shown = [chat for chat in judged.chats() if "GRADE: PASS\nScore" in chat]
    assert shown
    assert all("Gull Stone" in chat and "teapot" in chat for chat in shown)


def test_figures_of_a_weak_judge_say_so(
    judged: ScriptedJudge, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """They must not be quoted as those of a judge."""
    monkeypatch.setenv("REWARDEN_JUDGES_NAMED", json.dumps({"main": judged.settings(retries=0, weak=True)}))
    peru(judged)
    file, page = write(tmp_path / "rows.jsonl", *VERIFY), tmp_path / "page.html"
    assert main(["judge", "bench", "verifybench", str(file), "-q", "--out", str(page)]) == 0
    told = re.search(r"^flags +(.*weak_judge \d+.*)$", capsys.readouterr().out, re.MULTILINE)
    assert told is not None
    assert f"Flags: {told[1]}" in page.read_text()


def test_the_table_and_the_page_are_for_people(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    peru(judged)
    evil = rows_of.verify_bench("<script>alert(1)</script>", "City", "The quokka says Lima.", True)
    file, page = write(tmp_path / "rows.jsonl", *VERIFY, evil), tmp_path / "page.html"
    assert main(["judge", "bench", "verifybench", str(file), "--attacks", "--attacked", "1", "--out", str(page)]) == 0
    printed = capsys.readouterr()
    assert re.search(r"^overall +75\.0% +30\.1%–95\.4% \(3 of 4\)$", printed.out, re.MULTILINE)
    assert re.search(r"^grade_pass +0\.0%", printed.out, re.MULTILINE)
    assert "4 of 4 rows of VerifyBench" in printed.err
    text = page.read_text()
    assert "<script" not in text
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in text
    assert "grade_pass" in text
    assert not re.search(r"(?:src|href)=|url\(|style=\"", text)


def test_parquet_and_a_limit(judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    judged.script(*prefers(GOOD))
    rows = [rows_of.reward_bench(number, "hep-go", GOOD, BAD) for number in range(6)]
    parquet.write_table(pyarrow.Table.from_pylist(rows), tmp_path / "filtered.parquet")
    found = measured(capsys, "rewardbench", tmp_path / "filtered.parquet", "--limit", 4)
    assert (found["rows"], found["values"]["hep-go"]) == (4, 1.0)


def test_names_that_come_twice_with_other_contents_are_two_rows(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(*prefers(GOOD))
    file = write(
        tmp_path / "rows.jsonl",
        rows_of.reward_bench(1, "hep-go", GOOD, BAD),
        rows_of.reward_bench(1, "hep-go", GOOD, "In a hat."),
    )
    assert measured(capsys, "rewardbench", file)["rows"] == 2


def test_groups_of_responses_are_ranked_and_not_attacked(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script(*prefers("Teal"))
    judged.script({"when": ["[response_a", "Name a colour"], "reply": {"reason": "", "better": "tie"}})
    file = write(
        tmp_path / "rows.jsonl",
        rows_of.reward_bench_2("1", "Math", ["Teal"], ["Plaid", "Loud", "Mud"]),
        # The same name in another part is another group.
        rows_of.reward_bench_2("1", "Focus", ["Plaid"], ["Teal", "Loud", "Mud"]),
    )
    found = measured(capsys, "rewardbench2", file, "--use", "listwise", "--attacks")
    assert (found["asked_as"], found["values"]) == ("ranking", {"Math": 1.0, "Focus": 0.0})
    assert found["attacks"] == []


def test_a_verifier_that_cannot_be_asked_is_refused(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = write(tmp_path / "rows.jsonl", *VERIFY)
    message = refused(capsys, "verifybench", file, "--use", "pairwise")
    assert "VerifyBench is for verifiers that judge one response at a time, such as judge" in message
    assert "pairwise is one to compare a response with a rival" in message
    assert judged.requests == []


def test_a_verdict_without_steps_is_no_mark(
    judged: ScriptedJudge, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    judged.script({"when": "Tansy", "reply": {"reason": "", "verdict": "correct"}})
    file = write(tmp_path / "rows.jsonl", rows_of.process_bench("gsm8k-0", ["She has 5.", "So five."], -1))
    assert main(["judge", "bench", "processbench", str(file), "--params", '{"mode": "verdict"}', "-q"]) == 3
    assert "the verdict has no steps: use a verifier that marks them" in capsys.readouterr().out


# --- rows that are not the set's ---


@pytest.mark.parametrize(
    ("name", "row", "message"),
    [
        (
            "rewardbench",
            {**rows_of.reward_bench(1, "hep-go", "x", "y"), "subset": "hep-cobol"},
            "the field 'subset' must be alpacaeval-easy or",
        ),
        (
            "rewardbench",
            {**rows_of.reward_bench(1, "hep-go", "x", "y"), "chosen": None},
            "the field 'chosen' is null. A row of RewardBench has id, prompt, chosen,",
        ),
        (
            "rewardbench",
            rows_of.reward_bench_2("1", "Math", ["x"], ["y"]),
            "this looks like a row of RewardBench 2: rewarden judge bench rewardbench2",
        ),
        (
            "rewardbench2",
            {**rows_of.reward_bench_2("1", "Math", ["x"], ["y"]), "num_correct": 2},
            "the field 'num_correct' is not the number of chosen responses, 1",
        ),
        (
            "rewardbench2",
            rows_of.reward_bench_2("four", "Ties", ["x"], ["y"]),
            "the field 'id' must be ref:N or tied:N in the subset Ties, not 'four'",
        ),
        ("judgebench", {**rows_of.judge_bench("a", "mmlu-pro", "x", "y", "A=B")}, "must be A>B or B>A, not 'A=B'"),
        (
            "judgebench",
            rows_of.judge_bench("a", "trivia", "x", "y", "A>B"),
            "the field 'source' must begin with mmlu-pro or",
        ),
        (
            "rmb",
            {**rows_of.rmb_pair(1, "Pairwise_set/Harmlessness/S1", "x", "y"), "chosen": "x"},
            "the field 'chosen' must be an object, not the text 'x'",
        ),
        (
            "rmb",
            rows_of.rmb_best(1, "BoN_set/Charm/S1", "x", "y"),
            "the field 'category_path' must begin with BoN_set or Pairwise_set and a goal",
        ),
        (
            "rmb",
            {**rows_of.rmb_best(1, "BoN_set/Harmlessness/S1", "x"), "loser_list": [{"llm_name": "y"}]},
            "the field 'loser_list[0].answer' is missing",
        ),
        ("processbench", rows_of.process_bench("gsm8k-0", ["x"], 1), "the field 'label' names step 1, but there are 1"),
        ("processbench", rows_of.process_bench("trivia-0", ["x"], -1), "the field 'id' must be the name of a split"),
        (
            "processbench",
            rows_of.prm_bench("one", "circular", ["x"], [1]),
            "this looks like a row of PRMBench: rewarden judge bench prmbench",
        ),
        (
            "prmbench",
            {**rows_of.prm_bench("one", "circular", ["x"], [1]), "error_steps": ["1"]},
            "the field 'error_steps[0]' must be a step's number",
        ),
        ("healthbench-meta", rows_of.healthbench("c", "x", "y", []), "the field 'binary_labels' must have at least 1"),
        (
            "healthbench-meta",
            {**rows_of.healthbench("c", "x", "y", [True]), "binary_labels": [1]},
            "the field 'binary_labels[0]' must be true or false",
        ),
        (
            "verifybench",
            {**rows_of.verify_bench("String", "City", "x", True), "gold_correct": "yes"},
            "the field 'gold_correct' must be true or false, not the text 'yes'",
        ),
        (
            "longjudgebench",
            rows_of.long_judge("surge", "s", ["x"], {"structure_ranking": {}, "content_ranking": {}}),
            "the field 'ground_truth.structure_ranking.m0' is missing",
        ),
        ("verifybench", {"text": "hello", "stars": 4}, "no set has rows like this one"),
    ],
)
def test_a_row_that_is_not_the_sets_names_row_field_and_nearest_set(
    judged: ScriptedJudge,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    name: str,
    row: dict[str, Any],
    message: str,
) -> None:
    said = refused(capsys, name, write(tmp_path / "rows.jsonl", row))
    assert "rows.jsonl:1: " in said
    assert message in said
    assert judged.requests == []
