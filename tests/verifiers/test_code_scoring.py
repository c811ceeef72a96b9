"""From the tests' ends to a score, a verdict, feedback and evidence: pure, with reports written by hand."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import pytest

from rewarden.errors import InvalidReference, SandboxError
from rewarden_sandboxes.agent.provenance import MOST, Provenance
from rewarden_sandboxes.job import Report
from rewarden_verifiers.execution import calls, judges, modes
from rewarden_verifiers.execution.feedback import MAX_LISTED, evidence, excerpt, feedback
from rewarden_verifiers.execution.reference import (
    CodeReference,
    Group,
    JudgeProgram,
    Suite,
    Test,
    Trial,
    read_reference,
)
from rewarden_verifiers.execution.results import Doubted, Result
from rewarden_verifiers.execution.scoring import overall, score_of, undecided_by
from rewarden_verifiers.execution.values import ValueChecker

OK = Report(status="ok", exit_code=0)
LOST = SandboxError("the host is gone")


def suite(*tests: Test) -> Suite:
    return read_reference(CodeReference(language="python", tests=tests))


def results(words: str, weights: Any = None, groups: str | None = None, **fields: Any) -> list[Result]:
    """Results of tests by a letter each: A(C), W(A), T(LE), I(E), S(K), H(alf credit, WA)."""
    tests = [
        Test(
            type="stdio",
            stdin="in",
            stdout="out",
            weight=weights[place] if weights else 1.0,
            group=groups[place].strip() or None if groups else None,
            **fields,
        )
        for place in range(len(words))
    ]
    names: dict[str, Any] = {"A": "AC", "W": "WA", "T": "TLE", "I": "IE", "S": "SK", "H": "WA"}
    return [
        Result(
            trial=trial,
            verdict=names[word],
            credit={"A": 1.0, "H": 0.5}.get(word, 0.0),
            error=LOST if word == "I" else None,
            report=None if word in "IS" else OK,
        )
        for trial, word in zip(suite(*tests).trials, words, strict=True)
    ]


@pytest.mark.parametrize(
    ("scoring", "words", "weights", "groups", "score"),
    [
        ("all", "AAA", None, None, 1.0),
        ("all", "AAW", None, None, 0.0),
        ("all", "AH", None, None, 0.0),
        ("fraction", "AAW", None, None, 2 / 3),
        ("fraction", "AHW", None, None, 0.5),
        ("fraction", "ASS", None, None, 1 / 3),
        ("weighted", "AW", (3, 1), None, 0.75),
        ("weighted", "AW", (1, 0), None, 1.0),
        ("weighted", "AAA", (0.1, 0.1, 0.1), None, 1.0),
        ("groups", "AAWA", None, "aabb", 0.5),
        ("groups", "AAWA", (1, 1, 1, 5), "aab ", 7 / 8),
        ("groups", "HA", None, "ab", 0.5),
        ("minimum", "AH", None, None, 0.5),
        ("minimum", "AHW", None, None, 0.0),
        ("minimum", "AA", None, None, 1.0),
    ],
)
def test_scores(scoring: Any, words: str, weights: Any, groups: str | None, score: float) -> None:
    assert score_of(scoring, results(words, weights, groups)) == pytest.approx(score)


@pytest.mark.parametrize(
    ("words", "verdict"), [("AAA", "AC"), ("ATW", "TLE"), ("AIW", "WA"), ("ASS", "AC"), ("WT", "WA")]
)
def test_the_verdict_is_that_of_the_first_test_that_failed(words: str, verdict: str) -> None:
    assert overall(results(words)) == verdict


@pytest.mark.parametrize(
    ("scoring", "words", "weights", "groups", "decided"),
    [
        ("all", "AIA", None, None, False),
        ("all", "WIA", None, None, True),
        ("all", "IW", None, None, True),
        ("fraction", "WI", None, None, False),
        ("weighted", "AI", (1, 0), None, True),
        ("groups", "WIA", None, "aab", True),
        ("groups", "AIW", None, "aab", False),
        ("minimum", "WI", None, None, True),
        ("minimum", "HI", None, None, False),
    ],
)
def test_a_failure_of_ours_leaves_the_score_open_unless_the_others_decide_it(
    scoring: Any, words: str, weights: Any, groups: str | None, decided: bool
) -> None:
    assert undecided_by(scoring, results(words, weights, groups)) is (None if decided else LOST)


def test_a_group_earns_its_points_as_its_rules_say() -> None:
    some = grouped("AWHH", "aabb", a={"points": 30, "score": "sum"}, b={"points": 70, "score": "minimum"})
    assert score_of("groups", some) == pytest.approx((15 + 35) / 100)
    assert score_of("groups", grouped("AWAA", "aabb", a={"points": 30})) == pytest.approx(2 / 32)


@pytest.mark.parametrize("scoring", ["groups", "fraction", "weighted"])
def test_a_group_earns_nothing_unless_those_that_it_requires_pass(scoring: Any) -> None:
    needs: dict[str, Any] = {"b": {"requires": ["a"]}, "c": {"requires": ["b"]}}
    assert score_of(scoring, grouped("WSS", "abc", **needs)) == 0.0
    # The middle one has no verdict: the last one, which ran, counts only if the middle one passed.
    some = grouped("AIA", "abc", **needs)
    assert score_of(scoring, some) == pytest.approx(1 / 3)
    assert undecided_by(scoring, some) is LOST


def test_evidence_has_the_points_of_groups() -> None:
    some = grouped("AWA", "abc", a={"points": 30}, b={"points": 70}, c={"requires": ["b"]})
    assert evidence(some, None)["points"] == {"a": 30, "b": 0, "c": 0}
    assert "points" not in evidence(grouped("AW", "ab"), None)


def grouped(words: str, groups: str, **rules: Any) -> list[Result]:
    tests = [Test(type="stdio", stdout="", group=name) for name in groups]
    named = {name: Group(**rule) for name, rule in rules.items()}
    read = read_reference(CodeReference(language="python", tests=tuple(tests), groups=named))
    return [replace(result, trial=trial) for result, trial in zip(results(words), read.trials, strict=True)]


# --- feedback and evidence ---------------------------------------------------------------------------------------


def test_nothing_is_told_unless_it_is_asked_for() -> None:
    assert feedback("none", results("W", visibility="public"), None) is None


@pytest.mark.parametrize("reveal", ["verdicts", "diffs"])
def test_of_hidden_tests_no_more_is_told_than_how_many_passed(reveal: Any) -> None:
    (failed, *_) = some = results("WA")
    leak = Report(status="runtime_error", exit_code=1, stdout=b"in out", stderr=b"in")
    some[0] = Result(trial=failed.trial, verdict="RE", report=leak, message="expected 'out', got 'in'")
    assert feedback(reveal, some, None) == "1 of 2 hidden tests passed."
    entry = evidence(some, None)["tests"][0]
    assert entry.keys() == {"id", "verdict", "cpu_time", "wall_time", "peak_memory", "exit_code", "hidden"}


def test_a_compilers_words_are_told() -> None:
    compiler = Report(status="runtime_error", exit_code=1, stderr=b"main.cpp:1: expected ';'")
    assert feedback("verdicts", results("W"), compiler) == "The program does not compile.\nmain.cpp:1: expected ';'"
    assert evidence(results("W"), compiler)["compile"]["message"] == "main.cpp:1: expected ';'"


def test_feedback_is_bounded() -> None:
    some = results("W" * 500, visibility="public")
    flood = Report(status="ok", exit_code=0, stdout=b"x" * 10_000_000, stderr=b"y\n" * 1_000_000)
    some = [Result(trial=one.trial, verdict="WA", report=flood, message="z" * 10_000) for one in some]
    told = feedback("diffs", some, None)
    assert told is not None
    assert len(told) < 20_000
    assert len(str(evidence(some, None))) < 400_000


def test_evidence_lists_the_first_tests_and_the_first_failure() -> None:
    some = results("A" * 2000 + "W" + "A" * 10)
    found = evidence(some, None)
    assert (found["total"], found["passed"], found["omitted"]) == (2011, 2010, 2011 - MAX_LISTED - 1)
    assert found["tests"][-1]["id"] == "2000"


def test_an_excerpt_is_short_and_says_so() -> None:
    assert excerpt(b"abc\n") == "abc"
    assert excerpt(b"x" * 1000).endswith("…")
    assert excerpt(b"first\n" * 1000 + b"last", end=True).endswith("last")
    assert excerpt(b"\xff\0") == "\ufffd\ufffd"


# --- judges ------------------------------------------------------------------------------------------------------


def judge(protocol: Any = "testlib", *, interactive: bool = False, language: str = "cpp") -> JudgeProgram:
    from rewarden_sandboxes.job import Limits

    return JudgeProgram(
        interactive=interactive,
        language=language,
        code="",
        files={},
        args=(),
        limits=Limits(),
        protocol=protocol,
        path="reference.checker",
    )


def ended(code: int | None = None, **fields: Any) -> Report:
    status = fields.pop("status", "ok" if code == 0 else "runtime_error")
    return Report(status=status, exit_code=code, **fields)


BLANK = suite(Test(type="stdio", stdout="")).trials[0]
TRACEBACK = b"Traceback (most recent call last):\n  File ...\n"


@pytest.mark.parametrize(
    ("protocol", "report", "verdict", "credit"),
    [
        ("testlib", ended(0), "AC", 1.0),
        ("testlib", ended(1, stderr=b"wrong answer expected 3"), "WA", 0.0),
        ("testlib", ended(2), "PE", 0.0),
        ("testlib", ended(4), "PE", 0.0),
        ("testlib", ended(8), "WA", 0.0),
        ("testlib", ended(7, stderr=b"points 0.25 so so"), "WA", 0.25),
        ("testlib", ended(7, stderr=b"points 1"), "AC", 1.0),
        ("kattis", ended(42), "AC", 1.0),
        ("kattis", ended(43), "WA", 0.0),
        ("exit", ended(0), "AC", 1.0),
        ("exit", ended(1), "WA", 0.0),
        ("score", ended(0, stdout=b"0.5\ntranslate:partial\n"), "WA", 0.5),
        ("score", ended(0, stdout=b"1.0\n"), "AC", 1.0),
    ],
)
def test_what_a_judge_says(protocol: Any, report: Report, verdict: str, credit: float) -> None:
    said = judges.ruling(judge(protocol), BLANK, report)
    assert (said.verdict, said.credit, said.broken) == (verdict, credit, None)


@pytest.mark.parametrize(
    ("protocol", "report"),
    [
        ("testlib", ended(3, stderr=b"FAIL the jury has no answer")),
        ("testlib", ended(7)),
        ("testlib", ended(7, stderr=b"points 50")),
        ("testlib", ended(139)),
        ("testlib", ended(signal=11)),
        ("testlib", ended(status="time_limit", limit="cpu_s")),
        ("testlib", ended(status="memory_limit", limit="memory_mb")),
        ("kattis", ended(0)),
        ("kattis", ended(1)),
        ("exit", ended(2)),
        ("score", ended(0, stdout=b"nan")),
        ("score", ended(0, stdout=b"1e400")),
        ("score", ended(0)),
        ("score", ended(1, stdout=b"1")),
    ],
)
def test_of_a_judge_that_breaks_it_is_open_who_is_to_blame(protocol: Any, report: Report) -> None:
    trial = suite(Test(type="stdio", stdout="")).trials[0]
    found = judges.judged(trial, judge(protocol), OK, report)
    assert isinstance(found, Doubted)
    assert (found.otherwise.verdict, found.otherwise.why) == ("WA", "judge_failed_on_output")


def test_what_a_judge_says_of_a_hidden_test_is_no_feedback() -> None:
    trial = suite(Test(type="stdio", stdout="")).trials[0]
    found = judges.judged(trial, judge(), OK, ended(3, stderr=b"FAIL the answer is 42"))
    assert isinstance(found, Doubted)
    assert "42" not in found.error.message
    assert "42" not in (found.otherwise.message or "")
    assert found.error.details["said"] == "FAIL the answer is 42"


def test_an_exception_of_a_judge_in_python_is_no_wrong_answer() -> None:
    said = judges.ruling(judge(language="python"), BLANK, ended(1, stderr=TRACEBACK + b"KeyError: 3\n"))
    assert (said.broken, said.message) == ("the judge raised an exception", "KeyError: 3")
    assert judges.ruling(judge(language="python"), BLANK, ended(1, stderr=b"wrong: " + TRACEBACK)).broken is None


WITH_PARTNER: dict[str, Any] = {"signal": 9, "flags": ("killed_with_partner",)}


@pytest.mark.parametrize(
    ("program", "report", "verdict"),
    [
        (ended(0), ended(0), "AC"),
        (ended(1), ended(0), "RE"),
        (ended(status="time_limit", limit="cpu_s"), ended(0), "TLE"),
        (ended(0), ended(1), "WA"),
        (ended(1, stderr=b"ZeroDivisionError"), ended(1), "WA"),  # who rejects has the last word
        (ended(**WITH_PARTNER), ended(1), "WA"),
        (ended(status="time_limit", limit="cpu_s"), ended(1), "WA"),
        (ended(status="time_limit", limit="wall_s"), ended(signal=9), "TLE"),
        (ended(status="memory_limit", limit="memory_mb"), ended(signal=9), "MLE"),
        (ended(0), ended(status="internal_error"), "IE"),
    ],
)
def test_a_conversation_with_a_judge(program: Report, report: Report, verdict: str) -> None:
    trial = suite(Test(type="stdio", stdout="")).trials[0]
    found = judges.conversation(trial, judge(interactive=True, language="python"), program, report)
    assert isinstance(found, Result)
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("program", "report", "verdict", "reason"),
    [
        (ended(0), ended(1, stderr=TRACEBACK + b"ValueError: invalid literal for int()\n"), "WA", None),
        (ended(0), ended(signal=13), "WA", None),
        (ended(0), ended(3), "WA", None),
        (ended(**WITH_PARTNER), ended(1, stderr=TRACEBACK + b"KeyError: 1\n"), "WA", None),
        (ended(**WITH_PARTNER), ended(status="time_limit", limit="cpu_s"), "WA", None),
        (ended(1, stderr=b"EOFError"), ended(1, stderr=TRACEBACK + b"NameError: x\n"), "RE", "runtime_error"),
    ],
)
def test_a_conversation_in_which_the_judge_breaks_is_open(
    program: Report, report: Report, verdict: str, reason: str | None
) -> None:
    trial = suite(Test(type="stdio", stdout="")).trials[0]
    found = judges.conversation(trial, judge(interactive=True, language="python"), program, report)
    assert isinstance(found, Doubted)
    assert (found.otherwise.verdict, found.otherwise.why) == (verdict, reason or "judge_failed_on_output")
    assert "judge_failed_on_output" in found.otherwise.flags


# --- points, and files that a judge leaves -----------------------------------------------------------------------


def kept(code: int, **files: bytes) -> Report:
    names = {
        "score": "score.txt",
        "multiplier": "score_multiplier.txt",
        "again": "nextpass.in",
        "says": "judgemessage.txt",
    }
    return ended(code, files={f"feedback/{names[name]}": data for name, data in files.items()})


@pytest.mark.parametrize(
    ("protocol", "most", "report", "credit"),
    [
        ("testlib", 100.0, ended(7, stderr=b"points 50 good"), 0.5),
        ("testlib", 100.0, ended(7, stderr=b"points 100"), 1.0),
        ("testlib", None, ended(7, stderr=b"points 1"), 0.25),  # of the test's weight, 4
        ("testlib", 1.0, ended(7, stderr=b"partial 1/4"), 0.25),
        ("testlib", 200.0, ended(50, stderr=b"partially correct (50) hm"), 0.25),
        ("testlib", 200.0, ended(0, stderr=b"partially correct (0) hm"), 0.0),
        ("testlib", 200.0, ended(0, stderr=b"ok partially correct (0)"), 1.0),
        ("score", 100.0, ended(0, stdout=b"25\n"), 0.25),
        ("kattis", 30.0, kept(42, score=b"15\n"), 0.5),
        ("kattis", 30.0, kept(42, score=b"1.5e1"), 0.5),
        ("kattis", 30.0, kept(42, multiplier=b"0.25"), 0.25),
        ("kattis", 30.0, kept(42, says=b"fine"), 1.0),
        ("kattis", 30.0, kept(42, again=b"ignored, as there is one run"), 1.0),
    ],
)
def test_points_are_shares_of_the_most(protocol: Any, most: float | None, report: Report, credit: float) -> None:
    trial = suite(Test(type="stdio", stdout="", weight=4)).trials[0]
    said = judges.ruling(replace(judge(protocol), max_points=most), trial, report)
    assert (said.broken, said.credit) == (None, credit)


@pytest.mark.parametrize(
    ("protocol", "report"),
    [
        ("testlib", ended(7, stderr=b"points 31")),
        ("testlib", ended(7, stderr=b"points -1")),
        ("testlib", ended(7, stderr=b"partial 2/1")),
        ("testlib", ended(7, stderr=b"partial 1/0")),
        ("testlib", ended(50, stderr=b"partially correct (51)")),
        ("kattis", kept(42, score=b"31")),
        ("kattis", kept(42, score=b"nan")),
        ("kattis", kept(42, score=b"-1")),
        ("kattis", kept(42, score=b"")),
        ("kattis", kept(42, multiplier=b"1.5")),
        ("kattis", kept(42, score=b"1", multiplier=b"1")),
        ("kattis", kept(43, score=b"0")),
    ],
)
def test_points_that_make_no_sense_are_no_ruling(protocol: Any, report: Report) -> None:
    assert judges.ruling(replace(judge(protocol), max_points=30.0), BLANK, report).broken is not None


def test_a_message_that_a_judge_leaves_comes_first() -> None:
    assert judges.ruling(judge("kattis"), BLANK, kept(43, says=b"line 3\nmore")).message == "line 3"


def test_a_judge_asks_for_another_run_and_finds_its_files_again() -> None:
    passes = replace(judge("kattis"), passes=2)
    report = replace(kept(42, again=b"7"), files={"feedback/nextpass.in": b"7", "feedback/state": b"s"})
    following = judges.judged(BLANK, passes, OK, report)
    assert isinstance(following, Trial)
    assert (following.stdin, following.turn, following.feedback) == (b"7", 2, {"state": b"s"})
    assert judges.files(passes, following, OK)["feedback/state"] == b"s"
    last = judges.judged(following, passes, OK, kept(42, score=b"1"))
    assert isinstance(last, Result)
    assert last.verdict == "AC"
    assert isinstance(judges.judged(following, passes, OK, report), Doubted)  # more runs than there may be
    assert isinstance(judges.judged(BLANK, passes, OK, replace(report, exit_code=43)), Doubted)


def test_a_judge_reads_the_only_file_that_a_program_writes_as_its_output() -> None:
    [trial] = suite(Test(type="stdio", outputs={"out.txt": "4"})).trials
    read = judges.files(judge(), trial, replace(OK, stdout=b"noise", files={"out.txt": b"5"}))
    assert (read["output.txt"], read["answer.txt"]) == (b"5", b"4")
    assert (read["outputs/out.txt"], read["answers/out.txt"]) == (b"5", b"4")


# --- reports of test code ----------------------------------------------------------------------------------------

FILE = Test(type="file", name="test_f.py", content="", expect=("test_a", "T::test_b"))


def told(**fields: Any) -> bytes:
    blank = {"done": True, "outcome": "passed", "kind": None, "who": None, "tests": {}, "provenance": {}, "nonce": "n"}
    return json.dumps({**blank, **fields}).encode()


def assertion(test: Test | None = None) -> Trial:
    return suite(test or Test(type="assert", code="assert f()")).trials[0]


@pytest.mark.parametrize(
    ("program", "partner", "verdict", "flag"),
    [
        (ended(signal=9), ended(0, reply=told()), "AC", None),
        (ended(status="memory_limit"), ended(0, reply=told()), "MLE", None),
        (OK, ended(0, reply=told(nonce="m")), "WA", "forged_report"),
        (OK, ended(1, reply=told(outcome="failed", kind="assertion", who="candidate")), "WA", None),
        (OK, ended(1, reply=told(outcome="failed", kind="exception", who="candidate")), "RE", None),
        (
            OK,
            ended(1, reply=told(outcome="failed", kind="uncrossable_value", who="candidate")),
            "WA",
            "uncrossable_value",
        ),
        (OK, ended(1, reply=told(outcome="failed", kind="candidate_lost", who="candidate")), "RE", "candidate_lost"),
        (
            ended(status="time_limit", limit="cpu_s"),
            ended(1, reply=told(outcome="failed", kind="candidate_lost", who="candidate")),
            "TLE",
            None,
        ),
        (ended(status="time_limit", limit="wall_s"), ended(signal=9), "TLE", None),
        (ended(signal=9), ended(status="time_limit", limit="cpu_s"), "TLE", "tests_exhausted"),
        (OK, ended(status="internal_error"), "IE", None),
    ],
)
def test_what_test_code_in_another_room_reports(
    program: Report, partner: Report, verdict: str, flag: str | None
) -> None:
    result = modes.tested(assertion(), program, partner, "n")
    assert isinstance(result, Result)
    assert result.verdict == verdict
    assert (flag in result.flags) if flag else not result.flags


@pytest.mark.parametrize(
    ("code", "report", "presumed"),
    [
        # Attack: return what ends the process, or writes a report, when the test code evaluates it.
        ("assert eval(f())", ended(0, reply=b""), "candidate"),
        ("assert eval(f())", ended(0, reply=b'{"outcome": "passed"}'), "candidate"),
        ("assert eval(f())", ended(0, reply=told() + told()), "candidate"),
        ("assert eval(f())", ended(1, reply=told()), "candidate"),
        ("import os\nassert f()\nos._exit(0)", ended(0, reply=b""), "reference"),
        ("assert f()", ended(1, reply=told(outcome="error", kind="test_code", who="tests")), "reference"),
    ],
)
def test_of_test_code_that_fails_it_is_open_who_is_to_blame(code: str, report: Report, presumed: str) -> None:
    found = modes.tested(assertion(Test(type="assert", code=code)), OK, report, "n")
    assert isinstance(found, Doubted)
    assert (found.presumed, found.otherwise.credit) == (presumed, 0.0)


@pytest.mark.parametrize(
    ("tests", "passes"),
    [
        ({"test_a": "passed", "T::test_b": "passed"}, True),
        ({"test_a": "passed", "T::test_b": "passed", "test_c": "failed"}, True),
        ({"test_a": "passed"}, False),
        ({"test_a": "passed", "T::test_b": "skipped"}, False),
        ({"test_a[1]": "passed", "test_a[2]": "failed", "T::test_b": "passed"}, False),
        ([], False),
    ],
)
def test_a_report_of_passing_must_name_every_expected_test(tests: Any, passes: bool) -> None:
    found = modes.tested(assertion(FILE), OK, ended(0, reply=told(tests=tests)), "n")
    result = found.otherwise if isinstance(found, Doubted) else found
    assert (result.verdict, result.credit) == (("AC", 1.0) if passes else ("WA", 0.0))


def test_only_known_flags_of_a_pass_are_heard() -> None:
    provenance = {"argument_mutated": [1], "names_from_candidate": ["norm"], "invented": {"of": "a newer host"}}
    found = modes.tested(assertion(), OK, ended(0, reply=told(provenance=provenance)), "n")
    assert isinstance(found, Result)
    assert found.provenance == {"argument_mutated": [1], "names_from_candidate": ["norm"]}


@pytest.mark.parametrize(
    "provenance",
    [
        None,
        [],
        {"argument_mutated": "x"},
        {"argument_mutated": []},
        {"argument_mutated": [[1]]},
        {"argument_mutated": [True]},
        {"argument_mutated": [-1]},
        {"object_result": [10**30]},
        {"object_result": ["norm"]},
        {"vacuous_comparison": [1.5]},
        {"vacuous_comparison": list(range(1001))},
        {"names_from_candidate": [1]},
        {"names_from_candidate": ["x" * 201]},
    ],
)
def test_a_provenance_that_no_agent_reports_is_the_candidates_doing(provenance: Any) -> None:
    """Attack: have test code evaluate what changes the report, and then pass, or go unscored, as one likes."""
    test = Test(type="assert", code="assert eval(f())")
    found = modes.tested(assertion(test), OK, ended(0, reply=told(provenance=provenance)), "n")
    assert isinstance(found, Doubted)
    assert (found.presumed, found.otherwise.verdict, found.otherwise.credit) == ("candidate", "WA", 0.0)


def test_the_most_that_an_agent_tells_is_of_the_shape_that_is_expected() -> None:
    agent = Provenance()
    for number in range(MOST + 1):
        agent.returned(1, None, changed=True, made=False)
        agent.named("x" * number)
    reported = json.loads(json.dumps(agent.told()))
    found = modes.tested(assertion(), OK, ended(0, reply=told(provenance=reported)), "n")
    assert isinstance(found, Result)
    assert found.provenance == reported
    assert {flag: len(of) for flag, of in reported.items()} == {"argument_mutated": 1000, "names_from_candidate": 201}


def test_the_share_of_a_files_tests_is_short_of_all() -> None:
    reply = told(outcome="failed", kind="assertion", who="candidate", tests={"test_a": "passed", "T::test_b": "failed"})
    assert credit_of(reply) == 0.5
    everything = {"test_a": "passed", "T::test_b": "passed"}
    reply = told(outcome="failed", kind="bad_frame", who="candidate", tests=everything)
    assert credit_of(reply) < 1.0


def credit_of(reply: bytes) -> float:
    found = modes.tested(assertion(FILE), OK, ended(1, reply=reply), "n")
    assert isinstance(found, Result)
    return found.credit


@pytest.mark.parametrize(
    ("report", "verdict", "flag"),
    [
        (ended(0, reply=told(nonce="n")), "AC", None),
        (ended(0, reply=told(nonce=None)), "WA", "forged_report"),
        (ended(0, reply=told(nonce="m")), "WA", "forged_report"),
        (ended(1, reply=told(nonce="n")), "WA", "forged_report"),
        (ended(0), "RE", "no_result"),
        (ended(0, reply=told(nonce="n") + b"{}"), "RE", "no_result"),
        (ended(1, reply=told(nonce="n", outcome="failed", kind="tampered", who="candidate")), "WA", "tampered"),
        (ended(1, reply=told(nonce=None, outcome="error", who="tests")), "WA", "forged_report"),
        (ended(status="time_limit", reply=told(nonce="n")), "TLE", None),
    ],
)
def test_what_test_code_in_the_candidates_process_reports(report: Report, verdict: str, flag: str | None) -> None:
    result = modes.shared(assertion(), report, "n")
    assert isinstance(result, Result)
    assert result.verdict == verdict
    assert (flag in result.flags) if flag else not result.flags


# --- calls -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reply", "verdict", "flag"),
    [
        (b'{"value": {"i": "2"}, "args": []}', "AC", None),
        (b'{"value": {"i": "3"}}', "WA", None),
        (b'{"value": "2"}', "WA", None),
        (b'{"value": 2}', "WA", "bad_reply"),
        (b'{"value": {"i": "2"}}{"value": {"i": "2"}}', "WA", "bad_reply"),
        (b"[]", "WA", "bad_reply"),
        (b"{}", "WA", "bad_reply"),
        (b"", "RE", "no_result"),
        (b'{"uncrossable": "Yes"}', "WA", "uncrossable_value"),
        (b'{"missing": "f"}', "RE", None),
        (b'{"error": "KeyError", "message": "1", "traceback": ""}', "RE", None),
        (b'{"error": [], "message": {}}', "RE", None),
        (b'{"error": "E", "message": "\\ud800"}', "RE", None),
    ],
)
def test_what_a_call_sends_back(reply: bytes, verdict: str, flag: str | None) -> None:
    found = calls.judge(ValueChecker(), reply, 2)
    assert (found.verdict, found.flag) == (verdict, flag)
    (found.message or "").encode()  # half a surrogate pair could not be sent on


def test_a_call_is_asked_without_what_is_expected() -> None:
    (trial,) = suite(Test(type="call", target="f", args=("in",), kwargs={"x": [1]}, returns="secret")).trials
    assert b"secret" not in modes.call_request(trial)


def test_what_json_cannot_say_is_escaped() -> None:
    found = calls.judge(ValueChecker(strict=True), b'{"value": {"t": [{"i": "1"}]}}', {"$": {"t": [{"i": "1"}]}})
    assert found.verdict == "AC"
    (trial,) = suite(Test(type="call", target="f", args=({"$": {"x": 1}},), returns=1)).trials
    with pytest.raises(InvalidReference):
        modes.call_request(trial)
