"""Loaded by every Python that starts while a repository's tests run; the one that runs the tests reports them.

The report goes through a pipe, and each of its records carries a secret that only this process has read. It says what
the framework saw, not what it printed. Beside each test go a digest of its code and the names of whatever has changed
in the framework since the interpreter started: the verifier compares both with the run of the reference's patch.

Attack: a module of the repository that is named like one of the framework's. So all of them are loaded here, before
the repository's folder can be searched.

The box's Python may be as old as 3.6.
"""

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any


def _runs_tests(framework: str) -> bool:
    """Returns whether this interpreter was started to run tests."""
    with open("/proc/self/cmdline", "rb") as file:
        words = file.read().decode("utf-8", "replace").split("\0")[1:-1]
    if "-m" in words and words[words.index("-m") + 1 : words.index("-m") + 2] == [framework]:
        return True
    names = [os.path.basename(word) for word in words if not word.startswith("-")][:1]
    if framework == "pytest":
        return names in (["pytest"], ["py.test"])
    return bool(names) and names[0].endswith(".py")


def _begin() -> None:
    told = os.environ.get("REWARDEN_TESTS", "")
    if told.count(",") != 2:
        return
    framework, source, sink = told.split(",")
    try:
        if not _runs_tests(framework):
            return
        secret = os.read(int(source), 64).decode()
        os.close(int(source))
        os.set_inheritable(int(sink), False)
    except (OSError, ValueError):
        return  # a program that a test has started: its parent has the pipe
    if secret:
        os.environ.pop("REWARDEN_TESTS")
        _report(framework, secret, int(sink))


def _report(framework: str, secret: str, sink: int) -> None:
    import atexit
    import builtins
    import contextlib
    import functools
    import hashlib
    import importlib
    import importlib.machinery
    import inspect
    import json
    import runpy
    import types
    import unittest
    import unittest.mock

    try:
        import ctypes

        # Attack: a program that the tests start reads this process's memory, or its pipe, through /proc.
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    except (ImportError, OSError, AttributeError):
        pass

    def sender() -> "Any":
        # The secret is a variable of a generator: whoever looks into one is seen by the audit hook.
        own, write, number, process, pending = os.getpid, os.write, 0, os.getpid(), b""
        dumps = json.dumps
        while True:
            record = yield
            if own() != process:
                continue
            number += 1
            pending = (dumps([secret, number, record]) + "\n").encode("utf-8", "backslashreplace")
            while pending:
                pending = pending[write(sink, pending) :]

    made = sender()
    next(made)
    send = made.send
    waiting: list[Any] = []

    def emit(record: "Any") -> None:
        waiting.append(record)
        while waiting:
            try:
                send(waiting[0])
            except ValueError:
                return  # another thread is at it
            del waiting[:1]

    # --- what was changed in the framework --------------------------------------------------------------------------

    prefixes = ("unittest", "_pytest", "pytest", "pluggy", "importlib", "runpy", "atexit", "inspect")

    def parts(value: "Any") -> "Any":
        if isinstance(value, (staticmethod, classmethod)):
            value = value.__func__
        if isinstance(value, property):
            return [value.fget, value.fset]
        return [value]

    def look_into(seen: "Any", name: "Any", kind: "Any") -> None:
        for inner, one in list(vars(kind).items()):
            for number, part in enumerate(parts(one)):
                if callable(part):
                    seen[f"{name}.{inner}.{number}"] = (part, getattr(part, "__code__", None), None)

    def look() -> "Any":
        seen: dict[str, Any] = {}
        for name, module in list(sys.modules.items()):
            if name.split(".")[0] not in prefixes or not isinstance(module, types.ModuleType):
                continue
            for key, value in list(vars(module).items()):
                if isinstance(value, types.FunctionType):
                    seen[name + "." + key] = (value, value.__code__, value.__defaults__)
                elif isinstance(value, type) and value.__module__ == name:
                    seen[name + "." + key] = (value, value.__bases__, None)
                    for base in value.__mro__:
                        if base.__module__.split(".")[0] in prefixes:
                            look_into(seen, f"{name}.{key}.{base.__name__}", base)
        for key, value in vars(builtins).items():
            if key != "_":
                seen["builtins." + key] = (value, None, None)
        return seen

    sent: set[str] = set()

    def changed() -> "Any":
        """Returns the names of what has changed and was not told before, however many they are: a framework changes
        much by itself."""
        now = look()
        names = {key for key, value in at_start.items() if key not in now or now[key][:2] != value[:2]}
        # A method that a class of the framework gains overrides what it inherits.
        names |= {key for key in now if key not in at_start and key.count(".") > 3 and key.split(".")[0] in classes}
        new = sorted(names - sent)
        sent.update(new)
        return new

    classes = ("unittest", "_pytest", "pytest", "pluggy")

    # --- what the tests are -----------------------------------------------------------------------------------------

    digests: dict[Any, str] = {}

    def digest_of(value: "Any") -> "Any":
        if isinstance(value, types.CodeType):
            if value not in digests:
                inner = [value.co_name, value.co_code.hex(), value.co_names, value.co_varnames, value.co_freevars]
                text = repr(inner) + "".join(digest_of(one) for one in value.co_consts)
                digests[value] = hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()
            return digests[value]
        if isinstance(value, tuple):
            return "(" + "".join(digest_of(one) + "," for one in value) + ")"
        if isinstance(value, frozenset):
            return "{" + ",".join(sorted(digest_of(one) for one in value)) + "}"
        return type(value).__name__ + repr(value)

    def print_of(function: "Any", module: "Any") -> "Any":
        """Returns a digest of a test, and of the functions that its module defines."""
        own = inspect.unwrap(getattr(function, "__func__", function))
        text = digest_of(getattr(own, "__code__", None))
        path = getattr(module, "__file__", None)
        for key, value in sorted(vars(module).items() if isinstance(module, types.ModuleType) else ()):
            inside = vars(value).items() if isinstance(value, type) else [("", value)]
            for name, one in inside:
                for part in parts(one):
                    part = getattr(part, "__wrapped__", part) if callable(part) else part
                    if isinstance(part, types.FunctionType) and part.__code__.co_filename == path:
                        text += f"{key}.{name}:{digest_of(part.__code__)};"
        return hashlib.sha256(text.encode("utf-8", "backslashreplace")).hexdigest()[:16]

    def safe_print(function: "Any", module: "Any") -> "Any":
        try:
            return print_of(function, module)
        except Exception as error:  # noqa: BLE001  # whatever a test is made of, it is reported
            return type(error).__name__

    # --- the frameworks ---------------------------------------------------------------------------------------------

    def watch_unittest() -> None:
        module: Any = unittest.case
        case = module.TestCase
        original, made = case.run, []

        class Outcome(module._Outcome):  # type: ignore[misc]
            __module__ = module._Outcome.__module__

            def __init__(self, *args: "Any", **kwargs: "Any") -> None:
                super().__init__(*args, **kwargs)
                made.append(self)

        @functools.wraps(original)
        def run(self: "Any", result: "Any" = None) -> "Any":
            start, ended = len(made), False
            kind = type(self)
            name = getattr(self, "_testMethodName", "")
            # Attack: a method of the instance hides that of its class, and removes itself as it runs.
            method, hidden = getattr(self, name, None), name in vars(self)
            try:
                told = original(self, result)
                ended = True
                return told
            finally:
                own = made[start:]
                del made[start:]
                mark = safe_print(method, sys.modules.get(kind.__module__))
                status = "failed"
                if ended and len(own) == 1:
                    status = "passed" if own[0].success is True else status
                    if getattr(own[0], "expecting_failure", False):
                        status = "xfailed" if getattr(own[0], "expectedFailure", None) else "failed"
                emit(
                    {
                        "test": f"{kind.__module__}.{kind.__qualname__}.{name}",
                        "phase": "call",
                        "status": status,
                        "print": mark + " of the instance" if hidden or name in vars(self) else mark,
                        "changed": changed(),
                    }
                )

        module._Outcome = Outcome
        case.run = run

    # Attack: whatever a plug-in or a finder says about its name. Equal names are told apart, and what belongs to the
    # framework is known by being the same object.

    def numbered(names: "Any") -> "Any":
        count: dict[str, int] = {}
        for name in names:
            count[name] = count.get(name, 0) + 1
            yield name if count[name] == 1 else f"{name} ({count[name]})"

    def name_of_plugin(name: str, plugin: "Any") -> str:
        if name.isdigit():  # one that is registered without a name
            kind = plugin if isinstance(plugin, (type, types.ModuleType)) else type(plugin)
            name = f"without a name: {getattr(kind, '__module__', '')} {kind.__name__}"
        return "plug-in " + os.path.basename(name)

    def name_of_part(function: "Any") -> str:
        own = getattr(function, "__func__", function)
        place = f"{getattr(own, '__module__', '')}.{getattr(own, '__qualname__', type(own).__name__)}"
        return place if id(own) in of_framework else place + " from elsewhere"

    def implementations(caller: "Any") -> "Any":
        if hasattr(caller, "get_hookimpls"):
            return caller.get_hookimpls()
        return caller._nonwrappers + caller._wrappers  # an older pluggy

    def finders() -> "Any":
        """Returns what finds modules before their files are searched: what comes after cannot stand in for them."""
        places = list(sys.meta_path)
        before = places[: places.index(path_finder)] if path_finder in places else places
        return numbered(["finder " + name_of_finder(one) for one in before])

    def name_of_finder(finder: "Any") -> str:
        kind = finder if isinstance(finder, type) else type(finder)
        known = id(kind) in of_framework or any(finder is one for one in first_finders)
        return f"{kind.__module__}.{kind.__qualname__}" + ("" if known else " from elsewhere")

    def watch_pytest() -> None:
        import _pytest.config
        import pytest

        for name in _pytest.config.default_plugins:
            importlib.import_module("_pytest." + name)

        class Reporter:
            def __init__(self) -> None:
                self.state: set[str] = set()

            def tell_state(self, config: "Any") -> None:
                manager = config.pluginmanager
                names = [name_of_plugin(str(name), one) for name, one in manager.list_name_plugin() if one]
                callers = [(hook, one) for hook, one in vars(manager.hook).items() if not hook.startswith("_")]
                for hook, caller in callers:
                    names += [f"hook {hook} {name_of_part(one.function)}" for one in implementations(caller)]
                new = {*numbered(names), *finders()} - self.state
                if new:
                    self.state |= new
                    emit({"state": sorted(new), "changed": changed()})

            def pytest_collectstart(self, collector: "Any") -> None:
                # Before the module of tests, or anything that it imports, is there.
                told = getattr(collector, "path", None) or getattr(collector, "fspath", None)
                if told is not None and str(told).endswith(".py"):
                    test_files.add(str(told))

            def pytest_sessionstart(self, session: "Any") -> None:
                # What pytest changes by itself is told though no module of tests can be imported.
                self.tell_state(session.config)
                if session.config.pluginmanager.hasplugin("dsession"):
                    emit({"refusal": "pytest-xdist runs tests in other processes, which are not reported: use -n 0"})

            def pytest_collectreport(self, report: "Any") -> None:
                if report.failed:
                    emit({"error": str(report.nodeid), "said": str(report.longrepr)[-2000:]})

            def pytest_collection_finish(self, session: "Any") -> None:
                self.tell_state(session.config)

            @pytest.hookimpl(hookwrapper=True, tryfirst=True)
            def pytest_runtest_makereport(self, item: "Any", call: "Any") -> "Any":
                made = yield
                report = made.get_result()
                excused = hasattr(report, "wasxfail")
                status = "failed"
                if report.outcome == "passed" and call.excinfo is None:
                    status = "xpassed" if excused else "passed"
                elif report.outcome == "skipped":
                    status = "xfailed" if excused else "skipped"
                self.tell_state(item.config)
                emit(
                    {
                        "test": item.nodeid,
                        "phase": call.when,
                        "status": status,
                        "print": safe_print(getattr(item, "obj", None), getattr(item, "module", None)),
                        "changed": changed(),
                    }
                )

        original, registered = _pytest.config.get_config, []  # type: ignore[var-annotated]

        @functools.wraps(original)
        def get_config(*args: "Any", **kwargs: "Any") -> "Any":
            config = original(*args, **kwargs)
            if not registered:  # a session within a test is the test's own
                registered.append(True)
                config.pluginmanager.register(Reporter(), "rewarden")
            return config

        _pytest.config.get_config = get_config

    if framework == "pytest":
        watch_pytest()
    else:
        watch_unittest()
        for name in ("loader", "main", "runner", "suite", "signals", "async_case"):
            with contextlib.suppress(ImportError):  # an older Python
                importlib.import_module("unittest." + name)
    assert runpy
    path_finder = importlib.machinery.PathFinder
    at_start = look()
    modules = [one for name, one in sys.modules.items() if name.split(".")[0] in prefixes]
    of_framework = {id(module) for module in modules} | {id(vars(module)) for module in modules}
    for value, _, _ in at_start.values():
        its_class = isinstance(value, type) and value.__module__.split(".")[0] in classes
        if its_class or isinstance(value, types.FunctionType):
            of_framework.add(id(value))
    first_finders = list(sys.meta_path)
    test_files: set[str] = set()
    mro_of, dict_of = type.__dict__["__mro__"].__get__, type.__dict__["__dict__"].__get__

    def in_tests(names: "Any") -> bool:
        """Returns whether a module, by its variables, is one of tests."""
        if names.get("__file__") in test_files:
            return True
        kinds = [one for one in list(names.values()) if isinstance(one, type) and id(one) not in of_framework]
        return any(unittest.case.TestCase in mro_of(kind) for kind in kinds)

    def extends(kind: "Any") -> bool:
        """Returns whether a class is the framework's, or extends one of those."""
        return any(id(one) in of_framework for one in mro_of(kind))

    def belongs(target: "Any") -> bool:
        """Returns whether something is the framework's or the tests'. Nothing of a candidate's is asked."""
        kind = type(target)
        if id(target) in of_framework:
            return True
        if issubclass(kind, types.FunctionType):
            names = target.__globals__
            return id(names) in of_framework or target.__code__.co_filename in test_files or in_tests(names)
        if issubclass(kind, types.ModuleType):
            return in_tests(object.__getattribute__(target, "__dict__"))
        if issubclass(kind, type):
            functions = [one for one in list(dict_of(target).values()) if type(one) is types.FunctionType]
            return extends(target) or any(map(belongs, {id(one.__globals__): one for one in functions}.values()))
        return belongs(kind)

    # --- what no test of the reference's does -----------------------------------------------------------------------

    alarming = {
        "gc.get_objects",
        "gc.get_referrers",
        "gc.get_referents",
        "sys.settrace",
        "sys.setprofile",
        "sys.addaudithook",
        "sys.monitoring.register_callback",
        "code.__new__",
        "ctypes.cdata",
        "ctypes.cdata/buffer",
        "ctypes.string_at",
        "ctypes.addressof",
    }
    naming = ("__doc__", "__module__", "__name__", "__qualname__")
    heard = set()

    def alarm(name: str) -> None:
        if name not in heard:
            heard.add(name)
            emit({"alarm": name})

    def hook(event: "Any", args: "Any") -> None:
        if event in alarming:
            alarm(event)
        elif event == "object.__setattr__":
            # Ordinary code names its own classes: dataclasses do, and named tuples, also in tests. The name of a test
            # case is its id, though.
            named = issubclass(type(args[0]), type) and args[1] in naming
            if extends(args[0]) if named else belongs(args[0]):
                alarm("object.__setattr__ " + str(args[1]))
        elif event == "object.__getattr__":
            if args[0] is made and args[1] in ("gi_frame", "gi_code"):
                alarm("object.__getattr__ " + str(args[1]))
        elif event in ("open", "os.listdir", "os.scandir") and args and isinstance(args[0], (str, bytes)):
            path = os.fsdecode(args[0])
            if path.startswith(("/proc/", "/dev/fd")) and ("/fd" in path or "/mem" in path or "/environ" in path):
                alarm(event + " of /proc")

    known = getattr(sys.modules.get("pytest"), "__version__", "")
    emit({"hello": framework, "python": f"{sys.version} {known}"})
    if hasattr(sys, "addaudithook"):
        sys.addaudithook(hook)
    # Registered first, so it is called last.
    atexit.register(lambda: emit({"end": changed()}))


_begin()
