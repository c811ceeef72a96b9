"""Disruptions of the services under load: each is restarted, as a deployment is rolled, and killed."""

from __future__ import annotations

import contextlib
import os
import random
import signal
from collections.abc import Callable

from benchmarks.server import children, descendants
from benchmarks.soak.services import Service, Services

Disturb = Callable[[Services], None]
"""Does it, and returns when it is done; what was stopped has been started again by then, not waited for."""


def disturbances(services: Services) -> list[tuple[str, Disturb]]:
    """All, each with its name, in their order."""
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
