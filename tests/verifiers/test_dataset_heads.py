"""The functions that MultiPL-E's prompts declare, in each of its languages."""

from __future__ import annotations

import pytest

from rewarden.errors import InvalidReference
from rewarden_verifiers.execution.datasets import read_row
from rewarden_verifiers.execution.datasets.multipl_e import LANGUAGES, functions_of
from tests.verifiers.published_rows import MULTIPL_E

PROMPTS = [
    (
        "python",
        'import math\n\ndef helper(a):\n    return a\n\ndef add(a, b):\n    """Sum.\ndef no(a)\n',
        ["helper", "add"],
    ),
    ("python", "async def add(\n    a,\n    b,\n):\n    '''def no(a)", ["add"]),
    ("javascript", "/* function no(a) { */\n//function no(a){\nfunction add(a, b){\n", ["add"]),
    ("javascript", "const half = (a) => a / 2;\nexport async function* add$(a = ')'){\n", ["half", "add$"]),
    ("typescript", "//Sum.\nfunction add<T>(a: { x: number }, b?: T): { y: number } {\n", ["add"]),
    ("typescript", 'const s: string = "function no(";\nlet add = async (a: number): Promise<number> => {\n', ["add"]),
    (
        "cpp",
        "#include<assert.h>\n// bool no(int a) {\nint helper(int a) { if (a) { return f(a); } return g(a); }\n"
        "std::vector<std::pair<int, int>> add(std::function<int(int)> f, long b = (1)) {\n",
        ["helper", "add"],
    ),
    ("cpp", "union Union_int_float{\n    int f0;\n    Union_int_float(int a) : f0(a) {}\n};\nbool add(int a)\n", None),
    (
        "java",
        '@SuppressWarnings("x{")\nclass Problem {\n    // no(a) {\n'
        "    static <T> int half(T a) { for (int i = 0; ; ) { } }\n"
        "    public static ArrayList<Integer> add(ArrayList<Integer> a, Optional<String> b) throws Exception {\n",
        ["half", "add"],
    ),
    (
        "go",
        'package add_test\n\nimport (\n    "testing"\n)\n\n// func no(a int) {\nfunc add(a []int) (int, error) {\n',
        ["add"],
    ),
    ("go", "func (t *T) Of(a int) {}\nfunc add[T any](a T) T {\n", ["add"]),
    (
        "rust",
        "/// fn no(a: i32) {\nfn half<'a>(s: &'a str) {}\npub(crate) async fn add(a: char) -> bool {\n",
        ["half", "add"],
    ),
    ("ruby", "=begin\ndef no(a)\n=end\n# def no(a)\nSIGN = '#'\ndef add?(a, b)\n", ["add?"]),
    ("php", "<?php\n// function no($a) {\n# function no($a) {\nfunction add($a, $b) {\n", ["add"]),
    ("perl", "\n# sub no {\nmy $last = $#list;\nsub add {\n    my($a, $b) = @_;\n", ["add"]),
    (
        "lua",
        "-- function no(a)\n--[[\nfunction no(a)\n]]\nlocal half = function(a) end\nlocal function add(a, b)\n",
        ["half", "add"],
    ),
    ("r", "# no <- function(a) {\nhalf = function(a) a / 2\nadd.two <- function(a, b) {\n", ["half", "add.two"]),
    ("bash", '#!/bin/bash\n# no() {\necho $# "no() {"\nfunction half { :; }\nadd_all() {\n', ["half", "add_all"]),
]


@pytest.mark.parametrize(("language", "prompt", "names"), PROMPTS)
def test_the_functions_of_a_prompt_are_found_by_their_heads(
    language: str, prompt: str, names: list[str] | None
) -> None:
    found = functions_of(language, prompt)
    assert found == names if names is not None else found[-1] == "add"


def test_every_language_of_the_data_set_has_a_prompt_here() -> None:
    assert {language for language, _, _ in PROMPTS} == set(LANGUAGES.values())


def test_a_row_is_the_prompt_its_function_and_the_tests() -> None:
    reference = read_row("multipl_e", MULTIPL_E["cpp"], None)
    assert (reference.language, reference.entry_point, reference.isolation) == ("cpp", "add", "separate")
    assert (reference.prefix, list(reference.stop)) == (MULTIPL_E["cpp"]["prompt"], ["\n}"])
    assert [(test.type, test.code) for test in reference.tests] == [("assert", MULTIPL_E["cpp"]["tests"])]


def test_the_tested_function_is_the_last_one_that_the_tests_use() -> None:
    helped = "function half(a){\n  return a / 2;\n}\nfunction add(a, b){\n  function rest(c){\n"
    assert read_row("multipl_e", {**MULTIPL_E["js"], "prompt": helped}, None).entry_point == "add"


def test_a_language_whose_tests_cannot_run_is_refused_with_those_that_can() -> None:
    with pytest.raises(InvalidReference, match=r"reference\.language: .* 'rkt'; the languages are py, js, ") as error:
        read_row("multipl_e", {**MULTIPL_E["js"], "language": "rkt"}, None)
    assert error.value.details["path"] == "reference.language"
