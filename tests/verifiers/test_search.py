"""`search`: the environment's text, told apart from the policy's, and the credit of each call."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference, InvalidSample
from rewarden.types import Outcome, Sample, Step, Text, Use
from rewarden_server.engine.plan import Planner
from rewarden_server.engine.scope import run_inline
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.retrieval.documents import documents, plain_id
from rewarden_verifiers.retrieval.trajectory import trajectory
from tests.verifiers.counting import HOSTILE
from tests.verifiers.counting import steps as work_of

PLANNER = Planner(Registry())
ULM = 'Doc 1(Title: "Ulm") Ulm is a city on the Danube.'
EINSTEIN = '[{"id": "d1", "title": "Albert Einstein", "text": "He was born in Ulm."}]'
GOLD = ["Albert Einstein", "Ulm"]
MARKS = (("<search>", "</search>"),)

Message = Mapping[str, Any]


def judged(response: Text, reference: Any = GOLD, steps: Sequence[Step] | None = None, **params: Any) -> Outcome:
    token_count = params.pop("token_count", None)
    use = PLANNER.bind(Use(name="search", params=params))
    sample = Sample(response=response, reference=reference, steps=steps, token_count=token_count)
    return run_inline(PLANNER.plan(use, sample, None))


def asks(*queries: str, tool: str = "search", content: str = "") -> Message:
    calls = [
        {"id": f"c{place}", "type": "function", "function": {"name": tool, "arguments": json.dumps({"query": query})}}
        for place, query in enumerate(queries)
    ]
    return {"role": "assistant", "content": content, "tool_calls": calls}


def got(text: str, call: str = "c0") -> Message:
    return {"role": "tool", "tool_call_id": call, "content": text}


def says(text: str) -> Message:
    return {"role": "assistant", "content": text}


def spans(*parts: str | tuple[str]) -> tuple[str, list[Step]]:
    """A text, and steps that mark the parts in tuples as the environment's."""
    text, steps = "", []
    for part in parts:
        kind, written = ("policy", part) if isinstance(part, str) else ("tool", part[0])
        steps.append(Step(start=len(text), end=len(text) + len(written), kind=kind))
        text += written
    return text, steps


# --- documents -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "found"),
    [
        ('[{"id": 7, "title": "A", "contents": "x y"}]', [(("7",), "A")]),
        ('{"results": {"hits": [{"url": "https://www.a.example/b/#c", "snippet": "x"}]}}', [(("a.example/b",), "")]),
        ('<information>[{"docid": "a", "text": "x"}]</information>', [(("a",), "")]),
        ('Doc 1(Title: "A") x\nDoc 2(Title: B) y', [((), "A"), ((), "B")]),
        ("Document [1](Title: A): x", [((), "A")]),
        ("<information>Doc 1 (Title: A) x\n</information>", [((), "A")]),
        ("[1] Title: A\nx\n[2] Title: B\ny", [((), "A"), ((), "B")]),
        ("[d3] x\n[d4] y", [(("d3",), ""), (("d4",), "")]),
        ("Title: A\nid: d3\nx\n\nTitle: B\ny", [(("d3",), "A"), ((), "B")]),
        ("<doc id='d3' title=\"A\">x</doc> <doc id=d4>y</doc>", [(("d3",), "A"), (("d4",), "")]),
        ("nothing of the kind", [((), "")]),
        ("", []),
        ("[" * 5000, [((), "")]),
    ],
)
def test_documents_are_read_with_their_ids_and_titles(result: str, found: list[tuple[tuple[str, ...], str]]) -> None:
    assert [(one.ids, one.title) for one in documents(result)] == found


def test_a_document_ends_where_the_next_begins() -> None:
    assert [one.text for one in documents("[d3] x\n[d4] y")] == ["x", "y"]
    assert documents("Doc 1(Title: A) x\nDoc 2(Title: B) y")[1].text == "B\n y"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("https://www.a.example/b/", "http://a.example/b#c", True),
        ("https://a.example/b", "https://a.example/B", False),
        ("d\u200b3", "d3", True),
        ("d3", "D3", False),
    ],
)
def test_ids_are_compared_as_they_are_and_addresses_without_scheme(one: str, other: str, same: bool) -> None:
    assert (plain_id(one) == plain_id(other)) == same


# --- who wrote what ------------------------------------------------------------------------------------------------


def test_results_are_messages_of_tools() -> None:
    outcome = judged([asks("Einstein"), got(EINSTEIN), asks("Ulm"), got(ULM), says("So.")])
    assert (outcome.score, [step.score for step in outcome.steps]) == (1.0, [0.5, 0.5])


def test_results_of_parallel_calls_are_assigned_by_id_and_else_in_order() -> None:
    by_id = judged([asks("Einstein", "Ulm"), got(ULM, "c1"), got(EINSTEIN, "c0")])
    in_order = judged([asks("Einstein", "Ulm"), got(EINSTEIN, ""), got(ULM, "")])
    for outcome in (by_id, in_order):
        assert [(step.label, step.feedback) for step in outcome.steps] == [
            ("search: Einstein", "Albert Einstein"),
            ("search: Ulm", "Ulm"),
        ]


def test_results_are_spans_that_steps_mark() -> None:
    text, steps = spans("<search>Einstein</search>", (EINSTEIN,), "\n", (ULM,), "So.")
    assert judged(text, steps=steps).score == 1.0
    assert judged([says(text)], steps=steps).score == 1.0
    assert judged(text, steps=steps[:1]).score == 0.0


def test_older_and_other_protocols_of_calls_are_read() -> None:
    older = {"role": "assistant", "content": "", "function_call": {"name": "search", "arguments": '{"query": "Ulm"}'}}
    parts = {"role": "assistant", "content": [{"type": "tool_use", "name": "search", "input": {"query": "Ulm"}}]}
    text = says('<tool_call>{"name": "search", "arguments": {"query": "Ulm"}}</tool_call>')
    for call in (older, parts, text):
        outcome = judged([call, got(ULM)], ["Ulm"])
        assert (outcome.score, outcome.steps[0].label) == (1.0, "search: Ulm")


@pytest.mark.parametrize(
    "response",
    [
        [says(f"<search>Ulm</search><information>{ULM}</information>")],
        [says(f'<tool_response>{ULM}</tool_response>\n{{"role": "tool", "content": "{ULM}"}}')],
        [asks("potato"), got("None."), says(ULM)],
        [{"role": "system", "content": ULM}, says("So.")],
        [{"role": "user", "content": ULM}, says("So.")],
        [got(ULM), says("So.")],
        [asks("Ulm"), {"role": "assistant", "content": ULM, "name": "tool"}],
    ],
)
def test_nothing_else_is_evidence(response: Text) -> None:
    assert judged(response, ["Ulm"]).score == 0.0


def test_what_a_policy_writes_as_a_result_is_flagged() -> None:
    assert judged([asks("potato"), got("None."), says(ULM)], ["Ulm"]).flags == ("own_evidence",)
    assert judged([asks("Ulm river"), got("None."), says("Ulm.")], ["Ulm"]).flags == ()


def test_text_without_marks_is_undecided_only_where_marks_could_matter() -> None:
    told = judged(f"<search>Ulm</search>{ULM}", ["Ulm"])
    assert (told.status, told.fault, told.reason) == ("undecided", "caller", "unmarked_results")
    assert judged("I shall not search.", ["Ulm"]).score == 0.0
    assert judged(f"<search>Ulm</search>{ULM}", ["Ulm"], unmarked="zero").score == 0.0


@pytest.mark.parametrize(
    "step", [Step(start=0, end=99), Step(start=3, end=2), Step(start=-1, end=2), Step(message=1), Step(message=-1)]
)
def test_steps_that_do_not_lie_within_the_response_are_refused(step: Step) -> None:
    with pytest.raises(InvalidSample):
        judged("So.", steps=[step])


# --- what earns ----------------------------------------------------------------------------------------------------


def test_each_document_is_credited_to_the_call_that_found_it_first() -> None:
    outcome = judged([asks("Ulm"), got(ULM), asks("Danube"), got(ULM + "\n" + "[d1] Title: Albert Einstein")])
    assert [(step.score, step.feedback) for step in outcome.steps] == [(0.5, "Ulm"), (0.5, "Albert Einstein")]


def test_a_repetition_earns_nothing_unless_the_call_had_failed() -> None:
    again = judged([asks("Ulm"), got("[d9] Kale"), asks("ulm."), got(ULM)], ["Ulm"])
    assert (again.score, again.steps[1].feedback, again.evidence["repeated"]) == (0.0, "repeated", 1)
    failed = judged([asks("Ulm"), got("error 503"), asks("Ulm"), got(ULM)], ["Ulm"])
    assert (failed.score, failed.evidence["repeated"]) == (1.0, 0)


@pytest.mark.parametrize("arguments", ['{"query": "Ulm', "Ulm", '["Ulm"]', "null"])
def test_malformed_arguments_earn_nothing(arguments: str) -> None:
    call = {"role": "assistant", "tool_calls": [{"id": "c0", "function": {"name": "search", "arguments": arguments}}]}
    outcome = judged([call, got(ULM)], ["Ulm"])
    assert (outcome.score, outcome.steps[0].feedback, outcome.evidence["malformed"]) == (0.0, "malformed", 1)


def test_a_call_that_never_ends_does_not_take_the_next_with_it() -> None:
    text, steps = spans('<tool_call>{"name": <search>Ulm river</search>', (ULM,), "So.")
    outcome = judged(text, ["Ulm"], steps)
    assert (outcome.score, [step.label for step in outcome.steps]) == (1.0, ["search: Ulm river"])


@pytest.mark.parametrize("tool", ["python", "run_code", "executeCode", "bash", "PythonInterpreter", "write_note"])
def test_tools_that_print_are_no_searches(tool: str) -> None:
    outcome = judged([asks("x", tool=tool), got(ULM)], ["Ulm"])
    assert (outcome.score, outcome.reason, outcome.steps[0].feedback) == (0.0, "no_search", "other_tool")
    assert judged([asks("x", tool=tool), got(ULM)], ["Ulm"], tools=[tool]).score == 1.0


@pytest.mark.parametrize("tool", ["search", "wikipedia_search", "retrieve", "fetchPage", "browse", "encode_lookup"])
def test_other_tools_are(tool: str) -> None:
    assert judged([asks("x", tool=tool), got(ULM)], ["Ulm"]).score == 1.0


def test_what_a_tool_repeats_is_no_evidence() -> None:
    copied = judged([asks(ULM, tool="fetch"), got(ULM)], ["Ulm"])
    error = judged([asks("a city on the Danube"), got("Nothing for: a city on the Danube")], [{"text": "the Danube"}])
    honest = judged([asks("a city on the Danube"), got(ULM)], [{"text": "a city on the Danube"}])
    assert (copied.score, error.score, honest.score) == (0.0, 0.0, 1.0)


def test_keys_by_which_gold_is_recognised_can_be_chosen() -> None:
    gold = [{"id": "d1", "title": "Somebody else", "text": "quite other words"}]
    response = [asks("x"), got(EINSTEIN)]
    assert judged(response, gold).score == 1.0
    assert judged(response, gold, match=["title", "text"]).score == 0.0


def test_an_answer_uses_what_was_found_by_citing_naming_or_quoting_it() -> None:
    def used(answer: str) -> float | None:
        outcome = judged([asks("x"), got(EINSTEIN), says(answer)], [{"id": "d1", "title": "Albert Einstein"}], used=1.0)
        return outcome.score

    for answer in ("It is so [d1].", "Albert Einstein it was.", "As they say, he was born in Ulm, yes."):
        assert used(answer) == 1.0
    for answer in ("It is so [d2].", "He was born there.", "", "<think>Albert Einstein</think>So."):
        assert used(answer) == 0.0


def test_budgets() -> None:
    response = [asks("Einstein"), got(EINSTEIN), asks("Einstein"), got(EINSTEIN), asks("Ulm"), got(ULM)]
    assert judged(response, max_searches=3, max_repeats=1, max_tokens=9, token_count=9).score == 1.0
    for name, most in (("max_searches", 2), ("max_repeats", 0), ("max_tokens", 8)):
        outcome = judged(response, token_count=9, **{name: most})
        assert (outcome.score, outcome.reason, outcome.flags) == (0.0, "over_budget", ("over_budget",))
    cut = judged(response, max_searches=2, over_budget="cut")
    assert (cut.score, [step.feedback for step in cut.steps]) == (0.5, ["Albert Einstein", "repeated", "over_budget"])
    with pytest.raises(InvalidSample):
        judged(response, max_tokens=9)


@pytest.mark.parametrize("reference", [[], [{}], [{"title": "?"}], [""], {"gold": []}])
def test_bad_references_are_refused(reference: Any) -> None:
    with pytest.raises(InvalidReference):
        judged([says("So.")], reference)


@pytest.mark.parametrize(
    "params",
    [
        {"roles": ["assistant"]},
        {"roles": []},
        {"match": []},
        {"call_marks": [["<a>", "<a>"]]},
        {"used": 2},
        {"used_words": 0},
        {"max_searches": -1},
        {"threshold": 0},
    ],
)
def test_bad_parameters_are_refused(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        judged([says("So.")], **params)


# --- whatever a policy writes --------------------------------------------------------------------------------------

PIECES = (*HOSTILE, ULM, EINSTEIN, "<search>", "</search>", "<information>", "<tool_call>", "{", '"', "[d1]", "tool:")
written = st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8)), max_size=12).map("".join)


@given(written, written, written)
def test_no_text_of_a_policy_earns_what_its_tools_did_not_return(first: str, query: str, last: str) -> None:
    outcome = judged([asks(query, content=first), got("No documents match."), says(last)])
    assert (outcome.status, outcome.score) == ("scored", 0.0)
    json.dumps([outcome.extracted, dict(outcome.evidence)], allow_nan=False)


@given(written, written)
def test_no_text_of_a_policy_loses_what_its_tools_returned(first: str, last: str) -> None:
    text, steps = spans(f"{first} <search>x</search>", (f"[d7] Title: Zebra fish\n{ULM}",), last)
    assert judged(text, [{"title": "Zebra fish"}], steps).score == 1.0


@given(written)
def test_no_text_without_marks_goes_unscored_for_want_of_a_search(text: str) -> None:
    outcome = judged(text, [{"text": "nobody writes these very words"}])
    assert outcome.score == 0.0


@pytest.mark.parametrize("piece", PIECES)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    def work(times: int) -> int:
        text = piece * times
        return work_of(lambda: (documents(text), trajectory([says(text), got(text)], None, ("tool",), MARKS)))

    work(3)
    small, large = (work(max(1, size // len(piece))) for size in (600, 3000))
    assert large <= 6 * small + 5000
