"""The first thing that runs in a slot: takes the agent's sources from the host, then becomes the supervisor.

`source()` is passed to `python3 -c`, so that the image needs no file of ours.
"""

from __future__ import annotations

SOCKET = "/run/rewarden/host.sock"
"""Where the launchers put the socket of the slot's host, as seen from inside."""

MODULES = (
    "frames",
    "filters",
    "room",
    "accounting",
    "border",
    "serving",
    "faults",
    "things",
    "link",
    "names",
    "bodies",
    "standin",
    "calling",
    "shared",
    "modes",
    "zygote",
    "zygotes",
    "run",
    "reports",
    "supervisor",
)
"""In the order of their imports."""

_BOOT = """
import json, socket, struct, sys, types
sys.path[:] = [p for p in sys.path if p]
sys.dont_write_bytecode = True
s = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
s.connect(%r)
def take(n):
    b = bytearray()
    while len(b) < n:
        d = s.recv(min(n - len(b), 1 << 20))
        if not d: raise SystemExit('the host is gone')
        b += d
    return bytes(b)
sources = json.loads(take(struct.unpack('>I', take(4))[0]))
try:
    for package in ('rewarden_sandboxes', 'rewarden_sandboxes.agent'):
        m = sys.modules[package] = types.ModuleType(package)
        m.__path__ = []
    sys.modules['rewarden_sandboxes'].agent = sys.modules['rewarden_sandboxes.agent']
    for name, text in sources:
        full = 'rewarden_sandboxes.agent.' + name
        m = sys.modules[full] = types.ModuleType(full)
        m.__file__ = '<rewarden agent>/' + name + '.py'
        setattr(sys.modules['rewarden_sandboxes.agent'], name, m)
        exec(compile(text, m.__file__, 'exec'), m.__dict__)
    sys.modules['rewarden_sandboxes.agent.supervisor'].main(s)
except Exception as error:
    import traceback
    told = {'ev': 'broken', 'message': '%%s: %%s' %% (traceback.format_exc(limit=-1).splitlines()[1:2], error)}
    told = json.dumps(told).encode()
    s.sendall(struct.pack('>IQ', len(told), 0) + told)
    s.recv(65536)
"""


def source() -> str:
    """The text for `python3 -c`."""
    return _BOOT % SOCKET
