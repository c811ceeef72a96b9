"""The changes of a policy's box that reach the tests' box."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Iterable

import pytest

from rewarden_verifiers.tasks.carried import END, Artifacts, Carried, merge

MARK = {"REWARDEN.mark": "1"}


def stream(*names: str, links: Iterable[tuple[str, str]] = (), end: bool = True) -> io.BytesIO:
    """Returns a stream of changes with these files and hard links."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        for name in names:
            info = tarfile.TarInfo(name)
            info.size = len(name)
            made.addfile(info, io.BytesIO(name.encode()))
        for name, target in links:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = tarfile.LNKTYPE, target
            made.addfile(info)
        if end:
            info = tarfile.TarInfo(END)
            info.pax_headers = MARK
            made.addfile(info)
    out.seek(0)
    return out


@pytest.mark.parametrize(
    "name",
    [
        *("app/a", "tmp/x", "hello.txt", "home/me/notes", "root/config/app", "tmp/box/.bashrc", "dev/shm/x"),
        *("app/.git/config", "app/package.json", "app/node_modules/x", "home/.keep", "tmp/.wh.x", "home/.wh.me"),
        *("var/lib/x", "logs/agent/trajectory.json", "logs/artifacts/out", "application/usr/bin/x", "srv/etc/x"),
    ],
)
def test_the_policys_own_files_are_carried(name: str) -> None:
    assert Carried((), shared=False).of_policy(name)


@pytest.mark.parametrize(
    "name",
    [
        *("tests", "tests/test.sh", ".wh.tests", "tests/.wh..wh..opq", "solution/x", "rewarden/python/x.py"),
        *("logs", "logs/verifier", "logs/verifier/reward.txt", ".wh.logs", "./logs/../tests/x", "."),
    ],
)
@pytest.mark.parametrize("shared", [False, True])
def test_the_tests_own_folders_are_never_carried(name: str, shared: bool) -> None:
    assert not Carried((), shared=shared).of_policy(name)


@pytest.mark.parametrize(
    "name",
    [
        *("bin", ".wh.bin", "bin/sh", "lib64", "usr/bin/python3", "usr/bin/.wh.env", "usr/.wh..wh..opq", "opt/x"),
        *("etc/ld.so.preload", "etc/profile", "etc/.wh..wh..opq", "tmp/.bashrc", "tmp/.wh..profile", "root/.gitconfig"),
        *("home/me/.local/lib/python3.11/site-packages/usercustomize.py", "home/me/.config/git/config"),
        *("tmp/.sqliterc", "root/.Rprofile", "tmp/.config/go/env", "home/me/.ssh/id", "home/me/.wh..psqlrc"),
        *(
            "node_modules/x/index.js",
            "package.json",
            ".npmrc",
            ".wh..npmrc",
            "jest.config.js",
            "conftest.py",
            "go.work",
        ),
    ],
)
def test_what_runs_the_tests_is_carried_only_in_the_mode_shared(name: str) -> None:
    assert not Carried((), shared=False).of_policy(name)
    assert Carried((), shared=True).of_policy(name)
    assert Carried((), shared=False).of_environment(name)
    assert not Carried((), shared=True).of_environment(name)


def test_homes_that_the_task_names_are_homes_too() -> None:
    carried = Carried((), shared=False, homes=("/app/me/",))
    assert not carried.of_policy("app/me/.toolrc")
    assert carried.of_environment("app/me/.toolrc")
    assert [carried.of_policy(name) for name in ("app/.toolrc", "app/me/x", "app/you/.toolrc")] == [True] * 3


@pytest.mark.parametrize("name", ["root", "home", "home/me", "app", "app/me"])
def test_no_link_takes_the_place_of_a_home(name: str) -> None:
    carried = Carried((), shared=False, homes=("/app/me",))
    assert not carried.of_policy(name, tarfile.SYMTYPE)
    assert carried.of_policy(name, tarfile.DIRTYPE)
    assert carried.of_policy(name + "/x/y", tarfile.SYMTYPE)
    assert carried.dropped == ["/" + name]


def test_what_programs_leave_in_a_home_by_themselves_is_no_news() -> None:
    carried = Carried((), shared=False)
    assert not any(carried.of_policy(name) for name in ("tmp/.cache/pip/x", "tmp/.bash_history", "tmp/.toolrc", "usr"))
    assert carried.dropped == ["/tmp/.toolrc"]


def test_programs_are_searched_where_the_policy_did_not_write() -> None:
    carried = Carried(("/app/kept",), shared=False)
    trusted = ("/usr/bin", "/opt/tools/bin", "/root/.cargo/bin", "/app/kept/bin")
    assert [carried.is_trusted(path) for path in trusted] == [True] * 4
    assert not any(carried.is_trusted(path) for path in ("/app/bin", "bin", "", ".", "/opt/../app/bin", "/tmp", "/"))
    assert Carried((), shared=True).is_trusted("/app/bin")


def test_listed_paths_are_carried() -> None:
    carried = Carried(("/etc/nginx", "/usr/local/bin/tool"), shared=False)
    assert [carried.of_policy(name) for name in ("etc/nginx/a", "etc/nginx", "usr/local/bin/tool")] == [True] * 3
    assert [carried.of_policy(name) for name in ("etc/nginx2", "usr/local/bin/tool2")] == [False] * 2
    assert not carried.of_environment("etc/nginx/a")
    assert carried.dropped == ["/usr/local/bin/tool2"]


def test_streams_become_one_that_ends_once() -> None:
    carried = Carried((), shared=False)
    policy = stream("app/a", "etc/x", "tests/t", links=[("app/b", "app/a"), ("app/c", "etc/x"), ("app/d", "etc/x")])
    environment = stream("app/a", "etc/x")
    out = io.BytesIO()
    merge([(environment, carried.of_environment), (policy, carried.of_policy)], out)
    out.seek(0)
    with tarfile.open(fileobj=out) as made:
        assert made.getnames() == ["etc/x", "app/a", "app/b", "app/c", "app/d", END]
        # The file that two links of the policy's share stays a file, although its first name is left out.
        first, second = made.getmember("app/c"), made.getmember("app/d")
        assert (first.isreg(), second.linkname) == (True, "app/c")
        kept = made.extractfile(first)
        assert kept is not None
        assert kept.read() == b"etc/x"
        assert made.getmember(END).pax_headers == MARK


def test_a_stream_that_was_cut_off_is_no_state() -> None:
    with pytest.raises(tarfile.ReadError, match="cut off"):
        merge([(stream("app/a", end=False), lambda name, kind: True)], io.BytesIO())


def test_a_home_that_is_an_artifact_is_carried_without_its_start_up_files() -> None:
    own = Artifacts(["/root", "/root/.config/app", "/srv/me"], homes=["/srv/me"])
    carried = ["root", "root/out.txt", "root/in/.hidden", "root/.config/app/set.json", "srv/me/x"]
    left = ["root/.bashrc", "root/.config/git/config", "root/.local/lib/x.pth", "srv/me/.profile"]
    assert [name for name in carried if not own.of_policy(name)] == []
    assert [name for name in [*left, "root/.cache/pip/x"] if own.of_policy(name)] == []
    assert own.dropped == [f"/{name}" for name in left]


def test_no_link_takes_the_place_of_a_home_that_is_an_artifact() -> None:
    own = Artifacts(["/root", "/data"])
    assert not own.of_policy("root", tarfile.SYMTYPE)
    assert own.of_policy("data/here", tarfile.SYMTYPE)
