"""The table of sources that is written when the distribution is built: it says what parsing says, or is not used."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from rewarden_verifiers.fingerprint import closure as closures
from rewarden_verifiers.fingerprint import modules, sources
from rewarden_verifiers.fingerprint.closure import Closure
from rewarden_verifiers.registry import BUILT_IN
from tests.imports import FOLDERS, ROOT

PACKAGES = [FOLDERS[name] for name in ("rewarden", "rewarden_sandboxes", "rewarden_verifiers")]
MODULES = sorted({*(place.partition(":")[0] for place in BUILT_IN.values()), "rewarden_verifiers.recipes.load"})


def forget() -> None:
    """Clear what was remembered of sources."""
    for cache in (closures.closure, closures._read, closures._with_docstrings, sources._table):
        cache.cache_clear()


def all_closures() -> dict[str, Closure]:
    return {module: closures.closure(module) for module in MODULES}


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The table of our sources as they are."""
    table = tmp_path_factory.mktemp("table") / "sources.json"
    sources.write(PACKAGES, table)
    return table


@pytest.fixture
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The table that is in use: none yet."""
    place = tmp_path / "sources.json"
    monkeypatch.setattr(sources, "TABLE", place)
    forget()
    yield place
    forget()


def test_closures_are_the_same_with_the_table_as_by_parsing_and_nothing_of_ours_is_parsed(
    written: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = all_closures()
    shutil.copy(written, table)
    forget()
    monkeypatch.setattr(sources, "parse", no_python)
    assert all_closures() == parsed


def no_python(source: bytes) -> None:
    """Stands in for parsing: the table leaves out nothing but templates."""
    with pytest.raises(SyntaxError):
        compile(source, "template", "exec")


def test_a_source_that_changed_since_is_parsed(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "one.py").write_text("import json\n")
    sources.write([folder], table)
    assert sources.read(b"import json\n", "package") == sources.read(b"import json  # still\n", "package")
    changed = sources.read(b"import csv\n", "package")
    assert changed is not None
    assert changed[0].modules == {"csv"}


def test_a_source_with_relative_imports_is_read_for_its_own_package(table: Path, tmp_path: Path) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "one.py").write_text("from . import words\n")
    sources.write([folder], table)
    for package in ("package", "other"):
        found = sources.read(b"from . import words\n", package)
        assert found is not None
        assert found[0].modules == {package, f"{package}.words"}


@pytest.mark.parametrize("spoilt", ["other code", "half a file"])
def test_a_table_of_other_code_or_half_a_table_is_not_used(table: Path, tmp_path: Path, spoilt: str) -> None:
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "one.py").write_text("import json\n")
    right = sources.read(b"import json\n", "package")
    sources.write([folder], table)
    content = json.loads(table.read_text())
    (entry,) = content["sources"].values()
    entry[0] = "00" * 16
    if spoilt == "other code":
        content["made_by"] = "00" * 16
    text = json.dumps(content)
    table.write_text(text[: len(text) // 2] if spoilt == "half a file" else text)
    forget()
    assert sources.read(b"import json\n", "package") == right


def test_the_table_itself_is_not_among_the_data_of_a_package(monkeypatch: pytest.MonkeyPatch) -> None:
    before = dict(modules.files_in("rewarden_verifiers.fingerprint"))
    name = "rewarden_verifiers.fingerprint/tree.py"
    monkeypatch.setattr(modules, "TABLE", before[name])
    assert name not in dict(modules.files_in("rewarden_verifiers.fingerprint"))


@pytest.mark.slow
def test_the_wheel_has_the_table_of_what_it_packs(tmp_path: Path) -> None:
    pytest.importorskip("hatchling", reason="builds the wheel")
    tree = tmp_path / "tree"
    leave = shutil.ignore_patterns("__pycache__", "sources.json")
    for name in ("client", "sandboxes", "server", "verifiers"):
        shutil.copytree(ROOT / name, tree / name, ignore=leave)
    for name in ("pyproject.toml", "README.md", "LICENSE", ".gitignore"):
        shutil.copy(ROOT / name, tree / name)
    build = ["wheel", "--quiet", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(tmp_path), str(tree)]
    subprocess.run([sys.executable, "-m", "pip", *build], check=True, capture_output=True)
    (wheel,) = tmp_path.glob("rewarden_server-*.whl")
    with ZipFile(wheel) as archive:
        packed = json.loads(archive.read("rewarden_verifiers/fingerprint/sources.json"))
        names = [name for name in archive.namelist() if name.startswith("rewarden_verifiers/") and name.endswith(".py")]
        packed_sources = [archive.read(name) for name in names]
    assert packed["made_by"] == sources._maker()
    missing = [source for source in packed_sources if sources._key(source) not in packed["sources"]]
    assert len(packed_sources) > len(missing)
    assert [source for source in missing if sources.parse(source) is not None] == []
