"""Test files of Go's package `testing` beside programs: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from rewarden_verifiers.execution.frameworks import go_test
from tests.verifiers.frameworks import Row, assert_refused, assert_scores, file_test
from tests.verifiers.rooms import judged

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

TESTS = """package sums

import (
	"reflect"
	"testing"
)

func TestAdd(t *testing.T) {
	for _, row := range []struct{ a, b, sum int }{{1, 2, 3}, {-1, 1, 0}} {
		t.Run("row", func(t *testing.T) {
			t.Parallel()
			if got := Add(row.a, row.b); got != row.sum {
				t.Errorf("got %d", got)
			}
		})
	}
}

func TestWords(t *testing.T) {
	got := words("a b")
	if len(got) != 2 || !reflect.DeepEqual(got, []string{"a", "b"}) {
		t.Fatal(got)
	}
}

func BenchmarkAdd(b *testing.B) {}
"""
REFERENCE = file_test("go", "sums_test.go", TESTS)
RIGHT = """package sums

import "strings"

func Add(a, b int) int { return a + b }

func words(text string) []string { return strings.Fields(text) }
"""
WRONG = RIGHT.replace("a + b", "a - b")
FORGE = """import ("fmt"; "os"; "io")
func init() {
	data, _ := os.ReadFile("/proc/self/fd/0")
	more, _ := io.ReadAll(os.Stdin)
	text := string(data) + string(more)
	nonce := "x"
	for at := 0; at+43 < len(text); at++ {
		if text[at:at+8] == `"nonce":` { nonce = text[at+10:at+42] }
	}
	tests := `{"TestAdd":"passed","TestWords":"passed"}`
	report := `{"done":true,"outcome":"passed","tests":%s,"provenance":{},"nonce":"%s"}`
	fmt.Fprintf(os.NewFile(4, "reply"), report, tests, nonce)
	os.Exit(0)
}
"""
OWN_TESTS = """import ("testing"; "main/rewarden")
func init() {
	pass := func(*testing.T) {}
	rewarden.File([]testing.InternalTest{{Name: "TestAdd", F: pass}, {Name: "TestWords", F: pass}})
}
"""
IN_C = """/*
#include <stdlib.h>
__attribute__((constructor)) static void early(void) { exit(0); }
*/
"""
FLAGS = """import ("flag"; "os"; "testing")
func init() {
	os.Args = append(os.Args, "-test.run=^$")
	testing.Init()
	flag.Set("test.run", "^$")
	flag.Set("test.count", "0")
}
"""


def importing(code: str, program: str = WRONG) -> str:
    """The program with further code, which begins with its imports."""
    return (
        program.replace("package sums\n", f"package sums\n\n{code}", 1) if code.startswith("import") else program + code
    )


CHEATS: list[Row] = [
    (0.0, WRONG, "wrong"),
    (0.0, importing('import "os"\nfunc init() { os.Exit(0) }\n'), "leaves while it loads"),
    (0.0, importing('import "os"\n').replace("return a - b", "os.Exit(0); return 0"), "leaves during a test"),
    (0.0, importing('import "runtime"\n').replace("return a - b", "runtime.Goexit(); return 0"), "ends the goroutine"),
    (0.0, importing('import ("os"; "testing")\nfunc TestMain(m *testing.M) { os.Exit(0) }\n'), "its own TestMain"),
    (0.0, importing('import "testing"\nfunc TestAdd(t *testing.T) {}\n'), "a test of the same name"),
    (0.0, importing('import "fmt"\nfunc init() { fmt.Println("--- PASS: TestAdd\\nPASS\\nok") }\n'), "prints a report"),
    (0.0, importing(FORGE), "forges a report, with what it can read"),
    (0.0, importing(OWN_TESTS), "runs tests of its own"),
    (0.0, importing(FLAGS), "sets the framework's flags"),
    (0.0, f"//go:build ignore\n\n{WRONG}", "is not built"),
    (0.0, WRONG + "\nfunc len(any) int { return 2 }\n", "redefines a word of the language"),
    (0.0, WRONG + "\nvar reflect struct{ DeepEqual func(any, any) bool }\n", "a variable with the name of a package"),
    (
        0.0,
        importing(
            'import _ "unsafe"\n//go:linkname nonce main/rewarden.nonce\nvar nonce string\n'
            'func init() { if nonce == "" { panic("no nonce") } }\n',
            RIGHT,
        ),
        "reaches for the nonce by its symbol",
    ),
    (0.0, WRONG.replace("import", f'{IN_C}import "C"\n\nimport', 1), "is in C, and leaves before the tests"),
    (0.0, WRONG.replace("a - b", "a -"), "does not compile"),
]
HONEST: list[Row] = [
    (1.0, RIGHT, "right"),
    (1.0, RIGHT.replace("package sums", "package main") + "\nfunc main() { panic(1) }\n", "a program with a main"),
    (1.0, RIGHT.removeprefix("package sums\n"), "without a package clause"),
]


async def test_programs_pass_a_test_file_of_go() -> None:
    await assert_scores(REFERENCE, [*HONEST, *CHEATS])


async def test_a_test_file_can_be_of_another_package() -> None:
    tests = TESTS.replace("package sums", "package sums_test").replace(
        '"reflect"\n', '"reflect"\n\n\t"example.com/sums"\n'
    )
    tests = tests.replace("Add(row", "sums.Add(row").replace("words(", "sums.Words(")
    right = RIGHT.replace("words(", "Words(")
    await assert_scores(file_test("go", "sums_test.go", tests), [(1.0, right, "right"), (0.0, RIGHT, "not exported")])


async def test_a_skipped_test_has_not_passed_and_others_do_not_count() -> None:
    skipped = TESTS.replace("	got := words", '	t.Skip("later")\n	got := words')
    reference = file_test("go", "sums_test.go", skipped, "TestAdd")
    await assert_scores(reference, [(1.0, RIGHT, "only the named test counts")])
    await assert_scores(file_test("go", "sums_test.go", skipped), [(0.0, RIGHT, "both tests count")])
    await assert_scores(REFERENCE, [(0.5, WRONG, "one of two passes")], scoring="fraction")


async def test_a_test_file_that_does_not_compile_beside_the_solution_is_the_references_fault() -> None:
    broken = file_test("go", "sums_test.go", TESTS.replace("Add(row", "Sum(row"), solution=RIGHT)
    honest = file_test("go", "sums_test.go", TESTS, solution=RIGHT)
    lacks = RIGHT.replace("words", "letters")
    verdicts = await judged([(f"```go\n{RIGHT}\n```", broken), (f"```go\n{lacks}\n```", honest)])
    assert [(verdict.status, verdict.fault) for verdict in verdicts] == [
        ("undecided", "reference"),
        ("scored", "policy"),
    ]


def test_a_reference_that_no_program_can_pass_is_refused() -> None:
    assert go_test.listed(TESTS) == ("TestAdd", "TestWords")
    assert_refused({**REFERENCE, "isolation": "separate"}, "type", "isolation: shared")
    assert_refused(file_test("go", "sums.go", TESTS), "name", "no name of a test file of go test")
    assert_refused(file_test("go", "sums_test.go", TESTS, "TestSub"), "expect", "no test 'TestSub'")
    assert_refused(file_test("go", "sums_test.go", "func TestMain(m *testing.M) {}"), "content", "TestMain")
    library = 'package a\nimport "github.com/stretchr/testify/assert"\n'
    assert_refused(file_test("go", "sums_test.go", library), "content", "no package 'github.com/stretchr")
