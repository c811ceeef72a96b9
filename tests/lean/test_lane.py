"""The lean lane with a real Lean in a real sandbox."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_asyncio

from rewarden.errors import InvalidSample
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.job import Limits
from rewarden_sandboxes.service import make_server
from rewarden_sandboxes.settings import HostSettings
from rewarden_server.engine.lanes.lean import LeanLane
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.processes.settings import SandboxSettings
from rewarden_verifiers.provers import Checked, Position, Snippet
from tests.lean.endless import HANGING, HUNGRY
from tests.lean.toolchain import Library, needs_lean
from tests.programs import LAUNCHERS, problem_of

pytestmark = [needs_lean, pytest.mark.needs_server]

HEAD = "prelude\nimport Base\n"
HONEST = f"{HEAD}theorem honest : True := True.intro\n"


@pytest_asyncio.fixture
async def lane(library: Library, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> AsyncIterator[LeanLane]:
    """A lane over a host that has the library as project `base`; two processes."""
    monkeypatch.setenv("ELAN_HOME", str(library.elan))
    problems = {name: await problem_of(name) for name in reversed(LAUNCHERS)}
    launcher = next((name for name, problem in problems.items() if problem is None), None)
    if launcher is None:
        pytest.skip("; ".join(filter(None, problems.values())))
    projects = {"base": str(library.folder)}
    host = Host(HostSettings(launcher=launcher, lean=projects, lean_memory_mb=320))
    await host.start()
    address = f"unix:{tmp_path / 'host.sock'}"
    server = make_server(host, address)
    await server.start()
    sandbox = SandboxLane(SandboxSettings(address=address), Observer())
    made = LeanLane(LeanSettings(projects=projects, processes=2, memory_mb=320), sandbox, Observer())
    yield made
    await made.close()
    await sandbox.close()
    await server.stop(0)
    await host.close()


async def check(lane: LeanLane, text: str, **fields: object) -> Checked:
    return await lane.check(Snippet(project="base", text=text, **fields))  # type: ignore[arg-type]


async def test_texts_one_after_another(lane: LeanLane) -> None:
    """One host for all of it: to start one takes longer than to ask it."""
    first = await check(lane, HONEST)
    assert (first.status, first.messages, first.warm) == ("ok", (), False)

    wrong = await check(lane, f"{HEAD}theorem 𝔸𝔸 : False := True.intro\ntheorem b : True := sorry\n")
    assert wrong.warm
    assert [(each.severity, each.start, each.end) for each in wrong.messages] == [
        ("error", Position(line=3, column=22), Position(line=3, column=32)),
        ("warning", Position(line=4, column=8), Position(line=4, column=9)),
    ]

    # The same name again: nothing of a text is left for the next.
    again = await check(lane, HONEST.replace("True.intro", "(True.intro)"))
    assert (again.messages, again.warm) == ((), True)

    goals = await check(
        lane,
        f"{HEAD}theorem s (p : Prop) (h : p) : p := sorry\n"
        "theorem t (p q : Prop) (a : And p q) : p := by\n  match a with\n  | And.intro x y => ?_\n",
        sorries=True,
        tactics=True,
    )
    assert [(each.text, each.start, each.goals) for each in goals.sorries] == [
        ("sorry", Position(line=3, column=36), ("p : Prop\nh : p\n⊢ p",))
    ]
    assert (goals.tactics[0].text, goals.tactics[0].goals) == ("match a with", ("p q : Prop\na : And p q\n⊢ p",))

    tree = await check(lane, HONEST, infotree=True)
    assert tree.messages == ()
    assert tree.infotree is not None
    assert "True.intro : True @ ⟨3, 25⟩-⟨3, 35⟩" in tree.infotree
    assert "set_option" not in tree.infotree

    missing = await check(lane, "prelude\nimport Nowhere\ntheorem x : True := y\n")
    assert missing.status == "ok"
    assert ["Nowhere" in each.text for each in missing.messages] == [True]

    other = await check(lane, f"{HEAD}import Base.Extra\ntheorem x (p : Prop) : p := Base.cheat p\n")
    assert (other.messages, other.warm) == ((), False)

    broken = await check(lane, f"{HEAD}theorem x : True := {'(' * 30_000}\n")
    assert broken.messages or broken.status != "ok"
    assert (await check(lane, HONEST)).messages == ()

    flood = await check(lane, HEAD + "#check True\n" * 2000, limits=Limits(output_bytes=20_000))
    assert (flood.status, flood.limit, flood.truncated) == ("output_limit", "output_bytes", True)
    assert flood.messages

    hanging, hungry, honest = await asyncio.gather(
        check(lane, HEAD + HANGING, limits=Limits(cpu_s=0.5)),
        check(lane, HEAD + HUNGRY, limits=Limits(cpu_s=60.0)),
        check(lane, HONEST),
    )
    assert (hanging.status, hanging.limit) == ("time_limit", "cpu_s")
    assert hanging.cpu_s > 0.5
    assert (hungry.status, hungry.limit) == ("memory_limit", "memory_mb")
    assert (honest.status, honest.messages) == ("ok", ())

    with pytest.raises(InvalidSample):
        await lane.check(Snippet(project="nowhere", text=HONEST))


async def test_compilations_and_axioms(lane: LeanLane) -> None:
    good, same, bad = await asyncio.gather(
        lane.compile("base", HONEST, Limits(), keep=True),
        lane.compile("base", HONEST, Limits(), keep=True),
        lane.compile("base", f"{HEAD}theorem x : False := True.intro\n", Limits()),
    )
    assert good is same
    assert (good.status, good.messages) == ("ok", ())
    assert good.module is not None
    assert good.module.startswith(b"olean")
    assert (bad.status, bad.module) == ("ok", None)
    assert [(each.severity, each.start) for each in bad.messages] == [("error", Position(line=3, column=21))]

    header = "prelude\nimport Base.Extra\nimport Base\n"
    names = [
        "Nat.add_zero",
        "Base.everything",
        "propext",
        "twin",
        "Base.twin",
        "honest",
        "Nowhere",
        "_private.Base.0.x",
        "«a\nb»",
    ]
    told = await lane.axioms("base", header, names)
    assert told == {
        "Nat.add_zero": (),
        "Base.everything": ("Base.cheat",),
        "propext": ("propext",),
        "twin": ("Base.cheat",),  # the library has given its name to another as well
        "Base.twin": (),
        "honest": None,  # no constant, only a short name of one
        "Nowhere": None,
        "_private.Base.0.x": None,
        "«a\nb»": None,
    }
    assert await lane.axioms("base", header, names[:3]) == {name: told[name] for name in names[:3]}
