"""CPU and idle time: a program that uses too much of either is stopped, however it spreads the use."""

from __future__ import annotations

from rewarden_sandboxes.job import Limits
from tests.attacks.sandbox.attack import CALL_ME, Attack

SHORT = Limits(cpu_s=0.5, wall_s=5.0, memory_mb=256, processes=32, output_bytes=1 << 20, disk_mb=16, open_files=64)
IDLE = Limits(cpu_s=5.0, wall_s=0.4, memory_mb=256, processes=32, output_bytes=1 << 20, disk_mb=16, open_files=64)

_LITTLE = """
import time
until = time.process_time() + 0.05
while time.process_time() < until:
    pass
print("fine")
"""

_NAP = "import time\ntime.sleep(0.05)\nprint('fine')\n"


def _cpu(title: str, code: str, language: str = "python", twin: str = _LITTLE) -> Attack:
    name = CALL_ME if language == "python" else ""
    return Attack(
        title=title, language=language, code=name + code, ends=("time_limit",), limit="cpu_s", limits=SHORT, twin=twin
    )


def _idle(title: str, code: str, language: str = "python", twin: str = _NAP) -> Attack:
    name = CALL_ME if language == "python" else ""
    return Attack(
        title=title, language=language, code=name + code, ends=("time_limit",), limit="wall_s", limits=IDLE, twin=twin
    )


_LITTLE_C = '#include <stdio.h>\nint main(void) { for (volatile int n = 0; n < 1000000; n++); puts("fine"); }'

ATTACKS = [
    _cpu("spins", "while True:\n    pass\n"),
    _cpu("spins", "int main(void) { for (volatile int n = 0;; n++); }", "c", _LITTLE_C),
    _cpu("spins", "while :; do :; done", "bash", "echo fine"),
    _cpu("spins", "for (;;);", "javascript", "console.log('fine')"),
    _cpu(
        "spins in threads",
        "#include <pthread.h>\nstatic void *spin(void *x) { for (volatile int n = 0;; n++); }\n"
        "int main(void) { pthread_t t; for (int n = 0; n < 4; n++) pthread_create(&t, 0, spin, 0); pthread_exit(0); }",
        "c",
        _LITTLE_C,
    ),
    _cpu(
        "spins in children and waits for them",
        "import os\nfor _ in range(4):\n    if os.fork() == 0:\n        while True:\n            pass\nos.wait()\n",
    ),
    _cpu(
        "spins in children of children, which nobody waits for, and sleeps",
        """
import os, time
for _ in range(4):
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            while True:
                pass
        os._exit(0)
time.sleep(600)
""",
    ),
    _cpu(
        "spins in a long row of short-lived children whose death it ignores",
        """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
while True:
    if os.fork() == 0:
        until = time.process_time() + 0.01
        while time.process_time() < until:
            pass
        os._exit(0)
    time.sleep(0.01)
""",
    ),
    _cpu(
        "spins in a row of orphans that beget each other",
        """
import os, time
if os.fork() == 0:
    while True:
        until = time.process_time() + 0.01
        while time.process_time() < until:
            pass
        if os.fork():
            os._exit(0)
while True:
    try:
        os.wait()
    except OSError:
        time.sleep(0.05)
""",
    ),
    _cpu(
        "becomes itself anew for ever",
        "import os\nos.execv('/usr/bin/python3', ['python3', '-c', 'import os, sys; os.execv(\"/usr/bin/python3\", "
        "[\"python3\", \"-c\", \"while True: pass\"])'])",
    ),
    _cpu(
        "burns in the kernel",
        "import os\nnumber = os.open('/dev/zero', os.O_RDONLY)\nwhile True:\n    os.read(number, 1 << 20)\n",
    ),
    _cpu("burns in one long call", "x = 7 ** 10 ** 9\n"),
    _cpu("burns in a regular expression", "import re\nre.match('(a*)*b', 'a' * 60)\n"),
    _cpu(
        "lowers its priority and spins",
        "import os\nos.nice(19)\nos.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))\nwhile True:\n    pass\n",
    ),
    _cpu(
        "spins, and yields at every turn",
        "import os\nwhile True:\n    os.sched_yield()\n",
    ),
    _idle("sleeps", "import time\ntime.sleep(600)\n"),
    _idle("sleeps", "#include <unistd.h>\nint main(void) { sleep(600); }", "c", '#include <unistd.h>\n#include <stdio.h>\nint main(void) { usleep(50000); puts("fine"); }'),
    _idle("sleeps", "sleep 600", "bash", "sleep 0.05; echo fine"),
    _idle("sleeps", "setTimeout(() => {}, 600000)", "javascript", "setTimeout(() => console.log('fine'), 50)"),
    _idle("sleeps a thousandth at a time", "import time\nwhile True:\n    time.sleep(0.001)\n"),
    _idle("waits in select", "import select\nselect.select([], [], [])\n"),
    _idle("waits in poll", "import select\nselect.poll().poll()\n"),
    _idle("pauses", "import signal\nsignal.pause()\n"),
    _idle("waits for a lock that it holds", "import threading\nlock = threading.Lock()\nlock.acquire()\nlock.acquire()\n"),
    _idle("reads a pipe of its own", "import os\nr, w = os.pipe()\nos.read(r, 1)\n"),
    _idle("opens a FIFO that nobody writes", "import os\nos.mkfifo('f')\nopen('f')\n"),
    _idle("waits for a child that sleeps", "import os, time\nif os.fork() == 0:\n    time.sleep(600)\nos.wait()\n"),
    _idle(
        "is suspended by a child made with vfork",
        "#include <unistd.h>\nint main(void) { if (vfork() == 0) { pause(); _exit(0); } }",
        "c",
        '#include <unistd.h>\n#include <stdio.h>\nint main(void) { if (vfork() == 0) _exit(0); puts("fine"); }',
    ),
    _idle(
        "waits in a crowd",
        "import threading, time\nfor _ in range(20):\n    threading.Thread(target=time.sleep, args=(600,)).start()\n",
    ),
    _idle("waits for a connection", "import socket\ns = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()\ns.accept()\n"),
    _idle("fills a pipe of its own", "import os\nr, w = os.pipe()\nwhile True:\n    os.write(w, b'x' * 4096)\n"),
]  # fmt: skip

SPREAD = """
import os, signal, time
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
r, w = os.pipe()
for _ in range(4):
    if os.fork() == 0:
        os.close(r)
        os.setsid()
        if os.fork() == 0:
            until = time.process_time() + 0.25
            while time.process_time() < until:
                pass
        os._exit(0)
os.close(w)
os.read(r, 1)
print("fine")
"""
"""Burns a CPU second in four orphans and ends by itself."""
