"""The network: there is none but the room's own loopback, and no way to the machine's."""

from __future__ import annotations

from tests.attacks.sandbox.attack import CALL_ME, ROOMY, Attack

_LOOPBACK = """
import socket
server = socket.create_server(("127.0.0.1", 0))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"fine")
print(client.recv(4).decode())
"""

_LOCAL = """
import socket
a, b = socket.socketpair()
a.sendall(b"fine")
print(b.recv(4).decode())
"""

ATTACKS = [
    Attack(
        title="connects to everybody",
        code=CALL_ME
        + """
import errno, socket
places = [("1.1.1.1", 80), ("8.8.8.8", 53), ("169.254.169.254", 80), ("172.17.0.1", 22), ("172.17.0.1", 2375), ("10.0.0.1", 80),
          ("192.168.0.1", 80), ("255.255.255.255", 9), ("224.0.0.1", 9), ("100.100.100.200", 80)]
places6 = [("2606:4700:4700::1111", 80), ("fd00:ec2::254", 80), ("fe80::1", 80), ("ff02::1", 9)]
for family, all_of_them in ((socket.AF_INET, places), (socket.AF_INET6, places6)):
    for place in all_of_them:
        for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
            try:
                with socket.socket(family, kind) as sock:
                    sock.settimeout(0.3)
                    sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                    sock.connect(place)
                    if kind == socket.SOCK_DGRAM:
                        sock.send(b"x")
                    print("BREACH", place, kind)
            except OSError as error:
                if error.errno not in (errno.ENETUNREACH, errno.EHOSTUNREACH, errno.EADDRNOTAVAIL, errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT, errno.EINVAL):
                    print("BREACH", place, error)
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin=_LOOPBACK,
    ),
    Attack(
        title="asks for a name",
        code=CALL_ME
        + """
import socket
for name in ("example.com", "metadata.google.internal", "host.docker.internal", "kubernetes.default.svc"):
    try:
        print("BREACH", socket.getaddrinfo(name, 80))
    except OSError:
        pass
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="import socket\nprint('fine' if socket.getaddrinfo('127.0.0.1', 80) else '')",
    ),
    Attack(
        title="asks for sockets of other kinds",
        code=CALL_ME
        + """
import socket
for family in range(0, 50):
    if family in (1, 2, 10, 16):
        continue
    for kind in (1, 2, 3, 5):
        try:
            socket.socket(family, kind, 0)
            print("BREACH family", family, kind)
        except OSError:
            pass
for family, protocol in ((2, 1), (2, 255), (10, 58), (10, 255)):
    try:
        socket.socket(family, 3, protocol)
        print("BREACH raw", family, protocol)
    except OSError:
        pass
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin=_LOCAL,
    ),
    Attack(
        title="asks for netlink of other kinds",
        code=CALL_ME
        + """
import ctypes, platform, socket
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
number = 198 if platform.machine() == "aarch64" else 41
for protocol in range(1, 64):
    for kind in (socket.SOCK_RAW, socket.SOCK_DGRAM):
        for flags in (0, socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK):
            try:
                socket.socket(socket.AF_NETLINK, kind | flags, protocol)
                print("BREACH", protocol, kind, flags)
            except OSError:
                pass
        if LIBC.syscall(number, 16, kind, ctypes.c_long(1 << 32 | protocol)) >= 0:  # the kernel takes the low half
            print("BREACH", protocol, kind, "with a high half")
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin="""
import socket
assert socket.if_nameindex() == [(1, "lo")], socket.if_nameindex()
assert socket.if_nametoindex("lo") == 1
assert socket.getaddrinfo("localhost", 80, type=socket.SOCK_STREAM), "no address"
with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW | socket.SOCK_CLOEXEC, socket.NETLINK_ROUTE) as route:
    route.bind((0, 0))
print("fine")
""",
    ),
    Attack(
        title="asks for netlink of other kinds",
        language="c",
        code="""
#include <stdio.h>
#include <sys/socket.h>
int main(void) {
    for (int protocol = 1; protocol < 64; protocol++)
        if (socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, protocol) >= 0) printf("BREACH %d\\n", protocol);
    puts("HELD");
}
""",
        held=True,
        limits=ROOMY,
        twin="""
#define _GNU_SOURCE
#include <ifaddrs.h>
#include <netdb.h>
#include <stdio.h>
int main(void) {
    struct ifaddrs *all, *each;
    struct addrinfo hints = {.ai_flags = AI_ADDRCONFIG, .ai_socktype = SOCK_STREAM}, *found;
    int lo = 0;
    if (getifaddrs(&all)) return 1;
    for (each = all; each; each = each->ifa_next)
        lo |= each->ifa_addr && each->ifa_addr->sa_family == AF_INET;
    if (getaddrinfo("127.0.0.1", "80", &hints, &found)) return 2;
    puts(lo ? "fine" : "no address");
}
""",
    ),
    Attack(
        title="connects to everybody",
        language="javascript",
        code="""
const net = require("net");
const places = ["1.1.1.1", "169.254.169.254", "172.17.0.1", "10.0.0.1", "2606:4700:4700::1111"];
let left = places.length;
const done = () => { if (--left === 0) console.log("HELD"); };
for (const host of places)
    net.connect({ host, port: 80 })
        .on("connect", () => { console.log("BREACH", host); process.exit(); })
        .on("error", (error) => { if (!["ENETUNREACH", "EHOSTUNREACH", "EADDRNOTAVAIL"].includes(error.code)) console.log("BREACH", host, error.code); done(); });
""",
        held=True,
        limits=ROOMY,
        twin="""
const net = require("net");
const server = net.createServer((socket) => socket.end(Object.keys(require("os").networkInterfaces()).join()));
server.listen(8080, "localhost", () => net.connect({ port: 8080, host: "localhost" }).on("data", (data) => { console.log(`${data}` === "lo" ? "fine" : `${data}`); server.close(); }));
""",
    ),
    Attack(
        title="changes its network",
        code=CALL_ME
        + """
import fcntl, socket, struct
sock = socket.socket()
address = struct.pack("16sH2x4s8x", b"lo", socket.AF_INET, socket.inet_aton("10.9.8.7"))
for name, request, data in (
    ("address", 0x8916, address), ("flags", 0x8914, struct.pack("16sH", b"lo", 0)), ("name", 0x8923, struct.pack("16s16s", b"lo", b"x")),
    ("route", 0x890B, b"\\0" * 120), ("bridge", 0x89A0, b"br0\\0" * 4), ("tunnel", 0x89F1, b"\\0" * 64), ("mtu", 0x8922, struct.pack("16si", b"lo", 99)),
):
    try:
        fcntl.ioctl(sock, request, data)
        print("BREACH", name)
    except OSError:
        pass
link = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
link.bind((0, 0))
message = struct.pack("=IHHII", 32, 16, 0x605, 1, 0) + struct.pack("=BxHiII", 0, 0, 0, 1, 1)
link.send(message)
link.settimeout(1)
try:
    answer = link.recv(4096)
    if struct.unpack_from("=i", answer, 16)[0] == 0:
        print("BREACH a new interface")
except OSError:
    pass
print("HELD")
""",
        held=True,
        limits=ROOMY,
        twin=_LOOPBACK,
    ),
]
