"""Files as trainers and evaluators write them are read without an option: columns, groups, and their own scores."""

from __future__ import annotations

import asyncio
import csv
import gzip
import json
import zipfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from rewarden.client import AsyncClient
from rewarden.errors import Unavailable
from rewarden.routing import Routing
from rewarden.types import Use
from rewarden_server.studies.rescore.columns import choose
from rewarden_server.studies.rescore.options import RescoreError, RescoreOptions
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_server.studies.rescore.run import rescore
from rewarden_server.studies.rescore.shapes import recognised
from rewarden_server.studies.rescore.summary import Summary
from tests.rescore.conftest import Desk, read_rows, write_rows
from tests.rescore.toy import ToyClient

pa = pytest.importorskip("pyarrow")
pq = pytest.importorskip("pyarrow.parquet")

ANSWERS = [("8", 1.0), ("9", 0.0), ("8", 0.0), ("9", 1.0)]
"""The answers to 3+5, and what the trainer gave for each: twice as we do, once less, once more."""

ASKED = [{"role": "user", "content": "3+5?"}]


def said(answer: str) -> str:
    return f"3 + 5 is \\boxed{{{answer}}}"


def turn(answer: str) -> list[dict[str, Any]]:
    return [{"role": "assistant", "content": said(answer)}]


def verl(step: int) -> list[dict[str, Any]]:
    return [
        {"input": "user\n3+5?", "output": said(answer), "gts": "8", "score": score, "step": step, "acc": score}
        for answer, score in ANSWERS
    ]


def verl_v1() -> list[dict[str, Any]]:
    rows = [{name: value for name, value in row.items() if name != "acc"} for row in verl(1)]
    return [{**row, "uid": f"0c7f-{at // 2}_{at % 2}_0"} for at, row in enumerate(rows)]


def trl() -> list[dict[str, Any]]:
    return [
        {"step": 5, "prompt": ASKED, "completion": turn(text), "right": score, "answer": "8", "advantage": 0.1}
        for text, score in ANSWERS
    ]


def lm_eval() -> list[dict[str, Any]]:
    return [
        {
            "doc_id": at,
            "doc": {"question": "3+5?", "answer": "3+5 is 8.\n#### 8"},
            "target": "3+5 is 8.\n#### 8",
            "arguments": {"gen_args_0": {"arg_0": "Q: 3+5?\nA:", "arg_1": {"until": ["Q:"]}}},
            "resps": [[said(answer)]],
            "filtered_resps": [answer],
            "filter": "strict-match",
            "metrics": ["exact_match"],
            "doc_hash": "a",
            "prompt_hash": "b",
            "target_hash": "c",
            "exact_match": score,
        }
        for at, (answer, score) in enumerate(ANSWERS)
    ]


def gym() -> list[dict[str, Any]]:
    return [
        {
            "responses_create_params": {"instructions": "Be brief.", "input": ASKED},
            "response": {
                "status": "completed",
                "usage": {"output_tokens": 7},
                "output": [
                    {"type": "reasoning", "summary": [{"type": "summary_text", "text": "easy"}]},
                    {"type": "function_call", "name": "add", "arguments": "{}", "call_id": "1"},
                    {"type": "function_call_output", "call_id": "1", "output": "8"},
                    {
                        "type": "message",
                        "role": "assistant",
                        "content": [{"type": "output_text", "text": said(answer)}],
                    },
                ],
            },
            "reward": score,
            "expected_answer": "8",
            "agent_ref": {"type": "responses_api_agents", "name": "math_agent"},
            "_ng_task_index": 3,
            "_ng_rollout_index": at,
        }
        for at, (answer, score) in enumerate(ANSWERS)
    ]


def trace() -> list[dict[str, Any]]:
    return [
        {
            "id": f"t{at}",
            "task": {"type": "Math", "data": {"idx": 0, "prompt": "3+5?", "answer": "8"}, "key": "math:0"},
            "nodes": [
                {"parent": None, "message": ASKED[0], "sampled": False},
                {"parent": 0, "message": {"role": "assistant", "content": "wait: \\boxed{0}"}, "sampled": True},
                {"parent": 0, "message": turn(answer)[0], "sampled": True},
            ],
            "rewards": {"correct": {"score": score, "weight": 1.0}, "format": None},
            "metrics": {},
            "info": {"prime_rl": {"env_name": "sums"}},
            "is_completed": True,
        }
        for at, (answer, score) in enumerate(ANSWERS)
    ]


def rollout_outputs() -> list[dict[str, Any]]:
    return [
        {
            "example_id": 0,
            "task": "sums",
            "prompt": ASKED,
            "completion": turn(answer),
            "answer": "8",
            "reward": score,
            "is_completed": True,
            "is_truncated": False,
            "metrics": {"correct": score},
        }
        for answer, score in ANSWERS
    ]


def inspect_log() -> dict[str, Any]:
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "sums", "model": "mockllm/model"},
        "samples": [
            {
                "id": 1,
                "epoch": epoch,
                "input": "3+5?",
                "target": "8",
                "messages": [*ASKED, *turn(answer)],
                "scores": {"match": {"value": "C" if score else "I", "answer": answer}},
            }
            for epoch, (answer, score) in enumerate(ANSWERS, 1)
        ],
    }


def plain() -> list[dict[str, Any]]:
    return [{"prompt": "3+5?", "response": said(answer), "answer": "8", "reward": score} for answer, score in ANSWERS]


def saved(folder: Path) -> Path:
    """A data set as `datasets` keeps it in a folder: a stream of Arrow beside its description, and a cache of a map."""
    part = folder / "train"
    part.mkdir(parents=True)
    (folder / "dataset_dict.json").write_text('{"splits": ["train"]}')
    (part / "dataset_info.json").write_text("{}")
    (part / "state.json").write_text(json.dumps({"_data_files": [{"filename": "data-00000-of-00001.arrow"}]}))
    table = pa.Table.from_pylist(plain())
    for name in ("data-00000-of-00001.arrow", "cache-1234.arrow"):
        with pa.OSFile(str(part / name), "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    return folder


def put_json(path: Path, value: Any, indent: int | None = None) -> Path:
    path.write_text(json.dumps(value, indent=indent), encoding="utf-8")
    return path


def put_csv(path: Path, mark: str) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(plain()[0]), delimiter=mark)
        writer.writeheader()
        writer.writerows({**row, "prompt": 'three and "five",\nplease'} for row in plain())
    return path


def put_eval(path: Path) -> Path:
    log = inspect_log()
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({**log, "samples": None}))
        for one in log["samples"]:
            archive.writestr(f"samples/{one['id']}_epoch_{one['epoch']}.json", json.dumps(one))
    return path


def put_parquet(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.parent.mkdir()
    pq.write_table(pa.Table.from_pylist(rows), path)
    return path.parent


def put_gzip(path: Path) -> Path:
    path.write_bytes(gzip.compress(json.dumps(plain()).encode()))
    return path


@dataclass(frozen=True)
class File:
    """A file that somebody else writes. `shape`: the beginning of its name, `groups`: how many groups its rows have,
    `theirs`: the column of its own score."""

    put: Callable[[Path], Path]
    shape: str = ""
    theirs: str | None = None
    groups: int = 0
    columns: dict[str, str] = field(default_factory=dict)


FILES = {
    "verl": File(
        lambda f: write_rows(f / "dump" / "1.jsonl", verl(1)).parent,
        "rollouts of verl,",
        "score",
        1,
        {"response": "output", "reference": "gts", "prompt": "input"},
    ),
    "verl v1": File(lambda f: write_rows(f / "v1.jsonl", verl_v1()), "rollouts of verl (v1)", "score", 2),
    "TRL": File(
        lambda f: put_parquet(f / "completions" / "completions_00005.parquet", trl()),
        "completions of TRL",
        "right",
        1,
        {"response": "completion", "reference": "answer"},
    ),
    "lm-eval": File(
        lambda f: write_rows(f / "samples_gsm8k_2026-01-01.jsonl", lm_eval()),
        "samples of lm-eval",
        "exact_match",
        0,
        {"reference": "target"},
    ),
    "NeMo Gym": File(
        lambda f: write_rows(f / "rollouts.jsonl", gym()),
        "rollouts of NeMo Gym",
        "reward",
        1,
        {"reference": "expected_answer", "data_source": "agent_ref.name"},
    ),
    "prime-rl": File(
        lambda f: write_rows(f / "train_rollouts.jsonl", trace()),
        "traces of verifiers",
        "@reward",
        1,
        {"reference": "task.data.answer", "data_source": "info.prime_rl.env_name"},
    ),
    "prime-rl, earlier": File(
        lambda f: write_rows(f / "earlier.jsonl", rollout_outputs()), "rollouts of verifiers", "reward", 1
    ),
    "Inspect": File(lambda f: put_json(f / "log.json", inspect_log(), 2), "log of Inspect", "inspect.score", 1),
    "Inspect's archive": File(lambda f: put_eval(f / "log.eval"), "log of Inspect", "inspect.score", 1),
    "a list in JSON": File(lambda f: put_json(f / "rows.json", plain())),
    "a list in JSON, on many lines": File(lambda f: put_json(f / "indented.json", plain(), 2)),
    "a list in JSON, packed": File(lambda f: put_gzip(f / "rows.json.gz")),
    "CSV": File(lambda f: put_csv(f / "rows.csv", ",")),
    "TSV": File(lambda f: put_csv(f / "rows.tsv", "\t")),
    "a folder of datasets": File(lambda f: saved(f / "saved")),
}


@dataclass(frozen=True)
class Ran:
    plan: list[str]
    rows: list[dict[str, Any]]
    summary: Summary


class _Plan(Watcher):
    def __init__(self) -> None:
        self.lines: list[str] = []

    def plan(self, lines: Sequence[str]) -> None:
        self.lines = list(lines)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Ran]:
    """All files, scored by `math` without an option."""

    async def all_of_them() -> dict[str, Ran]:
        found = {}
        async with AsyncClient("local") as client:
            for name, file in FILES.items():
                folder = tmp_path_factory.mktemp("file")
                output, watcher = folder / "out.jsonl", _Plan()
                routing = Routing.by_source([("*", Use(name="math"))])
                options = RescoreOptions(input=file.put(folder), output=output, routing=routing)
                summary = await rescore(options, client, watcher)
                assert summary is not None
                found[name] = Ran(watcher.lines, read_rows(output), summary)
        return found

    return asyncio.run(all_of_them())


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_read_without_an_option(ran: dict[str, Ran], name: str) -> None:
    made, file = ran[name], FILES[name]
    assert [row["verdict"]["passed"] for row in made.rows] == [answer == "8" for answer, _ in ANSWERS]
    told = "\n".join(made.plan)
    assert f"columns  {file.shape}" in told
    for part, column in file.columns.items():
        assert any(line.split()[-3:-1] == ["←", column] or line.endswith(f"← {column}") for line in made.plan), part
    assert sum(found.groups for found in made.summary.pass_at_all if found.k == 1) == file.groups


@pytest.mark.parametrize("name", [name for name, file in FILES.items() if file.theirs])
def test_the_files_own_scores_are_compared_with_ours(ran: dict[str, Ran], name: str) -> None:
    told = ran[name].summary.to_json()["baseline"]
    assert told["column"] == FILES[name].theirs
    assert (told["compared"], told["agree"], told["only_ours"], told["only_theirs"]) == (4, 2, 1, 1)
    assert {(one["kind"], one["reason"], one["rows"][0].rpartition(":")[2]) for one in told["classes"]} == {
        ("only_ours", None, "3"),
        ("only_theirs", "wrong", "4"),
    }


def test_their_score_stays_where_it_stands(ran: dict[str, Ran]) -> None:
    rows = ran["verl"].rows
    assert [row["score"] for row in rows] == [score for _, score in ANSWERS]
    assert [row["rewarden_score"] for row in rows] == [1.0, 0.0, 1.0, 0.0]
    assert any(line.startswith("scores   rewarden_score") for line in ran["verl"].plan)


def test_a_row_of_a_file_that_has_no_lines_becomes_one(ran: dict[str, Ran]) -> None:
    assert ran["CSV"].rows[0]["prompt"] == 'three and "five",\nplease'
    assert ran["a folder of datasets"].rows[3]["reward"] == 1.0
    assert {key: value for key, value in ran["a list in JSON"].rows[0].items() if key in plain()[0]} == plain()[0]
    assert ran["Inspect"].rows[0]["inspect"] == {"scorer": "match", "score": 1.0, "answer": "8", "explanation": None}


@pytest.mark.parametrize(
    ("row", "shape"),
    [
        pytest.param(verl(1)[0], "rollouts of verl", id="verl"),
        pytest.param({**verl(1)[0], "uid": "7d1c"}, "rollouts of verl", id="verl with a group's name"),
        pytest.param({"input": "?", "output": "8", "score": 1.0}, None, id="nearly verl"),
        pytest.param({"input": "?", "output": "8", "reward": 0.3}, "rewarded outputs of OpenRLHF", id="OpenRLHF"),
        pytest.param({"input": "?", "output": "8", "reward": 0.3, "label": "8"}, None, id="nearly OpenRLHF"),
        pytest.param({"prompt": "?", "completion": "8", "reward": 1.0, "step": 1}, None, id="nearly TRL"),
        pytest.param({"prompt": "?", "completion": "8", "reward": 1.0, "task": "t"}, None, id="nearly verifiers"),
        pytest.param({"doc_id": 1, "target": "8", "response": "8"}, None, id="nearly lm-eval"),
        pytest.param({"response": {"output": []}, "reward": 1.0}, None, id="nearly NeMo Gym"),
        pytest.param({"nodes": [{"id": 1}], "task": {}, "rewards": {}}, None, id="a graph of another kind"),
        pytest.param({"id": 1, "group": "g", "response": "8", "inspect": "later"}, None, id="nearly Inspect"),
    ],
)
def test_a_shape_needs_its_own_columns(row: dict[str, Any], shape: str | None) -> None:
    found = recognised([row])
    assert (found.name if found else None) == shape
    assert recognised([row, {"response": "8"}]) is None


def test_what_the_user_names_comes_first() -> None:
    columns = choose({"reference": "acc", "group": "-"}, verl(1))
    assert columns.whole["reference"] == "acc"
    assert "group" not in columns.whole
    assert choose({}, verl(1), baseline="acc").baseline == "acc"
    assert choose({}, verl(1), baseline="-").baseline is None
    with pytest.raises(RescoreError, match="no column 'reward' in 4 rows"):
        choose({}, verl(1), baseline="reward")


def test_groups_of_verl_are_prompts_and_not_rollouts() -> None:
    columns = choose({}, verl_v1())
    assert [columns.group_of(row, "f", 1) for row in verl_v1()] == ["0c7f-0", "0c7f-0", "0c7f-1", "0c7f-1"]
    columns = choose({}, [*verl(1), *verl(2)])
    assert columns.group_of(verl(1)[0], "f", 1) == columns.group_of(verl(1)[1], "f", 1)
    assert columns.group_of(verl(1)[0], "f", 1) != columns.group_of(verl(2)[0], "f", 1)


def test_of_several_reward_functions_none_is_chosen() -> None:
    rows = [{"step": 1, "prompt": "?", "completion": "8", "format": 1.0, "truth": 0.0, "note": "x", "advantage": 0.1}]
    columns = choose({}, rows)
    assert columns.baseline is None
    assert "one of format, truth: choose with --baseline COLUMN" in "\n".join(columns.describe())
    assert choose({}, rows, baseline="truth").baseline == "truth"


def test_likelihoods_are_no_responses() -> None:
    rows = [{**row, "resps": [[["-1.5", "False"]], [["-2.5", "True"]]]} for row in lm_eval()]
    with pytest.raises(RescoreError, match="samples of lm-eval, but none of the first 4 rows holds a text"):
        choose({}, rows)


def test_odd_rows_of_a_shape_become_faults_and_not_crashes() -> None:
    for rows in (verl_v1(), trl(), lm_eval(), gym(), trace()):
        columns = choose({}, rows)
        for name in rows[0]:
            for value in (None, 1, "x", [], [1], {}, {"data": 1}, [{"message": {}}]):
                columns.map({**rows[0], name: value}, "f", 1)
        columns.map({}, "f", 1)


async def test_without_a_reference_the_plan_tells_the_columns(desk: Desk) -> None:
    write_rows(desk.input, [{"response": said("8"), "hint": "x", "step": 1}])
    watcher = _Plan()
    routing = Routing.by_source([("*", Use(name="math"))])
    async with AsyncClient("local") as client:
        await rescore(desk.options(routing=routing), client, watcher)
    told = next(line for line in watcher.lines if "no reference found" in line)
    assert "math needs one" in told
    assert "--column reference=COLUMN" in told
    assert told.endswith("response, hint, step")


async def test_what_one_side_does_not_score_is_no_disagreement(desk: Desk) -> None:
    given: list[Any] = [True, "0.0", "n/a", None, 1, 1]
    rows: list[dict[str, Any]] = [{"response": "yes", "their": value} for value in given]
    rows[4]["response"] = None
    del rows[5]["response"]
    write_rows(desk.input, rows)
    told = (await desk.rescore(ToyClient(), baseline="their")).to_json()["baseline"]
    assert (told["compared"], told["agree"], told["only_ours"]) == (2, 1, 1)
    assert (told["without"], told["unscored"]) == (2, 2)
    assert [one["kind"] for one in told["classes"]] == ["only_ours", "unscored"]


async def test_each_of_several_responses_of_a_row_has_its_own_score(desk: Desk) -> None:
    write_rows(desk.input, [{"responses": ["yes", "no", "yes"], "their": [1, 1, 0]}, {"responses": ["no"], "their": 0}])
    told = (await desk.rescore(ToyClient(), baseline="their")).to_json()["baseline"]
    assert [(one["kind"], one["rows"]) for one in told["classes"]] == [
        ("only_ours", ["in.jsonl:1 #3"]),
        ("only_theirs", ["in.jsonl:1 #2"]),
    ]


async def test_a_broken_run_counts_each_disagreement_once(desk: Desk) -> None:
    rows = [{"response": "yes" if n % 2 else "no", "their": float(n % 3 == 0)} for n in range(40)]
    write_rows(desk.input, rows)
    options = {"baseline": "their", "baseline_passes": 1.0}
    with pytest.raises(Unavailable):
        await desk.rescore(ToyClient(break_at=17), **options)
    assert not desk.output.exists()
    told = (await desk.rescore(ToyClient(), resume=True, **options)).to_json()["baseline"]
    ours, theirs = [n % 2 == 1 for n in range(40)], [n % 3 == 0 for n in range(40)]
    assert told["only_ours"] == sum(o and not t for o, t in zip(ours, theirs, strict=True))
    assert told["only_theirs"] == sum(t and not o for o, t in zip(ours, theirs, strict=True))
    assert told["compared"] == 40
