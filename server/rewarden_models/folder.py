"""The location of a model's files: a local folder, a GGUF file, or a snapshot of a hub's repository."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from rewarden_models.failure import Failure

INDEX = "model.safetensors.index.json"
"""The file that maps each weight to its shard."""

_Files = TypeVar("_Files")

_PICKLED = (".bin", ".pt", ".pth", ".ckpt", ".pkl", ".pickle")
_HUB = re.compile(r"[\w][\w.-]*/[\w][\w.-]*(?:/[\w./-]+\.gguf)?|[\w][\w.-]*")
_WANTED = ("*.json", "*.jinja", "*.txt", "*.model", "*.tiktoken")


@dataclass(frozen=True, slots=True)
class Folder:
    """A model's files. weights: the files to read, never pickled ones; gguf: the name of the GGUF file, if that is what
    is read; source: the name that callers may see: a folder's or file's own name, or its name on the hub."""

    path: Path
    weights: tuple[Path, ...]
    source: str
    gguf: str | None = None

    @property
    def where(self) -> str:
        """Its location, for messages."""
        return f"{self.source} ({self.path})"

    def read(self, name: str) -> Mapping[str, Any]:
        """A JSON file next to the weights; empty if there is none. Raises Failure if it is not a JSON object."""
        place = self.path / name
        try:
            found = json.loads(place.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return {}
        except (OSError, ValueError) as error:
            raise Failure("loading", f"{place}: {error}") from None
        if not isinstance(found, dict):
            raise Failure("loading", f"{place}: is not a JSON object")
        return found


def find(model: str, revision: str | None, *, fetch: bool = True) -> Folder:
    """The files of a configured model. Missing ones are downloaded from the hub, unless `fetch` is off. Raises Failure,
    with a fix, if there is no such model, and for weights that only unpickling would read: their author could run code
    here."""
    place = Path(model).expanduser()
    if place.is_file():
        if place.suffix != ".gguf":
            raise Failure("loading", f"{place}: is not a GGUF file; give the folder of a safetensors checkpoint")
        return Folder(place.parent, (place,), place.name, place.name)
    if place.is_dir():
        return _local(place, place.resolve().name)
    _refuse_path(model)
    return _downloaded(model, revision, fetch=fetch)


def if_here(model: str, read: Callable[[], _Files]) -> _Files | None:
    """The files that `read` finds without fetching any. Returns None for a name on the hub whose files are not all
    here. Raises Failure for a local path, as `read` does."""
    try:
        return read()
    except (ImportError, Failure):  # without the library nothing can have been fetched from the hub
        if Path(model).expanduser().exists() or not _is_hub_name(model):
            raise
        return None


def adapter_folder(model: str, revision: str | None, *, fetch: bool = True) -> Path:
    """An adapter's folder. One on the hub is downloaded, without pickled weights, unless `fetch` is off. Raises Failure
    if there is none."""
    place = Path(model).expanduser()
    if place.is_dir():
        return place
    _refuse_path(model)
    return _snapshot(model, model, revision, [*_WANTED, "adapter_model.safetensors"], fetch=fetch)


def files_beside(model: str, revision: str | None) -> Folder:
    """The files next to a model's weights, for a model that another engine runs: tokenizer, template, configuration.
    Those on the hub are downloaded. Raises Failure if they do not exist."""
    place = Path(model).expanduser()
    if place.is_dir():
        return Folder(place, (), place.resolve().name)
    _refuse_path(model)
    return Folder(_snapshot(model, model, revision, [*_WANTED, "*_*/config.json"]), (), model)


def _is_hub_name(model: str) -> bool:
    return not model.startswith(("/", ".", "~")) and _HUB.fullmatch(model) is not None


def _refuse_path(model: str) -> None:
    if not _is_hub_name(model):
        raise Failure("loading", f"{model}: there is no such folder, and it is not a name on the hub (OWNER/NAME)")


def _downloaded(model: str, revision: str | None, *, fetch: bool) -> Folder:
    name, file = model, None
    if model.endswith(".gguf"):
        owner, repository, file = model.split("/", 2)
        name = f"{owner}/{repository}"
    wanted = [file] if file else [*_WANTED, "*_*/config.json", "*.safetensors"]
    path = _snapshot(model, name, revision, wanted, fetch=fetch)
    if file:
        if not (path / file).is_file():
            raise Failure("loading", f"{model}: the repository has no such file")
        return Folder((path / file).parent, (path / file,), model, Path(file).name)
    return _local(path, model)


def _snapshot(model: str, name: str, revision: str | None, wanted: list[str], *, fetch: bool = True) -> Path:
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, HFValidationError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(name, revision=revision, allow_patterns=wanted, local_files_only=not fetch))
    except (HfHubHTTPError, HFValidationError, LocalEntryNotFoundError, OSError, ValueError) as error:
        what = str(error).strip().splitlines()[0] if str(error).strip() else repr(error)
        raise Failure(
            "loading",
            f"{model}: is not a local folder, and is not available from the hub: {what} (name, token, network?)",
        ) from None


def _local(folder: Path, source: str) -> Folder:
    if (folder / "adapter_config.json").exists():
        told = Folder(folder, (), source).read("adapter_config.json").get("base_model_name_or_path")
        raise Failure(
            "loading",
            f"{folder}: contains an adapter; set base to the folder or name of the model that it was trained on"
            f"{f' (its adapter_config.json says {told!r})' if told else ''}, or merge it (peft's merge_and_unload)",
        )
    one, index = folder / "model.safetensors", folder / INDEX
    if one.is_file():
        return Folder(folder, (one,), source)
    if index.is_file():
        weight_map = Folder(folder, (), source).read(index.name).get("weight_map", {})
        listed = isinstance(weight_map, dict) and all(isinstance(name, str) for name in weight_map.values())
        names = sorted(set(weight_map.values())) if listed else []
        if not names or any(Path(name).name != name for name in names):  # a shard's name could lead out of the folder
            raise Failure("loading", f"{index}: its `weight_map` does not name files of this folder")
        missing = [name for name in names if not (folder / name).is_file()]
        if missing:
            raise Failure("loading", f"{folder}: lacks {', '.join(missing)}, which {index.name} lists; copy it again")
        return Folder(folder, tuple(folder / name for name in names), source)
    quantised = sorted(folder.glob("*.gguf"))
    if len(quantised) == 1:
        return Folder(folder, (quantised[0],), source, quantised[0].name)
    if quantised:
        names = [path.name for path in quantised]
        raise Failure("loading", f"{folder}: contains several GGUF files; give the path of one of {', '.join(names)}")
    if any(path.suffix in _PICKLED for path in folder.iterdir()):
        raise Failure(
            "loading",
            f"{folder}: contains only pickled weights, which can run code when loaded; save them as safetensors "
            "(model.save_pretrained)",
        )
    raise Failure("loading", f"{folder}: contains neither model.safetensors nor a GGUF file")
