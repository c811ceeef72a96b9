"""Disk: too much, too many, too deep, and traps for whoever opens the files afterwards."""

from __future__ import annotations

from rewarden_sandboxes.job import Limits
from tests.attacks.sandbox.attack import CALL_ME, ENDED, ROOMY, Attack

DISK = Limits(cpu_s=10.0, wall_s=10.0, memory_mb=256, processes=32, output_bytes=1 << 20, disk_mb=8, open_files=64)

_KEPT = "open('out.txt', 'w').write('kept')\nprint('fine')\n"

_EVERYWHERE = """
import os
places = ["/tmp", "/tmp/box", "/dev/shm", "/var/tmp", "/run", "/run/lock", "/dev", "/dev/mqueue", "/home", "/", "/etc",
          "/usr", "/opt", "/srv", "/mnt", "/media", "/root", "/sys", "/proc", "/var/lock", "/var/log", "/var/cache"]
"""

ATTACKS = [
    Attack(
        title="fills every folder that it can write",
        code=CALL_ME
        + _EVERYWHERE
        + """
total = 0
for place in places:
    try:
        with open(place + "/big", "wb", 0) as file:
            while True:
                total += file.write(b"x" * 65536)
                if total > 64 << 20:
                    break
    except OSError:
        pass
print("BREACH" if total > 9 << 20 else "HELD")
""",
        held=True,
        limits=DISK,
        twin="open('x', 'wb').write(b'x' * (1 << 20))\nprint('fine')",
    ),
    Attack(
        title="makes more files than there are places for",
        code=CALL_ME
        + """
n = 0
try:
    while n < 100_000:
        open(f"/tmp/box/{n}", "w").close()
        n += 1
    print("BREACH", n)
except OSError:
    print("HELD")
""",
        held=True,
        limits=DISK,
        twin="for n in range(500):\n    open(f'{n}', 'w').close()\nprint('fine')",
    ),
    Attack(
        title="makes a file of a tebibyte with nothing in it, and has it collected",
        code=CALL_ME
        + """
import os
for size in (1 << 40, 1 << 30, 8 << 20):
    try:
        with open("out.txt", "wb") as file:
            os.truncate(file.fileno(), size)
        break
    except OSError:
        pass
print("HELD")
""",
        ends=("output_limit",),
        limit="output_bytes",
        held=True,
        limits=DISK,
        collect=("out.txt",),
        twin=_KEPT,
    ),
    Attack(
        title="has many sparse files collected, more than may be kept",
        code=CALL_ME
        + """
import os
for n in range(40):
    with open(f"{n}.txt", "wb") as file:
        os.truncate(file.fileno(), 8 << 20)
print("HELD")
""",
        ends=("ok", "runtime_error", "output_limit"),
        limits=DISK,
        collect=tuple(f"{n}.txt" for n in range(40)),
        twin=_KEPT,
    ),
    Attack(
        title="has twenty links to one great file collected",
        code=CALL_ME
        + """
import os
open("0.txt", "wb").write(b"x" * (6 << 20))
for n in range(1, 20):
    os.symlink("0.txt", f"{n}.txt")
for n in range(20, 40):
    os.link("0.txt", f"{n}.txt")
print("HELD")
""",
        ends=("ok", "runtime_error", "output_limit"),
        limits=DISK,
        collect=tuple(f"{n}.txt" for n in range(40)),
        twin=_KEPT,
    ),
    Attack(
        title="makes folders a thousand deep",
        code=CALL_ME
        + """
import os
deep = 0
try:
    for deep in range(3000):
        os.mkdir("d")
        os.chdir("d")
except OSError:
    pass
print("HELD")
""",
        held=True,
        limits=DISK,
        collect=("out.txt", "d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/d/out.txt"),
        twin=_KEPT,
    ),
    Attack(
        title="makes a thousand folders in a row and each holds one",
        code=CALL_ME + "import os\nfor n in range(1000):\n    os.makedirs(f'{n}/x')\nprint('HELD')\n",
        held=True,
        limits=DISK,
        collect=("out.txt",),
        twin=_KEPT,
    ),
    Attack(
        title="names files as no name should be",
        code=CALL_ME
        + """
import os
for name in (b"\\n", b"\\xff\\xfe", b"a\\x01b", b"-rf", b"*", b"x" * 255, "\\u202e".encode(), b" ", b"\\x1b[2J", b"..x", b"out.txt "):
    open(name, "wb").close()
    try:
        os.mkdir(name + b"d")
    except OSError:
        pass
print("HELD")
""",
        held=True,
        limits=DISK,
        collect=("out.txt",),
        twin=_KEPT,
    ),
    Attack(
        title="leaves nothing that is a file where files are collected",
        code=CALL_ME
        + """
import os, socket
os.mkfifo("fifo")
os.mkdir("folder")
socket.socket(socket.AF_UNIX).bind("socket")
os.symlink("/dev/zero", "zero")
os.symlink("/proc/self/environ", "environ")
os.symlink("loop", "loop")
os.symlink("nothing", "nothing")
print("HELD")
""",
        held=True,
        limits=DISK,
        collect=("fifo", "folder", "socket", "zero", "environ", "loop", "nothing"),
        twin=_KEPT,
    ),
    Attack(
        title="takes its own folder away",
        code=CALL_ME
        + """
import os, shutil
os.chdir("/tmp")
shutil.rmtree("/tmp/box", ignore_errors=True)
try:
    os.symlink("/etc", "/tmp/box")
except OSError:
    pass
print("HELD")
""",
        ends=ENDED,
        limits=DISK,
        collect=("passwd", "out.txt"),
        twin=_KEPT,
    ),
    Attack(
        title="keeps its folder from everybody",
        code=CALL_ME
        + "import os\nopen('out.txt', 'w').close()\nos.chmod('out.txt', 0)\nos.chmod('/tmp/box', 0)\nprint('HELD')\n",
        ends=("ok",),
        limits=DISK,
        collect=("out.txt",),
        twin=_KEPT,
    ),
    Attack(
        title="links hard to files of the image",
        code=CALL_ME
        + """
import os
for path in ("/etc/passwd", "/usr/bin/python3", "/proc/self/exe", "/bin/sh"):
    try:
        os.link(path, "/tmp/box/linked", follow_symlinks=True)
        print("BREACH", path)
    except OSError:
        pass
print("HELD")
""",
        held=True,
        limits=DISK,
        twin="import os\nopen('a', 'w').write('fine')\nos.link('a', 'b')\nprint(open('b').read())",
    ),
    Attack(
        title="writes into the image",
        code=CALL_ME
        + """
import os
for folder, _, _ in os.walk("/"):
    if folder.startswith(("/proc", "/tmp", "/dev/shm", "/dev/mqueue")):
        continue
    for what in (lambda: os.close(os.open(folder + "/planted", os.O_CREAT | os.O_WRONLY)), lambda: os.mkdir(folder + "/plantedd")):
        try:
            what()
            print("BREACH", folder)
        except OSError:
            pass
for path in ("/etc/passwd", "/etc/ld.so.preload", "/usr/bin/python3", "/etc/hosts", "/etc/resolv.conf", "/etc/hostname"):
    for flags in (os.O_WRONLY, os.O_RDWR | os.O_CREAT, os.O_TRUNC):
        try:
            number = os.open(path, flags)
            if flags != os.O_TRUNC:
                print("BREACH", path)
        except OSError:
            pass
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="open('/tmp/x', 'w').close()\nprint('fine')",
    ),
    Attack(
        title="replaces its own program while it runs",
        code=CALL_ME + "import os\nos.unlink('main.py')\nopen('main.py', 'w').write('print(1)')\nprint('HELD')\n",
        held=True,
        twin="print('fine')",
    ),
]
