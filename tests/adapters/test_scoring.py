"""Common to all adapters: what may pass is waited out, and what stays unscored is never a number unasked."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from rewarden.adapters import NoScore, Scorer, Settings, areal, easyr1, openrlhf, skyrl
from rewarden.adapters.scoring import number_of, score_or_none, scorer
from rewarden.errors import InternalError, InvalidRequest, Overloaded, Unavailable
from rewarden.types import Progress, Sample, Verdict
from tests.client.servers import Script, http_server, judge
from tests.server.conftest import Start

UNDECIDED = Verdict(status="undecided", reason="invalid_reference", fault="reference", id="7", data_source="gsm8k")


def rows(count: int, **fields: Any) -> list[Sample]:
    return [Sample(response=str(n), reference=str(n), id=str(n), **fields) for n in range(count)]


def failing_first(times: int, *ids: str) -> Any:
    """Judges, but for the first so many times that one of `ids` comes."""
    left = dict.fromkeys(ids, times)

    def judged(sample: Sample, index: int) -> Verdict:
        if left.get(sample.id or "", 0) > 0:
            left[sample.id or ""] -= 1
            broken = Verdict(status="error", reason="sandbox_failed", fault="infra", retryable=True)
            return replace(broken, index=index, id=sample.id, group=sample.group)
        return judge(sample, index)

    return judged


async def test_a_failure_that_may_pass_is_tried_again_for_its_samples_only(target: str, script: Script) -> None:
    script.judge = failing_first(2, "1", "3")
    verdicts = await Scorer(Settings(target=target)).verdicts(rows(5))
    assert [(verdict.index, verdict.id, verdict.score) for verdict in verdicts] == [(n, str(n), 1.0) for n in range(5)]
    assert [[sample.id for sample in batch.samples] for batch in script.batches] == [  # type: ignore[union-attr]
        ["0", "1", "2", "3", "4"],
        ["1", "3"],
        ["1", "3"],
    ]


async def test_a_group_is_tried_again_as_a_whole(target: str, script: Script) -> None:
    script.judge = failing_first(1, "1")
    samples = [*rows(3, group="a"), Sample(response="x", id="alone")]
    verdicts = await Scorer(Settings(target=target)).verdicts(samples)
    assert [verdict.score for verdict in verdicts] == [1.0, 1.0, 1.0, 0.0]
    assert [len(batch.samples) for batch in script.batches] == [4, 3]


async def test_a_member_whose_siblings_have_left_does_not_wait_for_them_until_its_patience_ends(
    target: str, script: Script
) -> None:
    reasons = ["sandbox_failed", "group_deadline"]

    def judged(sample: Sample, index: int) -> Verdict:
        if sample.id != "1":
            return judge(sample, index)
        return Verdict(status="error", reason=reasons.pop(0), fault="infra", retryable=True, index=index, group="a")

    script.judge = judged
    scorer = Scorer(Settings(target=target))
    samples = rows(2, group="a", group_size=2)
    verdicts = await asyncio.gather(*(scorer.verdict(sample) for sample in samples))
    assert [verdict.reason for verdict in verdicts] == [None, "sandbox_failed"]
    assert not reasons


async def test_after_patience_the_verdict_stays_unscored(target: str, script: Script) -> None:
    script.judge = failing_first(1000, "1")
    scorer = Scorer(Settings(target=target, patience_s=0.0))
    verdicts = await scorer.verdicts(rows(2))
    assert [verdict.status for verdict in verdicts] == ["scored", "error"]
    assert (await scorer.verdict(rows(2)[1])).reason == "sandbox_failed"


async def test_a_server_that_refuses_for_a_while_is_waited_for(target: str, script: Script) -> None:
    script.refusals.extend([Unavailable("restarting"), Overloaded("busy", retry_after_s=0.01)] * 3)
    scorer = Scorer(Settings(target=target, patience_s=60.0))
    assert (await scorer.verdicts(rows(1)))[0].score == 1.0
    script.refusals.extend([Unavailable("restarting")] * 2)
    assert (await scorer.verdict(rows(1)[0])).score == 1.0


async def test_a_server_that_is_not_there_is_an_error_and_no_verdict() -> None:
    scorer = Scorer(Settings(target="http://127.0.0.1:9", patience_s=0.0))
    with pytest.raises(Unavailable):
        await scorer.verdicts(rows(1))
    with pytest.raises(Unavailable):
        await scorer.verdict(rows(1)[0])


async def test_what_cannot_pass_is_raised_at_once(target: str, script: Script) -> None:
    script.refusals.append(InternalError("a defect"))
    with pytest.raises(InternalError):
        await Scorer(Settings(target=target)).verdicts(rows(1))
    assert len(script.authorizations) == 1


async def test_a_mistake_in_what_judges_raises_whatever_unscored_says(start: Start) -> None:
    target = (await start()).serving.http
    mistakes: list[tuple[Any, str]] = [
        ("mth", "did you mean 'math'"),
        ({"name": "math", "params": {"extractoin": "lax"}}, "did you mean 'extraction'"),
        ({"name": "math", "params": {"extraction": 7}}, "params.extraction"),
        ({"recipe": {"uses": {"a": "mth"}, "score": "a.score"}}, "did you mean 'math'"),
        (None, "no verifier"),
    ]
    for use, said in mistakes:
        for unscored in ("native", "raise", 0.0):
            scorer = Scorer(Settings.read(target=target, use=use, unscored=unscored))
            with pytest.raises(InvalidRequest, match=said):
                await scorer.verdicts(rows(2))
            with pytest.raises(InvalidRequest, match=said):
                await scorer.verdict(rows(1)[0])
    # A sample's own fault stays that sample's: its neighbour has a score.
    scorer = Scorer(Settings.read(target=target, use="math", unscored=0.0))
    samples = [Sample(response="\\boxed{2}", reference="2"), Sample(response="\\boxed{2}", reference={"a": 1})]
    assert [verdict.status for verdict in await scorer.verdicts(samples)] == ["scored", "undecided"]


async def test_a_sample_that_no_route_matches_is_an_error_that_is_not_sent(target: str, script: Script) -> None:
    scorer = Scorer(Settings.read(target=target, routing="starter"))
    samples = [Sample(response="\\boxed{4}", reference="#### 4", data_source="openai/gsm8k"), Sample(response="x")]
    verdicts = await scorer.verdicts(samples)
    assert [(verdict.status, verdict.fault, verdict.index) for verdict in verdicts] == [
        ("scored", None, 0),
        ("error", "caller", 1),
    ]
    assert "no route" in (verdicts[1].feedback or "")
    assert [sample.use.name for sample in script.batches[0].samples] == ["math"]  # type: ignore[union-attr]
    assert (await scorer.verdict(samples[1])).fault == "caller"


async def test_a_response_that_is_no_text_costs_its_own_sample_only(target: str, script: Script) -> None:
    failed: Any = None
    scorer = Scorer(Settings(target=target))
    samples = [*rows(2), Sample(response=failed, id="failed")]
    verdicts = await scorer.verdicts(samples)
    assert [verdict.status for verdict in verdicts] == ["scored", "scored", "error"]
    assert (verdicts[2].id, verdicts[2].feedback) == ("failed", "must be text or chat messages, not NoneType")
    assert (await scorer.verdict(samples[2])).fault == "caller"


async def test_a_field_of_the_wrong_kind_is_that_samples_verdict_also_alone(target: str) -> None:
    verdict = await Scorer(Settings(target=target)).verdict(Sample(response="x", token_count=-1, id="7"))
    assert (verdict.reason, verdict.fault, verdict.id) == ("invalid_sample", "caller", "7")
    assert "token_count" in (verdict.feedback or "")


def test_loops_that_have_ended_leave_no_connection_behind(script: Script) -> None:
    async def serve() -> None:
        async with http_server(script) as target:
            scorer = Scorer(Settings(target=target))
            for _ in range(3):
                await asyncio.to_thread(lambda: asyncio.run(scorer.verdicts(rows(1))))
            assert len(scorer._open) == 1
            await asyncio.to_thread(lambda: asyncio.run(scorer.verdict(rows(1)[0])))
            assert len(scorer._open) == 1

    asyncio.run(serve())


def test_without_a_loop_and_within_one_and_after_pickling(script: Script) -> None:
    async def serve() -> None:
        async with http_server(script) as target:
            scorer = Scorer(Settings(target=target))
            copy = pickle.loads(pickle.dumps(scorer))  # noqa: S301 - our own bytes
            first = await asyncio.to_thread(scorer.score, rows(2))
            second = await copy.verdicts(rows(2))
            assert [verdict.score for verdict in (*first, *second)] == [1.0] * 4
            await copy.close()

    asyncio.run(serve())


def test_an_unscored_verdict_is_a_number_only_where_the_caller_says_so() -> None:
    with pytest.raises(
        NoScore, match=r"sample 7 of gsm8k has no score \(invalid_reference, fault reference\).*unscored="
    ):
        number_of(UNDECIDED, Settings())
    assert number_of(UNDECIDED, Settings(unscored=-1.0)) == -1.0
    assert number_of(UNDECIDED, Settings(unscored=0)) == 0
    assert score_or_none(UNDECIDED, Settings()) is None
    assert score_or_none(UNDECIDED, Settings(unscored=0.0)) == 0.0
    with pytest.raises(NoScore):
        score_or_none(UNDECIDED, Settings(unscored="raise"))
    assert score_or_none(Verdict(status="scored", score=0.5), Settings()) == 0.5
    assert score_or_none(Verdict(status="scored", score=0.5, exclude=True), Settings()) is None


def test_the_error_survives_a_process_boundary() -> None:
    copy = pickle.loads(pickle.dumps(NoScore(UNDECIDED)))  # noqa: S301 - our own bytes
    assert (copy.verdict, copy.message) == (UNDECIDED, NoScore(UNDECIDED).message)


@pytest.mark.parametrize(
    ("given", "names"),
    [
        ({"taget": "x"}, "did you mean 'target'"),
        ({"unscored": "zero"}, "unscored: must be a finite number, 'raise' or 'native'"),
        ({"unscored": "nan"}, "unscored"),
        ({"patience_s": "soon"}, "patience_s"),
        ({"use": "math", "routing": "starter"}, "either use"),
        ({"use": ""}, "use: is empty"),
        ({"target": 8080}, "target: must be a string such as"),
        ({"reference": ["answer"]}, "reference: must be a column"),
        ({"expect": "math"}, "expect: must be a mapping"),
        ({"reference": {"answer": 3}}, "reference: must be a column"),
        ({"expect": {"math": 1}}, "expect: must be a mapping"),
        ({"use": 7}, "use: must be a name"),
        ({"group": 7}, "must be the name of a column, not 7"),
        ({"id": ["a"]}, "must be the name of a column"),
        ({"data_source": ""}, "must be the name of a column"),
        ({"metadata": 3}, "metadata: must be names of columns"),
        ({"metadata": ["a", 3]}, "metadata: must be names of columns"),
        ({"api_key": 5}, "api_key: must be a string$"),
        ({"ca": 5}, "ca: must be the path"),
        ({"log": 5}, "log: must be a string such as"),
        ({"routing": "routes.yaml"}, r"must be a \.toml or \.json file"),
    ],
)
def test_a_setting_that_has_no_sense_is_refused_by_name(given: dict[str, Any], names: str) -> None:
    with pytest.raises(InvalidRequest, match=names):
        Settings.read(**given)


def test_settings_come_from_arguments_then_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("REWARDEN_TARGET", "http://there:1")
    monkeypatch.setenv("REWARDEN_USE", '{"name": "math", "params": {"extraction": "lax"}}')
    monkeypatch.setenv("REWARDEN_UNSCORED", "native")
    settings = Settings.read()
    assert settings.use is not None
    assert (settings.target, settings.use.params, settings.unscored) == ("http://there:1", {"extraction": "lax"}, None)
    given = Settings.read(target="local", routing="starter", unscored=0)
    assert (given.target, given.use, given.unscored) == ("local", None, 0.0)
    assert Settings.read(metadata="kind, level,").metadata == ("kind", "level")


def test_a_key_is_not_shown() -> None:
    assert "secret" not in repr(Settings(api_key="secret"))


async def test_a_key_in_the_environment_is_read_where_it_is_needed_and_in_no_pickle(
    monkeypatch: pytest.MonkeyPatch, target: str, script: Script
) -> None:
    monkeypatch.setenv("REWARDEN_API_KEY", "secret")
    packed = pickle.dumps(Scorer(Settings.read(target=target)))
    assert b"secret" not in packed
    await pickle.loads(packed).verdicts(rows(1))  # noqa: S301 - our own bytes
    assert script.authorizations == ["Bearer secret"]


def test_a_setting_that_a_trainer_cannot_heed_is_refused() -> None:
    settings = Settings(group="uid")
    assert settings.refuse("reference", why="no columns") is settings
    with pytest.raises(InvalidRequest, match="group: one rollout at a time"):
        settings.refuse("reference", "group", why="one rollout at a time")


@pytest.mark.parametrize(
    "make",
    [
        lambda: areal.reward(group="uid"),
        lambda: easyr1.compute_score([], group="uid"),
        lambda: openrlhf.reward(group="uid"),
        lambda: skyrl.Episode(group="uid"),
    ],
)
def test_adapters_that_see_no_siblings_refuse_a_column_of_groups(make: Callable[[], Any]) -> None:
    with pytest.raises(InvalidRequest, match="group: "):
        make()


# --- the run and the step --------------------------------------------------------------------------------------------


def named(script: Script) -> list[Any]:
    """The metadata of all samples of the batches and streams."""
    return [each.metadata for batch in (*(b.samples for b in script.batches), *script.streams) for each in batch]


async def test_every_sample_names_the_run_unless_it_has_one(target: str, script: Script) -> None:
    scorer = Scorer(Settings.read(target=target, run="third try"))
    await scorer.verdicts([*rows(1), *rows(1, metadata={"level": 2}), *rows(1, metadata={"run": "own"})])
    await scorer.verdict(rows(1)[0])
    assert named(script) == [
        {"run": "third try"},
        {"level": 2, "run": "third try"},
        {"run": "own"},
        {"run": "third try"},
    ]


async def test_without_a_run_samples_go_as_they_are(target: str, script: Script, nameless: None) -> None:
    await Scorer(Settings.read(target=target)).verdicts([*rows(1), *rows(1, metadata={"level": 2})])
    assert named(script) == [None, {"level": 2}]


@pytest.fixture
def nameless(monkeypatch: pytest.MonkeyPatch) -> None:
    """An environment that names no run."""
    for variable in ("REWARDEN_RUN", "WANDB_NAME", "WANDB_RUN_ID", "MLFLOW_RUN_NAME"):
        monkeypatch.delenv(variable, raising=False)


def test_the_run_is_named_by_the_argument_then_our_variable_then_those_of_loggers(
    monkeypatch: pytest.MonkeyPatch, nameless: None
) -> None:
    assert Settings.read().run is None
    for variable in ("MLFLOW_RUN_NAME", "WANDB_RUN_ID", "WANDB_NAME", "REWARDEN_RUN"):
        monkeypatch.setenv(variable, variable.lower())
        assert Settings.read().run == variable.lower()
    assert Settings.read(run="mine").run == "mine"
    monkeypatch.setenv("REWARDEN_RUN", "caf\udce9")  # a byte that is not UTF-8
    assert Settings.read().run == "caf?"
    with pytest.raises(InvalidRequest, match="run: must be the name"):
        Settings.read(run=7)


def test_the_trainers_name_for_the_run_stands_where_the_user_gives_none(nameless: None) -> None:
    assert scorer("from the configuration").settings.run == "from the configuration"
    assert scorer("from the configuration", run="mine").settings.run == "mine"
    assert [scorer(none).settings.run for none in (None, "", 7)] == [None, None, None]


async def test_concurrent_samples_of_a_step_share_a_stream_that_names_it(target: str, script: Script) -> None:
    scorer = Scorer(Settings(target=target))
    steps = [Progress(step=3), Progress(step=4), Progress(step=3), None]
    await asyncio.gather(*(scorer.verdict(row, progress=step) for row, step in zip(rows(4), steps, strict=True)))
    sent = {
        header.progress: [row.id for row in seen] for header, seen in zip(script.headers, script.streams, strict=True)
    }
    assert sent == {Progress(step=3): ["0", "2"], Progress(step=4): ["1"], None: ["3"]}
    await scorer.close()
