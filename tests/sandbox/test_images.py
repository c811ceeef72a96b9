"""The material of slots: images in an engine, the same as a root file system, and how a language is added."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import pytest

from rewarden_sandboxes import rootfs
from rewarden_sandboxes.building import NoEngine, build_images, build_rootfs, engine, image_states, main
from rewarden_sandboxes.host import Host
from rewarden_sandboxes.images import FOLDER, PREFIX, PYTHON, TIERS, ImageError, chain, read_images
from rewarden_sandboxes.job import Case, CaseResult, Job, Program
from rewarden_sandboxes.languages import Registry
from rewarden_sandboxes.settings import HostSettings

ROOT = Path(__file__).parent.parent.parent

ANYBODY = "200001:200001"
"""A candidate's uid and gid, of which no image knows."""

PROGRAMS = {
    "python": "import numpy, scipy, pandas, sympy, networkx, pytest\nprint(sum(numpy.arange(7)) * 2)",
    "c": '#include <math.h>\n#include <stdio.h>\nint main(void) { printf("%.0f\\n", sqrt(1764)); }',
    "cpp": "#include <bits/stdc++.h>\n"
    "int main() { std::vector v{40, 2}; std::cout << std::reduce(v.begin(), v.end()) << '\\n'; }",
    "javascript": "console.log([1, 2, 3, 36].reduce((a, b) => a + b))",
    "bash": "echo $((6 * 7))",
}
"""Each prints 42."""


def quiet(line: str) -> None:
    """A log that nobody reads."""


@pytest.fixture(scope="module")
def client() -> Iterator[Any]:
    """The container engine of this machine."""
    try:
        with engine() as client:
            yield client
    except NoEngine as error:
        pytest.skip(error.message)


@pytest.fixture(scope="module")
def built(client: Any) -> Any:
    """An engine that has the project's images as they are now. They are not built here: that is the user's wish."""
    states = {name: state for name, state in image_states(client).items() if name not in TIERS}
    if set(states.values()) != {"current"}:
        pytest.skip(f"images are not current ({states}); make images")
    return client


@pytest.fixture
def images(tmp_path: Path) -> Path:
    """A copy of the project's images that a test may change."""
    folder = tmp_path / "images"
    shutil.copytree(FOLDER, folder, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def inside(client: Any, tag: str, command: list[str], box: Path | None = None) -> str:
    """Returns what a command prints in a locked container, as a slot has it; the folder `box` is where it works."""
    mounts = {} if box is None else {str(box): {"bind": "/box", "mode": "rw"}}
    output: bytes = client.containers.run(
        tag,
        command,
        user=ANYBODY,
        read_only=True,
        network_mode="none",
        cap_drop=["ALL"],
        tmpfs={"/tmp": ""},
        environment={"HOME": "/tmp"},
        volumes=mounts,
        working_dir="/tmp" if box is None else "/box",
        remove=True,
        stderr=True,
    )
    return output.decode()


# --- reading


def test_parents_come_before_those_that_stand_on_them() -> None:
    images = read_images()
    assert list(images) == ["python", "toolchains", "jvm", "native", "python-science", "scripts"]
    assert [image.name for image in chain(images, "toolchains")] == ["python", "toolchains"]


def test_a_change_below_changes_all_above(images: Path) -> None:
    before = read_images(images)
    with (images / "python/requirements.txt").open("a") as file:
        file.write("# more\n")
    after = read_images(images)
    assert after["python"].digest != before["python"].digest
    assert after["toolchains"].digest != before["toolchains"].digest


def test_a_change_above_leaves_what_is_below(images: Path) -> None:
    before = read_images(images)
    with (images / "toolchains/Dockerfile").open("a") as file:
        file.write("RUN install-packages lua5.4\n")
    after = read_images(images)
    assert after["python"].digest == before["python"].digest
    assert after["toolchains"].digest != before["toolchains"].digest


def test_the_same_files_elsewhere_are_the_same_image(images: Path) -> None:
    assert {name: image.digest for name, image in read_images(images).items()} == {
        name: image.digest for name, image in read_images().items()
    }


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("ENTRYPOINT sh", "toolchains/Dockerfile: ENTRYPOINT is not supported; known: FROM, ARG"),
        ("COPY --from=python /a /b", "COPY: neither flags nor the JSON form"),
        ('RUN ["sh"]', "RUN: neither flags nor the JSON form"),
    ],
)
def test_what_only_an_engine_could_build_is_refused(images: Path, line: str, words: str) -> None:
    with (images / "toolchains/Dockerfile").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(ImageError, match=words):
        read_images(images)


def test_images_that_stand_on_each_other_are_refused(images: Path) -> None:
    (images / "python/Dockerfile").write_text("FROM rewarden-sandbox-toolchains\n")
    with pytest.raises(ImageError, match="built on each other"):
        read_images(images)


def test_an_unknown_image_is_answered_with_those_that_are_known() -> None:
    with pytest.raises(ImageError, match="unknown image 'toolchain'; known: python, toolchains, jvm"):
        chain(read_images(), "toolchain")


def test_every_image_of_the_registry_has_its_folder() -> None:
    of_the_users_own = {"julia", "swift"}
    assert {image for language in Registry.load() for image in language.images} - of_the_users_own == set(read_images())


# --- where something is missing


def test_without_an_engine_the_command_that_mends_it_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    assert main(["images"]) == 1
    said = capsys.readouterr().err
    assert "no container engine answers" in said
    assert "fix: apt-get install docker.io" in said


def test_without_engine_and_debootstrap_a_root_file_system_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/none.sock")
    monkeypatch.setenv("PATH", str(tmp_path))
    target = tmp_path / "place/toolchains"
    assert main(["rootfs", "--target", str(target)]) == 1
    assert "fix: apt-get install debootstrap" in capsys.readouterr().err
    assert [path.name for path in target.parent.iterdir()] == [".toolchains.lock"]


def test_a_failed_build_leaves_what_was_there(tmp_path: Path) -> None:
    target = tmp_path / "toolchains"
    target.mkdir()
    (target / "kept").touch()

    def build() -> None:
        with rootfs.replacing(target, "0") as fresh:
            (fresh / "half").touch()
            raise ImageError("the disk is full")

    with pytest.raises(ImageError):
        build()
    assert [path.name for path in target.iterdir()] == ["kept"]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".toolchains.lock", "toolchains"]


def test_a_build_takes_the_place_of_what_was_there_and_clears_what_was_killed(tmp_path: Path) -> None:
    target = tmp_path / "toolchains"
    (target / "etc").mkdir(parents=True)
    (target / "etc/old").touch()
    (tmp_path / ".toolchains.killed/etc").mkdir(parents=True)
    with rootfs.replacing(target, "abc") as fresh:
        (fresh / "etc").mkdir()
    assert sorted(str(path.relative_to(target)) for path in target.rglob("*")) == ["etc", rootfs.MARKER]
    assert sorted(path.name for path in tmp_path.iterdir()) == [".toolchains.lock", "toolchains"]
    assert stat.S_IMODE(target.stat().st_mode) == 0o755


@pytest.mark.parametrize(("marker", "state"), [(None, "missing"), ("abc", "old"), ("digest", "current")])
def test_a_root_file_system_knows_what_it_was_built_from(tmp_path: Path, marker: str | None, state: str) -> None:
    digest = read_images()["toolchains"].digest
    (tmp_path / "etc").mkdir()
    if marker is not None:
        (tmp_path / rootfs.MARKER).write_text(digest if marker == "digest" else marker)
    assert rootfs.rootfs_state(tmp_path) == state


def test_nothing_is_installed_started_or_built_uninvited(tmp_path: Path) -> None:
    environment = {name: value for name, value in os.environ.items() if name not in ("SYSTEM", "CI")}
    command = ["bash", ROOT / "scripts/sandbox-images.sh", tmp_path / "no-python"]
    done = subprocess.run(command, env=environment, capture_output=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


@pytest.mark.parametrize("helper", ["python/install-packages", "toolchains/precompile", "toolchains/compile-tests"])
def test_a_helper_of_the_images_is_a_shell_script_that_parses(helper: str) -> None:
    shell = (FOLDER / helper).read_text(encoding="utf-8").partition("\n")[0].removeprefix("#!")
    assert subprocess.run([shell, "-n", str(FOLDER / helper)], check=False).returncode == 0


def test_a_header_is_precompiled_for_the_flags_of_the_row_that_uses_it() -> None:
    compiler, *flags, _, program, file = Registry.load().get("cpp").compile
    assert (compiler, program, file) == ("g++", "main", "main.cpp")
    precompiled = f"precompile bits/stdc++.h {' '.join(flags)}"
    assert precompiled in [instruction.text for instruction in read_images()["toolchains"].instructions]


# --- the project's images


@pytest.mark.needs_server
def test_what_is_current_is_not_built_again(built: Any) -> None:
    said: list[str] = []
    made = build_images(built, log=said.append)
    assert made == {"python": f"{PREFIX}python", "toolchains": f"{PREFIX}toolchains"}
    assert said == []


@pytest.mark.needs_server
@pytest.mark.parametrize("name", PROGRAMS)
def test_every_language_runs_as_its_row_says_in_each_of_its_images(built: Any, name: str, tmp_path: Path) -> None:
    language = Registry.load().get(name)
    for image in ("python", "toolchains"):
        if image not in language.images:
            continue
        box = tmp_path / image
        box.mkdir()
        box.chmod(0o777)
        (box / language.file).write_text(PROGRAMS[name])
        if language.compile:
            assert inside(built, PREFIX + image, list(language.compile), box) == ""
        assert inside(built, PREFIX + image, list(language.run), box) == "42\n"


@pytest.mark.needs_server
@pytest.mark.parametrize("name", ["python", "toolchains"])
def test_an_image_has_no_program_that_lends_its_owners_rights(built: Any, name: str) -> None:
    search = ["find", "/", "-xdev", "-type", "f", "-perm", "/6000"]
    command = ["sh", "-c", f"{' '.join(search)} 2>/dev/null; true"]
    assert inside(built, PREFIX + name, command) == ""


@pytest.mark.needs_server
def test_python_is_where_it_is_said_to_be_and_compiled_beforehand(built: Any) -> None:
    code = "import sys, os, numpy; print(sys.executable, os.path.exists(numpy.__cached__))"
    assert inside(built, f"{PREFIX}python", ["python3", "-c", code]) == f"{PYTHON} True\n"


@pytest.mark.needs_server
@pytest.mark.parametrize("flags", ["", "-O3 -DONLINE_JUDGE -Wall -fwrapv"])
def test_the_header_of_all_headers_is_taken_precompiled_by_the_row_cpp(built: Any, flags: str, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    (tmp_path / "main.cpp").write_text(PROGRAMS["cpp"])
    command = f"{' '.join(Registry.load().get('cpp').compile)} {flags} -H 2>&1"
    told = inside(built, f"{PREFIX}toolchains", ["sh", "-c", command], tmp_path)
    taken = [line for line in told.splitlines() if line.startswith("!")]
    assert len(taken) == 1
    assert "bits/stdc++.h.gch/" in taken[0]


CHECKER = """
#include "testlib.h"
int main(int count, char *words[]) {
    registerTestlibCmd(count, words);
    int got = ouf.readInt(1, 100, "answer"), wanted = ans.readInt();
    if (got != wanted) quitf(_wa, "expected %d, found %d", wanted, got);
    quitf(_ok, "%d", got);
}
"""


@pytest.mark.needs_server
def test_checkers_include_testlib(built: Any, tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    for name, text in (("main.cpp", CHECKER), ("right", "42"), ("wrong", "7")):
        (tmp_path / name).write_text(text)
    runs = "./main right right right 2>&1; ./main right wrong right 2>&1; true"
    command = f"{' '.join(Registry.load().get('cpp').compile)} && {{ {runs}; }}"
    assert inside(built, f"{PREFIX}toolchains", ["sh", "-c", command], tmp_path).splitlines() == [
        "ok 42",
        "wrong answer expected 42, found 7",
    ]


@pytest.fixture(scope="module")
def root(built: Any) -> Iterator[Path]:
    """The root file system of the image `python`."""
    with tempfile.TemporaryDirectory(prefix="rewarden-root-") as place:
        yield build_rootfs(Path(place, "python"), image="python", log=quiet)


@pytest.mark.needs_server
def test_a_root_file_system_that_is_current_is_not_built_again(root: Path) -> None:
    said: list[str] = []
    assert build_rootfs(root, image="python", log=said.append) == root
    assert said == []


@pytest.mark.needs_server
def test_the_root_file_system_has_what_the_image_has(root: Path) -> None:
    assert (root / PYTHON.lstrip("/")).exists()
    assert list((root / "usr/local/lib").glob("python3*/dist-packages/numpy/__init__.py"))
    assert stat.S_IMODE((root / "tmp").stat().st_mode) == 0o1777
    assert [path for path in root.rglob("*") if path.is_char_device() or path.is_block_device()] == []
    setuid = [path for path in root.rglob("*") if path.is_file() and path.lstat().st_mode & 0o6000]
    assert setuid == []


# --- both builders carry out the same dialect

DIALECT = """
ARG PREFIX=rewarden-sandbox-
# a comment
FROM ${PREFIX}python
ARG UNSET
ARG GIVEN=by-default
ENV NAMED="two words" OTHER=${GIVEN}-too
COPY one.txt missing.tx[t] /var/run/copied/
COPY run-me /usr/local/bin/renamed
RUN printf '%s|%s|%s|%s\\n' "$GIVEN" "$NAMED" "$OTHER" "${UNSET-unset}" \\
      > /said && \\
    renamed >> /said
RUN stat -c '%a %U' /run/copied/one.txt /usr/local/bin/renamed >> /said; ls /run/copied >> /said; pwd >> /said
"""


@pytest.mark.needs_server
def test_a_dockerfile_does_the_same_without_an_engine(built: Any, root: Path, tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("chroot needs root")
    folder = tmp_path / "images"
    (folder / "odd").mkdir(parents=True)
    (folder / "odd/Dockerfile").write_text(DIALECT)
    (folder / "odd/one.txt").write_text("1")
    (folder / "odd/run-me").write_text("#!/bin/sh\necho ran\n")
    (folder / "odd/run-me").chmod(0o755)
    shutil.copytree(FOLDER / "python", folder / "python")
    image = read_images(folder)["odd"]
    prefix = "rewarden-test-"
    try:
        build_images(built, folder=folder, prefix=prefix, log=quiet)
        theirs = inside(built, f"{prefix}odd", ["cat", "/said"])
    finally:
        remove(built, prefix)
    rootfs.carry_out(image, root, quiet)
    assert (root / "said").read_text() == theirs
    assert theirs == "by-default|two words|by-default-too|unset\nran\n644 root\n755 root\none.txt\n/\n"
    assert str(root) not in Path("/proc/mounts").read_text()


def remove(client: Any, prefix: str) -> None:
    """Take a test's tags away."""
    for image in client.images.list():
        for tag in image.tags:
            if tag.startswith(prefix):
                client.images.remove(tag)


# --- adding a language


LINE = "RUN install-packages lua5.3\n"
ROW = "lua: {images: [toolchains], file: main.lua, run: [lua5.3, main.lua]}\n"


@pytest.fixture(scope="module")
def lua(built: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[HostSettings]:
    """A host's settings after one line was added to a Dockerfile and one row to a file of languages."""
    place = tmp_path_factory.mktemp("lua")
    images = place / "images"
    shutil.copytree(FOLDER, images, ignore=shutil.ignore_patterns("__pycache__"))
    with (images / "toolchains/Dockerfile").open("a") as file:
        file.write(LINE)
    row = place / "languages.yaml"
    row.write_text(ROW)
    prefix = "rewarden-lua-"
    # Not below pytest's own folder, which only its owner may enter: a slot is somebody else.
    with tempfile.TemporaryDirectory(prefix="rewarden-lua-") as roots:
        Path(roots).chmod(0o755)
        try:
            build_images(built, folder=images, prefix=prefix, log=quiet)
            build_rootfs(Path(roots, "toolchains"), folder=images, prefix=prefix, log=quiet)
            yield HostSettings(image_prefix=prefix, rootfs=roots, languages=str(row), warm=1)
        except ImageError as error:
            if "Temporary failure resolving" in error.message:
                pytest.skip("Debian's packages cannot be reached")
            raise
        finally:
            remove(built, prefix)


@pytest.mark.group("languages")
@pytest.mark.slow
@pytest.mark.needs_server
@pytest.mark.parametrize("launcher", ["docker", "bwrap"])
async def test_a_language_is_one_row_and_one_line(lua: HostSettings, launcher: Literal["docker", "bwrap"]) -> None:
    if launcher == "bwrap" and shutil.which("bwrap") is None:
        pytest.skip("bubblewrap is not installed")
    host = Host(replace(lua, launcher=launcher))
    await host.start()
    try:
        job = Job(program=Program(language="Lua", code=b"print(6 * io.read('n'))"), cases=[Case(stdin=b"7")])
        events = [event async for event in host.run(job)]
    finally:
        await host.close()
    (event,) = events
    assert isinstance(event, CaseResult)
    assert (event.program.status, event.program.stdout) == ("ok", b"42\n")
