"""Lean projects: elan's toolchains, lake's folders, and what of them rooms see."""

from __future__ import annotations

import json
import pickle
import re
import shutil
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rewarden.errors import InvalidSample, SandboxError
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Case, CaseResult, Job, Program, Report
from rewarden_sandboxes.lake import LeanError, elan_toolchains
from rewarden_sandboxes.languages import Registry
from rewarden_sandboxes.lean import LeanProject, languages_of, resolve
from rewarden_sandboxes.settings import HostSettings
from rewarden_server.cli.lean_state import lean_state
from rewarden_server.config import Config
from rewarden_server.lean.projects import Projects, local_places
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.lean.resources import LeanResources
from rewarden_verifiers.provers import Project
from tests.lean.toolchain import Library
from tests.programs import problem_of


@pytest.fixture(autouse=True)
def elan(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An elan folder without toolchains, which is the one that is found."""
    home = tmp_path / "elan"
    (home / "toolchains").mkdir(parents=True)
    monkeypatch.setenv("ELAN_HOME", str(home))
    return home


def put_toolchain(
    folder: Path, version: str = "4.9.0", commit: str = "8f9843a4a5fe1b0c2d65ca4f5b8e3c7c2f4d7e11"
) -> Path:
    """A toolchain whose `lean` says that it is of that version, and notes that it was asked."""
    (folder / "bin").mkdir(parents=True)
    lean = folder / "bin" / "lean"
    said = f"Lean (version {version}, x86_64-unknown-linux-gnu, commit {commit}, Release)"
    lean.write_text(f'#!/bin/sh\necho asked >>"{folder}/asked"\necho "{said}"\n')
    lean.chmod(0o755)
    return folder


def put_project(folder: Path, toolchain: str = "leanprover/lean4:v4.9.0", manifest: Any = None) -> Path:
    """A lake project with a compiled module of its own."""
    put_module(folder / ".lake/build/lib/lean/Mine.olean")
    (folder / "lean-toolchain").write_text(f"{toolchain}\n")
    if manifest is not None:
        (folder / "lake-manifest.json").write_text(json.dumps(manifest))
    return folder


def put_module(path: Path, content: bytes = b"olean") -> None:
    """A compiled module."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def put_release(elan: Path, version: str = "4.9.0") -> Path:
    """A release as elan keeps it."""
    return put_toolchain(elan / "toolchains" / f"leanprover--lean4---v{version}", version)


# --- toolchains -----------------------------------------------------------------------------------------------------


def test_a_folder_with_a_lean_is_a_project_by_itself(tmp_path: Path) -> None:
    folder = put_toolchain(tmp_path / "some", "4.12.0-rc1", "abcdef1234567")
    (folder / "bin" / "leanchecker").touch()
    found = resolve("t", folder)
    assert (found.version, found.commit, found.checker) == ("4.12.0-rc1", "abcdef1234567", True)
    assert found.mounts == {"/mnt/lean/toolchain": str(folder)}
    assert found.path == ()


@pytest.mark.parametrize(
    "name", ["leanprover/lean4:v4.9.0", "leanprover/lean4:4.9.0", "v4.9.0", "leanprover/lean4:stable", "stable", "mine"]
)
def test_the_toolchain_of_a_project_is_found_where_elan_keeps_it(tmp_path: Path, elan: Path, name: str) -> None:
    folder = put_release(elan)
    put_release(elan, "4.10.0-rc2")  # no stable one
    put_release(elan, "4.8.0")
    (elan / "toolchains" / "mine").symlink_to(folder)
    assert resolve("p", put_project(tmp_path / "p", name)).toolchain == folder


def test_elans_toolchains_are_named_by_version_the_newest_release_first(elan: Path) -> None:
    for version in ("4.9.0", "4.10.0", "4.11.0-rc2", "4.11.0-rc10"):
        put_release(elan, version)
    put_toolchain(elan / "toolchains" / "leanprover--lean4---nightly-2025-01-01")
    (elan / "toolchains" / "empty").mkdir()
    (elan / "toolchains" / "mine").symlink_to(put_toolchain(elan / "elsewhere"))
    assert list(elan_toolchains()) == ["4.10.0", "4.9.0", "4.11.0-rc10", "4.11.0-rc2", "mine", "nightly-2025-01-01"]
    assert elan_toolchains()["mine"] == elan / "elsewhere"


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda p, _: None, "is not a folder"),
        (lambda p, _: p.mkdir(), "has no file lean-toolchain"),
        (lambda p, _: put_project(p, ""), "names no toolchain"),
        (lambda p, _: put_project(p), "elan toolchain install leanprover/lean4:v4.9.0"),
        (lambda p, elan: (put_project(p), shutil.rmtree(elan)), "elan-init.sh"),
        (
            lambda p, elan: (put_release(elan), shutil.rmtree(put_project(p) / ".lake")),
            "lake exe cache get && lake build",
        ),
        (lambda p, elan: (put_release(elan), put_project(p, manifest=[])), "not a lake manifest"),
        (
            lambda p, elan: (
                put_release(elan),
                put_project(p, manifest={"packages": [{"type": "git", "name": "q", "rev": "1"}]}),
            ),
            "its package q is not at",
        ),
    ],
)
def test_what_is_missing_is_said_with_what_mends_it(tmp_path: Path, elan: Path, make: Any, says: str) -> None:
    make(tmp_path / "p", elan)
    with pytest.raises(LeanError, match=says):
        resolve("p", tmp_path / "p")


def test_a_toolchain_that_does_not_run_is_told_in_its_own_words(tmp_path: Path) -> None:
    folder = put_toolchain(tmp_path / "some")
    (folder / "bin" / "lean").write_text("#!/bin/sh\necho cannot find its library >&2\n")
    with pytest.raises(LeanError, match="cannot find its library"):
        resolve("t", folder)


@pytest.mark.parametrize("name", ["", "Mine", "a/b", "-a", "a b", "ä", "worker-a", "check-a"])
def test_a_name_that_no_language_could_have_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(LeanError, match="no project is called"):
        resolve(name, put_toolchain(tmp_path / "some"))


def test_a_toolchain_is_asked_for_its_version_once_and_again_when_it_is_another(tmp_path: Path) -> None:
    folder = put_toolchain(tmp_path / "some")
    resolve("a", folder)
    resolve("b", folder)
    assert (folder / "asked").read_text() == "asked\n"
    shutil.rmtree(folder)
    put_toolchain(folder, "4.10.0")
    assert resolve("a", folder).version == "4.10.0"


# --- lake's folders -------------------------------------------------------------------------------------------------

_GIT = {"type": "git", "url": "https://example.org/q", "rev": "1a2b3c", "name": "q", "subDir": None}


def resolved(elan: Path, project: Path) -> LeanProject:
    """The project, of a toolchain that elan has."""
    if not (elan / "toolchains/leanprover--lean4---v4.9.0").exists():
        put_release(elan)
    return resolve("p", project)


def test_packages_are_mounted_beside_the_project_and_lie_in_its_path(tmp_path: Path, elan: Path) -> None:
    manifest = {
        "version": "1.1.0",
        "packagesDir": ".lake/packages",
        "packages": [
            _GIT,
            {"type": "path", "name": "«r-r»", "dir": "../r"},
            {"type": "git", "name": "unbuilt", "rev": "2"},
        ],
    }
    project = put_project(tmp_path / "p", manifest=manifest)
    put_module(project / ".lake/packages/q/.lake/build/lib/lean/Q.olean")
    put_module(tmp_path / "r/.lake/build/lib/lean/R.olean")
    (project / ".lake/packages/unbuilt").mkdir()
    found = resolved(elan, project)
    assert found.mounts == {
        "/mnt/lean/toolchain": str(elan / "toolchains/leanprover--lean4---v4.9.0"),
        # Nothing of the project's folder but what was compiled: no sources, no history.
        "/mnt/lean/project": str(project / ".lake/build/lib/lean"),
        "/mnt/lean/packages/q": str(project / ".lake/packages/q/.lake/build/lib/lean"),
        "/mnt/lean/packages/r-r": str(tmp_path / "r/.lake/build/lib/lean"),
    }
    assert found.path == ("/mnt/lean/project", "/mnt/lean/packages/q", "/mnt/lean/packages/r-r")


@pytest.mark.parametrize(
    ("manifest", "package", "built"),
    [
        (
            {"version": 4, "packages": [{"git": {"name": "q", "rev": "1", "subDir?": None}}]},
            "lake-packages/q",
            "build/lib",
        ),
        (
            {"version": 5, "packagesDir": "lake-packages", "packages": [{"path": {"name": "q", "dir": "./q"}}]},
            "q",
            "build/lib",
        ),
        ({"version": 7, "packagesDir": ".lake/packages", "packages": [_GIT]}, ".lake/packages/q", ".lake/build/lib"),
        (
            {"version": 7, "packagesDir": "../shared", "packages": [{**_GIT, "subDir": "lean"}]},
            "../shared/q/lean",
            ".lake/build/lib",
        ),
    ],
)
def test_older_layouts_of_lake_are_known(tmp_path: Path, elan: Path, manifest: Any, package: str, built: str) -> None:
    project = put_project(tmp_path / "p", manifest=manifest)
    put_module(project / package / built / "Q.olean")
    assert resolved(elan, project).mounts["/mnt/lean/packages/q"] == str((project / package / built).resolve())


def test_a_project_that_only_asks_for_packages_needs_no_module_of_its_own(tmp_path: Path, elan: Path) -> None:
    project = put_project(tmp_path / "p", manifest={"packagesDir": ".lake/packages", "packages": [_GIT]})
    shutil.rmtree(project / ".lake")
    put_module(project / ".lake/packages/q/.lake/build/lib/lean/Q.olean")
    assert resolved(elan, project).path == ("/mnt/lean/packages/q",)


def test_the_identity_moves_with_the_build_the_packages_and_the_toolchain(tmp_path: Path, elan: Path) -> None:
    manifest = {"packagesDir": ".lake/packages", "packages": [_GIT, {"type": "path", "name": "r", "dir": "../r"}]}
    project = put_project(tmp_path / "p", manifest=manifest)
    put_module(project / ".lake/packages/q/.lake/build/lib/lean/Q.olean")
    put_module(tmp_path / "r/.lake/build/lib/lean/R.olean")
    seen = [resolved(elan, project).identity]
    assert resolved(elan, project).identity == seen[0]

    def moved() -> bool:
        seen.append(resolved(elan, project).identity)
        return len(set(seen)) == len(seen)

    put_module(project / ".lake/build/lib/lean/Mine.olean", b"other")
    assert moved()
    put_module(tmp_path / "r/.lake/build/lib/lean/R.olean", b"other")
    assert moved()
    (project / "lake-manifest.json").write_text(json.dumps(manifest).replace("1a2b3c", "4d5e6f"))
    assert moved()
    (project / "lean-toolchain").write_text("leanprover/lean4:v4.10.0")
    put_release(elan, "4.10.0")
    assert moved()


# --- languages ------------------------------------------------------------------------------------------------------


def test_each_project_has_three_languages_and_the_first_is_lean(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one, two = put_toolchain(tmp_path / "one"), put_toolchain(tmp_path / "two")
    places = {"one": str(one), "broken": str(tmp_path / "nowhere"), "two": str(two)}
    registry = Registry.load(rows=languages_of(places, 6000))
    rows = {row.name: row for row in registry if row.name.startswith("lean")}
    assert set(rows) == {f"lean-{kind}{name}" for kind in ("", "worker-", "check-") for name in ("one", "two")}
    assert registry.get("lean").name == registry.get("lean4").name == "lean-one"
    assert registry.by_fence["lean4"].name == "lean-one"
    assert {row.limits.memory_mb for row in rows.values()} == {6000}
    assert rows["lean-worker-two"].mounts == {"/mnt/lean/toolchain": str(two)}
    assert [row.name for row in rows.values() if row.python] == ["lean-check-one", "lean-check-two"]
    assert "broken: " in capsys.readouterr().err
    assert not (one / "asked").exists()  # what a room sees takes no running


# --- the server's projects ------------------------------------------------------------------------------------------


def test_nothing_is_resolved_before_it_is_asked_for(tmp_path: Path) -> None:
    folder = put_toolchain(tmp_path / "some", "4.9.0")
    projects = Projects(
        LeanSettings(projects={"broken": str(tmp_path / "nowhere"), "good": str(folder)}, default="good")
    )
    resources = LeanResources(projects=projects, default=projects.default)
    assert not (folder / "asked").exists()
    assert projects.find(None) == projects.find("good")
    assert (projects.find("good").version, projects.find("good").kind) == ("4.9.0", "local")
    assert (folder / "asked").exists()
    assert list(resources.projects) == ["good"]


def test_a_broken_project_is_ours_and_an_unknown_one_the_callers(tmp_path: Path) -> None:
    projects = Projects(LeanSettings(projects={"mathlib": str(tmp_path / "nowhere")}))
    with pytest.raises(SandboxError, match=r"'mathlib' cannot be used: .*nowhere is not a folder"):
        projects.find(None)
    with pytest.raises(InvalidSample, match=r"unknown Lean project 'mathlb' .*did you mean 'mathlib'"):
        projects.find("mathlb")
    assert "nowhere" in projects.told()["mathlib"]["problem"]
    put_toolchain(tmp_path / "nowhere")
    assert projects.find(None).version == "4.9.0"  # mended while the server runs


def test_without_projects_those_are_elans_toolchains(elan: Path) -> None:
    with pytest.raises(InvalidSample, match=r"Lean is not installed: .*elan-init.sh"):
        Projects(LeanSettings()).find(None)
    for version in ("4.9.0", "4.10.0"):
        put_release(elan, version)
    (elan / "toolchains" / "My Lean").symlink_to(put_toolchain(elan / "elsewhere"))
    projects = Projects(LeanSettings())
    assert projects.names() == ("4.10.0", "4.9.0")
    assert projects.default == "4.10.0"


def test_a_remote_project_is_its_address_without_credentials() -> None:
    address = "https://me:secret@lean.example.org:8000/api?key=secret"
    projects = Projects(LeanSettings(projects={"far": address}))
    assert projects.find("far") == Project(name="far", kind="remote", identity="https://lean.example.org:8000/api")
    assert projects.address("far") == address
    assert "secret" not in json.dumps(projects.told())


def test_the_host_is_told_the_folders_alone_the_default_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    places = {"far": "http://lean", "one": "one", "two": "/two"}
    told = local_places(LeanSettings(projects=places, default="two"))
    assert list(told.items()) == [("two", "/two"), ("one", str(tmp_path / "one"))]
    assert list(local_places(LeanSettings(projects=places))) == ["one", "two"]


def test_the_site_survives_pickling_and_its_fingerprint_moves_with_any_project(tmp_path: Path) -> None:
    one = put_toolchain(tmp_path / "one")
    places = {"one": str(one), "far": "http://lean"}

    def resources(**settings: Any) -> LeanResources:
        projects = Projects(LeanSettings(projects=places, **settings))
        return LeanResources(projects=projects, default=projects.default)

    first = resources()
    again = pickle.loads(pickle.dumps(first))  # noqa: S301 - what was just made
    assert type(again.projects) is dict
    assert (again.projects, again.fingerprint) == (dict(first.projects), first.fingerprint)
    assert resources().fingerprint == first.fingerprint != resources(default="far").fingerprint
    shutil.rmtree(one)
    put_toolchain(one, "4.10.0")
    assert resources().fingerprint != first.fingerprint
    assert LeanResources().fingerprint == ""


# --- a real one -----------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(params=["docker", "bwrap"])
async def host(
    request: pytest.FixtureRequest, library: Library, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Host]:
    """A host that has the library as its project `base`, and the toolchain alone as `bare`."""
    problem = await problem_of(request.param)
    if problem is not None:
        pytest.skip(problem)
    monkeypatch.setenv("ELAN_HOME", str(library.elan))
    places = {"base": str(library.folder), "bare": str(library.toolchain)}
    host = Host(HostSettings(launcher=request.param, lean=places, lean_memory_mb=2048))
    await host.start()
    try:
        yield host
    finally:
        await host.close()


async def compiled(host: Host, text: str, language: str) -> Report:
    """Returns how the compilation of a text ended."""
    job = Job(program=Program(language=language, code=text.encode()), cases=[Case()], collect=["Main.olean"])
    async with aclosing(host.run(job)) as events:
        async for event in events:
            if isinstance(event, CaseResult):
                return event.program
    raise AssertionError("no result")


@pytest.mark.needs_server
@pytest.mark.asyncio
async def test_rooms_compile_against_the_projects_library_and_cannot_change_it(host: Host) -> None:
    proof = "prelude\nimport Base.Extra\ntheorem t : Eq (Nat.add 2 2) 4 := by decide\n"
    done = await compiled(host, proof, "lean")
    assert (done.status, done.stdout) == ("ok", b"")
    assert done.files["Main.olean"].startswith(b"olean")
    wrong = await compiled(host, "prelude\nimport Base\ntheorem t : False := True.intro\n", "lean-base")
    assert (wrong.status, wrong.exit_code) == ("runtime_error", 1)
    said = json.loads(wrong.stdout)
    assert (said["severity"], said["pos"]) == ("error", {"line": 3, "column": 21})
    assert not wrong.files
    bare = await compiled(host, "prelude\nimport Base\n", "lean-bare")
    assert b"unknown module prefix 'Base'" in bare.stdout + bare.stderr
    checker = """
import pathlib
lib = pathlib.Path("/mnt/lean/project")
print(sorted(path.name for path in lib.iterdir()), pathlib.Path("/mnt/lean/toolchain/bin/lean").is_file())
try:
    (lib / "Base.olean").write_bytes(b"")
except OSError as error:
    print(error.strerror)
"""
    read = await compiled(host, checker, "lean-check-base")
    assert read.stdout.decode().splitlines() == ["['Base', 'Base.olean'] True", "Read-only file system"]


@pytest.mark.needs_server
@pytest.mark.asyncio
async def test_the_doctor_elaborates_in_each_project(
    library: Library, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    problem = await problem_of("bwrap")
    if problem is not None:
        pytest.skip(problem)
    monkeypatch.setenv("ELAN_HOME", str(library.elan))
    broken = tmp_path / "broken"
    shutil.copytree(library.folder, broken)
    put_module(broken / ".lake/build/lib/lean/Base.olean", b"of another Lean")
    config = Config(
        sandbox=SandboxSettings(launcher="bwrap"),
        lean=LeanSettings(projects={"base": str(library.folder), "broken": str(broken)}, memory_mb=2048),
    )
    check = await lean_state(config)
    assert re.search(r"^base: Lean [0-9.]+, no leanchecker, elaborates$", "\n".join(check.details), re.MULTILINE)
    [(what, mend)] = check.problems
    assert what.startswith("lean.projects.broken: runtime_error: ")
    assert "Base.olean" in what
    assert "rebuild the project" in mend
