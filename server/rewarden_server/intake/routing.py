"""The server's own routing: the use for samples that name none, in requests that name none either."""

from __future__ import annotations

from rewarden.errors import RewardenError
from rewarden.routing import Routing, read_routing
from rewarden.types import BadSample, Batch, Sample
from rewarden_server.config import Config, ConfigError


def load_routing(config: Config) -> Routing | None:
    """The routes that the configuration names, if it names some. Raises ConfigError naming the setting."""
    file = config.routing.file
    if file is None:
        return None
    try:
        return read_routing(file)
    except (RewardenError, OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{config.source('routing.file')}: routing.file: {error}") from None


def routed(sample: Sample | BadSample, header: Batch, routing: Routing | None) -> Sample | BadSample:
    """A sample of a request with who judges it, where neither it nor its request says so."""
    if routing is None or header.use is not None or isinstance(sample, BadSample):
        return sample
    return routing.apply(sample, header.shared)
