"""A Ray cluster on this machine, for tests of `--engine ray`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def running_cluster() -> Iterator[str]:
    """A cluster with room for two engines of one core, to which this process is connected; its address. Skips without
    the package ray."""
    # Flake: a busy machine needs more than Ray's 30 and 60 s, and processes that nobody asked for cost it seconds each.
    waits = ("RAY_gcs_server_port_wait_time_s", "RAY_raylet_start_wait_time_s", "RAY_worker_register_timeout_seconds")
    patience = dict.fromkeys(waits, "300")
    spare = {"RAY_prestart_worker_first_driver": "0", "RAY_enable_worker_prestart": "0"}
    os.environ.update({"RAY_USAGE_STATS_ENABLED": "0", **patience, **spare})
    ray = pytest.importorskip("ray", reason="the package ray is not installed")
    ray.init(
        "local",
        num_cpus=2,
        include_dashboard=False,
        log_to_driver=False,
        logging_level="ERROR",
        object_store_memory=100 * 1024**2,
    )
    try:
        yield ray.get_runtime_context().gcs_address
    finally:
        ray.shutdown()
