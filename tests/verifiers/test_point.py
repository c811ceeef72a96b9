"""`point`: readings of points and actions, targets, matching, and what never pays."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden.errors import InvalidParams, InvalidReference, InvalidSample
from rewarden.types import Outcome, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.vision.action_reader import TYPES, ActionReader
from rewarden_verifiers.vision.masks import Mask, run_lengths
from rewarden_verifiers.vision.point import point
from rewarden_verifiers.vision.point_gold import prepare
from rewarden_verifiers.vision.point_params import PointParams
from rewarden_verifiers.vision.point_reader import PointReader
from rewarden_verifiers.vision.targets import PointTarget, PolygonTarget
from tests.verifiers.counting import HOSTILE, steps

PLANNER = Planner(Registry())
BOX = [100, 200, 180, 240]
CLICK = {"action": "click", "box": BOX}


def judged(response: str, reference: Any = BOX, metadata: Any = None, **params: Any) -> Outcome:
    checked = PLANNER.bind(Use(name="point", params=params)).params
    return point(response, prepare(reference, checked), checked, metadata)


# --- reading -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "text",
    [
        "(120, 215)",
        "[120, 215]",
        "120, 215",
        "120 215",
        "120.0,2.15e2",
        "The button is at (120, 215).",
        "<point>120 215</point>",
        "<point>[120, 215]</point>",
        "<point>(120,215)</point>",
        "<|point_start|>(120,215)<|point_end|>",
        '<point x="120" y="215" alt="send">send</point>',
        "<points x1='120' y1='215'>send</points>",
        '{"point_2d": [120, 215], "label": "send"}',
        '[{"point": [120, 215]}]',
        '{"x": 120, "y": "215"}',
        '{"coordinate": {"x": 120, "y": 215}}',
        '{"answer": [120, 215], "colour": [1, 2, 3]}',
        "{'click': (120, 215)}",
        '```json\n{"point_2d": [120, 215]}\n```',
        "click(120, 215)",
        "x=120, y=215",
        "at x: 120 and y: 215",
    ],
)
def test_every_usual_spelling_of_a_point_is_read(text: str) -> None:
    outcome = judged(text)
    assert (outcome.score, outcome.extracted) == (1.0, [120.0, 215.0])


@pytest.mark.parametrize(
    ("text", "reference"),
    [
        ('{"action": "click", "coordinate": [120, 215]}', CLICK),
        ('{"action_type": "CLICK", "x": 120, "y": 215}', CLICK),
        ('{"action": "left_click", "point": "(120, 215)"}', CLICK),
        ('{"name": "computer_use", "arguments": {"action": "left_click", "coordinate": [120, 215]}}', CLICK),
        ('{"name": "click", "arguments": {"x": 120, "y": 215}}', CLICK),
        ('{"thought": "press", "action": {"action_type": "click", "point": [120, 215]}}', CLICK),
        ("click(120, 215)", CLICK),
        ("pyautogui.click(x=120, y=215)", CLICK),
        ("device.tap((120, 215))", CLICK),
        ("Action: click(point='<point>120 215</point>')", CLICK),
        ("click(start_box='<|box_start|>(120,215)<|box_end|>')", CLICK),
        ('<action>click</action><point x="120" y="215"></point>', CLICK),
        ('{"action": "type", "text": "hi"}', {"action": "type", "text": "hi"}),
        ('{"action": "input_text", "input_text": "hi"}', {"action": "type", "text": "hi"}),
        ('type("hi")', {"action": "type", "text": "hi"}),
        ("type(text='it\\'s')", {"action": "type", "text": "it's"}),
        ("type(42)", {"action": "type", "text": "42"}),
        ("<action>type</action><text>hi</text>", {"action": "type", "text": "hi"}),
        ('{"action": "scroll", "direction": "DOWN"}', {"action": "scroll", "direction": "down"}),
        ("scroll('down')", {"action": "scroll", "direction": "down"}),
        ("scroll(direction=down)", {"action": "scroll", "direction": "down"}),
        ('{"action": "key", "keys": ["ctrl", "c"]}', {"action": "hotkey", "key": "Ctrl+C"}),
        ("hotkey(key='ctrl+c')", {"action": "hotkey", "key": "ctrl+c"}),
        ('{"action": "system_button", "button": "Back"}', {"action": "navigate_back"}),
        ("press_back()", {"action": "back"}),
        ("open_app(app_name='Maps')", {"action": "open", "app": "Maps"}),
        ("open_app('Maps')", {"action": "open", "app": "Maps"}),
        ("wait()", {"action": "wait"}),
        ("finished(content='done')", {"action": "complete"}),
    ],
)
def test_every_usual_spelling_of_an_action_is_read(text: str, reference: Any) -> None:
    assert judged(text, reference).score == 1.0


def test_names_of_types_are_of_one_type_each() -> None:
    names = [name for usual, others in TYPES.items() for name in (usual, *others)]
    assert len(names) == len(set(names))


def test_further_names_of_types() -> None:
    reference = {"action": "scroll", "direction": "down"}
    assert judged("swipe(direction='down')", reference).score == 0.0
    assert judged("swipe(direction='down')", reference, actions={"scroll": ["swipe"]}).score == 1.0


# --- targets -------------------------------------------------------------------------------------------------------

corners = st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=7)
places = st.tuples(st.integers(0, 16).map(lambda value: value / 2), st.integers(0, 16).map(lambda value: value / 2))


@given(corners, places)
def test_polygons_agree_with_shapely(outline: list[tuple[int, int]], place: tuple[float, float]) -> None:
    shapely = pytest.importorskip("shapely")
    shape = shapely.Polygon(outline)
    if shape.is_valid and shape.area > 0:
        floats = [(float(x), float(y)) for x, y in outline]
        assert PolygonTarget(floats).worth(*place) == float(shape.covers(shapely.Point(*place)))


def test_masks_agree_with_pycocotools() -> None:
    masks = pytest.importorskip("pycocotools.mask")
    numpy = pytest.importorskip("numpy")
    rng = random.Random(3)
    for _ in range(40):
        height, width = rng.randint(1, 40), rng.randint(1, 40)
        chance = rng.choice((0.02, 0.5, 0.98))
        pixels = [[int(rng.random() < chance) for _ in range(width)] for _ in range(height)]
        encoded = masks.encode(numpy.asfortranarray(numpy.array(pixels, dtype=numpy.uint8)))
        mask = Mask(height, width, encoded["counts"].decode())
        runs = Mask(height, width, run_lengths(encoded["counts"].decode()))
        for row, column in itertools.product(range(height), range(width)):
            assert mask.contains(column + 0.5, row) == runs.contains(column, row + 0.9) == bool(pixels[row][column])
    assert not mask.contains(-0.1, 0)
    assert not mask.contains(width, 0)


@pytest.mark.parametrize(
    ("params", "worth"),
    [
        ({"tolerance": 5}, 1.0),
        ({"tolerance": 4.9}, 0.0),
        ({"tolerance": 7, "norm": "l1"}, 1.0),
        ({"tolerance": 6.9, "norm": "l1"}, 0.0),
        ({"tolerance": 4, "norm": "max"}, 1.0),
        ({"decay": "linear", "decay_length": 10}, 0.5),
        ({"decay": "linear", "decay_length": 5}, 0.0),
        ({"decay": "exponential", "decay_length": 5}, math.exp(-1)),
        ({"decay": "gaussian", "decay_length": 5}, math.exp(-0.5)),
        ({"decay": "gaussian", "decay_length": 1}, 0.0),
        ({"tolerance": 3, "decay": "linear", "decay_length": 4}, 0.5),
    ],
)
def test_distances(params: dict[str, Any], worth: float) -> None:
    assert judged("[13, 14]", [10, 10], **params).score == pytest.approx(worth)


@given(st.floats(-50, 50), st.floats(-50, 50), st.sampled_from(["l1", "l2", "max"]))
def test_nearer_is_never_worse(x: float, y: float, norm: Any) -> None:
    for decay in ("linear", "exponential", "gaussian"):
        target = PointTarget(0, 0, tolerance=2, norm=norm, decay=decay, decay_length=9)  # type: ignore[arg-type]
        assert 0 <= target.worth(x, y) <= target.worth(x / 2, y / 2) <= 1


@pytest.mark.parametrize(
    "reference",
    [
        {"box": BOX},
        {"bbox": BOX, "size": [640, 480]},
        {"polygon": [[100, 200], [180, 200], [180, 240], [100, 240]]},
        {"polygon": [100, 200, 180, 200, 180, 240, 100, 240]},
        {"segmentation": [[100, 200, 180, 200, 180, 240, 100, 240]]},
        {"regions": [{"box": BOX}]},
        [BOX],
        "[100, 200, 180, 240]",
        {"point": [119, 214]},
        {"x": 119, "y": 214},
        "(119, 214)",
        {"points": [[119, 214]]},
    ],
)
def test_every_form_of_reference(reference: Any) -> None:
    assert judged("[120, 215]", reference, tolerance=2).score == 1.0
    assert judged("[20, 15]", reference, tolerance=2).score == 0.0


@pytest.mark.parametrize("scale", ["pixel", "unit", "thousand"])
@pytest.mark.parametrize("measured", ["pixel", "unit", "thousand"])
def test_scales(scale: str, measured: str) -> None:
    reach = {"pixel": (640, 480), "unit": (1, 1), "thousand": (1000, 1000)}
    place = [0.25 * reach[scale][0], 0.5 * reach[scale][1]]
    box = [share * reach[measured][axis % 2] for axis, share in enumerate((0.2, 0.45, 0.3, 0.55))]
    options = {"scale": scale, "reference_scale": measured}
    assert judged(json.dumps(place), box, size=[640, 480], **options).score == 1.0
    assert judged(json.dumps(place), box, {"width": 640, "height": 480}, **options).score == 1.0
    if (scale == "pixel") != (measured == "pixel"):
        with pytest.raises(InvalidSample):
            judged(json.dumps(place), box, **options)


@pytest.mark.parametrize("scale", ["pixel", "unit", "thousand"])
def test_masks_are_in_pixels_whatever_the_scale(scale: str) -> None:
    mask = {"mask": {"size": [4, 8], "counts": [16, 16]}}  # the right half
    reach = {"pixel": (8, 4), "unit": (1, 1), "thousand": (1000, 1000)}[scale]
    assert judged(json.dumps([0.75 * reach[0], 0.5 * reach[1]]), mask, scale=scale).score == 1.0
    assert judged(json.dumps([0.25 * reach[0], 0.5 * reach[1]]), mask, scale=scale).score == 0.0


# --- sets ----------------------------------------------------------------------------------------------------------


def test_points_are_matched_for_the_greatest_sum() -> None:
    rng = random.Random(2)
    for _ in range(40):
        theirs = [[rng.randrange(12), rng.randrange(12)] for _ in range(rng.randint(1, 5))]
        ours = [[rng.randrange(12), rng.randrange(12)] for _ in range(rng.randint(1, 5))]
        worths = [[max(0.0, 1 - math.dist(a, b) / 6) for b in theirs] for a in ours]
        table = worths if len(ours) <= len(theirs) else [list(row) for row in zip(*worths, strict=True)]
        best = max(
            sum(table[row][column] for row, column in enumerate(one))
            for one in itertools.permutations(range(len(table[0])), len(table))
        )
        outcome = judged(json.dumps(ours), theirs, decay="linear", decay_length=6)
        assert outcome.score == pytest.approx(best / max(len(ours), len(theirs)), abs=1e-6)


@pytest.mark.parametrize(("aggregate", "score"), [("mean", 0.4), ("precision", 0.4), ("recall", 0.5), ("f", 4 / 9)])
def test_aggregates(aggregate: str, score: float) -> None:
    theirs = [[100 * place, 0] for place in range(4)]
    ours = [*theirs[:2], [0, 500], [50, 500], [90, 500]]
    assert judged(json.dumps(ours), theirs, tolerance=1, aggregate=aggregate).score == pytest.approx(score)


def test_two_points_in_one_region_are_one_hit() -> None:
    outcome = judged("[[120, 215], [130, 215]]", [BOX, [0, 0, 10, 10]])
    assert (outcome.score, outcome.evidence["matched"]) == (0.5, 1)


# --- actions -------------------------------------------------------------------------------------------------------


def test_parts_are_those_that_the_reference_has() -> None:
    assert judged("wait()", {"action": "wait"}).evidence["parts"] == {"type": 1.0}
    assert judged("click(1, 1)", {"action": "click", "gt_bbox": [-100, -100]}).evidence["parts"] == {"type": 1.0}
    assert judged("type('a')", {"action": "type", "text": "a", "box": BOX}).evidence["parts"] == {
        "type": 1.0,
        "target": 0.0,
        "value": 1.0,
    }


def test_a_sequence_is_compared_place_by_place() -> None:
    wanted = [CLICK, {"action": "type", "text": "a"}, {"action": "enter"}]
    assert judged("click(120, 215) type('a') enter()", wanted).score == 1.0
    assert judged("click(120, 215) type('a')", wanted).score == pytest.approx(2 / 3)
    assert judged("type('a') click(120, 215) enter()", wanted).score == pytest.approx(1 / 3)
    assert judged("click(120, 215) type('a') enter() enter()", wanted).score == pytest.approx(3 / 4)


@pytest.mark.parametrize(
    ("text", "ours", "same"),
    [
        ("exact", "Hello", False),
        ("exact", "hello", True),
        ("plain", " HELLO ", True),
        ("plain", "helo", False),
        ("fuzzy", "helo", True),
        ("fuzzy", "help", False),
        ("fuzzy", "", False),
    ],
)
def test_texts(text: str, ours: str, same: bool) -> None:
    outcome = judged(json.dumps({"action": "type", "text": ours}), {"action": "type", "text": "hello"}, text=text)
    assert outcome.evidence["parts"]["value"] == float(same)


def test_distance_counts_for_clicks_as_well() -> None:
    reference = {"action": "click", "point": [100, 100]}
    outcome = judged("click(105, 100)", reference, decay="linear", decay_length=10)
    assert outcome.score == pytest.approx(0.75)


def test_a_click_in_another_scale_is_flagged_or_permitted() -> None:
    reference = {"action": "click", "box": [300, 200, 400, 260], "size": [640, 480]}
    outcome = judged("click(500, 500)", reference, all_or_nothing=True)
    assert (outcome.score, outcome.flags) == (0.0, ("scale_confused",))
    outcome = judged("click(500, 500)", reference, all_or_nothing=True, other_scales=["thousand"])
    assert (outcome.score, outcome.flags) == (1.0, ("other_scale",))


# --- what never pays -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "response", ["", "I do not know.", "[]", "{}", "[[]]", "[[1, 2, 3]]", "(inf, inf)", "(1e99, 1)"]
)
@pytest.mark.parametrize("reference", [BOX, [BOX, [0, 0, 1, 1]], CLICK, {"polygon": [[0, 0], [9, 0], [9, 9]]}])
def test_nothing_and_junk_earn_nothing(response: str, reference: Any) -> None:
    outcome = judged(response, reference)
    assert (outcome.score, outcome.fault) == (0.0, "policy")


@pytest.mark.parametrize(
    "params",
    [
        {"tolerance": -1},
        {"decay": "linear"},
        {"decay_length": 3},
        {"decay": "linear", "decay_length": 0},
        {"size": [0, 1]},
        {"beta": 0},
        {"limit": 0},
        {"limit": 10_000},
        {"weights": {"type": 0, "target": 0, "value": 0}},
        {"weights": {"type": -1}},
        {"weights": {"kind": 1}},
        {"text_threshold": 0},
        {"pass_score": 0},
        {"actions": {"click": ["press"], "type": ["press"]}},
        {"extraction": []},
        {"scale": "percent"},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="point", params=params))


@pytest.mark.parametrize(
    "reference",
    [
        "",
        {},
        {"a": 1},
        [1, 2, 3],
        [3, 4, 1, 2],
        [math.nan, 1],
        [[1, 2], "x"],
        {"polygon": [[1, 2], [3, 4]]},
        {"mask": {"size": [2], "counts": [1]}},
        {"mask": {"size": [2, 2], "counts": "~~"}},
        [CLICK, [1, 2]],
        {"action": "click", "box": [1, 2, 3]},
        {"box": None},
        {"points": 3},
    ],
)
def test_bad_references_are_told(reference: Any) -> None:
    with pytest.raises(InvalidReference):
        prepare(reference, PointParams(tolerance=1))


def test_a_point_for_a_reference_takes_a_tolerance() -> None:
    with pytest.raises(InvalidParams, match="tolerance"):
        prepare([1, 2], PointParams())


# --- robustness ----------------------------------------------------------------------------------------------------

PIECES = [
    *HOSTILE,
    "[",
    "]",
    "(",
    ")",
    "{",
    "}",
    "[1,2]",
    "(1, 2) ",
    "click(",
    "click(1, 2) ",
    "type('",
    "type('a') ",
    "'",
    '"',
    '{"action": ',
    '{"action": "click"} ',
    "x=1, y=2 ",
    "x = ",
    '<point x="1" y="2">',
    "<point>",
    "</point>",
    "1 ",
    "nan",
    "<action>click</action>",
    "<action>",
    "```json\n",
    "```",
    "a(",
    "start_box=",
    "1e9, ",
    "9" * 30,
    "\\'",
]
KINDS: list[tuple[Any, dict[str, Any]]] = [
    (BOX, {}),
    ([[1, 2], [3, 4]], {"decay": "gaussian", "decay_length": 5, "boxes": "center", "aggregate": "f"}),
    ({"polygon": [[0, 0], [9, 0], [9, 9]]}, {"scale": "thousand", "size": [9, 9], "other_scales": ["pixel", "unit"]}),
    (CLICK, {"size": [640, 480]}),
    ([CLICK, {"action": "type", "text": "a"}], {"text": "fuzzy"}),
    ([], {}),
]
CHECKED = [PLANNER.bind(Use(name="point", params=params)).params for _, params in KINDS]
PREPARED = [prepare(reference, checked) for (reference, _), checked in zip(KINDS, CHECKED, strict=True)]


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join))
def test_no_text_raises_and_every_outcome_is_a_finite_score(text: str) -> None:
    for gold, checked in zip(PREPARED, CHECKED, strict=True):
        outcome = point(text, gold, checked)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        json.dumps([outcome.extracted, dict(outcome.evidence)], allow_nan=False)


KEYS = ["action", "type", "point", "x", "y", "box", "text", "arguments", "keys", "direction", "end", "mask", "points"]
json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.floats()
    | st.integers()
    | st.sampled_from(["click", "1", "(1,2)", "down", "click(1"]),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=4),
    max_leaves=15,
)


@given(json_values)
def test_no_json_raises(value: Any) -> None:
    text = json.dumps(value)
    for gold, checked in zip(PREPARED, CHECKED, strict=True):
        outcome = point(text, gold, checked)
        assert outcome.score is not None
        json.dumps([outcome.extracted, dict(outcome.evidence)], allow_nan=False)


@given(json_values)
def test_no_reference_raises_anything_but_that_it_is_bad(value: Any) -> None:
    if isinstance(value, (str, list, dict)):
        for checked in CHECKED:
            with contextlib.suppress(InvalidReference, InvalidParams):
                point("[1, 2]", prepare(value, checked), checked)


@pytest.mark.parametrize("piece", PIECES)
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    points = PointReader(centers=True)
    actions = ActionReader(points, {})

    def work(times: int) -> int:
        text = (piece * times)[:19_000]
        return steps(lambda: (points.read(text), actions.read(text)))

    work(3)
    small, middle, large = (work(max(1, size // len(piece))) for size in (300, 1500, 7500))
    assert middle <= 6 * small + 2000
    assert large <= 5.5 * middle + 2000


def test_an_answer_too_long_to_be_read_is_scored() -> None:
    outcome = judged("(120, 215) " * 4000)
    assert (outcome.score, outcome.reason) == (0.0, "too_expensive")
