"""The tests' room's proxies of the candidate's objects: a proxy holds a number, and each use of it sends a question to
the candidate's room.
"""

from __future__ import annotations

from typing import Any, NoReturn, Protocol

from rewarden_sandboxes.agent.faults import SHARED, CandidateError

PRIVATE = ("__", "_mock_", "_pytest")
"""Prefixes of attributes that a proxy never asks for. numpy follows `__array_interface__` to any address in this
process; test runners look for markers of their own, which does not count as use of the candidate."""


class Client(Protocol):
    """The client of the candidate's room, as proxies use it; implemented by `candidate_client.CandidateClient`."""

    def attribute(self, of: int, name: str) -> Any:
        """Returns the value of an attribute."""

    def assign(self, of: int, name: str, value: Any) -> None:
        """Sets an attribute."""

    def operate(self, op: str, of: int, *args: Any) -> Any:
        """Returns the result of an operator."""

    def call(self, of: int, name: str | None, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Returns the result of a call."""

    def fail(self, kind: str, message: str, who: str = "candidate") -> NoReturn:
        """Ends the test."""


class Proxy:
    """An object of the candidate's that did not cross. Tests may call it, iterate over it, await it, use its `str`,
    truth value, length and items, and read and set its attributes. Comparing it or computing with it is the candidate's
    fault: the test expected a plain value.
    """

    __slots__ = ("__client", "__lineage", "__number", "__weakref__")

    def __getattr__(self, name: str) -> Any:
        if name.startswith(PRIVATE):
            raise AttributeError(name)
        return self.__client.attribute(self.__number, name)

    def __setattr__(self, name: str, value: Any) -> None:
        self.__client.assign(self.__number, name, value)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.__client.call(self.__number, None, args, kwargs)

    def __iter__(self) -> Any:
        return self.__client.operate("iterate", self.__number)

    def __next__(self) -> Any:
        return self.__client.operate("next", self.__number)

    def __await__(self) -> Any:
        return self.__client.operate("await", self.__number)
        yield  # makes this a generator, as `await` requires

    def __str__(self) -> Any:
        return self.__client.operate("text", self.__number)

    def __bool__(self) -> Any:
        return self.__client.operate("truth", self.__number)

    def __len__(self) -> Any:
        return self.__client.operate("length", self.__number)

    def __getitem__(self, key: Any) -> Any:
        return self.__client.operate("item", self.__number, key)

    def __repr__(self) -> str:
        return f"<thing {self.__number} of the candidate>"

    def __hash__(self) -> Any:
        return self.__number

    def __eq__(self, other: object) -> Any:
        return True if self is other else _refuse(self)


class CoroutineProxy(Proxy):
    """A coroutine of the candidate's. Event loops accept it as one: `asyncio.run(f())`, `gather(f(), g())`. It finishes
    in its first step, because the other room runs all of it.
    """

    __slots__ = ()

    def send(self, value: Any) -> NoReturn:
        """Runs it in the other room."""
        client: Client = object.__getattribute__(self, "_Proxy__client")
        raise StopIteration(client.operate("await", number_of(self)))

    def __next__(self) -> NoReturn:
        self.send(None)  # event loops call this if it exists

    def throw(self, *fault: Any) -> NoReturn:
        """Raises the exception: no code of the coroutine runs here that could catch it."""
        raise fault[-1] if isinstance(fault[-1], BaseException) else fault[0]

    def close(self) -> None:
        """Does nothing: no code of the coroutine runs here."""


def is_proxy(value: Any) -> bool:
    """Returns whether a value is a proxy of an object of the candidate's, whatever its attributes say."""
    return type(value) in (Proxy, CoroutineProxy)


def make_proxy(client: Client, number: int, lineage: list[int], *, coroutine: bool = False) -> Proxy:
    thing = CoroutineProxy() if coroutine else Proxy()
    for name, value in (("client", client), ("number", number), ("lineage", lineage)):
        object.__setattr__(thing, "_Proxy__" + name, value)
    return thing


def number_of(thing: Proxy) -> int:
    return object.__getattribute__(thing, "_Proxy__number")  # type: ignore[no-any-return]


def _refuse(thing: Proxy, *others: Any) -> NoReturn:
    client: Client = object.__getattribute__(thing, "_Proxy__client")
    client.fail("uncrossable_value", "the candidate returned an object where a plain value was expected")


_REFUSED = """
    lt le gt ge contains add radd sub rsub mul rmul matmul rmatmul truediv rtruediv floordiv rfloordiv mod rmod divmod
    rdivmod pow rpow lshift rlshift rshift rrshift and rand or ror xor rxor neg pos abs invert int float complex index
    round trunc floor ceil bytes setitem delitem reversed enter exit
"""

for _name in _REFUSED.split():
    setattr(Proxy, f"__{_name}__", _refuse)


class ProxyType(type):
    """The metaclass of the proxies of the candidate's classes. Calling one makes an object in the other room."""

    _rewarden_client: Client
    _rewarden_number: int

    def __new__(mcs, name: str, bases: tuple[type, ...], namespace: dict[str, Any]) -> ProxyType:
        if bases:
            client: Client = bases[0]._rewarden_client  # type: ignore[attr-defined]
            client.fail("unsupported", f"a class of the tests derives from one of the candidate's: {SHARED}", "tests")
        return super().__new__(mcs, name, bases, namespace)

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        return cls._rewarden_client.call(cls._rewarden_number, None, args, kwargs)

    def __getattr__(cls, name: str) -> Any:
        if name.startswith(PRIVATE):
            raise AttributeError(name)
        return cls._rewarden_client.attribute(cls._rewarden_number, name)

    def __setattr__(cls, name: str, value: Any) -> None:
        cls._rewarden_client.assign(cls._rewarden_number, name, value)

    def __instancecheck__(cls, instance: Any) -> bool:
        if isinstance(instance, CandidateError):
            return cls._rewarden_number in instance.lineage
        return is_proxy(instance) and cls._rewarden_number in object.__getattribute__(instance, "_Proxy__lineage")
