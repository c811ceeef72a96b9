"""Tagged JSON: what crosses comes out equal and plain; what is hostile is refused, cheaply; nothing else happens."""

from __future__ import annotations

import collections
import contextlib
import datetime
import enum
import json
import math
import os
import socket
import threading
from collections import Counter, OrderedDict, defaultdict, deque, namedtuple
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_sandboxes.agent import tagged_codec


def over(value: Any) -> Any:
    """The value after a journey."""
    return tagged_codec.decode(tagged_codec.from_json(tagged_codec.to_json(tagged_codec.encode(value))))


scalars = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False)
    | st.complex_numbers(allow_nan=False)
    | st.text(st.characters(exclude_categories=()))  # lone surrogates too
    | st.binary()
    | st.decimals(allow_nan=False)
    | st.fractions()
    | st.dates()
    | st.times()
    | st.datetimes(timezones=st.none() | st.just(datetime.timezone.utc))
    | st.timedeltas()
)
hashables = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=3).map(tuple) | st.frozensets(inner, max_size=3)
)
values = st.recursive(
    hashables,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(hashables, inner, max_size=4)
        | st.sets(hashables, max_size=4)
        | st.lists(inner, max_size=3).map(tuple)
        | st.lists(inner, max_size=3).map(deque)
    ),
    max_leaves=20,
)


@given(values)
def test_whatever_crosses_arrives_equal_and_of_its_exact_type(value: Any) -> None:
    arrived = over(value)
    assert arrived == value
    assert repr(arrived) == repr(value) or "{" in repr(value)  # -0.0, True beside 1; a set has no order


@pytest.mark.parametrize(
    "value",
    [
        10**5000,
        -(16**100_000 - 1),
        -0.0,
        math.inf,
        5e-324,
        "\ud83d\ude00",  # two code units, which plain JSON would join to one character
        "\x00\u2028é😀",
        bytearray(b"\x00\xff"),
        range(10, -5, -3),
        deque([1], maxlen=3),
        Counter("abca"),
        Decimal("-0E+10"),
        Decimal("sNaN12"),
        datetime.datetime(2024, 1, 2, fold=1, tzinfo=datetime.timezone(datetime.timedelta(hours=-3, seconds=1))),
        {(1, "a"): [{2}], None: {}},
    ],
    ids=lambda value: repr(value)[:30] if not isinstance(value, int) else "int",
)
def test_edges_cross(value: Any) -> None:
    arrived = over(value)
    assert type(arrived) is type(value)
    assert arrived is value or tagged_codec.encode(arrived) == tagged_codec.encode(value)


def test_nan_crosses_as_nan() -> None:
    assert math.isnan(over(float("nan")))


def test_the_order_of_a_dict_is_kept() -> None:
    assert list(over({"b": 1, "a": 2, 0: 3})) == ["b", "a", 0]


@pytest.mark.parametrize("value", [defaultdict(list, {1: [2]}), OrderedDict({1: [2]})])
def test_dicts_with_a_default_or_an_order_cross_as_plain_dicts(value: Any) -> None:
    assert type(over(value)) is dict
    assert over(value) == value


class Always(int):
    def __eq__(self, other: object) -> bool:
        return True

    __hash__ = int.__hash__


class Colour(enum.IntEnum):
    RED = 1


Point = namedtuple("Point", "x y")


@pytest.mark.parametrize(
    ("value", "named"),
    [
        (Always(3), "Always"),
        (type("Text", (str,), {})("x"), "Text"),
        (type("List", (list,), {})(), "List"),
        (Colour.RED, "Colour"),
        (Point(1, 2), "Point"),
        (object(), "object"),
        ([1, {"k": (object(),)}], "object"),
        (print, "builtin_function_or_method"),
        (iter([]), "list_iterator"),
        (int, "type"),
    ],
)
def test_anything_but_an_exact_plain_type_does_not_cross(value: Any, named: str) -> None:
    with pytest.raises(tagged_codec.Uncrossable) as caught:
        tagged_codec.encode(value)
    assert (caught.value.type_name, caught.value.unfit) == (named, False)


def cycle() -> list[Any]:
    inner: list[Any] = []
    inner.append(inner)
    return inner


def doubling() -> list[Any]:
    """Thirty lists that stand for 2^30 values."""
    value: list[Any] = []
    for _ in range(30):
        value = [value, value]
    return value


@pytest.mark.parametrize(
    "value",
    [
        cycle(),
        doubling(),
        16**100_000,
        Fraction(1, 16**10_000),
        Decimal("1E+999999"),
        "x" * (tagged_codec.MAX_BYTES + 1),
    ],
    ids=["cycle", "doubling", "digits", "fraction", "exponent", "bytes"],
)
def test_a_value_out_of_bounds_is_unfit(value: Any) -> None:
    with pytest.raises(tagged_codec.Uncrossable) as caught:
        tagged_codec.to_json(tagged_codec.encode(value))
    assert caught.value.unfit


def nested(depth: int) -> Any:
    value: Any = {"l": []}
    for _ in range(depth):
        value = {"l": [value]}
    return value


COLLIDING = [{"i": f"{(2**61 - 1) * at:x}"} for at in range(1, 1000)]

HOSTILE: list[Any] = [
    5,
    1.5,
    [],
    {},
    {"i": "1", "f": "0x1.0000000000000p+0"},
    {"i": 5},
    {"i": "01"},
    {"i": "0x1"},
    {"i": "1_0"},
    {"i": " 1"},
    {"i": "1\n"},
    {"i": "١"},
    {"i": "f" * 100_001},
    {"f": 1.5},
    {"f": "1e5"},
    {"f": "0x1p99999"},
    {"f": "infinity"},
    {"complex": ["nan"]},
    {"l": {}},
    {"l": [5]},
    {"l": [[1]]},
    {"d": [["a"]]},
    {"d": [[{"l": []}, None]]},
    {"s": [{"l": []}]},
    {"s": COLLIDING},
    {"d": [[key, None] for key in COLLIDING]},
    {"counter": [[key, None] for key in COLLIDING]},
    {"frozenset": COLLIDING},
    {"bytes": "0"},
    {"bytes": "0 0"},
    {"bytes": "FF"},
    {"text": "ff"},
    {"range": ["0", "1", "0"]},
    {"decimal": "1E+9999999"},
    {"decimal": "1E+999999"},
    {"decimal": "1_0"},
    {"decimal": "١"},
    {"decimal": "1" * 200_000},
    {"fraction": ["1", "0"]},
    {"fraction": ["2", "4"]},
    {"fraction": ["1", "-2"]},
    {"fraction": ["1", "f" * 10_001]},
    {"date": [2024, 13, 1]},
    {"date": [True, 1, 1]},
    {"date": ["2024", 1, 1]},
    {"time": [0, 0, 0, 0, 0, 86_400_000_000]},
    {"time": [0, 0, 0, 0, 2, None]},
    {"timedelta": [10**15, 0, 0]},
    {"deque": [{"i": "-1"}, []]},
    {"deque": ["x", []]},
    {"array": ["object", [1], [None]]},
    {"array": ["int64", [2], [{"i": "1"}]]},
    {"array": ["int64", [-1], [{"i": "1"}]]},
    {"array": ["int64", [1] * 33, [{"i": "1"}]]},
    {"array": ["int64", [0, 10**12], []]},
    {"array": ["str", [3], ["x" * 4_000_000, "", ""]]},
    {"array": ["int64", [1], [True]]},
    {"scalar": ["int64", {"f": "nan"}]},
    {"scalar": ["V8", None]},
    {"ref": {"thing": 0}},
    {"L": []},
    {"__class__": "os.system"},
    "\ud800",
    nested(100),
]


@pytest.mark.parametrize("tagged", HOSTILE, ids=lambda tagged: json.dumps(tagged)[:40])
def test_the_reader_refuses_what_no_writer_writes(tagged: Any) -> None:
    with pytest.raises(tagged_codec.BadFrame):
        tagged_codec.decode(tagged)


def test_the_deepest_value_that_is_allowed_crosses() -> None:
    assert tagged_codec.encode(tagged_codec.decode(nested(99))) == nested(99)


tags = st.sampled_from([*tagged_codec._READERS, "i", "x"])
anything = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["nan", "1", "int64"]),
    lambda inner: st.lists(inner, max_size=5) | st.dictionaries(tags, inner, min_size=1, max_size=2),
    max_leaves=30,
)


@given(anything)
@pytest.mark.slow
def test_the_reader_raises_nothing_but_bad_frame(tagged: Any) -> None:
    try:
        value = tagged_codec.decode(tagged)
    except tagged_codec.BadFrame:
        return
    assert tagged_codec.crosses(type(value)) or type(value).__module__ == "numpy"


@given(st.binary(max_size=200))
def test_a_text_that_is_no_json_is_a_bad_frame(body: bytes) -> None:
    with contextlib.suppress(tagged_codec.BadFrame):
        tagged_codec.from_json(body)


@pytest.mark.parametrize(
    "body",
    [b"[" * 100_000, b"1" * 100_000, b"NaN", b"[Infinity]", b"\xff", b'{"a":' * 50_000],
    ids=lambda b: b[:8].hex(),
)
def test_json_that_would_exhaust_the_parser_is_a_bad_frame(body: bytes) -> None:
    with pytest.raises(tagged_codec.BadFrame):
        tagged_codec.from_json(body)


def test_numpy_crosses_where_it_is_loaded() -> None:
    numpy = pytest.importorskip("numpy")
    for value in [
        numpy.int64(-3),
        numpy.float32(1.5),
        numpy.bool_(True),
        numpy.str_("é"),
        numpy.array([[1, 2], [3, 4]], dtype="uint8"),
        numpy.zeros((2, 0, 3)),
        numpy.array(7.5),
        numpy.array(["a", "bcd"]),
        numpy.array([1 + 2j]),
        numpy.arange(12).reshape(3, 4)[::-1, ::2],
    ]:
        arrived = over(value)
        assert (type(arrived), arrived.dtype, arrived.shape) == (type(value), value.dtype, value.shape)
        assert numpy.array_equal(arrived, value)
    for value in [numpy.array([object()]), numpy.array([1], dtype="datetime64[s]"), numpy.ma.array([1])]:
        with pytest.raises(tagged_codec.Uncrossable):
            tagged_codec.encode(value)


def test_without_numpy_its_values_arrive_plain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tagged_codec, "_numpy", lambda: None)
    one, two = {"i": "1"}, {"i": "2"}
    assert tagged_codec.decode({"scalar": ["int64", one]}) == 1
    assert tagged_codec.decode({"array": ["int64", [2, 2], [one, two, two, one]]}) == [[1, 2], [2, 1]]
    assert tagged_codec.decode({"array": ["int64", [2, 0], []]}) == [[], []]
    assert tagged_codec.decode({"array": ["int64", [], [one]]}) == 1


def pair() -> tuple[tagged_codec.Channel, socket.socket]:
    one, other = socket.socketpair()
    return tagged_codec.Channel(one.detach()), other


def test_frames_arrive_whole_and_in_order_however_they_are_cut() -> None:
    channel, other = pair()
    sent = [{"at": at, "text": "x" * at} for at in (0, 1, 100_000, 5)]
    body = b"".join(len(text).to_bytes(4, "big") + text for text in map(tagged_codec.to_json, sent))

    def trickle() -> None:
        for at in range(0, len(body), 4093):
            other.sendall(body[at : at + 4093])

    thread = threading.Thread(target=trickle)
    thread.start()
    assert [channel.receive() for _ in sent] == sent
    thread.join()
    other.close()
    with pytest.raises(tagged_codec.Lost):
        channel.receive()
    os.close(channel.descriptor)


@pytest.mark.parametrize(
    ("raw", "error"),
    [
        (b"", tagged_codec.Lost),
        (b"\x00\x00", tagged_codec.Lost),
        (b"\x00\x00\x00\x05{}", tagged_codec.Lost),
        (b"\xff\xff\xff\xff{}", tagged_codec.BadFrame),  # refused before a byte of it is read
        (b"\x00\x00\x00\x02[]", tagged_codec.BadFrame),
        (b"\x00\x00\x00\x00", tagged_codec.BadFrame),
        (b"\x00\x00\x00\x03{,}", tagged_codec.BadFrame),
    ],
)
def test_half_a_frame_is_a_lost_sender_and_no_frame_is_a_bad_one(raw: bytes, error: type[Exception]) -> None:
    channel, other = pair()
    other.sendall(raw)
    other.close()
    with pytest.raises(error):
        channel.receive()
    os.close(channel.descriptor)


def test_sending_to_a_closed_end_is_a_lost_receiver() -> None:
    channel, other = pair()
    other.close()
    with pytest.raises(tagged_codec.Lost):
        channel.send({"at": 1})
    os.close(channel.descriptor)


def test_an_ordered_dict_of_a_subclass_does_not_cross() -> None:
    class Sly(collections.OrderedDict):  # type: ignore[type-arg]
        pass

    with pytest.raises(tagged_codec.Uncrossable):
        tagged_codec.encode(Sly())
