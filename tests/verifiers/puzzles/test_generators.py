"""Every generator of reasoning-gym: right answers pass, nothing else does, and no answer's text is executed.

`benchmarks/puzzles.py` does the same with fifty seeds.
"""

from __future__ import annotations

import builtins
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InvalidReference
from rewarden.types import Batch, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.puzzles import library
from rewarden_verifiers.puzzles.findings import Checker
from rewarden_verifiers.puzzles.generators import GRADED, SEEDLESS, Generated, LibraryChecker
from rewarden_verifiers.puzzles.guards import GUARDS
from rewarden_verifiers.puzzles.integrals import DATASETS as INTEGRALS
from rewarden_verifiers.puzzles.integrals import NEEDS_SANDBOX
from tests.programs import no_sandbox
from tests.verifiers.puzzles.items import JUNK, Item, dressed, examples, items, payloads, reference_of

pytest.importorskip("reasoning_gym")

SEEDS = 2
ITEMS: dict[str, list[Item]] = {}


def items_of(name: str) -> list[Item]:
    """Made once; some generators take a second."""
    if name not in ITEMS:
        ITEMS[name] = list(items(name, SEEDS))
    return ITEMS[name]


def checker(item: Item) -> Checker:
    """The item, or a skip where it cannot be judged: its premises contradict each other."""
    try:
        return reference_of(item).checker()
    except InvalidReference as error:
        assert item.name == "propositional_logic", error  # noqa: PT017 - any other is a failure
        pytest.skip(str(error))


def passes(item: Item, puzzle: Checker, answer: str) -> bool:
    reason = puzzle.check(answer).reason
    return reason is None or (reason == NEEDS_SANDBOX and item.name not in INTEGRALS)


def test_the_library_has_no_generator_that_is_not_in_the_table() -> None:
    import reasoning_gym  # noqa: F401 - all of it
    from reasoning_gym.factory import DATASETS

    for name in library.MODULES:
        library.dataset_types(name)
    assert set(DATASETS) <= set(library.MODULES) | {"composite"}
    assert set(GUARDS) | GRADED | INTEGRALS <= set(library.MODULES)


@pytest.mark.slow
@pytest.mark.parametrize("name", library.MODULES)
def test_a_right_answer_passes_and_nothing_else_does(name: str) -> None:
    made = items_of(name)
    for place, item in enumerate(made):
        puzzle = checker(item)
        other = made[1 - place].answer
        if item.answer is not None:
            found = puzzle.check(item.answer)
            assert found.reason in (None, NEEDS_SANDBOX), (item.answer, found)
        for text in (*JUNK, *examples(str(item.entry["question"]))):
            if text != item.answer:
                assert not passes(item, puzzle, text.strip()), text
        for hedge in dressed(item.answer, other) if item.answer and other else ():
            assert not passes(item, puzzle, hedge), hedge
        # Another item's answer may be right here too: graphs have many colourings, premises many conclusions.
        if other and other != item.answer and name not in ("graph_color", "propositional_logic"):
            assert not passes(item, puzzle, other), other


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(set(library.MODULES) - set(SEEDLESS)))
def test_an_item_is_made_again_from_its_seed(name: str) -> None:
    (item, *_) = items_of(name)
    if item.answer is None or name == "propositional_logic":
        pytest.skip("it stores no answer")
    checked = reference_of(item, seeded=True).checker().check(item.answer)
    assert checked.reason in (None, NEEDS_SANDBOX)


@pytest.fixture
def watched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """Texts that were evaluated, executed or compiled while a checker was at work."""
    seen: list[str] = []
    for name in ("eval", "exec", "compile"):
        original = getattr(builtins, name)

        def watch(source: Any, *rest: Any, original: Any = original, **named: Any) -> Any:
            if isinstance(source, str):
                seen.append(source)
            return original(source, *rest, **named)

        monkeypatch.setattr(builtins, name, watch)
    yield seen
    monkeypatch.undo()


@pytest.mark.slow
@pytest.mark.parametrize("name", library.MODULES)
def test_no_answer_is_executed(name: str, tmp_path: Path, watched: list[str]) -> None:
    item = items_of(name)[0]
    puzzle = checker(item)
    mark = tmp_path / "mark"
    watched.clear()
    for payload in payloads(str(mark)):
        finding = puzzle.check(payload)
        assert finding.reason not in (None, NEEDS_SANDBOX), payload
    assert watched == []
    assert not mark.exists()


def test_payloads_are_ones(tmp_path: Path) -> None:
    """The payloads that nothing executes, by the test above, do execute where they are evaluated."""
    for number, payload in enumerate(payloads(str(tmp_path / "mark"))):
        (tmp_path / "mark").unlink(missing_ok=True)
        made = eval(payload, {"x": 1})  # noqa: S307 - the payload is this test's own
        assert (tmp_path / "mark").exists(), (number, made)


def _library_full(item: Item, answer: str) -> bool:
    dataset_type, config_type = library.dataset_types(item.name)
    score = dataset_type(config_type(seed=item.seed, size=1)).score_answer(answer, json.loads(json.dumps(item.entry)))
    return float(score) >= 1.0 - 1e-9


def test_an_item_of_a_mixture_is_judged_by_the_data_set_that_it_names() -> None:
    import reasoning_gym
    from reasoning_gym.composite import DatasetSpec

    parts = [DatasetSpec(name=name, weight=1, config={}) for name in ("chain_sum", "number_sorting")]
    mixture = reasoning_gym.create_dataset("composite", seed=4, size=8, datasets=parts)
    made = [dict(mixture[index]) for index in range(8)]
    assert len({item["metadata"]["source_dataset"] for item in made}) == 2
    for item, other in zip(made, made[1:] + made[:1], strict=True):
        puzzle = Generated(dataset="composite", entry=item).checker()
        assert puzzle.check(item["answer"]).reason is None
        assert puzzle.check(other["answer"]).reason is not None
    with pytest.raises(InvalidReference, match="source_dataset"):
        Generated(dataset="composite", entry={"answer": "1", "metadata": {"source_dataset": "../x"}}).checker()


LEAKS = [
    ("game_of_life_halting", lambda item: "maybe"),
    ("number_sorting", lambda item: "[" + ", ".join(["NaN"] * len(item.entry["metadata"]["sorted_numbers"])) + "]"),
    ("gsm_symbolic", lambda item: f"{item.answer} or 17"),
    ("puzzle24", lambda item: "6*4*1*1"),
    ("puzzle24", lambda item: "8*3 + 1/2"),
    ("sokoban", lambda item: f"perhaps {item.answer}, perhaps not"),
    ("survo", lambda item: str(item.answer).replace("\n", " or so\n")),
    ("kakurasu", lambda item: "row " + str(item.answer).replace("\n", " or not\nrow ")),
    ("cryptarithm", lambda item: f"{str(item.answer).partition('=')[0]}=9,{item.answer}"),
    ("fraction_simplification", lambda item: "\\frac{79}{173} or \\frac{1}{2}"),
    ("pool_matrix", lambda item: str(item.answer) + " # or not"),
    ("game_of_life", lambda item: str(item.answer)[:-1] + ",[1,1,1]]"),
]


@pytest.mark.parametrize(("name", "leak"), LEAKS, ids=[f"{place}-{leak[0]}" for place, leak in enumerate(LEAKS)])
def test_what_the_library_pays_in_full_and_we_do_not(name: str, leak: Any) -> None:
    item = items_of(name)[0]
    text = leak(item)
    assert _library_full(item, text), text
    assert checker(item).check(text).reason is not None


@pytest.mark.parametrize("name", sorted(GRADED))
def test_partial_credit_is_the_librarys_own(name: str) -> None:
    item = items_of(name)[0]
    puzzle = checker(item)
    assert isinstance(puzzle, LibraryChecker)
    assert puzzle.check("I do not know").share == 0.0


@pytest.mark.needs_server
@pytest.mark.slow
async def test_antiderivatives_are_judged_in_the_sandbox() -> None:
    """The library's scorer really runs there: right ones in other forms pass, wrong ones and towers do not."""
    if reason := no_sandbox():
        pytest.skip(reason)
    made = [item for name in sorted(INTEGRALS) for item in items_of(name)]
    variable = made[2].entry["metadata"]["variable"]
    wanted = [(item, str(item.answer), 1.0) for item in made]
    wanted += [(item, f"({item.answer}) + 2*{item.entry['metadata']['variable']}", 0.0) for item in made]
    wanted.append((made[2], f"{variable}**(9**9**9**9)", 0.0))
    samples = [Sample(response=f"<answer>{text}</answer>", reference=item.reference) for item, text, _ in wanted]
    engine = Engine(settings=EngineSettings(workers=1))
    await engine.start()
    try:
        verdicts = (await engine.verify(Batch(samples=samples, use=Use(name="puzzle")))).verdicts
    finally:
        await engine.close()
    assert [verdict.score for verdict in verdicts] == [score for _, _, score in wanted]
    assert all(verdict.evidence["ran"] == "ok" for verdict in verdicts[:-1])
