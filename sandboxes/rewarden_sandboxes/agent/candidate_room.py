"""The candidate's room: loads the code as module `solution` and answers questions over the channel.

The candidate shares this process and can rewrite all of this code. So nothing is decided here: only values leave, and
the other room (`tests_room`) does not trust them.
"""

from __future__ import annotations

import _thread
import builtins
import contextlib
import inspect
import io
import linecache
import operator
import os
import sys
import traceback
import types
from collections.abc import Callable
from typing import Any

from rewarden_sandboxes.agent import tagged_codec

NAME = "solution"
MESSAGE_CHARS = 2_000
TRACEBACK_CHARS = 4_000
MAX_THINGS = 100_000

PLAIN_MODULES = (
    "bisect",
    "cmath",
    "collections",
    "copy",
    "datetime",
    "decimal",
    "fractions",
    "functools",
    "heapq",
    "itertools",
    "math",
    "operator",
    "random",
    "re",
    "statistics",
    "string",
    "typing",
)
"""Modules whose names the tests' room takes from its own copy, if the candidate has imported them."""


def load(code: bytes, given: dict[str, Any] | None = None) -> types.ModuleType:
    """Runs the code as the module `solution`, with `given` in its namespace. Raises any exception of the code."""
    path = os.path.join(os.getcwd(), NAME + ".py")
    lines = code.decode("utf-8", "replace").splitlines(True)
    linecache.cache[path] = (len(code), None, lines, path)
    module = types.ModuleType(NAME)
    module.__file__ = path
    module.__dict__.update(given or {})
    sys.modules[NAME] = module
    exec(compile(code, path, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - the purpose of the room
    return module


def failure(fault: BaseException) -> dict[str, str]:
    """Returns type, message and traceback of an exception, bounded, for a person to read."""
    trace = fault.__traceback__
    while trace is not None and trace.tb_frame.f_globals.get("__name__", "").startswith("rewarden_sandboxes."):
        trace = trace.tb_next  # skip our own frames
    try:
        text = "".join(traceback.format_exception(type(fault), fault, trace, limit=-20))
    except BaseException:  # noqa: BLE001 - the exception's methods can raise anything
        text = ""
    return {"type": type(fault).__name__[:100], "message": message_of(fault), "traceback": text[-TRACEBACK_CHARS:]}


def message_of(fault: BaseException) -> str:
    """Returns `str` of an exception, bounded; empty if that raises."""
    try:
        return str(fault)[:MESSAGE_CHARS]
    except BaseException:  # noqa: BLE001 - the exception's methods can raise anything
        return ""


class Server:
    """Answers the questions of the tests' room, one at a time, as `docs/tagged-codec.md` specifies."""

    def __init__(self, module: types.ModuleType, channel: tagged_codec.Channel) -> None:
        self.channel = channel
        self.things: list[Any] = [module]  # keeps them alive, so a number never changes its object
        self.numbers: dict[int, int] = {id(module): 0}
        self.thread = _thread.get_ident()

    def run(self) -> None:
        """Answers questions until the other room closes the channel, which raises Lost."""
        while True:
            self.reply(self.channel.receive())

    def reply(self, question: dict[str, Any]) -> None:
        """Answers one question."""
        number = question["id"]
        try:
            answer = self.answer(question)
        except BaseException as fault:  # noqa: BLE001 - a candidate's SystemExit is an answer, too
            answer = self.raised(fault)
        try:
            self.channel.send({**answer, "id": number})
        except tagged_codec.Uncrossable as fault:
            self.channel.send({"is": "uncrossable", "type": fault.type_name, "id": number})

    def answer(self, question: dict[str, Any]) -> dict[str, Any]:
        """Returns the answer to a question. Raises any exception of the candidate's."""
        of, op = self.things[question["of"]], question["op"]
        name: Any = question.get("name")
        if op == "get":
            return self.attribute(of, name)
        if op == "set":
            setattr(of, name, tagged_codec.decode(question["value"], self.inward))
            return {"is": "value", "value": None}
        if op == "call":
            return self.call(of if name is None else getattr(of, name), question)
        if op == "next":
            try:
                return self.present(next(of))
            except StopIteration:
                return {"is": "stop"}
        return self.present(_OPERATIONS[op](of, *[tagged_codec.decode(arg, self.inward) for arg in question["args"]]))

    def attribute(self, of: Any, name: str) -> dict[str, Any]:
        try:
            value = getattr(of, name)
        except AttributeError:
            return {"is": "absent"}
        if of is self.things[0]:
            if isinstance(value, types.ModuleType):
                return {"is": "import", "module": value.__name__, "name": None}
            for module in PLAIN_MODULES:
                if module in sys.modules and getattr(sys.modules[module], name, self) is value:
                    return {"is": "import", "module": module, "name": name}
        if callable(value) and not isinstance(value, type):
            return {"is": "function"}
        return self.present(value)

    def call(self, function: Any, question: dict[str, Any]) -> dict[str, Any]:
        args = [tagged_codec.decode(arg, self.inward) for arg in question["args"]]
        kwargs = {key: tagged_codec.decode(arg, self.inward) for key, arg in question["kwargs"].items()}
        before = sys.stdout
        printed = io.StringIO() if question["capture"] else None
        if printed is not None:
            sys.stdout = printed
        try:
            answer = self.present(function(*args, **kwargs))
        except BaseException as fault:  # noqa: BLE001 - the answer carries the arguments as they are now
            answer = self.raised(fault)
        finally:
            sys.stdout = before
        if printed is not None:
            answer["stdout"] = tagged_codec.encode(printed.getvalue())
        after = {str(at): arg for at, arg in enumerate(args)}
        after.update(("=" + key, arg) for key, arg in kwargs.items())
        sent = {str(at): arg for at, arg in enumerate(question["args"])}
        sent.update(("=" + key, arg) for key, arg in question["kwargs"].items())
        answer["after"] = self.changed(sent, after)
        return answer

    def changed(self, sent: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
        """Returns the arguments that differ from those that were sent, in tagged form."""
        found = {}
        for key, arg in after.items():
            if type(arg) in (type(None), bool, int, str, float) or not tagged_codec.crosses(type(arg)):
                continue
            tagged = tagged_codec.encode(arg, self.outward)
            if tagged != sent[key]:
                found[key] = tagged
        return found

    def present(self, value: Any) -> dict[str, Any]:
        """Returns a value if it crosses, otherwise its reference: a class, or a number in the table of things."""
        if isinstance(value, type):
            base = _builtin_base(value) if issubclass(value, BaseException) else None
            return {"is": "class", "number": self.number(value), "mro": self.lineage(value), "base": base}
        try:
            return {"is": "value", "value": tagged_codec.encode(value, self.outward)}
        except tagged_codec.Uncrossable as fault:
            if tagged_codec.crosses(type(value)) or fault.unfit or len(self.things) >= MAX_THINGS:
                return {"is": "uncrossable", "type": fault.type_name[:100]}
        return {
            "is": "thing",
            "number": self.number(value),
            "mro": self.lineage(type(value)),
            "own": _is_own(type(value)),
            "coroutine": inspect.iscoroutine(value),
        }

    def lineage(self, kind: type) -> list[list[Any]]:
        """Returns numbers and names of the candidate's own classes in a class's MRO, itself first."""
        own = [parent for parent in kind.__mro__ if parent.__module__ == NAME or parent is kind]
        return [[self.number(parent), parent.__name__[:100]] for parent in own[:20] if parent.__module__ != "builtins"]

    def number(self, thing: Any) -> int:
        known = self.numbers.get(id(thing))
        if known is None:
            known = self.numbers[id(thing)] = len(self.things)
            self.things.append(thing)
        return known

    def raised(self, fault: BaseException) -> dict[str, Any]:
        kind = type(fault)
        answer = {
            "is": "raised",
            "type": kind.__name__[:100],
            "message": tagged_codec.encode(message_of(fault)),
            "mro": self.lineage(kind),
            "base": _builtin_base(kind),
            "args": None,
        }
        with contextlib.suppress(Exception):  # the message is enough
            args = tagged_codec.encode(list(fault.args))
            if len(tagged_codec.to_json(args)) <= 4 * MESSAGE_CHARS:
                answer["args"] = args
        return answer

    def outward(self, value: Any) -> dict[str, Any] | None:
        """Returns the number of an object that the tests' room already knows; None for any other."""
        known = self.numbers.get(id(value))
        return None if known is None else {"ref": {"thing": known}}

    def inward(self, payload: Any) -> Any:
        """Returns the target of a reference: an object of this room, or a function of the tests' room."""
        if "thing" in payload:
            return self.things[payload["thing"]]
        if "builtin" in payload:
            return getattr(builtins, payload["builtin"])
        if "name" in payload:
            return getattr(self.things[payload["of"]], payload["name"])
        number = payload["callback"]

        def callback(*args: Any, **kwargs: Any) -> Any:
            return self.ask(number, args, kwargs)

        return callback

    def ask(self, number: int, args: Any, kwargs: dict[str, Any]) -> Any:
        """Calls a function of the tests' room, and answers that room's questions until it returns."""
        if _thread.get_ident() != self.thread:
            raise RuntimeError("a function of the tests can be called from the main thread only")
        self.channel.send(
            {
                "is": "callback",
                "number": number,
                "args": [tagged_codec.encode(arg, self.outward) for arg in args],
                "kwargs": {key: tagged_codec.encode(arg, self.outward) for key, arg in kwargs.items()},
            }
        )
        while True:
            message = self.channel.receive()
            if "op" in message:
                self.reply(message)
            elif "raised" in message:
                kind = getattr(builtins, message["raised"])
                raise kind("raised by a function of the tests")
            else:
                return tagged_codec.decode(message["value"], self.inward)


def _is_own(kind: type) -> bool:
    """Returns whether a class is the candidate's, whatever module it claims to come from."""
    found: Any = sys.modules.get(kind.__module__) if kind.__module__ != NAME else None
    for part in kind.__qualname__.split("."):
        found = getattr(found, part, None)
    return found is not kind and kind.__module__ != "builtins"


def _builtin_base(kind: type) -> str:
    """Returns the name of the nearest built-in class that a class derives from."""
    return next(parent.__name__ for parent in kind.__mro__ if parent.__module__ == "builtins")


def awaited(value: Any) -> Any:
    """Returns the result of a coroutine; any other value unchanged."""
    return _await(value) if inspect.iscoroutine(value) else value


def _await(awaitable: Any) -> Any:
    import asyncio

    async def outcome() -> Any:
        return await awaitable

    return asyncio.run(outcome())


_OPERATIONS: dict[str, Callable[..., Any]] = {
    "iterate": iter,
    "text": str,
    "truth": bool,
    "length": len,
    "item": operator.getitem,
    "await": _await,
}
"""The operations that tests may perform on an object, besides calls and attributes. No comparison: an object of the
candidate's can be equal to everything."""


def main(code: bytes, request: bytes, channel: int, reply: int) -> int:
    """Runs the mode `serve`. Reports whether the code loads, then answers questions until the other room is done."""
    to_tests = tagged_codec.Channel(channel)
    with contextlib.suppress(tagged_codec.Lost):
        try:
            module = load(code)
        except BaseException as fault:  # noqa: BLE001 - SystemExit included: an exit while loading is a failure
            to_tests.send({"is": "unloaded", **failure(fault)})
            return 1
        to_tests.send({"is": "loaded"})
        Server(module, to_tests).run()
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(Exception):
            stream.flush()
    os._exit(0)  # a thread that the candidate left running must not keep the run alive
