"""Every way in which a program may read its input and write its output, and all of it, however much."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator

import pytest

from rewarden_sandboxes.job import Case, CaseResult, Job, Limits, Program, Report
from tests.attacks.sandbox.grounds import LAUNCHERS, Ground, ground

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

MEGABYTES = 10_000_000
WIDE = Limits(cpu_s=20.0, wall_s=20.0, memory_mb=512, output_bytes=16 << 20, disk_mb=64)
TEXT = "first line\nzweite Zeile mit ü\n\nlast line without an end"

WAYS = {
    "input()": """
lines = []
try:
    while True:
        lines.append(input())
except EOFError:
    text = '\\n'.join(lines)
""",
    "iteration of sys.stdin": """
import sys
text = ''.join(line for line in sys.stdin)
""",
    "sys.stdin.read": """
import sys
text = sys.stdin.read()
""",
    "sys.stdin.readline": """
import sys
text = ''.join(iter(sys.stdin.readline, ''))
""",
    "sys.stdin.readlines": """
import sys
text = ''.join(sys.stdin.readlines())
""",
    "sys.stdin.buffer": """
import sys
text = sys.stdin.buffer.read().decode()
""",
    "iteration of sys.stdin.buffer": """
import sys
text = b''.join(sys.stdin.buffer).decode()
""",
    "sys.stdin.buffer.raw": """
import sys
text = sys.stdin.buffer.raw.readall().decode()
""",
    "sys.__stdin__": """
import sys
text = sys.__stdin__.read()
""",
    "open(0)": "text = open(0).read()",
    "open(0, 'rb')": "text = open(0, 'rb', buffering=0).read().decode()",
    "os.read": """
import os
text = b''.join(iter(lambda: os.read(0, 5), b'')).decode()
""",
    "os.fdopen": """
import os
text = os.fdopen(0).read()
""",
    "fileinput": """
import fileinput
text = ''.join(fileinput.input())
""",
    "/dev/stdin": "text = open('/dev/stdin').read()",
    "/proc/self/fd/0": "text = open('/proc/self/fd/0').read()",
    "select": """
import os, select
text = b''
while select.select([0], [], [])[0]:
    data = os.read(0, 7)
    if not data:
        break
    text += data
text = text.decode()
""",
    "mmap": """
import mmap, os
text = mmap.mmap(0, 0, prot=mmap.PROT_READ)[:].decode() if os.fstat(0).st_size else ''
""",
    "seek": """
import sys
sys.stdin.read()
sys.stdin.seek(0)
text = sys.stdin.read()
""",
    "os.pread": """
import os
text = os.pread(0, os.fstat(0).st_size, 0).decode()
""",
    "a duplicate": """
import os
text = os.fdopen(os.dup(0)).read()
""",
    "another text layer": """
import io, sys
text = io.TextIOWrapper(sys.stdin.buffer, encoding='utf-8').read()
""",
    "replaced sys.stdin": """
import io, sys
sys.stdin = io.StringIO(sys.stdin.read())
text = sys.stdin.read()
""",
    "input() and the rest": """
import sys
text = input() + '\\n' + sys.stdin.read()
""",
    "a child": """
import subprocess
text = subprocess.run(['cat'], capture_output=True).stdout.decode()
""",
    "a thread": """
import sys, threading
got = []
thread = threading.Thread(target=lambda: got.append(sys.stdin.read()))
thread.start()
thread.join()
text = got[0]
""",
    "asyncio": """
import asyncio, sys
async def main():
    return await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
text = asyncio.run(main())
""",
}
"""The ways in which programs read, as seen in what models write. Each leaves the whole input in `text`."""

OTHERS = {
    "c": """
#include <stdio.h>
int main(void) { int c; while ((c = getchar()) != EOF) putchar(c); }
""",
    "cpp": """
#include <iostream>
#include <sstream>
int main() { std::stringstream s; s << std::cin.rdbuf(); std::cout << s.str(); }
""",
    "javascript": "process.stdin.pipe(process.stdout)",
    "bash": "cat",
}


@pytest.fixture(scope="module", params=LAUNCHERS)
def host(request: pytest.FixtureRequest) -> Iterator[Ground]:
    """A host of two slots."""
    with ground(request.param) as made:
        yield made


def run(host: Ground, code: str, stdin: bytes = b"", language: str = "python", limits: Limits = WIDE) -> Report:
    """One run."""
    return host.report(
        Job(program=Program(language=language, code=code.encode(), limits=limits), cases=[Case(stdin=stdin)])
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("text", [TEXT, "", "7\n"], ids=["lines", "nothing", "one"])
def test_a_way_of_reading_reads_all(host: Ground, way: str, text: str) -> None:
    report = run(host, WAYS[way] + "\nprint(text, end='')\n", text.encode())
    if way == "input()":
        text = text.removesuffix("\n")
    if way == "input() and the rest" and not text:
        assert report.stderr.endswith(b"EOFError: EOF when reading a line\n")
        return
    assert (report.status, report.stdout.decode()) == ("ok", text), report.stderr.decode()[-500:]


def test_input_that_is_no_utf8_arrives(host: Ground) -> None:
    noise = bytes(range(256))
    assert run(host, "import sys\nsys.stdout.buffer.write(sys.stdin.buffer.read())", noise).stdout == noise
    assert run(host, "import sys\nsys.stdout.write(sys.stdin.read())", b"\xff\xfe\n").stdout == b"\xff\xfe\n"


@pytest.mark.parametrize("language", OTHERS)
def test_other_languages_read_all(host: Ground, language: str) -> None:
    for data in (TEXT.encode(), b"", b"\n"):
        report = run(host, OTHERS[language], data, language)
        assert (report.status, report.stdout) == ("ok", data), report.stderr


@pytest.mark.parametrize("way", ["input()", "iteration of sys.stdin", "sys.stdin.buffer", "open(0)", "os.read"])
def test_ten_megabytes_of_input_arrive_whole(host: Ground, way: str) -> None:
    data = b"0123456789" * 99 + b"ABCDEFGHI\n"
    data *= MEGABYTES // len(data)
    code = WAYS[way].replace("os.read(0, 5)", "os.read(0, 65536)")
    code += "\nimport hashlib\nprint(hashlib.sha256(text.rstrip().encode()).hexdigest())"
    report = run(host, code, data)
    assert report.stdout.decode().strip() == hashlib.sha256(data.rstrip()).hexdigest(), (report.status, report.stderr)


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", f"for n in range({MEGABYTES} // 10):\n    print(f'{{n:09d}}')"),
        ("python", f"import os\nos.write(1, b''.join(b'%09d\\n' % n for n in range({MEGABYTES} // 10)))"),
        (
            "c",
            f"#include <stdio.h>\nint main(void) {{\n    for (int n = 0; n < {MEGABYTES} / 10; n++)"
            ' printf("%09d\\n", n);\n}',
        ),
    ],
    ids=["python", "python at once", "c"],
)
def test_ten_megabytes_of_output_arrive_whole(host: Ground, language: str, code: str) -> None:
    report = run(host, code, language=language)
    assert report.status == "ok", report.stderr
    assert not report.truncated
    assert report.stdout == b"".join(b"%09d\n" % n for n in range(MEGABYTES // 10))


def test_what_is_over_the_limit_is_cut_there(host: Ground) -> None:
    report = run(host, "import os\nwhile True:\n    os.write(1, b'0123456789')", limits=Limits(output_bytes=100_000))
    assert (report.status, report.limit, report.truncated) == ("output_limit", "output_bytes", True)
    assert report.stdout == b"0123456789" * 10_000


def test_all_that_was_printed_before_a_crash_arrives(host: Ground) -> None:
    report = run(host, "import os, sys\nprint('said')\nsys.stderr.write('why\\n')\nsys.stdout.flush()\nos.abort()")
    assert (report.status, report.signal, report.stdout, report.stderr) == ("runtime_error", 6, b"said\n", b"why\n")


def test_each_case_has_its_own_input(host: Ground) -> None:
    job = Job(
        program=Program(language="python", code=b"print(input())"),
        cases=[Case(stdin=b"%d" % n) for n in range(20)],
    )
    said = [event.program.stdout for event in host.events(job) if isinstance(event, CaseResult)]
    assert said == [b"%d\n" % n for n in range(20)]
