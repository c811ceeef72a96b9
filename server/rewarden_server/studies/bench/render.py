"""A run on a published set as text."""

from __future__ import annotations

from rewarden_server.studies.bench.bench import Bench
from rewarden_server.studies.bench.bench_set import Line
from rewarden_server.studies.calibration.render import (
    attack_lines,
    flags_text,
    interval_text,
    spent_line,
    unscored_text,
    use_text,
    value_text,
)

_WIDTH = 34


def table(found: Bench) -> str:
    """The run as text for a terminal."""
    lines = [f"set         {found.chosen.title}", f"judge       {use_text(found.use)}"]
    lines.append(f"rows        {found.rows:,}; scored {found.scored:,}")
    lines += [f"            {text}" for text in notes(found)]
    if found.flags:
        lines.append(f"flags       {flags_text(found.flags)}")
    if not found.scored:
        return "\n".join([*lines, *([f"            {found.problem}"] if found.problem else [])])
    lines += ["", f"{'':{_WIDTH}}{'value':>8}   95 % interval"]
    lines += [_line(line) for line in found.lines]
    lines += ["", f"overall     {found.chosen.overall}"]
    if found.chosen.ties is not None:
        lines.append(f"ties        {found.ties:,}; a tie counts {found.chosen.ties}")
    if found.attacks:
        lines += ["", *attack_lines(found.attacks, found.targets)]
    elif found.attack_note:
        lines.append(f"no attacks: {found.attack_note}")
    lines += ["", spent_line(found.spent)]
    lines.append(f"time        {time_text(found)}")
    if found.latency is not None:
        lines.append(
            f"latency     {found.latency.median_s:.2f} s a verdict (median), {found.latency.p95_s:.2f} s (95 of 100), "
            "with the wait for its turn"
        )
    return "\n".join(lines)


def time_text(found: Bench) -> str:
    """The time of all verdicts together, and per verdict."""
    return f"{found.took_s:,.1f} s for {found.asked:,} verdicts: {found.took_s / max(found.asked, 1):.2f} s each"


def notes(found: Bench) -> list[str]:
    """The rows that are in no figure, and why."""
    lines = [f"{unscored_text(*key)}: {count:,}" for key, count in found.unscored.items()]
    if found.unscored:
        parts = ", ".join(f"{name} {count:,}" for name, count in found.unscored_parts.items())
        lines.append(f"unscored rows are in no figure below, and count neither as right nor as wrong ({parts})")
    lines += [
        f"{name}: {count:,} rows left out, which {found.use.name} cannot judge"
        for name, count in found.left_out.items()
    ]
    if found.missing:
        lines.append(f"the overall figure is without {', '.join(found.missing)}, which has no scored row")
    return lines


def _line(line: Line) -> str:
    name = "  " * max(0, line.depth - 1) + line.name
    return f"{name:{_WIDTH}}{value_text(line.figure, True):>8}   {interval_text(line.figure, True)}".rstrip()
