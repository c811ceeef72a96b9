"""Tests of tasks that come with an own image: it brings them, and what they compare with."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterator, Mapping

import docker
import pytest

from rewarden_sandboxes.settings import HostSettings
from rewarden_server.engine.lanes.boxes import BoxLane
from rewarden_verifiers.tasks.checking import check
from rewarden_verifiers.tasks.judging import Size
from rewarden_verifiers.tasks.memory import Memory
from tests.programs import absent
from tests.server.box_host import HostProcess
from tests.server.launchers import missing
from tests.tasks.folders import TOML, parts, task_of

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

TEST = (
    "[ ! -e out/run.sh ] || sh out/run.sh\n"
    '[ "$(cat out/word.txt)" = "$(cat /tests/word.txt)$JUDGE" ] && r=1\n'
    "[ -e /app/beside ] && r=0; echo ${r:-0} >/logs/verifier/reward.txt\n"
)


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    """An image with tests, by its id. It is removed at the end."""
    if (reason := missing("docker")) is not None:
        pytest.skip(absent("docker", f"docker: {reason}"))
    settings = HostSettings()
    lines = f"FROM {settings.image_prefix}python:{settings.image_tag}\nENV JUDGE=.\nCOPY tests /tests\n"
    context = {"Dockerfile": lines, "tests/test.sh": TEST, "tests/word.txt": "word"}
    client = docker.from_env()
    try:
        made, _ = client.images.build(fileobj=_tar(context), custom_context=True, pull=False, rm=True)
        try:
            yield str(made.id)
        finally:
            client.images.remove(made.id, force=True)
    finally:
        client.close()


def _tar(files: Mapping[str, str]) -> io.BytesIO:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as tar:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o644
            tar.addfile(info, io.BytesIO(text.encode()))
    made.seek(0)
    return made


@pytest.fixture(scope="module")
def host(image: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostProcess]:
    """A host that allows images by their ids, for the boxes of these tests."""
    made = HostProcess(tmp_path_factory.mktemp("host"), "docker", own_images=["sha256:*"])
    yield made
    made.end()


def task(image: str, solution: str) -> dict[str, str]:
    """Returns a task without tests of its own."""
    toml = f"artifacts = ['/app/out']\n{TOML}[verifier.environment]\ndocker_image = '{image}'\n"
    return parts(task_toml=toml, tests__test_sh=None, solution__solve_sh=f"mkdir out; touch beside\n{solution}")


async def test_an_own_image_brings_the_tests_and_sees_the_artifacts_alone(
    boxes: BoxLane, image: str, memory: Memory
) -> None:
    found = await check(boxes, task_of(task(image, "printf word. >out/word.txt")), Size(), memory)
    assert found.fault is None
    assert [(step.untouched, step.solved, step.rewritten) for step in found.steps] == [(0.0, 1.0, ())]
    assert image in found.image_id.split()


async def test_tests_of_an_own_image_that_a_program_changes_are_seen(
    boxes: BoxLane, image: str, memory: Memory
) -> None:
    cheat = "printf x. >out/word.txt; echo 'printf x >/tests/word.txt' >out/run.sh"
    found = await check(boxes, task_of(task(image, cheat)), Size(), memory)
    assert [(step.solved, step.rewritten) for step in found.steps] == [(1.0, ("word.txt",))]
