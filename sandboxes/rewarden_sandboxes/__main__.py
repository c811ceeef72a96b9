"""`python -m rewarden_sandboxes`: the sandbox host as a process of its own."""

from __future__ import annotations

import os
import sys

# The host starts slots by fork and exec. What gRPC does in the child before the exec, for those who fork and stay, has
# crashed it there, and writes to connections that are the parent's: over TLS that breaks them. gRPC reads this variable
# when it is imported.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

from rewarden_sandboxes.command import main

if __name__ == "__main__":
    sys.exit(main())
