"""A function in a file judges by its path, wherever an engine runs in this process; what it gets wrong is not scored
0."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

from rewarden.__main__ import main
from rewarden.commands.use import functions_of
from rewarden.errors import InvalidRequest, PluginError
from rewarden.types import Outcome, Sample, Use
from rewarden_server.cli.rescore import FINISHED, REFUSED
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.contract import VerifierSpec, call_pure
from rewarden_verifiers.fingerprint import closure, modules
from rewarden_verifiers.fingerprint.fingerprint import fingerprint
from rewarden_verifiers.function_file import load, outcome_of
from rewarden_verifiers.outcome import right, scored, undecided, wrong
from rewarden_verifiers.registry import Registry

Write = Callable[..., Path]

EQUAL = "from kin import same\ndef score(response, reference):\n    return same(response, reference)\n"
KIN = "def same(one, other):\n    return one.strip() == other\n"


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Write a file of functions and those next to it; what they leave in the process is gone after the test."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    # Byte code goes by size and time, in seconds: a file that is written twice in one would be read as it was.
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    monkeypatch.chdir(tmp_path)
    before = set(sys.modules)

    def forget() -> None:
        for name in set(sys.modules) - before:
            if str(getattr(sys.modules[name], "__file__", "")).startswith(str(tmp_path)):
                del sys.modules[name]
        for cached in (modules.find, modules._names_in, closure.closure, closure._read):
            cached.cache_clear()

    def made(text: str, name: str = "rewarding", **beside: str) -> Path:
        forget()
        for other, content in beside.items():
            (tmp_path / f"{other}.py").write_text(content)
        path = tmp_path / f"{name}.py"
        path.write_text(text)
        return path

    yield made
    forget()


class Scalar:
    """A number as NumPy and torch have it."""

    ndim = 0

    def __init__(self, value: Any) -> None:
        self.value = value

    def item(self) -> Any:
        """The plain number."""
        return self.value


def score(write: Write, text: str, **beside: str) -> VerifierSpec:
    """The function `score` of a file that holds this."""
    return load(f"{write(text, **beside)}:score")


def judged(spec: VerifierSpec, **arguments: Any) -> Outcome:
    return call_pure(spec, {name: arguments.get(name) for name in spec.reads})


# --- what it may be ------------------------------------------------------------------------------------------------


def test_its_arguments_name_what_it_reads(write: Write) -> None:
    spec = score(write, EQUAL, kin=KIN)
    assert (spec.name, spec.version, spec.reads) == ("rewarding.py:score", "0", ("response", "reference"))
    assert judged(spec, response=" 4", reference="4") == right()
    assert judged(spec, response="5", reference="4") == wrong()


def test_or_it_takes_the_sample(write: Write) -> None:
    spec = score(write, 'def score(sample):\n    return len(sample.response) / sample.metadata["most"]\n')
    assert judged(spec, response="ab", metadata={"most": 8}) == scored(0.25)
    assert "metadata" in spec.reads
    assert not spec.reference_required


def test_the_sample_has_all_that_a_pure_verifier_may_read(write: Write) -> None:
    spec = score(write, "def score(sample):\n    return sample == WANTED\nWANTED = None\n")
    given = {name: f"<{name}>" for name in spec.reads}
    sys.modules["rewarding"].WANTED = Sample(**given)  # type: ignore[attr-defined]
    assert judged(spec, **given) == right()


def test_a_verifier_declares_itself(write: Write) -> None:
    text = "from rewarden_verifiers.contract import verifier\nfrom rewarden_verifiers.outcome import right\n"
    path = write(f"{text}@verifier(version='3')\ndef score(response):\n    return right()\n")
    spec = load(f"{path}:score")
    assert (spec.name, spec.version) == ("rewarding.py:score", "3")


@pytest.mark.parametrize(
    ("value", "outcome"),
    [
        (True, right()),
        (False, wrong()),
        (1, scored(1.0)),
        (0.25, scored(0.25)),
        (Fraction(1, 2), scored(0.5)),
        (Scalar(0.75), scored(0.75)),
        (Scalar(True), right()),
        (scored(-1.0, range=(-1.0, 1.0)), scored(-1.0, range=(-1.0, 1.0))),
        (undecided("unclear"), undecided("unclear")),
    ],
)
def test_what_it_returns_is_an_outcome(value: Any, outcome: Outcome) -> None:
    assert outcome_of(value) == outcome


@pytest.mark.parametrize("value", [None, "1", [1.0], float("nan"), -0.5, 7])
def test_anything_else_is_a_defect(value: Any) -> None:
    with pytest.raises((TypeError, ValueError), match=r"^returned .*return "):
        outcome_of(value)


def test_what_it_raises_is_a_defect_that_is_named(write: Write) -> None:
    spec = score(write, "def score(response):\n    return 1 / 0\n")
    with pytest.raises(PluginError, match=r"verifier 'rewarding.py:score' raised ZeroDivisionError"):
        judged(spec, response="4")


# --- what it may not be --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("def other(response):\n    return 1\n", "rewarding.py has no function 'score'"),
        ("score = 1\n", "has no function 'score'"),
        ("def score(:\n", "the file cannot be loaded: SyntaxError"),
        ("import nowhere_to_be_found\n", "the file cannot be loaded: ModuleNotFoundError"),
        ("def score(text, gold):\n    return 1\n", "no argument may be named 'text'; known: response, .*'sample'"),
        ("async def score(response):\n    return 1\n", "'async def' must be declared with @verifier"),
        ("from json import dumps as score\n", "'score' is defined elsewhere"),
    ],
)
def test_what_is_no_reward_function_is_refused(write: Write, text: str, said: str) -> None:
    with pytest.raises(InvalidRequest, match=said):
        load(f"{write(text)}:score")


def test_files_that_cannot_be_imported_by_name_are_refused(write: Write) -> None:
    write("")
    for name, said in (("json", "another module is called 'json' already"), ("a.b", "dots in its name")):
        path = write("def score(response):\n    return 1\n", name)
        with pytest.raises(InvalidRequest, match=said):
            load(f"{path}:score")
    with pytest.raises(InvalidRequest, match=r"there is no file nowhere\.py"):
        load("nowhere.py:score")


def test_nothing_beside_it_takes_the_place_of_an_installed_module(write: Write) -> None:
    path = write("import rewarden, kin\ndef score(response):\n    return True\n", kin="", rewarden="1 / 0")
    assert judged(load(f"{path}:score"), response="") == right()
    assert sys.path[-1] == str(path.parent)


@pytest.mark.parametrize("name", ["math", "recipe.yaml", "x.py", "x.py:", "x.py:1", ":score", "pkg.module:function"])
def test_other_uses_name_no_function(name: str) -> None:
    assert functions_of([Use(name=name), Use(recipe={})]) == []


def test_a_registry_knows_only_the_functions_that_it_was_given(write: Write) -> None:
    """Requests and rows of files name uses too: no name loads a file by itself."""
    text = f"{write(EQUAL, kin=KIN)}:score"
    assert text not in Registry()
    assert Registry([text]).get(text).name == "rewarding.py:score"
    assert functions_of([Use(name=text), Use(name=text, params={})]) == [text]


# --- its fingerprint -----------------------------------------------------------------------------------------------


def moved(write: Write, text: str, **beside: str) -> str:
    return fingerprint(score(write, text, **beside))


def test_its_fingerprint_covers_the_file_and_the_modules_beside_it(write: Write) -> None:
    first = moved(write, EQUAL, kin=KIN)
    assert moved(write, f"# a comment\n{EQUAL}", kin=KIN) == first
    assert moved(write, EQUAL.replace("reference)\n", "reference.strip())\n"), kin=KIN) != first
    assert moved(write, EQUAL, kin=KIN.replace("strip", "rstrip")) != first
    assert moved(write, EQUAL, kin=f"import kith\n{KIN}", kith="X = 1") != moved(
        write, EQUAL, kin=f"import kith\n{KIN}", kith="X = 2"
    )


def test_its_fingerprint_does_not_depend_on_where_the_file_lies(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(EQUAL, kin=KIN)
    one = fingerprint(load(f"{tmp_path}/rewarding.py:score"))
    assert fingerprint(load("rewarding.py:score")) == one
    assert fingerprint(load("./../" + tmp_path.name + "/rewarding.py:score")) == one


# --- where it is judged --------------------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *words: str) -> tuple[int, str, str]:
    status = main(list(words))
    said = capsys.readouterr()
    return status, said.out, said.err


@pytest.mark.needs_server
def test_verify_judges_with_it_in_a_worker(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    text = EQUAL + "import os\ndef apart(response):\n    return os.getpid() != int(response)\n"
    text += "def broken(response):\n    raise KeyError(response)\n"
    write(text, kin=KIN)

    def verdict(function: str, response: str) -> tuple[int, Any]:
        words = ("--response", response, "--reference", "4", "--format", "json")
        status, out, err = run(capsys, "verify", "--use", f"rewarding.py:{function}", *words)
        assert out, err
        return status, json.loads(out)

    status, told = verdict("score", " 4")
    assert (status, told["score"], told["verifier"]["name"]) == (0, 1.0, "rewarding.py:score")
    assert verdict("apart", str(os.getpid()))[1]["score"] == 1.0
    status, told = verdict("broken", "4")
    assert (status, told["status"], told["score"], told["fault"]) == (1, "error", None, "verifier")
    assert "raised KeyError" in told["feedback"]


@pytest.mark.needs_server
@pytest.mark.parametrize("judge", [("--use", "d/*=rewarding.py:score"), ("--routing", "routes.toml")])
def test_rescore_judges_with_it_and_keeps_its_fingerprint(
    write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str], judge: tuple[str, str]
) -> None:
    (tmp_path / "routes.toml").write_text('[[route]]\ndata_source = "d/*"\nuse = "rewarding.py:score"\n')
    write(EQUAL, kin=KIN)
    rows = [{"response": answer, "reference": "4", "data_source": "d/x"} for answer in ("4", "5")]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("rescore", "in.jsonl", *judge, "-o", "out.jsonl", "--workers", "1", "-q")
    status, _, err = run(capsys, *words)
    assert status == FINISHED, err
    scores = [json.loads(line)["score"] for line in (tmp_path / "out.jsonl").read_text().splitlines()]
    assert scores == [1.0, 0.0]
    told = json.loads((tmp_path / "out.jsonl").read_text().splitlines()[0])["verdict"]["verifier"]
    assert (
        told["fingerprint"]
        == Planner(Registry(["rewarding.py:score"])).bind(Use(name="rewarding.py:score")).ref.fingerprint
    )


@pytest.mark.needs_server
def test_a_row_of_data_loads_no_file(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(f"from pathlib import Path\nPath('loaded').touch()\n{EQUAL}", kin=KIN)
    row = {"response": "4", "reference": "4", "use": "rewarding.py:score"}
    (tmp_path / "in.jsonl").write_text(json.dumps(row) + "\n")
    status, out, _ = run(capsys, "verify", "in.jsonl")
    assert (status, json.loads(out)["status"]) == (1, "error")
    assert not (tmp_path / "loaded").exists()


@pytest.mark.parametrize("target", ["http://127.0.0.1:1", "grpc://127.0.0.1:1"])
def test_a_server_is_not_asked(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str], target: str) -> None:
    write(EQUAL, kin=KIN)
    (tmp_path / "in.jsonl").write_text("")
    verify = ("verify", "--target", target, "--use", "rewarding.py:score", "--response", "4")
    rescore = ("rescore", "in.jsonl", "--target", target, "--use", "rewarding.py:score", "-o", "out.jsonl")
    for words, refused in ((verify, 2), (rescore, REFUSED)):
        status, _, err = run(capsys, *words)
        assert status == refused
        assert "rewarding.py:score: a function in a file runs only in this process" in err


def test_neither_is_a_cluster(write: Write, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write(EQUAL, kin=KIN)
    words = ("rescore", "in.jsonl", "--engine", "ray", "--use", "rewarding.py:score", "-o", "out.jsonl")
    status, _, err = run(capsys, *words)
    assert (status, "runs only in this process" in err) == (REFUSED, True)
