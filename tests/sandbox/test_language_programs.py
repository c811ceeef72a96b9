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
SAME_PROGRAM = {"cpp17": "cpp", "cpp23": "cpp", "python-science": "python"}
OF_THE_USERS_OWN = {"julia", "swift"}
"""Languages of images that Debian's packages cannot make, and that no machine of ours has."""

EXIT_CODES = {"sqlite": 1, "verilog": 1}
"""For languages that cannot choose one: of a failed statement."""

NO_MEMORY = {"cobol", "verilog"}
"""Languages whose programs get all their memory before they start."""

OWN_HEAP = {"java", "kotlin", "scala", "groovy", "clojure", "lisp", "php", "racket", "prolog", "erlang", "elixir"}
"""Languages whose runtime has a limit of its own, at which it may end the program before the sandbox does."""

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
    [language for language in LANGUAGES if language.name not in OF_THE_USERS_OWN],
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
    ends = {"memory_limit", "runtime_error"} if language.name in OWN_HEAP else {"memory_limit"}
    assert report.status in ends, report


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


async def test_a_toolchain_that_is_older_than_the_program_demands_is_refused_by_its_version(host: Host) -> None:
    with pytest.raises(BadJob, match=r"'c' is older here than 99: gcc .* 12\.") as caught:
        await events_of(host, Job(program=Program(language="c", code=b"int main(void) {}", min_version="99")))
    assert caught.value.path == "program.min_version"


async def test_a_toolchain_that_is_new_enough_runs_the_program(host: Host) -> None:
    event = await last(host, Job(program=Program(language="c", code=b"int main(void) {}", min_version="12.2")))
    assert isinstance(event, CaseResult)
    assert event.program.status == "ok"


async def test_what_is_no_version_is_refused(host: Host) -> None:
    with pytest.raises(BadJob, match="'newest' is no version"):
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
