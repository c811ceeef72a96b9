"""The figures of a calibration against values computed by hand."""

from __future__ import annotations

import math

import pytest

from rewarden.types import Verdict
from rewarden_server.studies.calibration import agreement
from rewarden_server.studies.calibration.agreement import Judged, bins, bootstrap, share
from rewarden_server.studies.calibration.flips import flips_of
from rewarden_server.studies.calibration.labels import Label, LabelError, Scale, read_label, read_preference
from rewarden_server.studies.calibration.length import length_bias, signed_error
from rewarden_server.studies.calibration.threshold import curve, rejection, threshold


def rows(*given: tuple[int, float], size: int = 10) -> list[Judged]:
    """(right, score) each; a score above a half passes."""
    return [Judged(bool(right), score > 0.5, score, size) for right, score in given]


def table(tp: int, fp: int, tn: int, fn: int) -> list[Judged]:
    return rows(*[(1, 1.0)] * tp, *[(0, 1.0)] * fp, *[(0, 0.0)] * tn, *[(1, 0.0)] * fn)


def test_figures_of_a_confusion_matrix() -> None:
    found = table(tp=20, fp=5, tn=15, fn=10)
    assert agreement.accuracy(found).value == 35 / 50
    assert agreement.precision(found).value == 20 / 25
    assert agreement.recall(found).value == 20 / 30
    assert agreement.false_positive_rate(found).value == 5 / 20
    assert agreement.balanced_accuracy(found) == pytest.approx((20 / 30 + 15 / 20) / 2)
    assert agreement.f1(found) == pytest.approx(40 / 55)
    # Agreement 0.7; by chance 25/50 * 30/50 + 25/50 * 20/50 = 0.5: kappa is 0.2 of 0.5.
    assert agreement.kappa(found) == pytest.approx(0.4)


def test_figures_that_are_not_defined_are_none() -> None:
    assert agreement.precision(table(0, 0, 3, 0)).value is None
    assert agreement.f1(table(0, 0, 3, 0)) is None
    assert agreement.balanced_accuracy(table(3, 0, 0, 1)) is None
    assert agreement.kappa(table(0, 0, 3, 0)) is None
    assert agreement.auroc(table(3, 0, 0, 1)) is None
    assert agreement.calibration_error([]) is None


def test_auroc_counts_ties_half() -> None:
    # Right 0.9 and 0.5, wrong 0.5 and 0.1: of four pairs three are won and one is tied.
    assert agreement.auroc(rows((1, 0.9), (1, 0.5), (0, 0.5), (0, 0.1))) == 3.5 / 4
    assert agreement.auroc(rows((1, 0.3), (0, 0.3))) == 0.5


def test_brier_and_calibration_error() -> None:
    found = rows((1, 0.8), (0, 0.8), (1, 1.0), (0, 0.05))
    assert agreement.brier(found) == pytest.approx((0.04 + 0.64 + 0 + 0.0025) / 4)
    # Bins: 0.05 with none right; 0.8 twice with half right; 1.0 in the last bin.
    assert [(one.low, one.rows, one.right.value) for one in bins(found)] == [(0, 1, 0), (0.8, 2, 0.5), (0.9, 1, 1)]
    assert agreement.calibration_error(found) == pytest.approx((1 * 0.05 + 2 * 0.3 + 1 * 0.0) / 4)


def test_bootstrap_surrounds_the_value_and_is_the_same_for_a_seed() -> None:
    found = table(20, 5, 15, 10)
    first = bootstrap(found, {"kappa": agreement.kappa}, seed=1)["kappa"]
    assert first == bootstrap(found, {"kappa": agreement.kappa}, seed=1)["kappa"]
    assert first.value is not None
    assert first.low is not None
    assert first.high is not None
    # The analytic interval (Fleiss, Cohen and Everitt) of this table is about 0.15 to 0.65.
    assert first.low == pytest.approx(0.15, abs=0.06)
    assert first.high == pytest.approx(0.65, abs=0.06)


def test_shares_have_wilsons_interval() -> None:
    # 8 of 10: Wilson's interval is 0.490 to 0.943.
    found = share(8, 10)
    assert (found.low, found.high) == pytest.approx((0.4902, 0.9433), abs=1e-4)
    assert share(0, 0).value is None


def test_the_threshold_is_the_lowest_whose_interval_reaches_the_precision() -> None:
    found = rows(*[(1, 0.9)] * 40, *[(1, 0.6)] * 10, *[(0, 0.6)] * 10, *[(1, 0.3)] * 5, *[(0, 0.3)] * 15)
    points = curve(found)
    assert [(point.score, point.precision.count, point.precision.of) for point in points] == [
        (0.3, 55, 80),
        (0.6, 50, 60),
        (0.9, 40, 40),
    ]
    assert [point.recall.count for point in points] == [55, 50, 40]
    # Lower ends by Wilson: 55 of 80 0.579, 50 of 60 0.720, 40 of 40 0.912.
    lowest = {wanted: threshold(points, wanted) for wanted in (0.55, 0.7, 0.9, 0.95)}
    assert {wanted: point and point.score for wanted, point in lowest.items()} == {
        0.55: 0.3,
        0.7: 0.6,
        0.9: 0.9,
        0.95: None,
    }


def test_passing_everything_is_no_threshold() -> None:
    assert threshold(curve(rows(*[(1, 0.0)] * 100)), 0.5) is None


def test_the_rejection_is_the_highest_score_up_to_which_enough_are_wrong() -> None:
    found = rows(*[(1, 0.9)] * 15, *[(0, 0.6)] * 10, *[(1, 0.6)] * 10, *[(0, 0.3)] * 10, *[(0, 0.1)] * 40)
    # Wrong, by Wilson's lower ends: 40 of 40 0.912, 50 of 50 0.929, 60 of 70 0.757, and at 0.9 60 of 85 0.602.
    highest = {wanted: rejection(found, wanted) for wanted in (0.6, 0.75, 0.92, 0.95)}
    assert {wanted: point and point.score for wanted, point in highest.items()} == {
        0.6: 0.9,
        0.75: 0.6,
        0.92: 0.3,
        0.95: None,
    }
    up_to = highest[0.92]
    assert up_to is not None
    assert (up_to.precision.count, up_to.precision.of, up_to.recall.count, up_to.recall.of) == (50, 50, 50, 60)


def test_failing_everything_is_no_rejection() -> None:
    assert rejection(rows(*[(0, 1.0)] * 100), 0.5) is None


def test_length_bias_is_the_correlation_of_signed_errors() -> None:
    long, short = int(math.e**6), 2
    favours_long = [
        Judged(False, True, 1.0, long),
        Judged(False, False, 0.0, short),
        Judged(True, True, 1.0, long),
        Judged(True, False, 0.0, short),
    ]
    # Errors 1, 0, 0, -1 on lengths long, short, long, short: r is 1 / sqrt(2).
    assert signed_error(favours_long) == pytest.approx(1 / math.sqrt(2))
    assert signed_error(table(3, 0, 3, 0)) is None
    thirds = length_bias([Judged(False, size > 40, 0.0, size) for size in (10, 20, 30, 40, 50, 60)]).thirds
    assert [(third.shortest, third.longest, third.passed.count) for third in thirds] == [
        (10, 20, 0),
        (30, 40, 0),
        (50, 60, 2),
    ]


def test_flips_are_read_from_the_evidence() -> None:
    verdicts = [
        Verdict(status="scored", score=1.0, evidence={"opinions": [1.0, 1.0, 0.0]}),
        Verdict(status="scored", score=1.0, evidence={"opinions": [1.0, 1.0, 1.0]}),
        Verdict(status="scored", score=1.0, evidence={"opinions": [1.0]}),
        Verdict(status="scored", score=0.5, evidence={"flip_rate": 1.0}),
        Verdict(status="scored", score=1.0, evidence={"flip_rate": 0.0}),
    ]
    found = flips_of(verdicts)
    assert found.orders is not None
    assert found.repeats is not None
    assert (found.orders.count, found.orders.of) == (1, 2)
    assert (found.repeats.count, found.repeats.of, found.opinions) == (1, 2, 3)
    # Of three opinions, one against two: two of three pairs differ. In the other row none does.
    assert found.disagreement == pytest.approx((2 / 3 + 0) / 2)


def test_opinions_of_degrees_are_held_against_the_threshold() -> None:
    verdicts = [Verdict(status="scored", score=0.7, evidence={"opinions": [0.7, 0.8]})]
    for limit, differing in ((None, 0), (0.75, 1)):
        found = flips_of(verdicts, limit).repeats
        assert found is not None
        assert found.count == differing


@pytest.mark.parametrize(
    ("value", "label"),
    [
        (True, Label(True)),
        ("Wrong", Label(False)),
        ("pass", Label(True)),
        (1, Label(True, 1.0)),
        (0.5, Label(True, 0.5)),
        ("0.49", Label(False, 0.49)),
    ],
)
def test_labels(value: object, label: Label) -> None:
    assert read_label(value, Scale()) == label


def test_labels_of_a_scale() -> None:
    stars = Scale(1, 5, right=4)
    assert read_label(3, stars) == Label(False, 0.5)
    assert read_label(4, stars) == Label(True, 0.75)
    with pytest.raises(LabelError, match="outside the scale 1 to 5"):
        read_label(6, stars)


@pytest.mark.parametrize("value", ["maybe", [1], {}, float("nan"), ""])
def test_labels_that_say_nothing_are_refused(value: object) -> None:
    with pytest.raises(LabelError):
        read_label(value, Scale())


def test_preferences() -> None:
    assert [read_preference(value) for value in ("response", "B", 1, "tie")] == ["response", "rival", "response", "tie"]
    with pytest.raises(LabelError, match="use response"):
        read_preference("perhaps")
