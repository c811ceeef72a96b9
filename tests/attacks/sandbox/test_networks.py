"""A run begins without a network and begins again with one of its own: no program can tell, gain by it, or be harmed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rewarden_sandboxes.job import Case, CaseResult, Job, Limits, Program
from rewarden_sandboxes.launchers import docker
from tests.attacks.sandbox.attack import CALL_ME, ROOMY
from tests.attacks.sandbox.grounds import Ground, ground
from tests.attacks.sandbox.test_neighbours import OTHER_SOCKETS, SURVEY

pytestmark = pytest.mark.alone  # it looks at the namespaces of the machine

UID = 310_000
HALF_MINUTE = Limits(cpu_s=30.0, wall_s=30.0, memory_mb=256, processes=32)


def hidden(code: str) -> str:
    """The same program, whose text does not say that it will want a network."""
    return f"exec(bytes.fromhex('{code.encode().hex()}').decode())\n"


@pytest.fixture(scope="module")
def one(launcher: str) -> Iterator[Ground]:
    """A host of one slot: whoever comes next sits where the last one sat."""
    with ground(launcher, slots=1, uid=UID) as made:
        yield made


def program(code: str) -> Program:
    return Program(language="python", code=code.encode(), limits=ROOMY)


def says(one: Ground, code: str, **more: object) -> str:
    """The output of a program that ends well."""
    report = one.report(Job(program=program(code), **more))  # type: ignore[arg-type]
    assert report.status == "ok", report
    return report.stdout.decode()


def pair(program_code: str, partner_code: str) -> Job:
    return Job(program=program(program_code), partner=program(partner_code), join="socket")


SERVER = """
import socket
server = socket.create_server(("127.0.0.1", 8080))
client = socket.create_connection(server.getsockname())
server.accept()[0].sendall(b"fine")
print(client.recv(4).decode())
"""

HONEST = {
    "a server": SERVER,
    "a pair": "import socket\na, b = socket.socketpair()\na.send(b'fine')\nprint(b.recv(4).decode())",
    "a server in another process": "import os, sys\nif os.fork() == 0:\n"
    + "".join(f"    {line}\n" for line in SERVER.splitlines())
    + "    sys.stdout.flush()\n    os._exit(0)\nos.wait()",
    "another program": f"import subprocess\nprint(subprocess.check_output(['python3', '-c', {SERVER!r}], text=True), end='')",
    "a loop of events": """
import asyncio
async def main():
    async def answer(reader, writer):
        writer.write(await reader.read(4))
        writer.close()
    async with await asyncio.start_server(answer, "127.0.0.1", 8080):
        reader, writer = await asyncio.open_connection("127.0.0.1", 8080)
        writer.write(b"fine")
        return await reader.read(4)
print(asyncio.run(main()).decode())
""",
    "eight threads at once": """
import socket, threading
ready, made = threading.Barrier(8), []
def make():
    ready.wait()
    made.append(socket.socket())
threads = [threading.Thread(target=make) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("fine" if len({each.fileno() for each in made}) == 8 else made)
""",
    "sockets between the ticks of a timer": """
import signal, socket
ticks = []
signal.signal(signal.SIGALRM, lambda *_: ticks.append(1))
signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.0001)
while len(ticks) < 200:
    socket.socket().close()  # never ends with EINTR
signal.setitimer(signal.ITIMER_REAL, 0)
print("fine")
""",
    "a network after all else": """
import os, sys
assert not os.path.exists("/tmp/here") and not os.path.exists("here"), "this program has run before"
open("/tmp/here", "w").close()
open("here", "w").close()
print(sys.stdin.read(), end="", flush=True)
import socket
socket.socket()
print("ne")
""",
    "a filter of its own": """
import ctypes, errno
LIBC = ctypes.CDLL(None, use_errno=True)
for number in (317, 277):
    LIBC.syscall(number, 99, 0, None)
print("fine")
""",
}


@pytest.mark.parametrize("name", HONEST)
@pytest.mark.parametrize("said", [True, False], ids=["said", "hidden"])
def test_a_program_that_wants_a_network_has_one(one: Ground, name: str, said: bool) -> None:
    stdin = b"fi" if "stdin" in HONEST[name] else b""
    for _ in range(3):
        code = HONEST[name] if said else hidden(HONEST[name])
        assert says(one, code, cases=[Case(stdin=stdin)] * 2) == "fine\n"


def test_a_run_that_begins_again_leaves_its_files_once(one: Ground) -> None:
    code = "open('log', 'a').write('x')\n" + hidden("import socket\nsocket.socket()") + "open('log', 'a').write('y')\n"
    report = one.report(Job(program=program(code), collect=["log"]))
    assert (report.status, report.files["log"]) == ("ok", b"xy"), report


NAME = "import os\nprint(os.readlink('/proc/self/ns/net'))\n"
THREADS = "import threading\nthread = threading.Thread(target=int)\nthread.start()\nthread.join()\n"
REFUSED = hidden(
    "import socket\ntry:\n    socket.socket(40)\nexcept OSError as error:\n    assert error.errno == 97, error\n"
)
LOOKS = hidden("import signal\nassert signal.getsignal(signal.SIGTERM) == signal.SIG_DFL\n")
ASK = hidden("import socket\nsocket.socket()\n")


def test_a_network_is_made_for_those_who_want_one(one: Ground) -> None:
    without = {says(one, NAME) for _ in range(4)}
    assert len(without) == 1
    for asking in (ASK, hidden("import signal\nsignal.signal(15, print)\n"), "# socket\n"):
        assert says(one, asking + NAME) not in without
    for quiet in ("", THREADS, REFUSED, LOOKS):
        assert {says(one, quiet + NAME)} == without


COMPILED = """
#include <bits/stdc++.h>
#include <unistd.h>
#define JOINED(a, b) a##b
extern "C" int JOINED(sock, et)(int, int, int);
int main() {
    std::string asked;
    std::cin >> asked;
    if (asked == "thread") std::thread([] {}).join();
    if (asked == "ask") assert(JOINED(sock, et)(2, 1, 0) >= 0);
    if (asked == "handle") assert(JOINED(sig, nal)(15, [](int) {}) == SIG_DFL);
    if (asked == "start") assert(JOINED(sys, tem)("true") == 0);
    char name[64] = {};
    assert(readlink("/proc/self/ns/net", name, 63) > 0);
    std::cout << name << std::endl;
}
"""
"""Prints the number of its network, and does before what stdin says."""


def test_a_program_in_cpp_begins_without_a_network_too(one: Ground) -> None:
    compiled = Program(language="cpp", code=COMPILED.encode(), limits=ROOMY)

    def network(code: Program, *asked: str) -> list[str]:
        events = one.events(Job(program=code, cases=[Case(stdin=each.encode()) for each in asked]))
        reports = [event.program for event in events if isinstance(event, CaseResult)]
        assert [report.status for report in reports] == ["ok"] * len(asked), reports
        return [report.stdout.decode() for report in reports]

    without = set(network(compiled, "nothing", "thread") + network(compiled, "nothing"))
    assert len(without) == 1
    for asked in ("ask", "handle", "start"):
        before, after, later = network(compiled, "nothing", asked, "nothing")
        assert {before} == without
        assert len({before, after, later}) == 3
    says_so = Program(language="cpp", code=COMPILED.encode() + b"// socket\n", limits=ROOMY)
    assert not without & set(network(says_so, "nothing"))


def test_a_job_whose_limit_is_the_limit_begins_with_a_network(one: Ground) -> None:
    """Attack: use up the time, ask for a network, and use it up again, while somebody's clock runs."""
    without = says(one, NAME)
    assert says(one, NAME, once=True) != without


def test_who_talks_with_another_begins_with_a_network(one: Ground) -> None:
    """Attack: hear what the tests have drawn by lot, and ask for a network where another draw would suit better."""
    without = says(one, NAME)
    (result,) = one.events(pair(NAME, NAME))
    assert isinstance(result, CaseResult)
    assert result.partner is not None
    assert len({without, result.program.stdout.decode(), result.partner.stdout.decode()}) == 3


def test_the_cases_of_a_job_begin_again_once(one: Ground) -> None:
    """Attack: have each case run twice."""
    code = "import os, sys\nprint(os.readlink('/proc/self/ns/net'))\nif sys.stdin.read():\n    " + ASK
    job = Job(program=program(code), cases=[Case(), Case(stdin=b"ask"), Case()])
    first, second, third = (event.program.stdout for event in one.events(job) if isinstance(event, CaseResult))
    assert first.decode() == says(one, NAME)
    assert len({first, second, third}) == 3


HOSTILE = {
    "sockets of all kinds": hidden(OTHER_SOCKETS),
    "children that are killed as they ask": CALL_ME
    + hidden("""
import os, socket
for _ in range(50):
    pid = os.fork()
    if pid == 0:
        while True:
            socket.socket()
    os.kill(pid, 9)
    os.wait()
print("fine")
"""),
    "all its processes ask at once": CALL_ME
    + hidden("""
import os, socket, threading
for _ in range(4):
    os.fork()
def ask():
    for _ in range(100):
        socket.socket().close()
for _ in range(1):
    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
if os.getpid() == os.getsid(0):
    print("fine")
"""),
    "an ending while it asks": CALL_ME
    + hidden("import os, socket\nif os.fork() == 0:\n    while True:\n        socket.socket()\nprint('fine')"),
    "names for what is not there": CALL_ME
    + """
import ctypes, os
LIBC = ctypes.CDLL(None, use_errno=True)
address = (1).to_bytes(2, "little") + b"\\0planted"
for number in range(3, 64):
    for call in (LIBC.bind, LIBC.connect):
        if call(number, address, len(address)) == 0:
            print("BREACH", call, number)
    if LIBC.listen(number, 1) == 0 or LIBC.accept(number, None, None) >= 0:
        print("BREACH", number)
for name in os.listdir("/proc/sys/net/ipv4"):
    try:
        open("/proc/sys/net/ipv4/" + name, "w")
        print("BREACH", name)
    except OSError:
        pass
print("fine")
""",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_network_without_sockets_is_the_same_after_a_hostile_run(one: Ground, name: str) -> None:
    before = json.loads(says(one, SURVEY))
    assert len(before) > 300
    assert len(before["/proc/net/unix"].splitlines()) == 1, before["/proc/net/unix"]
    lost = one.losses
    assert says(one, HOSTILE[name]) == "fine\n"
    after = json.loads(says(one, SURVEY))
    assert {key: (before.get(key), after.get(key)) for key in before | after if before.get(key) != after.get(key)} == {}
    assert one.losses == lost


_BESIDE = """
import ctypes, socket
LIBC = ctypes.CDLL(None, use_errno=True)
channel = socket.socket(fileno=3)
mine, _ = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
assert LIBC.connect(mine.fileno(), bytes(16), 16) == 0  # a half of a pair, and nobody's any more
mine.setblocking(False)
"""


def test_half_a_pair_of_sockets_does_not_reach_the_partner(one: Ground) -> None:
    sends = hidden(
        _BESIDE
        + """
channel.recv(2)
try:
    mine.sendto(b"leak", "\\0planted")
    print("BREACH")
except ConnectionRefusedError:
    print("HELD")
channel.send(b"ok")
"""
    )
    listens = hidden(
        _BESIDE
        + """
mine.bind("\\0planted")
channel.send(b"go")
channel.recv(2)
try:
    print("BREACH", mine.recv(4))
except BlockingIOError:
    print("HELD")
"""
    )
    (result,) = one.events(pair(sends, listens))
    assert isinstance(result, CaseResult)
    assert result.partner is not None
    assert (result.program.stdout, result.partner.stdout) == (b"HELD\n", b"HELD\n"), result


# --- where nobody can listen to what a program asks

LISTENED = """
import ctypes, struct, sys
from rewarden_sandboxes.agent import filters
from tests.attacks.sandbox.test_networks import UID, each_has_a_network
from tests.attacks.sandbox.grounds import ground
filters.LIBC.prctl(38, 1, 0, 0, 0)
allows_all = filters._Filter(struct.pack("HBBI", 6, 0, 0, 0x7FFF0000))
print(allows_all.take_and_listen(), file=sys.stderr)
with ground("bwrap", slots=1, uid=UID) as made:
    each_has_a_network(made)
print("fine")
"""
"""A host whose own system calls somebody listens to, as container engines do that answer some of them."""


def each_has_a_network(one: Ground) -> None:
    """Assert that no two runs share a network, whatever they ask for, and that all else works as ever."""
    names = [says(one, code) for code in (NAME, NAME, ASK + NAME, NAME)]
    assert len(set(names)) == 4
    for code in HONEST:
        if "stdin" not in HONEST[code]:
            assert says(one, hidden(HONEST[code])) == "fine\n"
    report = one.report(Job(program=program("open('log', 'w').write('x')"), collect=["log"]))
    assert (report.status, report.files["log"]) == ("ok", b"x"), report
    talks = "import os\nos.write(3, b'?')\nprint(os.read(3, 9))\n"
    (result,) = one.events(pair(talks, "import os\nos.write(3, os.read(3, 9))\n"))
    assert isinstance(result, CaseResult)
    assert result.program.stdout == b"b'?'\n", result


def test_where_somebody_listens_to_the_host_each_run_has_a_network(
    launcher: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    if launcher == "bwrap":
        done = subprocess.run(
            [sys.executable, "-c", LISTENED], capture_output=True, text=True, check=False, cwd=Path(__file__).parents[3]
        )
        assert done.stdout == "fine\n", done.stderr[-3000:]
        return
    profile = json.loads(docker.PROFILE.read_text())
    for rule in profile["syscalls"]:
        rule["names"] = [name for name in rule["names"] if name != "seccomp"]
    (tmp_path / "seccomp.json").write_text(json.dumps(profile))
    monkeypatch.setattr(docker, "PROFILE", tmp_path / "seccomp.json")
    with ground(launcher, slots=1, uid=UID) as made:
        each_has_a_network(made)


# --- what is left


def networks() -> set[str]:
    """Network namespaces that processes of these slots are in, or hold."""
    uid = UID if os.geteuid() == 0 else os.geteuid()
    found = set()
    for folder in Path("/proc").iterdir():
        try:
            if folder.name.isdigit() and uid <= folder.stat().st_uid < uid + 10_000:
                found.add(os.readlink(folder / "ns/net"))
                found |= {link for each in (folder / "fd").iterdir() if (link := os.readlink(each))[:5] == "net:["}
        except OSError:  # it has ended
            continue
    return found


COOKIE = hidden("""
import socket
held = socket.create_server(("127.0.0.1", 8080))
print(int.from_bytes(held.getsockopt(socket.SOL_SOCKET, 71, 8), "little"))  # SO_NETNS_COOKIE
""")
"""Prints the number of the program's network, which the kernel gives once."""


def load(one: Ground, rounds: int) -> None:
    """Assert that of so many rounds of runs of every kind no network is met twice, and none is left."""
    assert says(one, "print('fine')") == "fine\n"
    before = networks()
    assert before
    seen: list[str] = []
    for _ in range(rounds):
        jobs = [Job(program=program(COOKIE), cases=[Case()] * 2)]
        jobs += [Job(program=program(code)) for code in ("print(1)", HOSTILE["an ending while it asks"], NAME)]
        for event in [event for events in one.together(jobs) for event in events][:2]:
            assert isinstance(event, CaseResult)
            seen.append(event.program.stdout.decode())
    assert all(seen)
    assert len(set(seen)) == len(seen) == 2 * rounds
    deadline = time.monotonic() + 60
    while networks() - before:
        assert time.monotonic() < deadline, networks() - before


def test_no_network_outlives_its_run_or_is_met_twice(one: Ground) -> None:
    load(one, 10)


@pytest.mark.stress(full=True)
def test_no_network_is_left_after_minutes_of_load(one: Ground) -> None:
    load(one, 2000)
