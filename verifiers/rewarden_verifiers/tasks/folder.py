"""Reading task folders: Harbor's format (`task.toml`, schema 1.0 to 1.4), and terminal-bench's older `task.yaml`.

A folder is read whole, once, into a mapping of names to files. What a box cannot give (another image, compose files,
accelerators) is refused by name; fields that only describe a task are ignored, as Harbor ignores them.
"""

from __future__ import annotations

import math
import posixpath
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import tomllib
import yaml

from rewarden_verifiers.tasks.dockerfile import TIERS, read_dockerfile, tier_of
from rewarden_verifiers.tasks.task import (
    Copy,
    Environment,
    File,
    Files,
    Mode,
    Step,
    Task,
    TaskFault,
    absolute,
    below,
    digest_of,
)

HARBOR, OLDER = "task.toml", "task.yaml"

MOST_BYTES = 64 * 1024**2
"""The size of all files of a task together, which are kept in memory."""

_MOST_FILES = 10_000
_DEPTH = 6
"""Levels of folders below a configured one in which tasks are looked for."""

_VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4")
_VERIFIER_S = 600.0
_OLDER_SCRIPT = b"""bash "$TEST_DIR/run-tests.sh"
if [ $? -eq 0 ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
"""
_OURS = "rewarden"
_CANARY = re.compile(r"\A(?:\s*(?:<!--.*?-->|#[^\n]*)\s*\n)+", re.DOTALL)
_SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", re.IGNORECASE)
_MB = {"": 1 / 1024**2, "K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}


def find_folders(place: Path) -> list[Path]:
    """Returns the task folders below a folder, or the folder itself if it is one. Raises TaskFault."""
    if not place.is_dir():
        raise TaskFault(f"{place}: is not a folder")
    found = list(_folders(place, _DEPTH))
    if not found:
        raise TaskFault(f"{place}: has no task: a folder with {HARBOR} or {OLDER}")
    return found


def _folders(place: Path, depth: int) -> Iterator[Path]:
    if any((place / name).is_file() for name in (HARBOR, OLDER)):
        yield place
        return
    for inner in sorted(place.iterdir()) if depth else ():
        # A link could lead back to where the search came from.
        if inner.is_dir() and not inner.is_symlink() and not inner.name.startswith("."):
            yield from _folders(inner, depth - 1)


def read_folder(folder: Path) -> Task:
    """Returns the task of a folder, whose name is its id. Raises TaskFault."""
    files: dict[str, File] = {}
    size = 0
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            raise TaskFault(f"{folder.name}/{name}: is a link; a task holds its files itself")
        if not path.is_file() or any(part in (".git", "__pycache__") for part in path.parts):
            continue
        about = path.stat()
        size += about.st_size
        if size > MOST_BYTES or len(files) >= _MOST_FILES:
            raise TaskFault(f"{folder.name}: has more than {MOST_BYTES // 1024**2} MiB or {_MOST_FILES} files")
        files[name] = File(path.read_bytes(), bool(about.st_mode & stat.S_IXUSR))
    return read_task(folder.resolve().name, files)


def read_task(id: str, files: Files) -> Task:
    """Returns the task that consists of these files. Raises TaskFault."""
    try:
        if HARBOR in files:
            return _harbor(id, files)
        if OLDER in files:
            return _older(id, files)
    except TaskFault as fault:
        raise TaskFault(f"task {id!r}: {fault.message}") from None
    raise TaskFault(f"task {id!r}: has neither {HARBOR} nor {OLDER}")


# --- Harbor ----------------------------------------------------------------------------------------------------------


def _harbor(id: str, files: Files) -> Task:
    try:
        told = tomllib.loads(files[HARBOR].text(HARBOR))
    except tomllib.TOMLDecodeError as error:
        raise TaskFault(f"{HARBOR}: {error}") from None
    version = str(told.get("schema_version", told.get("version", "1.0")))
    if version not in _VERSIONS:
        raise TaskFault(f"{HARBOR}: schema_version {version!r} is unknown; known: {', '.join(_VERSIONS)}")
    verifier, agent = _table(told, "verifier"), _table(told, "agent")
    if "environment" in verifier:
        raise TaskFault(f"{HARBOR}: [verifier.environment]: an image of the verifier's own is not supported")
    if verifier.get("collect"):
        raise TaskFault(f"{HARBOR}: [[verifier.collect]] is not supported")
    environment = _environment(_table(told, "environment"), below(files, "environment"))
    ours = _table(_table(told, "metadata"), _OURS, "metadata.")
    unknown = sorted(ours.keys() - {"keep", "services"})
    if unknown:
        raise TaskFault(f"{HARBOR}: metadata.{_OURS}.{unknown[0]}: is unknown; known: keep, services")
    named = told.get("steps", [])
    if not isinstance(named, list) or not all(isinstance(step, dict) for step in named):
        raise TaskFault(f"{HARBOR}: steps must be tables [[steps]]")
    steps = (
        tuple(_harbor_step(step, verifier, agent, files, place) for place, step in enumerate(named))
        if named
        else (_step("", "", verifier, agent, {}, files),)
    )
    return Task(
        id=id,
        digest=digest_of(files),
        environment=environment,
        steps=steps,
        solution_env=_texts(_table(told, "solution").get("env", {}), "solution.env"),
        keep=_kept(_words(ours.get("keep", []), f"metadata.{_OURS}.keep")),
        services=_words(ours.get("services", []), f"metadata.{_OURS}.services"),
    )


def _harbor_step(
    told: Mapping[str, Any], verifier: Mapping[str, Any], agent: Mapping[str, Any], files: Files, place: int
) -> Step:
    name = told.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"[\w.-]+", name):
        raise TaskFault(f"{HARBOR}: steps[{place}].name: must be the name of a folder in steps/")
    own = _table(told, "verifier", f"steps[{place}].")
    if "environment" in own or own.get("collect"):
        raise TaskFault(f"{HARBOR}: steps[{place}].verifier: an image of its own and collect are not supported")
    return _step(name, f"steps/{name}/", {**verifier, **own}, {**agent, **_table(told, "agent")}, told, files)


def _step(
    name: str,
    prefix: str,
    verifier: Mapping[str, Any],
    agent: Mapping[str, Any],
    told: Mapping[str, Any],
    files: Files,
) -> Step:
    folder = prefix.rstrip("/")
    inner = below(files, folder) if folder else files
    tests = {**(below(files, "tests") if folder else {}), **below(inner, "tests")}
    where = f"{prefix}tests/test.sh"
    if "test.sh" not in tests:
        raise TaskFault(f"{where}: is missing")
    instruction = inner.get("instruction.md")
    if instruction is None:
        raise TaskFault(f"{prefix}instruction.md: is missing")
    mode = verifier.get("environment_mode") or "separate"
    if mode not in ("separate", "shared"):
        raise TaskFault(f"{HARBOR}: verifier.environment_mode: must be separate or shared, not {mode!r}")
    if "healthcheck" in told:
        raise TaskFault(f"{HARBOR}: the health check of a step is not supported")
    if folder and below(inner, "workdir"):
        raise TaskFault(f"{prefix}workdir: files that a step adds to the box are not supported")
    return Step(
        name=name,
        instruction=_without_canary(instruction.text(f"{prefix}instruction.md")),
        tests=tests,
        solution=below(inner, "solution"),
        agent_s=_seconds(agent.get("timeout_sec"), "agent.timeout_sec"),
        verifier_s=_seconds(verifier.get("timeout_sec"), "verifier.timeout_sec"),
        env=_texts(verifier.get("env", {}), "verifier.env"),
        mode=cast(Mode, mode),
    )


def _environment(told: Mapping[str, Any], files: Files) -> Environment:
    for name in ("gpus", "tpus"):
        if told.get(name):
            raise TaskFault(f"{HARBOR}: environment.{name}: boxes have none")
    if str(told.get("os", "linux")) != "linux":
        raise TaskFault(f"{HARBOR}: environment.os: boxes run Linux")
    if told.get("mcp_servers") or told.get("healthcheck"):
        raise TaskFault(f"{HARBOR}: environment.mcp_servers and healthcheck are not supported")
    for name in files:
        if posixpath.basename(name).startswith(("docker-compose", "compose.")):
            raise TaskFault(f"environment/{name}: several containers are not supported")
    image = told.get("docker_image")
    if image is not None:
        tier = tier_of(str(image))
        if tier is None:
            raise TaskFault(f"{HARBOR}: environment.docker_image: must be an image tier: {', '.join(TIERS)}")
        made = Environment(image=tier)
        loose = {name: file for name, file in files.items() if name != "Dockerfile"}
        if loose and "Dockerfile" not in files:
            place = str(told.get("workdir") or made.workdir)
            copied = {absolute(name, place): file for name, file in loose.items()}
            made = Environment(image=tier, actions=(Copy(files=copied, line=0),))
    elif "Dockerfile" in files:
        made = read_dockerfile(files["Dockerfile"].text("environment/Dockerfile"), files, "environment/Dockerfile")
    else:
        raise TaskFault("environment/Dockerfile: is missing, and environment.docker_image is not set")
    return Environment(
        image=made.image,
        actions=made.actions,
        workdir=_absolute(str(told.get("workdir") or made.workdir)),
        env={**made.env, **_texts(told.get("env", {}), "environment.env")},
        memory_mb=_size(told, "memory"),
        disk_mb=_size(told, "storage"),
        build_s=_seconds(told.get("build_timeout_sec"), "environment.build_timeout_sec"),
    )


def _size(told: Mapping[str, Any], name: str) -> int | None:
    """Returns MiB: `memory_mb`, or the older `memory = "2G"`."""
    exact = told.get(f"{name}_mb")
    if exact is not None:
        if type(exact) not in (int, float) or not 0 < exact < 1e9:
            raise TaskFault(f"{HARBOR}: environment.{name}_mb: must be a number above 0")
        return math.ceil(float(exact))
    older = told.get(name)
    if older is None:
        return None
    match = _SIZE.fullmatch(str(older).strip())
    if match is None:
        raise TaskFault(f"{HARBOR}: environment.{name}: must be a size such as 2G, not {older!r}")
    return max(1, math.ceil(float(match[1]) * _MB[match[2].upper()]))


# --- terminal-bench 1 ------------------------------------------------------------------------------------------------


def _older(id: str, files: Files) -> Task:
    try:
        told = yaml.safe_load(files[OLDER].text(OLDER))
    except yaml.YAMLError as error:
        raise TaskFault(f"{OLDER}: {' '.join(str(error).split())}") from None
    if not isinstance(told, dict) or not isinstance(told.get("instruction"), str):
        raise TaskFault(f"{OLDER}: must have an instruction")
    compose = [name for name in files if posixpath.basename(name).startswith("docker-compose")]
    if len(compose) > 1 or (compose and _services_of(files[compose[0]], compose[0]) > 1):
        raise TaskFault(f"{compose[0]}: several containers are not supported")
    if "Dockerfile" not in files:
        raise TaskFault("Dockerfile: is missing")
    if "run-tests.sh" not in files:
        raise TaskFault("run-tests.sh: is missing")
    hidden = ("tests/", "solution", "task.yaml", "run-tests.sh", "docker-compose")
    context = {name: file for name, file in files.items() if not name.startswith(hidden)}
    environment = read_dockerfile(files["Dockerfile"].text("Dockerfile"), context, "Dockerfile")
    # That format's runner copies both into /tests, and reads the result of pytest from what it prints; here its exit
    # code says it.
    tests = {**below(files, "tests"), "run-tests.sh": files["run-tests.sh"], "test.sh": File(_OLDER_SCRIPT, True)}
    solution = {"solve.sh": files["solution.sh"]} if "solution.sh" in files else {}
    step = Step(
        name="",
        instruction=_without_canary(told["instruction"]),
        tests=tests,
        solution=solution,
        agent_s=_seconds(told.get("max_agent_timeout_sec"), "max_agent_timeout_sec"),
        verifier_s=_seconds(told.get("max_test_timeout_sec"), "max_test_timeout_sec"),
        env={"TEST_DIR": "/tests"},
    )
    return Task(id=id, digest=digest_of(files), environment=environment, steps=(step,))


def _services_of(file: File, name: str) -> int:
    try:
        told = yaml.safe_load(file.text(name))
    except yaml.YAMLError as error:
        raise TaskFault(f"{name}: {' '.join(str(error).split())}") from None
    services = told.get("services") if isinstance(told, dict) else None
    return len(services) if isinstance(services, dict) else 0


# --- values ----------------------------------------------------------------------------------------------------------


def _table(told: Mapping[str, Any], name: str, where: str = "") -> Mapping[str, Any]:
    found = told.get(name, {})
    if not isinstance(found, dict):
        raise TaskFault(f"{HARBOR}: {where}{name}: must be a table")
    return found


def _texts(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise TaskFault(f"{where}: must be a table of texts")
    for name, item in value.items():
        if "${" in item:
            raise TaskFault(f"{where}.{name}: takes its value from the runner's environment, which boxes never see")
    return dict(value)


def _words(value: Any, where: str) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item for item in value):
        raise TaskFault(f"{HARBOR}: {where}: must be a list of texts")
    return tuple(value)


def _seconds(value: Any, where: str) -> float:
    if value is None:
        return _VERIFIER_S
    if type(value) not in (int, float) or not 0 < value < 1e6:
        raise TaskFault(f"{where}: must be a number of seconds above 0")
    return float(value)


def _absolute(path: str) -> str:
    if not path.startswith("/"):
        raise TaskFault(f"{HARBOR}: {path!r}: must be an absolute path")
    return posixpath.normpath(path)


def _kept(paths: Sequence[str]) -> Sequence[str]:
    made = tuple(_absolute(path) for path in paths)
    for path in made:
        if path == "/" or path.split("/")[1] in ("tests", "solution", "rewarden", "logs"):
            raise TaskFault(f"{HARBOR}: metadata.{_OURS}.keep: {path} is never carried")
    return made


def _without_canary(text: str) -> str:
    """Returns an instruction without the leading lines that mark it for filters of training data."""
    match = _CANARY.match(text)
    return text[match.end() :] if match is not None and "canary" in match[0].lower() else text
