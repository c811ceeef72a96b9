"""A busy machine: processes that compute beside the tests."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

COMPUTE = "import os\nwhile os.getppid() == {parent}: pass"
"""Ends with the process that began it, however that ends."""


@contextmanager
def hogs(count: int) -> Iterator[None]:
    """Let so many processes compute for as long as this lasts."""
    with ExitStack() as ending:
        for _ in range(count):
            code = COMPUTE.format(parent=os.getpid())
            process = ending.enter_context(subprocess.Popen([sys.executable, "-I", "-c", code]))
            ending.callback(process.kill)
        yield
