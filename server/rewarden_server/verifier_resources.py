"""The configured resources of single verifiers: for `sql` its databases, for `lean` its projects, for `task` its
folders, for `swe` its repositories, for `environment` its corpora."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from rewarden.errors import InvalidRequest
from rewarden_sandboxes.lean import NAME
from rewarden_server.config import Config, ConfigError, SqlSettings
from rewarden_server.judges.identity import default_judge, identity
from rewarden_server.lean.projects import Projects, is_remote
from rewarden_server.tasks.repositories import Repositories
from rewarden_verifiers.contract import Resources
from rewarden_verifiers.environments.entries import check_entries
from rewarden_verifiers.environments.resources import EnvironmentResources
from rewarden_verifiers.environments.table import plugins
from rewarden_verifiers.environments.tau2_checkout import check_checkout
from rewarden_verifiers.fingerprint.closure import closure
from rewarden_verifiers.judges.resources import JUDGING, JudgeResources
from rewarden_verifiers.lean.resources import LeanResources
from rewarden_verifiers.repositories.resources import SweResources
from rewarden_verifiers.sql.catalogue import read_catalogue
from rewarden_verifiers.sql.databases import Databases
from rewarden_verifiers.tasks.folder import find_folders, read_folder
from rewarden_verifiers.tasks.resources import TaskResources
from rewarden_verifiers.tasks.task import Task, TaskFault

EMBEDDED = ("sqlite", "duckdb")
"""The database engines that need no server."""

_SCHEMES = {"postgres": ("postgresql", "postgres"), "mysql": ("mysql", "mariadb")}


def resources_of(config: Config, tasks: TaskResources | None = None) -> Mapping[str, Resources]:
    """The resources by verifier. The catalogue's files are read here, once, and so are those of tasks, unless they are
    given; Lean projects are resolved when they are asked for. Raises ConfigError naming the setting.
    """
    judges = _judges(config)
    _check_models(config)
    made: dict[str, Resources] = {"sql": _databases(config), "lean": _lean(config), "task": tasks or tasks_of(config)}
    settings = config.tasks
    repositories = Repositories(settings.repositories) if settings.repositories is not None else None
    made["swe"] = SweResources(size=settings.size, shelf=settings.shelf, repositories=repositories)
    made["environment"] = _corpora(config)
    return {**made, **dict.fromkeys(JUDGING, judges)}


def tasks_of(config: Config) -> TaskResources:
    """The tasks, whose folders are read here, once. Raises ConfigError."""
    settings = config.tasks
    tasks: dict[str, Task] = {}
    try:
        for place in settings.folders:
            for folder in find_folders(Path(place).expanduser()):
                task = read_folder(folder)
                if task.id in tasks:
                    raise TaskFault(f"two folders are named {task.id!r}, which is the id of a task")
                tasks[task.id] = task
    except (TaskFault, OSError) as error:
        said = error.message if isinstance(error, TaskFault) else str(error)
        raise ConfigError(f"{config.source('tasks.folders')}: tasks.folders: {said}") from None
    return TaskResources(tasks=tasks, size=settings.size, shelf=settings.shelf)


def _corpora(config: Config) -> EnvironmentResources:
    files = {name: Path(place) for name, place in config.environments.corpora.items()}
    try:
        for path in files.values():
            (check_checkout if path.is_dir() else check_entries)(path)
        return EnvironmentResources.of(files, plugin_code())
    except (ValueError, OSError) as error:
        raise ConfigError(f"{config.source('environments.corpora')}: environments.corpora: {error}") from None


def plugin_code() -> dict[str, str]:
    """Returns a digest of the code of each environment that a package adds."""
    return {name: closure(module, module).digest for name, (module, _) in plugins().items()}


def _judges(config: Config) -> JudgeResources:
    settings = config.judges
    if settings.default is not None and settings.default not in settings.named:
        known = ", ".join(settings.named) or "none"
        source = config.source("judges.default")
        raise ConfigError(f"{source}: judges.default: unknown judge {settings.default!r}; known: {known}")
    return JudgeResources(
        judges={name: {**identity(made), "fallback": made.fallback} for name, made in settings.named.items()},
        default=default_judge(settings),
    )


def _check_models(config: Config) -> None:
    """Check the default model. What models provide is the engine's to say: it moves with their weights."""
    settings = config.models
    if settings.default is not None and settings.default not in settings.named:
        known = ", ".join(settings.named) or "none"
        source = config.source("models.default")
        raise ConfigError(f"{source}: models.default: unknown model {settings.default!r}; known: {known}")


def _lean(config: Config) -> LeanResources:
    settings = config.lean
    for name, place in settings.projects.items():
        if not NAME.fullmatch(name):
            raise ConfigError(
                f"{config.source('lean.projects')}: lean.projects: invalid name {name!r}; use lowercase letters, "
                "digits and, inside, . _ -, and no prefix worker- or check-"
            )
        if not place or ("://" in place and not is_remote(place)):
            raise ConfigError(
                f"{config.source('lean.projects')}: lean.projects.{name}: must be a folder, or a URL such as "
                "http://HOST"
            )
    for key, names in (("default", [settings.default] if settings.default else []), ("warm", list(settings.warm))):
        for name in names:
            # Without any project configured they are elan's toolchains, which come and go.
            if settings.projects and name not in settings.projects:
                known = ", ".join(settings.projects)
                raise ConfigError(
                    f"{config.source(f'lean.{key}')}: lean.{key}: unknown project {name!r}; known: {known}"
                )
    projects = Projects(settings)
    return LeanResources(projects=projects, default=projects.default)


def _databases(config: Config) -> Databases:
    servers = servers_of(config.sql)
    for engine, dsn in servers.items():
        if urlsplit(dsn).scheme not in _SCHEMES[engine]:
            # The address holds a password: it is not repeated.
            wanted = f"{_SCHEMES[engine][0]}://USER:PASSWORD@HOST/"
            raise ConfigError(f"{config.source(f'sql.{engine}')}: sql.{engine} must be a URL such as {wanted}")
    if config.sql.catalogue is None:
        return Databases(servers=servers)
    try:
        return read_catalogue(config.sql.catalogue, servers)
    except (InvalidRequest, OSError) as error:
        said = error.message if isinstance(error, InvalidRequest) else str(error)
        raise ConfigError(f"{config.source('sql.catalogue')}: sql.catalogue: {said}") from None


def servers_of(settings: SqlSettings) -> dict[str, str]:
    """The servers on which databases may be made, by engine."""
    named = {"postgres": settings.postgres, "mysql": settings.mysql}
    return {engine: dsn for engine, dsn in named.items() if dsn is not None}


def engines_of(settings: SqlSettings) -> list[str]:
    """Returns the engines on which the databases of requests can be made: the embedded ones, and those with a
    server."""
    return [*EMBEDDED, *servers_of(settings)]


def without_password(dsn: str) -> str:
    """An address as it may be shown."""
    # To the last @: one that should have been escaped, as / and # should, is a part of the password.
    return re.sub(r"(?<=://)([^:/@]*:).*(?=@)|(?<=password=)()[^&\s]*", r"\1…", dsn)
