"""Outputs that a judge in C++ reads in one room: each gets the ruling that it gets in a room to itself.

The judge says in its message whether it shared its room: there, the process that started it is of the same room.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.verifiers import rooms

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

JUDGE = r"""
#include <cstdlib>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

int opens(const char* name, int how) {
  char path[64];
  snprintf(path, sizeof path, "/proc/%d/%s", getppid(), name);
  return open(path, how) >= 0;
}

int main(int count, char** words) {
  char word[16] = {}, rest;
  FILE* output = fopen(words[2], "r");
  if (count != 5 || strcmp(words[4], "more") || fscanf(output, "%15s", word) != 1) return 3;
  auto is = [&](const char* other) { return !strcmp(word, other); };
  int shared = getppid() != 0;
  if (is("right") || (is("finds") && (!access("/tmp/left", F_OK) || !access("left", F_OK)))) return 0;
  if (is("crashes")) abort();
  if (is("kills") && shared) kill(getppid(), SIGKILL);
  if (is("leaves")) close(open("/tmp/left", O_CREAT | O_WRONLY, 0644));
  if (is("leaves_here")) close(open("left", O_CREAT | O_WRONLY, 0644));
  if (is("leaves_deep") && mkdir("left", 0755) != 0) return 0;
  if (is("forks") && fork() == 0) for (;;) pause();
  if (is("reads") && read(0, &rest, 1) > 0) return 0;
  if (is("forges") && shared && (opens("mem", O_RDWR) || opens("fd/1", O_WRONLY) || opens("fd/0", O_RDONLY))) return 0;
  for (int place = 0; is("writes") && place < 100000; place++) fputc('x', stderr);
  if (is("writes_far")) for (int number = 3; number < 64; number++) if (write(number, "\0\0\0\0", 4) > 0) return 0;
  fprintf(stderr, shared ? "together" : "alone");
  return 1;
}
"""


def reference(words: list[str], **judge: Any) -> dict[str, Any]:
    checker = {"type": "program", "language": "cpp", "protocol": "exit", "args": ["more"], "code": JUDGE, **judge}
    tests = [{"type": "stdio", "stdin": word, "stdout": "right", "visibility": "public"} for word in words]
    return {"language": "python", "checker": checker, "tests": tests}


async def rulings(words: list[str], **judge: Any) -> list[tuple[str, str, str]]:
    """The tests of a program that prints a word in each: the word, the verdict, and the judge's message."""
    response = f"```python\n# {words}\nprint(input())\n```"
    (verdict,) = await rooms.judged([(response, reference(words, **judge))], stop="never", reveal="verdicts")
    told = verdict.evidence["tests"]
    return [(word, one["verdict"], one.get("message") or "") for word, one in zip(words, told, strict=True)]


async def test_the_outputs_of_a_program_are_judged_in_one_room_by_a_process_for_each() -> None:
    words = ["wrong", "right", "leaves_here", "finds", "forks", "reads", "forges", "writes_far"]
    expected = [(word, "AC", "") if word == "right" else (word, "WA", "together") for word in words]
    assert await rulings(words) == expected


async def test_a_judge_that_ends_badly_or_leaves_something_is_run_again_in_a_room_to_itself() -> None:
    words = [
        "crashes",
        "wrong",
        "kills",
        "right",
        "leaves",
        "finds",
        "leaves_deep",
        "finds",
        "writes",
        "wrong",
        "finds",
    ]
    told = await rulings(words)
    assert [verdict for _, verdict, _ in told] == ["WA"] * 3 + ["AC"] + ["WA"] * 7
    said = [message for _, _, message in told]
    assert said[1] == "together"
    assert (said[2], said[4], said[6], said[8][:3]) == ("alone", "alone", "alone", "xxx")
    assert "judge" in said[0]


async def test_other_judges_have_a_room_for_each_output() -> None:
    words = ["wrong", "finds"]
    assert await rulings(words, files={"words.txt": "x"}) == [(word, "WA", "alone") for word in words]
    assert await rulings(["wrong"]) == [("wrong", "WA", "alone")]
    # What does not compile together with ours.
    clash = JUDGE + 'extern "C" void rewarden_series() {}\n'
    assert await rulings(words, code=clash) == [(word, "WA", "alone") for word in words]
