"""Programs in Lua, called and tested in two rooms: honest programs pass, and no cheat does."""

from __future__ import annotations

from typing import Any

import pytest

from tests.verifiers import rooms

pytestmark = [pytest.mark.needs_server, pytest.mark.group("languages")]

CLOSE_PROMPT = """-- Returns whether two numbers lie closer than the threshold.
local function close_by(numbers, threshold)
"""
CLOSE_TESTS = """lu = require('luaunit')

function test_humaneval()
local candidate = close_by
    lu.assertEquals(candidate({1.0, 2.0, 2.2}, 0.3), true)
    lu.assertEquals(candidate({1.0, 2.0}, 0.3), false)
end

os.exit(lu.LuaUnit.run())"""
CLOSE_BODY = """    local sorted = {table.unpack(numbers)}
    table.sort(sorted)
    for at = 2, #sorted do
        if sorted[at] - sorted[at - 1] < threshold then return true end
    end
    return false
end
"""
COUNT_PROMPT = """-- Returns how often each word occurs, and the words in their order.
local function count_words(text)
"""
COUNT_TESTS = """lu = require('luaunit')

function test_humaneval()
local candidate = count_words
    lu.assertEquals(candidate("é b\\\\ é"), {words = {"b\\\\", "é"}, counts = {["é"] = 2, ["b\\\\"] = 1}})
    lu.assertEquals(candidate(""), {words = {}, counts = {}})
    local result, size = candidate("a\\nb\\nb")
    lu.assertEquals({result.counts.b, size, select("#", candidate(""))}, {2, 2, 2})
    lu.assertErrorMsgContains("no text", candidate, nil)
end

os.exit(lu.LuaUnit.run())"""
COUNT_BODY = """    if text == nil then error("no text") end
    local counts, words = {}, {}
    for word in text:gmatch("%S+") do
        if not counts[word] then words[#words + 1] = word end
        counts[word] = (counts[word] or 0) + 1
    end
    table.sort(words)
    return {words = words, counts = counts}, #words
end
"""


def row(prompt: str, tests: str, entry: str) -> dict[str, Any]:
    return {
        "language": "lua",
        "prefix": prompt,
        "entry_point": entry,
        "stop": ["\nlocal", "\nfunction", "\n--", "\n\n"],
        "tests": [{"type": "assert", "code": tests}],
    }


CLOSE = row(CLOSE_PROMPT, CLOSE_TESTS, "close_by")
COUNT = row(COUNT_PROMPT, COUNT_TESTS, "count_words")


def calling(args: list[Any], returns: Any, target: str = "f", **more: Any) -> dict[str, Any]:
    return rooms.calling("lua", target, args, returns, **more)


def echoing(value: Any) -> dict[str, Any]:
    return calling([value], value)


ECHO = "function f(x) return x end"
SOLUTION = """local Solution = {}
Solution.__index = Solution
function Solution:new(by) return setmetatable({by = by}, self) end
function Solution:f(x) return self.by * x end
function Solution.g(x) return x end
return Solution"""
PLAIN = (0.1, -7, 2**62, "é\n\\n\r", None, [], {}, [[1], {"a": [0.5, False]}], [None, 1, None])
CALLS = [
    (1.0, "local f = function(a, b) return a + b end", calling([1, 2], 3)),
    *((1.0, ECHO, echoing(value)) for value in PLAIN),
    (1.0, "function f(x) return #x, 'not this' end", calling(["éé"], 4)),
    (1.0, "function f(x) local t = {} for k in pairs(x) do t[#t + 1] = k end return t end", calling([{"a": 1}], ["a"])),
    (1.0, "function f() return {'a', 'b'} end", calling([], {"1": "a", "2": "b"})),
    (1.0, "function f() return 7 // 2, 0 end", calling([], 3)),
    (1.0, SOLUTION, calling([3], 12, "Solution.f", init=[4])),
    (1.0, SOLUTION, calling([3], 3, "Solution.g")),
    (1.0, "function f(xs) return xs end", echoing(rooms.MANY)),
    (1.0, "function f(xs) return xs end", calling([rooms.MANY], {str(number + 1): number for number in rooms.MANY})),
    (0.0, "function f(xs) return xs end", calling([rooms.MANY], {str(number + 1): 0 for number in rooms.MANY})),
    (0.0, "function f(a, b) return a - b end", calling([1, 2], 3)),
    (0.0, "function f() return 3 end", calling([], 3, "g")),
    (0.0, "function f() return '3' end", calling([], 3)),
    (0.0, "function f() return {} end", calling([], None)),
    (0.0, "function f() return setmetatable({}, {__eq = function() return true end}) end", calling([], [])),
    (0.0, "function f() local t = {} t[1] = t return t end", calling([], [])),
    (0.0, "function f() return f end", calling([], 3)),
    (0.0, "function f() os.exit(0) end", calling([], 3)),
    (0.0, "os.exit(0)\nfunction f() return 3 end", calling([], 3)),
    (0.0, "function f() error({}) end", calling([], 3)),
    (0.0, "function f() return 3", calling([], 3)),
]
FRAME = '{"id": 1, "is": "value", "value": {"l": [true]}}'
ROOMS = [
    (1.0, CLOSE_BODY, CLOSE, "the continuation of a prompt"),
    (1.0, CLOSE_BODY + "\n-- The end.\nos.exit(1)", CLOSE, "what follows a stop token is not part of it"),
    (1.0, f"{CLOSE_PROMPT}{CLOSE_BODY}", CLOSE, "a whole program"),
    (1.0, COUNT_BODY, COUNT, "texts, tables, several results and an error"),
    (0.0, "    return true\nend\n", CLOSE, "wrong"),
    (0.0, COUNT_BODY.replace("sort(words", "sort({}"), COUNT, "wrong"),
    (0.0, "    os.exit(0)\nend\n", CLOSE, "leaves during the call"),
    (0.0, "    return true\nend\nos.exit(0)", CLOSE, "leaves while it loads"),
    (0.0, "    os.execute('kill -9 $PPID $(ps -o ppid= $PPID)')\n    os.exit(0)\nend\n", CLOSE, "ends what calls it"),
    (
        0.0,
        "    return setmetatable({}, {__eq = function() return true end})\nend",
        CLOSE,
        "an object that is equal to everything",
    ),
    (
        0.0,
        "    return true\nend\n"
        "package.loaded.luaunit = {assertEquals = print, LuaUnit = {run = function() return 0 end}}",
        CLOSE,
        "replaces the assertion, in its own room",
    ),
    (
        0.0,
        "    io.open('/dev/fd/99', 'w'):write(('l 2\\ns value\\nl 1\\nT\\n'):rep(9)):close()\n    return true\nend",
        CLOSE,
        "forges answers",
    ),
    (
        0.0,
        f"    local frame = string.pack('>s4', '{FRAME}')\n"
        "    local out = io.open('/dev/fd/3', 'w') or io.popen('cat >&3', 'w')\n"
        "    out:write(frame):close()\n    return true\nend",
        CLOSE,
        "forges frames",
    ),
    (
        0.0,
        "    local out = io.popen('cat >&4', 'w')\n"
        '    out:write(\'{"done": true, "outcome": "passed", "tests": {}, "provenance": {}}\'):close()\n'
        "    return true\nend",
        CLOSE,
        "forges the report",
    ),
    (
        0.0,
        "    local code = io.popen('cat tests_code.lua /proc/*/cwd/tests_code.lua'):read('a')\n"
        "    return not code:find('assertEquals') or #numbers > 2\nend",
        CLOSE,
        "reads the other room",
    ),
    (0.0, '    return "\\xff"\nend', CLOSE, "returns what is not text"),
]


async def test_a_function_is_called_and_its_value_compared_outside() -> None:
    await rooms.assert_calls(CALLS)


async def test_a_function_is_tested_from_another_room() -> None:
    await rooms.assert_each(ROOMS)


async def test_one_process_is_the_references_choice_and_reports_with_a_nonce() -> None:
    await rooms.assert_shared(
        CLOSE, [(1.0, CLOSE_BODY), (0.0, "    return true\nend\n"), (0.0, "    os.exit(0)\nend\n")]
    )


async def test_test_code_that_no_program_can_pass_is_the_references_fault() -> None:
    pairs = [
        (CLOSE_BODY, rooms.asserting(CLOSE, "close_bye({1}, 1)")),
        (CLOSE_BODY, rooms.asserting(CLOSE, "if (")),
        (CLOSE_BODY, rooms.asserting(CLOSE, "close_by(print, 1)")),
        (CLOSE_BODY, CLOSE | {"entry_point": None}),
    ]
    await rooms.assert_references_at_fault(pairs)


async def test_a_row_of_multipl_e_is_judged_as_it_is_published() -> None:
    await rooms.assert_published("lua", CLOSE, CLOSE_BODY, "    return true\nend\n")
