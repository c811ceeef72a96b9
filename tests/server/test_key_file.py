"""The key file: its lines, and how commands change it."""

from __future__ import annotations

import fcntl
import os
import stat
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rewarden_server.access.key_file import Draft, KeyFile
from rewarden_server.access.key_record import KeyRecord, OldSecret, hash_key
from rewarden_server.access.rules import KeyRule
from rewarden_server.config import ConfigError

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)
HOUR = timedelta(hours=1)
LINE = f"trainer {hash_key('a')}"


def record(name: str, **more: object) -> KeyRecord:
    """A key whose secret is its name."""
    return KeyRecord(name=name, digest=hash_key(name), source="test", **more)  # type: ignore[arg-type]


# --- lines


@pytest.mark.parametrize(
    ("made", "line"),
    [
        (record("a"), f"a {hash_key('a')}"),
        (
            record(
                "b",
                rule=KeyRule(scopes=("verify", "read"), samples_per_day=200_000, requests_per_minute=0.5),
                created=NOW,
            ),
            f"b {hash_key('b')} scopes=verify,read requests_per_minute=0.5 samples_per_day=200000 "
            "created=2026-11-26T12:00:00Z",
        ),
        (
            record("c", expires=NOW + HOUR, old=(OldSecret(hash_key("x"), NOW), OldSecret(hash_key("y"), NOW + HOUR))),
            f"c {hash_key('c')} expires=2026-11-26T13:00:00Z "
            f"old={hash_key('x')}@2026-11-26T12:00:00Z,{hash_key('y')}@2026-11-26T13:00:00Z",
        ),
    ],
)
def test_a_line_holds_all_of_a_key(made: KeyRecord, line: str) -> None:
    assert made.line() == line
    assert KeyRecord.parse(line, "test") == made


def test_fields_come_in_any_order_and_a_time_in_any_zone() -> None:
    found = KeyRecord.parse(f"{LINE} expires=2026-11-26T14:00:00+02:00  concurrency=2 # note", "test")
    assert found is not None
    assert (found.expires, found.rule) == (NOW, KeyRule(concurrency=2))


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("rwd_secret", "'NAME SHA256'"),
        ("rwd_secret=1", "field 1 is unknown"),
        ("concurrency=2 concurrency=rwd_secret", "field 2 is given twice"),
        ("scopes=rwd_secret", "scopes.0. must be one of verify"),
        ("scopes=", "scopes"),
        ("concurrency=rwd_secret", "concurrency must be a whole number"),
        ("samples_per_day=0", "samples_per_day must be above 0"),
        ("expires=rwd_secret", "expires must be a time"),
        ("expires=2026-11-26", "expires must be a time with its zone"),
        ("old=rwd_secret", "old"),
        ("old=rwd_secret@2026-11-26T12:00:00Z", "64 hex digits"),
    ],
)
def test_a_field_that_is_wrong_is_named_with_its_line_and_what_stands_there_is_not_repeated(
    tmp_path: Path, field: str, said: str
) -> None:
    (tmp_path / "keys").write_text(f"# ours\n\n{LINE} {field}\n")
    with pytest.raises(ConfigError, match=rf"keys:3: .*{said}") as raised:
        KeyFile(tmp_path / "keys").read()
    assert "secret" not in raised.value.message


def test_a_file_that_is_no_text_is_named_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "keys").write_bytes(LINE.encode() + b"\n\xff\n")
    with pytest.raises(ConfigError, match=r"keys:2: is not UTF-8"):
        KeyFile(tmp_path / "keys").read()


# --- rotation


def test_a_rotated_key_lives_as_long_again_and_its_old_secret_through_the_grace() -> None:
    made = record("a", created=NOW, expires=NOW + 10 * HOUR, rule=KeyRule(concurrency=2))
    after = made.rotated("f" * 64, NOW + 4 * HOUR, grace=HOUR)
    assert (after.digest, after.created, after.expires) == ("f" * 64, NOW + 4 * HOUR, NOW + 14 * HOUR)
    assert after.old == (OldSecret(made.digest, NOW + 5 * HOUR),)
    assert after.rule == made.rule


def test_the_grace_prolongs_nothing() -> None:
    made = record("a", created=NOW, expires=NOW + 2 * HOUR, old=(OldSecret("e" * 64, NOW + HOUR),))
    after = made.rotated("f" * 64, NOW, grace=3 * HOUR)
    assert [each.until for each in after.old] == [NOW + 2 * HOUR, NOW + HOUR]


def test_a_rotation_without_grace_ends_every_older_secret() -> None:
    made = record("a", old=(OldSecret("e" * 64, NOW + HOUR),))
    assert made.rotated("f" * 64, NOW, grace=timedelta()).old == ()


def test_an_expired_key_is_renewed_by_rotation_and_its_old_secret_stays_dead() -> None:
    after = record("a", created=NOW, expires=NOW + HOUR).rotated("f" * 64, NOW + 2 * HOUR, grace=HOUR)
    assert (after.expires, after.old) == (NOW + 3 * HOUR, ())


def test_a_lifetime_that_nobody_knows_must_be_said() -> None:
    made = record("a", expires=NOW + HOUR)
    with pytest.raises(ConfigError, match="say --expires"):
        made.rotated("f" * 64, NOW, grace=HOUR)
    assert made.rotated("f" * 64, NOW, grace=HOUR, lifetime=HOUR).expires == NOW + HOUR


# --- changes to the file


def test_comments_order_and_a_missing_last_line_end_survive_changes(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"# ours\n{LINE}  # the first\n\nother {hash_key('b')}")
    with KeyFile(path).edit() as draft:
        found = draft.get("trainer")
        assert found is not None
        draft.replace(found, record("trainer"))
        draft.add(record("new"))
    assert path.read_text() == (
        f"# ours\ntrainer {hash_key('trainer')}  # the first\n\nother {hash_key('b')}\nnew {hash_key('new')}\n"
    )
    with KeyFile(path).edit() as draft:
        draft.replace(draft.records[1], None)
    assert path.read_text() == f"# ours\ntrainer {hash_key('trainer')}  # the first\n\nnew {hash_key('new')}\n"


def test_a_new_file_is_its_owners_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        with KeyFile(tmp_path / "keys").edit(create=True) as draft:
            draft.add(record("a"))
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "keys").stat().st_mode) == 0o600
    assert os.listdir(tmp_path) == ["keys"]


def test_a_file_that_the_server_may_read_stays_so(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"{LINE}\n")
    path.chmod(0o640)
    if os.geteuid() == 0:
        os.chown(path, 12_345, 54_321)
    before = path.stat()
    with KeyFile(path).edit() as draft:
        draft.add(record("a"))
    after = path.stat()
    assert (after.st_mode, after.st_uid, after.st_gid) == (before.st_mode, before.st_uid, before.st_gid)


def test_a_link_stays_one(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("keys")
    with KeyFile(tmp_path / "link").edit(create=True) as draft:
        draft.add(record("a"))
    assert (tmp_path / "link").is_symlink()
    assert [found.name for found in KeyFile(tmp_path / "keys").read()] == ["a"]


def test_who_reads_meanwhile_has_the_whole_old_file(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"{LINE}\n")
    with path.open() as reader:
        with KeyFile(path).edit() as draft:
            draft.add(record("a"))
        assert reader.read() == f"{LINE}\n"
    assert len(KeyFile(path).read()) == 2


def test_a_change_that_fails_changes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"{LINE}\n")
    before = path.stat()

    def fail() -> None:
        with KeyFile(path).edit() as draft:
            draft.add(record("a"))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    with KeyFile(path).edit():
        pass
    assert (path.read_text(), path.stat().st_ino) == (f"{LINE}\n", before.st_ino)
    assert os.listdir(tmp_path) == ["keys"]


def test_only_new_makes_a_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), KeyFile(tmp_path / "keys").edit():
        pass
    assert os.listdir(tmp_path) == []


def test_of_two_writers_one_waits_and_then_sees_what_the_other_wrote(tmp_path: Path) -> None:
    path = tmp_path / "keys"
    path.write_text(f"{LINE}\n")
    seen: list[str] = []

    def second() -> None:
        with KeyFile(path).edit() as draft:
            seen.extend(found.name for found in draft.records)
            draft.add(record("second"))

    writer = threading.Thread(target=second)
    with KeyFile(path).edit() as draft:
        with path.open("rb") as other, pytest.raises(BlockingIOError):
            fcntl.flock(other, fcntl.LOCK_EX | fcntl.LOCK_NB)
        writer.start()
        _until_one_waits(path)
        draft.add(record("first"))
    writer.join(60)
    assert seen == ["trainer", "first"]
    assert [found.name for found in KeyFile(path).read()] == ["trainer", "first", "second"]


def _until_one_waits(path: Path) -> None:
    """Returns when somebody waits for the lock of the file, which the kernel lists with an arrow."""
    inode = f":{path.stat().st_ino} "
    until = time.monotonic() + 60
    while not any("->" in line and inode in line for line in Path("/proc/locks").read_text().splitlines()):
        assert time.monotonic() < until, "nobody waits for the lock"


def test_a_draft_of_nothing_is_empty() -> None:
    assert Draft(Path("keys"), b"").data() == b""
