"""Arrow arrays to JSON values, by one rule for each type (docs/rescoring.md shows them as a table).

Needs neither pandas nor numpy. pyarrow itself is imported when a Parquet file is met, never before.
"""

from __future__ import annotations

import base64
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any

from rewarden.errors import RewardenError
from rewarden.wire.json import loads
from rewarden_server.studies.rescore.options import RescoreError

MARK = b"rewarden"
"""The key in a field's metadata that says what a text of ours holds. `json`: any JSON value."""
JSON_MARK: Mapping[bytes, bytes] = {MARK: b"json"}

_SECOND: Mapping[str, int] = {"s": 1, "ms": 1_000, "us": 1_000_000, "ns": 1_000_000_000}
_EPOCH = datetime(1970, 1, 1)


def load_pyarrow() -> Any:
    """The module. Raises RescoreError with the pip command where it is not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise RescoreError(f"Parquet needs pyarrow: pip install 'rewarden-server[parquet]' ({error})") from None
    return pyarrow


def values_of(array: Any, field: Any = None) -> list[Any]:
    """An array's values as JSON values; of bytes that should be UTF-8 and are not, halves of surrogate pairs are made.

    `field` is the array's `pyarrow.Field`, whose metadata may say that its texts hold JSON.
    """
    pa = load_pyarrow()
    types = pa.types
    kind = array.type
    if isinstance(kind, pa.BaseExtensionType):
        return _extension(array, kind)
    if types.is_struct(kind):
        return _structs(array, kind)
    if types.is_map(kind):
        return _maps(array)
    if types.is_list(kind) or types.is_large_list(kind):
        offsets = array.offsets.to_pylist()
        first = offsets[0] if offsets else 0
        items = values_of(array.values.slice(first, (offsets[-1] if offsets else 0) - first), kind.value_field)
        return _where_valid(array, [items[start - first : end - first] for start, end in pairwise(offsets)])
    if types.is_fixed_size_list(kind):
        size = kind.list_size
        items = values_of(array.values.slice(array.offset * size, len(array) * size), kind.value_field)
        return _where_valid(array, [items[at * size : (at + 1) * size] for at in range(len(array))])
    if types.is_dictionary(kind):
        return values_of(array.dictionary_decode(), field)
    texts = _texts(pa, array, kind)
    if texts is not None:
        if field is not None and (field.metadata or {}).get(MARK) == b"json":
            return [None if text is None else _parsed(text) for text in texts]
        return texts
    return _scalars(pa, array, kind)


def _where_valid(array: Any, values: list[Any]) -> list[Any]:
    if not array.null_count:
        return values
    return [value if valid else None for value, valid in zip(values, array.is_valid().to_pylist(), strict=True)]


def _structs(array: Any, kind: Any) -> list[Any]:
    """Objects. A struct has all its fields in every row, so one that is null is one that the row has not got."""
    fields = [kind.field(index) for index in range(kind.num_fields)]
    names = [field.name for field in fields]
    children = [values_of(array.field(index), field) for index, field in enumerate(fields)]
    rows: Any = zip(*children, strict=True) if children else ((),) * len(array)
    made = [{name: value for name, value in zip(names, row, strict=True) if value is not None} for row in rows]
    return _where_valid(array, made)


def _maps(array: Any) -> list[Any]:
    """Objects where the keys of a row are texts that differ, else lists of pairs."""
    offsets = array.offsets.to_pylist()
    first = offsets[0] if offsets else 0
    length = (offsets[-1] if offsets else 0) - first
    keys = values_of(array.keys.slice(first, length))
    items = values_of(array.items.slice(first, length))
    made: list[Any] = []
    for start, end in pairwise(offsets):
        pairs = list(zip(keys[start - first : end - first], items[start - first : end - first], strict=True))
        named = all(isinstance(key, str) for key, _ in pairs) and len({key for key, _ in pairs}) == len(pairs)
        made.append(dict(pairs) if named else [list(pair) for pair in pairs])
    return _where_valid(array, made)


def _extension(array: Any, kind: Any) -> list[Any]:
    if kind.extension_name == "arrow.json":
        return [None if text is None else _parsed(text) for text in values_of(array.storage)]
    if kind.extension_name == "arrow.uuid":
        return [None if value is None else str(value) for value in array.to_pylist()]
    return values_of(array.storage)


def _texts(pa: Any, array: Any, kind: Any) -> list[Any] | None:
    """Returns the values of an array of texts or bytes, or None for any other array."""
    types = pa.types
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        try:
            found: list[Any] = array.to_pylist()
        except UnicodeDecodeError:
            raw = array.cast(pa.large_binary()).to_pylist()
            found = [None if data is None else data.decode("utf-8", "surrogateescape") for data in raw]
        return found
    if (
        types.is_binary(kind)
        or types.is_large_binary(kind)
        or types.is_binary_view(kind)
        or types.is_fixed_size_binary(kind)
    ):
        return [None if data is None else _bytes(data) for data in array.to_pylist()]
    return None


def _bytes(data: bytes) -> Any:
    """Many writers leave texts unmarked as such; what is not UTF-8 is base64, as everywhere in Rewarden."""
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _parsed(text: Any) -> Any:
    try:
        return loads(text)
    except RewardenError:
        return text


def _scalars(pa: Any, array: Any, kind: Any) -> list[Any]:
    types = pa.types
    shown: Callable[[Any], Any] | None = None
    if types.is_decimal(kind):
        shown = "{:f}".format  # all digits: a float would lose some
    elif types.is_timestamp(kind):
        unit, zone = _SECOND[kind.unit], "Z" if kind.tz else ""
        array, shown = array.cast(pa.int64()), lambda ticks: _instant(ticks, unit, zone)
    elif types.is_date(kind):
        shown = str
    elif types.is_time(kind):
        unit = _SECOND[kind.unit]
        array = array.cast(pa.int32() if types.is_time32(kind) else pa.int64())
        shown = lambda ticks: _instant(ticks, unit, "")[11:]  # noqa: E731
    elif types.is_duration(kind):
        unit = _SECOND[kind.unit]
        array, shown = array.cast(pa.int64()), lambda ticks: ticks / unit if ticks % unit else ticks // unit
    elif types.is_float16(kind):
        array = array.cast(pa.float32())
    elif not (types.is_primitive(kind) or types.is_null(kind)) or types.is_interval(kind):
        shown = str
    values: list[Any] = array.to_pylist()
    return values if shown is None else [None if value is None else shown(value) for value in values]


def _instant(ticks: int, unit: int, zone: str) -> Any:
    """ISO 8601, in UTC where the column has a time zone; beyond the calendar's years the number itself."""
    seconds, rest = divmod(ticks, unit)
    try:
        text = (_EPOCH + timedelta(seconds=seconds)).isoformat()
    except OverflowError:
        return ticks
    fraction = f".{rest:0{len(str(unit)) - 1}d}" if rest else ""
    return f"{text}{fraction}{zone}"


def rows_of(batch: Any) -> list[dict[str, Any]]:
    """A record batch's rows. Columns keep their nulls; of columns of one name the last counts, as in JSON."""
    names: Sequence[str] = batch.schema.names
    columns = [values_of(batch.column(index), batch.schema.field(index)) for index in range(len(names))]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)] if columns else [{}] * len(batch)
