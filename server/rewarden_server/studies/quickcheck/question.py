"""A question with a right and a wrong answer, and the questions for each kind of part.

A number that is drawn for each run is part of every question, so that no cache has the verdict already.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from rewarden.types import Sample, Use

Answer = Literal["right", "wrong", "empty"]

_PROGRAMS = {
    "python": "a, b = map(int, input().split())\nprint(a + b)",
    "c": '#include <stdio.h>\n\nint main(void) {\n    long a, b;\n    if (scanf("%ld %ld", &a, &b) != 2) return 1;\n'
    '    printf("%ld\\n", a + b);\n    return 0;\n}',
    "cpp": "#include <iostream>\n\nint main() {\n    long a, b;\n    std::cin >> a >> b;\n"
    "    std::cout << (a + b) << std::endl;\n}",
    "javascript": "const [a, b] = require('fs').readFileSync(0, 'utf8').split(' ').map(Number);\nconsole.log(a + b);",
    "bash": "read -r a b\necho $((a + b))",
}
"""By language, a program that adds two numbers. With `a - b` in place of `a + b` it is wrong."""

LANGUAGES = tuple(_PROGRAMS)
"""The languages that have a question."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """A question for the verifier `use`. ordered: whether the right answer must score higher than the wrong one;
    otherwise their scores must differ."""

    use: Use
    right: str
    wrong: str
    prompt: str | None = None
    reference: Any = None
    ordered: bool = True

    def samples(self) -> Mapping[Answer, Sample]:
        """Returns the samples in the order in which they are judged."""
        responses: Mapping[Answer, str] = {"right": self.right, "wrong": self.wrong, "empty": ""}
        return {
            answer: Sample(response=response, prompt=self.prompt, reference=self.reference)
            for answer, response in responses.items()
        }


def of_judge(name: str, number: int) -> Question:
    """Returns the question for a judge. The empty answer is not sent to it."""
    return Question(
        use=Use(name="judge", params={"judge": name}),
        prompt=_prompt(number),
        right="2 + 2 = 4, so the answer is 4.",
        wrong="2 + 2 = 5, so the answer is 5.",
        reference="4",
    )


def of_model(name: str, number: int) -> tuple[Question, ...]:
    """Returns questions for each kind of model. A model answers the first of them that it is able to."""
    model = {"model": name}
    reward = Question(
        use=Use(name="rm_scalar", params=model), prompt=_prompt(number), right="2 + 2 = 4.", wrong="2 + 2 = 5."
    )
    return (
        reward,
        replace(reward, use=Use(name="rm_scalar", params={**model, "form": "text"})),
        replace(reward, use=Use(name="rm_scalar", params={**model, "output": 0}), ordered=False),
        replace(reward, use=Use(name="rm_likelihood", params={**model, "of": "response", "input": "text"})),
        replace(reward, use=Use(name="rm_process", params=model)),
        Question(
            use=Use(name="similarity", params={"metrics": "embedding", "embedding": model}),
            right=f"Note {number}: the cat is asleep on the sofa.",
            wrong="Interest rates rose again in March.",
            reference=f"Note {number}: the cat sleeps on the sofa.",
        ),
    )


def of_language(name: str, number: int) -> Question:
    """Returns the question for one of `LANGUAGES`."""
    program = _PROGRAMS[name]
    return Question(
        use=Use(name="code"),
        right=_block(name, program),
        wrong=_block(name, program.replace("a + b", "a - b")),
        reference={
            "language": name,
            "tests": [{"type": "stdio", "stdin": f"{number} 23\n", "stdout": f"{number + 23}\n"}],
        },
    )


def of_engine(engine: str, number: int) -> Question:
    """Returns the question for a database engine: the request brings a database with one row."""
    script = f"CREATE TABLE numbers (a INTEGER, b INTEGER);\nINSERT INTO numbers VALUES ({number}, 23);"
    right = "SELECT a + b FROM numbers"
    return Question(
        use=Use(name="sql"),
        right=_block("sql", right),
        wrong=_block("sql", right.replace("+", "-")),
        reference={"database": {"engine": engine, "script": script}, "sql": right},
    )


def of_database(name: str, number: int) -> Question:
    """Returns the question for a registered database, whose tables are unknown."""
    right = f"SELECT {number} + 23"
    return Question(
        use=Use(name="sql"),
        right=_block("sql", right),
        wrong=_block("sql", right.replace("+", "-")),
        reference={"database": name, "sql": right},
    )


def of_lean(project: str, number: int, *, remote: bool) -> Question:
    """Returns the question for a Lean project. remote: on another server, which can only elaborate."""
    theorem = f"theorem quickcheck_{number} (p q : Prop) : p → q → p :="
    head = "" if remote else "prelude\n\n"
    params: dict[str, Any] = {"project": project}
    return Question(
        use=Use(name="lean", params={**params, "tier": "screen"} if remote else params),
        right=_block("lean", f"{theorem} fun hp _ => hp"),
        wrong=_block("lean", f"{theorem} fun _ hq => hq"),
        reference=f"{head}{theorem} fun hp _ => hp\n",
    )


def _prompt(number: int) -> str:
    return f"Question {number}: what is 2 + 2?"


def _block(label: str, text: str) -> str:
    return f"```{label}\n{text}\n```"
