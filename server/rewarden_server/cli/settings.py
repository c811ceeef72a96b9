"""The flags that set configuration, shared by the commands that read it."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import Any

from rewarden_server.config import Config, ConfigError, load_config

_FLAGS = {"host": "server.host", "port": "server.port", "grpc_port": "server.grpc_port", "record": "records.dir"}


def add_settings(parser: argparse.ArgumentParser) -> None:
    """Add the flags."""
    parser.add_argument("--config", type=Path, metavar="FILE", help="the configuration (default: ./rewarden.toml)")
    parser.add_argument("--host", help="address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", help="port of HTTP (default: 8080; 0: any free one)")
    parser.add_argument("--grpc-port", help="port of gRPC (default: 50051; 0: any free one)")
    parser.add_argument("--record", metavar="DIR", help="keep what is unscored or flagged there, for rewarden explain")
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="any other setting, such as engine.workers=4 (docs/configuration.md lists them)",
    )


def read_settings(args: argparse.Namespace, only: str | None = None) -> Config:
    """The settings in force, or those of one section. Raises ConfigError."""
    flags: dict[str, tuple[str, Any]] = {}
    for name, key in _FLAGS.items():
        value = getattr(args, name)
        if value is not None:
            flags[key] = (f"flag --{name.replace('_', '-')}", value)
    for item in args.set:
        key, equals, value = item.partition("=")
        if not equals:
            raise ConfigError(f"--set takes SECTION.KEY=VALUE, not {key!r}")
        flags[key.strip()] = (f"flag --set {key.strip()}", value.strip())
    return load_config(args.config, environ=os.environ, flags=flags, only=only)
