"""A thread beside whatever is under way in a database: it looks on, and ends what takes too much."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator


@contextlib.contextmanager
def lookout(watch: Callable[[threading.Event], None]) -> Iterator[None]:
    """Runs `watch` in a thread beside the block. The event that it is given is set at the block's end, and then it is
    waited for.
    """
    done = threading.Event()
    thread = threading.Thread(target=watch, args=(done,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()
