"""Rows in the shape of MultiPL-E, in every language of the data set: a right continuation of the prompt passes, and its
twin with `>=` for `>` does not."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from rewarden_verifiers.execution.datasets.multipl_e import LANGUAGES
from tests.verifiers.rooms import judged

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]


@dataclass(frozen=True, slots=True)
class Task:
    """The numbers above a limit, doubled. body: a right continuation of the prompt."""

    language: str
    prompt: str
    body: str
    tests: str
    stop: tuple[str, ...]

    @property
    def row(self) -> dict[str, object]:
        """The published row."""
        return {
            "name": "HumanEval_9001_doubled",
            "language": self.language,
            "prompt": self.prompt,
            "tests": self.tests,
            "stop_tokens": list(self.stop),
        }


def node(opening: str) -> str:
    """JavaScript's test code."""
    return (
        opening
        + """const assert = require('node:assert');


function test() {
  let candidate = doubled;
  assert.deepEqual(candidate([4, 5, 7], 4),[10, 14]);
  assert.deepEqual(candidate([], 1),[]);
}

test();"""
    )


TASKS = (
    Task(
        "py",
        '''from typing import List

def doubled(numbers: List[int], limit: int) -> List[int]:
    """ Doubles some. """
''',
        """    return [2 * n for n in numbers if n > limit]

print(doubled([1], 0))
""",
        """def check(candidate):
    assert candidate([4, 5, 7], 4) == [10, 14]
    assert candidate([], 1) == []

def test_check():
    check(doubled)

test_check()
""",
        ("\ndef", "\n#", "\nif", "\nclass"),
    ),
    Task(
        "js",
        """//Doubles some.
function doubled(numbers, limit){
""",
        """  return numbers.filter(n => n > limit).map(n => 2 * n);
}

console.log(doubled([1], 0));
""",
        node(""),
        ("\nfunction ", "\n/*", "\n//", "\nconsole.log"),
    ),
    Task(
        "ts",
        """//Doubles some.
function doubled(numbers: number[], limit: number): number[] {
""",
        """  return numbers.filter(n => n > limit).map(n => 2 * n);
}
""",
        node("declare var require: any;\n"),
        ("\nfunction ", "\n/*", "\n//", "\nclass"),
    ),
    Task(
        "cpp",
        """#include<assert.h>
#include<bits/stdc++.h>
// Doubles some.
std::vector<long> doubled(std::vector<long> numbers, long limit) {
""",
        """    std::vector<long> found;
    for (long n : numbers) if (n > limit) found.push_back(2 * n);
    return found;
}
int main() { return 0; }
""",
        """}
int main() {
    auto candidate = doubled;
    assert(candidate((std::vector<long>({(long)4, (long)5, (long)7})), (4))
        == (std::vector<long>({(long)10, (long)14})));
    assert(candidate((std::vector<long>()), (1)) == (std::vector<long>()));
}
""",
        ("\n}",),
    ),
    Task(
        "java",
        """import java.util.*;
import java.lang.reflect.*;
import org.javatuples.*;
import java.security.*;
import java.math.*;
import java.io.*;
import java.util.stream.*;
class Problem {
    // Doubles some.
    public static ArrayList<Long> doubled(ArrayList<Long> numbers, long limit) {
""",
        """        ArrayList<Long> found = new ArrayList<>();
        for (long n : numbers) if (n > limit) found.add(2 * n);
        return found;
""",
        """    }
    public static void main(String[] args) {
    assert(doubled((new ArrayList<Long>(Arrays.asList((long)4l, (long)5l, (long)7l))), (4l))
        .equals((new ArrayList<Long>(Arrays.asList((long)10l, (long)14l)))));
    assert(doubled((new ArrayList<Long>(Arrays.asList())), (1l)).equals((new ArrayList<Long>(Arrays.asList()))));
    }

}
""",
        ("\n    }\n",),
    ),
    Task(
        "go",
        """package doubled_test

import (
    "testing"
    "fmt"
)

// Doubles some.
func doubled(numbers []int, limit int) []int {
""",
        """    found := []int{}
    for _, n := range numbers {
        if n > limit {
            found = append(found, 2*n)
        }
    }
    return found
}
""",
        """func TestDoubled(t *testing.T) {
  candidate := doubled
    type test struct {
        actual   interface{}
        expected interface{}
    }
   tests := []test{
     { actual: candidate([]int{4, 5, 7}, 4), expected: []int{10, 14} },
     { actual: candidate([]int{}, 1), expected: []int{} },
   }

    for i, tc := range tests {
        t.Run(fmt.Sprintf("test num % d", i), func(t *testing.T) {
            if fmt.Sprintf("%v", tc.actual) != fmt.Sprintf("%v", tc.expected) {
                t.Errorf("expected '%s', got '%s'", tc.expected, tc.actual)
            }
        })
    }
}
""",
        ("\nfunc", "struct", "\n// "),
    ),
    Task(
        "rs",
        """/// Doubles some.
fn doubled(numbers: Vec<isize>, limit: isize) -> Vec<isize> {
""",
        "    numbers.into_iter().filter(|n| *n > limit).map(|n| 2 * n).collect()\n",
        """}

fn main() {
    let candidate = doubled;
    assert_eq!(candidate(vec![4, 5, 7], 4), vec![10, 14]);
    assert_eq!(candidate(Vec::<isize>::new(), 1), Vec::<isize>::new());
}
""",
        ("\n}",),
    ),
    Task(
        "rb",
        """# Doubles some.
def doubled(numbers, limit)
""",
        """  numbers.select { |n| n > limit }.map { |n| 2 * n }
end

puts doubled([1], 0)
""",
        """require 'test/unit'
class TestHumanEval < Test::Unit::TestCase
  def test_doubled
    candidate = method(:doubled)
    assert_equal([10, 14], candidate.call([4, 5, 7], 4))
    assert_equal([], candidate.call([], 1))
  end
end
""",
        ("\nclass", "\ndef", "\n#", "\n\n"),
    ),
    Task(
        "php",
        """<?php
// Doubles some.
function doubled($numbers, $limit) {
""",
        """    $found = [];
    foreach ($numbers as $n) if ($n > $limit) $found[] = 2 * $n;
    return $found;
}
""",
        """function candidate(...$args) {
    return doubled(...$args);
}

function test(): void {
    if (candidate([4, 5, 7], 4) !== [10, 14]) { throw new Exception("Test failed!"); }
    if (candidate([], 1) !== []) { throw new Exception("Test failed!"); }
}

test();""",
        ("\nfunction", "\n?>", "\n//", "\n#"),
    ),
    Task(
        "pl",
        """# Doubles some.
sub doubled {
    my($numbers, $limit) = @_;
""",
        """    return [map { 2 * $_ } grep { $_ > $limit } @$numbers];
}

print 1;
""",
        r"""use Test::Deep;


sub testhumaneval {
    my $candidate = \&doubled;
        if(eq_deeply($candidate->([4, 5, 7], 4),[10, 14])) {
        print "ok!" }else{
        print "not okay!";
        exit 1;
        }
        if(eq_deeply($candidate->([], 1),[])) {
        print "ok!" }else{
        print "not okay!";
        exit 1;
        }
}

testhumaneval();""",
        ("\nsub", "\n#", "\n\n"),
    ),
    Task(
        "lua",
        """-- Doubles some.
local function doubled(numbers, limit)
""",
        """    local found = {}
    for _, n in ipairs(numbers) do
        if n > limit then
            table.insert(found, 2 * n)
        end
    end
    return found
end
""",
        """lu = require('luaunit')

function test_humaneval()
local candidate = doubled
    lu.assertEquals(candidate({4, 5, 7}, 4), {10, 14})
    lu.assertEquals(candidate({}, 1), {})
end

os.exit(lu.LuaUnit.run())""",
        ("\nlocal", "\nfunction", "\n--", "\n\n"),
    ),
    Task(
        "r",
        """# Doubles some.
doubled <- function(numbers, limit) {
""",
        """    2 * numbers[numbers > limit]
}
""",
        """test_humaneval <- function() {
candidate <- doubled
    if(!identical(candidate(c(4, 5, 7), 4), c(10, 14))){quit('no', 1)}
    if(!identical(candidate(c(9), 1), c(18))){quit('no', 1)}
}
test_humaneval()""",
        ("\n#", "\n```"),
    ),
    Task(
        "sh",
        """#!/bin/bash
# Doubles some.
#
# $1 is a space-separated list
# $2 is an integer
doubled() {
""",
        """    local found=() n
    for n in $1; do
        if (( n > $2 )); then found+=($((2 * n))); fi
    done
    echo "${found[*]}"
""",
        """}

candidate() {
    doubled "$@"
}

set -e
run_test() {
    [[ $(candidate "4 5 7" "4") = "10 14" ]]
    [[ $(candidate "" "1") = "" ]]
}

run_test""",
        ("\n}",),
    ),
)


@pytest.mark.parametrize("task", [pytest.param(task, id=task.language) for task in TASKS])
async def test_a_right_continuation_passes_and_its_wrong_twin_does_not(task: Task) -> None:
    twin = task.body.replace(" > ", " >= ", 1)
    right, wrong = await judged([(task.body, task.row), (twin, task.row)], dataset="multipl_e", extraction="whole")
    assert right.score == 1.0, right.feedback
    assert (wrong.score, wrong.reason) == (0.0, "wrong_answer"), wrong.feedback
    assert "shared_process" not in right.flags


def test_every_language_of_the_data_set_has_a_task_here() -> None:
    assert {task.language for task in TASKS} == LANGUAGES.keys() - {"go_test.go"}
