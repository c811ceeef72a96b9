"""The state of models, for `rewarden doctor`: whether each is available, without loading it.

The model process checks the files of models that the server would run, with the function that it uses when it loads
them."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import httpx

from rewarden.errors import ModelError, SampleError
from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.config import Config
from rewarden_server.lean.projects import without_credentials
from rewarden_server.models.identity import default_model
from rewarden_server.models.process import check_command
from rewarden_server.models.process_backend import backends_of
from rewarden_server.models.settings import ModelSettings, is_ours
from rewarden_server.observe.check import Check, Problem

_PATIENCE_S = 30.0
_CHECK_S = 600.0
"""For all models together: torch alone takes a while to import, and a configuration may name a folder far away."""

_FIX = "see the table 'What is refused' of docs/models.md"
_PACKAGES = ("torch", "transformers", "safetensors")
_LENGTHS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length")
"""The names that the configurations of models have for the length of the longest input."""

Found = tuple[str, list[Problem]]


async def model_state(config: Config) -> Check:
    """Returns the state of the configured models. Models with an address are called; for those that the server would
    run itself, packages are looked up, and files checked.
    """
    settings = config.models
    if not settings.named:
        return Check("models", "none (no models.named)", used=False)
    default = default_model(settings)
    summary = f"{len(settings.named)} configured, {f'by default {default}' if default else 'no default'}"
    lines: list[str] = []
    missing: list[Problem] = []
    here = [model for model in settings.named.values() if is_ours(model) or model.backend != "own"]
    absent = [name for name in _PACKAGES if here and find_spec(name) is None]
    if absent:
        missing.append(Problem(f"models need {', '.join(absent)}", "pip install 'rewarden-server[models]'"))
    refused = await _refusals({name: model for name, model in settings.named.items() if is_ours(model)})
    found = await asyncio.gather(*(_looked(name, settings, refused) for name in settings.named))
    for (name, model), (told, problems) in zip(settings.named.items(), found, strict=True):
        lines.append(f"{name}: {model.model} {told}")
        missing += [Problem(f"models.named.{name}: {problem}", mend) for problem, mend in problems]
    return Check("models", summary, tuple(lines), tuple(missing))


async def _refusals(models: Mapping[str, ModelEndpoint]) -> Mapping[str, str | None]:
    """Returns by model the reason why it cannot be loaded, or None if it can. Models that are not downloaded yet are
    left out. The files are checked in a separate process."""
    if not models:
        return {}
    process = await asyncio.create_subprocess_exec(
        *check_command(models),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    try:
        async with asyncio.timeout(_CHECK_S):
            out, errors = await process.communicate()
        # Libraries print as they are imported: the result is the last line.
        found = json.loads(out.splitlines()[-1])
        return {name: found[name] for name in models if name in found}
    except TimeoutError:
        return dict.fromkeys(models, f"its files could not be checked within {_CHECK_S:g} s")
    except (IndexError, ValueError):
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        return dict.fromkeys(models, f"the check of its files ended with code {process.returncode}: {last}")
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


async def _looked(name: str, settings: ModelSettings, refused: Mapping[str, str | None]) -> Found:
    model = settings.named[name]
    if is_ours(model):
        return await asyncio.to_thread(_files, model, name in refused, refused.get(name))
    started = time.monotonic()
    at = f"at {without_credentials(model.address or '')}"
    try:
        async with asyncio.timeout(_PATIENCE_S):
            told = await (_process(name, model) if model.backend == "own" else _engine(model))
    except SampleError as error:
        return f"{at} is not available", [Problem(error.message, "start it there, or correct its address; see its log")]
    except TimeoutError:
        return f"{at} does not answer", [
            Problem(f"no answer within {_PATIENCE_S:g} s", "check whether it is still loading")
        ]
    return f"{at}: {told} ({(time.monotonic() - started) * 1000:.0f} ms)", []


async def _process(name: str, model: ModelEndpoint) -> str:
    """Asks a model process of ours that is already running. Returns its description of a model. Raises ModelError."""
    backend = backends_of(ModelSettings(named={name: model}, start_s=_PATIENCE_S))[name]
    try:
        about = await backend.about()
    finally:
        await backend.close()
    run = " ".join(filter(None, (about.dtype, f"on {about.device}" if about.device else "")))
    told = (f"does {', '.join(about.kinds)}", f"reads {about.context} tokens", run, f"version {about.version}")
    return ", ".join(filter(None, told))


async def _engine(model: ModelEndpoint) -> str:
    """Returns the description that another engine gives: vLLM and SGLang both list their models as OpenAI does. Raises
    ModelError."""
    assert model.address is not None
    headers = {"authorization": f"Bearer {model.key}"} if model.key else {}
    try:
        async with httpx.AsyncClient(headers=headers, timeout=_PATIENCE_S, trust_env=False) as client:
            reply = await client.get(f"{model.address.rstrip('/')}/v1/models")
        told = reply.json() if reply.status_code == 200 else None
    except (httpx.HTTPError, httpx.InvalidURL, ValueError) as error:
        raise ModelError(f"{model.backend} cannot be reached: {type(error).__name__}") from None
    if not isinstance(told, dict) or not isinstance(told.get("data"), list):
        raise ModelError(f"{model.backend} answered {reply.status_code} without a list of its models")
    served = {str(one.get("id")): one for one in told["data"] if isinstance(one, dict)}
    if model.model not in served:
        raise ModelError(f"{model.backend} does not serve {model.model!r}; it serves: {', '.join(served) or 'none'}")
    context = served[model.model].get("max_model_len")
    return f"served by {model.backend}" + (f", reads {context} tokens" if isinstance(context, int) else "")


def _files(model: ModelEndpoint, here: bool, refusal: str | None) -> Found:
    """Describes a model that the server would run: where its files are, and why they cannot be loaded."""
    if not here:
        return f"from the hub, on {model.device}; downloaded when the server starts", []
    if refusal is not None:
        return "cannot be loaded", [Problem(refusal, _FIX)]
    path = Path(model.model).expanduser()
    if not path.is_dir():
        return f"{'a GGUF file' if path.is_file() else 'from the hub, downloaded'}, on {model.device}", []
    problems: list[Problem] = []
    longest = _context(path / "config.json")
    if longest is not None and model.context is not None and model.context > longest:
        problems.append(
            Problem(f"context {model.context} is more than the model's maximum, {longest}", f"context = {longest}")
        )
    reads = model.context or longest
    told = ", ".join(filter(None, ("a folder", f"reads {reads} tokens" if reads else "", f"on {model.device}")))
    return told, problems


def _context(path: Path) -> int | None:
    """Returns the longest input in a model's configuration, or None."""
    try:
        told = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    if not isinstance(told, dict):
        return None
    inner = told.get("text_config")  # of models that see
    places = [told, inner] if isinstance(inner, dict) else [told]
    found = (place[name] for place in places for name in _LENGTHS if isinstance(place.get(name), int))
    return next(found, None)
