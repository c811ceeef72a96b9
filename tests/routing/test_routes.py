"""Routes: which one a sample takes, and what a routing file is refused for."""

from __future__ import annotations

import json
import pickle
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InvalidRequest
from rewarden.routing import Routing, read_routing, routing_from_json
from rewarden.types import BadSample, Sample, Use


def routing(*routes: dict[str, Any]) -> Routing:
    return routing_from_json({"route": list(routes)})


def sample(source: str | None = None, **fields: Any) -> Sample:
    return Sample(**{"response": "x", "reference": "1", "data_source": source, **fields})


def judge(routes: Routing, one: Sample) -> str | None:
    found = routes.apply(one)
    return found.use.name if isinstance(found, Sample) and found.use is not None else None


def test_the_first_route_that_matches_judges() -> None:
    routes = routing(
        {"data_source": "demo/a", "use": "choice"},
        {"data_source": ["demo/*", "x?[0-9]"], "use": "math"},
        {"use": "text"},
    )
    found = {source: judge(routes, sample(source)) for source in ("demo/a", "demo/b", "xy7", "xyz", None)}
    assert found == {"demo/a": "choice", "demo/b": "math", "xy7": "math", "xyz": "text", None: "text"}


def test_every_field_that_a_route_names_must_match() -> None:
    routes = routing(
        {"data_source": "q*", "metadata": {"kind": "mcq"}, "use": "choice"},
        {"metadata.tags": "hard", "use": "math"},
        {"reference.type": "words", "id": "r-*", "use": "text"},
        {"metadata.a.b": "1", "use": "label"},
        {"metadata.flag": "true", "use": "format"},
    )
    assert judge(routes, sample("quiz", metadata={"kind": "mcq"})) == "choice"
    assert judge(routes, sample("other", metadata={"kind": "mcq"})) is None
    assert judge(routes, sample(metadata={"tags": ["easy", "hard"]})) == "math"
    assert judge(routes, sample(id="r-1", reference={"type": "words"})) == "text"
    assert judge(routes, sample(id="s-1", reference={"type": "words"})) is None
    assert judge(routes, sample(metadata={"a.b": 1})) == judge(routes, sample(metadata={"a": {"b": 1}})) == "label"
    assert judge(routes, sample(metadata={"flag": True})) == "format"


def test_an_absent_field_matches_a_star_and_nothing_else() -> None:
    assert judge(routing({"metadata.kind": "*", "use": "math"}), sample()) == "math"
    assert judge(routing({"metadata.kind": "?*", "use": "math"}), sample()) is None


def test_a_route_behind_one_with_more_conditions_is_still_reached() -> None:
    routes = routing(
        {"data_source": "math", "metadata.level": "hard", "use": "answer"}, {"data_source": "m*", "use": "math"}
    )
    assert [
        judge(routes, sample("math", metadata=given)) for given in ({"level": "hard"}, {"level": "easy"}, None)
    ] == [
        "answer",
        "math",
        "math",
    ]


def test_only_the_use_and_the_reference_change() -> None:
    given = sample("a", id="7", group="g", metadata={"k": [1]}, token_count=3, prompt="p", reference="So #### 4")
    found = routing({"use": "math", "params": {"rel_tol": 0.1}, "reference_form": "gsm8k"}).apply(given)
    assert isinstance(found, Sample)
    assert found.use == Use(name="math", params={"rel_tol": 0.1})
    assert found.reference == "4"
    for name in Sample.__slots__:
        if name not in ("use", "reference"):
            assert getattr(found, name) == getattr(given, name)
    assert given.use is None


def test_a_sample_that_names_its_judge_keeps_it() -> None:
    own = sample("a", use=Use(name="choice"))
    assert routing({"use": "math"}).apply(own) is own


def test_no_route_is_an_error_that_names_the_data_source() -> None:
    found = routing({"data_source": "a", "use": "math"}).apply(sample("b", id="7"))
    assert isinstance(found, BadSample)
    assert (found.path, found.id) == ("use", "7")
    assert "matches the data source 'b'; add a [[route]]" in found.message
    found = Routing.by_source([("a", Use(name="math"))]).apply(sample("b"))
    assert isinstance(found, BadSample)
    assert found.message == "no --use matches the data source 'b'; add --use 'b=NAME'"


def test_a_reference_in_another_form_is_an_error_of_its_row() -> None:
    found = routing({"use": "math", "reference_form": "json"}).apply(sample(id="7", reference="{"))
    assert isinstance(found, BadSample)
    assert (found.path, found.id) == ("reference", "7")
    found = routing({"use": "math", "reference_form": "gsm8k"}).apply(sample(reference=None))
    assert isinstance(found, BadSample)
    assert "missing" in found.message


def test_a_shared_reference_is_read_where_a_form_needs_it() -> None:
    shared = {"k": "so #### 4"}
    given = Sample(response="x", reference_key="k")
    found = routing({"use": "math", "reference_form": "gsm8k"}).apply(given, shared)
    assert isinstance(found, Sample)
    assert (found.reference, found.reference_key) == ("4", None)
    found = routing({"use": "math"}).apply(given, shared)
    assert isinstance(found, Sample)
    assert (found.reference, found.reference_key) == (None, "k")  # siblings share it still


def test_by_source_lets_a_star_take_the_rest() -> None:
    routes = Routing.by_source([("*", Use(name="text")), ("a", Use(name="math"))])
    assert [judge(routes, sample(source)) for source in ("a", "b", None)] == ["math", "text", "text"]
    assert routes.single is None
    assert Routing.by_source([("*", Use(name="text"))]).single == Use(name="text")


def test_what_decides_over_verdicts_is_the_identity() -> None:
    one, other = routing({"data_source": "a", "use": "math"}), routing({"data_source": "a", "use": "math"})
    assert one.identity() == other.identity() == json.loads(json.dumps(one.identity()))
    for changed in (
        {"data_source": "b", "use": "math"},
        {"data_source": "a", "use": "math", "params": {"strict": True}},
        {"data_source": "a", "use": "math", "reference_form": "gsm8k"},
    ):
        assert routing(changed).identity() != one.identity()


def test_it_crosses_to_another_process() -> None:
    routes = read_routing("starter")
    assert judge(routes, sample("aime2024")) == "math"
    copy = pickle.loads(pickle.dumps(routes))  # noqa: S301  our own
    assert judge(copy, sample("aime2024")) == "math"
    assert copy.identity() == routes.identity()


def test_the_metadata_that_routes_and_forms_look_at() -> None:
    routes = routing(
        {"metadata.kind.name": "a", "use": "math"},
        {"use": "instructions", "reference_form": "ifeval"},
        {"metadata.kind": "b", "use": "text"},
    )
    assert set(routes.metadata) == {"kind", "instruction_id_list"}


@pytest.mark.parametrize(
    ("routes", "message"),
    [
        ({}, "must contain [[route]] tables"),
        ({"route": []}, "has no [[route]]"),
        ({"route": [1]}, "route 1: must be a table"),
        ({"route": [{"data_source": "a"}]}, "route 1: has no 'use'"),
        ({"route": [{"use": "math"}, {"datasource": "a", "use": "math"}]}, "route 2: unknown key 'datasource'"),
        ({"route": [{"data_sorce": "a", "use": "math"}]}, "did you mean 'data_source'?"),
        ({"route": [{"response": "*", "use": "math"}]}, "cannot match the policy's output"),
        ({"route": [{"finish_reason": "stop", "use": "math"}]}, "cannot match the policy's output"),
        ({"route": [{"data_source": 3, "use": "math"}]}, "must be a file name pattern"),
        ({"route": [{"data_source": [], "use": "math"}]}, "must be a file name pattern"),
        ({"route": [{"use": "math", "reference_form": "gsm9k"}]}, "unknown reference_form 'gsm9k'"),
        ({"route": [{"use": {"name": "math"}, "params": {}}]}, "give params either in 'use' or next to it"),
        ({"route": [{"use": {"nam": "math"}}]}, "route 1"),
        ({"route": [{"use": "r.yaml"}]}, "the recipe's file 'r.yaml' is not read here"),
        ({"route": [{"use": "math"}], "other": 1}, "must contain [[route]] tables"),
    ],
)
def test_a_file_that_makes_no_sense_is_refused(routes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidRequest) as error:
        routing_from_json(routes)
    assert message in error.value.message


def test_files(tmp_path: Path) -> None:
    recipe = {"name": "half", "version": "1", "uses": {"answer": "math"}, "score": "0.5 * answer.score"}
    (tmp_path / "half.json").write_text(json.dumps(recipe))
    (tmp_path / "r.toml").write_text(
        '[[route]]\ndata_source = "gallery"\nuse = "cosine_length"\nparams = { max_tokens = 10 }\n'
        '[[route]]\ndata_source = "inline"\nuse = { recipe = { uses = { answer = "math" }, score = "answer.score" } }\n'
        '[[route]]\ndata_source = "beside"\nuse = "half.json"\n'
    )
    routes = read_routing(tmp_path / "r.toml")
    assert routes.source == str(tmp_path / "r.toml")
    gallery, inline, beside = (route.use for route in routes.routes)
    assert gallery == Use(name="cosine_length", params={"max_tokens": 10})
    assert inline.recipe == {"uses": {"answer": "math"}, "score": "answer.score"}
    assert beside.recipe == recipe
    (tmp_path / "r.json").write_text(json.dumps({"route": [{"use": "math"}]}))
    assert read_routing(str(tmp_path / "r.json")).single == Use(name="math")
    (tmp_path / "bad.toml").write_text("[[route]\n")
    with pytest.raises(InvalidRequest, match="is not valid TOML"):
        read_routing(tmp_path / "bad.toml")
    (tmp_path / "params.toml").write_text('[[route]]\nuse = "half.json"\nparams = {}\n')
    with pytest.raises(InvalidRequest, match="a recipe's file has its own"):
        read_routing(tmp_path / "params.toml")
    with pytest.raises(InvalidRequest, match=r"must be a \.toml or \.json file, or 'starter'"):
        read_routing("stater")


def test_a_data_source_that_is_no_text_costs_its_own_row_only() -> None:
    routing = routing_from_json({"route": [{"use": "math"}]})
    found = routing.apply(Sample(response="x", data_source=["a"]))  # type: ignore[arg-type]
    assert isinstance(found, BadSample)
    assert (found.path, found.message) == ("data_source", "data_source: must be a string, not list")
