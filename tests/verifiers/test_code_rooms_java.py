"""Programs in Java, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

import pytest

from tests.verifiers.compiled_rooms import Row, faults, scores
from tests.verifiers.rooms import calling, judged

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

IMPORTS = "import java.util.*;\nimport java.lang.reflect.*;\nimport org.javatuples.*;\nimport java.util.stream.*;\n"
PROMPT = f"""{IMPORTS}class Problem {{
    // Returns whether two numbers lie closer than the threshold.
    // >>> close((new ArrayList<Float>(Arrays.asList((float)1.0f, (float)2.0f))), (0.3f))
    // (false)
    public static boolean close(ArrayList<Float> numbers, float threshold) {{
"""
TESTS = """    }
    public static void main(String[] args) {
    assert(close((new ArrayList<Float>(Arrays.asList((float)1.0f, (float)2.0f, (float)2.2f))), (0.3f)) == (true));
    assert(close((new ArrayList<Float>(Arrays.asList((float)1.0f, (float)2.0f))), (0.3f)) == (false));
    }

}
"""
CLOSE = {
    "language": "java",
    "prefix": PROMPT,
    "entry_point": "close",
    "stop": ["\n    }\n"],
    "tests": [{"type": "assert", "code": TESTS}],
}
BODY = """        Collections.sort(numbers);
        for (int at = 1; at < numbers.size(); at++) if (numbers.get(at) - numbers.get(at - 1) < threshold) return true;
        return false;
    }
"""
WORDS = {
    **CLOSE,
    "prefix": IMPORTS
    + """class Problem {
    // The longest word with its length, and each word's letters; nothing for no word.
    public static Optional<Pair<String, Long>> words(ArrayList<String> all, HashMap<String, ArrayList<Long>> seen) {
""",
    "entry_point": "words",
    "tests": [
        {
            "type": "assert",
            "code": """    }
    public static void main(String[] args) {
    HashMap<String, ArrayList<Long>> seen = new HashMap<String, ArrayList<Long>>(Map.of("a", new ArrayList<Long>()));
    assert(words((new ArrayList<String>(Arrays.asList((String)"né", (String)"longer"))), seen)
        .equals(Optional.of(Pair.with("longer", 6l))));
    assert(seen.equals(new HashMap<String, ArrayList<Long>>(Map.of("né", new ArrayList<Long>(Arrays.asList((long)2l)),
        "longer", new ArrayList<Long>(Arrays.asList((long)6l))))));
    assert(words((new ArrayList<String>(Arrays.asList())), seen).equals(Optional.empty()));
    }

}
""",
        }
    ],
}
WORDS_BODY = """        seen.clear();
        for (String word : all) seen.put(word, new ArrayList<>(List.of((long) word.length())));
        Optional<String> longest = all.stream().max(Comparator.comparing(String::length));
        return longest.map(word -> Pair.with(word, (long) word.length()));
"""
FRAMES = """        try {
            Class<?> type = Class.forName("sun.misc.Unsafe");
            Field field = type.getDeclaredField("theUnsafe");
            field.setAccessible(true);
            sun.misc.Unsafe unsafe = (sun.misc.Unsafe) field.get(null);
            java.io.FileDescriptor to = new java.io.FileDescriptor();
            unsafe.putInt(to, unsafe.objectFieldOffset(java.io.FileDescriptor.class.getDeclaredField("fd")), 3);
            byte[] frame = "{\\"id\\":1,\\"is\\":\\"value\\",\\"value\\":true}".getBytes();
            java.io.FileOutputStream out = new java.io.FileOutputStream(to);
            for (int n = 0; n < 9; n++) {
                out.write(new byte[] {0, 0, 0, (byte) frame.length});
                out.write(frame);
            }
        } catch (Exception fault) {
        }
        return true;
"""
RECURSIVE = """        int end = numbers.size() - 1;
        if (end < 1) return false;
        return Math.abs(numbers.get(end) - numbers.get(end - 1)) >= threshold
            ? close(new ArrayList<>(numbers.subList(0, end)), threshold)
            : true;
"""
ROOMS: list[Row] = [
    (1.0, BODY, CLOSE, "the continuation of a prompt, up to a stop token"),
    (1.0, f"{BODY}    static int more() {{ return 1; }}\n}}", CLOSE, "what follows a stop token is not part of it"),
    (
        1.0,
        f"import java.util.*;\npublic class Problem {{\n"
        f"public static boolean close(ArrayList<Float> numbers, float threshold) {{\n{BODY}"
        "public static void main(String[] args) { System.exit(1); }\n}",
        CLOSE,
        "a whole program, with a main of its own",
    ),
    (1.0, f"static boolean close(List<Float> numbers, float threshold) {{\n{BODY}", CLOSE, "a method alone"),
    (1.0, RECURSIVE, CLOSE, "calls of the function are not a declaration of it"),
    (1.0, WORDS_BODY, WORDS, "tuples, optional values, dictionaries, and an argument that changes"),
    (0.0, "        return Optional.empty();\n", WORDS, "wrong"),
    (0.0, "        return true;\n", CLOSE, "wrong"),
    (0.0, "        return;\n", CLOSE, "does not compile"),
    (0.0, "        System.exit(0);\n        return true;\n", CLOSE, "leaves during the call"),
    (
        0.0,
        "class Problem {\nstatic { Runtime.getRuntime().halt(0); }\n"
        "static boolean close(ArrayList<Float> numbers, float threshold) { return true; }\n}",
        CLOSE,
        "leaves while it loads",
    ),
    (
        0.0,
        "        ClassLoader.getSystemClassLoader().setDefaultAssertionStatus(false);\n        return true;\n",
        CLOSE,
        "takes the assertions away, in its own room",
    ),
    (
        0.0,
        "class Problem {\npublic static Object close(ArrayList<Float> numbers, float threshold) {\n"
        "return new Object() { public boolean equals(Object other) { return true; } };\n}\n}",
        CLOSE,
        "an object that is equal to everything",
    ),
    (0.0, FRAMES, CLOSE, "forges frames on the channel"),
    (
        0.0,
        '        return new java.io.File("Bridge/Room.class").exists() && numbers.size() > 2;\n',
        CLOSE,
        "reads the other room",
    ),
]
LINKED = {"types": {"args": {"0": "ListNode"}, "returns": "ListNode"}}
CALLS: list[Row] = [
    (
        1.0,
        "class Solution { public int[] twoSum(int[] nums, int target) { return new int[] {nums[0], target}; } }",
        calling("java", "Solution.twoSum", [[1, 2], 7], [1, 7]),
        "a method of a new object",
    ),
    (
        1.0,
        "class Solution { ListNode turn(ListNode node) { ListNode before = null; while (node != null) {"
        " ListNode next = node.next; node.next = before; before = node; node = next; } return before; } }",
        calling("java", "Solution.turn", [[1, 2, 3]], [3, 2, 1], **LINKED),
        "nodes, whose class is provided",
    ),
    (
        1.0,
        "class Solution { TreeNode same(TreeNode node) { return node; } }",
        calling("java", "Solution.same", [[1, None, 2, 3]], [1, None, 2, 3]),
        "a tree",
    ),
    (
        1.0,
        "import java.util.*;\nimport java.math.BigInteger;\npublic class Main {\n"
        "static Map<String, List<Object>> f(BigInteger n, float x, char[][] c, String s) {\n"
        'return Map.of("a", Arrays.asList(n.pow(2), x, c[0][1], s, null, true)); }\n'
        "public static void main(String[] args) { System.exit(3); }\n}",
        calling("java", "f", [2**70, 0.1, [["x", "y"]], "é\ud83d"], {"a": [2**140, 0.1, "y", "é\ud83d", None, True]}),
        "big integers, floats, characters, and half of a pair",
    ),
    (
        1.0,
        "class Counter { int n; Counter(int n) { this.n = n; } int up(int by) { return n + by; } }",
        calling("java", "Counter.up", [2], 5, init=[3]),
        "arguments of the constructor",
    ),
    (0.0, "class A { static int f(int a, int b) { return a - b; } }", calling("java", "f", [1, 2], 3), "wrong"),
    (
        0.0,
        "class A { static int g(int a, int b) { return 3; } }",
        calling("java", "f", [1, 2], 3),
        "has no such method",
    ),
    (
        0.0,
        "class A { static Object f(int a, int b) { return new A(); }\n"
        'public boolean equals(Object o) { return true; } public String toString() { return "3"; } }',
        calling("java", "f", [1, 2], 3),
        "an object that is equal to everything",
    ),
    (
        0.0,
        'class A { static int f(int a, int b) { System.out.println("{\\"value\\":{\\"i\\":\\"3\\"}}");\n'
        "System.exit(0); return 0; } }",
        calling("java", "f", [1, 2], 3),
        "prints a reply and leaves",
    ),
]


async def test_java_is_tested_from_another_room() -> None:
    await scores(ROOMS, extraction="whole")


async def test_java_is_called_and_its_value_compared_outside() -> None:
    await scores([(score, f"```java\n{code}\n```", reference, why) for score, code, reference, why in CALLS])


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    shared = {**CLOSE, "isolation": "shared"}
    verdicts = await judged(
        [
            (BODY, shared),
            ("        return true;\n", shared),
            ("        System.exit(0);\n        return true;\n", shared),
        ],
        extraction="whole",
    )
    assert [verdict.score for verdict in verdicts] == [1.0, 0.0, 0.0]
    assert all("shared_process" in verdict.flags for verdict in verdicts)


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    broken = {"type": "assert", "code": "    }\n    public static void main(String[] args) { closer(); }\n}\n"}
    unused = {"type": "assert", "code": "    }\n    public static void main(String[] args) { assert(false); }\n}\n"}
    verdicts = await faults(
        [
            (BODY, {**CLOSE, "tests": [broken]}),
            (BODY, {**CLOSE, "tests": [unused]}),
            (BODY, {**CLOSE, "prefix": PROMPT.replace("ArrayList<Float> numbers", "Point numbers")}),
        ],
        extraction="whole",
    )
    assert "isolation: shared" in (verdicts[-1].feedback or str(verdicts[-1].evidence))
