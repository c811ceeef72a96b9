"""Asks a server what a client of SandboxFusion's would: four programs, and how each ended.

pip install sandbox-fusion
python check.py http://127.0.0.1:8080
"""

from __future__ import annotations

import sys

from sandbox_fusion import RunCodeRequest, run_code, run_concurrent

PROGRAMS = (
    RunCodeRequest(code="print(int(input()) * 2)", language="python", stdin="21"),
    RunCodeRequest(code="import time; time.sleep(60)", language="python", run_timeout=1),
    RunCodeRequest(code="int main() { return undeclared; }", language="cpp"),
    RunCodeRequest(code="console.log([1, 2].map(x => x * 2))", language="nodejs"),
)


def main(server: str) -> None:
    """Prints a line for each."""
    address = f"{server}/compat/sandbox_fusion"
    for asked, reply in zip(PROGRAMS, run_concurrent(run_code, [[each, address] for each in PROGRAMS]), strict=True):
        result = reply.run_result or reply.compile_result
        print(
            asked.language, reply.status.value, result.status.value, result.return_code, repr(result.stdout), sep="\t"
        )


if __name__ == "__main__":
    main(*sys.argv[1:])
