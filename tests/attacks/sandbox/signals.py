"""Signals: to oneself, to everybody, to the room's init, and all of them ignored."""

from __future__ import annotations

from tests.attacks.sandbox.attack import CALL_ME, ROOMY, Attack

_HANDLED = """
import os, signal
got = []
signal.signal(signal.SIGUSR1, lambda *about: got.append(1))
os.kill(os.getpid(), signal.SIGUSR1)
print("fine" if got else "lost")
"""

_IGNORE_ALL = """
import signal
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
"""

ATTACKS = [
    Attack(
        title="ignores every signal and spins",
        code=CALL_ME + _IGNORE_ALL + "while True:\n    pass\n",
        ends=("time_limit",),
        limit="cpu_s",
        twin=_HANDLED,
    ),
    Attack(
        title="takes its clock away and spins",
        code=CALL_ME
        + """
import signal
signal.signal(signal.SIGALRM, signal.SIG_IGN)
for which in (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF):
    signal.setitimer(which, 0)
signal.alarm(0)
signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))
while True:
    pass
""",
        ends=("time_limit",),
        limit="cpu_s",
        twin=_HANDLED,
    ),
    Attack(
        title="ignores every signal and sleeps",
        code=CALL_ME + _IGNORE_ALL + "import time\ntime.sleep(600)\n",
        ends=("time_limit",),
        limit="wall_s",
        twin=_HANDLED,
    ),
    Attack(
        title="stops itself",
        code=CALL_ME + "import os, signal\nos.kill(os.getpid(), signal.SIGSTOP)\n",
        ends=("time_limit",),
        limit="wall_s",
        twin=_HANDLED,
    ),
    Attack(
        title="stops its init",
        code=CALL_ME
        + """
import os, signal
for number in (signal.SIGSTOP, signal.SIGTSTP, signal.SIGKILL):
    try:
        os.kill(1, number)
    except OSError:
        pass
print("HELD")
""",
        held=True,
        twin=_HANDLED,
    ),
    Attack(
        title="stops its parent",  # which is outside, and has no number in the room: 0 is the program's own group
        code=CALL_ME + "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nprint('went on')\n",
        ends=("time_limit",),
        limit="wall_s",
        twin=_HANDLED,
    ),
    Attack(
        title="kills its parent",
        code=CALL_ME + "import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nprint('went on')\n",
        ends=("runtime_error",),
        twin=_HANDLED,
    ),
    Attack(
        title="kills everybody that it can",
        code=CALL_ME + "import os\ntry:\n    os.kill(-1, 9)\nexcept OSError:\n    pass\nprint('HELD')\n",
        held=True,
        twin=_HANDLED,
    ),
    Attack(
        title="kills everybody that it can",
        language="c",
        code='#include <signal.h>\n#include <stdio.h>\nint main(void) { kill(-1, SIGKILL); kill(-1, SIGTERM); puts("HELD"); }',
        held=True,
        twin='#include <signal.h>\n#include <stdio.h>\nint main(void) { signal(SIGUSR1, SIG_IGN); raise(SIGUSR1); puts("fine"); }',
    ),
    Attack(
        title="sends every signal to the first processes, init among them",
        code=CALL_ME
        + """
import ctypes, os
LIBC = ctypes.CDLL(None)
LIBC.syscall.restype = ctypes.c_long
me = os.getpid()
info = (ctypes.c_int * 32)()
info[2] = -60
for pid in range(1, 300):
    if pid != me:
        for number in range(1, 65):
            try:
                os.kill(pid, number)
            except OSError:
                pass
            info[0] = number
            LIBC.syscall(129, pid, number, info)  # rt_sigqueueinfo: with what the sender made up
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin=_HANDLED,
    ),
    Attack(
        title="sends every signal to init, then fails",
        code=CALL_ME
        + """
import os, sys, time
for _ in range(20):
    for number in range(1, 65):
        try:
            os.kill(1, number)
        except OSError:
            pass
sys.exit(3)
""",
        ends=("runtime_error",),
        twin=_HANDLED,
    ),
    Attack(
        title="kills its own group",
        code=CALL_ME
        + "import os\nif os.fork():\n    os.kill(0, 9)\nelse:\n    os.setsid()\n    while True:\n        pass\n",
        ends=("runtime_error",),
        twin=_HANDLED,
    ),
    Attack(
        title="dies by a signal that is a limit's",
        code=CALL_ME + "import os, signal\nos.kill(os.getpid(), signal.SIGKILL)\n",
        ends=("runtime_error",),
        twin=_HANDLED,
    ),
    Attack(
        title="has init's priority and cores changed",
        code=CALL_ME
        + """
import os, sys
for what in (
    lambda: os.setpriority(os.PRIO_PROCESS, 1, 19),
    lambda: os.sched_setscheduler(1, os.SCHED_IDLE, os.sched_param(0)),
    lambda: os.sched_setaffinity(1, {0}),
):
    try:
        what()
    except OSError:
        pass
sys.exit(3)
""",
        ends=("runtime_error",),
        twin=_HANDLED,
    ),
    Attack(
        title="changes what the kernel holds of init's memory",  # which all rooms' inits share with their maker
        code=CALL_ME
        + """
for name, text in (("oom_score_adj", "1000"), ("coredump_filter", "0"), ("comm", "other"), ("timerslack_ns", "10")):
    try:
        with open("/proc/1/" + name, "w") as file:
            file.write(text)
        print("BREACH", name)
    except OSError:
        pass
print("HELD")
""",
        held=True,
        twin=_HANDLED,
    ),
]
