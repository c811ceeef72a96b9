"""Embeddings: what `similarity`, `consensus` and `diversity` make of vectors."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from rewarden.errors import MissingDependency
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.inference import Embed, Facts, Vector
from rewarden_verifiers.models import embeddings
from rewarden_verifiers.models.embeddings import Embedding, cosines, mean_distances, near, nearest_distances, vectors
from rewarden_verifiers.models.resources import ModelResources
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.registry import Registry
from tests.models.conftest import Differences, Judged
from tests.models.scripted import ScriptedModel
from tests.verifiers.direct import DirectContext, outcome_of

PLANNER = Planner(Registry())
SITE = ModelResources(models={"main": {"model": "minilm"}}, default="main")


@pytest.fixture(params=["numpy", "plain"])
def arithmetic(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """With numpy, and as where it is not installed."""
    if request.param == "numpy":
        pytest.importorskip("numpy")
    else:
        monkeypatch.setattr(embeddings, "_numpy", lambda: None)


@pytest.mark.parametrize("name", ["similarity", "consensus", "diversity"])
async def test_the_cases_hold(differences: Differences, name: str) -> None:
    assert await differences(name) == {}


def embed(when: str, reply: Any) -> dict[str, Any]:
    return {"task": "embed", "when": when, "reply": reply}


# --- vectors


class Scripted:
    """A context whose model gives these vectors."""

    def __init__(self, vectors_: Callable[[str], list[float]]) -> None:
        self.model = self
        self.asked: list[str] = []
        self._vectors = vectors_

    async def run(self, task: Embed, model: str | None = None) -> Vector:
        assert task.input.text is not None
        self.asked.append(task.input.text)
        return Vector(values=self._vectors(task.input.text), facts=Facts(model="main", version="1"))


async def test_equal_texts_are_embedded_once_and_with_the_models_prefix() -> None:
    context = Scripted(lambda text: [3.0, 4.0])
    found = await vectors(context, ["a", "b", "a"], Embedding(prefix="query: "), Seen())  # type: ignore[arg-type]
    assert context.asked == ["query: a", "query: b"]
    assert list(found.of["a"]) == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("bad", [lambda text: [0.0, 0.0], lambda text: [], lambda text: [1.0] * len(text)])
async def test_what_has_no_direction_or_shape_is_no_score(bad: Callable[[str], list[float]]) -> None:
    with pytest.raises(embeddings.ModelError):
        await vectors(Scripted(bad), ["a", "bb"], Embedding(), Seen())  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("cosine", "positive", "shifted"),
    [(1.0, 1, 1), (1 - 1e-12, 1, 1), (0.5, 0.5, 0.75), (0, 0, 0.5), (-0.5, 0, 0.25), (-1.0000001, 0, 0)],
)
def test_nearness_lies_between_nothing_and_one(cosine: float, positive: float, shifted: float) -> None:
    assert near(cosine, "positive") == pytest.approx(positive, abs=1e-6)
    assert near(cosine, "shifted") == pytest.approx(shifted, abs=1e-6)


@pytest.mark.usefixtures("arithmetic")
async def test_distances_are_those_of_all_pairs() -> None:
    source = random.Random(1)
    found = [embeddings._unit([source.gauss(0.2, 1) for _ in range(16)]) for _ in range(12)]
    table = [await cosines(one, found) for one in found]
    others = [[value for place, value in enumerate(row) if place != own] for own, row in enumerate(table)]
    assert await mean_distances(found) == pytest.approx([min(1, 1 - sum(row) / 11) for row in others])
    assert await nearest_distances(found) == pytest.approx([min(1, 1 - max(row)) for row in others])


@pytest.mark.usefixtures("arithmetic")
async def test_equal_vectors_are_exactly_without_distance() -> None:
    found = [embeddings._unit([0.1, 0.2, 0.7])] * 3
    assert await mean_distances(found) == [0.0] * 3
    assert await nearest_distances(found) == [0.0] * 3


async def test_without_numpy_pairs_are_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(embeddings, "_numpy", lambda: None)
    with pytest.raises(MissingDependency, match="numpy"):
        await nearest_distances([[1.0]] * (embeddings.MOST_PLAIN + 1))


# --- the forms of a verifier


@pytest.mark.parametrize(
    ("name", "text", "model"),
    [
        ("similarity", {"metrics": ["bleu", "rouge1"]}, {"metrics": ["bleu", "embedding"]}),
        ("consensus", {"use": "choice"}, {"embedding": {"threshold": 0.8}}),
        ("diversity", {"by": "ngrams"}, {"by": "embedding"}),
    ],
)
def test_a_model_is_of_no_matter_to_what_does_not_ask_it(name: str, text: Any, model: Any) -> None:
    without, having = Planner(Registry()), Planner(Registry(), {name: SITE})
    swapped = Planner(Registry(), {name: ModelResources(models=SITE.models, default="main", versions={"main": "2"})})

    def moves(params: Any) -> tuple[bool, bool]:
        plain, found, after = (planner.bind(Use(name=name, params=params)) for planner in (without, having, swapped))
        assert {one.ref.name for one in (plain, found, after)} == {name}
        return plain.ref.fingerprint != found.ref.fingerprint, found.ref.fingerprint != after.ref.fingerprint

    assert moves(text) == (False, False)
    assert moves(model) == (True, True)


def test_a_verifier_declares_what_it_depends_on_in_each_form() -> None:
    planner = Planner(Registry())
    pure = planner.bind(Use(name="similarity", params={"metrics": "bleu"})).spec
    asking = planner.bind(Use(name="similarity", params={"metrics": "embedding"})).spec
    assert (pure.orchestrates, pure.determinism) == (False, "exact")
    assert (asking.orchestrates, asking.determinism) == (True, "tolerance")


# --- similarity, in this process: workers are the cases' matter


class Beside(DirectContext):
    """A context with a model that gives these vectors of these texts."""

    def __init__(self, **of: list[float]) -> None:
        super().__init__(PLANNER)
        self.scripted = Scripted(lambda text: of[text.replace(" ", "_")])

    @property
    def model(self) -> Any:
        return self.scripted


async def similar(context: Beside, params: dict[str, Any], response: str, reference: str) -> Outcome:
    context._sample = sample = Sample(response=response, reference=reference)
    return await outcome_of(PLANNER, Use(name="similarity", params=params), sample, context)


async def test_text_metrics_beside_a_model_are_the_same_numbers() -> None:
    context = Beside(the_cat_sat=[1, 0], the_cat_lay_down=[0.6, 0.8])
    texts = ("the cat lay down", "the cat sat")
    alone = await similar(context, {"metrics": ["edit", "rougeL"]}, *texts)
    beside = await similar(context, {"metrics": ["edit", "embedding", "rougeL"]}, *texts)
    assert list(beside.components) == ["edit", "embedding", "rougeL"]
    assert {name: beside.components[name] for name in ("edit", "rougeL")} == alone.components
    assert beside.components["embedding"].score == pytest.approx(0.6)


async def test_what_is_viewed_is_viewed_once() -> None:
    context = Beside(a_barn=[1, 0], in_thought=[1, 0])
    params = {"metrics": "embedding", "view": "thinking"}
    assert (await similar(context, params, "<think>in thought</think>out", "a barn")).score == 1.0


async def test_no_model_is_asked_about_what_earns_nothing() -> None:
    context = Beside()
    outcome = await similar(context, {"metrics": "embedding"}, " ", "a barn")
    assert (outcome.score, outcome.reason, context.scripted.asked) == (0.0, "no_answer", [])


async def test_only_the_extracted_text_is_embedded() -> None:
    context = Beside(a_barn=[1, 0], a_shed=[0, 1])
    params = {"metrics": "embedding", "extraction": "answer_tag"}
    outcome = await similar(context, params, "So: <answer>a shed</answer>", "a barn")
    assert outcome.evidence["rule"] == "answer_tag"
    assert sorted(context.scripted.asked) == ["a barn", "a shed"]


async def test_a_recipe_may_hold_the_form_that_asks() -> None:
    context = Beside(a_barn=[1, 0], a_shed=[0.6, 0.8])
    recipe = {
        "uses": {"near": {"name": "similarity", "params": {"metrics": "embedding"}}},
        "score": "near.score * 0.5",
    }
    context._sample = sample = Sample(response="a shed", reference="a barn")
    outcome = await outcome_of(PLANNER, Use(recipe=recipe), sample, context)
    assert outcome.score == pytest.approx(0.3), outcome.feedback


# --- consensus


async def test_a_thousand_equal_answers_cost_one_vector(scripted: ScriptedModel, judged: Judged) -> None:
    scripted.script(embed("yes it is", [1, 0]), embed("no it is not", [0, 1]))
    samples = [{"response": "yes it is", "group": "g"}] * 300 + [{"response": "no it is not", "group": "g"}] * 100
    verdicts = await judged("consensus", {"embedding": {}}, samples=samples)
    assert [verdict["score"] for verdict in verdicts] == [1.0] * 300 + [0.0] * 100
    assert len(scripted.tasks) == 2


async def test_a_whole_response_is_shown_by_its_beginning(scripted: ScriptedModel, judged: Judged) -> None:
    text = "It is so. " + "Because reasons abound, number by number: " + " ".join(map(str, range(400)))
    scripted.script(embed("It is so.", [1, 0]))
    verdict = (await judged("consensus", {"embedding": {}}, samples=[{"response": text, "group": "g"}] * 2))[0]
    assert len(verdict["extracted"]) == len(verdict["evidence"]["consensus"]) == 200
