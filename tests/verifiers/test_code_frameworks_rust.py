"""Test files of Rust's `#[test]` beside programs: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from rewarden_verifiers.execution.frameworks import rust_test
from tests.verifiers.frameworks import Row, assert_refused, assert_scores, file_test

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

TESTS = """//! Sums.
#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    // #[test] fn commented() {}
    #[test]
    fn adds() {
        let rows: HashMap<i32, i32> = HashMap::from([(2, 3), (-1, 0)]);
        for (b, sum) in rows {
            assert_eq!(add(1, b), sum, "1 + {}", b);
        }
    }

    #[test]
    #[should_panic(expected = "no [number]")]
    fn refuses() {
        half("x").unwrap();
    }

    #[test]
    fn halves() -> Result<(), String> {
        assert!(half("4")? == Some(2).unwrap());
        Ok(())
    }

    #[test]
    #[ignore]
    fn later() {
        panic!();
    }
}
"""
NAMES = ("tests::adds", "tests::refuses", "tests::halves")
REFERENCE = file_test("rust", "tests.rs", TESTS)
RIGHT = """#![allow(dead_code)]
pub fn add(a: i32, b: i32) -> i32 { a + b }
fn half(text: &str) -> Result<i32, String> {
    text.parse::<i32>().map(|n| n / 2).map_err(|_| "no [number]".to_string())
}
"""
WRONG = RIGHT.replace("a + b", "a - b")
FORGE = """
fn forge() {
    use std::io::{Read, Write};
    let mut text = String::new();
    let _ = std::fs::File::open("/proc/self/fd/0").map(|mut file| file.read_to_string(&mut text));
    let nonce = text.split("\\"nonce\\": \\"").nth(1).unwrap_or("x").get(..32).unwrap_or("x").to_string();
    let tests = "{\\"tests::adds\\":\\"passed\\",\\"tests::refuses\\":\\"passed\\",\\"tests::halves\\":\\"passed\\"}";
    let report = "{\\"done\\":true,\\"outcome\\":\\"passed\\",\\"tests\\":";
    let said = format!("{}{},\\"nonce\\":\\"{}\\"}}", report, tests, nonce);
    let mut file = std::fs::OpenOptions::new().write(true).open("/proc/self/fd/4").unwrap();
    file.write_all(said.as_bytes()).unwrap();
    std::process::exit(0);
}
"""
EARLY = """
extern "C" fn early() { std::process::exit(0); }
#[link_section = ".init_array"]
#[used]
static EARLY: extern "C" fn() = early;
"""
CHEATS: list[Row] = [
    (0.0, WRONG, "wrong"),
    (0.0, WRONG.replace("a - b", "std::process::exit(0)"), "leaves during a test"),
    (0.0, WRONG + EARLY, "leaves before the tests"),
    (0.0, WRONG.replace("a - b", "{ forge(); a }") + FORGE, "forges a report, with what it can read"),
    (0.0, WRONG.replace("a - b", '{ println!("test result: ok. 3 passed; 0 failed"); a }'), "prints a report"),
    (0.0, WRONG + "macro_rules! assert_eq { ($($t:tt)*) => {} }\npub(crate) use assert_eq;", "a macro of its own"),
    (0.0, WRONG + "#[macro_export] macro_rules! assert_eq { ($($t:tt)*) => {} }", "a macro of the crate"),
    (0.0, "macro_rules! assert_eq { ($($t:tt)*) => {} }\n" + WRONG.partition("\n")[2], "a macro before all"),
    (
        0.0,
        WRONG.replace("a - b", "{ crate::rewarden::file::run(Vec::new()); a }"),
        "runs tests of its own",
    ),
    (0.0, WRONG + "#[cfg(test)] mod tests { #[test] fn adds() {} }", "tests of the same name"),
    (0.0, WRONG.replace("a - b", "{ std::panic::set_hook(Box::new(|_| std::process::exit(0))); a - b }"), "a hook"),
    (0.0, WRONG.replace("a - b", "unsafe { *(8 as *const i32) }"), "crashes"),
    (0.0, WRONG.replace("a - b", '"x"'), "does not compile"),
    (0.0, RIGHT.replace("no [number]", "bad"), "panics with another text"),
]
HONEST: list[Row] = [
    (1.0, RIGHT, "right"),
    (1.0, RIGHT + "fn main() { panic!(); }\n#[cfg(test)] mod own { #[test] fn adds() { panic!() } }", "with a main"),
]


async def test_programs_pass_a_test_file_of_rust() -> None:
    await assert_scores(REFERENCE, [*HONEST, *CHEATS])


async def test_a_test_file_can_use_the_candidate_as_a_crate() -> None:
    tests = "use sums::add;\n\n#[test]\nfn adds() { assert_eq!((add(1, 2), crate::add(1, 1)), (3, 2)); }\n"
    reference = file_test("rust", "tests/sums.rs", tests, "adds")
    await assert_scores(reference, [(1.0, RIGHT, "right"), (0.0, WRONG, "wrong")])


async def test_an_ignored_test_has_not_passed_and_each_test_is_a_share() -> None:
    await assert_scores(file_test("rust", "tests.rs", TESTS, "tests::later"), [(0.0, RIGHT, "it is ignored")])
    await assert_scores(file_test("rust", "tests.rs", TESTS, *NAMES[1:]), [(1.0, WRONG, "others do not count")])
    await assert_scores(REFERENCE, [(2 / 3, WRONG, "two of three")], scoring="fraction")


def test_a_reference_that_no_program_can_pass_is_refused() -> None:
    assert rust_test.listed(TESTS) == NAMES
    assert_refused({**REFERENCE, "isolation": "separate"}, "type", "isolation: shared")
    assert_refused(file_test("rust", "tests.py", TESTS), "name", "no name of a test file of cargo test")
    assert_refused(file_test("rust", "tests.rs", TESTS, "adds"), "expect", "no test 'adds'")
    assert_refused(
        file_test("rust", "tests.rs", "use proptest::prelude::*;"), "content", "no crates such as 'proptest'"
    )
