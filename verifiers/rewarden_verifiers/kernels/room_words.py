"""The names that a kernel must or must not use, found in its text and in the C++ that it compiles."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence

LONGEST = 1_500
"""The maximum length of a message."""

_WORD = re.compile(r"[A-Za-z_]\w*")
_BY_NAME_TEXT = """
getattr setattr eval exec compile globals locals vars dir importlib operator attrgetter methodcaller builtins sys os
modules ctypes cffi pickle marshal codecs runpy pkgutil subprocess inspect gc __import__ __builtins__ __dict__
__getattribute__ __getattr__ __globals__ __loader__ __subclasses__ __doc__ __code__ __match_args__ _C ops _VF
open pathlib tempfile timeit pydoc doctest code codeop unittest mock Formatter get_field get_type_hints ForwardRef
"""
_BY_NAME = frozenset(_BY_NAME_TEXT.split())
"""Names with which code looks up other names at run time, runs text, or calls an operation without naming it."""

_ENGLISH = frozenset(
    ("compile", "modules", "os", "operator", "inspect", "ops", "open", "code", "mock", "dir", "globals", "locals")
)
"""Those of them that may occur in a message: a text alone runs nothing."""

_OPERATORS = {"matmul": frozenset(("__matmul__", "__rmatmul__", "__imatmul__"))}
"""The methods that call an operation without naming it."""

_LOADER, _LOADERS = "load_inline", "cpp_extension"
"""The function that compiles C++ from texts, and its module."""

_CPP_BY_NAME_TEXT = """
attr getattr eval exec import_ dlsym dlopen dlvsym asm __asm__ system popen Dispatcher singleton jit
PyRun_SimpleString PyRun_String PyImport_ImportModule PyImport_Import PyObject_GetAttrString PyObject_GetAttr
PyObject_CallMethod PyEval_EvalCode findSchema findSchemaOrThrow findOp getOperatorHandle
"""
_CPP_BY_NAME = frozenset(_CPP_BY_NAME_TEXT.split())
"""Names with which C++ looks up other names at run time."""

_PASTES = re.compile(r"##|%:|\b_Z\w+|\?\?=|\?\?/|\\[uUN]|#\s*include\s*(?![<\s])")
"""Attack: a forbidden name that the preprocessor assembles: `a##b` and its other spellings, characters given by number,
an included file that the kernel wrote; or a name that the linker knows in another form.
"""

_SPLICE = re.compile(r"\\[ \t]*\n|\"\s*\"")
"""Lines and strings that C++ joins."""


class Wrong(Exception):
    """The kernel is wrong. reason: of the verdict."""

    def __init__(self, reason: str, message: str, place: str = "") -> None:
        super().__init__(message)
        self.reason, self.place = reason, place


def check(text: str, forbidden: Sequence[str], required: Sequence[str]) -> None:
    """Raises Wrong for code that uses a forbidden name, or lacks a required one."""
    if not forbidden and not required:
        return
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise Wrong("load_failed", error_text(error)) from None
    documentation = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef))
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    used: set[str] = set()
    spelt: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            used.add(node.id)
        elif isinstance(node, ast.Attribute):
            used.add(node.attr)
        elif isinstance(node, ast.alias):
            used.update(_WORD.findall(f"{node.name} {node.asname or ''}"))
        elif isinstance(node, ast.ImportFrom):
            used.update(_WORD.findall(node.module or ""))
        elif isinstance(node, ast.keyword) and node.arg:
            used.add(node.arg)
        elif isinstance(node, ast.MatMult):
            used.add("matmul")
        elif isinstance(node, ast.Constant) and isinstance(node.value, (str, bytes)) and id(node) not in documentation:
            # Attack: the operation in a C++ source, or a name that is looked up at run time.
            word = node.value if isinstance(node.value, str) else node.value.decode("latin-1")
            spelt.update(_WORD.findall(word))
        elif isinstance(node, ast.MatchClass):
            # Attack: `case object(matmul=f)`, or a class whose `__match_args__` is computed.
            used |= {"__match_args__", *node.kwd_attrs}
    used |= {operation for operation, methods in _OPERATORS.items() if used & methods}
    compiled = set[str]()
    if forbidden and used & {_LOADER, _LOADERS}:
        compiled = {word for text in _compiled(tree) for word in _WORD.findall(text)}
    if found := sorted((used | spelt | compiled) & set(forbidden)):
        raise Wrong("forbidden_operation", f"it uses {', '.join(found)[:200]}")
    if forbidden and (found := sorted((used | (spelt - _ENGLISH)) & _BY_NAME)):
        raise Wrong("forbidden_construct", f"it can reach operations by {', '.join(found)[:200]}")
    if found := sorted(compiled & _CPP_BY_NAME):
        raise Wrong("forbidden_construct", f"its C++ can reach operations by {', '.join(found)[:200]}")
    if required and not (used | spelt) & set(required):
        raise Wrong("required_missing", f"it uses none of {', '.join(required)[:200]}")


def _compiled(tree: ast.Module) -> Iterator[str]:
    """Yields the C++ sources that a kernel compiles, with lines and strings joined. Raises Wrong for C++ that cannot be
    determined.

    Attack: a source assembled at run time, so that no text in the kernel contains the forbidden name.
    """
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call) and _named(node.func) == _LOADER]
    direct = {id(call.func) for call in calls}
    for node in ast.walk(tree):
        renamed = isinstance(node, ast.alias) and node.name.rpartition(".")[2] in (_LOADER, _LOADERS) and node.asname
        other = _named(node) == _LOADER and id(node) not in direct
        elsewhere = isinstance(node, ast.Attribute) and _named(node.value) == _LOADERS and node.attr != _LOADER
        imported = (
            isinstance(node, ast.ImportFrom)
            and (node.module or "").endswith(_LOADERS)
            and any(one.name != _LOADER for one in node.names)
        )
        if renamed or other or elsewhere or imported:
            raise Wrong("forbidden_construct", f"C++ can only be compiled by calling {_LOADER}")
    values = _assigned(tree)
    for call in calls:
        for value in (*call.args, *(keyword.value for keyword in call.keywords)):
            for source in _texts(value, values):
                text = _SPLICE.sub("", source)
                if (found := _PASTES.search(source) or _PASTES.search(text)) is not None:
                    raise Wrong("forbidden_construct", f"its C++ puts names together: {found[0]}")
                yield text


def _named(node: ast.AST) -> str | None:
    return node.id if isinstance(node, ast.Name) else node.attr if isinstance(node, ast.Attribute) else None


def _assigned(tree: ast.Module) -> dict[str, ast.expr]:
    """The values of names that are assigned exactly once."""
    stored = [node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    stored += [node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)]
    return {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name)
        if stored.count(node.targets[0].id) == 1
    }


def _texts(node: ast.expr, values: dict[str, ast.expr], depth: int = 0) -> list[str]:
    """The strings of an argument: constants, names of constants, and lists and sums of these. Raises Wrong for anything
    else.
    """
    if depth < 20:
        if isinstance(node, ast.Constant):
            return [str(node.value)]
        if isinstance(node, ast.Name) and node.id in values:
            return _texts(values[node.id], values, depth + 1)
        if isinstance(node, (ast.List, ast.Tuple)):
            return [text for one in node.elts for text in _texts(one, values, depth + 1)]
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
            left, right = _texts(node.left, values, depth + 1), _texts(node.right, values, depth + 1)
            return ["".join((*left, *right)), *left, *right]
        if isinstance(node, ast.JoinedStr):
            return ["".join(text for one in node.values for text in _texts(one, values, depth + 1))]
        if isinstance(node, ast.FormattedValue) and node.conversion == -1 and node.format_spec is None:
            return _texts(node.value, values, depth + 1)
    raise Wrong("forbidden_construct", f"the arguments of {_LOADER} must be texts that stand in the kernel")


def error_text(error: BaseException) -> str:
    """Returns the type and the message of an error, encodable as UTF-8."""
    return f"{type(error).__name__}: {error}"[:LONGEST].encode("utf-8", "replace").decode()
