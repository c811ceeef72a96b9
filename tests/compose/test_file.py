"""docker-compose.yml as a specification: the rights of each service. Nothing is started."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.suite.blocked import WITHOUT

ROOT = Path(__file__).parents[2]
FILE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
SERVICES: dict[str, dict[str, Any]] = FILE["services"]
ONCE = {"secrets"}
"""Services that do their work and end."""

ENGINE = "docker.sock"
SCHEMA = Path("/usr/lib/python3/dist-packages/compose/config/compose_spec.json")
"""The Compose specification's schema, as Debian's docker-compose ships it."""

every_service = pytest.mark.parametrize("name", SERVICES)
every_lasting = pytest.mark.parametrize("name", [name for name in SERVICES if name not in ONCE])


def test_there_is_no_version_key_and_the_file_is_of_the_specification() -> None:
    assert "version" not in FILE
    if not SCHEMA.exists():
        pytest.skip("the specification's schema is not here: apt-get install docker-compose")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    # Variables stand where numbers are asked for: each with its default in its place.
    text = re.sub(r"\$\{\w+:?-([^}]*)\}", r"\1", (ROOT / "docker-compose.yml").read_text(encoding="utf-8"))
    problems = [
        f"{'/'.join(map(str, error.instance_path))}: {error.message}"
        for error in jsonschema_rs.Draft7Validator(schema).iter_errors(yaml.safe_load(text))
    ]
    assert problems == []


@pytest.mark.needs_server
@pytest.mark.parametrize("command", [("docker-compose",), ("docker", "compose")], ids=["v1", "v2"])
@pytest.mark.parametrize("profiles", ["", "cache,sql,watch,models"], ids=["plain", "all"])
def test_compose_takes_the_file(command: tuple[str, ...], profiles: str, tmp_path: Path) -> None:
    if (
        shutil.which(command[0]) is None
        or subprocess.run([*command, "version"], capture_output=True, check=False).returncode
    ):
        pytest.skip(f"{' '.join(command)} is not installed")
    for name in ("docker-compose.yml", ".env.example"):
        shutil.copy(ROOT / name, tmp_path)
    told = subprocess.run(
        [*command, "-f", "docker-compose.yml", "config", "--services"],
        cwd=tmp_path,
        env={"PATH": "/usr/local/bin:/usr/bin:/bin", "HOME": str(tmp_path), "COMPOSE_PROFILES": profiles},
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    assert "warn" not in told.stderr.lower(), told.stderr
    if profiles:
        assert set(told.stdout.split()) == set(SERVICES)


@every_service
def test_a_service_has_no_rights_and_writes_only_where_it_is_said(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert "cap_add" not in service
    assert "privileged" not in service
    assert service["security_opt"] == ["no-new-privileges:true"]
    assert all("size=" in mount for mount in service["tmpfs"])


@every_service
def test_a_service_has_limits(name: str) -> None:
    service = SERVICES[name]
    assert service["mem_limit"]
    assert isinstance(service["pids_limit"], int)
    assert "cpus" in service
    assert service["logging"]["options"] == {"max-size": "20m", "max-file": "3"}


@every_service
def test_only_the_sandbox_host_is_root_and_near_the_engine(name: str) -> None:
    service = SERVICES[name]
    engine = any(ENGINE in str(volume) for volume in service.get("volumes", ()))
    machine = any(str(volume).startswith(("/", "${DOCKER_SOCKET")) for volume in service.get("volumes", ()))
    assert engine == machine == (name == "sandbox")
    assert ("pid" in service) == (name == "sandbox")
    assert service["user"].startswith("0:") == (name == "sandbox")


@every_lasting
def test_a_service_says_how_it_is_comes_again_and_has_time_to_end(name: str) -> None:
    service = SERVICES[name]
    assert service["restart"] == "unless-stopped"
    assert service["init"] is True
    assert {"test", "interval", "timeout", "retries", "start_period"} <= set(service["healthcheck"])
    assert service["stop_grace_period"]


def test_nobody_but_the_server_reaches_the_sandbox_host_and_its_network_leads_nowhere() -> None:
    assert FILE["networks"]["sandbox"] == {"internal": True}
    assert SERVICES["sandbox"]["networks"] == ["sandbox"]
    assert "ports" not in SERVICES["sandbox"]
    assert [name for name, service in SERVICES.items() if "sandbox" in service.get("networks", ())] == [
        "sandbox",
        "server",
    ]


def on_network(network: str) -> list[str]:
    """The services of a network."""
    return [name for name, service in SERVICES.items() if network in service.get("networks", ())]


def test_the_server_meets_others_on_networks_that_lead_nowhere() -> None:
    assert on_network("front") == ["server"]
    assert on_network("board") == ["prometheus", "grafana"]
    for network in set(SERVICES["server"]["networks"]) - {"front"}:
        assert FILE["networks"][network] == {"internal": True}
    for name in ("redis", "postgres", "mariadb"):
        assert SERVICES[name]["networks"] == ["data"]


def test_nobody_but_the_server_reaches_the_models_and_they_see_their_settings_alone() -> None:
    assert FILE["networks"]["models"] == {"internal": True}
    assert on_network("models") == ["server", "models"]
    assert on_network("hub") == ["models"]
    assert SERVICES["models"]["networks"] == ["models", "hub"]
    assert "ports" not in SERVICES["models"]
    seen = [volume for volume in SERVICES["models"]["volumes"] if "CONFIG_FOLDER" in volume]
    assert seen == ["${CONFIG_FOLDER:-./deploy/config}/rewarden.toml:/etc/rewarden/config/rewarden.toml:ro"]


def test_the_models_key_is_made_once_and_the_server_has_it_at_the_same_path(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    made = [str(volume) for volume in SERVICES["secrets"]["volumes"]]
    for volume in made:
        (tmp_path / volume.rpartition("/")[2]).mkdir()
    keys = []
    for words in ([], [], ["rotate"]):
        run = ["sh", str(ROOT / "deploy/secrets"), *words]
        told = subprocess.run(
            run, env={"PATH": "/usr/bin:/bin", "SECRETS": str(tmp_path)}, capture_output=True, text=True, check=False
        )
        assert told.returncode == 0, told.stderr
        key = (tmp_path / "models/models.key").read_text()
        assert (tmp_path / "server/models.key").read_text() == key
        assert len(key.strip()) == 64
        assert key.strip() not in told.stdout + told.stderr
        keys.append(key)
    assert keys[0] == keys[1] != keys[2]
    for name in ("server", "models"):
        assert f"{name}-secrets:/run/secrets/rewarden:ro" in SERVICES[name]["volumes"]
    assert 'api_key_file = "/run/secrets/rewarden/models.key"' in (ROOT / "deploy/config/rewarden.toml").read_text()


def test_every_service_whose_secrets_are_made_has_a_place_for_them_in_the_image() -> None:
    names = re.search(r"for name in (.*); do", (ROOT / "Dockerfile").read_text())
    assert names is not None
    assert {str(volume).rpartition("/")[2] for volume in SERVICES["secrets"]["volumes"]} == set(names[1].split())


@every_service
def test_ports_are_this_machines_own_unless_somebody_says_otherwise(name: str) -> None:
    for port in SERVICES[name].get("ports", ()):
        assert port.startswith(("127.0.0.1:", "${REWARDEN_BIND:-127.0.0.1}:"))


@every_service
def test_a_secret_is_a_file_of_one_service_and_no_variable_holds_one(name: str) -> None:
    service = SERVICES[name]
    volumes = [str(volume).split(":")[0] for volume in service.get("volumes", ())]
    secret = [volume for volume in volumes if volume.endswith("-secrets")]
    if name not in ONCE:
        own = {"sandbox": "host"}.get(name, name)
        assert secret in ([], [f"{own}-secrets"])
    for variable, value in service.get("environment", {}).items():
        if re.search(r"PASSWORD|TOKEN|KEY|SECRET", variable):
            assert variable.endswith(("_FILE", "__FILE", "_TLS_KEY")), f"{variable} would hold a secret"
            assert "/" in str(value)


def test_every_variable_is_in_the_example_and_the_example_has_no_other() -> None:
    text = (ROOT / "docker-compose.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"\$\{(\w+)", text))
    told = set(
        re.findall(r"^#?([A-Za-z_][A-Za-z0-9_]*)=", (ROOT / ".env.example").read_text(encoding="utf-8"), re.MULTILINE)
    )
    assert told - {"COMPOSE_PROFILES"} == used


def test_images_hold_no_compiler_no_cache_and_run_as_a_user() -> None:
    text = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    stages = dict(re.findall(r"^FROM \S+ AS (\S+)\n(.*?)(?=^FROM |\Z)", text, re.MULTILINE | re.DOTALL))
    for name in ("sandbox-host", "server", "models"):
        assert f"FROM python AS {name}\n" in text
        assert "RUN" not in stages[name]
        user = re.search(r"^USER (\S+)$", stages[name], re.MULTILINE)
        assert user is not None
        assert (user.group(1) == "0:0") == (name == "sandbox-host")
    assert "gcc" not in stages["python"]
    assert "python3-pip" not in stages["python"]


def test_the_images_own_requirements_are_those_of_the_distributions() -> None:
    told = subprocess.run(
        ["python3", "deploy/image/requirements.py", "all", "pyproject.toml", "client/pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    lines = told.stdout.splitlines()
    assert any(line.startswith("grpcio>=") for line in lines)
    assert any(line.startswith("rdkit") for line in lines), "an extra of `all`"
    assert not any(line.startswith("rewarden") for line in lines)
    wrong = subprocess.run(
        ["python3", "deploy/image/requirements.py", "nothing", "pyproject.toml", "client/pyproject.toml"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert wrong.returncode == 2
    assert "no extra 'nothing'" in wrong.stderr


def _reached(names: list[str]) -> set[str]:
    """The distributions of these names, and all that they need without an extra."""
    found: set[str] = set()
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name not in found:
            found.add(name)
            needed = map(Requirement, metadata.requires(name) or ())
            waiting += [each.name for each in needed if each.marker is None or each.marker.evaluate({"extra": ""})]
    return found


def test_the_sandbox_hosts_image_has_all_that_its_command_imports() -> None:
    script = (ROOT / "deploy/image/install").read_text(encoding="utf-8")
    listed = re.search(r"^host\)\n.*\n  install_into \"\$1\" (.+)$", script, re.MULTILINE)
    assert listed is not None
    there = _reached(listed.group(1).split())
    absent = [
        package
        for package, homes in metadata.packages_distributions().items()
        if not any(canonicalize_name(home) in there or home.startswith("rewarden") for home in homes)
    ]
    done = subprocess.run(
        [
            sys.executable,
            "-c",
            "import tests.suite.blocked, rewarden_server.cli.sandbox_host, rewarden_sandboxes.service",
        ],
        cwd=ROOT,
        env={**os.environ, WITHOUT: ",".join(absent)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-1000:]
