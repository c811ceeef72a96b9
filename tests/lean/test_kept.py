"""Compilations that are kept, and made once for all who want them at the same time."""

from __future__ import annotations

import asyncio

import pytest

from rewarden.errors import SandboxError
from rewarden_server.lean.kept import Kept
from rewarden_server.lean.printed import as_source, axioms, messages
from rewarden_verifiers.provers import Compiled, Message, Position


class Maker:
    """Makes compilations, when it is let."""

    def __init__(self, made: Compiled | Exception | None = None) -> None:
        self.made = made or Compiled(status="ok", module=b"x" * 1000)
        self.calls = 0
        self.open = asyncio.Event()

    async def __call__(self) -> Compiled:
        self.calls += 1
        await self.open.wait()
        if isinstance(self.made, Exception):
            raise self.made
        return self.made


async def test_equal_texts_are_compiled_once_and_whoever_leaves_takes_nothing_from_the_others() -> None:
    kept, maker = Kept(10_000), Maker()
    leaves, stays = (asyncio.ensure_future(kept.get(b"k", maker)) for _ in range(2))
    await asyncio.sleep(0)
    leaves.cancel()
    await asyncio.sleep(0)
    maker.open.set()
    assert await stays is maker.made
    assert await kept.get(b"k", maker) is maker.made
    assert maker.calls == 1


async def test_when_all_have_left_who_comes_next_compiles_anew() -> None:
    kept, maker = Kept(10_000), Maker()
    only = asyncio.ensure_future(kept.get(b"k", maker))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    only.cancel()
    with pytest.raises(asyncio.CancelledError):
        await only
    maker.open.set()
    assert await kept.get(b"k", maker) is maker.made
    assert maker.calls == 2


@pytest.mark.parametrize("made", [SandboxError("lost"), Compiled(status="time_limit")])
async def test_what_came_to_no_end_is_not_kept(made: Compiled | Exception) -> None:
    kept, maker = Kept(10_000), Maker(made)
    maker.open.set()
    for _ in range(2):
        await asyncio.gather(kept.get(b"k", maker), return_exceptions=True)
    assert maker.calls == 2


async def test_what_was_used_longest_ago_goes_first() -> None:
    kept, maker = Kept(3000), Maker()
    maker.open.set()
    for key in (b"a", b"b", b"a", b"c", b"a", b"b"):
        await kept.get(key, maker)
    assert maker.calls == 4


def test_messages_are_lines_of_json_and_whatever_else_was_printed_is_passed_over() -> None:
    line = b'{"severity":"error","pos":{"line":3,"column":1},"endPos":null,"data":"no","fileName":"Main.lean"}'
    printed = b"\xff\n{}\n[1]\n" + line + b"\n" + b"[" * 100_000 + b"\n"
    assert list(messages(printed)) == [Message(severity="error", text="no", start=Position(line=3, column=1))]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("'a' does not depend on any axioms", ()),
        ("'a' depends on axioms: [propext, Quot.sound]", ("propext", "Quot.sound")),
        (
            "'a' depends on axioms: [propext,\n Classical.choice,\n Quot.sound]",
            ("propext", "Classical.choice", "Quot.sound"),
        ),
        ("Unknown constant `a`", None),
        ("", None),
    ],
)
def test_axioms_are_read(text: str, found: tuple[str, ...] | None) -> None:
    assert axioms(text) == found


@pytest.mark.parametrize(
    ("name", "source"),
    [
        ("Nat.add", "«Nat».«add»"),
        ("end", "«end»"),
        ("«a.b».c", "«a.b».«c»"),
        ("Nat.rec_1", "«Nat».«rec_1»"),
        ("_private.M.0.x", None),
        ("a.1", None),
        ("a\nb", None),
        ("a»b", None),
        ("a.", None),
        ("", None),
        ("_root_.a", None),
    ],
)
def test_names_are_written_so_that_they_mean_that_constant_and_no_other(name: str, source: str | None) -> None:
    assert as_source(name) == source
