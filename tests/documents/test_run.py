"""The documentation's commands work: they are run as a reader runs them, and print what the pages show.

Rewarden is installed from its wheels, with the extras that the page installs, and the folder is not a clone. A block
that starts a server talks to that one, others to one that runs; only the port differs from the page's. `…` is any text.
"""

from __future__ import annotations

import re
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.documents.blocks import Block, Step, blocks
from tests.documents.reader import Machine, installation, lay_out, names, pointed_at
from tests.judges.scripted import ScriptedJudge
from tests.programs import no_sandbox
from tests.server.process import ServerProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

STACK = "starts or stops containers for minutes: tests/compose does"
CLONE = "sets up the clone that it stands in, for minutes: what CI begins with"
IMAGES = "builds gigabytes of images: tests/sandbox builds them"
MACHINES = "needs several machines"
GPU = "needs a GPU and weights: tests/models runs what a CPU can"
TRAINER = "a trainer's own command, cut short: tests/adapters and tests/compat hold what it calls"
ROOT_FOLDER = "needs a folder that root makes: tests/server/test_sandbox_process.py does it in one of its own"
RAY = "needs Ray and gigabytes: tests/rescore does it where Ray is"
PEERS = "needs data sets that are not ours to ship"
ALL_CASES = "judges every case there is, for minutes: tests/verdicts does it with some"
READER = "stands for what the reader does"
OWN_FILES = "needs records and logs of the reader's own: tests/report opens such files"
OWN_ROWS = "reads the reader's own rows: tests/audit, tests/rescore, tests/data_check and tests/adapters have such rows"
OWN_RUN = "needs a run of the reader's own, and a terminal: tests/server shows runs in one"
PLAYED = "plays a run of 300 steps in a clone, for minutes: make screenshots does it"

NOT_RUN = {
    "docs/audit.md": {
        "rewarden audit train.jsonl --use math": OWN_ROWS,
        "rewarden audit train.parquet --use recipe.yaml --column reference=reward_model.ground_truth "
        "--report audit.html": OWN_ROWS,
        "rewarden audit train.jsonl --use judge --rows 20 --responses rollouts.jsonl": OWN_ROWS,
        "rewarden audit train.jsonl --use form_pays.yaml": OWN_ROWS,
    },
    "docs/boxes.md": dict.fromkeys(
        (
            "rewarden box run python --put main.py -- python3 main.py",
            "rewarden box open python --ttl 600",
            "rewarden box put ID main.py",
            "rewarden box exec ID -- python3 main.py",
            "rewarden box get ID result.json result.json",
            "rewarden box close ID",
        ),
        READER,
    ),
    "docs/trainers/trl.md": {"python examples/trl/environment.py --target http://127.0.0.1:8080": TRAINER},
    "docs/trainers/README.md": {
        "rewarden check-trainer trl --use math --target http://127.0.0.1:8080 --file rows.jsonl": OWN_ROWS,
    },
    "README.md": {
        "make demo": CLONE,
        "make test": CLONE,
        "docker compose up -d": STACK,
        "rewarden data check apps.jsonl --dataset apps": OWN_ROWS,
    },
    "docs/data-check.md": {
        "rewarden data check apps.jsonl --dataset apps -o good.jsonl": OWN_ROWS,
        "rewarden data check train.jsonl --use code -o good.jsonl --report check.html": OWN_ROWS,
        "rewarden data check train.parquet --use code --column reference=reward_model.ground_truth "
        "--solutions solution": OWN_ROWS,
        "rewarden data check train.jsonl --use math": OWN_ROWS,
        "rewarden data check train.jsonl --use code -o good.jsonl": OWN_ROWS,
    },
    "docs/deploying.md": {
        "git clone … rewarden && cd rewarden": READER,
        "docker compose up -d": STACK,
        "docker compose up -d && docker compose restart server": STACK,
        "docker compose exec server rewarden doctor": STACK,
        "docker compose run --rm --entrypoint cat secrets /secrets/grafana/password": STACK,
        "docker compose run --rm --no-deps server keys new trainer --file -": STACK,
        "echo 'trainer 5e8848…' >> deploy/config/keys": READER,
        "cp …/server.crt …/server.key deploy/config/": READER,
        "docker compose up -d sandbox": MACHINES,
        "docker compose run --rm --entrypoint cat secrets /secrets/ca/ca.crt": MACHINES,
        "docker compose run --rm --entrypoint cat secrets /secrets/host/token": MACHINES,
        "docker compose up -d --no-deps server": MACHINES,
        "git pull": READER,
        "docker compose build": STACK,
        "docker compose run --rm --no-deps -T --entrypoint tar server czf - -C /var/lib/rewarden . > state.tgz": STACK,
    },
    "docs/fingerprints.md": {
        "rewarden verdicts record before.jsonl": ALL_CASES,
        "git pull && pip install ./client .": READER,
        "rewarden verdicts diff before.jsonl .": ALL_CASES,
    },
    "docs/judges-bench.md": dict.fromkeys(
        (
            "rewarden judge bench rewardbench2 test-00000-of-00001.parquet --judge main",
            "rewarden judge bench judgebench data/ --judge main --attacks --out judgebench.html",
            'rewarden judge bench rewardbench filtered.parquet --use rm_scalar --params \'{"model": "main"}\'',
            "rewarden judge bench processbench gsm8k.json math.json --use rm_process",
            "rewarden judge bench judgebench data/ --use length --attacks --params \\",
            "rewarden judge bench judgebench data/ --use rm_generative --params "
            '\'{"model": "words", "passing": 0.5, "fit": "middle"}\' \\',
        ),
        PEERS,
    ),
    "docs/judges-calibration.md": {
        "rewarden judge calibrate examples/judges/labelled.jsonl --samples 5 --precision 0.6": "its judge is made up",
    },
    "docs/languages.md": {
        "make images": IMAGES,
        "python -m rewarden_sandboxes.building images": IMAGES,
        "python -m rewarden_sandboxes.building images --only jvm native scripts": IMAGES,
        "rewarden sandbox-host build --only python-science": IMAGES,
        "python -m rewarden_sandboxes.building rootfs": IMAGES,
        "docker build -t rewarden-sandbox-julia .": IMAGES,
    },
    "docs/models.md": {
        "rewarden serve --config rewarden.toml": GPU,
        "rewarden models list": GPU,
        "rewarden models serve --device cuda:0 --listen unix:/run/rewarden/gpu0.sock": GPU,
        "rewarden models reload reward --model /srv/models/checkpoints/step-200": GPU,
        "curl -X POST localhost:8080/v1/models/reward/reload -H 'content-type: application/json' \\": GPU,
    },
    "docs/parity.md": {
        "git clone --bare https://github.com/OWNER/NAME CODE/OWNER+NAME": READER,
        "python -m benchmarks.parity SYSTEM --code CODE": READER,
    },
    "docs/operating.md": {"rewarden sandbox-host build": IMAGES},
    "docs/quickstart.md": {
        "python3 -m venv .venv": READER,
        ". .venv/bin/activate": READER,
        "rewarden sandbox-host build": IMAGES,
        "docker compose up -d": STACK,
        "docker compose ps": STACK,
    },
    "docs/rescoring.md": {
        "rewarden rescore rollout_data/ --use math -o scored/ --report report.html": OWN_ROWS,
        "rewarden rescore rollouts.jsonl --use math --baseline reward --baseline-passes 1 -o scored.jsonl": OWN_ROWS,
        "rewarden view records/ --out records.html --no-open": OWN_FILES,
        "rewarden view logs/2026-01-01_math.eval": OWN_FILES,
    },
    "docs/reward-jumped.md": {"python examples/demo/train.py http://127.0.0.1:8080": PLAYED},
    "docs/sandbox.md": {
        "rewarden sandbox-host --listen unix:/run/rewarden/host.sock": ROOT_FOLDER,
        "rewarden serve --set sandbox.address=unix:/run/rewarden/host.sock": ROOT_FOLDER,
    },
    "docs/scaling.md": {
        "rewarden rescore dumps/ --routing starter -o scored/ --engine ray": RAY,
        "rewarden rescore dumps/ --routing starter -o scored/ --engine ray --ray-address auto": RAY,
        "rewarden rescore dumps/ --routing starter -o scored/ --engine ray --ray-address ray://head:10001 --shards 64 "
        "--shard-cores 8": RAY,
    },
    "docs/sql-peers.md": {
        "python -m benchmarks.sql_peers --spider CHECKOUT --bird CHECKOUT --python PYTHON": PEERS,
    },
    "docs/watching.md": {
        "docker compose --profile watch up -d": STACK,
        "rewarden top --url http://rewards:8080": OWN_RUN,
        "rewarden top qwen-grpo --once": OWN_RUN,
    },
    "docs/writing-a-verifier.md": {"$EDITOR last_word/rewarden_last_word/__init__.py": READER},
    "docs/trainers/easyr1.md": {"python3 -m verl.trainer.main config=examples/config.yaml … \\": TRAINER},
    "docs/trainers/miles.md": {
        "python train.py … --custom-rm-path rewarden.adapters.slime.custom_rm \\": TRAINER,
    },
    "docs/trainers/openrlhf.md": {
        "python -m openrlhf.cli.train_ppo_ray … --data.label_key answer \\": TRAINER,
    },
    "docs/trainers/slime.md": {
        "python train.py … --custom-rm-path rewarden.adapters.slime.custom_rm \\": TRAINER,
    },
    "docs/trainers/swift.md": {"swift rlhf --rlhf_type grpo … \\": TRAINER},
    "docs/trainers/verl.md": {"python -m verl.trainer.main_ppo … \\": TRAINER},
}
"""By page, the first lines of commands that no test machine runs, and why. test_commands.py holds that they exist."""

STATUS = {"rewarden explain DIR/records-….jsonl --use number": 1}
"""The exit status of commands that find something: verdicts that differ."""

UNFINISHED = "it has no verdicts yet"
SERVE = "rewarden serve"
ASKS = re.compile(r"^(curl|python \w+\.py)")
RUNS_PROGRAMS = re.compile(r"use\W+code|/v1/run|rewarden (doctor|quickcheck|task check)")


def to_run(block: Block) -> list[Step]:
    """The steps of a block that a test machine runs. Installing is the environment's."""
    known = NOT_RUN.get(block.page, {})
    return [step for step in block.steps() if step.first not in known and installation(step) is None]


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Machine:
    """The machine on which the wheels are built and installed."""
    return Machine(tmp_path_factory.mktemp("machine"))


@pytest.fixture(scope="module")
def port(machine: Machine, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The port of a server of the quick start's environment."""
    installed, folder = machine.quick_start, tmp_path_factory.mktemp("server")
    settings = ["--set", "sandbox.launcher=auto", "--set", f"jobs.dir={folder / 'jobs'}"]
    with ServerProcess(
        folder, *settings, command=[installed.rewarden, "serve"], environment=installed.variables
    ) as started:
        yield started.http.rpartition(":")[2]


@pytest.fixture(scope="module")
def judge() -> Iterator[ScriptedJudge]:
    """The judge of the page on calibration: it holds everything to be right, and the first of two to be better."""
    with ScriptedJudge() as made:
        made.script({"when": [], "reply": {"reason": "so it is", "verdict": "correct"}})
        made.script({"when": "Response A:", "reply": {"reason": "A says more", "better": "A"}})
        yield made


@pytest.mark.parametrize("block", [block for block in blocks() if to_run(block)], ids=str)
def test_the_commands_of_a_block_do_what_the_page_shows(
    block: Block, machine: Machine, judge: ScriptedJudge, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    steps = to_run(block)
    installed = machine.of(block.page)
    variables = {**installed.variables, "REWARDEN_ENGINE_WORKERS": "1"}
    if not any(RUNS_PROGRAMS.search(step.command) for step in steps):
        variables["REWARDEN_SANDBOX_LAUNCHER"] = "none"
    elif (reason := no_sandbox()) is not None:
        pytest.skip(reason)
    lay_out(block, tmp_path, installed)
    if (config := tmp_path / "rewarden.toml").exists():
        config.write_text(config.read_text().replace("JUDGE", judge.url))
    known: dict[str, str] = {}
    with ExitStack() as servers:
        asked = ""
        for step in steps:
            if step.first.startswith(SERVE):
                (words,) = step.simple()
                command = [installed.rewarden, "serve"]
                started = ServerProcess(tmp_path, *words[2:], command=command, environment=variables)
                asked = servers.enter_context(started).http.rpartition(":")[2]
                continue
            if ASKS.match(step.command) and not asked:
                asked = request.getfixturevalue("port")
            run(step, tmp_path, variables, asked, known)


def run(step: Step, folder: Path, variables: dict[str, str], port: str, known: dict[str, str]) -> None:
    """Run a command in a folder; `known` maps the page's short ids to those that earlier commands printed."""
    command = pointed_at(port, step.command) if port else step.command
    for shown, printed in known.items():
        command = command.replace(shown, printed)
    for program in folder.glob("*.py"):
        program.write_text(pointed_at(port, program.read_text(encoding="utf-8")), encoding="utf-8")
    command = command.replace("curl -s ", "curl -s --fail-with-body ")
    until = time.monotonic() + 120
    while True:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", command],
            cwd=folder,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        if UNFINISHED not in done.stdout or time.monotonic() > until:
            break
    assert done.returncode == STATUS.get(step.first, 0), f"{step.command}{done.stdout}"
    if step.output.strip():
        known |= names(step.output, done.stdout)


def test_the_table_names_commands_that_the_pages_have() -> None:
    there = {(block.page, step.first) for block in blocks() for step in block.steps()}
    assert {(page, first) for page, named in NOT_RUN.items() for first in named} <= there
    assert len([step for block in blocks() for step in to_run(block)]) >= 45  # else the pages' commands are not found


def test_the_command_in_an_error_installs_what_a_quick_start_lacks(machine: Machine, tmp_path: Path) -> None:
    (ask,) = [
        step for block in blocks() if block.page == "docs/sql.md" for step in block.steps() if "--use sql" in step.first
    ]
    installed = machine.fresh()
    told = subprocess.run(
        ["bash", "-c", ask.command], cwd=tmp_path, env=installed.variables, capture_output=True, text=True, timeout=60
    )
    command = re.search(r"pip install '.*'", told.stdout)
    assert command is not None, told.stdout
    run(Step(command[0]), tmp_path, installed.variables, "", {})
    run(ask, tmp_path, installed.variables, "", {})
