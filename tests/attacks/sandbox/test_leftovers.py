"""A closed host leaves the machine as it was: whatever the programs did, and whatever was running just then."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from rewarden_sandboxes import cgroups
from rewarden_sandboxes.job import Case, Job, Limits, Program
from tests.attacks.sandbox import burning, disk, flooding, memory, processes, signals
from tests.attacks.sandbox.attack import CALL_ME
from tests.attacks.sandbox.grounds import alive, ground

pytestmark = pytest.mark.alone  # it looks at all that is on the machine

LONG = Limits(cpu_s=60.0, wall_s=60.0, memory_mb=128, processes=16)


def names() -> list[str]:
    """Returns what hosts of this process call their things."""
    return [f"rewarden-{os.getpid()}-", f"rewarden-slots-{os.getpid()}-"]


def left() -> dict[str, list[str]]:
    """All that hosts of this process could have left on the machine, by kind."""
    mine = names()

    def ours(text: str) -> bool:
        return any(name in text for name in mine)

    containers: list[str] = []
    if shutil.which("docker"):
        listed = subprocess.run(
            ["docker", "ps", "-a", "--format", "{{.Names}}"], capture_output=True, text=True, check=False
        )
        containers = [name for name in listed.stdout.split() if ours(name)]
    children = []
    for task in Path("/proc/self/task").iterdir():
        for number in (task / "children").read_text().split():
            try:
                children.append(Path(f"/proc/{number}/cmdline").read_bytes().replace(b"\0", b" ").decode()[:100])
            except OSError:
                continue
    return {
        "containers": containers,
        "cgroups": [str(path) for path in cgroups.leftovers() if ours(path.name)],
        "folders": [path.name for path in Path(tempfile.gettempdir()).iterdir() if ours(path.name)],
        "mounts": [line for line in Path("/proc/self/mountinfo").read_text().splitlines() if ours(line)],
        "hostile processes": alive(),
        "children": children,
    }


def descriptors() -> list[str]:
    """Returns what this process has open."""
    found = []
    for name in os.listdir("/proc/self/fd"):
        try:
            found.append(os.readlink(f"/proc/self/fd/{name}").partition(":")[0])
        except OSError:
            continue
    return sorted(found)


HOSTILE = [
    attack
    for module in (processes, signals, memory, flooding, disk)
    for attack in module.ATTACKS
    if attack.language == "python"
][::3] + burning.ATTACKS[-6:]


def test_a_closed_host_leaves_nothing(launcher: str) -> None:
    with ground(launcher):  # whatever is imported or opened once for all is so now
        pass
    before, open_before = left(), descriptors()
    with ground(launcher) as made:
        made.together([attack.job(attack.code, attack.limits) for attack in HOSTILE])
        assert not alive()
    assert left() == before
    assert descriptors() == open_before


def test_a_host_that_is_closed_while_programs_run_leaves_nothing(launcher: str) -> None:
    codes = [
        CALL_ME + "import os, time\nos.fork()\nos.setsid() if os.getpid() > 2 else None\ntime.sleep(60)\n",
        CALL_ME + "while True:\n    pass\n",
        CALL_ME + "while True:\n    print('x')\n",
    ]
    before = left()
    with ground(launcher, slots=3) as made:
        for code in codes:
            made.begin(made.events_of(Job(program=Program(language="python", code=code.encode(), limits=LONG))))
        deadline = time.monotonic() + 60
        while len(alive()) < 2:
            assert time.monotonic() < deadline, "the programs never started"
    assert left() == before


def test_a_caller_who_leaves_ends_what_he_asked_for(launcher: str) -> None:
    job = Job(
        program=Program(language="python", code=(CALL_ME + "while True:\n    pass\n").encode(), limits=LONG),
        cases=[Case()] * 3,
    )
    with ground(launcher) as made:
        for _ in range(4):
            running = made.begin(made.events_of(job))
            deadline = time.monotonic() + 60
            while not alive():
                assert time.monotonic() < deadline, "the program never started"
            running.cancel()
            while alive():
                assert time.monotonic() < deadline, "the program lives on"
        after = made.report(Job(program=Program(language="python", code=b"print('fine')")))
        assert after.stdout == b"fine\n"


HOST = """
import sys
from rewarden_sandboxes.job import Job, Limits, Program
from tests.attacks.sandbox.grounds import ground
with ground(sys.argv[1]) as made:
    code = sys.argv[2].encode()
    limits = Limits(cpu_s=60.0, wall_s=60.0)
    made.begin(made.events_of(Job(program=Program(language="python", code=code, limits=limits)))).result()
"""


def test_nothing_outlives_a_host_that_is_killed(launcher: str) -> None:
    code = CALL_ME + "import os\nif os.fork() == 0:\n    os.setsid()\nwhile True:\n    pass\n"
    process = subprocess.Popen([sys.executable, "-c", HOST, launcher, code], cwd=Path(__file__).parents[3])
    try:
        deadline = time.monotonic() + 60
        while len(alive()) < 2:
            assert process.poll() is None, "the host ended"
            assert time.monotonic() < deadline, "the program never started"
        process.send_signal(signal.SIGKILL)
        process.wait()
        while alive():
            assert time.monotonic() < deadline, "the programs outlive their host"
    finally:
        process.kill()
        process.wait()
        if launcher == "docker":
            listed = subprocess.run(
                ["docker", "ps", "-aq", "--filter", f"name=rewarden-{process.pid}-"],
                capture_output=True,
                text=True,
                check=False,
            )
            if listed.stdout.split():
                subprocess.run(["docker", "rm", "-f", *listed.stdout.split()], capture_output=True, check=False)
        for folder in Path(tempfile.gettempdir()).glob(f"rewarden-slots-{process.pid}-*"):
            shutil.rmtree(folder, ignore_errors=True)


@pytest.mark.parametrize("count", [300])
def test_many_runs_cost_no_descriptor(launcher: str, count: int) -> None:
    with ground(launcher, slots=2, warm=2) as made:
        job = Job(program=Program(language="python", code=b"print(1)"))
        deadline = time.monotonic() + 60
        while sum(int(pool["idle"]) for pool in made.ask(made.host.status())["slots"].values()) < 2:
            assert time.monotonic() < deadline, "the second slot never came"
        before = descriptors()
        made.together([job] * count)
        assert descriptors() == before
