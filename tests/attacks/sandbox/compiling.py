"""Compilation: the compiled source is hostile too, and its resources are limited as for any run."""

from __future__ import annotations

from rewarden_sandboxes.job import Limits, RunStatus
from tests.attacks.sandbox.attack import ROOMY, SMALL, Attack

SOON = Limits(cpu_s=3.0, wall_s=3.0, memory_mb=256, output_bytes=1 << 20, disk_mb=16)

_FINE_C = '#include <stdio.h>\nint main(void) { puts("fine"); }'
_FINE_CPP = '#include <iostream>\nint main() { std::cout << "fine\\n"; }'
_FAILS: tuple[RunStatus, ...] = ("compile_error", "runtime_error", "time_limit", "memory_limit", "output_limit")


def _python(title: str, code: str) -> Attack:
    return Attack(title=title, code=code, ends=("ok", *_FAILS), limits=SMALL, twin="print('fine')")


ATTACKS = [
    _python("is nested deeper than any parser", "(" * 100_000 + ")" * 100_000),
    _python("is one expression of a million operators", "x = 1" + "+1" * 300_000),
    _python("is a tree of unary operators", "x = " + "-" * 300_000 + "1"),
    _python("folds a constant without end", "x = 9 ** 9 ** 9 ** 9"),
    _python("folds a text without end", "x = 'x' * 10**11"),
    _python("has a tuple of everything", "x = " + "[" * 90 + "1," * 100_000 + "]" * 90),
    _python("has a million names", "\n".join(f"x{n} = {n}" for n in range(50_000))),
    _python("has a NUL", "print(1)\0"),
    _python("is in another encoding", "# -*- coding: utf-7 -*-\nprint('+AGE-')"),
    _python("is in an encoding that is none", "# -*- coding: nothing -*-\nprint(1)"),
    _python("is in an encoding that runs code", "# -*- coding: rot13 -*-\ncevag(1)"),
    _python("begins with a mark of byte order", "\ufeffprint(1)"),
    _python("ends its lines in all ways", "x = 1\rprint(x)\r\nprint(x)\n\x0cprint(x)"),
    _python("has an f-string in an f-string", "x = " + "f'{" * 3 + "1" + "}'" * 3),
    _python("matches without end", "match 1:\n" + "".join(f"    case [{'[' * 50}x{']' * 50}] if {n}:\n        pass\n" for n in range(500))),
    Attack(title="includes a file without end", language="c", code='#include "/dev/zero"\nint main(void) {}', ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="includes noise without end", language="c", code='#include "/dev/random"\nint main(void) {}', ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="includes what it was given on stdin", language="c", code='#include "/dev/stdin"\nint main(void) {}', says=b"", compile_limits=SOON, limits=ROOMY, stdin=b"#error 7\n", twin=_FINE_C),
    Attack(title="includes itself", language="c", code='#include "main.c"\n#include "main.c"\n', ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="includes the image's passwords", language="c", code='#include "/etc/shadow"\nint main(void) {}', ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="takes a file into its data", language="c", code='__asm__(".incbin \\"/etc/shadow\\"");\nint main(void) {}', ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="takes a file without end into its data", language="c", code='__asm__(".incbin \\"/dev/zero\\"");\nint main(void) {}', ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="is a bomb of templates", language="cpp", code="template <int n> struct A : A<n - 1>, A<n - 1> {};\ntemplate <class T, int n> struct B { B<B<T, n - 1>, n - 1> a; B<B<T *, n - 1>, n - 1> b; };\ntemplate <class T> struct B<T, 0> {};\nB<int, 40> b;\nint main() {}", ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_CPP),
    Attack(title="computes for ever", language="cpp", code="constexpr unsigned long f(unsigned long n) { unsigned long x = 0; for (unsigned long i = 0; i < n; i++) x = x * 31 + i; return x; }\ntemplate <int n> struct A { static constexpr unsigned long value = f(200000 + n) + A<n - 1>::value; };\ntemplate <> struct A<0> { static constexpr unsigned long value = 0; };\nstatic_assert(A<800>::value);\nint main() {}", ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_CPP),
    Attack(title="is a bomb of macros", language="c", code="#define A B B B B B B B B B B\n#define B C C C C C C C C C C\n#define C D D D D D D D D D D\n#define D E E E E E E E E E E\n#define E F F F F F F F F F F\n#define F G G G G G G G G G G\n#define G H H H H H H H H H H\n#define H I I I I I I I I I I\n#define I x+\nint main(void) { int x = 1; return A x; }", ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="makes a program of four gibibytes", language="c", code="char data[1L << 32] = {1};\nint main(void) { return data[7]; }", ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="makes a program by repetition", language="c", code='__asm__(".rept 1000000000\\n.quad 1\\n.endr");\nint main(void) {}', ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="makes the compiler complain for ever", language="cpp", code="template <int n> struct A { static_assert(n < 0, \"" + "x" * 5000 + "\"); A<n + 1> a; };\nA<0> a;\n" + "int main() { " + "x y z; " * 2000 + "}", ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_CPP),
    Attack(title="is nested deeper than any parser", language="c", code="int main(void) { return " + "(" * 200_000 + "1" + ")" * 200_000 + "; }", ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="is one line of a million operators", language="c", code="int main(void) { return 0" + "+1" * 400_000 + "; }", ends=("ok", *_FAILS), compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="writes its dependencies over the program", language="c", code='#pragma GCC dependency "/etc/passwd"\n#pragma GCC pch_preprocess "/etc/passwd"\nint main(void) { return 3; }', ends=("ok", *_FAILS), compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="is empty", language="c", code="", ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_C),
    Attack(title="is no text", language="cpp", code="\x00\x01\x02" * 1000, ends=_FAILS, compile_limits=SOON, limits=ROOMY, twin=_FINE_CPP),
]  # fmt: skip
