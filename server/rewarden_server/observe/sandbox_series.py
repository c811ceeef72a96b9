"""The sandbox's gauges, from its lane's status: for all hosts together, and for each if there are several."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.metrics_core import Metric

from rewarden_server.observe.series import gauge


def sandbox_series(status: Mapping[str, Any]) -> Iterator[Metric]:
    """`status`: see `SandboxLane.status`; may be empty."""
    hosts = [host for host in _hosts(status) if host["state"] == "ready"]
    together = {"busy": 0, "idle": 0, "starting": 0}
    for host in hosts:
        for state, count in _slots(host["host"]).items():
            together[state] += count
    yield gauge("rewarden_sandbox_slots", "The hosts' slots, by state.", ("state",), together)
    waiting = status.get("waiting_here", 0) + sum(host["host"].get("waiting", 0) for host in hosts)
    yield GaugeMetricFamily("rewarden_sandbox_waiting", "Waiting jobs, in the server and in the hosts.", waiting)
    yield GaugeMetricFamily(
        "rewarden_sandbox_ready", "Whether programs can run.", float(status.get("state") == "ready")
    )
    yield from _compile_cache([host["host"].get("compile_cache", {}) for host in hosts])
    if status.get("hosts"):
        yield from _by_host(status["hosts"])


def _compile_cache(caches: list[Mapping[str, int]]) -> Iterator[Metric]:
    for name, text in (
        ("hits", "Programs that were compiled before."),
        ("misses", "Programs that had to be compiled, with the compile cache on."),
        ("evictions", "Compiled programs that made room for others."),
    ):
        total = sum(cache.get(name, 0) for cache in caches)
        yield CounterMetricFamily(f"rewarden_sandbox_compile_cache_{name}", text, total)
    size = sum(cache.get("bytes", 0) for cache in caches)
    yield GaugeMetricFamily("rewarden_sandbox_compile_cache_bytes", "Compiled programs that the hosts hold.", size)


def _by_host(hosts: list[Mapping[str, Any]]) -> Iterator[Metric]:
    yield gauge(
        "rewarden_sandbox_host_ready",
        "Whether programs are sent to the host.",
        ("host",),
        {host["address"]: float(host["state"] == "ready") for host in hosts},
    )
    yield gauge(
        "rewarden_sandbox_host_in_flight",
        "Jobs that this server has sent to the host.",
        ("host",),
        {host["address"]: host["in_flight"] for host in hosts},
    )
    yield gauge(
        "rewarden_sandbox_host_slots",
        "The host's slots, by state, as last reported.",
        ("host", "state"),
        [
            ((host["address"], state), count)
            for host in hosts
            if host["state"] == "ready"
            for state, count in _slots(host["host"]).items()
        ],
    )


def _hosts(status: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    own = {"address": "own", "state": "ready", "host": status.get("host", {})}
    found: list[Mapping[str, Any]] = status.get("hosts") or [own]
    return found


def _slots(host: Mapping[str, Any]) -> dict[str, int]:
    """Slots by state, summed over the host's pools."""
    found = {"busy": 0, "idle": 0, "starting": 0}
    for pool in host.get("slots", {}).values():
        found["busy"] += pool["slots"] - pool["idle"]
        found["idle"] += pool["idle"]
        found["starting"] += pool["starting"]
    return found
