"""The CAs that `https://` and `grpcs://` targets trust: those of this machine, or those of a file."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Union

from rewarden.errors import InvalidRequest

VARIABLE = "REWARDEN_CA"
CA_HELP = f"a PEM file of the CA certificates to trust (default: {VARIABLE})"
"""The help of the option `--ca` of commands."""

BELIEF = f"give the CA that signed it: ca=FILE, or {VARIABLE}"
NO_TLS = "the server does not use TLS; use an http:// or grpc:// target"

PathLike = Union[str, "os.PathLike[str]"]


def authority(given: PathLike | None) -> Path | None:
    """Returns the PEM file with the only CAs to trust: the given one, else `REWARDEN_CA`; None: those of the machine.

    Raises InvalidRequest for a file that cannot be read, naming its setting.
    """
    named = given or os.environ.get(VARIABLE)
    if not named:
        return None
    path = Path(named).expanduser()
    try:
        path.open("rb").close()
    except OSError as error:
        said = "ca" if given else VARIABLE
        raise InvalidRequest(f"{said}: {path} cannot be read: {error.strerror or error}") from None
    return path


def distrust(error: BaseException) -> str | None:
    """Returns the reason why there will never be a connection: the server has no trusted certificate, or does not
    speak TLS.

    Looks at the error and at its causes. Returns None for transient errors, such as a server that stops during the
    handshake.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return f"its certificate is not trusted ({cause.verify_message}); {BELIEF}"
        if isinstance(cause, ssl.SSLError) and cause.reason == "WRONG_VERSION_NUMBER":
            return NO_TLS
        cause = cause.__cause__ or cause.__context__
    return None
