"""`game`: replays moves by the rules of a game."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any, cast

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import VerifierSpec, spec_of, verifier
from rewarden_verifiers.games.chess_game import warm
from rewarden_verifiers.games.params import GameParams
from rewarden_verifiers.games.reference import GAMES, Asked
from rewarden_verifiers.games.replay import Task
from rewarden_verifiers.games.written import moves_in
from rewarden_verifiers.outcome import no_answer, right, scored, wrong
from rewarden_verifiers.puzzles import answers
from rewarden_verifiers.schema import parse_reference

_ASKED = frozenset(field.name for field in fields(Asked))


@dataclass(frozen=True, slots=True)
class Prepared:
    """The game of a reference, and the task in it."""

    game: str
    task: Task


def prepare(reference: dict[str, Any], params: GameParams) -> Prepared:
    """The game and the task. Raises InvalidReference or MissingDependency."""
    name = reference.get("game", params.game)
    if not isinstance(name, str) or name not in GAMES:
        known = ", ".join(GAMES)
        raise InvalidReference(f"reference.game must be one of {known}, not {name!r}", path="reference.game")
    spec = cast(VerifierSpec, spec_of(game))
    position = {key: value for key, value in reference.items() if key not in _ASKED and key != "game"}
    made = parse_reference(replace(spec, reference_type=GAMES[name]), position)
    asked = parse_reference(
        replace(spec, reference_type=Asked), {key: value for key, value in reference.items() if key in _ASKED}
    )
    try:
        return Prepared(name, asked.task(made.board(), name, params.written))
    except ValueError as error:
        raise InvalidReference(f"reference: {error}", path="reference") from None


@verifier(
    version="1",
    graded=True,
    prepare=prepare,
    warm=warm,
    libraries=("chess",),
    optional={"chess": "games of chess"},
)
def game(response: str, prepared: Prepared, params: GameParams) -> Outcome:
    """Replays the moves of an answer by the rules of a game, and scores the line, the move or the outcome.

    The reference is an object. Its field `game` names the game; without it, the parameter `game` does.

    | game | position | a move |
    |---|---|---|
    | `chess` | `fen` | `Nf3`, `exd5`, `O-O`, `e8=Q`, or `g1f3` |
    | `tic_tac_toe` | `squares`, nine of `X`, `O` and `.` | `5`, `b2` or `(2, 2)` (row, column) |
    | `connect_four` | `columns`, `rows` | the number of a column |
    | `nim` | `heaps`, `last` (`wins` or `loses`) | `2:3` or `(2, 3)`: from heap 2, three objects |
    | `sokoban` | `grid` of `#@$.*+` | `U`, `D`, `L`, `R`, words, or arrows |

    `moves` are the moves of both sides so far; then it is the policy's turn. The reference asks for one of three:

    - `line`: the moves of both sides from the position. The response must find the policy's moves; the other side plays
      as in the line. If the line wins, another move that wins at once is right as well.
    - `best`: a list of moves, one of which must be found, or `optimal` (`tic_tac_toe`, `nim`), which computes them.
    - `outcome`: a `win` (the default), or at least a `draw`. The other side makes the moves of `replies`, in their
      order, or the best ones (`optimal`). Without replies the first move must decide; in `sokoban` there is no other
      side. `max_moves` limits the policy's moves.

    The policy never chooses the other side's moves, so it cannot earn credit by inventing a line against a weak
    opponent. The answer is in a tag or a box, and consists of moves separated by blanks or commas, or in a list, also
    with numbers before them; anything else in it is `malformed`. A move that the rules forbid is `illegal`, as is one
    after which the recorded reply is not legal.

    The other reasons are `wrong` (a legal move that is not the right one), `unfinished`, `loss`, `draw`,
    `too_many_moves`, `hedged` (several answers), `no_answer` and `too_expensive`.

    The extra `chess` installs the library `chess`, whose licence is the GPL (3 or later). It is therefore not part of
    `all`.
    """
    found = answers.find(response, params.rules)
    if isinstance(found, Outcome):
        return found
    evidence: dict[str, Any] = {"rule": found.rule}
    texts = moves_in(found.text, prepared.game)
    if not texts:
        return no_answer(evidence=evidence)
    finding = prepared.task.check(texts)
    details: dict[str, Any] = {
        "extracted": found.text[: answers.EXCERPT],
        "evidence": {**evidence, **finding.evidence},
        "feedback": finding.why,
    }
    if finding.reason is None:
        return right(**details)
    share = params.draw if finding.reason == "draw" else finding.share if params.credit == "line" else 0.0
    if share > 0.0:
        return scored(
            share if finding.reason == "draw" else min(share, 0.999), passed=False, reason=finding.reason, **details
        )
    return wrong(finding.reason, **details)
