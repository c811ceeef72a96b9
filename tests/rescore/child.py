"""A rescore in a process of its own, to be killed: `python -m tests.rescore.child IN OUT LOG SEED USE SORT HALT`.

HALT: it stops, and waits to be killed, after so many verdicts; `inf` for never.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from rewarden_server.studies.rescore.options import RescoreOptions
from rewarden_server.studies.rescore.run import rescore
from tests.rescore.conftest import SIBLINGS, YES
from tests.rescore.toy import ToyClient


def main() -> None:
    source, output, log, seed, use, sort, halt = sys.argv[1:]
    options = RescoreOptions(
        input=Path(source),
        output=Path(output),
        routing=YES if use == "yes" else SIBLINGS,
        sort=sort == "sort",
        resume=True,
        checkpoint_s=0.01,
        sort_mb=1,
    )
    client = ToyClient(seed=int(seed), halt_at=float(halt), log=Path(log))
    asyncio.run(rescore(options, client))  # type: ignore[arg-type]


if __name__ == "__main__":
    main()
