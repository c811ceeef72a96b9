"""The root of a box: the image's folders, each under a layer of the box's own, and fresh folders beside them. A process
outside the box builds it before anything runs in the box. One file system, with a limit on bytes and inodes, holds
everything that the box will write: `/tmp`, `/dev/shm`, and the upper layers. The kernel refuses an overlay of `/`
itself if file systems are mounted below it that a namespace must not uncover, so each top folder has its own overlay;
/etc, into which engines mount files, is a copy. The new root is then moved onto `/` in a mount namespace of its own:
whoever enters it has that root. The namespace in which the layers are still visible as such (`/tmp/upper/…`) is kept
for snapshots; nothing of the box ever runs in it. The builder hands over the namespaces' descriptors and exits.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import stat
from collections.abc import Callable, Iterator
from typing import Any

from rewarden_sandboxes.agent import room

LAYERS = "/tmp"
"""The path of the box's file system in the layers' namespace."""
UPPER, ROOT, MADE = LAYERS + "/upper", LAYERS + "/root", LAYERS + "/made"
"""The upper layers by top folder; the new root; the list of its entries, one name per line."""
NOTHING = LAYERS + "/nothing"
"""An empty folder."""
TREES = {LAYERS + "/tmp": "tmp", LAYERS + "/shm": "dev/shm", LAYERS + "/var": "var/tmp"}
"""Fresh folders, and their paths in the box."""
RUNTIME = "/.rewarden"
"""The supervisor's own Python, if the slot's image is not ours. Boxes never contain it."""

_MOVE, _RECURSIVE, _REMOUNT = 8192, 16384, 32
_LOOKS = stat.S_IROTH | stat.S_IXOTH
_FRESH = ("proc", "dev", "sys", "tmp")
"""Top folders that boxes do not change, or that are separate trees."""
_EMPTY = ("run",)
"""Folders of which the box gets no content of the image, because the host's socket is in them."""
_ENGINES = (".dockerenv",)
"""Files that engines create at the top."""
NOT_KEPT = frozenset(_FRESH)


def build(header: dict[str, Any], status: socket.socket, uid: int, gid: int) -> None:
    """Builds the root and sends its file system and the namespaces: layers, mount, IPC, network, user; and a listening
    socket, if the box has a port to the host. Raises OSError.
    """
    room.unshare(room.NEW_MOUNT | room.NEW_IPC | room.NEW_NET)
    _mounts(header)
    room.open_network()
    doors = [_door(header["port"])] if header["port"] else []
    own = os.open("/proc/self", os.O_PATH | os.O_DIRECTORY)
    numbers = [os.open(LAYERS, os.O_PATH | os.O_DIRECTORY), _namespace(own, "mnt")]
    room.unshare(room.NEW_MOUNT)
    numbers += [_namespace(own, name) for name in ("mnt", "ipc", "net")]
    go, going = os.pipe()
    # With another root, no user namespace can be made; and a process that has made one cannot move mounts.
    mover = _begin(lambda: _move(go, going, numbers[2], header["folder"]))
    os.close(go)
    room.unshare(room.NEW_USER)
    room.own_namespace(uid, gid, own)
    numbers.append(_namespace(own, "user"))
    os.close(going)
    _finish(mover, "the root, or the working folder in it")
    socket.send_fds(status, [b"S"], [*numbers, *(door.fileno() for door in doors)])


def _door(port: int) -> socket.socket:
    """Returns a socket that listens in the box's network. Only the host accepts connections on it; nothing in the box
    holds it."""
    door = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    door.bind(("127.0.0.1", port))
    door.listen(64)
    return door


def _namespace(own: int, name: str) -> int:
    return os.open("ns/" + name, os.O_RDONLY | os.O_CLOEXEC, dir_fd=own)


def _mounts(header: dict[str, Any]) -> None:
    size, inodes = header["disk_bytes"], header["inodes"]
    flags = room.NOSUID | room.NODEV
    room.mount(b"tmpfs", LAYERS.encode(), b"tmpfs", flags, f"size={size},nr_inodes={inodes},mode=0755")
    for folder in (UPPER, LAYERS + "/work", ROOT):
        os.mkdir(folder, 0o755)
    for tree in TREES:
        os.mkdir(tree)
        os.chmod(tree, 0o1777)
    room.mount(ROOT.encode(), ROOT.encode(), None, room.BIND)
    made = [name for name in sorted(os.listdir("/")) if "/" + name != RUNTIME and _put(name)]
    for name in set(_FRESH) - set(os.listdir(ROOT)):
        os.mkdir(f"{ROOT}/{name}")
    with open(MADE, "w", encoding="utf-8", errors="surrogateescape") as file:
        file.write("\n".join(made))
    machines_root = 0 in (os.getuid(), os.getgid(), *os.getgroups())
    _mount_proc(header["init"], machines_root=machines_root)
    room.mount(b"/dev", (ROOT + "/dev").encode(), None, room.BIND | _RECURSIVE)
    if machines_root:
        flags = room.BIND | _REMOUNT | room.READ_ONLY | room.NOSUID
        room.mount(None, (ROOT + "/dev").encode(), None, flags)
    if os.path.isdir("/dev/mqueue"):
        queue = room.NOSUID | room.NODEV | room.NOEXEC
        room.mount(b"mqueue", (ROOT + "/dev/mqueue").encode(), b"mqueue", queue)
    for tree, seen in TREES.items():
        if has_place(seen):
            room.mount(tree.encode(), f"{ROOT}/{seen}".encode(), None, room.BIND)
    os.mkdir(LAYERS + "/tmp/" + os.path.basename(room.BOX), 0o755)


def has_place(seen: str) -> bool:
    """Returns whether the root has the place of a fresh folder, itself and not by a link: an absolute link would lead
    out of the root as seen from here.
    """
    place = f"{ROOT}/{seen}"
    return os.path.isdir(place) and os.path.realpath(place) == place


def _mount_proc(init: int, *, machines_root: bool) -> None:
    """Mount the box's /proc, which shows the processes of whoever mounts it: a child of ours, in the box.

    Attack: as the machine's user 0, which an own image's programs can have, write to the switches of the kernel, which
    asks for no capability there. Attack: as its group 0, which sees all processes, have init killed for memory. For
    both, all of /proc is read-only, and what others may not read is not there (`_hide`).
    """
    proc = ROOT + "/proc"
    flags = room.NOSUID | room.NODEV | room.NOEXEC | (room.READ_ONLY if machines_root else 0)
    hidden = "hidepid=4" if machines_root else "hidepid=2"  # group 0 is exempt from the latter
    room.enter(init)
    _finish(_begin(lambda: room.mount(b"proc", proc.encode(), b"proc", flags, hidden)))
    if machines_root:
        os.mkdir(NOTHING, 0o555)
        _hide(proc)


def _hide(folder: str, *, top: bool = True) -> None:
    """Cover what others than user 0 may not read in a folder of /proc, and in those below it.

    Attack: as user 0, read a file of mode 0600 in /proc/sys, such as the key of TCP Fast Open, which asks for no
    capability.
    """
    for entry in os.scandir(folder):
        if top and entry.name.isdigit():
            continue  # processes, which `hidepid` hides
        mode = entry.stat(follow_symlinks=False).st_mode
        if stat.S_ISDIR(mode) and mode & _LOOKS == _LOOKS:
            _hide(entry.path, top=False)
        elif stat.S_ISDIR(mode):
            room.mount(NOTHING.encode(), entry.path.encode(), None, room.BIND)
            flags = room.BIND | _REMOUNT | room.READ_ONLY | room.NOSUID | room.NODEV
            room.mount(None, entry.path.encode(), None, flags)
        elif stat.S_ISREG(mode) and (not mode & stat.S_IROTH or (top and entry.name == "keys")):
            room.mount(b"/dev/null", entry.path.encode(), None, room.BIND)


def _move(go: int, going: int, here: int, folder: str) -> None:
    """Make the new root the root, when nobody holds the other end any more, and the working folder in it if it is not
    there: an own image's may lie in a fresh folder. here: the mount namespace.
    """
    os.close(going)
    os.read(go, 1)
    room.mount(ROOT.encode(), b"/", None, _MOVE)
    room.enter_root(here)
    # Only now do links on the way lead where programs find them to lead, also where nothing is there yet.
    os.makedirs(os.path.realpath(folder), exist_ok=True)


def _begin(work: Callable[[], None]) -> int:
    """Runs something in a child. Returns its process id, for `_finish`."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except OSError as error:
            os._exit(error.errno or 255)
        os._exit(0)
    return child


def _finish(child: int, what: str = "mount") -> None:
    """Waits for a child. Raises OSError, with this name of its work, if that failed."""
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code:
        raise OSError(abs(code), f"{what}: {os.strerror(abs(code))}")


def _put(name: str) -> bool:
    """Puts the image's entry of this name into the root. Returns whether the box may delete it."""
    source, target = "/" + name, f"{ROOT}/{name}"
    if os.path.islink(source):
        os.symlink(os.readlink(source), target)
    elif name in _FRESH:
        os.mkdir(target)
        return False
    elif not os.path.isdir(source):
        return name not in _ENGINES and _put_file(source, target)
    elif name in _EMPTY or _is_empty(source):
        os.mkdir(target)
    elif name == "etc":
        with _fitting(source):
            _copy(source, target)
    else:
        _overlay(name, source, target)
        return False
    return True


def _put_file(source: str, target: str) -> bool:
    """Copies a file at the top. Returns whether the box has it: files that only the image's root user may read are left
    out."""
    if not os.path.isfile(source) or not os.access(source, os.R_OK):
        return False
    with _fitting(source):
        _copy_file(source, target)
    return True


@contextlib.contextmanager
def _fitting(source: str) -> Iterator[None]:
    """Names what is being copied in the error if it does not fit."""
    try:
        yield
    except OSError as error:
        if room.is_full(error):
            raise OSError(
                error.errno, f"{source} of the image does not fit into disk_mb, of which it takes up its size"
            ) from None
        raise


def _overlay(name: str, source: str, target: str) -> None:
    upper, work = f"{UPPER}/{name}", f"{LAYERS}/work/{name}"
    for folder in (upper, work, target):
        os.mkdir(folder, 0o755)
    options = f"lowerdir={source},upperdir={upper},workdir={work},userxattr"
    room.mount(b"overlay", target.encode(), b"overlay", room.NOSUID | room.NODEV, options)


def _is_empty(folder: str) -> bool:
    """Returns whether a folder is empty for the box's user, also because only the image's root user may read it."""
    return not os.access(folder, os.R_OK | os.X_OK) or not os.listdir(folder)


def _copy(source: str, target: str) -> None:
    """Copies a folder, without what only the image's root user may read: the box's user could not read that anyway."""
    os.mkdir(target)
    with contextlib.suppress(PermissionError), os.scandir(source) as entries:
        for entry in entries:
            copy = f"{target}/{entry.name}"
            if entry.is_symlink():
                os.symlink(os.readlink(entry.path), copy)
            elif entry.is_dir():
                _copy(entry.path, copy)
            elif entry.is_file():
                with contextlib.suppress(PermissionError):
                    _copy_file(entry.path, copy)
    shutil.copystat(source, target)


def _copy_file(source: str, target: str) -> None:
    reading = os.open(source, os.O_RDONLY)
    try:
        about = os.fstat(reading)
        if not stat.S_ISREG(about.st_mode):
            return  # a device that is mounted over a file; the folder's entry does not show that
        writing = os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, about.st_mode & 0o777)
        try:
            while os.sendfile(writing, reading, None, 1 << 20):
                pass
            os.utime(writing, ns=(about.st_atime_ns, about.st_mtime_ns))
        finally:
            os.close(writing)
    finally:
        os.close(reading)
