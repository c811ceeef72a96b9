"""Asks a server what open-instruct's `CodeVerifier` would: a program and its tests, of both kinds.

python check.py http://127.0.0.1:8080
"""

from __future__ import annotations

import sys

import httpx

ADD = "def add(a, b):\n    return a + b\n"
LEAVES = "import os\nos._exit(0)\n"
TOTAL = "print(sum(map(int, input().split())))\n"

CALLS = (
    ("test_program", ADD, ["assert add(1, 2) == 3", "assert add(0, 0) == 1"]),
    ("test_program", LEAVES, ["assert add(1, 2) == 3"]),
    ("test_program_stdio", TOTAL, [{"input": "1 2\n", "output": "3\n"}, {"input": "2 2\n", "output": "4.0\n"}]),
)


def main(server: str) -> None:
    """Prints the answer to each."""
    for path, program, tests in CALLS:
        asked = {"program": program, "tests": tests, "max_execution_time": 1.0}
        answer = httpx.post(f"{server}/compat/open_instruct/{path}", json=asked, timeout=30)
        print(path, answer.status_code, answer.text, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
