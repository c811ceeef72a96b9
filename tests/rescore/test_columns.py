"""The columns by their content: guesses by the usual names, and explicit columns override them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.studies.rescore.columns import RowFault, choose, read_columns_file
from rewarden_server.studies.rescore.options import RescoreError

CHAT = [{"role": "user", "content": "1+1?"}, {"role": "assistant", "content": "2"}]


def mapped(row: dict[str, Any], **given: str) -> Any:
    return choose({name.replace("__", "."): column for name, column in given.items()}, [row]).map(row, "f.jsonl", 7)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        pytest.param(
            {"prompt": "1+1?", "completion": "2", "ground_truth": "2", "uid": "u", "data_source": "gsm8k"},
            {"response": "completion", "prompt": "prompt", "reference": "ground_truth", "group": "uid",
             "data_source": "data_source"},
            id="trainers",
        ),
        pytest.param(
            {"input": "1+1?", "output": "2", "gts": "2", "score": 1.0},
            {"response": "output", "prompt": "input", "reference": "gts"},
            id="a trainer's dump of validation",
        ),
        pytest.param(
            {"problem": "1+1?", "responses": ["2", "3"], "answer": "2", "problem_id": 4},
            {"response": "responses", "prompt": "problem", "reference": "answer", "group": "problem_id"},
            id="several responses",
        ),
        pytest.param(
            {"messages": CHAT, "label": "2"}, {"messages": "messages", "reference": "label"}, id="a conversation"
        ),
        pytest.param(
            {"prompt": CHAT[:1], "response": CHAT[1:], "reward_model": {"ground_truth": "2"}},
            {"response": "response", "prompt": "prompt", "reference": "reward_model.ground_truth"},
            id="chat in two columns, reference nested",
        ),
    ],
)  # fmt: skip
def test_guesses_by_the_usual_names(row: dict[str, Any], expected: dict[str, str]) -> None:
    columns = choose({}, [row])
    assert columns.identity() == expected
    assert columns.guessed == set(expected)


def test_what_is_said_wins_and_a_dash_forbids_the_guess() -> None:
    row = {"response": "a", "output": "b", "answer": "2", "uid": "u"}
    columns = choose({"response": "output", "group": "-"}, [row])
    assert columns.identity() == {"response": "output", "reference": "answer"}
    assert columns.guessed == {"reference"}


def test_the_mapping_is_shown_with_its_guesses_and_what_is_not_read() -> None:
    lines = choose({"response": "text"}, [{"text": "a", "answer": "2", "loss": 1}]).describe()
    assert lines == ["response        ← text", "reference       ← answer  (guessed)", "kept, not read    loss"]


def test_without_a_response_the_columns_seen_are_listed() -> None:
    with pytest.raises(RescoreError, match=r"no column contains the response.*The columns are: foo, bar"):
        choose({}, [{"foo": 1, "bar": "x"}])


def test_a_column_that_no_row_has_is_refused_with_near_names() -> None:
    with pytest.raises(RescoreError, match="did you mean 'completion'"):
        choose({"response": "completions"}, [{"completion": "a"}])


@pytest.mark.parametrize("target", ["respones", "prompt.text"])
def test_a_field_that_is_none_is_refused(target: str) -> None:
    with pytest.raises(RescoreError, match=r"--column"):
        choose({target: "a"}, [{"a": "x", "response": "y"}])


def test_paths_reach_into_objects_and_lists_and_a_whole_name_comes_first() -> None:
    row = {"out": {"choices": [{"text": "a"}, {"text": "b"}]}, "x.y": "dotted", "x": {"y": "nested"}}
    made = mapped(row, response="out.choices.*.text", reference="x.y")
    assert [sample["response"] for sample in made.samples] == ["a", "b"]
    assert made.samples[0]["reference"] == "dotted"
    assert mapped(row, response="out.choices.1.text").samples[0]["response"] == "b"


def test_a_conversation_that_ends_with_the_assistant_gives_prompt_and_response() -> None:
    (sample,) = mapped({"messages": CHAT}).samples
    assert sample == {"prompt": CHAT[:1], "response": CHAT[1:]}


def test_a_conversation_that_ends_otherwise_is_the_rows_fault() -> None:
    columns = choose({"messages": "messages"}, [{"messages": CHAT}])
    (fault,) = columns.map({"messages": CHAT[:1]}, "f", 1).samples
    assert fault == RowFault("column 'messages' holds no conversation that ends with an assistant message", "response")


def test_a_chat_is_one_response_and_a_list_of_texts_or_chats_is_several() -> None:
    assert not mapped({"response": CHAT[1:]}).many
    assert mapped({"response": ["a"]}).many
    assert len(mapped({"response": [CHAT[1:], CHAT[1:]]}).samples) == 2


def test_lists_beside_several_responses_are_handed_out_one_by_one() -> None:
    row = {
        "responses": ["a", "b"],
        "finish_reason": ["stop", "max_tokens"],
        "token_count": [1, 2.0],
        "answer": ["x", "y"],
    }
    made = mapped(row)
    assert [(s["finish_reason"], s["token_count"]) for s in made.samples] == [("stop", 1), ("length", 2)]
    assert made.samples[0]["reference"] == ["x", "y"]  # several references, not one each


def test_a_list_of_another_length_is_the_rows_fault() -> None:
    columns = choose({}, [{"responses": ["a"], "finish_reason": ["stop"]}])
    (first, second) = columns.map({"responses": ["a", "b"], "finish_reason": ["stop"]}, "f", 1).samples
    assert first == second == RowFault("column 'finish_reason' has 1 items for 2 responses", "finish_reason")


@pytest.mark.parametrize(
    ("said", "meant"),
    [("stop", "stop"), ("eos_token", "stop"), ("MAX_TOKENS", "length"), (True, "length"), (False, "stop"),
     ({"type": "length", "length": 9}, "length"), ("content_filter", "abort")],
)  # fmt: skip
def test_ends_of_generation_in_every_samplers_words(said: Any, meant: str) -> None:
    assert mapped({"response": "a", "f": said}, finish_reason="f").samples[0]["finish_reason"] == meant


def test_a_reference_is_built_where_the_row_has_all_its_columns() -> None:
    given = {"reference.answer": "reference", "reference.options": "options"}
    rows = [{"response": "A", "reference": "B", "options": ["x", "y"]}, {"response": "2", "reference": "4"}]
    columns = choose(given, rows)
    (choice,), (math,) = (columns.map(row, "f", 1).samples for row in rows)
    assert choice["reference"] == {"answer": "B", "options": ["x", "y"]}
    assert math["reference"] == "4"


def test_groups_may_be_told_apart_by_several_columns_and_by_the_file() -> None:
    row = {"response": "a", "prompt_id": 3}
    assert mapped(row).group == "3"
    assert json.loads(mapped(row, group="@file,prompt_id").group) == ["f.jsonl", "3"]
    assert mapped({"response": "a", "prompt_id": None}, group="@line").group == "7"


def test_a_label_that_says_right_or_wrong_is_no_reference() -> None:
    assert "reference" not in choose({}, [{"response": "a", "label": True}]).whole


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.toml", 'response = "out"\ngroup = ["@file", "id"]\n[reference]\nanswer = "a"\n'),
        ("c.toml", '[columns]\nresponse = "out"\ngroup = "@file,id"\n"reference.answer" = "a"\n'),
        ("c.json", '{"response": "out", "group": "@file,id", "reference": {"answer": "a"}}'),
    ],
)
def test_a_columns_file(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    assert read_columns_file(tmp_path / name) == {"response": "out", "group": "@file,id", "reference.answer": "a"}


def test_a_columns_file_with_a_fault_names_it(tmp_path: Path) -> None:
    (tmp_path / "c.toml").write_text("response = 3")
    with pytest.raises(RescoreError, match="response must name a column"):
        read_columns_file(tmp_path / "c.toml")
