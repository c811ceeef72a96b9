"""The check that a model's device has room for other weights next to the current ones."""

from __future__ import annotations

import math
from pathlib import Path

from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.memory import available, on_gpu
from rewarden_models.weights import weights_in

_FLOATS = ("F64", "F32", "F16", "BF16")
"""The dtypes of weights that are converted to the model's dtype at loading."""


def fits_beside(name: str, before: ModelEndpoint, settings: ModelEndpoint) -> bool:
    """Returns whether the device can hold the weights of `settings` in addition to those of `before`. True if that is
    not known, and for another engine, which keeps the weights itself.

    Raises Failure (`memory`) if they would not fit even in place of the old ones: running out of memory would cost the
    model that works.
    """
    free = available(settings.device) if settings.backend == "own" else None
    if free is None:
        return True
    need = _bytes(settings)
    if need <= free:
        return True
    held = _bytes(before)
    if need > free + held:
        raise Failure(
            "memory",
            f"model {name!r}: the new weights take {need / 1e6:,.0f} MB, {free / 1e6:,.0f} MB are free, and the old "
            f"ones take {held / 1e6:,.0f} MB; the old ones are kept",
            needed=need,
            free=free,
        )
    return False


def _bytes(settings: ModelEndpoint) -> int:
    """Bytes that the weights in a local folder or file take once they are loaded."""
    size = 4 if settings.dtype == "float32" or (settings.dtype == "auto" and not on_gpu(settings.device)) else 2
    places = [Path(model) for model in (settings.model, settings.base) if model is not None]
    files = [file for place in places for file in ([place] if place.is_file() else place.glob("*.safetensors"))]
    return sum(_bytes_of(file, size) for file in files)


def _bytes_of(file: Path, size: int) -> int:
    """size: bytes of a floating-point number."""
    try:
        weights = weights_in(file).values()
    except Failure:  # loading will report the problem
        return file.stat().st_size
    floats = sum(math.prod(weight.shape) for weight in weights if weight.dtype in _FLOATS)
    return floats * size + sum(math.prod(weight.shape) for weight in weights if weight.dtype not in _FLOATS)
