"""`rescore --engine ray` on a real cluster of this machine: the output is the local engine's, whatever happens."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from rewarden.client import AsyncClient
from rewarden.routing import Routing
from rewarden.types import Use
from rewarden_server.cli.rescore import REFUSED, SET_ASIDE
from rewarden_server.config import load_config
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.ray import RayEngines
from rewarden_server.studies.rescore.ray_engine import pack, unpack
from rewarden_server.studies.rescore.run import rescore
from rewarden_server.studies.rescore.summary import Summary
from tests.ray_cluster import running_cluster
from tests.rescore.conftest import Desk

psutil = pytest.importorskip("psutil", reason="psutil, which comes with the test tools, is not installed")

ROOT = Path(__file__).parents[2]
REWARDEN = [sys.executable, "-m", "rewarden"]
GROUPS = 120


def rows() -> list[Any]:
    """Maths in groups, choices, groups that are judged as such, and lines that are none."""
    made: list[Any] = []
    for group in range(GROUPS):
        for member in range(5):
            right = (group + member) % 3 > 0
            made.append(
                {
                    "group": f"g{group}",
                    "data_source": "math" if group % 2 else "votes",
                    "response": f"So \\boxed{{{group + (not right)}}}." if member else "I do not know.",
                    "reference": str(group),
                }
            )
    made[35:35] = ["{broken", json.dumps([1, 2])]
    made[77]["response"] = 7
    return made


def programs() -> list[Any]:
    """Rows whose programs run in a sandbox: one right, one wrong."""
    tests = [{"type": "stdio", "stdin": "2\n", "stdout": "4\n"}]
    return [
        {
            "group": f"c{factor}",
            "data_source": "code",
            "response": f"```python\nprint(int(input()) * {factor})\n```",
            "reference": {"language": "python", "tests": tests},
        }
        for factor in (2, 3)
    ]


ROUTING = Routing.by_source(
    [
        ("math", Use(name="math")),
        ("votes", Use(name="consensus", params={"use": "math"})),
        ("code", Use(name="code")),
    ]
)


@pytest.fixture(scope="module")
def cluster() -> Iterator[str]:
    """A cluster with room for two engines of one core; its address."""
    with running_cluster() as address:
        yield address


@asynccontextmanager
async def engines(**options: Any) -> AsyncIterator[RayEngines]:
    config = load_config(environ={})
    uses = [route.use for route in ROUTING.routes]
    made = await RayEngines.open(config, uses, environ={}, **{"cores": 1, **options})
    try:
        yield made
    finally:
        await made.close()


async def locally(desk: Desk, **options: Any) -> Summary:
    async with AsyncClient("local") as client:
        summary = await rescore(desk.options(routing=ROUTING, **options), client)
    assert summary is not None
    return summary


async def on_ray(desk: Desk, watcher: Watcher | None = None, *, count: int = 1, **options: Any) -> Summary:
    async with engines(engines=count) as made:
        assert (await made.verifiers("math"))[0]["name"] == "math"
        summary = await rescore(desk.options(routing=ROUTING, **options), made, watcher)
    assert summary is not None
    return summary


def beside(desk: Desk, name: str) -> Desk:
    """Another output of the same input."""
    other = Desk(desk.folder / name)
    other.folder.mkdir()
    other.input = desk.input
    return other


def same(one: Desk, other: Desk) -> None:
    assert one.output.read_bytes() == other.output.read_bytes()
    assert one.rejected() == other.rejected()


def counts(summary: Summary) -> dict[str, Any]:
    return {name: value for name, value in summary.to_json().items() if not name.endswith(("seconds", "per_second"))}


def actors() -> list[Any]:
    found = [process for process in psutil.process_iter() if process.name().startswith("ray::RayEngine")]
    return [process for process in found if os.getpid() in {parent.pid for parent in process.parents()}]


@pytest.mark.alone  # Flake: Ray gives up when its node is not up within 30 s, too short on a crowded machine.
@pytest.mark.needs_server
@pytest.mark.usefixtures("cluster")
class TestOnACluster:
    async def test_the_output_is_the_local_engines(self, desk: Desk) -> None:
        desk.write(rows())
        other = beside(desk, "ray")
        assert counts(await on_ray(other, count=2)) == counts(await locally(desk))
        same(desk, other)
        assert {"scored", "error"} <= {row["verdict"]["status"] for row in desk.rows()}
        assert len(desk.rejected()) == 2

    async def test_programs_run_in_the_engines_own_sandboxes(self, desk: Desk) -> None:
        async with AsyncClient("local") as client:
            sandbox = (await client.info())["sandbox"]
        if sandbox.get("state") not in ("ready", "starting", "idle"):
            pytest.skip(f"no sandbox on this machine: {sandbox.get('state')}")
        desk.write(programs())
        await on_ray(desk)
        assert [row["score"] for row in desk.rows()] == [1.0, 0.0]

    async def test_an_engine_that_is_killed_costs_nothing(self, desk: Desk) -> None:
        class Killer(Watcher):
            """Kills an engine with the first rows."""

            def __init__(self) -> None:
                self.killed: list[Any] = []

            def advance(self, rows: int, share: float) -> None:
                if not self.killed:
                    victim = actors()[0]
                    self.killed = [victim, *victim.children(recursive=True)]
                    victim.kill()

        desk.write(rows() * 3)
        other = beside(desk, "ray")
        killer = Killer()
        await on_ray(other, killer, sort=True)
        assert killer.killed
        await locally(desk, sort=True)
        same(desk, other)
        _, alive = psutil.wait_procs(killer.killed, timeout=30)
        assert not alive  # its workers went with it

    async def test_a_killed_run_is_gone_on_with_by_either_engine(self, desk: Desk, cluster: str) -> None:
        desk.write(rows() * 20)  # so many that the kill comes before the end
        votes = 'votes={"name": "consensus", "params": {"use": "math"}}'
        flags = ["--use", "math=math", "--use", votes, "--sort", "-q"]
        command = [*REWARDEN, "rescore", str(desk.input), *flags, "--checkpoint-s", "0.01"]
        ray = ["--engine", "ray", "--ray-address", cluster, "--shards", "1", "--shard-cores", "1"]
        # With the configuration that the tests have, which is none.
        environ = {name: value for name, value in os.environ.items() if not name.startswith("REWARDEN_")}
        child = subprocess.Popen([*command, "-o", str(desk.output), *ray], cwd=desk.folder, env=environ)
        journal = desk.work / "journal"
        while child.poll() is None and not (journal.exists() and b'"v":' in journal.read_bytes()):
            time.sleep(0.001)  # only spares the core; the kill comes wherever the child then is
        child.send_signal(signal.SIGKILL)
        assert child.wait(timeout=60) == -signal.SIGKILL

        other = beside(desk, "local")
        done = [subprocess.run([*command, "-o", str(desk.output), "--resume"], cwd=desk.folder, env=environ)]
        done.append(subprocess.run([*command, "-o", str(other.output)], cwd=desk.folder, env=environ))
        assert [one.returncode for one in done] == [SET_ASIDE, SET_ASIDE]
        same(desk, other)

    async def test_more_engines_than_fit_are_refused(self) -> None:
        with pytest.raises(RescoreError, match=r"room for 2 .*--shard-cores"):
            async with engines(engines=3):
                pass


def test_what_engines_are_told_is_the_configuration_here_and_their_part_of_it(tmp_path: Path) -> None:
    file = tmp_path / "rewarden.toml"
    file.write_text(
        "[engine]\nitem_cpu_s = 3.5\n[judges.named.j]\nmodel = 'm'\nbase_url = 'http://there/v1'\n"
        "api_key_env = 'THEIR_KEY'\nbudget_usd = 6.0\nrequests_per_minute = 90\nconcurrency = 2\ninput_usd = 1.0\n"
    )
    environ = {"REWARDEN_ENGINE_SLOW_S": "0.7", "THEIR_KEY": "k", "HOME": "/root", "REWARDEN_API_KEY": "no"}
    config = load_config(file, environ=environ)
    told = pack(config, environ, [Use(name="math")], cores=2, engines=3)
    assert b"/root" not in told
    assert b"REWARDEN_API_KEY" not in told
    value = json.loads(told)
    assert value["keys"] == {"THEIR_KEY": "k"}
    made = unpack(value)
    engine = made.engine
    assert (engine.item_cpu_s, engine.slow_s, engine.workers, engine.query_workers) == (3.5, 0.7, 2, 4)
    assert made.sandbox.slots == 8
    judge = made.judges.named["j"]
    assert (judge.budget_usd, judge.requests_per_minute, judge.concurrency) == (2.0, 30, 1)


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--shards", "2"], "--shards needs --engine ray"),
        (["--engine", "ray", "--target", "http://there"], "omit --target"),
        (["--engine", "ray", "--workers", "2"], "--shard-cores"),
        (["--engine", "ray", "--api-key", "k"], "--api-key applies to a server"),
    ],
)
def test_flags_that_would_be_without_effect_are_refused(
    desk: Desk, flags: Sequence[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from rewarden.__main__ import main

    desk.write([{"response": "1", "reference": "1"}])
    assert main(["rescore", str(desk.input), "-o", str(desk.output), "--use", "math", *flags]) == REFUSED
    assert words in capsys.readouterr().err
    assert not desk.work.exists()


async def test_models_of_an_engines_own_are_refused() -> None:
    pytest.importorskip("ray", reason="the package ray is not installed")
    config = load_config(environ={"REWARDEN_MODELS_NAMED": '{"rm": {"model": "/models/rm"}}'})
    with pytest.raises(RescoreError, match=r"models\.named\.rm: .*models serve"):
        await RayEngines.open(config, [], environ={})
