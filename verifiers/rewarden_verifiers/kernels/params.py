"""The options of `kernel`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from rewarden_sandboxes.job import Limits
from rewarden_verifiers.execution.candidate import Rule, rules_of

Layout = Literal["contiguous", "strided", "shared"]


@dataclass(frozen=True, kw_only=True)
class KernelParams:
    """Options of `kernel`.

    seeds: Number of random inputs for each case, dtype and layout.
    dtypes: Types to which floating-point inputs and weights are converted, such as `float32` and `float64`. By default
        the reference's own.
    layouts: How inputs lie in memory. `contiguous`; `strided`: each is every second element of a larger array, whose
        other elements are NaN; `shared`: inputs of equal shape and type are the same array.
    atol: Largest absolute difference. By default 1e-4, for 16-bit types 1e-2, for `float64` 1e-7.
    rtol: Largest difference relative to the expected number; the default is as for `atol`.
    forbidden: Names that the kernel's code may not use, such as `matmul` (then also `@`), `conv2d` or `functional`, in
        strings either. Code that finds names at run time (`getattr`, `eval`, `ctypes` …) is then refused as well, and
        C++ whose source does not stand in the kernel as text, or puts names together (`a##b`, `dlsym` …).
    required: Names of which the kernel's code must use at least one, such as `load_inline` or `njit`.
    speed: `none`: a kernel that is right earns 1. `measure`: so it does, and `raw` is the speed-up over the reference.
        `score`: it earns the speed-up over `target`, at most 1.
    target: Speed-up that earns full marks under `score`.
    calls: Timed calls for each case, after three that are not timed. The lower quartile of their times counts.
    steady: Largest ratio of the reference's times before and after the kernel at which times count.
    extraction: Where to find the kernel, as in `code`: by default the last fenced block, then an answer tag, then the
        whole response.
    cpu_s: CPU seconds of the kernel's room, all calls together; the reference's room has as many.
    memory_mb: Memory of each room, in MiB.
    """

    seeds: int = 2
    dtypes: tuple[Literal["float16", "bfloat16", "float32", "float64"], ...] = ()
    layouts: tuple[Layout, ...] = ("contiguous", "strided", "shared")
    atol: float | None = None
    rtol: float | None = None
    forbidden: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    speed: Literal["none", "measure", "score"] = "none"
    target: float = 2.0
    calls: int = 20
    steady: float = 1.25
    extraction: str | tuple[str | dict[str, str], ...] = "lax"
    cpu_s: float = 60.0
    memory_mb: int = 2048

    def __post_init__(self) -> None:
        if not (math.isfinite(self.cpu_s) and 1 <= self.cpu_s <= 600):
            raise ValueError("cpu_s must be from 1 to 600")
        if not 128 <= self.memory_mb <= 8192:
            raise ValueError("memory_mb must be from 128 to 8192")
        if not 1 <= self.seeds <= 20:
            raise ValueError("seeds must be from 1 to 20")
        if not 3 <= self.calls <= 200:
            raise ValueError("calls must be from 3 to 200")
        if not self.layouts:
            raise ValueError("layouts must have at least one")
        if not (math.isfinite(self.target) and self.target > 0):
            raise ValueError("target must be a positive number")
        if not (math.isfinite(self.steady) and self.steady > 1):
            raise ValueError("steady must be a number above 1")
        for name, value in (("atol", self.atol), ("rtol", self.rtol)):
            if value is not None and not (math.isfinite(value) and value >= 0):
                raise ValueError(f"{name} must be a finite number of at least 0")
        for name in (*self.forbidden, *self.required):
            if not name.isidentifier():
                raise ValueError(f"{name[:80]!r} is not a name; give names without dots")
        self.rules  # noqa: B018 - evaluated now, so that an error is reported once, and not for each sample

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """`extraction` as rules."""
        return rules_of(self.extraction)

    @property
    def limits(self) -> Limits:
        """The limits of the kernel's room, which is idle while the other one works."""
        return self._limits(self.cpu_s + 10)

    @property
    def judge_limits(self) -> Limits:
        """The limits of the judge's room. It may be idle for longer than the kernel's, so that a hanging kernel ends
        first.
        """
        return self._limits(2 * self.cpu_s + 30)

    def _limits(self, wall_s: float) -> Limits:
        return Limits(
            cpu_s=self.cpu_s, wall_s=min(wall_s, 600.0), memory_mb=self.memory_mb, output_bytes=1024**2, disk_mb=256
        )
