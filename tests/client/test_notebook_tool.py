"""A notebook as a tool: its schema, and the texts that a model gets."""

from __future__ import annotations

import pytest

from rewarden.boxes.notebook_tool import NOTEBOOK_TOOL, Arguments, code_in, reply_of
from rewarden.boxes.types import CellResult


def test_its_schema_is_that_of_a_function() -> None:
    assert NOTEBOOK_TOOL["type"] == "function"
    function = NOTEBOOK_TOOL["function"]
    assert function.keys() == {"name", "description", "parameters"}
    assert function["parameters"]["required"] == list(function["parameters"]["properties"])


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ('{"code": "print(\'é\')"}', "print('é')"),
        ({"code": "1", "more": 2}, "1"),
        ("print(1)", None),
        ("[1]", None),
        ('{"code": 1}', None),
        ("[" * 100_000, None),
        ('{"code": "\\ud800"}', None),
        ({}, None),
    ],
)
def test_arguments_are_read_or_told_from_such_as_cannot_be(arguments: Arguments, code: str | None) -> None:
    assert code_in(arguments) == code


def test_a_reply_has_what_was_written_and_how_the_cell_ended() -> None:
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": "begun\n"},
        {"output_type": "display_data", "data": {"image/png": "AAAA", "text/plain": "<Figure>"}, "metadata": {}},
        {"output_type": "error", "ename": "KeyboardInterrupt", "evalue": "", "traceback": ["Traceback", "…"]},
    ]
    late = CellResult(notebook=1, status="time_limit", outputs=outputs, restarted=True)
    assert reply_of(late).splitlines() == [
        *("begun", "<Figure>", "Traceback", "…", "[image/png]"),
        "The cell exceeded its time limit and was interrupted.",
        "The interpreter was restarted; all variables are lost.",
    ]
    assert reply_of(CellResult(notebook=1, status="ok")) == ""


def test_a_long_reply_is_cut_in_the_middle() -> None:
    text = "a" + "x" * 100_000 + "b"
    reply = reply_of(
        CellResult(notebook=1, status="ok", outputs=[{"output_type": "stream", "name": "stdout", "text": text}])
    )
    assert len(reply) < 21_000
    assert (reply[0], reply[-1]) == ("a", "b")
    assert "80002 characters left out" in reply
