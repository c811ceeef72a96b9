"""The check of tasks in real boxes: its findings, and its cache."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from rewarden.errors import InvalidSample
from rewarden_server.engine.lanes.boxes import BoxLane
from rewarden_verifiers.tasks.checking import check, checked
from rewarden_verifiers.tasks.folder import find_folders, read_folder
from rewarden_verifiers.tasks.judging import Size
from rewarden_verifiers.tasks.memory import Checked, Memory
from tests.tasks.folders import DONE, EXAMPLES, PARTS, TOML, parts, task_of

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

SIZE = Size()
BUILT = """
FROM rewarden-sandbox-python
WORKDIR /app
ENV WORD=yes
COPY word.sh /usr/local/share/../../../opt/
RUN echo "$WORD" >expected && echo y >/etc/made && mkdir -p /opt/tools
"""


async def checks(boxes: BoxLane, memory: Memory, files: Mapping[str, str]) -> Checked:
    """Returns the check of a task."""
    return await check(boxes, task_of(files), SIZE, memory)


async def test_a_good_task_is_remembered_by_its_digest(boxes: BoxLane, memory: Memory) -> None:
    task = task_of(PARTS)
    found = await checked(boxes, task, SIZE, memory)
    assert found.fault is None
    (step,) = found.steps
    assert (step.untouched, step.solved, step.rewritten) == (0.0, 1.0, ())
    assert memory.check(SIZE.digest(task), found.image_id, SIZE.limits(task.environment)) == found
    larger = Size(default_disk_mb=256)
    again = await checked(boxes, task, larger, memory)
    assert again.fault is None
    assert memory.check(larger.digest(task), found.image_id, larger.limits(task.environment)) == again


async def test_the_environment_is_made_once_and_seen_by_solution_and_tests(boxes: BoxLane, memory: Memory) -> None:
    files = {
        **parts(
            task_toml="schema_version = '1.4'",
            tests__test_sh='[ "$(cat done)" = "$(cat expected)" ] && [ "$WORD-$(cat /etc/made)" = yes-y ] && reward=1\n'
            "[ -d /opt/tools ] && [ -e /opt/word.sh ] && echo ${reward:-0} >/logs/verifier/reward.txt\n",
            solution__solve_sh="cat expected >done\n",
        ),
        "environment/Dockerfile": BUILT,
        "environment/word.sh": "echo word",
    }
    found = await checks(boxes, memory, files)
    assert found.fault is None
    assert found.steps[0].untouched == 0.0
    assert len(list((memory.shelf.folder / "states").iterdir())) == 1


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        (parts(tests__test_sh="echo 1 >/logs/verifier/reward.txt"), "an untouched box gets the reward 1"),
        (parts(solution__solve_sh="echo no >/app/done"), "the solution does not reach the reward 1: the reward is 0"),
        (parts(tests__test_sh="echo oops; exit 3"), "neither reward.txt nor reward.json: oops"),
        (
            parts(tests__test_sh="[ -e /opt/x ] && echo 1 >/logs/verifier/reward.txt", solution__solve_sh=">/opt/x"),
            r"its changes to /opt/x were not carried .*; list such paths in metadata\.rewarden\.keep",
        ),
        (
            {
                **parts(task_toml="schema_version = '1.4'"),
                "environment/Dockerfile": "FROM python\n\nRUN echo bad >&2; exit 4\n",
            },
            r"line 3: 'echo bad >&2; exit 4' ended with exit code 4: bad",
        ),
        (
            parts(task_toml=TOML.replace("20", "0.3"), tests__test_sh="[ -e /app/done ] && while :; do :; done"),
            "the tests of the solution's box reached the time limit",
        ),
    ],
    ids=["empty", "wrong", "silent", "system", "build", "slow"],
)
async def test_a_task_that_cannot_judge_says_why(
    boxes: BoxLane, memory: Memory, files: Mapping[str, str], problem: str
) -> None:
    found = await checks(boxes, memory, files)
    assert found.fault is not None
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError(found.fault)


async def test_each_step_begins_where_the_solution_of_the_one_before_ended(boxes: BoxLane, memory: Memory) -> None:
    files = {
        "task.toml": TOML + '[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n',
        "tests/test.sh": 'grep -qx "$STEP" /app/log && echo 1 >/logs/verifier/reward.txt\n',
    }
    for name in ("a", "b"):
        files[f"steps/{name}/instruction.md"] = name
        files[f"steps/{name}/tests/test.sh"] = f"STEP=$(echo {name}) bash -c '. /tests/own.sh'"
        files[f"steps/{name}/tests/own.sh"] = files["tests/test.sh"]
        files[f"steps/{name}/solution/solve.sh"] = f"echo {name} >>/app/log; [ {name} = a ] || grep -qx a /app/log"
    found = await checks(boxes, memory, files)
    assert found.fault is None
    assert [(step.step, step.untouched, step.solved) for step in found.steps] == [("a", None, 1.0), ("b", None, 1.0)]


LAID = {
    "task.toml": TOML + '[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n',
    "steps/a/instruction.md": "a",
    "steps/a/workdir/in/word.txt": "one",
    "steps/a/solution/solve.sh": "cp in/word.txt done",
    "steps/a/tests/test.sh": '[ "$(cat done 2>/dev/null)" = one ] && r=1; echo ${r:-0} >/logs/verifier/reward.txt',
    "steps/b/instruction.md": "b",
    "steps/b/workdir/in/word.txt": "two",
    "steps/b/workdir/setup.sh": '[ "$PWD" = /app ] && cat done in/word.txt >both',
    "steps/b/solution/solve.sh": "cp both done",
    "steps/b/tests/test.sh": '[ "$(cat done 2>/dev/null)" = onetwo ] && r=1; echo ${r:-0} >/logs/verifier/reward.txt',
}
"""Two steps with files of their own. The second's `setup.sh` reads what the first left."""


async def test_the_files_of_a_step_are_laid_before_it_and_its_script_runs(boxes: BoxLane, memory: Memory) -> None:
    found = await checks(boxes, memory, LAID)
    assert found.fault is None
    assert [(step.untouched, step.solved) for step in found.steps] == [(0.0, 1.0), (0.0, 1.0)]


@pytest.mark.parametrize(
    ("files", "problem"),
    [
        ({"steps/b/workdir/setup.sh": "echo bad >&2; exit 3"}, "setup.sh ended with exit code 3: bad"),
        ({"steps/b/workdir/done/x": ""}, "steps/b/workdir: cannot be laid: "),
    ],
    ids=["script", "folder"],
)
async def test_a_step_whose_files_cannot_be_laid_fails_the_check(
    boxes: BoxLane, memory: Memory, files: Mapping[str, str], problem: str
) -> None:
    found = await checks(boxes, memory, {**LAID, **files})
    assert problem in (found.fault or "")


def stepped(*, solved: str, paid: str = "", tests: str = "") -> dict[str, str]:
    """Returns a task of the steps a, b and c, of which these have a solution, and these pay in any box. A test wants
    the names of all steps so far in the log."""
    files = {"task.toml": TOML + "".join(f'[[steps]]\nname = "{name}"\n' for name in "abc")}
    for name, wanted in {"a": "a", "b": "a b", "c": "a b c"}.items():
        files[f"steps/{name}/instruction.md"] = name
        pays = "true" if name in paid else f'[ "$(echo $(cat /app/log))" = "{wanted}" ]'
        files[f"steps/{name}/tests/test.sh"] = (
            f"{tests}\n{pays} && reward=1; echo ${{reward:-0}} >/logs/verifier/reward.txt"
        )
        if name in solved:
            files[f"steps/{name}/solution/solve.sh"] = f"echo {name} >>/app/log"
    return files


async def test_steps_after_an_unsolved_one_are_checked_as_far_as_that_proves_anything(
    boxes: BoxLane, memory: Memory
) -> None:
    found = await checks(boxes, memory, stepped(solved="ac"))
    assert found.fault is None
    assert [(step.step, step.untouched, step.solved) for step in found.steps] == [
        ("a", 0.0, 1.0),
        ("b", 0.0, None),
        ("c", 0.0, None),
    ]
    paying = await checks(boxes, memory, stepped(solved="a", paid="c"))
    assert paying.fault == "step 'c': an untouched box gets the reward 1"


async def test_the_tests_search_no_folder_of_the_policys_and_say_so(boxes: BoxLane, memory: Memory) -> None:
    files = {
        **parts(
            task_toml="schema_version = '1.4'",
            tests__test_sh='[ "$(tool)" = yes ] && [ -z "$LD_LIBRARY_PATH" ] && echo 1 >/logs/verifier/reward.txt\n',
            solution__solve_sh="tool >done; printf '#!/bin/sh\\necho yes\\n' >/app/bin/tool\n",
        ),
        "environment/Dockerfile": "FROM python\nENV PATH=/app/bin:$PATH LD_LIBRARY_PATH=/app/lib\nWORKDIR /app\n"
        "RUN mkdir bin && printf '#!/bin/sh\\necho no\\n' >bin/tool && chmod +x bin/tool\n",
    }
    found = await checks(boxes, memory, files)
    assert "(/app/bin, /app/lib is the policy's, so the tests' box does not search it" in (found.fault or "")
    kept = {**files, "task.toml": "schema_version = '1.4'\n[metadata.rewarden]\nkeep = ['/app/bin']\n"}
    assert (await checks(boxes, memory, kept)).fault is None


async def test_the_environments_own_start_up_files_stay(boxes: BoxLane, memory: Memory) -> None:
    files = {
        **parts(
            task_toml="schema_version = '1.4'",
            tests__test_sh='[ "$(cat ~/.toolrc)" = own ] && [ -e done ] && echo 1 >/logs/verifier/reward.txt\n',
            solution__solve_sh="echo other >~/.toolrc; touch done ~/notes\n",
        ),
        "environment/Dockerfile": "FROM python\nWORKDIR /app\nRUN echo own >~/.toolrc\n",
    }
    assert (await checks(boxes, memory, files)).fault is None


@pytest.mark.parametrize(
    ("tests", "left"),
    [
        ("sleep 1000 >/dev/null 2>&1 &", True),
        ("sleep 1000 & kill -9 $!", False),
        ("(sleep 1000 & kill $!)", False),
        (
            "sh -c 'trap \"sleep 0.5; exit\" TERM; touch on; while :; do sleep 0.05; done' >/dev/null 2>&1 & "
            "while ! [ -e on ]; do sleep 0.01; done; kill $!",
            False,
        ),  # a server that takes a moment to shut down
    ],
)
async def test_processes_that_outlive_the_tests_are_seen(
    boxes: BoxLane, memory: Memory, tests: str, left: bool
) -> None:
    found = await checks(boxes, memory, parts(tests__test_sh=f"{tests}\n{DONE}"))
    assert (found.fault, found.steps[0].left) == (None, left)


async def test_files_that_the_tests_add_themselves_are_theirs(boxes: BoxLane, memory: Memory) -> None:
    added = (
        "cd /tests; touch report.json tmp.x made.py .coverage.host.1; mkdir -p .pytest_cache .mypy_cache/a; "
        ">.pytest_cache/x; >.mypy_cache/a/b.py; cd -"
    )
    found = await checks(boxes, memory, parts(tests__test_sh=f"{added}\n{DONE}"))
    assert (found.fault, found.steps[0].rewritten) == (None, ("made.py",))


async def test_a_task_without_a_solution_has_half_a_check(boxes: BoxLane, memory: Memory) -> None:
    found = await checks(boxes, memory, parts(solution__solve_sh=None))
    assert found.fault is None
    assert (found.steps[0].untouched, found.steps[0].solved, found.steps[0].solution) == (0.0, None, False)


@pytest.mark.parametrize("folder", find_folders(EXAMPLES), ids=lambda folder: folder.name)
async def test_the_examples_can_judge(boxes: BoxLane, memory: Memory, folder: Path) -> None:
    found = await check(boxes, read_folder(folder), SIZE, memory)
    assert found.fault is None
    assert all(step.solved == 1.0 and step.untouched != 1.0 for step in found.steps)


APART = parts(
    task_toml=f"artifacts = ['/app/out']\n{TOML}[verifier.environment]\ndocker_image = 'toolchains'\n",
    tests__test_sh='[ "$(cat out/word.txt)" = "$(cat /tests/word.txt)" ] && gcc --version >/dev/null && r=1\n'
    "[ -e /app/beside ] && r=0; echo ${r:-0} >/logs/verifier/reward.txt\n",
    tests__word_txt="word",
    solution__solve_sh="mkdir out; printf word >out/word.txt; touch beside\n",
)
"""A task whose tests have an image of their own."""


async def test_tests_with_an_image_of_their_own_see_the_artifacts_alone(boxes: BoxLane, memory: Memory) -> None:
    found = await checks(boxes, memory, APART)
    assert found.fault is None
    assert [(step.untouched, step.solved, step.rewritten) for step in found.steps] == [(0.0, 1.0, ())]
    without = {**APART, "task.toml": APART["task.toml"].replace("artifacts = ['/app/out']", "")}
    assert "the solution does not reach the reward 1" in ((await checks(boxes, memory, without)).fault or "")


async def test_a_dockerfile_beside_the_tests_makes_their_box_and_not_the_policys(
    boxes: BoxLane, memory: Memory
) -> None:
    files = {
        **APART,
        "task.toml": f"artifacts = ['/app/out']\n{TOML}environment_mode = 'separate'\n",
        "tests/Dockerfile": "FROM toolchains\nWORKDIR /app\nENV WORD=word\nCOPY . /tests/\n"
        'RUN mkdir -p /opt/judge && echo "$WORD" >/opt/judge/word\n',
        "tests/test.sh": '[ "$(cat out/word.txt)" = "$(cat /opt/judge/word)" ] && [ "$WORD" = word ] && r=1\n'
        "[ -e beside ] && r=0; echo ${r:-0} >/logs/verifier/reward.txt\n",
        "solution/solve.sh": "[ -e /opt/judge ] || printf word >word.txt; mkdir out; mv word.txt out; touch beside",
    }
    found = await checks(boxes, memory, files)
    assert found.fault is None
    assert [(step.untouched, step.solved, step.rewritten) for step in found.steps] == [(0.0, 1.0, ())]


async def test_an_own_image_that_the_host_does_not_give_is_refused_with_the_way_out(
    boxes: BoxLane, memory: Memory, launcher: str
) -> None:
    image = f"sha256:{'0' * 64}"
    files = {**APART, "task.toml": APART["task.toml"].replace("'toolchains'", f"'{image}'")}
    allow = "is not allowed on this host; add it to the patterns of sandbox.own_images"
    another = ", and set sandbox.launcher to docker: bwrap knows" if launcher == "bwrap" else "$"
    with pytest.raises(InvalidSample, match=f"task 'made': the tests' own image: .* {allow}{another}"):
        await checks(boxes, memory, files)


async def test_hooks_run_in_a_copy_of_the_box_and_leave_files_alone(boxes: BoxLane, memory: Memory) -> None:
    toml = (
        TOML
        + '[verifier.environment]\nenv = { WORD = "own" }\nworkdir = "/work"\nmemory_mb = 300\n'
        + "[[verifier.collect]]\ncommand = 'sh hook.sh; cat done >collected'\n[[verifier.collect]]\ncommand = 'false'\n"
    )
    tests = (
        '[ "$(cat /app/collected)-$WORD-$PWD" = yes-own-/work ] && reward=1\n'
        "echo ${reward:-0} >/logs/verifier/reward.txt\n"
    )
    hook = "while :; do echo 1 >/logs/verifier/reward.txt; done &"
    files = {
        **parts(task_toml=toml, tests__test_sh=tests, solution__solve_sh="echo yes >/app/done"),
        "environment/hook.sh": hook,  # attack: what a hook leaves running writes the reward after the tests
    }
    found = await checks(boxes, memory, files)
    assert found.fault is None
    assert [(step.untouched, step.solved, step.left) for step in found.steps] == [(0.0, 1.0, False)]


async def test_the_tests_wait_for_health_checks_and_begin_when_these_give_up(boxes: BoxLane, memory: Memory) -> None:
    health = (
        "\n[environment.healthcheck]\ncommand = 'echo x >>/app/tries; [ -e /app/done ] && [ $(wc -l <{}) -ge 3 ]'\n"
    )
    toml = TOML + health + "interval_sec = 0\nretries = 4\n"
    tests = "[ $(wc -l </app/tries) -eq 3 ] && reward=1; echo ${reward:-0} >/logs/verifier/reward.txt\n"
    found = await checks(boxes, memory, parts(task_toml=toml.format("/app/tries"), tests__test_sh=tests))
    assert found.fault is None
    assert [(step.untouched, step.solved) for step in found.steps] == [(0.0, 1.0)]
    never = await checks(boxes, memory, parts(task_toml=toml.format("/dev/null"), tests__test_sh=tests))
    assert never.fault is not None
    assert "the reward is 0" in never.fault
    assert "the health check 'echo x >>/app/tries; " in never.fault
