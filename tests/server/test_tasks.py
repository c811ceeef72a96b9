"""Boxes that are opened for a task, and judged by it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from rewarden import AsyncClient, NotFound
from rewarden.errors import InvalidRequest
from tests.server.box_host import HostProcess
from tests.server.box_host import host as host
from tests.server.conftest import Running, Start
from tests.server.launchers import launcher as launcher
from tests.tasks.folders import EXAMPLES, TOML, made, parts
from tests.tasks.test_checking import LAID

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

PAY = "mkdir -p /logs/verifier; echo 1 >/logs/verifier/reward.txt"


@pytest.fixture(scope="module")
def remembered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The memory of tasks that all tests share."""
    return tmp_path_factory.mktemp("tasks")


@pytest_asyncio.fixture
async def running(start: Start, host: HostProcess, remembered: Path, tmp_path: Path) -> Running:
    """A server with tasks."""
    own = {"bad": parts(solution__solve_sh="true"), "steps": _steps(), "watched": _watched(), "laid": LAID}
    for name, files in own.items():
        made(tmp_path / "own" / name, files)
    folders = f"{EXAMPLES / 'word-count'},{EXAMPLES / 'counter-service'},{tmp_path / 'own'}"
    settings = {"sandbox.address": host.address, "tasks.folders": folders, "tasks.dir": str(remembered)}
    return await start(settings)


@pytest_asyncio.fixture
async def client(running: Running) -> AsyncIterator[AsyncClient]:
    """A client of it."""
    async with AsyncClient(running.serving.http) as opened:
        yield opened


def _steps() -> dict[str, str]:
    files = {"task.toml": TOML + '[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n'}
    for name in ("a", "b"):
        files[f"steps/{name}/instruction.md"] = name
        files[f"steps/{name}/tests/test.sh"] = (
            f"grep -qx {name} /app/log && r=1; echo ${{r:-0}} >/logs/verifier/reward.txt"
        )
        files[f"steps/{name}/solution/solve.sh"] = f"echo {name} >>/app/log"
    return files


def _watched() -> dict[str, str]:
    """A task whose tests read the record of what was run."""
    said = 'f=/logs/rewarden/trajectory.json; says() { if "$@"; then echo 1; else echo 0; fi; }\n'
    asked = {
        "first": "grep -q 'echo first' $f",
        "second": "grep -q 'echo second' $f",
        "forged": "grep -qx forged $f",
        "agent": "cmp -s $f /logs/agent/trajectory.json",
        "reward": "[ -e /app/done ]",
    }
    pairs = ", ".join(f'\\"{name}\\": $(says {check})' for name, check in asked.items())
    return parts(tests__test_sh=f'{said}echo "{{{pairs}}}" >/logs/verifier/reward.json\n')


async def test_a_box_of_a_task_is_judged_by_its_tests_and_lives_on(client: AsyncClient) -> None:
    async with client.box(task="word-count") as box:
        assert (await box.exec("cat /app/book.txt; pwd", cwd="/app")).stdout.endswith("nothing: it slept.\n/app\n")
        before = await box.score("task")
        assert (before.status, before.score, before.reason) == ("scored", 0.0, "tests_failed")
        await box.write(
            "/app/count.py", "import sys\nfor word in sorted(set(sys.stdin.read().split())): print(word, 1)\n"
        )
        half = await box.score("task")
        assert half.score == 0.25
        assert {name: part.score for name, part in half.components.items()} == {
            "counts": 0.0,
            "order": 0.0,
            "words": 0.0,
            "empty": 1.0,
            "reward": 0.25,
        }
        assert (await box.exec("ls /tests /logs")).exit_code == 2
        assert half.evidence["task"] == "word-count"


async def test_files_that_cannot_be_copied_are_the_policys_and_scored(client: AsyncClient) -> None:
    async with client.box(task="word-count") as box:
        assert (await box.exec("mkdir -p /app/$(seq -s/ 300)")).exit_code == 0
        verdict = await box.score("task")
    assert (verdict.status, verdict.score, verdict.reason) == ("scored", 0.0, "unusable_files")


async def test_no_process_of_the_box_sees_the_tests(client: AsyncClient) -> None:
    async with client.box(task="word-count") as box:
        await box.start(f"while :; do {PAY}; ls /tests && touch /app/seen; sleep 0.01; done")
        verdict = await box.score("task")
        assert (verdict.status, verdict.score) == ("scored", 0.0)
        assert (await box.exec("ls /app/seen")).exit_code == 2


async def test_declared_services_are_started_anew_and_flagged(client: AsyncClient) -> None:
    async with client.box(task="counter-service") as box:
        await box.exec("echo 3 >/app/count")
        solution = (EXAMPLES / "counter-service" / "solution" / "solve.sh").read_text()
        await box.write("/app/counter.py", solution.partition("<<'END'\n")[2].partition("END\n")[0])
        verdict = await box.score("task")
        assert (verdict.score, verdict.flags) == (1.0, ("shared_state",))


async def test_a_step_is_judged_by_its_name(client: AsyncClient) -> None:
    async with client.box(task="steps") as box:
        await box.exec("echo a >>/app/log")
        scores = [(await box.score({"name": "task", "params": {"step": name}})).score for name in ("a", "b")]
        assert scores == [1.0, 0.0]
        verdict = await box.score("task")
        assert (verdict.status, verdict.fault) == ("undecided", "reference")
        assert "its steps: a, b" in (verdict.feedback or "")


async def test_a_response_to_a_later_step_begins_where_the_one_before_ended(
    client: AsyncClient, remembered: Path
) -> None:
    use = {"name": "task", "params": {"step": "b"}}
    both = "grep -qx a /app/log && echo b >>/app/log"
    samples = [{"response": f"```bash\n{text}\n```", "reference": "steps"} for text in (both, "echo c >>/app/log")]
    verdicts = (await client.verify(samples, use=use)).verdicts
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0]
    for state in (remembered / "states").iterdir():
        state.unlink()
    assert [verdict.score for verdict in (await client.verify(samples[:1], use=use)).verdicts] == [1.0]


def _step(name: str) -> dict[str, object]:
    return {"name": "task", "params": {"step": name}}


@pytest.mark.parametrize("surface", ["http", "grpc"])
async def test_a_step_brings_its_files_when_it_begins(running: Running, surface: str) -> None:
    async with AsyncClient(getattr(running.serving, surface)) as client, client.box(task="laid") as box:
        assert (await box.exec("cat in/word.txt; cp in/word.txt done", cwd="/app")).stdout == "one"
        assert (await box.score(_step("a"))).score == 1.0
        begun = await box.step("b")
        assert (begun.step, begun.instruction, begun.problem) == ("b", "b", None)
        assert (await box.exec("cat in/word.txt; cat both; cp both done", cwd="/app")).stdout == "twoonetwo"
        assert (await box.score(_step("b"))).score == 1.0
        with pytest.raises(InvalidRequest, match="has no step 'c'; its steps: a, b"):
            await box.step("c")


async def test_a_policy_that_breaks_the_next_step_is_told_so_and_judged(client: AsyncClient) -> None:
    async with client.box(task="laid") as box:
        await box.exec("rm -rf in; ln -s /dev/full in; ln -s / setup.sh", cwd="/app")
        begun = await box.step("b")
        assert begun.problem
        verdict = await box.score(_step("b"))
        assert (verdict.status, verdict.score) == ("scored", 0.0)


async def test_a_box_without_a_task_has_no_steps(client: AsyncClient) -> None:
    async with client.box("python") as box:
        with pytest.raises(InvalidRequest, match="was not opened for a task"):
            await box.step("a")


async def test_a_response_to_a_step_finds_its_files(client: AsyncClient) -> None:
    texts = ("cp both done", "cp in/word.txt done")
    samples = [{"response": f"```bash\n{text}\n```", "reference": "laid"} for text in texts]
    verdicts = (await client.verify(samples, use=_step("b"))).verdicts
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0]


async def test_a_step_after_one_that_nothing_solves_needs_a_box(client: AsyncClient) -> None:
    use = {"name": "task", "params": {"step": "b"}}
    files = {name: text for name, text in _steps().items() if name != "steps/a/solution/solve.sh"}
    sample = {"response": "```bash\necho b >>/app/log\n```", "reference": {"files": files}}
    (verdict,) = (await client.verify([sample], use=use)).verdicts
    assert (verdict.status, verdict.reason, verdict.fault) == ("undecided", "step_out_of_reach", "reference")


async def test_a_box_of_a_task_has_no_larger_limits_than_its_check(client: AsyncClient) -> None:
    with pytest.raises(InvalidRequest, match="disk_mb: the task's boxes have at most 512; leave it out"):
        await client.box(task="word-count", limits={"disk_mb": 600}).open()


async def test_a_larger_box_without_a_task_is_judged_whole(client: AsyncClient) -> None:
    files = parts(task_toml=TOML.replace("workdir", "storage_mb = 4\nworkdir"))
    async with client.box("python", limits={"disk_mb": 16}) as box:
        done = "mkdir -p /app; echo yes >/app/done; head -c 8M /dev/urandom >/app/large"
        assert (await box.exec(done)).exit_code == 0
        verdict = await box.score("task", reference={"files": files})
        assert (verdict.status, verdict.score) == ("scored", 1.0)


async def test_a_box_on_another_build_of_the_image_is_not_judged(client: AsyncClient, running: Running) -> None:
    async with client.box(task="word-count") as box:
        running.serving.service.boxes._open[box.id].remote.image = "sha256:another"
        verdict = await box.score("task")
    assert (verdict.status, verdict.fault, verdict.score) == ("error", "infra", None)


async def test_a_task_that_failed_its_check_lends_no_box_and_judges_none(client: AsyncClient) -> None:
    with pytest.raises(InvalidRequest, match="the task 'bad' failed its check: the solution does not reach"):
        await client.box(task="bad").open()
    async with client.box("python") as box:
        verdict = await box.score("task", reference="bad")
        assert (verdict.status, verdict.reason, verdict.fault) == ("undecided", "task_refused", "reference")


async def test_a_box_without_a_task_needs_a_reference(client: AsyncClient) -> None:
    with pytest.raises(NotFound, match="unknown task 'word-counts'; did you mean 'word-count'"):
        await client.box(task="word-counts").open()
    with pytest.raises(InvalidRequest, match="image: the task's is 'python'"):
        await client.box("jvm", task="word-count").open()
    async with client.box("python") as box:
        none, other = await asyncio.gather(box.score("task"), box.score("task", reference="gone"))
        assert (none.fault, other.fault) == ("reference", "reference")
        with pytest.raises(InvalidRequest, match="send one of response and response_file"):
            await box.score("math", reference="2")


async def test_the_tests_read_what_was_run_in_the_box_and_nobody_can_forge_it(client: AsyncClient) -> None:
    async with client.box(task="watched") as box:
        await box.exec("echo first")
        fork = await box.fork()
        await fork.exec("echo second")
        await fork.write("/logs/agent/trajectory.json", "mine")
        await fork.exec("mkdir -p /logs/rewarden && echo forged >/logs/rewarden/trajectory.json")
        assert (await box.score("task")).components["agent"].score == 1.0
        forked = (await fork.score("task")).components
        assert {name: part.score for name, part in forked.items()} == {
            "first": 1.0,
            "second": 1.0,
            "forged": 0.0,
            "agent": 0.0,
            "reward": 0.0,
        }
        await fork.close()
