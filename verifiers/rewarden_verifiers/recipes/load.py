"""Loads a recipe from YAML, and makes it a verifier that the registry treats like any other.

All mistakes are found here, before a sample is judged: the syntax, unknown fields, names and types in expressions,
unknown verifiers, wrong parameters, and recipes that use each other in a cycle.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any, Literal, Protocol

from annotated_types import Ge, Le

from rewarden.errors import InvalidParams, UnknownVerifier
from rewarden.types import Progress, Use
from rewarden_verifiers.contract import Determinism, VerifierSpec
from rewarden_verifiers.recipes import judge
from rewarden_verifiers.recipes.evaluate import known_before, use_of
from rewarden_verifiers.recipes.expression import EvaluationError, Known
from rewarden_verifiers.recipes.model import Candidate, Parameter, Recipe
from rewarden_verifiers.recipes.reader import read_recipe
from rewarden_verifiers.recipes.source import RecipeError, Source, read_yaml
from rewarden_verifiers.recipes.step import OnStep
from rewarden_verifiers.schema import parse_params
from rewarden_verifiers.view import view_of


class Resolver(Protocol):
    """The part of a registry that a recipe needs."""

    def resolve(self, use: Use) -> VerifierSpec:
        """Returns the verifier of a use. Raises UnknownVerifier, or what loading the verifier raises."""


_loading: ContextVar[tuple[str, ...]] = ContextVar("_loading", default=())
"""The registered recipes being loaded, each used by the one before."""

_DETERMINISM: tuple[Determinism, ...] = ("exact", "tolerance", "sampled", "stateful")


def load_recipe(path: str | os.PathLike[str]) -> Recipe:
    """Returns the recipe of a file. Raises RecipeError with the file and line of the mistake."""
    file = os.fspath(path)
    try:
        text = Path(file).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RecipeError(f"{file}: cannot be read: {error}", file=file) from None
    data, source = read_yaml(text, file)
    return read_recipe(data, source)


def parse_recipe(recipe: Mapping[str, Any] | str) -> Recipe:
    """Returns an inline recipe, from a mapping or YAML text. Raises InvalidParams with the path in the recipe."""
    if isinstance(recipe, str):
        data, source = read_yaml(recipe, None)
        return read_recipe(data, source)
    return read_recipe(recipe, Source())


def recipe_spec(
    recipe: Recipe, registry: Resolver, name: str | None = None, on_step: OnStep | None = None
) -> VerifierSpec:
    """Returns the recipe as a verifier. `name` is the name it is registered under, which must match its own. `on_step`
    receives the steps of its evaluation.

    Raises the recipe source's error (RecipeError with file and line, or InvalidParams) for unknown verifiers,
    parameters that they reject, a wrong name, and cycles. MissingDependency and similar errors pass through.
    """
    if name is not None and name != recipe.name:
        raise recipe.source.problem(("name",), f"the recipe is registered as {name!r}: use one name for both")
    trail = _loading.get()
    if name is not None and name in trail:
        circle = " → ".join([*trail[trail.index(recipe.name) :], recipe.name])
        raise recipe.source.problem(("uses",), f"recipes use each other in a cycle: {circle}")
    # Nothing can use an inline recipe by its name, so it is in no cycle: several may have the default name.
    token = _loading.set(trail if name is None else (*trail, name))
    params_type = _params_type(recipe)
    try:
        children = _children(recipe, params_type, registry)
    finally:
        _loading.reset(token)
    return _spec(recipe, params_type, children, registry, on_step)


def _children(
    recipe: Recipe, params_type: type | None, registry: Resolver
) -> dict[tuple[str | int, ...], VerifierSpec]:
    """Returns the verifiers that the recipe uses by default, by the path of the use."""
    params = params_type() if params_type is not None else None
    known = _typical(recipe, params)
    found: dict[tuple[str | int, ...], VerifierSpec] = {}
    for component in recipe.components.values():
        for candidate in component.candidates:
            found[candidate.path] = child = _child(recipe, candidate, known, params, registry)
            if candidate.reference is not None and child.group:
                raise recipe.source.problem(
                    (*candidate.path, "reference"), "a verifier of groups gets the samples with their own references"
                )
    return found


def _child(recipe: Recipe, candidate: Candidate, known: Known, params: Any, registry: Resolver) -> VerifierSpec:
    path = candidate.path
    place = (*path, "name") if candidate.recipe is None else (*path, "recipe")
    try:
        use = use_of(candidate, known, params)
        spec = registry.resolve(use)
    except (UnknownVerifier, RecipeError) as error:
        raise recipe.source.problem(place, error.message) from None
    except InvalidParams as error:
        raise recipe.source.problem(place, error.message.removeprefix("recipe: ")) from None
    except EvaluationError as error:
        raise recipe.source.problem(path, str(error)) from None
    try:
        given = dict(use.params)
        if "view" in given:
            view_of(given.pop("view"))
        parse_params(spec, given)
    except InvalidParams as error:
        inner = str(error.details.get("path", "params")).split(".")
        raise recipe.source.problem((*path, *inner), error.message) from None
    return spec


def _typical(recipe: Recipe, params: Any) -> Known:
    """Returns typical known values for checking a recipe: its default parameters, at the first training step."""
    known = known_before(params, Progress(step=0, total_steps=1))
    scheduled: dict[str, Any] = {}
    for name, expression in recipe.schedule.items():
        try:
            scheduled[name] = expression.value(known)
        except EvaluationError as error:
            raise recipe.source.problem(("schedule", name), str(error)) from None
    return {**known, "schedule": scheduled}


def _params_type(recipe: Recipe) -> type | None:
    """Returns the recipe's parameters as a frozen dataclass, so that they have a schema like any verifier's."""
    if not recipe.params:
        return None
    fields: list[tuple[str, Any, Any]] = []
    for parameter in recipe.params.values():
        default = parameter.default
        field = (
            dataclasses.field(default_factory=lambda value=default: value)  # type: ignore[misc]
            if isinstance(default, (list, dict))
            else dataclasses.field(default=default)
        )
        fields.append((parameter.name, _annotation(parameter), field))
    return dataclasses.make_dataclass(f"{recipe.name}_params", fields, frozen=True, kw_only=True)


_PYTHON: Mapping[str, Any] = {
    "number": float,
    "integer": int,
    "string": str,
    "boolean": bool,
    "object": dict[str, Any],
    "list": list[Any],
}


def _annotation(parameter: Parameter) -> Any:
    if parameter.choices:
        return Literal[parameter.choices] if parameter.default is not None else Literal[(*parameter.choices, None)]
    annotation = _PYTHON[parameter.type]
    for mark, bound in ((Ge, parameter.low), (Le, parameter.high)):
        if bound is not None:
            annotation = Annotated[annotation, mark(bound)]
    return annotation if parameter.default is not None else annotation | None


def _spec(
    recipe: Recipe,
    params_type: type | None,
    children: Mapping[tuple[str | int, ...], VerifierSpec],
    registry: Resolver,
    on_step: OnStep | None,
) -> VerifierSpec:
    specs = list(children.values())
    group = any(spec.group for spec in specs)
    groups = {path: spec.group for path, spec in children.items()}
    own = ("params",) if params_type is not None else ()

    def uses(params: Any) -> list[Use]:
        known = _typical(recipe, params)
        found: list[Use] = []
        for component in recipe.components.values():
            for candidate in component.candidates:
                try:
                    use = use_of(candidate, known, params)
                except EvaluationError as error:
                    raise InvalidParams(f"recipe {recipe.name!r}: {component.name!r}: {error}", path="params") from None
                if candidate.name is not None and registry.resolve(use).group != groups[candidate.path]:
                    kind = "groups" if groups[candidate.path] else "single samples"
                    raise InvalidParams(
                        f"recipe {recipe.name!r}: {component.name!r} must judge {kind}, which {use.name!r} does not",
                        path="params",
                    )
                found.append(use)
        return found

    only = recipe.rows[0].score.plain() if len(recipe.rows) == 1 and not recipe.shaping else None
    score_itself = only is not None and only.path[1] == "score"
    return VerifierSpec(
        name=recipe.name,
        version=recipe.version,
        function=judge.for_groups(recipe, groups, on_step) if group else judge.for_samples(recipe, on_step),
        reads=("samples" if group else "sample", "progress", "ctx", *own),
        params_type=params_type,
        reference_type=Any,
        reference_required="reference" in recipe.inputs,
        orchestrates=True,
        group=group,
        inline=False,
        direct=None if group or on_step is not None else judge.directly(recipe),
        graded=not score_itself or any(spec.graded for spec in specs),
        determinism=max((spec.determinism for spec in specs), key=_DETERMINISM.index, default="exact"),
        requires=tuple(sorted({need for spec in specs for need in spec.requires})),
        libraries=tuple(sorted({name for spec in specs for name in spec.libraries})),
        children=uses,
        score_range=recipe.range,
        module=__name__,  # the code that reads the text affects verdicts as well
        summary=recipe.description.split("\n", 1)[0],
        doc=_doc(recipe),
        source_text=recipe.canonical,
        extra={"cases_folder": str(Path(recipe.source.file).parent)} if recipe.source.file is not None else {},
    )


def _doc(recipe: Recipe) -> str:
    parts = [recipe.description]
    if recipe.origin:
        parts.append(f"Source: {recipe.origin}")
    if recipe.parity is not None:
        parts.append(f"Parity: {recipe.parity}")
    return "\n\n".join(parts)
