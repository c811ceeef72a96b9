"""The report of a benchmark: one line per figure, with its promise if it has one."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(slots=True)
class Report:
    """Figures of one benchmark. `broken` names the broken promises."""

    name: str
    broken: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        print(f"\n== {self.name}", flush=True)

    def figure(
        self, what: str, value: float, unit: str = "", *, least: float | None = None, most: float | None = None
    ) -> None:
        """Prints a figure, and records it if it breaks its promise."""
        promise = "" if least is None else f"  (at least {least:g})"
        promise += "" if most is None else f"  (at most {most:g})"
        kept = (least is None or value >= least) and (most is None or value <= most)
        if not kept:
            self.broken.append(what)
        print(f"   {what:58} {value:12.4g} {unit:6}{promise}{'' if kept else '   NOT KEPT'}", flush=True)
