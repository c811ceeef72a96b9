"""A zygote: a warm interpreter that clones a program for each run, and never holds a byte of any request.

It receives descriptors with a letter for each, and only the room reads from them. The memory that a run is forked with
therefore holds no secret of another run. Each tier of zygote has imported a different set of libraries. The namespace
init forks the zygotes: the supervisor reads requests, so no program may descend from it.
"""

from __future__ import annotations

import atexit
import errno
import gc
import importlib
import io
import os
import signal
import socket
import sys
import types
from typing import Any

from rewarden_sandboxes.agent import room

_MODES = "rewarden_sandboxes.agent.modes"

_FILES = "rewarden_sandboxes.agent.box_files"
_ROOT = "rewarden_sandboxes.agent.box_root"

CROWDED = b"F"
"""The answer where no process can be made any more."""

_NUMPY = ("numpy", "numpy.linalg", "numpy.random")

TIERS: dict[str, tuple[str, ...]] = {
    "bare": (),
    "modes": (_MODES,),
    "numpy": (_MODES, *_NUMPY),
    "scientific": (_MODES, *_NUMPY, "scipy", "scipy.linalg", "pandas", "sympy", "networkx"),
    "box": (_FILES, _ROOT),
    "pytest": (_MODES, "pytest", "_pytest.assertion.rewrite", "unittest", "unittest.mock"),
}
"""Tiers, and the modules that each imports in addition to the everyday ones."""

# Without threading, whose fork hook costs every run half a millisecond, and hashlib, which loads OpenSSL.
_EVERYDAY = (
    *("abc", "array", "ast", "bisect", "builtins", "cmath", "collections", "collections.abc", "contextlib", "copy"),
    *("dataclasses", "datetime", "decimal", "enum", "fractions", "functools", "heapq", "inspect", "io", "itertools"),
    *("json", "linecache", "math", "numbers", "operator", "random", "re", "string", "struct", "textwrap", "time"),
    *("traceback", "types", "typing", "unicodedata"),
)


def import_everyday() -> None:
    """Imports the modules that every tier has."""
    for name in _EVERYDAY:
        __import__(name)


def main(channel: socket.socket, uid: int, gid: int, tier: str) -> None:
    """Serves until the supervisor is gone. Never returns. Programs inherit the supervisor's environment."""
    missing = [name for name in TIERS[tier] if not _import(name)]
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    gc.collect()
    gc.freeze()  # otherwise a collection touches, and so copies, every page in every room
    gc.disable()
    channel.send(("M" + " ".join(missing)).encode())
    while True:
        message, numbers, _, _ = socket.recv_fds(channel, 64, 12)
        if not message:
            os._exit(0)
        try:
            _do(message, numbers, channel, uid, gid)
        except OSError as error:
            channel.send(CROWDED if error.errno == errno.EAGAIN else f"X{error}".encode())
        finally:
            for number in numbers:
                os.close(number)


def _do(message: bytes, numbers: list[int], channel: socket.socket, uid: int, gid: int) -> None:
    mask, _, init = message.decode().partition("/")
    if init and int(init):
        room.enter(int(init))
    pid = room.clone(room.SIBLING)
    if pid == 0:
        channel.close()
        room.live(room.Files(mask, numbers), uid, gid, run_python, _build, alone=not init)
    channel.send(b"P%d" % pid)


def _build(header: dict[str, Any], status: socket.socket, uid: int, gid: int) -> None:
    importlib.import_module(_ROOT).build(header, status, uid, gid)


def _import(name: str) -> bool:
    try:
        __import__(name)
    except Exception:  # noqa: BLE001 - a broken package in the image: reported, and the tier does without
        return False
    return True


# --- in the locked room --------------------------------------------------------------------------------------------


def run_python(header: dict[str, Any], blobs: bytes) -> int:
    """Runs a Python program in this process, as `python3 main.py` would. Returns the exit code."""
    code = _part(blobs, header["code"])
    sys.argv = list(header["argv"])
    sys.path.insert(0, os.getcwd() if header["mode"] == "script" else room.BOX)
    # A dying program must not leave its error message in a buffer.
    unbuffered = open(2, "wb", buffering=0, closefd=False)  # noqa: SIM115
    printing: io.TextIOWrapper = open(1, "w", encoding="utf-8", errors="surrogateescape", closefd=False)  # noqa: SIM115
    if header["unbuffered"]:  # as `python3 -u` does
        raw = open(1, "wb", buffering=0, closefd=False)  # noqa: SIM115
        printing = io.TextIOWrapper(raw, encoding="utf-8", errors="surrogateescape", write_through=True)
    for name, stream in (
        ("stdin", open(0, encoding="utf-8", errors="surrogateescape", closefd=False)),  # noqa: SIM115
        ("stdout", printing),
        ("stderr", io.TextIOWrapper(unbuffered, encoding="utf-8", errors="backslashreplace", write_through=True)),
    ):
        setattr(sys, name, stream)
        setattr(sys, "__" + name + "__", stream)
    if "numpy.random" in sys.modules:
        sys.modules["numpy.random"].seed()  # otherwise every fork draws the same numbers
    gc.enable()  # the zygote's objects stay frozen: a collection copies all of their pages
    mode = header["mode"]
    if mode == "script":
        return _finish(_script(header["argv"][0], code))
    if mode == "files":
        return _finish(importlib.import_module(_FILES).main(_part(blobs, header["request"])))
    modes = importlib.import_module(_MODES)  # warm in every tier but the bare one
    channel, reply = (3 if header["channel"] else -1), (4 if header["reply"] else -1)
    return _finish(modes.MODES[mode](code, _part(blobs, header["request"]), channel, reply))


def _part(blobs: bytes, place: list[int]) -> bytes:
    return blobs[place[0] : place[0] + place[1]]


def _script(name: str, code: bytes) -> int:
    module = types.ModuleType("__main__")
    module.__file__ = os.path.join(sys.path[0], name)
    module.__builtins__ = __builtins__  # type: ignore[attr-defined]
    sys.modules["__main__"] = module
    try:
        exec(compile(code, module.__file__, "exec", dont_inherit=True), module.__dict__)  # noqa: S102 - a locked room
    except SystemExit as error:
        return _exit_code(error)
    except BaseException as error:  # noqa: BLE001 - an uncaught exception ends the program, as in any interpreter
        trace = error.__traceback__
        error.__traceback__ = trace.tb_next if trace is not None else None  # hide our own frame
        sys.excepthook(type(error), error, error.__traceback__)
        return 1
    return 0


def _exit_code(error: SystemExit) -> int:
    if error.code is None:
        return 0
    if isinstance(error.code, int):
        return error.code
    print(error.code, file=sys.stderr)
    return 1


def _finish(code: int) -> int:
    """Shuts down as an interpreter does: threads, exit functions, buffers. Returns the exit code."""
    try:
        if "threading" in sys.modules:
            sys.modules["threading"]._shutdown()
        atexit._run_exitfuncs()
    except SystemExit as error:
        code = _exit_code(error)
    except BaseException:  # noqa: BLE001
        code = code or 1
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except ValueError:
            pass  # closed by the program
        except Exception:  # noqa: BLE001 - the reader is gone
            code = code or 120
    return code
