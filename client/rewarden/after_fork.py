"""Fresh starts in the child of a fork, where the parent's threads, locks and connections are of no use.

Flake: when each call compared process ids, one thread of the child used the parent's connection while another one was
replacing it, and waited forever. The start here comes before the child can have a second thread.
"""

from __future__ import annotations

import os
import weakref
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")

_parents: list[dict[str, Any]] = []
"""The parent's objects, which are kept: their ends would use connections that are still the parent's."""
_starts: weakref.WeakKeyDictionary[Any, Callable[[Any], None]] = weakref.WeakKeyDictionary()


def start_in_child(owner: T, start: Callable[[T], None]) -> None:
    """Has `start` called with this object in every child that is forked while it lives."""
    _starts[owner] = start


def _start_all() -> None:
    for owner, start in list(_starts.items()):
        _parents.append(dict(vars(owner)))
        start(owner)


if hasattr(os, "register_at_fork"):  # not on Windows, which has no forks
    os.register_at_fork(after_in_child=_start_all)
