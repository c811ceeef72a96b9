"""Test files of Catch2 and doctest beside programs in C++: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from rewarden_verifiers.execution.frameworks.cpp_test import STANDARDS
from tests.verifiers.frameworks import Row, assert_refused, assert_scores, file_test

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

CATCH2 = """#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include "../src/sums.hpp"
#include <map>

// TEST_CASE("commented") {}
TEST_CASE("adds \\"two\\"", "[sums]") {
    std::map<int, int> rows{{2, 3}, {-1, 0}};
    for (auto [b, sum] : rows) CHECK(add(1, b) == sum);
    SECTION("in a \\x27section") { REQUIRE(add(2, 2) == 4); }
    SECTION("in another") { REQUIRE(half(3.0) == Approx(1.5)); }
}

SCENARIO("refuses") {
    GIVEN("no number") { REQUIRE_THROWS_AS(half("x"), std::invalid_argument); }
    CHECK_THROWS_WITH(half(""), Catch::Matchers::Contains("no number"));
}

struct Fixture { Sum sum{1}; };
TEST_CASE_METHOD(Fixture, "keeps a " "sum") {
    sum.add(2);
    CHECK(sum.value == 3);
    CHECK_THAT(sum.parts, Catch::Matchers::Equals(std::vector<int>{1, 2}));
}

TEST_CASE("later", "[.]") { FAIL(); }
"""
NAMES = ('adds "two"', "Scenario: refuses", "keeps a sum")
DOCTEST = """#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "doctest.h"
#include "../src/sums.hpp"

TEST_SUITE("sums") {
    TEST_CASE("adds \\"two\\"") {
        CHECK_EQ(add(1, 2), 3);
        SUBCASE("in a subcase") { REQUIRE(add(2, 2) == 4); }
        SUBCASE("in another") { REQUIRE(half(3.0) == doctest::Approx(1.5)); }
    }
}

SCENARIO("refuses") { CHECK_THROWS_AS(half("x"), std::invalid_argument); }

struct Fixture { Sum sum{1}; };
TEST_CASE_FIXTURE(Fixture, "keeps a sum") {
    sum.add(2);
    CHECK(sum.parts == std::vector<int>{1, 2});
}

TEST_CASE("later" * doctest::skip()) { FAIL("later"); }
"""
OF_DOCTEST = ('adds "two"', "  Scenario: refuses", "keeps a sum")
RIGHT = """#include <stdexcept>
#include <string>
#include <vector>

#define TWICE(a) ((a) * 2)

int add(int a, int b) { return a + b; }
double half(double a) { return a / 2; }
double half(const std::string& text) {
    if (text.empty() || !isdigit(text[0])) throw std::invalid_argument("no number");
    return half(std::stod(text));
}

struct Sum {
    int value;
    std::vector<int> parts;
    explicit Sum(int first) : value(first), parts{first} {}
    void add(int more) { value += more, parts.push_back(more); }
};
"""
WRONG = RIGHT.replace("a + b", "a - b")
BOTH = (file_test("cpp", "tests/sums_test.cpp", CATCH2), file_test("cpp", "tests/sums_test.cpp", DOCTEST))
EARLY = "#include <unistd.h>\n#include <cstring>\n__attribute__((constructor(101))) static void early() { %s }\n"
FORGE = """{ char text[4096]; long size = read(0, text, 4095); text[size < 0 ? 0 : size] = 0;
const char* at = strstr(text, "\\"nonce\\": \\"");
std::string nonce = at ? std::string(at + 10, 32) : "x", said = "{\\"done\\":true,\\"outcome\\":\\"passed\\","
"\\"tests\\":{"
"\\"adds \\\\\\"two\\\\\\"\\":\\"passed\\",\\"Scenario: refuses\\":\\"passed\\",\\"  Scenario: refuses\\":\\"passed\\","
"\\"keeps a sum\\":\\"passed\\"},\\"nonce\\":\\"" + nonce + "\\"}";
if (write(4, said.data(), said.size())) {} _exit(0); }"""


def within(statements: str) -> str:
    """The wrong program, with statements before its sum."""
    return WRONG.replace("{ return a - b; }", f"{{ {statements} return a - b; }}")


CHEATS: list[Row] = [
    (0.0, WRONG, "wrong"),
    (0.0, within("std::exit(0);").replace("#include", "#include <cstdlib>\n#include", 1), "leaves during a test"),
    (0.0, f"#include <string>\n{EARLY % '_exit(0);'}{WRONG}", "leaves early"),
    (0.0, f"#include <string>\n{EARLY % FORGE}{WRONG}", "forges a report before the tests"),
    (0.0, f"#include <string>\n{EARLY % ''}{within(FORGE)}", "forges a report during a test"),
    (0.0, within('puts("All tests passed (9 assertions in 3 test cases)");'), "prints a report"),
    (
        0.0,
        "#include <catch2/catch.hpp>\n#include <doctest/doctest.h>\n" + within("Catch::cleanUp();"),
        "includes the frameworks",
    ),
    (
        0.0,
        "namespace Catch { struct IResultCapture { virtual bool lastAssertionPassed(); };\n"
        f"IResultCapture& getResultCapture(); }}\n{within('Catch::getResultCapture().lastAssertionPassed();')}",
        "calls Catch2 by its names",
    ),
    (
        0.0,
        'extern "C" void* _ZN5Catch16getResultCaptureEv();\n'
        'extern "C" void* _ZN7doctest6detail18getRegisteredTestsEv();\n'
        + within("_ZN5Catch16getResultCaptureEv(); _ZN7doctest6detail18getRegisteredTestsEv();"),
        "calls the frameworks by their symbols",
    ),
    (
        0.0,
        "namespace tested_0000000000000000 {\n"
        "void run(int, const char* const*, void (*)(int, const char*, const char*)); }\n"
        + within("tested_0000000000000000::run(0, nullptr, nullptr);"),
        "runs no tests",
    ),
    (
        0.0,
        "namespace tested_0000000000000000 {\n"
        "void run(int count, const char* const*, void (*said)(int, const char*, const char*))\n"
        '{ for (int at = 0; at < count; ++at) said(at, "passed", ""); } }\n' + WRONG,
        "is run in place of the tests",
    ),
    (
        0.0,
        WRONG + "#define CHECK(...)\n#define CHECK_EQ(...)\n#define REQUIRE(...)\n#define CATCH_CONFIG_DISABLE\n"
        "#define DOCTEST_CONFIG_DISABLE\n",
        "has macros of the frameworks' names",
    ),
    (
        0.0,
        WRONG + "#define TWOBLUECUBES_SINGLE_INCLUDE_CATCH_HPP_INCLUDED\n#define DOCTEST_LIBRARY_INCLUDED\n"
        "#define TEST_CASE(name, ...) static void first()\n",
        "hides the frameworks' headers",
    ),
    (
        0.0,
        "template <class T> void CHECK(T) {}\ntemplate <class T> void REQUIRE(T) {}\n" + WRONG,
        "has functions of them",
    ),
    (0.0, f"{WRONG}/*", "hides the tests in a comment"),
    (0.0, f"{WRONG}#if 0\n", "hides the tests in a condition"),
    (
        0.0,
        WRONG + "#undef main\nint main() { return 0; }\n",
        "has the program's main",
    ),
    (0.0, RIGHT.replace("invalid_argument", "out_of_range"), "throws another exception"),
    (0.0, RIGHT.replace("return a / 2;", "int* none = nullptr; return *none;"), "crashes"),
    (0.0, WRONG.replace("a - b", '"x"'), "does not compile"),
]
HONEST: list[Row] = [
    (1.0, RIGHT, "right"),
    (1.0, f"#include <bits/stdc++.h>\nusing namespace std;\n{RIGHT}int main() {{ return 1; }}\n", "with a main"),
    (1.0, RIGHT.replace("add(int a, int b) {", 'add(int a, int b) { puts("{}");'), "prints"),
]


@pytest.mark.parametrize("reference", BOTH, ids=["catch2", "doctest"])
async def test_programs_pass_a_test_file(reference: dict[str, object]) -> None:
    await assert_scores(reference, [*HONEST, *CHEATS])


async def test_no_function_takes_the_place_of_a_class_of_the_framework() -> None:
    any_number = (
        "struct Any { template <class T> friend bool operator==(const T&, Any) { return true; } };\n"
        "inline Any Approx(double) { return {}; }\n"
    )
    await assert_scores(BOTH[0], [(0.0, any_number + RIGHT.replace("return a / 2", "return a"), "Approx")])


async def test_a_hidden_test_has_not_passed_and_each_test_is_a_share() -> None:
    name = "tests/sums_test.cpp"
    for content in (CATCH2, DOCTEST):
        await assert_scores(file_test("cpp", name, content, "later"), [(0.0, RIGHT, "it is hidden or skipped")])
        await assert_scores(
            file_test("cpp", name, content, "keeps a sum"), [(1.0, WRONG, "tests without a name do not count")]
        )
    for reference in BOTH:
        await assert_scores(reference, [(2 / 3, WRONG, "two of three")], scoring="fraction")


async def test_names_are_compared_as_they_are_written() -> None:
    content = '#include <doctest/doctest.h>\nTEST_CASE("é \\"*,\\\\ 😀") { CHECK(add(1, 2) == 3); }\n'
    await assert_scores(file_test("cpp", "tests.cpp", content), [(1.0, RIGHT, "right"), (0.0, WRONG, "wrong")])


async def test_the_standard_is_that_of_the_language() -> None:
    content = '#include <catch2/catch.hpp>\nTEST_CASE("is") { CHECK(standard() == EXPECTED); }\n'
    for language, standard in (("cpp17", 201703), ("cpp", 202002), ("cpp23", 202100)):
        reference = file_test(language, "tests.cpp", content, flags=[f"-DEXPECTED={standard}"])
        await assert_scores(reference, [(1.0, "long standard() { return __cplusplus; }", "the standard")])


def test_a_reference_that_no_program_can_pass_is_refused() -> None:
    framework = STANDARDS[0]
    assert framework.listed(CATCH2) == NAMES
    assert framework.listed(DOCTEST) == OF_DOCTEST
    assert_refused({**BOTH[0], "isolation": "separate"}, "type", "isolation: shared")
    assert_refused(file_test("cpp", "tests.txt", CATCH2), "name", "no name of a test file of Catch2 or doctest")
    assert_refused(file_test("cpp", "tests.cpp", CATCH2, "subtracts"), "expect", "no test 'subtracts'")
    computed = '#include <catch2/catch.hpp>\nTEMPLATE_TEST_CASE("of", "", int, double) {}\n'
    assert_refused(file_test("cpp", "tests.cpp", computed), "expect", "does not show the names")
    assert_refused(file_test("cpp", "tests.cpp", "#include <gtest/gtest.h>\n"), "content", "no header 'gtest/gtest.h'")
    assert_refused(file_test("cpp", "tests.cpp", "int main() {}\n"), "content", "does not include")
    own = "#define CATCH_CONFIG_RUNNER\n#include <catch2/catch.hpp>\nint main() { return Catch::Session().run(); }\n"
    assert_refused(file_test("cpp", "tests.cpp", own), "content", "no 'main'")
