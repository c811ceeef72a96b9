"""The system call filters of the processes in a slot, and the dropping of capabilities.

These are deny lists, because nobody can list the calls that a language's run time needs; the slot around the rooms has
an allow list. Calls with a number above the newest reviewed one fail with ENOSYS, so calls that a new kernel adds are
refused until somebody has reviewed them. There are two filters, and the stricter result counts. The namespace init
installs the long one once, for itself and all its descendants. Each program installs the short one, which refuses the
calls that making a room needs. The kernel compiles a filter when it is installed, which takes 0.2 ms for the long one.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import struct
from collections.abc import Iterable

LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long

# name: (x86_64, aarch64); None if the architecture has no such call.
_REFUSED: dict[str, tuple[object, object]] = {
    # other processes' memory, descriptors and registers
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "process_madvise": (440, 440),
    "process_mrelease": (448, 448),
    "pidfd_getfd": (438, 438),
    "kcmp": (312, 272),
    # mounts
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "chroot": (161, 51),
    "move_mount": (429, 429),
    "open_tree": (428, 428),
    "fsopen": (430, 430),
    "fsconfig": (431, 431),
    "fsmount": (432, 432),
    "fspick": (433, 433),
    "mount_setattr": (442, 442),
    "name_to_handle_at": (303, 264),
    "open_by_handle_at": (304, 265),
    # channels between runs, and kernel attack surface that programs under test do not need
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426),
    "io_uring_register": (427, 427),
    "bpf": (321, 280),
    "perf_event_open": (298, 241),
    "userfaultfd": (323, 282),
    "memfd_secret": (447, 447),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "lookup_dcookie": (212, 18),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "mbind": (237, 235),
    "set_mempolicy": (238, 237),
    "set_mempolicy_home_node": (450, 450),
    # reports of files that others open: rooms of one slot share the image's files
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    # the machine
    "reboot": (169, 142),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    "acct": (163, 89),
    "quotactl": (179, 60),
    "quotactl_fd": (443, 443),
    "syslog": (103, 116),
    "iopl": (172, None),
    "ioperm": (173, None),
    "modify_ldt": (154, None),
    "uselib": (134, None),
    "ustat": (136, None),
    "sysfs": (139, None),
    "_sysctl": (156, None),
    "nfsservctl": (180, 42),
    "vhangup": (153, 58),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "clock_adjtime": (305, 266),
    "adjtimex": (159, 171),
}

_MAKE_ROOMS: dict[str, tuple[int, int]] = {"unshare": (272, 97), "setns": (308, 268), "mount": (165, 40)}
"""The system calls that making a room needs, and that no program may make. The short filter also refuses `clone` with
CLONE_PARENT or a flag of a namespace."""

_WATCHED = {
    "x86_64": {
        **{"clone": 56, "clone3": 435, "socket": 41, "socketpair": 53, "ioctl": 16, "prlimit64": 302},
        **{"rt_sigaction": 13, "seccomp": 317, "fcntl": 72},
    },
    "aarch64": {
        **{"clone": 220, "clone3": 435, "socket": 198, "socketpair": 199, "ioctl": 29, "prlimit64": 261},
        **{"rt_sigaction": 134, "seccomp": 277, "fcntl": 25},
    },
}
_ARCHITECTURE = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NEWEST = 463
"""The newest system call number that was reviewed (Linux 6.13, mseal and the xattrat family)."""

_NAMESPACES = 0x7E020000 | 0x80
_PARENT = 0x8000
"""CLONE_PARENT: the supervisor is a program's parent, so it gets children that it does not know of. Nobody reaps them,
and the room's init remains a zombie forever."""
_FAMILIES = (1, 2, 10)
"""Unix, IPv4 and IPv6 (loopback is the only interface). Not AF_VSOCK, which reaches the hypervisor past every network
namespace, nor AF_ALG, AF_PACKET and the others."""
_NETLINK, _NETLINK_ROUTE = 16, 0
"""Run times list the interfaces through NETLINK_ROUTE. Attack: the other protocols of netlink carry messages between
processes (NETLINK_USERSOCK), list sockets, and reach the kernel's audit, crypto and packet filters."""
_THREADS = (32, 33)
"""The C library's internal signals, with which it cancels threads: it installs their handlers with the first thread."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX, which write to a terminal's input."""

_LEASE = 1024
"""F_SETLEASE. Attack: a lease on the program's own answer file, which blocks everybody else who opens it."""

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_WAIT = 0x7FC00000
"""SECCOMP_RET_USER_NOTIF: the call blocks until the listener answers. If another filter returns an error, the error
wins."""
_EPERM = 0x50000 | errno.EPERM
_ENOSYS = 0x50000 | errno.ENOSYS
_EAFNOSUPPORT = 0x50000 | errno.EAFNOSUPPORT
_EPROTONOSUPPORT = 0x50000 | errno.EPROTONOSUPPORT

_LD, _JEQ, _JGE, _JSET, _RET = 0x20, 0x15, 0x35, 0x45, 0x06


class _Code:
    """A filter in classic BPF, instruction by instruction."""

    def __init__(self, machine: str) -> None:
        self.column = ("x86_64", "aarch64").index(machine)
        self._parts: list[bytes] = []

    def put(self, op: int, true: int, false: int, value: int) -> None:
        """Appends an instruction."""
        self._parts.append(struct.pack("HBBI", op, true, false, value))

    def argument(self, index: int) -> None:
        """Loads the low half of an argument of the call."""
        self.put(_LD, 0, 0, 16 + 8 * index)

    def refuse(self, numbers: Iterable[tuple[object, object]]) -> bytes:
        """Refuses these numbers with EPERM and allows the rest. Returns the whole filter."""
        for pair in numbers:
            refused = pair[self.column]
            if isinstance(refused, int):
                self.put(_JEQ, 0, 1, refused)
                self.put(_RET, 0, 0, _EPERM)
        self.put(_RET, 0, 0, _ALLOW)
        return b"".join(self._parts)


def last(machine: str, *, network: bool) -> bytes:
    """Returns the short filter. Raises KeyError for an unknown architecture.

    Without a `network`, a call for a socket notifies the listener and blocks forever. So do calls that set a signal's
    action, because a handled signal interrupts the wait and fails the call with an error that it normally never has;
    and calls that install a filter, because only one filter can have a listener.
    """
    code, watched = _Code(machine), _WATCHED[machine]
    code.put(_LD, 0, 0, 0)
    code.put(_JEQ, 0, 4, watched["clone"])
    code.argument(0)
    code.put(_JSET, 0, 1, _NAMESPACES | _PARENT)
    code.put(_RET, 0, 0, _EPERM)
    code.put(_RET, 0, 0, _ALLOW)
    if not network:
        for name in ("socket", "socketpair", "seccomp"):
            code.put(_JEQ, 0, 1, watched[name])
            code.put(_RET, 0, 0, _WAIT)
        code.put(_JEQ, 0, 5 + len(_THREADS), watched["rt_sigaction"])
        code.argument(1)
        code.put(_JEQ, 2 + len(_THREADS), 0, 0)  # it only reads the signal's action
        code.argument(0)
        for place, number in enumerate(_THREADS):
            code.put(_JEQ, len(_THREADS) - place, 0, number)
        code.put(_RET, 0, 0, _WAIT)
        code.put(_RET, 0, 0, _ALLOW)
    return code.refuse(_MAKE_ROOMS.values())


def standing(machine: str) -> bytes:
    """Returns the long filter. Raises KeyError for an unknown architecture."""
    code = _Code(machine)
    put, argument, watched = code.put, code.argument, _WATCHED[machine]
    put(_LD, 0, 0, 4)
    put(_JEQ, 1, 0, _ARCHITECTURE[machine])  # 32-bit calls have other numbers, which the lines below do not match
    put(_RET, 0, 0, _KILL)
    put(_LD, 0, 0, 0)
    put(_JGE, 0, 1, 0x40000000)  # x32
    put(_RET, 0, 0, _EPERM)
    put(_JGE, 0, 1, _NEWEST + 1)
    put(_RET, 0, 0, _ENOSYS)
    put(_JEQ, 0, 1, watched["clone3"])  # its flags are in memory, which a filter cannot read; glibc falls back
    put(_RET, 0, 0, _ENOSYS)
    for name in ("socket", "socketpair"):
        put(_JEQ, 0, 7 + len(_FAMILIES), watched[name])
        argument(0)
        for place, family in enumerate(_FAMILIES):
            put(_JEQ, 4 + len(_FAMILIES) - place, 0, family)
        put(_JEQ, 0, 3, _NETLINK)
        argument(2)
        put(_JEQ, 2, 0, _NETLINK_ROUTE)
        put(_RET, 0, 0, _EPROTONOSUPPORT)
        put(_RET, 0, 0, _EAFNOSUPPORT)
        put(_RET, 0, 0, _ALLOW)
    put(_JEQ, 0, 2 + len(_TERMINAL_INPUT) + 1, watched["ioctl"])
    argument(1)
    for place, request in enumerate(_TERMINAL_INPUT):
        put(_JEQ, len(_TERMINAL_INPUT) - place, 0, request)
    put(_RET, 0, 0, _ALLOW)
    put(_RET, 0, 0, _EPERM)
    put(_JEQ, 0, 4, watched["fcntl"])
    argument(1)
    put(_JEQ, 0, 1, _LEASE)
    put(_RET, 0, 0, _EPERM)
    put(_RET, 0, 0, _ALLOW)
    # A process can set limits of others of its user without privileges. Attack: lower the descriptor limit of the
    # room's init, so that the program's own end looks like a failure of ours.
    put(_JEQ, 0, 4, watched["prlimit64"])
    argument(0)
    put(_JEQ, 1, 0, 0)
    put(_RET, 0, 0, _EPERM)
    put(_RET, 0, 0, _ALLOW)
    return code.refuse(_REFUSED.values())


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class _Filter:
    """A filter in the kernel's form."""

    def __init__(self, code: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(code, len(code) or 1)
        self._program = _Program(len(code) // 8, ctypes.addressof(self._buffer))
        self._place = ctypes.byref(self._program)

    def take(self) -> None:
        """Installs it for this process and its descendants. Raises OSError."""
        if not self._program.length:
            raise OSError(errno.ENOSYS, "no system call filter for this architecture: " + MACHINE)
        check(LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        check(LIBC.prctl(_PR_SET_SECCOMP, 2, self._place, 0, 0), "seccomp")

    def take_and_listen(self) -> int:
        """Installs it with a listener; no_new_privs must be set. Returns a descriptor that is readable while a call
        waits.
        """
        number = _WATCHED[MACHINE]["seccomp"]
        return check(int(LIBC.syscall(number, _SET_FILTER, _NEW_LISTENER, self._place)), "seccomp")


MACHINE = {"amd64": "x86_64", "arm64": "aarch64"}.get(platform.machine(), platform.machine())
_known = MACHINE in _ARCHITECTURE
STANDING = _Filter(standing(MACHINE) if _known else b"")
_LAST = _Filter(last(MACHINE, network=True) if _known else b"")
_LAST_WITHOUT_NETWORK = _Filter(last(MACHINE, network=False) if _known else b"")
_CAP_HEADER = (ctypes.c_uint32 * 2)(0x20080522, 0)
_CAP_NONE = (ctypes.c_uint32 * 6)()

_PR_SET_NO_NEW_PRIVS, _PR_SET_SECCOMP = 38, 22
_SET_FILTER, _NEW_LISTENER = 1, 8


def lock_down(keep: int = 0) -> None:
    """Permanently drops every capability but those of a mask, and installs the last filter. Raises OSError.

    With `no_new_privs` no executable can regain a capability, so the bounding set can stay: dropping it takes 41 more
    calls.
    """
    kept = (ctypes.c_uint32 * 6)(keep, keep) if keep else _CAP_NONE
    check(LIBC.capset(_CAP_HEADER, kept), "capset")
    _LAST.take()


def lock_down_without_network() -> int:
    """The same for a program without a network of its own. Returns a descriptor that becomes readable when the program
    asks for one. Raises OSError, also if a filter already has a listener.
    """
    check(LIBC.capset(_CAP_HEADER, _CAP_NONE), "capset")
    return _LAST_WITHOUT_NETWORK.take_and_listen()


def check(result: int, what: str) -> int:
    """Returns the result of a C library function. Raises OSError if it is an error."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, what + ": " + os.strerror(code))
    return result
