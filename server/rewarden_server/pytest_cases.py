"""A pytest plug-in: every line of a file `NAME.cases.jsonl` is a test of the verifier or recipe NAME.

It is there wherever `rewarden-server` and pytest are installed together. One test more holds that there are cases of
every kind: full, zero, malformed, hack, and partial for what is graded.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from rewarden_verifiers.cases import Case

_END = ".cases.jsonl"


def pytest_collect_file(file_path: Path, parent: pytest.Collector) -> pytest.Collector | None:
    """See pytest."""
    if not file_path.name.endswith(_END):
        return None
    file: pytest.Collector = CaseFile.from_parent(parent, path=file_path)
    return file


class CaseFile(pytest.File):
    """The cases of one verifier. They are judged together, in workers as on a server, when the first is run."""

    def collect(self) -> Iterable[pytest.Item]:
        """See pytest."""
        # Imported here: pytest loads this module for everybody who has it installed.
        from rewarden.errors import RewardenError
        from rewarden_verifiers.cases import KINDS, load_cases
        from rewarden_verifiers.registry import Registry

        name = self.path.name.removesuffix(_END)
        try:
            spec = Registry().get(name)
            cases = load_cases(spec, self.path.parent)
        except RewardenError as error:
            raise self.CollectError(f"{error.message}; is its package installed (pip install -e .)?") from None
        except ValueError as error:
            raise self.CollectError(str(error)) from None
        self.cases = cases
        self._differences: dict[str, tuple[str, ...]] | None = None
        wanted = [kind for kind in KINDS if kind != "partial" or spec.graded]
        lacking = [kind for kind in wanted if kind not in {case.kind for case in cases}]
        yield KindsItem.from_parent(self, name="cases of every kind", lacking=lacking)
        for case in cases:
            yield CaseItem.from_parent(self, name=case.title, case=case)

    def differences(self, case: Case) -> tuple[str, ...]:
        """Returns the differences between a case's verdicts and the expected ones."""
        if self._differences is None:
            results = asyncio.run(_judged(self.cases))
            self._differences = {result.case.title: result.differences for result in results}
        return self._differences[case.title]


class Failed(Exception):
    """A case went otherwise than it says; the text says how."""


class _Item(pytest.Item):
    def repr_failure(self, excinfo: pytest.ExceptionInfo[BaseException], style: Any = None) -> Any:
        """See pytest."""
        return str(excinfo.value) if excinfo.errisinstance(Failed) else super().repr_failure(excinfo, style)

    def reportinfo(self) -> tuple[Path, int | None, str]:
        """See pytest."""
        return self.path, None, self.name


class KindsItem(_Item):
    """The check that there are cases of every kind."""

    def __init__(self, *, lacking: list[str], **fields: Any) -> None:
        super().__init__(**fields)
        self._lacking = lacking

    def runtest(self) -> None:
        """See pytest."""
        if self._lacking:
            raise Failed(f"there is no case of kind {', '.join(self._lacking)}")


class CaseItem(_Item):
    """One case."""

    def __init__(self, *, case: Case, **fields: Any) -> None:
        super().__init__(**fields)
        self._case = case

    def runtest(self) -> None:
        """See pytest."""
        assert isinstance(self.parent, CaseFile)
        if found := self.parent.differences(self._case):
            raise Failed("\n".join([*found, f"why it should: {self._case.why}"]))


async def _judged(cases: list[Case]) -> list[Any]:
    from rewarden_server.engine.engine import Engine
    from rewarden_server.engine.settings import EngineSettings
    from rewarden_server.studies.case_batch import judged

    engine = Engine(settings=EngineSettings())
    await engine.start()
    try:
        return await judged(engine, cases, "pytest")
    finally:
        await engine.close()
