"""`rewarden keys`: making, listing, revoking and rotating the keys of a file."""

from __future__ import annotations

import argparse
import json
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.access.key_file import KeyFile
from rewarden_server.access.key_record import KeyRecord, hash_key
from rewarden_server.access.keys import Keys
from rewarden_server.access.rules import KeyRule
from rewarden_server.access.settings import KeySettings
from rewarden_server.cli import keys as command

FILE = Path("keys")


def run(*words: str) -> int:
    """Run the command on the file `keys` of the working folder."""
    parser = argparse.ArgumentParser()
    command.configure(parser)
    return command.run(parser.parse_args([*words, "--file", "keys"]))


def only() -> KeyRecord:
    """The one key of the file."""
    (found,) = KeyFile(FILE).read()
    return found


def name_of(key: str) -> str:
    """The name by which a server with that file knows a key. Raises Unauthorized."""
    return Keys(KeySettings(file=FILE)).check(f"Bearer {key}")


Said = pytest.CaptureFixture[str]


def test_a_new_key_alone_is_on_standard_output_and_its_hash_alone_in_the_file(capsys: Said) -> None:
    assert run("new", "trainer") == 0
    said = capsys.readouterr()
    key = said.out.removesuffix("\n")
    assert name_of(key) == "trainer"
    assert key not in FILE.read_text() + said.err
    assert hash_key(key) in FILE.read_text()
    assert "trainer is in keys" in said.err


def test_a_new_key_has_the_rule_and_the_lifetime_that_flags_say() -> None:
    assert run("new", "a", "--scopes", "verify,read", "--samples-per-day", "200_000", "--expires", "30d") == 0
    made = only()
    assert made.rule == KeyRule(scopes=("verify", "read"), samples_per_day=200_000)
    assert made.created is not None
    assert made.expires == made.created + timedelta(days=30)


def test_a_key_without_a_lifetime_never_expires_and_without_a_rule_is_under_the_configurations() -> None:
    assert run("new", "a") == 0
    assert (only().expires, only().rule) == (None, None)


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("new", "taken"), "NAME: the name 'taken' is taken: keys:1 has it"),
        (("new", "named"), "NAME: the name 'named' is taken: keys.named has it"),
        (("new", "ruled", "--concurrency", "1"), "a rule here and in keys.rules"),
        (("new", "no/name"), "a key's name has letters"),
        (("new", "anonymous"), "is taken by callers without a key"),
        (("new", "a", "--scopes", "verfy"), "did you mean 'verify'?"),
        (("new", "a", "--concurrency", "0"), "concurrency must be above 0"),
        (("revoke", "takn"), "there is no key 'takn'; did you mean 'taken'?"),
        (("revoke", "named"), "'named' is in the configuration (keys.named)"),
        (("rotate", "nobody"), "there is no key 'nobody'"),
    ],
)
def test_a_refusal_says_why_and_leaves_the_file_as_it_was(words: tuple[str, ...], said: str, capsys: Said) -> None:
    line = f"taken {hash_key('t')}\n"
    FILE.write_text(line)
    Path("rewarden.toml").write_text(f'[keys.named]\nnamed = "{hash_key("n")}"\n[keys.rules.ruled]\nconcurrency = 2\n')
    assert run(*words) == 2
    told = capsys.readouterr()
    assert said in told.err
    assert (told.out, FILE.read_text()) == ("", line)


@pytest.mark.parametrize(
    "words",
    [
        ("new", "a", "--expires", "30"),
        ("new", "a", "--expires", "0d"),
        ("new", "a", "--expires", "999999999w"),
        ("rotate", "a", "--grace", "-1h"),
    ],
)
def test_a_time_that_is_none_is_refused(words: tuple[str, ...]) -> None:
    with pytest.raises(SystemExit) as raised:
        run(*words)
    assert raised.value.code == 2
    assert not FILE.exists()


def test_a_file_that_no_server_would_take_is_not_changed(capsys: Said) -> None:
    FILE.write_text("trainer rwd_secret\n")
    for words in (("new", "a"), ("revoke", "trainer"), ("rotate", "trainer"), ("list",)):
        assert run(*words) == 2
    told = capsys.readouterr()
    assert told.err.count("keys:1: a line is") == 4
    assert "secret" not in told.err
    assert FILE.read_text() == "trainer rwd_secret\n"


def test_a_revoked_key_is_gone_and_others_stay(capsys: Said) -> None:
    for name in ("a", "b"):
        run("new", name)
    assert run("revoke", "a") == 0
    assert "a is revoked" in capsys.readouterr().out
    assert only().name == "b"


def test_rotation_ends_the_old_secret_at_once_or_after_the_grace(capsys: Said) -> None:
    run("new", "a", "--expires", "30d")
    first = capsys.readouterr().out.strip()
    assert run("rotate", "a", "--grace", "1h") == 0
    said = capsys.readouterr()
    second = said.out.strip()
    assert (name_of(first), name_of(second)) == ("a", "a")
    made = only()
    assert made.created is not None
    assert [each.until for each in made.old] == [made.created + timedelta(hours=1)]
    assert "the old one works until" in said.err
    assert run("rotate", "a") == 0
    third = capsys.readouterr().out.strip()
    assert only().digest == hash_key(third)
    assert only().old == ()


def test_a_rotated_key_can_be_given_another_lifetime() -> None:
    FILE.write_text(f"a {hash_key('a')} expires=2100-01-01T00:00:00Z\n")
    assert run("rotate", "a") == 2
    assert run("rotate", "a", "--expires", "1h") == 0
    made = only()
    assert made.created is not None
    assert made.expires == made.created + timedelta(hours=1)


def listed(capsys: Said) -> list[dict[str, Any]]:
    """The keys as JSON."""
    capsys.readouterr()
    assert run("list", "--json") == 0
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_the_list_has_every_key_of_a_server_and_no_hash(capsys: Said) -> None:
    FILE.write_text(
        f"a {hash_key('a')} scopes=verify concurrency=2 expires=2001-01-01T00:00:00Z\n"
        f"b {hash_key('b')} created=2026-01-01T00:00:00Z old={hash_key('x')}@2001-01-01T00:00:00Z,"
        f"{hash_key('y')}@2100-01-01T00:00:00Z\n"
    )
    Path("rewarden.toml").write_text(f'[keys.named]\nc = "{hash_key("c")}"\n[keys.rules."*"]\nscopes = ["read"]\n')
    c, a, b = listed(capsys)
    assert (a["name"], a["state"], a["scopes"], a["concurrency"]) == ("a", "expired", ["verify"], 2)
    assert (b["state"], b["scopes"], b["source"]) == ("active", ["read"], "keys:2")
    assert (b["created"], b["expires"]) == ("2026-01-01T00:00:00Z", None)
    assert b["old_secrets_until"] == ["2100-01-01T00:00:00Z"]
    assert (c["name"], c["source"], c["samples_per_day"]) == ("c", "keys.named", None)
    assert run("list") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines] == ["NAME", "c", "a", "b"]
    assert "concurrency=2" in lines[2]
    assert "(a former secret until 2100-01-01T00:00:00Z)" in lines[3]
    assert not any(hash_key(key) in line for key in "abcxy" for line in lines)


def test_the_file_of_the_configuration_is_meant_where_none_is_named(capsys: Said) -> None:
    Path("rewarden.toml").write_text('[keys]\nfile = "secrets"\n')
    parser = argparse.ArgumentParser()
    command.configure(parser)
    assert command.run(parser.parse_args(["new", "a"])) == 0
    assert [found.name for found in KeyFile(Path("secrets")).read()] == ["a"]


def test_without_a_file_a_line_for_one_is_printed_where_that_is_asked_for(capsys: Said) -> None:
    parser = argparse.ArgumentParser()
    command.configure(parser)
    assert command.run(parser.parse_args(["new", "a"])) == 2
    assert "set keys.file in the configuration, or give --file FILE" in capsys.readouterr().err
    assert command.run(parser.parse_args(["new", "a", "--file", "-"])) == 0
    said = capsys.readouterr()
    FILE.write_text(said.err.splitlines()[-1] + "\n")
    assert name_of(said.out.strip()) == "a"


def test_times_are_in_utc_to_the_second() -> None:
    run("new", "a", "--expires", "90s")
    fields = dict(word.split("=") for word in FILE.read_text().split()[2:])
    assert fields["created"].endswith("Z")
    made, ends = (datetime.fromisoformat(fields[name]) for name in ("created", "expires"))
    assert ends - made == timedelta(seconds=90)
