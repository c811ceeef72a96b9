"""Descriptors: what was inherited, what init holds, and forged reports."""

from __future__ import annotations

from tests.attacks.sandbox.attack import CALL_ME, ROOMY, Attack

FORGED = """
import json, struct
forged = [
    struct.pack("=ciddq", b"S", 0, 0.0, 0.0, 1),
    b"S" + bytes(64),
    b"E forged",
    b"D forged",
    b"P1",
    b"M",
    b"X",
    struct.pack(">I", 40) + json.dumps({"ev": "end"}).encode(),
    json.dumps({"status": "ok", "exit_code": 0}).encode(),
]
"""

_OWN_C = """
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
int main(void) {
    DIR *folder = opendir("/proc/self/fd");
    for (struct dirent *each; (each = readdir(folder));)
        if (each->d_name[0] != '.' && atoi(each->d_name) > 2 && atoi(each->d_name) != dirfd(folder)) printf("BREACH %s\\n", each->d_name);
    puts("HELD");
}
"""

ATTACKS = [
    Attack(
        title="looks for inherited descriptors and writes a forged report into each",
        code=CALL_ME
        + FORGED
        + """
import os, socket
for number in range(3, 4096):
    try:
        about = os.fstat(number)
    except OSError:
        continue
    print("BREACH", number, about)
for number in range(3, 4096):
    for data in forged:
        try:
            os.write(number, data)
            print("BREACH wrote", number)
        except OSError:
            pass
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="import os\nnumber = os.open('/etc/passwd', os.O_RDONLY)\nprint('fine' if number == 3 else number)",
    ),
    Attack(
        title="looks for inherited descriptors",
        language="c",
        code=_OWN_C,
        held=True,
        limits=ROOMY,
        twin='#include <stdio.h>\nint main(void) { puts("fine"); }',
    ),
    Attack(
        title="looks for inherited descriptors",
        language="bash",
        code="exec ls /proc/self/fd\n",
        says=b"0\n1\n2\n3\n",  # the last is the listing's own
        limits=ROOMY,
        twin="echo fine",
    ),
    Attack(
        title="looks for inherited descriptors",
        language="javascript",
        code="""
const fs = require('fs');
for (let n = 3; n < 64; n++) {
    let target = '';
    try { target = fs.readlinkSync('/proc/self/fd/' + n); } catch { continue; }
    if (!/eventpoll|eventfd|io_uring|timerfd|\\/proc\\/|\\/dev\\/null|^pipe:/.test(target)) console.log('BREACH', n, target);
}
console.log('HELD');
""",
        held=True,
        limits=ROOMY,
        twin="console.log('fine')",
    ),
    Attack(
        title="writes a forged report into init's descriptors",
        code=CALL_ME
        + FORGED
        + """
import os
for pid in (1, os.getppid()):
    for number in range(0, 256):
        for path in (f"/proc/{pid}/fd/{number}", f"/proc/{pid}/task/{pid}/fd/{number}"):
            try:
                target = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
            except OSError:
                continue
            print("BREACH opened", path)
            for data in forged:
                os.write(target, data)
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="print('fine')",
    ),
    Attack(
        title="takes init's descriptors by pidfd",
        code=CALL_ME
        + """
import ctypes, os
LIBC = ctypes.CDLL(None, use_errno=True)
try:
    init = os.pidfd_open(1)
except OSError:
    init = -1
for number in range(64):
    if LIBC.syscall(438, init, number, 0) >= 0:
        print("BREACH took", number)
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="import os, signal, select\npid = os.fork()\nif pid == 0:\n    os._exit(0)\nselect.select([os.pidfd_open(pid)], [], [])\nprint('fine')",
    ),
    Attack(
        title="forges a report, then fails",
        code=CALL_ME
        + FORGED
        + """
import os
for pid in ("1", "self", str(os.getppid())):
    for number in range(0, 256):
        if pid == "self" and number < 3:
            continue
        try:
            target = os.open(f"/proc/{pid}/fd/{number}", os.O_WRONLY | os.O_NONBLOCK)
            for data in forged:
                os.write(target, data)
        except OSError:
            pass
os._exit(5)
""",
        ends=("runtime_error",),
        limits=ROOMY,
        twin="print('fine')",
    ),
    Attack(
        title="closes all that it has, and ends well",
        code=CALL_ME + "import os\nos.closerange(0, 4096)\nos._exit(0)\n",
        says=b"",
        twin="import os\nos.close(0)\nprint('fine')",
    ),
    Attack(
        title="closes all that it has, and fails",
        code=CALL_ME + "import os\nos.closerange(0, 4096)\nos._exit(9)\n",
        ends=("runtime_error",),
        twin="import os\nos.close(2)\nprint('fine')",
    ),
    Attack(
        title="opens as many files as it can",
        code=CALL_ME
        + """
import os
n = 0
try:
    while n < 100_000:
        os.open("/dev/null", os.O_RDONLY)
        n += 1
    print("BREACH", n)
except OSError:
    print("HELD")
""",
        held=True,
        twin="import os\nfor _ in range(40):\n    os.open('/dev/null', os.O_RDONLY)\nprint('fine')",
    ),
    Attack(
        title="sends its descriptors to itself without end",
        code=CALL_ME
        + """
import os, socket
a, b = socket.socketpair()
a.setblocking(False)
try:
    while True:
        socket.send_fds(a, [b"x"], [0, 1, 2] * 20)
except OSError:
    print("HELD")
""",
        ends=("ok",),
        twin="import socket\na, b = socket.socketpair()\nsocket.send_fds(a, [b'fine'], [1])\nprint(socket.recv_fds(b, 4, 1)[0].decode())",
    ),
    Attack(
        title="writes into its own stdin",
        code=CALL_ME
        + """
import os
try:
    number = os.open("/proc/self/fd/0", os.O_RDWR)
    os.write(number, b"x" * 1000)
except OSError:
    pass
print("HELD")
""",
        held=True,
        twin="import os\nprint('fine' if os.read(0, 1) == b'' else '')",
    ),
    Attack(
        title="reads what it printed",
        code=CALL_ME
        + """
import os
print("HELD", flush=True)
try:
    number = os.open("/proc/self/fd/1", os.O_RDONLY | os.O_NONBLOCK)
    while os.read(number, 1 << 16):
        pass
except OSError:
    pass
""",
        ends=("ok",),
        twin="print('fine')",
    ),
]
