"""The flags that set configuration, shared by the commands that read it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from rewarden_server.config import Config, ConfigError, load_config

_FLAGS = {"host": "server.host", "port": "server.port", "grpc_port": "server.grpc_port", "record": "records.dir"}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Adds the flags."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="the configuration file (default: ./rewarden.toml)")
    parser.add_argument("--host", help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", help="the HTTP port (default: 8080; 0 picks a free one)")
    parser.add_argument("--grpc-port", help="the gRPC port (default: 50051; 0 picks a free one)")
    parser.add_argument(
        "--record", metavar="DIR", help="record unscored and flagged samples in this folder, for rewarden explain"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="any other setting, such as engine.workers=4 (see docs/configuration.md)",
    )


def read_settings(args: argparse.Namespace, only: str | None = None) -> Config:
    """Returns the settings in effect, or those of one section. Raises ConfigError."""
    flags: dict[str, tuple[str, Any]] = {}
    for name, key in _FLAGS.items():
        value = getattr(args, name)
        if value is not None:
            flags[key] = (f"flag --{name.replace('_', '-')}", value)
    for item in args.set:
        key, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"--set must be SECTION.KEY=VALUE, not {key!r}")
        flags[key.strip()] = (f"flag --set {key.strip()}", value.strip())
    return load_config(args.config, environ=os.environ, flags=flags, only=only)
