"""A notebook in a box, for asyncio."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from rewarden.boxes.notebook_tool import UNREADABLE, Arguments, code_in, reply_of
from rewarden.boxes.types import CellRequest, CellResult, Variable
from rewarden.boxes.wire import answer, to_json
from rewarden.errors import InternalError, InvalidRequest
from rewarden.transports.base import understood

Call = Callable[..., Awaitable[Any]]
"""Makes a call to the notebook's box: the operation, and the fields of `BoxCall`."""


class AsyncNotebook:
    """An interpreter that lives in a box and keeps its variables from cell to cell. Cells wait for each other.

    number: its number in the box. Each method raises `RequestError` subclasses, such as NotebookEnded.
    """

    def __init__(self, call: Call, number: int) -> None:
        self._call = call
        self.number = number

    async def __aenter__(self) -> AsyncNotebook:
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.close()

    async def run(self, code: str, timeout_s: float | None = None, *, output_bytes: int | None = None) -> CellResult:
        """Runs a cell. timeout_s, output_bytes: see `CellRequest`."""
        asked = CellRequest(code=code, timeout_s=timeout_s, output_bytes=output_bytes)
        told = await self._call("cell", number=self.number, value=to_json(asked))
        return understood(lambda told: answer(CellResult, told), told)

    async def call(self, arguments: Arguments, timeout_s: float | None = None) -> str:
        """Runs a model's call of the tool `NOTEBOOK_TOOL`, and returns the text for the model. If the arguments do not
        match the schema, or the code is too long, which is the model's fault, the text says so."""
        code = code_in(arguments)
        if code is None:
            return UNREADABLE
        try:
            return reply_of(await self.run(code, timeout_s))
        except InvalidRequest as error:
            if not str(error.details.get("path", "")).endswith("code"):
                raise
            return f"The call cannot be run: {error.message}"

    async def interrupt(self) -> bool:
        """Interrupts the cell that runs. Returns whether there is one."""
        told = await self._call("interrupt", number=self.number)
        return isinstance(told, dict) and told.get("interrupted") is True

    async def restart(self) -> None:
        """Starts a new kernel. The variables of earlier cells are lost."""
        await self._call("restart", number=self.number)

    async def variables(self) -> list[Variable]:
        """Returns its variables, as its kernel lists them."""
        told = await self._call("variables", number=self.number)
        if not isinstance(told, dict):
            raise InternalError("the server's response cannot be read: variables: must be an object")
        return [understood(lambda each: answer(Variable, each), row) for row in told.get("variables") or ()]

    async def close(self) -> None:
        """Ends it; its box lives on."""
        await self._call("end", number=self.number)
