"""`fact` by a classifier of entailment: claims against passages, without a judge, and marked as weak."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.types import Batch, Sample, Use
from rewarden.wire.json import verdict_to_json
from rewarden_models.endpoint import ModelEndpoint
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_server.models.settings import ModelSettings
from tests.models.conftest import Judged
from tests.models.scripted import NAME, ScriptedModel

BY: dict[str, Any] = {"by": "entailment"}
EVIDENCE = ["The Blau springs in Blaubeuren.", "Ulm lies on the Danube."]
ENTAILS = {"contradiction": -9.0, "entailment": 9.0, "neutral": 0.0}
DENIES = {"contradiction": 9.0, "entailment": -9.0, "neutral": 0.0}
NEITHER = {"contradiction": -9.0, "entailment": -9.0, "neutral": 0.0}


def script(scripted: ScriptedModel, claim: str, first: Any, second: Any) -> None:
    """Script what the classifier makes of a claim beside each passage."""
    scripted.script(
        *(
            {"task": "classify", "when": [claim, passage], "reply": reply}
            for passage, reply in zip(EVIDENCE, (first, second), strict=True)
        )
    )


async def test_sentences_are_held_against_each_passage(judged: Judged, scripted: ScriptedModel) -> None:
    script(scripted, "Ulm is on a river.", NEITHER, ENTAILS)
    script(scripted, "The Blau springs in Ulm.", DENIES, NEITHER)
    script(scripted, "Both are old.", NEITHER, NEITHER)
    response = "Ulm is on a river. The Blau springs in Ulm. Both are old."
    found = await judged("fact", BY, response=response, reference=EVIDENCE)
    assert found["score"] == pytest.approx(1 / 3)
    assert found["reason"] == "refuted_claims"
    assert [(one["verdict"], one["quote"]) for one in found["evidence"]["claims"]] == [
        ("supported", EVIDENCE[1]),
        ("refuted", EVIDENCE[0]),
        ("unknown", ""),
    ]
    assert "entailment" in found["flags"]
    assert found["evidence"]["models"] == {"main": "scripted-1"}


async def test_a_claim_that_one_passage_supports_is_so_whatever_another_denies(
    judged: Judged, scripted: ScriptedModel
) -> None:
    script(scripted, "Ulm is on a river.", DENIES, ENTAILS)
    assert (await judged("fact", BY, response="Ulm is on a river.", reference=EVIDENCE))["score"] == 1.0


async def test_given_claims_take_the_place_of_sentences(judged: Judged, scripted: ScriptedModel) -> None:
    script(scripted, "Ulm is on a river.", NEITHER, ENTAILS)
    reference = {"evidence": EVIDENCE, "claims": ["Ulm is on a river."]}
    found = await judged("fact", BY, response="A town on a river: it is Ulm.", reference=reference)
    assert (found["score"], found["extracted"]) == (1.0, ["Ulm is on a river."])


async def test_sentences_beyond_the_most_are_drawn_from_all_of_the_response(
    judged: Judged, scripted: ScriptedModel
) -> None:
    """Attack: harmless sentences at the beginning, and what is wrong behind them."""
    scripted.script(
        *(
            {"task": "classify", "when": f"Remark {number} holds.", "reply": ENTAILS if number < 4 else DENIES}
            for number in range(8)
        )
    )
    response = " ".join(f"Remark {number} holds." for number in range(8))
    found = await judged("fact", {**BY, "most": 4}, response=response, reference=EVIDENCE[0])
    assert (found["score"], "claims_cut" in found["flags"]) == (0.5, True)


async def test_a_sentence_that_is_said_again_counts_once(judged: Judged, scripted: ScriptedModel) -> None:
    """Attack: one true sentence, many times, beside a false one."""
    script(scripted, "Ulm is on a river.", NEITHER, ENTAILS)
    script(scripted, "Ulm is by the sea.", NEITHER, DENIES)
    found = await judged("fact", BY, response="Ulm is on a river. " * 9 + "Ulm is by the sea.", reference=EVIDENCE)
    assert found["score"] == 0.5


@pytest.mark.parametrize("response", ["", "Let's solve this step by step.", "..."])
async def test_nothing_that_claims_anything_earns_nothing(
    judged: Judged, scripted: ScriptedModel, response: str
) -> None:
    found = await judged("fact", BY, response=response, reference=EVIDENCE)
    assert (found["status"], found["score"]) == ("scored", 0.0)


async def test_a_model_that_fails_is_no_verdict(judged: Judged, scripted: ScriptedModel) -> None:
    found = await judged("fact", BY, response="Ulm is on a river.", reference=EVIDENCE)
    assert (found["status"], found["score"], found["fault"]) == ("error", None, "infra")


async def test_labels_that_the_model_does_not_have_are_named(judged: Judged, scripted: ScriptedModel) -> None:
    script(scripted, "Ulm is on a river.", {"yes": 1.0, "no": 0.0}, {"yes": 1.0, "no": 0.0})
    found = await judged("fact", BY, response="Ulm is on a river.", reference=EVIDENCE)
    assert (found["status"], found["fault"]) == ("error", "caller")
    assert found["feedback"].startswith("params.entailment.supported: there is no output 'entailment'")
    assert found["evidence"]["path"] == "params.entailment.supported"
    assert "yes, no" in found["feedback"]
    given = {**BY, "entailment": {"supported": "yes", "refuted": None}}
    assert (await judged("fact", given, response="Ulm is on a river.", reference=EVIDENCE))["score"] == 1.0


async def test_a_head_without_contradiction_is_told_to_do_without(judged: Judged, scripted: ScriptedModel) -> None:
    logits = {"entailment": 3.0, "not_entailment": 0.0}
    script(scripted, "Ulm is on a river.", logits, logits)
    found = await judged("fact", BY, response="Ulm is on a river.", reference=EVIDENCE)
    assert found["feedback"].startswith("params.entailment.refuted: there is no output 'contradiction'")
    assert "Set it to null" in found["feedback"]
    given = {**BY, "entailment": {"refuted": None}}
    assert (await judged("fact", given, response="Ulm is on a river.", reference=EVIDENCE))["score"] == 1.0


async def test_placeholders_are_not_taken_for_labels(judged: Judged, scripted: ScriptedModel) -> None:
    """The order of labels differs from model to model: a guess would take denials for support."""
    logits = {f"LABEL_{place}": float(place) for place in range(3)}
    script(scripted, "Ulm is on a river.", logits, logits)
    found = await judged("fact", BY, response="Ulm is on a river.", reference=EVIDENCE)
    assert (found["status"], found["score"], found["fault"]) == ("error", None, "caller")
    assert all(part in found["feedback"] for part in ("placeholders", "id2label", "an output's place"))
    given = {**BY, "entailment": {"supported": 2, "refuted": 0}}
    assert (await judged("fact", given, response="Ulm is on a river.", reference=EVIDENCE))["score"] == 1.0


@pytest.mark.parametrize(("weak", "flagged"), [(True, True), (False, False)])
async def test_verdicts_by_a_model_that_is_configured_as_weak_say_so(
    scripted: ScriptedModel, weak: bool, flagged: bool
) -> None:
    script(scripted, "Ulm is on a river.", NEITHER, ENTAILS)
    scripted.script({"task": "classify", "when": "A fine day.", "reply": {"positive": 1.0, "negative": 0.0}})
    named = {NAME: ModelEndpoint(**scripted.settings(weak=weak))}
    engine = Engine(settings=EngineSettings(workers=1), models=ModelSettings(named=named))
    await engine.start()
    try:
        for use, sample in (
            (Use(name="fact", params=BY), Sample(response="Ulm is on a river.", reference=EVIDENCE)),
            (Use(name="style_metric", params={"label": "positive"}), Sample(response="A fine day.")),
        ):
            found = verdict_to_json((await engine.verify(Batch(samples=[sample], use=use))).verdicts[0])
            assert ("weak_model" in found.get("flags", ())) == flagged
    finally:
        await engine.close(drain_s=0)
