"""A room: the namespaces, mounts and limits of one run, its init, and the program inside.

The zygote clones the room's init into new user, pid, mount and IPC namespaces. Init builds the room, forks the
program, reaps whatever is orphaned, and tells the supervisor how the program ended; when init ends, the kernel kills
all that is left. Init keeps its capabilities over the namespaces: that is what keeps the program, which has none, from
opening init's descriptors and forging the report.

The plan of a run lies in a memory file that only the room reads. Its form: `>I` length of the header, JSON header,
bytes that the header points into.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import fcntl
import json
import os
import resource
import signal
import socket
import stat
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from rewarden_sandboxes.agent.filters import LIBC, lock_down

BOX = "/tmp/box"
"""The working folder."""

STATUS = struct.Struct("=ciddq")
"""What init tells: `S`, wait status, user and system seconds and peak KiB of the program and what it waited for."""

_NOSUID, _NODEV, _NOEXEC, _BIND, _READ_ONLY, _REMOUNT = 2, 4, 8, 4096, 1, 32
_NEW_USER, _NEW_PID, _NEW_MOUNT, _NEW_IPC, _CLONE_PARENT = 0x10000000, 0x20000000, 0x20000, 0x8000000, 0x8000
ROOM = _NEW_USER | _NEW_PID | _NEW_MOUNT | _NEW_IPC | _CLONE_PARENT | int(signal.SIGCHLD)
"""Clone flags of a room's init. The supervisor is its parent, so that it reaps it and its number is never reused
before."""
SIBLING = _CLONE_PARENT | int(signal.SIGCHLD)

_SET_DUMPABLE = 4
_SNAPSHOT_FILES = 4096

Start = Callable[[dict[str, Any], bytes], int]
"""Runs a Python program in the locked room: (header, the bytes it points into) to exit code."""


class Files:
    """The descriptors of a run, in the order in which they travel."""

    __slots__ = ("channel", "kept", "plan", "reply", "status", "stderr", "stdin", "stdout")

    def __init__(self, mask: str, numbers: Sequence[int]) -> None:
        """`mask`: a letter for each descriptor (p i o e s c r k)."""
        found = dict(zip(mask, numbers, strict=False))
        self.plan = found["p"]
        self.stdin, self.stdout, self.stderr = found["i"], found["o"], found["e"]
        self.status = found["s"]
        self.channel = found.get("c", -1)
        self.reply = found.get("r", -1)
        self.kept = found.get("k", -1)


def init(files: Files, uid: int, gid: int, start: Start, *, alone: bool = False) -> None:
    """The whole life of a room, as its first process. Never returns.

    `alone`: there are no namespaces, and the slot is used for this run only.
    """
    status = socket.socket(fileno=files.status)
    try:
        # Inside its own pid namespace the kernel ignores signals to init that it has no handler for.
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        header, blobs = _read_plan(files.plan)
        _write("/proc/self/oom_score_adj", "1000")  # the program goes first, never the supervisor
        if alone:
            LIBC.prctl(_SET_DUMPABLE, 0, 0, 0, 0)  # the program has our user, and no capability is between us
            os.makedirs(BOX, 0o755, exist_ok=True)
        else:
            _own_namespaces(uid, gid)
            _mounts(header)
        program = os.fork()
        if program == 0:
            _program(files, status, header, blobs, start)
        for number in (files.plan, files.stdin, files.stdout, files.stderr, files.channel, files.reply, files.kept):
            if number >= 0:
                os.close(number)
        while True:
            pid, ended, usage = os.wait4(-1, 0)
            if pid == program:
                break
        collected: list[int] = []
        if header.get("collect") is not None:
            if not alone:  # there, -1 would be the supervisor as well
                _kill_all()  # so that nobody swaps a file for a link while we look
            with contextlib.suppress(NotADirectoryError, FileNotFoundError):  # the program took the folder away
                collected = [_snapshot(header["collect"], header["collect_bytes"])]
        message = STATUS.pack(b"S", ended, usage.ru_utime, usage.ru_stime, usage.ru_maxrss)
        socket.send_fds(status, [message], collected)
    except BaseException as error:  # noqa: BLE001 - told to the supervisor, whatever it is
        _tell(status, error)
    os._exit(0)


def _tell(status: socket.socket, error: BaseException) -> None:
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ELOOP)
    text = f"{type(error).__name__}: {error}"
    with contextlib.suppress(OSError):
        status.send((b"D" if full else b"E") + text.encode("utf-8", "replace")[:2000])


# --- the room ------------------------------------------------------------------------------------------------------


def _own_namespaces(uid: int, gid: int) -> None:
    _write("/proc/self/setgroups", "deny")
    _write("/proc/self/uid_map", f"{uid} {uid} 1")
    _write("/proc/self/gid_map", f"{gid} {gid} 1")


def _mounts(header: dict[str, Any]) -> None:
    """Fresh folders and views, in place of whatever an earlier run may have reached.

    One file system of bounded bytes and inodes carries /tmp and /dev/shm. /sys and /run are hidden: the one tells of
    the machine, the other held the slot's socket.
    """
    size, inodes = header["disk_bytes"], header["inodes"]
    mount(b"tmpfs", b"/tmp", b"tmpfs", _NOSUID | _NODEV, f"size={size},nr_inodes={inodes},mode=0755")
    for name, mode in (("tmp", 0o1777), ("shm", 0o1777), ("none", 0o555)):
        os.mkdir("/tmp/" + name, mode)
        os.chmod("/tmp/" + name, mode)
    mount(b"/tmp/shm", b"/dev/shm", None, _BIND)
    for hidden in (b"/sys", b"/run"):
        if os.path.isdir(hidden):
            mount(b"/tmp/none", hidden, None, _BIND)
    if os.path.isdir("/dev/mqueue"):
        mount(b"mqueue", b"/dev/mqueue", b"mqueue", _NOSUID | _NODEV | _NOEXEC)
    mount(b"proc", b"/proc", b"proc", _NOSUID | _NODEV | _NOEXEC)
    mount(b"/tmp/tmp", b"/tmp", None, _BIND)
    os.mkdir(BOX, 0o755)


def mount(source: bytes | None, target: bytes, kind: bytes | None, flags: int, data: str | None = None) -> None:
    """mount(2). Raises OSError naming the target."""
    if LIBC.mount(source, target, kind, flags, data.encode() if data else None) != 0:
        code = ctypes.get_errno()
        raise OSError(code, "mount " + target.decode() + ": " + os.strerror(code))


def _write(path: str, text: str) -> None:
    number = os.open(path, os.O_WRONLY)
    try:
        os.write(number, text.encode())
    finally:
        os.close(number)


def _kill_all() -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGKILL)
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


# --- the program ---------------------------------------------------------------------------------------------------


def _program(files: Files, status: socket.socket, header: dict[str, Any], blobs: bytes, start: Start) -> None:
    """Become the program. Never returns."""
    try:
        LIBC.prctl(_SET_DUMPABLE, 1, 0, 0, 0)
        os.setsid()
        os.chdir(BOX)
        if files.kept >= 0:
            _unpack(files.kept)
        _write_files(header, blobs)
        _descriptors(files)
        _limits(header)
        reporting = status
        if header["python"]:
            lock_down()
            reporting.close()
            os._exit(start(header, blobs) & 0xFF)
        arguments = header["run"]
        path = _find(arguments[0])
        reporting.set_inheritable(False)
        lock_down()
        os.execve(path, arguments, header["env"])
    except BaseException as error:  # noqa: BLE001 - told to the supervisor, whatever it is
        if not header["python"] and isinstance(error, (PermissionError, FileNotFoundError)) and "path" in locals():
            # What the compilation left is no program: the program's fault.
            os.write(2, f"{error.strerror}: {arguments[0]}\n".encode())
            os._exit(126)
        if status.fileno() >= 0:
            _tell(status, error)
    os._exit(125)


def _find(name: str) -> str:
    if "/" in name:
        return name
    for folder in ("/usr/local/bin", "/usr/bin", "/bin"):
        path = folder + "/" + name
        if os.access(path, os.X_OK):
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
        finally:
            os.close(number)


def _write_all(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


def _descriptors(files: Files) -> None:
    """0 to 2, 3 for the channel, 4 for the reply, and nothing else but the status, until it is closed or exec'd."""
    wanted = [files.stdin, files.stdout, files.stderr, files.channel, files.reply]
    moved = [fcntl.fcntl(number, fcntl.F_DUPFD, 64) if number >= 0 else -1 for number in wanted]
    for place, number in enumerate(moved):
        if number >= 0:
            os.dup2(number, place, inheritable=True)
        elif place > 2:
            with contextlib.suppress(OSError):
                os.close(place)
    # Whatever else is open: the zygote's and the moved ones. The status socket goes last, by its owner.
    os.closerange(5, files.status)
    os.closerange(files.status + 1, 256)


def _limits(header: dict[str, Any]) -> None:
    limits = header["limits"]
    setrlimit = resource.setrlimit
    # The counters decide; these only bound what happens between two looks at them.
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
    if header["data_limit"]:  # nothing counts the memory of all processes here: at least each has a bound
        setrlimit(resource.RLIMIT_DATA, (memory, memory))


# --- what a compilation leaves -------------------------------------------------------------------------------------


def _snapshot(paths: Sequence[str], most: int) -> int:
    """A memory file with the regular files of the working folder (or those named), as `_unpack` reads it.

    Runs in init after everything else of the room was killed. Links, devices and pipes are passed over and no link is
    followed: what lies there was made by somebody hostile.
    """
    entries: list[tuple[str, int, int, int]] = []
    body = os.memfd_create("kept", os.MFD_CLOEXEC)
    size = 0
    for path, number in _regular(paths):
        try:
            about = os.fstat(number)
            length = about.st_size
            if size + length > most or len(entries) >= _SNAPSHOT_FILES:
                raise OSError(errno.EFBIG, f"the files to keep are more than {most} bytes or {_SNAPSHOT_FILES} files")
            offset = 0
            while offset < length:
                offset += os.sendfile(body, number, offset, length - offset) or length
            entries.append((path, about.st_mode & 0o777, size, length))
            size += length
        finally:
            os.close(number)
    index = json.dumps(entries).encode("utf-8", "surrogateescape")
    os.write(body, index)
    os.write(body, struct.pack(">Q", len(index)))
    return body


def _regular(paths: Sequence[str]) -> Iterator[tuple[str, int]]:
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    root = os.open(BOX, flags | os.O_DIRECTORY)
    wanted = set(paths)
    pending: list[tuple[str, int, int]] = [("", root, 0)]
    while pending:
        prefix, folder, depth = pending.pop()
        try:
            for entry in sorted(os.listdir(folder)):
                path = prefix + entry
                try:
                    path.encode()
                    number = os.open(entry, flags, dir_fd=folder)
                except (OSError, UnicodeEncodeError):
                    continue
                mode = os.fstat(number).st_mode
                if stat.S_ISDIR(mode) and depth < 16 and len(pending) < 256:
                    pending.append((path + "/", number, depth + 1))
                elif stat.S_ISREG(mode) and (not wanted or path in wanted):
                    yield path, number
                else:
                    os.close(number)
        finally:
            os.close(folder)


def read_snapshot(number: int) -> list[tuple[str, int, int, int]]:
    """The index of a memory file that `_snapshot` made: (path, mode, offset, length)."""
    end = os.fstat(number).st_size
    (length,) = struct.unpack(">Q", os.pread(number, 8, end - 8))
    entries = json.loads(os.pread(number, length, end - 8 - length))
    return [(path, mode, offset, size) for path, mode, offset, size in entries]


def _unpack(number: int) -> None:
    for path, mode, offset, length in read_snapshot(number):
        folder = os.path.dirname(path)
        if folder:
            os.makedirs(folder, exist_ok=True)
        made = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode | 0o600)
        try:
            end = offset + length
            while offset < end:
                sent = os.sendfile(made, number, offset, end - offset)
                if not sent:
                    raise OSError(errno.ENOSPC, "the kept files do not fit")
                offset += sent
        finally:
            os.close(made)


# --- plans ---------------------------------------------------------------------------------------------------------


def _read_plan(number: int) -> tuple[dict[str, Any], bytes]:
    size = os.fstat(number).st_size
    data = b""
    while len(data) < size:
        data += os.pread(number, size - len(data), len(data))
    (length,) = struct.unpack_from(">I", data)
    header: dict[str, Any] = json.loads(data[4 : 4 + length])
    return header, data[4 + length :]


def clone(flags: int, *, hooks: bool) -> int:
    """A fork with clone flags; 0 in the child. Raises OSError.

    `hooks`: the interpreter is told of it, as `os.fork` does. A room's init does without: it has one thread, forks the
    program with hooks soon, and the hooks' writes alone would copy a tenth of its pages.
    """
    if hooks:
        ctypes.pythonapi.PyOS_BeforeFork()
    pid = int(LIBC.syscall(_CLONE, flags, 0, 0, 0, 0))
    code = ctypes.get_errno()
    if hooks:
        (ctypes.pythonapi.PyOS_AfterFork_Parent if pid else ctypes.pythonapi.PyOS_AfterFork_Child)()
    if pid < 0:
        raise OSError(code, "clone: " + os.strerror(code))
    return pid


_CLONE = 220 if os.uname().machine in ("aarch64", "arm64") else 56

__all__ = ["BOX", "Files", "ROOM", "SIBLING", "STATUS", "clone", "init", "read_snapshot"]
