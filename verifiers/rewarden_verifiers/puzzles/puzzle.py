"""`puzzle`: checks that an answer solves a puzzle."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import aclosing
from dataclasses import replace
from typing import Any

from rewarden.errors import SandboxError
from rewarden.types import Fault, Outcome, Sample, Use
from rewarden_sandboxes.job import CaseResult, Report
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.outcome import right, wrong
from rewarden_verifiers.puzzles import integrals
from rewarden_verifiers.puzzles.params import Outcomes, PuzzleParams

_ENDS: Mapping[str, str] = {"wrong": "wrong", "partly_right": "wrong", "illegal": "illegal", "malformed": "malformed"}


# `puzzle` reads the whole response, and `puzzle_rules` the text after the reasoning. If the reasoning is never closed,
# the score comes from the table, which the engine does not know: it would give 0.
@verifier(
    version="2",
    graded=True,
    libraries=("reasoning-gym", "sympy"),
    requires=("puzzles",),
    children=lambda params: [Use(name="puzzle_rules")],
    view="full",
)
async def puzzle(response: str, reference: dict[str, Any], params: PuzzleParams, ctx: Context) -> Outcome:
    """Checks that the answer solves the puzzle by the puzzle's own rules; any solution is right.

    The reference is an object. Its field `task` names the puzzle; without it, the parameter `task` does.

    | task | reference | the answer |
    |---|---|---|
    | `countdown`, `24` | `numbers` or cards, `target`, `use`, `faces` | an expression with `+ - * /` over them |
    | `sudoku` | `puzzle`, `box`, `solution` | a grid of any size that keeps the givens |
    | `futoshiki` | `puzzle`, `constraints`, `solution` | the same |
    | `knights_knaves` | `people`, `statements`, `solution`, `roles` | each person's role, in sentences or JSON |
    | `zebra` | `solution` | the whole table, as JSON or Markdown |
    | `n_queens` | `n`, `board` | a board, or each row's column |
    | `maze` | `grid`, `start`, `goal`, `walls`, `ask` | moves, positions, or the length |
    | `grid` | `solution`, `puzzle` | a grid: any puzzle with one solution |
    | `assignment` | `solution` | `A = 1, B = 7` or JSON |
    | `schedule` | `events` | a JSON list of events |
    | `reasoning_gym` | `dataset` with `entry`, or with `seed`, `index` and `config` | as the item requires |

    - `countdown`: `target` is 24 by default. `use` is `all` (each number exactly as often as it is given) or `some`.
      The cards `A` `J` `Q` `K` count as 1, 11, 12, 13, or with `faces: ten` as 1, 10, 10, 10.
    - `sudoku`: blanks are 0, null, `_` or `.`. `box` gives the rows and columns of boxes that are not square.
    - `knights_knaves`: `statements` as nested lists (`["and", ["knight", "Ann"], ["not", ["knave", "Bob"]]]`, one per
      person) or the `solution`.
    - `zebra`: `{"House 1": {"Name": "Arnold"}}` or `header` and `rows`.
    - `maze`: `ask` for any legal `path`, a `shortest` one, or the `length`.
    - `schedule`: `events` gives each id its `duration` in minutes, and optionally `min_time`, `max_time` and a
      `constraint` (`before 1pm`, `after …`, `at …`, `between … and …`). The answer gives each event's `event_id`,
      `start_time` and `duration`; events must not overlap.

    A `solution` in addition to the rules is the basis of `partial` credit.

    The answer is read from the text after the closed reasoning, even if `view` shows the whole response. Grids are read
    from lines, tables, or lists of lists; a word next to them makes them `malformed`. Several answers are `hedged` if
    one is expected. The verifier never evaluates text of the response; its own parsers read expressions.

    The reasons are `wrong` (valid, but not a solution), `illegal` (other numbers, a changed given, a wall),
    `malformed`, `hedged`, `no_answer`, `partly_right` and `too_expensive`. `outcomes` sets their scores.

    Every generator of `reasoning-gym` (extra `puzzles`) can be used. Most have their own scorer, which receives only
    answers in the required form; only full marks count unless `credit` is `partial`. If a scorer evaluates text or
    accepts non-solutions, one of Rewarden's checkers replaces it. The exceptions are the two data sets of integrals,
    whose scorer runs in the sandbox. If the right answer is an empty text, it is written `""`.

    Some items cannot be judged: those of `propositional_logic` with contradictory premises, from which anything follows
    (about one in five), and those of `codeio`, `game_of_life` and `game_of_life_halting` that are given by their seed
    (store the entry). An answer that is itself an unevaluated `Integral`, as in a few stored entries, is rejected; the
    antiderivative is accepted.
    """
    table = params.outcomes
    given = {"task": params.task, "extraction": params.extraction, "credit": params.credit}
    use = Use(name="puzzle_rules", params=given)
    outcome = await ctx.verify(use, sample=Sample(response=response, reference=reference))
    if outcome.status == "undecided" and outcome.reason == integrals.NEEDS_SANDBOX:
        outcome = await _integral(outcome, ctx)
    return _worth(outcome, table) if outcome.status == "scored" else outcome


def _worth(outcome: Outcome, table: Outcomes) -> Outcome:
    """The outcome with its score from the table; an ending that is not in the table scores as `no_answer`."""
    low = table.no_answer
    end = "right" if outcome.passed else _ENDS.get(outcome.reason or "", "no_answer")
    if outcome.reason == "partly_right":
        end = str(outcome.evidence.get("kind", "wrong"))
    base: float = getattr(table, end)
    share = 0.0 if outcome.passed or outcome.score is None else outcome.score
    # Rounding must not push a score past the table's limits.
    score = min(max(base + share * (table.right - base), low), table.right)
    fault: Fault | None = None if outcome.passed else "policy"
    return replace(outcome, score=score, range=(low, table.right), passed=bool(outcome.passed), fault=fault)


async def _integral(asked: Outcome, ctx: Context) -> Outcome:
    """Runs the library's scorer in the sandbox. Raises SandboxError."""
    evidence = {key: value for key, value in asked.evidence.items() if key != "ask"}
    report: Report | None = None
    async with aclosing(ctx.sandbox.run(integrals.job(asked.evidence["ask"]))) as events:
        async for event in events:
            if isinstance(event, CaseResult):
                report = event.program
    if report is None or report.status == "internal_error":
        raise SandboxError("the sandbox did not report a scorer" if report is None else str(report.message))
    score = integrals.score_of(report)
    details: dict[str, Any] = {"extracted": asked.extracted, "evidence": {**evidence, "ran": report.status}}
    if report.status in ("time_limit", "memory_limit"):
        return wrong("too_expensive", flags=("too_expensive",), **details)
    if score is None:
        raise SandboxError(f"the scorer ended with {report.status}: {report.stderr[-300:].decode(errors='replace')}")
    return right(**details) if score == 1.0 else wrong(feedback="its derivative is not the integrand", **details)
