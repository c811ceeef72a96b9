"""SandboxFusion's notebooks, in a real sandbox, and its own client against them."""

from __future__ import annotations

import asyncio
import base64
from typing import Any

import httpx
import pytest
import pytest_asyncio

from tests.compat.conftest import Running, Start
from tests.server.box_host import IMAGES

pytestmark = [pytest.mark.needs_server]

PATH = "/compat/sandbox_fusion/run_jupyter"


@pytest_asyncio.fixture
async def server(start: Start) -> Running:
    """A server that runs nothing."""
    return await start({"sandbox.launcher": "none"})


@pytest_asyncio.fixture
async def real(start: Start, docker: None) -> Running:
    """A server with a sandbox of its own, whose images have a kernel."""
    running = await start({"sandbox.launcher": "docker", **{f"sandbox.{name}": item for name, item in IMAGES.items()}})
    answer = await post(running, cells=[])
    if "has no kernel" in answer.text:
        pytest.skip(f"images are not current ({answer.json()['detail']}); make images")
    assert answer.json()["status"] == "Success"
    return running


async def post(server: Running, **body: Any) -> httpx.Response:
    return await server.http.post(PATH, json=body, timeout=300)


async def test_a_wrong_field_is_422_and_names_it(server: Running) -> None:
    for body, field in (
        ({}, "cells"),
        ({"cells": "1"}, "cells"),
        ({"cells": [1]}, "cells"),
        ({"cells": ["x" * 600_000]}, "cells"),
        ({"cells": [], "kernel": "ir"}, "kernel"),
        ({"cells": [], "total_timeout": 0}, "total_timeout"),
        ({"cells": [], "cell_timeout": -1}, "cell_timeout"),
        ({"cells": [], "files": {"a": "?"}}, "files"),
        ({"cells": [], "fetch_files": "a"}, "fetch_files"),
    ):
        answer = await post(server, **body)
        assert answer.status_code == 422, body
        assert answer.json()["detail"][0]["loc"] == ["body", field]


async def test_a_server_without_a_sandbox_is_504(server: Running) -> None:
    assert (await post(server, cells=["1"])).status_code == 504


@pytest.mark.slow
async def test_cells_share_their_state_and_the_reply_has_their_fields(real: Running) -> None:
    cells = [
        "a = 'größe'",
        "a",
        "print(a); import sys; sys.stderr.write('to err')",
        "raise RuntimeError('no')",
        "open('out.bin', 'wb').write(open('in/x', 'rb').read()[::-1])",
    ]
    answer = await post(real, cells=cells, files={"in/x": "AAE="}, fetch_files=["out.bin", "missing"])
    reply = answer.json()
    (error,) = reply["cells"][3].pop("error")
    assert (error["ename"], error["evalue"], type(error["traceback"])) == ("RuntimeError", "no", list)
    assert reply["driver"].pop("execution_time") >= 0
    assert reply == {
        "status": "Success",
        "message": "",
        "driver": {"status": "Finished", "return_code": 0, "stdout": "", "stderr": ""},
        "cells": [
            {"stdout": "", "stderr": "", "display": [], "error": [], "status": "ok"},
            {"stdout": "", "stderr": "", "display": [{"text/plain": "'größe'"}], "error": [], "status": "ok"},
            {"stdout": "größe\n", "stderr": "to err", "display": [{"text/plain": "6"}], "error": [], "status": "ok"},
            {"stdout": "", "stderr": "", "display": [], "status": "error"},
            {"stdout": "", "stderr": "", "display": [{"text/plain": "2"}], "error": [], "status": "ok"},
        ],
        "executor_pod_name": None,
        "files": {"out.bin": base64.b64encode(b"\x01\x00").decode()},
    }


@pytest.mark.slow
async def test_time_outs_and_crashes_are_the_cells_and_never_an_error_of_ours(real: Running) -> None:
    forever = "import time\nwhile True: time.sleep(0.01)"
    by_cell = (await post(real, cells=["a = 1", forever, "print(a)"], cell_timeout=0.5)).json()
    assert (by_cell["status"], by_cell["cells"][1]["error"][0]["ename"]) == ("Success", "KeyboardInterrupt")
    assert by_cell["cells"][2]["stdout"] == "1\n"
    in_all = (await post(real, cells=["print(1)", forever, "print(2)"], total_timeout=1)).json()
    assert (in_all["status"], in_all["driver"]["status"], in_all["driver"]["return_code"]) == (
        "Failed",
        "TimeLimitExceeded",
        None,
    )
    assert [cell["stdout"] for cell in in_all["cells"]] == ["1\n", ""]
    died = (await post(real, cells=["import os; os._exit(0)", "print(2)"])).json()
    assert (died["status"], died["driver"]["return_code"], len(died["cells"])) == ("Failed", 1, 1)
    assert "ended its kernel" in died["message"]


@pytest.mark.slow
async def test_cells_that_break_their_notebook_get_a_result_and_no_504(real: Running) -> None:
    """A 504 is retried, so it would not count against the policy."""
    stop = "import os, signal\nos.kill(os.getppid(), signal.SIGSTOP)\nwhile True: pass"
    full = "import os, subprocess\nsubprocess.run('cat /dev/zero > /tmp/full', shell=True)\nos._exit(0)"
    for cell in (stop, full):
        reply = await post(real, cells=[cell, "print(2)"], total_timeout=5)
        assert (reply.status_code, reply.json()["status"], len(reply.json()["cells"])) == (200, "Failed", 1)


@pytest.mark.slow
async def test_structured_output_of_many_cells_is_bounded_together(real: Running) -> None:
    cell = "display({'application/json': [0] * 60_000}, raw=True)"
    reply = (await post(real, cells=[cell] * 5)).json()
    assert (reply["status"], len(reply["cells"])) == ("Failed", 3)
    assert reply["message"].startswith("output_limit")


@pytest.mark.slow
async def test_pypis_client_runs_a_notebook(real: Running) -> None:
    theirs = pytest.importorskip("sandbox_fusion", reason="pip install sandbox-fusion")
    address = real.serving.http + "/compat/sandbox_fusion/"
    asked = theirs.RunJupyterRequest(cells=["a = 123", "a"])
    reply = await asyncio.to_thread(theirs.run_jupyter, asked, address, 1)
    assert (reply.status.value, reply.cells[1].display) == ("Success", [{"text/plain": "123"}])
