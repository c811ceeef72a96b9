"""Turns comparisons into scores: win rates, Bradley-Terry strengths, Copeland scores, ranks; each from 0 to 1."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

Score = Literal["win_rate", "bradley_terry", "copeland", "rank"]

_ROUNDS = 1000
_CLOSE = 1e-10


@dataclass(frozen=True, slots=True)
class Match:
    """A comparison of two players, by number. score: of the first, 1 for a win, 0.5 for a tie, 0 for a loss, or
    between. second: None: nobody; what the first scores then counts for it alone. weight: how often it counts."""

    first: int
    second: int | None
    score: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """A player's score from 0 to 1. error: how far it may well be off (one standard deviation); None where nothing is
    known of that. matches: the weight of all its comparisons."""

    score: float
    error: float | None
    matches: float


def standings(
    players: int, matches: Sequence[Match], score: Score, copies: Sequence[int] | None = None, last: int = 0
) -> list[Standing]:
    """The standings of all players, by one of the four ways. A player without a match is at 0.5. copies: how many each
    stands for. last: how many others there are that rank behind all of them."""
    if score == "bradley_terry":
        return bradley_terry(players, matches)
    if score == "copeland":
        return copeland(players, matches, copies)
    rates = win_rates(players, matches)
    return ranks(rates, copies, last) if score == "rank" else rates


def win_rates(players: int, matches: Sequence[Match]) -> list[Standing]:
    """Wins and half the ties, by matches. error: the standard deviation of the rate given those, where all rates were
    as likely before: of a beta distribution, so that three wins of three are not taken for certainty."""
    won, played = _totals(players, matches)
    found: list[Standing] = []
    for wins, total in zip(won, played, strict=True):
        a, b = wins + 1, total - wins + 1
        error = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
        found.append(Standing(wins / total if total else 0.5, error if total else None, total))
    return found


def ranks(rates: Sequence[Standing], copies: Sequence[int] | None = None, last: int = 0) -> list[Standing]:
    """1 for the best, 0 for the last, evenly between; equal rates share the middle of their ranks. copies, last: see
    `standings`."""
    each = list(zip(rates, copies or [1] * len(rates), strict=True))
    others = last + sum(count for _, count in each) - 1
    found: list[Standing] = []
    for one in rates:
        below = last + sum(count for other, count in each if other.score < one.score - _CLOSE)
        level = sum(count for other, count in each if abs(other.score - one.score) <= _CLOSE) - 1
        found.append(Standing((below + level / 2) / others if others else 0.5, None, one.matches))
    return found


def copeland(players: int, matches: Sequence[Match], copies: Sequence[int] | None = None) -> list[Standing]:
    """The share of opponents that one beats in most of the matches against them; level ones count a half.

    copies: how many each player stands for, where it is several that are alike: so many opponents each is to others,
    and a match against itself is one of each copy with each other. Weights are then of all copies together."""
    several = copies or [1] * players
    lead: dict[tuple[int, int], float] = defaultdict(float)
    for match in matches:
        ahead = match.weight * (match.score - 0.5)
        if match.second is not None and match.second != match.first:
            lead[match.first, match.second] += ahead
            lead[match.second, match.first] -= ahead
    _, played = _totals(players, matches)
    beaten, met = [0.0] * players, [0.0] * players
    for (player, other), ahead in lead.items():
        beaten[player] += several[other] * (0.5 if abs(ahead) <= _CLOSE else float(ahead > 0))
        met[player] += several[other]
    for match in matches:
        weight = match.weight / several[match.first]
        if match.second is None:
            beaten[match.first] += weight * float(match.score > 0.5)
            met[match.first] += weight
        elif match.second == match.first:
            beaten[match.first] += weight
            met[match.first] += 2 * weight
    return [
        Standing(won / all_met if all_met else 0.5, None, total)
        for won, all_met, total in zip(beaten, met, played, strict=True)
    ]


def bradley_terry(players: int, matches: Sequence[Match], prior: float = 1.0) -> list[Standing]:
    """The chance to beat an average one of these players, p / (p + 1), where p is the Bradley-Terry strength and their
    geometric mean is 1.

    Strengths by the minorisation-maximisation of Hunter (2004, Annals of Statistics 32, 384-406), with a tie as half a
    win for each. Everybody has also won and lost `prior / 2` matches against a player of strength 1: so who won all has
    a finite strength, and players whom no path of matches joins are measured by the same. error: from the inverse of
    the information at the strengths found, by the delta method.
    """
    if not players:
        return []
    _, played = _totals(players, matches)
    wins = [prior / 2] * players
    aside = [prior / 2] * players
    against: list[dict[int, float]] = [defaultdict(float) for _ in range(players)]
    alone = [prior] * players
    for match in matches:
        if match.second == match.first:
            continue  # level with itself: says nothing of strength
        wins[match.first] += match.weight * match.score
        if match.second is None:
            alone[match.first] += match.weight
            aside[match.first] += match.weight * match.score
        else:
            wins[match.second] += match.weight * (1 - match.score)
            against[match.first][match.second] += match.weight
            against[match.second][match.first] += match.weight
    strengths = [1.0] * players
    for _ in range(_ROUNDS):
        moved = 0.0
        for player in range(players):
            own = strengths[player]
            shared = alone[player] / (own + 1)
            shared += sum(weight / (own + strengths[other]) for other, weight in against[player].items())
            strengths[player] = wins[player] / shared
            moved = max(moved, abs(math.log(strengths[player] / own)))
        # The strengths of all together hang on the few matches against the average player alone: rounds would need
        # very many steps there, and Newton's needs few.
        surplus = sum(aside) - sum(met * own / (own + 1) for met, own in zip(alone, strengths, strict=True))
        slope = sum(met * own / (own + 1) ** 2 for met, own in zip(alone, strengths, strict=True))
        step = max(-1.0, min(1.0, surplus / slope))
        strengths = [own * math.exp(step) for own in strengths]
        if max(moved, abs(step)) < _CLOSE:
            break
    errors = _errors(strengths, against, alone)
    found: list[Standing] = []
    middle = math.exp(math.fsum(map(math.log, strengths)) / players)
    for player, strength in enumerate(strengths):
        chance = strength / (strength + middle)
        error = chance * (1 - chance) * errors[player] if played[player] else None
        found.append(Standing(chance, error, played[player]))
    return found


def _errors(strengths: Sequence[float], against: Sequence[dict[int, float]], alone: Sequence[float]) -> list[float]:
    """The standard deviations of the strengths' logarithms, each measured from the mean of all."""
    size = len(strengths)
    information = [[0.0] * size for _ in range(size)]
    for player, own in enumerate(strengths):
        information[player][player] += alone[player] * own / (own + 1) ** 2
        for other, weight in against[player].items():
            part = weight * own * strengths[other] / (own + strengths[other]) ** 2
            information[player][player] += part
            information[player][other] -= part
    covariance = _inverse(information)
    means = [math.fsum(row) / size for row in covariance]
    whole = math.fsum(means) / size
    return [math.sqrt(max(0.0, covariance[place][place] - 2 * means[place] + whole)) for place in range(size)]


def _inverse(matrix: list[list[float]]) -> list[list[float]]:
    """By Gauss and Jordan, without pivots: the matrix is diagonally dominant."""
    size = len(matrix)
    rows = [[*row, *(float(place == other) for other in range(size))] for place, row in enumerate(matrix)]
    for place in range(size):
        pivot = rows[place][place]
        rows[place] = own = [value / pivot for value in rows[place]]
        for other, row in enumerate(rows):
            factor = row[place]
            if other != place and factor:
                rows[other] = [value - factor * up for value, up in zip(row, own, strict=True)]
    return [row[size:] for row in rows]


def _totals(players: int, matches: Sequence[Match]) -> tuple[list[float], list[float]]:
    won, played = [0.0] * players, [0.0] * players
    for match in matches:
        won[match.first] += match.weight * match.score
        played[match.first] += match.weight
        if match.second is not None:
            won[match.second] += match.weight * (1 - match.score)
            played[match.second] += match.weight
    return won, played
