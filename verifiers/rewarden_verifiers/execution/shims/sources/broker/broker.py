"""Speaks the protocol of docs/tagged-codec.md for an interpreter that has neither JSON nor sockets. A script in the
interpreter's own language, the worker, does the rest; see docs/rooms.md.

    broker.py call|serve|tests|shared COMMAND...    the command starts the worker

The worker reads messages from descriptor 98 and writes them to 99. A message is a list, and a value is a line, followed
by the values in it: `n` (null), `T`, `F`, `i 12`, `f 0.5`, `s text` (with a backslash before n for a newline, r for a
carriage return, and a backslash), `l 2` (a list of two values), `d 1` (a dictionary of one key and its value).
"""

from __future__ import annotations

import json
import os
import re
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterator
from typing import Any, BinaryIO, NoReturn

MAX_BYTES = 8 * 1024 * 1024
MAX_DEPTH = 100
MAX_VALUES = MAX_BYTES // 4
"""More values do not fit into that many bytes of tagged JSON."""
MAX_DIGITS = 3_000
MAX_MESSAGE = 2000
CHANNEL, REPLY, TO_WORKER, FROM_WORKER = 3, 4, 98, 99
ERRORS = "rewarden/errors.txt"

HEX = re.compile(rf"-?[0-9a-f]{{1,{MAX_DIGITS}}}")
DECIMAL = re.compile(rf"-?[0-9]{{1,{MAX_DIGITS}}}")
COUNT = re.compile(r"[0-9]{1,7}")
FLOAT = re.compile(r"-?0x[01](?:\.[0-9a-f]{1,13})?p[+-][0-9]{1,4}")
SPECIAL = ("nan", "inf", "-inf")


class Lost(Exception):
    """The other end has gone away."""


class BadFrame(Exception):
    """A frame or a message is malformed."""


class Uncrossable(Exception):
    """A value cannot cross."""


class Fault(Exception):
    """Aborts the tests."""

    def __init__(self, kind: str, message: str, who: str = "candidate") -> None:
        super().__init__(message)
        self.kind = kind
        self.who = who


def lines(value: Any, depth: int = 0) -> Iterator[str]:
    """Yields the lines of tagged JSON. Raises BadFrame."""
    if value is None or isinstance(value, bool):
        yield {None: "n", True: "T", False: "F"}[value]
        return
    if isinstance(value, str):
        yield "s " + value.replace("\\", "\\\\").replace("\n", "\\n").replace("\r", "\\r")
        return
    if depth >= MAX_DEPTH or not isinstance(value, dict) or len(value) != 1:
        raise BadFrame("not a value")
    ((tag, payload),) = value.items()
    if tag == "i" and isinstance(payload, str) and HEX.fullmatch(payload):
        yield f"i {int(payload, 16)}"
    elif tag == "f" and isinstance(payload, str) and (payload in SPECIAL or FLOAT.fullmatch(payload)):
        try:
            yield f"f {payload if payload in SPECIAL else repr(float.fromhex(payload))}"
        except OverflowError:
            raise BadFrame("not a float") from None
    elif tag in ("l", "t", "s", "frozenset") and isinstance(payload, list):
        yield f"l {len(payload)}"
        for item in payload:
            yield from lines(item, depth + 1)
    elif tag == "d" and isinstance(payload, list):
        yield f"d {len(payload)}"
        for pair in payload:
            if not isinstance(pair, list) or len(pair) != 2:
                raise BadFrame("not a pair")
            for item in pair:
                yield from lines(item, depth + 1)
    else:
        raise BadFrame("no such tag")


class Reader:
    """Reads one message as tagged JSON. Raises Lost and Uncrossable."""

    def __init__(self, stream: BinaryIO) -> None:
        self.stream = stream
        self.bytes, self.values = 2 * MAX_BYTES, MAX_VALUES

    def value(self, depth: int = 0) -> Any:
        line = self.stream.readline(self.bytes)
        if not line.endswith(b"\n"):
            raise Uncrossable("too large a value") if line else Lost
        self.bytes, self.values = self.bytes - len(line), self.values - 1
        if self.bytes <= 0 or self.values <= 0 or depth > MAX_DEPTH:
            raise Uncrossable("too large a value")
        try:
            kind, rest = line[:1].decode(), line[2:-1].decode()
        except UnicodeDecodeError:
            raise Uncrossable("a text that is not UTF-8") from None
        if kind in ("n", "T", "F"):
            return {"n": None, "T": True, "F": False}[kind]
        if kind == "s":
            return re.sub(r"\\(.)", lambda found: {"n": "\n", "r": "\r"}.get(found[1], found[1]), rest)
        if kind == "i" and DECIMAL.fullmatch(rest):
            return {"i": format(int(rest), "x")}
        if kind == "f":
            try:
                return {"f": rest if rest in SPECIAL else float(rest).hex()}
            except ValueError:
                raise Uncrossable("an unknown number") from None
        if kind == "l" and COUNT.fullmatch(rest):
            return {"l": [self.value(depth + 1) for _ in range(int(rest))]}
        if kind == "d" and COUNT.fullmatch(rest):
            return {"d": [[self.value(depth + 1), self.value(depth + 1)] for _ in range(int(rest))]}
        raise Uncrossable("an unknown value")


class Worker:
    """The interpreter, in a session of its own."""

    def __init__(self, command: list[str], errors: int | None = None) -> None:
        given, ours = os.pipe()
        theirs, taken = os.pipe()
        os.dup2(given, TO_WORKER, inheritable=True)
        os.dup2(taken, FROM_WORKER, inheritable=True)
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stderr=errors,
            pass_fds=(TO_WORKER, FROM_WORKER),
            start_new_session=True,
        )
        for number in (given, taken, TO_WORKER, FROM_WORKER):
            os.close(number)
        self.input, self.output = os.fdopen(ours, "wb"), os.fdopen(theirs, "rb")

    def send(self, *parts: Any) -> None:
        """Raises Lost and BadFrame."""
        try:
            text = "".join(f"{line}\n" for line in lines({"l": list(parts)})).encode()
        except UnicodeEncodeError:
            raise BadFrame("half of a surrogate pair") from None
        try:
            self.input.write(text)
            self.input.flush()
        except OSError:
            raise Lost from None

    def receive(self) -> list[Any]:
        """Raises Lost and Uncrossable."""
        message = Reader(self.output).value()
        if not isinstance(message, dict) or not message.get("l"):
            raise Uncrossable("no message")
        parts: list[Any] = message["l"]
        return parts

    def end(self) -> int:
        """Returns the exit code."""
        return self.process.wait()

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)


class Channel:
    """Frames between two rooms: four bytes of length, big-endian, then a JSON object."""

    def send(self, message: dict[str, Any]) -> None:
        body = json.dumps(message).encode()
        if len(body) > MAX_BYTES:
            raise Uncrossable("too large a value")
        try:
            write(CHANNEL, len(body).to_bytes(4, "big") + body)
        except OSError:
            raise Lost from None

    def receive(self) -> dict[str, Any]:
        size = int.from_bytes(self.take(4), "big")
        if size > MAX_BYTES:
            raise BadFrame("a frame longer than the limit")
        body = self.take(size)
        try:
            message = json.loads(body, parse_constant=refuse)
        except (ValueError, RecursionError):
            raise BadFrame("not JSON") from None
        if not isinstance(message, dict):
            raise BadFrame("not an object")
        return message

    def take(self, size: int) -> bytes:
        data = bytearray()
        while len(data) < size:
            try:
                part = os.read(CHANNEL, min(size - len(data), 1 << 16))
            except OSError:
                part = b""
            if not part:
                raise Lost
            data += part
        return bytes(data)


def refuse(text: str) -> Any:
    raise ValueError(text)


def write(descriptor: int, data: bytes) -> None:
    while data:
        data = data[os.write(descriptor, data) :]


def word(value: Any) -> str:
    return value[:MAX_MESSAGE] if isinstance(value, str) else "?"


# --- the candidate's room: nothing here decides anything ---------------------------------------------------------


def call(command: list[str]) -> int:
    request = json.loads(sys.stdin.buffer.read())
    worker = Worker([*command, "call"])
    said = _called(worker, request)
    write(REPLY, json.dumps(said).encode())
    return 0 if "value" in said else 1


def _called(worker: Worker, request: dict[str, Any]) -> dict[str, Any]:
    try:
        head, *rest = worker.receive()
        if head != "loaded":
            return {"error": word(rest[0]), "message": word(rest[1]), "traceback": "", "loading": True}
        try:
            worker.send("call", request["target"], {"l": request["args"]}, {"l": request.get("init", [])})
        except BadFrame as error:
            return {"error": "ValueError", "message": f"an argument has no counterpart in the language: {error}"}
        head, *rest = worker.receive()
    except Lost:
        return {"error": "SystemExit", "message": "the program ended before its function returned"}
    except Uncrossable as error:
        return {"uncrossable": str(error)}
    match head:
        case "value":
            return {"value": rest[0]}
        case "raised":
            return {"error": word(rest[0]), "message": word(rest[1]), "traceback": ""}
        case "absent":
            return {"missing": request["target"]}
    return {"uncrossable": word(rest[0])}


def serve(command: list[str]) -> int:
    channel, worker = Channel(), Worker([*command, "serve"])
    try:
        head, *rest = worker.receive()
        if head != "loaded":
            channel.send({"is": "unloaded", "type": word(rest[0]), "message": word(rest[1]), "traceback": ""})
            return 1
        channel.send({"is": "loaded"})
        while True:
            question = channel.receive()
            channel.send({**_answer(worker, question), "id": question.get("id")})
    except Lost:
        return 0


def _answer(worker: Worker, question: dict[str, Any]) -> dict[str, Any]:
    if question.get("op") != "call":
        return {"is": "absent"}
    try:
        worker.send("call", question["name"], {"l": question["args"]}, {"l": []})
        head, *rest = worker.receive()
    except (BadFrame, Uncrossable) as error:
        return {"is": "uncrossable", "type": str(error)}
    match head:
        case "value":
            return {"is": "value", "value": rest[0]}
        case "raised":
            return {"is": "raised", "type": word(rest[0]), "message": word(rest[1])}
        case "absent":
            return {"is": "absent"}
    return {"is": "uncrossable", "type": word(rest[0])}


# --- the tests' room ---------------------------------------------------------------------------------------------


class Tests:
    """Runs test code that calls the candidate, and reports. The test code knows neither the channel nor the nonce."""

    def __init__(self, command: list[str], shared: bool) -> None:
        self.options = json.loads(sys.stdin.buffer.read())
        os.close(0)  # Attack: read the options again, including the nonce.
        os.open(os.devnull, os.O_RDONLY)
        self.command, self.shared = command, shared
        self.uses = 0
        self.raised = False
        """True if the last call raised an exception."""
        self.finished = False
        self.secret = secrets.token_hex(16)
        """The worker repeats it after the test code if both run in one process."""

    def run(self) -> NoReturn:
        errors = os.open(ERRORS, os.O_RDWR | os.O_CREAT | os.O_TRUNC)
        worker: Worker | None = None
        try:
            channel = None if self.shared else self._greeted()
            how = "shared" if self.shared else "tests"
            worker = Worker([*self.command, how, self.options.get("entry_point") or ""], errors)
            self._serve(worker, channel)
        except Fault as fault:
            if worker is not None:
                worker.kill()
            self._report("error" if fault.who == "tests" else "failed", fault.kind, fault.who, str(fault))
        code = worker.end()
        if code == 0 and (self.uses or self.shared):
            if self.shared and not self.finished:
                self._report("failed", "exception", "candidate", "the test code ended the process")
            self._report("passed", None, None, "")
        size = os.fstat(errors).st_size
        said = os.pread(errors, MAX_MESSAGE, max(0, size - MAX_MESSAGE)).decode("utf-8", "replace")
        if not self.uses and not self.shared:
            self._report("error", "test_code", "tests", said or "the test code never used the candidate")
        message = said or f"the test code ended with exit code {code}"
        self._report("failed", "exception" if self.raised else "assertion", "candidate", message)

    def _report(self, outcome: str, kind: str | None, who: str | None, message: str) -> NoReturn:
        said = {
            "done": True,
            "outcome": outcome,
            "kind": kind,
            "who": who,
            "message": message[:MAX_MESSAGE],
            "line": None,
            "source": None,
            "tests": {},
            "calls": self.uses,
            "provenance": {},
            "nonce": self.options["nonce"],
        }
        write(REPLY, json.dumps(said).encode())
        os._exit(0 if outcome == "passed" else 1)

    def _greeted(self) -> Channel:
        channel = Channel()
        try:
            hello = channel.receive()
        except Lost:
            raise Fault("candidate_lost", "the candidate's process ended while it was loading") from None
        except BadFrame as error:
            raise Fault("bad_frame", str(error)) from None
        if hello.get("is") == "unloaded":
            raise Fault("candidate_load", f"{word(hello.get('type'))}: {word(hello.get('message'))}")
        if hello.get("is") != "loaded":
            raise Fault("bad_frame", "the first frame is no greeting")
        return channel

    def _serve(self, worker: Worker, channel: Channel | None) -> None:
        """Answers the test code's calls until it ends."""
        if self.shared:
            try:
                worker.send(self.secret)
            except Lost:
                return
        while True:
            try:
                head, *rest = worker.receive()
            except Lost:
                return
            except Uncrossable as error:
                raise Fault("unsupported", f"an argument cannot cross: {error}", "tests") from None
            if head == "bad_frame":
                raise Fault("bad_frame", "a value of no known shape")
            if head == "finished":
                self.finished = rest == [self.secret]
            elif head == "call" and channel is not None:
                name, args = rest
                answer = self._asked(channel, name, args["l"])
                try:
                    worker.send(*answer)
                except BadFrame as error:
                    raise Fault("bad_frame", str(error)) from None
                except Lost:
                    return
            else:
                raise Fault("unsupported", f"an argument cannot cross: {word(rest[0])}", "tests")

    def _asked(self, channel: Channel, name: str, args: list[Any]) -> tuple[Any, ...]:
        self.uses += 1
        try:
            channel.send({"op": "call", "of": 0, "id": self.uses, "name": name, "args": args, "kwargs": {}})
            answer = channel.receive()
        except Lost:
            raise Fault("candidate_lost", "the candidate's process ended while the tests were running") from None
        except BadFrame as error:
            raise Fault("bad_frame", str(error)) from None
        except Uncrossable as error:
            raise Fault("unsupported", f"an argument cannot cross: {error}", "tests") from None
        if answer.get("id") != self.uses:
            raise Fault("bad_frame", "an answer to another question")
        self.raised = answer.get("is") == "raised"
        match answer.get("is"):
            case "value":
                return "value", answer.get("value")
            case "raised":
                return "raised", word(answer.get("type")), word(answer.get("message"))
            case "absent":
                raise Fault("missing_name", f"the candidate has no {name}")
            case "uncrossable":
                raise Fault("uncrossable_value", f"a value cannot cross: {word(answer.get('type'))}")
        raise Fault("bad_frame", "no such answer")


def main(mode: str, *command: str) -> int:
    if mode in ("tests", "shared"):
        Tests(list(command), mode == "shared").run()
    return (call if mode == "call" else serve)(list(command))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
