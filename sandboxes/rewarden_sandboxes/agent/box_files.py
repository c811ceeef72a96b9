"""Work on the files of a box: each operation is an exec of ours, in the box's folders, with the rights of the box's
user. So links resolve inside the box and cannot lead anywhere else. The caller's data arrive on stdin, and the result
goes to stdout; a refusal is a line of JSON on stderr and exit code 1. A *snapshot* is a tar stream of what the box has
changed in its image, with the names that images use for deleted files: `.wh.NAME`, and `.wh..wh..opq` in a folder whose
content from the image is deleted; the last member is `.wh..wh..end`, without which the snapshot is truncated. It is
taken where the layers are visible as such (`box_root`), and *restored* through the root of another box. Devices and
sockets are left out and counted.
"""

from __future__ import annotations

import contextlib
import errno
import io
import itertools
import json
import os
import shutil
import stat
import tarfile
from collections.abc import Iterator
from typing import Any, BinaryIO

from rewarden_sandboxes.agent import box_root

GONE, OPAQUE, END = ".wh.", ".wh..wh..opq", ".wh..wh..end"

_MARK = "REWARDEN.mark"
"""The header of a member whose name marks a deletion: the box's own files may have such names too."""
_ATTRIBUTE = "SCHILY.xattr."
"""The prefix of the header of an extended attribute, as `tar --xattrs` writes it."""
_PART = 1 << 16
_MOST_OF_PROC = 16 << 20
"""The limit for reading a file that claims to be empty, in bytes. Attack: a link to an endless file in /proc."""
_MOST_ENTRIES, _MOST_TOLD = 10_000, 8 << 20
"""Limits of a listing: entries, and bytes of names and targets. Attack: thousands of links with long names and longer
targets."""
_DEEPEST = 200
"""The maximum depth of folders in an archive; each level takes a descriptor."""

_PACKED = {
    b"\x1f\x8b": "gzip",
    b"BZh": "bzip2",
    b"\xfd7zXZ\0": "xz",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"PK\x03\x04": "zip",
}
"""The first bytes of formats that are sent by mistake instead of a tar archive."""
_SWAPPED = frozenset({errno.ENOENT, errno.ENOTDIR, errno.ELOOP})
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_MODES = 0o7777


def main(request: bytes) -> int:
    """Carries out a request, a JSON object. Returns the exit code."""
    asked = json.loads(request)
    try:
        told = _WORKS[asked["op"]](asked) or {}
        code = 0
    except OSError as error:
        told = {"errno": error.errno or errno.EIO, "message": error.strerror or str(error)}
        told["path"] = error.filename if isinstance(error.filename, str) else asked["path"]
        code = 1
    except MemoryError:
        told = {"errno": errno.ENOMEM, "message": os.strerror(errno.ENOMEM), "path": asked["path"]}
        code = 1
    except RecursionError:
        told = {"errno": errno.ENAMETOOLONG, "message": "its folders lie too deep", "path": asked["path"]}
        code = 1
    except (tarfile.TarError, EOFError, ValueError, OverflowError) as error:  # the last two: from numbers in headers
        words = f"the archive is cut off, or no tar archive ({error}); send what tar -cf - FOLDER writes"
        told = {"errno": errno.EINVAL, "message": words, "path": asked["path"]}
        code = 1
    _write(2, json.dumps(told).encode())
    return code


# --- files -----------------------------------------------------------------------------------------------------------


def _put(asked: dict[str, Any]) -> None:
    """Writes a file atomically: it appears as a whole or not at all, and replaces an existing one."""
    path = os.path.realpath(asked["path"])  # for a link, the target changes
    folder = os.path.dirname(path)
    os.makedirs(folder, exist_ok=True)
    with contextlib.suppress(FileNotFoundError):
        about = os.stat(path)
        _check_regular(about.st_mode, path)
        if not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    try:
        _put_whole(folder, path, asked["mode"] & _MODES)
    except OSError as error:  # its name is one of ours
        raise OSError(error.errno, error.strerror, path) from None


def _put_whole(folder: str, path: str, mode: int) -> None:
    # An interrupted call kills this process, so no name may appear before the content is complete.
    with _aside(folder) as coming:
        os.unlink(coming.name)
        while data := os.read(0, _PART):
            _write(coming.fileno(), data)
        with _aside(folder) as whole:
            try:
                _move(coming.fileno(), whole.fileno())
                os.fchmod(whole.fileno(), mode)
                os.rename(whole.name, path)
            except BaseException:
                os.unlink(whole.name)
                raise


def _aside(folder: str) -> BinaryIO:
    """Opens an empty file under a unique name."""
    for number in itertools.count(os.getpid()):
        with contextlib.suppress(FileExistsError):
            return open(f"{folder}/.rewarden-{number}", "x+b", buffering=0)
    raise AssertionError


def _move(source: int, target: int) -> None:
    """Moves the bytes of an open file to another, from its end, truncating it on the way, so that the disk never holds
    both copies."""
    size = os.fstat(source).st_size
    while size:
        size = (size - 1) // _PART * _PART
        data = memoryview(os.pread(source, _PART, size))
        done = 0
        while done < len(data):
            done += os.pwrite(target, data[done:], size + done)
        os.ftruncate(source, size)


def _get(asked: dict[str, Any]) -> None:
    number = os.open(asked["path"], os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        _regular(number, asked["path"])
        left = float("inf") if os.fstat(number).st_size else _MOST_OF_PROC
        while data := os.read(number, _PART):
            left -= len(data)
            if left < 0:
                raise OSError(
                    errno.EFBIG, f"it said that it is empty, and has more than {_MOST_OF_PROC} bytes", asked["path"]
                )
            _write(1, data)
    finally:
        os.close(number)


def _list(asked: dict[str, Any]) -> None:
    found: list[dict[str, Any]] = []
    told = 0

    def note(path: str, name: str) -> bool:
        nonlocal told
        about = os.lstat(path)
        target = os.readlink(path) if stat.S_ISLNK(about.st_mode) else None
        told += len(name) + len(target or "")
        if len(found) >= _MOST_ENTRIES:
            raise OSError(errno.EFBIG, f"there are more than {_MOST_ENTRIES} entries", path)
        if told > _MOST_TOLD:
            raise OSError(errno.EFBIG, f"the names of the entries have more than {_MOST_TOLD} characters", path)
        found.append(
            {
                "path": name,
                "kind": _kind(about.st_mode),
                "size": about.st_size,
                "mode": about.st_mode & _MODES,
                "modified": about.st_mtime,
                "target": target,
            }
        )
        return stat.S_ISDIR(about.st_mode)

    def visit(folder: str, prefix: str, depth: int) -> None:
        for name in sorted(os.listdir(folder)):
            with contextlib.suppress(FileNotFoundError):  # its programs go on
                path = os.path.join(folder, name)
                if note(path, prefix + name) and depth > 1:
                    with contextlib.suppress(PermissionError):  # an unreadable folder hides no other
                        visit(path, prefix + name + "/", depth - 1)

    path = asked["path"]
    if asked["depth"] < 1 or not os.path.isdir(path):
        note(path, os.path.basename(path.rstrip("/")) or ".")
    else:
        visit(path, "", asked["depth"])
    _write(1, json.dumps(found).encode())


def _remove(asked: dict[str, Any]) -> None:
    path = asked["path"].rstrip("/") or "/"
    if stat.S_ISDIR(os.lstat(path).st_mode):
        shutil.rmtree(path)
    else:
        os.unlink(path)


def _regular(number: int, path: str) -> None:
    _check_regular(os.fstat(number).st_mode, path)


def _check_regular(mode: int, path: str) -> None:
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not stat.S_ISREG(mode):
        raise OSError(errno.EINVAL, "it is not a regular file", path)


def _kind(mode: int) -> str:
    if stat.S_ISDIR(mode):
        return "folder"
    if stat.S_ISLNK(mode):
        return "link"
    return "file" if stat.S_ISREG(mode) else "other"


def _write(number: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(number, view) :]


# --- archives --------------------------------------------------------------------------------------------------------


def _archive(asked: dict[str, Any]) -> dict[str, Any]:
    path = asked["path"]
    with _Writer() as out:
        if os.path.isdir(path):
            with _opened(path) as folder:
                out.tree(folder, "")
        else:
            with _opened(os.path.dirname(path)) as folder:
                out.add(folder, os.path.basename(path), os.path.basename(path))
    return {"dropped": out.dropped}


def _snapshot(_: dict[str, Any]) -> dict[str, Any]:
    disk = os.statvfs(box_root.LAYERS)
    with (
        _Writer(disk.f_blocks * disk.f_frsize) as out,
        _opened(box_root.ROOT) as root,
        _opened(box_root.UPPER) as upper,
    ):
        out.add(root, ".", ".")
        with open(box_root.MADE, encoding="utf-8", errors="surrogateescape") as file:
            made = file.read().split("\n")
        uppers = set(os.listdir(upper))
        for name in made:
            if name and not os.path.lexists(f"{box_root.ROOT}/{name}"):
                out.mark(GONE + name)
        for name in sorted(os.listdir(root)):
            if name in box_root.NOT_KEPT:
                continue
            if name in uppers:
                out.add(upper, name, name)
                with _opened(name, upper) as folder:
                    out.tree(folder, name + "/", layer=True)
            else:
                out.whole(root, name, name)
        with _opened(box_root.LAYERS) as layers:
            for tree, name in box_root.TREES.items():
                if box_root.has_place(name):
                    out.whole(layers, os.path.basename(tree), name)
        out.mark(END)
    return {"dropped": out.dropped}


def _left(_: dict[str, Any]) -> dict[str, Any]:
    """Counts objects that outlive their process and are not files: segments, semaphores and queues."""
    dropped = len(os.listdir("/dev/mqueue")) if os.path.isdir("/dev/mqueue") else 0
    for name in ("shm", "sem", "msg"):
        with open(f"/proc/sysvipc/{name}", "rb") as file:
            dropped += len(file.readlines()) - 1  # the first line is the heading
    return {"dropped": dropped}


class _Writer:
    """Writes a tar stream to stdout, with a limit on the total size of the files. `dropped`: devices and sockets that
    were left out.

    Attack: a folder becomes a link between two looks. Next to the layers, it could lead to the slot's own files; so
    each name is looked up in its open parent folder, and no link is followed.
    """

    def __init__(self, most: float = float("inf")) -> None:
        self.dropped = 0
        self._left = most
        self._out = open(1, "wb", closefd=False)  # noqa: SIM115
        self._tar = tarfile.open(fileobj=self._out, mode="w|", format=tarfile.PAX_FORMAT, bufsize=_PART)  # noqa: SIM115
        self._linked: dict[tuple[int, int], str] = {}

    def __enter__(self) -> _Writer:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self._tar.close()
            self._out.flush()

    def whole(self, folder: int, entry: str, name: str) -> None:
        """Adds something that replaces the image's entry altogether; a folder with everything in it."""
        kept = self.add(folder, entry, name)
        if kept is not None and stat.S_ISDIR(kept.st_mode):
            self.mark(f"{name}/{OPAQUE}")
            with _opened(entry, folder) as inner:
                self.tree(inner, name + "/")

    def tree(self, folder: int, prefix: str, *, layer: bool = False) -> None:
        """Adds everything in an open folder. `layer`: it is an upper layer, with the kernel's marks for deletions.
        Raises OSError if it is too deep.
        """
        if prefix.count("/") > _DEEPEST:
            raise OSError(errno.ENAMETOOLONG, f"there are more than {_DEEPEST} levels of folders", prefix)
        names = sorted(os.listdir(folder))
        if layer:
            with contextlib.suppress(OSError):
                if os.getxattr(folder, "user.overlay.opaque") == b"y":
                    self.mark(prefix + OPAQUE)
            gone = [name for name in names if _is_whiteout(os.lstat(name, dir_fd=folder))]
            for name in gone:
                self.mark(prefix + GONE + name)
            names = [name for name in names if name not in gone]
        for name in names:
            try:
                kept = self.add(folder, name, prefix + name)
                if kept is None or not stat.S_ISDIR(kept.st_mode):
                    continue
                inner = os.open(name, _FOLDER, dir_fd=folder)
            except OSError as error:
                if error.errno in _SWAPPED:  # its programs go on
                    continue
                raise OSError(error.errno, error.strerror, prefix + name) from None
            try:
                self.tree(inner, f"{prefix}{name}/", layer=layer)
            finally:
                os.close(inner)

    def mark(self, name: str) -> None:
        """Adds an empty file whose name is the message."""
        info = tarfile.TarInfo(name)
        info.pax_headers = {_MARK: "1"}
        self._tar.addfile(info)

    def add(self, folder: int, entry: str, name: str) -> os.stat_result | None:
        """Adds one file, folder, link or pipe of an open folder. Returns its kind; None if it was left out."""
        about = os.lstat(entry, dir_fd=folder)
        info = tarfile.TarInfo(name)
        info.mode = about.st_mode & _MODES
        seconds, rest = divmod(about.st_mtime_ns, 10**9)
        info.pax_headers = {"mtime": f"{seconds}.{rest:09d}"}
        mode = about.st_mode
        key = (about.st_dev, about.st_ino)
        if stat.S_ISDIR(mode):
            info.type = tarfile.DIRTYPE
            with _opened(entry, folder) as number:
                info.pax_headers |= _attributes(number)
        elif stat.S_ISLNK(mode):
            info.type, info.linkname = tarfile.SYMTYPE, os.readlink(entry, dir_fd=folder)
        elif stat.S_ISFIFO(mode):
            info.type = tarfile.FIFOTYPE
        elif not stat.S_ISREG(mode):
            self.dropped += 1
            return None
        elif key in self._linked:
            info.type, info.linkname = tarfile.LNKTYPE, self._linked[key]
        else:
            number = os.open(entry, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
            with open(number, "rb") as file:
                _regular(number, name)
                info.size = os.fstat(number).st_size
                info.pax_headers |= _attributes(number)
                # Attack: many sparse files, each as large as the disk, which whoever keeps the stream has to store.
                self._left -= info.size
                if self._left < 0:
                    raise OSError(errno.EFBIG, "with holes, the files have more bytes than the disk of the box", name)
                self._tar.addfile(info, _Exactly(file))
            if about.st_nlink > 1:
                self._linked[key] = name
            return about
        self._tar.addfile(info)
        return about


def _attributes(number: int) -> dict[str, str]:
    """Returns the headers for an open file's or folder's extended attributes: only those in `user.`, which are the only
    ones that a box can set. The others belong to the layers.
    """
    found: dict[str, str] = {}
    with contextlib.suppress(OSError):  # the file system has none, or they are being changed
        for name in os.listxattr(number):
            if name.startswith("user.") and not name.startswith("user.overlay."):
                found[_ATTRIBUTE + name] = os.getxattr(number, name).decode("utf-8", "surrogateescape")
    return found


class _Exactly(io.RawIOBase):
    """A file with as many bytes as it had when it was first looked at: if it shrinks, zeros are added."""

    def __init__(self, file: BinaryIO) -> None:
        self._file = file

    def read(self, size: int = -1) -> bytes:
        return self._file.read(size).ljust(max(size, 0), b"\0")


@contextlib.contextmanager
def _opened(path: str, folder: int | None = None) -> Iterator[int]:
    """Opens a folder for the duration of the block. `folder`: its open parent, in which links are not followed. Raises
    OSError.
    """
    number = os.open(path, _FOLDER if folder is not None else _FOLDER & ~os.O_NOFOLLOW, dir_fd=folder)
    try:
        yield number
    finally:
        os.close(number)


def _is_whiteout(about: os.stat_result) -> bool:
    return stat.S_ISCHR(about.st_mode) and about.st_rdev == 0


# --- the other way ---------------------------------------------------------------------------------------------------


def _extract(asked: dict[str, Any]) -> None:
    path = asked["path"]
    os.makedirs(path, exist_ok=True)
    with _Reader(path) as into:
        into.take(marks=False)


def _restore(_: dict[str, Any]) -> None:
    with _Reader("/") as into:
        into.take(marks=True)


class _Sent:
    """The bytes of an archive from stdin. Raises OSError for a compressed one, because tarfile would only say that it
    is not an archive."""

    def __init__(self) -> None:
        self._file = open(0, "rb", closefd=False)  # noqa: SIM115
        self._begin = self._file.read(8)
        for magic, name in _PACKED.items():
            if self._begin.startswith(magic):
                words = f"the archive is packed with {name}; send it unpacked, as tar -cf - FOLDER writes it"
                raise OSError(errno.EINVAL, words)

    def read(self, size: int) -> bytes:
        """Returns this many bytes, or the rest."""
        data, self._begin = self._begin, b""
        return data + self._file.read(size - len(data))


class _Reader:
    """Extracts the members of a tar stream from stdin below a folder, without following links."""

    def __init__(self, root: str) -> None:
        self._root = os.open(root, _FOLDER)
        sent: Any = _Sent()  # the only method that tarfile uses to read a stream
        self._tar = tarfile.open(fileobj=sent, mode="r|", bufsize=_PART)  # noqa: SIM115
        self._folders: list[tuple[str, tarfile.TarInfo]] = []

    def __enter__(self) -> _Reader:
        return self

    def __exit__(self, *_: object) -> None:
        self._tar.close()
        os.close(self._root)

    def take(self, *, marks: bool) -> None:
        """Extracts all members. `marks`: delete what the names of marks say."""
        whole = not marks
        for info in self._tar:
            folder, name = self._split(info)
            with self._opened(folder) as number:
                marked = marks and _MARK in info.pax_headers
                if marked and info.name == END:
                    whole = True
                elif marked and name == OPAQUE:
                    _empty(number)
                elif marked and name.startswith(GONE):
                    _clear(number, name.removeprefix(GONE))
                else:
                    self._put(info, number, name)
        if not whole:
            raise EOFError("it has no end")
        while os.read(0, _PART):  # the sender may pad the last block
            pass
        for path, info in reversed(self._folders):  # at the end, because nothing can be put into a read-only folder
            with self._opened(path) as number:
                _set_attributes(number, info)
                os.fchmod(number, info.mode & _MODES)
                os.utime(number, ns=_times(info))

    def _split(self, info: tarfile.TarInfo) -> tuple[str, str]:
        """Returns the folder and the name of a member. Raises OSError for a name that leads out of the root."""
        parts = [part for part in info.name.split("/") if part not in ("", ".")]
        if info.name.startswith("/") or ".." in parts or "\0" in info.name:
            words = (
                "the archive's members must stay in their folder; name them without .. and without / at the beginning"
            )
            raise OSError(errno.EINVAL, words, info.name)
        return "/".join(parts[:-1]), parts[-1] if parts else ""

    @contextlib.contextmanager
    def _opened(self, path: str) -> Iterator[int]:
        """Opens a folder below the root, and creates it if necessary. Raises OSError."""
        number = os.dup(self._root)
        try:
            for part in filter(None, path.split("/")):
                with contextlib.suppress(FileExistsError):
                    os.mkdir(part, 0o755, dir_fd=number)
                try:
                    inner = os.open(part, _FOLDER, dir_fd=number)
                except OSError as error:
                    raise OSError(error.errno, error.strerror, path) from None
                os.close(number)
                number = inner
            yield number
        finally:
            os.close(number)

    def _put(self, info: tarfile.TarInfo, folder: int, name: str) -> None:
        if info.isdir():
            if name:
                with contextlib.suppress(FileNotFoundError):
                    if not stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
                        os.unlink(name, dir_fd=folder)
                with contextlib.suppress(FileExistsError):
                    os.mkdir(name, 0o700, dir_fd=folder)
            self._folders.append((info.name, info))
            return
        if not name:
            raise OSError(errno.EINVAL, "a member of the archive has no name", info.name)
        _clear(folder, name)
        if info.issym():
            os.symlink(info.linkname, name, dir_fd=folder)
        elif info.islnk():
            source = tarfile.TarInfo(info.linkname)
            with self._opened(self._split(source)[0]) as other:
                os.link(self._split(source)[1], name, src_dir_fd=other, dst_dir_fd=folder, follow_symlinks=False)
            return
        elif info.isfifo():
            os.mkfifo(name, 0o600, dir_fd=folder)
            os.chmod(name, info.mode & _MODES, dir_fd=folder)
        elif info.isreg():
            self._file(info, folder, name)
        else:
            words = "the archive's members must be files, folders, links or pipes; leave others out"
            raise OSError(errno.EINVAL, words, info.name)
        os.utime(name, ns=_times(info), dir_fd=folder, follow_symlinks=False)

    def _file(self, info: tarfile.TarInfo, folder: int, name: str) -> None:
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        number = os.open(name, flags, 0o600, dir_fd=folder)
        try:
            os.ftruncate(number, info.size)  # fail now if it exceeds the limit of a file
            source = self._tar.extractfile(info)
            assert source is not None
            while data := source.read(_PART):
                if data.count(0) == len(data):  # holes stay holes
                    os.lseek(number, len(data), os.SEEK_CUR)
                else:
                    _write(number, data)
            _set_attributes(number, info)
            os.fchmod(number, info.mode & _MODES)
        finally:
            os.close(number)


def _times(info: tarfile.TarInfo) -> tuple[int, int]:
    """Returns the access and modification time, in nanoseconds."""
    told = info.pax_headers.get("mtime")
    if told is None:
        return (int(info.mtime * 10**9),) * 2
    seconds, _, rest = told.partition(".")
    return (int(seconds) * 10**9 + int(rest[:9].ljust(9, "0") or 0),) * 2


def _set_attributes(number: int, info: tarfile.TarInfo) -> None:
    """Sets a member's extended attributes on an open file or folder, if the file system supports them."""
    for header, value in info.pax_headers.items():
        name = header.removeprefix(_ATTRIBUTE)
        if name != header and name.startswith("user.") and not name.startswith("user.overlay."):
            try:
                os.setxattr(number, name, value.encode("utf-8", "surrogateescape"))
            except OSError as error:
                if error.errno != errno.EOPNOTSUPP:
                    raise


def _clear(folder: int, name: str) -> None:
    """Deletes whatever has this name."""
    with contextlib.suppress(FileNotFoundError):
        if stat.S_ISDIR(os.lstat(name, dir_fd=folder).st_mode):
            shutil.rmtree(name, dir_fd=folder)
        else:
            os.unlink(name, dir_fd=folder)


def _empty(folder: int) -> None:
    for name in os.listdir(folder):
        _clear(folder, name)


_WORKS = {
    "put": _put,
    "get": _get,
    "list": _list,
    "remove": _remove,
    "archive": _archive,
    "extract": _extract,
    "snapshot": _snapshot,
    "restore": _restore,
    "left": _left,
}
