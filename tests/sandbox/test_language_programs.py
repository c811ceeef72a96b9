"""Programs in every language: what they print, how they end, and where their limits stop them.

`programs/` has a program for each language, which reads a line: `echo TEXT` prints "é TEXT", `exit` ends with exit code
3, `crash` fails, `spin` never ends, `memory` takes all that there is. A language whose image is not built is skipped,
with the command that builds it.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.images import PREFIX, TIERS
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, Limits, Program, Report
from rewarden_sandboxes.languages import Language, Registry
from tests.programs import LAUNCHERS
from tests.sandbox.conftest import events_of, started

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages"), pytest.mark.asyncio(loop_scope="module")]

LANGUAGES = list(Registry.load())
FILES: dict[str, tuple[str, dict[str, str]]] = {
    "c": (
        '#include <stdio.h>\n#include "six.h"\nint main(void) { printf("%d\\n", six() * 7); }',
        {
            "six.h": "int six(void);",
            "lib/six.c": '#include "half.c"\nint six(void) { return 2 * half; }',
            "lib/half.c": "static const int half = 3;",
        },
    ),
    "cpp": (
        '#include <iostream>\nint six();\nint main() { std::cout << six() * 7 << "\\n"; }',
        {"six.cc": "int six() { return 6; }"},
    ),
    "javascript-module": (
        "import { six } from './six.mjs';\nconsole.log(await six * 7);",
        {"six.mjs": "export const six = Promise.resolve(6);"},
    ),
    "go": (
        'package main\nimport ("fmt"; "main/number")\nfunc main() { fmt.Println(number.Six * seven()) }',
        {"seven.go": "package main\nfunc seven() int { return 7 }", "number/six.go": "package number\nconst Six = 6"},
    ),
    "rust": (
        'mod six;\nfn main() { println!("{}", six::SIX * 7); }',
        {"six.rs": "pub const SIX: i32 = 6;"},
    ),
    "java": (
        "package app;\nimport lib.Six;\npublic class Start {\n"
        "    public static void main(String[] args) { System.out.println(Six.SIX * 7); }\n}",
        {"lib/Six.java": "package lib;\npublic class Six { public static final int SIX = 6; }"},
    ),
    "csharp": (
        "class Start { static void Main() { System.Console.WriteLine(Number.Six * 7); } }",
        {"lib/Number.cs": "static class Number { public const int Six = 6; }"},
    ),
    "typescript": (
        "import { six } from './six';\nconsole.log(six * 7);",
        {"six.ts": "export const six: number = 6;"},
    ),
    "python": ("from number.six import SIX\nprint(SIX * 7)", {"number/six.py": "SIX = 6"}),
}
"""A program in several files, which prints 42: its text, and the others."""

SAME_PROGRAM = {
    "cpp17": "cpp",
    "cpp23": "cpp",
    "cpp-catch2": "cpp",
    "cpp-doctest": "cpp",
    "java-junit": "java",
    "python-science": "python",
}
OF_THE_USERS_OWN = {"julia", "swift"}
"""Languages of images that Debian's packages cannot make, and that no machine of ours has."""

NO_PROGRAMS = {"dafny", "rocq", "yosys"}
"""Languages whose scripts read no input: those of a tool that a verifier runs."""

EXIT_CODES = {"sqlite": 1, "verilog": 1}
"""For languages that cannot choose one: of a failed statement."""

NO_MEMORY = {"cobol", "verilog"}
"""Languages whose programs get all their memory before they start."""

BROKEN = b"this is ( no { program ]"


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def host(request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    """A host of each launcher."""
    prefix = os.environ.get("REWARDEN_SANDBOX_IMAGE_PREFIX", PREFIX)
    async for made in started(request.param, image_prefix=prefix, warm=1):
        yield made


async def run(host: Host, language: Language, said: str, limits: Limits = Limits()) -> Report:
    """The report of the language's program, told this line. Skips where the language has no image here."""
    name = SAME_PROGRAM.get(language.name, language.name)
    (source,) = Path(__file__).parent.joinpath("programs").glob(f"{name}.*")
    program = Program(language=language.name, code=source.read_bytes(), limits=limits)
    event = await last(host, Job(program=program, cases=[Case(stdin=f"{said}\n".encode())]))
    assert isinstance(event, CaseResult), event
    return event.program


async def last(host: Host, job: Job) -> CompileResult | CaseResult:
    """A job's last event. Skips where the language has no image here."""
    try:
        events = await events_of(host, job)
    except BadJob as error:
        if "sandbox-host build" not in error.message:
            raise
        pytest.skip(error.message)
    return events[-1]


every_language = pytest.mark.parametrize(
    "language",
    [language for language in LANGUAGES if language.name not in OF_THE_USERS_OWN | NO_PROGRAMS],
    ids=lambda language: language.name,
)


@every_language
async def test_what_it_reads_and_prints_is_unicode(host: Host, language: Language) -> None:
    report = await run(host, language, "echo wörld ✓")
    assert (report.status, report.stdout.decode()) == ("ok", "é wörld ✓\n"), report


@every_language
async def test_its_exit_code_is_reported(host: Host, language: Language) -> None:
    report = await run(host, language, "exit")
    assert (report.status, report.exit_code) == ("runtime_error", EXIT_CODES.get(language.name, 3)), report


@every_language
async def test_a_crash_is_a_runtime_error(host: Host, language: Language) -> None:
    report = await run(host, language, "crash")
    assert report.status == "runtime_error", report
    assert report.exit_code or report.signal


@every_language
async def test_a_program_that_never_ends_is_stopped(host: Host, language: Language) -> None:
    report = await run(host, language, "spin", Limits(cpu_s=0.3))
    assert (report.status, report.limit) == ("time_limit", "cpu_s"), report


@every_language
async def test_a_program_that_takes_all_memory_is_stopped(host: Host, language: Language) -> None:
    if language.name in NO_MEMORY:
        pytest.skip(f"{language.name} has no memory to take")
    report = await run(host, language, "memory", Limits(cpu_s=30))
    assert (report.status, report.limit) == ("memory_limit", "memory_mb"), report


@pytest.mark.parametrize(
    "language",
    [language for language in LANGUAGES if language.compile and language.name not in OF_THE_USERS_OWN],
    ids=lambda language: language.name,
)
async def test_a_compile_error_names_the_version_of_the_toolchain(host: Host, language: Language) -> None:
    event = await last(host, Job(program=Program(language=language.name, code=BROKEN)))
    assert isinstance(event, CompileResult), event
    assert event.report.status == "runtime_error"
    assert event.report.stdout + event.report.stderr
    assert event.report.message is not None
    assert event.report.message.startswith(f"{language.name}: ")


@pytest.mark.parametrize("name", FILES)
async def test_a_program_can_have_several_files(host: Host, name: str) -> None:
    code, files = FILES[name]
    program = Program(language=name, code=code.encode(), files={path: text.encode() for path, text in files.items()})
    event = await last(host, Job(program=program))
    assert isinstance(event, CaseResult), event
    assert (event.program.status, event.program.stdout) == ("ok", b"42\n"), event.program


LIBRARIES = {
    "python": "attr bs4 bitarray dateutil gmpy2 jinja2 lxml more_itertools networkx numpy openpyxl pandas psutil "
    "pydantic pytest pytz regex requests scipy sortedcontainers sympy tabulate toolz yaml",
    "python-science": "matplotlib networkx nltk numba PIL seaborn sklearn sortedcontainers statsmodels torch",
}
"""Modules beside the standard library."""


@pytest.mark.parametrize("name", LIBRARIES)
async def test_python_has_the_libraries_that_programs_import(host: Host, name: str) -> None:
    code = f"import {', '.join(LIBRARIES[name].split())}\nprint(42)"
    program = Program(language=name, code=code.encode(), limits=Limits(cpu_s=60))
    event = await last(host, Job(program=program))
    assert isinstance(event, CaseResult), event
    assert (event.program.status, event.program.stdout) == ("ok", b"42\n"), event.program


JAVASCRIPT = {
    "a module": (
        "import fs from 'node:fs';\nimport { six } from './six.js';\nconsole.log(six * fs.readFileSync(0))",
        "7",
    ),
    "a script": ("const { six } = require('./seven.js');\nif (require.main === module) console.log(six * 7);", ""),
    "a script that quotes a module": ("const text = `\nimport x from 'y';\n`;\nconsole.log(require('fs') && 42);", ""),
}
"""Programs that print 42, and what they read."""


@pytest.mark.parametrize("title", JAVASCRIPT)
async def test_a_javascript_program_is_a_script_or_a_module(host: Host, title: str) -> None:
    code, stdin = JAVASCRIPT[title]
    files = {"six.js": b"export const six = 6;", "seven.js": b"exports.six = 6;"}
    program = Program(language="javascript", code=code.encode(), files=files)
    event = await last(host, Job(program=program, cases=[Case(stdin=stdin.encode())]))
    assert isinstance(event, CaseResult), event
    assert (event.program.status, event.program.stdout) == ("ok", b"42\n"), event.program


@pytest.mark.parametrize("directive", ["", ":- initialization(main).\n", ":- initialization(main, main).\n"])
async def test_a_prolog_program_runs_once_whether_or_not_it_starts_itself(host: Host, directive: str) -> None:
    code = f"{directive}main :- read(X), write(X), nl.\n".encode()
    event = await last(host, Job(program=Program(language="prolog", code=code), cases=[Case(stdin=b"42.\n")]))
    assert isinstance(event, CaseResult), event
    assert (event.program.status, event.program.stdout) == ("ok", b"42\n"), event.program


TYPESCRIPT = {
    "names of a browser": "const name = 'a', status = 1;\nclass Node {}\n"
    "function print(n: number) { console.log(n); }\nprint(42 + status - status);",
    "declarations of Node's names": "declare var require: any;\ndeclare const process: any;\n"
    "require('assert')(process.pid > 0);\nconsole.log(42);",
    "a method more for each array": "interface Array<T> { last(): T; }\n"
    "Array.prototype.last = function () { return this[this.length - 1]; };\nconsole.log([6, 42].last());",
}
"""Programs without import and export, each of which prints 42."""


@pytest.mark.parametrize("title", TYPESCRIPT)
async def test_a_typescript_program_may_use_any_name_and_extend_what_there_is(host: Host, title: str) -> None:
    event = await last(host, Job(program=Program(language="typescript", code=TYPESCRIPT[title].encode())))
    assert isinstance(event, CaseResult), event
    assert (event.program.status, event.program.stdout) == ("ok", b"42\n"), event.program


async def test_a_toolchain_that_is_older_than_the_program_demands_is_refused_by_its_version(host: Host) -> None:
    with pytest.raises(BadJob, match=r"'c' is older here than 99: gcc .* 12\.") as caught:
        await events_of(host, Job(program=Program(language="c", code=b"int main(void) {}", min_version="99")))
    assert caught.value.path == "program.min_version"


async def test_a_toolchain_that_is_new_enough_runs_the_program(host: Host) -> None:
    event = await last(host, Job(program=Program(language="c", code=b"int main(void) {}", min_version="12.2")))
    assert isinstance(event, CaseResult)
    assert event.program.status == "ok"


FLAGS: dict[str, list[str]] = {
    "c": ["-O3", "-std=c99", "-Wall", "-DN=1", "-fwrapv", "-static", "-march=native"],
    "cpp": ["-O3", "-std=gnu++17", "-Wextra", "-DONLINE_JUDGE", "-fno-rtti", "-pthread"],
    "cpp17": ["-Ofast", "-Wno-unused-result"],
    "cpp23": ["-g", "-mtune=native"],
    "cpp-catch2": ["-std=c++17", "-Wall"],
    "cpp-doctest": ["-O3", "-DNDEBUG"],
    "go": ["-tags=judge,fast", "-gcflags=-B"],
    "rust": ["-Coverflow-checks=on", "-Cpanic=abort", "-Ctarget-cpu=native"],
    "d": ["-release", "-boundscheck=off", "-d-version=Judge", "-mcpu=native"],
    "ocaml": ["-unsafe", "-O3"],
    "nim": ["-d:danger", "-d:Judge", "--mm:orc", "--opt:size", "--overflowChecks:on"],
    "haskell": ["-O2", "-XBangPatterns"],
    "fortran": ["-O3", "-std=gnu", "-fcheck=bounds", "-ffree-line-length-none", "-march=native"],
    "ada": ["-O3", "-gnat2012"],
    "pascal": ["-O3", "-Mobjfpc", "-Cr"],
    "csharp": ["-checked", "-define:JUDGE", "-langversion:7"],
    "verilog": ["-g2009", "-Wall"],
    "typescript": ["--strict"],
}
"""Flags that each row allows."""


async def test_the_flags_of_every_row_are_tried() -> None:
    assert FLAGS.keys() == {language.name for language in LANGUAGES if language.flags}


@pytest.mark.parametrize("name", FLAGS)
async def test_a_program_can_be_compiled_with_flags(host: Host, name: str) -> None:
    (source,) = Path(__file__).parent.joinpath("programs").glob(f"{SAME_PROGRAM.get(name, name)}.*")
    program = Program(language=name, code=source.read_bytes(), flags=FLAGS[name])
    event = await last(host, Job(program=program, cases=[Case(stdin=b"echo a\n")]))
    assert isinstance(event, CaseResult), event
    assert (event.program.status, event.program.stdout.decode()) == ("ok", "é a\n"), event.program


async def test_a_programs_flags_override_those_of_the_row(host: Host) -> None:
    code = b'#include <cstdio>\nint main() { std::printf("%ld %d", __cplusplus, LEVEL); }'
    program = Program(language="cpp", code=code, flags=["-std=c++11", "-DLEVEL=3"])
    event = await last(host, Job(program=program))
    assert isinstance(event, CaseResult), event
    assert event.program.stdout == b"201103 3"


async def test_a_flag_that_the_row_does_not_allow_is_refused(host: Host) -> None:
    program = Program(language="cpp", code=b"int main() {}", flags=["-O3", "-fplugin=evil.so"])
    with pytest.raises(BadJob, match=r"'-fplugin=evil\.so' is not allowed for 'cpp'; use flags that match") as caught:
        await events_of(host, Job(program=program))
    assert caught.value.path == "program.flags[1]"


async def test_what_is_no_version_is_refused(host: Host) -> None:
    with pytest.raises(BadJob, match="'newest' is not a version"):
        await events_of(host, Job(program=Program(language="c", code=b"int main(void) {}", min_version="newest")))


@pytest.mark.parametrize("image", sorted(TIERS))
async def test_a_language_whose_image_is_not_built_is_refused_with_the_command(image: str) -> None:
    language = next(language for language in LANGUAGES if language.images[0] == image)
    async for host in started("docker", image_prefix=PREFIX, warm=1):
        if (await host.status(probe=True))["images"][image]:
            pytest.skip(f"the image {image} is built here")
        with pytest.raises(BadJob, match=f"rewarden sandbox-host build --only {image}") as caught:
            await events_of(host, Job(program=Program(language=language.name, code=b"")))
        assert caught.value.path == "program.language"
        assert repr(language.name) in caught.value.message
