"""From comparisons to scores, by hand-computed examples; and what is drawn for whom."""

from __future__ import annotations

import itertools
import math
from collections import Counter

import pytest

from rewarden_verifiers.judges.ranking import Match, Score, bradley_terry, copeland, ranks, standings, win_rates
from rewarden_verifiers.judges.schedule import drawn, pairs, rounds

TEXTS = [f"text number {number}" for number in range(10)]


def test_win_rates_count_ties_as_halves() -> None:
    found = win_rates(3, [Match(0, 1, 1.0), Match(0, 2, 0.5), Match(1, 2, 0.0)])
    assert [one.score for one in found] == [0.75, 0.0, 0.75]
    # Beta(2.5, 1.5): variance 2.5 * 1.5 / (16 * 5).
    assert found[0].error == pytest.approx(math.sqrt(3.75 / 80))


def test_three_wins_of_three_are_no_certainty() -> None:
    (sure,) = {one.error for one in win_rates(2, [Match(0, 1, 1.0)] * 3)}
    assert sure == pytest.approx(math.sqrt(4 / (25 * 6)))


def test_matches_against_nobody_count_for_one_side() -> None:
    found = win_rates(2, [Match(0, 1, 1.0), Match(1, None, 0.0, weight=2.0), Match(0, None, 1.0)])
    assert [(one.score, one.matches) for one in found] == [(1.0, 2.0), (0.0, 3.0)]


def test_weights_are_repetitions() -> None:
    once = win_rates(2, [Match(0, 1, 1.0), Match(0, 1, 1.0), Match(0, 1, 0.0)])
    weighted = win_rates(2, [Match(0, 1, 1.0, 2.0), Match(0, 1, 0.0)])
    assert once == weighted


def test_ranks_lie_evenly_and_equal_ones_share() -> None:
    rates = win_rates(4, [Match(0, 1, 1.0), Match(0, 2, 1.0), Match(0, 3, 1.0), Match(1, 3, 1.0), Match(2, 3, 1.0)])
    assert [one.score for one in ranks(rates)] == pytest.approx([1.0, 0.5, 0.5, 0.0])


def test_copeland_counts_opponents_and_not_margins() -> None:
    # 0 beats 1 once and narrowly loses to nobody; against 2 it is level.
    matches = [Match(0, 1, 0.6), Match(0, 2, 1.0), Match(0, 2, 0.0), Match(1, 2, 1.0), Match(1, 2, 1.0)]
    assert [one.score for one in copeland(3, matches)] == [0.75, 0.5, 0.25]


def test_bradley_terry_of_two_by_hand() -> None:
    """With 3 wins of 4 and the prior's half match each, p solves the two equations of Hunter's fixed point."""
    found = bradley_terry(2, [Match(0, 1, 1.0)] * 3 + [Match(0, 1, 0.0)])
    first, second = (one.score / (1 - one.score) for one in found)
    assert first == pytest.approx(3.5 / (4 / (first + second) + 1 / (first + 1)))
    assert second == pytest.approx(1.5 / (4 / (first + second) + 1 / (second + 1)))
    assert first * second == pytest.approx(1.0), "two that are all there is lie evenly about the average player"
    assert found[0].error == pytest.approx(found[1].error)


def test_bradley_terry_with_much_data_finds_the_true_strengths() -> None:
    strengths = [4.0, 1.0, 0.25]
    matches = [
        Match(a, b, strengths[a] / (strengths[a] + strengths[b]), weight=10_000.0)
        for a, b in itertools.combinations(range(3), 2)
    ]
    scores = [one.score for one in bradley_terry(3, matches)]
    assert scores == pytest.approx([0.8, 0.5, 0.2], abs=1e-3)


def test_bradley_terry_knows_whom_one_has_beaten() -> None:
    """0 and 3 both won once, but 0 beat the better one."""
    matches = [Match(0, 1, 1.0), Match(1, 2, 1.0), Match(1, 2, 1.0), Match(3, 2, 1.0)]
    scores = [one.score for one in bradley_terry(4, matches)]
    assert scores[0] > scores[3] > scores[2]
    rates = [one.score for one in win_rates(4, matches)]
    assert rates[0] == rates[3]


def test_bradley_terry_errors_shrink_with_data() -> None:
    few, many = (bradley_terry(2, [Match(0, 1, 0.5, weight)])[0].error for weight in (1.0, 100.0))
    assert few is not None
    assert many is not None
    assert many < few < 0.25


@pytest.mark.parametrize("score", ["win_rate", "bradley_terry", "copeland", "rank"])
def test_every_score_lies_between_0_and_1_and_follows_the_wins(score: Score) -> None:
    matches = [Match(a, b, 1.0) for a, b in itertools.combinations(range(5), 2)]
    scores = [one.score for one in standings(5, matches, score)]
    assert scores == sorted(scores, reverse=True)
    assert 0 <= scores[-1] < 0.5 < scores[0] <= 1
    assert [one.score for one in standings(3, [], score)] == [0.5] * 3


def test_a_self_match_says_nothing_of_strength() -> None:
    with_copies = bradley_terry(2, [Match(0, 1, 1.0), Match(0, 0, 0.5, 3.0)])
    assert [one.score for one in with_copies] == [one.score for one in bradley_terry(2, [Match(0, 1, 1.0)])]


def test_what_is_drawn_depends_on_the_texts_and_not_on_their_places() -> None:
    order = [TEXTS[place] for place in drawn(TEXTS)]
    turned = TEXTS[3:] + TEXTS[:3]
    assert [turned[place] for place in drawn(turned)] == order
    assert drawn(TEXTS, 1) != drawn(TEXTS)
    assert [TEXTS[place] for place in drawn(TEXTS)][:9] != [TEXTS[place] for place in drawn(TEXTS[:9])]


def test_all_pairs_stand_about_as_often_first_as_second() -> None:
    found = pairs(range(9), 16)
    assert {frozenset(pair) for pair in found} == {frozenset(pair) for pair in itertools.combinations(range(9), 2)}
    first = Counter(pair[0] for pair in found)
    assert set(first.values()) == {4}


@pytest.mark.parametrize(("size", "opponents", "degree"), [(10, 4, 4), (10, 3, 4), (11, 9, 10), (10, 8, 8), (3, 1, 2)])
def test_a_ring_bounds_the_opponents_of_each(size: int, opponents: int, degree: int) -> None:
    found = pairs(drawn(TEXTS[:size] + ["x"] * (size - 10)), opponents)
    met = Counter(itertools.chain.from_iterable(found))
    assert set(met.values()) == {degree}
    assert len({frozenset(pair) for pair in found}) == len(found) == size * degree // 2


def test_orders_of_one_window_come_in_mirrored_twos() -> None:
    first, second, third = (cut[0] for cut in rounds(TEXTS[:5], 3, 8))
    assert second == first[::-1]
    assert third not in (first, second)


def test_windows_hold_all_and_mix() -> None:
    orders = rounds(TEXTS, 4, 4)
    for cut in orders:
        assert sorted(itertools.chain.from_iterable(cut)) == list(range(10))
        assert {len(window) for window in cut} == {3, 4}
    assert len({frozenset(window) for cut in orders for window in cut}) > 6
