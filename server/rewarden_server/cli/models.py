"""`rewarden models`: runs a model process, lists a server's models, or reloads the weights of one."""

from __future__ import annotations

import argparse
import contextlib
import ipaddress
import json
import os
import sys
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

import httpx

from rewarden.commands.terminal import add_examples, say
from rewarden.errors import InvalidRequest, RequestError
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.settings import ProcessSettings
from rewarden_server.cli.server import add_server, answer_of, options_of, reaching
from rewarden_server.cli.settings import add_settings, read_settings
from rewarden_server.config import ConfigError
from rewarden_server.models.process import command, device_of

HELP = "run a model process, list a server's models, or reload the weights of one"

KEY_VARIABLE = "REWARDEN_MODEL_KEY"
"""The variable that passes on a key from the configuration, because other users can read command lines."""

_SERVE = "rewarden models serve --config rewarden.toml --device cuda:0"
_LIST = "rewarden models list --url http://127.0.0.1:8080"
_RELOAD = "rewarden models reload helpful --model checkpoints/step-400"

_RELOAD_S = 3600.0
_LIST_S = 30.0


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    add_examples(parser, _SERVE, _LIST, _RELOAD)
    commands = parser.add_subparsers(dest="what", required=True, metavar="COMMAND")
    one = commands.add_parser(
        "serve", help="run the models of one device in a separate process for servers to connect to"
    )
    add_settings(one)
    one.add_argument(
        "--device", metavar="D", help="run the models of this device; required if the configuration has several"
    )
    one.add_argument("--listen", metavar="ADDRESS", help="unix:PATH or HOST:PORT (default: the models' own address)")
    one.add_argument("--key-env", metavar="NAME", help="the environment variable with the key that callers must send")
    add_examples(one, _SERVE)
    one = commands.add_parser("list", help="list a server's models and their state")
    add_server(one)
    one.add_argument("--json", action="store_true", help="print JSON")
    add_examples(one, _LIST)
    one = commands.add_parser("reload", help="replace a model's weights without losing work, and return when done")
    one.add_argument("name", metavar="NAME", help="the model's name in the server's configuration")
    one.add_argument(
        "--model", metavar="PATH", help="a folder or file within the model's reload_from (default: the current one)"
    )
    one.add_argument("--revision", metavar="R", help="the revision of a model from the hub")
    add_server(one)
    one.add_argument("--json", action="store_true", help="print JSON")
    add_examples(one, _RELOAD)


def run(args: argparse.Namespace) -> int:
    """Returns 0 on success, 1 if the server failed or cannot be reached, and 2 if a setting or argument is wrong."""
    if args.what == "serve":
        return _serve(args)
    try:
        if args.what == "list":
            return _list(args)
        return _reload(args)
    except RequestError as error:
        say(f"rewarden models: {error.message}", file=sys.stderr)
        return 2 if error.http_status < 429 else 1


# --- serve ----------------------------------------------------------------------------------------------------------


def _serve(args: argparse.Namespace) -> int:
    """Becomes the model process, which ends on SIGTERM or SIGINT."""
    try:
        # It may read a server's configuration file, whose other sections name files that it cannot access.
        config = read_settings(args, only="models")
    except ConfigError as error:
        raise InvalidRequest(error.message) from None
    models = chosen(config.models.named, args.device, args.listen)
    address = args.listen or _only("address", {model.address for model in models.values()}, "--listen ADDRESS")
    environment = dict(os.environ)
    key_env = args.key_env or _only("key", {model.api_key_env for model in models.values()}, "--key-env NAME", True)
    key = _only("key", {model.api_key for model in models.values()}, "--key-env NAME", True)
    if key_env is None and key is not None:
        key_env = KEY_VARIABLE
        environment[KEY_VARIABLE] = key
    if key_env is None and not _only_here(address):
        # Anyone who reaches it can swap weights and cancel the requests of others.
        raise InvalidRequest(
            f"{address} can be reached from other machines and has no key: set api_key_file or api_key_env of the "
            "models, or listen on unix:PATH or 127.0.0.1"
        )
    process = command(ProcessSettings(models=models, key_env=key_env), address.removeprefix("http://"))
    sys.stdout.flush()
    os.execve(process[0], process, environment)


def chosen(named: Mapping[str, ModelEndpoint], device: str | None, listen: str | None) -> dict[str, ModelEndpoint]:
    """Returns the models that a process runs: those with backend `own` on one device, or those among them that have
    the address to listen on. Raises InvalidRequest if there are none, or if they are on several devices."""
    models = {name: model for name, model in named.items() if model.backend == "own"}
    if device is not None:
        wanted = device_of(ModelEndpoint(model="", device=device))
        models = {name: model for name, model in models.items() if device_of(model) == wanted}
    here = {name: model for name, model in models.items() if listen and _bare(model.address) == _bare(listen)}
    models = here or models
    if not models:
        raise InvalidRequest(
            "the configuration has no model to run here: add a [models.named.NAME] with model and backend own"
        )
    devices = sorted({device_of(model) for model in models.values()})
    if len(devices) > 1:
        raise InvalidRequest(f"the models are on several devices; choose one with --device: {', '.join(devices)}")
    return models


def _only_here(address: str) -> bool:
    """Returns whether an address can be reached only from this machine."""
    bare = _bare(address)
    host = bare.rpartition(":")[0].strip("[]")
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return bare.startswith("unix:") or host == "localhost"


def _bare(address: str | None) -> str:
    return (address or "").removeprefix("http://").rstrip("/")


def _only(what: str, found: set[str | None], flag: str, none: bool = False) -> Any:
    """Returns the one value that all models share. Raises InvalidRequest."""
    if len(found) == 1 and (none or None not in found):
        return next(iter(found))
    raise InvalidRequest(f"the models do not share one {what}; give {flag}")


# --- a server's models ----------------------------------------------------------------------------------------------


def _list(args: argparse.Namespace) -> int:
    models = _ask(args, "GET", "/v1/models", None, _LIST_S).get("models", [])
    if args.json:
        say(json.dumps(models, indent=1, ensure_ascii=False))
        return 0
    if not models:
        say("This server has no models. To add one, configure [models.named.NAME].")
    width = max((len(str(model.get("name"))) for model in models), default=0)
    for model in models:
        problem = f": {model['problem']}" if model.get("problem") else ""
        version = f"  {model['version']}" if model.get("version") else ""
        say(f"{model.get('name')!s:{width}}  {model.get('state')}{version}{problem}")
    return 0


def _reload(args: argparse.Namespace) -> int:
    body = {name: value for name in ("model", "revision") if (value := getattr(args, name)) is not None}
    told = _ask(args, "POST", f"/v1/models/{quote(args.name, safe='')}/reload", body, _RELOAD_S)
    if args.json:
        say(json.dumps(told, indent=1, ensure_ascii=False))
    else:
        about = told.get("about") or {}
        say(f"{args.name}  {about.get('version', told.get('version', ''))}")
    return 0


def _ask(args: argparse.Namespace, method: str, path: str, body: Any, patience_s: float) -> dict[str, Any]:
    """Sends a request to the server and returns its answer. Raises RequestError."""
    with reaching(args.url), httpx.Client(**options_of(args, patience_s)) as client:
        return answer_of(args.url, client.request(method, path, json=body))
