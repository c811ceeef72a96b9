"""Output without end, on every way out."""

from __future__ import annotations

from rewarden_sandboxes.job import Limits
from tests.attacks.sandbox.attack import CALL_ME, Attack

MOST = 1 << 20
TALK = Limits(cpu_s=10.0, wall_s=5.0, memory_mb=256, processes=32, output_bytes=MOST, disk_mb=16, open_files=64)

_MUCH = "import sys\nsys.stdout.write('x' * 999_999 + '\\n')\n"
_MUCH_SAYS = b"x" * 999_999 + b"\n"


def _flood(title: str, code: str, language: str = "python", twin: str = _MUCH, twin_says: bytes = _MUCH_SAYS) -> Attack:
    return Attack(
        title=title,
        language=language,
        code=(CALL_ME if language == "python" else "") + code,
        ends=("output_limit",),
        limit="output_bytes",
        limits=TALK,
        twin=twin,
        twin_says=twin_says,
    )


_C_MUCH = '#include <stdio.h>\nint main(void) { for (int n = 0; n < 999999; n++) putchar(120); puts(""); }'

ATTACKS = [
    _flood("prints for ever", "while True:\n    print('x' * 1000)\n"),
    _flood("prints one line for ever", "import sys\nwhile True:\n    sys.stdout.write('x' * 65536)\n"),
    _flood("complains for ever", "import sys\nwhile True:\n    sys.stderr.write('x' * 65536)\n"),
    _flood("does both by turns", "import os\nwhile True:\n    os.write(1, b'x' * 100)\n    os.write(2, b'y' * 100)\n"),
    _flood("says the limit and a byte", f"import os\nos.write(1, b'x' * {MOST})\nos.write(1, b'x')\n"),
    _flood("splits it over both ways", f"import os\nos.write(1, b'x' * {MOST // 2})\nos.write(2, b'x' * {MOST // 2 + 1})\n"),
    _flood("prints for ever", "#include <stdio.h>\nint main(void) { while (1) puts(\"xxxxxxxxxxxxxxxx\"); }", "c", _C_MUCH),
    _flood("prints for ever", "yes", "bash", "head -c 999999 /dev/zero | tr '\\0' x; echo"),
    _flood(
        "prints for ever",
        "const fs = require('fs');\nwhile (true) fs.writeSync(1, 'x'.repeat(1000));",
        "javascript",
        "process.stdout.write('x'.repeat(999999) + '\\n')",
    ),
    _flood("prints through its own name for stdout", "out = open('/dev/stdout', 'wb', 0)\nwhile True:\n    out.write(b'x' * 65536)\n"),
    _flood("prints through another's descriptor", "import os\nout = os.open('/proc/self/fd/1', os.O_WRONLY)\nwhile True:\n    os.write(out, b'x' * 65536)\n"),
    _flood("prints from children", "import os\nos.fork()\nos.fork()\nwhile True:\n    os.write(1, b'x' * 65536)\n"),
    _flood(
        "widens the pipe, fills it and ends",
        f"import fcntl, os\ntry:\n    fcntl.fcntl(1, 1031, {4 * MOST})\nexcept OSError:\n    pass\nos.write(1, b'x' * {2 * MOST})\n",
    ),
    _flood(
        "takes the blocking away, fills the pipe and ends well",
        f"import os\nos.set_blocking(1, False)\nleft = {2 * MOST}\nwhile left > 0:\n    try:\n        left -= os.write(1, b'x' * 4096)\n    except BlockingIOError:\n        pass\nos._exit(0)\n",
    ),
]  # fmt: skip
