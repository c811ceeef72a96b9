"""Runs as lines of text, for the screen and for `--once`. Names come from samples, so they are escaped."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from rewarden.commands.terminal import one_line
from rewarden_server.top.figures import GROUPS, RECENT, SHARES, Curve, Figures, Part

NO_RUNS = "No runs yet. A run appears with its first verdict."
NOT_STORED = "This server stores no runs: set runs.store (REWARDEN_RUNS_STORE) to true."

BARS = "▁▂▃▄▅▆▇█"
ASCII_BARS = "_.-:=+*#"
"""For outputs whose encoding lacks the other characters."""

_NONE = "-"
_LABELS = {"all_pass": "all right", "all_fail": "all wrong", "partly": "partly scored", "no_answer": "no answer"}
_SHOWN = 5
"""The number of data sources, and of reasons and flags, shown unless all are requested."""
_NAME = 16
"""The longest name of a data source, in characters."""
_HEAD = 12


def list_head(width: int) -> str:
    """Returns the head of the list of runs."""
    return _listed(width, "run", "key", "verdicts", "unscored", "reward", "step", "latest")


def list_line(run: Mapping[str, Any], width: int, now: float) -> str:
    """Returns the line of a run in the list. now: seconds since the epoch."""
    return _listed(
        width,
        one_line(run["name"]),
        one_line(run["key"]),
        f"{run['verdicts']:,}",
        _percent(run["unscored"] / run["verdicts"] if run["verdicts"] else None),
        _reward(run["mean"]),
        _NONE if run["last_step"] is None else f"{run['last_step']:,}",
        _age(now - run["latest"]),
    )


def detail_lines(figures: Figures, width: int, *, everything: bool = False, bars: str = BARS) -> list[str]:
    """Returns a run's figures. everything: all data sources, reasons and flags, not only the largest."""
    return [line[:width].rstrip() for line in _details(figures, width, everything, bars)]


def _details(figures: Figures, width: int, everything: bool, bars: str) -> Iterator[str]:
    run = figures.run
    verifiers = ", ".join(map(one_line, run["verifiers"]))
    yield f"{one_line(run['name'])}: {run['verdicts']:,} verdicts{f' of {verifiers}' if verifiers else ''}"
    most = len(figures.curves) if everything else _SHOWN
    curves = sorted(figures.curves, key=lambda curve: sum(mean is not None for mean in curve.means), reverse=True)
    yield f"{'reward':{_NAME}} {'now':>6} {'lowest':>6} {'highest':>7}  {_span(figures)}"
    for curve in curves[:most]:
        yield _curve_line(curve, max(width - _NAME - 24, 8), bars)
    if len(curves) > most:
        yield f"and {len(curves) - most} more data sources"
    yield f"{'':{_NAME}}" + "".join(f"{_label(name):>10}" for name in (*SHARES, "queue", "run"))
    steps = "steps" if figures.axis == "step" and figures.width == 1 else "points"
    for head, part in (("all", figures.all), (f"last {RECENT} {steps}", figures.recent)):
        yield f"{head:{_NAME}}" + "".join(f"{cell:>10}" for cell in _cells(part))
    kinds = [(_label(kind), _percent(share)) for kind in GROUPS if (share := figures.all.groups[kind])]
    yield f"{'groups':{_HEAD}}" + (", ".join(f"{name} {share}" for name, share in kinds) or _NONE)
    if figures.all.judge_calls:
        yield f"{'judges':{_HEAD}}{_spent(figures.all)}"
        yield f"{f'last {RECENT}':{_HEAD}}{_spent(figures.recent)}"
    for head, counts in (("reasons", figures.reasons), ("flags", figures.flags)):
        shown = list(counts.items())[: None if everything else _SHOWN]
        yield f"{head:{_HEAD}}" + (", ".join(f"{one_line(name)} {count:,}" for name, count in shown) or _NONE)


def _listed(width: int, name: str, key: str, *cells: str) -> str:
    rest = "".join(f"{cell:>{column}}" for cell, column in zip(cells, (11, 9, 8, 9, 9), strict=True))
    first = max(width - len(rest) - 11, 12)
    return f"{_cut(name, first):{first}} {_cut(key, 10):10}{rest}"


def _curve_line(curve: Curve, width: int, bars: str) -> str:
    drawn = _merged(curve.means, width)
    known = [mean for mean in drawn if mean is not None]
    low, high = (min(known), max(known)) if known else (None, None)
    name = _cut(one_line(curve.source) or "(none)", _NAME)
    return f"{name:{_NAME}} {_reward(curve.now):>6} {_reward(low):>6} {_reward(high):>7}  {_drawn(drawn, bars)}"


def _merged(means: Sequence[float | None], most: int) -> list[float | None]:
    """Reduces a curve to this many means, by averaging neighbours."""
    count = min(len(means), most)
    ends = [len(means) * place // count for place in range(count + 1)] if count else []
    merged: list[float | None] = []
    for start, end in pairwise(ends):
        known = [mean for mean in means[start:end] if mean is not None]
        merged.append(sum(known) / len(known) if known else None)
    return merged


def _drawn(means: Sequence[float | None], bars: str) -> str:
    """Returns a character for each mean, scaled from the lowest to the highest."""
    known = [mean for mean in means if mean is not None]
    if not known:
        return ""
    low, high = min(known), max(known)
    scale = (len(bars) - 1) / (high - low) if high > low else 0.0
    return "".join(" " if mean is None else bars[round((mean - low) * scale)] for mean in means)


def _span(figures: Figures) -> str:
    if not figures.places:
        return ""
    first, last = figures.places[0], figures.places[-1]
    if figures.axis == "step":
        return f"steps {first:,} to {last:,}"
    began, ended = (time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(at)) for at in (first, last))
    return f"{began} to {ended}"


def _cells(part: Part) -> list[str]:
    return [*map(_percent, (part.shares[name] for name in SHARES)), _seconds(part.queue_s), _seconds(part.run_s)]


def _spent(part: Part) -> str:
    cost = f", ${part.cost_usd:,.2f}" if part.cost_usd else ""
    return f"{part.judge_calls:,} requests, {part.judge_tokens:,} tokens{cost}"


def _label(name: str) -> str:
    return _LABELS.get(name, name)


def _percent(share: float | None) -> str:
    return _NONE if share is None else f"{share:.1%}"


def _reward(mean: float | None) -> str:
    return _NONE if mean is None else f"{mean:.3f}"


def _seconds(value: float | None) -> str:
    if value is None:
        return _NONE
    return f"{value * 1000:.1f} ms" if value < 1 else f"{value:.1f} s"


def _age(seconds: float) -> str:
    for size, unit in ((86400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds // size:.0f} {unit}"
    return f"{max(seconds, 0):.0f} s"


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + "…"
