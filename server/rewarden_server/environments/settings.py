"""The settings of environments."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated

from rewarden_server.setting import Pairs, Positive, Whole, table
from rewarden_verifiers.schema import AfterValidator


def _expanded(corpora: Mapping[str, str]) -> Mapping[str, str]:
    return {name: os.path.expanduser(place) for name, place in corpora.items()}


@dataclass(frozen=True, slots=True, kw_only=True)
class EnvironmentSettings:
    """Environments.

    corpora: maps names to files of documents, which `search` can search: a JSON object with `id`, `text` and perhaps
    `title` in each line; or to folders with checkouts of tau2-bench. per_key: the live episodes of one key at once.
    idle_s: seconds without a message after which an episode is forgotten. message_bytes: the size of a message, options
    included.
    """

    corpora: Annotated[Mapping[str, str], Pairs, AfterValidator(_expanded), table("name", "file")] = field(
        default_factory=dict
    )
    per_key: Whole = 256
    idle_s: Positive = 600.0
    message_bytes: Whole = 1024**2
