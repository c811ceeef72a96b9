"""Items of reasoning-gym's generators: their right answers, and what must not pass for one."""

from __future__ import annotations

import itertools
import json
import re
from collections import deque
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from rewarden_verifiers.puzzles import library
from rewarden_verifiers.puzzles.generators import Generated

JUNK = (
    "",
    "   ",
    "I do not know",
    "I don't know.",
    "The answer is above.",
    "?",
    "None",
    "null",
    "nan",
    "inf",
    "-",
    "[]",
    "{}",
    "[[]]",
    "answer",
    "A",
    "_",
    "x" * 500,
    "=",
    "×",
    "→",
)
"""No answer to anything. Short words such as 0, Yes and True are not among them: they are some items' answers."""


def payloads(mark: str) -> tuple[str, ...]:
    """Answers that create the file `mark` where they are evaluated."""
    touch = f"__import__('pathlib').Path({mark!r}).touch()"
    return (
        touch,
        f"[{touch}]",
        f"[[{touch}]]",
        f"(lambda: {touch})()",
        f"x + 0*({touch} or 1)",
        f"str({touch}).__class__",
        f"exec({touch!r})",
        f"{{{touch}: 1}}",
        f"[c for c in [{touch}]]",
    )


@dataclass(frozen=True, slots=True)
class Item:
    """An item as trainers store it, through JSON. `answer` is a right one, None if there is none."""

    name: str
    seed: int
    entry: Mapping[str, Any]
    answer: str | None

    @property
    def reference(self) -> dict[str, Any]:
        """For `puzzle`."""
        return {"dataset": self.name, "entry": dict(self.entry)}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):  # numpy's numbers
        return value.item()
    return value if value is None or isinstance(value, (bool, int, float)) else str(value)


def items(name: str, count: int) -> Iterator[Item]:
    """The first items of the seeds from 0."""
    dataset_type, config_type = library.dataset_types(name)
    for seed in range(count):
        dataset = dataset_type(config_type(seed=seed, size=1))
        made = dataset[0]
        entry = json.loads(json.dumps(_plain(made)))
        yield Item(name, seed, entry, _right(name, dataset, made))


def _right(name: str, dataset: Any, made: Mapping[str, Any]) -> str | None:
    """The stored answer, or one of our own where the generator stores none."""
    metadata = made["metadata"]
    if "Integral" in str(made["answer"]):  # some items' answers are left undone
        import sympy

        return str(sympy.sympify(made["answer"]).doit())
    if made["answer"] is not None:
        return str(made["answer"]) or '""'  # polynomial_equations asks for an empty string where there is no solution
    if name == "graph_color":
        return json.dumps({str(vertex): color for vertex, color in metadata["possible_answer"].items()})
    if name == "rubiks_cube":
        return str(metadata["example_correct_answer"])
    if name == "boxnet":
        return _lifted(metadata["initial_state"])
    if name == "rush_hour":
        return _unblocked(library.module(name).Board(metadata["board_config"]))
    assert name == "propositional_logic", name
    return _concluded(dataset, made)


def _lifted(state: Mapping[str, list[str]]) -> str:
    """Each box walks to its target, one square at a time."""
    plan: list[dict[str, str]] = []
    for place, things in state.items():
        for box in (thing for thing in things if thing.startswith("box_")):
            target = box.replace("box_", "target_")
            goal = next(other for other, held in state.items() if target in held)
            row, column = map(float, place.split("_"))
            goal_row, goal_column = map(float, goal.split("_"))
            while (row, column) != (goal_row, goal_column):
                agent = f"Agent[{row}, {column}]"
                if row != goal_row:
                    row += 1 if goal_row > row else -1
                else:
                    column += 1 if goal_column > column else -1
                plan.append({agent: f"move({box}, square[{row}, {column}])"})
            plan.append({f"Agent[{row}, {column}]": f"move({box}, {target})"})
    return json.dumps(plan)


def _unblocked(board: Any) -> str:
    """The shortest way out, found breadth first."""
    pieces = [(piece.size, piece.stride, piece.fixed) for piece in board._pieces]
    start = tuple(piece.position for piece in board._pieces)
    seen: dict[tuple[int, ...], tuple[tuple[int, ...], str] | None] = {start: None}
    waiting = deque([start])
    while waiting:
        state = waiting.popleft()
        if state[0] == 16:  # the red car's place at the exit
            moves: list[str] = []
            while (before := seen[state]) is not None:
                state, move = before
                moves.append(move)
            return " ".join(reversed(moves)) or "A+1 A-1"
        taken = {
            place + part * stride
            for place, (size, stride, _) in zip(state, pieces, strict=True)
            for part in range(size)
        }
        for number, (place, (size, stride, fixed)) in enumerate(zip(state, pieces, strict=True)):
            for sign in () if fixed else (1, -1):
                front = place + (size * stride if sign > 0 else -stride)
                same_row = stride != 1 or front // 6 == place // 6
                if 0 <= front < 36 and same_row and front not in taken:
                    after = (*state[:number], place + sign * stride, *state[number + 1 :])
                    if after not in seen:
                        seen[after] = (state, f"{chr(65 + number)}{'+' if sign > 0 else '-'}1")
                        waiting.append(after)
    raise AssertionError("there is no way out")


def _concluded(dataset: Any, made: Mapping[str, Any]) -> str | None:
    """The example, or where it is trivial a conclusion that is not; None if there is none but the premises."""
    metadata = made["metadata"]
    premises = {re.sub(r"[()\s]", "", premise) for premise in metadata["premises"]}
    literals = [sign + name for name in metadata["variables"] for sign in ("", "¬")]
    pairs = itertools.product(literals, "∧∨→", literals)
    for candidate in (metadata["example_answer"], *(f"({a} {operator} {b})" for a, operator, b in pairs)):
        new = candidate == metadata["example_answer"] or re.sub(r"[()\s]", "", candidate) not in premises
        if new and dataset.score_answer(candidate, made) == 1.0:
            return str(candidate)
    return None


def reference_of(item: Item, *, seeded: bool = False) -> Generated:
    """The item as a reference of `puzzle`: stored, or to be made again."""
    if seeded:
        return Generated(dataset=item.name, seed=item.seed, config={"size": 1})
    return Generated(**item.reference)


def dressed(answer: str, other: str) -> Iterator[str]:
    """A right answer with junk around it, and hedges."""
    yield f"{answer} or {other}"
    yield f"{other} or {answer}"
    yield f"{answer}\n{other} would be possible too"
    yield f"I am not sure, perhaps {answer} and perhaps not"
    yield f"zzz {answer}"
    yield f"{answer} zzz"
    yield f"not {answer}"


def examples(question: str) -> Iterator[str]:
    """Yields what a prompt holds that looks like an answer: quotations, lines, what follows a colon, and all of it."""
    for found in re.findall(r"`([^`\n]{1,300})`|\"([^\"\n]{1,300})\"|'([^'\n]{1,300})'", question):
        yield next(filter(None, found))
    for line in question.split("\n"):
        yield line.strip()
        yield line.partition(":")[2].strip()
    for block in re.split(r"\n\s*\n|```", question):
        yield block.strip()
    yield question
