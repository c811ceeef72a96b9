"""Private database servers for tests: made in a temporary folder, reached over a unix socket, gone afterwards."""

from __future__ import annotations

import contextlib
import getpass
import os
import pwd
import secrets
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
import pymysql

START_S = 60.0
"""Seconds that a server has to answer its first connection."""


class Unavailable(Exception):
    """There is no server to be had here; says why."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server.

    dsn: for a role with the rights that `[sql]` asks for, and no more. admin: for one that may do anything, with which
    tests look at what the other does.
    """

    dsn: str
    admin: str


@contextlib.contextmanager
def postgres() -> Iterator[Server]:
    """A PostgreSQL cluster. Raises Unavailable; RuntimeError where it is installed and does not start."""
    programs = [found.parent for found in Path("/usr/lib/postgresql").glob("*/bin/initdb")]
    found = shutil.which("initdb")
    if found is not None:
        programs.insert(0, Path(found).parent)
    if not programs:
        raise Unavailable("initdb is not installed (Debian: postgresql)")
    programs.sort()
    bin, password = programs[-1], secrets.token_hex(8)
    with _folder("rewarden-pg-", "postgres") as (folder, user):
        secret = folder / "password"
        secret.write_text(password)
        secret.chmod(0o644)
        data = folder / "data"
        initdb: list[str | Path] = [
            bin / "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "--pwfile",
            secret,
            "--auth=scram-sha-256",
        ]
        _run([*initdb, "--encoding=UTF8", "--locale=C.UTF-8", "--no-sync"], user)
        settings = {
            "listen_addresses": "",
            "unix_socket_directories": str(folder),
            "fsync": "off",
            "synchronous_commit": "off",
            "full_page_writes": "off",
            "shared_buffers": "32MB",
            "max_connections": "100",
            "wal_level": "minimal",
            "max_wal_senders": "0",
        }
        options = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        admin = f"postgresql://postgres:{password}@/postgres?host={quote(str(folder), safe='')}"

        def ready() -> None:
            with psycopg.connect(admin, autocommit=True) as connection:
                connection.execute(f"CREATE ROLE rewarden LOGIN CREATEDB NOSUPERUSER PASSWORD '{password}'")

        # An immediate stop (SIGQUIT): the folder goes anyway.
        with _running([bin / "postgres", "-D", data, *options], user, folder, signal.SIGQUIT, ready, psycopg.Error):
            yield Server(admin.replace("//postgres:", "//rewarden:"), admin)


@contextlib.contextmanager
def mysql() -> Iterator[Server]:
    """A MariaDB server. Raises Unavailable; RuntimeError where it is installed and does not start."""
    path = f"{os.environ.get('PATH', '')}:/usr/sbin"
    install = shutil.which("mariadb-install-db", path=path)
    program = shutil.which("mariadbd", path=path)
    if install is None or program is None:
        raise Unavailable("mariadbd is not installed (Debian: mariadb-server)")
    password = secrets.token_hex(8)
    with _folder("rewarden-my-", "mysql") as (folder, user):
        data, socket = folder / "data", folder / "socket"
        # Not /tmp: a server that starts deletes all `#sql` files there, so another's temporary tables as well.
        temporary = folder / "tmp"
        temporary.mkdir()
        if user is not None:
            shutil.chown(temporary, user)
        places = ["--no-defaults", f"--datadir={data}", f"--tmpdir={temporary}"]
        if user is not None:
            places.append(f"--user={user}")
        _run([install, *places, "--auth-root-authentication-method=normal", "--skip-test-db"], None)
        options = (
            f"--socket={socket}",
            f"--pid-file={folder / 'pid'}",
            "--skip-networking",
            "--innodb-buffer-pool-size=32M",
            "--innodb-flush-log-at-trx-commit=0",
            "--innodb-doublewrite=0",
            "--innodb-log-file-size=8M",
            "--max-connections=100",
        )
        opened = f"unix_socket={quote(str(socket), safe='')}"

        def ready() -> None:
            connection = pymysql.connect(user="root", unix_socket=str(socket))
            with connection, connection.cursor() as cursor:
                cursor.execute(f"CREATE USER rewarden@localhost IDENTIFIED BY '{password}'")
                cursor.execute("GRANT ALL PRIVILEGES ON `rewarden\\_%`.* TO rewarden@localhost")

        with _running([program, *places, *options], None, folder, signal.SIGKILL, ready, pymysql.Error):
            yield Server(f"mysql://rewarden:{password}@localhost/?{opened}", f"mysql://root@localhost/?{opened}")


@contextlib.contextmanager
def _folder(prefix: str, account: str) -> Iterator[tuple[Path, str | None]]:
    """A folder, and the account as which a server must run in it: servers refuse to run as root."""
    user = None
    folder = Path(tempfile.mkdtemp(prefix=prefix, dir="/tmp"))  # the path of a unix socket has 107 bytes at most
    try:
        folder.chmod(0o755)
        if os.geteuid() == 0:
            try:
                pwd.getpwnam(account)
            except KeyError:
                raise Unavailable(f"there is no account {account!r}, and {getpass.getuser()} may not run it") from None
            user = account
            shutil.chown(folder, account)
        yield folder, user
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _started_by(user: str | None, *flags: str) -> list[str]:
    """The prefix of a command that runs as another user. With `user` or `preexec_fn`, subprocess would fork this
    process instead of spawning, and gRPC's fork handlers, once it has threads here, kill initdb before it begins.
    """
    if user is not None:
        account = pwd.getpwnam(user)
        flags = (f"--reuid={account.pw_uid}", f"--regid={account.pw_gid}", "--init-groups", *flags)
    if not flags:
        return []
    setpriv = shutil.which("setpriv")
    if setpriv is None:
        raise Unavailable("setpriv is not installed (Debian: util-linux)")
    return [setpriv, *flags]


def _run(command: Sequence[str | Path], user: str | None) -> None:
    """Run a command to its end. Raises RuntimeError if it fails: the server is installed, so tests must not skip."""
    whole = [*_started_by(user), *command]
    done = subprocess.run(whole, cwd="/", capture_output=True, text=True, timeout=120)
    if done.returncode != 0:
        raise RuntimeError(f"{Path(command[0]).name}: {(done.stderr or done.stdout).strip()[-300:]}")


@contextlib.contextmanager
def _running(
    command: Sequence[str | Path],
    user: str | None,
    folder: Path,
    stop: signal.Signals,
    ready: Callable[[], None],
    failing: type[Exception],
) -> Iterator[None]:
    log = folder / "log"
    # No server outlives a test run that was killed.
    whole = [*_started_by(user, f"--pdeathsig={stop.name}"), *command]
    with (
        log.open("wb") as output,
        subprocess.Popen(whole, cwd="/", stdin=subprocess.DEVNULL, stdout=output, stderr=output) as process,
    ):
        try:
            until = time.monotonic() + START_S
            while True:
                try:
                    ready()
                    break
                except failing as error:
                    if process.poll() is not None or time.monotonic() > until:
                        said = log.read_text(errors="replace")[-300:]
                        raise RuntimeError(f"{Path(command[0]).name} does not start: {error}; {said}") from None
                    time.sleep(0.05)
            yield
        finally:
            process.send_signal(stop)
            process.wait(30)
