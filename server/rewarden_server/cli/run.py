"""`rewarden run`: runs a program in the sandbox, prints its output, and exits with its exit code.

A file or a pipe receives the output byte by byte; on a terminal its control characters are escaped.
"""

from __future__ import annotations

import argparse
import base64
import sys
from collections.abc import Iterator
from itertools import chain
from pathlib import Path, PurePosixPath
from typing import Any, TextIO

from rewarden.commands.connection import add_connection_arguments, open_client
from rewarden.commands.program_end import EXIT, exit_code_of
from rewarden.commands.terminal import add_examples, pass_on, say
from rewarden.errors import InvalidRequest
from rewarden.types import RunResult
from rewarden.wire.json import dumps, run_result_to_json
from rewarden_sandboxes.languages import Registry

HELP = "run a program in the sandbox"


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("file", help="the program; - reads standard input")
    parser.add_argument("--language", help="the language (default: from the file's suffix or first line)")
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        dest="args",
        metavar="TEXT",
        help="an argument for the program (repeatable)",
    )
    parser.add_argument(
        "--stdin", metavar="FILE", help="the program's standard input; - passes on this command's (default: empty)"
    )
    parser.add_argument(
        "--file",
        action="append",
        default=[],
        metavar="NAME=FILE",
        dest="files",
        help="put a file into the program's working folder; NAME alone for a file of that name (repeatable)",
    )
    parser.add_argument(
        "--limit",
        action="append",
        default=[],
        metavar="NAME=N",
        help="a limit, such as cpu_s=2 or memory_mb=256 (repeatable)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print the whole result as JSON, and exit with 0 regardless of the program's exit code",
    )
    add_connection_arguments(parser)
    add_examples(
        parser,
        "rewarden run solution.py --stdin input.txt --limit cpu_s=2",
        "rewarden run main.cpp --file data.csv --arg data.csv --json",
    )


def run(args: argparse.Namespace) -> int:
    """Runs the program. Returns its exit code, or 128 + its signal; 124, 137 or 153 if it reached the time, memory or
    output limit; 65 if it does not compile; 70 if the sandbox failed. With --json: 0, or 70.
    """
    if args.file == "-" == args.stdin:
        raise InvalidRequest("standard input cannot be both the program and its input")
    code = _text(args.file)
    language = args.language or language_of(args.file, code)
    with open_client(args) as client:
        result = client.run(
            code,
            language,
            stdin=_bytes(args.stdin) if args.stdin is not None else "",
            files=dict(_files(args.files)),
            args=args.args,
            limits=dict(map(_limit, args.limit)),
        )
    if args.json:
        say(dumps(run_result_to_json(result)).decode())
        return EXIT["internal_error"] if result.status == "internal_error" else 0
    return _show(result)


def language_of(file: str, code: str) -> str:
    """Returns the language of a program, from the suffix of its name or its first line. Raises InvalidRequest."""
    languages = list(Registry.load())
    ending = Path(file).suffix
    if ending:
        for language in languages:
            names = (language.name, *language.aliases, *language.fences)
            if ending == PurePosixPath(language.file).suffix or ending[1:] in names:
                return language.name
    if code.startswith("#!"):
        words = [PurePosixPath(word).name for word in code.split("\n", 1)[0][2:].split()]
        program = next((word for word in words if word != "env" and not word.startswith("-")), "")
        asked = {program, program.rstrip("0123456789.")}  # python3.11 is python3 is python
        called = (language for language in languages if asked & {language.name, *language.aliases})
        started = (language for language in languages if language.run[0] in asked)
        found = next(chain(called, started), None)
        if found is not None:
            return found.name
    known = ", ".join(language.name for language in languages)
    raise InvalidRequest(f"cannot tell the language of {file!r}; give --language, one of {known}")


def _text(file: str) -> str:
    try:
        return _bytes(file).decode()
    except UnicodeDecodeError as error:
        raise InvalidRequest(f"{file}: a program must be UTF-8 text; byte {error.start} cannot be read") from None


def _bytes(file: str) -> bytes:
    return sys.stdin.buffer.read() if file == "-" else Path(file).read_bytes()


def _files(given: list[str]) -> Iterator[tuple[str, bytes]]:
    for item in given:
        name, equals, file = item.partition("=")
        yield name, Path(file if equals else name).read_bytes()


def _limit(item: str) -> tuple[str, Any]:
    name, _, text = item.partition("=")
    for kind in (int, float):
        try:
            return name.strip(), kind(text)
        except ValueError:
            continue
    raise InvalidRequest(f"--limit must be NAME=N, such as cpu_s=2, not {item!r}")


def _show(result: RunResult) -> int:
    if result.compile is not None:
        _write(sys.stderr, result.compile.stdout, result.compile.stdout_base64)
        _write(sys.stderr, result.compile.stderr, result.compile.stderr_base64)
    _write(sys.stdout, result.stdout, result.stdout_base64)
    _write(sys.stderr, result.stderr, result.stderr_base64)
    return exit_code_of(result)


def _write(stream: TextIO, text: str, whole: str | None) -> None:
    pass_on(text.encode() if whole is None else base64.b64decode(whole), stream)
