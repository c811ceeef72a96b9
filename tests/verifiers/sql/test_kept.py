"""The store that a worker keeps of earlier samples is bounded."""

from __future__ import annotations

from rewarden_verifiers.sql.kept import Kept


def test_the_least_recently_used_goes_first() -> None:
    kept: Kept[str] = Kept(2)
    kept.put("a", "1")
    kept.put("b", "2")
    assert kept.get("a") == "1"
    kept.put("c", "3")
    assert (kept.get("a"), kept.get("b"), kept.get("c")) == ("1", None, "3")


def test_what_is_too_large_by_itself_drives_nothing_out() -> None:
    kept: Kept[bytes] = Kept(10, len, largest=5)
    kept.put("a", b"12345")
    kept.put("b", b"123456")
    assert (kept.get("a"), kept.get("b")) == (b"12345", None)


def test_a_value_put_again_takes_the_place_and_the_size_of_the_old_one() -> None:
    kept: Kept[bytes] = Kept(10, len)
    kept.put("a", b"12345")
    kept.put("a", b"123456")
    kept.put(("b", "c"), b"1234")
    assert (kept.get("a"), kept.get(("b", "c"))) == (b"123456", b"1234")
