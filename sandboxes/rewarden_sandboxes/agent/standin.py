"""The tests' room: runs test code whose names of the candidate are stand-ins that ask the other room.

The candidate is hostile, and is not here: no object, class or method of its own ever reaches this process, only frames
with values in tagged form. What a candidate could still do to the test code through a stand-in ends the run instead: a
`Fault` is no Exception, so that no `except` or `assertRaises` of a test takes it for the expected one, and once there
was one the run cannot pass.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import importlib.util
import json
import linecache
import operator
import os
import random
import re
import sys
import threading
import time
import traceback
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterable
from typing import Any, NoReturn

from rewarden_sandboxes.agent import border, serving

MAX_CALLBACKS = 1_000_000
MAX_NESTING = 50
MAX_TESTS = 10_000

SHARED = "the reference needs `isolation: shared` for this"


class Fault(BaseException):
    """Ends what the test code was doing. kind: as in the report. who: `candidate`, or `tests` for what no candidate
    brings about."""

    def __init__(self, kind: str, message: str, who: str = "candidate") -> None:
        super().__init__(message)
        self.kind = kind
        self.who = who


class CandidateError(Exception):
    """An exception of the candidate's that is none of the built-in ones. An exception class of its own is a subclass
    of this and of the built-in class that it derives from."""

    text = ""

    def __str__(self) -> str:
        return self.text


# --- the link to the other room


class Link:
    """Questions to the candidate's room, one at a time, and what their answers are here."""

    def __init__(self, channel: border.Channel) -> None:
        self.channel = channel
        self.uses = 0
        self.received = False
        self.fault: Fault | None = None
        self.faults = 0
        self.missing: set[str] = set()
        self.stdout = sys.stdout
        self._lost = False
        self._lock = threading.RLock()
        self._nesting = 0
        self._questions = 0
        self._callbacks: list[Any] = []
        self._callbacks_left = MAX_CALLBACKS
        self._things: weakref.WeakValueDictionary[int, Thing] = weakref.WeakValueDictionary()
        self._classes: dict[int, type] = {}
        self._functions: weakref.WeakKeyDictionary[Any, tuple[int, str]] = weakref.WeakKeyDictionary()
        self._watched = [(module, name, getattr(module, name)) for module, name in _WATCHED]

    # What may be asked.

    def fail(self, kind: str, message: str, who: str = "candidate") -> NoReturn:
        """Ends the test, and any hope of passing."""
        fault = Fault(kind, message[: serving.MESSAGE_CHARS], who)
        self.faults += 1
        self.fault = self.fault or fault
        raise fault

    def greet(self) -> dict[str, str] | None:
        """Waits until the candidate has loaded; what went wrong, where it has not."""
        with self._lock:
            hello = self._receive()
        if hello.get("is") == "loaded":
            return None
        parts = {key: hello.get(key) for key in ("type", "message", "traceback")}
        if hello.get("is") != "unloaded" or any(type(part) is not str for part in parts.values()):
            self.fail("bad_frame", "the first frame is no greeting")
        return {key: str(part)[: serving.TRACEBACK_CHARS] for key, part in parts.items()}

    def attribute(self, of: int, name: str) -> Any:
        """The value of an attribute. Raises AttributeError where there is none."""
        reply = self._ask("get", of, name=name)
        if reply.get("is") == "absent":
            if of == 0:
                self.missing.add(name)
            raise AttributeError(f"the candidate has no {name!r}")
        return self._result(reply, of, name)

    def assign(self, of: int, name: str, value: Any) -> None:
        """Sets an attribute of a thing."""
        self._result(self._ask("set", of, name=name, value=self._outward(value)), of, name)

    def operate(self, op: str, of: int, *args: Any) -> Any:
        """One of the few things that a test may do to a thing. Raises StopIteration for `next` at the end."""
        reply = self._ask(op, of, args=[self._outward(arg) for arg in args])
        if op == "next" and reply.get("is") == "stop":
            raise StopIteration
        return self._result(reply, of, None)

    def call(self, of: int, name: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls a thing, or an attribute of it; afterwards the arguments are as the candidate has left them."""
        for module, watched, original in self._watched:
            if getattr(module, watched, None) is not original:
                self.fail("unsupported", f"{module.__name__}.{watched} is replaced: {SHARED}", "tests")
        capture = sys.stdout is not self.stdout
        tagged = [self._outward(arg) for arg in args]
        named = {key: self._outward(arg) for key, arg in kwargs.items()}
        reply = self._ask("call", of, name=name, args=tagged, kwargs=named, capture=capture)
        with self._checked():
            if "stdout" in reply:
                printed = border.decode(reply["stdout"])
                if capture and type(printed) is str:
                    sys.stdout.write(printed)
            after = reply.get("after", {})
            if type(after) is not dict:
                raise border.BadFrame("not the arguments")
            for key, changed in after.items():
                old = kwargs[key[1:]] if key[:1] == "=" else args[int(key)]
                restore(old, border.decode(changed, self._inward))
        return self._result(reply, of, name)

    def function(self, of: int, name: str) -> Callable[..., Any]:
        """A stand-in for a function or a method."""

        def standin(*args: Any, **kwargs: Any) -> Any:
            return self.call(of, name, args, kwargs)

        standin.__name__ = standin.__qualname__ = name
        self._functions[standin] = (of, name)
        return standin

    # How it is asked.

    def _ask(self, op: str, of: int, **fields: Any) -> dict[str, Any]:
        with self._lock:
            self.uses += 1
            self._questions += 1
            question = {"op": op, "of": of, "id": self._questions, **fields}
            if self._lost:
                self.fail("candidate_lost", "the candidate's room is gone")
            try:
                self.channel.send(question)
            except border.Uncrossable as fault:
                self._unfit(fault)
            except border.Lost:
                self._lose()
            while True:
                reply = self._receive()
                if reply.get("is") != "callback":
                    break
                self._called(reply)
            if reply.get("id") != question["id"]:
                self.fail("bad_frame", "an answer to another question")
            return reply

    def _receive(self) -> dict[str, Any]:
        try:
            return self.channel.receive()
        except border.Lost:
            self._lose()
        except border.BadFrame as fault:
            self._lost = True  # what follows could be anything
            self.fail("bad_frame", str(fault))

    def _lose(self) -> NoReturn:
        self._lost = True
        self.fail("candidate_lost", "the candidate's process ended while the tests were running")

    def _called(self, request: dict[str, Any]) -> None:
        """The candidate calls a function that a test has passed to it. It sees what that returns, nothing else."""
        with self._checked():
            function = self._callbacks[_index(request["number"])]
            args = [border.decode(arg, self._inward) for arg in request["args"]]
            kwargs = {key: border.decode(arg, self._inward) for key, arg in request["kwargs"].items()}
        self._callbacks_left -= 1
        if self._callbacks_left < 0 or self._nesting >= MAX_NESTING:
            self.fail("bad_frame", "too many calls of a function of the tests")
        self._nesting += 1
        try:
            answer = {"value": self._outward(function(*args, **kwargs))}
        except Exception as fault:  # noqa: BLE001 - it goes on in the candidate; its message may hold what is expected
            kind = next(parent.__name__ for parent in type(fault).__mro__ if parent.__module__ == "builtins")
            answer = {"raised": kind}
        finally:
            self._nesting -= 1
        try:
            self.channel.send(answer)
        except border.Uncrossable as fault:
            self._unfit(fault)
        except border.Lost:
            self._lose()

    def _checked(self) -> _Checked:
        return _Checked(self)

    # What goes out.

    def _outward(self, value: Any) -> border.Tagged:
        try:
            return border.encode(value, self._reference)
        except border.Uncrossable as fault:
            self._unfit(fault)

    def _unfit(self, fault: border.Uncrossable) -> NoReturn:
        if fault.unfit and self.received:
            # A candidate may return what a test then makes too large: that must not go unscored.
            self.fail("uncrossable_value", f"an argument made of the candidate's values: {fault}")
        self.fail("unsupported", f"an argument cannot cross: {fault}: {SHARED}", "tests")

    def _reference(self, value: Any) -> border.Tagged | None:
        """A stand-in goes back as what it stands for; a built-in as its name; another function as a callback."""
        if type(value) is Thing:
            return {"ref": {"thing": _number(value)}}
        if isinstance(value, _StandInType):
            return {"ref": {"thing": value._rewarden_number}}
        name = getattr(value, "__name__", None)
        if type(name) is str and getattr(builtins, name, None) is value:
            return {"ref": {"builtin": name}}
        if isinstance(value, type) or not callable(value):
            return None
        if isinstance(value, types.FunctionType) and value in self._functions:
            of, name = self._functions[value]
            return {"ref": {"of": of, "name": name}}
        for number, known in enumerate(self._callbacks):
            if known is value:
                return {"ref": {"callback": number}}
        self._callbacks.append(value)
        return {"ref": {"callback": len(self._callbacks) - 1}}

    # What comes in.

    def _inward(self, payload: Any) -> Any:
        return self._thing(_index(payload["thing"]), [])

    def _result(self, reply: dict[str, Any], of: int, name: str | None) -> Any:
        kind = reply.get("is")
        with self._checked():
            if kind == "value":
                self.received = True
                return border.decode(reply["value"], self._inward)
            if kind == "thing":
                self.received = True
                return self._thing(_index(reply["number"]), [_index(row[0]) for row in reply["mro"]])
            if kind == "class":
                return self._class(reply["mro"], reply["base"])
            if kind == "function" and name is not None:
                return self.function(of, name)
            if kind == "import" and of == 0 and name is not None:
                return self._imported(reply["module"], reply["name"], name)
            if kind == "raised":
                fault: BaseException = self._raised(reply)
            elif kind == "uncrossable":
                fault = Fault("uncrossable_value", f"a value of type {str(reply['type'])[:100]} cannot cross")
            else:
                raise border.BadFrame("no such answer")
        if isinstance(fault, Fault):
            self.fail(fault.kind, str(fault))
        raise fault

    def _thing(self, number: int, lineage: list[int]) -> Thing:
        known = self._things.get(number)
        if known is None:
            known = self._things[number] = _thing(self, number, lineage)
        return known

    def _class(self, lineage: Any, base: Any) -> type:
        """The stand-in of a class; an exception class where `base` names a built-in one."""
        number, name = _index(lineage[0][0]), lineage[0][1]
        known = self._classes.get(number)
        if known is None:
            if type(name) is not str:
                raise border.BadFrame("not a name")
            if base is None:
                known = _StandInType(name, (), {"_rewarden_link": self, "_rewarden_number": number})
            else:
                known = self._exception_class(lineage, _exception(base))
            self._classes[number] = known
        return known

    def _exception_class(self, lineage: Any, base: type[BaseException]) -> type:
        parents: tuple[type, ...] = (CandidateError,) if base is Exception else (CandidateError, base)
        if len(lineage) > 1:
            parents = (self._class(lineage[1:], base.__name__),)
        return type(lineage[0][1], parents, {})

    def _imported(self, module: Any, name: Any, asked: str) -> Any:
        """What the candidate itself imported, from the module of that name here: never one that the candidate picks."""
        if name is None and (asked, module) in (("np", "numpy"), ("pd", "pandas")):
            return importlib.import_module(module)
        if module in serving.PLAIN_MODULES and asked in (name, module):
            own = importlib.import_module(module)
            return own if name is None else getattr(own, name)
        return Fault("uncrossable_value", "a module")

    def _raised(self, reply: dict[str, Any]) -> BaseException:
        base, lineage = _exception(reply["base"]), reply["mro"]
        message = border.decode(reply["message"])
        if type(message) is not str or type(reply["type"]) is not str or type(lineage) is not list:
            raise border.BadFrame("not an exception")
        message = message[: serving.MESSAGE_CHARS]
        if not issubclass(base, Exception):
            return Fault("candidate_exit", f"{reply['type'][:100]}: {message}")
        args = [message] if reply["args"] is None else border.decode(reply["args"])
        if type(args) is not list:
            raise border.BadFrame("not the arguments of an exception")
        if issubclass(base, (StopIteration, StopAsyncIteration)):
            # Raised under map() or all() it would end the comparison early, and quietly.
            fault = CandidateError(*args)
            fault.text = f"{base.__name__}: {message}"
            return fault
        if not lineage:
            for attempt in (args, [message]):
                try:
                    return base(*attempt)
                except Exception:  # noqa: BLE001 - some built-in exceptions want particular arguments
                    continue
        kind = self._class(lineage, base.__name__) if lineage else CandidateError
        if not issubclass(kind, CandidateError):
            raise border.BadFrame("not an exception class")
        own = kind.__new__(kind)
        own.args = tuple(args)
        own.text = message
        return own


_WATCHED: list[tuple[Any, str]] = [
    (builtins, "input"),
    (builtins, "open"),
    (builtins, "print"),
    (random, "choice"),
    (random, "randint"),
    (random, "random"),
    (random, "shuffle"),
    (sys, "argv"),
    (sys, "stdin"),
    (time, "monotonic"),
    (time, "perf_counter"),
    (time, "sleep"),
    (time, "time"),
]
"""A test that replaces one of these means the candidate's copy, which it cannot reach from here."""


class _Checked:
    """While an answer is read: whatever is wrong with its shape is a bad frame."""

    def __init__(self, link: Link) -> None:
        self.link = link

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, fault: Any, trace: Any) -> None:
        if isinstance(fault, (border.BadFrame, LookupError, TypeError, ValueError, AttributeError, RecursionError)):
            self.link.fail("bad_frame", f"an answer of no known shape ({fault})")


def _index(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 1 << 31:
        raise border.BadFrame("not a number")
    return number


def _exception(name: Any) -> type[BaseException]:
    kind = getattr(builtins, name)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        raise border.BadFrame("not an exception")
    return kind


def restore(old: Any, new: Any) -> None:
    """Makes a mutable value equal to another in place, and what it holds as well where the places agree. Raises
    BadFrame where the other's type is not its own."""
    kind: Any = type(old)
    if type(new) is not (dict if kind in (defaultdict, OrderedDict) else kind):
        raise border.BadFrame("an argument has become something else")
    if kind is tuple:
        for was, now in zip(old, new):  # noqa: B905 - strict= is newer than the oldest Python of the rooms
            _merged(was, now)
    elif kind is list:
        kept = [_merged(was, now) for was, now in zip(old, new)]  # noqa: B905
        old[:] = kept + new[len(kept) :]
    elif kind in (dict, defaultdict, OrderedDict, Counter):
        pairs = {key: _merged(old[key], value) if key in old else value for key, value in new.items()}
        old.clear()
        dict.update(old, pairs) if kind is not OrderedDict else old.update(pairs)
    elif kind is set:
        old.clear()
        old.update(new)
    elif kind is bytearray:
        old[:] = new
    elif kind is deque:
        old.clear()
        old.extend(new)
    elif kind.__name__ == "ndarray" and old.shape == getattr(new, "shape", None):
        old[...] = new
    else:
        raise border.BadFrame("an argument that cannot change")


_MUTABLE = {list, dict, set, tuple, bytearray, deque, defaultdict, OrderedDict, Counter}


def _merged(was: Any, now: Any) -> Any:
    if type(was) not in _MUTABLE:
        return now
    try:
        restore(was, now)
    except border.BadFrame:
        return now
    return was


# --- what stands in


class Thing:
    """An object of the candidate's that did not cross. Tests may call it, iterate over it, await it, take its text,
    truth, length and items, and read and set its attributes. To compare it or compute with it is the candidate's
    fault: a value was expected there."""

    __slots__ = ("__lineage", "__link", "__number", "__weakref__")

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            # numpy follows `__array_interface__` to any address in this process.
            raise AttributeError(name)
        return self.__link.attribute(self.__number, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__link.assign(self.__number, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__link.call(self.__number, None, args, kwargs)

    def __iter__(self) -> Any:
        return self.__link.operate("iterate", self.__number)

    def __next__(self) -> Any:
        return self.__link.operate("next", self.__number)

    def __await__(self) -> Any:
        return self.__link.operate("await", self.__number)
        yield  # a generator is what `await` wants

    def __str__(self) -> Any:
        return self.__link.operate("text", self.__number)

    def __bool__(self) -> Any:
        return self.__link.operate("truth", self.__number)

    def __len__(self) -> Any:
        return self.__link.operate("length", self.__number)

    def __getitem__(self, key: Any) -> Any:
        return self.__link.operate("item", self.__number, key)

    def __repr__(self) -> str:
        return f"<thing {self.__number} of the candidate>"

    def __hash__(self) -> Any:
        return self.__number

    def __eq__(self, other: object) -> Any:
        return True if self is other else _refuse(self)

    def __ne__(self, other: object) -> Any:
        return False if self is other else _refuse(self)


def _thing(link: Link, number: int, lineage: list[int]) -> Thing:
    thing = Thing()
    for name, value in (("link", link), ("number", number), ("lineage", lineage)):
        object.__setattr__(thing, "_Thing__" + name, value)
    return thing


def _number(thing: Thing) -> int:
    return object.__getattribute__(thing, "_Thing__number")  # type: ignore[no-any-return]


def _refuse(thing: Thing, *others: Any) -> NoReturn:
    link: Link = object.__getattribute__(thing, "_Thing__link")
    link.fail("uncrossable_value", "the candidate returned an object where a plain value was expected")


_REFUSED = """
    lt le gt ge contains add radd sub rsub mul rmul matmul rmatmul truediv rtruediv floordiv rfloordiv mod rmod divmod
    rdivmod pow rpow lshift rlshift rshift rrshift and rand or ror xor rxor neg pos abs invert int float complex index
    round trunc floor ceil bytes setitem delitem reversed enter exit
"""

for _name in _REFUSED.split():
    setattr(Thing, f"__{_name}__", _refuse)


class _StandInType(type):
    """The class of stand-ins for the candidate's classes. Calling one constructs in the other room."""

    _rewarden_link: Link
    _rewarden_number: int

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> _StandInType:
        if bases:
            link: Link = bases[0]._rewarden_link  # type: ignore[attr-defined]
            link.fail("unsupported", f"a class of the tests derives from one of the candidate's: {SHARED}", "tests")
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._rewarden_link.call(cls._rewarden_number, None, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls._rewarden_link.attribute(cls._rewarden_number, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._rewarden_link.fail("unsupported", f"a test changes a class of the candidate's: {SHARED}", "tests")

    def __instancecheck__(cls, instance: Any) -> bool:
        if type(instance) is not Thing:
            return False
        return cls._rewarden_number in object.__getattribute__(instance, "_Thing__lineage")


class StandInModule(types.ModuleType):
    """What test code gets from `import solution`."""

    def __init__(self, name: str, names: Names) -> None:
        super().__init__(name)
        self.__dict__["_rewarden_names"] = names

    def __getattr__(self, name: str) -> Any:
        names: Names = self.__dict__["_rewarden_names"]
        if name == "__all__":
            return names.wanted()
        if name.startswith("__"):
            raise AttributeError(name)
        return names.link.attribute(0, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name.startswith("__"):  # the import system's own
            return super().__setattr__(name, value)
        link = self.__dict__["_rewarden_names"].link
        link.fail("unsupported", f"a test changes {name!r} in the candidate's module: {SHARED}", "tests")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)


_STANDARD: frozenset[str] = getattr(sys, "stdlib_module_names", frozenset(serving.PLAIN_MODULES))


class Source:
    """Test code. Raises SyntaxError, ValueError."""

    def __init__(self, code: bytes, path: str) -> None:
        self.code = code
        self.path = path
        self.compiled = compile(code, path, "exec", dont_inherit=True)
        self.lines = code.decode("utf-8", "replace").splitlines(True)
        linecache.cache[path] = (len(code), None, self.lines, path)

    def means_module(self, name: str) -> bool:
        """Whether a name that the test code does not define is a standard module whose import it forgot: it only reads
        attributes of it. `math.isclose` then means the module, whatever the candidate calls `math`."""
        if name not in _STANDARD:
            return False
        nodes = list(ast.walk(ast.parse(self.code)))
        owners = [id(node.value) for node in nodes if isinstance(node, ast.Attribute)]
        return all(id(node) in owners for node in nodes if isinstance(node, ast.Name) and node.id == name)

    def lacks(self) -> list[str]:
        """The names that the test code uses and has not."""
        used: set[str] = set()
        bound = set(vars(builtins))
        for node in ast.walk(ast.parse(self.code)):
            if isinstance(node, ast.Name):
                (used if isinstance(node.ctx, ast.Load) else bound).add(node.id)
            elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
                bound.add(node.name)
            elif isinstance(node, ast.arg):
                bound.add(node.arg)
            elif isinstance(node, (ast.Import, ast.ImportFrom)):
                bound.update((alias.asname or alias.name).partition(".")[0] for alias in node.names)
        return sorted(name for name in used - bound if not self.means_module(name))


class Names(dict):  # type: ignore[type-arg]
    """The builtins of test code. Python looks here last, after locals, globals and the real builtins, so that nothing
    of the candidate's can hide `len`, `isinstance` or a module that the tests import."""

    def __init__(self, link: Link, source: Source, entry_point: str | None) -> None:
        super().__init__(vars(builtins))
        self.link = link
        self.source = source
        self.entry_point = entry_point

    def __missing__(self, name: str) -> Any:
        if name.startswith("__"):
            raise KeyError(name)
        if self.source.means_module(name):
            return importlib.import_module(name)
        if name == "candidate" and self.entry_point is not None:
            return self.entry()
        try:
            value = self.link.attribute(0, name)
        except AttributeError:
            raise KeyError(name) from None
        if isinstance(value, (types.FunctionType, type)):
            self[name] = value
        return value

    def entry(self) -> Any:
        """What `check(candidate)` is called with: `f`, or `Solution.f` for the method of a new `Solution()`."""
        name, _, method = str(self.entry_point).replace("()", "").partition(".")
        found = self.link.attribute(0, name)
        if not method:
            return found
        return getattr(found() if isinstance(found, type) else found, method)

    def wanted(self) -> list[str]:
        """What `from solution import *` brings: names that the test code uses, has not, and the candidate has."""
        found = []
        for name in self.source.lacks():
            try:
                self.link.attribute(0, name)
            except AttributeError:
                continue
            found.append(name)
        return found


def install(names: Names, modules: Iterable[str]) -> None:
    """Puts stand-ins under the names by which test code imports the candidate, dotted ones with their parents."""
    for name in modules:
        parts = name.split(".")
        for end in range(1, len(parts) + 1):
            full = ".".join(parts[:end])
            if not isinstance(sys.modules.get(full), StandInModule):
                module = sys.modules[full] = StandInModule(full, names)
                if end < len(parts):
                    module.__path__ = []
                if end > 1:
                    sys.modules[".".join(parts[: end - 1])].__dict__[parts[end - 1]] = module


# --- running test code


class Outcomes:
    """How each test of a file ended, and why the first that did not pass did not."""

    def __init__(self, link: Link | None = None) -> None:
        self.tests: dict[str, str] = {}
        self.why: BaseException | None = None
        self.link = link
        self._faults = 0

    def note(self, test: str, outcome: str, why: BaseException | None = None) -> None:
        """A test ended, or a part of it: the first outcome that is no pass stays. A test in which the link had a fault
        has failed, whatever became of the exception."""
        if self.link is not None and self.link.faults > self._faults:
            self._faults = self.link.faults
            outcome, why = ("failed", self.link.fault) if outcome == "passed" else (outcome, why)
        if why is not None and self.why is None:
            self.why = why
        if len(self.tests) < MAX_TESTS and self.tests.get(test, "passed") == "passed":
            self.tests[test] = outcome


def run_assert(source: Source, given: dict[str, Any], entry: Callable[[], Any] | None) -> None:
    """Runs test code from top to bottom, as `__main__`; then its `check`, if there is one and an entry point."""
    module = types.ModuleType("__main__")
    module.__file__ = source.path
    module.__dict__.update(given)
    sys.modules["__main__"] = module
    sys.argv[:] = [source.path]
    try:
        exec(source.compiled, module.__dict__)  # noqa: S102 - the reference's test code, in a room of its own
    except SystemExit as leaving:
        if leaving.code:  # unittest.main() leaves with False where all is well
            raise AssertionError(f"the test code left with {leaving.code!r}") from None
    check = module.__dict__.get("check")
    if entry is not None and callable(check):
        check(entry())


def run_file(source: Source, given: dict[str, Any], expect: list[str], link: Link | None = None) -> Outcomes:
    """Runs a test file by pytest, or where it is not installed by a collector that knows unittest and functions."""
    name = os.path.basename(source.path)[: -len(".py")]
    sys.meta_path.insert(0, _Finder(name, source, given))
    found = Outcomes(link)
    sys.path.insert(0, os.path.dirname(source.path))
    sys.argv[:] = [source.path]
    _bound_diffs()
    pytest = load_runner()
    if pytest is None:
        return _collect(name, expect, found)
    return _pytest(pytest, source.path, expect, found)


def load_runner() -> Any:
    """pytest, or None where it is not installed."""
    try:
        return importlib.import_module("pytest")
    except ImportError:
        return None


class _Finder:
    """Finds the test file, and gives its module what `given` says before it runs."""

    def __init__(self, name: str, source: Source, given: dict[str, Any]) -> None:
        self.name, self.source, self.given = name, source, given

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.source.path, loader=_Loader(self))  # type: ignore[arg-type]


class _Loader:
    """Loads the test file from memory: what lies in the folder may have changed since."""

    def __init__(self, finder: _Finder) -> None:
        self.finder = finder

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__.update(self.finder.given)
        exec(self.finder.source.compiled, module.__dict__)  # noqa: S102 - the reference's test code, in a room

    def is_package(self, name: str) -> bool:
        return False


def _bound_diffs() -> None:
    """A mismatch of two long values must not be compared line by line: difflib takes cubic time, which a candidate
    could use to exhaust the tests' room."""
    import difflib

    original = difflib.ndiff

    def ndiff(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
        if len(a) * len(b) > 10_000 or sum(map(len, a)) + sum(map(len, b)) > 10_000:
            return iter(["(too long to be compared line by line)"])
        return original(a, b, *args, **kwargs)

    difflib.ndiff = ndiff


def wanted(test: str, expect: list[str]) -> bool:
    """Whether a test is one of the expected: itself, one of its parameter sets, or a member of an expected class."""
    return not expect or any(test == name or test.startswith((name + "[", name + "::")) for name in expect)


def short(test: str) -> str:
    """A test's id without its file: `Class::test`, `test`, `test[1]`."""
    head, mark, rest = test.partition("::")
    return rest if mark and head.endswith(".py") else test


class _Plugin:
    """What pytest tells us."""

    def __init__(self, expect: list[str], found: Outcomes) -> None:
        self.expect = expect
        self.found = found

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if wanted(short(item.nodeid), self.expect)]

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        if call.excinfo is not None and self.found.why is None:
            why = call.excinfo.value
            # A failing import of the test file comes wrapped, with its text.
            self.found.why = why.__cause__ if type(why).__name__ == "CollectError" and why.__cause__ else why

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xpassed" if outcome == "passed" else "xfailed"
        elif outcome == "failed" and report.when != "call":
            outcome = "error"
        if report.when == "call" or outcome != "passed":
            self.found.note(short(report.nodeid), outcome)


def _pytest(pytest: Any, path: str, expect: list[str], found: Outcomes) -> Outcomes:
    for name in list(os.environ):
        if name.startswith("PYTEST"):
            del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    folder = os.getcwd()
    off = [part for name in ("cacheprovider", "faulthandler", "doctest", "junitxml") for part in ("-p", "no:" + name)]
    flags = ["-q", "--tb=no", "--no-header", "--no-summary", "--capture=no", "--assert=plain"]
    pytest.main([path, *flags, *off, f"--rootdir={folder}", f"--confcutdir={folder}"], plugins=[_Plugin(expect, found)])
    return found


def _collect(name: str, expect: list[str], found: Outcomes) -> Outcomes:
    """TestCase classes, test functions and methods of Test classes, in a Python without pytest."""
    import unittest

    class Result(unittest.TestResult):
        def _note(self, test: Any, outcome: str, error: Any = None) -> None:
            found.note("::".join(test.id().split(".")[1:]), outcome, error[1] if error else None)

        def addSuccess(self, test: Any) -> None:
            self._note(test, "passed")

        def addFailure(self, test: Any, err: Any) -> None:
            self._note(test, "failed", err)

        def addError(self, test: Any, err: Any) -> None:
            self._note(test, "error", err)

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            if err is not None:
                self._note(test, "failed", err)

        def addSkip(self, test: Any, reason: str) -> None:
            self._note(test, "skipped")

        def addExpectedFailure(self, test: Any, err: Any) -> None:
            self._note(test, "xfailed")

        def addUnexpectedSuccess(self, test: Any) -> None:
            self._note(test, "xpassed")

    try:
        module = importlib.import_module(name)
    except BaseException as fault:  # noqa: BLE001 - whatever it is, no test of the file has passed
        found.why = fault
        return found
    suite = unittest.TestSuite()
    for key, value in list(vars(module).items()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == name:
            cases: Any = unittest.defaultTestLoader.loadTestsFromTestCase(value)
            suite.addTests(case for case in cases if wanted(f"{key}::{case.id().split('.')[-1]}", expect))
        elif isinstance(value, types.FunctionType) and key.startswith("test") and wanted(key, expect):
            _run_one(found, key, value)
        elif isinstance(value, type) and key.startswith("Test"):
            for method in dir(value):
                if method.startswith("test") and wanted(f"{key}::{method}", expect):
                    _run_one(found, f"{key}::{method}", operator.methodcaller(method), value)
    suite.run(Result())
    return found


def _run_one(found: Outcomes, test: str, function: Callable[..., Any], *owner: type) -> None:
    import unittest

    try:
        function(*[kind() for kind in owner])
    except unittest.SkipTest:
        found.note(test, "skipped")
    except BaseException as fault:  # noqa: BLE001 - a Fault and SystemExit included
        found.note(test, "failed", fault)
    else:
        found.note(test, "passed")


# --- the report


def explain(fault: BaseException, source: Source, link: Link | None) -> dict[str, Any]:
    """Outcome, kind, who, message and place of what kept test code from passing.

    Before the test code has used the candidate, whatever goes wrong is its own defect, for no candidate could bring it
    about; after that it counts as the candidate's failure, for any may.
    """
    frames = traceback.walk_tb(fault.__traceback__)
    line = next((at for frame, at in reversed(list(frames)) if frame.f_code.co_filename == source.path), 0)
    if isinstance(fault, SyntaxError) and fault.filename == source.path and not line:
        line = fault.lineno or 0
    kind, who = "exception", "candidate"
    if isinstance(fault, Fault):
        kind, who = fault.kind, fault.who
    elif link is not None and _lacks(fault, link):
        kind = "missing_name"
    elif link is not None and not link.uses:
        kind, who = "test_code", "tests"
    elif isinstance(fault, AssertionError) or type(fault).__name__ == "Failed":  # pytest.fail, DID NOT RAISE
        kind = "assertion"
    text = serving.message_of(fault)
    if not isinstance(fault, (Fault, AssertionError)):
        text = f"{type(fault).__name__}: {text}"
    return {
        "outcome": "failed" if who == "candidate" else "error",
        "kind": kind,
        "who": who,
        "message": text[: serving.MESSAGE_CHARS],
        "line": line or None,
        "source": source.lines[line - 1].strip()[:500] if 0 < line <= len(source.lines) else None,
    }


def _lacks(fault: BaseException, link: Link) -> bool:
    """Whether the test code failed for a name that the candidate was asked for and does not have."""
    quoted = re.findall(r"'([^']+)'", str(fault)) if isinstance(fault, (NameError, ImportError, AttributeError)) else []
    return any(name in link.missing for name in quoted)


def report(found: dict[str, Any]) -> dict[str, Any]:
    """A whole report: what was found, and the defaults for the rest."""
    blank: dict[str, Any] = {
        "kind": None,
        "who": None,
        "message": "",
        "line": None,
        "source": None,
        "tests": {},
        "calls": 0,
    }
    return {"done": True, **blank, **found}


def judge_file(found: Outcomes, expect: list[str], source: Source, link: Link | None) -> dict[str, Any]:
    """The report of a file: passed where every expected test was seen to pass."""
    lacking = [name for name in expect if not any(wanted(test, [name]) for test in found.tests)]
    bad = [test for test, outcome in found.tests.items() if outcome != "passed"]
    if found.tests and not lacking and not bad and found.why is None:
        return {"outcome": "passed", "tests": found.tests}
    if found.why is not None:
        return {**explain(found.why, source, link), "tests": found.tests}
    ours = link is not None and not link.uses
    what = f"{bad[0]}: {found.tests[bad[0]]}" if bad else f"no such test was run: {(lacking or ['any'])[0]}"
    return {
        "outcome": "error" if ours else "failed",
        "kind": "test_code" if ours else "no_pass",
        "who": "tests" if ours else "candidate",
        "message": what[: serving.MESSAGE_CHARS],
        "tests": found.tests,
    }


def write(descriptor: int, said: dict[str, Any]) -> None:
    """Writes a report."""
    rest = memoryview(json.dumps(said).encode("ascii"))
    while descriptor >= 0 and rest:
        rest = rest[os.write(descriptor, rest) :]


def place(options: dict[str, Any]) -> str:
    """Where the test code lies: a path below the working folder. Raises ValueError for any other, or another kind."""
    name = options.get("name", "tests.py")
    if options["kind"] not in ("assert", "file"):
        raise ValueError("not a kind of tests")
    if type(name) is not str or not re.fullmatch(r"[A-Za-z0-9_][\w./-]*\.py", name) or ".." in name:
        raise ValueError("not a name of a test file")
    return os.path.join(os.getcwd(), name)


def run(
    source: Source,
    code: bytes,
    options: dict[str, Any],
    given: dict[str, Any],
    entry: Callable[[], Any] | None,
    link: Link | None = None,
) -> dict[str, Any]:
    """Runs test code of either kind, and says how it ended."""
    if options["kind"] == "assert":
        try:
            run_assert(source, given, entry)
        except BaseException as fault:  # noqa: BLE001 - a Fault included
            return explain((link.fault if link is not None else None) or fault, source, link)
        return {"outcome": "passed"}
    os.makedirs(os.path.dirname(source.path), exist_ok=True)
    with open(source.path, "wb") as file:
        file.write(code)
    expect = [short(name) for name in options.get("expect", [])]
    return judge_file(run_file(source, given, expect, link), expect, source, link)


def judge(code: bytes, options: dict[str, Any], link: Link) -> dict[str, Any]:
    """Runs test code against the other room, and reports."""
    path = place(options)
    try:
        source = Source(code, path)
    except (SyntaxError, ValueError) as fault:
        line = getattr(fault, "lineno", None)
        return {"outcome": "error", "kind": "test_code", "who": "tests", "message": str(fault), "line": line}
    try:
        trouble = link.greet()
    except Fault as fault:
        return explain(fault, source, link)
    if trouble is not None:
        message = f"{trouble['type']}: {trouble['message']}\n{trouble['traceback']}"
        return {"outcome": "failed", "kind": "candidate_load", "who": "candidate", "message": message}
    names = Names(link, source, options.get("entry_point"))
    install(names, options.get("modules", [serving.NAME]))
    given = {"__builtins__": names}
    said = run(source, code, options, given, names.entry if names.entry_point else None, link)
    if said["outcome"] == "passed" and link.fault is not None:  # a test swallowed it
        said = {**said, **explain(link.fault, source, link)}
    if said["outcome"] == "passed" and not link.uses:
        message = "the test code never used the candidate"
        return {**said, "outcome": "error", "kind": "test_code", "who": "tests", "message": message}
    return said


def main(code: bytes, request: bytes, channel: int, reply: int) -> int:
    """The mode `tests`. Exit code 0 exactly when the tests passed."""
    link = Link(border.Channel(channel))
    try:
        said = report(judge(code, json.loads(request), link))
    except BaseException as fault:  # noqa: BLE001 - no candidate may end this room without a report
        who = "candidate" if link.uses else "tests"
        message = f"{type(fault).__name__}: {serving.message_of(fault)}"
        outcome = "failed" if link.uses else "error"
        said = report({"outcome": outcome, "kind": "exception", "who": who, "message": message})
    said["calls"] = link.uses
    write(reply, said)
    return 0 if said["outcome"] == "passed" else 1
