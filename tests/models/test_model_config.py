"""`[models]`: accepted and rejected settings, and the doctor's findings."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.cli import doctor, model_state
from rewarden_server.config import ConfigError, load_config
from rewarden_server.models.identity import source
from rewarden_server.observe.check import Check
from rewarden_server.verifier_resources import resources_of
from tests.models.checkpoints import REWARD, make, refusal
from tests.models.scripted import NAME, ScriptedModel

ROOT = Path(__file__).parents[2]
ENGINE = "model = 'm'\nbackend = 'vllm'\naddress = 'http://gpu:8000'\n"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No configuration file lies in the working folder."""
    monkeypatch.chdir(tmp_path)


def write(text: str) -> Path:
    """A configuration file."""
    path = Path("some.toml")
    path.write_text(text)
    return path


@pytest.mark.parametrize("key", ["schlüssel", "one\ntwo"])
def test_a_key_that_no_header_can_hold_is_refused_without_being_shown(key: str) -> None:
    named = json.dumps({"a": {"model": "m", "address": "http://gpu:1", "api_key": key}})
    with pytest.raises(ConfigError, match=r"models\.named\.a\.api_key|models\.a\.api_key") as found:
        load_config(None, environ={"REWARDEN_MODELS_NAMED": named})
    assert key not in found.value.message


def test_models_are_read_from_tables_and_from_json() -> None:
    file = write(
        "[models]\ndefault = 'a'\ncache_mb = 0\nstart_s = 5\n"
        "[models.named.a]\nmodel = '/a'\nlatency_ms = 0\nreload_from = ['/b']\npooling = 'cls'\n"
        "[models.named.b]\nmodel = 'm'\nbackend = 'vllm'\naddress = 'http://me:pw@gpu:8000'\n"
        "[models.named.c]\nmodel = 'm'\naddress = 'unix:/run/models.sock'\n"
    )
    models = load_config(file, environ={}).models
    assert (models.default, models.cache_mb, models.start_s, list(models.named)) == ("a", 0, 5.0, ["a", "b", "c"])
    first, second, third = models.named.values()
    assert (first.latency_ms, first.reload_from, first.pooling, first.context) == (0.0, ("/b",), "cls", None)
    assert (second.backend, third.address) == ("vllm", "unix:/run/models.sock")
    given = {"REWARDEN_MODELS_NAMED": '{"c": {"model": "m", "context": 16, "compile": true}}'}
    made = load_config(environ=given).models.named["c"]
    assert (made.context, made.compile) == (16, True)


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("modle = 'm'", "models.named.a: model is missing"),
        ("model = 'm'\nbatch_token = 1", "unknown setting models.named.a.batch_token; did you mean 'batch_tokens'"),
        ("model = 'm'\nbackend = 'vllm'", "models.named.a.address is missing: set the URL of vllm"),
        ("model = 'm'\nbackend = 'sglang'", "models.named.a.address is missing"),
        ("model = 'm'\nbackend = 'vllm'\naddress = 'unix:/sk-secret'", "models.named.a.address must be http://"),
        ("model = 'm'\naddress = 'me:sk-secret@gpu:1'", "models.named.a.address must be unix:PATH or http://"),
        ("model = 'm'\naddress = 'http://'", "models.named.a.address must be"),
        ("model = 'm'\naddress = 'http://gpu:sk-secret'", "models.named.a.address must be"),
        ("model = 'm'\naddress = 'unix:'", "models.named.a.address must be"),
        (f"{ENGINE}base = '/b'", "models.named.a.base is for our own process; give the adapter to vllm"),
        (f"{ENGINE}head = 'value'", "models.named.a.head is for our own process; set task"),
        (f"{ENGINE}pooling = 'cls'", "models.named.a.pooling is for our own process; start vllm with its --pooler"),
        (f"{ENGINE}dtype = 'float16'", "models.named.a.dtype is for our own process; start vllm"),
        (f"{ENGINE}device = 'cuda:1'", "models.named.a.device is for our own process; start vllm"),
        (f"{ENGINE}prefix = false", "models.named.a.prefix is for our own process; start vllm"),
        (f"{ENGINE}latency_ms = 1", "models.named.a.latency_ms is for our own process; vllm makes its batches"),
        (f"{ENGINE}reload_from = ['/b']", "models.named.a.reload_from is for our own process"),
        ("model = 'm'\ntask = 'rate'", "models.named.a.task is for vllm and sglang (backend)"),
        ("model = 'm'\ntokenizer = '/t'", "models.named.a.tokenizer is for vllm and sglang (backend)"),
        ("model = 'm'\ncontext = 15", "models.named.a.context must be at least 16, not 15"),
        ("model = 'm'\nbatch_tokens = 0", "models.named.a.batch_tokens must be above 0"),
        ("model = 'm'\nlatency_ms = -1", "models.named.a.latency_ms must be at least 0"),
        ("model = 'm'\nconcurrency = 0", "models.named.a.concurrency must be above 0"),
        ("model = 'm'\nconcurrency = 100001", "models.named.a.concurrency must be at most 100000"),
        ("model = 'm'\nthreads = 0", "models.named.a.threads must be above 0"),
        ("model = 'm'\ndtype = 'int8'", "models.named.a.dtype must be one of auto, float32"),
        ("model = 'm'\nreload_from = '/b'", "models.named.a.reload_from must be a list of strings"),
        ("model = 'm'\napi_key = 'sk-secret'\napi_key_env = 'K'", "api_key and api_key_env are both set"),
    ],
)
def test_a_wrong_model_is_told_without_its_secrets(table: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(f"[models.named.a]\n{table}\n"), environ={})
    assert says in caught.value.message
    assert "sk-secret" not in caught.value.message


@pytest.mark.parametrize("name", ["a/b", "", "-a", "a b", "ä", "a" * 65])
def test_names_stand_in_addresses(name: str) -> None:
    with pytest.raises(ConfigError, match="a name must be letters, digits"):
        load_config(environ={"REWARDEN_MODELS_NAMED": json.dumps({name: {"model": "m"}})})


def test_a_default_model_that_is_not_there_is_told() -> None:
    config = load_config(write("[models]\ndefault = 'b'\n[models.named.a]\nmodel = 'm'\n"), environ={})
    with pytest.raises(ConfigError, match=r"models\.default: unknown model 'b'; known: a"):
        resources_of(config)


def test_every_key_of_a_model_is_documented_and_the_example_is_one() -> None:
    page = (ROOT / "docs" / "configuration.md").read_text()
    section = page.partition("## [models]")[2].partition("\n## ")[0]
    assert not [name for name in ModelEndpoint.__dataclass_fields__ if f"`{name}`" not in section]
    example = section.partition("```toml\n")[2].partition("```")[0]
    models = load_config(write(example), environ={}).models
    assert (models.default, len(models.named)) == ("reward", 4)


@pytest.mark.parametrize(
    ("model", "shown"),
    [
        ("/srv/models/rm", "rm"),
        ("~/rm", "rm"),
        ("models/rm.Q8_0.gguf", "rm.Q8_0.gguf"),
        ("org/name", "org/name"),
        ("./rm", "rm"),
    ],
)
def test_of_a_folder_only_its_name_is_shown(model: str, shown: str) -> None:
    assert source(model) == shown


# --- the doctor -----------------------------------------------------------------------------------------------------


async def told(**named: dict[str, Any]) -> tuple[str, dict[str, str]]:
    """Returns what the doctor says of these models; problems with their mends."""
    config = load_config(environ={"REWARDEN_MODELS_NAMED": json.dumps(named)})
    check = await model_state.model_state(config)
    return "\n".join((check.summary, *(f"  {line}" for line in check.details))), dict(check.problems)


async def test_without_models_nothing_is_missing() -> None:
    assert await model_state.model_state(load_config(environ={})) == Check(
        "models", "none (no models.named)", used=False
    )


async def test_the_packages_that_are_not_installed_are_told_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(model_state, "find_spec", lambda name: None if name == "torch" else object())
    _, missing = await told(a={"model": "org/name"})
    assert missing == {"models need torch": "pip install 'rewarden-server[models]'"}
    _, missing = await told(a={"model": "m", "address": "http://127.0.0.1:1"})
    assert "models need torch" not in missing


async def test_folders_and_files_are_checked_by_what_loading_checks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model_state, "find_spec", lambda name: object())
    well = make(tmp_path / "well")
    gated = make(tmp_path / "gated", {**REWARD, "gating.0.weight": (8, 8)})
    own = make(tmp_path / "own", auto_map={"AutoModel": "modeling_own.OwnModel"})
    bare, pickle, gguf = (tmp_path / name for name in ("bare", "model.bin", "model.gguf"))
    bare.mkdir()
    pickle.touch()
    gguf.write_bytes(b"GGUF")
    text, missing = await told(
        well={"model": str(well)},
        much={"model": str(well), "context": 4096},
        gated={"model": str(gated)},
        own={"model": str(own)},
        bare={"model": str(bare)},
        pickle={"model": str(pickle)},
        gguf={"model": str(gguf)},
        gone={"model": str(tmp_path / "gone")},
        hub={"model": "nobody-at-all/nothing"},
    )
    assert f"  well: {well} a folder, reads 64 tokens, on auto" in text
    assert f"  gguf: {gguf} a GGUF file, on auto" in text
    assert "  hub: nobody-at-all/nothing from the hub" in text
    refused = {"gated": gated, "own": own, "bare": bare, "pickle": pickle, "gone": tmp_path / "gone"}
    words = {f"models.named.{name}: {refusal(folder)}" for name, folder in refused.items()}
    assert set(missing) == {"models.named.much: context 4096 is more than the model's maximum, 64", *words}
    assert "gating.0.weight" in str(words)


async def test_a_check_that_ends_without_a_word_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command = [sys.executable, "-c", "import sys; print('no JSON'); sys.exit('killed')"]
    monkeypatch.setattr(model_state, "check_command", lambda models: command)
    _, missing = await told(well={"model": str(make(tmp_path / "well"))})
    assert "models.named.well: the check of its files ended with code 1: killed" in missing


async def test_models_that_run_elsewhere_are_called_upon(scripted: ScriptedModel) -> None:
    away = {"model": "m", "address": "http://me:sk-secret@127.0.0.1:1", "api_key": "sk-secret"}
    text, missing = await told(
        **{NAME: scripted.settings()},
        strange=scripted.settings(),
        away=away,
        engine={**away, "backend": "vllm"},
        other={**scripted.settings(), "backend": "sglang"},
    )
    assert f"  {NAME}: scripted at {scripted.url}: does classify" in text
    assert "reads 4096 tokens, float32 on cpu, version scripted-1" in text
    named = [problem.partition(": ")[0] for problem in missing if not problem.startswith("models need ")]  # torch
    assert named == [f"models.named.{name}" for name in ("strange", "away", "engine", "other")]
    assert "sk-secret" not in text + str(missing)


async def no_lean(config: Any) -> Check:
    """Returns the check of a part that is not there."""
    return Check("lean", "none", used=False)


def no_verifiers(registry: Any) -> Check:
    """Returns the same, without loading verifiers for seconds."""
    return Check("verifiers", "none", used=False)


def test_the_doctor_names_models_and_shows_no_key(
    scripted: ScriptedModel, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("REWARDEN_MODELS_NAMED", json.dumps({NAME: scripted.settings(api_key="sk-secret")}))
    monkeypatch.setenv("REWARDEN_SANDBOX_LAUNCHER", "none")
    monkeypatch.setattr(doctor, "verifiers_state", no_verifiers)
    monkeypatch.setattr(doctor, "lean_state", no_lean)
    parser = argparse.ArgumentParser()
    doctor.configure(parser)
    doctor.run(parser.parse_args(["--all", "--port", "0", "--grpc-port", "0"]))
    out = capsys.readouterr().out
    assert f"{NAME}=scripted" in out
    assert f"models     1 configured, by default {NAME}" in out
    assert "sk-secret" not in out
