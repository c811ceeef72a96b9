"""Memory stays constant: ten times the rows, about the same peak."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from rewarden.types import Sample, Verdict
from tests.rescore.conftest import SIBLINGS, YES, Desk
from tests.rescore.toy import ToyClient


class Swift(ToyClient):
    """Answers each sample, or each whole group, at once, and keeps nothing."""

    async def stream(
        self, samples: AsyncIterator[Sample], use: Any = None, *, progress: Any = None, expect: Any = None
    ) -> AsyncIterator[Verdict]:  # type: ignore[override]
        held: list[tuple[int, Sample]] = []
        index = 0
        async for sample in samples:
            held.append((index, sample))
            index += 1
            if len(held) == (sample.group_size or 1):
                for item in held:
                    yield self._judge(*item, use)
                held = []
                self.seen.clear()


@pytest.mark.parametrize("use", ["yes", "siblings sorted"])
@pytest.mark.slow
def test_ten_times_the_rows_take_about_the_same_memory(tmp_path: Path, use: str) -> None:
    def peak(groups: int) -> int:
        desk = Desk(tmp_path / f"{use}{groups}")
        desk.folder.mkdir()
        desk.write(
            {"group": f"g{n % groups}", "response": f"yes {n} " + "x" * 400, "data_source": f"s{n % 3}"}
            for n in range(4 * groups)
        )
        options = {"routing": YES} if use == "yes" else {"routing": SIBLINGS, "sort": True}
        tracemalloc.start()
        asyncio.run(desk.rescore(Swift(), window_rows=500, sort_mb=1, checkpoint_s=0.5, **options))
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert sum(1 for _ in desk.output.open()) == 4 * groups
        return most

    peak(100)  # what is imported and cached once
    assert peak(4000) < 2 * peak(400)
