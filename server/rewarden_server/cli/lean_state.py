"""The state of Lean, for `rewarden doctor`: elaborates a file in each project."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from rewarden.errors import SampleError, SandboxError
from rewarden_sandboxes.job import Case, CaseResult, Job, Program, source
from rewarden_sandboxes.lake import INSTALL, LeanError, elan_home
from rewarden_sandboxes.lean import LeanProject, compile_language
from rewarden_server.config import Config
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.lean.projects import Projects, shown_place
from rewarden_server.observe.check import Check, Problem

_MODULES = 20


async def lean_state(config: Config) -> Check:
    """Compiles a file that imports each Lean project, in the sandbox."""
    projects = Projects(config.lean)
    if not projects.names():
        return Check(
            "lean",
            f"none (no lean.projects, no toolchain in {elan_home()})",
            (f"to install one: {INSTALL}",),
            used=False,
        )
    lines: list[str] = []
    missing: list[Problem] = []
    usable: dict[str, LeanProject] = {}
    for name in projects.names():
        address = projects.address(name)
        if address is not None:
            lines.append(f"{name}: a server at {shown_place(address)}")
            continue
        try:
            usable[name] = projects.resolved(name)
        except LeanError as error:
            missing.append(Problem(f"lean.projects.{name}: {error.message}", error.mend))
    found = await _elaborated(config, usable)
    for name, project in usable.items():
        checker = "leanchecker" if project.checker else "no leanchecker"
        problem = found.get(name)
        lines.append(f"{name}: Lean {project.version}, {checker}, {problem.what if problem else 'elaborates'}")
        if problem is not None and problem.fix:
            missing.append(Problem(f"lean.projects.{name}: {problem.what}", problem.fix))
    count = len(projects.names())
    summary = f"{count} {'project' if count == 1 else 'projects'}, by default {projects.default}"
    untried = any(not problem.fix for problem in found.values())
    if untried:
        summary += "; not tried without a sandbox"
    return Check("lean", summary, tuple(lines), tuple(missing), used=not untried)


async def _elaborated(config: Config, projects: Mapping[str, LeanProject]) -> dict[str, Problem]:
    """The projects in which elaboration failed, each with the reason and the fix, which is empty if it is reported
    elsewhere."""
    if config.sandbox.address is None and config.sandbox.launcher == "none":
        return dict.fromkeys(projects, Problem("not tried: there is no sandbox", ""))
    found: dict[str, Problem] = {}
    lane = SandboxLane(config.sandbox, Observer(), config.lean)
    try:
        for name, project in projects.items():
            try:
                problem = await _compile(lane, project)
            except (SampleError, SandboxError) as error:
                found[name] = Problem(f"not tried: {error.message}", "")
            else:
                if problem is not None:
                    found[name] = Problem(problem, "rebuild the project, or raise lean.memory_mb (docs/lean.md)")
    finally:
        await lane.close()
    return found


async def _compile(lane: SandboxLane, project: LeanProject) -> str | None:
    """Compiles a file that imports the project's own modules. Returns the compiler's error, or None."""
    own = Path(project.mounts[project.path[0]]) if project.path else None
    modules = sorted(file.stem for file in own.glob("*.olean"))[:_MODULES] if own is not None else []
    text = "\n".join(["prelude", *(f"import {module}" for module in modules), "#check Prop", ""])
    program = Program(language=compile_language(project.name), code=source(text))
    job = Job(program=program, cases=[Case()], collect=("Main.olean",))
    async for event in lane.run(job):
        if isinstance(event, CaseResult):
            report = event.program
            if report.status == "ok" and report.files.get("Main.olean"):
                return None
            said = (report.stdout + report.stderr).decode("utf-8", "replace").strip()
            return f"{report.status}: {report.message or said or 'no output'}"[:500]
    return "the sandbox returned nothing"
