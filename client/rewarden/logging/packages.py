"""The trackers' packages: looked for when a sink is made, imported when it first writes."""

from __future__ import annotations

from importlib.util import find_spec

from rewarden.errors import InvalidRequest


def need(package: str) -> None:
    """Raises InvalidRequest, with the command that installs it, where a package is missing."""
    if not there(package):
        raise InvalidRequest(f"logging to {package} needs a package: pip install {package}")


def there(package: str) -> bool:
    """Returns whether a package can be imported; it is not."""
    try:
        return find_spec(package) is not None
    except ValueError:  # in sys.modules, but without a spec
        return True
