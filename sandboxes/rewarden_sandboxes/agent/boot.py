"""The boot code of a slot: receives the agent's sources from the host, then continues in `start`.

`source()` is passed to `python3 -c`, so that the image needs no file of ours. A module is compiled on first import, so
modules that the bare zygote never imports are not in the memory that every room copies.
"""

from __future__ import annotations

SOCKET = "/run/rewarden/host.sock"
"""The path of the host's socket, as seen from inside the slot."""

_BOOT = """
import importlib.machinery, json, socket, struct, sys
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
class Sources:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name in sources:
            spec = importlib.machinery.ModuleSpec(name, Sources, origin='<rewarden>', is_package=not sources[name])
            return spec
    @staticmethod
    def create_module(spec):
        return None
    @staticmethod
    def exec_module(module):
        name = module.__name__
        exec(compile(sources[name], '<rewarden>/' + name, 'exec', dont_inherit=True), module.__dict__)
sys.meta_path.insert(0, Sources)
try:
    from rewarden_sandboxes.agent import start
    start.main(s)
except Exception as error:
    import traceback
    told = {'ev': 'broken', 'message': '%%s: %%s' %% (traceback.format_exc(limit=-1).splitlines()[1:2], error)}
    told = json.dumps(told).encode()
    s.sendall(struct.pack('>IQ', len(told), 0) + told)
    s.recv(65536)
"""


def source() -> str:
    """Returns the source text for `python3 -c`."""
    return _BOOT % SOCKET
