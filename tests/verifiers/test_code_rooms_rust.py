"""Programs in Rust, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from tests.verifiers.compiled_rooms import Row, faults, scores
from tests.verifiers.rooms import calling, judged

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

PROMPT = """/// Returns whether two numbers lie closer than the threshold: it's {not} a sort.
/// >>> close_by(vec![1.0, 2.0], 0.3)
/// false
fn close_by(numbers: Vec<f64>, threshold: f64) -> bool {
"""
TESTS = """}

fn main() {
    let candidate = close_by;
    assert_eq!(candidate(vec![1.0, 2.0, 2.2], 0.3), true);
    assert_eq!(candidate(vec![1.0, 2.0], 0.3), false);
}
"""
CLOSE = {
    "language": "rust",
    "prefix": PROMPT,
    "entry_point": "close_by",
    "stop": ["\n}"],
    "tests": [{"type": "assert", "code": TESTS}],
}
BODY = """    let mut sorted = numbers.clone();
    sorted.sort_by(|one, other| one.partial_cmp(other).unwrap());
    sorted.windows(2).any(|pair| pair[1] - pair[0] < threshold)
"""
COUNTS = {
    **CLOSE,
    "prefix": """use std::collections::HashMap;

/// Counts the words, puts the first one behind the others, and fails where there is none.
fn counts(words: &mut Vec<String>, known: HashMap<String, isize>, by: &str)
    -> Result<(HashMap<String, isize>, Option<char>), String> {
""",
    "entry_point": "counts",
    "tests": [
        {
            "type": "assert",
            "code": """}

fn main() {
    let candidate = counts;
    let mut words = vec![String::from("né"), String::from("a")];
    let known = HashMap::from([(String::from("b"), -1)]);
    let found = HashMap::from([(String::from("a"), 1), (String::from("b"), -1), (String::from("né"), 1)]);
    assert_eq!(candidate(&mut words, known, "x"), Ok((found, Some('x'))));
    assert_eq!(words, vec!["a", "né"]);
    assert_eq!(candidate(&mut vec![], HashMap::new(), ""), Err("no words".to_string()));
}
""",
        }
    ],
}
COUNTS_BODY = """    if words.is_empty() {
        return Err("no words".to_string());
    }
    let mut known = known;
    for word in words.iter() {
        *known.entry(word.clone()).or_insert(0) += 1;
    }
    words.rotate_left(1);
    Ok((known, by.chars().next()))
"""
FRAMES = """    use std::io::Write;
    use std::os::unix::io::FromRawFd;
    let mut file = unsafe { std::fs::File::from_raw_fd(3) };
    let frame = br#"{"id":1,"is":"value","value":true}"#;
    for _ in 0..9 {
        file.write_all(&[0, 0, 0, frame.len() as u8]).unwrap();
        file.write_all(frame).unwrap();
    }
    std::mem::forget(file);
    true
"""
ROOMS: list[Row] = [
    (1.0, BODY, CLOSE, "the continuation of a prompt, up to a stop token"),
    (
        1.0,
        f"pub fn close_by(numbers: Vec<f64>, threshold: f64) -> bool {{\n{BODY}}}\nfn main() {{ panic!() }}",
        CLOSE,
        "a whole program, with a main of its own",
    ),
    (1.0, COUNTS_BODY, COUNTS, "dictionaries, results, options, and an argument that changes"),
    (0.0, COUNTS_BODY.replace("words.rotate_left(1);", ""), COUNTS, "wrong"),
    (0.0, "    true\n", CLOSE, "wrong"),
    (0.0, "    0\n", CLOSE, "does not compile"),
    (0.0, "    std::process::exit(0)\n", CLOSE, "leaves during the call"),
    (
        0.0,
        '#[used]\n#[link_section = ".init_array"]\nstatic EARLY: extern "C" fn() = early;\n'
        'extern "C" fn early() { std::process::exit(0) }\n'
        "fn close_by(numbers: Vec<f64>, threshold: f64) -> bool { true }",
        CLOSE,
        "leaves before its main",
    ),
    (0.0, FRAMES, CLOSE, "forges frames on the channel"),
    (0.0, '    std::path::Path::new("tests.rs").exists() && numbers.len() > 2\n', CLOSE, "reads the other room"),
]
LINKED = {"types": {"args": {"0": "ListNode"}, "returns": "ListNode"}}
CALLS: list[Row] = [
    (
        1.0,
        "impl Solution { pub fn two_sum(nums: Vec<i32>, target: i32) -> Vec<i32> { vec![nums[0], target] } }",
        calling("rust", "Solution.two_sum", [[1, 2], 7], [1, 7]),
        "a method of a provided type",
    ),
    (
        1.0,
        "impl Solution { pub fn turn(mut node: Option<Box<ListNode>>) -> Option<Box<ListNode>> { let mut before = None;"
        " while let Some(mut at) = node { node = at.next.take(); at.next = before; before = Some(at); } before } }",
        calling("rust", "Solution.turn", [[1, 2, 3]], [3, 2, 1], **LINKED),
        "nodes, whose type is provided",
    ),
    (
        1.0,
        "use std::rc::Rc;\nuse std::cell::RefCell;\n"
        "impl Solution { pub fn same(root: Option<Rc<RefCell<TreeNode>>>) -> Option<Rc<RefCell<TreeNode>>> { root } }",
        calling("rust", "Solution.same", [[1, None, 2, 3]], [1, None, 2, 3]),
        "a tree",
    ),
    (
        1.0,
        "struct Sums { n: i128 }\nimpl Sums { fn new() -> Self { Sums { n: 1 } }\n"
        "fn f(&self, n: u64, x: f32, grid: &[Vec<char>], word: &str) -> Result<(i128, f32, char, String), String> {\n"
        "Ok((self.n - (n as i128) * 2, x, grid[0][1], word.to_string())) } }",
        calling(
            "rs",
            "Sums.f",
            [2**64 - 1, 0.1, [["x", "y"]], "é"],
            {"$": {"t": [{"i": format(3 - 2**65, "x")}, {"f": (0.1).hex()}, "y", "é"]}},
        ),
        "a method of a new object, large integers, floats, references, and a result",
    ),
    (0.0, "fn f(a: i64, b: i64) -> i64 { a - b }", calling("rust", "f", [1, 2], 3), "wrong"),
    (
        0.0,
        'fn f(a: i64, b: i64) -> Result<i64, String> { Err("no".to_string()) }',
        calling("rust", "f", [1, 2], 3),
        "returns an error",
    ),
    (0.0, "fn f(a: i8, b: i64) -> i64 { 3 }", calling("rust", "f", [1000, 2], 3), "an argument that does not fit"),
    (
        0.0,
        'fn f(a: i64, b: i64) -> i64 { println!(r#"{{"value":{{"i":"3"}}}}"#); std::process::exit(0) }',
        calling("rust", "f", [1, 2], 3),
        "prints a reply and leaves",
    ),
]


async def test_rust_is_tested_from_another_room() -> None:
    await scores(ROOMS, extraction="whole")


async def test_rust_is_called_and_its_value_compared_outside() -> None:
    await scores([(score, f"```rust\n{code}\n```", reference, why) for score, code, reference, why in CALLS])


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    shared = {**CLOSE, "isolation": "shared"}
    verdicts = await judged(
        [(BODY, shared), ("    true\n", shared), ("    std::process::exit(0)\n", shared)],
        extraction="whole",
    )
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0, 0.0]
    assert all("shared_process" in verdict.flags for verdict in verdicts)


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    def tests(statement: str) -> list[dict[str, str]]:
        return [{"type": "assert", "code": f"}}\nfn main() {{ {statement} }}\n"}]

    verdicts = await faults(
        [
            (BODY, {**CLOSE, "tests": tests("closer();")}),
            (BODY, {**CLOSE, "tests": tests("assert!(false);")}),
            (BODY, {**CLOSE, "prefix": f"struct Point;\n{PROMPT}"}),
        ],
        extraction="whole",
    )
    assert "isolation: shared" in (verdicts[-1].feedback or str(verdicts[-1].evidence))
