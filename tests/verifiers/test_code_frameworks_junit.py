"""Test files of JUnit 5 and JUnit 4 beside programs in Java: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from rewarden_verifiers.execution.frameworks import junit
from tests.verifiers.frameworks import Row, assert_refused, assert_scores, file_test

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

TESTS = """package com.acme.sums;

import static org.junit.jupiter.api.Assertions.*;

import java.util.*;
import org.junit.jupiter.api.*;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class SumsTest {
    private Sums sums;

    @BeforeEach
    void setUp() { sums = new Sums(); }

    // @Test void commented() {}
    @Test
    @DisplayName("adds { two }")
    void adds() {
        assertEquals(3, sums.add(1, 2));
        assertEquals(List.of(1, 2), sums.sorted(Arrays.asList(2, 1)));
    }

    @ParameterizedTest
    @CsvSource({"1, 2, 3", "-1, 1, 0"})
    void addsEach(int a, int b, int sum) { assertEquals(sum, sums.add(a, b)); }

    @Nested
    class Halves {
        @Test
        void refuses() { assertThrows(IllegalArgumentException.class, () -> sums.half(3)); }
    }

    @Test
    @Disabled("later")
    void later() { fail(); }
}
"""
NAMES = ("SumsTest.adds", "SumsTest.addsEach", "SumsTest.Halves.refuses")
REFERENCE = file_test("java", "SumsTest.java", TESTS)
RIGHT = """package com.acme.sums;

import java.util.*;

public class Sums {
    public int add(int a, int b) { return a + b; }
    public List<Integer> sorted(List<Integer> numbers) { Collections.sort(numbers); return numbers; }
    public int half(int a) {
        if (a % 2 != 0) throw new IllegalArgumentException("odd");
        return a / 2;
    }
}
"""
WRONG = RIGHT.replace("a + b", "a - b")
FORGE = """{ try {
    String text = new String(new java.io.FileInputStream("/proc/self/fd/0").readAllBytes());
    for (String name : new String[] {"Bridge.JUnit", "Bridge.Channel", "Bridge.Values"}) {
        for (var field : Class.forName(name).getDeclaredFields()) {
            if (!java.lang.reflect.Modifier.isStatic(field.getModifiers())) continue;
            field.setAccessible(true); text += field.get(null);
        }
    }
    int at = text.indexOf("\\"nonce\\": \\"");
    String nonce = at < 0 ? "x" : text.substring(at + 10, at + 42);
    String said = "{\\"done\\":true,\\"outcome\\":\\"passed\\",\\"nonce\\":\\"" + nonce + "\\",\\"tests\\":{"
        + "\\"SumsTest.adds\\":\\"passed\\","
        + "\\"SumsTest.addsEach\\":\\"passed\\",\\"SumsTest.Halves.refuses\\":\\"passed\\"}}";
    try (var out = new java.io.FileOutputStream("/proc/self/fd/4")) { out.write(said.getBytes()); }
    Runtime.getRuntime().halt(0);
} catch (Exception fault) { } }"""
AGAIN = """{ try {
    var run = Class.forName("Bridge.JUnit").getDeclaredMethod("run", String[].class);
    run.setAccessible(true); run.invoke(null, (Object) new String[0]);
} catch (ReflectiveOperationException fault) { } }"""


def within(statements: str) -> str:
    """The wrong program, with statements before its sum."""
    return WRONG.replace("return a - b;", f"{statements} return a - b;")


CHEATS: list[Row] = [
    (0.0, WRONG, "wrong"),
    (0.0, within("System.exit(0);"), "leaves during a test"),
    (0.0, WRONG.replace("public int add", "static { Runtime.getRuntime().halt(0); } public int add"), "leaves early"),
    (0.0, within(FORGE), "forges a report, with what it can read"),
    (0.0, within(AGAIN), "runs the room again"),
    (0.0, within('System.out.println("[ 3 tests successful ]");'), "prints a report"),
    (0.0, within("org.junit.jupiter.api.Assumptions.assumeTrue(false);"), "has its tests skipped"),
    (0.0, f"{WRONG}\nclass SumsTest {{ void adds() {{}} }}", "a class with the test class's name"),
    (
        0.0,
        f"{WRONG}\nclass Assertions {{ static void assertEquals(Object a, Object b) {{}} }}",
        "a class with the framework's name",
    ),
    (0.0, f"{WRONG}\nclass Arrays {{ static List<Integer> asList(int... all) {{ return null; }} }}", "one of Java's"),
    (
        0.0,
        WRONG.replace("package com.acme.sums;", "package org.junit.jupiter.api;").replace(
            "public class Sums", "class Assertions { public static void assertEquals(int a, int b) {} }\nclass Sums"
        ),
        "is in the framework's package",
    ),
    (0.0, RIGHT.replace("IllegalArgumentException", "ArithmeticException"), "throws another exception"),
    (0.0, WRONG.replace("a - b", '"x"'), "does not compile"),
]
HONEST: list[Row] = [
    (1.0, RIGHT, "right"),
    (1.0, RIGHT.replace("package com.acme.sums;", ""), "without a package"),
    (
        1.0,
        RIGHT.replace(
            "public int add", "public static void main(String[] args) { throw new Error(); }\npublic int add"
        ),
        "with a main",
    ),
]
FOUR = """import static org.junit.Assert.*;
import static org.hamcrest.CoreMatchers.is;

import acme.Sums;
import org.junit.Ignore;
import org.junit.Test;

public class SumsTest {
    @Test
    public void adds() { assertThat(Sums.add(1, 2), is(3)); assert Sums.add(2, 2) == 4; }

    @Test(expected = IllegalArgumentException.class)
    public void refuses() { Sums.half(3); }

    @Ignore
    @Test
    public void later() { fail(); }
}
"""
RIGHT_FOUR = """public class Sums {
    public static int add(int a, int b) { return a + b; }
    public static int half(int a) { if (a % 2 != 0) throw new IllegalArgumentException(); return a / 2; }
}
"""


async def test_programs_pass_a_test_file_of_junit_5() -> None:
    await assert_scores(REFERENCE, [*HONEST, *CHEATS])


async def test_programs_pass_a_test_file_of_junit_4() -> None:
    rows = [
        (1.0, RIGHT_FOUR, "right"),
        (0.0, RIGHT_FOUR.replace("a + b", "a - b"), "wrong"),
        (0.0, RIGHT_FOUR.replace("IllegalArgument", "Runtime").replace("RuntimeException", "Error"), "another error"),
    ]
    await assert_scores(file_test("java", "SumsTest.java", FOUR), rows)


async def test_a_disabled_test_has_not_passed_and_each_test_is_a_share() -> None:
    await assert_scores(file_test("java", "SumsTest.java", TESTS, "SumsTest.later"), [(0.0, RIGHT, "it is disabled")])
    await assert_scores(
        file_test("java", "SumsTest.java", FOUR, "SumsTest.later"), [(0.0, RIGHT_FOUR, "it is ignored")]
    )
    await assert_scores(
        file_test("java", "SumsTest.java", TESTS, NAMES[2]), [(1.0, WRONG, "tests without a name do not count")]
    )
    await assert_scores(REFERENCE, [(1 / 3, WRONG, "one of three")], scoring="fraction")
    once = RIGHT.replace("return a + b", "return a < 0 ? 1 : a + b")
    await assert_scores(REFERENCE, [(2 / 3, once, "a test passes with all its arguments")], scoring="fraction")


def test_a_reference_that_no_program_can_pass_is_refused() -> None:
    assert junit.listed(TESTS) == NAMES
    assert junit.listed(FOUR) == ("SumsTest.adds", "SumsTest.refuses")
    assert_refused({**REFERENCE, "isolation": "separate"}, "type", "isolation: shared")
    assert_refused(file_test("java", "SumsTest.kt", TESTS), "name", "no name of a test file of JUnit")
    assert_refused(file_test("java", "SumsTest.java", TESTS, "SumsTest.subtracts"), "expect", "no test 'SumsTest.sub")
    inherited = TESTS.replace("class SumsTest {", "class SumsTest extends Base {")
    assert_refused(file_test("java", "SumsTest.java", inherited), "expect", "does not show the names")
    library = "import org.mockito.Mockito;\nclass SumsTest {}\n"
    assert_refused(file_test("java", "SumsTest.java", library), "content", "no package 'org.mockito'")
