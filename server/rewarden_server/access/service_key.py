"""The key for a service that the server calls: `api_key`, `api_key_env` or `api_key_file` of a judge or a model."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rewarden_verifiers.schema import AfterValidator, BeforeValidator, Misfit

_KEY_FILE = "api_key_file"


def _with_key(value: Any) -> Any:
    """Returns the settings of a judge or a model with the key from the file that they name."""
    if not isinstance(value, Mapping) or _KEY_FILE not in value:
        return value
    rest = {name: item for name, item in value.items() if name != _KEY_FILE}
    file = value[_KEY_FILE]
    if "api_key" in rest:
        raise Misfit(f": api_key and {_KEY_FILE} are both set; give only one")
    if not isinstance(file, str):
        raise Misfit("must be a path", f".{_KEY_FILE}")
    try:
        key = Path(file).expanduser().read_text(encoding="utf-8").strip()
    except OSError as error:  # the name is not repeated: someone may have put the key there
        raise Misfit(f"cannot be read: {error.strerror}", f".{_KEY_FILE}") from None
    except ValueError:
        raise Misfit("is not text", f".{_KEY_FILE}") from None
    if not key:
        raise Misfit("is empty", f".{_KEY_FILE}")
    return {**rest, "api_key": key}


def _with_one_key(made: Any) -> Any:
    if made.api_key is not None and made.api_key_env is not None:
        raise Misfit(": api_key and api_key_env are both set; give only one")
    if made.api_key is not None and not (made.api_key.isascii() and made.api_key.isprintable()):
        raise Misfit("contains characters that are not allowed in an HTTP header", ".api_key")
    return made


KeyOfFile = BeforeValidator(_with_key)
"""Lets a table name the file that contains its key (`api_key_file`)."""

OneKey = AfterValidator(_with_one_key)
"""Refuses two keys, and a key that a header cannot contain."""
