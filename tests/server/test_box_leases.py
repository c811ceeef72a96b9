"""Leases: only a server with the secret makes one, and nothing in it can be changed."""

from __future__ import annotations

import base64
import json
import os
import stat
from dataclasses import replace
from pathlib import Path

import pytest

from rewarden.errors import Unauthorized
from rewarden_server.boxes.lease import PREFIX, Lease, Leases, load_secret
from rewarden_server.config import ConfigError
from tests.server.clock import Clock

SECRET = b"s" * 32


def terms(clock: Clock) -> Lease:
    """A lease of an hour."""
    return Lease(box="box-1", owner="trainer", rights=frozenset({"exec"}), rollout="r-7", until=clock.now + 3600)


def test_a_lease_is_read_as_it_was_signed() -> None:
    clock = Clock()
    leases = Leases(SECRET, clock)
    lease = terms(clock)
    assert leases.read(leases.sign(lease)) == lease
    assert leases.read(leases.sign(replace(lease, rollout=None))).rollout is None


def test_a_lease_ends_when_its_time_is_over() -> None:
    clock = Clock()
    leases = Leases(SECRET, clock)
    text = leases.sign(terms(clock))
    clock.now += 3599.9
    leases.read(text)
    clock.now += 0.1
    with pytest.raises(Unauthorized, match="expired"):
        leases.read(text)


def test_another_secret_signs_no_lease_of_ours() -> None:
    clock = Clock()
    text = Leases(b"t" * 32, clock).sign(terms(clock))
    with pytest.raises(Unauthorized):
        Leases(SECRET, clock).read(text)


def test_rights_box_rollout_and_time_cannot_be_changed() -> None:
    clock = Clock()
    leases = Leases(SECRET, clock)
    body, _, signature = leases.sign(terms(clock)).removeprefix(PREFIX).partition(".")
    told = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4)))
    for name, value in (("r", ["exec", "files"]), ("b", "box-2"), ("o", "r-8"), ("e", told["e"] + 1), ("k", "other")):
        changed = base64.urlsafe_b64encode(json.dumps({**told, name: value}).encode()).rstrip(b"=").decode()
        with pytest.raises(Unauthorized, match="unknown lease"):
            leases.read(f"{PREFIX}{changed}.{signature}")


@pytest.mark.parametrize(
    "text", ["", "rwl_", "rwl_.", "rwl_a.b", "rwl_é.é", "rwl_" + "A" * 5000, "x.y", "rwl_" + "A." * 9]
)
def test_text_that_is_no_lease_is_refused(text: str) -> None:
    with pytest.raises(Unauthorized, match="unknown lease"):
        Leases(SECRET, Clock()).read(text)


def test_servers_with_one_folder_have_one_secret_which_only_its_owner_reads(tmp_path: Path) -> None:
    folder = tmp_path / "boxes"
    first = load_secret(folder)
    assert len(first) == 32
    assert load_secret(folder) == first
    assert load_secret(tmp_path / "other") != first
    assert stat.S_IMODE((folder / "lease-secret").stat().st_mode) == 0o600
    assert os.listdir(folder) == ["lease-secret"]


def test_a_damaged_secret_is_not_used(tmp_path: Path) -> None:
    (tmp_path / "lease-secret").write_bytes(b"short")
    with pytest.raises(ConfigError, match=r"boxes\.dir"):
        load_secret(tmp_path)
