"""The model process and its keeper: it loads in the background, loses nothing, may die, and goes with the server.

The computing is a fake's (`fake_process.py`); all else is real.
"""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from rewarden.errors import InvalidParams, MissingDependency, ModelError
from rewarden_models import hosted_model
from rewarden_models.app import App
from rewarden_models.command import main
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.settings import ProcessSettings, settings_from_json, settings_to_json
from rewarden_server.models import process_backend
from rewarden_server.models.connection import Connection
from rewarden_server.models.process import ModelProcess, processes_of
from rewarden_server.models.process_backend import ProcessBackend
from rewarden_server.models.settings import ModelSettings
from rewarden_verifiers.inference import Classify, Input, Logits, Write
from tests.models import fake_process
from tests.stopped import state_of, stop

pytestmark = pytest.mark.needs_server

ROOT = Path(__file__).parents[2]


class FakeProcess(ModelProcess):
    """A kept process that computes nothing."""

    def command(self, address: str) -> list[str]:
        python, _, _, _, *rest = super().command(address)
        return [python, "-m", "tests.models.fake_process", *rest]

    def environment(self) -> dict[str, str]:
        return {**super().environment(), "PYTHONPATH": str(ROOT)}


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Yields the folder of the processes' sockets; pytest's own folders (made before) have names too long for one."""
    with tempfile.TemporaryDirectory(prefix="rw-") as made:
        monkeypatch.setenv("TMPDIR", made)
        monkeypatch.setattr(tempfile, "tempdir", None)
        yield Path(made)


def model(place: Path, version: str) -> Path:
    """A folder with a model of that version."""
    place.mkdir(parents=True, exist_ok=True)
    (place / "version").write_text(version)
    return place


@pytest.fixture
def settings(tmp_path: Path) -> ModelEndpoint:
    """A model that works, and may be reloaded from `others`."""
    (tmp_path / "others").mkdir()
    return ModelEndpoint(model=str(model(tmp_path / "first", "v1")), reload_from=(str(tmp_path / "others"),))


@pytest_asyncio.fixture
async def backend(settings: ModelEndpoint) -> AsyncIterator[ProcessBackend]:
    """A backend of that model, whose process was not started."""
    made = ProcessBackend("m", settings, FakeProcess(ProcessSettings(models={"m": settings})), 60)
    yield made
    await made.close()


def process_of(backend: ProcessBackend) -> FakeProcess:
    process = backend._process
    assert isinstance(process, FakeProcess)
    return process


async def score(backend: ProcessBackend, text: str) -> Logits:
    return await backend.run(Classify(input=Input(text=text)))


async def waiting(backend: ProcessBackend) -> list[str]:
    """The inputs that wait at the process."""
    (text,) = (await backend.run(Write(input=Input(text="")))).texts
    return [line for line in text.text.split("\n") if line]


async def until_waiting(backend: ProcessBackend, *texts: str) -> None:
    async with asyncio.timeout(30):
        while await waiting(backend) != list(texts):
            await asyncio.sleep(0.01)


async def gone(*pids: int | None) -> None:
    """Wait until no such process runs."""
    async with asyncio.timeout(30):
        while any(pid is not None and _runs(pid) for pid in pids):
            await asyncio.sleep(0.01)


def _runs(pid: int) -> bool:
    return state_of(Path(f"/proc/{pid}")) not in ("Z", "X")


async def test_it_starts_when_it_is_needed_and_says_how_it_is(backend: ProcessBackend) -> None:
    assert backend.status()["state"] == "starting"
    assert backend.status()["pid"] is None
    assert (await score(backend, "four")).values == [4.0]
    assert (await backend.about()).version == "v1"
    told = backend.status()
    assert (told["state"], told["version"], told["in_flight"], told["starts"]) == ("ready", "v1", 0, 1)


async def test_models_of_one_device_share_a_process(settings: ModelEndpoint) -> None:
    remote = replace(settings, address="http://127.0.0.1:1", api_key="sesame")
    named = {
        "a": settings,
        "b": settings,
        "first": replace(settings, device="cuda"),
        "same": replace(settings, device="cuda:0"),
        "other": replace(settings, device="cuda:1"),
        "far": remote,
        "engine": replace(remote, backend="vllm"),
        "another": replace(remote, backend="sglang"),
    }
    found = processes_of(ModelSettings(named=named))
    assert found.keys() == named.keys() - {"far"}
    assert found["a"] is found["b"]
    assert found["first"] is found["same"]
    assert found["engine"] is found["another"]
    assert len(set(map(id, found.values()))) == 4
    assert found["a"].settings.models.keys() == {"a", "b"}
    # A key for another engine is handed on where nobody else reads it.
    engine = found["engine"]
    assert "sesame" not in str(engine.command("unix:/x"))
    variable = engine.settings.models["engine"].api_key_env
    assert variable is not None
    assert engine.environment()[variable] == "sesame"


async def test_a_failure_costs_one_item_and_none_of_its_neighbours(backend: ProcessBackend) -> None:
    texts = [f"text {number}" for number in range(300)]
    texts[100:100] = ["raise it", "nan", "memory", ""]
    done = await asyncio.gather(*(score(backend, text) for text in texts), return_exceptions=True)
    for text, result in zip(texts, done, strict=True):
        if text in ("raise it", "nan", "memory"):
            assert isinstance(result, ModelError), text
            assert "quotes" not in str(result)  # a defect's text may hold the sample's
        else:
            assert isinstance(result, Logits)
            assert result.values == [float(len(text))]


async def test_killed_under_load_every_item_ends_and_later_work_succeeds(backend: ProcessBackend) -> None:
    await backend.about()
    pid = process_of(backend).pid
    assert pid is not None
    tasks = [asyncio.create_task(score(backend, f"text {number}")) for number in range(2000)]
    await tasks[0]
    os.kill(pid, signal.SIGKILL)
    done = await asyncio.gather(*tasks, return_exceptions=True)
    assert {type(result) for result in done} <= {Logits, ModelError}
    assert all(
        result.values == [float(len(f"text {number}"))]
        for number, result in enumerate(done)
        if isinstance(result, Logits)
    )
    assert sum(isinstance(result, Logits) for result in done) == 2000  # killed once, they were tried again
    assert (await score(backend, "later")).values == [5.0]
    assert backend.status()["starts"] == 2


async def test_what_kills_its_process_twice_is_an_error_and_no_number(backend: ProcessBackend) -> None:
    with pytest.raises(ModelError) as found:
        await score(backend, "die now")
    assert found.value.details["kind"] == "killed"
    assert (await score(backend, "lives")).values == [5.0]


@pytest.mark.parametrize("killers", [{120}, {5, 199}])
async def test_what_kills_its_process_among_many_costs_only_itself(backend: ProcessBackend, killers: set[int]) -> None:
    texts = [f"die {number}" if number in killers else f"text {number}" for number in range(200)]
    done = await asyncio.gather(*(score(backend, text) for text in texts), return_exceptions=True)
    for number, (text, found) in enumerate(zip(texts, done, strict=True)):
        if number in killers:
            assert isinstance(found, ModelError)
            assert found.details["kind"] == "killed"
        else:
            assert isinstance(found, Logits), text
            assert found.values == [float(len(text))]
    assert backend.status()["starts"] <= 2 + 3 * len(killers)


async def test_what_kills_its_process_costs_the_other_models_in_it_nothing(settings: ModelEndpoint) -> None:
    models = {"m": settings, "n": settings}
    process = FakeProcess(ProcessSettings(models=models))
    deadly, other = (ProcessBackend(name, made, process, 60) for name, made in models.items())
    await asyncio.gather(deadly.about(), other.about())
    texts = [f"text {number}" for number in range(100)]
    killer = asyncio.create_task(score(deadly, "die now"))
    done = await asyncio.gather(*(score(backend, text) for text in texts for backend in (other, deadly)))
    assert len(done) == 200
    with pytest.raises(ModelError) as found:
        await killer
    assert found.value.details["kind"] == "killed"
    await asyncio.gather(deadly.close(), other.close())


async def test_a_process_that_is_told_to_stop_loses_nothing(backend: ProcessBackend) -> None:
    waits = asyncio.create_task(score(backend, "wait here"))
    await until_waiting(backend, "wait here")
    pid = process_of(backend).pid
    assert pid is not None
    os.kill(pid, signal.SIGTERM)
    await gone(pid)
    await until_waiting(backend, "wait here")  # at the next one
    assert backend.status()["starts"] == 2
    waits.cancel()


async def test_whoever_leaves_frees_the_process(backend: ProcessBackend) -> None:
    first, second = (asyncio.create_task(score(backend, f"wait {name}")) for name in "ab")
    await until_waiting(backend, "wait a", "wait b")
    first.cancel()
    await until_waiting(backend, "wait b")
    second.cancel()
    await until_waiting(backend)


async def test_reloading_under_load_loses_nothing_and_ends_with_the_new_weights(
    backend: ProcessBackend, tmp_path: Path
) -> None:
    other = model(tmp_path / "others" / "second", "v2")
    await backend.about()
    tasks = [asyncio.create_task(score(backend, f"text {number}")) for number in range(1000)]
    await tasks[0]
    reload = asyncio.create_task(backend.reload(str(other), None))
    more = [asyncio.create_task(score(backend, f"text {number}")) for number in range(1000)]
    assert (await reload).version == "v2"
    done = await asyncio.gather(*tasks, *more)
    assert {result.facts.version for result in done} <= {"v1", "v2"}
    assert (await score(backend, "x")).facts.version == "v2"
    assert backend.status()["version"] == "v2"
    assert backend.status()["starts"] == 1


async def test_reloads_queue_and_the_same_place_is_read_again(backend: ProcessBackend, tmp_path: Path) -> None:
    others = [model(tmp_path / "others" / name, name) for name in ("v2", "v3", "v4")]
    done = await asyncio.gather(*(backend.reload(str(other), None) for other in others))
    assert sorted(about.version for about in done) == ["v2", "v3", "v4"]
    model(others[-1], "v5")
    last = (await backend.about()).version
    again = await backend.reload(None, None)
    assert again.version == ("v5" if last == "v4" else last)


async def test_weights_come_from_where_they_may_and_from_nowhere_else(
    backend: ProcessBackend, settings: ModelEndpoint, tmp_path: Path
) -> None:
    outside = model(tmp_path / "outside", "stolen")
    (tmp_path / "others" / "link").symlink_to(outside)
    beside = model(tmp_path / "others-too", "stolen")
    for wrong in (
        str(outside),
        str(beside),
        str(tmp_path / "others" / "link"),
        str(tmp_path / "others" / ".." / "outside"),
        str(tmp_path / "others" / "nothing"),
        "someone/a-model-of-the-hub",
        "",
        "/",
    ):
        with pytest.raises(InvalidParams, match="reload_from") as found:
            await backend.reload(wrong, None)
        assert found.value.details["path"] == "model"
    model(Path(settings.model), "v1b")
    assert (await backend.reload(settings.model, None)).version == "v1b"


async def test_weights_that_cannot_be_loaded_leave_the_old_ones(backend: ProcessBackend, tmp_path: Path) -> None:
    empty = tmp_path / "others" / "empty"
    empty.mkdir()
    with pytest.raises(ModelError, match="holds no model"):
        await backend.reload(str(empty), None)
    assert (await score(backend, "x")).facts.version == "v1"
    assert backend.status()["state"] == "ready"


async def test_new_weights_that_do_not_fit_beside_the_old_are_refused(backend: ProcessBackend, tmp_path: Path) -> None:
    huge = model(tmp_path / "others" / "huge", "v2")
    with (huge / "model.safetensors").open("wb") as file:
        file.truncate(2**43)  # takes no room on the disk
    with pytest.raises(ModelError, match="old ones are kept") as found:
        await backend.reload(str(huge), None)
    assert found.value.details["kind"] == "memory"
    assert (await score(backend, "x")).facts.version == "v1"


async def until_started(backend: ProcessBackend, starts: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Wait for that start. The process may then be silent for long: on a busy machine a healthy one is."""
    while backend.status()["starts"] < starts:
        await asyncio.sleep(0.01)
    monkeypatch.setattr(FakeProcess, "silent_s", 60.0)


async def test_a_process_that_hangs_is_killed_and_its_work_done_by_the_next(
    backend: ProcessBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeProcess, "look_s", 0.05)
    monkeypatch.setattr(FakeProcess, "silent_s", 10.0)
    await backend.about()
    pid = process_of(backend).pid
    assert pid is not None
    await asyncio.to_thread(stop, pid)
    monkeypatch.setattr(FakeProcess, "silent_s", 0.5)
    asked = [asyncio.create_task(score(backend, f"text {number}")) for number in range(50)]
    await until_started(backend, 2, monkeypatch)
    done = await asyncio.gather(*asked)
    assert [result.values for result in done] == [[float(len(f"text {number}"))] for number in range(50)]
    assert backend.status()["starts"] == 2
    await gone(pid)


async def test_one_that_hangs_right_after_it_has_loaded_is_noticed(
    backend: ProcessBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The look that is under way then began while the libraries were read, and might take as long as that."""
    monkeypatch.setattr(FakeProcess, "look_s", 0.0)
    monkeypatch.setattr(FakeProcess, "silent_s", 0.5)
    looks: list[str] = []
    get = Connection.get

    async def stopped_at_the_first_look(connection: Connection, path: str) -> Any:
        if path == "/healthz" and not looks:
            looks.append(path)
            await asyncio.Event().wait()  # as long as its timeout lets it
        return await get(connection, path)

    monkeypatch.setattr(Connection, "get", stopped_at_the_first_look)
    pid = (await backend.about()) and process_of(backend).pid
    assert looks, "nobody has looked yet"
    assert pid is not None
    await asyncio.to_thread(stop, pid)
    asked = asyncio.create_task(score(backend, "text"))
    await until_started(backend, 2, monkeypatch)
    assert (await asked).values == [4.0]
    assert backend.status()["starts"] == 2


async def test_one_that_is_alive_and_slow_is_left_alone(
    backend: ProcessBackend, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeProcess, "look_s", 0.0)
    waits = asyncio.create_task(score(backend, "wait here"))
    for _ in range(20):
        await until_waiting(backend, "wait here")
    assert backend.status()["starts"] == 1
    waits.cancel()


async def test_weights_that_were_swapped_in_outlive_their_process(backend: ProcessBackend, tmp_path: Path) -> None:
    """A crash in the middle of a training must not bring the first reward model back."""
    other = model(tmp_path / "others" / "second", "v2")
    await backend.reload(str(other), None)
    with pytest.raises(ModelError):
        await score(backend, "die now")  # two processes
    assert (await score(backend, "x")).facts.version == "v2"
    assert backend.status()["starts"] == 3
    await backend.reload(process_of(backend).settings.models["m"].model, None)  # back, which is allowed as ever
    assert (await score(backend, "x")).facts.version == "v1"


async def test_swapped_weights_that_are_gone_are_an_error_and_not_the_first_ones(
    backend: ProcessBackend, tmp_path: Path
) -> None:
    other = model(tmp_path / "others" / "second", "v2")
    await backend.reload(str(other), None)
    (other / "version").unlink()
    other.rmdir()
    pid = process_of(backend).pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    await gone(pid)
    with pytest.raises(ModelError, match=r"of the last reload .*second"):
        await score(backend, "x")
    await backend.reload(process_of(backend).settings.models["m"].model, None)
    assert (await score(backend, "x")).facts.version == "v1"


async def test_a_folder_has_no_revisions(backend: ProcessBackend) -> None:
    with pytest.raises(InvalidParams, match="no revisions"):
        await backend.reload(None, "v7")
    assert (await score(backend, "x")).facts.version == "v1"


async def test_a_model_that_could_not_be_loaded_is_tried_again_later(tmp_path: Path) -> None:
    late = ModelEndpoint(model=str(tmp_path / "late"))
    app = App(ProcessSettings(models={"m": late}), load=fake_process.load, make=fake_process.FakeEngine)
    (hosted_one,) = app._models.values()
    app.start()
    with pytest.raises(hosted_model.Failure, match="holds no model") as first:
        await hosted_one.run(Classify(input=Input(text="x")))
    model(tmp_path / "late", "v1")
    with pytest.raises(hosted_model.Failure) as second:  # not at once: to load may take minutes
        await hosted_one.run(Classify(input=Input(text="x")))
    assert second.value is not first.value  # each its own, or it would gather all who were told
    hosted_one._failed_at -= hosted_model.AGAIN_S + 1
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://m") as client:
        states = [(await client.get("/v1/models")).json()["models"]["m"]["state"]]
        assert states == ["loading"]
        assert (await hosted_one.run(Classify(input=Input(text="four")))).values == [4.0]


async def test_work_waits_for_a_model_that_loads_and_for_no_other(settings: ModelEndpoint, tmp_path: Path) -> None:
    slow = model(tmp_path / "slow", "v9")
    (slow / "slow").touch()
    models = {"m": settings, "slow": replace(settings, model=str(slow))}
    process = FakeProcess(ProcessSettings(models=models))
    quick, late = (ProcessBackend(name, made, process, 60) for name, made in models.items())
    waits = asyncio.create_task(score(late, "x"))
    assert (await score(quick, "x")).facts.version == "v1"
    assert late.status()["state"] == "starting"
    assert not waits.done()
    (slow / "slow").unlink()
    assert (await waits).facts.version == "v9"
    await asyncio.gather(quick.close(), late.close())


async def test_a_task_waits_as_long_as_any_model_of_its_device_is_answered(
    settings: ModelEndpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    now_s = [1000.0]
    monkeypatch.setattr(process_backend, "monotonic", lambda: now_s[0])
    models = {"m": replace(settings, timeout_s=0.01), "busy": settings}
    process = FakeProcess(ProcessSettings(models=models))
    patient, busy = (ProcessBackend(name, made, process, 60) for name, made in models.items())
    waits = asyncio.create_task(score(patient, "wait here"))
    await until_waiting(patient, "wait here")
    for _ in range(20):
        now_s[0] += 0.009
        assert (await score(busy, "four")).values == [4.0]
        await asyncio.wait({waits}, timeout=0.02)  # it looks meanwhile
        assert not waits.done()
    now_s[0] += 0.02  # silence
    with pytest.raises(ModelError, match="timeout_s"):
        await waits
    await asyncio.gather(patient.close(), busy.close())


async def test_a_model_that_kills_its_process_as_it_loads_says_so(settings: ModelEndpoint, tmp_path: Path) -> None:
    poison = model(tmp_path / "poison", "v1")
    (poison / "poison").touch()
    bad = replace(settings, model=str(poison))
    backend = ProcessBackend("m", bad, FakeProcess(ProcessSettings(models={"m": bad})), 60)
    with pytest.raises(ModelError):
        await score(backend, "x")
    (poison / "poison").unlink()
    assert (await score(backend, "x")).values == [1.0]
    await backend.close()


async def test_without_torch_it_says_what_mends_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hosted_model, "find_spec", lambda name: None)
    with pytest.raises(hosted_model.Failure, match=r"pip install 'rewarden-server\[models\]'") as found:
        hosted_model.load("m", ModelEndpoint(model="x"))
    from rewarden_models.wire import error_from_wire

    assert isinstance(error_from_wire({"kind": found.value.kind, "message": "x"}), MissingDependency)


async def test_closing_it_leaves_nothing(backend: ProcessBackend, folder: Path) -> None:
    waits = asyncio.create_task(score(backend, "wait"))
    await until_waiting(backend, "wait")
    pid = process_of(backend).pid
    await backend.close()
    with pytest.raises(ModelError, match="is stopping"):
        await waits
    with pytest.raises(ModelError, match="is stopping"):
        await score(backend, "x")
    await gone(pid)
    assert list(folder.iterdir()) == []
    await backend.close()  # twice is once


OWNER = """
import asyncio, sys
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.settings import ProcessSettings
from tests.models.test_process import FakeProcess, ProcessBackend, score, until_waiting

async def main():
    settings = ModelEndpoint(model=sys.argv[1])
    process = FakeProcess(ProcessSettings(models={"m": settings}))
    backend = ProcessBackend("m", settings, process, 60)
    waits = asyncio.create_task(score(backend, "wait"))
    await until_waiting(backend, "wait")
    print(process.pid, flush=True)
    await waits

asyncio.run(main())
"""


@pytest.mark.parametrize("stopped", [False, True])
async def test_when_the_server_is_killed_it_ends_and_leaves_nothing(
    settings: ModelEndpoint, folder: Path, stopped: bool
) -> None:
    owner = [sys.executable, "-c", OWNER, settings.model]
    with subprocess.Popen(owner, stdout=subprocess.PIPE, text=True, cwd=ROOT) as server:
        assert server.stdout is not None
        pid = int(await asyncio.to_thread(server.stdout.readline))
        assert _runs(pid)
        if stopped:  # it cannot look for itself; what it is sent, it has when it goes on
            await asyncio.to_thread(stop, pid)
        server.kill()
        if stopped:
            server.wait()
            os.kill(pid, signal.SIGCONT)
        await gone(pid)
    assert list(folder.iterdir()) == []


# --- by itself ------------------------------------------------------------------------------------------------------


class Alone:
    """A process that nobody keeps, at any free port."""

    def __init__(self, settings: ProcessSettings, **environment: str) -> None:
        told = settings_to_json(settings)
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.models.fake_process", "--address", "127.0.0.1:0", "--settings", told],
            cwd=ROOT,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert self.process.stdout is not None
        self.url = self.process.stdout.readline().rpartition(" ")[2].strip()

    def __enter__(self) -> Alone:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


async def test_behind_an_address_it_is_the_same(settings: ModelEndpoint) -> None:
    with Alone(ProcessSettings(models={"m": settings})) as alone:
        backend = ProcessBackend("m", replace(settings, address=alone.url))
        assert (await score(backend, "four")).values == [4.0]
        assert backend.status()["state"] == "remote"
        stranger = ProcessBackend("n", replace(settings, address=alone.url))
        with pytest.raises(ModelError, match="does not serve it"):
            await score(stranger, "x")
        waits = asyncio.create_task(score(backend, "wait"))
        await until_waiting(backend, "wait")
        alone.process.terminate()
        with pytest.raises(ModelError):
            await waits
        assert alone.process.wait(30) == 0
        await asyncio.gather(backend.close(), stranger.close())


async def test_a_key_is_asked_for_where_one_is_set(settings: ModelEndpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("THE_KEY", "open sesame")
    with Alone(ProcessSettings(models={"m": settings}, key_env="THE_KEY")) as alone:
        there = replace(settings, address=alone.url)
        right = ProcessBackend("m", replace(there, api_key_env="THE_KEY"))
        assert (await score(right, "four")).values == [4.0]
        for wrong in (ProcessBackend("m", there), ProcessBackend("m", replace(there, api_key="sesame"))):
            with pytest.raises(ModelError, match="key"):
                await score(wrong, "four")
            await wrong.close()
        await right.close()
        async with httpx.AsyncClient(base_url=alone.url) as client:
            assert (await client.get("/healthz")).status_code == 200
            for path in ("/v1/models", "/v1/nothing"):
                assert (await client.get(path)).status_code == 401


async def test_requests_that_are_none_are_refused(settings: ModelEndpoint) -> None:
    with Alone(ProcessSettings(models={"m": settings}, max_body_bytes=10_000)) as alone:
        async with httpx.AsyncClient(base_url=alone.url) as client:

            async def status(path: str, body: Any, method: str = "POST") -> int:
                content = body if isinstance(body, bytes) else None
                json = None if isinstance(body, bytes) else body
                reply = await client.request(method, path, content=content, json=json)
                assert reply.status_code == 200 or "kind" in reply.json()["error"]
                return reply.status_code

            item = {"id": 0, "kind": "classify", "task": {"input": {"text": "four"}}}
            assert await status("/v1/work", {"model": "m", "items": [item]}) == 200
            assert await status("/v1/work", {"model": "m", "items": [item, item]}) == 400
            assert await status("/v1/work", b"garbage") == 400
            assert await status("/v1/work", b"\xff" * 10) == 400
            assert await status("/v1/work", {"model": 5}) == 400
            assert await status("/v1/work", b" " * 20_000) == 413
            assert await status("/v1/models/nobody/reload", {}) == 404
            assert await status("/v1/models/m/reload", {"model": "/etc"}) == 403
            assert await status("/v1/models", b"", "DELETE") == 404
            reply = await client.post(
                "/v1/work",
                json={
                    "model": "m",
                    "items": [
                        item,
                        {"id": 1, "kind": "divine", "task": {}},
                        {"id": 2, "kind": "classify", "task": {"input": "text"}},
                        {"id": 3, "kind": "classify", "task": None},
                    ],
                },
            )
            lines = {line["id"]: line for line in map(httpx.Response.json, map(_reply, reply.text.splitlines()))}
            assert "result" in lines[0]
            assert [lines[number]["error"]["kind"] for number in (1, 2, 3)] == ["invalid"] * 3


def _reply(text: str) -> httpx.Response:
    return httpx.Response(200, text=text)


@pytest.mark.parametrize(
    "arguments",
    [
        ["--address", "nowhere"],
        ["--address", "127.0.0.1:99999"],
        ["--address", "unix:/nowhere/at/all"],
        ["--address", "127.0.0.1:0", "--settings", "garbage"],
        ["--address", "127.0.0.1:0", "--settings", "[]"],
        ["--address", "127.0.0.1:0", "--settings", '{"modles": {}}'],
        ["--address", "127.0.0.1:0", "--settings", '{"models": {"m": {}}}'],
        ["--address", "127.0.0.1:0", "--settings", '{"key_env": "THERE_IS_NO_SUCH_KEY"}'],
    ],
)
def test_wrong_settings_end_it_at_once(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("rewarden models serve: ")


def test_what_it_is_told_comes_back_but_for_keys() -> None:
    settings = ProcessSettings(
        models={"m": ModelEndpoint(model="x", api_key="secret", reload_from=("/a", "/b"), threads=2)}, key_env="KEY"
    )
    told = settings_to_json(settings)
    assert "secret" not in told
    found = settings_from_json(told)
    assert found.key_env == "KEY"
    assert found.models["m"] == ModelEndpoint(model="x", reload_from=("/a", "/b"), threads=2)
