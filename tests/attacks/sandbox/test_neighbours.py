"""Runs know nothing of each other: not those of the same slot before them, not those beside them, not their partner."""

from __future__ import annotations

import json
import os
import secrets as random_words
import socket
import threading
from collections.abc import Iterator
from concurrent.futures import Future

import pytest

from rewarden.types import Sample
from rewarden_sandboxes.job import Case, CaseResult, Job, JobEvent, Limits, Program
from tests.attacks.sandbox.attack import CALL_ME, ROOMY
from tests.attacks.sandbox.grounds import Ground, alive, ground
from tests.attacks.sandbox.judge import Judge, fenced, judge, reference
from tests.attacks.sandbox.secrets import PLANTED, READ_ALL

pytestmark = pytest.mark.alone  # who runs beside whom is the question here

WAITS = Limits(cpu_s=10.0, wall_s=20.0, memory_mb=256, processes=32, output_bytes=4 << 20, disk_mb=16, open_files=256)


@pytest.fixture(scope="module")
def one(launcher: str) -> Iterator[Ground]:
    """A host of one slot: whoever comes next sits where the last one sat."""
    with ground(launcher, slots=1) as made:
        yield made


def script(code: str, stdin: bytes = b"", limits: Limits = ROOMY, language: str = "python") -> Job:
    """A program that is run once."""
    return Job(program=Program(language=language, code=code.encode(), limits=limits), cases=[Case(stdin=stdin)])


def beside(host: Ground, job: Job) -> Future[list[JobEvent]]:
    """Start a run that others shall meet: both slots are warm, so that they do."""
    host.together([script("import time\ntime.sleep(0.5)")] * 2)
    return host.begin(host.events_of(job))


def held(ground: Ground, job: Job) -> None:
    """Assert that a program tried everything and nothing worked."""
    report = ground.report(job)
    assert b"BREACH" not in report.stdout, report.stdout[:3000]
    assert report.status == "ok", (report.status, report.limit, report.message, report.stderr[-1000:])
    assert report.stdout.endswith(b"HELD\n"), (report.stdout[-500:], report.stderr[-1000:])


# --- secrets in memory

SEARCH = (
    CALL_ME
    + f"""
import gc, os, re, sys
wanted = re.compile({PLANTED[::-1]!r}[::-1].encode() + rb"-[0-9a-f]{{16}}")
def search(path, maps):
    try:
        places = open(maps).read().splitlines()
        memory = os.open(path, os.O_RDONLY)
    except OSError:
        return
    for line in places:
        span, rights = line.split()[:2]
        if "r" not in rights or line.endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
            continue
        start, end = (int(each, 16) for each in span.split("-"))
        while start < end:
            try:
                data = os.pread(memory, min(end - start, 1 << 20), start)
            except (OSError, OverflowError):
                break
            if not data:
                break
            if wanted.search(data):
                print("BREACH", path, line)
            start += len(data)
search("/proc/self/mem", "/proc/self/maps")
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        search(f"/proc/{{name}}/mem", f"/proc/{{name}}/maps")
for thing in gc.get_objects():
    if isinstance(thing, (dict, list, tuple, set)):
        for each in list(thing.values()) if isinstance(thing, dict) else list(thing):
            if isinstance(each, str):
                each = each.encode("utf-8", "replace")
            if isinstance(each, (bytes, bytearray)) and wanted.search(each):
                print("BREACH on the heap", each[:100])
print("HELD")
"""
)


def test_the_search_finds_what_is_there(one: Ground) -> None:
    report = one.report(script(f"here = '{PLANTED}-' + 'ab' * 8\n" + SEARCH))
    assert b"BREACH /proc/self/mem" in report.stdout, (report.status, report.stdout, report.stderr[-500:])


@pytest.mark.parametrize("search", [SEARCH, READ_ALL], ids=["memory", "files"])
def test_nothing_of_a_run_is_left_for_the_next(one: Ground, search: str) -> None:
    word = f"{PLANTED}-{random_words.token_hex(8)}"
    first = Job(
        program=Program(
            language="python",
            code=f"import sys\nkept = [{word!r}] * 1000 + sys.argv\nsys.stdin.read()\nprint({word!r})\n".encode(),
            files={"beside.txt": word.encode(), f"{word}.txt": b""},
            args=[word],
            limits=ROOMY,
        ),
        cases=[Case(stdin=word.encode(), request=word.encode(), files={"case.txt": word.encode()}, args=[word])] * 3,
    )
    assert one.report(first).stdout.strip().decode() == word
    held(one, script(search))


@pytest.mark.parametrize("search", [SEARCH, READ_ALL], ids=["memory", "files"])
def test_the_machines_secrets_are_not_there(
    launcher: str, search: str, monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> None:
    word = f"{PLANTED}-{random_words.token_hex(8)}"
    monkeypatch.setenv("PLANTED_SECRET", word)
    (tmp_path_factory.mktemp("planted") / "secret.txt").write_text(word)
    with ground(launcher, slots=1) as made:
        held(made, script(search))


def test_a_run_beside_is_not_seen(host: Ground) -> None:
    word = f"{PLANTED}-{random_words.token_hex(8)}"
    waiting = script(
        f"import os, sys, time\nopen({word!r}, 'w').write({word!r})\nkept = sys.stdin.read()\ntime.sleep(3)\nprint('fine')",
        stdin=word.encode(),
        limits=WAITS,
    )
    running = beside(host, waiting)
    for _ in range(3):
        held(host, script(SEARCH))
        held(host, script(READ_ALL))
    (answer,) = running.result(timeout=60)
    assert isinstance(answer, CaseResult)
    assert answer.program.stdout == b"fine\n"


@pytest.mark.parametrize("search", [SEARCH, READ_ALL], ids=["memory", "files"])
def test_a_partner_is_not_seen(host: Ground, search: str) -> None:
    word = f"{PLANTED}-{random_words.token_hex(8)}"
    partner = f"import os, socket, sys, time\nkept = [{word!r}, sys.stdin.read()]\nopen({word!r}, 'w').write({word!r})\nsock = socket.socket(fileno=3)\nsock.sendall(b'go')\nsock.recv(2)\n"
    program = (
        "import socket, sys\nsock = socket.socket(fileno=3)\nsock.recv(2)\n"
        + search
        + "sys.stdout.flush()\nsock.sendall(b'ok')\n"
    )
    events = host.events(
        Job(
            program=Program(language="python", code=program.encode(), limits=WAITS),
            partner=Program(
                language="python", code=partner.encode(), files={"secret.txt": word.encode()}, limits=WAITS
            ),
            join="socket",
            cases=[Case(partner_stdin=word.encode(), partner_args=[word], partner_request=word.encode())],
        )
    )
    (result,) = events
    assert isinstance(result, CaseResult)
    assert b"BREACH" not in result.program.stdout, result.program.stdout[:2000]
    assert result.program.stdout.endswith(b"HELD\n"), result


# --- channels from a run to the next

LEAVE = (
    CALL_ME
    + """
import ctypes, os, socket, sys, threading, time
word = sys.stdin.read().strip()
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
def attempt(what):
    try:
        what()
    except (OSError, ValueError):
        pass
places = {folder for folder, _, _ in os.walk("/") if not folder.startswith("/proc")} | {"/dev/shm", "/dev/mqueue", "/var/tmp", "/run/lock", "/var/lock"}
for place in places:
    for name in ("planted", "." + word, word):
        attempt(lambda: open(place + "/" + name, "w").write(word))
for path in ("/proc/self/comm", "/proc/1/comm", "/proc/self/coredump_filter", "/proc/sys/kernel/hostname", "/proc/sys/kernel/domainname",
             "/proc/sys/kernel/sem", "/proc/sys/kernel/msgmax", "/proc/sys/fs/mqueue/msg_max", "/proc/self/loginuid", "/proc/sys/kernel/ns_last_pid"):
    attempt(lambda: open(path, "w").write(word[:12]))
number = int.from_bytes(word[-4:].encode(), "big") & 0x7FFFFFF
for key in (number, 0x5EC2E7):
    attempt(lambda: LIBC.semget(key, 1, 0o1666))
    attempt(lambda: LIBC.msgget(key, 0o1666))
    attempt(lambda: LIBC.shmget(key, 4096, 0o1666))
attempt(lambda: LIBC.mq_open(b"/planted", os.O_CREAT | os.O_RDWR, 0o666, 0))
for keyring in (-1, -2, -3, -4, -5):
    LIBC.syscall(248, b"user", b"planted", word.encode(), len(word), keyring)
abstract = socket.socket(socket.AF_UNIX)
attempt(lambda: abstract.bind("\\0planted"))
attempt(lambda: abstract.listen())
attempt(lambda: socket.create_server(("127.0.0.1", 4567)))
attempt(lambda: socket.create_server(("::1", 4567), family=socket.AF_INET6))
attempt(lambda: os.sched_setaffinity(os.getppid(), {0}))
attempt(lambda: os.setpriority(os.PRIO_USER, 0, 7))
attempt(lambda: os.setpriority(os.PRIO_PROCESS, 1, 7))
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        while True:
            time.sleep(600)
    os._exit(0)
print("fine")
"""
)

FIND = (
    CALL_ME
    + """
import ctypes, os, socket, sys
word = sys.stdin.read().strip()
LIBC = ctypes.CDLL(None, use_errno=True)
LIBC.syscall.restype = ctypes.c_long
for folder, folders, names in os.walk("/"):
    if folder == "/proc":
        folders[:] = []
        continue
    for name in folders + names:
        if "planted" in name or word in name:
            print("BREACH", folder, name)
for folder in ("/tmp", "/dev/shm", "/dev/mqueue", "/var/tmp", "/run"):
    if os.path.isdir(folder):
        for name in os.listdir(folder):
            if (folder, name) not in (("/tmp", "box"),) and folder != "/run":
                print("BREACH left", folder, name)
if sorted(os.listdir("/tmp/box")) != ["main.py"]:
    print("BREACH the box", os.listdir("/tmp/box"))
number = int.from_bytes(word[-4:].encode(), "big") & 0x7FFFFFF
for key in (number, 0x5EC2E7):
    for call in (LIBC.semget, LIBC.msgget, LIBC.shmget):
        if call(key, 1, 0) >= 0:
            print("BREACH System V", call.__name__)
for name in ("sem", "msg", "shm"):
    if len(open("/proc/sysvipc/" + name).read().splitlines()) > 1:
        print("BREACH", name)
if LIBC.mq_open(b"/planted", os.O_RDONLY) >= 0:
    print("BREACH mqueue")
if LIBC.syscall(249, b"user", b"planted", 0, 0) >= 0:
    print("BREACH key")
for family, place in ((socket.AF_UNIX, "\\0planted"), (socket.AF_INET, ("127.0.0.1", 4567)), (socket.AF_INET6, ("::1", 4567))):
    try:
        socket.socket(family).connect(place)
        print("BREACH", place)
    except OSError:
        pass
for name in ("hostname", "domainname", "sem", "msgmax"):
    try:
        if word[:8] in open("/proc/sys/kernel/" + name).read():
            print("BREACH", name)
    except OSError:
        pass
if len([name for name in os.listdir("/proc") if name.isdigit()]) > 2:
    print("BREACH processes", os.listdir("/proc"))
if os.getpriority(os.PRIO_PROCESS, 0) or os.getpriority(os.PRIO_PROCESS, 1) or len(os.sched_getaffinity(0)) < len(os.sched_getaffinity(1)):
    print("BREACH priority", os.getpriority(os.PRIO_PROCESS, 0), os.sched_getaffinity(0))
print("HELD")
"""
)


def test_nothing_that_a_run_leaves_is_found_by_the_next(one: Ground) -> None:
    for _ in range(2):
        word = "w" + random_words.token_hex(8)
        left = one.report(script(LEAVE, stdin=word.encode()))
        assert (left.status, left.stdout) == ("ok", b"fine\n"), left
        assert not alive()
        held(one, script(FIND, stdin=word.encode()))


def test_nothing_that_a_run_leaves_is_found_beside_it(host: Ground) -> None:
    word = "w" + random_words.token_hex(8)
    running = beside(host, script(LEAVE + "time.sleep(2)\n", stdin=word.encode(), limits=WAITS))
    for _ in range(4):
        held(host, script(FIND, stdin=word.encode()))
    running.result(timeout=60)


def test_a_compilation_leaves_nothing_but_the_program(one: Ground) -> None:
    job = Job(
        program=Program(
            language="c",
            code=b'#include <stdlib.h>\nint main(void) { return system("ls -A /tmp /tmp/box /dev/shm; cat planted 2>&1; echo x > planted"); }',
            limits=ROOMY,
        ),
        cases=[Case(), Case()],
    )
    reports = [event.program for event in one.events(job) if isinstance(event, CaseResult)]
    assert reports[0].stdout == reports[1].stdout, reports
    assert b"No such file" in reports[0].stdout


LOCK = """
import fcntl, os, time
held = []
for path in ("/etc/passwd", "/usr/bin/python3", "/usr/lib/os-release", "/bin/sh"):
    number = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | fcntl.LOCK_NB)
        held.append(number)
    except OSError:
        print("BREACH locked elsewhere", path)
"""


def test_a_lock_tells_the_next_run_nothing(one: Ground) -> None:
    held(one, script(CALL_ME + LOCK + "if os.fork() == 0:\n    os.setsid()\n    time.sleep(600)\nprint('HELD')"))
    held(one, script(CALL_ME + LOCK + "print('HELD')"))


def test_a_lock_tells_a_run_beside_nothing(host: Ground) -> None:
    running = beside(host, script(LOCK + "time.sleep(2)\nprint('HELD')", limits=WAITS))
    for _ in range(3):
        held(host, script("import time\ntime.sleep(0.1)\n" + LOCK + "print('HELD')"))
    running.result(timeout=60)


OPENED = ("/etc/passwd", "/usr/bin/python3", "/usr/lib/os-release", "/etc/group")

TOUCH = f"""
import os, time
for _ in range(100):
    for path in {OPENED!r}:
        os.close(os.open(path, os.O_RDONLY))
    time.sleep(0.01)
print("HELD")
"""

WATCH = f"""
import ctypes, os, time
LIBC = ctypes.CDLL(None, use_errno=True)
number = LIBC.inotify_init1(os.O_NONBLOCK)
watching = [LIBC.inotify_add_watch(number, path.encode(), 0x20) for path in {OPENED!r}]
time.sleep(0.5)
try:
    if os.read(number, 4096):
        print("BREACH sees what others open")
except OSError:
    pass
print("HELD")
"""


def test_what_a_run_opens_is_not_seen_beside_it(host: Ground) -> None:
    running = beside(host, script(TOUCH, limits=WAITS))
    held(host, script(WATCH, limits=WAITS))
    running.result(timeout=60)


def test_what_a_partner_opens_is_not_seen(host: Ground) -> None:
    program = (
        "import socket, sys\nsock = socket.socket(fileno=3)\nsock.recv(2)\n"
        + WATCH
        + "sys.stdout.flush()\nsock.send(b'ok')\n"
    )
    partner = "import socket\nsock = socket.socket(fileno=3)\nsock.send(b'go')\n" + TOUCH + "sock.recv(2)\n"
    job = Job(
        program=Program(language="python", code=program.encode(), limits=WAITS),
        partner=Program(language="python", code=partner.encode(), limits=WAITS),
        join="socket",
    )
    (result,) = host.events(job)
    assert isinstance(result, CaseResult)
    assert result.program.stdout == b"HELD\n", result


# --- the network of a run

SERVER = """
import socket, sys, threading
word = sys.stdin.read()
server = socket.socket()
server.bind(("localhost", 8080))
server.listen()
def serve():
    for _ in range(3):
        connection, _ = server.accept()
        connection.sendall(connection.recv(100).upper())
        connection.close()  # the first to close keeps the port for a minute, in TIME_WAIT
thread = threading.Thread(target=serve)
thread.start()
for _ in range(3):
    with socket.create_connection(("localhost", 8080)) as client:
        client.sendall(word.encode())
        answer = client.recv(100)
        assert client.recv(100) == b""
thread.join()
print(answer.decode())
"""
"""An honest server on a port of its own choice, which asks for no leave to use it again."""

OTHER_SOCKETS = """
import socket, threading
held = [socket.create_server(("127.0.0.1", port)) for port in (8080, 5000, 80)]
held.append(socket.create_server(("::1", 8000), family=socket.AF_INET6))
for server in held:
    client = socket.create_connection(server.getsockname()[:2])
    connection = server.accept()[0]
    connection.sendall(b"x" * 50_000)
    connection.close()
    while client.recv(100_000):
        pass
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
udp.bind(("127.0.0.1", 8080))
udp.sendto(b"x" * 1000, udp.getsockname())
udp.sendto(b"x", ("127.0.0.1", 9))
multicast = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
multicast.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, socket.inet_aton("239.1.2.3") + socket.inet_aton("127.0.0.1"))
route = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, socket.NETLINK_ROUTE)
route.bind((4567, 1))
abstract = socket.socket(socket.AF_UNIX)
abstract.bind("\\0planted")
abstract.listen()
named = socket.socket(socket.AF_UNIX)
named.bind("/tmp/planted")
print("fine")
"""
"""An honest program that has sockets of every kind, and leaves them as they are."""

_MACHINES = {
    "/proc/net/softnet_stat": "packets by CPU, of all networks together; so are the routes looked up",
    "/proc/net/stat/rt_cache": "",
    "/proc/sys/fs/aio-nr": "a count of the whole machine, as those that follow",
    "/proc/sys/fs/dentry-state": "",
    "/proc/sys/fs/file-nr": "",
    "/proc/sys/fs/inode-nr": "",
    "/proc/sys/fs/inode-state": "",
    "/proc/sys/fs/quota": "",
    "/proc/sys/kernel/pty/nr": "",
    "/proc/sys/kernel/random": "random words, and how many are at hand",
    "/proc/sys/kernel/perf_event_max_sample_rate": "the kernel lowers it when the machine is busy",
}
"""Files that tell of the whole machine, whose counts rise and fall by themselves."""

SURVEY = f"""
import json, os, re, sys
found = {{}}
for top in ("/proc/net", "/proc/sys", "/proc/sysvipc", "/proc/keys", "/proc/key-users", "/dev/mqueue"):
    walk = [(os.path.dirname(top), [], [os.path.basename(top)])] if os.path.isfile(top) else os.walk(top)
    for folder, _, names in walk:
        found[folder] = sorted(names)
        for name in names:
            path = folder + "/" + name
            if not path.startswith({tuple(_MACHINES)!r}):
                try:
                    found[path] = open(path).read()
                except (OSError, UnicodeDecodeError) as error:
                    found[path] = type(error).__name__
for path in found:
    name = os.path.basename(path)
    lines = found[path].splitlines() if isinstance(found[path], str) else []
    if name == "netlink":  # the kernel's own sockets of this network: where each lies in memory, its inode's number
        found[path] = sorted(line.split()[1:-1] for line in lines)
    elif name == "protocols":  # pages of memory, of the whole machine
        found[path] = [line.split()[:3] + line.split()[4:] for line in lines]
    elif name == "sockstat":  # so are these
        found[path] = [re.sub("(orphan|alloc|mem|memory) [0-9]+", "", line) for line in lines]
del found["/proc"]
print(json.dumps(found, sort_keys=True))
"""
"""All that the kernel says of a program's network, keys, message queues and settings. The program asks for no socket, so
that it has no network."""

NETWORKED = "import socket\nsocket.socket().close()\n"
"""Put before it, so that it has one."""


@pytest.fixture(scope="module")
def bench(launcher: str) -> Iterator[Judge]:
    """A judge of one slot."""
    with judge(launcher, slots=1) as made:
        yield made


def test_an_honest_server_scores_in_every_test_beside_others_with_sockets(bench: Judge) -> None:
    tests = [{"type": "stdio", "stdin": word, "stdout": word.upper()} for word in ("one", "two", "three")]
    others = [{"type": "stdio", "stdout": "fine"}] * 3
    samples = [
        Sample(response=fenced(code), reference=reference("python", wanted))
        for code, wanted in ((SERVER, tests), (OTHER_SOCKETS, others)) * 3
    ]
    verdicts = bench.judge(samples)
    assert [verdict.score for verdict in verdicts] == [1.0] * 6, [verdict.feedback for verdict in verdicts]


@pytest.mark.parametrize("survey", [SURVEY, NETWORKED + SURVEY], ids=["without a network", "with one"])
def test_what_the_kernel_says_of_a_runs_network_is_the_same_after_a_hostile_run(one: Ground, survey: str) -> None:
    before = json.loads(one.report(script(survey)).stdout)
    assert len(before) > 300
    assert "lo:" in before["/proc/net/dev"]
    word = "w" + random_words.token_hex(8)
    for hostile in (LEAVE, OTHER_SOCKETS):
        left = one.report(script(hostile, stdin=word.encode()))
        assert (left.status, left.stdout) == ("ok", b"fine\n"), left
        after = json.loads(one.report(script(survey)).stdout)
        assert {
            path: (before.get(path), after.get(path)) for path in before | after if before.get(path) != after.get(path)
        } == {}


def test_a_survey_sees_what_its_own_run_has_done(one: Ground) -> None:
    before = json.loads(one.report(script(NETWORKED + SURVEY)).stdout)
    changed = one.report(script(OTHER_SOCKETS + SURVEY)).stdout.splitlines()
    after = json.loads(changed[-1])
    seen = {path for path in after if before.get(path) != after[path]}
    names = ("dev", "tcp", "tcp6", "udp", "unix", "netlink", "snmp", "snmp6", "netstat", "sockstat", "igmp")
    assert {f"/proc/net/{name}" for name in names} <= seen


COOKIE = """
import socket
print(int.from_bytes(socket.socket().getsockopt(socket.SOL_SOCKET, 71, 8), "little"))  # SO_NETNS_COOKIE
"""
"""The number of the program's network, which the kernel gives once."""


def test_no_two_runs_have_the_same_network(one: Ground) -> None:
    program = Program(language="python", code=COOKIE.encode())
    pair = Job(
        program=program,
        partner=Program(language="python", code=COOKIE.encode() + b"socket.socket(fileno=3).recv(1)"),
        join="socket",
        cases=[Case()] * 4,
    )
    told = [one.report(script(COOKIE)).stdout for _ in range(4)]
    for job in (Job(program=program, cases=[Case()] * 4), pair):
        for event in one.events(job):
            assert isinstance(event, CaseResult)
            told += [report.stdout for report in (event.program, event.partner) if report is not None]
    assert all(told)
    assert len(set(told)) == len(told) == 16


_CALL = """
import socket
def call():
    for family, place in ((socket.AF_UNIX, "\\0planted"), (socket.AF_INET, ("127.0.0.1", 4567)), (socket.AF_INET6, ("::1", 4567))):
        try:
            socket.socket(family).connect(place)
            print("BREACH", place)
        except OSError:
            pass
def listen():
    made = [socket.socket(family) for family in (socket.AF_UNIX, socket.AF_INET, socket.AF_INET6)]
    for server, place in zip(made, ("\\0planted", ("127.0.0.1", 4567), ("::1", 4567))):
        server.bind(place)
        server.listen()
    return made
sock = socket.socket(fileno=3)
"""


def test_a_partner_is_not_reached_over_the_network(one: Ground) -> None:
    """Both listen at the same places, and neither hears the other."""
    program = _CALL + "sock.recv(2)\ncall()\nheld = listen()\nsock.send(b'ok')\nsock.recv(2)\nprint('HELD')"
    partner = (
        _CALL + "held = listen()\nsock.send(b'go')\nsock.recv(2)\nheld.clear()\ncall()\nsock.send(b'ok')\nprint('HELD')"
    )
    job = Job(
        program=Program(language="python", code=program.encode(), limits=WAITS),
        partner=Program(language="python", code=partner.encode(), limits=WAITS),
        join="socket",
    )
    (result,) = one.events(job)
    assert isinstance(result, CaseResult)
    assert result.partner is not None
    assert (result.program.stdout, result.partner.stdout) == (b"HELD\n", b"HELD\n"), result


# --- the machine's own network


def test_the_machines_listeners_are_out_of_reach(host: Ground) -> None:
    called = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as tcp, socket.socket(socket.AF_UNIX) as unix:
        name = f"\0planted-{os.getpid()}"
        unix.bind(name)
        unix.listen()
        for server in (tcp, unix):
            server.settimeout(0.01)
        port = tcp.getsockname()[1]
        held(
            host,
            script(
                CALL_ME
                + f"""
import socket
for family, place in ((socket.AF_INET, ("127.0.0.1", {port})), (socket.AF_INET, ("0.0.0.0", {port})), (socket.AF_INET, ("172.17.0.1", {port})), (socket.AF_UNIX, {name!r})):
    try:
        sock = socket.socket(family)
        sock.settimeout(1)
        sock.connect(place)
        print("BREACH", place)
    except OSError:
        pass
print("HELD")
"""
            ),
        )
        for server in (tcp, unix):
            try:
                server.accept()
                called.set()
            except TimeoutError:
                pass
    assert not called.is_set()
