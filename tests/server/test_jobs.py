"""Jobs: a file goes up, is rescored beside other work, survives a restart, and comes back with its verdicts."""

from __future__ import annotations

import asyncio
import errno
import gzip
import json
import os
import stat
import threading
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rewarden.errors import TooLarge
from rewarden_server.access.key_record import new_key
from rewarden_server.studies import jobs
from rewarden_server.studies.rescore import run
from tests.server.conftest import Running, Start

ROWS = [{"response": f"Answer: {'AB'[i % 2]}", "reference": "A", "id": str(i), "extra": i} for i in range(50)]
BODY = b"".join(json.dumps(row).encode() + b"\n" for row in ROWS)
NDJSON = {"content-type": "application/x-ndjson"}


async def submit(server: Running, job: Any, body: bytes = BODY, **headers: str) -> httpx.Response:
    query = {"job": json.dumps(job)}
    return await server.http.post("/v1/jobs", params=query, content=body, headers={**NDJSON, **headers})


async def ended(server: Running, id: str) -> dict[str, Any]:
    async with asyncio.timeout(60):
        while True:
            job: dict[str, Any] = (await server.http.get(f"/v1/jobs/{id}")).json()
            if job["status"] in ("finished", "failed"):
                return job
            await asyncio.sleep(0.02)


async def is_whole(server: Running, id: str) -> dict[str, Any]:
    """The job, once it has ended: it is finished, and its verdicts are there."""
    job = await ended(server, id)
    assert (job["status"], job["message"], job["share"]) == ("finished", None, 1.0)
    assert len((await server.http.get(f"/v1/jobs/{id}/verdicts")).text.splitlines()) == len(ROWS)
    return job


def refuse_to_save(monkeypatch: pytest.MonkeyPatch, status: str) -> None:
    """The disk is full whenever a job of that status is to be written."""
    save = jobs.Jobs._save

    def refused(self: jobs.Jobs, job: jobs.Job) -> None:
        if job.status == status:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        save(self, job)

    monkeypatch.setattr(jobs.Jobs, "_save", refused)


async def test_a_job_is_rescored_and_its_rows_come_back_in_order(start: Start, tmp_path: Path) -> None:
    server = await start({"jobs.dir": str(tmp_path / "jobs")})
    answer = await submit(server, {"use": "choice"})
    assert answer.status_code == 202
    id = answer.json()["id"]
    assert answer.headers["Location"] == f"/v1/jobs/{id}"
    job = await ended(server, id)
    assert (job["status"], job["message"], job["share"]) == ("finished", None, 1.0)
    lines = (await server.http.get(f"/v1/jobs/{id}/verdicts")).text.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [(row["id"], row["extra"], row["score"]) for row in rows] == [
        (str(i), i, float(i % 2 == 0)) for i in range(50)
    ]
    assert [job["id"] for job in (await server.http.get("/v1/jobs")).json()["jobs"]] == [id]


async def test_a_packed_upload_and_routes_by_data_source(start: Start, tmp_path: Path) -> None:
    server = await start({"jobs.dir": str(tmp_path / "jobs")})
    rows = [{**row, "data_source": "quiz" if i % 2 else "other"} for i, row in enumerate(ROWS)]
    body = gzip.compress(b"".join(json.dumps(row).encode() + b"\n" for row in rows))
    use = {"routes": {"quiz": "choice", "*": {"name": "format", "params": {"contains": ["Answer"]}}}}
    job = await ended(server, (await submit(server, {"use": use}, body, **{"content-encoding": "gzip"})).json()["id"])
    assert job["status"] == "finished", job["message"]


async def test_a_job_may_bring_its_routing(start: Start, tmp_path: Path) -> None:
    server = await start({"jobs.dir": str(tmp_path / "jobs")})
    rows = [
        {"response": "#### 4", "reference": "so\n#### 4", "data_source": "openai/gsm8k"},
        {"response": "It is B", "reference": "A", "data_source": "quiz", "extra_info": {"kind": "mcq"}},
        {"response": "?", "reference": "A", "data_source": "poem"},
    ]
    body = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    routes = [
        {"data_source": "openai/*", "use": "math", "params": {"extraction": "hash"}, "reference_form": "gsm8k"},
        {"metadata.kind": "mcq", "use": "choice"},
    ]
    job = await ended(server, (await submit(server, {"routing": {"route": routes}}, body)).json()["id"])
    assert job["status"] == "finished", job["message"]
    lines = (await server.http.get(f"/v1/jobs/{job['id']}/verdicts")).text.splitlines()
    one, two, three = (json.loads(line)["verdict"] for line in lines)
    assert (one["score"], one["verifier"]["name"]) == (1.0, "math")
    assert (two["score"], two["verifier"]["name"]) == (0.0, "choice")
    assert (three["status"], three["fault"]) == ("error", "caller")
    assert "no route of routing matches the data source 'poem'" in three["feedback"]


async def test_what_cannot_be_asked_is_refused_before_the_upload_is_kept(start: Start, tmp_path: Path) -> None:
    server = await start({"jobs.dir": str(tmp_path / "jobs"), "jobs.max_bytes": 100})
    for asked, status in (
        ({"use": "choice", "input": "/etc/passwd"}, 400),
        ({"use": {"name": 3}}, 400),
        ({}, 400),
        ({"use": "choice", "routing": "starter"}, 400),
        ({"routing": {"route": [{"use": "/etc/passwd.json"}]}}, 400),
        ({"routing": "/etc/passwd.toml"}, 400),
        ({"use": "choice", "columns": {"response": 3}}, 400),
        ([], 400),
        ({"use": "choice"}, 413),
    ):
        answer = await submit(server, asked)
        assert answer.status_code == status, answer.text
    assert (await server.http.post("/v1/jobs", content=BODY, headers=NDJSON)).status_code == 400
    assert list((tmp_path / "jobs").iterdir()) == []


async def test_a_job_that_cannot_be_done_says_why(start: Start, tmp_path: Path) -> None:
    server = await start({"jobs.dir": str(tmp_path / "jobs")})
    job = await ended(server, (await submit(server, {"use": "choice"}, b'{"nothing": 1}\n')).json()["id"])
    assert job["status"] == "failed"
    assert "response" in job["message"]
    assert (await server.http.get(f"/v1/jobs/{job['id']}/verdicts")).status_code == 404


async def test_a_job_goes_on_after_a_restart(start: Start, tmp_path: Path) -> None:
    settings = {"jobs.dir": str(tmp_path / "jobs"), "server.drain_s": 0}
    first = await start(settings)
    rows = [{**row, "id": str(i)} for i in range(40) for row in ROWS]
    body = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    id = (await submit(first, {"use": "choice"}, body)).json()["id"]
    await first.serving.drain(0)
    second = await start(settings)
    job = await ended(second, id)
    assert job["status"] == "finished"
    assert len((await second.http.get(f"/v1/jobs/{id}/verdicts")).text.splitlines()) == len(rows)


async def test_a_job_whose_server_ends_while_it_publishes_is_finished_after_the_restart(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = run._Run._publish
    entered, may_go_on, done = threading.Event(), threading.Event(), threading.Event()

    def held(self: Any, *given: Any) -> None:
        entered.set()
        may_go_on.wait(30)
        publish(self, *given)
        done.set()

    monkeypatch.setattr(run._Run, "_publish", held)
    settings = {"jobs.dir": str(tmp_path / "jobs"), "server.drain_s": 0}
    first = await start(settings)
    id = (await submit(first, {"use": "choice"})).json()["id"]
    assert await asyncio.to_thread(entered.wait, 30)
    await first.serving.drain(0)
    may_go_on.set()  # the thread goes on although its task was cancelled
    assert await asyncio.to_thread(done.wait, 30)
    await is_whole(await start(settings), id)


async def test_a_job_that_was_killed_before_its_end_was_written_is_finished_after_the_restart(
    start: Start, tmp_path: Path
) -> None:
    settings = {"jobs.dir": str(tmp_path / "jobs")}
    first = await start(settings)
    job = await ended(first, (await submit(first, {"use": "choice"})).json()["id"])
    await first.serving.drain(0)
    file = tmp_path / "jobs" / job["id"] / "job.json"
    begun = {"status": "running", "summary": None, "ended": None, "rows": 0, "share": 0.0}
    file.write_text(json.dumps({**json.loads(file.read_text()), **begun}))
    again = await is_whole(await start(settings), job["id"])
    assert (again["summary"], again["rows"]) == (job["summary"], job["rows"])


async def test_a_job_whose_end_cannot_be_written_is_finished_all_the_same(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"jobs.dir": str(tmp_path / "jobs")}
    first = await start(settings)
    with monkeypatch.context() as full:
        refuse_to_save(full, "finished")
        id = (await submit(first, {"use": "choice"})).json()["id"]
        await is_whole(first, id)
        await first.serving.drain(0)
    await is_whole(await start(settings), id)


async def test_a_job_that_cannot_be_begun_for_a_full_disk_says_so(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await start({"jobs.dir": str(tmp_path / "jobs")})
    refuse_to_save(monkeypatch, "running")
    job = await ended(server, (await submit(server, {"use": "choice"})).json()["id"])
    assert (job["status"], job["message"]) == ("failed", "[Errno 28] No space left on device")


async def test_a_defect_fails_its_job_with_its_words_and_the_next_one_runs(
    start: Start, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    server = await start({"jobs.dir": str(tmp_path / "jobs")})

    async def defective(*given: Any) -> None:
        raise KeyError("shape")

    with monkeypatch.context() as broken:
        broken.setattr(jobs, "rescore", defective)
        job = await ended(server, (await submit(server, {"use": "choice"})).json()["id"])
    assert (job["status"], job["message"]) == ("failed", "KeyError: 'shape'")
    await is_whole(server, (await submit(server, {"use": "choice"})).json()["id"])


async def test_a_deleted_job_is_gone(start: Start, tmp_path: Path) -> None:
    server = await start({"jobs.dir": str(tmp_path / "jobs")})
    id = (await submit(server, {"use": "choice"})).json()["id"]
    assert (await server.http.delete(f"/v1/jobs/{id}")).status_code == 204
    assert (await server.http.get(f"/v1/jobs/{id}")).status_code == 404
    assert not (tmp_path / "jobs" / id).exists()


async def test_a_key_keeps_so_many_jobs_and_no_more(start: Start, tmp_path: Path) -> None:
    made = {name: new_key() for name in ("mine", "other")}
    named = ",".join(f"{name}={digest}" for name, (_, digest) in made.items())
    server = await start({"jobs.dir": str(tmp_path / "jobs"), "jobs.max_jobs": 2, "keys.named": named})
    mine, other = ({"authorization": f"Bearer {key}"} for key, _ in made.values())
    ids = [(await submit(server, {"use": "choice"}, **mine)).json()["id"] for _ in range(2)]
    refused = await submit(server, {"use": "choice"}, **mine)
    assert (refused.status_code, refused.json()["error"]["details"]["limit"]) == (413, "jobs.max_jobs")
    assert "DELETE /v1/jobs/ID" in refused.json()["error"]["message"]
    assert {path.name for path in (tmp_path / "jobs").iterdir()} == set(ids)
    assert (await submit(server, {"use": "choice"}, **other)).status_code == 202
    await server.http.delete(f"/v1/jobs/{ids[0]}", headers=mine)
    assert (await submit(server, {"use": "choice"}, **mine)).status_code == 202


async def test_uploads_at_once_do_not_pass_what_a_key_may_keep(start: Start, tmp_path: Path) -> None:
    server = await start({"jobs.dir": str(tmp_path / "jobs"), "jobs.max_jobs": 2})
    begun = asyncio.Barrier(5)

    async def pieces() -> AsyncIterator[bytes]:
        await begun.wait()
        yield BODY

    jobs = server.serving.service.jobs
    assert jobs is not None
    asked = [jobs.submit({"use": "choice"}, pieces()) for _ in range(5)]
    ends = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(end, TooLarge) for end in ends) == 3
    assert len(list((tmp_path / "jobs").iterdir())) == len(jobs.list()) == 2


async def test_all_jobs_together_have_so_much_room_also_after_a_restart(start: Start, tmp_path: Path) -> None:
    settings = {"jobs.dir": str(tmp_path / "jobs"), "jobs.max_total_bytes": 2 * len(BODY) - 1}
    server = await start(settings)
    id = (await submit(server, {"use": "choice"})).json()["id"]
    for again in range(2):
        refused = await submit(server, {"use": "choice"})
        assert (refused.status_code, refused.json()["error"]["details"]["limit"]) == (413, "jobs.max_total_bytes")
        assert "DELETE /v1/jobs/ID" in refused.json()["error"]["message"]
        assert [path.name for path in (tmp_path / "jobs").iterdir()] == [id]
        if not again:
            await server.serving.drain(0)
            server = await start(settings)
    await server.http.delete(f"/v1/jobs/{id}")
    id = (await submit(server, {"use": "choice"})).json()["id"]
    await ended(server, id)
    refused = await submit(server, {"use": "choice"}, BODY[:200])  # what a job wrote takes room too
    assert refused.status_code == 413


async def test_nobody_else_on_the_machine_reads_a_job(start: Start, tmp_path: Path) -> None:
    folder = tmp_path / "jobs"
    first = await start({"jobs.dir": str(folder)})
    id = (await submit(first, {"use": "choice"})).json()["id"]
    await ended(first, id)
    assert [stat.S_IMODE(path.stat().st_mode) for path in (folder, folder / id)] == [0o700, 0o700]
    await first.serving.drain(0)
    (folder / id).chmod(0o755)  # as it was made before
    await start({"jobs.dir": str(folder)})
    assert stat.S_IMODE((folder / id).stat().st_mode) == 0o700


async def test_without_a_folder_there_are_no_jobs(start: Start) -> None:
    answer = await submit(await start(), {"use": "choice"})
    assert answer.status_code == 404
    assert "jobs.dir" in answer.json()["error"]["message"]
