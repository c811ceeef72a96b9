"""`rewarden view`: rollouts in every shape as a page."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import Any

import pytest
import zstandard

from rewarden.__main__ import main
from rewarden.types import Batch, Sample, Use, Verdict, VerifierRef
from rewarden_server.observe.record import Recorder
from tests.report.conftest import row, scored
from tests.report.test_page import unpack

REF = VerifierRef(name="math", version="1", fingerprint="f" * 8)


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(one) + "\n" for one in rows), encoding="utf-8")
    return path


def viewed(tmp_path: Path, *arguments: object) -> dict[str, Any]:
    """The data of the page that the command writes."""
    page = tmp_path / "page.html"
    assert main(["view", *map(str, arguments), "--no-open", "--out", str(page), "--quiet"]) == 0
    return unpack(page.read_text(encoding="utf-8"))


def inspect_log() -> dict[str, Any]:
    """A log as Inspect writes it, less what no page shows."""
    asked = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How high is it?"}]
    call = {"id": "1", "function": "search", "arguments": {"query": "Everest"}, "type": "function"}
    thought = [{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "It is 8849."}]
    return {
        "version": 2,
        "status": "success",
        "eval": {"task": "heights", "model": "mockllm/model"},
        "samples": [
            {
                "id": 1,
                "epoch": 1,
                "input": "How high is it?",
                "target": "8849",
                "messages": [
                    *asked,
                    {"role": "assistant", "content": "", "tool_calls": [call]},
                    {"role": "tool", "content": "8849 m", "function": "search", "tool_call_id": "1"},
                    {"role": "assistant", "content": thought},
                ],
                "scores": {
                    "match": {"value": "C", "answer": "8849", "explanation": "as in the target"},
                    "style": {"value": 0.25},
                },
            },
            {
                "id": 1,
                "epoch": 2,
                "input": "How high is it?",
                "target": "8849",
                "messages": [*asked, {"role": "assistant", "content": "attachment://long"}],
                "attachments": {"long": "8000"},
                "scores": {"match": {"value": "I", "answer": "8000"}},
            },
            {"id": 2, "epoch": 1, "input": "?", "target": "x", "messages": [], "error": {"message": "timed out"}},
            {"id": 3, "epoch": 1, "input": "?", "target": "x", "output": {"completion": "y"}},
        ],
    }


def test_a_rescored_file_is_shown(tmp_path: Path) -> None:
    data = viewed(tmp_path, write(tmp_path / "scored.jsonl", [row(id="a"), row(score=0.0, id="b")]))
    assert data["title"] == "scored.jsonl"
    assert data["rows"]["id"] == ["a", "b"]
    assert data["rows"]["score"] == [1.0, 0.0]


def test_rollouts_without_verdicts_are_shown_without(tmp_path: Path) -> None:
    rows = [{"prompt": "2+2?", "completion": f"\\boxed{{{n}}}", "answer": "4"} for n in (4, 5)]
    data = viewed(tmp_path, write(tmp_path / "rollouts.jsonl", rows))
    assert data["rows"]["status"] == [3, 3]
    assert (data["total"], data["unjudged"]) == (0, 2)
    assert data["rows"]["response"][1] == [["", ["\\boxed{5}"]]]


def test_rollouts_without_verdicts_are_judged_if_a_use_is_given(tmp_path: Path) -> None:
    rows = [{"prompt": "2+2?", "response": f"\\boxed{{{n}}}", "reference": "4"} for n in (4, 5)]
    one, other = write(tmp_path / "one.jsonl", rows), write(tmp_path / "other.jsonl", [row(score=0.5)])
    data = viewed(tmp_path, one, "--use", "math")
    assert data["rows"]["score"] == [1.0, 0.0]
    data = viewed(tmp_path, one, other, "--use", "math")
    assert data["rows"]["score"] == [1.0, 0.0, 0.5]  # what was judged stays as it was


def test_records_of_a_server_are_shown(tmp_path: Path) -> None:
    recorder = Recorder(tmp_path / "records", share=1.0)
    header = Batch(samples=(), use=Use(name="math"), shared={"p": "shared prompt"})
    sample = Sample(response="\\boxed{5}", reference="4", prompt_key="p", id="s1", data_source="gsm8k")
    recorder.add(header, sample, Verdict(status="scored", score=0.0, passed=False, reason="wrong", verifier=REF))
    recorder.close()
    data = viewed(tmp_path, tmp_path / "records")
    assert data["rows"]["id"] == ["s1"]
    assert data["tables"]["prompt"] == [[["", ["shared prompt"]]]]
    assert data["tables"]["reason"] == ["wrong"]
    assert data["tables"]["source"] == ["gsm8k"]


def zstandard_packed(archive: Path) -> None:
    """Makes of an archive of stored members one whose members are packed with Zstandard, which Python cannot write."""
    data = bytearray(archive.read_bytes())
    for sign, place in ((b"PK\x03\x04", 8), (b"PK\x01\x02", 10)):
        at = data.find(sign)
        while at >= 0:
            struct.pack_into("<H", data, at + place, 93)
            at = data.find(sign, at + 1)
    archive.write_bytes(data)


@pytest.mark.parametrize("form", ["json", "eval", "zstd", "folder"])
def test_logs_of_inspect_are_shown(tmp_path: Path, form: str) -> None:
    log, folder = inspect_log(), tmp_path / "logs"
    folder.mkdir()
    file = folder / ("log.json" if form == "json" else "log.eval")
    if form == "json":
        file.write_text(json.dumps(log))
    else:
        members = {"header.json": {**log, "samples": None}}
        members |= {f"samples/{one['id']}_epoch_{one['epoch']}.json": one for one in log["samples"]}
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED if form == "zstd" else zipfile.ZIP_DEFLATED) as archive:
            for name, value in members.items():
                content = json.dumps(value).encode()
                archive.writestr(name, zstandard.compress(content) if form == "zstd" else content)
        (folder / "other.json").write_text("[]")
    if form == "zstd":
        zstandard_packed(file)
    data = viewed(tmp_path, folder if form == "folder" else file)
    shown = data["rows"]
    assert shown["id"] == ["1 #1", "1 #2", "2 #1", "3 #1"]
    assert shown["status"] == [0, 0, 2, 3]
    assert shown["score"] == [1.0, 0.0, None, None]
    assert shown["passed"][:2] == [True, False]
    assert shown["group"][0] == shown["group"][1]
    assert data["tables"]["source"] == ["heights"]
    assert [role for role, _ in shown["response"][0]] == ["tool call", "tool", "assistant"]
    assert shown["response"][0][-1][1] == ["<think>hm</think>\nIt is ", ["8849"], "."]
    assert shown["response"][1] == [["", [["8000"]]]]
    assert ["feedback", "as in the target"] in shown["details"][0]
    assert ["component style", "0.25"] in shown["details"][0]
    assert ["feedback", "timed out"] in shown["details"][2]


@pytest.mark.parametrize(
    ("value", "score", "passed", "parts"),
    [
        ("C", 1.0, True, []),
        ("i", 0.0, False, []),
        (True, 1.0, True, []),
        (0.5, 0.5, None, []),
        ({"tone": "fine", "truth": 0.75, "form": 1}, 0.75, None, ["match.tone", "match.form"]),
        ([0.25, 1], 0.25, None, ["match.1"]),
        (float("nan"), None, None, []),
        (float("inf"), None, None, []),
        (10**400, None, None, []),
        ("fine", None, None, []),
        (None, None, None, []),
        ({}, None, None, []),
    ],
)
def test_scores_of_inspect_are_read_as_numbers_that_a_page_can_hold(
    tmp_path: Path, value: Any, score: float | None, passed: bool | None, parts: list[str]
) -> None:
    log = inspect_log()
    log["samples"] = [{**log["samples"][1], "scores": {"match": {"value": value, "answer": "8000"}}}]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    rows = viewed(tmp_path, path)["rows"]
    assert (rows["score"], rows["passed"]) == ([score], [passed])
    assert rows["status"] == [1 if score is None else 0]
    assert [name for name, _ in rows["details"][0] if name.startswith("component")] == [f"component {p}" for p in parts]


@pytest.mark.parametrize(
    "odd",
    [
        {"scores": {"match": 1}},
        {"scores": {"match": {}}},
        {"scores": [1]},
        {"scores": {"match": {"value": 1, "answer": {"x": 1}, "explanation": ["a"], "metadata": [1]}}},
        {"messages": ["hello"]},
        {"messages": {"role": "user"}},
        {"messages": [{"role": "assistant", "content": 5, "tool_calls": ["x"]}]},
        {"messages": [], "output": "y"},
        {"attachments": [1], "metadata": [1]},
    ],
)
def test_what_is_odd_in_a_sample_of_inspect_does_not_hide_the_others(tmp_path: Path, odd: dict[str, Any]) -> None:
    log = inspect_log()
    log["samples"] = [{**log["samples"][1], **odd}, log["samples"][0]]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    assert viewed(tmp_path, path)["rows"]["id"] == ["1 #2", "1 #1"]


@pytest.mark.parametrize(
    "verdict",
    [
        "text",
        {"status": "fine"},
        *({**scored(), "score": score} for score in (float("nan"), float("-inf"), 10**400, "1", [1])),
        {**scored(), "range": [0, float("inf")]},
        {**scored(), "flags": "truncated"},
        {**scored(), "evidence": [1]},
        {**scored(), "verifier": {"name": "math"}},
        {**scored(), "made_by": "another program"},
    ],
)
def test_what_is_no_verdict_of_ours_is_not_taken_for_one(tmp_path: Path, verdict: Any) -> None:
    path = write(tmp_path / "scored.jsonl", [{**row(id="a"), "verdict": verdict}, row(id="b")])
    data = viewed(tmp_path, path)
    assert data["rows"]["status"] == [3, 0]
    assert (data["total"], data["unjudged"]) == (1, 1)


def test_a_list_in_json_is_rows(tmp_path: Path) -> None:
    path = tmp_path / "list.json"
    path.write_text(json.dumps([row(id="a"), row(id="b")]))
    assert viewed(tmp_path, path)["rows"]["id"] == ["a", "b"]


def test_parquet_is_shown(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "rollouts.parquet"
    parquet.write_table(pyarrow.Table.from_pylist([{"prompt": "2+2?", "response": "4"}]), path)
    assert viewed(tmp_path, path)["rows"]["response"] == [[["", ["4"]]]]


def test_without_a_name_the_page_is_a_temporary_file_that_stays(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    assert main(["view", str(write(tmp_path / "scored.jsonl", [row()])), "--no-open"]) == 0
    address = capsys.readouterr().out.strip()
    page = Path(address.removeprefix("file://"))
    assert page.is_relative_to(tmp_path)
    assert unpack(page.read_text(encoding="utf-8"))["total"] == 1
    assert page.parent.stat().st_mode & 0o077 == 0


def test_the_browser_is_opened_on_the_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The browser is a program that writes down what it is called with."""
    seen = tmp_path / "seen"
    browser = tmp_path / "browser"
    browser.write_text(f'#!/bin/sh\necho "$1" >{seen}\n')
    browser.chmod(0o755)
    monkeypatch.setenv("BROWSER", str(browser))
    page = tmp_path / "page.html"
    assert main(["view", str(write(tmp_path / "scored.jsonl", [row()])), "--out", str(page)]) == 0
    assert seen.read_text().strip() == page.as_uri()


@pytest.mark.parametrize(
    ("name", "content", "told"),
    [
        ("broken.eval", "no archive", "not a log of Inspect that can be read"),
        ("broken.json", "{", "no readable rows"),
        ("deep.json", "[" * 100_000, "nested too deeply"),
        ("empty.jsonl", "", "no rows"),
        ("other.jsonl", '{"a": 1}\n', "no column contains the response"),
        ("torn.jsonl", '{"header": 1, "sample": {}, "verdict": {}}\n', "not a record"),
    ],
)
def test_what_cannot_be_shown_is_refused_with_the_reason(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, told: str
) -> None:
    path = tmp_path / name
    path.write_text(content)
    assert main(["view", str(path), "--no-open", "--out", str(tmp_path / "page.html")]) == 2
    assert told in capsys.readouterr().err
    assert not (tmp_path / "page.html").exists()


def test_only_a_report_is_replaced_unasked(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    page = tmp_path / "page.html"
    page.write_text("mine")
    source = write(tmp_path / "scored.jsonl", [row()])
    assert main(["view", str(source), "--no-open", "--out", str(page)]) == 2
    assert "is not a report" in capsys.readouterr().err
    assert main(["view", str(source), "--no-open", "--out", str(page), "--force"]) == 0
