"""`rewarden box`: opens boxes on a server, runs programs in them, and copies files to and from them.

Output of programs is passed on as it comes: unchanged to a file or a pipe, escaped on a terminal.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path, PurePosixPath
from typing import Any

from rewarden.boxes.blocking import Box
from rewarden.boxes.types import BoxInfo, ExecResult
from rewarden.boxes.wire import to_json
from rewarden.client import Client
from rewarden.commands.connection import add_connection_arguments, open_client
from rewarden.commands.program_end import exit_code_of
from rewarden.commands.terminal import add_examples, one_line, pass_on, say
from rewarden.errors import InvalidRequest
from rewarden.wire.json import dumps

HELP = "open a sandbox that stays open between commands, run programs in it, and copy files"

_EPILOG = """\
examples:
  rewarden box run python -- python3 -c 'print(1)'
  BOX=$(rewarden box open python --ttl 600)
  rewarden box put $BOX solution.py
  rewarden box exec $BOX -- python3 solution.py
  rewarden box close $BOX

exit status: of `run` and `exec`, the program's own, as for `rewarden run`; otherwise
  0  done
  1  failed: no server, no room, the box has ended; of `notebook`, a cell failed
  2  refused: arguments, an unknown box or file
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")

    one = commands.add_parser("run", help="open a box, run a program in it, and close it")
    _add_opening(one)
    one.add_argument("--put", action="append", default=[], metavar="FILE[=PATH]", help="copy a file in (repeatable)")
    _add_program(one)
    _finish(one, _run, "rewarden box run python --put main.py -- python3 main.py")

    one = commands.add_parser("open", help="open a box and print its id")
    _add_opening(one)
    _finish(one, _open, "rewarden box open python --ttl 600 --rollout r-17")

    one = commands.add_parser("exec", help="run a program in a box")
    _add_box(one)
    _add_program(one)
    _finish(one, _exec, "rewarden box exec box-0123 -- ls -l /tmp/box")

    one = commands.add_parser("notebook", help="run cells in a new notebook in a box, and stop at the first that fails")
    _add_box(one)
    one.add_argument("cells", nargs="+", metavar="CELL", help="the code of a cell; - reads one from standard input")
    one.add_argument("--kernel", default="python", help="its language, such as bash or javascript (default: python)")
    one.add_argument("--cell-timeout", type=float, metavar="S", help="seconds for each cell (default: the server's)")
    _finish(one, _notebook, "rewarden box notebook box-0123 'x = 20' 'x + 1'")

    one = commands.add_parser("put", help="copy a file into a box")
    _add_box(one)
    one.add_argument("file", help="the file; - reads standard input")
    one.add_argument("path", nargs="?", help="its path in the box (default: its name, in /tmp/box)")
    _finish(one, _put, "rewarden box put box-0123 main.py src/main.py")

    one = commands.add_parser("get", help="copy a file out of a box")
    _add_box(one)
    one.add_argument("path", help="the file's path in the box")
    one.add_argument("file", nargs="?", default="-", help="where to put it (default: standard output)")
    _finish(one, _get, "rewarden box get box-0123 result.json result.json")

    one = commands.add_parser("ls", help="list a folder of a box")
    _add_box(one)
    one.add_argument("path", nargs="?", default=".", help="the folder (default: /tmp/box)")
    one.add_argument("--depth", type=int, default=1, metavar="N", help="levels of folders (default: 1)")
    one.add_argument("--json", action="store_true", help="print JSON")
    _finish(one, _ls, "rewarden box ls box-0123 src --depth 2")

    one = commands.add_parser("list", help="list the open boxes of the key")
    one.add_argument("--json", action="store_true", help="print JSON")
    _finish(one, _list, "rewarden box list")

    one = commands.add_parser("close", help="close boxes")
    one.add_argument("boxes", nargs="+", metavar="BOX", help="the ids of the boxes")
    _add_lease(one)
    _finish(one, _close, "rewarden box close box-0123")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status of the subcommand."""
    with open_client(args) as client:
        status: int = args.does(args, client)
    return status


def _finish(parser: argparse.ArgumentParser, does: Any, *examples: str) -> None:
    add_connection_arguments(parser)
    parser.set_defaults(does=does)
    add_examples(parser, *examples)


def _add_opening(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("image", help="a tier of images, such as python")
    parser.add_argument(
        "--ttl", type=float, metavar="S", help="seconds until the box is closed (default: the server's)"
    )
    parser.add_argument("--idle", type=float, metavar="S", help="seconds without a request until it is closed")
    parser.add_argument("--rollout", metavar="NAME", help="your name for the rollout")
    parser.add_argument("--snapshot", metavar="ID", help="start from a snapshot's file system")
    parser.add_argument(
        "--network", action="append", metavar="HOST[:PORT]", help="a host that it may reach (repeatable)"
    )
    parser.add_argument(
        "--limit", action="append", default=[], metavar="NAME=N", help="a limit, such as memory_mb=256 (repeatable)"
    )
    parser.add_argument("--env", action="append", default=[], metavar="NAME=TEXT", help="a variable (repeatable)")


def _add_program(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--cwd", metavar="PATH", help="the working folder (default: /tmp/box)")
    parser.add_argument(
        "--stdin", metavar="FILE", help="its standard input; - passes on this command's (default: empty)"
    )
    parser.add_argument("command", nargs="+", metavar="WORD", help="the program and its arguments, after --")


def _add_box(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("box", metavar="BOX", help="the id of the box")
    _add_lease(parser)


def _add_lease(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lease", metavar="TEXT", help="a lease, instead of the key (default: REWARDEN_LEASE)")


def _opened(args: argparse.Namespace, client: Client) -> Box:
    limits = {}
    for item in args.limit:
        name, _, text = item.partition("=")
        if not text.isdigit():
            raise InvalidRequest(f"--limit must be NAME=N, such as memory_mb=256, not {item!r}")
        limits[name] = int(text)
    return client.box(
        args.image,
        ttl_s=args.ttl,
        idle_s=args.idle,
        rollout=args.rollout,
        snapshot=args.snapshot,
        network=args.network,
        limits=limits or None,
        env=dict(map(_variable, args.env)) or None,
    )


def _variable(item: str) -> tuple[str, str]:
    name, equals, text = item.partition("=")
    if not equals:
        raise InvalidRequest(f"--env must be NAME=TEXT, not {item!r}")
    return name, text


def _joined(args: argparse.Namespace, client: Client) -> Box:
    return client.join(args.box, args.lease or os.environ.get("REWARDEN_LEASE") or None)


def _run(args: argparse.Namespace, client: Client) -> int:
    with _opened(args, client) as box:
        for item in args.put:
            file, _, path = item.partition("=")
            box.write(path or PurePosixPath(file).name, Path(file).read_bytes())
        return _ended(args, box)


def _open(args: argparse.Namespace, client: Client) -> int:
    say(_opened(args, client).open().id)
    return 0


def _exec(args: argparse.Namespace, client: Client) -> int:
    return _ended(args, _joined(args, client))


def _ended(args: argparse.Namespace, box: Box) -> int:
    """Runs the program, passes on its output, and returns the exit code."""
    options: dict[str, Any] = {} if args.cwd is None else {"cwd": args.cwd}
    if args.stdin is not None:
        options["stdin"] = _bytes(args.stdin)
    code = 0
    for item in box.stream(args.command, **options):
        if isinstance(item, ExecResult):
            code = exit_code_of(item)
        else:
            pass_on(item.data, sys.stdout if item.stream == "stdout" else sys.stderr)
    return code


def _notebook(args: argparse.Namespace, client: Client) -> int:
    with _joined(args, client).notebook(args.kernel) as notebook:
        for cell in args.cells:
            result = notebook.run(sys.stdin.read() if cell == "-" else cell, args.cell_timeout)
            pass_on(result.text.encode(errors="replace"), sys.stdout)
            if result.status != "ok":
                say(f"the cell ended with {result.status}", file=sys.stderr)
                return 1
    return 0


def _put(args: argparse.Namespace, client: Client) -> int:
    if args.file == "-" and args.path is None:
        raise InvalidRequest("give the path in the box: standard input has no name")
    _joined(args, client).write(args.path or Path(args.file).name, _bytes(args.file))
    return 0


def _get(args: argparse.Namespace, client: Client) -> int:
    data = _joined(args, client).read(args.path)
    if args.file == "-":
        pass_on(data, sys.stdout)
    else:
        Path(args.file).write_bytes(data)
    return 0


def _ls(args: argparse.Namespace, client: Client) -> int:
    found = _joined(args, client).list(args.path, args.depth)
    if args.json:
        say(dumps([to_json(each) for each in found]).decode())
        return 0
    for each in found:
        target = f" -> {one_line(each.target)}" if each.target is not None else ""
        say(f"{each.kind:6}  {each.mode:04o}  {each.size:>10}  {one_line(each.name)}{target}")
    return 0


def _list(args: argparse.Namespace, client: Client) -> int:
    found = client.boxes()
    if args.json:
        say(dumps([to_json(each) for each in found]).decode())
        return 0
    for each in found:
        say(f"{each.id}  {one_line(each.image)}  {_left(each)}  {one_line(each.rollout or '-')}")
    return 0


def _left(info: BoxInfo) -> str:
    return f"{max(0, round(info.expires_at - time.time()))} s left"


def _close(args: argparse.Namespace, client: Client) -> int:
    lease = args.lease or os.environ.get("REWARDEN_LEASE") or None
    for id in args.boxes:
        client.join(id, lease).close()
    return 0


def _bytes(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()
