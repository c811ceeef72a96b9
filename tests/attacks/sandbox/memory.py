"""Memory in all its forms. Whoever takes too much is told so, and it is never the supervisor that dies of it."""

from __future__ import annotations

from rewarden_sandboxes.job import Limits
from tests.attacks.sandbox.attack import CALL_ME, ROOMY, Attack

TIGHT = Limits(cpu_s=5.0, wall_s=3.0, memory_mb=96, processes=48, output_bytes=1 << 20, disk_mb=32, open_files=128)

_BYTES = "data = bytearray(b'x' * (20 << 20))\nprint('fine')\n"
_BYTES_C = '#include <stdio.h>\n#include <stdlib.h>\n#include <string.h>\nint main(void) { char *p = malloc(20 << 20); memset(p, 1, 20 << 20); puts(p[99] ? "fine" : ""); }'

# Each has less than the supervisor, so that the kernel, choosing by size alone, would take the supervisor first.
_MANY_SMALL = """
import os, time
for path in ("/proc/self/oom_score_adj", "/proc/self/oom_adj"):
    for value in ("-1000", "-17", "0"):
        try:
            open(path, "w").write(value)
        except OSError:
            pass
held = []
for _ in range(40):
    if os.fork() == 0:
        data = bytearray()
        while len(data) < 7 << 20:
            data += b"x" * (1 << 16)
            time.sleep(0.001)
        time.sleep(600)
time.sleep(600)
"""

ATTACKS = [
    Attack(
        title="a heap without end",
        code=CALL_ME + "data = []\nwhile True:\n    data.append(b'x' * (1 << 20))\n",
        ends=("memory_limit",),
        limit="memory_mb",
        without_counters=("runtime_error",),
        limits=TIGHT,
        twin=_BYTES,
    ),
    Attack(
        title="a heap without end",
        language="c",
        code="#include <stdlib.h>\n#include <string.h>\nint main(void) { while (1) memset(malloc(1 << 20), 1, 1 << 20); }",
        ends=("memory_limit",),
        limit="memory_mb",
        without_counters=("runtime_error",),
        limits=TIGHT,
        twin=_BYTES_C,
    ),
    Attack(
        title="one great allocation",
        code=CALL_ME + "data = bytearray(b'x') * (1 << 40)\n",
        ends=("runtime_error", "memory_limit"),
        limits=TIGHT,
        twin=_BYTES,
    ),
    Attack(
        title="a great array without a word in it",
        language="c",
        code="#include <string.h>\nstatic char data[1L << 30];\nint main(void) { memset(data, 1, sizeof data); return data[7] - 1; }",
        ends=("memory_limit",),
        limit="memory_mb",
        without_counters=("runtime_error",),
        limits=TIGHT,
        twin=_BYTES_C,
    ),
    Attack(
        title="anonymous shared mappings",
        code=CALL_ME
        + "import mmap\nheld = []\nwhile True:\n    m = mmap.mmap(-1, 1 << 20)\n    m[:] = b'x' * (1 << 20)\n    held.append(m)\n",
        ends=("memory_limit",),
        limit="memory_mb",
        without_counters=("runtime_error", "ok", "time_limit"),
        limits=TIGHT,
        twin="import mmap\nm = mmap.mmap(-1, 1 << 20)\nm[:4] = b'fine'\nprint(m[:4].decode())",
    ),
    Attack(
        title="memory files",
        code=CALL_ME
        + "import os\nheld = [os.memfd_create('x') for _ in range(8)]\nwhile True:\n    for number in held:\n        os.write(number, b'x' * (1 << 19))\n",
        ends=("memory_limit", "runtime_error"),
        limits=TIGHT,
        twin="import os\nnumber = os.memfd_create('x')\nos.write(number, b'fine')\nprint(os.pread(number, 4, 0).decode())",
    ),
    Attack(
        title="System V shared memory",
        language="c",
        code="#include <string.h>\n#include <sys/shm.h>\nint main(void) { while (1) { int n = shmget(IPC_PRIVATE, 1 << 20, 0600 | IPC_CREAT); if (n < 0) return 1; memset(shmat(n, 0, 0), 1, 1 << 20); } }",
        ends=("memory_limit", "runtime_error"),
        limits=TIGHT,
        twin='#include <stdio.h>\n#include <sys/shm.h>\nint main(void) { int n = shmget(IPC_PRIVATE, 4096, 0600); char *p = shmat(n, 0, 0); p[0] = 1; shmctl(n, IPC_RMID, 0); puts("fine"); }',
    ),
    Attack(
        title="files in /dev/shm and /tmp taken for memory",
        code=CALL_ME
        + """
n = 0
while True:
    for folder in ("/dev/shm", "/tmp", "/tmp/box"):
        n += 1
        with open(f"{folder}/{n}", "wb") as file:
            file.write(b"x" * (1 << 20))
""",
        ends=("runtime_error", "memory_limit"),
        limits=TIGHT,
        twin="open('/dev/shm/x', 'w').write('fine')\nopen('/tmp/y', 'w').write(open('/dev/shm/x').read())\nprint(open('/tmp/y').read())",
    ),
    Attack(
        title="a stack without end",
        language="c",
        code="volatile int x;\nint deep(int n) { volatile char a[4096]; a[0] = n; return deep(n + 1) + a[x]; }\nint main(void) { return deep(0); }",
        ends=("runtime_error", "memory_limit"),
        limits=TIGHT,
        twin='#include <stdio.h>\nint deep(int n) { volatile char a[64]; a[0] = 1; return n ? deep(n - 1) + a[0] : 0; }\nint main(void) { puts(deep(20000) == 20000 ? "fine" : ""); }',
    ),
    Attack(
        title="a stack without end",
        code=CALL_ME + "import sys\nsys.setrecursionlimit(10**9)\ndef deep(n):\n    return deep(n + 1) + 1\ndeep(0)\n",
        ends=("runtime_error", "memory_limit"),
        limits=TIGHT,
        twin="import sys\nsys.setrecursionlimit(20000)\ndef deep(n):\n    return deep(n - 1) + 1 if n else 0\nprint('fine' if deep(10000) == 10000 else '')",
    ),
    Attack(
        title="children that together take too much",
        code=CALL_ME
        + """
import os, time
for _ in range(8):
    if os.fork() == 0:
        data = b"x" * (24 << 20)
        time.sleep(600)
os.wait()
time.sleep(600)
""",
        ends=("memory_limit",),
        limit="memory_mb",
        without_counters=("time_limit",),
        limits=TIGHT,
        twin="import os\nfor _ in range(4):\n    if os.fork() == 0:\n        data = b'x' * (4 << 20)\n        os._exit(0)\nfor _ in range(4):\n    os.wait()\nprint('fine')",
    ),
    Attack(
        title="small children that beg not to be the first to die",
        code=CALL_ME + _MANY_SMALL,
        ends=("memory_limit",),
        limit="memory_mb",
        without_counters=("time_limit",),
        limits=TIGHT,
        twin=_BYTES,
    ),
    Attack(
        title="a child dies of memory, and the parent says that all went well",
        code=CALL_ME
        + """
import os
if os.fork() == 0:
    data = []
    while True:
        data.append(b"x" * (1 << 20))
os.wait()
print("fine")
""",
        ends=("memory_limit",),
        limit="memory_mb",
        without_counters=("ok",),
        limits=TIGHT,
        twin=_BYTES,
    ),
    Attack(
        title="a great list",
        language="javascript",
        code="const held = [];\nwhile (true) held.push(Buffer.alloc(1 << 20, 1));",
        ends=("memory_limit",),
        limit="memory_mb",
        without_counters=("runtime_error",),
        limits=ROOMY,
        twin="console.log(Buffer.alloc(1 << 20, 1)[5] ? 'fine' : '')",
    ),
    Attack(
        title="objects without end",  # with much code of its own, which the kernel takes away and must read again
        language="javascript",
        code="const held = [];\nwhile (true) held.push(Array.from({ length: 1000 }, (_, i) => ({ i })));",
        ends=("memory_limit", "runtime_error"),
        limits=ROOMY,
        twin="console.log(Array.from({ length: 1000 }, (_, i) => ({ i })).length === 1000 ? 'fine' : '')",
    ),
    Attack(
        title="a variable that doubles",
        language="bash",
        code="x=x\nwhile :; do x=$x$x; done",
        ends=("memory_limit", "runtime_error"),
        limits=TIGHT,
        twin="x=fi\nx=${x}ne\necho $x",
    ),
    Attack(
        title="pipes filled and left",
        code=CALL_ME
        + """
import fcntl, os
held = []
try:
    while True:
        r, w = os.pipe()
        held.append(w)
        os.set_blocking(w, False)
        try:
            fcntl.fcntl(w, 1031, 1 << 20)
        except OSError:
            pass
        try:
            while True:
                os.write(w, b"x" * 65536)
        except BlockingIOError:
            pass
except OSError:
    print("HELD")
""",
        ends=("ok", "memory_limit"),
        limits=TIGHT,
        twin="import os\nr, w = os.pipe()\nos.write(w, b'fine')\nprint(os.read(r, 4).decode())",
    ),
    Attack(
        title="sockets filled and left",
        code=CALL_ME
        + """
import socket
held = []
try:
    while True:
        a, b = socket.socketpair()
        held += [a, b]
        a.setblocking(False)
        a.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 30)
        try:
            while True:
                a.send(b"x" * 65536)
        except BlockingIOError:
            pass
except OSError:
    print("HELD")
""",
        ends=("ok", "memory_limit"),
        limits=TIGHT,
        twin="import socket\na, b = socket.socketpair()\na.send(b'fine')\nprint(b.recv(4).decode())",
    ),
]
