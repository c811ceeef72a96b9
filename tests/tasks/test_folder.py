"""Task folders, as they are read."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rewarden_verifiers.tasks.folder import find_folders, read_folder
from rewarden_verifiers.tasks.task import Command, Copy, TaskFault
from tests.tasks.folders import EXAMPLES, PARTS, TOML, parts, task_of

DOCKERFILE = 'FROM rewarden-sandbox-python:latest\nWORKDIR /app\nENV MODE=fast NAME="a b"\n'


def with_environment(dockerfile: str, more: str = "", **files: str) -> dict[str, str]:
    """Returns a task whose environment is a Dockerfile, with files beside it."""
    toml = f'schema_version = "1.4"\n{more}\n'
    made = {f"environment/{name.replace('_', '.')}": text for name, text in files.items()}
    return {**parts(task_toml=toml), "environment/Dockerfile": dockerfile, **made}


def test_a_task_has_its_instruction_limits_and_files() -> None:
    task = task_of(PARTS)
    step = task.step(None)
    assert (task.id, task.environment.image, task.environment.workdir) == ("made", "python", "/app")
    assert (step.instruction, step.agent_s, step.verifier_s, step.mode) == (
        "Write `yes` into /app/done.\n",
        20.0,
        20.0,
        "separate",
    )
    assert (set(step.tests), set(step.solution)) == ({"test.sh"}, {"solve.sh"})


def test_the_digest_changes_with_every_file() -> None:
    first = task_of(PARTS).digest
    assert task_of(dict(reversed(PARTS.items()))).digest == first
    assert task_of({**PARTS, "tests/more.py": ""}).digest != first
    assert len({task_of({**PARTS, name: text + "\n"}).digest for name, text in PARTS.items()} | {first}) == 5


@pytest.mark.parametrize("version", ["1.0", "1.1", "1.2", "1.3", "1.4"])
@pytest.mark.parametrize("key", ["version", "schema_version"])
def test_all_versions_of_the_format_are_read(version: str, key: str) -> None:
    toml = TOML.replace('schema_version = "1.4"', f'{key} = "{version}"')
    assert task_of(parts(task_toml=toml)).environment.image == "python"


def test_older_names_of_sizes_are_read() -> None:
    task = task_of(parts(task_toml=TOML.replace("workdir", 'memory = "2G"\nstorage_mb = 300\nworkdir')))
    assert (task.environment.memory_mb, task.environment.disk_mb) == (2048, 300)


def test_leading_marks_for_filters_are_no_instruction() -> None:
    marked = "<!-- canary 1 -->\n# canary 2\nDo it.\n"
    assert task_of(parts(instruction_md=marked)).step(None).instruction == "Do it.\n"
    assert task_of(parts(instruction_md="# Title\nDo it.\n")).step(None).instruction == "# Title\nDo it.\n"


def test_steps_share_tests_and_have_their_own() -> None:
    files = {
        "task.toml": TOML + '[[steps]]\nname = "a"\n[[steps]]\nname = "b"\n[steps.verifier]\ntimeout_sec = 5\n',
        "tests/helper.sh": "shared",
        "tests/test.sh": "shared",
        "steps/a/instruction.md": "First.",
        "steps/b/instruction.md": "Then.",
        "steps/b/tests/test.sh": "own",
        "steps/b/solution/solve.sh": "b",
    }
    task = task_of(files)
    assert [step.name for step in task.steps] == ["a", "b"]
    assert {name: file.data for name, file in task.step("b").tests.items()} == {
        "helper.sh": b"shared",
        "test.sh": b"own",
    }
    assert (task.step("a").verifier_s, task.step("b").verifier_s) == (20.0, 5.0)
    assert not task.step("a").solution
    with pytest.raises(TaskFault, match="has no step None; its steps: a, b"):
        task.step(None)


def test_a_dockerfile_becomes_actions() -> None:
    dockerfile = (
        DOCKERFILE + 'COPY a.txt data/\nCOPY ["b.txt", "/etc/b"]\n# a comment\nRUN make \\\n    all\nCMD sleep 1\n'
    )
    environment = task_of(with_environment(dockerfile, a_txt="A", b_txt="B")).environment
    assert (environment.image, environment.workdir) == ("python", "/app")
    assert environment.env == {"MODE": "fast", "NAME": "a b"}
    _, copy, other, run = environment.actions
    assert isinstance(copy, Copy)
    assert isinstance(other, Copy)
    assert isinstance(run, Command)
    assert (list(copy.files), list(other.files)) == (["/app/data/a.txt"], ["/etc/b"])
    assert (run.shell.split(), run.cwd, run.line) == (["make", "all"], "/app", 7)


@pytest.mark.parametrize(
    ("line", "placed"),
    [
        ("COPY . .", {"/app/in/b.txt", "/app/in/deep/c.txt", "/app/x.txt"}),
        ("COPY in/ /data", {"/data/b.txt", "/data/deep/c.txt"}),
        ("COPY in /data/", {"/data/b.txt", "/data/deep/c.txt"}),
        ("COPY x.txt y", {"/app/y"}),
        ("COPY *.txt .", {"/app/x.txt"}),
        ("COPY --chown=me:me x.txt in/b.txt ./to/", {"/app/to/x.txt", "/app/to/b.txt"}),
        ("ARG NAME=x\nCOPY ${NAME}.txt /$NAME", {"/x"}),
        ("COPY x.txt ${MISSING:-/other}", {"/other"}),
    ],
)
def test_copies_are_placed_as_engines_place_them(line: str, placed: set[str]) -> None:
    files = {"environment/in/b.txt": "", "environment/in/deep/c.txt": "", "environment/x.txt": ""}
    made = {**with_environment(f"FROM python\nWORKDIR /app\n{line}\n"), **files}
    copies = [action for action in task_of(made).environment.actions if isinstance(action, Copy)]
    assert {path for copy in copies for path in copy.files} == placed


@pytest.mark.parametrize(
    ("files", "message"),
    [
        (parts(task_toml="schema_version = '2.0'"), "schema_version '2.0' is unknown"),
        (parts(task_toml="x ="), r"task\.toml: "),
        (parts(task_toml=None), "has neither task.toml nor task.yaml"),
        (parts(tests__test_sh=None), "tests/test.sh: is missing"),
        (parts(instruction_md=None), "instruction.md: is missing"),
        (parts(task_toml=TOML.replace('"python"', '"ubuntu:24.04"')), "docker_image: must be an image tier"),
        (parts(task_toml=TOML.replace('"python"', '"python:3.12"')), "docker_image: must be an image tier"),
        (parts(task_toml=TOML.replace("workdir", "gpus = 1\nworkdir")), "gpus: boxes have none"),
        (parts(task_toml=TOML + "environment_mode = 'none'"), "must be separate or shared"),
        (parts(task_toml=TOML + "env = {KEY = '${KEY}'}"), "verifier.env.KEY: takes its value from the runner's"),
        (parts(task_toml=TOML + "[verifier.environment]\ndocker_image = 'x'"), "not supported"),
        (parts(task_toml=TOML + "[metadata.rewarden]\nkeep = ['/tests/x']"), "/tests/x is never carried"),
        (parts(task_toml=TOML + "[metadata.rewarden]\nkept = []"), "metadata.rewarden.kept: is unknown"),
        ({**PARTS, "environment/docker-compose.yaml": ""}, "several containers are not supported"),
        (with_environment("WORKDIR /app\n"), "line 1: WORKDIR before FROM"),
        (with_environment("FROM ubuntu:24.04\n"), "line 1: FROM ubuntu:24.04: must name an image tier"),
        (with_environment("FROM python\nADD http://a/b /c\n"), "line 2: ADD cannot be followed in a box"),
        (with_environment("FROM python\n\nRUN \\\n a \\\n b\nUSER nobody\n"), "line 6: USER cannot be followed"),
        (with_environment("FROM python\nFROM python\n"), "line 2: a second FROM"),
        (with_environment("FROM python\nCOPY gone.txt /\n"), "line 2: COPY gone.txt: there is no such file"),
        (with_environment("FROM python\nCOPY ../x /\n"), "line 2: COPY ../x: lies outside"),
        (with_environment("FROM python\nCOPY --from=a /x /\n"), "line 2: COPY --from=a cannot be followed"),
        (with_environment("FROM python\nRUN <<E\nx\nE\n"), "line 2: RUN with a here-document"),
    ],
)
def test_a_task_that_boxes_cannot_give_is_refused_by_name_and_line(files: dict[str, str], message: str) -> None:
    with pytest.raises(TaskFault, match=message):
        task_of(files)


def test_folders_are_found_by_their_names(tmp_path: Path) -> None:
    for name in ("a/one", "a/b/two", ".hidden/three"):
        for path, text in PARTS.items():
            file = tmp_path / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
    (tmp_path / "a" / "one" / "solution" / "solve.sh").chmod(0o755)
    found = {task.id: task for task in map(read_folder, find_folders(tmp_path))}
    assert set(found) == {"one", "two"}
    assert found["one"].step(None).solution["solve.sh"].executable
    assert not found["two"].step(None).solution["solve.sh"].executable
    os.symlink("/etc/passwd", tmp_path / "a" / "one" / "tests" / "passwd")
    with pytest.raises(TaskFault, match="one/tests/passwd: is a link"):
        read_folder(tmp_path / "a" / "one")
    with pytest.raises(TaskFault, match="has no task"):
        find_folders(tmp_path / "a" / "one" / "tests")


def test_the_older_format_is_read() -> None:
    task = read_folder(EXAMPLES / "older-format")
    step = task.step(None)
    assert step.instruction.startswith("Write the numbers")
    assert set(step.tests) == {"test.sh", "run-tests.sh", "test_outputs.py"}
    assert (step.agent_s, step.verifier_s, step.env) == (30.0, 30.0, {"TEST_DIR": "/tests"})


def test_there_are_at_least_ten_examples() -> None:
    tasks = [read_folder(folder) for folder in find_folders(EXAMPLES)]
    assert len(tasks) >= 10
    assert all(step.solution for task in tasks for step in task.steps)
