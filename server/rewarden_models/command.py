"""The command of the model process: models of one device in a process of their own."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import json
import logging
import os
import resource
import signal
import socket
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import uvicorn
import uvloop

from rewarden_models.adapter import locate_here, onto
from rewarden_models.app import App
from rewarden_models.checkpoint import check
from rewarden_models.failure import Failure
from rewarden_models.http_server import HttpServer
from rewarden_models.settings import ProcessSettings, settings_from_json
from rewarden_sandboxes.stale import remove_stale

_BACKLOG = 2048
_PR_SET_PDEATHSIG = 1
_OOM_SCORE = "500"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")

_log = logging.getLogger(__name__)


def main(arguments: list[str] | None = None) -> int:
    """Serve until SIGTERM, or check. Exit code 2: the settings are invalid, or it cannot listen."""
    parser = argparse.ArgumentParser(prog="rewarden models serve", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--address", help="unix:PATH or HOST:PORT")
    action.add_argument("--check", action="store_true", help="load nothing; print what would be refused, as JSON")
    parser.add_argument("--settings", default="{}", help="JSON object of settings")
    parser.add_argument("--tied", action="store_true", help="end when standard input does")
    given = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(levelname)s %(message)s", stream=sys.stderr)
    for library in ("httpx", "httpcore", "urllib3", "filelock"):
        logging.getLogger(library).setLevel(logging.WARNING)
    try:
        settings = settings_from_json(given.settings)
        if given.check:
            print(json.dumps(refusals(settings)))
            return 0
        serve(settings, given.address, tied=given.tied)
    except (OSError, ValueError) as error:
        print(f"rewarden models serve: {error}", file=sys.stderr)
        return 2
    return 0


def refusals(settings: ProcessSettings) -> dict[str, str | None]:
    """By model: why loading would refuse its files before it reads the weights, or None. Models whose files are not
    here yet are left out."""
    found: dict[str, str | None] = {}
    for name, model in settings.models.items():
        try:
            located = locate_here(model)
            if located is not None:
                folder, adapter = located
                checkpoint = check(folder, model.head)
                if adapter is not None:
                    onto(adapter, checkpoint)
                found[name] = None
        except Failure as failure:
            found[name] = failure.message
        except OSError as error:
            found[name] = f"{model.model}: {error.strerror or error}"
    return found


def serve(
    settings: ProcessSettings,
    address: str,
    *,
    tied: bool = False,
    make: Callable[[ProcessSettings, str | None], App] = App,
) -> None:
    """Serve at `unix:PATH` or `HOST:PORT` until SIGTERM or SIGINT, then exit at once.

    Prints one line on standard output once it answers; models load in the meantime. tied: also exit when standard input
    closes, which is how it notices that the server that started it is gone, even by SIGKILL. make: builds the app from
    these settings and the key. Raises OSError if it cannot listen there, ValueError for an invalid address or a key
    that is not set.
    """
    key = None
    if settings.key_env is not None:
        key = os.environ.get(settings.key_env)
        if not key:
            raise ValueError(f"the environment variable {settings.key_env}, which must hold the key, is not set")
    listener = _listen(address)
    if key is None and not address.startswith("unix:") and _split(address)[0] not in _LOOPBACK:
        _log.warning("no key: open to everyone who can reach %s; give it a key (--key-env NAME)", address)
    path = Path(address.removeprefix("unix:")) if address.startswith("unix:") else None
    if tied:
        _tie(path)
    _use_all_descriptors()
    loop = uvloop.new_event_loop()  # not `run`, which waits for the executors' threads
    asyncio.set_event_loop(loop)
    loop.run_until_complete(_serve(lambda: make(settings, key), address, listener))
    _remove(path, tied)
    sys.stdout.flush()
    # Skip the interpreter's shutdown, which would wait for threads that compute.
    os._exit(0)


async def _serve(make: Callable[[], App], address: str, listener: socket.socket) -> None:
    made = make()
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    server = HttpServer(
        uvicorn.Config(
            made,
            http="httptools",
            ws="none",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            backlog=_BACKLOG,
            timeout_keep_alive=75,
            timeout_graceful_shutdown=1,
        )
    )
    serving = asyncio.ensure_future(server.serve(sockets=[listener]))
    await server.listening.wait()
    made.start()
    if not address.startswith("unix:"):  # with the real port
        address = f"http://{address.rpartition(':')[0]}:{listener.getsockname()[1]}"
    print(f"model process serves at {address}", flush=True)
    await stop.wait()
    await made.stop()
    server.should_exit = True
    await serving


def _split(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix("http://").rstrip("/").rpartition(":")
    if not host or not port.isdigit() or int(port) > 65535:
        raise ValueError(f"an address must be unix:PATH or HOST:PORT, not {address!r}")
    return host.strip("[]"), int(port)


def _listen(address: str) -> socket.socket:
    place: str | tuple[str, int]
    if address.startswith("unix:"):
        path = Path(address.removeprefix("unix:"))
        if not remove_stale(path):
            raise OSError(f"another process is already serving at {path}")
        listener, place = socket.socket(socket.AF_UNIX), str(path)
    else:
        place = _split(address)
        listener = socket.socket(socket.AF_INET6 if ":" in place[0] else socket.AF_INET)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    # No other user of this machine may connect to the path: the umask leaves no moment between the bind and a chmod.
    before = os.umask(0o177)
    try:
        listener.bind(place)
    except OSError as error:
        raise OSError(f"cannot listen on {address.removeprefix('unix:')}: {error.strerror or error}") from None
    finally:
        os.umask(before)
    listener.listen(_BACKLOG)
    return listener


def _use_all_descriptors() -> None:
    """Raise the soft limit on open files to the hard limit: every connection takes a descriptor, also those to another
    engine."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _remove(path: Path | None, tied: bool) -> None:
    if path is not None:
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True)
            if tied:  # the folder was made for this socket alone
                path.parent.rmdir()


def _tie(path: Path | None) -> None:
    """Exit along with the process that started this one: at once when standard input closes (a thread watches, since
    the loop may be busy), and soon after through the kernel, where not even a thread can run. If memory runs out, this
    process is killed before the server."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        _remove(path, True)
        os._exit(0)

    threading.Thread(target=watch, name="tied", daemon=True).start()
    with contextlib.suppress(OSError, AttributeError):
        libc = ctypes.CDLL(None)
        # The handler is C's `alarm`, which runs without Python: called with the signal's number (12), it ends the
        # process after that many seconds if the thread above has not. The kernel watches the thread that started this
        # process; if that one is already gone, standard input has closed too.
        libc.signal.argtypes = (ctypes.c_int, ctypes.c_void_p)
        libc.signal.restype = ctypes.c_void_p
        libc.signal(signal.SIGUSR2, ctypes.cast(libc.alarm, ctypes.c_void_p))
        libc.prctl(_PR_SET_PDEATHSIG, int(signal.SIGUSR2), 0, 0, 0)
    with contextlib.suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text(_OOM_SCORE)
