from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

from rewarden.routing import Routing
from rewarden.types import Use
from rewarden_server.studies.rescore.options import RescoreOptions
from rewarden_server.studies.rescore.run import rescore
from rewarden_server.studies.rescore.summary import Summary
from tests.rescore.toy import ToyClient

YES = Routing.by_source([("*", Use(name="yes"))])
SIBLINGS = Routing.by_source([("*", Use(name="siblings"))])


def write_rows(path: Path, rows: Iterable[Mapping[str, Any] | str]) -> Path:
    """A JSON-lines file; texts are written as they are."""
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


def read_rows(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


class Desk:
    """A folder with an input and an output, and rescoring from one to the other."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.input = folder / "in.jsonl"
        self.output = folder / "out.jsonl"
        self.work = folder / "out.jsonl.rescore"

    def write(self, rows: Iterable[Mapping[str, Any] | str]) -> None:
        write_rows(self.input, rows)

    def options(self, **options: Any) -> RescoreOptions:
        return RescoreOptions(**{"input": self.input, "output": self.output, "routing": YES, **options})

    async def rescore(self, client: ToyClient | None = None, watcher: Any = None, **options: Any) -> Summary:
        summary = await rescore(self.options(**options), client or ToyClient(), watcher)  # type: ignore[arg-type]
        assert summary is not None
        return summary

    def rows(self) -> list[dict[str, Any]]:
        return read_rows(self.output)

    def rejected(self) -> list[dict[str, Any]]:
        return read_rows(self.folder / "out.jsonl.rejected.jsonl")


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


@pytest.fixture
def rollouts() -> Callable[..., list[dict[str, Any]]]:
    def make(groups: int, each: int = 4) -> list[dict[str, Any]]:
        return [
            {"group": f"g{g}", "response": f"{'yes' if (g + i) % 3 else 'no'} {g}/{i}", "reference": g, "extra": [i]}
            for g in range(groups)
            for i in range(each)
        ]

    return make
