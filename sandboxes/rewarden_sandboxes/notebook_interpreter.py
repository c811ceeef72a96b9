"""The program in a box that manages the interpreter of a notebook in Bash, JavaScript or R.

The box's own Python runs it with `-I -S -c`, so that it imports nothing from the working folder. See `notebook_lines`
for the orders and the lines.

The interpreter runs a program of ours, which reads cells from a pipe and writes records to another one, while what a
cell writes comes from its stdout and stderr. A record is a name and fields, each text that ends with a NUL:
    ready                                       the interpreter waits for its first cell
    value     text                              of the last expression
    image     path                              of a PNG, which is deleted when it has been read
    error     ename evalue traceback
    exit      code                              of a cell in Bash, whose last record it is
    done                                        a cell's last record
    settled   number                            no interrupt up to that one is on its way any more
    variable  name type size shape text
    initial   names                             the variables of Bash at its start, in lines
    declared  name declaration count length     a variable of Bash
"""

from __future__ import annotations

import base64
import codecs
import contextlib
import fcntl
import json
import os
import select
import shlex
import shutil
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable
from typing import Any

from rewarden_sandboxes.notebook_lines import Orders, Outputs, close_to_others, failure, tell

close_to_others()
# A server that a script starts in the background ignores SIGINT, and so would everything below it: no cell would end.
signal.signal(signal.SIGINT, signal.default_int_handler)

LOOK_MS = 50
"""Milliseconds between looks at an interpreter that says nothing."""

AGAIN_S = 0.5
"""Seconds after which a cell that goes on is interrupted again. Flake: a program that is started just as the interrupt
comes does not get it, and its parent waits for it."""

PIPES_FROM = 60
"""The lowest number of our pipes in the interpreter. Scripts in Bash use the lower ones by number."""

MOST_RECORD = 1 << 24
"""Characters of the records that are not handled yet. Attack: a cell that writes to our pipe without an end."""

MOST_VARIABLES = 1000

MOST_IMAGE = 1 << 24
"""Bytes of a picture. More of them are not read."""

FIELDS = {
    **{"ready": 0, "done": 0},
    **{"value": 1, "image": 1, "exit": 1, "initial": 1, "settled": 1},
    **{"error": 3, "declared": 4, "variable": 5},
}
"""The number of fields of each record."""

Record = tuple[str, ...]


class Language:
    """An interpreter. program: its name. at_start: the text that makes it ready; empty if its command has that."""

    program = ""
    at_start = ""

    def command(self, path: str, source: int, orders: int, records: int, interrupts: int) -> list[str]:
        """Returns the command that starts it. The numbers are those of our pipes; source: has the text of our program
        and ends there; interrupts: has a byte for each interrupt."""
        raise NotImplementedError

    def cell(self, code: str) -> bytes:
        """Returns the order that runs a cell. Raises ValueError for text that it cannot read."""
        raise NotImplementedError

    def listing(self) -> bytes:
        """Returns the order that lists the variables."""
        raise NotImplementedError

    def settle(self, number: int) -> bytes:
        """Returns the order that follows an interrupt, whose record says that the interrupt has come. Flake: one that
        comes as a cell ends, and ends the next one, or keeps the end of its own from being told."""
        raise NotImplementedError


class Bash(Language):
    """The shell reads our text and cells from stdin, as an interactive one does: then an interrupt ends the cell, and
    not the shell. Attack: a cell that reads our text; its own stdin is empty.
    """

    program = "bash"

    def __init__(self, source: str) -> None:
        self._source = source
        self._initial = "|"
        self._records = 0

    def command(self, path: str, source: int, orders: int, records: int, interrupts: int) -> list[str]:
        self._records = records
        self.at_start = self._source.replace("@RECORDS@", str(records))
        return [path, "--noprofile", "--norc", "--noediting", "-i"]

    def cell(self, code: str) -> bytes:
        if "\0" in code:
            raise ValueError("a cell in Bash cannot have the character NUL")
        quoted = shlex.quote(code.replace("\r\n", "\n"))
        return self._ended(f"\\builtin eval {quoted} </dev/null")

    def listing(self) -> bytes:
        return self._ended(f"__rewarden_skip={self._initial!r} __rewarden_most={MOST_VARIABLES} __rewarden_variables")

    def settle(self, number: int) -> bytes:
        return self._told("settled\\0%s\\0", f" {number}")

    def _ended(self, line: str) -> bytes:
        """An interrupt ends the first line alone, so that the second one tells the end of each cell."""
        return f"{line}\n".encode() + self._told("exit\\0%s\\0", ' "$?"')

    def _told(self, record: str, fields: str = "") -> bytes:
        return f"{{ \\builtin printf '{record}'{fields} >&{self._records}; }} 2>/dev/null\n".encode()

    def initial(self, names: str) -> None:
        """Remembers the variables that are not the policy's."""
        self._initial = "|" + "|".join(names.split()) + "|"

    def variable(self, name: str, declaration: str, count: str, length: str) -> Record:
        """Returns a variable of the shell as that of a notebook."""
        head, _, text = declaration.partition("=")
        flags = head.split(" ")[1] if head.startswith("declare -") else ""
        kind = "array" if "a" in flags else "map" if "A" in flags else "integer" if "i" in flags else "string"
        return name, kind, count if kind in ("array", "map") else length, "", text[:200]


class JavaScript(Language):
    """Node. Its program reads of interrupts from a pipe, because a signal cannot end what runs in Node."""

    program = "node"

    def __init__(self, source: str) -> None:
        self._source = source

    def command(self, path: str, source: int, orders: int, records: int, interrupts: int) -> list[str]:
        return [path, "-e", self._source, "--", str(orders), str(records), str(interrupts)]

    def cell(self, code: str) -> bytes:
        return json.dumps({"code": code}).encode() + b"\n"

    def listing(self) -> bytes:
        return json.dumps({"list": MOST_VARIABLES}).encode() + b"\n"

    def settle(self, number: int) -> bytes:
        return json.dumps({"settle": number}).encode() + b"\n"


class R(Language):
    """R reads our program from a file, and no file of the user's at its start."""

    program = "R"

    def command(self, path: str, source: int, orders: int, records: int, interrupts: int) -> list[str]:
        numbers = [str(orders), str(records), str(MOST_VARIABLES)]
        return [path, "--vanilla", "--no-echo", f"--file=/dev/fd/{source}", "--args", *numbers]

    def cell(self, code: str) -> bytes:
        if "\0" in code:
            raise ValueError("a cell in R cannot have the character NUL")
        lines = code.replace("\r\n", "\n").split("\n")
        return "\n".join([f"run {len(lines)}", *lines, ""]).encode()

    def listing(self) -> bytes:
        return b"variables 0\n"

    def settle(self, number: int) -> bytes:
        return f"settle {number}\n".encode()


LANGUAGES: dict[str, Callable[[str], Language]] = {"bash": Bash, "javascript": JavaScript, "r": lambda source: R()}


class Interpreter:
    """A running interpreter. heard: gets the name of a stream and text that was written to it. interrupts: their number
    so far."""

    def __init__(self, language: Language, path: str, source: str, heard: Callable[[str, str], None]) -> None:
        """Raises OSError if it cannot be started."""
        self.language = language
        self._heard = heard
        self.interrupts = 0
        self._unsent = bytearray()
        self._begun = ""
        program, orders, records, interrupts = pipe(), pipe(), pipe(), pipe()
        os.write(program[1], source.encode())  # less than a pipe holds
        os.close(program[1])
        theirs = [program[0], orders[0], records[1], interrupts[0]]
        command = language.command(path, *theirs)
        shell = bool(language.at_start)
        try:
            self.process = subprocess.Popen(
                command,
                stdin=orders[0] if shell else subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[records[1]] if shell else theirs,
                start_new_session=True,
            )
        finally:
            for number in theirs:
                os.close(number)
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        self._orders = orders[1]
        self._interrupts = interrupts[1]
        os.set_blocking(self._orders, False)
        self._streams = {self.process.stdout.fileno(): "stdout", self.process.stderr.fileno(): "stderr"}
        self._decoders = {number: codecs.getincrementaldecoder("utf-8")("replace") for number in self._streams}
        self._records = records[0]
        self._record_decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._poller = select.poll()
        for number in (0, self._records, *self._streams):
            self._poller.register(number, select.POLLIN)
        self.send(language.at_start.encode())

    @property
    def alive(self) -> bool:
        """Returns whether its process runs."""
        return self.process.poll() is None

    def ended(self) -> dict[str, int | None]:
        """Returns the exit code or the signal of its process."""
        code = self.process.returncode
        if code is None:
            return {"exit_code": None, "signal": None}
        return {"exit_code": code, "signal": None} if code >= 0 else {"exit_code": None, "signal": -code}

    def send(self, data: bytes) -> None:
        """Sends an order. What does not fit into the pipe follows in `wait`: an interpreter that is stopped must keep
        nobody from reading further orders."""
        self._unsent += data
        self._write()

    def _write(self) -> None:
        with contextlib.suppress(BlockingIOError):
            while self._unsent:
                del self._unsent[: os.write(self._orders, self._unsent)]
        if self._unsent:
            self._poller.register(self._orders, select.POLLOUT)
        else:
            with contextlib.suppress(KeyError):
                self._poller.unregister(self._orders)

    def wait(self) -> tuple[list[Record], bool]:
        """Waits for a moment, passes on what is written, and returns the records, and whether an order has come."""
        found: list[Record] = []
        events = dict(self._poller.poll(LOOK_MS))
        if self._orders in events:
            try:
                self._write()
            except BrokenPipeError:
                self._unsent.clear()
                self._poller.unregister(self._orders)
        for number in self._streams:
            if number in events:
                self._read(number, 1 << 16)
        if self._records in events:
            data = os.read(self._records, 1 << 16)
            self.drain()  # what was written before a record belongs before it
            found = self._parsed(data)
        return found, 0 in events

    def drain(self) -> None:
        """Passes on what has been written so far. Attack: a program in the background that writes forever."""
        for number in self._streams:
            waiting = struct.unpack("i", fcntl.ioctl(number, termios.FIONREAD, b"\0" * 4))[0]
            while waiting > 0:
                waiting -= max(1, self._read(number, waiting))

    def flush(self) -> None:
        """Passes on what a cell wrote of a character whose other bytes it did not write."""
        for number, decoder in self._decoders.items():
            if text := decoder.decode(b"", final=True):
                self._heard(self._streams[number], text)
            decoder.reset()

    def _read(self, number: int, most: int) -> int:
        data = os.read(number, most)
        if not data:
            self._poller.unregister(number)
            return most
        text = self._decoders[number].decode(data)
        if text:
            self._heard(self._streams[number], text)
        return len(data)

    def _parsed(self, data: bytes) -> list[Record]:
        """Raises ValueError for what is not a record. Only the policy writes such a thing."""
        if not data:
            self._poller.unregister(self._records)
            return []
        self._begun += self._record_decoder.decode(data)
        if len(self._begun) > MOST_RECORD:
            raise ValueError("the interpreter's records are too long")
        if b"\0" not in data:
            return []
        fields = self._begun.split("\0")
        found: list[Record] = []
        at = 0
        while at < len(fields) - 1:
            count = FIELDS.get(fields[at])
            if count is None:
                raise ValueError("the interpreter's records cannot be read")
            if at + count >= len(fields) - 1:
                break
            found.append(tuple(fields[at : at + count + 1]))
            at += count + 1
        self._begun = "\0".join(fields[at:])
        return found

    def interrupt(self) -> None:
        """Interrupts it, with the programs that it started. A record says when that is over."""
        self.interrupts += 1
        self._signal(signal.SIGINT)
        with contextlib.suppress(BrokenPipeError):  # nobody reads it where signals suffice
            os.write(self._interrupts, b"\n")
        self.settle()

    def settle(self) -> None:
        """Asks for the record that says that the interrupts so far are over."""
        with contextlib.suppress(BrokenPipeError):
            self.send(self.language.settle(self.interrupts))

    def interrupt_programs(self) -> None:
        """Interrupts the programs that it started, and not itself."""
        for pid in filter(str.isdecimal, os.listdir("/proc")):
            with contextlib.suppress(OSError):  # it has ended, or is another user's
                own = int(pid)
                if own != self.process.pid and os.getpgid(own) == self.process.pid:
                    os.kill(own, signal.SIGINT)

    def _signal(self, number: int) -> None:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, number)

    def stop(self) -> None:
        """Kills it, with its process group."""
        self._signal(signal.SIGKILL)
        self.process.wait()
        for number in (self._orders, self._records, self._interrupts):
            os.close(number)
        for stream in (self.process.stdout, self.process.stderr):
            assert stream is not None
            stream.close()


class Notebook:
    """See the module. source: the text of our program for the interpreter."""

    def __init__(self, kernel: str, source: str) -> None:
        self.kernel = kernel
        self.source = source
        self.orders = Orders()
        self.count = 0
        self.cell: Cell | None = None
        self.said = ""
        self.interpreter = self.started()
        tell(ev="ready")

    def started(self) -> Interpreter:
        """Returns a new interpreter. If there is none, or it does not start, reports that and ends the program."""
        language = LANGUAGES[self.kernel](self.source)
        path = shutil.which(language.program)
        if path is None:
            tell(ev="missing", message=f"{language.program} is not in its PATH")
            raise SystemExit
        self.count = 0
        self.said = ""
        try:
            made = Interpreter(language, path, self.source, self.heard)
        except OSError as error:
            tell(ev="failed", message=str(error))
            raise SystemExit from None
        try:
            while made.alive:
                for record in made.wait()[0]:
                    if record[0] == "initial" and isinstance(language, Bash):
                        language.initial(record[1])
                    elif record[0] == "ready":
                        return made
            made.drain()
            self.said = f"{language.program} ended with {made.process.returncode}: {self.said}"
        except ValueError as error:
            self.said = str(error)
        made.stop()
        tell(ev="failed", message=self.said[-2000:])
        raise SystemExit

    def heard(self, stream: str, text: str) -> None:
        """Passes on what the interpreter writes; drops it between two cells."""
        if self.cell is not None:
            self.cell.outputs.show("stream", name=stream, text=text)
        else:
            self.said = (self.said + text)[-2000:]

    def serve(self) -> None:
        """Carries out orders until stdin ends."""
        while True:
            order = self.order()
            if order["do"] == "restart":
                tell(ev="restarting")
                self.restart()
                tell(ev="ready")
            elif order["do"] in ("run", "variables"):
                self.interpreter.drain()
                self.interpreter.flush()
                self.cell = Cell(self, order)
                try:
                    self.cell.run()
                finally:
                    self.cell = None

    def order(self) -> dict[str, Any]:
        """Returns the next order. Flake: a program in the background that waits because nobody reads what it writes."""
        while not self.orders.ready():
            try:
                come = self.interpreter.wait()[1]
            except ValueError:  # the next cell finds it dead
                self.interpreter.process.kill()
                continue
            if come:
                self.orders.read()
        return self.orders.take()

    def restart(self) -> None:
        """Replaces the interpreter with a new one."""
        self.interpreter.stop()
        self.interpreter = self.started()


class Cell:
    """One cell's run."""

    def __init__(self, notebook: Notebook, order: dict[str, Any]) -> None:
        self.notebook = notebook
        self.number = order["id"]
        self.silent = order["do"] == "variables"
        self.code = "" if self.silent else order["code"]
        self.outputs = Outputs(order["most"])
        self.failed = False
        self.ended = False
        self.settling = False
        self.interrupted_at = 0.0
        self.rows: list[dict[str, Any]] = []

    def run(self) -> None:
        """Runs it, and writes its outputs and its end."""
        notebook = self.notebook
        interpreter = notebook.interpreter
        if not interpreter.alive:  # it died between two cells
            self.died()
            return
        try:
            order = interpreter.language.listing() if self.silent else interpreter.language.cell(self.code)
        except ValueError as error:
            self.outputs.pass_on(ev="output", output=failure(error))
            tell(ev="done", id=self.number, status="error", count=None)
            return
        if not self.silent:
            notebook.count += 1
        with contextlib.suppress(BrokenPipeError):  # its end is seen below
            interpreter.send(order)
        while True:
            try:
                records, come = interpreter.wait()
            except ValueError:
                interpreter.process.kill()
                interpreter.process.wait()
                self.died()
                return
            if self.told(records):
                interpreter.flush()
                break
            if come:
                notebook.orders.read()
            if (come or notebook.orders.ready()) and self.urgent():
                self.died()
                return
            if self.settling and time.monotonic() > self.interrupted_at + AGAIN_S:
                self.interrupt_again()
            if not records and not interpreter.alive:
                interpreter.drain()
                self.died()
                return
        if self.silent:
            shown = {"application/vnd.rewarden.variables+json": self.rows}
            self.outputs.show("display_data", data=shown, metadata={})
        status = "error" if self.failed else "ok"
        tell(ev="done", id=self.number, status=status, count=None if self.silent else notebook.count)

    def told(self, records: list[Record]) -> bool:
        """Passes on records. Returns whether the cell's last is among them."""
        last = False
        for record in records:
            last |= self.record(record)
        return last

    def record(self, record: Record) -> bool:
        """Passes on a record. Returns whether it is the cell's last."""
        name, *fields = record
        match name:
            case "value" if not self.silent:
                count = self.notebook.count
                data = {"text/plain": fields[0]}
                self.outputs.show("execute_result", execution_count=count, data=data, metadata={})
            case "image":
                self.image(fields[0])
            case "error":
                self.error(*fields)
            case "exit":
                if fields[0] != "0" and not self.silent:
                    self.error("ExitCode", fields[0], f"exit code {fields[0]}")
                self.ended = True
                return not self.settling
            case "declared":
                language = self.notebook.interpreter.language
                if isinstance(language, Bash):
                    self.variable(*language.variable(fields[0], fields[1], fields[2], fields[3]))
            case "variable":
                self.variable(*fields)
            case "done":
                self.ended = True
                return not self.settling
            case "settled" if self.settling:
                self.settling = fields[0] != str(self.notebook.interpreter.interrupts)
                self.failed |= not self.ended
                return not self.settling
        return False

    def image(self, path: str) -> None:
        """Passes on a picture. Attack: the path of something that cannot be read to its end."""
        with contextlib.suppress(OSError):
            number = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
            with open(number, "rb") as file:
                if stat.S_ISREG(os.fstat(number).st_mode):
                    data = {"image/png": base64.b64encode(file.read(MOST_IMAGE)).decode()}
                    self.outputs.show("display_data", data=data, metadata={})
                    os.unlink(path)

    def error(self, ename: str, evalue: str, traceback: str) -> None:
        """Passes on an error."""
        self.failed = True
        self.outputs.show("error", ename=ename, evalue=evalue, traceback=traceback.split("\n"))

    def variable(self, name: str, kind: str, size: str, shape: str, text: str) -> None:
        """Adds a variable to the listing."""
        if len(self.rows) < MOST_VARIABLES:
            numbers = [int(each) for each in shape.split()] if shape.replace(" ", "").isdecimal() else None
            length = int(size) if size.isdecimal() else None
            self.rows.append({"name": name, "type": kind, "size": length, "shape": numbers, "text": text[:200]})

    def urgent(self) -> bool:
        """Carries out an order that comes while it runs. Returns whether the interpreter must be replaced."""
        if not self.notebook.orders.ready():
            return False
        order = self.notebook.orders.take()
        if order["do"] == "interrupt":
            self.interrupt()
        if order["do"] != "restart":
            return False
        tell(ev="restarting")
        return True

    def interrupt(self) -> None:
        """Interrupts it."""
        self.settling = True
        self.interrupted_at = time.monotonic()
        self.notebook.interpreter.interrupt()

    def interrupt_again(self) -> None:
        """Interrupts what the first interrupt did not end.

        Flake: it comes as Bash starts a program. Then it ends the cell, but not the program, for which Bash waits
        before it goes on. A cell that has ended must have no second interrupt, which could end the next one.
        Flake: Bash drops the line that it reads as an interrupt comes, which may be the order to settle.
        """
        if not self.ended:
            self.interrupt()
            return
        self.interrupted_at = time.monotonic()
        self.notebook.interpreter.interrupt_programs()
        self.notebook.interpreter.settle()

    def died(self) -> None:
        """Starts a new interpreter, and reports the end of the old one."""
        notebook = self.notebook
        notebook.cell = None
        ended = notebook.interpreter.ended()
        notebook.restart()
        tell(ev="done", id=self.number, status="died", count=None, **ended)


def pipe() -> tuple[int, int]:
    """Returns the ends of a new pipe, whose numbers are in nobody's way."""
    ends = os.pipe()
    moved = tuple(fcntl.fcntl(number, fcntl.F_DUPFD_CLOEXEC, PIPES_FROM) for number in ends)
    for number in ends:
        os.close(number)
    return moved[0], moved[1]


if __name__ == "__main__":
    running = Notebook(sys.argv[1], sys.argv[-1])
    try:
        running.serve()
    finally:
        running.interpreter.stop()
