"""A published row, read field by field; errors name the field."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rewarden_verifiers.execution.datasets.packed import MAX_BYTES, read_json
from rewarden_verifiers.execution.reference import MAX_TESTS, invalid

_MISSING: Any = object()


class Row:
    """The fields of a row, and their path in the reference."""

    def __init__(
        self,
        fields: Mapping[str, Any],
        path: str,
        beside: Mapping[str, Any] | None = None,
        max_bytes: int = MAX_BYTES,
    ) -> None:
        """beside: further fields, used if the row has no field of that name. max_bytes: the maximum unpacked size of a
        packed field.
        """
        self._fields = fields
        self._beside = beside or {}
        self._max_bytes = max_bytes
        self.path = path

    @classmethod
    def read(cls, reference: Any, metadata: Mapping[str, Any] | None, main: str, max_bytes: int) -> Row:
        """Returns the row in a reference: either the row itself, as an object or as JSON, or its field `main`, with the
        other fields in the metadata. verl's rows hold `main` under `reward_model.ground_truth`.
        """
        if isinstance(reference, list) and len(reference) == 1:  # a list column with one item
            [alone] = reference
            packed = isinstance(alone, str) and alone.lstrip()[:1] in ("{", "[")
            if packed or (isinstance(alone, Mapping) and main in alone):
                reference = alone
        if isinstance(reference, str) and reference.lstrip().startswith("{"):
            try:
                reference = read_json(reference, max_bytes=0)
            except ValueError as error:
                raise invalid(str(error), "reference") from None
        fields = reference if isinstance(reference, Mapping) else {main: reference}
        wrapped = fields.get("reward_model")
        if isinstance(wrapped, Mapping) and "ground_truth" in wrapped:
            fields = {**fields, main: wrapped["ground_truth"]}
        return cls(fields, "reference", metadata, max_bytes)

    def at(self, name: str) -> str:
        """Returns the path of a field."""
        return f"{self.path}.{name}"

    def get(self, name: str) -> Any:
        """Returns a field, or None if the row has no such field."""
        found = self._fields.get(name)
        return self._beside.get(name) if found is None else found

    def has(self, name: str) -> bool:
        """Returns whether a field exists and is neither null nor empty."""
        return self.get(name) not in (None, "", [], {})

    def text(self, name: str, default: str = _MISSING) -> str:
        """Returns a text field. Raises InvalidReference."""
        found = self.get(name)
        if found is None and default is not _MISSING:
            return default
        if not isinstance(found, str):
            raise invalid("must be a string" if found is not None else "is missing", self.at(name))
        return found

    def code(self, name: str) -> str:
        """Returns a field of code that is not blank. Raises InvalidReference."""
        found = self.text(name)
        if not found.strip():
            raise invalid("is blank", self.at(name))
        return found

    def file_name(self, name: str) -> str:
        """Returns a field that is a file name without folders, or an empty text if there is none. Raises
        InvalidReference.
        """
        found = self.text(name, "")
        if "/" in found or "\0" in found or found in (".", ".."):
            raise invalid(f"is not the name of a file: {found[:60]!r}", self.at(name))
        return found

    def number(self, name: str) -> float | None:
        """Returns a numeric field. A text that begins with a number counts as well (`2 seconds`). Raises
        InvalidReference.
        """
        found = self.get(name)
        if isinstance(found, str):
            try:
                found = float(found.split()[0]) if found.strip() else None
            except ValueError:
                raise invalid(f"is not a number: {found[:60]!r}", self.at(name)) from None
        if found is not None and (isinstance(found, bool) or not isinstance(found, (int, float)) or not found > 0):
            raise invalid("must be a number above 0", self.at(name))
        return found

    def json(self, name: str) -> Any:
        """Returns a field of JSON, parsed if it is a text. Raises InvalidReference."""
        found = self.get(name)
        if found is None:
            raise invalid("is missing", self.at(name))
        if not isinstance(found, str):
            return found
        try:
            return read_json(found, self._max_bytes)
        except ValueError as error:
            raise invalid(str(error), self.at(name)) from None

    def items(self, name: str) -> list[Any]:
        """Returns a list, parsed if it is JSON text. Raises InvalidReference."""
        found = self.json(name)
        if not isinstance(found, list):
            raise invalid("must be a list", self.at(name))
        if len(found) > MAX_TESTS:
            raise invalid(f"contains {len(found)} tests; {MAX_TESTS} is the most", self.at(name))
        return found

    def inner(self, name: str) -> Row:
        """Returns an object, parsed if it is JSON text. Raises InvalidReference."""
        found = self.json(name)
        if not isinstance(found, Mapping):
            raise invalid("must be an object", self.at(name))
        return self.within(found, self.at(name))

    def within(self, fields: Mapping[str, Any], path: str) -> Row:
        """Returns an object that is part of the row."""
        return Row(fields, path, max_bytes=self._max_bytes)

    def rows(self, name: str) -> Iterator[Row]:
        """Yields the objects of a list. Raises InvalidReference."""
        for index, item in enumerate(self.items(name)):
            place = f"{self.at(name)}[{index}]"
            if not isinstance(item, Mapping):
                raise invalid("must be an object", place)
            yield self.within(item, place)

    def first(self, *names: str) -> str:
        """Returns the first of these fields that the row has, or the first name if it has none."""
        return next((name for name in names if self.has(name)), names[0])
