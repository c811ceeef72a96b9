"""The problems of a running server, each with its fix, for `/v1/info` and its page.

`rewarden doctor` takes its time and looks harder: it runs a program and calls the judges. Nothing is started here; the
parts only report what they already know.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from rewarden_server.config import Config
from rewarden_server.observe.check import Problem

_COMMAND = re.compile(r"\b(?:apt-get|docker|pip|rewarden|sysctl|systemctl|usermod) [^;,()]+")


def problems(
    info: Mapping[str, Any], config: Config, *, keys_usable: bool = True, verifiers: Iterable[Problem] = ()
) -> list[dict[str, str]]:
    """Returns the problems in the rest of `/v1/info`, each as `{"what", "mend"}`, ready for JSON. keys_usable: whether
    the key file can be used as it is now. verifiers: the problems of those that this installation cannot use."""
    found = [
        *_sandbox(info["sandbox"]),
        *_cache(info["engine"]),
        *_lean(info["lean"]),
        *_judges(info["judges"]),
        *_models(info["models"]),
        *_runs(info["runs"]),
        *_keys(usable=keys_usable),
        *verifiers,
        *open_to_all(config, keyed=bool(info["keys"])),
        # Only the setting is named: callers on other machines must not learn paths.
        *(Problem(f"{key}: the folder cannot be written", "rewarden doctor") for key, _ in unwritable(config)),
    ]
    return [{"what": what, "mend": mend} for what, mend in found]


def _sandbox(status: Mapping[str, Any]) -> list[Problem]:
    """Returns the problems of the lane and of each of its hosts. A host that has not been started is not a problem."""
    hosts = status.get("hosts") or ()
    away = [host for host in hosts if host.get("state") != "ready"]
    found = [
        Problem(f"the sandbox host {host['address']}: {host['reason']}", mend_of(str(host["reason"]))) for host in away
    ]
    if not hosts and status.get("state") == "missing":
        found.append(Problem(f"the sandbox: {status['reason']}", mend_of(str(status["reason"]))))
    told = [host["host"] for host in hosts if host.get("state") == "ready"] or [status.get("host")]
    found += [problem for host in told if host and host.get("ready") for problem in sandbox_problems(host)]
    alike = "give all hosts the same release, settings and images (docs/sandbox.md)"
    return [*found, *(Problem(words, alike) for words in status.get("differences") or ())]


def sandbox_problems(status: Mapping[str, Any]) -> list[Problem]:
    """Returns the problems in the status of one sandbox host. Its messages contain the command that fixes them."""
    probe = status.get("probe") or {}
    reason = probe.get("reason") or status.get("problem")
    if reason is not None:
        # Everything else that such a host lacks follows from this.
        return [Problem(f"the sandbox: {reason}", mend_of(str(reason)))]
    found = []
    for tier, modules in (status.get("missing") or {}).items():
        if modules:
            found.append(
                Problem(f"the sandbox's Python lacks {', '.join(modules)} ({tier})", "rewarden sandbox-host build")
            )
    unheld = [name for name in status.get("limits") or {} if not (status.get("enforced") or {}).get(name)]
    if unheld and status.get("enforced"):
        found.append(
            Problem(f"the sandbox does not enforce {', '.join(unheld)}", "see docs/sandbox.md for the requirements")
        )
    return found


def mend_of(reason: str, otherwise: str = "see docs/sandbox.md") -> str:
    """Returns the command that a problem's message contains, or else the other fix."""
    command = _COMMAND.search(reason)
    return command[0].strip() if command is not None else otherwise


def _cache(engine: Mapping[str, Any]) -> list[Problem]:
    if engine.get("cache_shared") != "away":
        return []
    return [
        Problem("engine.cache_redis: Redis does not answer, so each server has only its own cache", "rewarden doctor")
    ]


def _lean(status: Mapping[str, Any]) -> list[Problem]:
    return [
        Problem(f"lean project {name}: {project['problem']}", "see lean.projects in docs/lean.md")
        for name, project in (status.get("projects") or {}).items()
        if project.get("problem")
    ]


def _judges(status: Mapping[str, Any]) -> list[Problem]:
    found = []
    for name, judge in status.items():
        if judge.get("breaker", "closed") != "closed":
            found.append(
                Problem(
                    f"judge {name}: it failed repeatedly; its requests wait until a probe succeeds",
                    "rewarden doctor",
                )
            )
        spent = [of for of, left in (judge.get("left") or {}).items() if isinstance(left, (int, float)) and left <= 0]
        if spent:
            mend = f"raise judges.named.{name}.budget_*"
            found.append(Problem(f"judge {name}: its budget of {', '.join(spent)} is spent", mend))
    return found


def _models(status: Mapping[str, Any]) -> list[Problem]:
    return [
        Problem(f"model {name}: {model.get('problem', 'it failed')}", "rewarden doctor")
        for name, model in status.items()
        if model.get("state") == "failed"
    ]


def _runs(status: Mapping[str, Any]) -> list[Problem]:
    if status["state"] != "failing":
        return []
    return [Problem("runs.dir: runs cannot be stored; the log says why", "rewarden doctor")]


def _keys(*, usable: bool) -> list[Problem]:
    """Paths and line numbers are for people on the machine, who find them in the log and the command's output."""
    if usable:
        return []
    return [
        Problem(
            "keys.file: the file is invalid or unreadable, and the keys from before the change stay in force",
            "rewarden keys list",
        )
    ]


def open_to_all(config: Config, *, keyed: bool) -> list[Problem]:
    """Returns a problem if the server has no keys and can be reached from other machines."""
    if keyed or config.server.local:
        return []
    reached = config.server.published or config.server.host
    words = f"the server has no API keys and is open to everyone who can reach {reached}"
    return [Problem(words, "rewarden keys new NAME")]


def unwritable(config: Config) -> list[tuple[str, Path]]:
    """Returns the folders that cannot be written, each with the setting that names it."""
    named = (
        ("engine.cache_dir", config.engine.cache_dir),
        ("limits.blob_dir", config.limits.blob_dir),
        ("runs.dir", config.runs.folder if config.runs.store else None),
    )
    return [(key, folder) for key, folder in named if folder is not None and not _writable(folder)]


def _writable(folder: Path) -> bool:
    """Returns whether the folder can be written to, or created."""
    while not folder.exists() and folder != folder.parent:
        folder = folder.parent
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
