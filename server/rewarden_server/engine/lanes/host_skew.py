"""The differences between a server's hosts: a verdict must not depend on the host that ran its program."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_ALIKE = {"version": "version", "launcher": "launcher", "limits": "default limits", "most": "highest limits"}


def host_skew(told: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Returns a sentence for each difference between the hosts; `told`: each host's own status, by address.

    Images and languages that only some hosts have are listed too, although programs that need them go to those hosts.
    """
    found = []
    for key, words in _ALIKE.items():
        values = {name: host[key] for name, host in told.items() if key in host}
        if len(set(map(repr, values.values()))) > 1:
            found.append(f"the hosts differ in their {words}: {_by_value(values)}")
    images = _table(told, "images")
    # The image names of two launchers are not comparable.
    same_launcher = len({host.get("launcher") for host in told.values()}) <= 1
    for image, by_host in images.items():
        there = {name: value for name, value in by_host.items() if value}
        if there and len(there) < len(by_host):
            found.append(f"the image {image} is missing on {', '.join(name for name in by_host if name not in there)}")
        if same_launcher and len(set(there.values())) > 1:
            found.append(f"the image {image} differs: {_by_value(there)}")
    for language, rows in _table(told, "languages").items():
        lacking = [name for name, host in told.items() if "languages" in host and name not in rows]
        if lacking:
            found.append(f"the language {language} is missing on {', '.join(lacking)}")
        if len({repr(row) for row in rows.values()}) > 1:
            found.append(f"the language {language} has different settings on {', '.join(rows)}")
    return found


def _table(told: Mapping[str, Mapping[str, Any]], key: str) -> dict[str, dict[str, Any]]:
    """Returns the entries of a table in the hosts' status, by entry and then by host."""
    found: dict[str, dict[str, Any]] = {}
    for name, host in told.items():
        for item, value in (host.get(key) or {}).items():
            found.setdefault(item, {})[name] = value
    return found


def _by_value(values: Mapping[str, Any]) -> str:
    return ", ".join(f"{value} on {name}" for name, value in values.items())
