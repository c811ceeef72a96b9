"""The server's own routing: the use for samples without one, in requests without one."""

from __future__ import annotations

from rewarden.errors import RewardenError
from rewarden.routing import Routing, read_routing
from rewarden.types import BadSample, Batch, Sample
from rewarden_server.config import Config, ConfigError


def load_routing(config: Config) -> Routing | None:
    """Returns the configured routes, if there are any. Raises ConfigError, naming the setting."""
    file = config.routing.file
    if file is None:
        return None
    try:
        return read_routing(file)
    except (RewardenError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{config.source('routing.file')}: routing.file: {error}") from None


def routed(sample: Sample | BadSample, header: Batch, routing: Routing | None) -> Sample | BadSample:
    """Returns a request's sample with its use by these routes, if neither it nor its request has one."""
    if routing is None or header.use is not None or isinstance(sample, BadSample):
        return sample
    return routing.apply(sample, header.shared)
