"""A context whose model is a small real one, computed here and now: what verifiers make of a real model's numbers."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from tests.models.real import loaded


class Computed:
    """A `Context` as far as verifiers of models need one. default: the model of `tests.models.real` that is meant where
    none is named. context: tokens that models read at most; None: what they say. `asked` holds the tasks."""

    def __init__(self, default: str, context: int | None = None) -> None:
        self.default = default
        self.context = context
        self.asked: list[Any] = []

    @property
    def model(self) -> Computed:
        return self

    async def run(self, task: Any, model: str | None = None) -> Any:
        from rewarden_models.failure import Failure
        from rewarden_models.forward import forward
        from rewarden_models.tasks import prepare
        from rewarden_models.wire import error_from_wire, error_to_wire

        self.asked.append(task)
        one = loaded(model or self.default)
        if self.context is not None:
            one = replace(one, context=self.context)
        try:
            prepared = prepare(one, task)
        except Failure as error:
            raise error_from_wire(error_to_wire(error.kind, str(error), **error.details)) from None
        return prepared.finish(forward(one, prepared.rows))
