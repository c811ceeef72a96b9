"""Privileges: calls that would open the room, each made really and each refused, from Python and from C.

A refusal is EPERM, ENOSYS or EACCES. Any other error means that the kernel went as far as looking at the arguments, and
that only our choice of them saved us.
"""

from __future__ import annotations

import platform

from tests.attacks.sandbox.attack import CALL_ME, ROOMY, Attack

# name: (number on x86_64, arguments in C)
_CALLS: dict[str, tuple[int, str]] = {
    "ptrace": (101, "16, 1, 0, 0"),
    "process_vm_readv": (310, "1, buffer, 1, buffer, 1, 0"),
    "process_vm_writev": (311, "1, buffer, 1, buffer, 1, 0"),
    "process_madvise": (440, "0, buffer, 1, 8, 0"),
    "pidfd_getfd": (438, "0, 1, 0"),
    "kcmp": (312, "1, 1, 0, 0, 0"),
    "unshare": (272, "0x10000000"),
    "setns": (308, "0, 0"),
    "mount": (165, "buffer, buffer, buffer, 4096, 0"),
    "umount2": (166, "buffer, 2"),
    "pivot_root": (155, "buffer, buffer"),
    "chroot": (161, "buffer"),
    "move_mount": (429, "-100, buffer, -100, buffer, 0"),
    "open_tree": (428, "-100, buffer, 1"),
    "fsopen": (430, "buffer, 0"),
    "fsconfig": (431, "0, 0, 0, 0, 0"),
    "fsmount": (432, "0, 0, 0"),
    "fspick": (433, "-100, buffer, 0"),
    "mount_setattr": (442, "-100, buffer, 0, buffer, 32"),
    "name_to_handle_at": (303, "-100, buffer, buffer, buffer, 0"),
    "open_by_handle_at": (304, "-100, buffer, 0"),
    "add_key": (248, "buffer, buffer, buffer, 1, -4"),
    "request_key": (249, "buffer, buffer, 0, -4"),
    "keyctl": (250, "0, -3, 1, 0, 0"),
    "io_uring_setup": (425, "4, buffer"),
    "io_uring_enter": (426, "0, 0, 0, 0, 0, 0"),
    "io_uring_register": (427, "0, 0, 0, 0"),
    "bpf": (321, "5, buffer, 48"),
    "perf_event_open": (298, "buffer, 0, -1, -1, 0"),
    "userfaultfd": (323, "0"),
    "fanotify_init": (300, "0, 0"),
    "lookup_dcookie": (212, "0, buffer, 8"),
    "migrate_pages": (256, "0, 1, buffer, buffer"),
    "move_pages": (279, "1, 0, 0, 0, 0, 0"),
    "reboot": (169, "0xfee1dead, 672274793, 0x1234567, 0"),
    "kexec_load": (246, "0, 0, 0, 0"),
    "kexec_file_load": (320, "0, 0, 0, buffer, 0"),
    "init_module": (175, "buffer, 8, buffer"),
    "finit_module": (313, "0, buffer, 0"),
    "delete_module": (176, "buffer, 0"),
    "swapon": (167, "buffer, 0"),
    "swapoff": (168, "buffer"),
    "sethostname": (170, "buffer, 1"),
    "setdomainname": (171, "buffer, 1"),
    "acct": (163, "0"),
    "quotactl": (179, "0, buffer, 0, buffer"),
    "syslog": (103, "3, buffer, 8"),
    "settimeofday": (164, "buffer, 0"),
    "clock_settime": (227, "0, buffer"),
    "vhangup": (153, ""),
    "clone3": (435, "buffer, 64"),
}
_X86_ONLY = {
    "iopl": (172, "3"),
    "ioperm": (173, "0, 1, 1"),
    "modify_ldt": (154, "0, buffer, 8"),
    "uselib": (134, "buffer"),
}

_TABLE = "".join(
    f'#ifdef SYS_{name}\n    attempt("{name}", SYS_{name}{", " if given else ""}{given});\n#endif\n'
    for name, (_, given) in (_CALLS | _X86_ONLY).items()
)

_CALLS_C = (
    """
#define _GNU_SOURCE
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static char buffer[4096];
#define attempt(name, ...) do { \\
    errno = 0; \\
    if (syscall(__VA_ARGS__) != -1 || (errno != EPERM && errno != ENOSYS && errno != EACCES)) \\
        printf("BREACH %s %s\\n", name, strerror(errno)); \\
} while (0)
int main(void) {
"""
    + _TABLE
    + """
    int flags[] = {0x10000000, 0x20000000, 0x20000, 0x8000000, 0x40000000, 0x4000000, 0x2000000, 0x80};
    for (int n = 0; n < 8; n++) {
        errno = 0;
        long pid = syscall(SYS_clone, (long)flags[n] | SIGCHLD, 0, 0, 0, 0);
        if (pid == 0) _exit(0);
        if (pid > 0 || errno != EPERM) printf("BREACH clone %x %s\\n", flags[n], strerror(errno));
        errno = 0;
        if (unshare_(flags[n]) == 0 || errno != EPERM) printf("BREACH unshare %x %s\\n", flags[n], strerror(errno));
    }
    puts("HELD");
}
"""
).replace(
    "int main(void) {", "static int unshare_(int flags) { return syscall(SYS_unshare, flags); }\nint main(void) {", 1
)

_CALLS_PYTHON = (
    CALL_ME
    + f"""
import ctypes, errno, os
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
buffer = ctypes.create_string_buffer(4096)
def attempt(name, number, *given):
    ctypes.set_errno(0)
    given = [each if each is buffer else ctypes.c_long(each) for each in given]
    found = LIBC.syscall(ctypes.c_long(number), *given)
    if found != -1 or ctypes.get_errno() not in (errno.EPERM, errno.ENOSYS, errno.EACCES):
        print("BREACH", name, os.strerror(ctypes.get_errno()))
    if found == 0 and name == "clone3":
        os._exit(0)
for name, number, given in {[(name, number, given) for name, (number, given) in (_CALLS | _X86_ONLY).items()]!r}:
    attempt(name, number, *eval(f"({{given}},)" if given else "()"))
    pid = os.fork()  # some kernels and filters kill for this
    if pid == 0:
        os._exit(0 if LIBC.syscall(ctypes.c_long(number | 0x40000000), *[ctypes.c_long(0)] * 6) == -1 else 7)
    if os.waitpid(pid, 0)[1] == 7 << 8:
        print("BREACH x32", name)
print("HELD")
"""
)

_STATUS = """
import os
status = dict(line.split(":\\t", 1) for line in open("/proc/self/status").read().splitlines() if ":\\t" in line)
for name in ("CapInh", "CapPrm", "CapEff", "CapAmb"):  # with no_new_privs the bounding set gives nobody anything
    if int(status[name], 16):
        print("BREACH", name, status[name])
for name, wanted in (("NoNewPrivs", "1"), ("Seccomp", "2")):
    if status[name].strip() != wanted:
        print("BREACH", name, status[name])
if 0 in os.getresuid() + os.getresgid() or 0 in os.getgroups():
    print("BREACH root", os.getresuid(), os.getresgid(), os.getgroups())
print("HELD")
"""

_THREADS_C = """
#include <pthread.h>
#include <stdio.h>
static void *work(void *x) { return x; }
int main(void) {
    pthread_t t;
    void *x = 0;
    if (pthread_create(&t, 0, work, "fine") || pthread_join(t, &x)) return 1;
    puts(x);
}
"""

_X86 = platform.machine() in ("x86_64", "AMD64")

ATTACKS = [
    Attack(
        title="has no privilege",
        code=CALL_ME + _STATUS,
        held=True,
        limits=ROOMY,
        twin="import os\nprint('fine' if os.getuid() else '')",
    ),
    Attack(
        title="has no privilege after an exec either",
        language="bash",
        code="exec python3 -c '" + _STATUS.replace("'", '"').replace("\\t", "\\\\t").replace("\\\\t", "\\t") + "'",
        held=True,
        limits=ROOMY,
        twin="exec python3 -c 'print(\"fine\")'",
    ),
    Attack(
        title="makes every call that is refused", language="c", code=_CALLS_C, held=True, limits=ROOMY, twin=_THREADS_C
    ),
    *(
        [
            Attack(
                title="makes every call that is refused, by number and as x32",
                code=_CALLS_PYTHON,
                held=True,
                limits=ROOMY,
                twin="import threading\nt = threading.Thread(target=print, args=('fine',))\nt.start()\nt.join()",
            )
        ]
        if _X86
        else []
    ),
    *(
        [
            Attack(
                title="makes calls as a program of 32 bits",
                language="c",
                code="""
#include <stdio.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    int numbers[] = {20, 310, 26, 21, 88, 120};
    for (int n = 0; n < 6; n++) {
        int pid = fork(), status;
        if (pid == 0) {
            long found;
            __asm__ volatile("int $0x80" : "=a"(found) : "a"(numbers[n]), "b"(0x10000000), "c"(0), "d"(0), "S"(0), "D"(0) : "memory");
            _exit(found >= 0 ? 7 : 0);
        }
        waitpid(pid, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 7) printf("BREACH %d\\n", numbers[n]);
    }
    puts("HELD");
}
""",
                held=True,
                limits=ROOMY,
                twin=_THREADS_C,
            )
        ]
        if _X86
        else []
    ),
    Attack(
        title="becomes somebody else",
        code=CALL_ME
        + """
import ctypes, os
LIBC = ctypes.CDLL(None, use_errno=True)
me = os.getuid(), os.getgid()
def write(path, text):
    number = os.open(path, os.O_WRONLY)
    try:
        os.write(number, text.encode())
    finally:
        os.close(number)
for name, what in (
    ("setuid", lambda: os.setuid(0)), ("seteuid", lambda: os.seteuid(0)), ("setgid", lambda: os.setgid(0)),
    ("setresuid", lambda: os.setresuid(0, 0, 0)), ("setresgid", lambda: os.setresgid(0, 0, 0)), ("setgroups", lambda: os.setgroups([0])),
    ("setuid to a neighbour", lambda: os.setuid(me[0] + 1)), ("nobody", lambda: os.setuid(65534)),
    ("chown", lambda: os.chown("/tmp/box", 0, 0)), ("mknod", lambda: os.mknod("/tmp/box/sda", 0o600 | 0o060000, os.makedev(8, 0))),
    ("zero", lambda: os.mknod("/tmp/box/zero", 0o600 | 0o020000, os.makedev(1, 5))),
    ("priority", lambda: os.setpriority(os.PRIO_PROCESS, 0, -10)), ("real time", lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))),
    ("map", lambda: write("/proc/self/uid_map", "0 0 1")), ("ns_last_pid", lambda: write("/proc/sys/kernel/ns_last_pid", "9")),
    ("sysctl", lambda: write("/proc/sys/kernel/core_pattern", "|/bin/sh")), ("hostname", lambda: write("/proc/sys/kernel/hostname", "x")),
    ("sysrq", lambda: write("/proc/sysrq-trigger", "c")), ("module", lambda: write("/proc/sys/kernel/modprobe", "x")),
    ("max user namespaces", lambda: write("/proc/sys/user/max_user_namespaces", "9")),
    ("shmmax", lambda: write("/proc/sys/kernel/shmmax", "9")), ("msg", lambda: write("/proc/sys/fs/mqueue/msg_max", "99999")),
):
    try:
        what()
        print("BREACH", name)
    except OSError:
        pass
for capability in range(64):
    if LIBC.prctl(47, 2, capability, 0, 0) == 0:
        print("BREACH ambient", capability)
if LIBC.prctl(38, 0, 0, 0, 0) == 0:
    print("BREACH no_new_privs taken off")
if LIBC.capset((ctypes.c_uint32 * 2)(0x20080522, 0), (ctypes.c_uint32 * 6)(*[0xFFFFFFFF] * 6)) == 0:
    print("BREACH capset")
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="import os\nos.setuid(os.getuid())\nos.setgid(os.getgid())\nprint('fine')",
    ),
    Attack(
        title="runs every program of the image that would make it somebody else",
        language="bash",
        code="""
for path in $(find / -xdev -perm /6000 -type f 2> /dev/null); do
    out=$(echo | timeout 1 "$path" -c id 2> /dev/null < /dev/null)
    case $out in *uid=0* | *euid=0* | *egid=*) echo "BREACH $path $out" ;; esac
done
for path in $(getcap -r / 2> /dev/null | cut -d' ' -f1); do echo "capable $path"; done > /dev/null
echo HELD
""",
        held=True,
        limits=ROOMY,
        twin="id -u > /dev/null && echo fine",
    ),
    Attack(
        title="types into terminals",
        code=CALL_ME
        + """
import fcntl, os, termios
for path in ("/dev/tty", "/dev/console", "/dev/tty0", "/dev/ptmx", "/dev/pts/0", "/dev/vcs"):
    try:
        number = os.open(path, os.O_RDWR | os.O_NOCTTY)
    except OSError:
        continue
    for request, data in ((termios.TIOCSTI, b"x"), (0x541C, b"\\x02")):
        try:
            fcntl.ioctl(number, request, data)
            print("BREACH", path, hex(request))
        except OSError:
            pass
for number in range(3):
    for request in (termios.TIOCSTI, 0x541C, termios.TIOCSCTTY):
        try:
            fcntl.ioctl(number, request, b"x")
            print("BREACH", number, hex(request))
        except OSError:
            pass
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="import os\nmaster, slave = os.openpty()\nos.write(slave, b'fine')\nprint(os.read(master, 4).decode())",
    ),
    Attack(
        title="runs a program that lies in memory only, and it is as locked as before",
        code=CALL_ME
        + """
import os
number = os.memfd_create("x", 0)
with open("/usr/bin/python3", "rb") as file:
    while data := file.read(1 << 20):
        os.write(number, data)
os.execve(number, ["python3", "-c", STATUS], dict(os.environ))
""".replace("STATUS", repr(_STATUS)),
        held=True,
        limits=ROOMY,
        twin="import os\nos.execv('/bin/echo', ['echo', 'fine'])",
    ),
    Attack(
        title="takes a filter of its own that lets everything through",
        code=CALL_ME
        + """
import ctypes, os, struct
LIBC = ctypes.CDLL(None, use_errno=True)
program = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
class Filter(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
LIBC.prctl(22, 2, ctypes.byref(Filter(1, ctypes.addressof(program))), 0, 0)
ctypes.set_errno(0)
if LIBC.unshare(0x10000000) == 0:
    print("BREACH")
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="print('fine')",
    ),
]
