"""The shim of Rust: our modules next to the program's, and a generated function that calls its functions with their
declared types.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims.braces import Declared, bare, closed, declared, split
from rewarden_verifiers.execution.shims.heads import SLASHES, Heads
from rewarden_verifiers.execution.shims.written import Entry, Written, after_brace, read

NAMES = frozenset({"rust", "rs"})
INIT = False
TEXTS = False

IGNORED = re.compile(
    r'\br(#*)".*?(?:"\1|\Z)|"(?:\\.|[^"\\])*"?|\'(?:\\(?:u\{[0-9a-fA-F]*\}|.)[^\']?|[^\'\\])\'|//[^\n]*'
    r"|/\*.*?(?:\*/|\Z)",
    re.DOTALL,
)
_HEAD = r"(?:pub(?:\([^)\n]*\))?[ \t]+)?(?:(?:const|unsafe)[ \t]+)*fn[ \t]+"
_USE = re.compile(r"^use\b[^;]*;", re.MULTILINE)
_MAIN = re.compile(r"^[ \t]*(?:pub[ \t]+)?fn[ \t]+main\b([ \t]*\()", re.MULTILINE)
_OWN_TYPE = re.compile(r"\b(struct|enum|trait|union|impl|type)\s+(\w+)")
_LIFETIME = re.compile(r"'\w+\s*")
_MUTABLE = re.compile(r"&\s*mut\b\s*")
_CROSSING = (
    "i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 bool char str String Vec VecDeque Option Result Box "
    "HashMap BTreeMap HashSet BTreeSet std collections string vec option boxed result mut"
)
"""Words in the types of values that can cross."""
_HEADING = re.compile(r"\A(?:\s+|//[^\n]*(?:\n|\Z)|/\*.*?\*/|#!\s*\[[^\]]*\])*", re.DOTALL)
_REACHING = re.compile(r"\b(?:link_section|no_mangle|export_name|global_asm|asm|naked_asm)\b")
"""Attacks: code that runs before ours, and functions that replace those of the C library."""
_WORDS = """#![allow(warnings)]
use super::*;
use ::std::{assert, assert_eq, assert_ne, debug_assert, debug_assert_eq, debug_assert_ne, eprintln, format};
use ::std::{matches, panic, print, println, todo, unimplemented, unreachable, vec, write, writeln};
use ::std::boxed::Box;
use ::std::option::Option::{self, None, Some};
use ::std::result::Result::{self, Err, Ok};
use ::std::string::{String, ToString};
use ::std::vec::Vec;
"""

_NODES = ("ListNode", "TreeNode")
_PASSED = "crate::rewarden::room"
_CALLED = "crate::rewarden::candidate"
_HEADS = Heads(
    ignored=rf"{SLASHES}|" + r'"(?:[^"\\]|\\.)*"',
    head=r"(?:pub(?:\([^)\n]*\))?\s+)?(?:(?:const|async|unsafe)\s+)*fn\s+NAME",
)


def _declared(entry: Entry) -> Declared | None:
    if not entry.name:
        return None
    signature = declared(entry.signature or "", entry.name, IGNORED, _HEAD)
    return signature or declared(entry.prefix, entry.name, IGNORED, _HEAD)


def _result(found: Declared) -> str:
    """Returns the type of a function's result, or an empty text."""
    text = re.split(r"\{|\bwhere\b", found.tail, maxsplit=1)[0].strip()
    return text.removeprefix("->").strip() if text.startswith("->") else ""


def _parameters(found: Declared) -> list[tuple[str, str]]:
    """Returns the pattern and the type of each parameter; a receiver has no type."""
    parts = [part.partition(":") for part in split(found.listed)]
    return [(pattern.strip().removeprefix("mut "), kind.strip()) for pattern, _, kind in parts]


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    if not entry.name:
        return "there is no entry_point, so no function can be declared for the test code"
    found = _declared(entry)
    if found is None:
        return "neither signature nor prefix declares the entry_point"
    own = _OWN_TYPE.search(bare(entry.prefix, IGNORED))
    if own is not None:
        return f"the prompt's code has {own[0]!r}, whose values cannot cross"
    parameters = _parameters(found)
    if not all(re.fullmatch(r"\w+", pattern) and kind for pattern, kind in parameters):
        return "a parameter of the entry_point has no name"
    text = _LIFETIME.sub("", " ".join([*(kind for _, kind in parameters), _result(found)]))
    foreign = next((word for word in re.findall(r"[A-Za-z_]\w*", text) if word not in _CROSSING.split()), None)
    return None if foreign is None else f"the entry_point's declaration uses {foreign!r}, whose values cannot cross"


def unit(entry: Entry, code: str) -> str:
    """Returns code as a file: a continuation gets its closing braces."""
    return closed(code, IGNORED) if entry.prefix and code.startswith(entry.prefix) else code


def _beside(code: str) -> tuple[str, dict[str, bytes]]:
    """Returns the lines and files that provide LeetCode's types if code uses them without defining them."""
    text = bare(code, IGNORED)
    lacking = [
        name for name in _NODES if re.search(rf"\b{name}\b", text) and not re.search(rf"struct\s+{name}\b", text)
    ]
    lines = [f"use crate::rewarden::{name}::*;" for name in map(_snake, lacking)]
    if re.search(r"\bimpl\s+Solution\b", text) and not re.search(r"\bstruct\s+Solution\b", text):
        lines.append("pub struct Solution;")
    return "\n".join(lines), {
        f"rewarden/{_snake(name)}.rs": source(read(f"rust/{_snake(name)}.rs")) for name in lacking
    }


def _snake(name: str) -> str:
    return name.replace("Node", "_node").lower()


def modules(*parts: str) -> dict[str, bytes]:
    """Returns the files of our module `rewarden` that these parts require."""
    return {f"rewarden/{part}.rs": source(read(f"rust/{part}.rs")) for part in ("values", "channel", *parts)}


def _started(name: str, code: str, part: str, run: str) -> Written:
    """Returns a program that has `code` as a module beside ours."""
    lines, files = _beside(code)
    files |= modules(part)
    names = " ".join(f"pub mod {path[9:-3]};" for path in files)
    main = f"#![allow(warnings)]\nmod rewarden {{ {names} }}\nmod {name};\nfn main() {{ rewarden::{part}::{run} }}\n"
    return Written(main, {**files, f"{name}.rs": source(f"{code}\n{lines}\n")})


def _answering(entry: Entry, code: str, how: str, targets: Iterable[str]) -> Written:
    arms = "".join(
        f'"{target}" => ::std::option::Option::Some((|| {{\n{_called(entry, code, target, how)}\n}})()),\n'
        for target in dict.fromkeys(targets)
    )
    function = (
        "pub fn rewarden_called(name: &str, args: &[crate::rewarden::values::Json])\n-> ::std::option::Option<"
        f"::std::result::Result<{_CALLED}::Outcome, crate::rewarden::values::Fault>> {{\n"
        f"match name {{\n{arms}_ => ::std::option::Option::None,\n}}\n}}"
    )
    return _started("solution", f"{code}\n{function}", "candidate", f"{how}(solution::rewarden_called)")


def _called(entry: Entry, code: str, target: str, how: str) -> str:
    """Returns statements that call a function with arguments of its declared types. An argument behind `&mut` is
    compared with its text from before the call.
    """
    kind, _, name = target.rpartition(".")
    signed = entry.signature if target == entry.name else None
    found = declared(signed or code, name, IGNORED, _HEAD)
    parameters = _parameters(found) if found is not None else []
    path = f"{kind}::{name}" if kind else name
    if parameters and not parameters[0][1]:  # a receiver
        parameters = parameters[1:]
        path = f"{_object(code, kind)}.{name}"
    lines, given, after = [], [], []
    for at, (_, declared_type) in enumerate(parameters):
        owned = _LIFETIME.sub("", declared_type)
        passed = f"a{at}"
        if _MUTABLE.match(owned):
            owned = _MUTABLE.sub("", owned, count=1)
            owned = f"Vec<{owned[1:-1]}>" if re.fullmatch(r"\[[^;]*\]", owned) else owned
            passed = f"&mut a{at}"
            after.append(f"done.argument({at}, before{at}, &a{at})?;")
        lines.append(f"let mut a{at}: {owned} = {_CALLED}::argument(args, {at}, {len(parameters)})?;")
        if passed != f"a{at}":
            lines.append(f"let before{at} = crate::rewarden::values::encoded(&a{at})?;")
        given.append(passed)
    value = f"{path}({', '.join(given)})"
    if how == "call" and found is not None and re.match(r"(?:\w+::)*Result\s*<", _result(found)):
        value = f"match {value} {{ Ok(value) => value, Err(fault) => return {_CALLED}::raised(fault) }}"
    lines += [
        f"let mut done = {_CALLED}::Outcome::new(crate::rewarden::values::encoded(&{value})?);",
        *after,
        "::std::result::Result::Ok(done)",
    ]
    return "\n".join(lines)


def _object(code: str, kind: str) -> str:
    """Returns an expression that constructs an object."""
    maker = re.search(r"\bfn\s+new\s*\(\s*\)", bare(code, IGNORED))
    return f"{kind}::new()" if maker is not None else f"({kind} {{}})"


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return _answering(entry, unit(entry, code), "call", targets)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return _answering(entry, unit(entry, code), "serve", [entry.name or ""])


def _with_main(tests: str) -> str:
    """Returns test code, after the brace that closes the function, with a `main`."""
    rest = after_brace(tests)
    rest = rest if _MAIN.search(rest) else f"fn main() {{\n{rest}\n}}\n"
    return _MAIN.sub(r"pub fn rewarden_tests\1", rest)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room: the prompt's code, with a stub that asks the other room."""
    found = _declared(entry)
    parameters = _parameters(found) if found is not None else []
    prompt = declared(entry.prefix, entry.name or "", IGNORED, _HEAD)
    passed = ", ".join(f"{_PASSED}::passed(&{pattern})" for pattern, _ in parameters)
    result = _result(found) if found is not None else ""
    generic = found.generic if found is not None else ""
    parts = [
        prompt.before if prompt is not None else "",
        f"fn {entry.name}{generic}({found.listed if found is not None else ''}) {f'-> {result}' if result else ''} {{",
        f'let rewarden_answer = {_PASSED}::ask("{entry.name}", &[{passed}]);',
        *(
            f"{_PASSED}::changed(&rewarden_answer, {at}, &mut *{pattern});"
            for at, (pattern, kind) in enumerate(parameters)
            if _MUTABLE.match(_LIFETIME.sub("", kind))
        ),
        f"{_PASSED}::answered(&rewarden_answer)",
        "}",
        _with_main(tests),
    ]
    return _started("tests", "\n".join(parts), "room", "run(tests::rewarden_tests)")


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    program, rest = unit(entry, code), _with_main(tests)
    lines, nodes = _beside(f"{program}\n{rest}")
    names = " ".join(f"pub mod {path[9:-3]};" for path in (*modules("room"), *nodes))
    main = (
        f"#![allow(warnings)]\nmod rewarden {{ {names} }}\nmod solution;\n"
        "fn main() { rewarden::room::run(solution::rewarden_tests::file::rewarden_tests) }\n"
    )
    files = {path: source(text) for path, text in confined(f"{program}\n{lines}\n", rest).items()}
    return Written(main, {**files, **nodes, **modules("room")})


def confined(program: str, tests: str, more: str = "") -> dict[str, str]:
    """Returns a program as the module `solution`, and the code that tests it as `solution::rewarden_tests::file`.

    A module between the two imports the standard library's names, so that the program's macros and types do not
    replace them for the tests. more: further lines of that module.
    """
    found = _REACHING.search(bare(program, IGNORED))
    if found is not None:
        program = f'compile_error!("a program that runs with tests cannot use {found[0]}");'
    return {
        # First, so that the program's macros do not apply to it.
        "solution.rs": _headed(program, '#[path = "rewarden_tests.rs"]\npub mod rewarden_tests;\n'),
        "rewarden_tests.rs": f"{_WORDS}{more}pub mod file {{\n{_headed(tests, 'use super::*;')}\n}}\n",
    }


def _headed(code: str, line: str) -> str:
    """Inserts a line after the inner attributes of a module's code."""
    found = _HEADING.match(code)
    place = found.end() if found is not None else 0
    return f"{code[:place]}\n{line}\n{code[place:]}"


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return _HEADS.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code declares a function of that name."""
    return declared(code, name, IGNORED, _HEAD) is not None


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return "\n".join(match[0] for match in _USE.finditer(prefix))
