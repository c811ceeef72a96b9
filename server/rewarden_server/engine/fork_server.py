"""The fork server: a warm, single-threaded process from which cpu workers are forked in two milliseconds.

It has imported everything that is slow to import (in a server also SymPy, which takes 0.6 s) and nothing that starts
threads. The engine requests a worker by sending a message with the worker's socket, and receives the process id. When
the engine exits, the control socket closes, the fork server exits, and the kernel ends the workers (PR_SET_PDEATHSIG).
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import json
import os
import signal
import socket
import sys
import traceback
from typing import Any

_PR_SET_PDEATHSIG = 1


def warm(names: list[str], preload: bool) -> list[str]:
    """Loads the named verifiers and runs their `warm` hooks; with `preload`, also what few items need. Returns the
    names that it loaded: broken or missing verifiers are skipped, and reported when they are used."""
    from rewarden.errors import SampleError
    from rewarden_verifiers.registry import Registry

    registry = Registry()
    loaded = []
    for name in names:
        try:
            spec = registry.get(name)
        except SampleError:
            continue  # callers of this verifier get the error; the other verifiers still get workers
        if spec.warm is not None:
            spec.warm()
        if preload and spec.preload is not None:
            spec.preload()
        loaded.append(name)
    return loaded


def main() -> None:
    """Serves fork requests on the control socket, whose descriptor is the first argument."""
    control = socket.socket(fileno=int(sys.argv[1]))
    settings: dict[str, Any] = json.loads(sys.argv[2])
    sys.path[:] = settings["path"]  # finds verifiers in the same places as the engine
    for name in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(name, "1")  # a worker has one core, and threads do not survive the fork
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the engine handles Ctrl-C
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # the kernel reaps workers
    libc = ctypes.CDLL(None, use_errno=True)

    from rewarden_server.engine import worker
    from rewarden_server.engine.shared_progress import SharedProgress

    loaded = warm(settings["warm"], settings["preload"])
    gc.collect()
    gc.freeze()  # keeps the warm heap shared after the fork
    board = SharedProgress(int(sys.argv[3]), settings["rows"])
    try:
        control.sendall(b"ready\n")
    except BrokenPipeError:  # the engine started this process early, and was closed before it needed a worker
        os._exit(0)
    while True:
        try:
            data, descriptors, _, _ = socket.recv_fds(control, 64, 1)
        except ConnectionResetError:
            data = b""
        if not data:
            os._exit(0)
        row, nice = (int(part) for part in data.decode().split())
        pid = os.fork()
        if pid == 0:
            libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            control.close()
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            if nice:
                os.nice(nice)
            code = 1
            try:
                worker.serve(socket.socket(fileno=descriptors[0]), board, row, settings["memory_mb"], loaded)
                code = 0
            except BaseException:  # noqa: BLE001 - a worker's last message; the engine handles its death
                traceback.print_exc()
            finally:
                os._exit(code)
        os.close(descriptors[0])
        with contextlib.suppress(BrokenPipeError):  # the engine has exited; the next receive shows that
            control.sendall(f"{pid}\n".encode())


if __name__ == "__main__":
    main()
