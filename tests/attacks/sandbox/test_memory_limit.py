"""`memory_mb` is exact: a program that uses less runs on, and one that exceeds the limit plus the stated slack is
killed."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from rewarden_sandboxes.job import Job, Limits, Program
from tests.attacks.sandbox.grounds import Ground, ground

pytestmark = pytest.mark.alone  # they fill what they are given

READ = """
import os
size = 0
for folder, _, names in os.walk("/usr"):
    for name in names:
        try:
            with open(folder + "/" + name, "rb") as file:
                while size < 300 << 20 and (data := file.read(1 << 20)):
                    size += len(data)
        except OSError:
            pass
print("fine")
"""
"""Reads files, which the kernel keeps for the slot."""

HOLD = """
import mmap
held = mmap.mmap(-1, {size} << 20)
for place in range(0, {size} << 20, mmap.PAGESIZE):
    held[place] = 1
print("fine")
"""

OUTPUT_MB = 1
RUNTIME_MB = 16
"""More than the interpreter itself takes of a run's memory."""


@pytest.fixture(scope="module")
def one(launcher: str) -> Iterator[Ground]:
    """A host of one slot."""
    with ground(launcher, slots=1) as made:
        yield made


@pytest.mark.parametrize("memory_mb", [64, 128, 300])
def test_a_run_holds_its_memory_and_no_more_than_the_stated_slack(one: Ground, memory_mb: int) -> None:
    slack = one.ask(one.host.status())["slack"]["memory_mb"]
    limits = Limits(cpu_s=20.0, wall_s=20.0, memory_mb=memory_mb, output_bytes=OUTPUT_MB << 20)
    for before in (READ, HOLD.format(size=8)):
        roomy = Limits(cpu_s=20.0, wall_s=20.0, memory_mb=1024)
        read = one.report(Job(program=Program(language="python", code=before.encode(), limits=roomy)))
        assert read.stdout == b"fine\n", read
        sizes = {memory_mb - RUNTIME_MB: "ok"}
        if slack is not None:  # elsewhere nothing is stated
            sizes[memory_mb + slack + OUTPUT_MB + 1] = "memory_limit"
        for size, status in sizes.items():
            code = HOLD.format(size=size).encode()
            report = one.report(Job(program=Program(language="python", code=code, limits=limits)))
            assert report.status == status, (size, report)
