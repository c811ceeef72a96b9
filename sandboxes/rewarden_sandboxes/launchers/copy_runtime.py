"""Copies a Python that needs nothing of the file system around it: run in a slot's image, as text for `python3 -c`.

It takes the interpreter, the standard library, and the loader and shared libraries that these need. The copy appears
whole or not at all: whoever comes second finds it, or loses the race to rename it.
"""

import contextlib
import importlib
import os
import pkgutil
import shutil
import sys
import sysconfig
import tempfile

_LEFT_OUT = ("dist-packages", "ensurepip", "idlelib", "lib2to3", "pydoc_data", "sitecustomize.py", "test", "tkinter")


def copy(target: str) -> None:
    """Puts the copy at a path, unless something is there."""
    if os.path.exists(target):
        return
    stage = tempfile.mkdtemp(dir=os.path.dirname(target))
    os.mkdir(stage + "/bin")
    shutil.copy(os.path.realpath(sys.executable), stage + "/bin/python3")
    library = sysconfig.get_path("stdlib")
    left_out = shutil.ignore_patterns(*_LEFT_OUT)
    shutil.copytree(library, f"{stage}/lib/{os.path.basename(library)}", ignore=left_out, ignore_dangling_symlinks=True)
    for path in _shared_libraries(library):
        _copy_library(path, stage)
    os.chmod(stage, 0o755)
    try:
        os.rename(stage, target)
    except OSError:
        shutil.rmtree(stage)
        if not os.path.exists(target):
            raise


def _shared_libraries(library: str) -> list[str]:
    """The files that are in this process's memory when every module of the standard library is that has one."""
    for module in pkgutil.iter_modules([f"{library}/lib-dynload"]):
        with contextlib.suppress(ImportError):
            importlib.import_module(module.name)
    with open("/proc/self/maps", encoding="utf-8") as maps:
        paths = {line.split(maxsplit=5)[5].strip() for line in maps if line.count("/")}
    return sorted(path for path in paths if ".so" in path and not path.startswith(library))


def _copy_library(path: str, stage: str) -> None:
    """Copies a library under all of its names: others ask for it by one that is a link."""
    folder, own = os.path.split(path)
    shutil.copy(path, f"{stage}/lib/{own}")
    for name in os.listdir(folder):
        if name != own and os.path.realpath(f"{folder}/{name}") == path:
            os.symlink(own, f"{stage}/lib/{name}")
    if own.startswith("ld"):
        os.symlink(own, stage + "/lib/ld.so")


if __name__ == "__main__":
    copy(sys.argv[1])
