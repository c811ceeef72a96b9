"""Attacks on `time`, each with its honest twin."""

from __future__ import annotations

from typing import Any

from tests.attacks.pairs import Pair, boxed

_PARTS = {"date": "2021-03", "event": "the eruption"}

# title, reference, attack, twin, parameters; both stand in an answer tag
_TAGGED: list[tuple[str, Any, str, str, dict[str, Any]]] = [
    # Several moments
    ("am for pm", "14:00", "2 am", "2 pm", {}),
    ("the afternoon for the morning", "2:30", "2:30 in the afternoon", "half past two", {}),
    ("half two", "2:30", "half two", "half past 2", {}),
    ("two weekdays", "Monday", "Monday or Tuesday", "Mon", {}),
    ("all weekdays but one", "Monday", "every day but Monday", "on a Monday", {}),
    ("two quarters", "Q3 2021", "Q2 or Q3 2021", "the third quarter of 2021", {}),
    ("a year for a quarter", "Q3 2021", "2021", "2021-Q3", {}),
    ("two eras", "44 BC", "44 BC/AD", "44 BCE", {}),
    ("an era left open", "44 BC", "44", "BC 44", {}),
    ("two centuries", "19th century", "19th or 20th century", "the nineteenth century", {}),
    ("two years", 1789, "1788 or 1789", "in 1789", {}),
    ("two years without a word between them", 1789, "1788, 1789", "1789,", {}),
    ("two months of a year", "2024-03", "March or April 2024", "March 2024", {}),
    ("two spellings of two dates", "2024-03-05", "5 March 2024 (2024-03-06)", "5 March 2024 (2024-03-05)", {}),
    ("a range of years", 1789, "1780-1795", "1789", {}),
    ("a range with a long dash", 1789, "1780\u20131795", "circa 1789", {}),
    ("a range in words", 1789, "between 1780 and 1795", "in the year 1789", {}),
    ("a bound", 1790, "before 1790", "1790", {}),
    ("an open end", 1789, "since 1789", "1789 AD", {}),
    ("a negation", 1789, "not 1789", "It was 1789.", {}),
    ("every year", 1789, " ".join(str(year) for year in range(1700, 1800)), "1789", {}),
    ("two durations", "3 weeks", "2 or 3 weeks", "21 days", {}),
    ("a range of durations", "3 weeks", "2 to 3 weeks", "3 weeks", {}),
    ("a duration and more", "3 weeks", "more than 3 weeks", "about 3 weeks", {}),
    ("two times", "14:30", "2:30 am or 2:30 pm", "2:30 pm", {}),
    ("a hedge with zero-width characters in it", 1789, "1788 o\u200br 1789", "17\u200b89", {}),
    ("a hedge behind a line separator", 1789, "1788\u2028or 1789", "\u20281789", {}),
    # Less than what is asked
    ("a year for a date", "2024-03-05", "2024", "2024-03-05", {}),
    ("a month for a date", "2024-03-05", "March 2024", "March 5, 2024", {}),
    ("a month without its year", "2024-03", "March", "2024-03", {}),
    ("a date for an instant", "2024-03-05T14:30", "2024-03-05", "2024-03-05 2:30 pm", {}),
    ("a decade", 1990, "the 1990s", "1990", {}),
    ("a century", 1900, "the 19th century", "1900", {}),
    ("a date that can be read in two ways", "2024-03-05", "05/03/2024", "2024/03/05", {}),
    ("a year of two digits", "2024-12-25", "25/12/24", "25/12/2024", {}),
    ("a clock that can be read in two ways", "90 minutes", "1:30", "1:30:00", {}),
    ("a time without its half of the day", "14:30", "2:30", "2:30 p.m.", {}),
    ("a number for a duration", "150 minutes", "150", "150 min", {}),
    (
        "the zone left out where it is required",
        "2024-03-05T14:30Z",
        "2024-03-05T14:30",
        "2024-03-05T15:30+01:00",
        {"zone": "required"},
    ),
    # What lenient parsers take for a date
    ("30 February, which rolls over", "2024-03-01", "2024-02-30", "2024-03-01", {}),
    ("29 February of no leap year", "2023-03-01", "29 Feb 2023", "1 March 2023", {}),
    ("month 13", "2025-01", "2024-13", "2025-01", {}),
    ("hour 25", "01:00", "25:00", "01:00", {}),
    ("minute 75", "2:15:00", "1:75:00", "02:15:00", {}),
    ("before the calendar", 44, "44 BC", "44 AD", {}),
    ("a year below zero", 44, "-0044", "AD 44", {}),
    ("a weekday that contradicts", "2024-03-05", "Monday, 5 March 2024", "Tuesday, 5 March 2024", {}),
    ("a number that is no year", 2024, "2,024.5", "2024", {}),
    ("words that fuzzy parsers fill in", "2024-05", "may", "May 2024", {}),
    ("a huge year", 9999, "9" * 5_000, "9999", {}),
    ("a huge duration", "1 day", "1e9999 days", "1 day", {}),
    ("a huge text", 1789, "1789 " * 2_000, "1789", {}),
    ("a number with an enormous exponent", "1 day", "1e999999999 days", "24 h", {}),
    ("a month for its days", "1 month", "30 days", "1 month", {}),
    ("the same digits in another zone", "2024-03-05T14:30+01:00", "2024-03-05T14:30Z", "2024-03-05T13:30Z", {}),
    # Orders and parts
    ("every entry more than once", ["A", "B", "C"], "A, B, C, A, B, C", "A, B, C", {}),
    ("two orders", ["A", "B", "C"], "A, B, C or A, C, B", "A, B and C", {}),
    ("an entry left out", ["A", "B", "C"], "A, B", "A > B > C", {}),
    ("a part of an order for a share", ["A", "B", "C"], "A", "A, B, C", {"ordering": "pairs"}),
    ("a reversed order for a share", ["A", "B", "C"], "C, B, A", "A, B, C", {"ordering": "pairs"}),
    ("a random order for its surplus", ["A", "B", "C", "D"], "C, D, A, B", "A, B, C, D", {"ordering": "kendall"}),
    (
        "one name twice",
        _PARTS,
        "date: 2021-03\ndate: 2021-04\nevent: the eruption",
        "date: 2021-03\nevent: the eruption",
        {},
    ),
    (
        "one name twice in JSON",
        _PARTS,
        '{"date": "2021-03", "date": "2021-04", "event": "the eruption"}',
        '{"date": "2021-03", "event": "the eruption"}',
        {},
    ),
    (
        "hedges in all parts",
        _PARTS,
        "date: 2021-03 or 2021-04; event: the eruption or the flood",
        "date: March 2021; event: The eruption",
        {},
    ),
    # Shares of what is not an answer
    (
        "a hedge where near dates earn",
        "2024-03-05",
        "2024-03-04 or 2024-03-06",
        "2024-03-05",
        {"partial": "exponential"},
    ),
    ("a year where near dates earn", "2024-03-05", "2024", "2024-03-05", {"partial": "exponential", "rate": 1e-6}),
    ("no such day where near dates earn", "2024-02-28", "2024-02-30", "2024-02-28", {"partial": "exponential"}),
    ("a bound where near dates earn", "2024-03-05", "before 2024-03-06", "2024-03-05", {"partial": "linear"}),
    ("another kind where near times earn", "14:30", "2024-03-05", "14:30", {"partial": "exponential"}),
]

PAIRS = [
    Pair(
        title=title,
        use="time",
        reference=reference,
        attack=f"So <answer>{attack}</answer>",
        twin=f"So <answer>{twin}</answer>",
        params=params,
    )
    for title, reference, attack, twin, params in _TAGGED
] + [
    Pair(
        title="two boxes",
        use="time",
        reference=1789,
        attack=r"\boxed{1788} or \boxed{1789}",
        twin=r"\boxed{1788} Wait, no: \boxed{1789}",
    ),
    Pair(
        title="a thought that never closes",
        use="time",
        reference=1789,
        attack="<think><answer>1789</answer>",
        twin=f"<think>1789</think>{boxed('1789')}",
    ),
    Pair(title="nothing", use="time", reference="0 days", attack="", twin=boxed("0 days")),
    Pair(
        title="the question echoed", use="time", reference=1789, attack="Was it 1788, 1789 or 1790?", twin=boxed("1789")
    ),
    Pair(
        title="two last dates",
        use="time",
        reference=1789,
        attack="It was either 1788 or 1789.",
        twin="Some say 1788. It was in 1789.",
        params={"extraction": "lax"},
    ),
]
