"""The parts of a running server that `/v1/info` finds missing, with what mends it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rewarden_server.config import load_config
from rewarden_server.observe.health import problems
from tests.server.conftest import Running

WELL: dict[str, Any] = {
    "engine": {"cache_shared": None},
    "sandbox": {"state": "ready", "reason": None, "host": {"ready": True, "problem": None, "missing": {}}},
    "lean": {"projects": {}},
    "judges": {},
    "models": {},
    "runs": {"state": "ready"},
    "keys": False,
}


def found(settings: dict[str, Any] | None = None, **parts: Any) -> dict[str, str]:
    config = load_config(environ={}, flags={key: ("test", value) for key, value in (settings or {}).items()})
    return {item["what"]: item["mend"] for item in problems({**WELL, **parts}, config)}


def test_of_a_server_that_is_well_nothing_is_missing() -> None:
    assert found() == {}
    assert found(sandbox={"state": "idle", "reason": None}) == {}  # started when first asked for
    assert found(sandbox={"state": "off", "reason": "sandbox.launcher is none"}) == {}


def test_a_sandbox_that_is_missing_says_the_command_that_mends_it() -> None:
    reason = "no launcher works here: apt-get install bubblewrap"
    assert found(sandbox={"state": "missing", "reason": reason}) == {
        f"the sandbox: {reason}": "apt-get install bubblewrap"
    }


def test_a_limit_that_is_not_held_is_named() -> None:
    host = {"ready": True, "limits": {"cpu_s": 10, "memory_mb": 512}, "enforced": {"cpu_s": "cgroup"}}
    (what,) = found(sandbox={"state": "ready", "host": host})
    assert what == "the sandbox does not enforce memory_mb"


def test_of_several_hosts_the_one_that_is_away_and_what_differs_are_named() -> None:
    well = {"address": "a:1", "state": "ready", "reason": None, "host": {"ready": True}}
    away = {"address": "b:1", "state": "lost", "reason": "it does not answer", "host": {}}
    status = {"state": "ready", "reason": None, "host": {}, "hosts": [well, away], "differences": ["the images differ"]}
    assert set(found(sandbox=status)) == {"the sandbox host b:1: it does not answer", "the images differ"}


def test_judges_models_lean_the_cache_and_runs_say_what_is_wrong() -> None:
    told = found(
        judges={"a": {"breaker": "open", "left": {}}, "b": {"breaker": "closed", "left": {"calls": 0}}},
        models={"m": {"state": "failed", "problem": "no such folder"}, "n": {"state": "ready"}},
        lean={"projects": {"p": {"problem": "it is not a folder"}}},
        engine={"cache_shared": "away"},
        runs={"state": "failing"},
    )
    assert len(told) == 6
    text = "\n".join(told)
    for words in (
        "judge a",
        "judge b: its budget of calls",
        "model m: no such folder",
        "project p",
        "Redis does not answer",
    ):
        assert words in text


def test_a_server_that_is_open_to_all_is_told_so() -> None:
    assert "open to everyone" in "".join(found({"server.host": "0.0.0.0"}))
    assert found({"server.host": "0.0.0.0"}, keys=True) == {}


def test_a_container_is_open_to_all_only_if_its_ports_are_published_to_all() -> None:
    assert found({"server.host": "0.0.0.0", "server.published": "127.0.0.1"}) == {}
    assert "who can reach 0.0.0.0" in "".join(found({"server.host": "0.0.0.0", "server.published": "0.0.0.0"}))


def test_a_folder_that_cannot_be_written_is_named_by_its_setting_only(tmp_path: Path) -> None:
    file = tmp_path / "secret-place"
    file.touch()
    assert list(found({"limits.blob_dir": str(file / "blobs")})) == ["limits.blob_dir: the folder cannot be written"]


async def test_info_tells_them(server: Running) -> None:
    assert isinstance((await server.http.get("/v1/info")).json()["problems"], list)
