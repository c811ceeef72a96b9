"""The client of the candidate's room: sends questions, and trusts none of the answers."""

from __future__ import annotations

import _thread
import builtins
import contextlib
import importlib
import random
import sys
import time
import types
import weakref
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

from rewarden_sandboxes.agent import candidate_room, tagged_codec
from rewarden_sandboxes.agent.faults import SHARED, CandidateError, Fault
from rewarden_sandboxes.agent.provenance import Provenance
from rewarden_sandboxes.agent.proxies import CoroutineProxy, Proxy, ProxyType, is_proxy, make_proxy, number_of

MAX_CALLBACKS = 1_000_000
MAX_NESTING = 50


class CandidateClient:
    """Sends questions to the candidate's room, one at a time, and turns the answers into values of this room."""

    def __init__(self, channel: tagged_codec.Channel, *, writes_back: bool = True) -> None:
        """`writes_back`: the candidate's changes to arguments are applied to the tests' own."""
        self.channel = channel
        self.provenance = Provenance()
        self.writes_back = writes_back
        self.uses = 0
        self.received = False
        self.fault: Fault | None = None
        self.faults = 0
        self.missing: set[str] = set()
        self.stdout = sys.stdout
        self._lost = False
        self._lock = _thread.RLock()
        self._nesting = 0
        self._questions = 0
        self._callbacks: list[Any] = []
        self._callbacks_left = MAX_CALLBACKS
        self._things: weakref.WeakValueDictionary[int, Proxy] = weakref.WeakValueDictionary()
        self._classes: dict[int, type] = {}
        self._exceptions: dict[int, type] = {}
        self._functions: weakref.WeakKeyDictionary[Any, tuple[int, str]] = weakref.WeakKeyDictionary()
        self._watched = [(module, name, getattr(module, name)) for module, names in _WATCHED for name in names]

    # Questions.

    def fail(self, kind: str, message: str, who: str = "candidate") -> NoReturn:
        """Ends the test with a fault, after which the run cannot pass."""
        fault = Fault(kind, message[: candidate_room.MESSAGE_CHARS], who)
        self.faults += 1
        self.fault = self.fault or fault
        raise fault

    def greet(self) -> dict[str, str] | None:
        """Waits until the candidate has loaded. Returns the error if it has not."""
        with self._lock:
            hello = self._receive()
        if hello.get("is") == "loaded":
            return None
        parts = {key: hello.get(key) for key in ("type", "message", "traceback")}
        if hello.get("is") != "unloaded" or any(type(part) is not str for part in parts.values()):
            self.fail("bad_frame", "the first frame is no greeting")
        return {key: str(part)[: candidate_room.TRACEBACK_CHARS] for key, part in parts.items()}

    def attribute(self, of: int, name: str) -> Any:
        """Returns the value of an attribute. Raises AttributeError if there is none."""
        reply = self._ask("get", of, name=name)
        if reply.get("is") == "absent":
            if of == 0:
                self.missing.add(name)
            raise AttributeError(f"the candidate has no {name!r}")
        self.provenance.used(of)
        return self._result(reply, of, name)

    def assign(self, of: int, name: str, value: Any) -> None:
        """Sets an attribute of an object."""
        self._result(self._ask("set", of, name=name, value=self._outward(value, of)), of, name)

    def operate(self, op: str, of: int, *args: Any) -> Any:
        """Performs an operation, one of the few that tests may use. Raises StopIteration for `next` at the end."""
        reply = self._ask(op, of, args=[self._outward(arg, of) for arg in args])
        if op == "next" and reply.get("is") == "stop":
            raise StopIteration
        if op in ("truth", "length", "text"):
            self.provenance.used(of)
        return self._result(reply, of, None)

    def call(self, of: int, name: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Calls an object, or an attribute of it. Applies the candidate's changes to the arguments."""
        for module, watched, original in self._watched:
            if getattr(module, watched, None) is not original:
                self.fail("unsupported", f"{module.__name__}.{watched} is replaced: {SHARED}", "tests")
        capture = sys.stdout is not self.stdout
        tagged = [self._outward(arg, of) for arg in args]
        named = {key: self._outward(arg, of) for key, arg in kwargs.items()}
        reply = self._ask("call", of, name=name, args=tagged, kwargs=named, capture=capture)
        with self._checked():
            if "stdout" in reply:
                printed = tagged_codec.decode(reply["stdout"])
                if capture and type(printed) is str:
                    sys.stdout.write(printed)
            after = reply.get("after", {})
            if type(after) is not dict:
                raise tagged_codec.BadFrame("not the arguments")
            for key, changed in after.items():
                old = kwargs[key[1:]] if key[:1] == "=" else args[int(key)]
                new = tagged_codec.decode(changed, self._inward)
                if self.writes_back:
                    restore(old, new)
        result = self._result(reply, of, name)
        number = number_of(result) if is_proxy(result) and reply.get("own") is True else None
        self.provenance.returned(result, number, changed=bool(after), made=name is None and of in self._classes)
        return result

    def function(self, of: int, name: str) -> Callable[..., Any]:
        """Returns the proxy of a function or a method."""
        self.provenance.used(of)

        def proxy(*args: Any, **kwargs: Any) -> Any:
            return self.call(of, name, args, kwargs)

        proxy.__name__ = proxy.__qualname__ = name
        self._functions[proxy] = (of, name)
        return proxy

    # The exchange.

    def _ask(self, op: str, of: int, **fields: Any) -> dict[str, Any]:
        with self._lock:
            self.uses += 1
            self._questions += 1
            question = {"op": op, "of": of, "id": self._questions, **fields}
            if self._lost:
                self.fail("candidate_lost", "the candidate's room is gone")
            try:
                self.channel.send(question)
            except tagged_codec.Uncrossable as fault:
                self._unfit(fault, of)
            except tagged_codec.Lost:
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
        except tagged_codec.Lost:
            self._lose()
        except tagged_codec.BadFrame as fault:
            self._lost = True  # the stream can no longer be trusted
            self.fail("bad_frame", str(fault))

    def _lose(self) -> NoReturn:
        self._lost = True
        self.fail("candidate_lost", "the candidate's process ended while the tests were running")

    def _called(self, request: dict[str, Any]) -> None:
        """Calls a function that a test has passed to the candidate, which sees only the return value."""
        with self._checked():
            function = self._callbacks[_index(request["number"])]
            args = [tagged_codec.decode(arg, self._inward) for arg in request["args"]]
            kwargs = {key: tagged_codec.decode(arg, self._inward) for key, arg in request["kwargs"].items()}
        self._callbacks_left -= 1
        if self._callbacks_left < 0 or self._nesting >= MAX_NESTING:
            self.fail("bad_frame", "too many calls of a function of the tests")
        self._nesting += 1
        try:
            answer = {"value": self._outward(function(*args, **kwargs))}
        except Exception as fault:  # noqa: BLE001 - its message may hold the expected value
            kind = next(parent.__name__ for parent in type(fault).__mro__ if parent.__module__ == "builtins")
            answer = {"raised": kind}
        finally:
            self._nesting -= 1
        try:
            self.channel.send(answer)
        except tagged_codec.Uncrossable as fault:
            self.fail("uncrossable_value", f"what a function of the tests returned: {fault}")
        except tagged_codec.Lost:
            self._lose()

    @contextlib.contextmanager
    def _checked(self) -> Iterator[None]:
        """Around the reading of an answer: any error in its shape is a bad frame."""
        try:
            yield
        except (tagged_codec.BadFrame, LookupError, TypeError, ValueError, AttributeError, RecursionError) as fault:
            self.fail("bad_frame", f"an answer of no known shape ({fault})")

    # Outgoing values.

    def _outward(self, value: Any, of: int = 0) -> tagged_codec.Tagged:
        try:
            return tagged_codec.encode(value, self._reference)
        except tagged_codec.Uncrossable as fault:
            self._unfit(fault, of)

    def _unfit(self, fault: tagged_codec.Uncrossable, of: int = 0) -> NoReturn:
        if of or self._nesting or (fault.unfit and self.received):
            # A candidate can return an object that the test slices like a list, call a test's function with any
            # arguments, or return a value that the test makes too large. None of that may end without a score.
            self.fail("uncrossable_value", f"it had to cross because of what the candidate returned: {fault}")
        self.fail("unsupported", f"an argument cannot cross: {fault}: {SHARED}", "tests")

    def _reference(self, value: Any) -> tagged_codec.Tagged | None:
        """Returns the reference for a value: a proxy's number, a built-in's name, or a function's callback."""
        if is_proxy(value):
            return {"ref": {"thing": number_of(value)}}
        if isinstance(value, ProxyType):
            return {"ref": {"thing": value._rewarden_number}}
        if value is self.provenance.zip:
            return {"ref": {"builtin": "zip"}}
        name = getattr(value, "__name__", None)
        if type(name) is str and getattr(builtins, name, None) is value:
            return {"ref": {"builtin": name}}
        if value in (Proxy, CoroutineProxy):  # `type()` of a proxy
            self.fail("uncrossable_value", "the candidate returned an object where a plain value was expected")
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

    # Incoming values.

    def _inward(self, payload: Any) -> Any:
        return self._thing(_index(payload["thing"]), [])

    def _result(self, reply: dict[str, Any], of: int, name: str | None) -> Any:
        kind = reply.get("is")
        with self._checked():
            if kind == "value":
                self.received = True
                return tagged_codec.decode(reply["value"], self._inward)
            if kind == "thing":
                self.received = True
                lineage = [_index(row[0]) for row in reply["mro"]]
                return self._thing(_index(reply["number"]), lineage, coroutine=reply.get("coroutine") is True)
            if kind == "class":
                return self._class(reply["mro"], reply["base"])
            if kind == "function" and name is not None:
                return self.function(of, name)
            if kind == "import" and of == 0 and name is not None:
                if self._may_import(reply["module"], reply["name"], name):
                    own = importlib.import_module(reply["module"])
                    return own if reply["name"] is None else getattr(own, name)
                reply = {"type": "module"}
                kind = "uncrossable"
            if kind == "raised":
                fault: BaseException = self._raised(reply)
            elif kind == "uncrossable":
                fault = Fault("uncrossable_value", f"a value of type {str(reply['type'])[:100]} cannot cross")
            else:
                raise tagged_codec.BadFrame("no such answer")
        if isinstance(fault, Fault):
            self.fail(fault.kind, str(fault))
        raise fault

    def _thing(self, number: int, lineage: list[int], *, coroutine: bool = False) -> Proxy:
        known = self._things.get(number)
        if known is None:
            known = self._things[number] = make_proxy(self, number, lineage, coroutine=coroutine)
        return known

    def _class(self, lineage: Any, base: Any) -> type:
        """Returns the proxy of a class, or an exception class if `base` names a built-in one."""
        number, name = _index(lineage[0][0]), lineage[0][1]
        known = (self._classes if base is None else self._exceptions).get(number)
        if known is not None:
            return known
        if type(name) is not str:
            raise tagged_codec.BadFrame("not a name")
        if base is None:
            return self._classes.setdefault(
                number, ProxyType(name, (), {"_rewarden_client": self, "_rewarden_number": number})
            )
        return self._exceptions.setdefault(number, self._exception_class(lineage, _exception(base)))

    def _exception_class(self, lineage: Any, base: type[BaseException]) -> type:
        """Returns the class of an exception of the candidate's. All its parents become exceptions here.

        Attack: a parent that is not an exception, so that the tests seem to derive a class from the candidate's.
        """
        parents: tuple[type, ...] = (CandidateError,) if base is Exception else (CandidateError, base)
        if len(lineage) > 1:
            parents = (self._class(lineage[1:], base.__name__),)
        return type(lineage[0][1], parents, {})

    def _may_import(self, module: Any, name: Any, asked: str) -> bool:
        """Returns whether a name that the candidate claims to have imported may be imported here: only if the requested
        name itself determines the module, never by the candidate's choice.
        """
        if name is None and (asked, module) in (("np", "numpy"), ("pd", "pandas")):
            return True
        return module in candidate_room.PLAIN_MODULES and asked == (module if name is None else name)

    def _raised(self, reply: dict[str, Any]) -> BaseException:
        base, lineage = _exception(reply["base"]), reply["mro"]
        message = tagged_codec.decode(reply["message"])
        if type(message) is not str or type(reply["type"]) is not str or type(lineage) is not list:
            raise tagged_codec.BadFrame("not an exception")
        message = message[: candidate_room.MESSAGE_CHARS]
        if not issubclass(base, Exception):
            return Fault("candidate_exit", f"{reply['type'][:100]}: {message}")
        args = [message] if reply["args"] is None else tagged_codec.decode(reply["args"])
        if type(args) is not list:
            raise tagged_codec.BadFrame("not the arguments of an exception")
        if issubclass(base, (StopIteration, StopAsyncIteration)):
            # Raised under map() or all(), it silently ends the comparison early.
            fault = CandidateError(*args)
            fault.text = f"{base.__name__}: {message}"
            return fault
        if not lineage:
            for attempt in (args, [message]):
                with contextlib.suppress(Exception):  # some built-in exceptions need particular arguments
                    return base(*attempt)
        kind = self._class(lineage, base.__name__) if lineage else CandidateError
        if not issubclass(kind, CandidateError):
            raise tagged_codec.BadFrame("not an exception class")
        own = kind.__new__(kind)
        own.lineage = tuple(_index(row[0]) for row in lineage)
        own.args = tuple(args)
        own.text = message
        return own


_WATCHED: list[tuple[types.ModuleType, tuple[str, ...]]] = [
    (builtins, ("input", "open", "print")),
    (random, ("choice", "randint", "random", "shuffle")),
    (sys, ("argv", "stdin")),
    (time, ("monotonic", "perf_counter", "sleep", "time")),
]
"""Names that tests replace. A test that does so means the candidate's copy, which it cannot reach from here."""


def _index(number: Any) -> int:
    if type(number) is not int or not 0 <= number < 1 << 31:
        raise tagged_codec.BadFrame("not a number")
    return number


def _exception(name: Any) -> type[BaseException]:
    kind = getattr(builtins, name)
    if not isinstance(kind, type) or not issubclass(kind, BaseException):
        raise tagged_codec.BadFrame("not an exception")
    return kind


def restore(old: Any, new: Any) -> None:
    """Makes a mutable value equal to another in place, and also its elements that are at the same position or key in
    both. Raises BadFrame if the other has another type.
    """
    kind: Any = type(old)
    if type(new) is not (dict if kind in (defaultdict, OrderedDict) else kind):
        raise tagged_codec.BadFrame("an argument has become something else")
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
        raise tagged_codec.BadFrame("an argument that cannot change")


_MUTABLE = {list, dict, set, tuple, bytearray, deque, defaultdict, OrderedDict, Counter}


def _merged(was: Any, now: Any) -> Any:
    if type(was) not in _MUTABLE:
        return now
    try:
        restore(was, now)
    except tagged_codec.BadFrame:
        return now
    return was
