"""`rewarden keys`: creates, lists, revokes and rotates the API keys in a key file. Running servers pick up changes."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rewarden.commands.terminal import add_examples, say
from rewarden.errors import near
from rewarden_server.access.key_file import LOOK_S, Draft, KeyFile
from rewarden_server.access.key_record import KeyRecord, new_key, rule_of, shown_time
from rewarden_server.access.key_table import KeyTable
from rewarden_server.access.rules import SCOPES, KeyRule
from rewarden_server.access.settings import KeySettings
from rewarden_server.cli.duration import duration, lifetime
from rewarden_server.config import ConfigError, load_config

HELP = "create, list, revoke and rotate API keys, without restarting the server"

DONE, REFUSED = 0, 2

_BOUNDS = tuple(item.name for item in fields(KeyRule) if item.name != "scopes")

_EPILOG = """\
examples:
  rewarden keys new trainer --file keys
  rewarden keys new eval --scopes verify,read --samples-per-day 200000 --expires 30d
  rewarden keys rotate trainer --grace 1h
  rewarden keys revoke trainer

exit status:
  0  done
  2  refused, and the file is unchanged: arguments, a name that is taken or unknown, a file that is invalid or not
     writable
"""


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = _EPILOG
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")

    one = commands.add_parser("new", help="create a key; it is printed once, and the file stores only its hash")
    one.add_argument("name", metavar="NAME", help="the caller's name in logs, metrics and rules")
    one.add_argument(
        "--scopes",
        metavar="SCOPES",
        help=f"a list of {','.join(SCOPES)} (default: all but admin, unless [keys.rules] sets them)",
    )
    for name in _BOUNDS:
        one.add_argument(f"--{name.replace('_', '-')}", metavar="N", help="a limit, as in [keys.rules]")
    one.add_argument(
        "--expires", type=lifetime, metavar="TIME", help="the lifetime of the key, such as 30d (default: unlimited)"
    )
    _add_place(one, "the key file (default: keys.file of the configuration); - prints the line instead")
    one.set_defaults(does=_new)
    add_examples(one, "rewarden keys new eval --scopes verify,read --samples-per-day 200000 --expires 30d")

    one = commands.add_parser(
        "list", help="list the keys of a server with this configuration, without secrets and hashes"
    )
    one.add_argument("--json", action="store_true", help="print JSON")
    _add_place(one)
    one.set_defaults(does=_list)
    add_examples(one, "rewarden keys list --file keys --json")

    one = commands.add_parser("revoke", help="remove a key; requests with it are then rejected")
    one.add_argument("name", metavar="NAME", help="the key's name")
    _add_place(one)
    one.set_defaults(does=_revoke)
    add_examples(one, "rewarden keys revoke trainer")

    one = commands.add_parser("rotate", help="give a key a new secret, which is printed once")
    one.add_argument("name", metavar="NAME", help="the key's name")
    one.add_argument(
        "--grace",
        type=duration,
        default="0s",
        metavar="TIME",
        help="how long the old secret keeps working (default: 0s)",
    )
    one.add_argument(
        "--expires", type=lifetime, metavar="TIME", help="the lifetime of the new secret (default: that of the old one)"
    )
    _add_place(one)
    one.set_defaults(does=_rotate)
    add_examples(one, "rewarden keys rotate trainer --grace 1h")


def _add_place(
    parser: argparse.ArgumentParser, file: str = "the key file (default: keys.file of the configuration)"
) -> None:
    parser.add_argument("--file", metavar="FILE", help=file)
    parser.add_argument("--config", type=Path, metavar="FILE", help="the configuration file (default: ./rewarden.toml)")


def run(args: argparse.Namespace) -> int:
    """Returns the exit status that `--help` describes."""
    try:
        flags = {"keys.file": ("flag --file", args.file)} if args.file not in (None, "-") else {}
        settings = load_config(args.config, environ=os.environ, flags=flags, only="keys").keys
        args.does(args, settings)
    except ConfigError as error:
        say(f"rewarden keys: {error.message}", file=sys.stderr)
        return REFUSED
    return DONE


def _new(args: argparse.Namespace, settings: KeySettings) -> None:
    given = {name: value for name in ("scopes", *_BOUNDS) if (value := getattr(args, name)) is not None}
    key, digest = new_key()
    now = _now()
    record = KeyRecord(
        name=args.name,
        digest=digest,
        source="NAME",
        rule=rule_of(given, "arguments"),
        created=now,
        expires=None if args.expires is None else now + args.expires,
    )
    if args.file == "-":
        _show(key, f"Add this line to the key file (keys.file):\n\n{record.line()}")
        return
    with _edit(settings, create=True) as draft:
        draft.add(record)
    _show(key, f"{args.name} is in {settings.file}, by its hash only.{_noticed(settings)}")


def _list(args: argparse.Namespace, settings: KeySettings) -> None:
    table = KeyTable.load(settings)
    now = _now()
    rows = [_row(record, table, now) for record in table.records.values()]
    if args.json:
        say(json.dumps(rows, indent=1))
        return
    if not rows:
        say("There are no keys. Create one with rewarden keys new NAME.")
        return
    shown = [("NAME", "STATE", "SCOPES", "BOUNDS", "CREATED", "EXPIRES"), *map(_cells, rows)]
    widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
    for cells in shown:
        say("  ".join(f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=True)).rstrip())


def _revoke(args: argparse.Namespace, settings: KeySettings) -> None:
    with _edit(settings) as draft:
        draft.replace(_found(args.name, draft, settings), None)
    say(f"{args.name} is revoked.{_noticed(settings)}")


def _rotate(args: argparse.Namespace, settings: KeySettings) -> None:
    key, digest = new_key()
    with _edit(settings) as draft:
        record = _found(args.name, draft, settings)
        made = record.rotated(digest, _now(), grace=args.grace, lifetime=args.expires)
        draft.replace(record, made)
    until = max((each.until for each in made.old), default=None)
    still = "no other works" if until is None else f"the old one works until {shown_time(until)}"
    expires = f" It expires at {shown_time(made.expires)}." if made.expires is not None else ""
    _show(key, f"{args.name} has this secret now; {still}.{expires}{_noticed(settings)}")


@contextmanager
def _edit(settings: KeySettings, *, create: bool = False) -> Iterator[Draft]:
    """The key file's content, to be changed; a change that a server would refuse is not written."""
    if settings.file is None:
        raise ConfigError("there is no key file: set keys.file in the configuration, or give --file FILE")
    with KeyFile(settings.file).edit(create=create) as draft:
        yield draft
        KeyTable(settings, draft.records)


def _found(name: str, draft: Draft, settings: KeySettings) -> KeyRecord:
    record = draft.get(name)
    if record is not None:
        return record
    if name in settings.named:
        raise ConfigError(f"{name!r} is in the configuration (keys.named): change it there, and restart the server")
    raise ConfigError(f"there is no key {name!r}{near(name, [record.name for record in draft.records])}")


def _row(record: KeyRecord, table: KeyTable, now: datetime) -> dict[str, Any]:
    rule = table.rules[record.name]
    scopes = table.scopes(record.name)
    return {
        "name": record.name,
        "state": "expired" if record.expires is not None and record.expires <= now else "active",
        "scopes": [scope for scope in SCOPES if scope in scopes],
        **{name: getattr(rule, name, None) for name in _BOUNDS},
        "created": shown_time(record.created) if record.created is not None else None,
        "expires": shown_time(record.expires) if record.expires is not None else None,
        "old_secrets_until": [shown_time(each.until) for each in record.old if each.until > now],
        "source": record.source,
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    bounds = ",".join(f"{name}={row[name]:g}" for name in _BOUNDS if row[name] is not None)
    old = "".join(f" (a former secret until {until})" for until in row["old_secrets_until"])
    scopes = ",".join(row["scopes"])
    return row["name"], row["state"], scopes, bounds or "-", row["created"] or "-", (row["expires"] or "-") + old


def _show(key: str, text: str) -> None:
    """The key alone on standard output, so that a script can take it from there."""
    say(key)
    say(text, file=sys.stderr)


def _noticed(settings: KeySettings) -> str:
    return f" Servers whose keys.file is {settings.file} notice within {LOOK_S:g} s."


def _now() -> datetime:
    return datetime.now(UTC).replace(microsecond=0)
