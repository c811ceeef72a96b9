"""`python -m rewarden_models`: the model process."""

from __future__ import annotations

import sys

from rewarden_models.command import main

if __name__ == "__main__":
    sys.exit(main())
