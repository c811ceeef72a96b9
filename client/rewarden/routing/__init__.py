"""The choice of a judge: routes from the fields of a sample to verifiers and recipes, from a file or from flags.

    routing = read_routing("routing.toml")      # or "starter", the routes that ship
    sample = routing.apply(Sample(response=…, data_source="openai/gsm8k", reference="… #### 42"))
    sample.use.name                             # "math"

The same file serves adapters, the server's compatibility routes, and `rewarden rescore`. docs/routing.md is its manual.
"""

from __future__ import annotations

from rewarden.routing.file import STARTER, read_routing, routing_from_json
from rewarden.routing.route import Route, Routing

__all__ = ["STARTER", "Route", "Routing", "read_routing", "routing_from_json"]
