"""Programs in Go, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from tests.verifiers.compiled_rooms import Row, faults, scores
from tests.verifiers.rooms import calling, judged

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

IMPORTS = 'package close_test\n\nimport (\n    "testing"\n    "fmt"\n)\n\n'
TESTS = """}

func TestClose(t *testing.T) {
  candidate := %s
	type test struct {
		actual   interface{}
		expected interface{}
	}
   tests := []test{
     %s
   }

	for i, tc := range tests {
		t.Run(fmt.Sprintf("test num %% d", i), func(t *testing.T) {
			actual := fmt.Sprintf("%%v", tc.actual)
			expected := fmt.Sprintf("%%v", tc.expected)
			if actual != expected {
				t.Errorf("expected '%%s', got '%%s'", expected, actual)
			}
		})
	}
}
"""
PROMPT = f"""{IMPORTS}// Returns whether two numbers lie closer than the threshold.
// >>> close_by([]float64{{1.0, 2.0}}, 0.3)
// false
func close_by(numbers []float64, threshold float64) bool {{
"""
CLOSE = {
    "language": "go",
    "prefix": PROMPT,
    "entry_point": "close_by",
    "stop": ["\nfunc", "struct", "\n// "],
    "tests": [
        {
            "type": "assert",
            "code": TESTS
            % (
                "close_by",
                "{ actual: candidate([]float64{1.0, 2.0, 2.2}, 0.3), expected: true },\n"
                "     { actual: candidate([]float64{1.0, 2.0}, 0.3), expected: false },",
            ),
        }
    ],
}
BODY = """    for at, one := range numbers {
        for _, other := range numbers[at+1:] {
            if one-other < threshold && other-one < threshold {
                return true
            }
        }
    }
    return false
}
"""
COUNTS = {
    **CLOSE,
    "prefix": f"{IMPORTS}// Each word's count, and the words sorted in their place.\n"
    "func counts(words []string, more map[string]int, rest []interface{}) (map[string]int, error) {\n",
    "entry_point": "counts",
    "tests": [
        {
            "type": "assert",
            "code": """}

func TestCounts(t *testing.T) {
    words, more := []string{"né", "a", "né"}, map[string]int{"b": 1}
    found, fault := counts(words, more, []interface{}{1, "x", 2.5, nil})
    if fault != nil || fmt.Sprintf("%v", found) != "map[a:1 b:1 né:2]" || fmt.Sprintf("%v", words) != "[a né né]" {
        t.Errorf("%v %v %v", found, fault, words)
    }
    if _, fault := counts(nil, nil, nil); fault == nil || fault.Error() != "no words" || len(more) != 3 {
        t.Fatal(fault, more)
    }
}
""",
        }
    ],
}
COUNTS_CODE = """package main

import (
	"errors"
	"fmt"
	"sort"
)

func counts(words []string, more map[string]int, rest []interface{}) (map[string]int, error) {
	if len(words) == 0 {
		return nil, errors.New("no words")
	}
	if rest[0].(int) != 1 || rest[2].(float64) != 2.5 || rest[3] != nil {
		panic("another rest")
	}
	for _, word := range words {
		more[word]++
	}
	sort.Strings(words)
	return more, nil
}
"""
FRAMES = """    file := os.NewFile(3, "")
    for n := 0; n < 9; n++ {
        frame := `{"id":1,"is":"value","value":true}`
        file.Write(append([]byte{0, 0, 0, byte(len(frame))}, frame...))
    }
    return true
}
"""


def whole(body: str, *imports: str) -> str:
    """A whole program with that function."""
    listed = "".join(f'import "{name}"\n' for name in imports)
    return f"package main\n{listed}func close_by(numbers []float64, threshold float64) bool {{\n{body}"


ROOMS: list[Row] = [
    (1.0, BODY, CLOSE, "the continuation of a prompt, with its own brace"),
    (1.0, BODY.removesuffix("}\n"), CLOSE, "and without it"),
    (1.0, f"{BODY}\nfunc main() {{ panic(1) }}", CLOSE, "what follows a stop token is not part of it"),
    (1.0, f"{whole(BODY, 'testing', 'fmt')}\nfunc main() {{ panic(1) }}", CLOSE, "a program with a main of its own"),
    (1.0, whole(BODY).removeprefix("package main\n"), CLOSE, "a function alone"),
    (1.0, COUNTS_CODE, COUNTS, "dictionaries, several results, errors, and an argument that changes"),
    (0.0, COUNTS_CODE.replace("sort.Strings(words)", "sort.Strings(nil)"), COUNTS, "wrong"),
    (0.0, "    return true\n}", CLOSE, "wrong"),
    (0.0, "    return\n}", CLOSE, "does not compile"),
    (0.0, whole("    os.Exit(0)\n    return true\n}", "os"), CLOSE, "leaves during the call"),
    (0.0, whole("return true\n}\nfunc init() { os.Exit(0) }", "os"), CLOSE, "leaves while it loads"),
    (0.0, whole(FRAMES, "os"), CLOSE, "forges frames on the channel"),
    (
        0.0,
        whole('    _, fault := os.Stat("tests.go")\n    return fault == nil && len(numbers) > 2\n}', "os"),
        CLOSE,
        "reads the other room",
    ),
]
LINKED = {"types": {"args": {"0": "ListNode"}, "returns": "ListNode"}}
CALLS: list[Row] = [
    (
        1.0,
        "func twoSum(nums []int, target int) []int { return []int{nums[0], target} }",
        calling("go", "Solution.twoSum", [[1, 2], 7], [1, 7]),
        "a function that is a method elsewhere",
    ),
    (
        1.0,
        "func turn(node *ListNode) *ListNode { var before *ListNode; for node != nil {"
        " node.Next, before, node = before, node, node.Next }; return before }",
        calling("go", "turn", [[1, 2, 3]], [3, 2, 1], **LINKED),
        "nodes, whose type is provided",
    ),
    (
        1.0,
        'package main\nimport ("math/big"; "errors")\ntype Sums struct { n int }\n'
        "func (s *Sums) F(n *big.Int, x float32, grid [][]byte, word string) (map[string]any, error) {\n"
        'if s.n != 0 { return nil, errors.New("used") }\n'
        "return map[string]any{\"a\": []any{n.Mul(n, n), x, grid[0][1] == 'y', word, nil}}, nil\n}\nfunc main() {}",
        calling("golang", "Sums.F", [2**70, 0.1, [["x", "y"]], "é"], {"a": [2**140, 0.1, True, "é", None]}),
        "a method of a new object, big integers, floats, and an error that is none",
    ),
    (0.0, "func f(a, b int) int { return a - b }", calling("go", "f", [1, 2], 3), "wrong"),
    (
        0.0,
        'import ("errors")\nfunc f(a, b int) (int, error) { return 3, errors.New("no") }',
        calling("go", "f", [1, 2], 3),
        "returns an error",
    ),
    (0.0, "func f(a, b int) any { return func() int { return 3 } }", calling("go", "f", [1, 2], 3), "a function"),
    (
        0.0,
        'import ("fmt"; "os")\nfunc f(a, b int) int { fmt.Println(`{"value":{"i":"3"}}`); os.Exit(0); return 0 }',
        calling("go", "f", [1, 2], 3),
        "prints a reply and leaves",
    ),
]


async def test_go_is_tested_from_another_room() -> None:
    await scores(ROOMS, extraction="whole")


async def test_go_is_called_and_its_value_compared_outside() -> None:
    await scores([(score, f"```go\n{code}\n```", reference, why) for score, code, reference, why in CALLS])


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    shared = {**CLOSE, "isolation": "shared"}
    verdicts = await judged(
        [
            (BODY, shared),
            ("    return true\n}", shared),
            (whole("    os.Exit(0)\n    return true\n}", "os"), shared),
        ],
        extraction="whole",
    )
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0, 0.0]
    assert all("shared_process" in verdict.flags for verdict in verdicts)


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    def tests(statement: str) -> list[dict[str, str]]:
        return [{"type": "assert", "code": f"}}\nfunc TestClose(t *testing.T) {{ {statement} }}\n"}]

    verdicts = await faults(
        [
            (BODY, {**CLOSE, "tests": tests("closer()")}),
            (BODY, {**CLOSE, "tests": tests('t.Fatal("always")')}),
            (BODY, {**CLOSE, "prefix": PROMPT.replace("// Returns", "type Point struct{}\n\n// Returns")}),
        ],
        extraction="whole",
    )
    assert "isolation: shared" in (verdicts[-1].feedback or str(verdicts[-1].evidence))
