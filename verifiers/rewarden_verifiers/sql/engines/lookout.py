"""A thread that watches an operation in a database, and ends it if it takes too much."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def lookout(watch: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs `watch` in a thread beside the block. At the block's end, its event is set and the thread is joined."""
    done = threading.Event()
    thread = threading.Thread(target=watch, args=(done,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
