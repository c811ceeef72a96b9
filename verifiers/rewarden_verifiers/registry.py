"""Maps names to verifiers lazily: a module is imported when its name is first used (SymPy alone takes 0.6 s).

Verifiers and recipes share one namespace. Built-ins are listed here by module; plug-ins come from the entry-point
group `rewarden.verifiers` (`name = "package.module:function"`), built-in recipes from `recipes/gallery/*.yaml`, and
recipes of plug-ins from the group `rewarden.recipes` (`name = "package:file.yaml"`).
"""

from __future__ import annotations

import importlib
import importlib.metadata
import importlib.util
import re
import threading
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from rewarden.errors import MissingDependency, PluginError, UnknownVerifier, near
from rewarden.types import Use
from rewarden_verifiers.contract import VerifierSpec, spec_of
from rewarden_verifiers.function_file import load as load_function

BUILT_IN: Mapping[str, str] = {
    "answer": "rewarden_verifiers.answer.answer:answer",
    "math": "rewarden_verifiers.answer.math.verifier:math",
    "math_verify": "rewarden_verifiers.answer.math_verify:math_verify",
    "choice": "rewarden_verifiers.answer.choice:choice",
    "number": "rewarden_verifiers.answer.number.verifier:number",
    "label": "rewarden_verifiers.answer.label.verifier:label",
    "text": "rewarden_verifiers.answer.text.verifier:text",
    "time": "rewarden_verifiers.answer.time.verifier:time",
    "first_order": "rewarden_verifiers.answer.logic.first_order:first_order",
    "format": "rewarden_verifiers.structure.format:format",
    "json": "rewarden_verifiers.structure.json.verifier:json",
    "length": "rewarden_verifiers.structure.length:length",
    "repetition": "rewarden_verifiers.structure.repetition:repetition",
    "language": "rewarden_verifiers.structure.language:language",
    "instructions": "rewarden_verifiers.structure.instructions.verifier:instructions",
    "code": "rewarden_verifiers.execution.code:code",
    "verilog": "rewarden_verifiers.verilog.verilog:verilog",
    "rocq": "rewarden_verifiers.rocq.rocq:rocq",
    "dafny": "rewarden_verifiers.dafny.dafny:dafny",
    "kernel": "rewarden_verifiers.kernels.kernel:kernel",
    "output": "rewarden_verifiers.execution.output:output",
    "code_output": "rewarden_verifiers.execution.code_output:code_output",
    "sql": "rewarden_verifiers.sql.verifier:sql",
    "lean": "rewarden_verifiers.lean.verifier:lean",
    "formalization": "rewarden_verifiers.lean.formalization:formalization",
    "smt": "rewarden_verifiers.smt.smt:smt",
    "box": "rewarden_verifiers.vision.box:box",
    "point": "rewarden_verifiers.vision.point:point",
    "temporal": "rewarden_verifiers.vision.temporal:temporal",
    "tool_calls": "rewarden_verifiers.tools.tool_calls.verifier:tool_calls",
    "similarity": "rewarden_verifiers.generation.similarity:similarity",
    "patch_similarity": "rewarden_verifiers.patches.patch_similarity:patch_similarity",
    "retrieval": "rewarden_verifiers.retrieval.retrieval:retrieval",
    "citation": "rewarden_verifiers.retrieval.citation:citation",
    "game": "rewarden_verifiers.games.game:game",
    "environment": "rewarden_verifiers.environments.environment:environment",
    "planning": "rewarden_verifiers.planning.planning:planning",
    "search": "rewarden_verifiers.retrieval.search:search",
    "task": "rewarden_verifiers.tasks.verifier:task",
    "swe": "rewarden_verifiers.repositories.swe:swe",
    "puzzle": "rewarden_verifiers.puzzles.puzzle:puzzle",
    "puzzle_rules": "rewarden_verifiers.puzzles.rules:puzzle_rules",
    "graph": "rewarden_verifiers.graphs.graph:graph",
    "optimization": "rewarden_verifiers.optimisation.optimization:optimization",
    "symbolic_regression": "rewarden_verifiers.science.symbolic_regression:symbolic_regression",
    "geometry": "rewarden_verifiers.geometry.geometry:geometry",
    "timeseries": "rewarden_verifiers.science.timeseries:timeseries",
    "molecule": "rewarden_verifiers.science.molecule:molecule",
    "judge": "rewarden_verifiers.judges.judge:judge",
    "rubric": "rewarden_verifiers.judges.rubric:rubric",
    "checklist": "rewarden_verifiers.judges.checklist:checklist",
    "pairwise": "rewarden_verifiers.judges.pairwise:pairwise",
    "listwise": "rewarden_verifiers.judges.listwise:listwise",
    "debate": "rewarden_verifiers.judges.debate:debate",
    "critic": "rewarden_verifiers.judges.critic:critic",
    "consistency": "rewarden_verifiers.judges.consistency:consistency",
    "fact": "rewarden_verifiers.judges.fact:fact",
    "reader": "rewarden_verifiers.judges.reader:reader",
    "cascade": "rewarden_verifiers.judges.cascade:cascade",
    "rm_scalar": "rewarden_verifiers.models.rm_scalar:rm_scalar",
    "rm_generative": "rewarden_verifiers.models.rm_generative:rm_generative",
    "rm_pairwise": "rewarden_verifiers.models.rm_pairwise:rm_pairwise",
    "rm_listwise": "rewarden_verifiers.models.rm_listwise:rm_listwise",
    "rm_process": "rewarden_verifiers.models.rm_process:rm_process",
    "rm_likelihood": "rewarden_verifiers.models.rm_likelihood:rm_likelihood",
    "rm_reflection": "rewarden_verifiers.models.rm_reflection:rm_reflection",
    "style_metric": "rewarden_verifiers.models.style_metric:style_metric",
    "group_stats": "rewarden_verifiers.group.group_stats:group_stats",
    "consensus": "rewarden_verifiers.group.consensus:consensus",
    "diversity": "rewarden_verifiers.group.diversity:diversity",
    "calibration": "rewarden_verifiers.group.calibration:calibration",
    "novelty": "rewarden_verifiers.archives.novelty:novelty",
    "memory": "rewarden_verifiers.archives.memory:memory",
}

VERIFIER_GROUP = "rewarden.verifiers"
RECIPE_GROUP = "rewarden.recipes"
GALLERY = Path(__file__).parent / "recipes" / "gallery"


class Registry:
    """The verifiers and recipes that can judge. Thread-safe and cheap to create; modules are imported on first use of a
    name.

    functions: functions in files, named `FILE.py:FUNCTION` and loaded at once. Raises InvalidRequest.
    """

    def __init__(self, functions: Iterable[str] = ()) -> None:
        self._lock = threading.RLock()
        self._specs: dict[str, VerifierSpec] = {}
        self._modules: dict[str, str] = dict(BUILT_IN)
        self._recipes: dict[str, Path] = {path.stem: path for path in sorted(GALLERY.glob("*.yaml"))}
        self._plugin_of: dict[str, str] = {}
        for group, names in ((VERIFIER_GROUP, self._modules), (RECIPE_GROUP, None)):
            for point in importlib.metadata.entry_points(group=group):
                distribution = point.dist.name if point.dist is not None else "?"
                if point.name in self._modules or point.name in self._recipes:
                    # A plug-in must not silently replace a verifier that others rely on.
                    raise PluginError(
                        f"package {distribution!r} declares {point.name!r}, a name already taken; rename it there"
                    )
                self._plugin_of[point.name] = distribution
                if names is not None:
                    names[point.name] = point.value
                else:
                    module, _, file = point.value.partition(":")
                    origin = importlib.util.find_spec(module)
                    if origin is None or origin.origin is None:
                        raise PluginError(f"package {distribution!r}: recipe {point.name!r} names no module {module!r}")
                    self._recipes[point.name] = Path(origin.origin).parent / file
        for text in functions:
            self.add(load_function(text), text)

    def add(self, spec: VerifierSpec, name: str | None = None) -> None:
        """Registers a verifier declared in this process, as in notebooks and tests. Raises PluginError if the name is
        taken.

        name: the name for uses, if not the verifier's own.
        """
        name = spec.name if name is None else name
        with self._lock:
            if name in self:
                raise PluginError(f"the name {name!r} is already taken")
            self._modules[name] = f"{spec.module}:{spec.function.__name__}"
            self._specs[name] = spec

    def names(self) -> list[str]:
        """The names of all verifiers, built-in ones first."""
        return list(self._modules)

    def recipe_names(self) -> list[str]:
        """The names of all recipes."""
        return list(self._recipes)

    def get(self, name: str) -> VerifierSpec:
        """The verifier or recipe of that name.

        Raises UnknownVerifier with similar names, MissingDependency with the pip command, and PluginError for broken
        code.
        """
        spec = self._specs.get(name)
        if spec is not None:
            return spec
        with self._lock:
            if name in self._modules:
                spec = self._load(name, self._modules[name])
            elif name in self._recipes:
                from rewarden_verifiers.recipes.load import load_recipe, recipe_spec

                spec = recipe_spec(load_recipe(self._recipes[name]), self, name=name)
            else:
                hint = near(name, (*self._modules, *self._recipes), otherwise="")
                raise UnknownVerifier(f"there is no verifier or recipe named {name!r}{hint}", path="use.name")
            self._specs[name] = spec
            return spec

    def resolve(self, use: Use) -> VerifierSpec:
        """The spec of a use, including inline recipes."""
        if use.recipe is not None:
            from rewarden_verifiers.recipes.load import parse_recipe, recipe_spec

            return recipe_spec(parse_recipe(use.recipe), self)
        if use.name is None:
            raise UnknownVerifier("use names no verifier: give a name or a recipe", path="use")
        return self.get(use.name)

    def recipe_path(self, name: str) -> Path:
        """The file of a recipe. Raises UnknownVerifier with near names."""
        if name not in self._recipes:
            hint = "; it is a verifier" if name in self._modules else near(name, self._recipes, otherwise="")
            raise UnknownVerifier(f"there is no recipe named {name!r}{hint}", path="use.name")
        return self._recipes[name]

    def plugin_of(self, name: str) -> str | None:
        """The distribution that declares a name; None for a built-in one."""
        return self._plugin_of.get(name)

    def __iter__(self) -> Iterator[str]:
        return iter([*self._modules, *self._recipes])

    def __contains__(self, name: object) -> bool:
        return name in self._modules or name in self._recipes

    def _load(self, name: str, target: str) -> VerifierSpec:
        module_name, _, attribute = target.partition(":")
        try:
            function: Any = getattr(importlib.import_module(module_name), attribute)
        except ModuleNotFoundError as error:
            raise MissingDependency(
                f"verifier {name!r} needs the package {error.name!r}: {self._mend(name, error.name)}", verifier=name
            ) from error
        except Exception as error:
            raise PluginError(f"verifier {name!r} could not be loaded from {target!r}: {error!r}") from error
        spec = spec_of(function)
        if spec is None:
            raise PluginError(f"{target!r} is not a verifier: decorate it with @verifier(version=…)")
        if spec.name != name:
            raise PluginError(f"{target!r} declares the name {spec.name!r}, but is registered as {name!r}")
        return spec if name in BUILT_IN else replace(spec, plugin=(module_name,))

    def _mend(self, name: str, missing: str | None) -> str:
        plugin = self._plugin_of.get(name)
        if plugin:
            return f"pip install --force-reinstall {plugin}"
        extra = next(iter(extras_with(missing or "")), _EVERYTHING)
        return f"pip install '{_PACKAGE}[{extra}]'"


_PACKAGE = "rewarden-server"
_EVERYTHING = "all"
"""The extra that includes all others: a wheel's metadata lists their packages under it as well."""

_OF_EXTRA = re.compile(r"""(?P<package>[A-Za-z0-9._-]+).*;.*\bextra == ["'](?P<extra>[^"']+)["']""")
"""A requirement of an extra, as written in an installed distribution's metadata."""


def packages_of_extras(requirements: Iterable[str] | None = None) -> dict[str, set[str]]:
    """Returns the packages required by each extra in a distribution's metadata: by default, `rewarden-server`'s, which
    has none if it runs from source.
    """
    if requirements is None:
        try:
            requirements = importlib.metadata.requires(_PACKAGE) or ()
        except importlib.metadata.PackageNotFoundError:
            requirements = ()
    packages: dict[str, set[str]] = {}
    for found in filter(None, map(_OF_EXTRA.match, requirements)):
        package = _canonical(found["package"])
        if found["extra"] != _EVERYTHING and package != _PACKAGE:
            packages.setdefault(found["extra"], set()).add(package)
    return packages


def extras_with(module: str) -> list[str]:
    """Returns the extras of `rewarden-server` that install a module's package."""
    package = _canonical(module.partition(".")[0])
    return [extra for extra, packages in packages_of_extras().items() if package in packages]


def _canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()
