"""Frozen dataclasses that are made thousands of times a second.

The `__init__` of a frozen dataclass sets each field through `object.__setattr__`, which takes most of the time of
reading a sample or a verdict. The one that is written here sets the fields by plain assignments while the object has
the class of a draft: CPython lets an object change between classes of equal layout. This takes less than a third of the
time, and results in the same object.
"""

from __future__ import annotations

from dataclasses import MISSING, fields
from typing import Any, TypeVar

T = TypeVar("T")


def quick_init(made: type[T]) -> type[T]:
    """Gives a frozen dataclass with slots and without positional arguments a faster `__init__`. Its subclasses need
    one of their own, as dataclasses have."""
    (base,) = made.__bases__
    slots: Any = made.__dict__["__slots__"]
    plain = {"__slots__": slots, "__setattr__": object.__setattr__, "__delattr__": object.__delattr__}
    names: dict[str, Any] = {"made": made, "draft": type("Draft", (base,), plain), "become": object.__setattr__}
    names["missing"] = MISSING
    arguments, lines = [], ["become(self, '__class__', draft)"]
    for item in fields(made):  # type: ignore[arg-type]
        name, value = item.name, item.name
        if item.default is not MISSING:
            names[f"default_{name}"] = item.default
            arguments.append(f"{name}=default_{name}")
        elif item.default_factory is not MISSING:
            names[f"make_{name}"] = item.default_factory
            arguments.append(f"{name}=missing")
            value = f"make_{name}() if {name} is missing else {name}"
        else:
            arguments.append(name)
        lines.append(f"self.{name} = {value}")
    lines.append("self.__class__ = made")
    body = "\n    ".join(lines)
    exec(f"def __init__(self, *, {', '.join(arguments)}):\n    {body}", names)  # noqa: S102 - as dataclasses do
    quick = names["__init__"]
    quick.__qualname__ = f"{made.__qualname__}.__init__"
    quick.__module__ = made.__module__
    quick.__annotations__ = made.__init__.__annotations__
    made.__init__ = quick  # type: ignore[method-assign]
    return made
