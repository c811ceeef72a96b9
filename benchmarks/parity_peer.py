"""A published reward's numbers for rows; run by `parity` in a process of its own. Needs none of our code.

    PYTHON benchmarks/parity_peer.py < JOB

JOB is a JSON object: `file` is the path of the published file, `roots` lists folders to import from, `stubs` names
modules that are imported but not needed (of `ray`, remote functions run in place), `call` is an expression over the
file's names and over the fields of a row, and `rows` lists the rows. If `names` is not empty, it lists the functions
and constants that are needed: only they and the file's imports are run. The numbers go to the last line of stdout as a
JSON list; a row that the published code fails on has null.
"""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import io
import json
import random
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any


class Kind(type):
    """The type of classes without content, which have any attribute, as an enumeration has."""

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls()


class Nothing(metaclass=Kind):
    """An instance that does nothing: it and its methods can be called, and return functions unchanged as decorators
    do; its items are itself."""

    def __init__(self, *_: Any, **__: Any) -> None:
        pass

    def __call__(self, function: Any = None, **_: Any) -> Any:
        return function

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        return lambda *_, **__: lambda function: function

    def __getitem__(self, _: Any) -> Any:
        return self


class Stub(types.ModuleType):
    """A module whose names are its stubbed submodules, or classes without content that the file can derive from."""

    __path__: list[str] = []  # noqa: RUF012 - what marks a package

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if (submodule := sys.modules.get(f"{self.__name__}.{name}")) is not None:
            return submodule
        return Kind(name, (Nothing,), {})


class Here(types.ModuleType):
    """In place of `ray`: remote functions run here, and what they return is at hand."""

    __path__: list[str] = []  # noqa: RUF012 - what marks a package

    @staticmethod
    def remote(function: Any) -> Any:
        """Returns the function with itself as its `remote`."""
        function.remote = function
        return function

    @staticmethod
    def get(value: Any, **_: Any) -> Any:
        """Returns the value."""
        return value


def taken(source: str, names: list[str]) -> ast.Module:
    """Returns the imports of a file and the definitions of these names, without the rest, such as its training."""
    module = ast.parse(source)
    module.body = [
        each
        for each in module.body
        if isinstance(each, ast.Import | ast.ImportFrom)
        or (isinstance(each, ast.FunctionDef | ast.ClassDef) and each.name in names)
        or (isinstance(each, ast.Assign) and any(isinstance(to, ast.Name) and to.id in names for to in each.targets))
    ]
    return module


def load(file: str, roots: list[str], stubs: list[str], wanted: list[str]) -> dict[str, Any]:
    """Returns the names of a published file, which is imported as `published`; of these alone, if any are wanted."""
    # Our own modules go, because one of them is called `ray`.
    sys.path[:] = [*roots, *(folder for folder in sys.path if folder != str(Path(__file__).parent))]
    for name in stubs:
        sys.modules[name] = Here(name) if name == "ray" else Stub(name)
    # A package of its own, so that the file can import its neighbours relatively.
    package = types.ModuleType("published")
    package.__path__ = [str(Path(file).parent)]
    sys.modules["published"] = package
    spec = importlib.util.spec_from_file_location(f"published.{Path(file).stem}", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    if wanted:
        exec(compile(taken(Path(file).read_text(encoding="utf-8"), wanted), file, "exec"), vars(module))  # noqa: S102
    else:
        spec.loader.exec_module(module)
    return vars(module)


def main() -> None:
    """Prints the numbers."""
    job = json.load(sys.stdin)
    numbers: list[float | None] = []
    failures: Counter[str] = Counter()
    with contextlib.redirect_stdout(io.StringIO()):  # published rewards print what they see
        names = load(job["file"], job["roots"], job["stubs"], job["names"])
        call = compile(job["call"], "<call>", "eval")
        for row in job["rows"]:
            random.seed(0)  # some print a random share of their rows
            try:
                value = eval(call, {**names, **row})  # noqa: S307 - the expression is ours, from `parity_systems`
                numbers.append(None if value is None else float(value))
            except Exception as error:  # noqa: BLE001 - any exception in the published code means that it has no number
                failures[f"{type(error).__name__}: {error}"[:200]] += 1
                numbers.append(None)
    for failure, count in failures.most_common(3):
        sys.stderr.write(f"{count} rows: {failure}\n")
    sys.stdout.write("\n" + json.dumps(numbers) + "\n")


if __name__ == "__main__":
    main()
