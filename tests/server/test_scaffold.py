"""`rewarden new`: the packages that it writes, and its errors. That the packages work is tested with the stranger's."""

from __future__ import annotations

from pathlib import Path

import pytest

from rewarden.__main__ import main
from rewarden.errors import InvalidRequest
from rewarden_sandboxes.languages import Registry
from rewarden_server.scaffold import PACKAGES, write

CASES = {
    "verifier": "two_words.cases.jsonl",
    "recipe": "two_words.cases.jsonl",
    "adapter": "test_two_words.py",
}
"""The file of each package's cases."""


@pytest.mark.parametrize("kind", PACKAGES)
def test_a_package_is_written_under_its_name(kind: str, tmp_path: Path) -> None:
    written = write(kind, "two_words", tmp_path / "new")
    assert sorted(path for path in (tmp_path / "new").rglob("*") if path.is_file()) == sorted(written)
    assert {path.name for path in written} >= {"pyproject.toml", "README.md", "__init__.py", CASES[kind]}
    texts = {path.name: path.read_text() for path in written}
    assert 'name = "rewarden-two-words"' in texts["pyproject.toml"]
    assert "two_words" in texts["README.md"]
    assert (tmp_path / "new/rewarden_two_words/__init__.py").is_file()
    assert not [name for name, text in texts.items() if "$name" in text or "$dashed" in text]


def test_a_language_is_a_row_an_image_and_tests(tmp_path: Path) -> None:
    folder = tmp_path / "new"
    written = {str(path.relative_to(folder)): path.read_text() for path in write("language", "two_words", folder)}
    assert set(written) == {"README.md", "languages.yaml", "image/Dockerfile", "tests/test_two_words.py"}
    assert Registry.load(folder / "languages.yaml").get("two_words").run == ("awk", "-f", "main.awk")
    assert 'client.run(code, "two_words"' in written["tests/test_two_words.py"]
    assert "{ print $1 + $2 }" in written["tests/test_two_words.py"]


@pytest.mark.parametrize("name", ["", "Two", "two-words", "2two", "two words", "../two", "class", "x" * 80])
def test_what_is_no_name_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="is not a valid name"):
        write("verifier", name, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("kind", "name", "by"),
    [
        ("recipe", "math", "`rewarden verifiers math`"),
        ("verifier", "logic_rl", "`rewarden verifiers logic_rl`"),
        ("adapter", "verl", "`python -m rewarden.adapters verl`"),
        ("adapter", "swift", "`python -m rewarden.adapters swift`"),
        ("language", "python", "docs/languages.md"),
        ("language", "py", "docs/languages.md"),
        *((kind, "server", "a package rewarden_server is installed") for kind in PACKAGES),
    ],
)
def test_a_name_that_is_taken_is_refused(kind: str, name: str, by: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match=f"is taken: {by}"):
        write(kind, name, tmp_path / "new")
    assert list(tmp_path.iterdir()) == []


def test_an_adapter_may_have_the_name_of_a_verifier(tmp_path: Path) -> None:
    assert write("adapter", "math", tmp_path / "new")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("mine")
    with pytest.raises(InvalidRequest, match=r"not empty; choose another folder with --folder"):
        write("verifier", "two_words", tmp_path)
    with pytest.raises(InvalidRequest, match="not empty"):
        write("verifier", "two_words", tmp_path / "README.md")
    assert [path.read_text() for path in tmp_path.iterdir()] == ["mine"]


def test_the_command_says_what_comes_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", "verifier", "two_words"]) == 0
    said = capsys.readouterr().out.splitlines()
    assert said[-1] == "next: pip install -e two_words && pytest two_words"
    assert [Path(line.removeprefix("wrote ")).is_file() for line in said[:-1]] == [True] * 4
    assert main(["new", "verifier", "two_words"]) == 2
    capsys.readouterr()
    assert main(["new", "language", "three_words"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "next: pytest three_words"
