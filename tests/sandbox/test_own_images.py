"""Boxes of images that are not the project's: allowed by a setting, with the image's own user, folder and variables."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import secrets
import signal
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path

import docker
import docker.errors
import pytest
import pytest_asyncio

from rewarden_sandboxes.box import BoxSpec, Exec
from rewarden_sandboxes.errors import BadJob, FileFault, NoRoom
from rewarden_sandboxes.job import Limits, Program
from rewarden_sandboxes.launchers.docker import DockerLauncher
from rewarden_sandboxes.launchers.launcher import LABEL, Lease
from rewarden_sandboxes.probing import clean
from rewarden_sandboxes.settings import HostSettings
from tests.sandbox.boxes import sh, whole
from tests.sandbox.own_image import foreign_image, own_image
from tests.sandbox.served import Served, serving

pytestmark = [pytest.mark.needs_server, pytest.mark.alone, pytest.mark.asyncio(loop_scope="module")]

PYTHON = f"{HostSettings().image_prefix}python:{HostSettings().image_tag}"
ABSENT = "rewarden-test-own/none@sha256:" + "0" * 64
DEFAULTS = ("ENV GREETING=hello LD_PRELOAD=/none.so PATH=/usr/bin", "WORKDIR /srv/app", 'ENTRYPOINT ["/usr/bin/id"]')


@pytest.fixture(scope="module")
def image() -> Iterator[str]:
    with own_image(changes=DEFAULTS) as image:
        yield image


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def served(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Served]:
    address = f"unix:{tmp_path_factory.mktemp('host')}/socket"
    allowed = ("sha256:*", "rewarden-test-own/*")
    async for each in serving("docker", address, boxes=3, own_images=allowed):
        yield each


async def test_a_box_has_the_images_user_folder_and_variables(served: Served, image: str) -> None:
    async with served.box(image=image) as box:
        assert box.image == image
        report = await box.run(sh("pwd; id -u; id -g; echo $GREETING $LD_PRELOAD $HOME", env={"GREETING": "bye"}))
        assert report.stdout == b"/srv/app\n0\n0\nbye /none.so /root\n"
        assert (await box.run(sh("pwd", cwd="/usr"))).stdout == b"/usr\n"
        assert b"".join([part async for part in box.get("readme")]) == b"of the image\n"


async def test_the_images_files_are_the_boxs_to_change_and_the_next_one_has_them_anew(
    served: Served, image: str
) -> None:
    async with served.client() as client:
        async with await client.box(BoxSpec(image=image)) as box:
            await box.run(sh("cat secret; echo mine >> secret; rm readme; mkdir /new; rm /usr/bin/touch"))
            assert (await box.run(sh("cat secret"))).stdout == b"root\nmine\n"
            snapshot = await whole(box.snapshot())
        async with await client.box(BoxSpec(image=image)) as box:
            assert (await box.run(sh("cat secret; cat readme"))).stdout == b"root\nof the image\n"
        async with await client.box(BoxSpec(image=image)) as box:
            await box.restore(_pieces(snapshot))
            assert (await box.run(sh("cat secret; ls; ls -d /new; ls /usr/bin/touch"))).stdout == (
                b"root\nmine\nsecret\n/new\n"
            )


async def _pieces(data: bytes) -> AsyncIterator[bytes]:
    yield data


async def test_the_supervisors_python_is_not_in_the_box(served: Served, image: str) -> None:
    async with served.box(image=image) as box:
        report = await box.run(sh("ls -A /; cat /proc/self/mountinfo; ls -A /run /sys; cat /proc/[0-9]*/cmdline"))
        assert b".rewarden" not in report.stdout
        assert b"python" not in report.stdout
        code = Program(language="python", code=b"print(1)")
        assert b"python3" in (await box.run(Exec(program=code))).stderr  # this image has none
        shell = await box.run(Exec(program=Program(language="bash", code=b"echo $0 $1", args=("a",))))
        assert (shell.status, shell.exit_code) == ("runtime_error", 126)


async def test_user_0_has_no_capability_and_reaches_nothing_of_the_machine(served: Served, image: str) -> None:
    async with served.box(image=image) as box:
        status = (await box.run(sh("grep -E '^(Cap(Inh|Prm|Eff|Amb)|NoNewPrivs|Seccomp):' /proc/self/status"))).stdout
        assert [line.split()[1].strip(b"0") for line in status.splitlines()] == [b"", b"", b"", b"", b"1", b"2"]
        hidden = "/proc/sys/net/ipv4/tcp_fastopen_key /proc/sys/kernel/cad_pid /proc/sys/vm/mmap_rnd_bits"
        assert (await box.run(sh(f"cat {hidden}; ls -A /proc/tty/driver"))).stdout == b""
        assert (await box.run(sh("cat /proc/sys/kernel/osrelease"))).stdout != b""
        for target in ("/proc/sys/kernel/domainname", "/proc/self/oom_score_adj", "/dev/new"):
            report = await box.run(sh(f"echo 1 > {target}"))
            assert b"Read-only file system" in report.stderr, target
        assert (await box.run(sh("cat /proc/kpagecount /proc/slabinfo /proc/keys /proc/kmsg"))).stdout == b""
        assert (await box.run(sh("chmod 000 /dev/null"))).exit_code == 1


async def test_the_boxs_processes_are_bounded_and_one_that_is_full_can_still_be_left(
    served: Served, image: str
) -> None:
    async with served.box(image=image, processes=8) as box:
        assert box.enforced["processes"] == "cgroup"
        await box.run(sh("while :; do sleep 1000 & done"))  # the shell ends when it cannot fork
        last = await box.exec(Exec(argv=("sleep", "1000")))
        while (report := await box.run(sh("true"))).status == "ok":
            last = await box.exec(Exec(argv=("sleep", "1000")))
        assert (report.status, report.limit) == ("runtime_error", "processes"), report
        with pytest.raises(FileFault) as fault:
            await whole(box.get("readme"))
        assert fault.value.number == errno.EAGAIN
        last.signal(signal.SIGKILL)
        await last.finish()
        assert (await box.run(sh("echo goes on"))).stdout == b"goes on\n"


async def test_an_image_can_name_another_user(served: Served) -> None:
    with own_image(changes=["USER 1234:1234", "WORKDIR /tmp/work"]) as image:
        async with served.box(image=image) as box:
            report = await box.run(sh("id -u; pwd; echo mine > a; cat a; cat /srv/app/secret"))
            assert report.stdout == b"1234\n/tmp/work\nmine\n"
            assert b"Permission denied" in report.stderr


async def test_the_top_of_the_image_is_the_boxs_as_well(served: Served, image: str) -> None:
    async with served.client() as client:
        async with await client.box(BoxSpec(image=image)) as box:
            report = await box.run(sh("/entry.sh; cat /mnt/data; ls -A /; echo mine >> /mnt/data; rm /entry.sh"))
            assert report.stdout.startswith(b"entered\nof /mnt\n"), report
            assert b".dockerenv" not in report.stdout
            snapshot = await whole(box.snapshot())
        async with await client.box(BoxSpec(image=image)) as box:
            await box.restore(_pieces(snapshot))
            assert (await box.run(sh("cat /mnt/data; ls /entry.sh"))).stdout == b"of /mnt\nmine\n"


async def test_an_image_whose_top_does_not_fit_into_the_boxs_disk_is_refused_by_that_limit(served: Served) -> None:
    with own_image(large=True) as image:
        async with served.client() as client:
            with pytest.raises(BadJob, match=r"too small for this image: .*/entry\.sh") as refused:
                await client.box(BoxSpec(image=image, limits=Limits(disk_mb=2)))
        assert refused.value.path == "limits.disk_mb"
        async with served.box(image=image, disk_mb=8) as box:
            assert (await box.run(sh("ls /entry.sh"))).stdout == b"/entry.sh\n"


@pytest.mark.parametrize(
    ("links", "folder", "real"),
    [
        ({"work": "/srv/app"}, "/work", b"/srv/app"),  # there, and only in the box's root
        ({"work": "/data/new"}, "/work/inner", b"/data/new/inner"),  # a link that leads to nothing yet
        ({"var/tmp": "/tmp"}, "/var/tmp/work", b"/tmp/work"),  # a fresh folder, by a link
    ],
)
async def test_links_lead_to_the_working_folder_as_they_do_in_a_container(
    served: Served, links: dict[str, str], folder: str, real: bytes
) -> None:
    with own_image(changes=[f"WORKDIR {folder}"], links=links) as image:
        async with served.box(image=image) as box:
            report = await box.run(sh("readlink -f . ; echo a > a; cat a; ls /var/tmp"))
            assert report.stdout.startswith(real + b"\na\n"), report
            assert (await box.run(sh("cat a"))).stdout == b"a\n"
            snapshot = await whole(box.snapshot())
        async with served.box(image=image) as box:
            await box.restore(_pieces(snapshot))
            assert (await box.run(sh("readlink -f . ; cat a"))).stdout == real + b"\na\n"


async def test_an_image_of_another_architecture_is_refused_before_its_first_run(served: Served) -> None:
    ours = docker.from_env().images.get(PYTHON).attrs["Architecture"]
    other = next(each for each in ("s390x", "amd64") if each != ours)
    with foreign_image(other) as image:
        async with served.client() as client:
            with pytest.raises(BadJob, match=f"{image} is for linux/{other}, and .* linux/{ours}") as refused:
                await client.box(BoxSpec(image=image))
        assert refused.value.path == "image"
    assert not any(name.startswith(image) for name in (await served.host.status())["slots"])


async def test_a_missing_image_of_ours_is_named_and_is_not_the_callers_fault(served: Served, image: str) -> None:
    launcher = DockerLauncher(HostSettings(image_prefix="rewarden-test-none-"))
    try:
        assert "rewarden-test-none-python" in (await launcher.problem(image) or "")
        with tempfile.TemporaryDirectory() as folder:
            lease = Lease(name="rewarden-test-none", image=image, folder=Path(folder), uid=1, memory_mb=64, processes=9)
            with pytest.raises(NoRoom, match="rewarden-test-none-python"):
                await launcher.start(lease)
    finally:
        launcher.close()
    host, known = served.host, served.host._launcher
    assert known is not None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(known, "_settings", HostSettings(image_prefix="rewarden-test-none-"))
        async with served.client() as client:
            with pytest.raises(NoRoom, match="rewarden-test-none-python"):
                await client.box(BoxSpec(image=image))
    assert host._launcher is known


async def test_runtimes_whose_image_is_gone_are_removed_unless_a_container_has_them(tmp_path: Path, image: str) -> None:
    prefix = f"rewarden-test-{secrets.token_hex(6)}-"
    with contextlib.ExitStack() as stack:
        client = stack.enter_context(contextlib.closing(docker.from_env()))
        unused, used, own = (f"{prefix}runtime-{name}" for name in ("a" * 12, "b" * 12, _short_id(client)))
        for name in (unused, used):
            client.volumes.create(name, labels={LABEL: "runtime"})
        for name in (unused, used, own):
            stack.callback(_drop, client.api.remove_volume, name)
        holder = client.containers.create(PYTHON, ["true"], mounts=[docker.types.Mount("/a", used, type="volume")])
        stack.callback(_drop, client.api.remove_container, holder.id)
        client.images.get(PYTHON).tag(f"{prefix}python", HostSettings().image_tag)
        stack.callback(_drop, client.images.remove, f"{prefix}python:{HostSettings().image_tag}")
        settings = {"boxes": 1, "own_images": ("sha256:*",), "image_prefix": prefix}
        async for served in serving("docker", f"unix:{tmp_path}/socket", **settings):
            async with served.box(image=image) as box:
                assert _volumes(client, prefix) == {used, own}
                assert (await box.run(sh("echo runs"))).stdout == b"runs\n"
            while any(name.startswith(image) for name in (await served.host.status())["slots"]):
                await asyncio.sleep(0.05)  # until the container that has the volume is gone
            client.api.remove_volume(own)
            async with served.box(image=image) as box:  # it is made again where somebody removed it
                assert (await box.run(sh("echo runs"))).stdout == b"runs\n"
        holder.remove(force=True)
        assert f"removed the volume {used}" in clean(tmp_path)
        assert _volumes(client, prefix) == {own}


def _short_id(client: docker.DockerClient) -> str:
    return str(client.images.get(PYTHON).id).removeprefix("sha256:")[:12]


def _volumes(client: docker.DockerClient, prefix: str) -> set[str]:
    return {each.name for each in client.volumes.list() if each.name.startswith(prefix)}


def _drop(work: Callable[[str], object], name: str) -> None:
    with contextlib.suppress(docker.errors.APIError):
        work(name)


async def test_what_is_wrong_with_an_image_is_said(served: Served, image: str) -> None:
    with own_image(changes=["VOLUME /var/lib/data"]) as volumes:
        for name, words in (
            (ABSENT, f"docker pull {ABSENT}"),
            ("sha256:" + "0" * 64, "docker load"),
            (f"other/{ABSENT}", "sandbox.own_images"),
            ("debian", "known: .*python.* its id"),
            ("debian:bookworm", "by its id"),
            ("sha256:abc", "by its id"),
            (volumes, "the volume /var/lib/data"),
        ):
            async with served.client() as client:
                with pytest.raises(BadJob, match=words) as refused:
                    await client.box(BoxSpec(image=name))
                assert refused.value.path == "image"


async def test_hosts_allow_no_own_image_until_they_are_told_which(tmp_path: object, image: str) -> None:
    async for served in serving("docker", f"unix:{tmp_path}/socket", boxes=1):
        async with served.client() as client:
            with pytest.raises(BadJob, match=r"sandbox\.own_images"):
                await client.box(BoxSpec(image=image))


async def test_bubblewrap_has_the_tiers_only(tmp_path: object, image: str) -> None:
    async for served in serving("bwrap", f"unix:{tmp_path}/socket", boxes=1, own_images=("sha256:*",)):
        async with served.client() as client:
            with pytest.raises(BadJob, match=r"set sandbox\.launcher to docker"):
                await client.box(BoxSpec(image=image))


async def test_a_host_keeps_no_slot_of_an_own_image_that_nobody_uses(served: Served, image: str) -> None:
    async with served.box(image=image):
        assert any(name.startswith(image) for name in (await served.host.status())["slots"])
    while any(name.startswith(image) for name in (await served.host.status())["slots"]):
        await asyncio.sleep(0.05)
