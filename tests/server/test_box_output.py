"""The kept output of a program in the background: bounded, and honest about what was dropped."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from rewarden.boxes.types import ExecOutput
from rewarden_server.boxes.running import Kept

OUTPUT = st.lists(st.tuples(st.sampled_from(["stdout", "stderr"]), st.binary(max_size=20)), max_size=30)


@given(OUTPUT, st.integers(1, 50), st.integers(0, 700))
def test_what_is_kept_is_the_end_of_what_was_written(written: list[tuple[str, bytes]], most: int, after: int) -> None:
    kept = Kept(most)
    for stream, data in written:
        kept.add(ExecOutput(stream=stream, data=data))
    whole = [(stream, bytes([byte])) for stream, data in written for byte in data]
    assert kept.end == len(whole)
    found, dropped = kept.since(after)
    single = [(item.stream, bytes([byte])) for item in found for byte in item.data]
    begin = max(after, len(whole) - most)
    assert single == whole[begin:]
    assert dropped == max(0, min(begin, len(whole)) - after)


def test_a_reader_who_goes_on_from_next_sees_every_byte_once() -> None:
    kept = Kept(1000)
    after, seen = 0, b""
    for number in range(50):
        kept.add(ExecOutput(stream="stdout", data=b"%d\n" % number))
        found, dropped = kept.since(after)
        assert not dropped
        seen += b"".join(item.data for item in found)
        after = kept.end
    assert seen == b"".join(b"%d\n" % number for number in range(50))
