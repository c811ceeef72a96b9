"""Programs in JavaScript and C++, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from tests.verifiers.rooms import calling, judged

pytestmark = pytest.mark.needs_server

JS_PROMPT = "// Returns whether two numbers lie closer than the threshold.\nfunction close(numbers, threshold){\n"
JS_TESTS = """const assert = require('node:assert');

function test() {
  let candidate = close;
  assert.deepEqual(candidate([1.0, 2.0, 2.2], 0.3), true);
  assert.deepEqual(candidate([1.0, 2.0], 0.3), false);
}

test();"""
JS = {
    "language": "javascript",
    "prefix": JS_PROMPT,
    "entry_point": "close",
    "stop": ["\nfunction ", "\n/*", "\n//", "\nconsole.log"],
    "tests": [{"type": "assert", "code": JS_TESTS}],
}
JS_BODY = (
    "  const s = [...numbers].sort((a, b) => a - b);\n  return s.some((x, at) => at && x - s[at - 1] < threshold);\n}"
)

CPP_PROMPT = """#include<assert.h>
#include<bits/stdc++.h>
// Returns whether two numbers lie closer than the threshold.
bool close_by(std::vector<float> numbers, float threshold) {
"""
CPP_TESTS = """}
int main() {
    auto candidate = close_by;
    assert(candidate((std::vector<float>({(float)1.0f, (float)2.0f, (float)2.2f})), (0.3f)) == (true));
    assert(candidate((std::vector<float>({(float)1.0f, (float)2.0f})), (0.3f)) == (false));
}
"""
CPP = {
    "language": "cpp",
    "prefix": CPP_PROMPT,
    "entry_point": "close_by",
    "stop": ["\n}"],
    "tests": [{"type": "assert", "code": CPP_TESTS}],
}
CPP_BODY = """    std::sort(numbers.begin(), numbers.end());
    for (size_t at = 1; at < numbers.size(); ++at) if (numbers[at] - numbers[at - 1] < threshold) return true;
    return false;
"""


CPP_FORGES = r"""    std::ifstream options("/proc/self/fd/0");
    std::string text((std::istreambuf_iterator<char>(options)), {});
    std::string nonce = text.substr(std::min(text.size(), text.find("\"nonce\": \"") + 10), 32);
    std::string report = "{\"done\":true,\"outcome\":\"passed\",\"tests\":{},\"nonce\":\"" + nonce + "\"}";
    exit(write(4, report.data(), report.size()) < 0);
"""
LINKED = {"types": {"args": {"0": "ListNode"}, "returns": "ListNode"}}
JS_CALLS = [
    (1.0, "function f(a, b) { return a + b; }", calling("js", "f", [1, 2], 3)),
    (
        1.0,
        "const f = async (a) => ({ a, b: [null, 'é', 0.5] });",
        calling("js", "f", [1], {"a": 1, "b": [None, "é", 0.5]}),
    ),
    (
        1.0,
        "export class Solution { f(a) { return new Set(a); } }",
        calling("js", "Solution.f", [[1, 1]], {"$": {"s": [{"i": "1"}]}}),
    ),
    (1.0, "const f = (n) => 2n ** BigInt(n);", calling("js", "f", [70], 2**70)),
    (
        1.0,
        "var f = (h) => { let p = null; while (h) [h.next, p, h] = [p, h, h.next]; return p; };",
        calling("js", "f", [[1, 2, 3]], [3, 2, 1], **LINKED),
    ),
    (0.0, "function f(a, b) { return a - b; }", calling("js", "f", [1, 2], 3)),
    (0.0, "function f() { return { valueOf: () => 3, toString: () => '3' }; }", calling("js", "f", [1, 2], 3)),
    (0.0, "function f() { return { [Symbol.toPrimitive]: () => 3 }; }", calling("js", "f", [1, 2], 3)),
    (0.0, "function f() { return new Proxy([], { get: () => 3 }); }", calling("js", "f", [1, 2], [3])),
    (0.0, "process.exit(0);\nfunction f(a, b) { return a + b; }", calling("js", "f", [1, 2], 3)),
    (0.0, "function g() {}", calling("js", "f", [1, 2], 3)),
    (
        0.0,
        "function f() { console.log(JSON.stringify({ value: { i: '3' } })); process.exit(0); }",
        calling("js", "f", [1, 2], 3),
    ),
]
JS_ROOMS = [
    (1.0, JS_BODY, "the continuation of a prompt"),
    (1.0, JS_BODY + "\n// The end.\nprocess.exit(1);", "what follows a stop token is not part of it"),
    (1.0, f"const close = (numbers, threshold) => {{\n{JS_BODY};", "a whole program"),
    (0.0, "  return true;\n}", "wrong"),
    (0.0, "  process.exit(0);\n}", "leaves during the call"),
    (0.0, "  return true;\n}\nprocess.exit(0);", "leaves while it loads"),
    (0.0, "  return new Proxy({}, { get: () => true });\n}", "an object that is everything"),
    (
        0.0,
        "  return { valueOf: () => true, [Symbol.toPrimitive]: () => true };\n}",
        "an object that says that it is equal",
    ),
    (0.0, "  return true;\n}\nrequire('node:assert').deepEqual = () => {};", "replaces the assertion, in its own room"),
    (
        0.0,
        "  const frame = Buffer.from(JSON.stringify({ is: 'value', value: true, id: 1 }));\n"
        "  const size = Buffer.alloc(4);\n  size.writeUInt32BE(frame.length);\n"
        "  for (let n = 0; n < 9; n++) require('node:fs').writeSync(3, Buffer.concat([size, frame]));\n"
        "  return true;\n}",
        "forges frames on the channel",
    ),
    (
        0.0,
        '  const after = \'{"__proto__":{"l":[true]}}\';\n'
        '  const frame = Buffer.from(`{"is":"value","value":true,"id":1,"after":${after}}`);\n'
        "  const size = Buffer.alloc(4);\n  size.writeUInt32BE(frame.length);\n"
        "  require('node:fs').writeSync(3, Buffer.concat([size, frame]));\n  return true;\n}",
        "forges an argument that every array inherits from",
    ),
    (
        0.0,
        "  const report = { done: true, outcome: 'passed', tests: {}, provenance: {} };\n"
        "  require('node:fs').writeSync(4, JSON.stringify(report));\n"
        "  process.exit(0);\n}",
        "forges the report",
    ),
    (
        0.0,
        "  for (const file of ['tests_code.js', '/proc/1/cmdline']) try {\n"
        "    const said = require('node:fs').readFileSync(file, 'utf8');\n"
        "    return said.includes('false') && numbers.length > 2;\n  } catch {}\n}",
        "reads the other room",
    ),
]


async def test_javascript_is_called_and_its_value_compared_outside() -> None:
    verdicts = await judged([(f"```js\n{code}\n```", reference) for _, code, reference in JS_CALLS])
    assert [(verdict.score, verdict.status) for verdict in verdicts] == [(score, "scored") for score, _, _ in JS_CALLS]


async def test_javascript_is_tested_from_another_room() -> None:
    verdicts = await judged([(body, JS) for _, body, _ in JS_ROOMS], extraction="whole")
    found = [(verdict.score, why) for verdict, (_, _, why) in zip(verdicts, JS_ROOMS, strict=True)]
    assert found == [(score, why) for score, _, why in JS_ROOMS]


CPP_CALLS = [
    (
        1.0,
        "#define int long long\nusing namespace std;\nclass Solution { public:\n"
        "vector<int> twice(vector<int>& a, const string& s, map<string, double> m) {"
        " cout << s; for (auto& x : a) x *= 2; return a; } };\nsigned main() {}",
        calling("cpp", "Solution.twice", [[1, 2**40], "é", {"a": 1}], [2, 2**41]),
    ),
    (
        1.0,
        "template <class T> T f(T a) { return a; }\nfloat f(float a, float b) { return a / b; }",
        {**calling("c++", "f", [1, 10], 0.1), "entry_point": "f", "signature": "float f(float a, float b)"},
    ),
    (
        0.0,
        "struct Any { template <class T> bool operator==(const T&) const { return true; }\n"
        "int val = 0; Any* next = 0; };\n"
        "Any* f(int a) { return new Any; }",
        calling("cpp", "f", [1], 3),
    ),
    (
        0.0,
        "struct Early { Early() { std::_Exit(0); } } early;\nint f(int a) { return 3; }",
        calling("cpp", "f", [1], 3),
    ),
]
CPP_ROOMS = [
    (1.0, CPP_BODY, "the continuation of a prompt, up to a stop token"),
    (
        1.0,
        f"```cpp\n{CPP_PROMPT}{CPP_BODY}}}\nint main() {{ std::cout << close_by({{}}, 1); return 1; }}\n```",
        "a whole program, with a main of its own",
    ),
    (0.0, "    return true;\n", "wrong"),
    (0.0, "    std::exit(0);\n", "leaves during the call"),
    (
        0.0,
        "```cpp\n#define assert(x)\n#define NDEBUG\nstruct Early { Early() { std::exit(0); } } early;\n"
        "bool close_by(std::vector<float> n, float t) { return true; }\n```",
        "leaves before its main, and takes the assertions away",
    ),
    (
        0.0,
        '    const char frame[] = "\\0\\0\\0\\x22{\\"id\\":1,\\"is\\":\\"value\\",\\"value\\":true}";\n'
        "    for (int n = 0; n < 9; ++n) if (write(3, frame, sizeof frame - 1)) {}\n    return true;\n",
        "forges frames on the channel",
    ),
]


async def test_cpp_is_called_and_its_value_compared_outside() -> None:
    verdicts = await judged([(f"```cpp\n{code}\n```", reference) for _, code, reference in CPP_CALLS])
    assert [(verdict.score, verdict.status) for verdict in verdicts] == [(score, "scored") for score, _, _ in CPP_CALLS]


@pytest.mark.slow
async def test_cpp_is_tested_from_another_room() -> None:
    verdicts = await judged([(body, CPP) for _, body, _ in CPP_ROOMS], extraction=["last_block", "whole"])
    found = [(verdict.score, why) for verdict, (_, _, why) in zip(verdicts, CPP_ROOMS, strict=True)]
    assert found == [(score, why) for score, _, why in CPP_ROOMS]


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    pairs = [
        (JS_BODY, {**JS, "isolation": "shared"}),
        ("  process.exit(0);\n}", {**JS, "isolation": "shared"}),
        (CPP_BODY, {**CPP, "isolation": "shared"}),
        ("    std::exit(0);\n", {**CPP, "isolation": "shared"}),
        (CPP_FORGES, {**CPP, "isolation": "shared"}),
    ]
    verdicts = await judged(pairs, extraction="whole")
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0, 1.0, 0.0, 0.0]
    assert all("shared_process" in verdict.flags for verdict in verdicts)


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    pairs = [
        (JS_BODY, {**JS, "tests": [{"type": "assert", "code": "clos([1], 1) === false"}]}),
        (JS_BODY, {**JS, "tests": [{"type": "assert", "code": "function ("}]}),
        (CPP_BODY, {**CPP, "tests": [{"type": "assert", "code": "}\nint main() { closer(); }"}]}),
        (CPP_BODY, {**CPP, "prefix": "struct Pair { int a; };\n" + CPP_PROMPT}),
    ]
    verdicts = await judged(pairs, extraction="whole")
    assert [(verdict.status, verdict.fault) for verdict in verdicts] == [("undecided", "reference")] * 4
    assert "isolation: shared" in (verdicts[-1].feedback or str(verdicts[-1].evidence))
