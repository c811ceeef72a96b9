"""`time`: dates, times, durations and orders, read strictly and compared as precisely as they are stated."""

from __future__ import annotations

import datetime
import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Outcome, Progress, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.answer.number.limits import Unreadable
from rewarden_verifiers.answer.time import reading
from rewarden_verifiers.answer.time.equivalence import TimeEquivalence
from rewarden_verifiers.answer.time.finding import last_time
from rewarden_verifiers.answer.time.moments import DAY, Clock, Duration, Point, distance
from rewarden_verifiers.answer.time.params import Stage, TimeParams
from rewarden_verifiers.answer.time.reading import read_moment
from rewarden_verifiers.answer.time.reference import prepare
from rewarden_verifiers.answer.time.verifier import time
from rewarden_verifiers.contract import _is_json
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_reference
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

REGISTRY = Registry()
PLANNER = Planner(REGISTRY)
SPEC = REGISTRY.get("time")


async def judged(response: str, reference: Any, **params: Any) -> Outcome:
    use = Use(name="time", params={"extraction": "whole", **params})
    return await outcome_of(PLANNER, use, Sample(response=response, reference=reference))


def direct(response: str, reference: Any, progress: Progress | None = None, **params: Any) -> Outcome:
    made = TimeParams(**{"extraction": "whole", **params})
    return time(response, prepare(parse_reference(SPEC, reference), made), made, progress)


MARCH = Point(2024, 3, 5)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("2024-03-05", MARCH),
        ("2024/03/05", MARCH),
        ("2024.3.5", MARCH),
        ("20240305", MARCH),
        ("2024-W10-2", MARCH),
        ("2024-065", MARCH),
        ("2024年3月5日", MARCH),
        ("5 March 2024", MARCH),
        ("5th March 2024", MARCH),
        ("5^{th} of March, 2024", MARCH),
        ("the 5th of March 2024", MARCH),
        ("March 5, 2024", MARCH),
        ("March 5th 2024", MARCH),
        ("Mar. 5, 2024", MARCH),
        ("05-Mar-2024", MARCH),
        ("MARCH 5, 2024", MARCH),
        ("2024 March 5", MARCH),
        ("Tuesday, 5 March 2024", MARCH),
        ("Tue, March 5, 2024", MARCH),
        ("on 5 March 2024.", MARCH),
        ("**2024-03-05**", MARCH),
        (r"\text{March 5, 2024}", MARCH),
        ("25/12/2024", Point(2024, 12, 25)),
        ("12.25.2024", Point(2024, 12, 25)),
        ("03/03/2024", Point(2024, 3, 3)),
        ("2024-03", Point(2024, 3)),
        ("March 2024", Point(2024, 3)),
        ("March, 2024", Point(2024, 3)),
        ("Sept. 2024", Point(2024, 9)),
        ("in 2024", Point(2024)),
        ("circa 1850", Point(1850)),
        ("476", Point(476)),
        ("AD 79", Point(79)),
        ("79 AD", Point(79)),
        ("476 CE", Point(476)),
        ("March", Point(None, 3)),
        ("5 March", Point(None, 3, 5)),
        ("29 February", Point(None, 2, 29)),
        ("2024-02-29", Point(2024, 2, 29)),
        ("0001-01-01", Point(1, 1, 1)),
        ("9999-12-31", Point(9999, 12, 31)),
        ("2024-03-05T14:30", Point(2024, 3, 5, Clock(52200 * 10**9, "minute"))),
        ("2024-03-05 14:30:00Z", Point(2024, 3, 5, Clock(52200 * 10**9, "second", 0))),
        ("20240305T143000Z", Point(2024, 3, 5, Clock(52200 * 10**9, "second", 0))),
        ("2024-03-05T14:30:00.5+05:30", Point(2024, 3, 5, Clock(52200 * 10**9 + 5 * 10**8, "second", 330))),
        ("5 March 2024 at 2:30 pm", Point(2024, 3, 5, Clock(52200 * 10**9, "minute"))),
        ("2:30 p.m. on March 5, 2024", Point(2024, 3, 5, Clock(52200 * 10**9, "minute"))),
        ("March 5, 2024, 2 PM EST", Point(2024, 3, 5, Clock(50400 * 10**9, "hour", -300))),
        ("2024-03-05 (5 March 2024)", MARCH),
        ("March 2024 (2024-03-05)", MARCH),
    ],
)
def test_each_spelling_of_a_date(text: str, expected: Point) -> None:
    assert read_moment(text, "date", "refuse") == expected


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("14:30", 52200),
        ("14:30:15", 52215),
        ("2:30 pm", 52200),
        ("2:30PM", 52200),
        ("12 am", 0),
        ("12 pm", 43200),
        ("12:15 a.m.", 900),
        ("noon", 43200),
        ("midnight", 0),
        ("24:00", 0),
        ("14h30", 52200),
        ("at 9:05 o'clock", 32700),
        ("2 o'clock", 7200),
        ("14 o'clock", 50400),
        ("2 o'clock in the afternoon", 50400),
        ("two in the afternoon", 50400),
        ("two pm", 50400),
        ("1400 hours", 50400),
        ("0930 hrs", 34200),
        ("half past two", 9000),
        ("half past 2 pm", 52200),
        ("a quarter to three", 9900),
        ("quarter of three", 9900),
        ("quarter past three in the afternoon", 54900),
        ("twenty-five minutes past six", 23100),
        ("10 minutes to 4", 13800),
        ("quarter to one at night", 2700),
        ("12 at night", 0),
        ("12 at noon", 43200),
        ("11 at night", 82800),
        ("2 at night", 7200),
        ("8:15 in the evening", 72900),
    ],
)
def test_each_spelling_of_a_time(text: str, seconds: int) -> None:
    found = read_moment(text, "clock", "refuse")
    assert isinstance(found, Clock)
    assert found.nanos == seconds * 10**9


@pytest.mark.parametrize(
    ("text", "months", "seconds"),
    [
        ("2 h 30 min", 0, 9000),
        ("2h30m", 0, 9000),
        ("2 hours and 30 minutes", 0, 9000),
        ("2 hrs. 30 min.", 0, 9000),
        ("PT2H30M", 0, 9000),
        ("P1DT2H", 0, 93600),
        ("P1Y2M", 14, 0),
        ("P2W", 0, 1209600),
        ("PT0.5S", 0, Fraction(1, 2)),
        ("90 minutes", 0, 5400),
        ("ninety minutes", 0, 5400),
        ("1.5 hours", 0, 5400),
        ("1 1/2 hours", 0, 5400),
        ("an hour and a half", 0, 5400),
        ("one and a half hours", 0, 5400),
        ("half an hour", 0, 1800),
        ("1:30:00", 0, 5400),
        ("100:00:01", 0, 360001),
        ("1:02.5", 0, Fraction(125, 2)),
        ("3 months", 3, 0),
        ("1 year, 2 months", 14, 0),
        ("a decade", 120, 0),
        ("two centuries", 2400, 0),
        ("3 weeks and 2 days", 0, 23 * 86400),
        ("250 ms", 0, Fraction(1, 4)),
        ("about 5 days", 0, 432000),
        ("-5 days", 0, -432000),
    ],
)
def test_each_spelling_of_a_duration(text: str, months: int, seconds: Any) -> None:
    found = read_moment(text, "duration", "refuse")
    assert found == Duration(Fraction(months), Fraction(seconds) * 10**9)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("2024-02-30", "malformed"),
        ("30 February", "malformed"),
        ("29 Feb 2023", "malformed"),
        ("2023-02-29T10:00", "malformed"),
        ("2024-13-01", "malformed"),
        ("2024-13", "malformed"),
        ("2024-00-10", "malformed"),
        ("0000-01-01", "malformed"),
        ("2024-W54-1", "malformed"),
        ("2023-366", "malformed"),
        ("0 BC", "malformed"),
        ("BC 0", "malformed"),
        ("-0044", "malformed"),
        ("-2024-03-05", "malformed"),
        ("2024-03-05T25:00", "malformed"),
        ("2024-03-05T14:61", "malformed"),
        ("2024-03-05T14:30+15:00", "malformed"),
        ("13 pm", "malformed"),
        ("32/13/2024", "malformed"),
        ("05/03/2024", "ambiguous"),
        ("5.3.2024", "ambiguous"),
        ("25/12/24", "ambiguous"),
        ("Monday, 5 March 2024", "contradictory"),
        ("the 1990s", "unparseable_answer"),
        ("18th and 19th centuries", "unparseable_answer"),
        ("0th century", "malformed"),
        ("fifth quarter of 2021", "malformed"),
        ("Q5 2021", "hedged"),
        ("the sun", "unparseable_answer"),
        ("Monday or Tuesday", "hedged"),
        ("Monday, Tuesday", "hedged"),
        ("every day but Monday", "hedged"),
        ("Q3 or Q4 2021", "hedged"),
        ("19th or 20th century", "hedged"),
        ("44 BC or AD 44", "hedged"),
        ("4 March 2024, a Tuesday", "contradictory"),
        ("1400 hours", "unparseable_answer"),
        ("10000-01-01", "unparseable_answer"),
        ("99999", "unparseable_answer"),
        ("3.5", "unparseable_answer"),
        ("", "unparseable_answer"),
        ("it may be", "unparseable_answer"),
        ("14:30", "unparseable_answer"),
        ("2023 or 2024", "hedged"),
        ("March or April 2024", "hedged"),
        ("between 2023 and 2025", "hedged"),
        ("2023-2025", "hedged"),
        ("2023–2025", "hedged"),
        ("before 2024", "hedged"),
        ("since 2024", "hedged"),
        ("not 2024", "hedged"),
        ("2024, 2025", "hedged"),
        ("5 March 2024 (2024-03-06)", "hedged"),
        ("2024?/2025?", "hedged"),
    ],
)
def test_what_is_no_date(text: str, reason: str) -> None:
    with pytest.raises(Unreadable) as caught:
        read_moment(text, "date", "refuse")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("1:30", "ambiguous"),
        ("1:75:00", "malformed"),
        ("2 to 3 weeks", "hedged"),
        ("2 or 3 weeks", "hedged"),
        ("3 weeks or 4 weeks", "hedged"),
        ("more than 3 weeks", "hedged"),
        ("at least an hour", "hedged"),
        ("3 days 3 days", None),
        ("45", "unparseable_answer"),
        ("5 M", "unparseable_answer"),
        ("5 bananas", "unparseable_answer"),
        ("P", "unparseable_answer"),
        ("forever", "unparseable_answer"),
    ],
)
def test_what_is_no_duration(text: str, reason: str | None) -> None:
    if reason is None:
        assert read_moment(text, "duration", "refuse") == Duration(nanos=Fraction(3 * DAY))
        return
    with pytest.raises(Unreadable) as caught:
        read_moment(text, "duration", "refuse")
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("answer", "reference", "params", "reason"),
    [
        ("5 March 2024", "2024-03-05", {}, None),
        ("05/03/2024", "2024-03-05", {"day_order": "day_first"}, None),
        ("03/05/2024", "2024-03-05", {"day_order": "month_first"}, None),
        ("05/03/2024", "2024-03-05", {"day_order": "month_first"}, "wrong"),
        ("2024-03-05", "2024-03", {}, None),
        ("2024-03-05", "2024-03", {"finer": "refuse"}, "too_precise"),
        ("2024", "2024-03", {}, "imprecise"),
        ("2024", "2024-03", {"coarser": "accept"}, None),
        ("2023", "2024-03", {"coarser": "accept"}, "wrong"),
        ("March", "2024-03", {}, "imprecise"),
        ("March", "2024-03", {"coarser": "accept"}, None),
        ("March 2024", "March", {}, None),
        ("March 2024", "March", {"finer": "refuse"}, "too_precise"),
        ("2024-03-06", "2024-03-05", {"granularity": "month"}, None),
        ("2024-04-05", "2024-03-05", {"granularity": "month"}, "wrong"),
        ("2024-03-05T14:30:59", "2024-03-05T14:30", {}, None),
        ("2024-03-05T14:31", "2024-03-05T14:30", {}, "wrong"),
        ("2024-03-05T14:31", "2024-03-05T14:30", {"granularity": "hour"}, None),
        ("2024-03-05", "2024-03-05T14:30", {}, "imprecise"),
        ("2024-03-05T13:30Z", "2024-03-05T14:30+01:00", {}, None),
        ("2024-03-05T14:30", "2024-03-05T14:30+01:00", {}, None),
        ("2024-03-05T14:30", "2024-03-05T14:30+01:00", {"zone": "required"}, "missing_zone"),
        ("2024-03-05T14:30Z", "2024-03-05T14:30+01:00", {"zone": "ignored"}, None),
        ("2024-03-05T14:30Z", "2024-03-05T14:30", {}, None),
        ("2024-03-05T23:59:60Z", "2024-03-06T00:00:00Z", {}, None),
        ("2024-03-05T24:00", "2024-03-06T00:00", {}, None),
        ("2024-03-08", "2024-03-05", {"tolerance": 3}, None),
        ("2024-03-09", "2024-03-05", {"tolerance": 3}, "wrong"),
        ("2024-03-05T14:32Z", "2024-03-05T14:30Z", {"tolerance": 120, "unit": "seconds"}, None),
        ("9:05 AM EST", "14:05 UTC", {}, None),
        ("2:30", "14:30", {}, "wrong"),
        ("2 pm", "14:05", {}, "imprecise"),
        ("2 pm", "14:00", {}, None),
        ("2 pm", "14:00", {"finer": "refuse"}, None),
        ("14:00", "2 pm", {"finer": "refuse"}, None),
        ("14:00", "14:00:00", {}, None),
        ("14:00", "14:00:05", {}, "imprecise"),
        ("2 am", "14:00", {}, "wrong"),
        ("2:30 in the afternoon", "14:30", {}, None),
        ("2:30 in the afternoon", "2:30", {}, "wrong"),
        ("half past two", "14:30", {}, "wrong"),
        ("half 2 pm", "14:00", {}, "hedged"),
        ("an hour past 2 pm", "14:00", {}, "hedged"),
        ("half two", "half past two", {}, "unparseable_answer"),
        ("12 in the morning", "00:00", {}, "ambiguous"),
        ("on Monday at 2 pm", "14:00", {}, None),
        ("5 March 2024 at half past two in the afternoon", "2024-03-05T14:30", {}, None),
        ("Mon", "Monday", {}, None),
        ("Tuesday", "Monday", {}, "wrong"),
        ("4 March 2024", "Monday", {}, None),
        ("4 March 2024", "Monday", {"finer": "refuse"}, "too_precise"),
        ("5 March 2024", "Monday", {}, "wrong"),
        ("March 2024", "Monday", {}, "imprecise"),
        ("third quarter of 2021", "Q3 2021", {}, None),
        ("2021-Q3", "third quarter of 2021", {}, None),
        ("Q2 2021", "Q3 2021", {}, "wrong"),
        ("Q3 2020", "Q3 2021", {}, "wrong"),
        ("Q3", "Q3 2021", {}, "imprecise"),
        ("Q3", "Q3 2021", {"coarser": "accept"}, None),
        ("Q3 2021", "Q3", {}, None),
        ("August 2021", "Q3 2021", {}, None),
        ("October 2021", "Q3 2021", {}, "wrong"),
        ("2021", "Q3 2021", {}, "imprecise"),
        ("third quarter of 2021", 2021, {}, None),
        ("the nineteenth century", "19th century", {}, None),
        ("19th century", "20th century", {}, "wrong"),
        ("5th century BC", "5th century", {}, "wrong"),
        ("1850", "19th century", {}, None),
        ("1799", "19th century", {}, "wrong"),
        ("1900", "19th century", {}, "ambiguous"),
        ("450 BC", "5th century BC", {}, None),
        ("44 BCE", "44 BC", {}, None),
        ("B.C. 44", "44 BC", {}, None),
        ("AD 44", "44 BC", {}, "wrong"),
        ("44 BC", 44, {}, "wrong"),
        ("March 15, 44 BC", "15 March 44 BC", {}, None),
        ("43 BC", "44 BC", {"tolerance": 1}, None),
        ("AD 1", "1 BC", {"tolerance": 1}, None),
        ("23:59", "00:01", {"tolerance": 2}, None),
        ("150 minutes", "2 h 30 min", {}, None),
        ("2:30", "2 h 30 min", {"two_part": "hours"}, None),
        ("2:30", "150 s", {"two_part": "minutes"}, None),
        ("150", "2 h 30 min", {"plain": "minutes"}, None),
        ("12 months", "1 year", {}, None),
        ("365 days", "1 year", {}, "wrong"),
        ("365 days", "1 year", {"tolerance": 1, "unit": "days"}, None),
        ("01:30:00", "1:30:00", {"kind": "duration"}, None),
        ("90 min", "1:30:00", {"kind": "duration"}, None),
        ("1789", {"any": ["1789", "1790"]}, {}, None),
        ("Ada Lovelace", "Ada Lovelace", {"kind": "entity"}, None),
        ("**ada  lovelace**", "Ada Lovelace", {"kind": "entity"}, None),
        ("Ada", "Ada Lovelace", {"kind": "entity"}, "wrong"),
        ("B, A, C", ["B", "A", "C"], {}, None),
        ("B, A, and C", ["B", "A", "C"], {}, None),
        ("B then A then C", ["B", "A", "C"], {}, None),
        ("(B, A, C)", ["B", "A", "C"], {}, None),
        ("B < A < C", ["B", "A", "C"], {}, None),
        ("- B\n- A\n- C", ["B", "A", "C"], {}, None),
        ("BAC", ["B", "A", "C"], {}, None),
        ("A, B, C", ["B", "A", "C"], {}, "wrong"),
        ("B, A", ["B", "A", "C"], {}, "not_a_permutation"),
        ("B, A, A", ["B", "A", "C"], {}, "not_a_permutation"),
        ("B, A, C, D", ["B", "A", "C"], {}, "not_a_permutation"),
        ("B, A, C or A, B, C", ["B", "A", "C"], {}, "not_a_permutation"),
        ("5 March 2024, 6 April 2024", ["2024-03-05", "2024-04-06"], {}, None),
        ("2-1-3", [2, 1, 3], {}, None),
    ],
)
async def test_each_option(answer: str, reference: Any, params: dict[str, Any], reason: str | None) -> None:
    outcome = await judged(answer, reference, **params)
    assert outcome.status == "scored"
    assert (outcome.score, outcome.passed, outcome.reason) == (float(reason is None), reason is None, reason)


@pytest.mark.parametrize(
    ("answer", "reference", "params", "score"),
    [
        ("2021-05", "2021-03", {"partial": "exponential", "rate": 0.1}, math.exp(-0.2)),
        ("2021-05-20", "2021-03", {"partial": "exponential", "rate": 0.1}, math.exp(-0.2)),
        ("2022-03", "2021-03", {"partial": "exponential", "unit": "years", "rate": 1}, math.exp(-1)),
        ("2022", "2021", {"partial": "exponential", "unit": "months", "rate": 0.1}, math.exp(-1.2)),
        ("2021-03-07", "2021-03-05", {"partial": "linear", "rate": 0.1}, 0.8),
        ("2031-03-07", "2021-03-05", {"partial": "linear", "rate": 0.1}, 0.0),
        ("December", "January", {"partial": "linear", "rate": 0.1}, 0.9),
        ("31 December", "1 January", {"partial": "linear", "rate": 0.1}, 0.9),
        ("14:35", "14:30", {"partial": "linear", "rate": 0.1}, 0.5),
        ("23:55", "00:00", {"partial": "linear", "rate": 0.1}, 0.5),
        ("3 h", "2 h", {"partial": "linear", "rate": 0.1}, 0.9),
        ("5 months", "3 months", {"partial": "linear", "rate": 0.1}, 0.8),
        ("A, C, B", ["A", "B", "C"], {"ordering": "pairs"}, 2 / 3),
        ("A, C, B", ["A", "B", "C"], {"ordering": "kendall"}, 1 / 3),
        ("C, A, B", ["A", "B", "C"], {"ordering": "kendall"}, 0.0),
        ("date: 2021-04\nname: Eve", {"date": "2021-03", "name": "Eve"}, {}, 0.5),
        ("date: 2021-04\nname: Eve", {"date": "2021-03", "name": "Eve"}, {"weights": {"name": 3}}, 0.75),
        (
            '{"date": "2021-04", "name": "Eva"}',
            {"date": "2021-03", "name": "Eve"},
            {"partial": "linear", "rate": 0.5},
            0.25,
        ),
    ],
)
async def test_what_is_near_may_earn(answer: str, reference: Any, params: dict[str, Any], score: float) -> None:
    outcome = await judged(answer, reference, **params)
    assert outcome.score == pytest.approx(score)
    assert outcome.passed is False


@pytest.mark.parametrize("answer", ["2024", "2023 or 2024", "2024-02-30", "before 2024-03-05", "never", "05/03/2024"])
def test_no_share_without_one_date_of_the_precision(answer: str) -> None:
    assert direct(answer, "2024-03-05", partial="exponential", rate=1e-6).score == 0.0


def test_the_rate_follows_the_schedule() -> None:
    stages = (Stage(from_step=10, rate=0.1), Stage(from_step=20, rate=0.3))
    steady, sloped = TimeParams(schedule=stages), TimeParams(schedule=stages, interpolate=True)
    told = [None, *(Progress(step=step) for step in (0, 10, 15, 20, 99))]
    assert [steady.rate_at(one) for one in told] == [0.1, 0.1, 0.1, 0.1, 0.3, 0.3]
    assert [sloped.rate_at(one) for one in told] == pytest.approx([0.1, 0.1, 0.1, 0.2, 0.3, 0.3])
    outcome = direct("2021-05", "2021-03", Progress(step=15), partial="exponential", schedule=stages, interpolate=True)
    assert outcome.score == pytest.approx(math.exp(-0.4))
    assert outcome.effective == {"rate": pytest.approx(0.2)}


@pytest.mark.parametrize(
    "reference",
    [
        "", "soon", True, 0, 10000, "2024-02-30", "05/03/2024", "2023 or 2024", "0 BC", -44, "Black Monday",
        ["A"], ["A", "A"], {}, {"any": []}, {"a": "2024", "A": "2025"}, {"a": "2024-02-30"}, {"a": "?"}, "x" * 5000,
    ],
)  # fmt: skip
async def test_a_bad_reference_is_undecided(reference: Any) -> None:
    outcome = await judged("2024", reference)
    assert (outcome.status, outcome.fault) == ("undecided", "reference")


async def test_parameters_that_do_not_fit_the_reference() -> None:
    assert (await judged("2024", "2024", granularity="day")).fault == "reference"
    assert (await judged("a: 2024", {"a": "2024"}, weights={"b": 1})).fault == "reference"
    assert (await judged("a: 2024", {"a": "2024"}, weights={"a": 0})).fault == "reference"


@pytest.mark.parametrize(
    "params",
    [
        {"tolerance": -1},
        {"rate": 0},
        {"rate": math.inf},
        {"passes": 0},
        {"schedule": [{"from_step": 5, "rate": 1}, {"from_step": 5, "rate": 2}]},
        {"schedule": [{"from_step": -1, "rate": 1}]},
        {"schedule": [{"from_step": 1, "rate": 0}]},
        {"weights": {"a": -1}},
        {"kind": "era"},
        {"extraction": "some"},
        {"unit": "fortnights"},
        {"dayfirst": True},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="time", params=params))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It opened in 1889 and closed on 31 May 1931.", "31 May 1931"),
        ("It was March 5, 2024, a Tuesday.", "March 5, 2024"),
        ("The flight lasts 2 hours 30 minutes", "2 hours 30 minutes"),
        ("We meet at 2:30 pm.", "2:30 pm"),
        ("Either 2023 or 2024.", "Either 2023 or 2024"),
        ("It must be before 1990.", "before 1990"),
        ("It is 2024-03-05T14:30:00Z.", "2024-03-05T14:30:00Z"),
        ("We meet on Monday.", "Monday"),
        ("Sales peaked in the third quarter of 2021.", "third quarter of 2021"),
        ("It was built in the nineteenth century.", "nineteenth century"),
        ("It fell in the 5th century BC.", "5th century BC"),
        ("We meet at half past two in the afternoon.", "half past two in the afternoon"),
        ("We meet at 2 o'clock in the afternoon.", "2 o'clock in the afternoon"),
        ("no time", None),
    ],
)
def test_the_last_time(text: str, expected: str | None) -> None:
    found = last_time(text)
    assert (None if found is None else found.text) == expected


# Agreement with the standard library

DATES = st.dates()
FORMATS = ("%Y-%m-%d", "%Y/%m/%d", "%Y%m%d", "%d %B %Y", "%B %d, %Y", "%d %b %Y", "%A, %d %B %Y", "%Y-%j", "%b %d %Y")


@given(st.dates(min_value=datetime.date(1000, 1, 1)), st.sampled_from(FORMATS))
def test_dates_are_read_as_the_standard_library_writes_them(day: datetime.date, form: str) -> None:
    assert read_moment(day.strftime(form), "date", "refuse") == Point(day.year, day.month, day.day)


@given(st.dates(min_value=datetime.date(1000, 1, 1)))
def test_weeks_and_orders_of_days(day: datetime.date) -> None:
    year, week, weekday = day.isocalendar()
    point = Point(day.year, day.month, day.day)
    assert read_moment(f"{year:04}-W{week:02}-{weekday}", "date", "refuse") == point
    assert read_moment(day.strftime("%d/%m/%Y"), "date", "day_first") == point
    assert read_moment(day.strftime("%m/%d/%Y"), "date", "month_first") == point


@given(st.integers(1, 9999), st.integers(0, 13), st.integers(0, 32))
def test_only_days_of_the_calendar_are_read(year: int, month: int, day: int) -> None:
    text = f"{year:04}-{month:02}-{day:02}"
    try:
        expected: Point | None = Point(year, month, datetime.date(year, month, day).day)
    except ValueError:
        expected = None
    if expected is not None:
        assert read_moment(text, "date", "refuse") == expected
    else:
        with pytest.raises(Unreadable, match="malformed"):
            read_moment(text, "date", "refuse")


ZONES = st.integers(-14 * 60, 14 * 60).map(lambda minutes: datetime.timezone(datetime.timedelta(minutes=minutes)))
INSTANTS = st.datetimes(
    min_value=datetime.datetime(1000, 1, 3), max_value=datetime.datetime(9999, 12, 29), timezones=ZONES
)


@given(INSTANTS, INSTANTS, ZONES)
def test_instants_are_compared_as_the_standard_library_compares_them(
    one: datetime.datetime, other: datetime.datetime, zone: datetime.timezone
) -> None:
    moved = one.astimezone(zone)
    assert direct(moved.isoformat(), one.isoformat()).score == 1.0
    if one.second:  # then both are written to the second
        outcome = direct(other.isoformat(), one.isoformat(), unit="seconds", partial="linear", rate=1e-12)
        apart = abs((one - other).total_seconds())
        if outcome.reason != "imprecise":
            assert outcome.evidence["distance"] == pytest.approx(apart, rel=1e-9, abs=1e-6)
            assert (outcome.score == 1.0) is (one == other)


@given(DATES, DATES)
def test_distances_in_days_are_those_of_the_standard_library(one: datetime.date, other: datetime.date) -> None:
    first, second = (Point(day.year, day.month, day.day) for day in (one, other))
    assert distance(first, second, "days") == abs((one - other).days)
    months = abs((one.year - other.year) * 12 + one.month - other.month)
    assert distance(first.to("month"), second.to("month"), "months") == months


@given(st.timedeltas(min_value=datetime.timedelta(0), max_value=datetime.timedelta(days=10**5)))
def test_durations_are_those_of_the_standard_library(length: datetime.timedelta) -> None:
    expected = Duration(nanos=Fraction((length // datetime.timedelta(microseconds=1)) * 1000))
    days, rest = length.days, length.seconds
    hours, minutes, seconds, micros = rest // 3600, rest // 60 % 60, rest % 60, length.microseconds
    for text in (
        f"{days} days, {hours} hours, {minutes} minutes and {seconds}.{micros:06} seconds",
        f"P{days}DT{hours}H{minutes}M{seconds}.{micros:06}S",
        f"{days}d {hours}h {minutes}min {seconds}s {micros}us",
    ):
        assert read_moment(text, "duration", "refuse") == expected


@given(st.permutations("ABCDE"))
def test_shares_of_an_order_are_what_counting_says(order: list[str]) -> None:
    pairs = list(itertools.combinations(range(5), 2))
    straight = sum("ABCDE".index(order[a]) < "ABCDE".index(order[b]) for a, b in pairs)
    assert direct(", ".join(order), list("ABCDE"), ordering="pairs").score == pytest.approx(straight / len(pairs))


# Bounds

PIECES = (
    "March", " ", "5", "th", "2024", "2024-03-05", "T14:30", "Z", "+01:00", " pm", " of ", " BC", "30 Feb ",
    "1:30", "hours",
    " min ", "PT2H", "P1Y", "->", ", ", " or ", "before ", "half an ", "and ", "a ", "noon", "A", "B",
    "date: ", "\n", "年",
    "3月", "May ", "Monday, ", "0", "-", "/", ".", '{"date": "2021"}', "['A']", *HOSTILE,
)  # fmt: skip
TEXTS = st.text() | st.lists(st.sampled_from(PIECES), max_size=15).map("".join)
PARAMS = (
    TimeParams(extraction="whole"),
    TimeParams(extraction="lax", day_order="day_first", partial="exponential", coarser="accept", two_part="hours"),
    TimeParams(
        extraction="whole",
        partial="linear",
        unit="seconds",
        finer="refuse",
        tolerance=3,
        ordering="kendall",
        zone="required",
        plain="months",
    ),
)
REFERENCES = (
    "2024-03-05", "2024-03", "2024-03-05T14:30:00Z", "14:30", "2 h 30 min", "3 months", ["A", "B", "C"], 2024, "March",
    {"date": "2021-03", "name": "the flood", "order": ["A", "B"]}, "14:30 UTC",
)  # fmt: skip
PREPARED = [(params, prepare(parse_reference(SPEC, ref), params)) for params in PARAMS for ref in REFERENCES]
SAME = [TimeEquivalence(params) for params in PARAMS]


@settings(max_examples=100, deadline=None)
@given(TEXTS)
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    for params, prepared in PREPARED:
        outcome = time(text, prepared, params)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        assert (outcome.score == 1.0) is bool(outcome.passed)
        assert _is_json(outcome.evidence)
        assert _is_json(outcome.extracted)


@settings(max_examples=100, deadline=None)
@given(TEXTS, TEXTS)
def test_sameness_is_reflexive_and_symmetric_and_keys_agree_with_it(one: str, other: str) -> None:
    for same in SAME:
        same.extract(one)
        assert same.same(one, one) is True
        assert same.same(one, other) == same.same(other, one)
        key = same.key(one)
        if key is not None and key == same.key(other):
            assert same.same(one, other) is True


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("5 March 2024", "2024-03-05", True),
        ("2024-03", "March 2024", True),
        ("2024-03", "2024-03-05", False),
        ("2024-03-05T14:30Z", "2024-03-05T15:30+01:00", True),
        ("2 pm", "noon", False),
        ("2 pm", "14:00:00", True),
        ("2024-03-05 2 pm", "2024-03-05T14:00", True),
        ("Mon", "Monday", True),
        ("44 BC", "B.C. 44", True),
        ("44 BC", "AD 44", False),
        ("third quarter of 2021", "Q3 2021", True),
        ("90 minutes", "1.5 hours", True),
        ("90 minutes", "2024", False),
        ("Ada", "ada", True),
        ("Ada", "Eve", False),
    ],
)
def test_sameness(one: str, other: str, same: bool) -> None:
    equivalence = TimeEquivalence(TimeParams())
    assert equivalence.same(one, other) is same
    if same:
        assert equivalence.key(one) == equivalence.key(other) is not None


def test_what_hedges_has_no_answer() -> None:
    equivalence = TimeEquivalence(TimeParams())
    assert equivalence.extract(r"\boxed{2024}") == "2024"
    assert equivalence.extract(r"\boxed{2023 or 2024}") is None
    assert equivalence.extract(r"\boxed{2023} or \boxed{2024}") is None
    assert equivalence.extract(r"\boxed{2024-02-30}") is None
    assert equivalence.extract("2024") == "2024"
    assert equivalence.extract("It began in 2023 or 2024.") is None


GROWING = [
    (params, prepare(parse_reference(SPEC, reference), params))
    for params, reference in (
        (TimeParams(extraction="lax"), "2024-03-05"),
        (TimeParams(extraction="whole"), "2024-03-05"),
        (TimeParams(extraction="whole"), "2 h"),
        (TimeParams(extraction="whole"), ["A", "B"]),
    )
]


@pytest.mark.parametrize(
    "piece", [*HOSTILE, "5 May ", "2024 ", "12:30 ", "1 h ", "Mon, ", "P1", "A, ", "5 of ", "and a "]
)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    for params, prepared in GROWING:
        sizes = []
        for size in (100, 400, 1600):
            text = (piece * (size // len(piece) + 1))[:size]
            reading._kept.cache_clear()
            sizes.append(steps(lambda text=text, made=params, read=prepared: time(text, read, made)))
        assert sizes[1] <= 5 * sizes[0] + 3000
        assert sizes[2] <= 5 * sizes[1] + 3000


@pytest.mark.parametrize("reference", ["spring 2020", "late 2020", "c. 2020", "circa 2020", "mid-March 2024"])
def test_a_rough_year_or_month_is_no_reference(reference: str) -> None:
    with pytest.raises(InvalidReference, match="not a certain year or month"):
        prepare(reference, TimeParams())


# --- parts ------------------------------------------------------------------------------------------------------------


def test_parts_have_distances_and_positions_in_one_unit() -> None:
    reference = {"first": "2019-03", "second": "2020-01", "between": "10 months", "order": ["first", "second"]}
    answer = "first: 2019-05, second: 2020-01. between: 8, order: second < first"
    evidence = direct(answer, reference, unit="months", plain="months", partial="exponential").evidence
    assert evidence["distances"] == {"first": 2.0, "second": 0.0, "between": 2.0}
    assert evidence["positions"] == {"first": 2019 * 12 + 4, "second": 2020 * 12, "between": 8.0}


def test_what_has_no_place_in_time_has_no_position() -> None:
    reference = {"date": "2019-03", "month": "June", "clock": "14:30", "event": "the flood", "missing": "2020"}
    answer = "date: 2019-13\nmonth: July\nclock: 14:30\nevent: the flood"
    evidence = direct(answer, reference).evidence
    assert evidence["positions"] == {}
    assert evidence["distances"] == {"month": 1.0, "clock": 0.0}


def test_positions_of_days_count_from_the_year_0() -> None:
    evidence = direct("a: 0001-01-01; b: 48 hours", {"a": "0001-01-01", "b": "2 days"}, unit="days").evidence
    assert evidence["positions"] == {"a": 366.0, "b": 2.0}  # the year 0 is a leap year


def test_a_separator_that_no_name_follows_belongs_to_the_part() -> None:
    reference = {"date": "2024-03-05", "event": "flood, the second"}
    assert direct("event: flood, the second, date: March 5, 2024", reference).score == 1.0
