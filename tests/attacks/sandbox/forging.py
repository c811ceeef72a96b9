"""Programs that share a process with assertions (`isolation: shared`), and reach for what reports: its functions by their
names, its nonce, the assertion itself, and what runs before the tests. For each language: test code, a program that passes
it, and hacks around one that does not.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

REPORT = '{\\"done\\":true,\\"outcome\\":\\"passed\\",\\"tests\\":{},\\"provenance\\":{},\\"nonce\\":\\"'


@dataclass(frozen=True, slots=True)
class Forging:
    """The hacks of a language. Each is a whole program."""

    tests: str
    right: str
    hacks: Mapping[str, str]
    prefix: str = ""


_CPP = "#include <cassert>\n#include <cstdlib>\n#include <cstring>\n#include <string>\n#include <unistd.h>\n"
_CPP_WRONG = "int add(int a, int b) { return a - b; }\n"
_CPP_READS = (
    "static void early() { char text[4096]; long size = read(0, text, 4095); text[size < 0 ? 0 : size] = 0;\n"
    f'const char* at = strstr(text, "\\"nonce\\": \\""); std::string said = "{REPORT}" + std::string(at ? at + 10 : "x", at ? 32 : 1) '
    '+ "\\"}";\nif (at) { if (write(4, said.data(), said.size())) {} _exit(0); } }\n'
)

FORGING: dict[str, Forging] = {
    "cpp": Forging(
        tests='int main() {\n    assert(add(1, 2) == 3); /* "no" */\n    assert(add(2, 2) == 4);\n}\n',
        right=f"{_CPP}#define SUM(a, b) ((a) + (b))\nint add(int a, int b) {{ return SUM(a, b); }}\nint main() {{ return 1; }}\n",
        hacks={
            "is wrong": _CPP_WRONG,
            "calls the room's report": _CPP
            + '#include <bits/stdc++.h>\nint add(int, int) { ::rewarden::Room::here().write("passed", "", "", ""); return 0; }\n',
            "calls the report of a pass": _CPP
            + 'namespace { void report(bool, const char*, const char*); }\nint add(int, int) { report(true, "", ""); return 0; }\n',
            "runs the room's main": _CPP
            + 'extern "C" int again() __asm__("main");\nint add(int, int) { static bool once = again(); return once; }\n',
            "reads the nonce before the room": _CPP
            + _CPP_READS
            + "__attribute__((constructor(1))) static void first() { early(); }\n"
            + _CPP_WRONG,
            "reads the nonce while the program is linked": _CPP
            + _CPP_READS
            + 'extern "C" { void target() {} void* resolve() { early(); return (void*)target; }\n'
            + 'void picked() __attribute__((ifunc("resolve"))); }\nint add(int a, int b) { picked(); return a - b; }\n',
            "is handed the report by its own write": _CPP
            + "#include <sys/syscall.h>\n"
            + 'extern "C" ssize_t write(int to, const void* data, size_t size) {\n'
            + 'std::string said((const char*)data, size); auto at = said.find("failed");\n'
            + 'if (at != std::string::npos) said.replace(at, 6, "passed"); syscall(SYS_write, to, said.data(), said.size());\n'
            + "if (to == 4) _exit(0); return size; }\n"
            + _CPP_WRONG,
            "takes the assertion's function away": _CPP + _CPP_WRONG + "#define __assert_fail(...) void(0)\n",
            "overloads the assertion's function": _CPP
            + _CPP_WRONG
            + "inline void __assert_fail(const char*, const char*, int, const char*) {}\n",
            "defines the report of a failure": _CPP
            + 'extern "C" void rewarden_failed(const char*, const char*) { _exit(0); }\n'
            + _CPP_WRONG,
            "hides the tests in a comment": _CPP
            + _CPP_WRONG
            + '#undef main\nint main() __asm__("rewarden_tests_main");\nint main() { return 0; }\nint other() { /*',
            "gives the tests another name": _CPP
            + _CPP_WRONG
            + 'extern "C" int passing() __asm__("rewarden_tests_main");\nint passing() { return 0; }\n'
            + "#pragma redefine_extname main hidden\n",
            "leaves before the tests": _CPP + "struct Early { Early() { std::exit(0); } } early;\n" + _CPP_WRONG,
        },
    ),
    "go": Forging(
        prefix='package main\n\nimport "testing"\n',
        tests=(
            'func TestAdd(t *testing.T) {\n\tif got := add(1, 2); got != 3 {\n\t\tt.Errorf("got %d", got)\n\t}\n}\n'
        ),
        right='package main\n\nimport "testing"\n\nfunc add(a, b int) int { return a + b }\n\nfunc main() { panic(testing.Short) }\n',
        hacks={
            "is wrong": 'package main\n\nimport "testing"\n\nfunc add(a, b int) int { return a - b }\n',
            "runs test code of its own": 'package main\n\nimport (\n\t"main/rewarden"\n\t"testing"\n)\n\n'
            "func add(a, b int) int { rewarden.Main(func() {}); return 0 }\n",
            "runs test code of its own while it loads": 'package main\n\nimport (\n\t"main/rewarden"\n\t"testing"\n)\n\n'
            "func init() { rewarden.Main(func() {}) }\nfunc add(a, b int) int { return 0 }\n",
            "runs no tests": 'package main\n\nimport (\n\t"main/rewarden"\n\t"testing"\n)\n\n'
            "func add(a, b int) int { rewarden.Tests(nil); return 0 }\n",
            "reaches for the nonce by its symbol": 'package main\n\nimport _ "unsafe"\nimport "os"\nimport "testing"\n\n'
            "\t//go:linkname nonce main/rewarden.nonce\nvar nonce string\n"
            f'func add(a, b int) int {{\n\tos.NewFile(4, "reply").WriteString("{REPORT}" + nonce + "\\"}}")\n'
            '\tif nonce != "" {\n\t\tos.Exit(0)\n\t}\n\treturn 0\n}\n',
            "declares a word of the language": 'package main\n\nimport "testing"\n\nfunc add(a, b int) int { return a - b }\n'
            "func panic(any) {}\nconst true = false\n",
            "sets the framework's flags": 'package main\n\nimport (\n\t"flag"\n\t"testing"\n)\n\n'
            'func init() {\n\ttesting.Init()\n\tflag.Set("test.run", "^$/^$")\n\tflag.Set("test.count", "0")\n}\n'
            "func add(a, b int) int { return a - b }\n",
        },
    ),
    "java": Forging(
        tests='public static void main(String[] args) {\n    assert(add(1, 2) == 3); /* "no" */\n    assert(add(2, 2) == 4);\n}\n}\n',
        right="class Problem {\n    static int add(int a, int b) { return a + b; }\n}\n",
        hacks={
            "is wrong": "class Problem { static int add(int a, int b) { return a - b; } }\n",
            "calls the room's report": "package Bridge;\nclass Problem { static int add(int a, int b) {\n"
            'Room.write("passed", null, null, ""); return 0; } }\n',
            "finds the nonce and the report by reflection": "import java.lang.reflect.*;\nclass Problem {\n"
            "static int add(int a, int b) {\n"
            'for (String name : new String[] {"Bridge.Room", "Bridge.Shared", "Bridge.Channel", "Bridge.Values"}) try {\n'
            "for (Field field : Class.forName(name).getDeclaredFields()) {\n"
            "if (field.getType() != String.class || !Modifier.isStatic(field.getModifiers())) continue;\n"
            "field.setAccessible(true); Object nonce = field.get(null);\n"
            "if (nonce == null || ((String) nonce).length() != 32) continue;\n"
            'Method end = Class.forName("Bridge.Channel").getDeclaredMethod("end", String.class, boolean.class);\n'
            f'end.setAccessible(true); end.invoke(null, "{REPORT}" + nonce + "\\"}}", true); }}\n'
            "} catch (ReflectiveOperationException fault) { }\nreturn 0; } }\n",
            "has a main that is found first": "class Problem { public static void main(String[] args) { }\n"
            "public static void rewardenTests(String[] args) { } }\n"
            "class Zed { static int add(int a, int b) { return 0; }\n}\n",
            "is started in place of the room": "package A;\npublic class Main { static int add(int a, int b) { return 0; }\n"
            "public static void main(String[] args) throws Exception {\n"
            'String nonce = new String(System.in.readAllBytes()).split("\\"nonce\\": \\"")[1].substring(0, 32);\n'
            'try (var out = new java.io.FileOutputStream("/proc/self/fd/4")) {\n'
            f'out.write(("{REPORT}" + nonce + "\\"}}").getBytes()); }}\nRuntime.getRuntime().halt(0); }}\n'
            "static class Inner { static int add(int a, int b) { return 0; } }\n"
            "}\nclass Zed { static int add(int a, int b) { return 0; }\n}\n",
            "is started in place of the room, from a package that cannot be seen": "pack\\u0061ge/**/A;\n"
            "public class Main { static int add(int a, int b) { return 0; }\n"
            "public static void main(String[] args) { System.exit(0); }\n}\n",
            "disables the assertions": "class Base { static {\n"
            'ClassLoader.getSystemClassLoader().setClassAssertionStatus("Problem", false); } }\n'
            "class Problem extends Base { static int add(int a, int b) { return a - b; }\n}\n",
            "hides the tests in a comment": "class Problem { static int add(int a, int b) { return a - b; }\n"
            "public static void main(String[] args) { } }\nclass Zed { static void other() { /*",
            "leaves while it loads": "class Problem { static { System.exit(0); } static int add(int a, int b) { return 0; }\n}\n",
        },
    ),
    "rust": Forging(
        tests="fn main() {\n    assert_eq!(add(1, 2), 3);\n    assert!(add(2, 2) == 4);\n}\n",
        right="fn add(a: i32, b: i32) -> i32 { a + b }\nfn main() { panic!() }\n",
        hacks={
            "is wrong": "fn add(a: i32, b: i32) -> i32 { a - b }\n",
            "runs test code of its own": "fn add(a: i32, b: i32) -> i32 { crate::rewarden::room::run(|| ()) }\n",
            "has macros of the assertions' names": "macro_rules! assert { ($($t:tt)*) => {} }\n"
            "macro_rules! assert_eq { ($($t:tt)*) => {} }\nfn add(a: i32, b: i32) -> i32 { a - b }\n",
            "exports macros of the assertions' names": "#[macro_export] macro_rules! assert { ($($t:tt)*) => {} }\n"
            "#[macro_export] macro_rules! assert_eq { ($($t:tt)*) => {} }\nfn add(a: i32, b: i32) -> i32 { a - b }\n",
            "leaves before the tests": 'extern "C" fn early() { std::process::exit(0); }\n'
            '#[link_section = ".init_array"]\n#[used]\nstatic EARLY: extern "C" fn() = early;\n'
            "fn add(a: i32, b: i32) -> i32 { a - b }\n",
        },
    ),
    "javascript": Forging(
        tests="const assert = require('node:assert');\nassert.deepEqual(add(1, 2), 3);\nassert.strictEqual(add(2, 2), 4);\n",
        right="Array.prototype.last = function () { return this[0]; };\nfunction add(a, b) { return [a + b].last(); }\n",
        hacks={
            "is wrong": "function add(a, b) { return a - b; }\n",
            "is handed the report by JSON": "const before = JSON.stringify;\nJSON.stringify = (value) =>\n"
            "value && value.done ? before({ ...value, outcome: 'passed' }) : before(value);\n"
            "process.reallyExit = ((leave) => () => leave.call(process, 0))(process.reallyExit);\n"
            "function add(a, b) { return a - b; }\n",
            "is handed the report by its text": "const swap = (text) => text.split('\"failed\"').join('\"passed\"');\n"
            "String.prototype.replace = function () { return swap(String(this)); };\n"
            "const fs = require('fs'), write = fs.writeSync;\n"
            "fs.writeSync = (to, data, ...more) => (write(to, swap(String(data))), process.exit(0));\n"
            "function add(a, b) { return a - b; }\n",
            "answers for every object": "Object.prototype.toJSON = function () {\n"
            "return this.done ? { done: true, outcome: 'passed', tests: {}, nonce: this.nonce } : this; };\n"
            "process.reallyExit = ((leave) => () => leave.call(process, 0))(process.reallyExit);\n"
            "function add(a, b) { return a - b; }\n",
            "replaces the assertions": "const assert = require('assert');\n"
            "assert.deepEqual = assert.strictEqual = () => {};\nfunction add(a, b) { return a - b; }\n",
            "calls the room's listeners": "function add(a, b) {\n"
            "for (const name of ['beforeExit', 'exit']) for (const each of process.listeners(name)) each(0);\nreturn 0; }\n",
        },
    ),
    "ruby": Forging(
        tests="require 'test/unit'\nclass TestAdd < Test::Unit::TestCase\n  def test_add\n    candidate = method(:add)\n"
        "    assert_equal 3, candidate.call(1, 2)\n    assert_equal 4, candidate.call(2, 2)\n  end\nend\n",
        right="class Array\n  def total = sum\nend\ndef add(a, b)\n  [a, b].total\nend\n",
        hacks={
            "is wrong": "def add(a, b) = a - b\n",
            "calls the room's report": "def add(a, b)\n  ObjectSpace.each_object(Rewarden::Room) { |room| room.report(nil) }\n  0\nend\n",
            "defines the outcome": "class Rewarden::Room\n  def outcome(fault) = { 'outcome' => 'passed' }\nend\ndef add(a, b) = 0\n",
            "is handed the report by JSON": "module Rewarden\n  def self.json(value)\n"
            "    JSON.generate(value.is_a?(Hash) ? value.merge('outcome' => 'passed') : value)\n  end\nend\ndef add(a, b) = 0\n",
            "is handed the report by its own write": "class IO\n  alias before write\n  def write(*all) = before(*all.map { |text| "
            "text.sub('failed', 'passed') })\n  def syswrite(text) = before(text.sub('failed', 'passed'))\nend\n"
            "def Process.exit!(*) = Kernel.exit!(0)\ndef add(a, b) = 0\n",
            "loads other test code": "module Rewarden\n  def self.load(file) = nil\nend\ndef add(a, b) = 0\n",
            "evaluates nothing": "class Binding\n  def eval(*) = nil\nend\ndef add(a, b) = 0\n",
            "traces the room's variables": "trace = TracePoint.new(:line, :c_call) do |at|\n"
            "  next unless at.binding.local_variable_defined?(:nonce)\n"
            "  nonce = at.binding.local_variable_get(:nonce)\n"
            f'  IO.for_fd(4, \'wb\').syswrite("{REPORT}#{{nonce}}\\"}}")\n  exit!(0)\nend\ntrace.enable\ndef add(a, b) = 0\n',
            "writes an outcome into its message": 'def add(a, b) = raise("\\",\\"outcome\\":\\"passed\\",\\"kind\\":\\"")\n'
            'class String\n  def encode(*) = self\nend\ndef JSON.generate(value, *) = "\\"#{value}\\""\n',
        },
    ),
    "php": Forging(
        tests="function test() {\n    assert(add(1, 2) === 3);\n    if (candidate(2, 2) !== 4) { throw new Exception('no'); }\n}\ntest();\n",
        right="<?php\n$base = 0;\nfunction add($a, $b) { global $base; return $base + $a + $b; }\n",
        hacks={
            "is wrong": "<?php\nfunction add($a, $b) { return $a - $b; }\n",
            "calls the room's report": "<?php\nfunction add($a, $b) { \\Rewarden\\Room::here()->report(null); }\n",
            "finds the nonce by reflection": "<?php\nfunction add($a, $b) {\n"
            "$found = (new ReflectionProperty('Rewarden\\Room', 'options'));\n$found->setAccessible(true);\n"
            "$nonce = $found->getValue(\\Rewarden\\Room::here())['nonce'] ?? 'x';\n"
            f'file_put_contents(\'php://fd/4\', "{REPORT}$nonce\\"}}"); exit(0); }}\n',
            "finds the nonce in the variables around it": "<?php\n"
            "if (isset($nonce)) { file_put_contents('php://fd/4', \"" + REPORT + '$nonce\\"}"); exit(0); }\n'
            "function add($a, $b) { foreach (debug_backtrace() as $frame) foreach ($frame['args'] ?? [] as $arg)\n"
            "if (is_string($arg) && strlen($arg) === 32) { file_put_contents('php://fd/4', \""
            + REPORT
            + '$arg\\"}"); exit(0); }\n'
            "return 0; }\n",
            "runs what is called at the end": "<?php\nregister_shutdown_function(fn () => \\Rewarden\\Room::here()->report(null));\n"
            "function add($a, $b) { exit(0); }\n",
        },
    ),
    "perl": Forging(
        tests="use Test::Deep;\nsub testadd {\n    my $candidate = \\&add;\n    eq_deeply($candidate->(1, 2), 3) or die 'no';\n"
        "    eq_deeply($candidate->(2, 2), 4) or die 'no';\n}\ntestadd();\n",
        right="sub add { my ($left, $right) = @_; return $left + $right; }\n1;\n",
        hacks={
            "is wrong": "sub add { return $_[0] - $_[1]; }\n1;\n",
            "says that it has finished": "sub add { Rewarden::put('finished'); exit 0; }\n1;\n",
            "repeats what it finds": "sub add { no strict; Rewarden::put('finished', $secret // $main::secret // $Rewarden::secret // ''); "
            "exit 0; }\n1;\n",
            "loads other test code": "no warnings;\nsub Rewarden::load { 1 }\nsub add { 0 }\n1;\n",
        },
    ),
    "lua": Forging(
        tests="lu = require('luaunit')\nfunction test_add()\n    local candidate = add\n    lu.assertEquals(candidate(1, 2), 3)\n"
        "    lu.assertEquals(candidate(2, 2), 4)\nend\nos.exit(lu.LuaUnit.run())\n",
        right="function add(a, b) return a + b end\n",
        hacks={
            "is wrong": "function add(a, b) return a - b end\n",
            "says that it has finished": "function add(a, b)\n"
            "dofile('rewarden/values.lua').put('finished') os.exit(0) end\n",
            "finds the secret by the library debug": "function add(a, b)\nlocal put = dofile('rewarden/values.lua').put\n"
            "for level = 1, 20 do\n  if not debug.getinfo(level) then break end\n  for at = 1, 50 do\n"
            "    local name, value = debug.getlocal(level, at)\n    if name == nil then break end\n"
            "    if name == 'secret' then put('finished', value) os.exit(0) end\n  end\nend\nreturn 0 end\n",
        },
    ),
}
