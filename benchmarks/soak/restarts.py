"""Disruptions of the services under load: each service is restarted, as in a rolling deployment, and killed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable

from benchmarks.server import children, descendants
from benchmarks.soak.services import Service, Services

Disturb = Callable[[Services], None]
"""Causes a disturbance. On return, stopped services have been started again, but need not be ready."""


def disturbances(services: Services) -> list[tuple[str, Disturb]]:
    """Returns all disturbances by name, in their order."""
    found: list[tuple[str, Disturb]] = [("server: SIGTERM", lambda all_: _restart(all_.server, signal.SIGTERM))]
    for number, host in enumerate(services.hosts):
        found.append((f"sandbox host {number}: SIGTERM", lambda _, host=host: _restart(host, signal.SIGTERM)))  # type: ignore[misc]
    found += [
        ("a worker: SIGKILL", _kill_worker),
        ("the workers' template: SIGKILL", _kill_template),
        ("sandbox host 0: SIGKILL", lambda all_: _restart(all_.hosts[0], signal.SIGKILL)),
        ("server: SIGKILL", lambda all_: _restart(all_.server, signal.SIGKILL)),
    ]
    return found


def _restart(service: Service, number: int) -> None:
    service.end(number)
    service.begin()


def _kill_worker(services: Services) -> None:
    workers = [pid for template in children(services.server.pid) for pid in descendants(template)]
    if not workers:
        raise RuntimeError("there is no worker to kill")
    _kill(random.choice(workers))


def _kill_template(services: Services) -> None:
    templates = children(services.server.pid)
    if not templates:
        raise RuntimeError("there is no template to kill")
    _kill(templates[0])


def _kill(pid: int) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
