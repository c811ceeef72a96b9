"""An engine in this process, with everything that the configuration sets up."""

from __future__ import annotations

import os

from rewarden_server.config import Config, load_config
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_server.verifier_resources import resources_of
from rewarden_verifiers.registry import Registry


def configured_engine(
    registry: Registry | None = None,
    settings: EngineSettings | None = None,
    *,
    config: Config | None = None,
    sandbox: SandboxSettings | None = None,
) -> Engine:
    """Returns an engine that is not started yet. config: None: that of the environment and `rewarden.toml`. sandbox: in
    the place of the configuration's. Raises ConfigError."""
    if config is None:
        config = load_config(environ=os.environ)
    return Engine(
        registry,
        settings=settings,
        sandbox=sandbox or config.sandbox,
        lean=config.lean,
        judges=config.judges,
        models=config.models,
        resources=resources_of(config),
    )
