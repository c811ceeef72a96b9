"""The system call filters of what runs in a slot, and the dropping of capabilities.

A list of what is refused, because what a language's run time needs cannot be listed; the slot around the rooms has a
list of what is allowed. Numbers above the newest that was looked at are answered ENOSYS, so that a new kernel's calls
are refused before anybody has read about them. There are two filters, and the stricter answer counts: a long one that
the namespace init takes once, for itself and all that is forked from it, and a short one with what the making of a room
needs, which each program takes: the kernel compiles a filter when it is taken, which for the long one is 0.2 ms.
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

# name: (x86_64, aarch64); None where the architecture has no such call.
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
    # channels between runs, and kernel surface that programs under test have no use for
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
    # what others open, told as they open it: rooms of one slot share the image's files
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
"""The system calls that the making of a room needs, and no program may make. With them goes `clone` with any flag of a
namespace, and with that which makes brothers."""

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
"""The newest system call number whose meaning was looked at (Linux 6.13, mseal and the xattrat family)."""

_NAMESPACES = 0x7E020000 | 0x80
_PARENT = 0x8000
"""CLONE_PARENT: the supervisor is a program's parent, and would have children of which it knows nothing. Nobody would
reap them, and the kernel would hold the room's init for ever."""
_FAMILIES = (1, 2, 10)
"""Local, IPv4 and IPv6 (loopback is all there is). No AF_VSOCK: it reaches the hypervisor past every network
namespace. No AF_ALG, AF_PACKET and the rest."""
_NETLINK, _NETLINK_ROUTE = 16, 0
"""Run times ask NETLINK_ROUTE for their interfaces. Attack: the other protocols of netlink carry messages between
processes (NETLINK_USERSOCK), list sockets, and reach the kernel's audit, crypto and packet filters."""
_THREADS = (32, 33)
"""The C library's own signals, with which it ends threads: it handles them from the first thread on."""
_TERMINAL_INPUT = (0x5412, 0x541C)
"""TIOCSTI and TIOCLINUX write into a terminal's input."""

_LEASE = 1024
"""F_SETLEASE. Attack: a lease of one's own answer, until whose end nobody else can open it."""

_ALLOW = 0x7FFF0000
_KILL = 0x80000000
_WAIT = 0x7FC00000
"""SECCOMP_RET_USER_NOTIF: the call waits for whoever listens. Of two filters' answers an error counts before it."""
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
        """Append an instruction."""
        self._parts.append(struct.pack("HBBI", op, true, false, value))

    def argument(self, index: int) -> None:
        """Load the low half of an argument of the call."""
        self.put(_LD, 0, 0, 16 + 8 * index)

    def refuse(self, numbers: Iterable[tuple[object, object]]) -> bytes:
        """Answer EPERM for these numbers, allow the rest; returns the whole filter."""
        for pair in numbers:
            refused = pair[self.column]
            if isinstance(refused, int):
                self.put(_JEQ, 0, 1, refused)
                self.put(_RET, 0, 0, _EPERM)
        self.put(_RET, 0, 0, _ALLOW)
        return b"".join(self._parts)


def last(machine: str, *, network: bool) -> bytes:
    """The short filter. Raises KeyError for an architecture that is not known.

    Without a `network` a call waits for whoever listens, for ever, when it asks for a socket; also when it sets what a
    signal does, because a signal that is handled would end the wait, and the call with an error that it never has; and
    when it takes a filter, of which only one may be listened to.
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
        code.put(_JEQ, 2 + len(_THREADS), 0, 0)  # it only asks what the signal does
        code.argument(0)
        for place, number in enumerate(_THREADS):
            code.put(_JEQ, len(_THREADS) - place, 0, number)
        code.put(_RET, 0, 0, _WAIT)
        code.put(_RET, 0, 0, _ALLOW)
    return code.refuse(_MAKE_ROOMS.values())


def standing(machine: str) -> bytes:
    """The long filter. Raises KeyError for an architecture that is not known."""
    code = _Code(machine)
    put, argument, watched = code.put, code.argument, _WATCHED[machine]
    put(_LD, 0, 0, 4)
    put(_JEQ, 1, 0, _ARCHITECTURE[machine])  # 32-bit calls have other numbers, and would pass by every line below
    put(_RET, 0, 0, _KILL)
    put(_LD, 0, 0, 0)
    put(_JGE, 0, 1, 0x40000000)  # x32
    put(_RET, 0, 0, _EPERM)
    put(_JGE, 0, 1, _NEWEST + 1)
    put(_RET, 0, 0, _ENOSYS)
    put(_JEQ, 0, 1, watched["clone3"])  # its flags lie in memory, where a filter cannot look; glibc falls back
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
    # Limits of another process of the same user may be set without any privilege: a program that took the room's init
    # its descriptors would make its own end look like a failure of ours.
    put(_JEQ, 0, 4, watched["prlimit64"])
    argument(0)
    put(_JEQ, 1, 0, 0)
    put(_RET, 0, 0, _EPERM)
    put(_RET, 0, 0, _ALLOW)
    return code.refuse(_REFUSED.values())


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


class _Filter:
    """A filter as the kernel takes it."""

    def __init__(self, code: bytes) -> None:
        self._buffer = ctypes.create_string_buffer(code, len(code) or 1)
        self._program = _Program(len(code) // 8, ctypes.addressof(self._buffer))
        self._place = ctypes.byref(self._program)

    def take(self) -> None:
        """For this process and all that it becomes or forks. Raises OSError."""
        if not self._program.length:
            raise OSError(errno.ENOSYS, "no system call filter for this architecture: " + MACHINE)
        check(LIBC.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), "no_new_privs")
        check(LIBC.prctl(_PR_SET_SECCOMP, 2, self._place, 0, 0), "seccomp")

    def take_and_listen(self) -> int:
        """The same, where no_new_privs is set. Returns the descriptor that can be read while a call waits."""
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
    """Drop every capability but those of a mask, and take the last filter, for good. Raises OSError.

    With `no_new_privs` no program file can bring a capability back, so the bounding set, 41 calls more, may stay.
    """
    kept = (ctypes.c_uint32 * 6)(keep, keep) if keep else _CAP_NONE
    check(LIBC.capset(_CAP_HEADER, kept), "capset")
    _LAST.take()


def lock_down_without_network() -> int:
    """The same for a program that is in nobody's network. Returns the descriptor that can be read when it wants one of
    its own. Raises OSError, also where somebody listens to a filter already.
    """
    check(LIBC.capset(_CAP_HEADER, _CAP_NONE), "capset")
    return _LAST_WITHOUT_NETWORK.take_and_listen()


def check(result: int, what: str) -> int:
    """Returns what a function of the C library returned. Raises OSError where that says that it failed."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, what + ": " + os.strerror(code))
    return result
