"""Turns comparisons into scores from 0 to 1: win rates, Bradley-Terry strengths, Copeland scores, ranks."""

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
    """A comparison of two players, by number. score: the first player's: 1 for a win, 0.5 for a tie, 0 for a loss, or a
    value in between. second: None: no opponent; the score then only counts for the first player. weight: how often it
    counts.
    """

    first: int
    second: int | None
    score: float
    weight: float = 1.0


@dataclass(frozen=True, slots=True)
class Standing:
    """A player's score from 0 to 1. error: its estimated error (one standard deviation); None if unknown. matches: the
    total weight of its comparisons.
    """

    score: float
    error: float | None
    matches: float


def standings(
    players: int, matches: Sequence[Match], score: Score, copies: Sequence[int] | None = None, last: int = 0
) -> list[Standing]:
    """The standings of all players, by one of the four methods. A player without a match gets 0.5. copies: the number
    of members each player stands for. last: the number of further members that rank behind all players.
    """
    if score == "bradley_terry":
        return bradley_terry(players, matches)
    if score == "copeland":
        return copeland(players, matches, copies)
    rates = win_rates(players, matches)
    return ranks(rates, copies, last) if score == "rank" else rates


def win_rates(players: int, matches: Sequence[Match]) -> list[Standing]:
    """Wins plus half the ties, divided by matches. error: the standard deviation of the rate under a uniform prior (a
    beta distribution), so that three wins out of three are not taken for certainty.
    """
    won, played = _totals(players, matches)
    found: list[Standing] = []
    for wins, total in zip(won, played, strict=True):
        a, b = wins + 1, total - wins + 1
        error = math.sqrt(a * b / ((a + b) ** 2 * (a + b + 1)))
        found.append(Standing(wins / total if total else 0.5, error if total else None, total))
    return found


def ranks(rates: Sequence[Standing], copies: Sequence[int] | None = None, last: int = 0) -> list[Standing]:
    """Evenly spaced ranks from 1 for the best to 0 for the last; equal rates share the mean of their ranks. copies,
    last: see `standings`.
    """
    each = list(zip(rates, copies or [1] * len(rates), strict=True))
    others = last + sum(count for _, count in each) - 1
    found: list[Standing] = []
    for one in rates:
        below = last + sum(count for other, count in each if other.score < one.score - _CLOSE)
        level = sum(count for other, count in each if abs(other.score - one.score) <= _CLOSE) - 1
        found.append(Standing((below + level / 2) / others if others else 0.5, None, one.matches))
    return found


def copeland(players: int, matches: Sequence[Match], copies: Sequence[int] | None = None) -> list[Standing]:
    """The share of opponents that a player beats in most of their matches; draws count a half.

    copies: the number of equal members each player stands for. A player counts as that many opponents, and a match
    against itself stands for one match between every two of its copies. Weights are totals over all copies.
    """
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
    """The probability of beating an average player, p / (p + 1), where p is the Bradley-Terry strength; the geometric
    mean of all strengths is 1.

    Strengths follow the minorisation-maximisation algorithm of Hunter (2004, Annals of Statistics 32, 384-406), with a
    tie as half a win for each. As a prior, each player has also won and lost `prior / 2` matches against a player of
    strength 1. This keeps the strength of an undefeated player finite, and puts players that no path of matches
    connects on the same scale. error: from the inverse of the information matrix at the estimated strengths, by the
    delta method.
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
            continue  # a draw against itself carries no information about strength
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
        # Only the few matches against the average player fix the common level of all strengths. These iterations would
        # need very many steps to find it; Newton's method needs few.
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
    """The standard deviations of the log strengths, each relative to the mean of all."""
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
    """Inverts a matrix by Gauss-Jordan elimination, without pivoting: it is diagonally dominant."""
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
