"""Settings: file, environment, flags; each value knows where it was set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rewarden_server.access.key_record import hash_key
from rewarden_server.config import ConfigError, load_config, variable_of
from rewarden_server.verifier_resources import resources_of


def write(text: str) -> Path:
    """A configuration file."""
    path = Path("some.toml")
    path.write_text(text)
    return path


def test_the_later_wins_and_each_value_knows_its_source() -> None:
    file = write("[server]\nhost = '0.0.0.0'\nport = 1\ngrpc_port = 2\n")
    environ = {"REWARDEN_SERVER_PORT": "3", "REWARDEN_SERVER_GRPC_PORT": "4"}
    config = load_config(file, environ=environ, flags={"server.grpc_port": ("flag --grpc-port", "5")})
    assert (config.server.host, config.server.port, config.server.grpc_port) == ("0.0.0.0", 3, 5)
    assert config.source("server.host") == f"file {file}"
    assert config.source("server.port") == "env REWARDEN_SERVER_PORT"
    assert config.source("server.grpc_port") == "flag --grpc-port"
    assert config.source("server.drain_s") == "default"


def test_the_file_in_the_working_folder_is_found_and_a_named_one_wins() -> None:
    assert load_config(environ={}).file is None
    Path("rewarden.toml").write_text("[logs]\nlevel = 'error'\n")
    assert load_config(environ={}).logs.level == "error"
    other = write("[logs]\nlevel = 'debug'\n")
    assert load_config(environ={"REWARDEN_CONFIG": str(other)}).logs.level == "debug"


def test_every_type_is_read_from_text() -> None:
    environ = {
        "REWARDEN_ENGINE_ITEM_CPU_S": "1.5",
        "REWARDEN_ENGINE_CACHE": "no",
        "REWARDEN_ENGINE_CACHE_DIR": "~/c",
        "REWARDEN_LOGS_JSON": "true",
        "REWARDEN_KEYS_NAMED": f"a={hash_key('a')}, b={hash_key('b')}",
    }
    config = load_config(environ=environ)
    assert (config.engine.item_cpu_s, config.engine.cache, config.logs.json) == (1.5, False, True)
    assert config.engine.cache_dir == Path("~/c").expanduser()
    assert config.keys.named == {"a": hash_key("a"), "b": hash_key("b")}


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[engine]\nworkerz = 1", "did you mean 'engine.workers'"),
        ("[sandbox]\ntokens = 3", "'sandbox.tokens'; it is now called sandbox.cpu_permits"),
        ("[sandbox.most]\ncpu_s = 3", "'sandbox.most'; it is now called sandbox.max_limits"),
        ("[limits]\nhead_s = 3", "'limits.head_s'; it is now called limits.header_timeout_s"),
        ("[engin]\nworkers = 1", "did you mean 'engine'"),
        ("[engine]\nworkers = 0", "engine.workers must be above 0"),
        ("[engine]\nworkers = 1.5", "engine.workers must be a whole number"),
        ("[engine]\nworkers = true", "engine.workers must be a whole number"),
        ("[engine]\nitem_cpu_s = nan", "engine.item_cpu_s"),
        ("[engine]\ncache = 1", "engine.cache must be true or false"),
        ("[server]\nport = 70000", "at most 65535"),
        ("[server]\nhost = ''", "server.host must be a string"),
        ("[logs]\nlevel = 'loud'", "one of debug, info, warning, error"),
        ("[limits]\nmax_depth = 5000", "at most 500"),
        ("server = 1", "must be a table"),
        ("[server", "not TOML"),
    ],
)
def test_what_is_wrong_is_refused_by_name_and_place(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        load_config(write(text), environ={})
    assert says in raised.value.message
    assert "some.toml" in raised.value.message


def test_a_misspelt_variable_is_refused_with_the_right_one() -> None:
    with pytest.raises(ConfigError, match="it is now called REWARDEN_SANDBOX_QUEUE_TIMEOUT_S"):
        load_config(environ={"REWARDEN_SANDBOX_PATIENCE_S": "3"})
    with pytest.raises(ConfigError, match="did you mean 'REWARDEN_LIMITS_MAX_DEPTH'"):
        load_config(environ={"REWARDEN_LIMITS_MAX_DEPHT": "1"})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("REWARDEN_SERVER_SERVICE_HOST", "10.0.0.1"),
        ("REWARDEN_SERVER_PORT", "tcp://10.0.0.1:80"),
        ("REWARDEN_SERVER_PORT_80_TCP_ADDR", "10.0.0.1"),
        ("REWARDEN_API_KEY", "a client's"),
    ],
)
def test_variables_of_kubernetes_and_of_the_client_are_let_alone(name: str, value: str) -> None:
    assert load_config(environ={name: value}).server.port == 8080


def test_the_lean_projects_are_read_from_tables_and_from_text() -> None:
    file = write(
        "[lean]\ndefault = 'a'\n[lean.projects]\na = '~/a'\nb = 'http://b'\n[lean.warm]\na = 'import Mathlib\\n'\n"
    )
    lean = load_config(file, environ={}).lean
    assert lean.projects == {"a": str(Path("~/a").expanduser()), "b": "http://b"}
    assert (lean.default, lean.warm) == ("a", {"a": "import Mathlib\\n"})
    given = {"REWARDEN_LEAN_PROJECTS": "4.9.0=~/a, b=/b", "REWARDEN_LEAN_WARM": "b=import Mathlib"}
    lean = load_config(environ=given).lean
    assert lean.projects == {"4.9.0": str(Path("~/a").expanduser()), "b": "/b"}
    assert lean.warm == {"b": "import Mathlib"}


def test_tables_may_be_empty() -> None:
    config = load_config(write("[lean.projects]\n[lean.warm]\n[keys.named]\n"), environ={})
    assert (config.lean.projects, config.lean.warm, config.keys.named) == ({}, {}, {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[lean]\nprojects = 'http://me:secret@lean'", "lean.projects must be a table of name"),
        (
            "[lean.projects]\na = ['http://me:secret@lean']",
            'lean.projects must be a table of name = "folder or address"',
        ),
        ("[lean.warm]\na = 1", 'lean.warm must be a table of project = "import lines"'),
        ("[keys]\nnamed = ['secret']", 'keys.named must be a table of name = "sha256"'),
        ("[lean]\nkimina_key = ['secret']", "lean.kimina_key must be a string"),
        ("[lean]\nmemory_mb = 0", "lean.memory_mb must be above 0"),
    ],
)
def test_a_wrong_table_is_refused_with_what_it_should_be_and_without_its_secrets(text: str, says: str) -> None:
    with pytest.raises(ConfigError) as raised:
        resources_of(load_config(write(text), environ={}))
    assert says in raised.value.message
    assert "secret" not in raised.value.message


def test_a_key_where_its_hash_belongs_is_not_repeated() -> None:
    with pytest.raises(ConfigError) as raised:
        load_config(write("[keys]\nnamed = ['rwd_secret']"), environ={})
    assert "rwd_secret" not in raised.value.message


def test_a_missing_file_is_named() -> None:
    with pytest.raises(ConfigError, match=r"nowhere\.toml"):
        load_config(Path("nowhere.toml"), environ={})


def test_every_setting_has_one_variable() -> None:
    from rewarden_server.config import known_keys

    variables: list[Any] = [variable_of(key) for key in known_keys()]
    assert len(set(variables)) == len(variables)


def test_every_setting_is_documented() -> None:
    from rewarden_server.config import known_keys

    text = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text()
    missing = [key for key in known_keys() if f"`{key}`" not in text]
    assert not missing


def test_the_judges_are_read_from_tables_and_from_json() -> None:
    file = write(
        "[judges]\ndefault = 'a'\ncache_mb = 0\n[judges.named.a]\nmodel = 'm'\nfallback = ['b']\ntemperature = 0.5\n"
        "budget_usd = 0\ninput_usd = 1\n[judges.named.a.extra.chat_template_kwargs]\nenable_thinking = false\n"
        "[judges.named.b]\nmodel = 'n'\nprovider = 'litellm'\n[judges.named.b.headers]\nx-team = 't'\n"
    )
    judges = load_config(file, environ={}).judges
    assert (judges.default, judges.cache_mb, list(judges.named)) == ("a", 0, ["a", "b"])
    first, second = judges.named.values()
    assert (first.fallback, first.temperature, first.budget_usd, first.budget_tokens) == (("b",), 0.5, 0.0, None)
    assert first.extra == {"chat_template_kwargs": {"enable_thinking": False}}
    assert (second.provider, second.headers, second.retries) == ("litellm", {"x-team": "t"}, 4)
    given = {"REWARDEN_JUDGES_NAMED": '{"c": {"model": "m", "retries": 0, "timeout_s": "5"}}'}
    judges = load_config(environ=given).judges
    assert (judges.named["c"].retries, judges.named["c"].timeout_s, judges.default) == (0, 5.0, None)
    circle = {"a": {"model": "m", "fallback": ["b"]}, "b": {"model": "m", "fallback": ["a"]}}
    assert len(load_config(environ={"REWARDEN_JUDGES_NAMED": json.dumps(circle)}).judges.named) == 2


@pytest.mark.parametrize(
    ("table", "says"),
    [
        ("modle = 'm'", "judges.named.a: model is missing"),
        ("model = 'm'\nretry = 1", "unknown setting judges.named.a.retry; did you mean 'retries'"),
        ("model = 'm'\napi_key = ['sk-secret']", "judges.named.a.api_key must be a string, not a list"),
        ("model = 'm'\nconcurrency = 'sk-secret'", "judges.named.a.concurrency must be a whole number"),
        ("model = 'm'\nconcurrency = 1001", "judges.named.a.concurrency must be at most 1000"),
        ("model = 'm'\ntimeout_s = 0", "judges.named.a.timeout_s must be above 0"),
        ("model = 'm'\nbudget_usd = 5", "judges.named.a.budget_usd needs input_usd and output_usd"),
        ("model = 'm'\nbase_url = 'a'\nbase_urls = ['b']", "judges.named.a.base_urls and base_url are both set"),
        ("model = 'm'\nbase_urls = ['b', 'b']", "judges.named.a.base_urls must not name an address twice"),
        ("model = 'm'\nbase_urls = 'b'", "judges.named.a.base_urls must be a list of addresses"),
        ("model = 'm'\nhedge = 1", "judges.named.a.hedge must be below 1"),
        ("model = 'm'\napi_key = 'sk-secret'\napi_key_env = 'KEY'", "api_key and api_key_env are both set"),
        ("model = 'm'\napi_key = 'sk-secret'\napi_key_file = 'f'", "api_key and api_key_file are both set"),
        ("model = 'm'\napi_key_file = 'sk-secret'", "judges.named.a.api_key_file cannot be read: No such file"),
        ("model = 'm'\napi_key_file = '/dev/null'", "judges.named.a.api_key_file is empty"),
        ("model = 'm'\nprovider = 'sk-secret'", "judges.named.a.provider must be one of openai, litellm"),
        ("model = 'm'\nheaders = {a = 1}", "judges.named.a.headers must be a table of strings"),
        ("model = 'm'\nextra = 'sk-secret'", "judges.named.a.extra must be a table"),
        ("model = 'm'\nfallback = 'b'", "judges.named.a.fallback must be a list of judges' names"),
        ("model = 'm'\nfallback = ['b']", "judges.named.a.fallback: 'b' is not another judge; known: none"),
        ("model = 'm'\nfallback = ['a']", "judges.named.a.fallback: 'a' is not another judge"),
    ],
)
def test_a_wrong_judge_is_told_without_its_secrets(table: str, says: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(write(f"[judges.named.a]\n{table}\n"), environ={})
    assert says in caught.value.message
    assert "sk-secret" not in caught.value.message


@pytest.mark.parametrize("section", ["judges", "models"])
def test_a_key_may_stand_in_a_file(section: str, tmp_path: Path) -> None:
    (tmp_path / "key").write_text("sk-secret\n")
    config = load_config(write(f"[{section}.named.a]\nmodel = 'm'\napi_key_file = '{tmp_path / 'key'}'\n"), environ={})
    named = getattr(config, section).named["a"]
    assert named.api_key == "sk-secret"
    assert "sk-secret" not in repr(config)


@pytest.mark.parametrize("text", ["{", "[1]", "sk-secret", '{"a": "sk-secret"}', '{"a": {"model": ["sk-secret"]}}'])
def test_wrong_json_of_judges_is_not_repeated(text: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_config(environ={"REWARDEN_JUDGES_NAMED": text})
    assert "sk-secret" not in caught.value.message


def test_a_default_judge_that_is_not_there_is_told() -> None:
    config = load_config(write("[judges]\ndefault = 'b'\n[judges.named.a]\nmodel = 'm'\n"), environ={})
    with pytest.raises(ConfigError, match=r"judges\.default: unknown judge 'b'; known: a"):
        resources_of(config)


def test_sandbox_hosts_are_a_text_with_commas_or_a_list(tmp_path: Path) -> None:
    file = tmp_path / "rewarden.toml"
    file.write_text('[sandbox]\naddress = ["one:50052", "unix:/run/h.sock"]\n')
    assert load_config(file, environ={}).sandbox.addresses == ("one:50052", "unix:/run/h.sock")
    given = load_config(environ={"REWARDEN_SANDBOX_ADDRESS": " one:1 , [::1]:2,"})
    assert given.sandbox.addresses == ("one:1", "[::1]:2")
    assert load_config(environ={"REWARDEN_SANDBOX_ADDRESS": " , "}).sandbox.addresses == ()


@pytest.mark.parametrize("address", ["one", "one:0", "one:70000", "http://one:80", "unix:", "one:1,one:1", ":1"])
def test_what_is_no_sandbox_hosts_address_is_refused(address: str) -> None:
    with pytest.raises(ConfigError, match=r"env REWARDEN_SANDBOX_ADDRESS: sandbox\.address: .*(HOST:PORT|given twice)"):
        load_config(environ={"REWARDEN_SANDBOX_ADDRESS": address})
