"""Task folders, as they are read."""

from __future__ import annotations

import contextlib
import errno
import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_verifiers.tasks.folder import find_folders, read_folder
from rewarden_verifiers.tasks.task import PATH, Command, Copy, HealthCheck, Hook, TaskFault
from tests.tasks.folders import DONE, EXAMPLES, PARTS, TOML, made, parts, task_of

STEPS = "[[steps]]\nname = 'a'\n[[steps]]\nname = 'a'\n"
LISTED = TOML + "network_mode = 'allowlist'\nallowed_hosts = ['{}']"
PARTS_OF_STEP = {"steps/a/instruction.md": "", "steps/a/tests/test.sh": ""}
NATIVE = "docker_image = 'native'"
OLDER = {"task.yaml": "instruction: x", "Dockerfile": "FROM python\n", "run-tests.sh": ""}
DOCKERFILE = 'FROM rewarden-sandbox-python:latest\nWORKDIR /app\nENV MODE=fast NAME="a b"\n'


def with_environment(dockerfile: str, more: str = "", **files: str) -> dict[str, str]:
    """Returns a task whose environment is a Dockerfile, with files next to it."""
    toml = f'schema_version = "1.4"\n{more}\n'
    beside = {f"environment/{name.replace('_', '.')}": text for name, text in files.items()}
    return {**parts(task_toml=toml), "environment/Dockerfile": dockerfile, **beside}


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
    assert task_of(dict(reversed(list(PARTS.items())))).digest == first
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


def test_a_size_without_its_unit_is_refused() -> None:
    for size in ("2048", '"2048"', '"0G"', '"%sG"' % ("9" * 400), '"٢G"', "true", "[]"):
        toml = TOML.replace("workdir", f"memory = {size}\nworkdir")
        with pytest.raises(TaskFault, match=r"task\.toml: environment\.memory: must be"):
            task_of(parts(task_toml=toml))


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


@pytest.mark.parametrize(
    ("verifier", "environment", "network"),
    [
        ("", "", ()),
        ("", "network_mode = 'public'", ("*",)),
        ("", "allow_internet = true", ("*",)),
        ("", "allow_internet = false", ()),
        ("network_mode = 'no-network'", "network_mode = 'public'", ()),
        ("network_mode = 'public'", "allow_internet = false", ("*",)),
        (
            "network_mode = 'allowlist'\nallowed_hosts = ['A.example.', '*.b.example', '::1']",
            "",
            ("a.example", "*.b.example", "::1"),
        ),
    ],
)
def test_the_verifiers_network_comes_before_the_environments(
    verifier: str, environment: str, network: tuple[str, ...]
) -> None:
    toml = TOML.replace("workdir", environment + "\nworkdir") + verifier + "\n"
    assert task_of(parts(task_toml=toml)).step(None).network == network
    steps = toml + "[[steps]]\nname = 'a'\n[steps.verifier]\nnetwork_mode = 'allowlist'\nallowed_hosts = ['c']\n"
    assert [step.network for step in task_of({**parts(task_toml=steps), **PARTS_OF_STEP}).steps] == [("c",)]


def test_the_tests_box_has_its_own_variables_room_hooks_and_health_checks() -> None:
    verifier = """
environment_mode = "separate"
env = { A = "verifier", B = "verifier" }
[verifier.environment]
env = { A = "box", C = "box" }
memory_mb = 300
storage_mb = 200
workdir = "/work"
network_mode = "public"
[[verifier.collect]]
command = "dump all"
[environment.healthcheck]
command = "curl localhost"
interval_sec = 0
start_period_sec = 1.5
retries = 2
"""
    whole = task_of(parts(task_toml=TOML + verifier)).step(None)
    assert (whole.memory_mb, whole.disk_mb, whole.workdir, whole.network) == (300, 200, "/work", ("*",))
    assert whole.env == {"A": "verifier", "B": "verifier", "C": "box"}
    assert whole.collect == (Hook(shell="dump all", timeout_s=60.0),)
    assert whole.health == (HealthCheck(shell="curl localhost", interval_s=0.0, start_s=1.5, retries=2),)
    own = """
[[steps]]
name = "a"
[steps.healthcheck]
command = "true"
[[steps.verifier.collect]]
command = "dump one"
timeout_sec = 5
[steps.verifier.environment]
memory_mb = 100
"""
    (step,) = task_of({**parts(task_toml=TOML + verifier + own), **PARTS_OF_STEP}).steps
    # A step's environment stands for the verifier's, and its hooks and checks come after those of the task.
    assert (step.memory_mb, step.disk_mb, step.workdir, step.network) == (100, None, None, ())
    assert [hook.shell for hook in step.collect] == ["dump all", "dump one"]
    assert [(check.shell, check.retries) for check in step.health] == [("curl localhost", 2), ("true", 3)]


def test_the_path_of_an_environment_goes_on_where_the_image_s_ends() -> None:
    environment = task_of(with_environment("FROM python\nENV PATH=/opt/x/bin:$PATH A=${PATH}\nRUN a\n")).environment
    assert environment.env == {"PATH": f"/opt/x/bin:{PATH}", "A": PATH}
    (run,) = environment.actions
    assert isinstance(run, Command)
    assert run.env["PATH"] == f"/opt/x/bin:{PATH}"


def test_continued_lines_keep_their_blanks() -> None:
    lines = ["FROM python", "RUN printf 'a\\n\\ ", "  # gone", "", "    b' \\", "\t&& c \\\\", "RUN d\r", "RUN e \\"]
    environment = task_of(with_environment("\n".join(lines))).environment
    shells = [(action.shell, action.line) for action in environment.actions if isinstance(action, Command)]
    assert shells == [("printf 'a\\n    b' \t&& c \\\\", 2), ("d", 7), ("e", 8)]


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
    all_ = {**with_environment(f"FROM python\nWORKDIR /app\n{line}\n"), **files}
    copies = [action for action in task_of(all_).environment.actions if isinstance(action, Copy)]
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
        (
            parts(task_toml=TOML + "[verifier.environment]\ndocker_image = 'debian:12'"),
            r"verifier\.environment\.docker_image: must be an image tier \(base, .*\), or an own image by its id",
        ),
        (
            parts(task_toml=TOML + "[metadata.rewarden]\nkeep = ['/opt/x']\n[verifier.environment]\n" + NATIVE),
            r"metadata\.rewarden\.keep: is for tests in a copy of the policy's box",
        ),
        *(
            (parts(task_toml=f"artifacts = [{stated}]\n{TOML}[verifier.environment]\n{NATIVE}"), message)
            for stated, message in {
                "1": r"artifacts\[0\]: must be a path, or a table with a source",
                "'app/out'": "'app/out': must be an absolute path",
                "'/app/..'": "/ would take the place of the verifier's own files",
                "'/app/../tests/x'": "/tests/x would take the place of the verifier's own files",
                "'/logs/verifier'": "/logs/verifier would take the place",
                "{source = '/x', service = 'db'}": r"artifacts\[0\]\.service: a task has one container",
                "{source = '/x', exclude = ['y']}": r"artifacts\[0\]\.exclude: is not supported",
            }.items()
        ),
        (parts(task_toml=TOML + "[verifier.environment]\ngpus = 1"), r"verifier\.environment\.gpus: is not supported"),
        (parts(task_toml=TOML + "[verifier.environment]\ncpu = 1"), r"verifier\.environment\.cpu: is unknown; known: "),
        (
            parts(task_toml=TOML + "[verifier.environment]\nmemory = '1'"),
            r"verifier\.environment\.memory: must be a siz",
        ),
        (
            parts(task_toml=TOML + "environment_mode = 'shared'\n[verifier.environment]\ncpus = 1"),
            r"verifier\.environment: is only for the environment_mode separate",
        ),
        (parts(task_toml=TOML + "[[verifier.collect]]\nservice = 'db'"), r"collect\[0\]\.service: a task has one cont"),
        (parts(task_toml=TOML + "[[verifier.collect]]\nshell = 'x'"), r"verifier\.collect\[0\]\.shell: is unknown"),
        (parts(task_toml=TOML + "[[verifier.collect]]\n"), r"verifier\.collect\[0\]\.command: must be a string"),
        (parts(task_toml=TOML + "collect = 'x'"), r"verifier\.collect: must be tables"),
        (
            parts(task_toml=TOML + "[environment.healthcheck]\ntest = 'x'"),
            r"environment\.healthcheck\.test: is unknown",
        ),
        (
            parts(task_toml=TOML + "[environment.healthcheck]\ncommand = 'x'\nretries = 0"),
            r"environment\.healthcheck\.retries: must be a whole number from 1 to",
        ),
        (
            parts(task_toml=TOML + "[environment.healthcheck]\ncommand = 'x'\ntimeout_sec = 0"),
            r"environment\.healthcheck\.timeout_sec: must be a number of seconds above 0",
        ),
        (parts(task_toml=TOML + "network_mode = 'some'"), r"verifier\.network_mode: must be no-network, public or"),
        (parts(task_toml=TOML + "allowed_hosts = ['a']"), r"verifier\.network_mode: must be"),
        (
            parts(task_toml=TOML + "network_mode = 'public'\nallowed_hosts = ['a']"),
            "is only for the network_mode allow",
        ),
        (parts(task_toml=LISTED.format("10.0.0.0/8")), "networks of addresses are not supported"),
        (parts(task_toml=LISTED.format("a.example:80")), "'a.example:80' must be a name or an address, without a port"),
        (parts(task_toml=LISTED.format("a..b")), "'a..b' is not a host name"),
        (parts(task_toml=TOML + "[metadata.rewarden]\nkeep = ['/tests/x']"), "/tests/x is never carried"),
        (parts(task_toml=TOML + "[metadata.rewarden]\nkept = []"), "metadata.rewarden.kept: is unknown"),
        ({**PARTS, "environment/docker-compose.yaml": ""}, "several containers are not supported"),
        ({**PARTS, "environment/compose.override.yml": ""}, "several containers are not supported"),
        ({**PARTS, "environment/Dockerfile": "FROM python"}, "docker_image: there is environment/Dockerfile as well"),
        (parts(task_toml=TOML + "[metadata.rewarden]\nkeep = ['//tests']"), "/tests is never carried"),
        ({**parts(task_toml=TOML + STEPS), **PARTS_OF_STEP}, r"task\.toml: steps: two are named 'a'"),
        (parts(task_toml=TOML + "[[steps]]\nname = '..'"), r"steps\[0\]\.name: must be the name of a folder"),
        (parts(task_toml="x = 2024-13-45"), r"task\.toml: "),
        (parts(task_toml="x = " + "9" * 5000), r"task\.toml: .*digits"),
        (parts(task_toml="x = " + "[" * 9000), r"task\.toml: is nested too deeply"),
        (parts(task_toml=TOML.replace("workdir", "memory_mb = 1e12\nworkdir")), r"environment\.memory_mb: must be"),
        (parts(task_toml=TOML.replace("timeout_sec = 20", "timeout_sec = nan")), r"timeout_sec: must be a number"),
        (parts(task_toml=TOML.replace('"/app"', '"/a\\u0000"')), "must be an absolute path"),
        (parts(task_toml=TOML + "env = {'A=' = 'x'}"), r"verifier\.env: 'A=': a variable has a name"),
        ({**PARTS, "tests/../x": ""}, "'tests/../x': must be a relative path"),
        ({**PARTS, "/x": ""}, "'/x': must be a relative path"),
        ({**PARTS, "tests/\ud800": ""}, "the name is not UTF-8; rename the file"),
        ({**PARTS, "tests/test.sh/x": ""}, r"'tests/test\.sh': is both a file and a folder"),
        ({**OLDER, "task.yaml": "a: 2024-13-45"}, r"task\.yaml: "),
        ({**OLDER, "task.yaml": "a: !!int ''"}, r"task\.yaml: "),
        ({**OLDER, "task.yaml": "[" * 9000}, r"task\.yaml: is nested too deeply"),
        ({**OLDER, "docker-compose.yaml": "services: {a: {}, b: {}}"}, "docker-compose.yaml: several containers"),
        (with_environment("FROM python\nARG X='\n"), "environment/Dockerfile, line 2: No closing quotation"),
        (with_environment("FROM python\nWORKDIR '\n"), "environment/Dockerfile, line 2: No closing quotation"),
        (with_environment("FROM python\nENV =x\n"), "line 2: '' is not a valid variable name"),
        (with_environment("FROM python\nRUN " + "[" * 9000 + "\n"), "line 2: .* is not a JSON list of words"),
        (with_environment("# escape=`\nFROM python\n"), "line 1: another escape character"),
        (with_environment("FROM python\nRUN a\0b\n"), "has a zero byte"),
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
        made(tmp_path / name, PARTS)
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


def test_a_folder_that_cannot_be_read_names_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = made(tmp_path / ".git" / "task", PARTS)
    (folder / ".git").mkdir()
    (folder / ".git" / "config").write_text("")
    assert read_folder(folder).step(None).tests["test.sh"].data == PARTS["tests/test.sh"].encode()
    monkeypatch.chdir(folder)
    assert read_folder(Path()).id == "task"
    (folder / "tests" / os.fsdecode(b"\xff")).write_text("")
    with pytest.raises(TaskFault, match=r"'tests/\\\\udcff': the name is not UTF-8"):
        read_folder(folder)

    def refused(path: Path) -> bytes:
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(path))

    monkeypatch.setattr(Path, "read_bytes", refused)
    with pytest.raises(TaskFault, match=r"^task/\S+: cannot be read: Permission denied$"):
        read_folder(folder)


def test_files_whose_names_only_begin_like_the_tasks_own_are_the_policys() -> None:
    more = {"solution_notes.md": "", "docker-compose-notes.md": "", "data/compose.txt": "", "solution/x": ""}
    task = task_of({**OLDER, **more, "Dockerfile": "FROM python\nCOPY . /app\n"})
    (copy,) = task.environment.actions
    assert isinstance(copy, Copy)
    assert set(copy.files) == {"/app/solution_notes.md", "/app/docker-compose-notes.md", "/app/data/compose.txt"}
    beside = {**PARTS, "environment/compose.txt": "", "environment/data/docker-compose.yaml": ""}
    (copy,) = task_of(beside).environment.actions
    assert isinstance(copy, Copy)
    assert set(copy.files) == {"/app/compose.txt", "/app/data/docker-compose.yaml"}


TEXT = st.text(st.sampled_from("[]{}()=:,.-_\"'\\#!&*|>\n \t0129aeTZ$\0é٢"), max_size=40)
FIELDS = st.sampled_from(["memory", "memory_mb", "workdir", "docker_image", "env", "build_timeout_sec", "os", "gpus"])


@given(st.sampled_from(["task.toml", "task.yaml", "Dockerfile"]), st.lists(st.tuples(FIELDS, TEXT), max_size=4), TEXT)
def test_every_malformed_file_is_a_fault_of_the_task(name: str, fields: list[tuple[str, str]], text: str) -> None:
    lines = "\n".join(f"{field} = {value}" for field, value in fields)
    if name == "task.toml":
        files = parts(task_toml=f"[environment]\n{lines}\n{text}")
    elif name == "task.yaml":
        files = {**OLDER, name: lines.replace(" =", ":") + "\n" + text}
    else:
        words = [f"{word} {value}" for word, (_, value) in zip(("ENV", "ARG", "COPY", "RUN"), fields, strict=False)]
        files = with_environment("\n".join(["FROM python", *words, text]))
    with contextlib.suppress(TaskFault):
        task_of(files)


def test_the_older_format_is_read() -> None:
    task = read_folder(EXAMPLES / "older-format")
    step = task.step(None)
    assert step.instruction.startswith("Write the numbers")
    assert set(step.tests) == {"test.sh", "run-tests.sh", "test_outputs.py"}
    assert (step.agent_s, step.verifier_s, step.env) == (30.0, 30.0, {"TEST_DIR": "/tests"})


def test_tests_with_an_image_of_their_own_get_the_artifacts() -> None:
    toml = f"artifacts = ['/app/out', {{ source = '/var/data/', destination = 'x' }}]\n{TOML}[verifier.environment]\n"
    (step,) = task_of(parts(task_toml=f"{toml}{NATIVE}\nmemory_mb = 300\nworkdir = '/judge'")).steps
    assert step.apart is not None
    assert (step.apart.image, step.apart.workdir, step.apart.memory_mb) == ("native", "/judge", 300)
    assert step.artifacts == ("/app/out", "/var/data")
    (same,) = task_of(parts(task_toml=f"{toml}docker_image = 'rewarden-sandbox-python'")).steps
    assert (same.apart, same.artifacts) == (None, ())


def test_an_own_image_can_bring_the_tests() -> None:
    image = f"debian@sha256:{'0' * 64}"
    named = f"{TOML}[verifier.environment]\ndocker_image = '{image}'"
    (step,) = task_of(parts(task_toml=named, tests__test_sh=None)).steps
    assert (step.apart and step.apart.image, step.tests) == (image, {})
    with pytest.raises(TaskFault, match=r"tests/test.sh: is missing"):
        task_of(parts(task_toml=TOML + "[verifier.environment]\n" + NATIVE, tests__test_sh=None))


def test_a_dockerfile_beside_the_tests_makes_their_environment() -> None:
    dockerfile = {"tests/Dockerfile": "FROM toolchains\nWORKDIR /judge\nCOPY . /tests/\n"}
    (step,) = task_of({**parts(task_toml=TOML + "environment_mode = 'separate'"), **dockerfile}).steps
    assert step.apart is not None
    assert (step.apart.image, step.apart.workdir) == ("toolchains", "/judge")
    copy = step.apart.actions[-1]
    assert isinstance(copy, Copy)
    assert set(copy.files) == {"/tests/test.sh"}
    (unsaid,) = task_of({**PARTS, **dockerfile}).steps
    assert unsaid.apart is None
    with pytest.raises(TaskFault, match="tests/Dockerfile, line 1: FROM x: must name an image tier"):
        task_of({**parts(task_toml=TOML + "environment_mode = 'separate'"), "tests/Dockerfile": "FROM x\n"})


def with_workdir(name: str, workdir: str = "/app") -> dict[str, str]:
    """Returns a task whose only step adds one file to the box."""
    return {
        "task.toml": TOML.replace("/app", workdir) + '[[steps]]\nname = "a"\n',
        "steps/a/instruction.md": "a",
        "steps/a/tests/test.sh": DONE,
        f"steps/a/workdir/{name}": "x",
    }


def test_a_step_s_own_files_are_laid_for_it() -> None:
    (step,) = task_of(with_workdir("in/x.txt")).steps
    assert {name: file.data for name, file in step.laid.items()} == {"in/x.txt": b"x"}
    (whole,) = task_of({**PARTS, "workdir/x": "", "steps/a/workdir/x": ""}).steps  # neither is a step's
    assert whole.laid == {}


@pytest.mark.parametrize(
    ("name", "workdir"),
    [
        ("tests/test.sh", "/"),
        ("verifier/reward.txt", "/logs"),
        ("solve.sh", "/solution/x"),
        ("python/sitecustomize.py", "/app/../rewarden"),
        ("rewarden/trajectory.json", "/logs"),
    ],
)
def test_no_file_of_a_step_is_laid_over_the_verifier_s(name: str, workdir: str) -> None:
    with pytest.raises(TaskFault, match=f"steps/a/workdir/{name}: would be laid to /.*, and that is the verifier's"):
        task_of(with_workdir(name, workdir))
    task_of(with_workdir("artifacts/x", "/logs"))


def test_a_link_among_a_step_s_files_is_refused(tmp_path: Path) -> None:
    folder = made(tmp_path / "task", with_workdir("x"))
    os.symlink("/tests", folder / "steps" / "a" / "workdir" / "tests")
    with pytest.raises(TaskFault, match="task/steps/a/workdir/tests: is a link"):
        read_folder(folder)


def test_there_are_at_least_ten_examples() -> None:
    tasks = [read_folder(folder) for folder in find_folders(EXAMPLES)]
    assert len(tasks) >= 10
    assert all(step.solution for task in tasks for step in task.steps)
