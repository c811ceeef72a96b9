"""The start of the supervisor: hello, the bare zygote, and only then the supervisor's own modules.

The order matters. The host puts the slot's processes into their cgroup before it says hello, so nothing is forked
earlier. The bare zygote is forked before the supervisor's modules are imported: every room copies the zygote's memory.
"""

from __future__ import annotations

import json
import os
import signal
import socket

from rewarden_sandboxes.agent.room import SET_DUMPABLE
from rewarden_sandboxes.agent.zygotes import Zygotes


def main(host: socket.socket) -> None:
    """Receives hello and the counters, then serves until the host is gone. Called by the boot code."""
    os.umask(0o022)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    null = os.open("/dev/null", os.O_RDWR)
    for number in (0, 1):
        os.dup2(null, number)
    os.close(null)
    message, numbers, _, _ = socket.recv_fds(host, 65536, 16)
    hello = json.loads(message)
    os.environ.clear()
    os.environ.update(hello["env"])  # inherited by the zygotes, and so by every program
    zygotes = Zygotes(host, numbers, alone=not hello["rooms"])

    from rewarden_sandboxes.agent import mappings
    from rewarden_sandboxes.agent.filters import LIBC
    from rewarden_sandboxes.agent.supervisor import Gone, Supervisor

    try:
        mappings.keep()  # after all the supervisor's modules are loaded
        supervisor = Supervisor(host, hello, dict(zip(hello["counters"], numbers, strict=True)), zygotes)
        # Other processes of this user must not read the memory of the one that reads requests.
        LIBC.prctl(SET_DUMPABLE, 0, 0, 0, 0)
        supervisor.serve()
    except Gone:
        pass
