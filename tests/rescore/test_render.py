"""The output's rows: the input's bytes stay, our columns come behind, a user's column is never replaced unasked."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewarden.types import Verdict, VerifierRef
from rewarden_server.studies.rescore.options import RescoreOptions
from rewarden_server.studies.rescore.render import Judged, Renderer

RIGHT = Judged.of({"status": "scored", "score": 1.0})
UNCLEAR = Judged.of({"status": "undecided", "score": None})


def renderer(**options: Any) -> Renderer:
    return Renderer.of(RescoreOptions(input=None, output=None, **options))  # type: ignore[arg-type]


def line(data: str, *verdicts: Judged, many: bool = False, replaces: bool = False, **options: Any) -> str | None:
    made = renderer(**options).line(data.encode(), verdicts, many, replaces=replaces)
    return None if made is None else made.decode()


def test_the_inputs_bytes_stay_as_they_are() -> None:
    odd = '{ "b" : 1.00, "a": 123456789012345678901234567890, "u": "\\u00e9", "n": NaN'
    made = line(odd + " }", RIGHT)
    assert made == odd + ',"score":1.0,"verdict":{"status":"scored","score":1.0}}\n'


def test_an_object_without_columns_gets_ours() -> None:
    assert json.loads(line("{}", RIGHT) or "") == {"score": 1.0, "verdict": RIGHT.value}


def test_a_list_of_responses_gets_lists() -> None:
    row = json.loads(line('{"r":["a","b"]}', RIGHT, UNCLEAR, many=True) or "")
    assert row["scores"] == [1.0, None]
    assert row["verdicts"] == [RIGHT.value, UNCLEAR.value]
    assert json.loads(line('{"r":[]}', many=True) or "")["scores"] == []


@pytest.mark.parametrize(("unscored", "score"), [(None, None), (-1.0, -1.0), (0.0, 0.0)])
def test_an_unscored_response_has_the_score_that_was_asked_for_and_an_honest_verdict(
    unscored: float | None, score: float | None
) -> None:
    row = json.loads(line('{"r":"a"}', UNCLEAR, unscored=unscored) or "")
    assert row["score"] == score
    assert row["verdict"]["score"] is None


def test_skip_leaves_out_rows_without_any_score() -> None:
    assert line('{"r":"a"}', UNCLEAR, unscored="skip") is None
    row = json.loads(line('{"r":["a","b"]}', UNCLEAR, RIGHT, many=True, unscored="skip") or "")
    assert row["scores"] == [None, 1.0]  # places must keep matching the responses


def test_columns_of_our_names_are_replaced_and_the_others_keep_their_bytes() -> None:
    data = '{"score": 0.5, "a": 1.00, "verdict": {"status": "error"}, "b": "\\u00e9"}'
    made = line(data, RIGHT, replaces=True)
    assert made == '{"a":1.00,"b":"\\u00e9","score":1.0,"verdict":{"status":"scored","score":1.0}}\n'
    strict = line('{"score": 0.5, "a": NaN, "b": "\\ud800"}', RIGHT, replaces=True)  # what msgspec will not read
    assert strict is not None
    assert '"a": NaN, "b": "\\ud800"' in strict


def test_a_users_own_column_is_seen_and_an_earlier_verdict_is_told_from_it() -> None:
    earlier = {"response": "a", "score": 1.0, "verdict": {"status": "scored", "score": 1.0, "passed": True}}
    assert renderer().earlier(earlier) == [earlier["verdict"]]
    assert renderer().taken(earlier, many=False) is None
    assert renderer().taken({"score": 1}, many=False) == "score"
    assert renderer().taken({"verdict": {"status": "guilty"}}, many=False) == "verdict"
    assert renderer().taken({"verdict": {"status": "scored", "court": "x"}}, many=False) == "verdict"
    assert renderer().taken({"score": 1}, many=True) is None
    assert renderer().taken({"scores": [1]}, many=True) == "scores"
    assert renderer(overwrite=True).taken({"score": 1}, many=False) is None
    assert renderer(score_column="reward").taken({"score": 1}, many=False) is None


def test_what_differs_from_run_to_run_is_not_written_unless_asked_for() -> None:
    verdict = Verdict(
        status="scored",
        score=1.0,
        index=7,
        id="x",
        group="g",
        cached=True,
        run_s=0.5,
        queue_s=0.1,
        metadata={"m": 1},
        verifier=VerifierRef(name="yes", version="1", fingerprint="f"),
    )
    made = renderer()
    row = json.loads(made.line(b"{}", [made.judged(verdict)], False) or b"")
    assert row["verdict"].keys() == {"status", "score", "passed", "reason", "fault", "verifier"}
    slim = renderer(fields=("run_s", "passed"))
    row = json.loads(slim.line(b"{}", [slim.judged(verdict)], False) or b"")
    assert row["verdict"] == {"status": "scored", "passed": None, "run_s": 0.5}
