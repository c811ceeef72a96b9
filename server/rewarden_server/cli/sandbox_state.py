"""The state of the sandbox, for `rewarden doctor`: runs a program on each host."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

from rewarden_sandboxes.errors import HostError
from rewarden_server.boxes.settings import BoxSettings
from rewarden_server.engine.lanes.host_skew import host_skew
from rewarden_server.observe.check import Check, Problem
from rewarden_server.observe.health import mend_of, sandbox_problems
from rewarden_server.processes.host import HostProcess, client_of
from rewarden_server.processes.settings import SandboxSettings

_START_S = 30.0
_PROBE_S = 90.0


async def sandbox_state(settings: SandboxSettings, boxes: BoxSettings) -> Check:
    """Runs a program in each sandbox host."""
    if settings.addresses:
        return await _remote_state(settings, boxes)
    if settings.launcher == "none":
        return Check("sandbox", "none (sandbox.launcher = none)", used=False)
    process = HostProcess(settings)
    try:
        status = await (await process.client(_START_S)).status(probe=True, timeout_s=_PROBE_S)
    except HostError as error:
        return Check("sandbox", "missing", problems=(Problem(f"the sandbox: {error.message}", mend_of(error.message)),))
    finally:
        await process.close()
    summary, *details = _host_lines(status)
    return Check(
        "sandbox",
        summary,
        tuple(details),
        tuple(sandbox_problems(status)),
        warnings=tuple(_box_memory(status, boxes)),
    )


async def _remote_state(settings: SandboxSettings, boxes: BoxSettings) -> Check:
    """The same for hosts that are already running, by address."""
    found = await asyncio.gather(*(_probed(address, settings) for address in settings.addresses))
    told = dict(zip(settings.addresses, found, strict=True))
    lines: list[str] = []
    missing: list[Problem] = []
    warnings: list[Problem] = []
    for address, status in told.items():
        which = f"{address}: " if len(told) > 1 else ""
        if isinstance(status, HostError):
            lines.append(f"{which}missing")
            missing.append(Problem(f"the sandbox host {address}: {status.message}", _mend_of(address, status)))
        else:
            lines += [f"{which}{line}" for line in _host_lines(status)]
            missing += [Problem(f"{which}{problem}", mend) for problem, mend in sandbox_problems(status)]
            warnings += [Problem(f"{which}{warning}", mend) for warning, mend in _box_memory(status, boxes)]
    alike = "give all hosts the same release, settings and images (docs/sandbox.md)"
    answered = {address: status for address, status in told.items() if not isinstance(status, HostError)}
    missing += [Problem(words, alike) for words in host_skew(answered)]
    if len(told) == 1:
        summary, *lines = lines
    else:
        summary = f"{len(answered)} of {len(told)} hosts answer"
    return Check("sandbox", summary, tuple(lines), tuple(missing), warnings=tuple(warnings))


def _box_memory(status: Mapping[str, Any], boxes: BoxSettings) -> list[Problem]:
    """Returns the warning that the boxes of a host, each with its default limits, can fill more than the machine's
    memory, which their files are held in as well."""
    most, has = (status.get("boxes") or {}).get("most"), status.get("machine_memory_mb")
    each = boxes.memory_mb + boxes.disk_mb
    if not most or not has or not status.get("rooms", True) or most * each <= has:
        return []
    return [
        Problem(
            f"{most} boxes (sandbox.boxes) can fill {most * each} MiB, each boxes.memory_mb + boxes.disk_mb = {each}, "
            f"and the machine has {has}: if they do, the kernel ends programs of any of them",
            f"sandbox.boxes = {max(1, has // each)}, or smaller boxes.memory_mb and boxes.disk_mb",
        )
    ]


async def _probed(address: str, settings: SandboxSettings) -> Mapping[str, Any] | HostError:
    try:
        client = client_of(address, settings)
    except HostError as error:
        return error
    try:
        return await client.status(probe=True, timeout_s=_PROBE_S)
    except HostError as error:
        return error
    finally:
        await client.close()


def _mend_of(address: str, error: HostError) -> str:
    if "token" in error.message or "TLS" in error.message or "tls_" in error.message:
        return "check sandbox.token_file and sandbox.tls_ca on both sides (docs/sandbox.md)"
    return f"rewarden sandbox-host --listen {address}"


def _host_lines(status: Mapping[str, Any]) -> list[str]:
    """Returns the host's status, one line per item."""
    probe = status.get("probe") or {}
    where = " ".join(filter(None, [status.get("launcher"), status.get("runtime")]))
    head = f"{where} runs programs" if probe.get("ok") else "no program runs"
    rooms = "" if status.get("rooms", True) else "; each in its own container, which is slower (no rooms)"
    lines = [f"{head}{rooms}"]
    rows = status.get("languages", {})
    for name, image in status.get("images", {}).items():
        first = [language for language, row in rows.items() if row["images"][0] == name]
        lines.append(f"image {name}: {image or 'not built'}; {', '.join(first) or 'languages of other images'}")
    enforced = status.get("enforced", {})
    if enforced:
        lines.append(f"limits enforced by: {', '.join(f'{name}: {how}' for name, how in enforced.items())}")
    return lines
