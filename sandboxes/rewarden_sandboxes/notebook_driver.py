"""The program in a box that manages a notebook's Jupyter kernel.

The box's own Python runs it with `-I -S -c`, so that it imports nothing from the working folder, the user's
site-packages or `sitecustomize`. See `notebook_lines` for the orders and the lines.
"""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import site
import subprocess
import sys
import tempfile
from typing import Any

from rewarden_sandboxes.notebook_lines import Orders, Outputs, close_to_others, failure, tell

close_to_others()

# Attack: /etc/python3/sitecustomize.py, which the box's user may write. Without `site`, the packages have to be found.
sys.path += site.getsitepackages()

try:
    import zmq
    from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
    from jupyter_client.manager import KernelManager
except ImportError as error:
    print(json.dumps({"ev": "missing", "message": str(error)}), flush=True)
    sys.exit(0)

KERNELS = {
    "python": [
        *("-f", "{connection_file}"),
        *("--HistoryManager.hist_file=:memory:", "--InteractiveShell.colors=nocolor"),
        '--IPKernelApp.exec_lines=__import__("site").addsitedir(__import__("site").getusersitepackages())',
    ],
}
"""The arguments of each kernel. The user's packages are added once it runs: they can be imported by
cells, but not take part in its start."""

LISTING = """
def listing(shell):
    late = False

    def read(how, otherwise):
        nonlocal late
        try:
            return otherwise(None) if late else how()
        except KeyboardInterrupt:
            late = True
            return otherwise(None)
        except Exception as error:
            return otherwise(error)

    found = []
    for name, value in sorted(shell.user_ns.items()):
        kind = type(value).__name__
        if name.startswith("_") or name in shell.user_ns_hidden or kind == "module":
            continue
        size = read(lambda: len(value), lambda error: None)
        shape = read(lambda: [int(each) for each in value.shape], lambda error: None)
        text = read(lambda: repr(value)[:200], lambda error: error and f"<{type(error).__name__} in repr>")
        found.append({"name": name, "type": kind, "size": size, "shape": shape, "text": text or "<too slow>"})
    shell.display_pub.publish({"application/vnd.rewarden.variables+json": found[:1000]})
"""
"""The code that lists variables. It runs in the kernel, where it can only tell of the policy's own. An interrupt ends
what is slow, such as a `repr` that never returns, and not the listing."""

VARIABLES = f"exec({LISTING!r} + 'listing(get_ipython())', {{'get_ipython': get_ipython}})"

LOOK_MS = 200
"""Milliseconds between looks at a kernel that says nothing."""

SETTLE_MS = 2000
"""The message that a cell is over may be lost when a kernel floods its channel; its reply comes on another."""

DEPTH = 32


class Specs(KernelSpecManager):  # type: ignore[misc]  # its package is in the image alone
    """The kernels of `KERNELS`, regardless of the files in the box. source: the text of our program that starts one."""

    def __init__(self, source: str) -> None:
        super().__init__()
        self._source = source

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:
        """Returns the command of a kernel. `-P`, `-s`: the modules of its start come neither from the working folder
        nor from the user's site-packages."""
        name = kernel_name.removeprefix("box-")
        argv = [sys.executable, "-P", "-s", "-c", self._source, *KERNELS[name]]
        return KernelSpec(argv=argv, language=name, display_name=name, interrupt_mode="signal")


class Kernel:
    """A kernel and the channels to it: sockets in a folder of the box. The key that signs messages is in no file once
    the kernel runs."""

    def __init__(self, name: str, source: str) -> None:
        """source: the text of our program that starts it. Raises RuntimeError or OSError if it does not start."""
        self.folder = tempfile.mkdtemp(prefix="notebook-", dir="/tmp")
        connection = f"{self.folder}/connection.json"
        self.manager = KernelManager(
            kernel_name=f"box-{name}",
            kernel_spec_manager=Specs(source),
            transport="ipc",
            ip=f"{self.folder}/k",
            connection_file=connection,
        )
        self.client = self.manager.blocking_client()
        # The exec's stdout carries our lines, so a kernel must not have it. It sends its output as messages.
        with tempfile.TemporaryFile() as said:
            try:
                environment = {**os.environ, "IPYTHONDIR": f"{self.folder}/ipython", "PYTHONUNBUFFERED": "1"}
                self.manager.start_kernel(stdout=subprocess.DEVNULL, stderr=said, env=environment)
                self.client.load_connection_info(self.manager.get_connection_info())
                self.client.start_channels(stdin=False, hb=False)
                self.client.wait_for_ready(timeout=None)
            except RuntimeError as error:
                said.seek(max(0, said.tell() - 2000))
                raise RuntimeError(f"{error}: {said.read().decode(errors='replace')[-2000:]}") from None
        with contextlib.suppress(OSError):
            os.unlink(connection)

    @property
    def alive(self) -> bool:
        """Returns whether its process runs."""
        return bool(self.manager.is_alive())

    def ended(self) -> dict[str, int | None]:
        """Returns the exit code or the signal of its process."""
        code = self.manager.provisioner.process.returncode
        if code is None:
            return {"exit_code": None, "signal": None}
        return {"exit_code": code, "signal": None} if code >= 0 else {"exit_code": None, "signal": -code}

    def stop(self) -> None:
        """Kills it, with its process group."""
        with contextlib.suppress(Exception):
            self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)
        shutil.rmtree(self.folder, ignore_errors=True)


class Notebook:
    """See the module. source: the text of our program that starts its kernel."""

    def __init__(self, name: str, source: str) -> None:
        self.name = name
        self.source = source
        self.orders = Orders()
        self.kernel = self.started()
        tell(ev="ready")

    def started(self) -> Kernel:
        """Returns a new kernel. If it does not start, reports that and ends the program."""
        try:
            return Kernel(self.name, self.source)
        except Exception as error:  # noqa: BLE001  # whatever was raised, no kernel runs
            tell(ev="failed", message=f"{type(error).__name__}: {error}")
            raise SystemExit from None

    def serve(self) -> None:
        """Carries out orders until stdin ends."""
        while True:
            order = self.orders.take()
            if order["do"] == "restart":
                tell(ev="restarting")
                self.restart()
                tell(ev="ready")
            elif order["do"] in ("run", "variables"):
                Cell(self, order).run()

    def restart(self) -> None:
        """Replaces the kernel with a new one."""
        self.kernel.stop()
        self.kernel = self.started()


class Cell:
    """One cell's run."""

    def __init__(self, notebook: Notebook, order: dict[str, Any]) -> None:
        self.notebook = notebook
        self.number = order["id"]
        self.silent = order["do"] == "variables"
        self.code = VARIABLES if self.silent else order["code"]
        self.outputs = Outputs(order["most"])
        self.interrupted = False

    def run(self) -> None:
        """Runs it, and writes its outputs and its end."""
        kernel = self.notebook.kernel
        if not kernel.alive:  # it died between two cells
            self.died()
            return
        try:
            sent = kernel.client.execute(
                self.code, silent=self.silent, store_history=not self.silent, allow_stdin=False, stop_on_error=False
            )
        except Exception as error:  # noqa: BLE001  # the text cannot be encoded
            self.outputs.pass_on(ev="output", output=failure(error))
            tell(ev="done", id=self.number, status="error", count=None)
            return
        iopub, shell = kernel.client.iopub_channel, kernel.client.shell_channel
        poller = zmq.Poller()
        for source in (iopub.socket, shell.socket, 0):
            poller.register(source, zmq.POLLIN)
        reply: dict[str, Any] | None = None
        idle = False
        while reply is None or not idle:
            events = {} if self.notebook.orders.ready() else dict(poller.poll(LOOK_MS if reply is None else SETTLE_MS))
            if not events and not self.notebook.orders.ready():
                if reply is not None:
                    break
                if idle and self.interrupted:
                    # Flake: an interrupt that comes as a cell ends can hit the kernel before it replies.
                    tell(ev="done", id=self.number, status="error", count=None)
                    return
                if not kernel.alive:
                    self.drain(sent)
                    self.died()
                    return
            if iopub.socket in events:
                idle |= self.heard(received(iopub), sent)
            if shell.socket in events:
                message = received(shell)
                if parent(message) == sent:
                    reply = message
            if (0 in events or self.notebook.orders.ready()) and self.urgent():
                self.died()
                return
        content = reply["content"]
        count = content.get("execution_count")
        status = "ok" if content.get("status") == "ok" else "error"
        tell(ev="done", id=self.number, status=status, count=count if type(count) is int else None)

    def urgent(self) -> bool:
        """Carries out an order that comes while it runs. Returns whether the kernel must be replaced."""
        order = self.notebook.orders.take()
        if order["do"] == "interrupt":
            self.interrupted = True
            self.notebook.kernel.manager.interrupt_kernel()
        if order["do"] != "restart":
            return False
        tell(ev="restarting")
        return True

    def drain(self, sent: str) -> None:
        """Passes on the messages that a dead kernel has sent."""
        channel = self.notebook.kernel.client.iopub_channel
        while channel.socket.poll(0):
            self.heard(received(channel), sent)

    def died(self) -> None:
        """Starts a new kernel, and reports the end of the old one."""
        ended = self.notebook.kernel.ended()
        self.notebook.restart()
        tell(ev="done", id=self.number, status="died", count=None, **ended)

    def heard(self, message: dict[str, Any] | None, sent: str) -> bool:
        """Passes on a message of the kernel. Returns whether it is the cell's last."""
        if parent(message) != sent:
            return False
        assert message is not None
        kind, content = message["header"].get("msg_type"), message["content"]
        if kind == "status":
            return bool(content.get("execution_state") == "idle")
        if kind == "clear_output":
            self.outputs.pass_on(ev="clear", wait=bool(content.get("wait")))
        elif kind == "update_display_data":
            self.outputs.pass_on(ev="update", id=shown(content), **rich(content))
        else:
            output = output_of(str(kind), content)
            if output is not None:
                self.outputs.pass_on(ev="output", output=output)
        return False


def received(channel: Any) -> dict[str, Any] | None:
    """Returns a message; None for one that cannot be read, which a cell can send as well as its kernel."""
    try:
        message: dict[str, Any] = channel.get_msg(timeout=0)
        for name in ("header", "parent_header", "content"):
            if type(message[name]) is not dict:
                return None
        return message
    except Exception:  # noqa: BLE001  # whatever the policy sent
        return None


def parent(message: dict[str, Any] | None) -> Any:
    """Returns the id of the message that it answers."""
    return None if message is None else message["parent_header"].get("msg_id")


def output_of(kind: str, content: dict[str, Any]) -> dict[str, Any] | None:
    """Returns a message as an output of nbformat 4; None if it is not an output."""
    if kind == "stream" and content.get("name") in ("stdout", "stderr"):
        return {"output_type": "stream", "name": content["name"], "text": str(content.get("text", ""))}
    if kind == "error":
        trace = content.get("traceback")
        lines = [str(each) for each in trace] if type(trace) is list else []
        named = {name: str(content.get(name, "")) for name in ("ename", "evalue")}
        return {"output_type": "error", **named, "traceback": lines}
    if kind in ("display_data", "execute_result"):
        made = {"output_type": kind, **rich(content)}
        if kind == "execute_result":
            count = content.get("execution_count")
            made["execution_count"] = count if type(count) is int else None
        if (name := shown(content)) is not None:
            made["transient"] = {"display_id": name}
        return made
    return None


def rich(content: dict[str, Any]) -> dict[str, Any]:
    """Returns the data of an output by media type, and its metadata."""
    made = {}
    for name in ("data", "metadata"):
        value = content.get(name)
        made[name] = value if type(value) is dict and shallow(value, DEPTH) else {}
    return made


def shown(content: dict[str, Any]) -> str | None:
    """Returns the display id of an output; None if it has none."""
    transient = content.get("transient")
    name = transient.get("display_id") if type(transient) is dict else None
    return name if type(name) is str else None


def shallow(value: Any, depth: int) -> bool:
    """Returns whether a value is nested no deeper than that, and has only finite numbers."""
    if type(value) is dict:
        return depth > 0 and all(shallow(each, depth - 1) for each in value.values())
    if type(value) is list:
        return depth > 0 and all(shallow(each, depth - 1) for each in value)
    return not isinstance(value, float) or value - value == 0


if __name__ == "__main__":
    running = Notebook(sys.argv[1], sys.argv[-1])
    try:
        running.serve()
    finally:
        running.kernel.stop()
