"""pass@k over groups that may come in any order: small counts on disk, joined at the end by a sort.

The estimate is the unbiased one of Chen et al. 2021 (arXiv 2107.03374) over the scored members of a group that their
verifier says passed or not; it is averaged over the groups that have at least k of them.
"""

from __future__ import annotations

import shutil
import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from rewarden_server.studies.rescore.groups import digest
from rewarden_server.studies.rescore.sort import ExternalSort
from rewarden_server.studies.rescore.stage import Tail
from rewarden_verifiers.group.statistics import pass_at_k, powers_of_two

_COUNTS = struct.Struct("<III")
_KEY = 16
_RECORD = _KEY + _COUNTS.size


@dataclass(frozen=True, slots=True)
class PassAt:
    """pass@k of a data source (or of all): the mean over `groups` groups of at least k judged members."""

    k: int
    mean: float
    groups: int


class Attempts(Tail):
    """Counts how often each group was tried and passed; neighbours of one group make one record."""

    def __init__(self, folder: Path, offset: int) -> None:
        super().__init__(folder / "attempts", offset)
        self._open: tuple[str, str] | None = None
        self._counts = [0, 0, 0]

    def count(self, source: str, place: int, group: str, passed: bool) -> None:
        """One judged member; `place` is the source's number."""
        if self._open != (source, group):
            self._close_group()
            self._open = (source, group)
            self._counts = [place, 0, 0]
        self._counts[1] += 1
        self._counts[2] += passed

    def flush(self) -> int:
        """Hand all to the kernel; the offset to come back to."""
        self._close_group()
        return super().flush()

    def join(self, sources: int, memory_mb: int) -> tuple[list[list[PassAt]], list[PassAt]]:
        """pass@k for each source, and over all, for k = 1, 2, 4 … up to the largest group."""
        self.flush()
        folder = self.path.with_name("attempts.sort")
        shutil.rmtree(folder, ignore_errors=True)
        order = ExternalSort(folder, _KEY, memory_mb)
        with self.path.open("rb") as file:
            while record := file.read(_RECORD):
                order.add(record[:_KEY], record[_KEY:])
        order.close()
        sums: list[dict[int, tuple[float, int]]] = [{} for _ in range(sources + 1)]
        for place, tried, passed in self._groups(order):
            for k in powers_of_two(tried):
                p = pass_at_k(tried, passed, k)
                for into in (sums[place], sums[-1]):
                    total, groups = into.get(k, (0.0, 0))
                    into[k] = (total + p, groups + 1)
        shutil.rmtree(folder, ignore_errors=True)
        made = [_means(one) for one in sums]
        return made[:-1], made[-1]

    @staticmethod
    def _groups(order: ExternalSort) -> Iterator[tuple[int, int, int]]:
        for _, records in groupby(order, key=lambda record: record[0]):
            counts: Sequence[tuple[int, ...]] = [_COUNTS.unpack(payload) for _, payload in records]
            yield counts[0][0], sum(c[1] for c in counts), sum(c[2] for c in counts)

    def _close_group(self) -> None:
        if self._open is not None:
            source, group = self._open
            self.write(digest(f"{len(source)}:{source}{group}") + _COUNTS.pack(*self._counts))
            self._open = None


def _means(sums: dict[int, tuple[float, int]]) -> list[PassAt]:
    return [PassAt(k, total / groups, groups) for k, (total, groups) in sorted(sums.items())]
