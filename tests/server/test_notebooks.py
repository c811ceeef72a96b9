"""Notebooks in boxes of a real sandbox host, through a real server, by HTTP and gRPC."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from rewarden import AsyncClient, Client, InvalidRequest, NotFound
from rewarden.__main__ import main
from rewarden.boxes.box import AsyncBox
from rewarden.boxes.notebook import AsyncNotebook
from rewarden.boxes.types import CellResult
from rewarden.errors import Forbidden, NotebookEnded, Unavailable
from tests.server.box_host import HostProcess
from tests.server.box_host import host as host
from tests.server.conftest import Running, Start
from tests.server.launchers import launcher as launcher
from tests.server.process import ServerProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

PNG = "iVBORw0KGgo="
"""The eight bytes that every PNG begins with."""


@pytest_asyncio.fixture
async def server(start: Start, host: HostProcess) -> Running:
    """A server of that host."""
    return await start({"sandbox.address": host.address, "boxes.notebooks": 2})


@pytest_asyncio.fixture
async def box(server: Running) -> AsyncIterator[AsyncBox]:
    """A box."""
    async with AsyncClient(server.serving.http) as client, client.box() as made:
        yield made


@pytest_asyncio.fixture
async def notebook(box: AsyncBox) -> AsyncNotebook:
    """A notebook in it."""
    return await notebook_in(box)


async def notebook_in(box: AsyncBox) -> AsyncNotebook:
    """A notebook in that box."""
    try:
        return await box.notebook()
    except InvalidRequest as error:
        if "has no kernel" not in str(error):
            raise
        pytest.skip(f"images are not current ({error}); make images")


def stream(name: str, text: str) -> dict[str, str]:
    return {"output_type": "stream", "name": name, "text": text}


def ename(result: CellResult) -> str:
    assert result.error is not None, result
    return str(result.error["ename"])


# --- cells and outputs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("transport", ["http", "grpc"])
async def test_each_cell_begins_where_the_last_one_ended(server: Running, transport: str) -> None:
    async with AsyncClient(getattr(server.serving, transport)) as client, client.box() as box:
        notebook = await notebook_in(box)
        first = await notebook.run("x = 20\nimport os\nos.chdir('/')")
        assert (first.status, first.count, first.outputs, first.value) == ("ok", 1, [], None)
        second = await notebook.run("print('größe', os.getcwd())\nx + 22")
        assert (second.status, second.count, second.notebook) == ("ok", 2, notebook.number)
        assert second.outputs[0] == stream("stdout", "größe /\n")
        assert second.value == {"text/plain": "42"}
        assert second.text == "größe /\n42\n"
        await notebook.close()
        with pytest.raises(NotFound, match="no notebook"):
            await notebook.run("x")


async def test_an_exception_has_its_traceback_and_leaves_the_state(notebook: AsyncNotebook) -> None:
    failed = await notebook.run("kept = 1\ndef half(n):\n    return n / 0\nhalf(3)")
    assert (failed.status, ename(failed), failed.restarted) == ("error", "ZeroDivisionError", False)
    assert "return n / 0" in failed.text
    assert "\x1b" not in failed.text
    assert (await notebook.run("kept")).text == "1\n"
    assert ename(await notebook.run("input()")) == "StdinNotImplementedError"
    assert ename(await notebook.run("1 +")) == "SyntaxError"


async def test_rich_outputs_come_by_media_type(notebook: AsyncNotebook) -> None:
    cell = f"""
import base64
class Figure:
    def _repr_png_(self):
        return base64.b64decode("{PNG}")
    def __repr__(self):
        return "a figure"
    def _repr_html_(self):
        return "<b>é</b>"
display(Figure())
Figure()
"""
    result = await notebook.run(cell)
    shown, value = result.outputs
    assert (shown["output_type"], value["output_type"]) == ("display_data", "execute_result")
    assert shown["data"] == value["data"]
    assert {**value["data"], "image/png": value["data"]["image/png"].strip()} == {
        "image/png": PNG,
        "text/html": "<b>é</b>",
        "text/plain": "a figure",
    }


async def test_outputs_are_cleared_and_updated_as_a_notebook_does(notebook: AsyncNotebook) -> None:
    cell = """
from IPython.display import clear_output
print("gone")
clear_output(wait=True)
handle = display("first", display_id="one")
print("to err", file=__import__("sys").stderr)
handle.update("second")
"""
    result = await notebook.run(cell)
    assert [output["output_type"] for output in result.outputs] == ["display_data", "stream"]
    assert result.outputs[0]["data"] == {"text/plain": "'second'"}
    assert result.outputs[1] == stream("stderr", "to err\n")


async def test_programs_that_a_cell_starts_write_into_its_outputs(notebook: AsyncNotebook) -> None:
    result = await notebook.run("import subprocess\nsubprocess.run(['sh', '-c', 'echo out; echo err >&2']).returncode")
    assert stream("stdout", "out\n") in result.outputs
    assert stream("stderr", "err\n") in result.outputs


async def test_what_programs_write_belongs_to_the_cell_at_whose_end_it_is_there(notebook: AsyncNotebook) -> None:
    ends = "each._should_watch = False\n    os.write(number, b'last')\n    each.watch_fd_thread.join()"
    await notebook.run(f"import os, sys\nfor number, each in (1, sys.stdout), (2, sys.stderr):\n    {ends}")
    result = await notebook.run("print('first')\nos.write(1, 'zweiß'.encode()), os.write(2, b'err')\nprint('third')")
    assert stream("stdout", "first\nthird\nzweiß") in result.outputs
    assert stream("stderr", "err") in result.outputs


async def test_a_cell_ends_without_a_pause(notebook: AsyncNotebook) -> None:
    assert (await notebook.run("get_ipython().kernel._execute_sleep")).text == "0.0\n"


async def test_a_fork_of_the_kernel_writes_into_the_cell(notebook: AsyncNotebook) -> None:
    code = (
        "import os, sys\nif not os.fork():\n    print('child', flush=True)\n    os._exit(0)\nos.wait()\nprint('parent')"
    )
    result = await notebook.run(code)
    assert "".join(output["text"] for output in result.outputs if "text" in output).split() == ["child", "parent"]


async def test_a_cell_may_await(notebook: AsyncNotebook) -> None:
    assert (await notebook.run("import asyncio\nawait asyncio.sleep(0, 'slept')")).text == "'slept'\n"


async def test_variables_are_listed(notebook: AsyncNotebook) -> None:
    await notebook.run("import math\nimport numpy\ntable = numpy.zeros((2, 3))\nname = 'Zoë'\n_hidden = 1")
    table, name = sorted(await notebook.variables(), key=lambda each: each.name, reverse=True)
    assert (table.name, table.type, table.size, table.shape) == ("table", "ndarray", 2, [2, 3])
    assert (name.name, name.type, name.size, name.shape, name.text) == ("name", "str", 3, None, "'Zoë'")
    assert (await notebook.run("1")).count == 2  # listing them was not a cell


async def test_files_of_the_policys_do_not_change_how_a_notebook_works(box: AsyncBox) -> None:
    for name in ("json.py", "zmq.py", "jupyter_client.py", "ipykernel_launcher.py", "random.py"):
        await box.write(name, "raise SystemExit(3)")
    notebook = await notebook_in(box)
    assert (await notebook.run("import random")).status == "ok"
    assert (
        "SystemExit"
        in (await notebook.run("import sys; sys.path.insert(0, '.'); del sys.modules['random']\nimport random")).text
    )


async def test_what_python_runs_at_its_start_is_not_the_policys(box: AsyncBox) -> None:
    """Attack: a driver that was replaced says that the image has no kernel, which is the caller's fault."""
    forged = 'import os\nos.write(1, b\'{"ev": "missing", "message": "forged"}\\n\')\nos._exit(0)\n'
    await box.write("forged.py", forged)
    users = (await box.exec("python3 -c 'import site; print(site.getusersitepackages())'")).stdout.strip()
    await box.exec(f"mkdir -p {users} && cp forged.py {users}/usercustomize.py && cp forged.py {users}/ipykernel.py")
    await box.exec("cp --remove-destination forged.py /etc/python3.11/sitecustomize.py; true")
    with pytest.raises(NotebookEnded) as caught:  # the driver works, and says that the kernel does not
        await box.notebook()
    assert caught.value.details["fault"] == "policy"
    await box.exec("rm -f /etc/python3.11/sitecustomize.py")
    await box.exec(f"echo 'value = 7' > {users}/users_own.py")
    notebook = await notebook_in(box)
    assert (await notebook.run("import users_own; users_own.value")).text == "7\n"


async def test_a_repr_that_never_ends_hides_no_other_variable(start: Start, host: HostProcess) -> None:
    server = await start({"sandbox.address": host.address, "boxes.cell_s": 0.5})
    async with AsyncClient(server.serving.http) as client, client.box() as box:
        notebook = await notebook_in(box)
        await notebook.run("class Slow:\n    def __repr__(self):\n        while True: pass\na, b, c = 1, Slow(), 3", 60)
        found = await notebook.variables()
        assert [(each.name, each.text) for each in found if each.name in "abc"] == [
            ("a", "1"),
            ("b", "<too slow>"),
            ("c", "<too slow>"),
        ]


async def test_notebooks_and_their_cells_are_counted(server: Running, notebook: AsyncNotebook) -> None:
    await notebook.run("1")
    await notebook.run("1 / 0")
    page = (await server.http.get("/metrics")).text
    assert "rewarden_notebooks_open 1.0" in page
    assert 'rewarden_notebook_cells_total{status="ok"} 1.0' in page
    assert 'rewarden_notebook_cells_total{status="error"} 1.0' in page
    await notebook.close()
    assert "rewarden_notebooks_open 0.0" in (await server.http.get("/metrics")).text


# --- other languages -----------------------------------------------------------------------------------------------

LANGUAGES = [
    ("bash", "python", "x=20", "echo $x", "while :; do :; done", "exit 3", "20\n"),
    ("javascript", "toolchains", "let x = 20", "x", "while (true) {}", "process.exit(3)", "20\n"),
    ("r", "scripts", "x <- 20", "x", "while (TRUE) {}", "quit(status = 3)", "[1] 20\n"),
]
"""Kernel and image; cells that keep a variable, show it, run without an end, and end the kernel; what is shown."""


@pytest.mark.parametrize(("kernel", "image", "keep", "show", "hang", "die", "shown"), LANGUAGES)
async def test_each_language_keeps_its_state_through_an_interrupt_and_loses_it_with_its_kernel(
    server: Running, kernel: str, image: str, keep: str, show: str, hang: str, die: str, shown: str
) -> None:
    async with AsyncClient(server.serving.http) as client, contextlib.AsyncExitStack() as stack:
        try:
            box = await stack.enter_async_context(client.box(image))
            notebook = await box.notebook(kernel)
        except (InvalidRequest, Unavailable) as error:
            pytest.skip(f"the image has no kernel {kernel!r}: {error}")
        assert (await notebook.run(keep)).status == "ok"
        late = await notebook.run(hang, 0.5)
        assert (late.status, late.restarted) == ("time_limit", False)
        assert [each.name for each in await notebook.variables()] == ["x"]
        assert (await notebook.run(show)).text == shown
        died = await notebook.run(die)
        assert (died.status, died.exit_code, died.restarted) == ("kernel_died", 3, True)
        assert (await notebook.run(show)).text != shown
        await notebook.restart()
        assert await notebook.variables() == []


async def test_the_streams_of_an_interpreters_driver_are_closed_to_the_programs_of_its_box(box: AsyncBox) -> None:
    notebook = await box.notebook("bash")
    tries = "for f in /proc/$PPID/fd/{0,1,2}; do ( echo forged >$f ) 2>/dev/null && echo $f; done; true"
    assert (await notebook.run(tries)).text == ""


async def test_an_interpreter_that_the_image_does_not_have_is_the_callers_fault(box: AsyncBox) -> None:
    with pytest.raises(InvalidRequest, match="R is not in its PATH"):
        await box.notebook("r")


# --- limits --------------------------------------------------------------------------------------------------------


async def test_a_cell_that_takes_too_long_is_interrupted_and_the_state_is_kept(notebook: AsyncNotebook) -> None:
    late = await notebook.run("kept = 7\nprint('begun')\nwhile True:\n    pass", 0.5)
    assert (late.status, late.restarted, ename(late)) == ("time_limit", False, "KeyboardInterrupt")
    assert late.outputs[0] == stream("stdout", "begun\n")
    idle = await notebook.run("import time\ntime.sleep(1000)", 0.5)
    assert (idle.status, idle.restarted) == ("time_limit", False)
    assert (await notebook.run("kept")).text == "7\n"


async def test_a_cell_that_ignores_the_interrupt_loses_the_state(notebook: AsyncNotebook) -> None:
    deaf = "kept = 7\nimport signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nprint('deaf')\nwhile True:\n    pass"
    result = await notebook.run(deaf, 0.5)
    assert (result.status, result.restarted, result.over) == ("time_limit", True, False)
    assert result.outputs == [stream("stdout", "deaf\n")]
    assert "restarted" in (result.message or "")
    assert ename(await notebook.run("kept")) == "NameError"


async def test_a_kernel_that_ends_itself_is_replaced(notebook: AsyncNotebook) -> None:
    result = await notebook.run("kept = 1\nimport os\nos._exit(3)")
    assert (result.status, result.exit_code, result.restarted) == ("kernel_died", 3, True)
    killed = await notebook.run("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    assert (killed.status, killed.signal, killed.restarted) == ("kernel_died", 9, True)
    assert ename(await notebook.run("kept")) == "NameError"


async def test_a_kernel_that_dies_between_two_cells_runs_no_cell_on_lost_state(
    notebook: AsyncNotebook, box: AsyncBox
) -> None:
    pid = (await notebook.run("import os\nos.getpid()")).text.strip()
    assert (await box.exec(f"kill -9 {pid}")).status == "ok"
    result = await notebook.run("print('ran')")
    assert (result.status, result.signal, result.restarted, result.outputs) == ("kernel_died", 9, True, [])
    assert (await notebook.run("1")).text == "1\n"


async def test_a_flood_of_output_is_bounded_and_the_state_is_kept(notebook: AsyncNotebook) -> None:
    flood = await notebook.run("kept = 1\nwhile True:\n    print('x' * 1000)", output_bytes=10_000)
    assert (flood.status, flood.truncated, flood.restarted) == ("output_limit", True, False)
    assert 9_000 < len(flood.text) < 12_000
    picture = await notebook.run("display({'text/plain': 'x' * 100_000}, raw=True)", output_bytes=10_000)
    assert (picture.status, picture.outputs) == ("output_limit", [])
    assert (await notebook.run("kept")).text == "1\n"


async def test_text_that_grows_when_it_is_escaped_is_cut_and_the_notebook_lives(notebook: AsyncNotebook) -> None:
    for text in ("'\\x00' * 2_000_000", "'\\x1b\\n\"' * 700_000", "'é\\U0001f600' * 400_000"):
        cut = await notebook.run(f"print({text})", output_bytes=100_000)
        assert (cut.status, cut.over, cut.restarted) == ("output_limit", False, False)
        assert 10_000 < len(cut.text) <= 100_000
    assert (await notebook.run("1")).text == "1\n"


async def test_structured_output_counts_by_its_values(notebook: AsyncNotebook) -> None:
    shown = "display({'application/json': [[]] * 1000}, raw=True)"
    assert (await notebook.run(shown, output_bytes=10_000)).outputs == []
    kept = await notebook.run(shown, output_bytes=200_000)
    assert kept.outputs[0]["data"]["application/json"] == [[]] * 1000


async def test_a_flood_that_ends_by_itself_interrupts_no_later_cell(notebook: AsyncNotebook) -> None:
    assert (await notebook.run("print('x' * 5000)", output_bytes=1000)).status == "output_limit"
    assert (await notebook.run("sum(range(10**7))")).status == "ok"


async def test_memory_that_a_cell_fills_costs_its_kernel_and_not_the_box(server: Running) -> None:
    async with AsyncClient(server.serving.http) as client, client.box(limits={"memory_mb": 300}) as box:
        notebook = await notebook_in(box)
        result = await notebook.run("held = [bytearray(10_000_000) for _ in range(1000)]")
        assert result.status in ("kernel_died", "error")
        assert (await box.exec(["echo", "alive"])).stdout == "alive\n"


# --- what callers do -----------------------------------------------------------------------------------------------


async def test_an_interrupt_ends_the_cell_that_runs(notebook: AsyncNotebook) -> None:
    running = asyncio.create_task(notebook.run("kept = 1\nwhile True:\n    pass"))
    while not await notebook.interrupt():
        await asyncio.sleep(0.01)
    result = await running
    assert (result.status, result.restarted) == ("interrupted", False)
    assert not await notebook.interrupt()


async def test_cells_of_a_notebook_wait_for_each_other(notebook: AsyncNotebook) -> None:
    results = await asyncio.gather(*(notebook.run("import time\ntime.sleep(0.2)", 0.9) for _ in range(6)))
    assert [result.status for result in results] == ["ok"] * 6
    assert sorted(result.count or 0 for result in results) == [1, 2, 3, 4, 5, 6]


async def test_a_caller_who_leaves_interrupts_its_cell(notebook: AsyncNotebook) -> None:
    await notebook.run("kept = 1")
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(notebook.run("while True: pass"), 0.5)
    assert (await notebook.run("kept")).text == "1\n"


async def test_a_restart_forgets_everything(notebook: AsyncNotebook) -> None:
    await notebook.run("kept = 1")
    await notebook.restart()
    result = await notebook.run("kept")
    assert (ename(result), result.count) == ("NameError", 1)
    assert await notebook.variables() == []


async def test_notebooks_of_one_box_share_files_and_nothing_else(box: AsyncBox) -> None:
    first, second = await notebook_in(box), await notebook_in(box)
    with pytest.raises(InvalidRequest, match=r"boxes\.notebooks"):
        await box.notebook()
    await first.run("x = 1\nopen('shared', 'w').write('é')")
    assert ename(await second.run("x")) == "NameError"
    assert (await second.run("open('shared').read()")).text == "'é'\n"
    assert (await box.read("shared")).decode() == "é"


async def test_the_streams_of_a_notebook_are_closed_to_the_programs_of_its_box(notebook: AsyncNotebook) -> None:
    """Otherwise a cell could write the outputs of the next one."""
    cell = """
import os
held = []
for name in os.listdir("/proc"):
    if name.isdigit() and int(name) != os.getpid():
        for number in (0, 1, 2):
            try:
                held.append((name, os.open(f"/proc/{name}/fd/{number}", os.O_RDWR)))
            except OSError:
                pass
held
"""
    assert (await notebook.run(cell)).text == "[]\n"
    left = await notebook.run("import glob\nglob.glob('/tmp/notebook-*/connection.json')")
    assert left.text == "[]\n"


async def test_a_driver_that_the_policy_kills_ends_the_notebook_and_not_the_box(
    notebook: AsyncNotebook, box: AsyncBox
) -> None:
    result = await notebook.run("import os, signal\nos.kill(os.getppid(), signal.SIGKILL)\nwhile True: pass")
    assert (result.status, result.over, result.restarted) == ("kernel_died", True, False)
    with pytest.raises(NotebookEnded) as caught:
        await notebook.run("1")
    assert caught.value.details["fault"] == "policy"
    assert (await (await notebook_in(box)).run("1")).text == "1\n"


async def test_a_driver_that_the_policy_stops_ends_the_notebook_and_keeps_nobody_waiting(
    notebook: AsyncNotebook,
) -> None:
    result = await notebook.run("import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nwhile True: pass", 0.5)
    assert (result.status, result.over) == ("time_limit", True)
    with pytest.raises(NotebookEnded) as caught:
        await notebook.run("1")
    assert caught.value.details["fault"] == "policy"


async def test_a_restart_that_the_policy_prevents_is_the_policys_fault(notebook: AsyncNotebook) -> None:
    await notebook.run("import subprocess\nsubprocess.run('cat /dev/zero > /tmp/full', shell=True)", 60)
    for call in (notebook.restart, notebook.restart, notebook.variables):
        with pytest.raises(NotebookEnded) as caught:
            await call()
        assert caught.value.details["fault"] == "policy"


async def test_a_working_folder_that_does_not_exist_is_the_callers_fault(box: AsyncBox) -> None:
    await (await notebook_in(box)).close()
    with pytest.raises(InvalidRequest, match="/nowhere"):
        await box.notebook(cwd="/nowhere")


async def test_a_kernel_that_the_policy_keeps_from_starting_is_the_policys_fault(box: AsyncBox) -> None:
    await (await notebook_in(box)).close()
    await box.exec("cat /dev/zero > /tmp/full; true")
    with pytest.raises(NotebookEnded) as caught:
        await box.notebook()
    assert caught.value.details["fault"] == "policy"


async def test_a_lease_needs_the_right_to_run_programs(server: Running, box: AsyncBox) -> None:
    lease = await box.lease(["files"])
    async with AsyncClient(server.serving.http) as client:
        with pytest.raises(Forbidden, match="exec"):
            await client.join(lease.box, lease=lease.lease).notebook()


async def test_requests_that_make_no_sense_are_refused(notebook: AsyncNotebook, box: AsyncBox) -> None:
    with pytest.raises(InvalidRequest, match="unknown kernel 'cobol'"):
        await box.notebook("cobol")
    with pytest.raises(InvalidRequest, match="timeout_s"):
        await notebook.run("1", 0)
    with pytest.raises(InvalidRequest, match="output_bytes"):
        await notebook.run("1", output_bytes=10**12)


async def test_a_models_calls_are_run_and_answered_in_text(notebook: AsyncNotebook) -> None:
    assert await notebook.call('{"code": "x = 20\\nprint(\'é\')\\nx + 1"}') == "é\n21"
    assert "ZeroDivisionError" in await notebook.call({"code": "1 / 0"})
    assert "interrupted" in await notebook.call({"code": "while True: pass"}, 0.5)
    assert await notebook.call({"code": "x"}) == "20"


async def test_a_client_for_threads_has_the_same_methods(server: Running) -> None:
    def work() -> None:
        with Client(server.serving.http) as client, client.box() as box, box.notebook() as notebook:
            assert notebook.run("x = 1").status == "ok"
            assert notebook.run("x").text == "1\n"
            assert [each.name for each in notebook.variables()] == ["x"]
            assert not notebook.interrupt()
            notebook.restart()
            assert notebook.variables() == []

    await asyncio.to_thread(work)


def test_the_command_line_runs_cells(
    host: HostProcess, tmp_path: Path, capfdbinary: pytest.CaptureFixture[bytes], monkeypatch: pytest.MonkeyPatch
) -> None:
    with ServerProcess(tmp_path, "--set", f"sandbox.address={host.address}") as server:
        monkeypatch.setenv("REWARDEN_TARGET", server.http)
        assert main(["box", "open", "python"]) == 0
        id = capfdbinary.readouterr().out.decode().strip()
        monkeypatch.setattr("sys.stdin", io.StringIO("y = x + 1"))
        assert main(["box", "notebook", id, "x = 20", "-", "y"]) == 0
        assert capfdbinary.readouterr().out == b"21\n"
        assert main(["box", "notebook", id, "1 / 0", "print('never')"]) == 1
        said = capfdbinary.readouterr()
        assert b"ZeroDivisionError" in said.out
        assert b"never" not in said.out
        assert b"error" in said.err
