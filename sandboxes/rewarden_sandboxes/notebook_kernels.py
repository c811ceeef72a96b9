"""The kernels of notebooks, and the command that starts the driver of each in a box."""

from __future__ import annotations

from functools import cache
from pathlib import Path

PYTHON = "/usr/bin/python3"

_PROGRAMS = {
    "python": "notebook_python.py",
    "bash": "notebook_bash.sh",
    "javascript": "notebook_javascript.js",
    "r": "notebook_r.R",
}
"""The program of ours that each interpreter runs. That of Python starts the kernel, a package of the image's."""

KERNELS = tuple(_PROGRAMS)

_BOOT = """
import sys, types
for name in ("rewarden_sandboxes", "rewarden_sandboxes.notebook_lines"):
    sys.modules[name] = types.ModuleType(name)
exec(compile(sys.argv[2], "notebook_lines", "exec"), sys.modules[name].__dict__)
exec(compile(sys.argv[3], "driver", "exec"), {"__name__": "__main__"})
"""
"""Attack: a file of the policy's in place of the driver's. All of its text is in its command."""


@cache
def command(kernel: str) -> tuple[str, ...]:
    """Returns the command of a kernel's driver."""
    driver = _text("notebook_driver.py" if kernel == "python" else "notebook_interpreter.py")
    return (PYTHON, "-I", "-S", "-c", _BOOT, kernel, _text("notebook_lines.py"), driver, _text(_PROGRAMS[kernel]))


def _text(name: str) -> str:
    return Path(__file__).with_name(name).read_text("utf-8")
