"""The shim of Java: our classes find the program's methods and their declared types by reflection."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims.braces import Declared, bare, closed, declared, outermost, split
from rewarden_verifiers.execution.shims.heads import before_braces
from rewarden_verifiers.execution.shims.written import Entry, Written, after_brace, read

NAMES = frozenset({"java"})
INIT = True
TEXTS = False

IGNORED = re.compile(
    r'"""(?:\\.|[^\\])*?(?:"""|\Z)|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?|//[^\n]*|/\*.*?(?:\*/|\Z)', re.DOTALL
)
_HEAD = r"(?!return\b|new\b|else\b|throw\b|assert\b)(?:[\w@<>\[\],.?]+[ \t]+)+"
_TAIL = r"\s*(?:throws\b[^{}();]*)?(?:\{|\Z)"
_IMPORT = re.compile(r"^[ \t]*import\b[^;\n]*;", re.MULTILINE)
PACKAGE = re.compile(r"^[ \t]*package\s+([\w.]+)\s*;", re.MULTILINE)
_ESCAPE = re.compile(r"\\u+([0-9a-fA-F]{4})")
TYPE = re.compile(r"\b(?:class|interface|enum|record)\s+(\w+)")
_MAIN = re.compile(r"\bvoid\s+main\s*\(")
_TESTS = "rewardenTests"
PUBLIC = re.compile(r"\bpublic\s+(?:(?:abstract|final|sealed|strictfp)\s+)*(?:class|interface|enum|record)\s+(\w+)")
_CROSSING = (
    "Boolean Byte Short Integer Long Float Double Character String Object Number Comparable BigInteger Void Override "
    "SuppressWarnings Iterable Collection List ArrayList LinkedList Vector Stack Queue Deque ArrayDeque PriorityQueue "
    "Set HashSet LinkedHashSet TreeSet SortedSet NavigableSet Map HashMap LinkedHashMap TreeMap SortedMap NavigableMap "
    "Entry Optional"
)
"""Names of types whose values can cross."""
_TUPLES = ("Unit", "Pair", "Triplet", "Quartet", "Quintet", "Sextet")
_NODES = {
    "ListNode": "public class ListNode { public int val; public ListNode next; public ListNode() {} "
    "public ListNode(int val) { this.val = val; } "
    "public ListNode(int val, ListNode next) { this.val = val; this.next = next; } }",
    "TreeNode": "public class TreeNode { public int val; public TreeNode left, right; public TreeNode() {} "
    "public TreeNode(int val) { this.val = val; } "
    "public TreeNode(int val, TreeNode left, TreeNode right) "
    "{ this.val = val; this.left = left; this.right = right; } }",
}
"""LeetCode's classes, for programs that use them without defining them."""


def _declared(entry: Entry) -> Declared | None:
    name = (entry.name or "").rpartition(".")[2]
    if not name:
        return None
    prompt = declared(entry.prefix, name, IGNORED, _HEAD, _TAIL)
    return prompt or declared(entry.signature or "", name, IGNORED, _HEAD, _TAIL)


def _parameters(found: Declared) -> list[str]:
    return [re.sub(r"[\[\]\s]+$", "", part).split()[-1].rpartition(".")[2] for part in split(found.listed)]


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    if not entry.name:
        return "there is no entry_point, so no method can be declared for the test code"
    found = _declared(entry)
    if found is None:
        return "neither signature nor prefix declares the entry_point"
    types = [part.rpartition(" ")[0] for part in split(found.listed)]
    words = re.findall(r"\b[A-Z]\w*", " ".join([found.head, *types]))
    foreign = next((word for word in words if word not in (*_CROSSING.split(), *_TUPLES)), None)
    return None if foreign is None else f"the entry_point's declaration uses {foreign!r}, whose values cannot cross"


def _tuple(name: str, size: int) -> str:
    """Returns a class of the library javatuples, which MultiPL-E's prompts import."""
    letters = "ABCDEF"[:size]
    listed = ", ".join(f"{letter} value{at}" for at, letter in enumerate(letters))
    given = ", ".join(f"value{at}" for at in range(size))
    kinds = f"<{', '.join(letters)}>"
    parts = [
        "package org.javatuples;\nimport java.util.*;",
        f"public final class {name}{kinds} implements Iterable<Object> {{",
        *(f"private final {letter} value{at};" for at, letter in enumerate(letters)),
        f"public {name}({listed}) {{ {' '.join(f'this.value{at} = value{at};' for at in range(size))} }}",
        f"public static {kinds} {name}{kinds} with({listed}) {{ return new {name}<>({given}); }}",
        *(f"public {letter} getValue{at}() {{ return value{at}; }}" for at, letter in enumerate(letters)),
        f"public List<Object> toList() {{ return Arrays.asList(new Object[] {{{given}}}); }}",
        "public Object getValue(int at) { return toList().get(at); }",
        f"public int getSize() {{ return {size}; }}",
        "public boolean contains(Object value) { return toList().contains(value); }",
        "public Iterator<Object> iterator() { return toList().iterator(); }",
        f"public boolean equals(Object other) {{ return other instanceof {name}<{', '.join('?' * size)}> same && "
        "toList().equals(same.toList()); }",
        "public int hashCode() { return toList().hashCode(); }",
        "public String toString() { return toList().toString(); }",
    ]
    return "\n".join([*parts, "}"])


def _beside(code: str) -> dict[str, str]:
    """Returns the classes that code uses but neither defines nor gets from Java."""
    made: dict[str, str] = {}
    if "org.javatuples" in code:
        used = [(name, at + 1) for at, name in enumerate(_TUPLES) if name == "Pair" or re.search(rf"\b{name}\b", code)]
        made |= {f"org/javatuples/{name}.java": _tuple(name, size) for name, size in used}
    for name, text in _NODES.items():
        if re.search(rf"\b{name}\b", code) and not re.search(rf"\bclass\s+{name}\b", code):
            made[f"{name}.java"] = text
    return made


def file_of(code: str, otherwise: str = "Problem") -> str:
    """Returns the file name for code, which must match its public class."""
    found = PUBLIC.search(outermost(code, IGNORED))
    return f"{found[1] if found is not None else otherwise}.java"


def started(main: str, parts: Iterable[str], code: str, more: str = "") -> Written:
    """Returns a program that starts in our class `Bridge.Main`, which is found before a `Main` of the program. more:
    code in other files, for which missing classes are also provided.
    """
    texts = {f"program/{file_of(code)}": code, **_beside(f"{code}\n{more}")}
    texts |= {f"Bridge/{part}.java": read(f"java/{part}.java") for part in parts}
    start = f"package Bridge;\n\npublic class Main {{\n    public static void main(String[] args) {{ {main}; }}\n}}\n"
    return Written(start, {path: source(text) for path, text in texts.items()})


def unit(entry: Entry, code: str) -> str:
    """Returns code as a file. A continuation gets the closing braces of its class; a bare method gets a class around
    it.
    """
    if entry.prefix and code.startswith(entry.prefix):
        return closed(code, IGNORED)
    found = PACKAGE.search(code)
    if found is not None:
        code = f"{found[0].strip()} {code[: found.start()]}{code[found.end() :]}"
    if TYPE.search(bare(code, IGNORED)):
        return code
    imports = "\n".join(match[0].strip() for match in _IMPORT.finditer(code))
    return f"{imports}\nclass Problem {{\n{_IMPORT.sub('', code)}\n}}\n"


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return started("Candidate.call()", ("Candidate", "Channel", "Classes", "Values"), unit(entry, code))


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return started("Candidate.serve()", ("Candidate", "Channel", "Classes", "Values"), unit(entry, code))


def _with_main(tests: str) -> str:
    """Returns test code, after the brace that closes the function, with a main method."""
    rest = after_brace(tests)
    if re.search(r"\bmain\s*\(", rest):
        return rest
    return f"public static void main(String[] args) throws Exception {{\n{rest}\n}}\n"


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room: the prompt's class, with a method that asks the other room."""
    found = _declared(entry)
    names = _parameters(found) if found is not None else []
    before = found.before if found is not None else ""
    method = (entry.name or "").rpartition(".")[2]
    opened = TYPE.findall(bare(before, IGNORED))
    kind = opened[-1] if opened else "Problem"
    asked = f'Bridge.Room.ask({kind}.class, "{entry.name}", "{method}", new Object[] {{{", ".join(names)}}});'
    head = found.head if found is not None else ""
    tail = found.tail.partition("{")[0].strip() if found is not None else ""
    parts = [
        before if opened else f"{before}\nclass Problem {{",
        f"{head}{method}({found.listed if found is not None else ''}) {tail} {{",
        asked if re.search(r"\bvoid\s+$", head) else f"return {asked}",
        "}",
        _with_main(tests),
    ]
    code = closed("\n".join(parts), IGNORED)
    return started("Room.run()", ("Channel", "Classes", "Room", "Values"), code)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program, with the tests' methods in the candidate's class.

    Attack: open a comment or a string after the program, to hide the test code.
    """
    program = placed(unit(entry, code)).rstrip().removesuffix("}")
    rest = _MAIN.sub(f"void {_TESTS}(", _with_main(tests), count=1)
    text = closed(f'{program}\n/*""" */\n{rest}', IGNORED)
    return started(f'Shared.run("{_TESTS}")', ("Channel", "Classes", "Shared", "Values"), text)


def placed(code: str, package: str = "") -> str:
    """Returns a program moved to another package, or to none. If its package declaration is hidden, it does not
    compile. Attack: a class `Main` in a package whose name sorts before ours, which would start in place of ours.
    """
    rest = PACKAGE.sub("", code, count=1)
    seen = _ESCAPE.sub(lambda escape: chr(int(escape[1], 16)), rest)
    if re.search(r"\bpackage\b", f"{bare(rest, IGNORED)} {bare(seen, IGNORED)}"):
        return "a program that runs with tests declares its package first"
    return f"package {package}; {rest}" if package else rest


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return list(before_braces(prompt))


def defines(code: str, name: str) -> bool:
    """Returns whether code declares a method of that name."""
    return declared(code, name.rpartition(".")[2], IGNORED, _HEAD, _TAIL) is not None


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's class."""
    return "\n".join(match[0].strip() for match in _IMPORT.finditer(prefix))
