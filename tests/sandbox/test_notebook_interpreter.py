"""Notebooks in Bash, JavaScript and R: what a cell leaves, tells and survives. Their driver runs without a box."""

from __future__ import annotations

import base64
import os
import select
import shutil
import signal
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.sandbox.notebook_driver import DriverProcess

pytestmark = pytest.mark.needs_server


@dataclass(frozen=True)
class Words:
    """Cells of one language. hang: writes a line, and runs until it is interrupted. idle: the same, without running.
    program_idle: in a program that it starts. busy_later: runs where an interrupt is harder to notice. deaf: cannot be
    interrupted. die: ends the interpreter with 3."""

    program: str
    keep: str
    kept: str
    write: str
    fail: str
    unreadable: str
    hang: str
    idle: str
    program_idle: str
    busy_later: str
    deaf: str
    die: str
    kill: str
    flood: str
    much: str
    read: str


WORDS = {
    "bash": Words(
        program="bash",
        keep="x=20; cd /",
        kept="echo $x $PWD",
        write="echo größe; echo err >&2",
        fail="echo before; false",
        unreadable="if true; then",
        hang="echo begun; while :; do :; done",
        idle="echo begun; sleep 1000",
        program_idle="echo begun; bash -c 'sleep 1000; true'",
        busy_later="echo begun; sleep 0; while :; do bash -c 'exit 0'; done",
        deaf="trap '' INT; echo begun; while :; do :; done",
        die="exit 3",
        kill="kill -9 $$",
        flood="while :; do echo xxxxxxxxxxxxxxxxxxxx; done",
        much="printf '%4000000s' x",
        read='cat; read line; echo "[$line]"',
    ),
    "javascript": Words(
        program="node",
        keep="let x = 20; process.chdir('/')",
        kept="console.log(x, process.cwd())",
        write="console.log('größe'); console.error('err')",
        fail="console.log('before'); function f() { return null.x }\nf()",
        unreadable="1 +",
        hang="console.log('begun'); while (true) {}",
        idle="console.log('begun'); await new Promise(() => {})",
        program_idle="console.log('begun'); require('node:child_process').execSync('sleep 1000')",
        busy_later="console.log('begun'); await 1; while (true) {}",
        deaf="console.log('begun'); require('node:child_process').execSync(\"trap '' INT; sleep 1000\")",
        die="process.exit(3)",
        kill="process.kill(process.pid, 'SIGKILL')",
        flood="while (true) console.log('xxxxxxxxxxxxxxxxxxxx')",
        much="process.stdout.write('x'.padStart(4000000))",
        read="console.log(`[${require('node:fs').readFileSync(0)}]`)",
    ),
    "r": Words(
        program="R",
        keep="x <- 20; setwd('/')",
        kept="cat(x, getwd(), fill = TRUE)",
        write="cat('größe\\n'); message('err')",
        fail="cat('before\\n'); f <- function() stop('no')\nf()",
        unreadable="1 +",
        hang="cat('begun\\n'); while (TRUE) {}",
        idle="cat('begun\\n'); Sys.sleep(1000)",
        program_idle="cat('begun\\n'); system('sleep 1000')",
        busy_later="cat('begun\\n'); f <- function() f(); repeat try(f(), silent = TRUE)",
        deaf="cat('begun\\n'); suspendInterrupts(while (TRUE) {})",
        die="quit(status = 3)",
        kill="tools::pskill(Sys.getpid(), 9)",
        flood="repeat cat('xxxxxxxxxxxxxxxxxxxx\\n')",
        much="cat(strrep(' ', 3999999), 'x', sep = '')",
        read="cat('[', readLines('stdin'), ']', sep = '', fill = TRUE)",
    ),
}


@pytest.fixture(params=WORDS)
def kernel(request: pytest.FixtureRequest) -> str:
    """Each kernel whose interpreter this machine has."""
    program = WORDS[request.param].program
    if shutil.which(program) is None:
        pytest.skip(f"{program} is not on this machine")
    return str(request.param)


@pytest.fixture
def words(kernel: str) -> Words:
    """Its cells."""
    return WORDS[kernel]


@pytest.fixture
def driver(kernel: str) -> Iterator[DriverProcess]:
    """Its driver."""
    with DriverProcess(kernel) as made:
        assert made.first == {"ev": "ready"}
        yield made


@pytest.fixture
def bash() -> Iterator[DriverProcess]:
    """The driver of Bash, which every machine has."""
    with DriverProcess("bash") as made:
        yield made


# --- cells and outputs ---------------------------------------------------------------------------------------------


def test_each_cell_begins_where_the_last_one_ended(driver: DriverProcess, words: Words) -> None:
    first = driver.run(words.keep)
    assert (first.status, first.done["count"], first.outputs) == ("ok", 1, [])
    second = driver.run(words.kept)
    assert (second.status, second.done["count"], second.text()) == ("ok", 2, "20 /\n")


def test_what_is_written_comes_by_stream(driver: DriverProcess, words: Words) -> None:
    cell = driver.run(words.write)
    assert (cell.text(), cell.text("stderr")) == ("größe\n", "err\n")


def test_a_cell_that_fails_says_so_and_leaves_the_state(driver: DriverProcess, words: Words) -> None:
    driver.run(words.keep)
    failed = driver.run(words.fail)
    assert (failed.status, failed.text()) == ("error", "before\n")
    assert all(failed.error)
    assert driver.run(words.unreadable).status == "error"
    assert driver.run(words.kept).text() == "20 /\n"


def test_a_cell_has_nothing_to_read(driver: DriverProcess, words: Words) -> None:
    """Its standard input must not be the pipe from which the interpreter reads cells."""
    assert driver.run(words.read).text() == "[]\n"


def test_what_a_cell_writes_at_last_is_not_lost_to_the_next(driver: DriverProcess, words: Words) -> None:
    for _ in range(5):
        assert driver.run(words.write).text() == "größe\n"


def test_all_that_a_cell_writes_comes_before_its_end(driver: DriverProcess, words: Words) -> None:
    """Flake: Node keeps what does not fit into the pipe, and wrote it into the next cell."""
    for _ in range(2):
        assert driver.run(words.much, most=1 << 25).text() == "x".rjust(4_000_000)


@pytest.mark.parametrize("kernel", ["javascript"], indirect=True)
def test_the_streams_of_javascript_are_written_to_as_those_of_node(driver: DriverProcess) -> None:
    wrote = "process.stdout.write('é\\n', 'latin1', () => process.emit('wrote'))"
    assert driver.run(f"const wrote = new Promise((done) => process.once('wrote', done)); {wrote}; await wrote").text()
    piped = "require('node:stream').Readable.from(['a', 'b\\n']).pipe(process.stdout)"
    assert driver.run(f"const end = new Promise((done) => {piped}.on('unpipe', done)); await end; 1").text() == "ab\n"
    assert driver.run("process.stdout.write(new Uint8Array([97, 10])); process.stdout.destroy(); 1").text() == "a\n"
    assert "TypeError" in driver.run("process.stdout.write(1)").error
    assert driver.run("new (require('node:worker_threads').Worker)('console.log(2)', { eval: true }); 1").value == "1"
    started = "require('node:child_process').spawn('sh', ['-c', 'echo child'], { stdio: 'inherit' })"
    assert driver.run(f"await new Promise((done) => {started}.on('close', done)); 1").text().endswith("child\n")


# --- limits --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("what", ["hang", "idle", "program_idle", "busy_later"])
def test_an_interrupt_ends_the_cell_and_keeps_the_state(driver: DriverProcess, words: Words, what: str) -> None:
    driver.run(words.keep)
    for _ in range(2):
        cell = driver.interrupted(getattr(words, what))
        assert cell.status in ("ok", "error")  # the server knows that it was interrupted
        assert cell.text() == "begun\n"
        assert driver.run(words.kept).text() == "20 /\n"


def test_cells_can_be_interrupted_below_a_server_that_ignores_interrupts(kernel: str, words: Words) -> None:
    """As one does that a script starts in the background. Flake: the suite hung when it was started so."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        started = DriverProcess(kernel)
    finally:
        signal.signal(signal.SIGINT, before)
    with started as driver:
        assert driver.interrupted(words.idle).status in ("ok", "error")


def test_an_interrupt_that_comes_late_ends_no_later_cell(driver: DriverProcess, words: Words) -> None:
    driver.run(words.keep)
    for _ in range(20):
        driver.begin(words.kept)
        driver.order(do="interrupt")
        driver.end()
        assert driver.run(words.kept).text() == "20 /\n"


@pytest.mark.parametrize(("then", "status"), [("", "ok"), ("; while :; do :; done", "error")])
def test_an_order_that_bash_drops_as_the_interrupt_comes_holds_up_no_cell(
    bash: DriverProcess, then: str, status: str
) -> None:
    """Bash drops the line that it reads then, which can be the order to tell that the interrupt is over."""
    bash.begin(f"x=20; cd /; trap '' INT; echo begun; head -n 1 <&10 >/dev/null; trap - INT{then}")
    assert bash.line()["output"]["text"] == "begun\n"
    bash.order(do="interrupt")
    assert bash.end().status == status
    for _ in range(3):
        assert bash.run("echo $x $PWD").text() == "20 /\n"


def test_a_cell_that_ignores_the_interrupt_loses_the_state(driver: DriverProcess, words: Words) -> None:
    driver.run(words.keep)
    driver.begin(words.deaf)
    assert driver.line()["output"]["text"] == "begun\n"
    driver.order(do="interrupt")
    driver.order(do="restart")
    while (line := driver.line()) != {"ev": "restarting"}:
        assert line["ev"] == "output"
    assert driver.end().status == "died"
    again = driver.run(words.kept)
    assert (again.done["count"], again.text() == "20 /\n") == (1, False)


def test_a_flood_is_cut_and_the_state_is_kept(driver: DriverProcess, words: Words) -> None:
    driver.run(words.keep)
    cell = driver.run(words.flood, most=2000)
    assert cell.full
    assert 100 < len(cell.text()) < 2000
    assert driver.run(words.kept).text() == "20 /\n"


@pytest.mark.parametrize(("what", "end"), [("die", (3, None)), ("kill", (None, 9))])
def test_an_interpreter_that_ends_is_replaced(
    driver: DriverProcess, words: Words, what: str, end: tuple[int | None, int | None]
) -> None:
    driver.run(words.keep)
    cell = driver.run(getattr(words, what))
    assert (cell.status, (cell.done["exit_code"], cell.done["signal"])) == ("died", end)
    assert "20 /" not in driver.run(words.kept).text()


def test_a_restart_forgets_everything(driver: DriverProcess, words: Words) -> None:
    driver.run(words.keep)
    driver.order(do="restart")
    assert [driver.line()["ev"], driver.line()["ev"]] == ["restarting", "ready"]
    assert driver.variables() == {}
    assert "20 /" not in driver.run(words.kept).text()


# --- how each language is ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kernel", ["bash"], indirect=True)
def test_bash_lists_its_variables(driver: DriverProcess) -> None:
    driver.run("s='two words'; a=(1 2 3); declare -A m=([k]=v); declare -i n=7; line=$'a\\nb'; PATH=$PATH:/x; set -eu")
    assert driver.variables() == {
        "s": ("string", 9, None, '"two words"'),
        "a": ("array", 3, None, '([0]="1" [1]="2" [2]="3")'),
        "m": ("map", 1, None, '([k]="v" )'),
        "n": ("integer", 1, None, '"7"'),
        "line": ("string", 3, None, "$'a\\nb'"),
    }
    assert driver.run("echo $-").done["count"] == 2  # listing them was not a cell


@pytest.mark.parametrize("kernel", ["javascript"], indirect=True)
def test_javascript_lists_its_variables(driver: DriverProcess) -> None:
    driver.run("let list = [1, 2]; const name = 'Zoë'; var map = new Map([[1, 2]]); class A {}; plain = null")
    assert driver.variables() == {
        "list": ("Array", 2, None, "[ 1, 2 ]"),
        "name": ("string", 3, None, "'Zoë'"),
        "map": ("Map", 1, None, "Map(1) { 1 => 2 }"),
        "A": ("function", None, None, "[class A]"),
        "plain": ("null", None, None, "null"),
    }


@pytest.mark.parametrize("kernel", ["r"], indirect=True)
def test_r_lists_its_variables(driver: DriverProcess) -> None:
    driver.run("m <- matrix(1:6, 2); name <- 'Zoë'; f <- function(x) x; .hidden <- 1")
    assert driver.variables() == {
        "m": ("matrix", 6, [2, 3], "structure(1:6, dim = 2:3)"),
        "name": ("character", 1, None, '"Zoë"'),
        "f": ("function", 1, None, "function"),
    }


@pytest.mark.parametrize("kernel", ["javascript"], indirect=True)
def test_javascript_ends_with_its_driver(driver: DriverProcess) -> None:
    """Whatever it runs. Flake: it went on forever where no room ends with the driver."""
    node = os.pidfd_open(int(driver.run("process.pid").value))
    driver.begin("console.log('begun'); while (true) {}")
    assert driver.line()["ev"] == "output"
    driver.kill()
    select.select([node], [], [])  # until it has ended
    os.close(node)


@pytest.mark.parametrize("kernel", ["javascript"], indirect=True)
def test_a_value_that_cannot_be_shown_hides_no_other_variable(driver: DriverProcess) -> None:
    driver.run("let a = 1, c = 3; let b = { [require('util').inspect.custom]() { while (true); } }")
    driver.begin("", do="variables")
    driver.order(do="interrupt")
    (shown,) = driver.end().outputs
    (rows,) = shown["data"].values()
    assert [row["name"] for row in rows] == ["a", "b", "c"]
    assert rows[1]["text"] == "<too slow>"


@pytest.mark.parametrize("kernel", ["javascript"], indirect=True)
def test_javascript_has_values_names_that_can_be_declared_anew_and_await(driver: DriverProcess) -> None:
    driver.run("const x = 1; class A {}; let failed = nope")
    assert driver.run("const x = 2; class A {}; let failed = 3; x + failed").value == "5"
    assert driver.run("await new Promise((done) => setTimeout(done, 1, 'slept'))").value == "'slept'"
    assert driver.run("10n ** 20n").value == "100000000000000000000n"
    assert driver.run("undefined").outputs == []
    assert driver.run("require('node:path').join('a', 'b')").value == "'a/b'"


@pytest.mark.parametrize("kernel", ["javascript"], indirect=True)
def test_the_errors_of_javascript_have_the_policys_part_of_the_stack(driver: DriverProcess) -> None:
    name, text, trace = driver.run("function half(n) {\n  return null.x / n\n}\nhalf(3)").error
    assert (name, text) == ("TypeError", "Cannot read properties of null (reading 'x')")
    assert trace.splitlines()[1:] == ["    at half (<anonymous>:2:15)", "    at <anonymous>:4:1"]
    assert driver.run("1 +\n\n)").error[2].endswith("at 3:1")
    assert driver.run("throw 'text'").error == ("string", "'text'", "Uncaught 'text'")


@pytest.mark.parametrize("kernel", ["javascript"], indirect=True)
def test_what_fails_in_the_background_ends_no_kernel_of_javascript(driver: DriverProcess) -> None:
    wait = "await new Promise((done) => process.once('late', () => setImmediate(done)))"
    cell = driver.run(f"setTimeout(() => {{ process.emit('late'); throw new Error('late') }}, 1); {wait}")
    assert (cell.status, "Error: late" in cell.text("stderr")) == ("ok", True)


@pytest.mark.parametrize("kernel", ["r"], indirect=True)
def test_r_prints_values_and_shows_plots_calls_and_warnings(driver: DriverProcess) -> None:
    assert driver.run("invisible(1); 2").text() == "[1] 2\n"
    assert "Warning: NAs introduced" in driver.run("as.integer('a')").text("stderr")
    assert driver.run("f <- function(n) stop('no ', n)\ng <- function() f(3)\ng()").error == (
        "simpleError",
        "no 3",
        'Error in f(3): no 3\n  g()\n  f(3)\n  stop("no ", n)',
    )
    (plot,) = driver.run("plot(1:3)").outputs
    assert base64.b64decode(plot["data"]["image/png"]).startswith(b"\x89PNG")


def test_bash_tells_the_exit_code_of_a_cell(bash: DriverProcess) -> None:
    assert bash.run("(exit 7)").error == ("ExitCode", "7", "exit code 7")
    assert bash.run("no-such-program").error[1] == "127"


def test_bash_keeps_functions_aliases_and_options_and_reads_any_text(bash: DriverProcess) -> None:
    bash.run("f() { echo \"f $1\"; }\nalias a='echo aliased'\nshopt -s nullglob")
    assert bash.run("f 1\na\necho /no-such-*").text() == "f 1\naliased\n\n"
    assert bash.run("cat <<'E'\nit's \"!!\" \\ $x\nE\r\necho `echo \"é\"` # '").text() == 'it\'s "!!" \\ $x\né\n'
    assert bash.run("echo a\0b").error[0] == "ValueError"
    assert bash.run("printf '\\303'").text() == "\ufffd"
    assert bash.run("echo b").text() == "b\n"


def test_bash_reads_no_file_of_the_policys_at_its_start(tmp_path: Path) -> None:
    """Attack: a notebook that is restarted, and begins with what the policy left."""
    for name in (".bashrc", ".bash_profile", ".profile", "env"):
        (tmp_path / name).write_text("echo read; x=1\n")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), "BASH_ENV": f"{tmp_path}/env", "ENV": f"{tmp_path}/env"}
    with DriverProcess("bash", env) as driver:
        assert driver.run('echo "[$x]"').text() == "[]\n"
    assert not (tmp_path / ".bash_history").exists()


# --- what a hostile cell can do ------------------------------------------------------------------------------------


def test_a_program_in_the_background_writes_into_no_later_cell_and_does_not_wait(
    bash: DriverProcess, tmp_path: Path
) -> None:
    """More than a pipe holds: it waits forever if nobody reads between two cells."""
    bash.run(f"( while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; head -c 200000 /dev/zero; > {tmp_path}/gone ) &")
    (tmp_path / "go").touch()
    while not (tmp_path / "gone").exists():
        pass
    assert bash.run("echo next").text() == "next\n"


def test_a_program_that_writes_for_ever_keeps_no_cell_from_ending(bash: DriverProcess) -> None:
    bash.run("yes &", most=1000)
    assert bash.run("true", most=1000).status == "ok"
    bash.run("kill %1; wait", most=1000)  # what it writes until it is dead belongs to this cell
    assert bash.run("echo quiet").text() == "quiet\n"


def test_an_interpreter_that_dies_between_two_cells_runs_no_cell_on_lost_state(
    bash: DriverProcess, tmp_path: Path
) -> None:
    bash.run(f"( while [ ! -e {tmp_path}/go ]; do sleep 0.01; done; kill -9 $$; > {tmp_path}/gone ) &")
    (tmp_path / "go").touch()
    while not (tmp_path / "gone").exists():
        pass
    cell = bash.run("echo ran")
    assert (cell.status, cell.done["signal"], cell.outputs) == ("died", 9, [])


@pytest.mark.parametrize("record", ["nonsense\\0", "nonsense", "value\\0%20000000d\\0"])
def test_records_that_the_policy_writes_end_its_interpreter_and_nothing_else(bash: DriverProcess, record: str) -> None:
    pipes = "for fd in /proc/$$/fd/*; do n=${fd##*/}; (( n >= 60 && n < 100 )) && echo $n; done"
    numbers = bash.run(pipes).text().split()
    cell = bash.run("".join(f"printf '{record}' >&{number};" for number in numbers))
    assert cell.status == "died"
    assert bash.run("echo alive").text() == "alive\n"


def test_a_cell_that_closes_our_pipes_is_replaced_by_order(bash: DriverProcess) -> None:
    bash.begin('for n in {60..90}; do eval "exec $n>&-"; done; exec 1>&- 2>&-')
    bash.order(do="interrupt")
    bash.order(do="restart")
    while bash.line()["ev"] != "restarting":
        pass
    assert bash.end().status == "died"
    assert bash.run("echo alive").text() == "alive\n"


def test_a_picture_that_cannot_be_read_is_left_out(bash: DriverProcess, tmp_path: Path) -> None:
    """Attack: the path of a FIFO or a device, on which the driver would wait forever."""
    os.mkfifo(tmp_path / "fifo")
    for path in (f"{tmp_path}/fifo", "/dev/zero", "/nowhere", str(tmp_path)):
        cell = bash.run(f"for n in /proc/$$/fd/6?; do printf 'image\\0{path}\\0' >$n; done 2>/dev/null")
        assert (cell.status, [each for each in cell.outputs if "data" in each]) == ("ok", [])


def test_an_interpreter_that_is_not_there_is_missing() -> None:
    with DriverProcess("javascript", {"PATH": "/nowhere"}) as driver:
        assert (driver.first["ev"], "node" in driver.first["message"]) == ("missing", True)


def test_an_interpreter_that_does_not_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "node").write_text("#!/bin/sh\necho broken >&2\nexit 4\n")
    (tmp_path / "node").chmod(0o755)
    with DriverProcess("javascript", {"PATH": str(tmp_path)}) as driver:
        assert driver.first["ev"] == "failed"
        assert "broken" in driver.first["message"]
        assert "4" in driver.first["message"]
