"""A fingerprint covers every module and data file that a verifier's code reaches, wherever it lies."""

from __future__ import annotations

import ast
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from textwrap import dedent

import pytest

from rewarden_verifiers.fingerprint import closure as closures
from rewarden_verifiers.fingerprint import modules
from rewarden_verifiers.fingerprint.closure import Closure, closure
from rewarden_verifiers.fingerprint.fingerprint import libraries_of
from rewarden_verifiers.fingerprint.imports import asked
from rewarden_verifiers.fingerprint.modules import distributions, distributions_of, find
from rewarden_verifiers.registry import BUILT_IN, Registry

Make = Callable[..., Closure]

CACHES = (closures.closure, closures._read, closures._with_docstrings, modules.find, modules._names_in)

APART = ("rewarden_verifiers.registry", "rewarden_verifiers.fingerprint", "rewarden_verifiers.cases", "rewarden.client")

PLUGIN = {
    "plug/__init__.py": "",
    "plug/judge.py": "from .rules import rule\n\ndef judge(response): return rule(response)\n",
    "plug/rules.py": "import plug.words\n\ndef rule(text): return plug.words.WORDS\n",
    "plug/words.py": "WORDS = 1\n",
}


@pytest.fixture
def reach(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Make:
    """Writes files to a folder on the path, and gives the closure of a module there. None removes a file."""
    monkeypatch.syspath_prepend(tmp_path)

    def made(files: dict[str, str | bytes | None], module: str = "plug.judge", *plugin: str) -> Closure:
        for name, text in files.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            if text is None:
                path.unlink()
            else:
                path.write_bytes(text if isinstance(text, bytes) else dedent(text).encode())
        for cache in CACHES:
            cache.cache_clear()
        return closure(module, *(plugin or ("plug.judge",) * (module == "plug.judge")))

    return made


def own(found: Closure) -> set[str]:
    """The names in a closure that are not ours."""
    return {name for name in [*found.code, *found.data] if not name.startswith("rewarden")}


@pytest.mark.parametrize(
    ("name", "made_of"),
    [
        ("math", {"answer.math.parser", "extraction"}),
        ("label", {"answer.label.verifier", "answer.text.markup", "answer.text.folding"}),  # another verifier's modules
        ("tool_calls", {"tools.tool_calls.matching", "structure.json.strict"}),
        ("language", {"structure.languages", "words"}),
        ("code", {"execution.plan", "rewarden_sandboxes.job"}),
        ("lean", {"lean.inspection.main", "lean.inspection.kernel", "lean.inspection.selftest"}),  # runs in a room
        ("judge", {"judges.fencing", "judges/prompts/judge.reference.j2", "models/prompts/rm_process.steps.j2"}),
        ("asearcher", {"recipes.load", "recipes.reader", "recipes.judge", "recipes.shaping"}),
    ],
)
def test_it_covers_what_a_verifier_imports_and_reads(name: str, made_of: set[str]) -> None:
    found = closure(Registry().get(name).module)
    names = {name.removeprefix("rewarden_verifiers").lstrip("./") for name in [*found.code, *found.data]}
    assert made_of <= names


@pytest.mark.parametrize("name", BUILT_IN)
def test_neighbours_that_nothing_imports_are_outside(name: str) -> None:
    found = closure(Registry().get(name).module)
    assert not {module for module in found.code if module.startswith(APART)}
    assert not {file for file in found.data if file.endswith(".cases.jsonl")}


FORMS = [
    "from . import helper",
    "from .helper import a",
    "from .helper import *",
    "from ..plug import helper",
    "import plug.helper",
    "import plug.helper as other",
    "from plug import helper",
    "from plug.helper import (\n    a,\n    b,\n)",
    "def later():\n    from plug import helper",
    "class A:\n    import plug.helper",
    "try:\n    import plug.helper\nexcept ImportError:\n    pass",
    "x = 1; import plug.helper",
    "if x:\n    from \\\n        plug.helper import a",
    "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    pass\nelse:\n    import plug.helper",
]


@pytest.mark.parametrize("statement", FORMS)
def test_every_form_of_import_is_seen(statement: str) -> None:
    assert "plug.helper" in asked(ast.parse(statement), "plug").modules


@pytest.mark.parametrize("statement", ["from .helper import a", "from . import helper", "from .. import helper"])
def test_a_relative_import_of_a_script_asks_for_nothing(statement: str) -> None:
    assert asked(ast.parse(statement), "").modules == frozenset()


def test_what_only_type_checkers_see_is_not_asked_for() -> None:
    assert asked(ast.parse("import typing\nif typing.TYPE_CHECKING:\n    import plug.helper"), "plug").modules == {
        "typing"
    }


def test_a_plugin_of_three_modules_is_covered(reach: Make) -> None:
    before = reach(PLUGIN)
    assert own(before) >= {"plug/__init__.py", "plug/judge.py", "plug/rules.py", "plug/words.py"}
    assert reach({"plug/words.py": "WORDS = 2\n"}).digest != before.digest
    assert reach({"plug/words.py": "WORDS = 1  # as before\n"}).digest == before.digest


@pytest.mark.parametrize(
    "name",
    [
        "plug/deep/one.py",  # no `__init__`
        "plug/problems/two-sum/checker.py",  # no name of a module
        "plug/data/words.txt",
        "plug/grader.v2.py",
        f"plug/fast{modules.EXTENSION_SUFFIXES[0]}",
        "plug/_fast.so",
    ],
)
def test_all_of_a_plugins_package_counts_however_it_is_found(reach: Make, name: str) -> None:
    before = reach({**PLUGIN, name: "one"})
    assert name in own(before)
    assert reach({name: "two"}).digest != before.digest


def test_links_and_leftovers_of_a_package_do_no_harm(reach: Make, tmp_path: Path) -> None:
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared" / "words.txt").write_text("one")
    (tmp_path / "plug").mkdir()
    (tmp_path / "plug" / "loop").symlink_to(tmp_path / "plug")
    (tmp_path / "plug" / "gone.py").symlink_to(tmp_path / "nowhere.py")
    (tmp_path / "plug" / "prompts").symlink_to(tmp_path / "shared")
    before = reach({**PLUGIN, "plug/folder.py/x.txt": "", "plug/__pycache__/x.nbi": "one"})
    assert own(before) >= {"plug/prompts/words.txt", "plug/folder.py/x.txt"}
    assert reach({"plug/__pycache__/x.nbi": "two"}).digest == before.digest
    assert reach({"shared/words.txt": "two"}).digest != before.digest


def test_the_init_files_above_ours_run_and_so_count() -> None:
    found = closure("rewarden_verifiers.answer.label.verifier")
    assert {"rewarden_verifiers", "rewarden_verifiers.answer"} <= set(found.code)


def test_a_built_in_helper_that_a_plugin_imports_is_covered(reach: Make) -> None:
    found = reach({"plug/__init__.py": "", "plug/judge.py": "from rewarden_verifiers.answer.math.compare import same"})
    assert "rewarden_verifiers.answer.math.compare" in found.code
    assert "rewarden_verifiers.answer.math.parser" not in reach(PLUGIN).code


def test_a_helper_beside_a_script_is_covered_and_a_library_is_named(reach: Make) -> None:
    found = reach({"lone.py": "import beside, json, pytest", "beside.py": "X = 1"}, "lone")
    assert own(found) == {"lone", "beside"}
    assert found.libraries >= {"json", "pytest"}


def test_data_beside_a_script_is_covered_by_its_name(reach: Make) -> None:
    code = "from pathlib import Path\nTEXT = (Path(__file__).parent / 'words.txt').read_text()"
    assert own(reach({"lone.py": code, "words.txt": "one", "other.txt": "two"}, "lone")) == {"lone", "lone/words.txt"}


def test_what_a_script_names_is_covered(reach: Make) -> None:
    code = """\
        import importlib
        from pathlib import Path

        rule = importlib.import_module("beside")
        ENDINGS = (".scopes", "a..b", ".", "beside.", "import", "test", "json")
        ELSEWHERE = ("/", "/etc", "/usr/share", "..", "../..", "//etc")
        PROMPTS = Path(__file__).parent / "prompts"
        """
    found = own(reach({"lone.py": code, "beside.py": "", "prompts/a.txt": "", "other/b.txt": ""}, "lone"))
    assert found == {"lone", "beside", "lone/prompts/a.txt"}


def test_the_server_is_a_library_of_a_script_that_starts_one(reach: Make) -> None:
    found = reach({"lone.py": "from rewarden_server.engine.engine import Engine"}, "lone")
    assert own(found) == {"lone"}
    assert "rewarden_server" in found.libraries


def test_a_factory_in_another_package_does_not_hide_the_plugin(reach: Make) -> None:
    files = {**PLUGIN, "factory/__init__.py": "def make(x): return x"}
    for name, text in files.items():
        reach({name: text})
    before = closure("factory", "plug.judge")
    assert {"factory", "plug/judge.py"} <= own(before)


def test_the_module_that_an_entry_point_names_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    registry = Registry()
    monkeypatch.setitem(registry._modules, "toy_cpu", "tests.fingerprint.factory:toy_cpu")
    spec = registry.get("toy_cpu")
    assert (spec.module, spec.plugin) == ("tests.engine.toys", ("tests.fingerprint.factory",))


def test_a_module_beside_its_compiled_form_is_covered_in_both(reach: Make) -> None:
    compiled = f"plug/judge{modules.EXTENSION_SUFFIXES[0]}"
    before = reach({**PLUGIN, compiled: "one"})
    assert reach({compiled: "two"}).digest != before.digest


def test_a_helper_that_is_named_like_a_standard_module_is_code(reach: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    found = reach({"lone.py": "import colorsys", "colorsys.py": "X = 1"}, "lone")
    assert own(found) == {"lone", "colorsys"}


@pytest.mark.parametrize(("code", "moves"), [("PROMPT = f.__doc__", True), ("PROMPT = ''", False)])
def test_docstrings_count_where_the_package_reads_them(reach: Make, code: str, moves: bool) -> None:
    before = reach(
        {"plug/__init__.py": "", "plug/judge.py": f"from plug.f import f\n{code}", "plug/f.py": 'def f(): "A"'}
    )
    assert (reach({"plug/f.py": 'def f(): "B"'}).digest != before.digest) is moves


def test_files_that_are_not_python_count_by_their_bytes(reach: Make) -> None:
    code = "import importlib\nrule = importlib.import_module(name)"
    before = reach({"plug/__init__.py": "", "plug/judge.py": code, "plug/template.py": "def {{ name }}"})
    assert reach({"plug/template.py": "def {{ other }}"}).digest != before.digest


def test_code_that_has_no_file_leaves_the_closure_open(tmp_path: Path, reach: Make) -> None:
    with zipfile.ZipFile(tmp_path / "packed.zip", "w") as packed:
        packed.writestr("packed_helper.py", "X = 1")
    sys.path.insert(0, str(tmp_path / "packed.zip"))
    try:
        assert not reach({"plug/__init__.py": "", "plug/judge.py": "import packed_helper"}).whole
    finally:
        sys.path.remove(str(tmp_path / "packed.zip"))
    assert reach({"plug/judge.py": "import packed_helper_that_nobody_has"}).whole


# --- libraries --------------------------------------------------------------------------------------------------------


def test_libraries_are_those_that_the_code_imports() -> None:
    assert libraries_of(Registry().get("math")) == [
        "google-re2",
        "latex2sympy2-extended",
        "mpmath",
        "pydantic",
        "sympy",
    ]
    assert "jinja2" in libraries_of(Registry().get("judge"))
    assert "numpy" in libraries_of(Registry().get("box"))  # which scipy computes with


def test_distributions_of_ours_are_found_without_a_search() -> None:
    distributions.cache_clear()
    imported = {name for place in BUILT_IN.values() for name in closure(place.partition(":")[0]).libraries}
    imported |= closure("rewarden_verifiers.recipes.load").libraries
    for name in imported - sys.stdlib_module_names:
        if find(name) is not None:
            distributions_of.cache_clear()
            distributions_of(name)
    assert distributions.cache_info().misses == 0
