"""Reading task folders: Harbor's format (`task.toml`, schema 1.0 to 1.4), and terminal-bench's older `task.yaml`.

A folder is read once, into a mapping of names to files. Features that boxes lack (another image, compose files,
accelerators) are rejected by name; fields that only describe a task are ignored, as Harbor ignores them.
"""

from __future__ import annotations

import math
import os
import re
import stat
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import tomllib
import yaml

from rewarden_sandboxes.network.rules import read_rule
from rewarden_verifiers.tasks.carried import is_ours
from rewarden_verifiers.tasks.dockerfile import TIERS, is_own, read_dockerfile, tier_of
from rewarden_verifiers.tasks.task import (
    Copy,
    Environment,
    File,
    Files,
    HealthCheck,
    Hook,
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
"""The maximum size of all files of a task together, because they are kept in memory."""

_MOST_FILES = 10_000
_DEPTH = 6
"""The number of folder levels below a configured folder that are searched for tasks."""

_YAML = (yaml.YAMLError, ValueError, LookupError, AttributeError, TypeError, ArithmeticError, RecursionError)
"""The errors of the YAML parser, most of them for tagged values that do not fit their type, such as `!!int ""`."""

_VERSIONS = ("1.0", "1.1", "1.2", "1.3", "1.4")
_VERIFIER_S = 600.0
_APART = (
    *("env", "cpus", "memory", "memory_mb", "storage", "storage_mb", "workdir", "docker_image", "os", "skills_dir"),
    *("network_mode", "allowed_hosts", "allow_internet", "build_timeout_sec"),
    *("gpus", "gpu_types", "tpu", "mcp_servers", "healthcheck"),
)
"""The fields of `[verifier.environment]`. Those in the last line are rejected."""
_OF_HEALTH = {
    "interval_sec": "interval_s",
    "timeout_sec": "timeout_s",
    "start_period_sec": "start_s",
    "start_interval_sec": "start_interval_s",
}
_RETRIES, _MOST_RETRIES = 3, 1000
_HOOK_S = 60.0
_OLDER_SCRIPT = b"""bash "$TEST_DIR/run-tests.sh"
if [ $? -eq 0 ]; then echo 1; else echo 0; fi >/logs/verifier/reward.txt
"""
_OLDER_OWN = frozenset({OLDER, "run-tests.sh", "solution.sh", "solution.yaml", "solution.yml"})
_OLDER_FOLDERS = ("tests/", "solution/")
_OURS = "rewarden"
_NOT_READ = frozenset({".git", "__pycache__"})
_CANARY = re.compile(r"\A(?:\s*(?:<!--.*?-->|#[^\n]*)\s*\n)+", re.DOTALL)
_SIZE = re.compile(r"(\d{1,9}(?:\.\d{1,9})?)\s*([KMGT])I?B?", re.IGNORECASE | re.ASCII)
_MB = {"K": 1 / 1024, "M": 1, "G": 1024, "T": 1024**2}
_MOST_MB = 1e9
_COMPOSE = re.compile(r"(?:docker-)?compose(?:\.[\w-]+)?\.ya?ml")
"""The file names with which engines configure several containers."""


def find_folders(place: Path) -> list[Path]:
    """Returns the task folders below a folder, or the folder itself if it is a task. Raises TaskFault."""
    try:
        if not place.is_dir():
            raise TaskFault(f"{place}: is not a folder")
        found = list(_folders(place, _DEPTH))
    except OSError as error:
        raise TaskFault(f"{error.filename or place}: cannot be read: {error.strerror or error}") from None
    if not found:
        raise TaskFault(f"{place}: has no task: a folder with {HARBOR} or {OLDER}")
    return found


def _folders(place: Path, depth: int) -> Iterator[Path]:
    if any((place / name).is_file() for name in (HARBOR, OLDER)):
        yield place
        return
    for inner in sorted(place.iterdir()) if depth else ():
        # A link could lead back to a folder that is being searched.
        if inner.is_dir() and not inner.is_symlink() and not inner.name.startswith("."):
            yield from _folders(inner, depth - 1)


def read_folder(folder: Path) -> Task:
    """Reads the task in a folder, whose name becomes the task's id. Raises TaskFault."""
    folder = folder.resolve()
    try:
        files = _files_of(folder)
    except OSError as error:
        where = Path(os.fsdecode(error.filename or folder))
        said = where.relative_to(folder.parent) if where.is_relative_to(folder.parent) else where
        raise TaskFault(f"{said}: cannot be read: {error.strerror or error}") from None
    return read_task(folder.name, files)


def _files_of(folder: Path) -> dict[str, File]:
    """Returns the files of a folder. Raises TaskFault, OSError."""
    files: dict[str, File] = {}
    size = 0
    for place, inner, names in os.walk(folder, onerror=_raised):
        inner[:] = sorted(name for name in inner if name not in _NOT_READ)
        for path in sorted(Path(place, name) for name in (*inner, *names) if name not in _NOT_READ):
            name = path.relative_to(folder).as_posix()
            if path.is_symlink():
                raise TaskFault(f"{folder.name}/{name}: is a link; a task holds its files itself")
            if not path.is_file():
                continue
            about = path.stat()
            size += about.st_size
            if size > MOST_BYTES or len(files) >= _MOST_FILES:
                raise TaskFault(f"{folder.name}: has more than {MOST_BYTES // 1024**2} MiB or {_MOST_FILES} files")
            files[name] = File(path.read_bytes(), bool(about.st_mode & stat.S_IXUSR))
    return files


def _raised(error: OSError) -> None:
    raise error


def read_task(id: str, files: Files) -> Task:
    """Returns the task made of these files. Raises TaskFault."""
    try:
        for name in files:
            _check_name(name, files)
        if HARBOR in files:
            return _harbor(id, files)
        if OLDER in files:
            return _older(id, files)
    except TaskFault as fault:
        raise TaskFault(f"task {id!r}: {fault.message}") from None
    raise TaskFault(f"task {id!r}: has neither {HARBOR} nor {OLDER}")


def _check_name(name: str, files: Files) -> None:
    """Raises TaskFault for a file name that cannot be put into a box."""
    parts = name.split("/")
    shown = name.encode("utf-8", "backslashreplace").decode()[:200]
    if {"", ".", ".."}.intersection(parts) or "\0" in name:
        raise TaskFault(f"{shown!r}: must be a relative path, without empty parts, . and ..")
    try:
        name.encode()
    except UnicodeEncodeError:
        raise TaskFault(f"{shown!r}: the name is not UTF-8; rename the file") from None
    above = next((each for each in ("/".join(parts[:end]) for end in range(1, len(parts))) if each in files), None)
    if above is not None:
        raise TaskFault(f"{above[:200]!r}: is both a file and a folder")


# --- Harbor ----------------------------------------------------------------------------------------------------------


def _harbor(id: str, files: Files) -> Task:
    try:
        told = tomllib.loads(files[HARBOR].text(HARBOR))
    except (ValueError, RecursionError) as error:  # ValueError also covers dates and numbers that do not exist
        raise TaskFault(f"{HARBOR}: {_said(error)}") from None
    version = str(told.get("schema_version", told.get("version", "1.0")))
    if version not in _VERSIONS:
        raise TaskFault(f"{HARBOR}: schema_version {version!r} is unknown; known: {', '.join(_VERSIONS)}")
    verifier, agent = _table(told, "verifier"), _table(told, "agent")
    around = _table(told, "environment")
    environment = _environment(around, below(files, "environment"))
    ours = _table(_table(told, "metadata"), _OURS, "metadata.")
    unknown = sorted(ours.keys() - {"keep", "services"})
    if unknown:
        raise TaskFault(f"{HARBOR}: metadata.{_OURS}.{unknown[0]}: is unknown; known: keep, services")
    named = told.get("steps", [])
    if not isinstance(named, list) or not all(isinstance(step, dict) for step in named):
        raise TaskFault(f"{HARBOR}: steps must be tables [[steps]]")
    ours_too = [name for name in ("keep", "services") if ours.get(name)]
    whole = _Whole(files, verifier, agent, around, environment, told.get("artifacts", []), ours_too)
    steps = (
        tuple(_harbor_step(step, whole, place) for place, step in enumerate(named))
        if named
        else (_step("", "", verifier, agent, {}, whole, _phase(whole, {}, "", {})),)
    )
    twice = next((step.name for place, step in enumerate(steps) if step.name in {e.name for e in steps[:place]}), None)
    if twice is not None:
        raise TaskFault(f"{HARBOR}: steps: two are named {twice!r}")
    return Task(
        id=id,
        digest=digest_of(files),
        environment=environment,
        steps=steps,
        solution_env=_texts(_table(told, "solution").get("env", {}), "solution.env"),
        keep=_kept(_words(ours.get("keep", []), f"metadata.{_OURS}.keep")),
        services=_words(ours.get("services", []), f"metadata.{_OURS}.services"),
    )


@dataclass(frozen=True, slots=True)
class _Whole:
    """The parts of a task that all steps share. told: the table `environment`. artifacts: as given. ours: the fields of
    `metadata.rewarden` that apply to tests in a copy of the policy's box.
    """

    files: Files
    verifier: Mapping[str, Any]
    agent: Mapping[str, Any]
    told: Mapping[str, Any]
    environment: Environment
    artifacts: Any
    ours: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Phase:
    """The setup of the tests: fields of `Step`, and the environment variables of `[verifier.environment]`. image: the
    one that `[verifier.environment]` names, if it is not the policy's. own: the tests get their own environment if they
    include a Dockerfile.
    """

    network: Sequence[str]
    env: Mapping[str, str]
    memory_mb: int | None
    disk_mb: int | None
    workdir: str | None
    collect: Sequence[Hook]
    health: Sequence[HealthCheck]
    image: str | None
    own: bool
    where: str


def _phase(whole: _Whole, own: Mapping[str, Any], where: str, step: Mapping[str, Any]) -> _Phase:
    """Returns the setup of a step's tests. own: the step's table `verifier`, empty without steps. where: its path."""
    verifier = whole.verifier
    given = f"{where}verifier.environment" if "environment" in own else "verifier.environment"
    apart = _table({**verifier, **own}, "environment", "verifier.")
    if apart and {**verifier, **own}.get("environment_mode") == "shared":
        raise TaskFault(f"{HARBOR}: {given}: is only for the environment_mode separate")
    _check_apart(apart, given)
    # As in Harbor, a step's own network comes first, then the verifier's, then its environment's, then the task's.
    # Unlike in Harbor, the default is no network.
    stated = (
        _network(own, f"{where}verifier"),
        _network(verifier, "verifier"),
        _network(apart, given),
        None if apart else _network(whole.told, "environment"),
    )
    checks = [(whole.told, "environment."), (step, where)]
    return _Phase(
        network=next((hosts for hosts in stated if hosts is not None), ()),
        env=_texts(apart.get("env", {}), f"{given}.env"),
        memory_mb=_size(apart, "memory", given),
        disk_mb=_size(apart, "storage", given),
        workdir=_absolute(str(apart["workdir"])) if apart.get("workdir") else None,
        collect=(*_hooks(verifier, "verifier"), *_hooks(own, f"{where}verifier")),
        health=tuple(
            _health(_table(told, "healthcheck", at), f"{at}healthcheck") for told, at in checks if "healthcheck" in told
        ),
        image=_image(apart, given, whole.environment),
        own="docker_image" not in apart and (bool(apart) or {**verifier, **own}.get("environment_mode") == "separate"),
        where=given,
    )


def _check_apart(told: Mapping[str, Any], where: str) -> None:
    """Raises TaskFault for a `[verifier.environment]` that boxes cannot provide."""
    _check_known(told, _APART, where)
    for name in ("gpus", "gpu_types", "tpu", "mcp_servers", "healthcheck"):
        if told.get(name):
            raise TaskFault(f"{HARBOR}: {where}.{name}: is not supported")
    if str(told.get("os", "linux")).lower() != "linux":
        raise TaskFault(f"{HARBOR}: {where}.os: boxes run Linux")


def _image(told: Mapping[str, Any], where: str, environment: Environment) -> str | None:
    """Returns the image of the tests' box, or None if it is the policy's."""
    if told.get("docker_image") is None:
        return None
    image = str(told["docker_image"])
    name = image if is_own(image) else tier_of(image)
    if name is None:
        raise TaskFault(
            f"{HARBOR}: {where}.docker_image: must be an image tier ({', '.join(TIERS)}), or an own image by its "
            "id (sha256:…) or its digest (NAME@sha256:…): a tag can mean another image tomorrow"
        )
    return None if name == environment.image else name


def _apart(phase: _Phase, whole: _Whole, tests: Files, prefix: str) -> Environment | None:
    """Returns the environment of the tests, or None if it is the policy's. As in Harbor, a Dockerfile beside the tests
    defines it, unless an image is named.
    """
    if phase.image is not None:
        made = Environment(image=phase.image)
    elif phase.own and "Dockerfile" in tests:
        name = f"{prefix}tests/Dockerfile"
        made = read_dockerfile(tests["Dockerfile"].text(name), tests, name)
    else:
        return None
    if whole.ours:
        raise TaskFault(
            f"{HARBOR}: metadata.{_OURS}.{whole.ours[0]}: is for tests in a copy of the policy's box, and these have "
            "an environment of their own: list what they need in artifacts"
        )
    moved = made.workdir != Environment(image=made.image).workdir
    return replace(
        made,
        workdir=phase.workdir or (made.workdir if moved else whole.environment.workdir),
        memory_mb=phase.memory_mb or whole.environment.memory_mb,
        disk_mb=phase.disk_mb or whole.environment.disk_mb,
        build_s=whole.environment.build_s,
    )


def _artifacts(stated: Any, where: str) -> tuple[str, ...]:
    """Returns the paths of artifacts: texts, or tables with a `source`."""
    if not isinstance(stated, list):
        raise TaskFault(f"{HARBOR}: {where}: must be a list")
    made = []
    for place, item in enumerate(stated):
        told = item if isinstance(item, dict) else {"source": item}
        if not isinstance(told.get("source"), str) or not told["source"]:
            raise TaskFault(f"{HARBOR}: {where}[{place}]: must be a path, or a table with a source")
        if told.get("service", "main") != "main":
            raise TaskFault(f"{HARBOR}: {where}[{place}].service: a task has one container, main")
        if told.get("exclude"):
            raise TaskFault(f"{HARBOR}: {where}[{place}].exclude: is not supported; list the paths that tests need")
        path = _absolute(told["source"])
        if path == "/" or is_ours(path.lstrip("/")):
            raise TaskFault(f"{HARBOR}: {where}[{place}]: {path} would take the place of the verifier's own files")
        made.append(path)
    return tuple(made)


def _shared_artifacts(whole: _Whole, told: Mapping[str, Any], step: str) -> tuple[str, ...]:
    return (
        *_artifacts(whole.artifacts, "artifacts"),
        *_artifacts(told.get("artifacts", []), f"steps.{step}.artifacts"),
    )


def _check_known(told: Mapping[str, Any], known: Collection[str], where: str) -> None:
    unknown = sorted(told.keys() - set(known))
    if unknown:
        raise TaskFault(f"{HARBOR}: {where}.{unknown[0]}: is unknown; known: {', '.join(sorted(known))}")


def _hooks(verifier: Mapping[str, Any], where: str) -> tuple[Hook, ...]:
    named = verifier.get("collect", [])
    if not isinstance(named, list) or not all(isinstance(hook, dict) for hook in named):
        raise TaskFault(f"{HARBOR}: {where}.collect: must be tables [[{where}.collect]]")
    return tuple(_hook(hook, f"{where}.collect[{place}]") for place, hook in enumerate(named))


def _hook(told: Mapping[str, Any], where: str) -> Hook:
    _check_known(told, ("command", "service", "timeout_sec", "user"), where)
    if told.get("service", "main") != "main":
        raise TaskFault(f"{HARBOR}: {where}.service: a task has one container, main, not {told['service']!r:.100}")
    seconds = _seconds(told.get("timeout_sec", _HOOK_S), f"{where}.timeout_sec")
    return Hook(shell=_command(told, where), timeout_s=seconds)


def _health(told: Mapping[str, Any], where: str) -> HealthCheck:
    _check_known(told, ("command", *_OF_HEALTH, "retries"), where)
    times = {
        field: _seconds(told[name], f"{where}.{name}", zero=name != "timeout_sec")
        for name, field in _OF_HEALTH.items()
        if name in told
    }
    retries = told.get("retries", _RETRIES)
    if type(retries) is not int or not 0 < retries <= _MOST_RETRIES:
        raise TaskFault(f"{HARBOR}: {where}.retries: must be a whole number from 1 to {_MOST_RETRIES}")
    return HealthCheck(shell=_command(told, where), retries=retries, **times)


def _command(told: Mapping[str, Any], where: str) -> str:
    command = told.get("command")
    if not isinstance(command, str) or not command or "\0" in command:
        raise TaskFault(f"{HARBOR}: {where}.command: must be a string")
    return command


def _harbor_step(told: Mapping[str, Any], whole: _Whole, place: int) -> Step:
    name = told.get("name")
    if not isinstance(name, str) or not re.fullmatch(r"(?!\.+$)[\w.-]+", name):
        raise TaskFault(f"{HARBOR}: steps[{place}].name: must be the name of a folder in steps/")
    where = f"steps[{place}]."
    own = _table(told, "verifier", where)
    merged = {**whole.verifier, **own}, {**whole.agent, **_table(told, "agent")}
    return _step(name, f"steps/{name}/", *merged, told, whole, _phase(whole, own, where, told))


def _step(
    name: str,
    prefix: str,
    verifier: Mapping[str, Any],
    agent: Mapping[str, Any],
    told: Mapping[str, Any],
    whole: _Whole,
    phase: _Phase,
) -> Step:
    folder, files = prefix.rstrip("/"), whole.files
    inner = below(files, folder) if folder else files
    tests = {**(below(files, "tests") if folder else {}), **below(inner, "tests")}
    where = f"{prefix}tests/test.sh"
    apart = _apart(phase, whole, tests, prefix)
    # As in Harbor, the tests' own image can contain them.
    if "test.sh" not in tests and not (apart is not None and is_own(apart.image)):
        raise TaskFault(f"{where}: is missing")
    instruction = inner.get("instruction.md")
    if instruction is None:
        raise TaskFault(f"{prefix}instruction.md: is missing")
    mode = verifier.get("environment_mode") or "separate"
    if mode not in ("separate", "shared"):
        raise TaskFault(f"{HARBOR}: verifier.environment_mode: must be separate or shared, not {mode!r}")
    laid = below(inner, "workdir") if folder else {}
    _check_laid(laid, f"{prefix}workdir", whole.environment.workdir)
    return Step(
        name=name,
        instruction=_without_canary(instruction.text(f"{prefix}instruction.md")),
        laid=laid,
        tests=tests,
        solution=below(inner, "solution"),
        agent_s=_seconds(agent.get("timeout_sec"), "agent.timeout_sec"),
        verifier_s=_seconds(verifier.get("timeout_sec"), "verifier.timeout_sec"),
        env={**phase.env, **_texts(verifier.get("env", {}), "verifier.env")},
        mode=cast(Mode, mode),
        network=phase.network,
        memory_mb=phase.memory_mb,
        disk_mb=phase.disk_mb,
        workdir=phase.workdir,
        collect=phase.collect,
        health=phase.health,
        apart=apart,
        artifacts=_shared_artifacts(whole, told, name) if apart is not None else (),
    )


def _check_laid(files: Files, where: str, workdir: str) -> None:
    """Raises TaskFault if a file of a step would be put where the verifier's files are. Attack: a task from an
    untrusted source, whose step brings tests and rewards of its own.
    """
    for name in files:
        path = absolute(name, workdir)
        if is_ours(path.lstrip("/")):
            raise TaskFault(f"{where}/{name}: would be laid to {path}, and that is the verifier's folder")


def _network(told: Mapping[str, Any], where: str) -> tuple[str, ...] | None:
    """Returns the hosts of a network: an empty tuple for `no-network`, `*` for `public`, and None if nothing is
    stated.
    """
    mode, hosts, older = told.get("network_mode"), told.get("allowed_hosts"), told.get("allow_internet")
    if mode is None and hosts is None:
        return None if older is None else ("*",) if older is True else ()
    if mode not in ("no-network", "public", "allowlist"):
        raise TaskFault(f"{HARBOR}: {where}.network_mode: must be no-network, public or allowlist, not {mode!r:.100}")
    if mode != "allowlist":
        if hosts:
            raise TaskFault(f"{HARBOR}: {where}.allowed_hosts: is only for the network_mode allowlist")
        return ("*",) if mode == "public" else ()
    return tuple(_host(host, where) for host in _words(hosts or [], f"{where}.allowed_hosts"))


def _host(text: str, where: str) -> str:
    text = text.strip()
    try:
        if "/" in text:
            raise ValueError(f"{text[:100]!r}: networks of addresses are not supported; list names or addresses")
        if text == "*" or text.count(":") == 1:
            raise ValueError(f"{text[:100]!r} must be a name or an address, without a port")
        return read_rule(f"[{text}]" if ":" in text else text).host
    except ValueError as error:
        raise TaskFault(f"{HARBOR}: {where}.allowed_hosts: {error}") from None


def _environment(told: Mapping[str, Any], files: Files) -> Environment:
    for name in ("gpus", "tpus"):
        if told.get(name):
            raise TaskFault(f"{HARBOR}: environment.{name}: boxes have none")
    if str(told.get("os", "linux")) != "linux":
        raise TaskFault(f"{HARBOR}: environment.os: boxes run Linux")
    if told.get("mcp_servers"):
        raise TaskFault(f"{HARBOR}: environment.mcp_servers: is not supported")
    for name in files:
        if _COMPOSE.fullmatch(name):
            raise TaskFault(f"environment/{name}: several containers are not supported")
    image = told.get("docker_image")
    if image is not None:
        tier = tier_of(str(image))
        if tier is None:
            raise TaskFault(f"{HARBOR}: environment.docker_image: must be an image tier: {', '.join(TIERS)}")
        made = Environment(image=tier)
        if "Dockerfile" in files:
            raise TaskFault(
                f"{HARBOR}: environment.docker_image: there is environment/Dockerfile as well; remove one of them"
            )
        if files:
            place = _absolute(str(told.get("workdir") or made.workdir))
            copied = {absolute(name, place): file for name, file in files.items()}
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
        memory_mb=_size(told, "memory", "environment"),
        disk_mb=_size(told, "storage", "environment"),
        build_s=_seconds(told.get("build_timeout_sec"), "environment.build_timeout_sec"),
    )


def _size(told: Mapping[str, Any], name: str, where: str) -> int | None:
    """Returns a size in MiB from `memory_mb`, or from the older form `memory = "2G"`."""
    exact = told.get(f"{name}_mb")
    if exact is not None:
        if type(exact) not in (int, float) or not 0 < exact < _MOST_MB:
            raise TaskFault(f"{HARBOR}: {where}.{name}_mb: must be a number above 0")
        return math.ceil(float(exact))
    older = told.get(name)
    if older is None:
        return None
    match = _SIZE.fullmatch(str(older).strip())
    if match is None:
        raise TaskFault(f"{HARBOR}: {where}.{name}: must be a size with its unit, such as 2G, not {older!r:.100}")
    size = float(match[1]) * _MB[match[2].upper()]
    if not 0 < size < _MOST_MB:
        raise TaskFault(f"{HARBOR}: {where}.{name}: must be above 0 and below {_MOST_MB:g} MiB")
    return math.ceil(size)


# --- terminal-bench 1 ------------------------------------------------------------------------------------------------


def _older(id: str, files: Files) -> Task:
    try:
        told = yaml.safe_load(files[OLDER].text(OLDER))
    except _YAML as error:
        raise TaskFault(f"{OLDER}: {_said(error)}") from None
    if not isinstance(told, dict) or not isinstance(told.get("instruction"), str):
        raise TaskFault(f"{OLDER}: must have an instruction")
    compose = [name for name in files if _COMPOSE.fullmatch(name)]
    if len(compose) > 1 or (compose and _services_of(files[compose[0]], compose[0]) > 1):
        raise TaskFault(f"{compose[0]}: several containers are not supported")
    if "Dockerfile" not in files:
        raise TaskFault("Dockerfile: is missing")
    if "run-tests.sh" not in files:
        raise TaskFault("run-tests.sh: is missing")
    # The policy's box must contain neither the tests nor the solution, whatever the Dockerfile copies.
    hidden = {*_OLDER_OWN, *compose}
    context = {name: file for name, file in files.items() if name not in hidden and not name.startswith(_OLDER_FOLDERS)}
    environment = read_dockerfile(files["Dockerfile"].text("Dockerfile"), context, "Dockerfile")
    # The older format's runner copies both into /tests, and reads pytest's results from its output; here, the exit code
    # decides.
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
    except _YAML as error:
        raise TaskFault(f"{name}: {_said(error)}") from None
    services = told.get("services") if isinstance(told, dict) else None
    return len(services) if isinstance(services, dict) else 0


# --- values ----------------------------------------------------------------------------------------------------------


def _said(error: Exception) -> str:
    return "is nested too deeply" if isinstance(error, RecursionError) else " ".join(str(error).split())


def _table(told: Mapping[str, Any], name: str, where: str = "") -> Mapping[str, Any]:
    found = told.get(name, {})
    if not isinstance(found, dict):
        raise TaskFault(f"{HARBOR}: {where}{name}: must be a table")
    return found


def _texts(value: Any, where: str) -> dict[str, str]:
    if not isinstance(value, dict) or not all(isinstance(item, str) for item in value.values()):
        raise TaskFault(f"{where}: must be a table of strings")
    for name, item in value.items():
        if not name or "=" in name or "\0" in name + item:
            raise TaskFault(f"{where}: {name[:100]!r}: a variable has a name without =, and no zero byte")
        if "${" in item:
            raise TaskFault(f"{where}.{name}: takes its value from the runner's environment, which boxes never see")
    return dict(value)


def _words(value: Any, where: str) -> Sequence[str]:
    if not isinstance(value, list) or not all(isinstance(item, str) and item and "\0" not in item for item in value):
        raise TaskFault(f"{HARBOR}: {where}: must be a list of strings")
    return tuple(value)


def _seconds(value: Any, where: str, *, zero: bool = False) -> float:
    if value is None:
        return _VERIFIER_S
    if type(value) not in (int, float) or not 0 <= value < 1e6 or (value == 0 and not zero):
        raise TaskFault(f"{where}: must be a number of seconds {'from' if zero else 'above'} 0")
    return float(value)


def _absolute(path: str) -> str:
    if not path.startswith("/") or "\0" in path:
        raise TaskFault(f"{HARBOR}: {path[:200]!r}: must be an absolute path")
    return absolute(path, "/")


def _kept(paths: Sequence[str]) -> Sequence[str]:
    made = tuple(_absolute(path) for path in paths)
    for path in made:
        if path == "/" or path.split("/")[1] in ("tests", "solution", "rewarden", "logs"):
            raise TaskFault(f"{HARBOR}: metadata.{_OURS}.keep: {path} is never carried")
    return made


def _without_canary(text: str) -> str:
    """Returns an instruction without its leading canary lines, which mark it for filters of training data."""
    match = _CANARY.match(text)
    return text[match.end() :] if match is not None and "canary" in match[0].lower() else text
