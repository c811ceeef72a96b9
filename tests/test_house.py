"""The drawing of the house is true to the imports, and can be read."""

from __future__ import annotations

import sys
from itertools import combinations
from xml.etree import ElementTree

import pytest

from tests.imports import FOLDERS, ROOT, graph

sys.path.append(str(ROOT / "docs"))

from making.drawing import drawing
from making.house import House, reduced
from making.layers import arranged

SIZE = (80.0, 40.0)


@pytest.mark.parametrize("package", FOLDERS)
def test_every_import_follows_the_arrows_downwards(package: str) -> None:
    imports = graph()
    house = House(package, imports)
    place = {name: number for number, box in enumerate(house.boxes) for part in box for name in part.modules}
    own = {name for name in imports if name.startswith(f"{package}.")}
    assert place.keys() == own
    assert sum(len(part.modules) for box in house.boxes for part in box) == len(own)
    below: dict[int, set[int]] = {number: {number} for number in range(len(house.boxes))}
    for start, end in sorted(house.arrows, reverse=True):
        assert start < end
        below[start] |= below[end]
    for name in own:
        assert {place[other] for other in imports[name] & own} <= below[place[name]], name


def test_rooms_that_import_each_other_are_divided() -> None:
    imports = {
        "p.a.top": {"p.b.one"},
        "p.a.base": set(),
        "p.b.one": {"p.a.base"},
        "p.a": set(),
        "p.b": set(),
        "p": set(),
    }
    (upper,), (middle,), (lower,) = House("p", imports).boxes
    assert [upper.room, middle.room, lower.room] == ["a", "b", "a"]
    assert (upper.names, lower.names) == (["top"], ["base"])


def test_rooms_with_the_same_neighbours_share_a_box() -> None:
    imports = {"p.a": {"p.base"}, "p.a.x": set(), "p.b": {"p.base"}, "p.b.x": set(), "p.base": set()}
    assert [[part.room for part in box] for box in House("p", imports).boxes] == [["a", "b"], [""]]


def test_arrows_that_follow_from_others_are_left_out() -> None:
    assert reduced([(0, 1), (1, 2), (2, 3), (0, 2), (0, 3), (1, 3)]) == {(0, 1), (1, 2), (2, 3)}


def test_boxes_lie_below_those_that_import_them_and_apart() -> None:
    arrows = [(0, 2), (1, 2), (2, 3), (0, 4), (3, 5), (1, 5)]
    layout = arranged(dict.fromkeys(range(6), SIZE), arrows)
    for start, end in arrows:
        assert layout.nodes[start][1] + SIZE[1] < layout.nodes[end][1]
        first, *_, last = layout.arrows[start, end]
        assert (first[1], last[1]) == (layout.nodes[start][1] + SIZE[1], layout.nodes[end][1])
    for (x, y), (other, another) in combinations(layout.nodes.values(), 2):
        assert abs(x - other) > SIZE[0] or abs(y - another) > SIZE[1]
    assert all(0 <= x <= layout.width - SIZE[0] and 0 <= y <= layout.height - SIZE[1] for x, y in layout.nodes.values())


def test_the_drawing_is_whole_and_loads_nothing() -> None:
    picture = drawing(graph())
    ElementTree.fromstring(picture)
    assert "href" not in picture
    assert "url(http" not in picture
    assert all(f">{package}<" in picture for package in FOLDERS)
