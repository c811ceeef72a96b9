"""The secrets that a program can read: of the machine, of its slot, of other runs."""

from __future__ import annotations

import os

from tests.attacks.sandbox.attack import CALL_ME, ROOMY, Attack

PLANTED = "planted-on-the-machine"
"""The start of a secret of this machine; the rest of it is random. Programs spell it so that they do not hold it."""

_SPELLED = f"{PLANTED[::-1]!r}[::-1].encode()"

READ_ALL = (
    CALL_ME
    + f"""
import os, re
wanted = {_SPELLED}
def look(path):
    try:
        number = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY)
    except OSError:
        return
    try:
        data = os.read(number, 1 << 20)
    except OSError:
        data = b""
    finally:
        os.close(number)
    if re.search(wanted + rb"-[0-9a-f]{{16}}", data):
        print("BREACH", path)
own = "/proc/%d" % os.getpid()
roots = ["/proc", "/etc", "/run", "/var", "/tmp", "/dev/shm", "/dev/mqueue", "/home", "/root", "/opt", "/srv", "/mnt", "/sys/class", "/sys/fs"]
for root in roots:
    for folder, folders, files in os.walk(root):
        if folder.count("/") > 7:
            folders[:] = []
        folders[:] = [name for name in folders if name not in ("task", "map_files")]
        for name in files:
            if name not in ("kmsg", "kcore", "kpagecount", "kpageflags", "pagemap", "clear_refs", "mem"):
                look(folder + "/" + name)
for name, value in os.environ.items():
    look("/dev/null")
    if re.search(wanted, value.encode()):
        print("BREACH environment", name)
print("HELD")
"""
)
"""Reads all there is to read and says where a planted secret stood."""

_OTHERS = """
import os
seen = [int(name) for name in os.listdir("/proc") if name.isdigit()]
for pid in seen:
    if pid in (1, os.getpid()):
        continue
    print("BREACH sees process", pid)
for pid in (1, os.getppid()):
    for name in ("environ", "mem", "maps", "fd", "cwd", "root", "exe", "fd/0", "fd/1", "fd/3", "stack", "syscall", "auxv", "map_files", "personality", "io"):
        path = f"/proc/{pid}/{name}"
        try:
            if name in ("cwd", "root", "exe") or name.startswith("fd"):
                os.readlink(path)
            elif name == "map_files":
                os.listdir(path)
            else:
                with open(path, "rb") as file:
                    file.read(1)
            print("BREACH init's", name)
        except OSError:
            pass
try:
    os.listdir("/proc/1/root")
    print("BREACH init's root")
except OSError:
    pass
print("HELD")
"""

ATTACKS = [
    Attack(
        title="looks at other processes",
        code=CALL_ME + _OTHERS,
        held=True,
        limits=ROOMY,
        twin="import os\nprint('fine' if os.listdir('/proc/self/fd') else '')",
    ),
    Attack(
        title="reads all that can be read",
        code=READ_ALL,
        held=True,
        limits=ROOMY,
        twin="import os\nprint('fine' if open('/etc/passwd').read() else '')",
    ),
    Attack(
        title="looks for the machine's things",
        code=CALL_ME
        + f"""
import os, socket
here = {os.getcwd()[::-1]!r}[::-1]
for path in (
    here, "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/var/lib/docker", "/run/dbus",
    "/run/systemd/private", "/run/rewarden", "/proc/sysrq-trigger-open", "/dev/kmsg-open", "/dev/mem", "/dev/kmem", "/dev/port",
    "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/loop-control", "/dev/disk", "/dev/mapper",
    os.path.join("/root", ".ssh"), "/sys/kernel/debug", "/sys/fs/bpf", "/sys/firmware", "/sys/fs/cgroup", "/sys/devices", "/etc/shadow-open",
):
    if path.endswith("-open"):
        try:
            open(path.removesuffix("-open"))
            print("BREACH", path)
        except OSError:
            pass
    elif os.path.lexists(path) and not (path.endswith(".ssh") and not os.access(path, os.R_OK)):
        print("BREACH", path)
sockets = [folder + "/" + name for top in ("/run", "/var", "/tmp", "/dev") for folder, _, names in os.walk(top) for name in names]
import stat
for path in sockets:
    try:
        if stat.S_ISSOCK(os.lstat(path).st_mode):
            print("BREACH socket", path)
    except OSError:
        pass
for line in open("/proc/net/unix").read().splitlines()[1:]:
    if len(line.split()) > 7:
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.connect(line.split()[7].replace("@", "\\0", 1))
            print("BREACH a socket that answers:", line)
        except OSError:
            pass
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="print('fine')",
    ),
    Attack(
        title="finds in its own memory what its process was before",
        code=CALL_ME
        + """
import gc, sys
for thing in gc.get_objects():
    name = type(thing).__module__ + "." + type(thing).__qualname__
    if name.startswith(("rewarden_sandboxes.agent.supervisor", "socket.socket")) and name != "socket.socket":
        print("BREACH", name)
    if type(thing).__name__ == "socket":
        try:
            if thing.fileno() >= 0:
                print("BREACH a socket", thing)
        except (OSError, AttributeError):
            pass
frame = sys._getframe()
depth = 0
while frame is not None:
    for name, value in list(frame.f_locals.items()):
        if type(value).__name__ in ("Supervisor", "socket", "Room"):
            try:
                if value.fileno() >= 0:
                    print("BREACH", name)
            except (OSError, AttributeError):
                pass
    frame = frame.f_back
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="import gc\nprint('fine' if gc.get_objects() else '')",
    ),
]
