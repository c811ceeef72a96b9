"""Processes: bombs, storms, daemons. The room's end is the end of them all."""

from __future__ import annotations

from dataclasses import replace

from tests.attacks.sandbox.attack import CALL_ME, ENDED, MARK, ROOMY, SMALL, Attack

_NAME_C = f'prctl(15, "{MARK}");'
_NAME_BASH = f"echo {MARK} > /proc/$$/comm\n"

_CHILDREN = """
import os
for n in range(8):
    pid = os.fork()
    if pid == 0:
        os._exit(n)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == n
print("fine")
"""

_CHILDREN_C = """
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    for (int n = 0; n < 8; n++) {
        int status;
        if (fork() == 0) _exit(n);
        wait(&status);
        if (WEXITSTATUS(status) != n) return 1;
    }
    puts("fine");
}
"""

_STORM = replace(SMALL, memory_mb=1024)
"""Limits for storms of forks. The kernel frees what ended processes took of it a moment later, and counts it as the
program's until then: under the usual limit a storm may end by its memory before its CPU time, or the other way round."""

ATTACKS = [
    Attack(
        title="forks without end",
        code=CALL_ME + "import os\nwhile True:\n    os.fork()\n",
        ends=("runtime_error", "time_limit"),
        twin=_CHILDREN,
    ),
    Attack(
        title="forks without end and minds no refusal",
        code=CALL_ME
        + """
import os
while True:
    try:
        os.fork()
    except OSError:
        pass
""",
        ends=("time_limit",),
        limits=_STORM,
        twin=_CHILDREN,
    ),
    Attack(
        title="forks without end",
        language="c",
        code=f"#include <sys/prctl.h>\n#include <unistd.h>\nint main(void) {{ {_NAME_C} while (1) fork(); }}",
        ends=("time_limit",),
        limits=_STORM,
        twin=_CHILDREN_C,
    ),
    Attack(
        title="a storm of forks, each a session of its own",
        language="c",
        code=f"""
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(void) {{
    {_NAME_C}
    for (int n = 1; n < 65; n++) signal(n, SIG_IGN);
    while (1) {{
        if (fork() == 0) setsid();
        if (fork() > 0) setpgid(0, 0);
    }}
}}
""",
        ends=("time_limit",),
        limits=_STORM,
        twin=_CHILDREN_C,
    ),
    Attack(
        title="vfork and clone without end",
        language="c",
        code=f"""
#define _GNU_SOURCE
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <unistd.h>
static int again(void *unused) {{
    while (1)
        if (clone(again, (char *)malloc(65536) + 65536, CLONE_VM | CLONE_FS | CLONE_FILES, 0) < 0) fork();
}}
int main(void) {{ {_NAME_C} again(0); }}
""",
        ends=("time_limit", "memory_limit", "runtime_error"),
        twin=_CHILDREN_C,
    ),
    Attack(
        title="the bomb of the shell",
        language="bash",
        code=_NAME_BASH + ":(){ :|:& };:\nwhile :; do :; done\n",
        ends=("time_limit", "runtime_error"),
        twin="for n in 1 2 3; do (exit $n); (($? == n)) || exit 1; done\necho fine",
    ),
    Attack(
        title="threads without end",
        code=CALL_ME
        + """
import threading, time
while True:
    threading.Thread(target=time.sleep, args=(600,)).start()
""",
        ends=("runtime_error", "time_limit"),
        twin="""
import threading
threads = [threading.Thread(target=int) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print("fine")
""",
    ),
    Attack(
        title="a daemon that sleeps past its parent's end",
        code=CALL_ME
        + """
import os, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for number in range(3):
            os.close(number)
        while True:
            time.sleep(600)
    os._exit(0)
print("gone")
""",
        says=b"gone\n",
        twin="import subprocess\nprint(subprocess.run(['echo', 'fine'], capture_output=True, text=True).stdout, end='')",
    ),
    Attack(
        title="a daemon that holds stdout open",
        code=CALL_ME
        + """
import os, time
print("said", flush=True)
if os.fork() == 0:
    os.setsid()
    while True:
        time.sleep(600)
os._exit(0)
""",
        says=b"said\n",
        twin=_CHILDREN,
    ),
    Attack(
        title="a daemon that writes on after its parent's end",
        code=CALL_ME
        + """
import os
if os.fork() == 0:
    os.setsid()
    while True:
        os.write(1, b"x")
os._exit(0)
""",
        ends=("ok",),
        twin=_CHILDREN,
    ),
    Attack(
        title="a daemon in the shell that holds everything open",
        language="bash",
        code=_NAME_BASH + "(while :; do sleep 600; done) &\ndisown -a\necho said\n",
        says=b"said\n",
        twin="echo fine | cat",
    ),
    Attack(
        title="as many processes as may be, all ignoring every signal, then exit code 0",
        code=CALL_ME
        + """
import os, signal, time
for number in range(1, 65):
    try:
        signal.signal(number, signal.SIG_IGN)
    except (OSError, ValueError):
        pass
count = 0
try:
    while True:
        if os.fork() == 0:
            while True:
                time.sleep(600)
        count += 1
except OSError:
    pass
print("BREACH no limit" if count > 64 else "HELD")
""",
        held=True,
        limits=ROOMY,
        twin=_CHILDREN,
    ),
    Attack(
        title="takes its name for another's and dies while a child goes on",
        code=CALL_ME
        + """
import os, signal
if os.fork() == 0:
    while True:
        pass
os.kill(os.getpid(), signal.SIGKILL)
""",
        ends=("runtime_error",),
        twin=_CHILDREN,
    ),
    Attack(
        title="has brothers that nobody reaps",
        code=CALL_ME
        + """
import ctypes, os, signal
libc = ctypes.CDLL(None, use_errno=True)
number = 56 if os.uname().machine == "x86_64" else 220
for _ in range(5):
    made = libc.syscall(number, 0x8000 | int(signal.SIGCHLD), 0, 0, 0, 0)  # CLONE_PARENT
    if made == 0:
        os._exit(0)
    print("BREACH" if made > 0 else "HELD")
""",
        held=True,
        twin=_CHILDREN,
    ),
    Attack(
        title="raises its own limits first",
        code=CALL_ME
        + """
import resource, os
for name in dir(resource):
    if name.startswith("RLIMIT_"):
        what = getattr(resource, name)
        soft, hard = resource.getrlimit(what)
        for wanted in ((resource.RLIM_INFINITY,) * 2, (hard + 1 if hard >= 0 else hard, hard + 1 if hard >= 0 else hard)):
            if hard == resource.RLIM_INFINITY:
                continue
            try:
                resource.setrlimit(what, wanted)
                print("BREACH", name, wanted)
            except (OSError, ValueError, OverflowError):
                pass
        for pid in {1, os.getppid()} - {0}:  # 0 is oneself
            try:
                resource.prlimit(pid, what, (1, hard))
                print("BREACH of init", name)
            except (OSError, ValueError, OverflowError):
                pass
print("HELD")
""",
        held=True,
        twin="import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (32, 32))\nprint('fine')",
    ),
    Attack(
        title="ends in every way at once",
        code=CALL_ME
        + """
import os, threading
def go():
    os._exit(0)
for _ in range(20):
    if os.fork() == 0:
        os.setsid()
        while True:
            pass
for _ in range(5):
    threading.Thread(target=go).start()
""",
        ends=ENDED,
        twin=_CHILDREN,
    ),
]
