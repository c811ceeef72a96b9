"""A scripted prover in the engine of a real server, for failures that a real one rarely has."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from rewarden.errors import InvalidSample, SandboxError
from rewarden_verifiers.provers import Checked, Project, Snippet

Answer = Callable[[Snippet], Awaitable[Checked]]


async def fine(snippet: Snippet) -> Checked:
    """Lean has nothing to say."""
    return Checked(status="ok", cpu_s=0.5, wall_s=0.25)


class ScriptedProver:
    """Has the face of the engine's. `asked`: the snippets, in their order."""

    def __init__(self, answer: Answer = fine) -> None:
        self.answer = answer
        self.asked: list[Snippet] = []
        self.projects = ["main", "other"]

    def project(self, name: str | None) -> Project:
        """Of `projects`, the first one by default; `broken` cannot be used."""
        if not self.projects:
            raise InvalidSample("no project of Lean's is configured", path="params.project")
        found = self.projects[0] if name is None else name
        if found == "broken":
            raise SandboxError("its toolchain is gone")
        if found not in self.projects:
            raise InvalidSample(f"there is no project {found!r}", path="params.project")
        return Project(name=found, kind="local", identity=found)

    async def check(self, snippet: Snippet) -> Checked:
        """As the script says."""
        self.asked.append(snippet)
        return await self.answer(snippet)

    async def close(self) -> None:
        """Nothing is to be done."""
