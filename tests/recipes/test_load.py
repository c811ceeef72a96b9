"""Loading: what is wrong with a recipe is found before a sample is judged, and is named with its line or path."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, SampleError
from rewarden.types import Use
from rewarden_verifiers.contract import spec_of, verifier
from rewarden_verifiers.fingerprint.fingerprint import fingerprint
from rewarden_verifiers.outcome import right
from rewarden_verifiers.recipes.load import load_recipe, parse_recipe, recipe_spec
from rewarden_verifiers.recipes.model import Covered
from rewarden_verifiers.recipes.source import RecipeError
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import params_schema, parse_params
from tests.recipes.toys import ToyRegistry

PLAIN: dict[str, Any] = {"name": "plain", "version": "1", "uses": {"answer": "math"}, "score": "answer.score"}


def written(folder: Path, text: str, name: str = "mine") -> Path:
    path = folder / f"{name}.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def refused(**changes: Any) -> InvalidParams:
    with pytest.raises(InvalidParams) as raised:
        recipe_spec(parse_recipe({**PLAIN, **changes}), ToyRegistry())
    return raised.value


# --- lines -------------------------------------------------------------------------------------------------------

LINES = """\
name: mine
version: "1"
params:
  weight: {default: 0.5, min: 0, max: 1}
uses:
  form: {name: format, params: {template: mine}}
  answer:
    name: math
    params:
      tolerance: 0.1
score: |
  form.passed
    ? params.weight * answer.score
    : 0.0
exclude:
  when: sample.finish_reason == "length"
  reason: truncated
"""


def test_the_example_itself_is_fine(tmp_path: Path) -> None:
    recipe_spec(load_recipe(written(tmp_path, LINES)), ToyRegistry())


@pytest.mark.parametrize(
    ("old", "new", "line", "says"),
    [
        ("version:", "verison:", 2, "verison: there is no such field; did you mean 'version'?"),
        ("min: 0", "mni: 0", 4, "params.weight.mni: there is no such field; did you mean 'min'?"),
        ("default: 0.5", "default: 5.0", 4, "params.weight.default: the default lies outside"),
        (
            "name: math",
            "name: maht",
            8,
            "uses.answer.name: there is no verifier or recipe named 'maht'; did you mean 'math'",
        ),
        ("tolerance: 0.1", "tolerance: big", 10, "uses.answer.params.tolerance: verifier 'math': "),
        ("tolerance: 0.1", "tolerence: 0.1", 10, "uses.answer.params.tolerence: verifier 'math': "),
        ("form.passed\n", "from.passed\n", 12, "score: there is no 'from'; did you mean 'form'?"),
        ("answer.score", "answer.socre", 13, "score: 'answer' has no field 'socre'; did you mean 'score'?"),
        (": 0.0", ": 1/2", 14, "write 1.0/2.0"),
        (": 0.0", ": answer.passed", 14, "score: one branch is a number, the other true or false"),
        ('== "length"', '== "length', 16, "has no meaning"),
        ("sample.finish_reason", "sample.finish", 16, "exclude.when: 'sample' has no field 'finish'"),
        ("reason: truncated", "reason: Too long!", 17, "exclude.reason: a reason must be snake_case"),
        ("reason: truncated", "reason: &a truncated", 17, "anchors and aliases are not allowed"),
        ("reason: truncated", "reason: 2024-01-01", 17, "quote it if it is a string"),
        ("reason: truncated", "reason: a\n  reason: b", 18, "exclude.reason: this key is given twice"),
        ("reason: truncated", "reason: [", 18, "not YAML"),
    ],
)
def test_a_mistake_in_a_file_is_named_with_file_line_and_field(
    tmp_path: Path, old: str, new: str, line: int, says: str
) -> None:
    assert LINES.count(old) == 1
    path = written(tmp_path, LINES.replace(old, new))
    with pytest.raises(RecipeError) as raised:
        recipe_spec(load_recipe(path), ToyRegistry())
    assert raised.value.message.startswith(f"{path}:{line}: ")
    assert says in raised.value.message
    assert raised.value.details["line"] == line


@pytest.mark.parametrize(
    ("systems", "says"),
    [
        ([7], "recipe: systems[0]: a system is an id of small letters, digits and '-', or {id, params, part, parity}"),
        (["Logic RL"], "recipe: systems[0]: a system is an id"),
        ([{"params": {}}], "recipe: systems[0]: a system is an id"),
        ([{"id": "a", "parts": "x"}], "recipe: systems[0].parts: there is no such field; did you mean 'part'?"),
        ([{"id": "a", "params": {"wieght": 1}}], "recipe: systems[0].params.wieght: there is no such field"),
        (["a", {"id": "a"}], "recipe: systems[1]: 'a' is listed twice: name its parts with 'part'"),
    ],
)
def test_systems_that_a_recipe_cannot_cover_are_refused(systems: list[Any], says: str) -> None:
    changes = {"params": {"weight": 0.5}, "score": "params.weight * answer.score"}
    assert refused(systems=systems, **changes).message.startswith(says)


def test_a_system_stands_alone_or_with_the_parameters_and_the_part_that_the_recipe_covers() -> None:
    one = {"id": "b", "params": {"weight": 0.1}, "part": "programs"}
    changes = {"params": {"weight": 0.5}, "score": "params.weight * answer.score"}
    recipe = parse_recipe({**PLAIN, **changes, "systems": ["a", one]})
    assert recipe.systems == (
        Covered(system="a", params={}),
        Covered(system="b", params={"weight": 0.1}, part="programs"),
    )


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match=r"gone\.yaml: cannot be read"):
        load_recipe(tmp_path / "gone.yaml")


def test_inline_recipes_are_the_callers_and_named_by_path() -> None:
    error = refused(score="answer.socre")
    assert error.fault == "caller"
    assert error.details["path"] == "use.recipe.score"
    assert refused(uses={"answer": {"name": "maht"}}).details["path"] == "use.recipe.uses.answer.name"
    assert (
        refused(uses={"answer": {"name": "math", "params": {"x": 1}}}).details["path"]
        == "use.recipe.uses.answer.params.x"
    )


def test_an_inline_recipe_may_be_yaml_text_and_then_has_lines() -> None:
    with pytest.raises(InvalidParams, match="line 2: score: there is no 'b'"):
        parse_recipe("uses: {answer: math}\nscore: b.score")


# --- fields ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "path", "says"),
    [
        ({"uses": {}}, "", "at least one verifier"),
        ({"uses": {"sample": "math"}}, "uses.sample", "already means something"),
        ({"uses": {"min": "math"}}, "uses.min", "already means something"),
        ({"uses": {"Answer": "math"}}, "uses.Answer", "small letters"),
        ({"uses": {"answer": {"name": "math", "recipe": {}}}}, "uses.answer", "either the 'name'"),
        ({"uses": {"answer": "math", "form": "format"}}, "uses.form", "is never used"),
        ({"uses": {"answer": {"cascade": []}}}, "uses.answer.cascade", "list the uses to try"),
        ({"uses": {"answer": {"cascade": ["math"], "name": "math"}}}, "uses.answer.name", "inside the list"),
        ({"uses": {"a": "math", "b": "math"}, "score": "a.score * b.score"}, "", "say with 'main'"),
        ({"params": {"weight": 0.5}}, "params.weight", "is never used"),
        ({"params": {"weight": {"min": 0}}}, "params.weight", "needs a 'default'"),
        ({"params": {"weight": {"default": None}}}, "params.weight.type", ""),
        ({"params": {"weight": {"default": "x", "type": "number"}}}, "params.weight.default", "not of type number"),
        ({"schedule": {"w": "progress.fraction"}}, "schedule.w", "is never used"),
        ({"schedule": {"w": "answer.score"}}, "schedule.w", "there is no 'answer'"),
        ({"score": 2}, "score", "outside the range [0, 1]"),
        ({"score": float("nan")}, "score", "finite number"),
        ({"score": float("inf")}, "score", "finite number"),
        ({"score": "answer.passed"}, "score", "a score is a number"),
        ({"score": "answer.score", "table": []}, "", "either a 'score' or a 'table'"),
        ({"passed": "answer.score"}, "passed", "a condition is true or false"),
        ({"range": [1, 0]}, "range", "[lowest, highest]"),
        ({"parity": "sure"}, "parity", "verified, reading, mapped"),
        ({"inputs": ["tokens"]}, "inputs[0]", "there is no input 'tokens'"),
        ({"main": "form"}, "main", "must be one of the uses"),
        ({"exclude": {"when": "true"}}, "exclude", "'when' and 'reason'"),
        ({"shaping": [{"length": {"kind": "square"}}]}, "shaping[0].length", "linear, cosine, soft_overlong"),
        ({"shaping": [{"length": {"kind": "cosine", "max": 9}}]}, "shaping[0].length", "cosine needs 'start'"),
        (
            {"shaping": [{"length": {"kind": "cosine", "max": 9, "correct": {"end": 1}}}]},
            "shaping[0].length.correct",
            "cosine needs 'start' for correct answers",
        ),
        (
            {"shaping": [{"length": {"kind": "soft_overlong", "max": 9, "buffer": 10}}]},
            "shaping[0].length",
            "0 < buffer <= max",
        ),
        (
            {"shaping": [{"length": {"kind": "linear", "start": 0, "end": 1, "max": "answer.score"}}]},
            "shaping[0].length.max",
            "there is no 'answer'",
        ),
        (
            {"shaping": [{"length": {"kind": "linear", "start": 0, "end": 1, "max": 9, "name": "answer"}}]},
            "shaping[0]",
            "is taken",
        ),
        (
            {"uses": {"answer": {"name": "math", "reference": "evidence"}}},
            "uses.answer.reference",
            "'metadata.KEY'",
        ),
        (
            {"uses": {"answer": {"name": "math", "reference": "prompt.answer"}}},
            "uses.answer.reference",
            "'reference.KEY'",
        ),
        (
            {"uses": {"answer": {"name": "lengths", "reference": "metadata.evidence"}}},
            "uses.answer.reference",
            "own references",
        ),
    ],
)
def test_a_wrong_field_is_refused_by_its_path(changes: dict[str, Any], path: str, says: str) -> None:
    given = {**PLAIN, **changes}
    if "table" not in changes and "score" in given and given["score"] is None:
        del given["score"]
    error = refused(**changes)
    assert error.details["path"] == (f"use.recipe.{path}" if path else "use.recipe")
    assert says in error.message


def table(*rows: dict[str, Any]) -> dict[str, Any]:
    return {**{key: value for key, value in PLAIN.items() if key != "score"}, "table": list(rows)}


@pytest.mark.parametrize(
    ("rows", "path", "says"),
    [
        ([{"otherwise": 0}], "table", "2 to"),
        (
            [{"when": "answer.passed", "score": 1}, {"when": "true", "score": 0}],
            "table[1]",
            "the last row is 'otherwise",
        ),
        ([{"otherwise": 1}, {"otherwise": 0}], "table[0]", "every other has 'when' and 'score'"),
        ([{"when": "answer.passed"}, {"otherwise": 0}], "table[0]", "no 'score'"),
        ([{"when": "answer.passed", "score": 2}, {"otherwise": 0}], "table[0]", "outside the range"),
        ([{"when": "answer.score", "score": 1}, {"otherwise": 0}], "table[0].when", "a condition is true or false"),
    ],
)
def test_a_wrong_table_is_refused_by_its_row(rows: list[dict[str, Any]], path: str, says: str) -> None:
    with pytest.raises(InvalidParams, match=says.replace("[", r"\[")) as raised:
        parse_recipe(table(*rows))
    assert raised.value.details["path"] == f"use.recipe.{path}"


REGISTRY = ToyRegistry()

json_like = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(
    st.sampled_from(
        [
            "uses",
            "score",
            "table",
            "params",
            "schedule",
            "shaping",
            "exclude",
            "range",
            "inputs",
            "main",
            "version",
            "name",
            "passed",
            "fallback",
            "source",
            "parity",
            "description",
        ]
    ),
    json_like,
)
def test_nonsense_in_any_field_is_refused_and_never_crashes(field: str, value: Any) -> None:
    with contextlib.suppress(SampleError):
        recipe_spec(parse_recipe({**PLAIN, field: value}), REGISTRY)


@given(st.text(max_size=80) | st.text(alphabet="{}[]:-&*|>!\n ab'\"", max_size=40))
def test_any_yaml_text_is_read_or_refused(text: str) -> None:
    with contextlib.suppress(InvalidParams):
        parse_recipe(text)


def test_a_parameter_named_like_a_word_of_python_is_refused() -> None:
    error = refused(params={"lambda": 0.5})
    assert error.details["path"] == "use.recipe.params.lambda"
    assert "cannot name a parameter" in error.message


def test_deep_yaml_is_refused() -> None:
    for text in ("[" * 5000 + "]" * 5000, "a: " + "{a: " * 40 + "1" + "}" * 40):
        with pytest.raises(InvalidParams, match="deep"):
            parse_recipe(text)


# --- names, circles, parameters ----------------------------------------------------------------------------------


def recipe_of(other: str, name: str) -> str:
    return f"name: {name}\nversion: '1'\nuses:\n  answer: {other}\nscore: answer.score\n"


def test_recipes_that_use_each_other_in_a_circle_are_refused_with_the_circle(tmp_path: Path) -> None:
    paths = {name: written(tmp_path, recipe_of(other, name), name) for name, other in ("ab", "bc", "ca")}
    registry = ToyRegistry(**paths)
    for name in "abc":
        with pytest.raises(RecipeError, match=r"in a cycle: \w → \w → \w → \w"):
            registry.get(name)


def test_a_recipe_that_uses_itself_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="in a cycle: me → me"):
        ToyRegistry(me=written(tmp_path, recipe_of("me", "me"), "me")).get("me")


def test_inline_recipes_without_names_may_lie_within_each_other() -> None:
    inner: dict[str, Any] = {"uses": {"answer": "text"}, "score": "answer.score"}
    for _ in range(3):
        inner = {"uses": {"answer": {"recipe": inner}}, "score": "answer.score"}
    assert recipe_spec(parse_recipe(inner), Registry()).name == "recipe"


def test_an_inline_recipe_does_not_hide_a_circle(tmp_path: Path) -> None:
    within = "{recipe: {uses: {answer: me}, score: answer.score}}"
    with pytest.raises(RecipeError, match="in a cycle: me → me"):
        ToyRegistry(me=written(tmp_path, recipe_of(within, "me"), "me")).get("me")


def test_recipes_may_use_recipes(tmp_path: Path) -> None:
    registry = ToyRegistry(
        outer=written(tmp_path, recipe_of("inner", "outer"), "outer"),
        inner=written(tmp_path, recipe_of("math", "inner"), "inner"),
    )
    assert registry.get("outer").children is not None
    assert registry.get("outer").children(None) == [Use(name="inner")]  # type: ignore[misc]


def test_a_file_must_bear_the_name_that_it_is_registered_by(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="registered as 'other'"):
        ToyRegistry(other=written(tmp_path, recipe_of("math", "mine"))).get("other")


def test_parameters_have_a_schema_and_are_checked_like_a_verifiers() -> None:
    spec = recipe_spec(
        parse_recipe(
            {
                **PLAIN,
                "params": {
                    "weight": {"default": 0.5, "min": 0, "max": 1},
                    "verifier": {"default": "math", "choices": ["math", "judge"]},
                },
                "uses": {"answer": {"name": {"cel": "params.verifier"}}},
                "score": "params.weight * answer.score",
            }
        ),
        ToyRegistry(),
    )
    schema = params_schema(spec)["properties"]
    assert schema["weight"] == {"default": 0.5, "maximum": 1.0, "minimum": 0.0, "title": "Weight", "type": "number"}
    assert schema["verifier"]["enum"] == ["math", "judge"]
    with pytest.raises(InvalidParams, match=r"params\.weight"):
        parse_params(spec, {"weight": 2})
    with pytest.raises(InvalidParams, match=r"params\.wieght"):
        parse_params(spec, {"wieght": 1})


def test_a_parameter_that_is_not_set_is_handed_on_as_none() -> None:
    params = {"name": {"default": None, "type": "string"}, "least": {"default": None, "type": "number", "min": 0}}
    plain = {
        **PLAIN,
        "params": params,
        "uses": {"answer": "math"},
        "score": "params.least == null ? answer.score : 0.0",
    }
    spec = recipe_spec(parse_recipe({**plain, "passed": "params.name == null"}), ToyRegistry())
    made = parse_params(spec, {})
    assert (made.name, made.least) == (None, None)
    assert parse_params(spec, {"name": "a", "least": 1}).least == 1.0
    with pytest.raises(InvalidParams, match=r"params\.least"):
        parse_params(spec, {"least": -1})


def test_which_verifier_judges_follows_the_parameters() -> None:
    spec = recipe_spec(
        parse_recipe({**PLAIN, "params": {"which": "math"}, "uses": {"answer": {"name": {"cel": "params.which"}}}}),
        ToyRegistry(),
    )
    assert spec.children is not None
    assert spec.children(parse_params(spec, {})) == [Use(name="math")]
    assert spec.children(parse_params(spec, {"which": "judge"})) == [Use(name="judge")]
    with pytest.raises(InvalidParams, match="must judge single samples, which 'lengths' does not"):
        spec.children(parse_params(spec, {"which": "lengths"}))


def test_a_spec_tells_what_the_recipe_is_made_of() -> None:
    registry = ToyRegistry()
    spec = recipe_spec(parse_recipe({**PLAIN, "uses": {"answer": "judge"}, "range": [-1, 1]}), registry)
    assert (spec.orchestrates, spec.group, spec.reads) == (True, False, ("sample", "progress", "ctx"))
    assert spec.determinism == "sampled"  # that of its least certain part
    assert spec.score_range == (-1.0, 1.0)
    assert not spec.graded
    assert recipe_spec(parse_recipe({**PLAIN, "uses": {"answer": "vowels"}}), registry).graded
    grouped = recipe_spec(parse_recipe({**PLAIN, "uses": {"answer": "lengths"}}), registry)
    assert (grouped.group, grouped.reads) == (True, ("samples", "progress", "ctx"))


def test_the_fingerprint_moves_with_the_score_and_not_with_the_description() -> None:
    registry = ToyRegistry()

    def of(**changes: Any) -> str:
        return fingerprint(recipe_spec(parse_recipe({**PLAIN, **changes}), registry))

    assert of() == of(description="other words", source="elsewhere", parity="mapped", systems=["logic-rl"])
    assert of() != of(score="0.5 * answer.score")
    assert of() != of(uses={"answer": {"name": "math", "params": {"tolerance": 0.5}}})


def test_the_registry_takes_verifiers_of_this_process_and_keeps_names_apart() -> None:
    @verifier(version="1")
    def fresh(response: str) -> object:
        return right()

    spec = spec_of(fresh)
    assert spec is not None
    registry = ToyRegistry()
    registry.add(spec)
    assert registry.resolve(Use(recipe={**PLAIN, "uses": {"answer": "fresh"}})).name == "plain"


@pytest.mark.parametrize("document", ["README.md", "docs/recipes.md"])
def test_the_example_of_the_documentation_is_a_recipe(document: str) -> None:
    text = (Path(__file__).parents[2] / document).read_text(encoding="utf-8")
    example = text.split("```yaml\n", 1)[1].split("```", 1)[0]
    assert recipe_spec(parse_recipe(example), ToyRegistry()).score_range == (-1.0, 1.0)
