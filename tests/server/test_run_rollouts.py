"""Stored rollouts of runs: which are kept, how they are found and compared, and judged again."""

from __future__ import annotations

import random
from typing import Any

import pytest

from rewarden_server.access.key_record import new_key
from rewarden_server.runs import keeper, rollout
from tests.server.conftest import Running, Start
from tests.server.test_runs import NONE, RIGHT, WRONG, get, judged, points, runs, sample

MARKED = "Answer: B"
"""A wrong answer that is found by its mark, and so is not flagged."""


@pytest.fixture
async def texts(start: Start) -> Running:
    """A server that keeps rollouts."""
    return await start({"runs.texts": True})


def rows(data: dict[str, Any]) -> list[dict[str, Any]]:
    """The rows of a report's data; names of groups, sources and reasons in place."""
    columns = data["rows"]
    found = [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    for row in found:
        for name in ("group", "source", "reason"):
            row[name] = None if row[name] == -1 else data["tables"][name][row[name]]
        row["response"] = "".join(piece if isinstance(piece, str) else piece[0] for piece in row["response"][0][1])
    return found


async def found(server: Running, **query: Any) -> list[dict[str, Any]]:
    return rows(await get(server, "rollouts", **query))


async def test_no_text_is_kept_unless_a_setting_asks_for_it(server: Running) -> None:
    await judged(server, sample("Answer: secret text"), step=1)
    assert (await found(server), (await runs(server))[0]["rollouts"]) == ([], 0)
    store = server.serving.service.runs
    assert store is not None
    assert all(b"secret" not in path.read_bytes() for path in store.folder.iterdir())


async def test_two_whole_groups_of_each_step_and_source_are_kept(texts: Running) -> None:
    for step in (1, 2):
        members = [
            sample(MARKED, source, group=f"{source} {group}")
            for source in ("mc", "other")
            for group in range(5)
            for _ in range(4)
        ]
        await judged(texts, *members, step=step)
    kept = await found(texts)
    groups = {(row["step"], row["source"], row["group"].partition(" (")[0]) for row in kept}
    assert groups == {(step, source, f"{source} {n}") for step in (1, 2) for source in ("mc", "other") for n in (0, 1)}
    assert len(kept) == len(groups) * 4
    assert (await runs(texts))[0]["rollouts"] == len(kept)


async def test_what_is_flagged_or_unscored_is_kept_besides(texts: Running) -> None:
    plain = [sample(MARKED, group=f"g{number}") for number in range(6)]
    flagged = sample(NONE, group="g4")
    unscored = {"response": MARKED, "reference": None, "group": "g5", "data_source": "mc"}
    await judged(texts, *plain, flagged, unscored, step=1)
    kept = await found(texts)
    assert [row["group"] for row in kept if row["response"] == MARKED and row["score"] is not None] == ["g0", "g1"]
    assert [row["group"] for row in await found(texts, flag="no_answer")] == ["g4"]
    assert [row["group"] for row in await found(texts, status="undecided")] == ["g5"]


async def test_a_step_keeps_a_bounded_number(texts: Running) -> None:
    for _ in range(3):
        await judged(texts, *(sample(NONE) for _ in range(keeper.ODD)), step=1)
    assert len(await found(texts)) == keeper.ODD + keeper.SINGLES
    assert (await points(texts))[0]["verdicts"] == 3 * keeper.ODD


async def test_groups_of_one_name_are_told_apart(texts: Running) -> None:
    for step in (1, 1, 2):
        await judged(texts, sample(MARKED, group="g"), sample(RIGHT, group="g"), step=step)
    names = [row["group"] for row in await found(texts)]
    assert len(set(names)) == 3
    assert all(names.count(name) == 2 for name in names)


async def test_shared_values_are_kept_with_the_rollout(texts: Running) -> None:
    member = {"response": MARKED, "reference_key": "answer", "prompt_key": "question"}
    await judged(texts, member, step=1, shared={"answer": "B", "question": "Which one?", "other": "x"})
    data = await get(texts, "rollouts")
    assert data["tables"]["reference"] == [["B"]]
    assert data["tables"]["prompt"] == [[["", ["Which one?"]]]]


async def test_a_rollout_that_is_too_long_is_not_kept(texts: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rollout, "MOST_BYTES", 10_000)
    await judged(texts, sample("x" * 20_000 + MARKED), sample(MARKED), step=1)
    assert [row["response"] for row in await found(texts)] == [MARKED]


@pytest.mark.parametrize(
    ("query", "responses"),
    [
        ({}, [RIGHT, WRONG, NONE, "Answer: b, 100%"]),
        ({"from": 2}, [NONE, "Answer: b, 100%"]),
        ({"to": 1}, [RIGHT, WRONG]),
        ({"source": "other"}, [WRONG]),
        ({"passed": "true"}, [RIGHT]),
        ({"reason": "no_answer"}, [NONE]),
        ({"flag": "no_answer"}, [NONE]),
        ({"group": "g"}, [NONE]),
        ({"low": 0.9, "high": 1}, [RIGHT]),
        ({"low": 0, "high": 0}, [WRONG, NONE, "Answer: b, 100%"]),
        ({"text": "i CANNOT"}, [NONE]),
        ({"text": "the question"}, ["Answer: b, 100%"]),
        ({"text": "%"}, ["Answer: b, 100%"]),
        ({"reason": "' OR 1 = 1 --"}, []),
        ({"flag": "no"}, []),
        ({"most": 1}, ["Answer: b, 100%"]),
        ({"axis": "time", "to": 1}, []),
    ],
)
async def test_rollouts_are_found_by(texts: Running, query: dict[str, Any], responses: list[str]) -> None:
    await judged(texts, sample(), sample(WRONG, "other"), step=1)
    last = sample("Answer: b, 100%", prompt=[{"role": "user", "content": "The question"}])
    await judged(texts, sample(NONE, group="g"), last, step=2)
    kept = await found(texts, **query)
    assert [row["response"] for row in kept] == responses
    for row in kept:
        assert [one["response"] for one in await found(texts, rollout=row["rollout"])] == [row["response"]]
        assert row["step"] in (1, 2)
        assert row["time"] > 1e9


async def test_a_key_reads_no_rollouts_of_another(start: Start) -> None:
    keys = {name: new_key() for name in ("alice", "bob")}
    named = ",".join(f"{name}={digest}" for name, (_, digest) in keys.items())
    server = await start({"keys.named": named, "runs.texts": True})
    headers = {name: {"authorization": f"Bearer {key}"} for name, (key, _) in keys.items()}
    body = {"use": "choice", "samples": [sample("the secret of Alice")]}
    (await server.http.post("/v1/verify", json=body, headers=headers["alice"])).raise_for_status()
    (run,) = await runs(server, **headers["alice"])
    for method, path, sent in (
        ("GET", "rollouts", None),
        ("GET", "moved?a=0-1&b=1-2", None),
        ("POST", "rejudge", {"a": "0-1", "b": "1-2"}),
    ):
        url = f"/v1/runs/{run['id']}/{path}"
        own = await server.http.request(method, url, json=sent, headers=headers["alice"])
        assert own.status_code == 200, own.text
        foreign = await server.http.request(method, url, json=sent, headers=headers["bob"])
        assert foreign.status_code == 404
        assert "secret" not in foreign.text


async def test_the_same_prompts_that_differ_most_come_first(texts: Running) -> None:
    for step, answers in ((1, (RIGHT, RIGHT, WRONG)), (2, (WRONG, RIGHT, WRONG))):
        members = [
            sample(answer, prompt=f"question {number}", group=f"q{number}") for number, answer in enumerate(answers)
        ]
        await judged(texts, *members[:2], step=step)
        await judged(texts, members[2], step=step)
    found = await get(texts, "moved", a="1-1", b="2-2")
    assert (found["a"]["mean"], found["b"]["mean"]) == (pytest.approx(2 / 3), pytest.approx(1 / 3))
    first, second = rows(found["rollouts"])[:2]
    assert ((first["step"], first["response"]), (second["step"], second["response"])) == ((1, RIGHT), (2, WRONG))
    assert first["prompt"] == second["prompt"]
    assert found["rollouts"]["tables"]["prompt"][first["prompt"]] == [["", ["question 0"]]]


async def test_without_common_prompts_the_reasons_that_moved_are_shown(texts: Running) -> None:
    await judged(texts, sample(), sample(), step=1)
    await judged(texts, sample(), sample(NONE), step=2)
    found = await get(texts, "moved", a="1-1", b="2-2")
    assert (found["a"]["reasons"], found["b"]["reasons"]) == ({}, {"no_answer": 1})
    assert NONE in [row["response"] for row in rows(found["rollouts"])]


async def test_later_rollouts_are_judged_as_earlier_ones_were(texts: Running) -> None:
    lenient, strict = {"name": "choice"}, {"name": "choice", "params": {"extraction": "strict"}}
    await judged(texts, sample(), step=1, use=lenient)
    await judged(texts, sample(), sample(WRONG), step=2, use=strict)
    (run,) = await runs(texts)
    answer = await texts.http.post(f"/v1/runs/{run['id']}/rejudge", json={"a": "1-1", "b": "2-2"})
    told = answer.raise_for_status().json()
    assert told["exact"]
    assert told["fingerprints"]["a"] == told["fingerprints"]["now"] != told["fingerprints"]["b"]
    assert [(row["before"]["score"], row["after"]["score"]) for row in told["rows"]] == [(0.0, 1.0), (0.0, 0.0)]
    assert [row["rollout"] for row in told["rows"]] == [row["rollout"] for row in await found(texts, **{"from": 2})]
    assert (await runs(texts))[0]["verdicts"] == 3, "what is judged again is in no run"


async def test_a_group_is_judged_again_as_a_group(texts: Running) -> None:
    members = [sample(text, group="g", group_size=3) for text in (RIGHT, RIGHT, WRONG)]
    for step in (1, 2):
        await judged(texts, *members, step=step, use="consensus")
    (run,) = await runs(texts)
    answer = await texts.http.post(f"/v1/runs/{run['id']}/rejudge", json={"a": "1-1", "b": "2-2"})
    told = answer.raise_for_status().json()
    assert len(told["rows"]) == 3
    assert [row["before"] for row in told["rows"]] == [row["after"] for row in told["rows"]]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"a": "1-1"}, "b"),
        ({"a": "one", "b": "2-2"}, "a"),
        ({"a": "1-1", "b": "2-2", "most": 0}, "most"),
        ({"a": "1-1", "b": "2-2", "use": "math"}, "use"),
    ],
)
async def test_a_wrong_rejudging_is_refused(texts: Running, body: dict[str, Any], path: str) -> None:
    await judged(texts, sample(), step=1)
    (run,) = await runs(texts)
    answer = await texts.http.post(f"/v1/runs/{run['id']}/rejudge", json=body)
    assert answer.status_code == 400
    assert answer.json()["error"]["details"]["path"] == path


async def test_the_oldest_rollouts_go_first_and_figures_stay(start: Start) -> None:
    server = await start({"runs.texts": True, "runs.max_bytes": 250_000})
    for step in range(40):
        texts = [random.Random(f"{step} {number}").randbytes(1500).hex() for number in range(8)]
        await judged(server, *(sample(f"{text} {MARKED}") for text in texts), step=step)
        await runs(server)
    (run,) = await runs(server)
    told = (await server.http.get("/v1/runs")).json()
    assert told["bytes"] <= told["max_bytes"]
    steps = {row["step"] for row in await found(server)}
    assert max(steps) == 39
    assert 0 not in steps
    assert 0 < run["rollouts"] < run["verdicts"] == 320
    assert len(await points(server)) == 40


async def test_then_the_oldest_runs_go(start: Start) -> None:
    server = await start({"runs.max_bytes": 150_000})
    for name in ("oldest", "newest"):
        for step in range(7):
            samples = [sample(source=f"source {number}", metadata={"run": name}) for number in range(90)]
            await judged(server, *samples, step=step)
        await runs(server)
    assert [run["name"] for run in await runs(server)] == ["newest"]
    told = (await server.http.get("/v1/runs")).json()
    assert told["bytes"] <= told["max_bytes"]
