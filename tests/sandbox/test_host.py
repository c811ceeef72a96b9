"""The sandbox host: the results and limits of a run, and that nothing else suffers from it."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from dataclasses import replace

import pytest
import pytest_asyncio

from rewarden_sandboxes.cpu_permits import CpuPermit
from rewarden_sandboxes.errors import BadJob, NoRoom
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, Limits, Program
from rewarden_sandboxes.settings import HostSettings
from tests.programs import LAUNCHERS
from tests.sandbox.conftest import events_of, run, started

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.asyncio(loop_scope="module")]


@pytest_asyncio.fixture(scope="module", loop_scope="module", params=LAUNCHERS)
async def host(request: pytest.FixtureRequest) -> AsyncIterator[Host]:
    async for each in started(request.param, slots=4, warm=1):
        yield each


# --- how a program ends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("code", "status", "exit_code", "signal"),
    [
        ("print('x')", "ok", 0, None),
        ("raise SystemExit", "ok", 0, None),
        ("raise SystemExit(3)", "runtime_error", 3, None),
        ("raise SystemExit('no')", "runtime_error", 1, None),
        ("1 / 0", "runtime_error", 1, None),
        ("def f(", "runtime_error", 1, None),
        ("import os; os._exit(7)", "runtime_error", 7, None),
        ("import os; os.kill(os.getpid(), 9)", "runtime_error", None, 9),
        ("import os; os.abort()", "runtime_error", None, 6),
        ("import ctypes; ctypes.string_at(0)", "runtime_error", None, 11),
        ("import os; os.execv('/bin/true', ['true'])", "ok", 0, None),
        ("import atexit, os; atexit.register(os._exit, 4)", "runtime_error", 4, None),
    ],
)
async def test_a_program_ends_as_under_its_own_interpreter(
    host: Host, code: str, status: str, exit_code: int | None, signal: int | None
) -> None:
    report = await run(host, code)
    assert (report.status, report.exit_code, report.signal) == (status, exit_code, signal)


async def test_a_run_that_ends_while_it_idles_gives_the_next_one_its_processor(
    host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[bool] = []
    rest = CpuPermit.rest

    def recorded(permit: CpuPermit, resting: bool) -> None:
        told.append(resting)
        rest(permit, resting)

    monkeypatch.setattr(CpuPermit, "rest", recorded)
    report = await run(host, "import time; time.sleep(60)", limits=Limits(wall_s=0.4))
    assert (report.status, report.limit) == ("time_limit", "wall_s")
    assert told[0] is True
    assert told[-2:] == [False, True]  # the last is the end of the job


async def test_output_arrives_whole_and_apart(host: Host) -> None:
    report = await run(host, "import sys\nprint('é\\0' * 3, end='')\nprint('b', file=sys.stderr)\nsys.stdout.flush()")
    assert report.stdout == "é\0".encode() * 3
    assert report.stderr == b"b\n"
    assert not report.truncated


async def test_a_traceback_shows_the_program_and_nothing_of_ours(host: Host) -> None:
    report = await run(host, "def f():\n    raise ValueError('v')\nf()")
    text = report.stderr.decode()
    assert 'File "/tmp/box/main.py", line 3' in text
    assert text.endswith("ValueError: v\n")
    assert "rewarden" not in text


async def test_what_threads_and_exit_functions_print_is_not_lost(host: Host) -> None:
    code = (
        "import atexit, threading\natexit.register(print, 'last')\n"
        "threading.Thread(target=lambda: (__import__('time').sleep(0.05), print('thread'))).start()\nprint('main')"
    )
    assert (await run(host, code)).stdout == b"main\nthread\nlast\n"


async def test_files_and_arguments_stand_where_the_program_looks(host: Host) -> None:
    code = "import sys, helper\nprint(helper.x, open('d/data.txt').read(), sys.argv)"
    files = {"helper.py": b"x = 1", "d/data.txt": b"data"}
    report = await run(host, code, files=files, args=["-a", "b c"])
    assert report.stdout.decode() == "1 data ['main.py', '-a', 'b c']\n"


async def test_a_job_collects_the_files_that_it_names_and_follows_no_link(host: Host) -> None:
    code = "import os\nopen('a.txt', 'w').write('A')\nos.symlink('/etc/passwd', 'b.txt')\nos.mkfifo('c.txt')"
    job = Job(program=Program(language="python", code=code.encode()), collect=["a.txt", "b.txt", "c.txt", "d.txt"])
    [result] = await events_of(host, job)
    assert isinstance(result, CaseResult)
    assert result.program.files == {"a.txt": b"A"}


async def test_a_job_collects_folders_and_from_both_rooms(host: Host) -> None:
    code = "import os\nos.makedirs('d/e')\nopen('d/e/%s', 'w').write('%s')\nopen('f', 'w').write('f')"
    job = Job(
        program=Program(language="python", code=(code % ("a", "A")).encode()),
        partner=Program(language="python", code=(code % ("b", "B")).encode()),
        join="stdio",
        collect=["d/"],
    )
    [result] = await events_of(host, job)
    assert isinstance(result, CaseResult)
    assert result.program.files == {"d/e/a": b"A"}
    assert result.partner is not None
    assert result.partner.files == {"d/e/b": b"B"}


async def test_collected_files_are_output(host: Host) -> None:
    program = Program(language="python", code=b"open('a', 'w').write('a' * 2000)", limits=Limits(output_bytes=1000))
    [result] = await events_of(host, Job(program=program, collect=["a"]))
    assert isinstance(result, CaseResult)
    assert (result.program.status, result.program.limit, result.program.files) == ("output_limit", "output_bytes", {})


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("python", "import sys\nprint(1, end='')\nsys.stdin.read(1)"),
        ("c", '#include <stdio.h>\nint main(){char c; printf("1"); return scanf("%c", &c) - 1;}'),
        ("cpp", "#include <iostream>\nint main(){char c; std::cin.tie(0); std::cout << 1; std::cin >> c;}"),
    ],
)
async def test_a_program_without_a_buffer_need_not_flush(host: Host, language: str, code: str) -> None:
    answering = "import sys\nsys.stdin.read(1)\nprint(2, flush=True)"
    job = Job(
        program=Program(language=language, code=code.encode(), limits=Limits(wall_s=1.0)),
        partner=Program(language="python", code=answering.encode()),
        join="stdio_unbuffered",
    )
    result = (await events_of(host, job))[-1]
    assert isinstance(result, CaseResult)
    assert result.program.status == "ok"
    waiting = (await events_of(host, replace(job, join="stdio")))[-1]
    assert isinstance(waiting, CaseResult)
    assert waiting.program.status == "time_limit"


# --- languages -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("language", "code"),
    [
        ("c", '#include <stdio.h>\nint main(){int x; scanf("%d", &x); printf("%d\\n", 2*x);}'),
        ("cpp", "#include <iostream>\nint main(){int x; std::cin >> x; std::cout << 2*x << std::endl;}"),
        ("javascript", "console.log(2 * Number(require('fs').readFileSync(0, 'utf8')))"),
        ("bash", "read x; echo $((2*x))"),
        ("python", "print(2 * int(input()))"),
    ],
)
async def test_every_language_reads_and_writes(host: Host, language: str, code: str) -> None:
    cases = [Case(stdin=b"%d\n" % n) for n in (1, 21)]
    events = await events_of(host, Job(program=Program(language=language, code=code.encode()), cases=cases))
    results = [event for event in events if isinstance(event, CaseResult)]
    assert [result.index for result in results] == [0, 1]
    assert [result.program.stdout for result in results] == [b"2\n", b"42\n"]
    compilations = [event for event in events if isinstance(event, CompileResult)]
    assert len(compilations) == (1 if language in ("c", "cpp") else 0)  # once, not for each case


async def test_what_does_not_compile_runs_no_case(host: Host) -> None:
    events = await events_of(host, Job(program=Program(language="c", code=b"int main({"), cases=[Case(), Case()]))
    [compiled] = events
    assert isinstance(compiled, CompileResult)
    assert compiled.report.status == "runtime_error"
    assert b"main.c:1:" in compiled.report.stderr


async def test_compilers_know_one_time_only(host: Host) -> None:
    """Attack: a compilation whose work depends on the second in which it runs, so that its limits say nothing."""
    code = '#include <stdio.h>\nint main(void) { puts(__TIME__ " " __DATE__ " " __TIMESTAMP__); }\n'
    report = await run(host, code, "c")
    assert report.stdout == b"00:00:00 Jan  1 2000 Sat Jan  1 00:00:00 2000\n"


async def test_a_case_sees_nothing_of_the_case_before(host: Host) -> None:
    code = b"import os\nprint(sorted(os.listdir('.')), os.path.exists('/tmp/x'), os.path.exists('/dev/shm/x'))\n"
    code += b"for p in ('x', '/tmp/x', '/dev/shm/x'): open(p, 'w').write('x')"
    events = await events_of(host, Job(program=Program(language="python", code=code), cases=[Case()] * 3))
    assert [event.index for event in events if isinstance(event, CaseResult)] == [0, 1, 2]
    outputs = {event.program.stdout for event in events if isinstance(event, CaseResult)}
    assert outputs == {b"['main.py'] False False\n"}


# --- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.stress
@pytest.mark.parametrize(
    ("code", "limits", "status", "limit"),
    [
        ("while True: pass", Limits(cpu_s=0.2), "time_limit", "cpu_s"),
        ("import time; time.sleep(60)", Limits(wall_s=0.2), "time_limit", "wall_s"),
        ("import signal; signal.pause()", Limits(wall_s=0.2), "time_limit", "wall_s"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGSTOP)", Limits(wall_s=0.2), "time_limit", "wall_s"),
        ("x = bytearray(400 << 20)", Limits(memory_mb=128), "memory_limit", "memory_mb"),
        ("print('x' * 200_000)", Limits(output_bytes=100_000), "output_limit", "output_bytes"),
        ("import sys; print('x' * 200_000, file=sys.stderr)", Limits(output_bytes=100_000), "output_limit", None),
        ("open('f', 'wb').write(bytes(9 << 20))", Limits(disk_mb=4), "runtime_error", None),
        ("import os\nfor n in range(40): os.fork() or os.pause()", Limits(processes=8), "runtime_error", None),
        ("files = [open('/dev/null') for _ in range(99)]", Limits(open_files=40), "runtime_error", None),
    ],
)
async def test_a_limit_ends_the_run_and_is_named(
    host: Host, code: str, limits: Limits, status: str, limit: str | None
) -> None:
    report = await run(host, code, limits=limits)
    assert report.status == status
    if limit is not None:
        assert report.limit == limit


@pytest.mark.stress
async def test_cpu_time_of_orphans_and_double_forks_counts(host: Host) -> None:
    # Usage as the kernel reports it for children sees next to nothing of this.
    code = (
        "import os, signal, time\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "if not os.fork():\n    if not os.fork():\n        while True: pass\n    os._exit(0)\ntime.sleep(30)"
    )
    report = await run(host, code, limits=Limits(cpu_s=0.3))
    assert (report.status, report.limit) == ("time_limit", "cpu_s")
    assert report.cpu_time > 0.3


@pytest.mark.stress
async def test_a_run_between_soft_and_hard_limit_is_run_again_and_must_agree(host: Host) -> None:
    code = "import time\nend = time.process_time() + 0.5\nwhile time.process_time() < end: pass"
    report = await run(host, code, limits=Limits(cpu_s=0.4))
    assert (report.status, report.limit) == ("time_limit", "cpu_s")
    assert "rerun" in report.flags


@pytest.mark.stress
async def test_what_lies_within_its_limits_is_measured(host: Host) -> None:
    code = "import time\nx = bytearray(64 << 20)\ntime.sleep(0.6)\nend = time.process_time() + 0.2\n"
    code += "while time.process_time() < end: pass"
    report = await run(host, code)
    assert report.status == "ok"
    assert 0.1 < report.cpu_time < report.wall_time
    assert 0.2 < report.idle_time < report.wall_time
    if report.enforced["memory_mb"] == "cgroup" and report.peak_memory is not None:
        assert 60 << 20 < report.peak_memory < 160 << 20


async def test_big_input_and_output_arrive_whole(host: Host) -> None:
    data = os.urandom(5 << 20).hex().encode()
    report = await run(host, "import sys; sys.stdout.buffer.write(sys.stdin.buffer.read())", stdin=data)
    assert report.stdout == data


# --- two rooms -----------------------------------------------------------------------------------------------------


async def test_two_programs_talk_over_their_standard_streams(host: Host) -> None:
    guess = b"low, high = 1, 1000\nwhile True:\n    middle = (low + high) // 2\n    print(middle, flush=True)\n"
    guess += b"    answer = input()\n    if answer == '=': break\n"
    guess += b"    low, high = (middle + 1, high) if answer == '>' else (low, middle - 1)"
    judge = b"import sys\nwanted = int(open('secret').read())\nfor turn in range(12):\n    got = int(input())\n"
    judge += b"    if got == wanted: print('=', flush=True); sys.exit(0)\n"
    judge += b"    print('>' if wanted > got else '<', flush=True)\nsys.exit(1)"
    job = Job(
        program=Program(language="python", code=guess),
        partner=Program(language="python", code=judge),
        join="stdio",
        cases=[Case(partner_files={"secret": b"777"}), Case(partner_files={"secret": b"1001"})],
    )
    good, bad = await events_of(host, job)
    assert isinstance(good, CaseResult)
    assert isinstance(bad, CaseResult)
    assert good.partner is not None
    assert bad.partner is not None
    assert (good.program.status, good.partner.exit_code) == ("ok", 0)
    assert bad.partner.exit_code == 1


@pytest.mark.parametrize(
    ("code", "exit_code", "flags"),
    [
        ("import signal\nsignal.pause()", 1, ("killed_with_partner",)),
        ("import sys\nsys.stdin.read()", 0, ()),  # which ends with the partner
    ],
)
async def test_a_partner_that_rejects_ends_the_program_at_once(
    host: Host, code: str, exit_code: int, flags: tuple[str, ...]
) -> None:
    program = Program(language="python", code=code.encode(), limits=Limits(wall_s=300.0))
    partner = Program(language="python", code=b"import sys\nsys.exit(%d)" % exit_code)
    events = await events_of(host, Job(program=program, partner=partner, join="stdio", rejecting=(1,)))
    assert isinstance(events[-1], CaseResult)
    assert events[-1].program.flags == flags


async def test_a_program_that_spins_is_told_from_a_partner_that_does(host: Host) -> None:
    spin, wait = b"while True: pass", b"input()"
    limits = Limits(cpu_s=0.3, wall_s=5)
    for program, partner in ((spin, wait), (wait, spin)):
        job = Job(
            program=Program(language="python", code=program, limits=limits),
            partner=Program(language="python", code=partner, limits=limits),
            join="stdio",
        )
        [result] = await events_of(host, job)
        assert isinstance(result, CaseResult)
        assert result.partner is not None
        guilty = result.program if program is spin else result.partner
        innocent = result.partner if program is spin else result.program
        assert (guilty.status, guilty.limit) == ("time_limit", "cpu_s")
        assert innocent.status != "time_limit"


# --- the host ------------------------------------------------------------------------------------------------------


async def test_many_runs_at_once_each_get_their_own_answer(host: Host) -> None:
    reports = await asyncio.gather(*(run(host, f"print({n})") for n in range(40)))
    assert [report.stdout for report in reports] == [b"%d\n" % n for n in range(40)]


async def test_sleepers_do_not_keep_others_from_the_cpu() -> None:
    async for host in started("bwrap", slots=8, warm=1, cpu_permits=1):
        sleepers = [asyncio.ensure_future(run(host, "import time; time.sleep(30)")) for _ in range(4)]
        report = await asyncio.wait_for(run(host, "print('awake')"), 20)
        assert report.stdout == b"awake\n"
        assert not any(sleeper.done() for sleeper in sleepers)
        for sleeper in sleepers:
            sleeper.cancel()
        await asyncio.gather(*sleepers, return_exceptions=True)


async def test_leaving_a_job_kills_it_and_the_slot_serves_on(host: Host) -> None:
    job = Job(program=Program(language="python", code=b"import time; time.sleep(30)"), cases=[Case()] * 3)

    async def leave() -> None:
        async with aclosing(host.run(job)) as events:
            async for _ in events:
                pass

    task = asyncio.ensure_future(leave())
    await asyncio.sleep(0)
    await run(host, "print('beside')")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    assert (await run(host, "print('after')")).stdout == b"after\n"


@pytest.mark.parametrize(
    ("program", "path"),
    [
        (Program(language="klingon", code=b""), "program.language"),
        (Program(language="python", code=b"", limits=Limits(memory_mb=10**6)), "cases[0].limits.memory_mb"),
    ],
)
async def test_a_job_that_cannot_be_is_refused_by_field(host: Host, program: Program, path: str) -> None:
    with pytest.raises(BadJob) as refused:
        await events_of(host, Job(program=program))
    assert refused.value.path == path


async def test_status_says_what_holds_each_limit(host: Host) -> None:
    status = await host.status(probe=True)
    assert status["ready"]
    assert status["probe"] == {"ok": True, "reason": None}
    assert set(status["enforced"]) == set(Limits.__slots__)
    assert status["launcher"] in LAUNCHERS


async def test_a_host_that_is_switched_off_refuses_with_words() -> None:
    host = Host(HostSettings(launcher="none"))
    await host.start()
    try:
        with pytest.raises(NoRoom, match="switched off"):
            await run(host, "print(1)")
    finally:
        await host.close()


@pytest.mark.parametrize("name", LAUNCHERS)
async def test_where_no_rooms_can_be_had_each_run_has_a_slot_to_itself(name: str) -> None:
    async for host in started(name, slots=3, warm=1, rooms="no"):
        for n in range(3):
            report = await run(host, f"import os\nprint({n}, os.path.exists('/tmp/x'))\nopen('/tmp/x', 'w')")
            assert report.stdout == b"%d False\n" % n
        # The program can reach its supervisor here; killing it must not pay.
        killed = await run(host, "import os, time\nos.kill(-1, 9)\ntime.sleep(5)")
        assert killed.status == "runtime_error"
