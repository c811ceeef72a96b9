"""The page of NeMo Gym's published servers: the table by which they are judged, and the measured agreement."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from making.markdown import cell, code, table
from rewarden_server.compat.gym_servers import Rule, Server, servers

MEASURED = Path(__file__).parents[2] / "benchmarks" / "gym.json"

_HEAD = """\
# NeMo Gym's published servers

The servers in `resources_servers/` of NVIDIA-NeMo/Gym, 22 August 2026. [NeMo Gym](nemo-gym.md) has the addresses.

**Agreement** counts rows that we wrote in the shape of each server's data, right, wrong and empty ones and edge cases
(`tests/compat/gym_rows.py`). For these rows Gym's own `verify` ran, without a judge, and its rewards were compared with
ours by `python -m benchmarks.gym`; 0.02 apart is equal. `read` means that we only read the server's source, because it
downloads data or needs packages that we could not install. The rows are few and chosen to differ: run the command
on your own rollouts.

"""


def page() -> str:
    """The page."""
    measured = json.loads(MEASURED.read_text(encoding="utf-8"))
    judged = [server for server in servers().values() if server.needs is None]
    rows = [_judged(server, measured.get(server.name)) for server in judged]
    needs = [
        (f"`{server.name}`", cell(server.reward), cell(server.needs))
        for server in servers().values()
        if server.needs is not None
    ]
    ran = [measured[server.name] for server in judged if server.name in measured]
    agree, total = sum(one["agree"] for one in ran), sum(one["rows"] for one in ran)
    lines = [
        f"{len(judged)} servers are judged, {len(needs)} are not. Of {len(ran)} servers, Gym's own code ran: "
        f"{agree} of {total} rewards agree.",
        "",
        "## Judged",
        "",
        *table(("server", "reads", "Gym's reward", "judge", "differs", "agreement"), rows),
        "## Differences",
        "",
        "The rows on which the rewards differ, by Gym's reward, ours and our reason, with an example of each.",
        "",
        *table(("server", "example", "rows", "Gym", "here", "our reason"), _differences(measured)),
        "## Not judged",
        "",
        *table(("server", "Gym's reward", "needs"), needs),
    ]
    return _HEAD + "\n".join(lines).rstrip() + "\n"


def _differences(measured: dict[str, Any]) -> list[tuple[str, ...]]:
    return [
        (f"`{name}`", code(one["example"]), *(str(one[key]) for key in _SHOWN))
        for name, counts in measured.items()
        for one in counts["differing"]
    ]


_SHOWN = ("rows", "gym", "here", "reason")


def _judged(server: Server, measured: dict[str, Any] | None) -> tuple[str, ...]:
    uses = dict.fromkeys(_use(rule) for rule in server.rule if rule.needs is None)
    lacks = [f"Some rows need {rule.needs}." for rule in server.rule if rule.needs is not None]
    return (
        f"`{server.name}`" + (f" ({', '.join(server.names)})" if server.names else ""),
        ", ".join(f"`{name}`" for name in server.fields),
        cell(server.reward),
        ", ".join(uses),
        cell("; ".join([*([server.differs] if server.differs else []), *lacks])),
        "read" if measured is None else f"{measured['agree']} of {measured['rows']}",
    )


def _use(rule: Rule) -> str:
    name = rule.use if isinstance(rule.use, str) else "a recipe"
    return f"[`{name}`](../verifiers/{name}.md)" if isinstance(rule.use, str) else name
