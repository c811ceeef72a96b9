"""The doctor's word on models: whether each can be had, without loading it."""

from __future__ import annotations

import asyncio
import json
import time
from importlib.util import find_spec
from pathlib import Path

import httpx

from rewarden.errors import ModelError, SampleError
from rewarden_models.endpoint import ModelEndpoint, is_local
from rewarden_server.config import Config
from rewarden_server.lean.projects import without_credentials
from rewarden_server.models.identity import default_model
from rewarden_server.models.process import is_ours
from rewarden_server.models.process_backend import backends_of
from rewarden_server.models.settings import ModelSettings

_PATIENCE_S = 30.0
_PACKAGES = ("torch", "transformers", "safetensors")
_LENGTHS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length")
"""The names that the configurations of models have for the length of the longest input."""

Found = tuple[str, list[tuple[str, str]]]


async def model_state(config: Config) -> Found:
    """Returns a description of the configured models, and what is missing, each with the fix. Models with an address
    are called; for those that the server would run itself, packages and files are looked up.
    """
    settings = config.models
    if not settings.named:
        return "none (no models.named)", []
    default = default_model(settings)
    lines = [f"{len(settings.named)} configured, {f'by default {default}' if default else 'no default'}"]
    missing: list[tuple[str, str]] = []
    here = [model for model in settings.named.values() if is_ours(model) or model.backend != "own"]
    absent = [name for name in _PACKAGES if here and find_spec(name) is None]
    if absent:
        missing.append((f"models need {', '.join(absent)}", "pip install 'rewarden-server[models]'"))
    found = await asyncio.gather(*(_looked(name, settings) for name in settings.named))
    for (name, model), (told, problems) in zip(settings.named.items(), found, strict=True):
        lines.append(f"  {name}: {model.model} {told}")
        missing += [(f"models.named.{name}: {problem}", mend) for problem, mend in problems]
    return "\n".join(lines), missing


async def _looked(name: str, settings: ModelSettings) -> Found:
    model = settings.named[name]
    if is_ours(model):
        return await asyncio.to_thread(_files, model)
    started = time.monotonic()
    at = f"at {without_credentials(model.address or '')}"
    try:
        async with asyncio.timeout(_PATIENCE_S):
            told = await (_process(name, model) if model.backend == "own" else _engine(model))
    except SampleError as error:
        return f"{at} cannot be had", [(error.message, "start it there, or correct address; its own log says more")]
    except TimeoutError:
        return f"{at} does not answer", [(f"no answer within {_PATIENCE_S:g} s", "see whether it still loads")]
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
        raise ModelError(f"{model.backend} answered {reply.status_code}, and not which models it serves")
    served = {str(one.get("id")): one for one in told["data"] if isinstance(one, dict)}
    if model.model not in served:
        raise ModelError(f"{model.backend} does not serve {model.model!r}; it serves: {', '.join(served) or 'none'}")
    context = served[model.model].get("max_model_len")
    return f"served by {model.backend}" + (f", reads {context} tokens" if isinstance(context, int) else "")


def _files(model: ModelEndpoint) -> Found:
    """A model that the server would run: what lies there, unopened but for its configuration."""
    if not is_local(model.model) and not Path(model.model).exists():
        return f"of the hub, on {model.device}; it is fetched, unless it was, when the server starts", []
    path = Path(model.model).expanduser()
    if not path.exists():
        return "is not there", [(f"there is no {path}", "correct model: a folder, a GGUF file, or a hub's name")]
    if path.is_file():
        if path.suffix.lower() != ".gguf":
            return "cannot be read", [(f"{path.name} is no GGUF file", "give the model's folder, or a GGUF file")]
        return f"a GGUF file, on {model.device}", []
    problems: list[tuple[str, str]] = []
    if not any(path.glob("*.safetensors")) and not any(path.glob("*.gguf")):
        problems.append(("its folder holds no .safetensors and no .gguf", "save it with save_pretrained(FOLDER)"))
    longest = _context(path / "config.json")
    if longest is not None and model.context is not None and model.context > longest:
        problems.append((f"context {model.context} is more than the model reads, {longest}", f"context = {longest}"))
    reads = model.context or longest
    told = ", ".join(filter(None, ("a folder", f"reads {reads} tokens" if reads else "", f"on {model.device}")))
    return told, problems


def _context(path: Path) -> int | None:
    """The longest input, as a model's configuration says it, where it does."""
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
