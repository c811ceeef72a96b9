"""A room: the namespaces, mounts and limits of one run, and the program inside.

The namespace init makes the room's init in a new pid namespace; a zygote joins that namespace and clones the program
into it. The program's process then takes mount, IPC and network namespaces of its own, builds the room, moves into a
user namespace of its own below the namespace init's, and drops its privileges there. The supervisor is its parent, so
the kernel reports how it ended, and a program can forge nothing. When init is killed, the kernel kills every process
that is left.

A network of its own costs a fifth of a short run's rate, so most rooms have none: they stay in the namespace init's
network, where sockets cannot be made. The first call for one blocks until the supervisor ends the room and repeats the
run in a room with a network.

The plan of a run is a header and the bytes that it refers to, in a memory file that only the room reads. It is written
with `marshal`, because the supervisor is the same interpreter.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import marshal
import os
import resource
import signal
import socket
import struct
from collections.abc import Callable, Sequence
from typing import Any

from rewarden_sandboxes.agent.filters import LIBC, MACHINE, check, lock_down, lock_down_without_network
from rewarden_sandboxes.agent.snapshot import unpack

BOX = "/tmp/box"
"""The working folder."""

NOSUID, NODEV, NOEXEC, READ_ONLY = 2, 4, 8, 1
BIND = 4096
NEW_USER, NEW_PID, NEW_MOUNT, NEW_IPC, NEW_NET = 0x10000000, 0x20000000, 0x20000, 0x8000000, 0x40000000
SIBLING = 0x8000 | int(signal.SIGCHLD)
"""Clone flags of every process that the namespace init and the zygotes make. The supervisor is the parent, so it alone
reaps them, and no pid that it holds is reused."""
SET_DUMPABLE = 4

_SET_FLAGS, _UP = 0x8914, 0x1
"""SIOCSIFFLAGS, and the flag of an interface that is up."""
_NETWORK = {"tcp_max_tw_buckets": "0", "ip_unprivileged_port_start": "0"}
"""The room's TCP and IP settings: a closed connection frees its port at once, and any port may be listened on, as in
container engines."""

_NAMESPACES = {"m": NEW_MOUNT, "h": NEW_IPC, "w": NEW_NET, "u": NEW_USER}
"""Letters of namespace descriptors and their flags, in the order in which they are entered."""

Start = Callable[[dict[str, Any], bytes], int]
"""Runs a Python program in the locked room: (header, the bytes that it refers to) to exit code."""


Build = Callable[[dict[str, Any], socket.socket, int, int], None]
"""Builds the root of a box: (header, the socket for its namespaces, user, group)."""


class Files:
    """The descriptors of a run, in the order in which they are passed."""

    __slots__ = ("channel", "kept", "namespaces", "plan", "reply", "status", "stderr", "stdin", "stdout")

    def __init__(self, mask: str, numbers: Sequence[int]) -> None:
        """`mask`: a letter for each descriptor (p i o e s c r k, and m h w u: the namespaces of a box)."""
        found = dict(zip(mask, numbers, strict=False))
        self.plan = found["p"]
        self.stdin, self.stdout, self.stderr = found["i"], found["o"], found["e"]
        self.status = found["s"]
        self.channel = found.get("c", -1)
        self.reply = found.get("r", -1)
        self.kept = found.get("k", -1)
        self.namespaces = [(found[letter], flag) for letter, flag in _NAMESPACES.items() if letter in found]


def live(files: Files, uid: int, gid: int, start: Start, build: Build, *, alone: bool = False) -> None:
    """Runs a program, from the first moment of its process to the last. Never returns.

    `alone`: there are no namespaces, and the slot serves only this run.
    """
    status = socket.socket(fileno=files.status)
    try:
        LIBC.prctl(SET_DUMPABLE, 1, 0, 0, 0)  # otherwise our own files in /proc belong to root
        header, blobs = _read_plan(files.plan)
        _write("/proc/self/oom_score_adj", "1000")  # out of memory kills the program first, never the supervisor
        if alone:
            os.makedirs(BOX, 0o755, exist_ok=True)
        elif header["place"] == "builder":
            build(header, status, uid, gid)
            os._exit(0)
        elif header["place"] == "box":
            _hear_signals(python=header["python"])
            for number, flag in files.namespaces:
                check(LIBC.setns(number, flag), "setns")
            # Attack: another program in the box opens its descriptors and reports in its name.
            LIBC.prctl(SET_DUMPABLE, 0, 0, 0, 0)
            lock_down(header["keeps"])  # before it touches what the box's programs have made
        else:
            unshare(NEW_MOUNT | NEW_IPC | (NEW_NET if header["network"] else 0))
            _mounts(header)
            if header["network"]:
                open_network()
            unshare(NEW_USER)  # after the mounts: /proc belongs to the pid namespace, which is the namespace init's
            own_namespace(uid, gid)
        _become(files, status, header, blobs, start, alone=alone)
    except BaseException as error:  # noqa: BLE001 - the supervisor is told of every error
        if status.fileno() >= 0:
            _tell(status, error)
    os._exit(125)


def enter(init: int) -> None:
    """Makes the next cloned process start in this init's pid namespace. Raises OSError."""
    namespace = os.open(f"/proc/{init}/ns/pid", os.O_RDONLY | os.O_CLOEXEC)
    try:
        check(LIBC.setns(namespace, NEW_PID), "setns")
    finally:
        os.close(namespace)


def enter_root(namespace: int) -> None:
    """Makes the root of a mount namespace, which can be our own, the root of this process. Raises OSError."""
    check(LIBC.setns(namespace, NEW_MOUNT), "setns")


def _tell(status: socket.socket, error: BaseException) -> None:
    full = isinstance(error, OSError) and is_full(error)
    text = f"{type(error).__name__}: {error}"
    with contextlib.suppress(OSError):
        status.send((b"D" if full else b"E") + text.encode("utf-8", "replace")[:2000])


def is_full(error: OSError) -> bool:
    """Returns whether the program's own files do not fit into the room, which is its own fault."""
    return error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ELOOP)


# --- the room ------------------------------------------------------------------------------------------------------


def unshare(flags: int) -> None:
    """unshare(2). Raises OSError, which is never one of `is_full`."""
    try:
        check(LIBC.unshare(flags), "unshare")
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        # The machine's limit on namespaces is reached, which is not a program's fault and must not read as a full room.
        raise OSError(errno.EUSERS, "unshare: no namespaces are left; raise the limits in /proc/sys/user") from None


def own_namespace(uid: int, gid: int, own: int | None = None) -> None:
    """Maps our user and group, and no other, into the user namespace that was just made. `own`: this process's folder
    in /proc, open, if /proc itself belongs to another pid namespace.
    """
    base = "" if own is not None else "/proc/self/"
    _write(base + "setgroups", "deny", own)
    _write(base + "uid_map", f"{uid} {uid} 1", own)
    _write(base + "gid_map", f"{gid} {gid} 1", own)


def _mounts(header: dict[str, Any]) -> None:
    """Mounts fresh file systems over everything that an earlier run could write to.

    One file system, bounded in bytes and inodes, holds /tmp and /dev/shm.
    """
    size, inodes = header["disk_bytes"], header["inodes"]
    mount(b"tmpfs", b"/tmp", b"tmpfs", NOSUID | NODEV, f"size={size},nr_inodes={inodes},mode=0755")
    for name, mode in (("tmp", 0o1777), ("shm", 0o1777)):
        os.mkdir("/tmp/" + name, mode)
        os.chmod("/tmp/" + name, mode)
    mount(b"/tmp/shm", b"/dev/shm", None, BIND)
    if os.path.isdir("/dev/mqueue"):
        mount(b"mqueue", b"/dev/mqueue", b"mqueue", NOSUID | NODEV | NOEXEC)
    # Only its own processes are visible. Init's folder must not be: writes there reach the namespace init's memory,
    # which all inits share.
    mount(b"proc", b"/proc", b"proc", NOSUID | NODEV | NOEXEC, "hidepid=2")
    mount(b"/tmp/tmp", b"/tmp", None, BIND)
    os.mkdir(BOX, 0o755)


def open_network() -> None:
    """Brings up the loopback interface, the only one of a new network namespace. Raises OSError."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, _SET_FLAGS, struct.pack("16sH22x", b"lo", _UP))
    for name, value in _NETWORK.items():
        with contextlib.suppress(OSError):  # older kernels have these settings only for the whole machine
            _write("/proc/sys/net/ipv4/" + name, value)


def mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: str | None = None) -> None:
    """mount(2). Raises OSError naming the target."""
    check(LIBC.mount(source, target, kind, flags, data.encode() if data else None), "mount " + target.decode())


def _write(path: str, text: str, folder: int | None = None) -> None:
    number = os.open(path, os.O_WRONLY, dir_fd=folder)
    try:
        os.write(number, text.encode())
    finally:
        os.close(number)


# --- the program ---------------------------------------------------------------------------------------------------


def _become(
    files: Files, status: socket.socket, header: dict[str, Any], blobs: bytes, start: Start, *, alone: bool
) -> None:
    """Becomes the program. Raises any error that comes before it starts."""
    if alone:  # program and partner share a user and a namespace: neither may open the other's memory
        LIBC.prctl(SET_DUMPABLE, 0, 0, 0, 0)
    os.setsid()
    in_box = header["place"] == "box"
    if not in_box:
        os.chdir(BOX)
        if files.kept >= 0:
            unpack(files.kept)
        _write_files(header, blobs)
    _descriptors(files)
    _limits(header)
    if in_box:
        _begin_in(header, blobs)
    if header["collect"]:
        folder = os.open(".", os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        socket.send_fds(status, [b"B"], [folder])
        os.close(folder)
    if not in_box:
        _lock(status, header)
    if header["python"]:
        status.close()
        if in_box and header["mode"] == "script":
            LIBC.prctl(SET_DUMPABLE, 1, 0, 0, 0)
            os.environ.clear()
            os.environ.update(header["env"])
        os._exit(start(header, blobs) & 0xFF)
    arguments = header["run"]
    try:
        path = _find(arguments[0], header["env"]["PATH"])
        status.set_inheritable(False)
        os.execve(path, arguments, header["env"])
    except OSError as error:
        if not in_box and not isinstance(error, (PermissionError, FileNotFoundError)):
            raise
        # The file that a compilation left, or the box holds, is not executable: the program's fault.
        _refuse(error, arguments[0])


def _hear_signals(*, python: bool) -> None:
    """Resets signal handling to what a shell's children have. The agent ignores some signals, and inherits those that
    the host was started to ignore, as by `nohup` or in the background.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT, signal.SIGPIPE):
        signal.signal(number, signal.SIG_DFL)
    if python:  # as every interpreter does
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)


def _begin_in(header: dict[str, Any], blobs: bytes) -> None:
    """Enters the working folder of a program in a box, and writes its files there."""
    try:
        os.chdir(header["cwd"])
        _write_files(header, blobs)
    except OSError as error:  # the box's user may have made the folder unusable
        _refuse(error, error.filename or header["cwd"])


def _refuse(error: OSError, name: str) -> None:
    """Exits with the status of a shell that cannot run a program."""
    os.write(2, f"{error.strerror}: {name}\n".encode("utf-8", "surrogateescape"))
    os._exit(127 if error.errno == errno.ENOENT else 126)


def _lock(status: socket.socket, header: dict[str, Any]) -> None:
    """Installs the filters, and hands the supervisor the descriptor that reports requests for a network."""
    if header["network"]:
        lock_down()
        return
    try:
        listener = lock_down_without_network()
    except OSError:  # the host's own filter has a listener already, so every run gets a network from its start
        status.send(b"N")
        os._exit(125)
    socket.send_fds(status, [b"N"], [listener])
    os.close(listener)


def _find(name: str, folders: str) -> str:
    if "/" in name:
        return name
    for folder in folders.split(":"):
        path = folder + "/" + name
        if os.access(path, os.X_OK) and not os.path.isdir(path):
            return path
    raise OSError(errno.ENOEXEC, f"the image has no {name!r}")


def _write_files(header: dict[str, Any], blobs: bytes) -> None:
    for path, (offset, length) in header["files"]:
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        number = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
        try:
            _write_all(number, blobs[offset : offset + length])
            if header["modified"] is not None:
                os.utime(number, (header["modified"],) * 2)
        finally:
            os.close(number)


def _write_all(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


def _descriptors(files: Files) -> None:
    """Leaves open 0 to 2, 3 (the channel), 4 (the reply), and the status until it is closed, by us or by exec."""
    wanted = [files.stdin, files.stdout, files.stderr, files.channel, files.reply]
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, 64) if number >= 0 else -1 for number in wanted]
    for place, number in enumerate(moved):
        if number >= 0:
            os.dup2(number, place, inheritable=True)
        elif place > 2:
            with contextlib.suppress(OSError):
                os.close(place)
    # Close the rest: the zygote's, and the originals of those above. The status socket's owner closes that.
    os.closerange(5, files.status)
    os.closerange(files.status + 1, 256)


def _limits(header: dict[str, Any]) -> None:
    limits = header["limits"]
    setrlimit = resource.setrlimit
    if limits["cpu_s"] < float("inf"):  # sessions have no limit
        # The counters decide; this only bounds what happens between two readings of them.
        seconds = int(limits["cpu_s"] * 1.5) + 2
        setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 1))
    disk = header["disk_bytes"]
    setrlimit(resource.RLIMIT_FSIZE, (disk, disk))
    setrlimit(resource.RLIMIT_NOFILE, (limits["open_files"],) * 2)
    setrlimit(resource.RLIMIT_NPROC, (limits["processes"],) * 2)
    setrlimit(resource.RLIMIT_CORE, (0, 0))
    memory = limits["memory_mb"] * 1024**2
    hard = resource.getrlimit(resource.RLIMIT_STACK)[1]
    stack = min(memory, 1024**3)
    stack = stack if hard == resource.RLIM_INFINITY else min(stack, hard)
    setrlimit(resource.RLIMIT_STACK, (stack, stack))
    if header["data_limit"]:  # no counter sees all processes together, so each is bounded
        setrlimit(resource.RLIMIT_DATA, (memory, memory))


# --- plans ---------------------------------------------------------------------------------------------------------


def _read_plan(number: int) -> tuple[dict[str, Any], bytes]:
    size = os.fstat(number).st_size
    data = b""
    while len(data) < size:
        data += os.pread(number, size - len(data), len(data))
    plan: tuple[dict[str, Any], bytes] = marshal.loads(data)
    return plan


def clone(flags: int) -> int:
    """Forks with clone flags. Returns 0 in the child. Raises OSError."""
    # The C library caches the thread's number, which must not remain the zygote's.
    told = _SET_TID | _CLEAR_TID if _TID else 0
    ctypes.pythonapi.PyOS_BeforeFork()
    pid = int(LIBC.syscall(_CLONE, flags | told, 0, 0, *_TID_LAST))
    (ctypes.pythonapi.PyOS_AfterFork_Parent if pid else ctypes.pythonapi.PyOS_AfterFork_Child)()
    return check(pid, "clone")


def _tid_place() -> int:
    """Returns the address of the main thread's number in the C library; 0 if the kernel does not tell."""
    place = ctypes.c_void_p()
    if LIBC.prctl(_GET_TID_ADDRESS, ctypes.byref(place), 0, 0, 0) != 0 or not place.value:
        return 0
    return place.value if ctypes.c_int.from_address(place.value).value == os.getpid() else 0


_ARM = MACHINE == "aarch64"
_CLONE = 220 if _ARM else 56
_SET_TID, _CLEAR_TID = 0x1000000, 0x200000
_GET_TID_ADDRESS = 40
_TID = _tid_place()
_TID_LAST = (ctypes.c_long(0), ctypes.c_void_p(_TID)) if _ARM else (ctypes.c_void_p(_TID), ctypes.c_long(0))
"""The last two arguments of the system call, whose order differs by architecture."""
