"""`python -m rewarden_sandboxes`: the sandbox host as a process of its own."""

from __future__ import annotations

import os
import sys

# The host starts slots by fork and exec. gRPC's fork handlers, meant for children that do not exec, have crashed the
# child before the exec, and write to the parent's connections, which breaks them over TLS. gRPC reads this variable on
# import.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

from rewarden_sandboxes.command import main

if __name__ == "__main__":
    sys.exit(main())
